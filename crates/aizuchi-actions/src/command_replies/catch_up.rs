//! Says what a user missed, in the channel where they ask and in public ones, which a guest may not read. No other
//! private channel is read: who may read it is not known here.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use aizuchi_model::catch_up::{Absence, Missed, away_since, missed};
use aizuchi_model::chat::{
    Channel, ChannelId, ConversationId, Message, MessageId, Role, UserId, Visibility,
    to_single_line,
};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::place::Place;
use aizuchi_model::texts::catch_up as texts;
use aizuchi_model::texts::times;
use aizuchi_store::StoreError;
use aizuchi_store::query::{MessageQuery, MessageRange};
use aizuchi_store::stored_message::StoredMessage;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::command::CommandRequest;
use crate::command_replies::{CommandReplies, screen_stored, truncate};
use crate::plans::zone_of;

/// The channels with the newest messages are read, and the newest messages of each.
const MAX_CHANNELS: usize = 30;
const MAX_MESSAGES: usize = 1000;
/// The maximum number of messages in a list, and of other topics of a channel.
const MAX_LISTED: usize = 8;
const MAX_BEGUN: usize = 2;
const MAX_NAMED: usize = 3;
const MAX_QUOTE_LENGTH: usize = 120;

/// Who is caught up, and where they read it.
pub struct Reader<'a> {
    pub user: &'a UserId,
    pub conversation: &'a ConversationId,
    pub visibility: Visibility,
    pub zone: TimeZone,
}

/// What was missed in a channel, and the names of all who are in it.
struct MissedIn {
    channel: Channel,
    missed: Missed,
    names: BTreeMap<UserId, Arc<str>>,
}

impl CommandReplies {
    pub(super) async fn catch_up_text(
        &self,
        request: &CommandRequest,
        language: Language,
    ) -> Result<String, StoreError> {
        let workspace = &request.conversation.workspace;
        let reader = Reader {
            user: &request.user,
            conversation: &request.conversation,
            visibility: request.visibility,
            zone: zone_of(&*self.archive, workspace, &request.user, &self.zone).await?,
        };
        let since = self.away_since(&reader, request.at).await?;
        Ok(match self.missed_since(&reader, since, request.at, language).await? {
            Some(missed) => missed,
            None => reader.nothing(since, request.at, language),
        })
    }

    /// Since when a user was away before `now`.
    pub async fn away_since(
        &self,
        reader: &Reader<'_>,
        now: Timestamp,
    ) -> Result<Timestamp, StoreError> {
        let workspace = &reader.conversation.workspace;
        Ok(away_since(&self.archive.acts(workspace, reader.user, now).await?, now))
    }

