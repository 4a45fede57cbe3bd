//! What it did lately, and would have done where it only observes: the report of `aizuchi report`, on a page.

use std::sync::Arc;

use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::http::header;
use axum::response::{Html, IntoResponse};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::report::builder::{ReportBuilder, ReportOptions};
use crate::report::figures::{LeftOut, Privacy, ReportSource};
use crate::report::from_ledger::{ChannelLedger, has_messages};
use crate::report::page::{PageFrame, STYLE, page_within};
use crate::report::words;
use crate::web::access::{Access, Visitor};
use crate::web::console::layout::{Layout, Section, render};
use crate::web::language::PageLanguage;
use crate::web::workspaces::Shown;
use crate::web::{ApiProblem, Web, workspaces};
use aizuchi_core::chat::{Visibility, WorkspaceId};
use aizuchi_core::texts::{self, counted};

/// Where there is no report, the page says why.
#[derive(Template)]
#[template(path = "console/report.html")]
struct NoReportPage<'a> {
    layout: Layout<'a>,
    /// The id and the label of each.
    workspaces: Vec<(String, String)>,
    workspace: String,
    spans: Vec<SpanView>,
    can_include_private: bool,
    has_private: bool,
    note: String,
}

/// What stands above a report.
#[derive(Template)]
#[template(path = "console/report_head.html")]
struct ReportHead<'a> {
    layout: &'a Layout<'a>,
    workspaces: &'a [(String, String)],
    workspace: &'a str,
    spans: &'a [SpanView],
    can_include_private: bool,
    has_private: bool,
}

struct SpanView {
    days: i64,
    word: String,
    is_chosen: bool,
}

#[derive(Deserialize)]
#[serde(default)]
pub struct ReportQuery {
    workspace: String,
    days: i64,
    private: bool,
}

/// The periods to choose, in days.
const SPANS: [i64; 4] = [1, 7, 14, 30];
const USUAL_SPAN: i64 = 7;

impl Default for ReportQuery {
    fn default() -> Self {
        Self { workspace: String::new(), days: USUAL_SPAN, private: false }
    }
}

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    query: Result<Query<ReportQuery>, QueryRejection>,
) -> Result<Html<String>, ApiProblem> {
    let query = query.map_or(ReportQuery::default(), |Query(query)| query);
    let days = SPANS.into_iter().find(|days| *days == query.days).unwrap_or(USUAL_SPAN);
    let known = workspaces::all(&web).await?;
    let workspace = match query.workspace.as_str() {
        // The local room is the first; a team's is of more interest.
        "" => known.get(1).or(known.first()).cloned(),
        id => Some(workspaces::find(&web, Some(id)).await?),
    };
    let workspace = workspace.unwrap_or_else(aizuchi_core::platform::local::workspace_id);
    let can_read = visitor.access.may_read_models(&workspace);
    let span = |span: i64| SpanView {
        days: span,
        word: match span {
            1 => texts::console::report_day(language).to_owned(),
            span => texts::console::report_days(language, span),
        },
        is_chosen: span == days,
    };
    let mut none = NoReportPage {
        layout: Layout::new(&web, &visitor, language, Section::Report),
        workspaces: workspaces::choices(&web, &known, language),
        workspace: workspace.to_string(),
        spans: SPANS.into_iter().map(span).collect(),
        can_include_private: visitor.access.is_admin(),
        has_private: query.private && visitor.access.is_admin(),
        note: texts::console::report_withheld(language).to_owned(),
    };
    if !can_read {
        return render(&none);
    }
    let head = ReportHead {
        layout: &none.layout,
        workspaces: &none.workspaces,
        workspace: &none.workspace,
        spans: &none.spans,
        can_include_private: none.can_include_private,
        has_private: none.has_private,
    };
    let Html(head) = render(&head)?;
    let made = Made {
        web: web.clone(),
        access: visitor.access.clone(),
        workspace,
        since: web.clock.now() - SignedDuration::from_hours(days * 24),
        has_private: none.has_private,
        runtime: Handle::current(),
    };
    let frame = PageFrame {
        styles: vec!["/static/ink.css", "/static/head.css", "/console/report.css"],
        head,
    };
    let made = web.computations.run(move |stop| made.report(stop, language, &frame)).await?;
    match made {
        Ok(page) => Ok(Html(page)),
        Err(private) => {
            none.note = texts::console::report_empty(language).to_owned();
            if private > 0 {
                let channels = words::number_of(counted::channels, private, language);
                let left_out = texts::report::left_out_private(language, &channels);
                none.note = format!("{} {left_out}", none.note);
            }
            render(&none)
        }
    }
}

pub async fn style() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE)
}

/// What a report is made from.
struct Made {
    web: Arc<Web>,
    access: Access,
    workspace: WorkspaceId,
    since: Timestamp,
    has_private: bool,
    runtime: Handle,
}

impl Made {
    /// The page. If nothing was decided, how many private channels were left out.
    fn report(
        &self,
        stop: &CancellationToken,
        language: aizuchi_core::persona::Language,
        frame: &PageFrame,
    ) -> anyhow::Result<Result<String, usize>> {
        let config = self.web.models.config();
        let zone = &self.web.zone;
        let options = ReportOptions::new(&config, ReportSource::Ledger, zone.clone());
        let mut builder = ReportBuilder::new(options);
        builder.begin_policy("ledger");
        let (decisions, private) = self.runtime.block_on(self.add_channels(&mut builder, stop))?;
        if decisions == 0 {
            return Ok(Err(private));
        }
        let now = self.web.clock.now();
        builder.include(now, now);
        let left_out = LeftOut {
            bad_records: 0,
            private_channels: Some(private),
            privacy: if self.has_private { Privacy::Included } else { Privacy::LeftOut },
            records: None,
        };
        let report = builder.finish(left_out).report;
        Ok(Ok(page_within(&report, zone, language, frame)?))
    }

    /// How many decisions there were, and how many private channels were left out.
    async fn add_channels(
        &self,
        builder: &mut ReportBuilder,
        stop: &CancellationToken,
    ) -> anyhow::Result<(usize, usize)> {
        let Self { web, access, workspace, since, has_private, .. } = self;
        let archive = &*web.archive;
        let (mut decisions, mut private) = (0, 0);
        for channel in archive.channels(workspace).await? {
            anyhow::ensure!(!stop.is_cancelled(), "the page is gone");
            if channel.visibility != Visibility::Public && !has_private {
                let has_any = has_messages(archive, workspace, &channel, *since).await?;
                private += usize::from(has_any);
                continue;
            }
            let ledger = ChannelLedger::read(archive, workspace, &channel, *since).await?;
            let ledger = if *has_private { ledger } else { ledger.public() };
            for shown in [Shown::Messages(&ledger.messages), Shown::Decisions(&ledger.decisions)] {
                let looked = workspaces::record_look(web, access, workspace, shown).await;
                looked.map_err(|_| {
                    anyhow::anyhow!("cannot record in the audit log who looks, so nothing is shown")
                })?;
            }
            decisions += ledger.add_to(builder, &channel);
        }
        Ok((decisions, private))
    }
}
