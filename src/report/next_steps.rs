//! What a reader can do after the report: settings and commands, with their names.

use crate::report::code::{TextPart, parts};
use crate::report::config_block::{block_with_mode, config_block};
use crate::report::figures::{PolicyFigures, Report, ReportSource};
use crate::report::words;
use aizuchi_core::persona::Language;
use aizuchi_core::texts::next_steps as step_texts;
use aizuchi_core::texts::report as texts;

pub struct NextSteps {
    pub begin: &'static str,
    pub blocks: Vec<PolicyBlock>,
    pub steps: Vec<Vec<TextPart>>,
}

/// The lines of a config that make a policy.
pub struct PolicyBlock {
    pub begin: Vec<TextPart>,
    /// Empty if it is the default settings.
    pub lines: String,
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
                let model = ask_model(report, l);
                let steps = [observe].into_iter().chain(model).chain(quieter);
                let steps = steps.chain([tune]).chain(compare);
                let begin = match is_compared {
                    true => texts::next_begin_policies(l),
                    false => texts::next_begin(l),
                };
                (begin, steps.collect())
            }
        };
        let steps = steps.iter().map(|step| parts(step)).collect();
        Self { begin, blocks: blocks(report, l), steps }
    }
}

/// A block for each policy on offer of which the settings are known. Without a model, each needs its mode; with one, the only
/// policy has no block if it is the default settings.
fn blocks(report: &Report, language: Language) -> Vec<PolicyBlock> {
    let is_compared = report.policies.len() > 1;
    let block = |policy: &PolicyFigures| {
        let settings = policy.settings.as_deref()?;
        let lines = match report.has_stand_in() {
            true => block_with_mode(settings, language),
            false => config_block(settings, language),
        };
        let needs_mode = report.has_stand_in() && lines.contains("  mode: companion\n");
        let begin = match (is_compared, lines.is_empty()) {
            (false, true) => return None,
            (false, false) if needs_mode => {
                step_texts::block_alone_without_model(language).to_owned()
            }
            (false, false) => step_texts::block(language).to_owned(),
            (true, true) => step_texts::block_of_default(language, &policy.name),
            (true, false) if needs_mode => step_texts::block_without_model(language, &policy.name),
            (true, false) => step_texts::block_of(language, &policy.name),
        };
        Some(PolicyBlock { begin: parts(&begin), lines })
    };
    let offered = report.on_offer();
    let offered = offered.iter().filter_map(|place| report.policies.get(*place));
    offered.filter_map(block).collect()
}

/// How to ask a model, where none was asked, and what that costs at most with the first model whose cost is known.
fn ask_model(report: &Report, language: Language) -> Option<String> {
    match report.source {
        ReportSource::Model | ReportSource::Ledger => return None,
        ReportSource::Builtin | ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak => {}
    }
    let known = report.policies.first().and_then(PolicyFigures::known_cost);
    let total = known.and_then(|(model, _)| {
        let costs = report
            .policies
            .iter()
            .map(|policy| policy.costs.iter().find(|cost| cost.model == model)?.total);
        let costs: Vec<f64> = costs.collect::<Option<Vec<f64>>>()?;
        Some((model, costs))
    });
    Some(match total {
        Some((model, costs)) => {
            let total = costs.iter().sum::<f64>();
            let most = format!("{:.0}", total.max(1.0).ceil());
            step_texts::ask_model(language, &most, model, &estimate(report, &costs, language))
        }
        None => step_texts::ask_model_unpriced(language).to_owned(),
    })
}

/// What the replay would cost, with the costs of all policies of the page.
fn estimate(report: &Report, costs: &[f64], language: Language) -> String {
    let l = language;
    let period = words::period(report.period.days, l);
    let money = |amount: f64| words::money(amount, &report.currency, l);
    let total = money(costs.iter().sum());
    match (costs, report.policies.first()) {
        ([alone, _, ..], Some(first)) => {
            let alone = money(*alone);
            step_texts::estimate_of_all(l, costs.len(), &period, &total, &first.name, &alone)
        }
        _ => step_texts::estimate_alone(l, &period, &total),
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
