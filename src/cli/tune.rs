//! `aizuchi tune`: searches for settings that suit a recorded history better, and prints them as a part of a config.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;

use aizuchi_config::source::ConfigSource;
use aizuchi_import::history::RecordedChannel;
use aizuchi_past::replay::judge::recorded::{RecordedAnswers, RecordedCounts};
use aizuchi_past::replay::{Policy, ReplayJudge, ReplaySettings};
use aizuchi_past::tune::figures::{TuneFigures, UtcDay};
use aizuchi_past::tune::search::{Fidelity, Goal, max_replays, search};
use aizuchi_past::tune::tuned_setting::TunedSetting;
use aizuchi_past::tune::validation::{Gain, lack};
use aizuchi_past::tune::{DaySplit, measure, within};
use anyhow::Context as _;
use clap::{Args, ValueEnum, value_parser};
use indicatif::ProgressBar;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;

use crate::cli::judge::open_answers;
use crate::cli::recording::RecordingArgs;
use crate::cli::{log, print, progress_bar};

#[derive(Debug, Args)]
pub struct TuneArgs {
    #[command(flatten)]
    recording: RecordingArgs,
    /// The settings to start from: a config, or a part of one. If omitted: --config, or else the defaults.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// What to optimize for.
    #[arg(long, value_enum, default_value_t = GoalArg::Balanced)]
    goal: GoalArg,
    /// Who judges: `builtin`, the built-in rules; `speak`, a judge that always joins in; or a file with recorded answers, as for
    /// `replay --judge`, with one for nearly every message.
    #[arg(long, value_name = "JUDGE", default_value = "builtin")]
    judge: TuneJudge,
    /// The median duration of a simulated model call, in milliseconds of simulated time; at most one day.
    #[arg(long, value_name = "MS", default_value_t = 4000, value_parser = value_parser!(u64).range(..=86_400_000))]
    latency: u64,
    /// The random seed; the same seed gives the same result.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print JSON instead of a part of a config.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum GoalArg {
    /// Speaks rarely and hardly ever interrupts.
    Quiet,
    /// Between the two.
    Balanced,
    /// Responds to questions that nobody answers, even if it speaks more often.
    Helpful,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TuneJudge {
    Builtin,
    Speak,
    Recorded(PathBuf),
}

impl FromStr for TuneJudge {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "builtin" => Ok(TuneJudge::Builtin),
            "speak" => Ok(TuneJudge::Speak),
            "silent" => Err("a judge that never joins in cannot show which settings are better"),
            "model" => Err(
                "a search would ask a model at other moments in each of dozens of replays; it must be builtin, speak, or a \
                 file with answers",
            ),
            file if file.contains(['.', '/']) => Ok(TuneJudge::Recorded(file.into())),
            _ => Err("it must be builtin, speak, or a file with answers"),
        }
    }
}

/// The maximum share of judgments for which recorded answers may be missing.
const MAX_UNKNOWN: f64 = 0.05;
/// The minimum number of unanswered questions. Days with fewer say nothing about which settings are better.
const MIN_COARSE_QUESTIONS: u64 = 12;
/// The exit code if nothing is recommended.
const NO_ADVICE: u8 = 2;

/// The result of the search.
struct TuneOutcome {
    split: DaySplit,
    learned: TuneFigures,
    tried: usize,
    advice: Result<ConfirmedPolicy, String>,
}

/// Settings that are confirmed by the days of the check.
struct ConfirmedPolicy {
    policy: Policy,
    changed: Vec<TunedSetting>,
    before: TuneFigures,
    after: TuneFigures,
    gain: Gain,
}

impl TuneArgs {
    /// Runs the command. `named` is the config that `--config` names.
    pub fn run(self, named: Option<PathBuf>, source: &ConfigSource) -> anyhow::Result<ExitCode> {
        // Count unknown judgments instead of warning about each of them.
        log::init_plain("warn,aizuchi_agent::runner=error");
        let base = match (&self.policy, named) {
            (None, None) => Policy::default_settings(),
            (Some(file), None) => Policy::open(file)?,
            (None, Some(config)) => Policy::open(&config)?,
            (Some(_), Some(_)) => anyhow::bail!("--config and --policy cannot be used together"),
        };
        let answers = match &self.judge {
            TuneJudge::Builtin | TuneJudge::Speak => None,
            TuneJudge::Recorded(file) => Some(open_answers(file)?),
        };
        let recording = self.recording.open(source, base.config.language.own())?;
        let shown = "{wide_bar} {pos} of at most {len} replays, {eta}";
        let bar = progress_bar(shown, Some(max_replays() + 2));
        let split = DaySplit::new(&recording.channels).context("the input holds no messages")?;
        let outcome = self.tune(&recording.channels, &base, split, answers.as_ref(), &bar)?;
        bar.finish_and_clear();
        print(&if self.json { self.to_json(&outcome)? } else { self.describe(&outcome) })?;
        Ok(match outcome.advice {
            Ok(_) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(NO_ADVICE),
        })
    }

