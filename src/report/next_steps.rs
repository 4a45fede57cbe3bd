//! What a reader can do after the report: settings and commands, with their names.

use crate::report::code::{TextPart, parts};
use crate::report::figures::{PolicyFigures, Report, ReportSource};
use crate::report::words;
use aizuchi_core::persona::Language;
use aizuchi_core::texts::report as texts;

pub struct NextSteps {
    pub begin: &'static str,
    pub steps: Vec<Vec<TextPart>>,
}

impl NextSteps {
    pub fn new(report: &Report, policy: &PolicyFigures, language: Language) -> Self {
        let l = language;
        let quieter = texts::next_quieter(l).to_owned();
        let worst = policy.worst_channel();
        let in_channel =
            worst.map(|one| texts::next_quieter_channel(l, &words::channel(&one.name)));
        let quieter = [quieter].into_iter().chain(in_channel);
        let (begin, steps): (_, Vec<String>) = match report.source {
            ReportSource::Ledger => (texts::next_begin_ledger(l), after_ledger(policy, quieter, l)),
            ReportSource::Builtin
            | ReportSource::AlwaysSilent
            | ReportSource::AlwaysSpeak
            | ReportSource::Model => {
                let is_compared = report.policies.len() > 1;
                let compare = (!is_compared).then(|| texts::next_compare(l).to_owned());
                let observe = texts::next_observe(l).to_owned();
                let tune = texts::next_tune(l).to_owned();
                let steps = [observe].into_iter().chain(quieter).chain([tune]).chain(compare);
                let begin = match is_compared {
                    true => texts::next_begin_policies(l),
                    false => texts::next_begin(l),
                };
                (begin, steps.collect())
            }
        };
        Self { begin, steps: steps.iter().map(|step| parts(step)).collect() }
    }
}

fn after_ledger(
    policy: &PolicyFigures,
    quieter: impl Iterator<Item = String>,
    language: Language,
) -> Vec<String> {
    let most = policy.by_channel.iter().max_by_key(|one| one.spoke);
    let speak = most.filter(|_| policy.observed > 0);
    let speak = speak.map(|one| texts::next_speak(language, &words::channel(&one.name)));
    let why = texts::next_why(language).to_owned();
    speak.into_iter().chain(quieter).chain([why]).collect()
}
