//! The figures of a report. They are also its JSON.

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
    /// The time zone of hours and dates.
    pub zone: String,
    pub channels: usize,
    pub people: usize,
    /// Messages by people.
    pub messages: usize,
    /// How many of these stand in threads. With none, nothing could be posted in one either.
    pub messages_in_threads: usize,
    pub policies: Vec<PolicyFigures>,
    pub differences: Option<Differences>,
    /// Which policy is ahead in what. `None` unless policies are compared.
    pub comparison: Option<Comparison>,
    pub left_out: LeftOut,
    pub is_anonymous: bool,
    /// What costs are in.
    pub currency: String,
    /// The date of the list prices.
    pub prices_of: &'static str,
    /// The assumed median of a model call, in a replay.
    pub latency_ms: Option<u64>,
    /// The command that made it, for a reader who wants to go on from there. It tells where files lie, so it is on the page of
    /// their owner and in no JSON.
    #[serde(skip)]
    pub command: Option<ReplayCommand>,
    /// Whether the config of the first policy names a model. Its owner needs not be told how to set one.
    #[serde(skip)]
    pub names_model: bool,
}

/// Where the decisions come from, and who judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportSource {
    /// A replay with the built-in mind.
    Builtin,
    /// A replay with a judge that never wants to speak.
    AlwaysSilent,
    /// A replay with a judge that always wants to speak.
    AlwaysSpeak,
    /// A replay with a model.
    Model,
    /// What the installation decided itself.
    Ledger,
}

impl ReportSource {
    /// Whether the judge says the same to everything, so that its words mean nothing.
    pub fn is_scripted(self) -> bool {
        match self {
            ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak => true,
            ReportSource::Builtin | ReportSource::Model | ReportSource::Ledger => false,
        }
    }

    /// Whether its replies are its own. A model only judges in a replay.
    pub fn writes_replies(self) -> bool {
        match self {
            ReportSource::Builtin | ReportSource::Ledger => true,
            ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak | ReportSource::Model => false,
        }
    }

    /// A reason, unless it is that of a scripted judge.
    pub fn told_reason(self, reason: &Reason) -> Option<Reason> {
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
    /// The policies that turn off limits of the defaults, which this one has again. There may be
    /// several, where the limits are all that they differ in.
    pub with_default_limits_of: Vec<String>,
    /// What the policy is. `None` for the ledger, whose settings may have changed meanwhile.
    pub settings: Option<Vec<PolicySetting>>,
    /// Posts unasked. `None` if the judge of the replay never says yes, or never said anything.
    pub spoke: Option<usize>,
    /// How often it is not known what the judge would have said.
    pub unknown_verdicts: usize,
    /// Of these, those that it would have made where it only observes.
    pub observed: usize,
    /// `None` if the period is shorter than a day.
    pub per_day: Option<f64>,
    /// How many there were on the day with the most. `None` if the period is shorter than a day.
    pub busiest_day: Option<usize>,
    /// Which day that was; the first of several.
    pub busiest_date: Option<Date>,
    /// Posts that would probably have disturbed.
    pub wrong: Option<usize>,
    /// Posts after which the asker, who had written last, went on within a minute. They are not among those that would
    /// probably have disturbed.
    pub asker_went_on: Option<usize>,
    /// Posts of the built-in mind that only say that it does not know, or ask everyone again. `None` for other minds.
    pub only_asked_again: Option<usize>,
    /// What of the figures is posted where no model judges. `None` for other minds than the built-in one.
    pub posted_without_model: Option<PostedFigures>,
    /// Posts unasked that stand in a thread. The others stand in the channel itself.
    pub in_threads: Option<usize>,
    /// Answers to what it took for calls.
    pub answered_mentions: usize,
    /// What these calls were.
    pub called: CalledFigures,
    pub reacted: usize,
    pub by_channel: Vec<ChannelFigures>,
    pub by_hour: Vec<HourFigures>,
    /// By month of the calendar, without those in which nothing was written.
    pub by_month: Vec<MonthFigures>,
    pub first_answers: FirstAnswers,
    pub unanswered: Option<Unanswered>,
    pub timing: Option<Timing>,
    pub calls: CallFigures,
    pub costs: Vec<ModelCost>,
    /// What the models really cost, as the ledger has it. In a replay with a model, what the answers of the judge cost, those
    /// that were kept included.
    pub spent: Option<Spent>,
    pub moments: MomentCounts,
    pub stories: Vec<Story>,
    /// Some of its answers to calls.
    pub answers_to_calls: Vec<Story>,
    /// Some of its reactions.
    pub reactions: Vec<Story>,
    /// What it posted or would post unasked, one by one. `None` if that is not known, or if the judge always says the same.
    pub posts: Option<PostList>,
}

/// What is posted without a model: in a replay the built-in mind stands in for one, and where it has nothing to say
/// that helps, it posts nothing live. Each is a part of the figure of a policy with the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PostedFigures {
    pub spoke: usize,
    /// In a month of 30.4 days at the same pace. `None` if the period is shorter than a day.
    pub per_month: Option<f64>,
    /// How many there were on the day with the most, and which day that was. `None` if the period is shorter than a day.
    pub busiest_day: Option<usize>,
    pub busiest_date: Option<Date>,
    pub wrong: usize,
    /// The same if a message of another person counted within three minutes instead of one.
    pub wrong_within_3_minutes: usize,
    pub asker_went_on: usize,
    pub in_threads: usize,
    /// How long they come after the messages that they answer.
    pub answer_delays: AnswerDelays,
    /// Questions that nobody answered.
    pub picked_up: usize,
    pub it_first: usize,
    pub it_first_undisturbed: usize,
    pub person_first: usize,
    pub nobody_else: usize,
}

