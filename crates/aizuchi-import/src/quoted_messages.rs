//! The messages of an export whose words others of it carry, since they were shared or forwarded. Discord does not name
//! their authors, and an import may hear a share before the original, or leave the original out.

use std::collections::HashMap;
use std::iter::successors;

use aizuchi_model::chat::{ChannelId, ConversationId, Mention, Message, MessageId, QuotedMessage};

use crate::streamed::StreamedMessage;

/// The originals by their channel or, on Discord, their thread. `None` if the export does not have one.
#[derive(Default)]
pub struct QuotedMessages(HashMap<(ChannelId, MessageId), Option<Message>>);

impl QuotedMessages {
    /// Adds the messages whose words one with these mentions carries.
    pub fn add(&mut self, mentions: &[Mention]) {
        for mention in mentions {
            if let Mention::Quote(QuotedMessage { message: Some(original), .. }) = mention {
                self.0.insert(original.clone(), None);
            }
        }
    }

    /// Notes a message, if others carry its words.
    pub fn note(&mut self, message: &Message) {
        let ConversationId { channel, thread, .. } = &message.conversation;
        let thread = thread.as_ref().map(|thread| ChannelId::new(thread.as_str()));
        for channel in [channel.clone()].into_iter().chain(thread) {
            if let Some(original) = self.0.get_mut(&(channel, message.id.clone())) {
                *original = Some(message.clone());
            }
        }
    }

    fn find(&self, quoted: &QuotedMessage) -> Option<&Message> {
        self.0.get(quoted.message.as_ref()?)?.as_ref()
    }

    /// Adds whose words a message carries. `None` if they were deleted.
    pub fn attribute(&self, mut streamed: StreamedMessage) -> Option<StreamedMessage> {
        for mention in &mut streamed.message.mentions {
            let Mention::Quote(quoted) = mention else { continue };
            // A forward of a forward carries the words of the first author.
            let originals = successors(self.find(quoted), |original| {
                self.find(original.quoted().next()?).filter(|earlier| earlier.at < original.at)
            });
            let originals: Vec<&Message> = originals.collect();
            let (Some(original), Some(first)) = (originals.first(), originals.last()) else {
                continue;
            };
            if originals.iter().any(|original| original.is_erased()) {
                return None;
            }
            quoted.message = Some((original.conversation.channel.clone(), original.id.clone()));
            if quoted.author.is_none() {
                let author = first.quoted().find_map(|quoted| quoted.author.as_ref());
                quoted.author = Some(author.unwrap_or(&first.author.id).clone());
                quoted.at = Some(first.at);
            }
        }
        Some(streamed)
    }
}
