//! One pass over a channel's history: page by page, then its threads, compared with the store.

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

/// Discord's maximum for a page of messages.
const PAGE_SIZE: usize = 100;
/// A post of the bot this young may still be about to be stored by the agent.
const OWN_POST_GRACE: SignedDuration = SignedDuration::from_mins(10);

/// The state of one pass.
pub(super) struct BackfillPass {
    channel: ChannelId,
    guild: Option<Id<GuildMarker>>,
    /// The pass reads messages from this time on.
    from: Timestamp,
    /// Since when no event was missed.
    since: Timestamp,
    started_at: Timestamp,
    /// The channel was never read before.
    is_first: bool,
    /// The messages stored since `from`, unless there are too many to compare.
    stored: Option<StoredById>,
    /// The messages in Discord's history.
    seen: HashSet<MessageId>,
    /// The channel and the threads that were read completely.
    read_channels: HashSet<ChannelId>,
    /// When the persona last posted in each.
    persona_spoke_at: BTreeMap<ChannelId, Timestamp>,
    /// The persona's own messages.
    pub(super) own_messages: Vec<DiscordMessage>,
    pub(super) new_messages: usize,
}

impl DiscordPlatform {
    pub(super) async fn start_pass(
        &self,
        channel: &ChannelId,
        from: Timestamp,
        since: Timestamp,
    ) -> Result<BackfillPass, IngestError> {
        let cached = self.cache.channel(channel);
        let workspace = cached.map_or_else(direct_workspace, |cached| cached.channel.workspace);
        let stored = stored_messages_since(&*self.archive, &workspace, channel, from).await?;
        Ok(BackfillPass {
            channel: channel.clone(),
            guild: self.guild_id(&workspace),
            from,
            since: self.backfill.live_since(channel, since),
            started_at: self.now(),
            is_first: self.read_cursor(channel).is_none(),
            stored,
            seen: HashSet::new(),
            read_channels: HashSet::new(),
            persona_spoke_at: BTreeMap::new(),
            own_messages: Vec::new(),
            new_messages: 0,
        })
    }

