//! The next steps of a reader: lines to copy into the config, ways to stop the persona, and commands to run.

mod model;

use aizuchi_model::persona::Language;
use aizuchi_model::rules::Mode;
use aizuchi_model::texts::counted;
use aizuchi_model::texts::ledger::list_separator;
use aizuchi_model::texts::next_steps as step_texts;
use aizuchi_model::texts::report as texts;

use crate::report::code::{TextPart, parts};
use crate::report::config_block::{
    block_with_mode, channel_block, config_block, mode_block, needs_restart,
};
use crate::report::figures::{PolicyFigures, Report, ReportSource};
use crate::report::format;
use crate::report::quieter::{self, Cooldown, FirstReason};
use crate::report::replay_command::ReplayCommand;
use crate::report::settings::PolicySetting;

/// The number of posts to wait for in observe mode. The page computes the number of weeks from it.
const WORTH_LISTENING: f64 = 20.0;
/// The maximum number of weeks that the page proposes.
const MAX_WEEKS: f64 = 8.0;
const DAYS_OF_WEEK: f64 = 7.0;

pub struct NextSteps {
    pub begin: Vec<TextPart>,
    /// The file in which the settings belong.
    pub place: Vec<TextPart>,
    /// The settings to choose from.
    pub settings: Vec<NextStep>,
    /// Commands in the chat and on the command line.
    pub steps: Vec<NextStep>,
    /// How to set a model. `None` if a model was asked, or for the ledger.
    pub model: Option<NextStep>,
}

/// A step with the lines to copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextStep {
    pub begin: Vec<TextPart>,
    /// Lines for the config, or a command. May be empty.
    pub lines: String,
}

impl NextStep {
    fn new(begin: &str, lines: String) -> Self {
        Self { begin: parts(begin), lines }
    }
}

impl NextSteps {
    pub fn new(report: &Report, policy: &PolicyFigures, language: Language) -> Self {
        let steps = StepsBuilder { report, policy, language };
        let l = language;
        let begin = match report.source {
            ReportSource::Ledger => texts::next_begin_ledger(l).to_owned(),
            _ if steps.is_compared() => step_texts::begin_policies(l).to_owned(),
            ReportSource::Builtin => {
                let leave = match policy.posted_without_model {
                    Some(posted) if posted.spoke > 0 => step_texts::begin_with_posts(l),
                    Some(_) | None => step_texts::begin_without_model(l),
                };
                texts::two_sentences(l, leave, &steps.price_of_asking())
            }
            ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak | ReportSource::Model => {
                step_texts::begin_with_model(l).to_owned()
            }
        };
        Self {
            begin: parts(&begin),
            place: parts(step_texts::place(l)),
            settings: steps.settings(),
            steps: steps.others(),
            model: steps.set_model(),
        }
    }
}

struct StepsBuilder<'a> {
    report: &'a Report,
    policy: &'a PolicyFigures,
    language: Language,
}

