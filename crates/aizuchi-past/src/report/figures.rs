//! The figures of a report, which are also its JSON.

use jiff::Timestamp;
use serde::Serialize;

use crate::report::moment::ReportMoment;

/// A month as it is billed on average.
pub const DAYS_OF_MONTH: f64 = 30.4;

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
    /// The page shows the first one. Of the others, only the table tells.
    pub policies: Vec<PolicyFigures>,
    pub left_out: LeftOut,
    pub is_anonymous: bool,
    /// The currency of the prices.
    pub currency: String,
    /// The date of the list prices.
    pub prices_of: &'static str,
    /// Who judged in a replay.
    pub judged_by: Option<JudgedBy>,
    /// The assumed median of a model call, in a replay.
    pub latency_ms: Option<u64>,
    /// Whether the config names a model. If not, the lines to copy name one.
    #[serde(skip)]
    pub names_model: bool,
}

/// Where the decisions come from, and who judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportSource {
    /// A replay with the built-in mind as the judge. It stands in for a model, so its verdicts tell nothing.
    Builtin,
    /// A replay with a judge that never wants to speak.
    AlwaysSilent,
    /// A replay with a judge that always wants to speak.
    AlwaysSpeak,
    /// A replay with a model, or with recorded answers.
    Model,
    /// The decisions of the installation itself.
    Ledger,
}

impl ReportSource {
    /// Whether the judge's verdicts say when the persona speaks.
    pub fn has_verdicts(self) -> bool {
        match self {
            ReportSource::Builtin | ReportSource::AlwaysSilent => false,
            ReportSource::AlwaysSpeak | ReportSource::Model | ReportSource::Ledger => true,
        }
    }
}

/// Who gave the verdicts of a replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgedBy {
    Model(String),
    /// Recorded answers, and the models that they name.
    Answers(Vec<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Period {
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    pub days: f64,
}

impl Period {
    /// Returns a number per so many days. `None` if the period is shorter than a day.
    pub fn per_days(&self, number: f64, days: f64) -> Option<f64> {
        (self.days >= 1.0).then(|| number / self.days * days)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyFigures {
    pub name: String,
    /// Posts that nobody asked for. `None` if the judge's verdicts are not known.
    pub posts: Option<PostFigures>,
    /// How many of the posts were not made: the persona only observed, or somebody had to approve them first.
    pub unposted: usize,
    /// The checks whose verdict is not known.
    pub unknown_verdicts: usize,
    /// How often the judge was asked whether to speak.
    pub checks: usize,
    /// Questions that nobody took up within an hour.
    pub open_questions: usize,
    /// Answers to messages that addressed the persona.
    pub answers: usize,
    pub reactions: usize,
    /// What the built-in mind posts without a model, if `response.mode: companion` is set. `None` for other judges.
    pub without_model: Option<PostFigures>,
    pub ways: Vec<WayFigures>,
    pub cost: CostFigures,
    pub by_channel: Vec<ChannelFigures>,
    /// The 24 hours of the day.
    pub by_hour: Vec<HourFigures>,
    pub moments: Vec<ReportMoment>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PostFigures {
    pub count: usize,
    /// The open questions that got a post within an hour.
    pub at_open_questions: usize,
    /// Posts after which another person took up the message that they answer, within an hour of it. Posts that were really
    /// made are left out, because people may have answered them.
    pub before_people: usize,
    /// Posts before or after which a person other than the one they answer wrote in that conversation within a minute.
    pub in_mid_talk: usize,
}

/// A way to run the persona.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    OnlyWhenAsked,
    ProposesFirst,
    JoinsIn,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WayFigures {
    pub way: Way,
    /// `None` if the judge's verdicts are not known.
    pub posts: Option<PostFigures>,
    /// `None` also if the period is shorter than a day.
    pub posts_per_week: Option<f64>,
    pub price_per_month: Option<f64>,
}

/// What models cost in the period: checks, replies and memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CostFigures {
    /// The model whose prices were used. `None` in the ledger, which has the price of each call.
    pub model: Option<String>,
    pub checks: Option<f64>,
    pub replies: Option<f64>,
    /// Other calls included, such as descriptions of pictures.
    pub memory: Option<f64>,
    pub total: Option<f64>,
    /// The tokens of calls whose price is not known, in the ledger.
    pub unpriced_tokens: u64,
    /// The price of asking the model at every check of this history.
    pub to_ask: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChannelFigures {
    pub name: String,
    pub messages: usize,
    pub checks: usize,
    pub posts: PostFigures,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HourFigures {
    pub messages: usize,
    pub checks: usize,
    pub posts: usize,
    pub in_mid_talk: usize,
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

impl PostFigures {
    pub fn add(&mut self, other: Self) {
        self.count += other.count;
        self.at_open_questions += other.at_open_questions;
        self.before_people += other.before_people;
        self.in_mid_talk += other.in_mid_talk;
    }
}
