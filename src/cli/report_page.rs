//! The options of a report that `aizuchi replay` and `aizuchi report` share, and how it is written.

use std::path::{Path, PathBuf};

use aizuchi_config::Config;
use aizuchi_config::language::LanguageSetting;
use aizuchi_model::persona::Language;
use aizuchi_past::replay::{Policy, ReplayJudge};
use aizuchi_past::report::anonymous::{Anonymity, anonymize};
use aizuchi_past::report::builder::{BuiltReport, ReportBuilder, ReportOptions};
use aizuchi_past::report::figures::{LeftOut, Report, ReportSource};
use aizuchi_past::report::page::page;
use aizuchi_past::report::summary::summary;
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::cli::judge::Judge;
use crate::cli::locale::terminal_language;
use crate::cli::write_private;

#[derive(Clone, Debug, Args)]
pub struct PageArgs {
    /// Replace people's names with neutral ones, also inside messages, and mask addresses. `all` also replaces the
    /// names of channels.
    #[arg(long, value_enum, value_name = "WHOM", num_args = 0..=1, require_equals = true, default_missing_value = "people")]
    pub anonymous: Option<AnonymousArg>,
    /// The language of the report. If omitted: the config's. In a replay of the default settings, what Aizuchi would
    /// have said is also in that language.
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    pub language: Option<PageLanguageArg>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AnonymousArg {
    People,
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PageLanguageArg {
    En,
    Ja,
}

impl PageArgs {
    pub fn language(&self, config: &Config) -> Language {
        match self.language {
            Some(PageLanguageArg::En) => Language::En,
            Some(PageLanguageArg::Ja) => Language::Ja,
            None => terminal_language(config.language),
        }
    }

    /// Finishes the report, and removes names if that was requested.
    pub fn finish(&self, built: BuiltReport, language: Language) -> Report {
        let anonymity = match self.anonymous {
            Some(AnonymousArg::People) => Anonymity::People,
            Some(AnonymousArg::All) => Anonymity::All,
            None => return built.report,
        };
        anonymize(built, anonymity, language)
    }
}

/// What `aizuchi replay` tells of its result, and to whom.
#[derive(Clone, Debug, Args)]
pub struct ReplayReportArgs {
    /// Write the report as one self-contained HTML file.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    page: PageArgs,
    /// Print the benchmark's figures instead of the summary; with `--json`, the JSON omits `report`.
    #[arg(long)]
    internals: bool,
}

impl ReplayReportArgs {
    /// The default settings, in the report's language.
    pub fn default_policy(&self) -> Policy {
        let mut policy = Policy::default_settings();
        match self.page.language {
            Some(PageLanguageArg::En) => policy.config.language = LanguageSetting::En,
            Some(PageLanguageArg::Ja) => policy.config.language = LanguageSetting::Ja,
            None => {}
        }
        policy
    }

    pub fn shows_internals(&self) -> bool {
        self.internals
    }

    /// Returns `None` if only the benchmark's figures are wanted: they are measured without a report, which takes time
    /// to build. `end` is when the messages end.
    pub fn builder(
        &self,
        policies: &[Policy],
        judge: &Judge,
        latency_ms: u64,
        end: Option<Timestamp>,
    ) -> Option<ReportBuilder> {
        let is_wanted = !self.internals || self.report.is_some();
        let config = &policies.first().filter(|_| is_wanted)?.config;
        let source = match judge.kind() {
            ReplayJudge::Silent => ReportSource::AlwaysSilent,
            ReplayJudge::Speak => ReportSource::AlwaysSpeak,
            ReplayJudge::Builtin => ReportSource::Builtin,
            ReplayJudge::Model => ReportSource::Model,
        };
        let zone = config.time_zone_or(TimeZone::UTC);
        Some(ReportBuilder::new(ReportOptions {
            judge: judge.model(),
            judged_by: judge.judged_by(),
            latency_ms: Some(latency_ms),
            end,
            ..ReportOptions::new(config, source, zone)
        }))
    }

    /// Finishes the report and its summary, and writes the page.
    pub fn finish(
        &self,
        builder: Option<ReportBuilder>,
        policies: &[Policy],
        left_out: LeftOut,
    ) -> anyhow::Result<Option<(Report, String)>> {
        let (Some(builder), Some(policy)) = (builder, policies.first()) else { return Ok(None) };
        let language = self.page.language(&policy.config);
        let zone = policy.config.time_zone_or(TimeZone::UTC);
        let report = self.page.finish(builder.finish(left_out), language);
        if let Some(path) = &self.report {
            write_page(path, &report, &zone, language)?;
        }
        let summary = summary(&report, language, self.report.is_some());
        Ok(Some((report, summary)))
    }
}

pub fn write_page(
    path: &Path,
    report: &Report,
    zone: &TimeZone,
    language: Language,
) -> anyhow::Result<()> {
    let page = page(report, zone, language, None)?;
    write_private(path, &page)
}
