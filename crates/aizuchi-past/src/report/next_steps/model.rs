//! Steps that involve a model: how to ask it about the same history, what that costs, and how to set one.

use aizuchi_llm::model::{ModelId, Provider};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Mode;
use aizuchi_model::texts::next_steps as step_texts;
use aizuchi_model::texts::report as texts;
use jiff::civil::Date;

use crate::report::config_block::mode_block;
use crate::report::cost::{LAST_DAYS, begin_of_last_days};
use crate::report::figures::{CallFigures, PolicyFigures, ReportSource};
use crate::report::format;
use crate::report::next_steps::{NextStep, StepsBuilder};
use crate::report::replay_command::ReplayCommand;

/// The model in examples if no cost is known.
const EXAMPLE_MODEL: &str = "anthropic/claude-haiku-4-5";

/// The minimum number of judgments in the last days for a proposal to ask about these days only.
const MIN_CHECKS_LATELY: f64 = 10.0;

/// The maximum ratio of limit and estimate that is shown. A larger one is shown as more than this.
const MAX_MARGIN: f64 = 100.0;

/// The cost of a policy with a model.
struct AskingCost {
    total: f64,
    /// For the last [`LAST_DAYS`] days only. `None` if nothing was judged.
    last_days: Option<f64>,
}

impl StepsBuilder<'_> {
    /// Returns the command that asks a model, where none was asked, with an estimate for the first model whose cost is known.
    pub(super) fn ask_model(&self, command: &ReplayCommand) -> Option<NextStep> {
        let l = self.language;
        match self.report.source {
            ReportSource::Model | ReportSource::Ledger => return None,
            ReportSource::Builtin | ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak => {}
        }
        let Some((model, costs)) = self.costs() else {
            let line = command.replay_with(&["--judge", "model", "--report", "model.html"]);
            return Some(NextStep::new(step_texts::ask_model_unpriced(l), format!("{line}\n")));
        };
        let total: f64 = costs.iter().map(|cost| cost.total).sum();
        let (all, estimate) = (limit(total), self.estimate(&costs));
        let (begin, line) = match self.last_days(command, &costs) {
            Some((date, money)) => {
                let (least, margin) = (limit(money), margin(money, l));
                let (from, money) = (date.to_string(), self.price(money));
                let begin = step_texts::ask_model_lately(l, &from, model, &money);
                let most = step_texts::ask_limit(l, &least, &margin);
                let whole = step_texts::ask_everything(l, &estimate, &all);
                let most = texts::two_sentences(l, &most, &whole);
                let begin = texts::two_sentences(l, &begin, &most);
                (begin, ask_command(command, Some(date), &least))
            }
            None => {
                let begin = step_texts::ask_model(l, model, &estimate);
                let most = step_texts::ask_limit(l, &all, &margin(total, l));
                (texts::two_sentences(l, &begin, &most), ask_command(command, None, &all))
            }
        };
        Some(NextStep::new(&begin, format!("{line}\n")))
    }

    /// Says what the command that asks a model costs, and which data it sends to which provider.
    pub(super) fn price_of_asking(&self) -> String {
        let l = self.language;
        let Some((model, costs)) = self.costs() else {
            return step_texts::begin_ask_unpriced(l).to_owned();
        };
        let unknown = ReplayCommand::unknown();
        let command = self.report.command.as_ref().unwrap_or(&unknown);
        let (time, money) = match self.last_days(command, &costs) {
            Some((_, money)) => (step_texts::last_days(l, &LAST_DAYS.to_string()), money),
            None => {
                let all: f64 = costs.iter().map(|cost| cost.total).sum();
                (format::period(self.report.period.days, l), all)
            }
        };
        let money = format::estimated_money(money, &self.report.currency, l);
        step_texts::begin_ask(l, &time, &money, model)
    }

    /// Returns the lines that set a model, unless the config names one. They also set a mode in which the persona does
    /// not speak unasked, unless the command reads its policy from that config.
    pub(super) fn set_model(&self) -> Option<NextStep> {
        match self.report.source {
            ReportSource::Model | ReportSource::Ledger => return None,
            ReportSource::Builtin | ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak => {}
        }
        if self.report.names_model {
            return None;
        }
        let model = self.policy.known_cost().map_or(EXAMPLE_MODEL, |(model, _)| model);
        let is_policy = self.report.command.as_ref().is_some_and(ReplayCommand::has_config);
        let mode = (!is_policy).then_some(Mode::MentionOnly);
        Some(lines_of_model(model, mode, self.language))
    }

    /// Returns the first model whose cost is known, and what each policy costs with it.
    fn costs(&self) -> Option<(&str, Vec<AskingCost>)> {
        let policies = &self.report.policies;
        let (model, _) = policies.first().and_then(PolicyFigures::known_cost)?;
        let costs = policies.iter().map(|policy| {
            let cost = policy.costs.iter().find(|cost| cost.model == model)?;
            let total = cost.total?;
            let last_days = policy.calls.last_days_share.map(|share| total * share);
            Some(AskingCost { total, last_days })
        });
        Some((model, costs.collect::<Option<Vec<AskingCost>>>()?))
    }

    /// Formats an amount, and that it is for all policies where there are several.
    fn price(&self, amount: f64) -> String {
        match self.report.policies.len() {
            0 | 1 => self.money(amount),
            several => step_texts::price_of_policies(self.language, several, &self.money(amount)),
        }
    }

    /// Says what the whole replay would cost, for all policies of the page.
    fn estimate(&self, costs: &[AskingCost]) -> String {
        let (report, l) = (self.report, self.language);
        let period = format::period(report.period.days, l);
        let total = self.money(costs.iter().map(|cost| cost.total).sum());
        match (costs, report.policies.first()) {
            // A policy that turns limits off is always replayed with them, too, so it has no price of its own.
            ([_, _, ..], Some(first)) if report.with_default_limits(first).is_some() => {
                step_texts::estimate_of_policies(l, costs.len(), &period, &total)
            }
            ([alone, _, ..], Some(first)) => {
                let alone = self.money(alone.total);
                step_texts::estimate_of_all(l, costs.len(), &period, &total, &first.name, &alone)
            }
            _ => step_texts::estimate_alone(l, &period, &total),
        }
    }

    /// Returns the first day of the last days of a long history, and the cost of asking about these days only. `None`
    /// if hardly anything was judged in them.
    fn last_days(&self, command: &ReplayCommand, costs: &[AskingCost]) -> Option<(Date, f64)> {
        let period = self.report.period;
        let is_long = period.days > 1.5 * LAST_DAYS as f64 && !command.has_begin();
        let begin = begin_of_last_days(period.to.filter(|_| is_long)?);
        if !self.report.policies.iter().all(|policy| has_checks_lately(policy.calls)) {
            return None;
        }
        let money = costs.iter().map(|cost| cost.last_days).sum::<Option<f64>>()?;
        Some((begin, money))
    }

    fn money(&self, amount: f64) -> String {
        format::money(amount, &self.report.currency, self.language)
    }
}

