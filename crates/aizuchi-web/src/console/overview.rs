//! The home page: what matters at a glance, the feed, and all workspaces.

use std::sync::Arc;

use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::response::Html;

use crate::access::Visitor;
use crate::console::feed::{FeedQuery, FeedView};
use crate::console::home::HomeView;
use crate::console::layout::{Layout, Section, encode, render};
use crate::console::{feed, mute_all, snapshot};
use crate::language::PageLanguage;
use crate::status::{ConnectionStatus, WorkspaceStatus, told_cost};
use crate::workspaces::FilterParameter;
use crate::{ApiProblem, Web, workspaces};

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
    /// The address of its channels, and their number.
    channels_address: String,
    channels: usize,
}

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
    let undo = match query.undo.take() {
        Some(replaced) if home.is_some() && mute_all::may_undo(&web, &replaced).await? => {
            Some(replaced)
        }
        Some(_) | None => None,
    };
    let feed = feed::read(&web, access, &status, query, language).await?;
    let formatter = StatusFormatter { language, currency: &web.currency };
    render(&OverviewPage {
        layout: Layout::new(&web, &visitor, language, Section::Overview),
        home,
        undo,
        feed,
        is_all: only.is_none(),
        workspaces: status.workspaces.iter().map(|it| formatter.workspace(it)).collect(),
    })
}

/// Formats a status as text.
struct StatusFormatter<'a> {
    language: Language,
    currency: &'a str,
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
            channels_address: format!("/console/channels?workspace={}", encode(id)),
            channels: status.channels.len(),
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

    fn cost(&self, money: f64, unpriced_tokens: u64) -> String {
        told_cost(self.language, money, self.currency, unpriced_tokens)
    }
}