    fn tune(
        &self,
        channels: &[RecordedChannel],
        base: &Policy,
        split: DaySplit,
        answers: Option<&Arc<RecordedAnswers>>,
        bar: &ProgressBar,
    ) -> anyhow::Result<TuneOutcome> {
        let settings = self.settings();
        let DaySplit { begin, coarse, middle, end } = split;
        // The replay starts earlier than the check, so that the tempo of the channels is known when its days begin.
        let checked = within(channels, begin, end)?;
        let measure_checked = |policy: &Policy| -> anyhow::Result<BTreeMap<UtcDay, TuneFigures>> {
            let mut days = measure(&checked, policy, &settings, answers)?;
            bar.inc(1);
            days.retain(|day, _| *day >= middle);
            Ok(days)
        };
        let whole = within(channels, begin, middle - 1)?;
        let newest = within(channels, coarse, middle - 1)?;
        let mut measure_learned = |policy: &Policy, fidelity: Fidelity| {
            bar.inc(1);
            let channels = match fidelity {
                Fidelity::Coarse => &newest,
                Fidelity::Whole => &whole,
            };
            measure(channels, policy, &settings, answers)
        };
        let learned = TuneFigures::sum(measure_learned(base, Fidelity::Whole)?.values());
        let before = measure_checked(base)?;
        let refused =
            |tried, why| TuneOutcome { split: split.clone(), learned, tried, advice: Err(why) };
        if let Some(why) = lack(&learned, &TuneFigures::sum(before.values())) {
            return Ok(refused(0, format!("The history is too short to tell: {why}.")));
        }
        let lacking = || answers.and_then(|answers| lack_of_answers(answers.counts()));
        if let Some(why) = lacking() {
            return Ok(refused(0, why));
        }
        let is_coarse = |few: &TuneFigures| coarse > begin && few.questions >= MIN_COARSE_QUESTIONS;
        let first = match coarse > begin {
            true => TuneFigures::sum(measure_learned(base, Fidelity::Coarse)?.values()),
            false => learned,
        };
        let first = if is_coarse(&first) { Fidelity::Coarse } else { Fidelity::Whole };
        let found = search(base, self.goal.into(), first, &mut measure_learned)?;
        // Changed settings judge at other moments, so answers may be missing now.
        if let Some(why) = lacking() {
            return Ok(refused(found.tried, why));
        }
        if found.changed.is_empty() {
            let why = format!("None of {} other settings did better.", found.tried - 1);
            return Ok(refused(found.tried, why));
        }
        let after = measure_checked(&found.policy)?;
        let gain = Gain::new(&before, &after, self.goal.into(), self.seed);
        if !gain.is_certain() {
            let why = format!(
                "The data cannot tell: the settings that did better on the days learned from gained {:.3} on the {} \
                 days of the check, which may be chance (between {:.3} and {:.3} in nine of ten draws of these days).",
                gain.mean,
                before.len(),
                gain.low,
                gain.high
            );
            return Ok(refused(found.tried, why));
        }
        let (before, after) = (TuneFigures::sum(before.values()), TuneFigures::sum(after.values()));
        let advice =
            ConfirmedPolicy { policy: found.policy, changed: found.changed, before, after, gain };
        Ok(TuneOutcome { split, learned, tried: found.tried, advice: Ok(advice) })
    }

    fn settings(&self) -> ReplaySettings {
        let judge = match self.judge {
            TuneJudge::Builtin => ReplayJudge::Builtin,
            TuneJudge::Speak => ReplayJudge::Speak,
            TuneJudge::Recorded(_) => ReplayJudge::Model,
        };
        ReplaySettings { judge, latency_ms: self.latency, seed: self.seed }
    }

