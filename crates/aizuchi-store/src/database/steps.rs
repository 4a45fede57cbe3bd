//! Claims due steps and applies their outcomes.

use std::collections::HashSet;

use aizuchi_model::chat::MessageId;
use aizuchi_model::decision::Evaluation;
use aizuchi_model::flow::completion::{
    Completion, CompletionContext, CoveredMessage, NextDecision, UnsentOutcome,
};
use aizuchi_model::flow::outbox::{OutboxItem, PostedMessage};
use aizuchi_model::flow::step::Lease;
use aizuchi_model::flow::{Claim, DeadLetter, Outcome, StepResult, Work};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::database::attempts::{AttemptOwner, put_attempt};
use crate::database::connection::{BindValue, Connection, query};
use crate::database::hear::{hear_reaction, put_own_message};
use crate::database::lineage::has_changed_since;
use crate::database::outbox::{self, ItemOwner};
use crate::database::pending_states::PendingStates;
use crate::database::{
    Counters, attachments, consents, memos, orders, plans, proposals, reservations, rows, sql,
};
use crate::order::Order;
use crate::{CompletionReceipt, StoreError};

pub async fn claim(
    connection: &mut Connection,
    counters: &mut Counters,
    now: Timestamp,
    lease: SignedDuration,
    most: usize,
) -> Result<Vec<Claim>, StoreError> {
    let mut claims = claim_steps(connection, counters, now, lease, most).await?;
    let left = most - claims.len();
    claims.extend(plans::claim(connection, counters, now, lease, left).await?);
    Ok(claims)
}

async fn claim_steps(
    connection: &mut Connection,
    counters: &mut Counters,
    now: Timestamp,
    lease: SignedDuration,
    most: usize,
) -> Result<Vec<Claim>, StoreError> {
    let ready = query(sql::steps::READY_STEPS).bind(now.as_millisecond()).bind(most as i64);
    let ready = ready.fetch_one(&mut *connection).await?;
    let mut ready = rows::parse_steps(&rows::column::<String>(&ready, "steps")?)?;
    // SQL guarantees no order within an aggregated JSON list.
    ready.sort_by_cached_key(|step| (step.ready_at(), step.work.conversation().clone()));
    if ready.is_empty() {
        return Ok(Vec::new());
    }
    let mut claims = Vec::with_capacity(ready.len());
    let mut steps = Vec::with_capacity(ready.len());
    counters.revision += 1;
    for mut step in ready {
        counters.last_number += 1;
        // From the one sequence of the database, so no two claims ever have the same token.
        let token = counters.last_number;
        claims.push(step.claim(token));
        // After `claim`, which counts this attempt itself.
        step.attempts += 1;
        step.lease = Some(Lease { token, until: now + lease });
        // Committed with the claim, before the platform is called: after a crash it counts as possibly posted.
        if let Work::Post(item) = &step.work {
            let dispatch =
                query(sql::steps::DISPATCH_OUTBOX_ITEM).bind(item.id.0).bind(now.as_millisecond());
            dispatch.execute(&mut *connection).await?;
        }
        steps.push(rows::step_values(&step));
    }
    let steps = Value::Array(steps).to_string();
    query(sql::steps::PUT_STEPS).bind(steps).execute(connection).await?;
    Ok(claims)
}