/// What of the figures of a channel or an hour is posted where no model judges.
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
    /// Interruptions in a hundred posts. `None` where there are too few posts to tell.
    pub wrong_per_100: Option<f64>,
    /// `None` for other minds than the built-in one.
    pub posted_without_model: Option<PlacePosts>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HourFigures {
    pub messages: usize,
    pub spoke: usize,
    pub wrong: usize,
    /// Interruptions in a hundred posts. `None` where there are too few posts to tell.
    pub wrong_per_100: Option<f64>,
    /// `None` for other minds than the built-in one.
    pub posted_without_model: Option<PlacePosts>,
}

/// Who answered first what it took up. Medians are in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FirstAnswers {
    pub taken_up: usize,
    pub it_first: usize,
    /// How many of these would not have disturbed: to be early is no gain where it interrupts.
    pub it_first_undisturbed: usize,
    pub its_lead: Option<f64>,
    pub person_first: usize,
    pub persons_lead: Option<f64>,
    pub nobody_else: usize,
    /// Whether the recording says which message answers which. Otherwise answers are guessed …
    pub is_annotated: bool,
    /// … except where a message says itself what it answers, as the replies of some platforms do.
    pub has_replies: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unanswered {
    pub questions: usize,
    pub picked_up: usize,
    pub missed: usize,
    /// Whether the recording says so; otherwise nobody else wrote at all.
    pub is_annotated: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CallFigures {
    pub judge_calls: u64,
    /// How many of them were about a decision that had been judged before; unknown in a ledger.
    pub second_looks: Option<u64>,
    pub judge_tokens: u64,
    pub reply_calls: u64,
    pub reply_tokens: u64,
    pub judge_calls_per_day: Option<f64>,
    /// The share, from 0 to 1, of the judged decisions that fall into the last 30 days. `None` if nothing was judged.
    pub last_days_share: Option<f64>,
}

/// What a model would cost; `None` if that cannot be known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelCost {
    pub model: String,
    /// In the period.
    pub total: Option<f64>,
    /// In a month of 30.4 days at the same pace. `None` if the period is shorter than a day.
    pub per_month: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spent {
    pub total: f64,
    pub per_month: Option<f64>,
}

/// The moments that the stories are chosen from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MomentCounts {
    pub wrong: usize,
    pub spoke: usize,
    pub silent: usize,
    /// Checks that ended in silence because nobody had asked anything. No story is made of them.
    pub no_question: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Differences {
    /// Messages that one policy takes up and another does not.
    pub messages: usize,
    /// The same by who takes them up.
    pub sides: Vec<DifferenceSide>,
    pub shown: Vec<Difference>,
}

/// Messages that some policies take up and the others do not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DifferenceSide {
    /// Those that take them up, by their place among the policies of the report, from 0.
    pub policies: Vec<usize>,
    pub messages: usize,
}