    /// The recommended part of a config, with the effects as comments.
    fn describe(&self, outcome: &TuneOutcome) -> String {
        let DaySplit { begin, middle, end, .. } = outcome.split;
        let goal =
            self.goal.to_possible_value().map_or(String::new(), |it| it.get_name().to_owned());
        let period = match outcome.tried {
            0 => format!("Nothing was learned from {} to {}.", date(begin), date(end)),
            tried => format!(
                "Learned from {} to {} ({} messages by people, {tried} settings tried),\n# checked from {} to {}.",
                date(begin),
                date(middle - 1),
                outcome.learned.messages,
                date(middle),
                date(end),
            ),
        };
        let judge = match self.judge {
            TuneJudge::Builtin => {
                "Judged by the built-in rules: a model would say yes at other moments."
            }
            TuneJudge::Speak => "Judged by a judge that always says yes.",
            TuneJudge::Recorded(_) => "Judged by recorded answers.",
        };
        let mut text = format!("# Goal: {goal}. {period}\n# {judge}\n");
        let ConfirmedPolicy { policy, changed, before, after, gain } = match &outcome.advice {
            Ok(advice) => advice,
            Err(why) => return format!("{text}# No change is recommended. {why}"),
        };
        let mut row = |name: &str, figure: &dyn Fn(&TuneFigures) -> Option<f64>| {
            text += &format!("# {name}: {} -> {}\n", number(figure(before)), number(figure(after)));
        };
        row("judge calls per 1000 messages", &TuneFigures::calls_per_1000);
        row("times it would have spoken a day", &TuneFigures::posts_a_day);
        row("share of unanswered questions it would have reached", &TuneFigures::reached_share);
        row("share of its posts into an active exchange", &TuneFigures::exchange_share);
        text += &format!(
            "# The gain is {:.3} (between {:.3} and {:.3} in nine of ten draws of the days).\n",
            gain.mean, gain.low, gain.high
        );
        text += &TunedSetting::section(changed, policy);
        text.trim_end().to_owned()
    }

    fn to_json(&self, outcome: &TuneOutcome) -> anyhow::Result<String> {
        let DaySplit { begin, middle, end, .. } = outcome.split;
        let figures = |figures: &TuneFigures| {
            json!({
                "sums": figures,
                "calls_per_1000": figures.calls_per_1000(),
                "posts_a_day": figures.posts_a_day(),
                "reached_share": figures.reached_share(),
                "exchange_share": figures.exchange_share(),
            })
        };
        let advice = outcome.advice.as_ref().ok().map(|advice| {
            json!({
                "patch": TunedSetting::section(&advice.changed, &advice.policy),
                "before": figures(&advice.before),
                "after": figures(&advice.after),
                "gain": advice.gain.mean,
                "gain_low": advice.gain.low,
                "gain_high": advice.gain.high,
                "confidence": advice.gain.confidence,
            })
        });
        let printed = json!({
            "goal": Goal::from(self.goal),
            "learned_from": date(begin),
            "checked_from": date(middle),
            "checked_to": date(end),
            "tried": outcome.tried,
            "advice": advice,
            "refused": outcome.advice.as_ref().err(),
        });
        Ok(serde_json::to_string_pretty(&printed)?)
    }
}

impl From<GoalArg> for Goal {
    fn from(goal: GoalArg) -> Self {
        match goal {
            GoalArg::Quiet => Goal::Quiet,
            GoalArg::Balanced => Goal::Balanced,
            GoalArg::Helpful => Goal::Helpful,
        }
    }
}

/// Explains why recorded answers are too few to tell which settings are better. `None` if they are enough.
fn lack_of_answers(counts: RecordedCounts) -> Option<String> {
    let RecordedCounts { answered, unknown } = counts;
    let judgments = answered + unknown;
    (unknown as f64 > MAX_UNKNOWN * judgments as f64).then(|| {
        format!(
            "The data cannot tell: the file has no answer to {unknown} of the {judgments} judgments that the settings \
             tried led to."
        )
    })
}

/// Formats a figure, or – if it is unknown.
fn number(figure: Option<f64>) -> String {
    figure.map_or("–".to_owned(), |figure| match figure {
        figure if figure >= 100.0 => format!("{figure:.0}"),
        figure => format!("{figure:.2}"),
    })
}

fn date(day: UtcDay) -> String {
    let at = Timestamp::from_second(day * 86_400).unwrap_or(Timestamp::UNIX_EPOCH);
    at.to_zoned(TimeZone::UTC).date().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_takes_no_judge_that_it_cannot_ask_often() {
        assert_eq!("speak".parse::<TuneJudge>(), Ok(TuneJudge::Speak));
        assert_eq!("a.jsonl".parse::<TuneJudge>(), Ok(TuneJudge::Recorded("a.jsonl".into())));
        let refused = |judge: &str| judge.parse::<TuneJudge>().unwrap_err();
        assert!(refused("model").contains("dozens of replays"));
        assert!(refused("silent").contains("never joins in"));
        assert!(refused("loud").starts_with("it must be"));
    }

    #[test]
    fn answers_that_lack_many_moments_cannot_tell() {
        let why = |answered, unknown| lack_of_answers(RecordedCounts { answered, unknown });
        assert_eq!((why(0, 0), why(95, 5)), (None, None));
        assert!(why(94, 6).is_some_and(|why| why.contains("no answer to 6 of the 100 judgments")));
    }
}
