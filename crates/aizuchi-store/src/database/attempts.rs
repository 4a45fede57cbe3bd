//! Stores the attempts of decisions and memory jobs: each model call with its usage, prompt and answer.

use aizuchi_model::chat::{ConversationId, WorkspaceId};
use aizuchi_model::decision::Attempt;
use aizuchi_model::flow::Claim;
use aizuchi_model::flow::planned_call::CallCost;
use aizuchi_model::memory::MemoryKey;
use serde_json::json;

use crate::StoreError;
use crate::database::connection::{Connection, query};
use crate::database::exchange_text::{PACKED, pack};
use crate::database::spending::Expense;
use crate::database::sql::memory as memory_sql;
use crate::database::{rows, sql};

/// What a model call belongs to.
pub enum AttemptOwner<'a> {
    Decision(&'a Claim),
    MemoryJob(&'a MemoryKey),
}

impl AttemptOwner<'_> {
    /// The workspace, and the id of the channel, which is empty for the whole workspace.
    fn place(&self) -> (&WorkspaceId, &str) {
        match self {
            AttemptOwner::Decision(claim) => {
                let ConversationId { workspace, channel, .. } = claim.work.conversation();
                (workspace, channel.as_str())
            }
            AttemptOwner::MemoryJob(key) => {
                (&key.workspace, key.channel().map_or("", |channel| channel.as_str()))
            }
        }
    }
}

pub async fn put_attempt(
    connection: &mut Connection,
    owner: &AttemptOwner<'_>,
    attempt: Attempt,
) -> Result<(), StoreError> {
    let (workspace, channel) = owner.place();
    let (decision, job) = match owner {
        AttemptOwner::Decision(claim) => (claim.decision.0, None),
        // The column is not nullable, and decisions are numbered from 1.
        AttemptOwner::MemoryJob(key) => (0, Some(key.to_string())),
    };
    record_spending(connection, owner, &attempt).await?;
    let put = query(sql::decisions::PUT_ATTEMPT)
        .bind(decision)
        .bind(&*attempt.verb)
        .bind(attempt.at.as_millisecond())
        .bind(&*attempt.model)
        .bind(&*attempt.prompt_hash)
        .bind(attempt.prompt_bytes as i64)
        .bind(attempt.usage.input_tokens as i64)
        .bind(attempt.usage.cached_tokens as i64)
        .bind(attempt.usage.output_tokens as i64)
        .bind(attempt.latency.as_millis() as i64)
        .bind(attempt.result.name())
        .bind(attempt.judgment.map(|judgment| json!(judgment).to_string()))
        .bind(attempt.error)
        .bind(attempt.price.map(|price| price.micros as i64))
        .bind(job)
        .bind(json!(attempt.omissions).to_string())
        .bind(i64::from(attempt.usage.is_estimated))
        .bind(workspace.as_str())
        .bind(channel)
        .bind(attempt.usage.cache_write_tokens as i64);
    let attempt_row: i64 = rows::column(&put.fetch_one(&mut *connection).await?, "id")?;
    let Some(exchange) = attempt.exchange else { return Ok(()) };
    let packed = match exchange.prompt.is_empty() {
        true => None,
        false => Some(pack(&exchange.prompt, exchange.answer.as_deref())?),
    };
    let stored_bytes = packed.as_ref().map_or(0, Vec::len);
    let put = query(sql::decisions::PUT_EXCHANGE)
        .bind(attempt_row)
        .bind(attempt.at.as_millisecond())
        .bind(if packed.is_some() { PACKED } else { "" })
        .bind(packed)
        .bind(stored_bytes as i64);
    put.execute(&mut *connection).await?;
    let put = query(sql::decisions::PUT_EXCHANGE_MESSAGES)
        .bind(attempt_row)
        .bind(workspace.as_str())
        .bind(json!(exchange.lineage.messages).to_string());
    put.execute(&mut *connection).await?;
    if !exchange.lineage.memories.is_empty() {
        let put = query(memory_sql::PUT_EXCHANGE_MEMORIES).bind(attempt_row);
        let put = put.bind(json!(exchange.lineage.memories).to_string());
        put.execute(&mut *connection).await?;
    }
    if !exchange.lineage.orders.is_empty() {
        let put =
            query(sql::decisions::PUT_EXCHANGE_ORDERS).bind(attempt_row).bind(workspace.as_str());
        let put = put.bind(json!(exchange.lineage.orders).to_string());
        put.execute(connection).await?;
    }
    Ok(())
}

/// Records a model call's usage, whatever its result.
async fn record_spending(
    connection: &mut Connection,
    owner: &AttemptOwner<'_>,
    attempt: &Attempt,
) -> Result<(), StoreError> {
    let (workspace, channel) = owner.place();
    let is_unsolicited = match owner {
        AttemptOwner::Decision(claim) => !claim.is_owed,
        AttemptOwner::MemoryJob(_) => true,
    };
    let tokens = attempt.usage.input_tokens + attempt.usage.output_tokens;
    let cost = CallCost { tokens, micros: attempt.price.map_or(0, |price| price.micros) };
    let is_priced = attempt.price.is_some();
    let at = attempt.at;
    let expense = Expense { workspace, channel, at, cost, is_priced, is_unsolicited };
    expense.add(connection).await
}
