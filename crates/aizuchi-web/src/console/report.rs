//! The report of `aizuchi report` on a page: what the persona did lately, and what it would have done where it only
//! observes.

use std::sync::Arc;

use aizuchi_model::chat::Visibility;
use aizuchi_model::persona::Language;
use aizuchi_model::texts::{self, counted};
use aizuchi_past::report::builder::{ReportBuilder, ReportOptions};
use aizuchi_past::report::figures::{LeftOut, Privacy, ReportSource};
use aizuchi_past::report::format;
use aizuchi_past::report::from_ledger::{ChannelLedger, calls, has_messages};
use aizuchi_past::report::page::{self, PageFrame, STYLE};
use aizuchi_store::private_reads::PrivateText;
use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::http::header;
use axum::response::{Html, IntoResponse};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::access::Visitor;
use crate::console::layout::{Layout, Section, render};
use crate::language::PageLanguage;
use crate::refusal::Refusal;
use crate::report_cache::{ComputedReport, FoundReport, ReportAge, ReportBasis, ReportSubject};
use crate::{ApiProblem, Web, workspaces};

/// The page that says why there is no report.
#[derive(Template)]
#[template(path = "console/report.html")]
struct NoReportPage<'a> {
    layout: Layout<'a>,
    /// The id and the label of each workspace.
    workspaces: Vec<(String, String)>,
    workspace: String,
    spans: Vec<SpanView>,
    can_include_private: bool,
    has_private: bool,
    as_of: Option<String>,
    note: String,
}

/// The head of the page, above a report.
#[derive(Template)]
#[template(path = "console/report_head.html")]
struct ReportHead<'a> {
    layout: &'a Layout<'a>,
    workspaces: &'a [(String, String)],
    workspace: &'a str,
    spans: &'a [SpanView],
    can_include_private: bool,
    has_private: bool,
    /// When the report was computed, if something may have been added since.
    as_of: Option<String>,
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

/// The periods to choose from, in days.
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
        // The local room comes first, but a team's workspace is of more interest.
        "" => known.get(1).or(known.first()).cloned(),
        _ => None,
    };
    let workspace = match workspace {
        Some(workspace) => workspace,
        None => workspaces::find(&web, Some(&query.workspace)).await?,
    };
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
        as_of: None,
        note: texts::console::report_withheld(language).to_owned(),
    };
    if !can_read {
        return render(&none);
    }
    let subject = ReportSubject { workspace, days, has_private: none.has_private };
    let FoundReport { computed, age } = find_or_compute(&web, &subject).await?;
    none.as_of = describe_age(&web, &subject, age, language);
    for (what, channels) in [
        (PrivateText::Messages, &computed.private_messages),
        (PrivateText::Decisions, &computed.private_decisions),
    ] {
        workspaces::note_reads(&web, &visitor.access, &subject.workspace, what, channels).await?;
    }
    let Some(report) = &computed.report else {
        none.note = describe_empty(computed.left_out, language);
        return render(&none);
    };
    let head = ReportHead {
        layout: &none.layout,
        workspaces: &none.workspaces,
        workspace: &none.workspace,
        spans: &none.spans,
        can_include_private: none.can_include_private,
        has_private: none.has_private,
        as_of: none.as_of,
    };
    let Html(head) = render(&head)?;
    let frame = PageFrame {
        styles: vec!["/static/theme.css", "/static/console-header.css", "/console/report.css"],
        head,
    };
    let page = page::page(report, &web.zone, language, Some(&frame));
    page.map(Html).map_err(|_| Refusal::PageFailed.into())
}

/// Says that nothing was decided, and that private channels were left out, if they were.
fn describe_empty(left_out: usize, language: Language) -> String {
    let empty = texts::console::report_empty(language);
    if left_out == 0 {
        return empty.to_owned();
    }
    let channels = format::number_of(counted::channels, left_out, language);
    format!("{empty} {}", texts::report::left_out_private(language, &channels))
}

pub async fn style() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE)
}

/// Says when a report was computed, if it may be outdated and is being recomputed.
fn describe_age(
    web: &Web,
    subject: &ReportSubject,
    age: ReportAge,
    language: Language,
) -> Option<String> {
    let ReportAge::AsOf(computed) = age else { return None };
    let time = format::time(computed, &web.zone);
    Some(match web.report_cache.renew(subject) {
        true => texts::console::report_renewed(language, &time),
        false => texts::console::report_as_of(language, &time),
    })
}

/// Returns the cached report, or a new one.
async fn find_or_compute(
    web: &Arc<Web>,
    subject: &ReportSubject,
) -> Result<FoundReport, ApiProblem> {
    match web.report_cache.find(subject, &basis(web)) {
        Some(kept) => Ok(kept),
        None => compute(web, subject, ComputePurpose::Show).await,
    }
}

/// Recomputes outdated reports that are being viewed, one after the other, until the shutdown.
pub async fn renew_wanted(web: Arc<Web>, shutdown: CancellationToken) {
    loop {
        let subject = tokio::select! {
            () = shutdown.cancelled() => return,
            subject = web.report_cache.next_wanted() => subject,
        };
        // The shutdown ends the computation, too.
        if let Err(ApiProblem(refusal)) = compute(&web, &subject, ComputePurpose::Renew).await {
            tracing::debug!(error = refusal.id(), "a report could not be computed anew");
        }
    }
}

