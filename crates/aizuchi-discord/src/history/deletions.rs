//! Checks whether Discord still has messages that a pass has not seen. Discord shows an unreadable history as empty, so
//! the messages missing from a page count as deleted only if Discord reports one of them as unknown.

use std::collections::HashSet;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, Message, MessageId};
use serde_json::Value;

use crate::DiscordPlatform;
use crate::api::DiscordApiError;
use crate::from_discord::message::ChannelRef;
use crate::history::page::PAGE_SIZE;
use crate::ingest::IngestError;
use crate::post::UNKNOWN_CODES;
use crate::snowflake::id_timestamp;

/// Fewer messages than this are looked up one by one.
const MIN_PAGED: usize = 4;

impl DiscordPlatform {
    /// Returns those of these messages, all of one conversation, that Discord no longer has.
    pub(super) async fn find_deleted_messages(
        &self,
        messages: &[Arc<Message>],
    ) -> Result<Vec<Arc<Message>>, IngestError> {
        let is_of_discord = |message: &&Arc<Message>| id_timestamp(message.id.as_str()).is_some();
        let messages: Vec<Arc<Message>> = messages.iter().filter(is_of_discord).cloned().collect();
        if messages.len() < MIN_PAGED {
            return self.find_deleted_singly(messages).await;
        }
        let Some(shown) = self.read_shown(&messages).await? else { return Ok(Vec::new()) };
        let missing = messages.into_iter().filter(|message| !shown.contains(&message.id));
        let missing: Vec<Arc<Message>> = missing.collect();
        match missing.last() {
            Some(newest) if !self.is_still_shown(newest).await? => Ok(missing),
            // The history contradicts itself, so each message is looked up.
            Some(_) => self.find_deleted_singly(missing).await,
            None => Ok(missing),
        }
    }

    async fn find_deleted_singly(
        &self,
        messages: Vec<Arc<Message>>,
    ) -> Result<Vec<Arc<Message>>, IngestError> {
        let mut deleted = Vec::new();
        for message in messages {
            if !self.is_still_shown(&message).await? {
                deleted.push(message);
            }
        }
        Ok(deleted)
    }

    /// Returns the ids of the messages that Discord shows in this range, or `None` if the response proves nothing.
    async fn read_shown(
        &self,
        messages: &[Arc<Message>],
    ) -> Result<Option<HashSet<MessageId>>, IngestError> {
        let number = |message: &Arc<Message>| message.id.as_str().parse::<u64>().ok();
        let (Some(first), Some(last)) =
            (messages.iter().filter_map(number).min(), messages.iter().filter_map(number).max())
        else {
            return Ok(None);
        };
        let channel = discord_channel_of(&messages[0]);
        let guild = self.guild_id(&messages[0].conversation.workspace);
        let channel_ref = ChannelRef { guild, channel };
        let mut shown = HashSet::new();
        let mut after = first.saturating_sub(1);
        while after < last {
            let channel = &channel_ref.channel;
            let path = format!("/channels/{channel}/messages?limit={PAGE_SIZE}&after={after}");
            let page = match self.read_page(&channel_ref, &path).await {
                Err(IngestError::Api(DiscordApiError::Refused(_))) => return Ok(None),
                page => page?,
            };
            // If the channel or thread does not exist, neither does any message in it.
            let Some(page) = page else { break };
            if page.has_unnamed {
                return Ok(None);
            }
            let next = page.next_after(after)?;
            shown.extend(page.shown);
            let Some(next) = next else { break };
            after = next;
        }
        Ok(Some(shown))
    }

    /// Whether Discord still has this message.
    async fn is_still_shown(&self, message: &Message) -> Result<bool, IngestError> {
        let channel = discord_channel_of(message);
        let path = format!("/channels/{channel}/messages/{}", message.id);
        match self.read_history_json::<Value>(&path).await {
            Ok(_) => Ok(true),
            // Any other refusal, such as a missing permission or a proxy's error page, does not prove a deletion.
            Err(DiscordApiError::Refused(refusal)) => Ok(!UNKNOWN_CODES.contains(&refusal.code)),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the Discord channel of a message: its thread, if it is in one.
pub(super) fn discord_channel_of(message: &Message) -> ChannelId {
    let conversation = &message.conversation;
    conversation
        .thread
        .as_ref()
        .map_or(conversation.channel.clone(), |thread| ChannelId::new(thread.as_str()))
}
