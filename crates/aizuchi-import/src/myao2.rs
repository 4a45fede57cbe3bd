//! Converts the data of myao2. myao2 does not store who may read a channel, its workspace memories mix in private
//! messages, and its memos belong to no channel. Therefore everything is imported as private to its channel.

pub mod database;
mod sql;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::myao2::database::{self as old, Myao2Database, Myao2Message};
use crate::{ImportData, ImportedMemory, ImportedMessage, SkippedItems};
use aizuchi_core::chat::{
    Author, AuthorKind, Channel, ChannelId, ConversationId, Mention, Message, MessageId, Role,
    User, UserId, Visibility, WorkspaceId, to_single_line,
};
use aizuchi_core::clock::truncate_to_millisecond;
use aizuchi_core::memo::{self, Memo, MemoError};
use aizuchi_core::memory::{MemoryEntry, MemoryKey, MemoryScope, MemoryTerm, date_in_zone};
use aizuchi_core::platform::parsed_text::ParsedText;
use aizuchi_core::store::StoreError;
use aizuchi_slack::mrkdwn::NameLookup;
use aizuchi_slack::mrkdwn::read as mrkdwn;

/// The maximum time from a memo to the reply it was made for. myao2 makes memos while it writes a reply, one reply at a
/// time, so its next post is in the channel where the memo was made.
const MAX_REPLY_TIME: SignedDuration = SignedDuration::from_mins(10);

/// What the database does not say.
#[derive(Clone, Debug)]
pub struct Myao2Options {
    pub workspace: WorkspaceId,
    /// The user that the persona was, if the operator named it.
    pub persona: Option<UserId>,
    pub persona_name: String,
    pub memo_scope: Myao2MemoTarget,
    pub zone: TimeZone,
}

/// Where imported memos are visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Myao2MemoTarget {
    /// Only in the channel where they were made.
    OriginChannel,
    /// Everywhere, as in myao2.
    Everywhere,
}

pub async fn read(
    database: &mut Myao2Database,
    options: &Myao2Options,
) -> Result<ImportData, StoreError> {
    let messages = database.messages().await?;
    let users = database.users().await?;
    let persona = options.persona.clone().or_else(|| guess_persona(&messages));
    let mut names: HashMap<&str, &str> = HashMap::new();
    names.extend(messages.iter().map(|message| (&*message.user, &*message.name)));
    names.extend(users.iter().map(|user| (&*user.id, &*user.name)));
    let converter = Myao2Converter { options, persona: persona.as_ref(), names: &names };
    let imported: Vec<ImportedMessage> =
        messages.iter().filter_map(|it| converter.to_imported_message(it)).collect();
    let mut skipped = vec![SkippedItems::new_if_any(
        "messages",
        messages.len() - imported.len(),
        "their time is unknown",
    )];
    let (memories, skipped_items) = converter.memories(database.memories().await?);
    skipped.extend(skipped_items);
    let (memos, skipped_items) = converter.memos(database.memos().await?, &imported);
    skipped.extend(skipped_items);
    skipped.push(SkippedItems::new_if_any(
        "judgments",
        database.count_judgments().await?,
        "Aizuchi makes its own judgments",
    ));
    Ok(ImportData {
        channels: converter.channels(database.channels().await?, &imported),
        users: converter.users(&messages, &users),
        messages: imported,
        memories,
        memos,
        skipped: skipped.into_iter().flatten().collect(),
        ..ImportData::new(options.workspace.clone())
    })
}

/// The user with the most messages under ids of myao2's own, which it gives only to its own posts.
fn guess_persona(messages: &[Myao2Message]) -> Option<UserId> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for message in messages.iter().filter(|message| parse_slack_timestamp(&message.id).is_none()) {
        *counts.entry(&message.user).or_default() += 1;
    }
    let (user, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    Some(UserId::new(user))
}

/// Slack's ids are times: `1735562096.123456`.
fn parse_slack_timestamp(id: &str) -> Option<Timestamp> {
    let (seconds, micros) = id.split_once('.')?;
    let is_number = |text: &str| text.bytes().all(|character| character.is_ascii_digit());
    if micros.len() != 6 || !is_number(seconds) || !is_number(micros) {
        return None;
    }
    let micros =
        seconds.parse::<i64>().ok()?.checked_mul(1_000_000)? + micros.parse::<i64>().ok()?;
    Timestamp::from_microsecond(micros).ok()
}

struct Myao2Converter<'a> {
    options: &'a Myao2Options,
    persona: Option<&'a UserId>,
    names: &'a HashMap<&'a str, &'a str>,
}

