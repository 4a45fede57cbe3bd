//! The figures of a report, which are also its JSON.

use jiff::Timestamp;
use jiff::civil::Date;
use serde::Serialize;

use crate::replay::moments::Reason;
use crate::report::called::CalledFigures;
use crate::report::comparison::Comparison;
use crate::report::delays::{AnswerDelays, Timing};
use crate::report::interruptions::worst_place;
use crate::report::months::MonthFigures;
use crate::report::posts::PostList;
use crate::report::replay_command::ReplayCommand;
use crate::report::settings::PolicySetting;
use crate::report::story::Story;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub source: ReportSource,
    pub persona: String,
    pub period: Period,
    /// The time zone of the hours and dates.
    pub zone: String,
    pub channels: usize,
    pub people: usize,
    /// Messages by people.
    pub messages: usize,
    /// How many of these are in threads. If none are, the persona could not have posted in one either.
    pub messages_in_threads: usize,
    pub policies: Vec<PolicyFigures>,
    pub differences: Option<Differences>,
    /// Which policy is ahead by which measure. `None` unless policies are compared.
    pub comparison: Option<Comparison>,
    pub left_out: LeftOut,
    pub is_anonymous: bool,
    /// The currency of the costs.
    pub currency: String,
    /// The date of the list prices.
    pub prices_of: &'static str,
    /// The assumed median of a model call, in a replay.
    pub latency_ms: Option<u64>,
    /// The command that made the report, from which the page builds further commands. It contains paths, so only the
    /// owner's page shows it, and the JSON does not.
    #[serde(skip)]
    pub command: Option<ReplayCommand>,
    /// Whether the config of the first policy names a model. If so, the page does not explain how to set one.
    #[serde(skip)]
    pub names_model: bool,
}

/// Where the decisions come from, and who judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportSource {
    /// A replay with the built-in mind as the judge.
    Builtin,
    /// A replay with a judge that never wants to speak.
    AlwaysSilent,
    /// A replay with a judge that always wants to speak.
    AlwaysSpeak,
    /// A replay with a model.
    Model,
    /// The decisions of the installation itself.
    Ledger,
}

impl ReportSource {
    /// Whether the judge gives the same answer to everything, so that its texts say nothing.
    pub fn is_scripted(self) -> bool {
        match self {
            ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak => true,
            ReportSource::Builtin | ReportSource::Model | ReportSource::Ledger => false,
        }
    }

    /// Whether the replies are the mind's own. In a replay, a model only judges.
    pub fn writes_replies(self) -> bool {
        match self {
            ReportSource::Builtin | ReportSource::Ledger => true,
            ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak | ReportSource::Model => false,
        }
    }