/// A message that one policy takes up and another does not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    pub story: Story,
    /// Who takes it up, by place.
    pub taken_up_by: Vec<usize>,
    pub policies: Vec<PolicyOnMessage>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyOnMessage {
    pub policy: String,
    /// How long after the message it would have spoken, in seconds.
    pub spoke_after: Option<f64>,
    /// Why it stayed silent; `None` if it did not decide on silence there.
    pub silent: Option<Reason>,
    /// How long after the message it looked and stayed silent, in seconds.
    pub looked_after: Option<f64>,
}

/// What is not in the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    pub bad_records: usize,
    /// `None` if the input does not say which channels are private.
    pub private_channels: Option<usize>,
    pub privacy: Privacy,
    /// What could be read. `None` for the ledger, where it is not counted.
    pub records: Option<LeftOutRecords>,
}

/// Whether the figures hold what not everybody in the workspace can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Privacy {
    /// Private channels are left out.
    LeftOut,
    /// Those are left out of which the input says that they are private. There may be others.
    LeftOutWhereTold,
    Included,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOutRecords {
    /// Messages of a public channel from when it was private.
    pub private_messages: usize,
    pub outside_range: usize,
    /// Joins, topics, calls and the like, and what has no text.
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

    /// The count of those whose first answer by another person came like this one.
    pub fn first(&mut self, at: Timestamp, answer: Option<Timestamp>) -> &mut usize {
        match answer {
            None => &mut self.nobody_else,
            Some(answer) if answer > at => &mut self.it_first,
            Some(_) => &mut self.person_first,
        }
    }
}

impl PlacePosts {
    /// What one post adds, if it is one.
    pub fn of_one(is_posted: bool, is_wrong: bool) -> Self {
        Self { spoke: usize::from(is_posted), wrong: usize::from(is_posted && is_wrong) }
    }

    /// The sum, where both are known.
    pub fn sum(own: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (own, other) = own.zip(other)?;
        Some(Self { spoke: own.spoke + other.spoke, wrong: own.wrong + other.wrong })
    }
}

impl Report {
    /// The policies that a reader can take, by place: those that turn off limits of the defaults are measured with them,
    /// too, and that is what is on offer.
    pub fn on_offer(&self) -> Vec<usize> {
        on_offer(&self.policies)
    }

    /// The policy that has the limits which this one turns off.
    pub fn with_default_limits(&self, policy: &PolicyFigures) -> Option<&PolicyFigures> {
        with_default_limits(&self.policies, policy)
    }

    /// Whether the policies have moments at which a model would decide, and the built-in rules stand in for it.
    pub fn has_stand_in(&self) -> bool {
        self.source == ReportSource::Builtin
    }
}

/// The policies that a reader can take, by place.
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
    /// Whether it is known to change nothing of the defaults.
    pub fn has_default_settings(&self) -> bool {
        self.settings.as_ref().is_some_and(|all| all.iter().all(PolicySetting::is_default))
    }

    /// Whether calls were made and none used a token: the built-in mind's, in the ledger.
    pub fn used_no_tokens(&self) -> bool {
        let calls = self.calls;
        calls.judge_calls + calls.reply_calls > 0 && calls.judge_tokens + calls.reply_tokens == 0
    }

    /// The channel with clearly the most interruptions, if there is one.
    pub fn worst_channel(&self) -> Option<&ChannelFigures> {
        let places = self.by_channel.iter().map(|one| (one.spoke, one.wrong));
        self.by_channel.get(worst_place(&places.collect::<Vec<_>>())?)
    }

    /// The hour of the day with clearly the most interruptions, if there is one.
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