impl Myao2Converter<'_> {
    fn is_persona(&self, user: &str) -> bool {
        self.persona.is_some_and(|persona| persona.as_str() == user)
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
            persona: self.persona.unwrap_or(&nobody),
            persona_name: &self.options.persona_name,
            user: &user,
            // Slack writes the names of channels and groups next to their ids.
            channel: &|_| None,
            group: &|_| None,
        };
        mrkdwn::parse_mrkdwn(text, &names)
    }

    fn to_imported_message(&self, message: &Myao2Message) -> Option<ImportedMessage> {
        let sent_at = parse_slack_timestamp(&message.id);
        let ParsedText { text, mut mentions } = self.parse_text(&message.text);
        let mention = |user: &String| match self.is_persona(user) {
            true => Mention::Persona,
            false => Mention::User(UserId::new(user.as_str())),
        };
        for mention in message.mentions.iter().map(mention) {
            if !mentions.contains(&mention) {
                mentions.push(mention);
            }
        }
        // The first message of a thread belongs to the channel's top level.
        let thread = message.thread.as_ref().filter(|thread| **thread != message.id);
        let message = Message {
            conversation: ConversationId {
                workspace: self.options.workspace.clone(),
                channel: ChannelId::new(message.channel.as_str()),
                thread: thread
                    .filter(|thread| !thread.is_empty())
                    .map(|id| MessageId::new(id.as_str())),
            },
            id: MessageId::new(message.id.as_str()),
            at: truncate_to_millisecond(sent_at.or(message.at)?),
            author: Author {
                id: UserId::new(message.user.as_str()),
                kind: self.kind(&message.user, message.is_bot),
            },
            text: text.into(),
            mentions,
            attachments: Vec::new(),
            edits: 0,
        };
        Some(ImportedMessage { message, has_platform_id: sent_at.is_some() })
    }

    /// The channels, including those of which only messages are stored, because myao2 has left them.
    fn channels(
        &self,
        channels: Vec<old::Myao2Channel>,
        messages: &[ImportedMessage],
    ) -> Vec<Channel> {
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for imported in messages {
            names.entry(imported.message.conversation.channel.to_string()).or_default();
        }
        names.extend(
            channels.into_iter().map(|channel| (channel.id, to_single_line(&channel.name))),
        );
        let channel = |(id, name): (String, String)| Channel {
            workspace: self.options.workspace.clone(),
            name: if name.is_empty() { id.as_str().into() } else { name.into() },
            id: ChannelId::new(id),
            visibility: Visibility::Private,
        };
        names.into_iter().map(channel).collect()
    }

    fn users(&self, messages: &[Myao2Message], users: &[old::Myao2User]) -> Vec<User> {
        let mut bots: BTreeMap<&str, bool> = BTreeMap::new();
        bots.extend(messages.iter().map(|message| (&*message.user, message.is_bot)));
        bots.extend(users.iter().map(|user| (&*user.id, user.is_bot)));
        let user = |(id, is_bot): (&str, bool)| User {
            workspace: self.options.workspace.clone(),
            id: UserId::new(id),
            name: self.name(id).unwrap_or_else(|| id.to_owned()).into(),
            kind: self.kind(id, is_bot),
            role: Role::Member,
        };
        bots.into_iter().map(user).collect()
    }

    fn memories(
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

    fn memos(
        &self,
        memos: Vec<old::Myao2Memo>,
        messages: &[ImportedMessage],
    ) -> (Vec<Memo>, Vec<Option<SkippedItems>>) {
        let own: Vec<&Message> = messages
            .iter()
            .map(|imported| &imported.message)
            .filter(|message| message.author.kind == AuthorKind::Persona)
            .collect();
        let (mut read, mut without_channel, mut invalid) = (Vec::new(), 0, 0);
        for memo in memos {
            let origin = memo.created.and_then(|created| origin_channel(created, &own));
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

/// The channel of the persona's next post, if it came soon enough.
fn origin_channel(created: Timestamp, own: &[&Message]) -> Option<ChannelId> {
    let next = own.iter().find(|message| message.at >= created)?;
    let is_soon = next.at.duration_since(created) <= MAX_REPLY_TIME;
    is_soon.then(|| next.conversation.channel.clone())
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
    use super::*;
    use jiff::civil::date;

    #[test]
    fn slack_ids_are_times() {
        let at = parse_slack_timestamp("1735562096.123456").unwrap();
        assert_eq!(at.to_string(), "2024-12-30T12:34:56.123456Z");
        for id in
            ["", "1735562096", "1735562096.12", "a.123456", "6f1c1c3e-8d56-4b1b-9b54-0a3f7c3f7d11"]
        {
            assert_eq!(parse_slack_timestamp(id), None, "{id}");
        }
    }

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