    /// Says what a user missed, if anything. What is read in public says nothing of what is private.
    pub async fn missed_since(
        &self,
        reader: &Reader<'_>,
        since: Timestamp,
        now: Timestamp,
        language: Language,
    ) -> Result<Option<String>, StoreError> {
        let mut places = Vec::new();
        for channel in self.readable_channels(reader, since).await? {
            let found = self.missed_in(channel, reader, since).await?;
            places.extend(Some(found).filter(|it| !it.missed.authors.is_empty()));
        }
        if places.is_empty() {
            return Ok(None);
        }
        let mut lines = vec![texts::since(language, &reader.say(since, now, language))];
        type Listed = fn(&Missed) -> &Vec<Arc<Message>>;
        let lists: [(&str, Listed); 3] = [
            (texts::asked(language), |missed| &missed.asked),
            (texts::open(language), |missed| &missed.open),
            (texts::decided(language), |missed| &missed.decided),
        ];
        for (heading, list) in lists {
            let listed = places
                .iter()
                .flat_map(|place| list(&place.missed).iter().map(move |message| (place, message)));
            let mut listed: Vec<(&MissedIn, &Arc<Message>)> = listed.collect();
            listed.sort_by_key(|(_, message)| message.at);
            if listed.is_empty() {
                continue;
            }
            lines.push(heading.to_owned());
            let shown = listed.iter().take(MAX_LISTED);
            lines.extend(shown.map(|(place, message)| self.line(place, message, reader, language)));
            if let Some(more) = listed.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
                lines.push(texts::more(language, more));
            }
        }
        lines.push(texts::otherwise(language).to_owned());
        for place in places.iter().take(MAX_LISTED) {
            lines.push(all_of(place, language));
            let begun = place.missed.begun.iter().rev().take(MAX_BEGUN).rev();
            lines.extend(begun.map(|message| self.line(place, message, reader, language)));
        }
        if places.len() > MAX_LISTED {
            lines.push(texts::more(language, places.len() - MAX_LISTED));
        }
        Ok(Some(lines.join("\n")))
    }

    /// The channels that the reader may read with newer messages than `since`, the one where they ask first.
    async fn readable_channels(
        &self,
        reader: &Reader<'_>,
        since: Timestamp,
    ) -> Result<Vec<Channel>, StoreError> {
        let ConversationId { workspace, channel: here, .. } = reader.conversation;
        let mut active = self.archive.channel_activity(workspace).await?;
        active.retain(|it| it.last_heard.is_some_and(|newest| newest > since));
        let known = self.archive.some_users(workspace, &[reader.user.clone()].into()).await?;
        if known.first().is_some_and(|user| user.role == Role::Guest) {
            // Which others a guest may read is not known here.
            active.retain(|it| it.channel == *here);
        }
        active.sort_by_key(|it| (it.channel != *here, std::cmp::Reverse(it.last_heard)));
        let mut known: HashMap<ChannelId, Channel> = HashMap::new();
        for channel in self.archive.channels(workspace).await? {
            known.insert(channel.id.clone(), channel);
        }
        let channels = active.into_iter().filter_map(|it| known.remove(&it.channel));
        let rulebook = self.rulebook.read();
        // Nothing of a channel without memory is told elsewhere.
        let is_told = |channel: &Channel| {
            let (workspace, id) = (channel.workspace.clone(), channel.id.clone());
            let top_level = ConversationId { workspace, channel: id, thread: None };
            let place = Place::of_conversation(&top_level, &channel.name, channel.visibility);
            channel.visibility == Visibility::Public && rulebook.remembers(&place)
        };
        let readable = channels.filter(|channel| {
            channel.visibility != Visibility::Direct && (channel.id == *here || is_told(channel))
        });
        Ok(readable.take(MAX_CHANNELS).collect())
    }

    async fn missed_in(
        &self,
        channel: Channel,
        reader: &Reader<'_>,
        since: Timestamp,
    ) -> Result<MissedIn, StoreError> {
        let workspace = &channel.workspace;
        let query = MessageQuery {
            workspace: workspace.clone(),
            channel: channel.id.clone(),
            thread: None,
            range: MessageRange::Newest,
            limit: MAX_MESSAGES,
        };
        let mut stored = self.archive.messages(query).await?;
        // Some from before the absence tell what the first ones after it are about.
        let first = stored.iter().position(|it| it.message.at > since).unwrap_or(stored.len());
        stored.drain(..first.saturating_sub(MAX_MESSAGES / 20));
        let present: BTreeSet<&MessageId> = stored.iter().map(|it| &it.message.id).collect();
        let roots = stored.iter().filter_map(|it| it.message.conversation.thread.clone());
        let roots: BTreeSet<MessageId> = roots.filter(|root| !present.contains(root)).collect();
        let roots: Vec<_> = roots.into_iter().map(|root| (channel.id.clone(), root)).collect();
        stored.splice(0..0, self.archive.messages_by_id(workspace, &roots).await?);
        let is_public =
            reader.visibility == Visibility::Public || channel.id != reader.conversation.channel;
        let may_read = |it: &StoredMessage| {
            let is_there = !it.is_deleted && !it.is_withheld;
            is_there && (!is_public || it.visibility == Visibility::Public)
        };
        stored.retain(may_read);
        let mut names: BTreeMap<UserId, Arc<str>> = BTreeMap::new();
        for it in &stored {
            names.insert(it.message.author.id.clone(), it.author_name.clone());
        }
        let reader_alone = [reader.user.clone()].into_iter().collect();
        for user in self.archive.some_users(workspace, &reader_alone).await? {
            names.insert(user.id, user.name);
        }
        let messages: Vec<Arc<Message>> = stored.into_iter().map(|it| it.message).collect();
        let ids: Vec<MessageId> = messages.iter().map(|message| message.id.clone()).collect();
        let links = self.archive.links(workspace, &channel.id, &ids).await?.into_iter().collect();
        let absence = Absence { user: reader.user, names: &names, since };
        let missed = missed(&messages, &links, &absence);
        Ok(MissedIn { channel, missed, names })
    }

    /// “• #garden, Mia, 09:12: “who has the key?” https://…”
    fn line(
        &self,
        place: &MissedIn,
        message: &Message,
        reader: &Reader<'_>,
        language: Language,
    ) -> String {
        let at = message.at.to_zoned(reader.zone.clone()).strftime("%m-%d %H:%M").to_string();
        // A quotation notifies nobody.
        let quote = to_single_line(&message.text).replace('@', "＠");
        let quote = screen_stored(&truncate(&quote, MAX_QUOTE_LENGTH), language);
        let author = place.name(&message.author.id);
        let line = texts::line(language, &place.channel_name(), &author, &at, &quote);
        let platform = self.platforms.for_workspace(&message.conversation.workspace);
        let url = platform.ok().and_then(|platform| platform.message_url(message));
        url.map_or(line.clone(), |url| format!("{line} {url}"))
    }
}

impl Reader<'_> {
    /// Says that the reader has missed nothing.
    pub fn nothing(&self, since: Timestamp, now: Timestamp, language: Language) -> String {
        texts::nothing(language, &self.say(since, now, language))
    }

    fn say(&self, at: Timestamp, now: Timestamp, language: Language) -> String {
        let in_zone = |at: Timestamp| at.to_zoned(self.zone.clone());
        times::moment(language, &in_zone(at), &in_zone(now))
    }
}

impl MissedIn {
    fn name(&self, user: &UserId) -> String {
        to_single_line(self.names.get(user).map_or(user.as_str(), |name| name))
    }

    fn channel_name(&self) -> String {
        format!("#{}", to_single_line(self.channel.name.trim_start_matches('#')))
    }
}

/// “#garden: 34 messages by Mia, Ren and 2 others”
fn all_of(place: &MissedIn, language: Language) -> String {
    let authors = &place.missed.authors;
    let count = authors.iter().map(|(_, count)| count).sum();
    let named: Vec<String> =
        authors.iter().take(MAX_NAMED).map(|(user, _)| place.name(user)).collect();
    let others = authors.len() - named.len();
    texts::all_of_channel(language, &place.channel_name(), count, &named, others)
}
