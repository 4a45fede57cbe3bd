//! The pending states of conversations: read for a whole batch at once, changed by the rules, and written back if
//! changed.

use std::collections::{HashMap, HashSet};

use aizuchi_model::chat::{ConversationId, Message};
use aizuchi_model::flow::step::{OwedAnswer, PendingState};
use aizuchi_model::plan::Plan;
use serde_json::{Value, json};

use crate::StoreError;
use crate::database::connection::{Connection, query};
use crate::database::{rows, sql};

/// Pending states as they were read, and in their current form.
pub struct PendingStates(HashMap<ConversationId, (PendingState, PendingState)>);

impl PendingStates {
    pub async fn read(
        connection: &mut Connection,
        conversations: &HashSet<&ConversationId>,
    ) -> Result<Self, StoreError> {
        Self::read_with_known(connection, conversations, std::iter::empty())
            .await
            .map(|(pending_states, _)| pending_states)
    }

    /// Reads the pending states, and the indexes of the messages that are stored already. Each message comes with its
    /// client message id.
    pub async fn read_with_known(
        connection: &mut Connection,
        conversations: &HashSet<&ConversationId>,
        messages: impl Iterator<Item = (&Message, Option<&str>)>,
    ) -> Result<(Self, HashSet<usize>), StoreError> {
        let message_rows = messages.map(|(message, client_message_id)| {
            let conversation = &message.conversation;
            json!([conversation.workspace, conversation.channel, message.id, client_message_id])
        });
        let conversation_rows =
            conversations.iter().map(|conversation| rows::conversation_columns(conversation));
        let query = query(sql::steps::PENDING_STATES)
            .bind(message_rows.collect::<Value>().to_string())
            .bind(conversation_rows.collect::<Value>().to_string());
        let row = query.fetch_one(&mut *connection).await?;
        let mut pending_states: HashMap<ConversationId, PendingState> = HashMap::new();
        for step in rows::parse_steps(&rows::column::<String>(&row, "steps")?)? {
            let conversation = step.work.conversation().clone();
            pending_states.entry(conversation).or_default().step = Some(step);
        }
        for (conversation, owed) in rows::parse_owed(&rows::column::<String>(&row, "owed")?)? {
            pending_states.entry(conversation).or_default().owed.push(owed);
        }
        // A list that SQL has aggregated has no order.
        pending_states.values_mut().for_each(|pending_state| pending_state.owed.sort());
        let pending_states = pending_states.into_iter().map(|(conversation, pending_state)| {
            (conversation, (pending_state.clone(), pending_state))
        });
        let known: Vec<usize> = rows::parse_json(&rows::column::<String>(&row, "known")?)?;
        Ok((Self(pending_states.collect()), known.into_iter().collect()))
    }

    /// The pending state of a plan, which is no conversation's.
    pub fn of_plan(state: PendingState, plan: &Plan) -> Self {
        Self(HashMap::from([(plan.conversation.clone(), (state.clone(), state))]))
    }

    pub fn entry(&mut self, conversation: &ConversationId) -> &mut PendingState {
        &mut self.0.entry(conversation.clone()).or_default().1
    }

    /// Writes the states that changed since they were read.
    pub async fn write(self, connection: &mut Connection, now_ms: i64) -> Result<(), StoreError> {
        let changed = || self.0.iter().filter(|(_, (before, after))| before != after);
        let steps: Vec<Value> = changed()
            .filter(|(_, (before, after))| before.step != after.step)
            .filter_map(|(_, (_, after))| after.step.as_ref().map(rows::step_values))
            .collect();
        if !steps.is_empty() {
            let steps = Value::Array(steps).to_string();
            query(sql::steps::PUT_STEPS).bind(steps).execute(&mut *connection).await?;
        }
        for (conversation, (before, after)) in changed() {
            if before.step.is_some() && after.step.is_none() {
                query(sql::steps::DELETE_STEP)
                    .bind(conversation.workspace.as_str())
                    .bind(conversation.channel.as_str())
                    .bind(rows::thread_column(conversation))
                    .execute(&mut *connection)
                    .await?;
            }
        }
        let opened: Vec<Value> = changed()
            .flat_map(|(conversation, (before, after))| owed_rows(conversation, after, before))
            .collect();
        if !opened.is_empty() {
            let opened = Value::Array(opened).to_string();
            query(sql::steps::PUT_OWED).bind(opened).execute(&mut *connection).await?;
        }
        let closed: Vec<Value> = changed()
            .flat_map(|(conversation, (before, after))| owed_rows(conversation, before, after))
            .collect();
        if !closed.is_empty() {
            let closed = Value::Array(closed).to_string();
            let close = query(sql::steps::CLOSE_OWED).bind(closed).bind(now_ms);
            close.execute(&mut *connection).await?;
        }
        Ok(())
    }
}

/// The owed rows that are in `these` and not in `those`.
fn owed_rows(
    conversation: &ConversationId,
    these: &PendingState,
    those: &PendingState,
) -> Vec<Value> {
    let missing = these.owed.iter().filter(|owed| !those.owed.contains(owed));
    let row = |owed: &OwedAnswer| {
        json!([
            conversation.workspace,
            conversation.channel,
            rows::thread_column(conversation),
            owed.to,
            owed.asker,
            owed.at.as_millisecond()
        ])
    };
    missing.map(row).collect()
}
