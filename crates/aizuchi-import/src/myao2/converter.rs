//! Converts rows of myao2.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use aizuchi_model::chat::{
    Author, AuthorKind, Channel, ChannelId, ConversationId, Mention, Message, MessageId, Role,
    User, UserId, Visibility, to_single_line,
};
use aizuchi_model::clock::truncate_to_millisecond;
use aizuchi_model::memo::{self, Memo, MemoError};
use aizuchi_model::memory::{MemoryEntry, MemoryKey, MemoryScope, MemoryTerm, date_in_zone};
use aizuchi_platform::parsed_text::ParsedText;
use aizuchi_slack::mrkdwn::NameLookup;
use aizuchi_slack::mrkdwn::read as mrkdwn;
use jiff::civil::Date;

use crate::message_ids::parse_slack_timestamp;
use crate::myao2::database::{self as old, Myao2Message, Myao2MessageHead};
use crate::myao2::survey::{MemoOrigins, SurveyedAuthor};
use crate::myao2::{Myao2MemoTarget, Myao2Options};
use crate::{ImportedMemory, SkippedItems};

pub struct Myao2Converter {
    pub options: Myao2Options,
    pub persona: Option<UserId>,
    /// The names of users by their ids.
    pub names: HashMap<String, String>,
}

impl Myao2Converter {
    pub fn is_persona(&self, user: &str) -> bool {
        self.persona.as_ref().is_some_and(|persona| persona.as_str() == user)
    }

    fn kind(&self, user: &str, is_bot: bool) -> AuthorKind {
        match (self.is_persona(user), is_bot) {
            (true, _) => AuthorKind::Persona,
            (false, true) => AuthorKind::Bot,
            (false, false) => AuthorKind::Human,
        }
    }

    fn name(&self, user: &str) -> Option<String> {
        if self.is_persona(user) {
            return Some(self.options.persona_name.clone());
        }
        self.names.get(user).map(|name| to_single_line(name)).filter(|name| !name.is_empty())
    }

    fn parse_text(&self, text: &str) -> ParsedText {
        let nobody = UserId::new("");
        let user = |user: &UserId| self.name(user.as_str()).map(Arc::from);
        let names = NameLookup {
            persona: self.persona.as_ref().unwrap_or(&nobody),
            persona_name: &self.options.persona_name,
            user: &user,
            // Slack writes the names of channels and groups next to their ids, so no lookup is needed.
            channel: &|_| None,
            group: &|_| None,
        };
        mrkdwn::parse_mrkdwn(text, &names)
    }

    /// Converts a message. `None` if its time is unknown.
    pub fn message(&self, message: &Myao2Message) -> Option<Message> {
        let Myao2Message { head, text, thread, mentions: mentioned } = message;
        let at = head.sent_at()?;
        let ParsedText { text, mut mentions } = self.parse_text(text);
        let mention = |user: &String| match self.is_persona(user) {
            true => Mention::Persona,
            false => Mention::User(UserId::new(user.as_str())),
        };
        for mention in mentioned.iter().map(mention) {
            if !mentions.contains(&mention) {
                mentions.push(mention);
            }
        }
        // The first message of a thread belongs to the channel's top level.
        let thread = thread.as_ref().filter(|thread| **thread != head.id);
        Some(Message {
            conversation: ConversationId {
                workspace: self.options.workspace.clone(),
                channel: ChannelId::new(head.channel.as_str()),
                thread: thread
                    .filter(|thread| !thread.is_empty())
                    .map(|id| MessageId::new(id.as_str())),
            },
            id: MessageId::new(head.id.as_str()),
            at,
            author: self.author(head),
            text: text.into(),
            mentions,
            attachments: Vec::new(),
            edits: 0,
        })
    }

    fn author(&self, head: &Myao2MessageHead) -> Author {
        let id = UserId::new(head.user.as_str());
        Author { id, kind: self.kind(&head.user, head.is_bot) }
    }

