//! What has failed: model calls, posts, look-ups, and the reading of missed messages. The same failure is listed once,
//! with the channels in which it happened.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::decision::{DecisionId, LOOK_UP, POST};
use aizuchi_model::flow::step::Step;
use aizuchi_model::flow::{DeadLetter, Work};
use aizuchi_model::named_enum;
use aizuchi_model::persona::Language;
use aizuchi_model::platform::backfill_progress::{BackfillProgress, FailedReads};
use aizuchi_model::texts::failures as texts;
use aizuchi_store::FailedCalls;
use aizuchi_store::pending_memories::PendingMemory;
use aizuchi_store::query::DeadLetterQuery;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Visitor;
use crate::language::PageLanguage;
use crate::own_page::{self, OwnPage};
use crate::{ApiProblem, JsonResult, Web, views, workspaces};

named_enum! {
    /// What failed.
    pub enum FailureKind {
        Model,
        /// A post that was not made, or an answer that was given up.
        Post,
        /// On the web, in a document, or with a tool of the operator's servers.
        LookUp,
        /// The reading of what was said while the program was away.
        Backfill,
    }
}

impl FailureKind {
    pub const ALL: [Self; 4] = [Self::Model, Self::Post, Self::LookUp, Self::Backfill];
}

/// Which failures to list. An empty field selects all.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FailuresQuery {
    /// Only this workspace, by its id; all workspaces if omitted.
    pub workspace: String,
    /// `model`, `post`, `look_up` or `backfill`.
    pub kind: String,
    /// The id of a channel; all channels if omitted.
    pub channel: String,
    pub model: String,
    /// The number of days within which it failed last: 1 to 30; 30 if omitted.
    pub days: Option<i64>,
    /// How many failures to skip.
    #[serde(rename = "failures_after")]
    pub after: usize,
    /// The page of the decision whose dead letter was just retried on the page of failures.
    #[serde(deserialize_with = "own_page::if_own")]
    #[schemars(skip)]
    pub retried: Option<OwnPage>,
}

/// A page of failures, newest first.
#[derive(Serialize, JsonSchema)]
pub struct FailuresAnswer {
    failures: Vec<Failure>,
    total: usize,
}

/// A failure, with its repetitions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Failure {
    pub kind: FailureKind,
    pub workspace: WorkspaceId,
    /// Empty for the whole workspace.
    pub channels: Vec<FailureChannel>,
    /// The model, or the tool of a look-up.
    pub model: Option<Arc<str>>,
    pub reason: String,
    /// 0 if it has not been tried yet.
    pub count: u64,
    pub first: f64,
    pub last: f64,
    /// When it is tried next; null if it is not.
    pub next: Option<f64>,
    /// The newest decision that it belongs to.
    pub decision: Option<DecisionId>,
    /// The number of the dead letter, by which it can be retried or dropped.
    pub dead_letter: Option<i64>,
    #[serde(skip)]
    pub letter: Option<DeadLetter>,
    /// Several if the same failure of them is joined.
    #[serde(skip)]
    pub workspaces: BTreeSet<WorkspaceId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FailureChannel {
    pub id: ChannelId,
    /// Null if the visitor may not know it.
    pub name: Option<Arc<str>>,
    #[serde(skip)]
    pub workspace: WorkspaceId,
}

/// The number of failures on one page.
pub const PAGE: usize = 50;
/// How long a failure is listed.
pub const LISTED_DAYS: i64 = 30;
const LISTED: SignedDuration = SignedDuration::from_hours(LISTED_DAYS * 24);
/// The maximum number of dead letters and of pending memories of a workspace that are read.
const MOST_READ: usize = 1000;

/// `GET /api/failures`.
pub async fn list(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    query: Result<Query<FailuresQuery>, QueryRejection>,
) -> JsonResult<FailuresAnswer> {
    let Query(query) = query.map_err(workspaces::unclear)?;
    let mut all = read(&web, &visitor.access, &query.workspace, language).await?;
    all.retain(|failure| query.has(failure, web.clock.now()));
    let total = all.len();
    let failures = all.into_iter().skip(query.after).take(PAGE).collect();
    Ok(Json(FailuresAnswer { failures, total }))
}

