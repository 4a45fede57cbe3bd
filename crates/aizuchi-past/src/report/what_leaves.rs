//! Which data leave the installation, for a team that asks before it enables a feature.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::what_leaves as texts;

use crate::report::code::{TextPart, parts};
use crate::report::figures::{Report, ReportSource};

/// One line for each question that people ask.
pub fn lines(report: &Report, language: Language) -> Vec<Vec<TextPart>> {
    let l = language;
    let (replayed, quotes) = match report.source {
        ReportSource::Builtin | ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak => {
            (Some(texts::replayed_here(l)), texts::quotes_of_replay(l))
        }
        ReportSource::Model => (Some(texts::replayed_with_model(l)), texts::quotes_of_replay(l)),
        ReportSource::Ledger => (None, texts::quotes(l)),
    };
    let deleted = texts::deleted(l, &report.persona);
    let asked = match report.source {
        ReportSource::Builtin | ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak => {
            Some(texts::judge_model(l))
        }
        ReportSource::Model | ReportSource::Ledger => None,
    };
    let begin = [texts::no_model(l)].into_iter().chain(replayed).chain(asked);
    let rest = [texts::with_model(l), texts::others(l), texts::stored(l), deleted.as_str(), quotes];
    let all = begin.chain(rest).chain([texts::notified(l)]);
    all.map(parts).collect()
}
