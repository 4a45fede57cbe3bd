//! Keeps threads that may be private out of their channel. kotonoha does not store which ones are, and on Discord a
//! private thread is a channel of its own, which the members of the channel above it may not read.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aizuchi_model::chat::{Channel, ChannelId, ConversationId, MessageId, Visibility};
use aizuchi_store::StoreError;
use aizuchi_store::archive::Archive;
use aizuchi_store::query::{MessageQuery, MessageRange};

use crate::ImportData;
use crate::kotonoha::dump::ID_PREFIX;
use crate::streamed::StreamedMessage;

/// How many messages of a thread are checked for one from Discord's history.
const MAX_LOOKED_AT: usize = 100;

/// The threads that become private channels of their own.
#[derive(Default)]
pub struct SeparateThreads(HashSet<ConversationId>);

impl SeparateThreads {
    /// Finds all threads, except those that are known as threads of their channel. Sets the channels of the data to
    /// those of its conversations.
    pub async fn find(
        data: &mut ImportData,
        known: &HashMap<ChannelId, Visibility>,
        archive: &dyn Archive,
    ) -> Result<Self, StoreError> {
        let mut separate = Self::default();
        for conversation in std::mem::take(&mut data.unsorted_conversations) {
            let mut channel = conversation.channel.clone();
            if let Some(thread) = &conversation.thread {
                let own = ChannelId::new(thread.as_str());
                let is_separate = known.contains_key(&own)
                    || !is_known_thread(&conversation, thread, archive).await?;
                if is_separate {
                    separate.0.insert(conversation);
                    channel = own;
                }
            }
            if !data.channels.iter().any(|known| known.id == channel) {
                data.channels.push(Channel {
                    workspace: data.workspace.clone(),
                    name: Arc::clone(&channel.0),
                    id: channel,
                    visibility: Visibility::Private,
                    topic: None,
                });
            }
        }
        Ok(separate)
    }

    /// Moves the message to its thread's own channel, if it has one.
    pub fn moved(&self, mut streamed: StreamedMessage) -> StreamedMessage {
        let conversation = &mut streamed.message.conversation;
        if self.0.contains(conversation)
            && let Some(thread) = conversation.thread.take()
        {
            conversation.channel = ChannelId::new(thread.0);
        }
        streamed
    }
}

/// Whether Discord's history contains the thread: only public threads begin with a message of their channel, whose id
/// they share, and are read with it. Messages that were imported before prove nothing.
async fn is_known_thread(
    conversation: &ConversationId,
    thread: &MessageId,
    archive: &dyn Archive,
) -> Result<bool, StoreError> {
    let ConversationId { workspace, channel, .. } = conversation;
    if archive.message(workspace, channel, thread).await?.is_some() {
        return Ok(true);
    }
    let query = MessageQuery {
        workspace: workspace.clone(),
        channel: channel.clone(),
        thread: Some(thread.clone()),
        range: MessageRange::Newest,
        limit: MAX_LOOKED_AT,
    };
    let messages = archive.messages(query).await?;
    Ok(messages.iter().any(|stored| !stored.message.id.as_str().starts_with(ID_PREFIX)))
}