/// Returns all failures of a workspace or, if the name is empty, of all workspaces, newest first.
pub async fn read(
    web: &Web,
    access: &Access,
    workspace: &str,
    language: Language,
) -> Result<Vec<Failure>, ApiProblem> {
    let only = workspaces::find_only(web, Some(workspace)).await?;
    let mut failures = Vec::new();
    for workspace in workspaces::wanted(web, only).await? {
        let names = workspaces::channel_names(web, access, &workspace).await?;
        let mut list = WorkspaceFailures { workspace, names, language, rows: BTreeMap::new() };
        list.read(web).await?;
        failures.extend(list.rows.into_values());
    }
    failures.sort_by(|one, other| other.last.total_cmp(&one.last));
    Ok(failures)
}

impl FailuresQuery {
    pub fn has(&self, failure: &Failure, now: Timestamp) -> bool {
        // What waits for an operator may be older than what is listed otherwise.
        let days = self.days.filter(|days| (1..LISTED_DAYS).contains(days));
        let since = days.map(|days| views::seconds(now) - (days * 24 * 3600) as f64);
        let channel = self.channel.trim().trim_start_matches('#');
        let is_meant = |own: &FailureChannel| {
            let name = own.name.as_deref().unwrap_or_default();
            own.id.as_str() == channel || name.eq_ignore_ascii_case(channel)
        };
        (self.kind.is_empty() || failure.kind.name() == self.kind)
            && (self.model.is_empty() || failure.model.as_deref() == Some(&self.model))
            && since.is_none_or(|since| failure.last >= since)
            && (channel.is_empty() || failure.channels.iter().any(is_meant))
    }
}

/// Joins the same failures of several workspaces. Newest first, as they are.
pub fn joined(all: Vec<Failure>) -> Vec<Failure> {
    let mut joined: Vec<Failure> = Vec::new();
    for failure in all {
        match joined.iter_mut().find(|known| known.key() == failure.key()) {
            Some(known) => known.repeat(failure),
            None => joined.push(failure),
        }
    }
    joined
}

impl Failure {
    pub fn key(&self) -> Key {
        (self.kind, self.model.clone(), self.dead_letter, self.reason.clone())
    }

    /// Whether this goes on: it waits for a person or is tried again, or it is why one of the failing models fails now.
    pub fn is_now(&self, all: &[Self], failing: &[Arc<str>]) -> bool {
        let newest = || all.iter().find(|it| (it.kind, &it.model) == (self.kind, &self.model));
        let fails = || self.model.as_ref().is_some_and(|model| failing.contains(model));
        match self.kind {
            FailureKind::Backfill => true,
            FailureKind::Model if self.next.is_none() => {
                fails() && newest().is_some_and(|newest| newest.reason == self.reason)
            }
            FailureKind::Model | FailureKind::Post | FailureKind::LookUp => {
                self.letter.is_some() || self.next.is_some()
            }
        }
    }

    /// Adds a repetition.
    fn repeat(&mut self, other: Self) {
        if other.last > self.last {
            (self.workspace, self.decision) = (other.workspace, other.decision);
        }
        self.workspaces.extend(other.workspaces);
        for channel in other.channels {
            if !self.channels.contains(&channel) {
                self.channels.push(channel);
            }
        }
        self.count += other.count;
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.next = self.next.into_iter().chain(other.next).min_by(f64::total_cmp);
    }
}

/// Failures with the same key are repetitions of one: of a kind, a model or tool, a dead letter, for a reason.
type Key = (FailureKind, Option<Arc<str>>, Option<i64>, String);

/// The failures of a workspace.
struct WorkspaceFailures {
    workspace: WorkspaceId,
    /// The names of the channels that the visitor may know.
    names: HashMap<ChannelId, Arc<str>>,
    language: Language,
    rows: BTreeMap<Key, Failure>,
}

