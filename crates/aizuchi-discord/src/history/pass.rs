//! One pass over a channel's history: page by page, then its threads, compared with the store.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use aizuchi_model::chat::{Arrival, ChannelId, Message, MessageId};
use aizuchi_platform::backfill::{StoredById, stored_messages_since};
use aizuchi_platform::deletion_check::DeletionCheck;
use aizuchi_platform::missed_deletions::Suspects;
use aizuchi_store::StoreError;
use jiff::Timestamp;
use serde_json::Value;
use tracing::warn;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::DiscordPlatform;
use crate::api::DiscordApiError;
use crate::from_discord::guild::parse_thread;
use crate::from_discord::message::{ChannelRef, DiscordMessage};
use crate::history::deletions::discord_channel_of;
use crate::history::page::PAGE_SIZE;
use crate::ingest::{IngestError, Location};
use crate::json::non_empty_str;
use crate::snowflake::{id_before, id_timestamp};
use crate::visibility::has_messages;

/// The state of one pass.
pub(super) struct BackfillPass {
    channel: ChannelId,
    guild: Option<Id<GuildMarker>>,
    /// The start of the span that the pass reads.
    from: Timestamp,
    /// The time since which no event was missed.
    since: Timestamp,
    started_at: Timestamp,
    /// Whether the channel was never read before.
    is_first: bool,
    /// The messages stored since `from`, unless there are too many to compare.
    stored: Option<StoredById>,
    /// The messages in Discord's history.
    seen: HashSet<MessageId>,
    /// The channel and the threads that were read completely.
    read_channels: HashSet<ChannelId>,
    /// The time of the persona's last post in each channel or thread.
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
        let workspace = self.workspace_of(channel);
        // Read before the pages: a message that arrives during the pass must not look deleted.
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
    pub(super) async fn read_history(&self, pass: &mut BackfillPass) -> Result<(), IngestError> {
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
        // A forum contains only threads.
        if kind.is_none_or(has_messages) {
            self.read_messages(&pass.channel.clone(), pass).await?;
        }
        if pass.guild.is_some() {
            for thread in self.threads_to_read(pass).await? {
                self.read_messages(&thread, pass).await?;
                self.backfill.record_thread(pass.channel.clone(), MessageId::new(thread.as_str()));
            }
        }
        self.reconcile_reactions(pass).await
    }

    /// Returns the threads that are active, or were archived since `from`.
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

    /// Returns the threads that were archived since `from`, which may contain missed messages.
    async fn archived_threads(&self, pass: &BackfillPass) -> Result<Vec<ChannelId>, IngestError> {
        let mut found = Vec::new();
        let mut before: Option<Timestamp> = None;
        loop {
            let query = before.map(|at| format!("&before={at}")).unwrap_or_default();
            let path =
                format!("/channels/{}/threads/archived/public?limit=100{query}", pass.channel);
            let page: Value = match self.read_history_json(&path).await {
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
            if before.is_some_and(|before| oldest >= before) {
                return Err(DiscordApiError::Malformed("its list has no end").into());
            }
            before = Some(oldest);
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
        let mut after = id_before(pass.from);
        loop {
            let path = format!("/channels/{id}/messages?limit={PAGE_SIZE}&after={after}");
            // The channel or thread may have been deleted, with its messages.
            let Some(page) = self.read_page(&channel_ref, &path).await? else { break };
            let next = page.next_after(after)?;
            pass.seen.extend(page.shown);
            for message in page.messages {
                self.hear_history_message(message, &location, pass).await?;
            }
            let Some(next) = next else { break };
            after = next;
        }
        pass.read_channels.insert(id.clone());
        Ok(())
    }

    /// Finds the persona's last post in a channel that was never read. Mentions before it count as answered.
    async fn find_last_own_post(
        &self,
        channel_ref: &ChannelRef,
        pass: &mut BackfillPass,
    ) -> Result<(), IngestError> {
        let path = format!("/channels/{}/messages?limit={PAGE_SIZE}", channel_ref.channel);
        let Some(page) = self.read_page(channel_ref, &path).await? else { return Ok(()) };
        let messages = page.messages.iter();
        let last_own_post =
            messages.filter(|message| self.is_own(message)).map(|message| message.at).max();
        pass.persona_spoke_at.extend(last_own_post.map(|at| (channel_ref.channel.clone(), at)));
        Ok(())
    }

    /// Hears a message. A message that the store refuses is skipped, because it would be refused again and must not
    /// block the others.
    async fn hear_history_message(
        &self,
        message: DiscordMessage,
        location: &Location,
        pass: &mut BackfillPass,
    ) -> Result<(), IngestError> {
        match self.hear_readable_message(&message, location, pass).await {
            Err(IngestError::Store(StoreError::Refused(why))) => {
                let (channel, id) = (&pass.channel, &message.id);
                warn!(platform = "discord", %channel, message_id = %id, error = %why, "skipped a message that the store refuses");
            }
            heard => heard?,
        }
        if self.is_own(&message) {
            pass.own_messages.push(message);
        }
        Ok(())
    }

    async fn hear_readable_message(
        &self,
        message: &DiscordMessage,
        location: &Location,
        pass: &mut BackfillPass,
    ) -> Result<(), IngestError> {
        let is_stored = pass.stored.as_ref().is_some_and(|stored| stored.contains_key(&message.id));
        let is_new_or_edited = !is_stored || message.edited_at.is_some();
        if is_new_or_edited
            && !(self.is_own(message) && self.is_in_flight(message, location).await?)
        {
            let arrival = match self.is_own(message) {
                // No post of this process: it may be the answer to what is owed.
                true => Arrival::Backfilled,
                false => pass.arrival(message),
            };
            let receipt = self.hear_message(message, location, arrival, &mut None).await?;
            pass.new_messages += usize::from(receipt.is_new);
            if let Some(at) = message.edited_at.filter(|_| !receipt.is_new) {
                self.hear_edit(message, location, at, &mut None).await?;
            }
        }
        Ok(())
    }
}

impl BackfillPass {
    /// Classifies a message. One since the last gap is live, though its event may arrive later. For an older one in a
    /// channel that was never read, the history shows whether it was answered; elsewhere the store knows what is owed.
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

    /// Returns the stored messages that may have been deleted.
    pub(super) fn suspects(&self) -> Suspects {
        match self.stored {
            Some(_) => Suspects::Known(self.missing_messages()),
            // No messages could be read, because a permission is missing.
            None if self.read_channels.is_empty() => Suspects::Known(Vec::new()),
            None => Suspects::Unknown(DeletionCheck { from: self.from, until: self.started_at }),
        }
    }

    /// Returns the messages that were stored when the pass started but that it has not seen.
    pub(super) fn missing_messages(&self) -> Vec<Arc<Message>> {
        let stored = self.stored.iter().flat_map(HashMap::values);
        stored.filter(|message| self.is_missing(message)).cloned().collect()
    }

    fn is_missing(&self, message: &Message) -> bool {
        id_timestamp(message.id.as_str()).is_some()
            && self.read_channels.contains(&discord_channel_of(message))
            && message.at >= self.from
            && !self.seen.contains(&message.id)
    }
}