async fn compute(
    web: &Arc<Web>,
    subject: &ReportSubject,
    purpose: ComputePurpose,
) -> Result<FoundReport, ApiProblem> {
    let computation = Computation {
        web: web.clone(),
        subject: subject.clone(),
        purpose,
        runtime: Handle::current(),
    };
    web.computations.run(move |stop| computation.run(stop)).await
}

/// Returns what a report would be computed with now.
fn basis(web: &Web) -> ReportBasis {
    // Read these first, so that what is read later is at least as new.
    let (erasures, revision) = (*web.erasures.borrow(), *web.revisions.borrow());
    ReportBasis { erasures, revision, config: web.models.config(), now: web.clock.now() }
}

/// Why a report is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ComputePurpose {
    /// A visitor waits for it. A report that was cached in the meantime will do.
    Show,
    /// A report is cached, and a newer one is wanted.
    Renew,
}

/// The computation of a report. It does not know the reader: its subject says what the reader may see.
struct Computation {
    web: Arc<Web>,
    subject: ReportSubject,
    purpose: ComputePurpose,
    runtime: Handle,
}

impl Computation {
    fn run(&self, stop: &CancellationToken) -> anyhow::Result<FoundReport> {
        let (kept, basis) = (&self.web.report_cache, basis(&self.web));
        // Another visitor may have waited for the same report.
        if let Some(found) = kept.find(&self.subject, &basis)
            && (self.purpose == ComputePurpose::Show || found.age == ReportAge::Current)
        {
            return Ok(found);
        }
        let computed = Arc::new(self.compute(&basis, stop)?);
        // Do not cache the report if something was erased in the meantime: it may still show that.
        if *self.web.erasures.borrow() == basis.erasures {
            kept.keep(self.subject.clone(), basis, computed.clone());
        }
        Ok(FoundReport { computed, age: ReportAge::Current })
    }

    fn compute(
        &self,
        basis: &ReportBasis,
        stop: &CancellationToken,
    ) -> anyhow::Result<ComputedReport> {
        let ReportSubject { days, has_private, .. } = self.subject;
        let since = basis.now - SignedDuration::from_hours(days * 24);
        let zone = self.web.zone.clone();
        let options = ReportOptions {
            end: Some(basis.now),
            ..ReportOptions::new(&basis.config, ReportSource::Ledger, zone)
        };
        let mut builder = ReportBuilder::new(options);
        builder.begin_policy("ledger");
        let mut computed = ComputedReport::default();
        let adding = self.add_channels(&mut builder, &mut computed, since, stop);
        let decisions = self.runtime.block_on(adding)?;
        if decisions == 0 {
            return Ok(computed);
        }
        builder.include(basis.now, basis.now);
        let left_out = LeftOut {
            bad_records: 0,
            private_channels: Some(computed.left_out),
            privacy: if has_private { Privacy::Included } else { Privacy::LeftOut },
            records: None,
        };
        computed.report = Some(builder.finish(left_out).report);
        Ok(computed)
    }

    /// Adds the channels of the workspace. Returns the number of decisions.
    async fn add_channels(
        &self,
        builder: &mut ReportBuilder,
        computed: &mut ComputedReport,
        since: Timestamp,
        stop: &CancellationToken,
    ) -> anyhow::Result<usize> {
        let ReportSubject { workspace, has_private, .. } = &self.subject;
        let archive = &*self.web.archive;
        let mut decisions = 0;
        for channel in archive.channels(workspace).await? {
            anyhow::ensure!(!stop.is_cancelled(), "the page is gone");
            if channel.visibility != Visibility::Public && !has_private {
                let has_any = has_messages(archive, workspace, &channel, since).await?;
                computed.left_out += usize::from(has_any);
                continue;
            }
            let ledger = ChannelLedger::read(archive, workspace, &channel, since).await?;
            let ledger = if *has_private { ledger } else { ledger.public() };
            self.add_looks(computed, &ledger).await?;
            decisions += ledger.add_to(builder, &channel)?;
        }
        builder.add_calls(calls(archive, workspace, since, self.web.clock.now()).await?);
        Ok(decisions)
    }

    /// Adds the private channels whose messages or decisions the report uses.
    async fn add_looks(
        &self,
        computed: &mut ComputedReport,
        ledger: &ChannelLedger,
    ) -> anyhow::Result<()> {
        let messages = ledger.messages.iter();
        let private = messages.filter(|stored| stored.visibility != Visibility::Public);
        let channels = private.map(|stored| stored.message.conversation.channel.clone());
        computed.private_messages.extend(channels);
        let (workspace, decisions) = (&self.subject.workspace, &ledger.decisions);
        let channels = workspaces::private_channels(&self.web, workspace, decisions).await;
        let channels = channels
            .map_err(|_| anyhow::anyhow!("cannot tell which private channels a report is about"))?;
        computed.private_decisions.extend(channels);
        Ok(())
    }
}