    /// Reads the channel's messages, then its threads.
    pub(super) async fn read_channel(&self, pass: &mut BackfillPass) -> Result<(), IngestError> {
        let cached = self.cache.channel(&pass.channel);
        if cached.as_ref().is_some_and(|cached| !cached.can_read_history) {
            warn!(
                platform = "discord",
                channel = %pass.channel,
                "the bot lacks the permission Read Message History"
            );
            return Ok(());
        }
        let kind = cached.and_then(|cached| cached.kind);
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

    /// Threads that are active, or were archived since `from`.
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

    /// Threads that were archived since `from`, which may hold missed messages.
    async fn archived_threads(&self, pass: &BackfillPass) -> Result<Vec<ChannelId>, IngestError> {
        let mut found = Vec::new();
        let mut before = String::new();
        loop {
            let path =
                format!("/channels/{}/threads/archived/public?limit=100{before}", pass.channel);
            let page: Value = match self.read_with_retries(&path).await {
                // Not every kind of channel has threads, and the bot may lack access to them.
                Err(DiscordApiError::Refused(_)) => return Ok(found),
                page => page?,
            };
            let threads = page["threads"].as_array().map_or(&[][..], Vec::as_slice);
            let mut oldest = None;
            for json in threads {
                let archived = non_empty_str(&json["thread_metadata"]["archive_timestamp"]);
                oldest = archived.and_then(|at| at.parse::<Timestamp>().ok()).or(oldest);
                if oldest.is_some_and(|at| at < pass.from) {
                    return Ok(found);
                }
                if let Some(thread) = parse_thread(json, pass.guild) {
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

    /// Reads all messages of a channel or thread since `from`, oldest first.
    pub(super) async fn read_messages(
        &self,
        id: &ChannelId,
        pass: &mut BackfillPass,
    ) -> Result<(), IngestError> {
        let channel_ref = ChannelRef { guild: pass.guild, channel: id.clone() };
        let location = self.locate(&channel_ref, None).await?;
        if pass.is_first {
            self.find_last_own_post(&channel_ref, pass).await?;
        }
        let mut after = id_before(pass.from).to_string();
        loop {
            let path = format!("/channels/{id}/messages?limit={PAGE_SIZE}&after={after}");
            let page: Vec<Value> = match self.read_with_retries(&path).await {
                // The channel or thread was deleted, with its messages.
                Err(DiscordApiError::Refused(refusal)) if refusal.status == 404 => break,
                page => page?,
            };
            let count = page.len();
            let numbers =
                page.iter().filter_map(|message| message["id"].as_str()?.parse::<u64>().ok());
            let Some(newest) = numbers.max() else { break };
            after = newest.to_string();
            let mut messages: Vec<DiscordMessage> = page
                .into_iter()
                .filter_map(|json| parse_history_message(&channel_ref, json))
                .collect();
            messages.sort_by_key(|message| message.at);
            for message in messages {
                self.hear_history_message(message, &location, pass).await?;
            }
            if count < PAGE_SIZE {
                break;
            }
        }
        pass.read_channels.insert(id.clone());
        Ok(())
    }

    /// Finds the persona's last post in a channel that was never read: mentions before it count as answered.
    async fn find_last_own_post(
        &self,
        channel_ref: &ChannelRef,
        pass: &mut BackfillPass,
    ) -> Result<(), IngestError> {
        let path = format!("/channels/{}/messages?limit={PAGE_SIZE}", channel_ref.channel);
        let page: Vec<Value> = match self.read_with_retries(&path).await {
            Err(DiscordApiError::Refused(refusal)) if refusal.status == 404 => return Ok(()),
            page => page?,
        };
        let messages = page.into_iter().filter_map(|json| parse_history_message(channel_ref, json));
        let last_own_post =
            messages.filter(|message| self.is_own(message)).map(|message| message.at).max();
        pass.persona_spoke_at.extend(last_own_post.map(|at| (channel_ref.channel.clone(), at)));
        Ok(())
    }

    async fn hear_history_message(
        &self,
        message: DiscordMessage,
        location: &Location,
        pass: &mut BackfillPass,
    ) -> Result<(), IngestError> {
        let is_stored = pass.stored.as_ref().is_some_and(|stored| stored.contains_key(&message.id));
        let is_new_or_edited = !is_stored || message.edited_at.is_some();
        let is_in_flight = self.is_own(&message) && message.at > pass.started_at - OWN_POST_GRACE;
        if is_new_or_edited && !is_in_flight {
            let receipt =
                self.hear_message(&message, location, pass.arrival(&message), &mut None).await?;
            pass.new_messages += usize::from(receipt.is_new);
            if let Some(at) = message.edited_at.filter(|_| !receipt.is_new) {
                self.hear_edit(&message, location, at, &mut None).await?;
            }
        }
        pass.seen.insert(message.id.clone());
        if self.is_own(&message) {
            pass.own_messages.push(message);
        }
        Ok(())
    }

    /// Messages that are stored but not in the history were deleted. Each is fetched once more first, because a
    /// deletion is final. If very many are missing, something else is wrong and none is deleted.
    pub(super) async fn hear_missing_deletions(
        &self,
        pass: &BackfillPass,
    ) -> Result<(), IngestError> {
        for message in
            missing_messages(pass.stored.as_ref(), |message| pass.is_missing(message), "Discord")
        {
            if !self.is_still_shown(message).await? {
                self.inbox.hear(to_deletion(message, pass.started_at)).await?;
            }
        }
        Ok(())
    }

    /// Fetches one message.
    async fn is_still_shown(&self, message: &Message) -> Result<bool, IngestError> {
        let channel = discord_channel_of(message);
        let path = format!("/channels/{channel}/messages/{}", message.id);
        match self.read_with_retries::<Value>(&path).await {
            Ok(_) => Ok(true),
            Err(DiscordApiError::Refused(refusal)) => Ok(refusal.status != 404),
            Err(error) => Err(error.into()),
        }
    }
}

impl BackfillPass {
    /// A message since the last gap is live, though its event may arrive later. Before the gap, a channel that was
    /// never read shows in its history what was answered; for others the store knows what is owed.
    fn arrival(&self, message: &DiscordMessage) -> Arrival {
        let posted_at = self.persona_spoke_at.get(&message.channel_ref.channel);
        if message.at >= self.since {
            Arrival::Live
        } else if self.is_first && posted_at.is_some_and(|posted_at| *posted_at > message.at) {
            Arrival::BackfilledAnswered
        } else {
            Arrival::Backfilled
        }
    }

    /// Whether a stored message should have been in the history and was not. Deletions since the gap arrive live.
    fn is_missing(&self, message: &Message) -> bool {
        id_timestamp(message.id.as_str()).is_some()
            && self.read_channels.contains(&discord_channel_of(message))
            && message.at >= self.from
            && message.at < self.since
            && !self.seen.contains(&message.id)
    }
}

/// The Discord channel of a message: its thread, if it is in one.
fn discord_channel_of(message: &Message) -> ChannelId {
    let conversation = &message.conversation;
    conversation
        .thread
        .as_ref()
        .map_or(conversation.channel.clone(), |thread| ChannelId::new(thread.as_str()))
}