    /// Returns a reason, unless a scripted judge gave it.
    pub fn shown_reason(self, reason: &Reason) -> Option<Reason> {
        let is_told = match reason {
            Reason::Gate(_) => true,
            Reason::Written(text) => !(text.is_empty() || self.is_scripted() && text == "scripted"),
        };
        is_told.then(|| reason.clone())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Period {
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    pub days: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyFigures {
    pub name: String,
    /// The policies that turn off default limits, and that this policy repeats with these limits. They are several if
    /// they differ in nothing but limits.
    pub with_default_limits_of: Vec<String>,
    /// The settings of the policy. `None` for the ledger, because settings may have changed during its period.
    pub settings: Option<Vec<PolicySetting>>,
    /// Unasked posts. `None` if the judge of the replay never says yes, or never gave an answer.
    pub spoke: Option<usize>,
    /// The number of decisions for which the judge's answer is unknown.
    pub unknown_verdicts: usize,
    /// The part of `spoke` that was not posted because of observe mode.
    pub observed: usize,
    /// Posts per day. `None` if the period is shorter than a day.
    pub per_day: Option<f64>,
    /// The number of posts on the day with the most. `None` if the period is shorter than a day.
    pub busiest_day: Option<usize>,
    /// The day with the most posts; of several, the first.
    pub busiest_date: Option<Date>,
    /// Posts that would probably have interrupted.
    pub wrong: Option<usize>,
    /// Posts after which the asker, who had also written the last message, went on within a minute. They do not count
    /// as interruptions.
    pub asker_went_on: Option<usize>,
    /// Posts of the built-in mind that only say that it does not know, or repeat the question to everyone. `None` for
    /// other minds.
    pub only_asked_again: Option<usize>,
    /// The part of the figures that is posted without a model. `None` for other minds than the built-in one.
    pub posted_without_model: Option<PostedFigures>,
    /// Unasked posts in threads. The others are at the top level of a channel.
    pub in_threads: Option<usize>,
    /// Answers to messages that addressed the persona, as far as it could tell.
    pub answered_mentions: usize,
    /// How these messages addressed the persona.
    pub called: CalledFigures,
    pub reacted: usize,
    pub by_channel: Vec<ChannelFigures>,
    pub by_hour: Vec<HourFigures>,
    /// By calendar month, without months in which nobody wrote.
    pub by_month: Vec<MonthFigures>,
    pub first_answers: FirstAnswers,
    pub unanswered: Option<Unanswered>,
    pub timing: Option<Timing>,
    pub calls: CallFigures,
    pub costs: Vec<ModelCost>,
    /// What the models cost according to the ledger. In a replay with a model, the cost of the judge's answers,
    /// including cached ones.
    pub spent: Option<ActualCost>,
    pub moments: MomentCounts,
    pub stories: Vec<Story>,
    /// Some of its answers to calls.
    pub answers_to_calls: Vec<Story>,
    /// Some of its reactions.
    pub reactions: Vec<Story>,
    /// The unasked posts, one by one. `None` if they are unknown, or if the judge gives the same answer to everything.
    pub posts: Option<PostList>,
}

/// The posts without a model. In a replay, the built-in mind judges in place of a model; in operation, it posts only
/// what may help. Each figure is a part of the policy's figure with the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PostedFigures {
    pub spoke: usize,
    /// Posts per month of 30.4 days. `None` if the period is shorter than a day.
    pub per_month: Option<f64>,
    /// The number of posts on the day with the most, and that day. `None` if the period is shorter than a day.
    pub busiest_day: Option<usize>,
    pub busiest_date: Option<Date>,
    pub wrong: usize,
    /// Interruptions if a message of another person counted within three minutes instead of one.
    pub wrong_within_3_minutes: usize,
    pub asker_went_on: usize,
    pub in_threads: usize,
    /// The delays between messages and the posts that answer them.
    pub answer_delays: AnswerDelays,
    /// Posts at questions that no person answered.
    pub picked_up: usize,
    pub it_first: usize,
    pub it_first_undisturbed: usize,
    pub person_first: usize,
    pub nobody_else: usize,
}

/// The posts without a model in a channel or in an hour of the day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PlacePosts {
    pub spoke: usize,
    pub wrong: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChannelFigures {
    pub name: String,
    pub messages: usize,
    pub spoke: usize,
    pub wrong: usize,
    /// Interruptions per hundred posts. `None` if there are too few posts for a rate.
    pub wrong_per_100: Option<f64>,
    /// `None` for other minds than the built-in one.
    pub posted_without_model: Option<PlacePosts>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HourFigures {
    pub messages: usize,
    pub spoke: usize,
    pub wrong: usize,
    /// Interruptions per hundred posts. `None` if there are too few posts for a rate.
    pub wrong_per_100: Option<f64>,
    /// `None` for other minds than the built-in one.
    pub posted_without_model: Option<PlacePosts>,
}

/// Who answered first the messages that the persona took up. Medians are in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FirstAnswers {
    pub taken_up: usize,
    pub it_first: usize,
    /// How many of these would not have interrupted. An early answer that interrupts is no advantage.
    pub it_first_undisturbed: usize,
    pub its_lead: Option<f64>,
    pub person_first: usize,
    pub persons_lead: Option<f64>,
    pub nobody_else: usize,
    /// Whether the recording says which message answers which. If not, answers are guessed, …
    pub is_annotated: bool,
    /// … except where a message itself says what it answers, as the replies of some platforms do.
    pub has_replies: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unanswered {
    pub questions: usize,
    pub picked_up: usize,
    pub missed: usize,
    /// Whether the recording annotates unanswered questions. Otherwise a question is unanswered if nobody else wrote.
    pub is_annotated: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CallFigures {
    pub judge_calls: u64,
    /// How many of the calls judged a decision again; unknown for the ledger.
    pub second_looks: Option<u64>,
    pub judge_tokens: u64,
    pub reply_calls: u64,
    pub reply_tokens: u64,
    pub judge_calls_per_day: Option<f64>,
    /// The share, from 0 to 1, of the judged decisions that fall into the last 30 days. `None` if nothing was judged.
    pub last_days_share: Option<f64>,
}

/// The cost with a model; `None` where it cannot be known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelCost {
    pub model: String,
    /// In the period.
    pub total: Option<f64>,
    /// The cost per month of 30.4 days. `None` if the period is shorter than a day.
    pub per_month: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ActualCost {
    pub total: f64,
    pub per_month: Option<f64>,
}

/// The moments that the stories are chosen from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MomentCounts {
    pub wrong: usize,
    pub spoke: usize,
    pub silent: usize,
    /// Decisions to stay silent because nobody had asked anything. No story tells of them.
    pub no_question: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Differences {
    /// Messages that one policy takes up and another does not.
    pub messages: usize,
    /// The same messages, grouped by the policies that take them up.
    pub sides: Vec<DifferenceSide>,
    pub shown: Vec<Difference>,
}

/// Messages that some policies take up and the others do not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DifferenceSide {
    /// The policies that take them up, by their index in the report, from 0.
    pub policies: Vec<usize>,
    pub messages: usize,
}

/// A message that one policy takes up and another does not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    pub story: Story,
    /// The policies that take it up, by index.
    pub taken_up_by: Vec<usize>,
    pub policies: Vec<PolicyOnMessage>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyOnMessage {
    pub policy: String,
    /// How long after the message it would have spoken, in seconds.
    pub spoke_after: Option<f64>,
    /// Why it stayed silent; `None` if it did not decide to stay silent in that conversation.
    pub silent: Option<Reason>,
    /// How long after the message it decided to stay silent, in seconds.
    pub looked_after: Option<f64>,
}

/// What the figures leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    pub bad_records: usize,
    /// `None` if the input does not say which channels are private.
    pub private_channels: Option<usize>,
    pub privacy: Privacy,
    /// Records that could be read and were left out. `None` for the ledger, for which they are not counted.
    pub records: Option<LeftOutRecords>,
}

/// Whether the figures include messages that not everybody in the workspace can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Privacy {
    /// Private channels are left out.
    LeftOut,
    /// Channels that the input calls private are left out. There may be other private channels.
    LeftOutWhereTold,
    Included,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOutRecords {
    /// Messages of a public channel from a time when it was private.
    pub private_messages: usize,
    pub outside_range: usize,
    /// Joins, topic changes, calls and similar notices, and messages without text.
    pub notices: usize,
    pub deleted: usize,
    pub expired: usize,
    /// Commands, and messages of users who have opted out.
    pub withheld: usize,
}

impl PostedFigures {
    pub fn add(&mut self, other: Self) {
        self.spoke += other.spoke;
        self.wrong += other.wrong;
        self.wrong_within_3_minutes += other.wrong_within_3_minutes;
        self.asker_went_on += other.asker_went_on;
        self.in_threads += other.in_threads;
        self.answer_delays.merge(other.answer_delays);
        self.picked_up += other.picked_up;
        self.it_first += other.it_first;
        self.it_first_undisturbed += other.it_first_undisturbed;
        self.person_first += other.person_first;
        self.nobody_else += other.nobody_else;
    }

    /// Returns the counter for a post at this time whose message got its first answer by another person at `answer`.
    pub fn first(&mut self, at: Timestamp, answer: Option<Timestamp>) -> &mut usize {
        match answer {
            None => &mut self.nobody_else,
            Some(answer) if answer > at => &mut self.it_first,
            Some(_) => &mut self.person_first,
        }
    }
}

impl PlacePosts {
    /// Counts one post, if it is posted without a model.
    pub fn from_post(is_posted: bool, is_wrong: bool) -> Self {
        Self { spoke: usize::from(is_posted), wrong: usize::from(is_posted && is_wrong) }
    }

    /// Returns the sum, if both are known.
    pub fn sum(own: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (own, other) = own.zip(other)?;
        Some(Self { spoke: own.spoke + other.spoke, wrong: own.wrong + other.wrong })
    }
}

impl Report {
    /// Returns the indexes of the offered policies. A policy that turns off default limits is replaced by the same
    /// policy with these limits, which is the one to take.
    pub fn on_offer(&self) -> Vec<usize> {
        on_offer(&self.policies)
    }

    /// Returns the policy that repeats this one with the default limits.
    pub fn with_default_limits(&self, policy: &PolicyFigures) -> Option<&PolicyFigures> {
        with_default_limits(&self.policies, policy)
    }

    /// Whether the built-in rules replaced a model in this report, so that its moments are those at which a model would
    /// decide.
    pub fn has_stand_in(&self) -> bool {
        self.source == ReportSource::Builtin
    }
}

/// Returns the indexes of the offered policies.
pub fn on_offer(policies: &[PolicyFigures]) -> Vec<usize> {
    let is_offered = |place: &usize| with_default_limits(policies, &policies[*place]).is_none();
    (0..policies.len()).filter(is_offered).collect()
}

fn with_default_limits<'a>(
    policies: &'a [PolicyFigures],
    policy: &PolicyFigures,
) -> Option<&'a PolicyFigures> {
    let is_it = |one: &&PolicyFigures| one.with_default_limits_of.contains(&policy.name);
    policies.iter().find(is_it)
}