impl WorkspaceFailures {
    async fn read(&mut self, web: &Web) -> Result<(), ApiProblem> {
        let (archive, now, language) = (&web.archive, web.clock.now(), self.language);
        let workspace = self.workspace.clone();
        let steps = archive.pending_steps(&workspace).await?;
        let memories = archive.pending_memories(&workspace, MOST_READ).await?;
        for calls in archive.failed_calls(&workspace, now - LISTED).await? {
            let kind = match &*calls.verb {
                LOOK_UP => FailureKind::LookUp,
                POST => FailureKind::Post,
                _model_call => FailureKind::Model,
            };
            let reason = calls.error.as_deref().unwrap_or(texts::no_reason(language)).to_owned();
            self.add(Failure {
                next: next_try(&calls, &steps, &memories).map(views::seconds),
                model: Some(calls.model).filter(|model| !model.is_empty()),
                count: calls.count,
                first: views::seconds(calls.first),
                decision: calls.decision,
                ..self.failure(kind, calls.channel.as_ref(), reason, calls.last)
            });
        }
        let query = DeadLetterQuery { workspace: Some(workspace), before: None, limit: MOST_READ };
        for letter in archive.dead_letters(&query).await? {
            let channel = Some(&letter.conversation.channel);
            let failure = self.failure(FailureKind::Post, channel, letter.error.clone(), letter.at);
            self.add(Failure {
                count: letter.attempts.into(),
                decision: letter.decision,
                dead_letter: Some(letter.id.0),
                letter: Some(letter),
                ..failure
            });
        }
        self.read_backfill(web, now).await
    }

    /// Adds what could not be read, and what has not been read yet.
    async fn read_backfill(&mut self, web: &Web, now: Timestamp) -> Result<(), ApiProblem> {
        let kind = FailureKind::Backfill;
        let progress = workspaces::backfill_progress(web, &self.workspace).await?;
        let Some(BackfillProgress { behind, failing, .. }) = progress else { return Ok(()) };
        for id in behind.iter().filter(|id| !failing.contains_key(id)) {
            let reason = texts::behind(self.language).to_owned();
            let failure = self.failure(kind, Some(id), reason, now);
            self.add(Failure { count: 0, next: Some(failure.last), ..failure });
        }
        for (id, FailedReads { count, since, last, retry_at, error }) in &failing {
            self.add(Failure {
                count: (*count).into(),
                first: views::seconds(*since),
                next: Some(views::seconds(*retry_at)),
                ..self.failure(kind, Some(id), error.to_string(), *last)
            });
        }
        Ok(())
    }

    fn add(&mut self, failure: Failure) {
        match self.rows.entry(failure.key()) {
            Entry::Occupied(mut known) => known.get_mut().repeat(failure),
            Entry::Vacant(row) => {
                row.insert(failure);
            }
        }
    }

    fn failure(
        &self,
        kind: FailureKind,
        channel: Option<&ChannelId>,
        reason: String,
        at: Timestamp,
    ) -> Failure {
        let named = |id: &ChannelId| FailureChannel {
            id: id.clone(),
            name: self.names.get(id).cloned(),
            workspace: self.workspace.clone(),
        };
        Failure {
            kind,
            workspace: self.workspace.clone(),
            channels: channel.map(named).into_iter().collect(),
            model: None,
            reason,
            count: 1,
            first: views::seconds(at),
            last: views::seconds(at),
            next: None,
            decision: None,
            dead_letter: None,
            letter: None,
            workspaces: [self.workspace.clone()].into(),
        }
    }
}

/// When something that failed is tried again, if it is.
fn next_try(calls: &FailedCalls, steps: &[Step], memories: &[PendingMemory]) -> Option<Timestamp> {
    let is_post = &*calls.verb == POST;
    let retried = steps.iter().filter(|step| {
        Some(step.decision) == calls.decision && matches!(step.work, Work::Post(_)) == is_post
    });
    let unmade = memories.iter().filter(|PendingMemory { key, failure, .. }| {
        let newest = failure.as_ref().map(|failure| (&failure.model, &failure.error));
        newest == Some((&calls.model, &calls.error)) && key.channel() == calls.channel.as_ref()
    });
    retried.map(|step| step.due).chain(unmade.map(|memory| memory.due)).min()
}