/// Returns the lines that set a model. If they set no mode, they say so, because the persona then speaks unasked.
fn lines_of_model(model: &str, mode: Option<Mode>, language: Language) -> NextStep {
    let l = language;
    let begin = match key_variable(model) {
        Some(key) => step_texts::model_with_key(l, key),
        None => step_texts::model_without_key(l).to_owned(),
    };
    let model = format!("agents:\n  response:\n    model_id: {model}\n");
    let (effect, lines) = match mode {
        Some(mode) => (step_texts::model_keeps_silent(l), format!("{model}{}", mode_block(mode))),
        None => (step_texts::model_speaks(l), model),
    };
    let begin = texts::two_sentences(l, &begin, step_texts::model_needs_restart(l));
    NextStep::new(&texts::two_sentences(l, &begin, effect), lines)
}

/// Formats the command that asks a model about everything, or about messages from a date on.
fn ask_command(command: &ReplayCommand, from: Option<Date>, limit: &str) -> String {
    let from = from.map(|date| date.to_string());
    let from = from.iter().flat_map(|date| ["--from", date.as_str()]);
    let end = ["--max-cost", limit, "--report", "model.html"];
    let words: Vec<&str> = ["--judge", "model"].into_iter().chain(from).chain(end).collect();
    command.replay_with(&words)
}

/// Returns the environment variable for the key of a model, if it needs one.
fn key_variable(model: &str) -> Option<&'static str> {
    let provider = model.parse::<ModelId>().ok()?.provider();
    provider.and_then(Provider::key_variable)
}