pub async fn complete(
    connection: &mut Connection,
    counters: &mut Counters,
    claim: &Claim,
    outcome: Outcome,
    now: Timestamp,
) -> Result<CompletionReceipt, StoreError> {
    counters.revision += 1;
    let conversation = claim.work.conversation();
    let mut pending_states = match &claim.plan {
        Some(plan) => PendingStates::of_plan(plans::pending_state(connection, plan).await?, plan),
        None => PendingStates::read(connection, &HashSet::from([conversation])).await?,
    };
    // Asked before the state is completed below, which releases the lease.
    let is_current = pending_states.entry(conversation).is_current(claim);
    // In this transaction, so no edit or deletion can come between the check and the commit.
    let is_stale = match outcome.lineage(claim) {
        Some((seen_revision, lineage)) => {
            let (workspace, channel) = (&conversation.workspace, Some(&conversation.channel));
            let revision = seen_revision.number();
            has_changed_since(&mut *connection, workspace, channel, revision, lineage).await?
        }
        None => false,
    };
    let mut outcome = if is_stale { outcome.without_text() } else { outcome };
    if !outcome.attempts.is_empty() {
        // The actual cost of the calls is recorded below, in place of the estimate.
        reservations::release(connection, claim.token).await?;
    }
    for attempt in std::mem::take(&mut outcome.attempts) {
        put_attempt(
            connection,
            &AttemptOwner::Decision(claim),
            attempt.superseded_unless(is_current),
        )
        .await?;
    }
    // The files were read, even if the text is discarded.
    attachments::keep_read(connection, conversation, &outcome.read_attachments).await?;
    // Only the model calls and the post of a superseded step are recorded: both have happened.
    if is_current {
        memos::apply_changes(connection, counters, claim, &mut outcome, now).await?;
        if let Some(quiet) = &outcome.quiet_order {
            orders::apply(connection, counters, &Order::of_quiet(quiet, conversation), now).await?;
        }
        if let Some(evaluation) = &outcome.evaluation {
            record_evaluation(connection, claim, evaluation).await?;
        }
    }
    let is_drafted = matches!(outcome.result, StepResult::Drafted { .. } | StepResult::Proposed(_));
    let seen_revision = outcome.seen_revision.or(claim.work.seen_revision());
    let (mut newest_seen, mut newest_unseen) = (None, None);
    // Even if the claim has lost its lease: the post is in the channel, whoever finishes the step.
    if let (StepResult::Posted(posted), Work::Post(item)) = (&outcome.result, &claim.work) {
        record_posted(connection, counters, item, posted).await?;
        (newest_seen, newest_unseen) =
            newest_seen_and_unseen(connection, claim, item, posted).await?;
    }
    // Read after the post is recorded, since it tells whether the item was posted.
    let completion_context = completion_context(connection, counters, claim, seen_revision).await?;
    let pending_state = pending_states.entry(conversation);
    let owed = pending_state.owed.clone();
    let completion = pending_state.complete(claim, outcome.result, &completion_context, now);
    let answered = pending_state.closed_since(&owed);
    let completion = if is_stale { completion.without_text(claim) } else { completion };
    let receipt = CompletionReceipt::from_completion(&completion, newest_seen, newest_unseen);
    consents::settle_reported(connection, conversation, &answered, seen_revision).await?;
    let draft = completion.new_draft().cloned();
    let is_closed = completion.closed.is_some();
    let is_said = completion_context.is_posted && is_closed;
    let is_letter_stale = is_stale && completion.dead_letter.is_some();
    write_completion(connection, counters, claim, completion, seen_revision, now).await?;
    if is_current {
        // After the completion, which has numbered its own rows.
        plans::make_of(connection, counters, &outcome.plans, is_drafted, is_closed).await?;
    }
    if is_letter_stale {
        let erase = query(sql::steps::ERASE_DEAD_OUTBOX_ITEMS).bind(claim.decision.0);
        erase.execute(&mut *connection).await?;
    }
    if let Some(draft) = draft {
        consents::put(connection, counters, claim, &draft, &outcome.wanted_calls).await?;
    }
    if let Work::Post(item) = &claim.work
        && is_said
    {
        consents::open(connection, counters, item, now).await?;
    }
    let touch =
        query(sql::decisions::TOUCH_DECISION).bind(claim.decision.0).bind(counters.revision as i64);
    touch.execute(&mut *connection).await?;
    match &claim.plan {
        Some(plan) if is_current => {
            let step = pending_states.entry(conversation).step.as_ref();
            plans::put_state(connection, plan, step, receipt.ended, now).await?;
        }
        Some(_) => {}
        None => pending_states.write(connection, now.as_millisecond()).await?,
    }
    Ok(receipt)
}

async fn record_evaluation(
    connection: &mut Connection,
    claim: &Claim,
    evaluation: &Evaluation,
) -> Result<(), StoreError> {
    let put = query(sql::decisions::PUT_EVALUATION)
        .bind(claim.decision.0)
        .bind(evaluation.mode.name())
        .bind(json!(evaluation.passed_gates).to_string())
        .bind(evaluation.conversation_state.map(|state| state.name()))
        .bind(BindValue::Real(evaluation.needed_confidence));
    put.execute(connection).await?;
    Ok(())
}

