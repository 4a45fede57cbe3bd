//! What a reader can do after the report: the lines of a config for each way to go on, how to stop it, and commands that can
//! be pasted.

use jiff::SignedDuration;
use jiff::tz::TimeZone;

use crate::report::code::{TextPart, parts};
use crate::report::config_block::{
    block_with_mode, channel_block, config_block, mode_block, needs_restart,
};
use crate::report::cost::DAYS_OF_MONTH;
use crate::report::figures::{PolicyFigures, Report, ReportSource};
use crate::report::months_view::trend_of;
use crate::report::quieter::{self, Cooldown};
use crate::report::replay_command::ReplayCommand;
use crate::report::settings::PolicySetting;
use crate::report::words;
use aizuchi_core::persona::Language;
use aizuchi_core::rules::Mode;
use aizuchi_core::texts::counted;
use aizuchi_core::texts::next_steps as step_texts;
use aizuchi_core::texts::report as texts;

/// To listen is worth as many weeks as show about this many posts …
const WORTH_LISTENING: f64 = 20.0;
/// … but nobody waits longer than this.
const MAX_WEEKS: f64 = 8.0;
const DAYS_OF_WEEK: f64 = 7.0;
/// What the last days of a history are that a model can be asked about alone.
const LAST_DAYS: i64 = 30;

pub struct NextSteps {
    pub begin: Vec<TextPart>,
    /// Where to write the lines of the settings.
    pub place: Vec<TextPart>,
    /// Settings to choose from.
    pub settings: Vec<NextStep>,
    /// What else there is to do.
    pub steps: Vec<NextStep>,
}

/// A way to go on, with what is to be copied for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextStep {
    pub begin: Vec<TextPart>,
    /// Lines of a config, or a command. May be empty.
    pub lines: String,
}

impl NextStep {
    fn new(begin: &str, lines: String) -> Self {
        Self { begin: parts(begin), lines }
    }
}

impl NextSteps {
    pub fn new(report: &Report, policy: &PolicyFigures, language: Language) -> Self {
        let steps = Steps { report, policy, language };
        let l = language;
        let begin = match report.source {
            ReportSource::Ledger => texts::next_begin_ledger(l),
            _ if steps.is_compared() => step_texts::begin_policies(l),
            ReportSource::Builtin => step_texts::begin_without_model(l),
            ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak | ReportSource::Model => {
                step_texts::begin_with_model(l)
            }
        };
        Self {
            begin: parts(begin),
            place: parts(step_texts::place(l)),
            settings: steps.settings(),
            steps: steps.others(),
        }
    }
}

struct Steps<'a> {
    report: &'a Report,
    policy: &'a PolicyFigures,
    language: Language,
}

