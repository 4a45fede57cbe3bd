//! Reads pages of a channel's messages from a database.

use aizuchi_model::chat::{Message, MessageId};
use jiff::Timestamp;

use crate::StoreError;
use crate::archive::Archive;
use crate::database::connection::{Row, query};
use crate::database::{DatabaseStore, rows, sql};
use crate::query::{FilteredMessages, MessageQuery, MessageRange};
use crate::stored_message::StoredMessage;

/// Without a start, everything from the first message on.
pub(super) fn to_begin_ms(from: Option<Timestamp>) -> i64 {
    from.map_or(i64::MIN, |from| from.as_millisecond())
}

pub(super) fn to_end_ms(until: Option<Timestamp>) -> i64 {
    until.map_or(i64::MAX, |until| until.as_millisecond())
}

impl DatabaseStore {
    /// See [`Archive::messages`](crate::archive::Archive::messages).
    pub(super) async fn message_page(
        &self,
        query: MessageQuery,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        match &query.range {
            MessageRange::Newest => self.newest_messages(&query, None).await,
            MessageRange::Before(id) => self.newest_messages(&query, Some(id)).await,
            MessageRange::BeforeTime(at) => self.messages_before(&query, *at).await,
            MessageRange::After(id) => {
                match self.message(&query.workspace, &query.channel, id).await? {
                    Some(message) => {
                        self.messages_after(
                            &query,
                            message.message.at.as_millisecond(),
                            id.as_str(),
                        )
                        .await
                    }
                    None => Ok(Vec::new()),
                }
            }
            // Sorts after every id.
            MessageRange::AfterTime(at) => {
                self.messages_after(&query, at.as_millisecond(), "\u{10ffff}").await
            }
        }
    }

    /// See [`Archive::filtered_messages`](crate::archive::Archive::filtered_messages).
    pub(super) async fn filtered_message_page(
        &self,
        wanted: &FilteredMessages,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let FilteredMessages { workspace, channel, filter, before, limit } = wanted;
        let mut end = (to_end_ms(filter.until), String::new());
        if let Some(before) = before {
            let Some(before) = self.message(workspace, channel, before).await? else {
                return Ok(Vec::new());
            };
            let Message { at, id, .. } = &*before.message;
            end = end.min((at.as_millisecond(), id.to_string()));
        }
        let statement = match filter.author {
            Some(_) => sql::messages::FILTERED_MESSAGES_OF_AUTHOR,
            None => sql::messages::FILTERED_MESSAGES,
        };
        let query = query(statement)
            .bind(workspace.as_str())
            .bind(channel.as_str())
            .bind(end.0)
            .bind(&*end.1)
            .bind(*limit as i64)
            .bind(to_begin_ms(filter.from))
            .bind(filter.visibility.map(rows::visibility_name));
        let query = match &filter.author {
            Some(author) => query.bind(author.as_str()),
            None => query,
        };
        let newest_first = query.fetch_all(&self.readers).await?;
        newest_first.iter().rev().map(rows::stored_message_from_row).collect()
    }

    async fn newest_messages(
        &self,
        filter: &MessageQuery,
        before: Option<&MessageId>,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let statement = match filter.thread {
            Some(_) => sql::messages::NEWEST_MESSAGES_OF_THREAD,
            None => sql::messages::NEWEST_MESSAGES,
        };
        let query = query(statement)
            .bind(filter.workspace.as_str())
            .bind(filter.channel.as_str())
            .bind(before.map(MessageId::as_str))
            .bind(filter.limit as i64);
        let query = match &filter.thread {
            Some(thread) => query.bind(thread.as_str()),
            None => query,
        };
        let newest_first = query.fetch_all(&self.readers).await?;
        newest_first.iter().rev().map(rows::stored_message_from_row).collect()
    }

    async fn messages_before(
        &self,
        filter: &MessageQuery,
        before: Timestamp,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let statement = match filter.thread {
            Some(_) => sql::messages::MESSAGES_BEFORE_TIME_OF_THREAD,
            None => sql::messages::MESSAGES_BEFORE_TIME,
        };
        let query = query(statement)
            .bind(filter.workspace.as_str())
            .bind(filter.channel.as_str())
            .bind(before.as_millisecond())
            .bind(filter.limit as i64);
        let query = match &filter.thread {
            Some(thread) => query.bind(thread.as_str()),
            None => query,
        };
        let newest_first = query.fetch_all(&self.readers).await?;
        newest_first.iter().rev().map(rows::stored_message_from_row).collect()
    }

    async fn messages_after(
        &self,
        filter: &MessageQuery,
        at_ms: i64,
        id: &str,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let statement = match filter.thread {
            Some(_) => sql::messages::MESSAGES_AFTER_OF_THREAD,
            None => sql::messages::MESSAGES_AFTER,
        };
        let query = query(statement)
            .bind(filter.workspace.as_str())
            .bind(filter.channel.as_str())
            .bind(at_ms)
            .bind(id)
            .bind(filter.limit as i64);
        let query = match &filter.thread {
            Some(thread) => query.bind(thread.as_str()),
            None => query,
        };
        let rows: Vec<Row> = query.fetch_all(&self.readers).await?;
        rows.iter().map(rows::stored_message_from_row).collect()
    }
}
