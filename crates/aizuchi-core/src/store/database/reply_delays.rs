//! How long people take to answer: read for the channels of a whole batch in one go, learned line by
//! line, written back where it has changed.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::chat::{
    Author, AuthorKind, ChannelId, ConversationId, Message, MessageId, UserId, WorkspaceId,
};
use crate::rhythm::reply_delays::{PreviousMessage, ReplyDelays};
use crate::store::database::connection::{Connection, query};
use crate::store::database::{rows, sql};
use crate::store::{REPLY_DELAY_LOOKBACK, StoreError};

/// What is known of the channels where people have said something.
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
        let places = conversations.iter().map(|place| rows::conversation_columns(place));
        let read = query(sql::REPLY_DELAYS).bind(places.collect::<Value>().to_string());
        let read = read.bind(REPLY_DELAY_LOOKBACK as i64);
        let row = read.fetch_one(&mut *connection).await?;
        type DelaysRow = (WorkspaceId, ChannelId, ReplyDelays);
        let delays: Vec<DelaysRow> = rows::parse_json(&rows::column::<String>(&row, "delays")?)?;
        let delays = delays.into_iter().map(|(workspace, id, delays)| ((workspace, id), delays));
        learned.delays = delays.collect();
        let newest: Vec<NewestRow> = rows::parse_json(&rows::column::<String>(&row, "newest")?)?;
        for (workspace, channel, thread, at_ms, id, author, kind) in newest {
            let thread = (!thread.is_empty()).then(|| MessageId::new(thread));
            let said = PreviousMessage {
                at: rows::to_timestamp(at_ms)?,
                id,
                author: Author { id: author, kind },
            };
            learned.newest.insert(ConversationId { workspace, channel, thread }, said);
        }
        Ok(learned)
    }

    /// The next line of its conversation.
    pub fn hear(&mut self, message: &Message) {
        let Some(said) = PreviousMessage::from_message(message) else { return };
        let place = (message.conversation.workspace.clone(), message.conversation.channel.clone());
        let before = self.newest.get(&message.conversation);
        if let (Some(before), Some(delays)) = (before, self.delays.get_mut(&place)) {
            delays.record(before, message);
            self.changed.insert(place);
        }
        if before.is_none_or(|before| before.is_before(message)) {
            self.newest.insert(message.conversation.clone(), said);
        }
    }

    pub async fn write(self, connection: &mut Connection) -> Result<(), StoreError> {
        if self.changed.is_empty() {
            return Ok(());
        }
        let changed = self.changed.iter().filter_map(|place| {
            let delays = self.delays.get(place)?;
            Some(json!([place.0, place.1, delays]))
        });
        let changed = changed.collect::<Value>().to_string();
        query(sql::PUT_REPLY_DELAYS).bind(changed).execute(connection).await?;
        Ok(())
    }
}
