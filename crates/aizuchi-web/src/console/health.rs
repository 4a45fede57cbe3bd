//! Which models fail and since when, which steps are pending, which memories are not made, and the state of the
//! program.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, MessageId, WorkspaceId};
use aizuchi_model::decision::AttemptResult;
use aizuchi_model::flow::step::Step;
use aizuchi_model::memory::{MemoryScope, MemoryTerm};
use aizuchi_store::RecentCall;
use aizuchi_store::pending_memories::PendingMemory;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::models::{ProblemView, problems};
use crate::{ApiProblem, Web, views, workspaces};

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Health {
    pub version: &'static str,
    pub database: String,
    pub size_bytes: u64,
    /// When the newest backup was made, by any process; null if none is known.
    pub last_backup: Option<f64>,
    pub models: Vec<ModelHealth>,
    pub steps: Vec<WaitingStep>,
    /// Memories that are waiting to be made, each with the error if its newest model call failed.
    pub memories: Vec<WaitingMemory>,
}

/// The results of a model's newest calls.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ModelHealth {
    pub model: Arc<str>,
    /// Whether the config in force uses the model. A model that is no longer used is listed because of its recent
    /// calls.
    pub in_use: bool,
    pub calls: usize,
    pub failures: usize,
    /// When the current run of failures began, or now if only the program's own checks fail; null if the model answers.
    pub failing_since: Option<f64>,
    /// The error of the newest failure among these calls.
    pub last_error: Option<Arc<str>>,
    pub last_failure: Option<f64>,
}

/// A pending step of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WaitingStep {
    pub workspace: WorkspaceId,
    pub channel: String,
    pub thread: Option<String>,
    pub verb: &'static str,
    pub due: f64,
    pub owed: bool,
    pub in_progress: bool,
    pub attempts: u32,
}

/// A memory that is waiting to be made.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WaitingMemory {
    pub workspace: WorkspaceId,
    /// `workspace`, `channel` or `thread`.
    pub scope: &'static str,
    pub channel: Option<ChannelId>,
    pub thread: Option<MessageId>,
    pub term: MemoryTerm,
    pub due: f64,
    pub in_progress: bool,
    /// When the current run of failed calls began; null if the newest call did not fail.
    pub failing_since: Option<f64>,
    /// The model that was asked last.
    pub model: Option<Arc<str>>,
    pub last_error: Option<Arc<str>>,
}

/// The maximum number of memories that are read per workspace.
const MOST_MEMORIES: usize = 1000;
/// The number of newest model calls that are examined.
const RECENT_CALLS: usize = 1000;

/// Reads the state of the program, and the pending steps of all workspaces or of one.
pub async fn read(web: &Web, only: Option<WorkspaceId>) -> Result<Health, ApiProblem> {
    let now = web.clock.now();
    let (mut steps, mut memories) = (Vec::new(), Vec::new());
    for workspace in workspaces::wanted(web, only).await? {
        let pending = web.archive.pending_steps(&workspace).await?;
        steps.extend(pending.iter().map(|step| waiting_step(step, now)));
        let pending = web.archive.pending_memories(&workspace, MOST_MEMORIES).await?;
        memories.extend(pending.into_iter().map(waiting_memory));
    }
    steps.sort_by(|one, other| one.due.total_cmp(&other.due));
    memories.sort_by(|one, other| one.due.total_cmp(&other.due));
    Ok(Health {
        version: env!("CARGO_PKG_VERSION"),
        database: web.database.clone(),
        size_bytes: web.archive.size_bytes().await?,
        // A scheduled backup may have been found in its folder.
        last_backup: web
            .metrics
            .last_backup()
            .max(web.archive.last_backup().await?)
            .map(views::seconds),
        models: read_models(web).await?,
        steps,
        memories,
    })
}

/// Returns the models in use that fail now, for all pages and metrics.
pub async fn failing_models(web: &Web) -> Result<Vec<Arc<str>>, ApiProblem> {
    let models = read_models(web).await?.into_iter();
    let failing = models.filter(|health| health.in_use && health.failing_since.is_some());
    Ok(failing.map(|health| health.model).collect())
}

