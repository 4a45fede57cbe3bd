//! How long users take to answer: read for the channels of a whole batch at once, updated with each message, and
//! written back if changed.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::chat::{
    Author, AuthorKind, ChannelId, ConversationId, Message, MessageId, UserId, WorkspaceId,
};
use crate::rhythm::reply_delays::{PreviousMessage, ReplyDelays};
use crate::store::database::connection::{Connection, query};
use crate::store::database::{rows, sql};
use crate::store::{REPLY_DELAY_LOOKBACK, StoreError};

/// The reply delays of the channels with new messages from humans.
#[derive(Default)]
pub struct LearnedDelays {
    delays: HashMap<(WorkspaceId, ChannelId), ReplyDelays>,
    newest: HashMap<ConversationId, PreviousMessage>,
    changed: HashSet<(WorkspaceId, ChannelId)>,
}

impl LearnedDelays {
    pub async fn read(
        connection: &mut Connection,
        conversations: &HashSet<&ConversationId>,
    ) -> Result<Self, StoreError> {
        type NewestRow = (WorkspaceId, ChannelId, String, i64, MessageId, UserId, AuthorKind);
        let mut learned = Self::default();
        if conversations.is_empty() {
            return Ok(learned);
        }
        let conversation_rows =
            conversations.iter().map(|conversation| rows::conversation_columns(conversation));
        let read = query(sql::messages::REPLY_DELAYS)
            .bind(conversation_rows.collect::<Value>().to_string());
        let read = read.bind(REPLY_DELAY_LOOKBACK as i64);
        let row = read.fetch_one(&mut *connection).await?;
        type DelaysRow = (WorkspaceId, ChannelId, ReplyDelays);
        let delays: Vec<DelaysRow> = rows::parse_json(&rows::column::<String>(&row, "delays")?)?;
        let delays = delays.into_iter().map(|(workspace, id, delays)| ((workspace, id), delays));
        learned.delays = delays.collect();
        let newest: Vec<NewestRow> = rows::parse_json(&rows::column::<String>(&row, "newest")?)?;
        for (workspace, channel, thread, at_ms, id, author, kind) in newest {
            let thread = (!thread.is_empty()).then(|| MessageId::new(thread));
            let previous = PreviousMessage {
                at: rows::to_timestamp(at_ms)?,
                id,
                author: Author { id: author, kind },
            };
            learned.newest.insert(ConversationId { workspace, channel, thread }, previous);
        }
        Ok(learned)
    }

    /// Records the next message of a conversation.
    pub fn hear(&mut self, message: &Message) {
        let Some(previous) = PreviousMessage::from_message(message) else { return };
        let channel =
            (message.conversation.workspace.clone(), message.conversation.channel.clone());
        let before = self.newest.get(&message.conversation);
        if let (Some(before), Some(delays)) = (before, self.delays.get_mut(&channel)) {
            delays.record(before, message);
            self.changed.insert(channel);
        }
        if before.is_none_or(|before| before.is_before(message)) {
            self.newest.insert(message.conversation.clone(), previous);
        }
    }

    pub async fn write(self, connection: &mut Connection) -> Result<(), StoreError> {
        if self.changed.is_empty() {
            return Ok(());
        }
        let changed = self.changed.iter().filter_map(|channel| {
            let delays = self.delays.get(channel)?;
            Some(json!([channel.0, channel.1, delays]))
        });
        let changed = changed.collect::<Value>().to_string();
        query(sql::messages::PUT_REPLY_DELAYS).bind(changed).execute(connection).await?;
        Ok(())
    }
}