impl StepsBuilder<'_> {
    fn is_compared(&self) -> bool {
        self.report.policies.len() > 1
    }

    fn is_ledger(&self) -> bool {
        self.report.source == ReportSource::Ledger
    }

    fn posts_text(&self, posts: usize) -> String {
        format::number_of(counted::posts, posts, self.language)
    }

    /// No quieter setting is proposed if several policies are compared, because a mixture of them was not measured.
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
        let modes = Mode::ALL.map(|mode| step_texts::mode(l, mode.name(), what_it_does(mode, l)));
        let in_channel = told(&step_texts::in_channel(l, persona, &modes.join(list_separator(l))));
        let chat = [off, in_channel];
        match self.is_ledger() {
            true => chat.into_iter().chain([told(texts::next_why(l))]).collect(),
            false => chat.into_iter().chain(self.commands()).collect(),
        }
    }

    /// Proposes to observe for long enough to get some moments. Observe mode writes no texts, so its report cannot tell
    /// moments without a post from the others.
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
                step_texts::observe(l, &length, &posts, &format::one_decimal(per_week(spoke)))
            }
            (Some(spoke), Some(posted)) => {
                let moments = format::number_of(counted::moments, shown(spoke).max(1), l);
                match shown(posted.spoke) {
                    0 => step_texts::observe_no_posts(l, &length, &moments),
                    posts => {
                        step_texts::observe_moments(l, &length, &moments, &format::count(posts))
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

    /// Returns `None` if there are no unasked posts, because nothing would change.
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
        // A cooldown changes nothing where it only observes.
        let is_posting = self.policy.spoke.is_some_and(|spoke| spoke > self.policy.observed);
        let Cooldown { seconds, left, listed } =
            quieter::cooldown(self.policy).filter(|_| is_posting)?;
        let length = format::duration(seconds as f64, l);
        let listed = self.posts_text(listed);
        let begin = step_texts::cooldown(l, &length, &format::count(left), &listed);
        let lines = match self.policy.settings.as_deref() {
            Some(settings) => self.block(&quieter::with_cooldown(settings, seconds)),
            None => format!("response:\n  cooldown_seconds: {seconds}\n"),
        };
        Some(NextStep::new(&begin, lines))
    }

    /// Returns `None` if there are no posts in that channel, because nothing would change.
    fn quieter_channel(&self) -> Option<NextStep> {
        let worst = self.policy.worst_channel()?;
        let (all, there) = (quieter::posts(self.policy)?, quieter::posts_in(worst));
        let left = all.checked_sub(there).filter(|_| there > 0)?;
        let (channel, left) = (format::channel(&worst.name), format::count(left));
        let all = self.posts_text(all);
        let begin = step_texts::quieter_channel(self.language, &channel, &left, &all);
        let settings = self.policy.settings.as_deref();
        let around = settings.map(|settings| self.block(settings)).unwrap_or_default();
        let lines = format!("{around}{}", channel_block(&channel, Mode::MentionOnly)?);
        Some(NextStep::new(&begin, lines))
    }

    fn first_channel(&self) -> Option<NextStep> {
        let l = self.language;
        let first = quieter::first_channel(self.policy)?;
        let channel = format::channel(&first.channel.name);
        let count = quieter::posts_in(first.channel);
        let begin = match first.reason {
            FirstReason::FewestInterruptions => {
                let wrong = format::part(quieter::wrong_in(first.channel), count, l);
                let all = self.posts_text(quieter::posts(self.policy)?);
                step_texts::calmest_channel(l, &channel, &format::count(count), &all, &wrong)
            }
            FirstReason::Example => step_texts::known_channel(l, &channel),
        };
        let around = mode_block(Mode::MentionOnly);
        let lines = format!("{around}{}", channel_block(&channel, Mode::Companion)?);
        Some(NextStep::new(&begin, lines))
    }

    /// After observing, proposes the channel in which the persona would have spoken most.
    fn speak(&self) -> Option<NextStep> {
        let most = self.policy.by_channel.iter().max_by_key(|one| one.spoke);
        let channel = format::channel(&most.filter(|_| self.policy.observed > 0)?.name);
        let begin = step_texts::speak(self.language, &channel);
        Some(NextStep::new(&begin, channel_block(&channel, Mode::Companion)?))
    }

    /// Formats settings for the config, including the mode, because its default is different without a model.
    fn block(&self, settings: &[PolicySetting]) -> String {
        match self.report.has_stand_in() {
            true => block_with_mode(settings, self.language),
            false => config_block(settings, self.language),
        }
    }

    /// Returns the lines of each offered policy whose settings are known. With a model, a lone policy with the default
    /// settings needs none.
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

    /// Adds a note that the settings need a restart, if any of them does.
    fn with_restart(&self, begin: &str, settings: &[PolicySetting]) -> String {
        match needs_restart(settings) {
            true => texts::two_sentences(self.language, step_texts::restart(self.language), begin),
            false => begin.to_owned(),
        }
    }

    /// Proposes commands that use the same history again.
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
}

fn what_it_does(mode: Mode, language: Language) -> &'static str {
    match mode {
        Mode::Companion => step_texts::mode_companion(language),
        Mode::Facilitator => step_texts::mode_facilitator(language),
        Mode::MentionOnly => step_texts::mode_mention_only(language),
        Mode::Propose => step_texts::mode_propose(language),
        Mode::Observe => step_texts::mode_observe(language),
        Mode::Off => step_texts::mode_off(language),
    }
}

fn weeks_to_listen(per_week: f64) -> i64 {
    (WORTH_LISTENING / per_week).ceil().clamp(1.0, MAX_WEEKS) as i64
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
}