    /// The channels, including those that myao2 has left, of which only messages are stored.
    pub fn channels(
        &self,
        channels: Vec<old::Myao2Channel>,
        written_in: &BTreeSet<String>,
    ) -> Vec<Channel> {
        let mut names: BTreeMap<String, String> =
            written_in.iter().map(|channel| (channel.clone(), String::new())).collect();
        names.extend(
            channels.into_iter().map(|channel| (channel.id, to_single_line(&channel.name))),
        );
        let channel = |(id, name): (String, String)| Channel {
            workspace: self.options.workspace.clone(),
            name: if name.is_empty() { id.as_str().into() } else { name.into() },
            id: ChannelId::new(id),
            visibility: Visibility::Private,
            topic: None,
        };
        names.into_iter().map(channel).collect()
    }

    pub fn users(
        &self,
        authors: &BTreeMap<String, SurveyedAuthor>,
        users: &[old::Myao2User],
    ) -> Vec<User> {
        let mut bots: BTreeMap<&str, bool> = BTreeMap::new();
        bots.extend(authors.iter().map(|(id, author)| (&**id, author.is_bot)));
        bots.extend(users.iter().map(|user| (&*user.id, user.is_bot)));
        let user = |(id, is_bot): (&str, bool)| User {
            workspace: self.options.workspace.clone(),
            id: UserId::new(id),
            name: self.name(id).unwrap_or_else(|| id.to_owned()).into(),
            kind: self.kind(id, is_bot),
            role: Role::Member,
            zone: None,
        };
        bots.into_iter().map(user).collect()
    }

    pub fn memories(
        &self,
        memories: Vec<old::Myao2Memory>,
    ) -> (Vec<ImportedMemory>, Vec<Option<SkippedItems>>) {
        let (mut read, mut of_workspace, mut unknown) = (Vec::new(), 0, 0);
        for memory in memories {
            match (memory.scope.as_str(), self.memory(&memory)) {
                ("workspace", _) => of_workspace += 1,
                (_, Some(memory)) => read.push(memory),
                (_, None) => unknown += 1,
            }
        }
        let skipped = [
            SkippedItems::new_if_any(
                "memories of the whole workspace",
                of_workspace,
                "they mix in what was said in private channels; new ones are made from public channels",
            ),
            SkippedItems::new_if_any(
                "memories",
                unknown,
                "they are empty, or of no kind that is known here",
            ),
        ];
        (read, skipped.into())
    }

    fn memory(&self, memory: &old::Myao2Memory) -> Option<ImportedMemory> {
        let term = match memory.term.as_str() {
            "long_term" => MemoryTerm::LongTerm,
            "short_term" => MemoryTerm::ShortTerm,
            _ => return None,
        };
        let scope = match (memory.scope.as_str(), memory.scope_id.split_once(':')) {
            ("channel", None) => MemoryScope::Channel(ChannelId::new(memory.scope_id.as_str())),
            ("thread", Some((channel, thread))) => {
                MemoryScope::Thread(ChannelId::new(channel), MessageId::new(thread))
            }
            _ => return None,
        };
        let newest = memory.latest.as_deref().and_then(parse_slack_timestamp).or(memory.updated)?;
        let default_date = date_in_zone(memory.updated.unwrap_or(newest), &self.options.zone);
        let entries = entries(&memory.content, default_date);
        let key = MemoryKey { workspace: self.options.workspace.clone(), scope, term };
        (!entries.is_empty()).then(|| ImportedMemory {
            key,
            entries,
            newest: truncate_to_millisecond(newest),
        })
    }

