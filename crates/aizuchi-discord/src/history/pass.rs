//! One reading of a room's history: page by page, its threads after it, compared with what is stored.

use std::collections::{BTreeMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tracing::warn;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::DiscordPlatform;
use crate::api::DiscordApiError;
use crate::from_discord::guild::parse_thread;
use crate::from_discord::message::{ChannelRef, DiscordMessage, parse_history_message};
use crate::identity::direct_workspace;
use crate::ingest::{IngestError, Location};
use crate::json::non_empty_str;
use crate::snowflake::{id_before, id_timestamp};
use crate::visibility::has_messages;
use aizuchi_core::chat::{Arrival, ChannelId, Message, MessageId};
use aizuchi_core::platform::backfill::{
    StoredById, missing_messages, stored_messages_since, to_deletion,
};

/// As many lines in a page as Discord gives.
const PAGE_SIZE: usize = 100;
/// The flow may be just about to keep what was said so lately.
const OWN_POST_GRACE: SignedDuration = SignedDuration::from_mins(10);

/// One reading of a room.
pub(super) struct BackfillPass {
    channel: ChannelId,
    guild: Option<Id<GuildMarker>>,
    /// From when on it is read.
    from: Timestamp,
    /// Since when we have heard without a gap.
    since: Timestamp,
    began: Timestamp,
    /// The room has not been read before.
    is_first: bool,
    /// What is stored since `from`, unless that is too much to compare.
    stored: Option<StoredById>,
    /// What Discord shows.
    seen: HashSet<MessageId>,
    /// The room itself and threads, as far as they were read.
    read_channels: HashSet<ChannelId>,
    /// When the persona spoke last in each.
    persona_spoke_at: BTreeMap<ChannelId, Timestamp>,
    /// The persona's own lines.
    pub(super) own_messages: Vec<DiscordMessage>,
    pub(super) new_messages: usize,
}

impl DiscordPlatform {
    pub(super) async fn start_pass(
        &self,
        room: &ChannelId,
        from: Timestamp,
        since: Timestamp,
    ) -> Result<BackfillPass, IngestError> {
        let known = self.cache.channel(room);
        let workspace = known.map_or_else(direct_workspace, |known| known.channel.workspace);
        let stored = stored_messages_since(&*self.archive, &workspace, room, from).await?;
        Ok(BackfillPass {
            channel: room.clone(),
            guild: self.guild_id(&workspace),
            from,
            since: self.backfill.live_since(room, since),
            began: self.now(),
            is_first: self.read_cursor(room).is_none(),
            stored,
            seen: HashSet::new(),
            read_channels: HashSet::new(),
            persona_spoke_at: BTreeMap::new(),
            own_messages: Vec::new(),
            new_messages: 0,
        })
    }

    /// The room's own lines, then its threads.
    pub(super) async fn read_channel(&self, pass: &mut BackfillPass) -> Result<(), IngestError> {
        let room = self.cache.channel(&pass.channel);
        if room.as_ref().is_some_and(|room| !room.can_read_history) {
            warn!(
                "the history of a channel may not be read: the bot lacks \"Read Message History\" in {}",
                pass.channel
            );
            return Ok(());
        }
        let kind = room.and_then(|room| room.kind);
        if kind.is_none_or(has_messages) {
            self.read_messages(&pass.channel.clone(), pass).await?;
        }
        if pass.guild.is_some() {
            for thread in self.threads_to_read(pass).await? {
                self.read_messages(&thread, pass).await?;
                self.backfill.record_thread(pass.channel.clone(), MessageId::new(thread.as_str()));
            }
        }
        self.reconcile_reactions(pass).await?;
        self.hear_missing_deletions(pass).await
    }

    /// Threads that are active, or were since the pass begins.
    async fn threads_to_read(&self, pass: &BackfillPass) -> Result<Vec<ChannelId>, IngestError> {
        let active = self.cache.active_threads(&pass.channel).into_iter().map(|thread| thread.id);
        let mut threads: Vec<ChannelId> = active.collect();
        for archived in self.archived_threads(pass).await? {
            if !threads.contains(&archived) {
                threads.push(archived);
            }
        }
        Ok(threads)
    }

    /// Threads that were put away since the pass begins; something may have been said in them before.
    async fn archived_threads(&self, pass: &BackfillPass) -> Result<Vec<ChannelId>, IngestError> {
        let mut found = Vec::new();
        let mut before = String::new();
        loop {
            let path =
                format!("/channels/{}/threads/archived/public?limit=100{before}", pass.channel);
            let page: Value = match self.read_with_retries(&path).await {
                // Not every kind of channel has threads, and not every bot may see them.
                Err(DiscordApiError::Refused(_)) => return Ok(found),
                page => page?,
            };
            let threads = page["threads"].as_array().map_or(&[][..], Vec::as_slice);
            let mut oldest = None;
            for whole in threads {
                let archived = non_empty_str(&whole["thread_metadata"]["archive_timestamp"]);
                oldest = archived.and_then(|at| at.parse::<Timestamp>().ok()).or(oldest);
                if oldest.is_some_and(|at| at < pass.from) {
                    return Ok(found);
                }
                if let Some(thread) = parse_thread(whole, pass.guild) {
                    found.push(thread.id.clone());
                    self.hear_thread(thread).await?;
                }
            }
            let Some(oldest) = oldest.filter(|_| page["has_more"] == true) else {
                return Ok(found);
            };
            before = format!("&before={oldest}");
        }
    }

    /// All lines of a room or a thread since the pass begins, oldest first.
    pub(super) async fn read_messages(
        &self,
        id: &ChannelId,
        pass: &mut BackfillPass,
    ) -> Result<(), IngestError> {
        let place = ChannelRef { guild: pass.guild, channel: id.clone() };
        let ground = self.locate(&place, None).await?;
        if pass.is_first {
            self.find_last_own_post(&place, pass).await?;
        }
        let mut after = id_before(pass.from).to_string();
        loop {
            let path = format!("/channels/{id}/messages?limit={PAGE_SIZE}&after={after}");
            let page: Vec<Value> = match self.read_with_retries(&path).await {
                // It is gone, with all that was said in it.
                Err(DiscordApiError::Refused(refusal)) if refusal.status == 404 => break,
                page => page?,
            };
            let count = page.len();
            let numbers = page.iter().filter_map(|line| line["id"].as_str()?.parse::<u64>().ok());
            let Some(newest) = numbers.max() else { break };
            after = newest.to_string();
            let mut lines: Vec<DiscordMessage> =
                page.into_iter().filter_map(|whole| parse_history_message(&place, whole)).collect();
            lines.sort_by_key(|line| line.at);
            for line in lines {
                self.hear_history_message(line, &ground, pass).await?;
            }
            if count < PAGE_SIZE {
                break;
            }
        }
        pass.read_channels.insert(id.clone());
        Ok(())
    }

    /// Where the persona has spoken in a room that was never read, what was said before is answered.
    async fn find_last_own_post(
        &self,
        place: &ChannelRef,
        pass: &mut BackfillPass,
    ) -> Result<(), IngestError> {
        let path = format!("/channels/{}/messages?limit={PAGE_SIZE}", place.channel);
        let page: Vec<Value> = match self.read_with_retries(&path).await {
            Err(DiscordApiError::Refused(refusal)) if refusal.status == 404 => return Ok(()),
            page => page?,
        };
        let lines = page.into_iter().filter_map(|whole| parse_history_message(place, whole));
        let own = lines.filter(|line| self.is_own(line)).map(|line| line.at).max();
        pass.persona_spoke_at.extend(own.map(|at| (place.channel.clone(), at)));
        Ok(())
    }

    async fn hear_history_message(
        &self,
        line: DiscordMessage,
        ground: &Location,
        pass: &mut BackfillPass,
    ) -> Result<(), IngestError> {
        let is_stored = pass.stored.as_ref().is_some_and(|stored| stored.contains_key(&line.id));
        let is_news = !is_stored || line.edited_at.is_some();
        let is_on_its_way = self.is_own(&line) && line.at > pass.began - OWN_POST_GRACE;
        if is_news && !is_on_its_way {
            let receipt = self.hear_message(&line, ground, pass.arrival(&line), &mut None).await?;
            pass.new_messages += usize::from(receipt.is_new);
            if let Some(at) = line.edited_at.filter(|_| !receipt.is_new) {
                self.hear_edit(&line, ground, at, &mut None).await?;
            }
        }
        pass.seen.insert(line.id.clone());
        if self.is_own(&line) {
            pass.own_messages.push(line);
        }
        Ok(())
    }

    /// What is stored and not in the history any more was deleted meanwhile. Each is looked for once more,
    /// since nothing brings it back; and where very much is missing, something else is wrong.
    pub(super) async fn hear_missing_deletions(
        &self,
        pass: &BackfillPass,
    ) -> Result<(), IngestError> {
        for message in
            missing_messages(pass.stored.as_ref(), |line| pass.is_missing(line), "Discord")
        {
            if !self.is_still_shown(message).await? {
                self.inbox.hear(to_deletion(message, pass.began)).await?;
            }
        }
        Ok(())
    }

    /// Asks for one line.
    async fn is_still_shown(&self, message: &Message) -> Result<bool, IngestError> {
        let place = discord_channel_of(message);
        let path = format!("/channels/{place}/messages/{}", message.id);
        match self.read_with_retries::<Value>(&path).await {
            Ok(_) => Ok(true),
            Err(DiscordApiError::Refused(refusal)) => Ok(refusal.status != 404),
            Err(error) => Err(error.into()),
        }
    }
}

impl BackfillPass {
    /// What was said since we hear without a gap is live, though its event may come later. Of what was said
    /// before, a room that was never read shows itself what was answered; in others, what is owed is known.
    fn arrival(&self, line: &DiscordMessage) -> Arrival {
        let spoke = self.persona_spoke_at.get(&line.channel_ref.channel);
        if line.at >= self.since {
            Arrival::Live
        } else if self.is_first && spoke.is_some_and(|spoke| *spoke > line.at) {
            Arrival::BackfilledAnswered
        } else {
            Arrival::Backfilled
        }
    }

    /// It should have been in what was read, and was not. Of what was said since, deletions are told.
    fn is_missing(&self, message: &Message) -> bool {
        id_timestamp(message.id.as_str()).is_some()
            && self.read_channels.contains(&discord_channel_of(message))
            && message.at >= self.from
            && message.at < self.since
            && !self.seen.contains(&message.id)
    }
}

/// Where Discord has a line: in its room, or in the thread.
fn discord_channel_of(message: &Message) -> ChannelId {
    let place = &message.conversation;
    place.thread.as_ref().map_or(place.channel.clone(), |thread| ChannelId::new(thread.as_str()))
}