impl PolicyFigures {
    /// Whether all settings are known and have their defaults.
    pub fn has_default_settings(&self) -> bool {
        self.settings.as_ref().is_some_and(|all| all.iter().all(PolicySetting::is_default))
    }

    /// Whether calls were made and none used a token, as those of the built-in mind in the ledger.
    pub fn used_no_tokens(&self) -> bool {
        let calls = self.calls;
        calls.judge_calls + calls.reply_calls > 0 && calls.judge_tokens + calls.reply_tokens == 0
    }

    /// Returns the channel with significantly the most interruptions, if there is one.
    pub fn worst_channel(&self) -> Option<&ChannelFigures> {
        let places = self.by_channel.iter().map(|one| (one.spoke, one.wrong));
        self.by_channel.get(worst_place(&places.collect::<Vec<_>>())?)
    }

    /// Returns the hour of the day with significantly the most interruptions, if there is one.
    pub fn worst_hour(&self) -> Option<(usize, &HourFigures)> {
        let places = self.by_hour.iter().map(|one| (one.spoke, one.wrong));
        let hour = worst_place(&places.collect::<Vec<_>>())?;
        self.by_hour.get(hour).map(|figures| (hour, figures))
    }

    /// The first model with a known cost.
    pub fn known_cost(&self) -> Option<(&str, f64)> {
        self.costs.iter().find_map(|cost| Some((&*cost.model, cost.per_month?)))
    }
}
