//! Plans and their steps. A plan is claimed and completed like a step of a conversation, but has a row of its own.

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, MessageId, UserId, WorkspaceId};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{DecisionId, DecisionResult};
use aizuchi_model::flow::step::{Lease, PendingState, Step, new_step};
use aizuchi_model::flow::{Claim, Work};
use aizuchi_model::memory::MessageRef;
use aizuchi_model::plan::{MAX_PER_CHANNEL, MAX_PER_USER, Plan, PlanId, PlanKind, Whom};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::StoreError;
use crate::database::connection::{Connection, Readers, Row, query};
use crate::database::{Counters, rows, sql};
use crate::order::PlanChange;
use crate::refusal_reason::RefusalReason;

/// How long a plan waits while a post of its conversation is being sent.
const WAIT_FOR_POST: SignedDuration = SignedDuration::from_secs(1);
/// The steps of a plan replace each other, and nothing else replaces them.
const GENERATION: u64 = 1;

/// Makes a plan. Idempotent for a chat command, which is carried out again if the process ended before its message was
/// stored.
pub async fn make(
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    plan: &Plan,
) -> Result<(), StoreError> {
    let (asker, made) = (plan.asker.as_str(), plan.made.as_millisecond());
    let message = plan.message.as_ref().map_or("", MessageId::as_str);
    let known = query(sql::plans::HAS_PLAN).bind(workspace.as_str()).bind(asker);
    let known = known.bind(made).bind(message).bind(plan.conversation.channel.as_str());
    if known.fetch_optional(&mut *connection).await?.is_some() {
        return Ok(());
    }
    let (channel, thread) = (&plan.conversation.channel, rows::thread_column(&plan.conversation));
    let count = query(sql::plans::COUNT_PLANS).bind(workspace.as_str()).bind(asker);
    let count = count.bind(channel.as_str()).fetch_one(&mut *connection).await?;
    let of_user = rows::column::<i64>(&count, "of_user")?;
    if of_user >= MAX_PER_USER && !plan.kind.is_unasked()
        || rows::column::<i64>(&count, "in_channel")? >= MAX_PER_CHANNEL
    {
        return Err(StoreError::Refused(RefusalReason::TooManyPlans));
    }
    counters.revision += 1;
    counters.last_number += 1;
    let (audience, whom) = match &plan.whom {
        Whom::Asker => ("asker", ""),
        Whom::Channel => ("channel", ""),
        Whom::Named(name) => ("named", name.as_str()),
    };
    let put = query(sql::plans::PUT_PLAN)
        .bind(counters.last_number)
        .bind(workspace.as_str())
        .bind(channel.as_str())
        .bind(thread)
        .bind(asker)
        .bind(message)
        .bind(audience)
        .bind(whom)
        .bind(plan.kind.name())
        .bind(&*plan.what)
        .bind(plan.recurrence.as_ref().map(ToString::to_string))
        .bind(plan.zone.iana_name().unwrap_or("UTC"))
        .bind(made)
        .bind(plan.due.as_millisecond());
    put.execute(connection).await?;
    Ok(())
}

