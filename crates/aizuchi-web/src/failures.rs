//! What has failed: model calls, posts, look-ups, and the reading of missed messages. The same failure of a model or a
//! tool is listed once, with the channels in which it happened.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::decision::{DecisionId, LOOK_UP};
use aizuchi_model::flow::DeadLetter;
use aizuchi_model::flow::Work;
use aizuchi_model::flow::step::Step;
use aizuchi_model::named_enum;
use aizuchi_model::persona::Language;
use aizuchi_model::platform::backfill_progress::FailedReads;
use aizuchi_model::texts::{console, failures as texts};
use aizuchi_past::ledger::format_time;
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
use crate::{ApiProblem, ApiResult, Web, views, workspaces};

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
    /// Only failures in this channel, by its id or its name.
    pub channel: String,
    /// Only failures of this model or tool.
    pub model: String,
    /// How many failures to skip.
    #[serde(rename = "failures_after")]
    pub after: usize,
}

/// A page of failures: what is tried again or waits for an operator comes first, then the newest.
#[derive(Serialize, JsonSchema)]
pub struct FailuresAnswer {
    failures: Vec<Failure>,
    /// How many failures there are on all pages.
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
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FailureChannel {
    pub id: ChannelId,
    /// Null if the visitor may not know it.
    pub name: Option<Arc<str>>,
}

/// The number of failures on one page.
pub const PAGE: usize = 50;
/// How long a failure is listed.
const LISTED: SignedDuration = SignedDuration::from_hours(30 * 24);
/// The maximum number of dead letters, and of pending memories of a workspace, that are read.
const MOST_READ: usize = 1000;

/// `GET /api/failures`.
pub async fn list(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    query: Result<Query<FailuresQuery>, QueryRejection>,
) -> ApiResult<FailuresAnswer> {
    let Query(query) = query.map_err(workspaces::unclear)?;
    let all = read(&web, &visitor.access, &query, language).await?;
    let total = all.len();
    let failures = all.into_iter().skip(query.after).take(PAGE).collect();
    Ok(Json(FailuresAnswer { failures, total }))
}

/// Returns all failures that match.
pub async fn read(
    web: &Web,
    access: &Access,
    query: &FailuresQuery,
    language: Language,
) -> Result<Vec<Failure>, ApiProblem> {
    let only = workspaces::find_only(web, Some(&query.workspace)).await?;
    let letters = DeadLetterQuery { workspace: only.clone(), before: None, limit: MOST_READ };
    let letters = web.archive.dead_letters(&letters).await?;
    let wanted = only.map_or_else(Vec::new, |only| vec![only]);
    let wanted = if wanted.is_empty() { workspaces::all(web).await? } else { wanted };
    let mut failures = Vec::new();
    for workspace in wanted {
        let names = workspaces::channel_names(web, access, &workspace).await?;
        let mut list = WorkspaceFailures { workspace, names, language, rows: BTreeMap::new() };
        list.read(web, &letters).await?;
        failures.extend(list.rows.into_values());
    }
    failures.retain(|failure| query.has(failure));
    let order = |failure: &Failure| (failure.is_open(), failure.last);
    failures.sort_by(|one, other| order(other).partial_cmp(&order(one)).unwrap_or(Ordering::Equal));
    Ok(failures)
}

impl FailuresQuery {
    fn has(&self, failure: &Failure) -> bool {
        let channel = self.channel.trim().trim_start_matches('#');
        let is_meant = |own: &FailureChannel| {
            let name = own.name.as_deref().unwrap_or_default();
            own.id.as_str() == channel || name.eq_ignore_ascii_case(channel)
        };
        (self.kind.is_empty() || failure.kind.name() == self.kind)
            && (self.model.is_empty() || failure.model.as_deref() == Some(&self.model))
            && (channel.is_empty() || failure.channels.iter().any(is_meant))
    }
}

impl Failure {
    /// Whether it is tried again, or waits for an operator.
    fn is_open(&self) -> bool {
        self.next.is_some() || self.dead_letter.is_some()
    }

    /// Adds a repetition.
    fn add(&mut self, other: Self) {
        self.decision = if other.last > self.last { other.decision } else { self.decision };
        for channel in other.channels {
            if !self.channels.contains(&channel) {
                self.channels.push(channel);
            }
        }
        self.count += other.count;
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        let next = self.next.into_iter().chain(other.next);
        self.next = next.min_by(f64::total_cmp);
    }
}

/// Failures with the same key are repetitions of one.
type Key = (FailureKind, String, String);

/// The failures of a workspace.
struct WorkspaceFailures {
    workspace: WorkspaceId,
    /// The names of the channels that the visitor may know.
    names: HashMap<ChannelId, Arc<str>>,
    language: Language,
    rows: BTreeMap<Key, Failure>,
}

impl WorkspaceFailures {
    async fn read(&mut self, web: &Web, letters: &[DeadLetter]) -> Result<(), ApiProblem> {
        let (now, language) = (web.clock.now(), self.language);
        let workspace = &self.workspace.clone();
        let steps = web.archive.pending_steps(workspace).await?;
        let memories = web.archive.pending_memories(workspace, MOST_READ).await?;
        for calls in web.archive.failed_calls(workspace, now - LISTED).await? {
            self.add_calls(calls, &steps, &memories);
        }
        let own = letters.iter().filter(|letter| letter.conversation.workspace == *workspace);
        own.for_each(|letter| self.add_letter(letter));
        for step in steps.iter().filter(|step| is_tried_again(step, now)) {
            let channel = &step.work.conversation().channel;
            let (reason, since) = (texts::not_posted(language), step.waiting_since);
            let failure = self.failure(FailureKind::Post, Some(channel), reason.to_owned(), since);
            let count = step.attempts.into();
            self.add(channel, Failure { count, next: Some(views::seconds(step.due)), ..failure });
        }
        self.add_backfill(web, now).await
    }