    pub fn memos(
        &self,
        memos: Vec<old::Myao2Memo>,
        origins: &MemoOrigins,
    ) -> (Vec<Memo>, Vec<Option<SkippedItems>>) {
        let (mut read, mut without_channel, mut invalid) = (Vec::new(), 0, 0);
        for memo in memos {
            let origin = memo.created.and_then(|created| origins.channel(created));
            let (channel, visibility) = match (self.options.memo_scope, origin) {
                (Myao2MemoTarget::OriginChannel, Some(channel)) => (channel, Visibility::Private),
                (Myao2MemoTarget::OriginChannel, None) => {
                    without_channel += 1;
                    continue;
                }
                (Myao2MemoTarget::Everywhere, channel) => {
                    (channel.unwrap_or(ChannelId::new("")), Visibility::Public)
                }
            };
            match self::memo(memo, channel, visibility) {
                Ok(memo) => read.push(memo),
                Err(_) => invalid += 1,
            }
        }
        let skipped = [
            SkippedItems::new_if_any(
                "memos",
                without_channel,
                "the channels they were made in are unknown, and so is who may see them; \
                 --share-memos imports all memos for everybody to see",
            ),
            SkippedItems::new_if_any(
                "memos",
                invalid,
                "their name, priority or tags cannot be like that here",
            ),
        ];
        (read, skipped.into())
    }
}

fn memo(
    memo: old::Myao2Memo,
    channel: ChannelId,
    visibility: Visibility,
) -> Result<Memo, MemoError> {
    let created = memo.created.or(memo.updated).unwrap_or_default();
    Ok(Memo {
        name: memo::parse_name(&memo.name)?,
        content: memo::parse_content(&memo.content)?,
        priority: memo::parse_priority(memo.priority)?,
        tags: memo::parse_tags(&memo.tags)?,
        detail: memo.detail.filter(|detail| !detail.trim().is_empty()),
        created: truncate_to_millisecond(created),
        updated: truncate_to_millisecond(memo.updated.unwrap_or(created)),
        channel,
        visibility,
        said_by: None,
    })
}

/// Splits a memory into entries. myao2 writes memories as Markdown lists, and most items begin with their date.
fn entries(content: &str, default_date: Date) -> Vec<MemoryEntry> {
    let mut texts: Vec<String> = Vec::new();
    let has_content = |line: &&str| line.contains(char::is_alphanumeric) && !line.starts_with('#');
    for line in content.lines().map(str::trim).filter(has_content) {
        let item = ["- ", "* ", "• ", "・"].iter().find_map(|mark| line.strip_prefix(mark));
        match (item, texts.last_mut()) {
            (Some(item), _) => texts.push(item.to_owned()),
            (None, None) => texts.push(line.to_owned()),
            (None, Some(last)) => {
                last.push(' ');
                last.push_str(line);
            }
        }
    }
    let mut entries: Vec<MemoryEntry> =
        texts.iter().map(|text| entry(text, default_date)).collect();
    entries.retain(|entry| !entry.text.is_empty());
    entries.sort_by_key(|entry| entry.date);
    entries
}

fn entry(text: &str, default_date: Date) -> MemoryEntry {
    let text = to_single_line(text);
    let date = text.get(..10).and_then(|date| date.parse::<Date>().ok());
    let rest = if date.is_some() { &text[10..] } else { &text[..] };
    let rest = rest.trim_start_matches([' ', ':', '：', '　', ',', '、']);
    MemoryEntry {
        date: date.unwrap_or(default_date),
        text: rest.into(),
        visibility: Visibility::Private,
        messages: Vec::new(),
        pinned: false,
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn a_memory_becomes_dated_entries() {
        let content = "## notes\n- 2026-01-05 午後: 茶会の話\n  場所は未定\n* Ren moved\n- 2026-01-03: seeds came\n-\n";
        let entries = entries(content, date(2026, 1, 9));
        let read: Vec<_> = entries.iter().map(|entry| (entry.date, &*entry.text)).collect();
        assert_eq!(
            read,
            [
                (date(2026, 1, 3), "seeds came"),
                (date(2026, 1, 5), "午後: 茶会の話 場所は未定"),
                (date(2026, 1, 9), "Ren moved"),
            ]
        );
    }
}
