//! The answers to mentions and the reactions of the persona, which the page shows beside its unasked posts.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::ledger::list_separator;
use aizuchi_model::texts::report_posts as texts;
use jiff::tz::TimeZone;

use crate::report::code::{TextPart, parts};
use crate::report::figures::{PolicyFigures, Report, ReportSource};
use crate::report::format;
use crate::report::story::Story;
use crate::report::story_view::{StoryView, folded};

pub struct BesideView {
    pub heading: &'static str,
    /// How often the persona answers or reacts, and when.
    pub sentences: Vec<Vec<TextPart>>,
    /// How many of these are shown.
    pub shown: Option<String>,
    pub stories: Vec<StoryView>,
}

/// The answers to calls and the reactions of a policy, if there are any.
pub fn besides(
    report: &Report,
    policy: &PolicyFigures,
    zone: &TimeZone,
    language: Language,
) -> Vec<BesideView> {
    let l = language;
    let view = |heading, count: usize, sentences: Vec<String>, stories: &[Story]| {
        let told = stories.iter().map(|story| StoryView::new(story, report, zone, l));
        let shown = texts::examples_shown(l, &format::count(stories.len()), &format::count(count));
        (count > 0).then(|| BesideView {
            heading,
            sentences: sentences.iter().map(|sentence| parts(sentence)).collect(),
            shown: (!stories.is_empty()).then_some(shown),
            stories: folded(told),
        })
    };
    let (called, reacted) = (policy.called.real(), policy.reacted);
    let calls =
        view(texts::called(l), called, call_sentences(report, policy, l), &policy.answers_to_calls);
    let times = format::times(reacted, l);
    let told = match report.source {
        ReportSource::Ledger => vec![texts::reacted_ledger(l, &times)],
        ReportSource::Builtin
        | ReportSource::AlwaysSilent
        | ReportSource::AlwaysSpeak
        | ReportSource::Model => {
            vec![texts::reacted_times(l, &times), texts::reacted_modes(l).to_owned()]
        }
    };
    let reactions = view(texts::reacted(l), reacted, told, &policy.reactions);
    calls.into_iter().chain(reactions).collect()
}

/// Says how often and how the persona was addressed, and whether these answers need a model.
fn call_sentences(report: &Report, policy: &PolicyFigures, language: Language) -> Vec<String> {
    let (l, called) = (language, &policy.called);
    let times = |count: usize| format::times(count, l);
    let all = times(called.real());
    if report.source == ReportSource::Ledger {
        return vec![texts::called_ledger(l, &all)];
    }
    let names = called.by_name.iter();
    let names = names.map(|(name, count)| texts::name_times(l, name, &times(*count)));
    let names: Vec<String> = names.collect();
    let named = || texts::called_by_name(l, &times(called.named()), &names.join(list_separator(l)));
    let kinds = [
        (called.named() > 0).then(named),
        (called.after_post > 0).then(|| texts::called_after_post(l, &times(called.after_post))),
        (called.unknown > 0).then(|| texts::called_unknown(l, &times(called.unknown))),
    ];
    let begin = [texts::called_times(l, &all)];
    let end = [texts::called_modes(l).to_owned()];
    begin.into_iter().chain(kinds.into_iter().flatten()).chain(end).collect()
}
