//! The home page: what matters at a glance, the feed, and all workspaces and channels.

use std::sync::Arc;

use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Mode;
use aizuchi_model::texts;
use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::response::Html;
use jiff::{SignedDuration, Timestamp};

use crate::access::Visitor;
use crate::console::feed::{FeedQuery, FeedView};
use crate::console::home::HomeView;
use crate::console::layout::{Layout, Section, TimeView, channel_address, encode, render};
use crate::console::{feed, snapshot};
use crate::language::PageLanguage;
use crate::status::{ChannelStatus, ConnectionStatus, PendingStatus, WorkspaceStatus, told_cost};
use crate::workspaces::FilterParameter;
use crate::{ApiProblem, Web, views, workspaces};

#[derive(Template)]
#[template(path = "console/overview.html")]
struct OverviewPage<'a> {
    layout: Layout<'a>,
    /// Only of all workspaces.
    home: Option<HomeView>,
    /// What undoes the mute of everything that this page answers.
    undo: Option<String>,
    feed: FeedView,
    /// Whether these are all workspaces.
    is_all: bool,
    workspaces: Vec<WorkspaceView>,
    modes: Vec<ModeView>,
}

struct WorkspaceView {
    id: String,
    /// The address of the page with this workspace alone.
    address: String,
    title: String,
    is_connected: bool,
    connection: String,
    facts: Vec<String>,
    is_muted: bool,
    channels: Vec<ChannelView>,
}

struct ChannelView {
    id: String,
    name: String,
    address: String,
    /// Set if the channel is not public.
    kind: Option<&'static str>,
    mode: &'static str,
    mode_name: &'static str,
    is_muted: bool,
    /// Set if the mute has an end.
    muted_until: Option<TimeView>,
    heard: Option<TimeView>,
    spoke: Option<TimeView>,
    step: Option<StepView>,
    outcomes: Vec<OutcomeView>,
    cost: String,
}

struct StepView {
    verb: &'static str,
    is_owed: bool,
    is_now: bool,
    due: TimeView,
}

struct OutcomeView {
    name: &'static str,
    /// The address of the timeline with these outcomes alone.
    address: String,
    word: &'static str,
    count: usize,
}

/// A mode to choose.
pub struct ModeView {
    pub name: &'static str,
    pub word: &'static str,
}

/// A longer mute counts as one without an end.
const MAX_MUTE: SignedDuration = SignedDuration::from_hours(366 * 24);

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    filter: FilterParameter,
    query: Result<Query<FeedQuery>, QueryRejection>,
) -> Result<Html<String>, ApiProblem> {
    let mut query = query.map_or(FeedQuery::default(), |Query(query)| query);
    let only = workspaces::only(&web, filter).await?;
    let access = &visitor.access;
    let status = snapshot::read(&web, access, only.as_ref()).await?;
    let home = match only {
        None => Some(HomeView::read(&web, &status, language).await?),
        Some(_) => None,
    };
    let undo = query.undo.take().filter(|_| home.as_ref().is_some_and(|home| home.is_muted));
    let feed = feed::read(&web, access, &status, query, language).await?;
    let now = web.clock.now();
    let today = now.to_zoned(web.zone.clone()).date();
    let formatter = StatusFormatter {
        language,
        currency: &web.currency,
        now: views::seconds(now),
        today: format!("{today}T00:00"),
    };
    render(&OverviewPage {
        layout: Layout::new(&web, &visitor, language, Section::Overview),
        home,
        undo,
        feed,
        is_all: only.is_none(),
        workspaces: status.workspaces.iter().map(|it| formatter.workspace(it)).collect(),
        modes: modes(language),
    })
}

/// Returns all modes to choose from.
pub fn modes(language: Language) -> Vec<ModeView> {
    let modes = Mode::ALL.into_iter();
    modes
        .map(|mode| ModeView { name: mode.name(), word: texts::ledger::mode(language, mode) })
        .collect()
}

/// When a mute ends, if it does.
pub fn end_of_mute(until: Timestamp, now: Timestamp) -> Option<TimeView> {
    (until.duration_since(now) < MAX_MUTE).then(|| TimeView::new(until))
}