/// Whether enough was judged in the last days of a history to ask about them only.
fn has_checks_lately(calls: CallFigures) -> bool {
    let share = calls.last_days_share.unwrap_or(0.0);
    share * calls.judge_calls as f64 >= MIN_CHECKS_LATELY
}

/// Formats the ratio of the limit and the estimate.
fn margin(estimate: f64, language: Language) -> String {
    let times = allowance(estimate) / estimate;
    match times {
        ..10.0 => step_texts::margin(language, &format::one_decimal(times)),
        ..=MAX_MARGIN => step_texts::margin(language, &format::count(times.round() as usize)),
        _ => step_texts::large_margin(language, &format::count(MAX_MARGIN as usize)),
    }
}

/// Formats the limit for an estimate, as `--max-cost` takes it.
fn limit(estimate: f64) -> String {
    format!("{:.0}", allowance(estimate))
}

/// Returns a third more than a rough estimate, rounded up to a number that a person would choose.
fn allowance(estimate: f64) -> f64 {
    let wanted = estimate * 4.0 / 3.0;
    let step = match wanted {
        ..10.0 => 1.0,
        ..100.0 => 5.0,
        ..1000.0 => 50.0,
        _ => 500.0,
    };
    ((wanted / step).ceil() * step).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rough_estimate_is_no_limit() {
        for (estimate, most) in [
            (0.0, 1.0),
            (0.2, 1.0),
            (0.9, 2.0),
            (5.76, 8.0),
            (29.92, 40.0),
            (100.0, 150.0),
            (4488.0, 6000.0),
        ] {
            assert!((allowance(estimate) - most).abs() < 1e-9, "{estimate}");
        }
    }

    #[test]
    fn a_limit_is_told_with_its_margin() {
        for (estimate, expected) in [
            (29.92, "1.3 times the estimate"),
            (0.9, "2.2 times the estimate"),
            (0.05, "20 times the estimate"),
            (0.01, "100 times the estimate"),
            (0.002, "more than 100 times the estimate"),
            (0.0, "more than 100 times the estimate"),
        ] {
            assert_eq!(margin(estimate, Language::En), expected, "{estimate}");
        }
    }

    #[test]
    fn the_last_days_are_asked_about_only_if_much_was_judged_in_them() {
        for (last_days_share, judge_calls, expected) in [
            (Some(0.0), 4000, false),
            (Some(0.01), 999, false),
            (Some(0.01), 1000, true),
            (Some(0.5), 60, true),
            (None, 0, false),
        ] {
            let calls = CallFigures { last_days_share, judge_calls, ..CallFigures::default() };
            assert_eq!(has_checks_lately(calls), expected, "{calls:?}");
        }
    }

    #[test]
    fn lines_without_a_mode_come_with_a_warning() {
        let told = |mode| {
            let step = lines_of_model(EXAMPLE_MODEL, mode, Language::En);
            let text: String = step.begin.iter().map(|part| &*part.text).collect();
            assert!(text.contains("A reload does not change the model"), "{text}");
            (text, step.lines.contains("mode: mention_only"))
        };
        let (text, has_mode) = told(Some(Mode::MentionOnly));
        assert!(has_mode && text.contains("it does not speak unasked meanwhile"), "{text}");
        let (text, has_mode) = told(None);
        assert!(!has_mode && text.contains("it speaks unasked from the next restart on"), "{text}");
    }

    #[test]
    fn a_model_is_asked_about_everything_or_from_a_date_on() {
        let command = ReplayCommand::unknown();
        assert_eq!(
            ask_command(&command, None, "40"),
            "aizuchi replay INPUT --judge model --max-cost 40 --report model.html"
        );
        assert_eq!(
            ask_command(&command, Some(jiff::civil::date(2019, 5, 7)), "8"),
            "aizuchi replay INPUT --judge model --from 2019-05-07 --max-cost 8 --report model.html"
        );
    }

    #[test]
    fn each_model_names_the_variable_of_its_key() {
        for (model, expected) in [
            (EXAMPLE_MODEL, Some("ANTHROPIC_API_KEY")),
            ("openai/gpt-5-mini", Some("OPENAI_API_KEY")),
            ("ollama/qwen3:8b", None),
            ("builtin", None),
            ("nonsense", None),
        ] {
            assert_eq!(key_variable(model), expected, "{model}");
        }
    }
}