impl Steps<'_> {
    fn is_compared(&self) -> bool {
        self.report.policies.len() > 1
    }

    fn is_ledger(&self) -> bool {
        self.report.source == ReportSource::Ledger
    }

    fn posts_text(&self, posts: usize) -> String {
        words::number_of(counted::posts, posts, self.language)
    }

    /// Where several policies are compared, a quieter one would be a policy that nobody measured.
    fn settings(&self) -> Vec<NextStep> {
        let quieter =
            || [self.cooldown(), self.quieter_channel()].into_iter().flatten().collect::<Vec<_>>();
        match (self.is_ledger(), self.is_compared()) {
            (true, _) => {
                let speak = self.speak().into_iter();
                speak.chain(self.mention_only()).chain(quieter()).collect()
            }
            (false, true) => {
                self.observe().into_iter().chain(self.mention_only()).chain(self.blocks()).collect()
            }
            (false, false) => {
                let begin = self.observe().into_iter().chain(self.mention_only());
                let speak = self.blocks().into_iter().chain(self.first_channel());
                begin.chain(speak).chain(quieter()).collect()
            }
        }
    }

    fn others(&self) -> Vec<NextStep> {
        let (l, persona) = (self.language, &*self.report.persona);
        let told = |text: &str| NextStep::new(text, String::new());
        let off = told(&step_texts::off(l, persona));
        let in_channel = told(&step_texts::in_channel(l, persona));
        let chat = [off, in_channel];
        match self.is_ledger() {
            true => chat.into_iter().chain([told(texts::next_why(l))]).collect(),
            false => chat.into_iter().chain(self.commands()).collect(),
        }
    }

    /// As long as it takes to see something. While it listens it writes no texts, so without a model the moments at which it
    /// would post nothing are on its report, too.
    fn observe(&self) -> Vec<NextStep> {
        let l = self.language;
        let days = self.report.period.days;
        let is_paced = days >= 1.0 && !self.report.source.is_scripted();
        let spoke = self.policy.spoke.filter(|spoke| is_paced && *spoke > 0);
        let per_week = |count: usize| count as f64 / days * DAYS_OF_WEEK;
        let weeks = spoke.map_or(1, |spoke| weeks_to_listen(per_week(spoke)));
        let shown = |count: usize| (per_week(count) * weeks as f64).round() as usize;
        let length = match weeks {
            1 => step_texts::one_week(l).to_owned(),
            _ => step_texts::many_weeks(l, &weeks.to_string()),
        };
        let begin = match (spoke, self.policy.posted_without_model) {
            (None, _) => step_texts::observe_unknown(l).to_owned(),
            (Some(spoke), None) => {
                let posts = self.posts_text(shown(spoke).max(1));
                step_texts::observe(l, &length, &posts, &words::one_decimal(per_week(spoke)))
            }
            (Some(spoke), Some(posted)) => {
                let moments = words::number_of(counted::moments, shown(spoke).max(1), l);
                // What the headline says of lately holds here, too.
                let lately = trend_of(self.policy).map(|trend| trend.newer / DAYS_OF_MONTH);
                let lately = lately.map(|day| (day * DAYS_OF_WEEK * weeks as f64).round() as usize);
                match lately.unwrap_or_else(|| shown(posted.spoke)) {
                    0 => step_texts::observe_no_posts(l, &length, &moments),
                    posts => {
                        step_texts::observe_moments(l, &length, &moments, &words::count(posts))
                    }
                }
            }
        };
        let command = format!("aizuchi report --last {weeks}w --html listened.html\n");
        vec![
            NextStep::new(&begin, mode_block(Mode::Observe)),
            NextStep::new(step_texts::observed(l), command),
        ]
    }

    /// `None` where it posts nothing unasked, so that nothing would change.
    fn mention_only(&self) -> Option<NextStep> {
        let l = self.language;
        let begin = match quieter::posts(self.policy) {
            Some(0) if !self.is_compared() => return None,
            Some(posts) if !self.is_compared() && !self.is_ledger() => {
                step_texts::mention_only_of(l, &self.posts_text(posts))
            }
            Some(_) | None => step_texts::mention_only(l).to_owned(),
        };
        Some(NextStep::new(&begin, mode_block(Mode::MentionOnly)))
    }

    fn cooldown(&self) -> Option<NextStep> {
        let l = self.language;
        // What only observes posts nothing that could follow too soon.
        let is_posting = self.policy.spoke.is_some_and(|spoke| spoke > self.policy.observed);
        let Cooldown { seconds, left, listed } =
            quieter::cooldown(self.policy).filter(|_| is_posting)?;
        let length = words::duration(seconds as f64, l);
        let listed = self.posts_text(listed);
        let begin = step_texts::cooldown(l, &length, &words::count(left), &listed);
        let lines = match self.policy.settings.as_deref() {
            Some(settings) => self.block(&quieter::with_cooldown(settings, seconds)),
            None => format!("response:\n  cooldown_seconds: {seconds}\n"),
        };
        Some(NextStep::new(&begin, lines))
    }

    /// `None` where nothing is known to be posted there, so that nothing would change.
    fn quieter_channel(&self) -> Option<NextStep> {
        let worst = self.policy.worst_channel()?;
        let (all, there) = (quieter::posts(self.policy)?, quieter::posts_in(worst));
        let left = all.checked_sub(there).filter(|_| there > 0)?;
        let (channel, left) = (words::channel(&worst.name), words::count(left));
        let all = self.posts_text(all);
        let begin = step_texts::quieter_channel(self.language, &channel, &left, &all);
        let settings = self.policy.settings.as_deref();
        let around = settings.map(|settings| self.block(settings)).unwrap_or_default();
        let lines = format!("{around}{}", channel_block(&channel, Mode::MentionOnly)?);
        Some(NextStep::new(&begin, lines))
    }

    fn first_channel(&self) -> Option<NextStep> {
        let first = quieter::first_channel(self.policy)?;
        let channel = words::channel(&first.name);
        let posts = words::count(quieter::posts_in(first));
        let all = self.posts_text(quieter::posts(self.policy)?);
        let begin = step_texts::first_channel(self.language, &channel, &posts, &all);
        let around = mode_block(Mode::MentionOnly);
        let lines = format!("{around}{}", channel_block(&channel, Mode::Companion)?);
        Some(NextStep::new(&begin, lines))
    }

    /// After listening: the channel in which it would have spoken most.
    fn speak(&self) -> Option<NextStep> {
        let most = self.policy.by_channel.iter().max_by_key(|one| one.spoke);
        let channel = words::channel(&most.filter(|_| self.policy.observed > 0)?.name);
        let begin = step_texts::speak(self.language, &channel);
        Some(NextStep::new(&begin, channel_block(&channel, Mode::Companion)?))
    }

    /// The lines of these settings. Without a model, they need their mode.
    fn block(&self, settings: &[PolicySetting]) -> String {
        match self.report.has_stand_in() {
            true => block_with_mode(settings, self.language),
            false => config_block(settings, self.language),
        }
    }

    /// A block for each policy on offer of which the settings are known. With a model, the only policy has no block if it is
    /// the default settings.
    fn blocks(&self) -> Vec<NextStep> {
        let offered = self.report.on_offer();
        let offered = offered.iter().filter_map(|place| self.report.policies.get(*place));
        offered.filter_map(|policy| self.block_of(policy)).collect()
    }

    fn block_of(&self, policy: &PolicyFigures) -> Option<NextStep> {
        let (l, name) = (self.language, &*policy.name);
        let settings = policy.settings.as_deref()?;
        let lines = self.block(settings);
        let needs_mode = self.report.has_stand_in() && lines.contains("  mode: companion\n");
        let begin = match (self.is_compared(), lines.is_empty()) {
            (false, true) => return None,
            (false, false) if needs_mode => step_texts::block_alone_without_model(l).to_owned(),
            (false, false) => step_texts::block(l).to_owned(),
            (true, true) => step_texts::block_of_default(l, name),
            (true, false) if needs_mode => step_texts::block_without_model(l, name),
            (true, false) => step_texts::block_of(l, name),
        };
        Some(NextStep::new(&self.with_restart(&begin, settings), lines))
    }

    /// That a reload does not do for these settings, if so.
    fn with_restart(&self, begin: &str, settings: &[PolicySetting]) -> String {
        match needs_restart(settings) {
            true => texts::two_sentences(self.language, step_texts::restart(self.language), begin),
            false => begin.to_owned(),
        }
    }

    /// The commands that go on from this history.
    fn commands(&self) -> Vec<NextStep> {
        let l = self.language;
        let unknown = ReplayCommand::unknown();
        let command = self.report.command.as_ref().unwrap_or(&unknown);
        let line = |command: String| format!("{command}\n");
        let tune = NextStep::new(step_texts::tune(l), line(command.tune()));
        let files = ["one.yaml", "other.yaml"];
        let compare = command.replay_policies(&files, &["--report", "compared.html"]);
        let compare = compare.filter(|_| !self.is_compared());
        let compare = compare.map(|command| NextStep::new(step_texts::compare(l), line(command)));
        let placeholders = command
            .has_placeholders()
            .then(|| NextStep::new(step_texts::placeholders(l), String::new()));
        let model = self.ask_model(command).into_iter();
        model.chain([tune]).chain(compare).chain(placeholders).collect()
    }

    /// How to ask a model, where none was asked, and what that costs with the first model whose cost is known.
    fn ask_model(&self, command: &ReplayCommand) -> Option<NextStep> {
        let l = self.language;
        match self.report.source {
            ReportSource::Model | ReportSource::Ledger => return None,
            ReportSource::Builtin | ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak => {}
        }
        let Some((model, costs)) = self.costs() else {
            let line = command.replay_with(&["--judge", "model", "--report", "model.html"]);
            return Some(NextStep::new(step_texts::ask_model_unpriced(l), format!("{line}\n")));
        };
        let most = format!("{:.0}", allowance(costs.iter().map(|cost| cost.total).sum()));
        let words = ["--judge", "model", "--max-cost", most.as_str(), "--report", "model.html"];
        let line = command.replay_with(&words);
        let asked = step_texts::ask_model(l, &most, model, &self.estimate(&costs));
        let begin = match self.last_month(command, &costs) {
            Some(month) => texts::two_sentences(l, &asked, &month),
            None => asked,
        };
        Some(NextStep::new(&begin, format!("{line}\n")))
    }

    /// What each policy costs with the first model whose cost is known.
    fn costs(&self) -> Option<(&str, Vec<Cost>)> {
        let policies = &self.report.policies;
        let (model, _) = policies.first().and_then(PolicyFigures::known_cost)?;
        let costs = policies.iter().map(|policy| {
            let cost = policy.costs.iter().find(|cost| cost.model == model)?;
            Some(Cost { total: cost.total?, per_month: cost.per_month? })
        });
        Some((model, costs.collect::<Option<Vec<Cost>>>()?))
    }

    /// What the replay would cost, with the costs of all policies of the page.
    fn estimate(&self, costs: &[Cost]) -> String {
        let (report, l) = (self.report, self.language);
        let period = words::period(report.period.days, l);
        let total = self.money(costs.iter().map(|cost| cost.total).sum());
        match (costs, report.policies.first()) {
            // To ask about the first one alone is to ask about both.
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

    /// That a long history need not be asked about whole.
    fn last_month(&self, command: &ReplayCommand, costs: &[Cost]) -> Option<String> {
        let period = self.report.period;
        let is_long = period.days > 1.5 * LAST_DAYS as f64 && !command.has_begin();
        let begin = period.to.filter(|_| is_long)? - SignedDuration::from_hours(24 * LAST_DAYS);
        let date = begin.to_zoned(TimeZone::UTC).date().to_string();
        let money = self.money(costs.iter().map(|cost| cost.per_month).sum());
        Some(step_texts::last_month(self.language, &money, &date))
    }

    fn money(&self, amount: f64) -> String {
        words::money(amount, &self.report.currency, self.language)
    }
}

/// What a policy costs with a model.
struct Cost {
    total: f64,
    per_month: f64,
}

fn weeks_to_listen(per_week: f64) -> i64 {
    (WORTH_LISTENING / per_week).ceil().clamp(1.0, MAX_WEEKS) as i64
}

/// What to allow: a third more than a rough estimate, as a number that a person would say.
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
    fn a_few_posts_a_week_are_worth_some_weeks() {
        for (per_week, weeks) in
            [(100.0, 1), (20.0, 1), (19.0, 2), (5.0, 4), (2.6, 8), (0.1, 8), (0.0, 8)]
        {
            assert_eq!(weeks_to_listen(per_week), weeks, "{per_week}");
        }
    }

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
}