/// Formats a status as text.
struct StatusFormatter<'a> {
    language: Language,
    currency: &'a str,
    now: f64,
    /// The last midnight, as the timeline's filter takes it.
    today: String,
}

impl StatusFormatter<'_> {
    fn workspace(&self, status: &WorkspaceStatus) -> WorkspaceView {
        let language = self.language;
        let connection = status.connection.as_ref();
        let outage = connection.and_then(|connection| connection.outage.as_ref());
        let mut facts = connection.map_or(Vec::new(), |connection| self.backfill(connection));
        let today = self.cost(status.money_today, status.unpriced_tokens_today);
        let month = self.cost(status.money_this_month, status.unpriced_tokens_this_month);
        facts.push(texts::console::today_cost(language, status.tokens_today, &today));
        facts.push(texts::console::month_cost(language, &month));
        let platform = connection.and_then(|connection| connection.platform.as_deref());
        let name = connection.and_then(|connection| connection.name.as_ref());
        let local = texts::console::room(language);
        let is_local = status.workspace == workspace_id();
        let id = status.workspace.as_str();
        let unnamed = platform.unwrap_or(if is_local { local } else { id });
        WorkspaceView {
            title: match name {
                Some(name) => format!("{name} ({unnamed})"),
                None => unnamed.to_owned(),
            },
            address: format!("/console?workspace={}", encode(id)),
            is_connected: outage.is_none(),
            connection: match outage {
                None => texts::console::connected(language).to_owned(),
                Some(_) if platform.is_none() => texts::console::no_platform(language).to_owned(),
                Some(why) => texts::console::not_connected(language, why),
            },
            facts,
            is_muted: status.muted_until.is_some(),
            channels: status.channels.iter().map(|it| self.channel(status, it)).collect(),
            id: id.to_owned(),
        }
    }

    fn backfill(&self, connection: &ConnectionStatus) -> Vec<String> {
        let ConnectionStatus { behind, channels, failing, .. } = *connection;
        let read = channels.saturating_sub(behind);
        let progress =
            (behind > 0).then(|| texts::console::catching_up(self.language, read, channels));
        let failing = (failing > 0).then(|| texts::console::failing(self.language, failing));
        progress.into_iter().chain(failing).collect()
    }

    fn channel(&self, workspace: &WorkspaceStatus, status: &ChannelStatus) -> ChannelView {
        let language = self.language;
        let mode = Mode::ALL.into_iter().find(|mode| mode.name() == status.mode);
        let address = channel_address(&workspace.workspace, &status.id);
        let outcomes = status.decisions_today.iter().map(|(name, count)| OutcomeView {
            name,
            address: format!("{address}?outcome={name}&from={}", self.today),
            word: texts::console::outcome_word(language, name),
            count: *count,
        });
        let next = status.pending.iter().min_by(|one, other| one.due.total_cmp(&other.due));
        ChannelView {
            address: address.clone(),
            id: status.id.to_string(),
            name: status.name.clone(),
            kind: match status.visibility {
                "public" => None,
                "private" => Some(texts::console::private(language)),
                _ => Some(texts::console::direct(language)),
            },
            mode: mode.map_or(status.mode, |mode| texts::ledger::mode(language, mode)),
            mode_name: status.mode,
            is_muted: status.muted_until.is_some(),
            muted_until: status
                .muted_until
                .filter(|until| until - self.now < MAX_MUTE.as_secs_f64())
                .map(TimeView::from_seconds),
            heard: status.last_heard.map(TimeView::from_seconds),
            spoke: status.last_spoke.map(TimeView::from_seconds),
            step: next.map(|step| self.step(step)),
            outcomes: outcomes.collect(),
            cost: match status.tokens_today {
                0 => "–".to_owned(),
                _ => self.cost(status.money_today, status.unpriced_tokens_today),
            },
        }
    }

    fn step(&self, step: &PendingStatus) -> StepView {
        StepView {
            verb: texts::console::pending_verb(self.language, step.verb),
            is_owed: step.owed,
            is_now: step.in_progress || step.due <= self.now,
            due: TimeView::from_seconds(step.due),
        }
    }

    fn cost(&self, money: f64, unpriced_tokens: u64) -> String {
        told_cost(self.language, money, self.currency, unpriced_tokens)
    }
}
