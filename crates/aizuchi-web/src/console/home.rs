//! The home page: what matters at a glance, the feed, and all workspaces.

use std::sync::Arc;

use aizuchi_model::texts;
use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::response::Html;

use crate::access::Visitor;
use crate::console::feed::{FeedQuery, FeedView};
use crate::console::home_tiles::HomeView;
use crate::console::layout::{Layout, Section, render};
use crate::console::{feed, running_status};
use crate::figures::tally::thousands;
use crate::language::PageLanguage;
use crate::status::{WorkspaceStatus, told_cost};
use crate::workspaces::FilterParameter;
use crate::{ApiProblem, Web, figures, workspaces};

#[derive(Template)]
#[template(path = "console/home.html")]
struct HomePage<'a> {
    layout: Layout<'a>,
    /// Only of all workspaces.
    home: Option<HomeView>,
    feed: FeedView,
    /// Whether these are all workspaces.
    is_all: bool,
    workspaces: Vec<WorkspaceView<'a>>,
}

struct WorkspaceView<'a> {
    status: &'a WorkspaceStatus,
    label: String,
    /// What was spent since midnight, and in 30 days.
    tokens: String,
    today: String,
    month: String,
}

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    filter: FilterParameter,
    query: Result<Query<FeedQuery>, QueryRejection>,
) -> Result<Html<String>, ApiProblem> {
    let query = query.map_or(FeedQuery::default(), |Query(query)| query);
    let only = workspaces::only(&web, filter).await?;
    let access = &visitor.access;
    let status = running_status::read(&web, access, only.as_ref()).await?;
    let week = figures::week(&web, &status).await?;
    let home = match only {
        None => Some(HomeView::read(&web, &status, &week, language).await?),
        Some(_) => None,
    };
    let feed = feed::read(&web, access, (&status, &week), query, language).await?;
    let cost = |money: f64, unpriced: u64| told_cost(language, money, &web.currency, unpriced);
    let workspaces = status.workspaces.iter().map(|status| WorkspaceView {
        status,
        label: workspaces::label(&web, &status.workspace, language),
        tokens: thousands(status.tokens_today),
        today: cost(status.money_today, status.unpriced_tokens_today),
        month: cost(status.money_this_month, status.unpriced_tokens_this_month),
    });
    render(&HomePage {
        layout: Layout::new(&web, &visitor, language, Section::Overview),
        home,
        feed,
        is_all: only.is_none(),
        workspaces: workspaces.collect(),
    })
}