/// Reads the health of each model from its newest calls, and from what the program has found out since without one.
async fn read_models(web: &Web) -> Result<Vec<ModelHealth>, ApiProblem> {
    let calls = web.archive.recent_calls(RECENT_CALLS).await?;
    let mut models = model_health(&calls, &web.models.in_use());
    for health in &mut models {
        let answered = web.models.answered_at(&health.model).map(views::seconds);
        if answered.is_some() && answered > health.last_failure {
            health.failing_since = None;
        }
    }
    for ProblemView { model, .. } in problems(web, web.persona.language) {
        let now = views::seconds(web.clock.now());
        match models.iter_mut().find(|health| *health.model == *model) {
            Some(health) => {
                health.failing_since.get_or_insert(now);
            }
            None => {
                models.insert(0, ModelHealth { failing_since: Some(now), ..unasked(&model, true) });
            }
        }
    }
    Ok(models)
}

/// The health of a model without recent calls.
fn unasked(model: &str, in_use: bool) -> ModelHealth {
    let (failing_since, last_error, last_failure) = (None, None, None);
    ModelHealth {
        model: model.into(),
        in_use,
        calls: 0,
        failures: 0,
        failing_since,
        last_error,
        last_failure,
    }
}

fn waiting_step(step: &Step, now: Timestamp) -> WaitingStep {
    let conversation = step.work.conversation();
    WaitingStep {
        workspace: conversation.workspace.clone(),
        channel: conversation.channel.to_string(),
        thread: conversation.thread.as_ref().map(ToString::to_string),
        verb: step.work.verb(),
        due: views::seconds(step.due),
        owed: step.is_owed,
        in_progress: step.lease.is_some_and(|lease| lease.until > now),
        attempts: step.attempts,
    }
}

fn waiting_memory(pending: PendingMemory) -> WaitingMemory {
    let PendingMemory { key, due, in_progress, failure } = pending;
    let scope = key.scope.name();
    let (channel, thread) = match key.scope {
        MemoryScope::Workspace => (None, None),
        MemoryScope::Channel(channel) => (Some(channel), None),
        MemoryScope::Thread(channel, thread) => (Some(channel), Some(thread)),
    };
    WaitingMemory {
        workspace: key.workspace,
        scope,
        channel,
        thread,
        term: key.term,
        due: views::seconds(due),
        in_progress,
        failing_since: failure.as_ref().map(|failure| views::seconds(failure.since)),
        model: failure.as_ref().map(|failure| failure.model.clone()),
        last_error: failure.and_then(|failure| failure.error),
    }
}

/// Computes the health of each model from its calls, newest first. Models in use come first.
fn model_health(calls: &[RecentCall], used: &HashSet<String>) -> Vec<ModelHealth> {
    let mut models: BTreeMap<&str, ModelHealth> = BTreeMap::new();
    for call in calls {
        let in_use = used.contains(&*call.model);
        let health = models.entry(&call.model).or_insert_with(|| unasked(&call.model, in_use));
        let is_failing = health.failures == health.calls;
        health.calls += 1;
        if call.result != AttemptResult::Failed {
            continue;
        }
        let at = views::seconds(call.at);
        health.failures += 1;
        health.last_failure.get_or_insert(at);
        if health.last_error.is_none() {
            health.last_error = call.error.clone();
        }
        if is_failing {
            health.failing_since = Some(at);
        }
    }
    let mut models: Vec<ModelHealth> = models.into_values().collect();
    models.sort_by_key(|health| !health.in_use);
    models
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_fails_since_the_first_failure_after_its_last_success() {
        let call = |seconds: i64, model: &str, error: Option<&str>| RecentCall {
            at: Timestamp::from_second(seconds).unwrap(),
            model: model.into(),
            verb: "judge".into(),
            result: error.map_or(AttemptResult::Kept, |_| AttemptResult::Failed),
            error: error.map(Arc::from),
        };
        let calls = [
            call(50, "a", Some("no key")),
            call(45, "b", None),
            call(40, "a", Some("too slow")),
            call(35, "b", Some("too slow")),
            call(30, "a", None),
            call(20, "a", Some("long ago")),
        ];
        let health = model_health(&calls, &HashSet::from(["a".to_owned(), "b".to_owned()]));
        let found: Vec<_> = health
            .iter()
            .map(|it| (&*it.model, it.calls, it.failures, it.failing_since, it.last_failure))
            .collect();
        assert_eq!(found, [("a", 4, 3, Some(40.0), Some(50.0)), ("b", 2, 1, None, Some(35.0))]);
        assert_eq!(health[0].last_error.as_deref(), Some("no key"));
        // The config names only one of them now.
        let health = model_health(&calls, &HashSet::from(["b".to_owned()]));
        let found: Vec<_> = health.iter().map(|it| (&*it.model, it.in_use)).collect();
        assert_eq!(found, [("b", true), ("a", false)]);
    }
}