async fn record_posted(
    connection: &mut Connection,
    counters: &mut Counters,
    item: &OutboxItem,
    posted: &PostedMessage,
) -> Result<(), StoreError> {
    let mark = query(sql::steps::MARK_OUTBOX_ITEM_POSTED).bind(item.id.0).bind(posted.id.as_str());
    // A lookup and a late answer may both report the post; the first to record it stores the message.
    let Some(marked) = mark.fetch_optional(&mut *connection).await? else { return Ok(()) };
    if let Some(reaction) = item.to_reaction(posted) {
        return hear_reaction(connection, counters, &reaction).await.map(|_| ());
    }
    let mut message = item.to_message(posted);
    if rows::column(&marked, "is_forgotten")? {
        // A user whose messages it was made from was forgotten while it was posted.
        message.text = "".into();
    }
    put_own_message(connection, counters, &message, item.message_gate()).await
}

/// The times of the decision's newest message that the draft had considered, and of the newest that it had not.
async fn newest_seen_and_unseen(
    connection: &mut Connection,
    claim: &Claim,
    item: &OutboxItem,
    posted: &PostedMessage,
) -> Result<(Option<Timestamp>, Option<Timestamp>), StoreError> {
    let row = query(sql::messages::NEWEST_SEEN_AND_UNSEEN)
        .bind(claim.decision.0)
        .bind(item.metadata.seen_revision.number() as i64)
        .bind(posted.at.as_millisecond());
    let row = row.fetch_one(connection).await?;
    let time =
        |name: &str| rows::column::<Option<i64>>(&row, name)?.map(rows::to_timestamp).transpose();
    Ok((time("seen_ms")?, time("unseen_ms")?))
}

async fn completion_context(
    connection: &mut Connection,
    counters: &Counters,
    claim: &Claim,
    seen_revision: Option<u64>,
) -> Result<CompletionContext, StoreError> {
    let mut context = CompletionContext {
        is_posted: false,
        next_item: None,
        messages: Vec::new(),
        last_id: counters.last_number,
        installation: counters.installation.clone(),
    };
    if let Work::Post(item) = &claim.work {
        let state = query(sql::steps::OUTBOX_ITEM_STATE).bind(item.id.0);
        let state = state.fetch_optional(&mut *connection).await?;
        let state = state.map(|row| rows::column::<String>(&row, "state")).transpose()?;
        context.is_posted = state.as_deref() == Some("said");
        let next = query(sql::steps::NEXT_OUTBOX_ITEM).bind(item.id.0);
        let next = next.fetch_optional(&mut *connection).await?;
        context.next_item = next.as_ref().map(rows::outbox_item_from_row).transpose()?;
    }
    let messages = query(sql::messages::DECISION_MESSAGES)
        .bind(claim.decision.0)
        // An outcome without a revision has seen nothing.
        .bind(seen_revision.unwrap_or_default() as i64);
    for row in messages.fetch_all(&mut *connection).await? {
        let id = MessageId::new(rows::column::<String>(&row, "id")?);
        context.messages.push(CoveredMessage { id, is_seen: rows::column(&row, "is_seen")? });
    }
    Ok(context)
}

async fn write_completion(
    connection: &mut Connection,
    counters: &mut Counters,
    claim: &Claim,
    completion: Completion,
    seen_revision: Option<u64>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let owner = ItemOwner { decision: claim.decision, is_owed: claim.is_owed };
    for item in &completion.outbox_items {
        // The rules have numbered the items from the counter on.
        counters.last_number = item.id.0;
        outbox::put_item(connection, owner, item).await?;
    }
    if let Some(proposal) = &completion.proposal {
        proposals::put(connection, claim, &completion.outbox_items, proposal).await?;
    }
    if let (Some(outcome), Work::Post(item)) = (completion.unsent, &claim.work) {
        end_outbox_items(connection, item, outcome).await?;
    }
    if let Some(letter) = &completion.dead_letter {
        put_dead_letter(connection, counters, letter).await?;
    }
    if let Some(result) = completion.retired {
        let decision = json!([[claim.decision, counters.revision]]).to_string();
        query(sql::decisions::SUPERSEDE_DECISIONS)
            .bind(&decision)
            .execute(&mut *connection)
            .await?;
        let retire = query(sql::decisions::RETIRE_ATTEMPTS).bind(decision).bind(result.name());
        retire.execute(&mut *connection).await?;
    }
    if completion.has_redrafted {
        let supersede = query(sql::decisions::SUPERSEDE_REPLIES).bind(claim.decision.0);
        supersede.execute(&mut *connection).await?;
    }
    if let Some((judgment, state)) = completion.judgment {
        let judge = query(sql::decisions::JUDGE_DECISION)
            .bind(claim.decision.0)
            .bind(json!(judgment).to_string())
            .bind(state.0)
            .bind(seen_revision.map(|revision| revision as i64));
        judge.execute(&mut *connection).await?;
    }
    if let Some(closed) = completion.closed {
        let close = query(sql::decisions::CLOSE_DECISION)
            .bind(claim.decision.0)
            .bind(now.as_millisecond())
            .bind(closed.ended.name())
            .bind(closed.gate.map(|gate| gate.name()))
            .bind(closed.judgment.map(|judgment| json!(judgment).to_string()))
            .bind(closed.state_hash.map(|state| state.0))
            .bind(closed.why)
            .bind(i64::from(claim.is_owed));
        close.execute(&mut *connection).await?;
        if let Work::Post(_) = &claim.work {
            let forget_text = query(sql::decisions::FORGET_POSTED_TEXT).bind(claim.decision.0);
            forget_text.execute(&mut *connection).await?;
        }
    }
    if let Some(next) = completion.next_decision {
        open_next_decision(connection, counters, claim, next, now).await?;
    }
    Ok(())
}

