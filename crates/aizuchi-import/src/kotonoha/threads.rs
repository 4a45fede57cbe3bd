//! Keeps threads that may be private out of their channel. kotonoha does not store which ones are, and on Discord a
//! private thread is a channel of its own, which the members of the channel above it may not read.

use std::collections::{HashMap, HashSet};

use crate::ImportData;
use crate::kotonoha::dump::ID_PREFIX;
use aizuchi_core::chat::{Channel, ChannelId, ConversationId, MessageId, Visibility};
use aizuchi_core::store::StoreError;
use aizuchi_core::store::archive::Archive;
use aizuchi_core::store::query::{MessageQuery, MessageRange};

/// How many messages of a thread are looked at for one that Discord's history has.
const MAX_LOOKED_AT: usize = 100;

/// Moves threads to private channels of their own, except those that are known as threads of their channel.
pub async fn separate(
    data: &mut ImportData,
    known: &HashMap<ChannelId, Visibility>,
    archive: &dyn Archive,
) -> Result<(), StoreError> {
    let mut found: HashMap<ConversationId, bool> = HashMap::new();
    for imported in &mut data.messages {
        let conversation = &mut imported.message.conversation;
        let Some(thread) = conversation.thread.clone() else { continue };
        let own = ChannelId::new(thread.as_str());
        let is_separate = match found.get(conversation) {
            Some(is_separate) => *is_separate,
            None => {
                let is_separate = known.contains_key(&own)
                    || !is_known_thread(conversation, &thread, archive).await?;
                found.insert(conversation.clone(), is_separate);
                is_separate
            }
        };
        if !is_separate {
            continue;
        }
        (conversation.channel, conversation.thread) = (own.clone(), None);
        if !data.channels.iter().any(|channel| channel.id == own) {
            data.channels.push(Channel {
                workspace: data.workspace.clone(),
                id: own.clone(),
                name: own.0,
                visibility: Visibility::Private,
            });
        }
    }
    let used: HashSet<&ChannelId> =
        data.messages.iter().map(|imported| &imported.message.conversation.channel).collect();
    data.channels.retain(|channel| used.contains(&channel.id));
    Ok(())
}

/// Whether Discord's history has shown it: only public threads begin with a message of their channel, whose id they
/// have, and are read with it. What was imported before shows nothing.
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
