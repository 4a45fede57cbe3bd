//! Reads the decisions of the ledger from a database.

use aizuchi_model::chat::{ChannelId, UserId};
use aizuchi_model::decision::{Decision, DecisionId};
use serde_json::json;

use crate::StoreError;
use crate::database::connection::query;
use crate::database::stored_messages::{to_begin_ms, to_end_ms};
use crate::database::{DatabaseStore, rows, sql};
use crate::query::{DecisionFilter, DecisionQuery, MessageFilter};

impl DatabaseStore {
    /// See [`Archive::decisions`](crate::archive::Archive::decisions).
    pub(super) async fn find_decisions(
        &self,
        filter: DecisionQuery,
    ) -> Result<Vec<Decision>, StoreError> {
        const MAX_PER_MESSAGE: i64 = 100;
        let (message_ids, ways);
        let query = match &filter {
            DecisionQuery::One { workspace, id } => {
                query(sql::decisions::ONE_DECISION).bind(workspace.as_str()).bind(id.0)
            }
            DecisionQuery::Messages { workspace, channel, messages } => {
                message_ids = json!(messages).to_string();
                query(sql::decisions::DECISIONS_OF_MESSAGES)
                    .bind(workspace.as_str())
                    .bind(channel.as_str())
                    .bind(&message_ids)
            }
            DecisionQuery::Channel { workspace, channel, limit } => {
                query(sql::decisions::DECISIONS_OF_CHANNEL)
                    .bind(workspace.as_str())
                    .bind(channel.as_str())
                    .bind(*limit as i64)
            }
            DecisionQuery::Filtered {
                workspace,
                channel,
                ended,
                gate,
                messages,
                before,
                limit,
            } => {
                let has_filter = *messages != MessageFilter::default();
                let statement = match (ended, has_filter) {
                    (None, false) => sql::decisions::FILTERED_DECISIONS,
                    (None, true) => sql::decisions::FILTERED_DECISIONS_WITH,
                    (Some(DecisionFilter::Ended(_)), false) => {
                        sql::decisions::FILTERED_DECISIONS_ENDED
                    }
                    (Some(DecisionFilter::Ended(_)), true) => {
                        sql::decisions::FILTERED_DECISIONS_ENDED_WITH
                    }
                    (Some(DecisionFilter::Open), false) => sql::decisions::FILTERED_DECISIONS_OPEN,
                    (Some(DecisionFilter::Open), true) => {
                        sql::decisions::FILTERED_DECISIONS_OPEN_WITH
                    }
                    (Some(DecisionFilter::Superseded), false) => {
                        sql::decisions::FILTERED_DECISIONS_SUPERSEDED
                    }
                    (Some(DecisionFilter::Superseded), true) => {
                        sql::decisions::FILTERED_DECISIONS_SUPERSEDED_WITH
                    }
                };
                let query = query(statement)
                    .bind(workspace.as_str())
                    .bind(channel.as_str())
                    .bind(ended.map(DecisionFilter::name))
                    .bind(gate.map(|gate| gate.name()))
                    .bind(before.map_or(i64::MAX, |before| before.0))
                    .bind(*limit as i64);
                match has_filter {
                    true => query
                        .bind(to_begin_ms(messages.from))
                        .bind(to_end_ms(messages.until))
                        .bind(messages.visibility.map(rows::visibility_name))
                        .bind(messages.author.as_ref().map(UserId::as_str)),
                    false => query,
                }
            }
            DecisionQuery::Feed { workspace, channel, ended, gate, since, before, limit } => {
                ways =
                    json!(ended.iter().map(|ended| ended.name()).collect::<Vec<_>>()).to_string();
                query(sql::decisions::FEED)
                    .bind(workspace.as_str())
                    .bind(channel.as_ref().map(ChannelId::as_str))
                    .bind(&ways)
                    .bind(gate.map(|gate| gate.name()))
                    .bind(since.as_millisecond())
                    .bind(before.map_or(i64::MAX, |(at, _)| at.as_millisecond()))
                    .bind(before.map_or(i64::MAX, |(_, DecisionId(id))| id))
                    .bind(*limit as i64)
            }
            DecisionQuery::Since { workspace, channel, since } => {
                query(sql::decisions::DECISIONS_OF_CHANNEL_SINCE)
                    .bind(workspace.as_str())
                    .bind(channel.as_str())
                    .bind(since.as_millisecond())
            }
            DecisionQuery::Message { workspace, message } => {
                query(sql::decisions::DECISIONS_OF_MESSAGE)
                    .bind(workspace.as_str())
                    .bind(message.as_str())
                    .bind(MAX_PER_MESSAGE)
            }
        };
        let newest_first = query.fetch_all(&self.readers).await?;
        newest_first.iter().rev().map(rows::decision_from_row).collect()
    }
}
