//! Where conversations stand: read for a whole batch in one go, changed by the rules, written back
//! where they have changed.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::chat::ConversationId;
use crate::event::step::{OwedAnswer, PendingState};
use crate::store::StoreError;
use crate::store::database::connection::{Connection, query};
use crate::store::database::hear::IncomingMessage;
use crate::store::database::{rows, sql};

/// Standings of conversations as they were read and as they have become.
pub struct PendingStates(HashMap<ConversationId, (PendingState, PendingState)>);

impl PendingStates {
    pub async fn read(
        connection: &mut Connection,
        conversations: &HashSet<&ConversationId>,
    ) -> Result<Self, StoreError> {
        Self::read_with_known(connection, conversations, &[]).await.map(|(standings, _)| standings)
    }

    /// Reads where conversations stand, and which of these lines are stored already, by their places.
    pub async fn read_with_known(
        connection: &mut Connection,
        conversations: &HashSet<&ConversationId>,
        messages: &[IncomingMessage<'_>],
    ) -> Result<(Self, HashSet<usize>), StoreError> {
        let lines = messages.iter().map(
            |IncomingMessage { message, client_message_id: sent_as, .. }| {
                let place = &message.conversation;
                json!([place.workspace, place.channel, message.id, sent_as])
            },
        );
        let places = conversations.iter().map(|place| rows::conversation_columns(place));
        let read = query(sql::PENDING_STATES)
            .bind(lines.collect::<Value>().to_string())
            .bind(places.collect::<Value>().to_string());
        let row = read.fetch_one(&mut *connection).await?;
        let mut standings: HashMap<ConversationId, PendingState> = HashMap::new();
        for step in rows::parse_steps(&rows::column::<String>(&row, "steps")?)? {
            let conversation = step.event.conversation().clone();
            standings.entry(conversation).or_default().step = Some(step);
        }
        for (conversation, owed) in rows::parse_owed(&rows::column::<String>(&row, "owed")?)? {
            standings.entry(conversation).or_default().owed.push(owed);
        }
        standings.values_mut().for_each(|standing| standing.owed.sort());
        let standings =
            standings.into_iter().map(|(place, standing)| (place, (standing.clone(), standing)));
        let known: Vec<usize> = rows::parse_json(&rows::column::<String>(&row, "known")?)?;
        Ok((Self(standings.collect()), known.into_iter().collect()))
    }

    pub fn entry(&mut self, conversation: &ConversationId) -> &mut PendingState {
        &mut self.0.entry(conversation.clone()).or_default().1
    }

    /// Writes what has changed since they were read.
    pub async fn write(self, connection: &mut Connection, now_ms: i64) -> Result<(), StoreError> {
        let changed = || self.0.iter().filter(|(_, (before, after))| before != after);
        let steps: Vec<Value> = changed()
            .filter(|(_, (before, after))| before.step != after.step)
            .filter_map(|(_, (_, after))| after.step.as_ref().map(rows::step_values))
            .collect();
        if !steps.is_empty() {
            let steps = Value::Array(steps).to_string();
            query(sql::PUT_STEPS).bind(steps).execute(&mut *connection).await?;
        }
        for (conversation, (before, after)) in changed() {
            if before.step.is_some() && after.step.is_none() {
                query(sql::DELETE_STEP)
                    .bind(conversation.workspace.as_str())
                    .bind(conversation.channel.as_str())
                    .bind(rows::thread_column(conversation))
                    .execute(&mut *connection)
                    .await?;
            }
        }
        let opened: Vec<Value> = changed()
            .flat_map(|(place, (before, after))| owed_rows(place, after, before))
            .collect();
        if !opened.is_empty() {
            let opened = Value::Array(opened).to_string();
            query(sql::PUT_OWED).bind(opened).execute(&mut *connection).await?;
        }
        let closed: Vec<Value> = changed()
            .flat_map(|(place, (before, after))| owed_rows(place, before, after))
            .collect();
        if !closed.is_empty() {
            let closed = Value::Array(closed).to_string();
            let close = query(sql::CLOSE_OWED).bind(closed).bind(now_ms);
            close.execute(&mut *connection).await?;
        }
        Ok(())
    }
}

/// The owed lines that `these` has and `those` has not.
fn owed_rows(place: &ConversationId, these: &PendingState, those: &PendingState) -> Vec<Value> {
    let only_here = these.owed.iter().filter(|owed| !those.owed.contains(owed));
    let row = |owed: &OwedAnswer| {
        json!([
            place.workspace,
            place.channel,
            rows::thread_column(place),
            owed.message,
            owed.asker,
            owed.at.as_millisecond()
        ])
    };
    only_here.map(row).collect()
}
