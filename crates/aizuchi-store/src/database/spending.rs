//! Records the cost of model calls: for their channel and its workspace, by hour and by day.

use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::flow::planned_call::CallCost;
use jiff::Timestamp;

use crate::StoreError;
use crate::database::connection::{Connection, query};
use crate::database::sql;

const HOUR_MS: i64 = 3_600_000;

/// The cost of one call.
pub struct Expense<'a> {
    pub workspace: &'a WorkspaceId,
    /// The channel's id; empty for the whole workspace.
    pub channel: &'a str,
    pub at: Timestamp,
    pub cost: CallCost,
    /// Whether the price of the model is known.
    pub is_priced: bool,
    /// Whether no user waited for the result.
    pub is_unsolicited: bool,
}

impl Expense<'_> {
    pub async fn add(&self, connection: &mut Connection) -> Result<(), StoreError> {
        let at_ms = self.at.as_millisecond();
        let begin = |length_ms: i64| at_ms - at_ms.rem_euclid(length_ms);
        let tokens = self.cost.tokens as i64;
        let add = query(sql::spending::ADD_SPENDING)
            .bind(self.workspace.as_str())
            .bind(self.channel)
            .bind(begin(HOUR_MS))
            .bind(begin(24 * HOUR_MS))
            .bind(tokens)
            .bind(self.cost.micros as i64)
            .bind(if self.is_unsolicited { tokens } else { 0 })
            .bind(if self.is_priced { 0 } else { tokens });
        add.execute(connection).await?;
        Ok(())
    }
}