async fn end_outbox_items(
    connection: &mut Connection,
    item: &OutboxItem,
    outcome: UnsentOutcome,
) -> Result<(), StoreError> {
    let end = match outcome {
        UnsentOutcome::Draft => query(sql::steps::UNDISPATCH_OUTBOX_ITEM).bind(item.id.0),
        UnsentOutcome::Superseded => {
            query(sql::steps::END_OUTBOX_ITEMS).bind(item.first_in_draft.0).bind("replaced")
        }
        UnsentOutcome::Dropped => {
            query(sql::steps::END_OUTBOX_ITEMS).bind(item.first_in_draft.0).bind("dropped")
        }
        UnsentOutcome::DeadLettered => {
            if !item.is_sending() {
                // The platform has refused it, so it was certainly not posted.
                let undispatch = query(sql::steps::UNDISPATCH_OUTBOX_ITEM).bind(item.id.0);
                undispatch.execute(&mut *connection).await?;
            }
            query(sql::steps::END_OUTBOX_ITEMS).bind(item.first_in_draft.0).bind("dead")
        }
    };
    end.execute(connection).await?;
    Ok(())
}

async fn put_dead_letter(
    connection: &mut Connection,
    counters: &mut Counters,
    letter: &DeadLetter,
) -> Result<(), StoreError> {
    counters.last_number += 1;
    let put = query(sql::steps::PUT_DEAD_LETTER)
        .bind(counters.last_number)
        .bind(letter.decision.map(|decision| decision.0))
        .bind(letter.conversation.workspace.as_str())
        .bind(letter.conversation.channel.as_str())
        .bind(rows::thread_column(&letter.conversation))
        .bind(&*letter.verb)
        .bind(letter.at.as_millisecond())
        .bind(letter.attempts)
        .bind(&letter.error)
        .bind(letter.text.as_deref());
    put.execute(connection).await?;
    Ok(())
}

/// Opens the successor of the claim's decision, and moves its messages there.
async fn open_next_decision(
    connection: &mut Connection,
    counters: &mut Counters,
    claim: &Claim,
    next: NextDecision,
    now: Timestamp,
) -> Result<(), StoreError> {
    counters.last_number = counters.last_number.max(next.id.0);
    let conversation = claim.work.conversation();
    let opened = json!([[
        next.id,
        conversation.workspace,
        conversation.channel,
        rows::thread_column(conversation),
        now.as_millisecond(),
        i64::from(next.is_owed),
        counters.revision,
    ]]);
    let open = query(sql::decisions::OPEN_DECISIONS).bind(opened.to_string());
    open.execute(&mut *connection).await?;
    if next.messages.is_empty() {
        return Ok(());
    }
    let messages: Vec<[&MessageId; 1]> = next.messages.iter().map(|id| [id]).collect();
    let move_messages = query(sql::messages::MOVE_MESSAGES)
        .bind(claim.decision.0)
        .bind(next.id.0)
        .bind(json!(messages).to_string());
    move_messages.execute(connection).await?;
    Ok(())
}