    /// Adds what could not be read, and what has not been read yet.
    async fn add_backfill(&mut self, web: &Web, now: Timestamp) -> Result<(), ApiProblem> {
        let (kind, language) = (FailureKind::Backfill, self.language);
        let Ok(platform) = web.platforms.for_workspace(&self.workspace) else { return Ok(()) };
        let Some(progress) = platform.backfill_progress() else { return Ok(()) };
        if let Some(span) = web.archive.lost_span().filter(|span| span.is_recent(now)) {
            let [from, until] = [span.from, span.until].map(format_time);
            let reason = texts::lost_span(language, &from, &until);
            let failure = self.failure(kind, None, reason, span.until);
            self.rows.insert((kind, String::new(), String::new()), failure);
        }
        let channels = web.archive.channels(&self.workspace).await?;
        for channel in channels.iter().map(|channel| &channel.id) {
            let failing = progress.failing.iter().find(|(failing, _)| failing == channel);
            if let Some((_, FailedReads { count, since, last, retry_at, error })) = failing {
                let failure = self.failure(kind, Some(channel), error.to_string(), *last);
                let next = Some(views::seconds(*retry_at));
                let (count, first) = ((*count).into(), views::seconds(*since));
                self.add(channel, Failure { count, first, next, ..failure });
            } else if progress.behind.contains(channel) {
                let reason = texts::behind(language).to_owned();
                let failure = self.failure(kind, Some(channel), reason, now);
                self.add(channel, Failure { next: Some(views::seconds(now)), ..failure });
            }
        }
        Ok(())
    }

    fn add_calls(&mut self, calls: FailedCalls, steps: &[Step], memories: &[PendingMemory]) {
        let kind = if &*calls.verb == LOOK_UP { FailureKind::LookUp } else { FailureKind::Model };
        let retried = steps.iter().filter(|step| {
            kind == FailureKind::Model && step.attempts > 0 && Some(step.decision) == calls.decision
        });
        let unmade = memories.iter().filter(|memory| {
            let model = memory.failure.as_ref().map(|failure| &failure.model);
            &*calls.verb == "remember"
                && model == Some(&calls.model)
                && memory.key.channel() == calls.channel.as_ref()
        });
        let next = retried.map(|step| step.due).chain(unmade.map(|memory| memory.due)).min();
        let reason = calls.error.as_deref().unwrap_or(texts::no_reason(self.language)).to_owned();
        let key = (kind, calls.model.to_string(), reason.clone());
        let failure = Failure {
            model: Some(calls.model),
            count: calls.count,
            first: views::seconds(calls.first),
            next: next.map(views::seconds),
            decision: calls.decision,
            ..self.failure(kind, calls.channel.as_ref(), reason, calls.last)
        };
        match self.rows.get_mut(&key) {
            Some(known) => known.add(failure),
            None => {
                self.rows.insert(key, failure);
            }
        }
    }

    fn add_letter(&mut self, letter: &DeadLetter) {
        let what = console::given_up(self.language, &letter.verb, letter.attempts);
        let reason = texts::given_up(self.language, &what, &letter.error);
        let channel = Some(&letter.conversation.channel);
        let failure = Failure {
            count: letter.attempts.into(),
            decision: letter.decision,
            dead_letter: Some(letter.id.0),
            letter: Some(letter.clone()),
            ..self.failure(FailureKind::Post, channel, reason, letter.at)
        };
        self.rows.insert((FailureKind::Post, String::new(), letter.id.0.to_string()), failure);
    }

    /// Adds a failure of a channel.
    fn add(&mut self, channel: &ChannelId, failure: Failure) {
        self.rows.insert((failure.kind, channel.to_string(), failure.reason.clone()), failure);
    }

    fn failure(
        &self,
        kind: FailureKind,
        channel: Option<&ChannelId>,
        reason: String,
        at: Timestamp,
    ) -> Failure {
        let named =
            |id: &ChannelId| FailureChannel { id: id.clone(), name: self.names.get(id).cloned() };
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
        }
    }
}

/// Whether it is a post that could not be made and waits for the next attempt.
fn is_tried_again(step: &Step, now: Timestamp) -> bool {
    let is_post = matches!(step.work, Work::Post(_));
    is_post && step.attempts > 0 && step.due > now && step.lease.is_none()
}