/// Makes the plans that an outcome leads to: those that a draft tells of, if it is kept, and those to come back to a
/// question, if the decision is closed.
pub async fn make_of(
    connection: &mut Connection,
    counters: &mut Counters,
    plans: &[Plan],
    is_drafted: bool,
    is_closed: bool,
) -> Result<(), StoreError> {
    let is_kept = |plan: &&Plan| if plan.kind.is_unasked() { is_closed } else { is_drafted };
    let kept: Vec<&Plan> = plans.iter().filter(is_kept).collect();
    for plan in kept.iter().filter(|plan| plan.kind == PlanKind::Promise) {
        let Some(message) = &plan.message else { continue };
        let conversation = &plan.conversation;
        let drop = query(sql::plans::DROP_PROMISES_OF_MESSAGE)
            .bind(conversation.workspace.as_str())
            .bind(conversation.channel.as_str())
            .bind(message.as_str());
        drop.execute(&mut *connection).await?;
    }
    for plan in kept {
        let workspace = &plan.conversation.workspace;
        match make(connection, counters, workspace, plan).await {
            // Others were made since the draft was begun.
            Ok(()) | Err(StoreError::Refused(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Changes or drops a plan. Refused if it is done by now.
pub async fn change(
    connection: &mut Connection,
    counters: &mut Counters,
    id: PlanId,
    change: &PlanChange,
    now: Timestamp,
) -> Result<(), StoreError> {
    match find(connection, id).await? {
        None => return Err(StoreError::Refused(RefusalReason::NoPlan)),
        // It would be made again.
        Some(plan) if plan.kind == PlanKind::FirstWord => {
            return Err(StoreError::Refused(RefusalReason::PlannedByConfig));
        }
        Some(_) => {}
    }
    counters.revision += 1;
    query(sql::plans::DROP_DRAFTS_OF_PLAN).bind(id.0).execute(&mut *connection).await?;
    let close = query(sql::plans::CLOSE_DECISION_OF_PLAN).bind(id.0).bind(Gate::Command.name());
    close
        .bind(now.as_millisecond())
        .bind(counters.revision as i64)
        .execute(&mut *connection)
        .await?;
    let change = match change {
        PlanChange::Drop => query(sql::plans::DROP_PLAN).bind(id.0),
        PlanChange::Move { due, what, recurrence } => query(sql::plans::MOVE_PLAN)
            .bind(id.0)
            .bind(due.as_millisecond())
            .bind(&**what)
            .bind(recurrence.as_ref().map(ToString::to_string)),
    };
    change.execute(connection).await?;
    Ok(())
}

/// Drops the plans of a user who opted out or is forgotten.
pub async fn drop_all_of(
    connection: &mut Connection,
    counters: &Counters,
    workspace: &WorkspaceId,
    user: &UserId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let close = query(sql::plans::CLOSE_DECISIONS_OF_PLANS_OF).bind(workspace.as_str());
    let close = close.bind(user.as_str()).bind(Gate::OptedOut.name()).bind(now.as_millisecond());
    close.bind(counters.revision as i64).execute(&mut *connection).await?;
    for statement in [sql::plans::DROP_DRAFTS_OF_PLANS_OF, sql::plans::DROP_PLANS_OF] {
        let drop = query(statement).bind(workspace.as_str()).bind(user.as_str());
        drop.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Erases what the plans repeat of a message that is deleted.
pub async fn erase_those_of(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    MessageRef(channel, message): &MessageRef,
) -> Result<(), StoreError> {
    let erase = query(sql::plans::ERASE_PLANS_OF_MESSAGE);
    let erase = erase.bind(workspace.as_str()).bind(channel.as_str()).bind(message.as_str());
    erase.execute(connection).await?;
    Ok(())
}

/// Claims up to `most` plans that are ready. A plan waits while a post of its conversation is being sent.
pub async fn claim(
    connection: &mut Connection,
    counters: &mut Counters,
    now: Timestamp,
    lease: SignedDuration,
    most: usize,
) -> Result<Vec<Claim>, StoreError> {
    let ready = query(sql::plans::READY_PLANS).bind(now.as_millisecond()).bind(most as i64);
    let ready = ready.fetch_all(&mut *connection).await?;
    if !ready.is_empty() {
        counters.revision += 1;
    }
    let mut claims = Vec::with_capacity(ready.len());
    for row in &ready {
        let plan = from_row(row)?;
        if rows::column::<i64>(row, "posting")? > 0 {
            let postpone = query(sql::plans::POSTPONE_PLAN).bind(plan.id.0);
            postpone.bind((now + WAIT_FOR_POST).as_millisecond()).execute(&mut *connection).await?;
            continue;
        }
        let step = match read_step(connection, row).await? {
            Some(step) => step,
            None => open_decision(connection, counters, &plan, now).await?,
        };
        counters.last_number += 1;
        let token = counters.last_number;
        let claim = query(sql::plans::CLAIM_PLAN)
            .bind(plan.id.0)
            .bind(step.decision.0)
            .bind(token)
            .bind((now + lease).as_millisecond());
        claim.execute(&mut *connection).await?;
        if let Work::Post(item) = &step.work {
            let dispatch =
                query(sql::steps::DISPATCH_OUTBOX_ITEM).bind(item.id.0).bind(now.as_millisecond());
            dispatch.execute(&mut *connection).await?;
        }
        claims.push(Claim { plan: Some(Arc::new(plan)), ..step.claim(token) });
    }
    Ok(claims)
}

/// Opens the decision of a plan that falls due, and returns its first step.
async fn open_decision(
    connection: &mut Connection,
    counters: &mut Counters,
    plan: &Plan,
    now: Timestamp,
) -> Result<Step, StoreError> {
    counters.last_number += 1;
    let decision = DecisionId(counters.last_number);
    let conversation = &plan.conversation;
    let opened = json!([[
        decision,
        conversation.workspace,
        conversation.channel,
        rows::thread_column(conversation),
        now.as_millisecond(),
        i64::from(!plan.kind.is_unasked()),
        counters.revision,
    ]]);
    let open = query(sql::decisions::OPEN_DECISIONS).bind(opened.to_string());
    open.execute(connection).await?;
    let reply = Work::Reply(conversation.clone());
    let is_owed = !plan.kind.is_unasked();
    Ok(Step { is_owed, ..new_step(reply, plan.due, decision, GENERATION) })
}

/// The step of a plan that has begun, if it is still pending.
pub async fn pending_state(
    connection: &mut Connection,
    plan: &Plan,
) -> Result<PendingState, StoreError> {
    let step = match find_row(connection, plan.id).await? {
        Some(row) => read_step(connection, &row).await?,
        None => None,
    };
    Ok(PendingState { step, owed: Vec::new() })
}

/// Stores the step that follows. A plan without one is done: it is dropped, or falls due again if it recurs and was not
/// withdrawn.
pub async fn put_state(
    connection: &mut Connection,
    plan: &Plan,
    step: Option<&Step>,
    ended: Option<DecisionResult>,
    now: Timestamp,
) -> Result<(), StoreError> {
    if let Some(step) = step {
        let piece = match &step.work {
            Work::Post(item) => Some(item.id.0),
            Work::Judge(_) | Work::Reply(_) => None,
        };
        let put = query(sql::plans::PUT_PLAN_STEP)
            .bind(plan.id.0)
            .bind(piece)
            .bind(step.ready_at().as_millisecond())
            .bind(i64::from(step.attempts))
            .bind(step.lease.map(|lease| lease.token))
            .bind(step.lease.map(|lease| lease.until.as_millisecond()));
        put.execute(connection).await?;
        return Ok(());
    }
    let next = plan.next_due(now).filter(|_| ended != Some(DecisionResult::Dropped));
    let end = match next {
        Some(next) => query(sql::plans::MOVE_PLAN)
            .bind(plan.id.0)
            .bind(next.as_millisecond())
            .bind(&*plan.what)
            .bind(plan.recurrence.as_ref().map(ToString::to_string)),
        None => query(sql::plans::DROP_PLAN).bind(plan.id.0),
    };
    end.execute(connection).await?;
    Ok(())
}

/// The pending plans of a workspace, next due first.
pub async fn read(readers: &Readers, workspace: &WorkspaceId) -> Result<Vec<Plan>, StoreError> {
    let rows = query(sql::plans::PLANS).bind(workspace.as_str()).fetch_all(readers).await?;
    rows.iter().map(from_row).collect()
}

/// The plans that a message asked for.
pub async fn of_message(
    readers: &Readers,
    workspace: &WorkspaceId,
    channel: &ChannelId,
    message: &MessageId,
) -> Result<Vec<Plan>, StoreError> {
    let plans = query(sql::plans::PLANS_OF_MESSAGE).bind(workspace.as_str());
    let plans = plans.bind(channel.as_str()).bind(message.as_str()).fetch_all(readers).await?;
    plans.iter().map(from_row).collect()
}

async fn find_row(connection: &mut Connection, id: PlanId) -> Result<Option<Row>, StoreError> {
    query(sql::plans::PLAN).bind(id.0).fetch_optional(connection).await
}

async fn find(connection: &mut Connection, id: PlanId) -> Result<Option<Plan>, StoreError> {
    find_row(connection, id).await?.as_ref().map(from_row).transpose()
}

fn from_row(row: &Row) -> Result<Plan, StoreError> {
    let text = |name| rows::column::<String>(row, name);
    let message = text("message")?;
    let recurrence = rows::column::<Option<String>>(row, "recurrence")?;
    let recurrence = recurrence.map(|stored| stored.parse()).transpose();
    let unreadable = || StoreError::Broken("a plan cannot be read".to_owned());
    Ok(Plan {
        id: PlanId(rows::column(row, "id")?),
        number: rows::column(row, "number")?,
        conversation: rows::conversation_from_row(row)?,
        asker: UserId::new(text("asker")?),
        message: (!message.is_empty()).then(|| MessageId::new(message)),
        whom: match text("audience")?.as_str() {
            "asker" => Whom::Asker,
            "channel" => Whom::Channel,
            _ => Whom::Named(text("whom")?),
        },
        kind: rows::parse_name(&text("kind")?)?,
        what: text("what")?.into(),
        recurrence: recurrence.map_err(|_| unreadable())?,
        // A zone that this machine's database does not know.
        zone: TimeZone::get(&text("zone")?).unwrap_or(TimeZone::UTC),
        made: rows::to_timestamp(rows::column(row, "made_ms")?)?,
        due: rows::to_timestamp(rows::column(row, "due_ms")?)?,
    })
}

/// The step of a plan, if it has begun.
async fn read_step(connection: &mut Connection, row: &Row) -> Result<Option<Step>, StoreError> {
    let Some(decision) = rows::column::<Option<i64>>(row, "decision")?.map(DecisionId) else {
        return Ok(None);
    };
    let work = match rows::column::<Option<i64>>(row, "piece")? {
        Some(piece) => {
            let item = query(sql::plans::OUTBOX_ITEM).bind(piece).fetch_one(connection).await?;
            Work::Post(rows::outbox_item_from_row(&item)?)
        }
        None => Work::Reply(rows::conversation_from_row(row)?),
    };
    let token = rows::column::<Option<i64>>(row, "token")?;
    let until = rows::optional_time(row, "lease_until_ms")?;
    let due = rows::to_timestamp(rows::column(row, "due_ms")?)?;
    let kind: PlanKind = rows::parse_name(&rows::column::<String>(row, "kind")?)?;
    Ok(Some(Step {
        is_owed: !kind.is_unasked(),
        attempts: rows::column::<i64>(row, "attempts")?.try_into().unwrap_or(u32::MAX),
        lease: token.zip(until).map(|(token, until)| Lease { token, until }),
        ..new_step(work, due, decision, GENERATION)
    }))
}
