//! `GET /api/figures`: the figures as JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::decision::mark::Mark;
use aizuchi_model::decision::tolerance::CalibrationStep;
use aizuchi_model::decision::welcome::WelcomeReason;
use aizuchi_store::figures::{CallKind, Day};
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Visitor;
use crate::figures::calendar::{Calendar, date};
use crate::figures::tally::{Figures, Sums, by_cost};
use crate::figures::welcome::{self, ChannelWelcome, WelcomeCounts};
use crate::figures::{ChannelDelays, PeriodFigures, SPANS};
use crate::refusal::Refusal;
use crate::{JsonResult, Web, workspaces};

/// The maximum number of days in one response.
const MOST_DAYS: i64 = SPANS[SPANS.len() - 1];

#[derive(Deserialize, JsonSchema)]
pub struct FiguresQuery {
    /// The id of a workspace; the local room if omitted.
    workspace: Option<String>,
    /// The number of days, including today: 1 to 90; 30 if omitted.
    days: Option<i64>,
}

/// The figures of a workspace.
#[derive(Serialize, JsonSchema)]
pub struct FiguresAnswer {
    workspace: WorkspaceId,
    /// The time zone in which days begin at midnight.
    zone: String,
    /// The currency of all amounts.
    currency: String,
    total: FigureSums,
    /// The number of decisions by outcome; `open` counts those that have not ended.
    outcomes: BTreeMap<&'static str, u64>,
    /// The figures of each day, oldest first.
    days: Vec<FigureDay>,
    /// What costs most comes first, here and in the next two.
    channels: Vec<FigureChannel>,
    models: Vec<FigureModel>,
    kinds: Vec<FigureKind>,
    /// The median delays of answers, for each channel with any answers.
    delays: Vec<FigureDelays>,
    /// The number of marks of each kind.
    marks: BTreeMap<&'static str, usize>,
    /// How welcome the persona was, for each channel in which it chose to speak or not. The last hour is not rated yet.
    welcome: Vec<FigureWelcome>,
}

#[derive(Serialize, JsonSchema)]
struct FigureWelcome {
    id: ChannelId,
    /// Null if the visitor may not know it.
    name: Option<Arc<str>>,
    /// The persona's unsolicited posts.
    #[serde(rename = "words")]
    posts: WelcomeCounts,
    /// The silences that the judge chose.
    silences: WelcomeCounts,
    /// How many proposals people declined.
    declined: u64,
    /// The reasons for the ratings of posts, each with its count. A post may have several.
    #[serde(rename = "word_reasons")]
    post_reasons: BTreeMap<&'static str, u64>,
    silence_reasons: BTreeMap<&'static str, u64>,
    /// The median delay, in seconds, until a person wrote where the persona was silent. Null if nobody did.
    answered_after_seconds: Option<f64>,
    /// How many questions nobody answered.
    never_answered: u64,
    /// The number of posts, declined proposals and marks of the last 12 weeks from which a threshold can be learned.
    labels: usize,
    /// How many more labels are needed before anything is learned.
    labels_missing: usize,
    /// The learned share of welcome posts, by confidence in ascending order.
    steps: Vec<FigureStep>,
    /// The confidence from which on the judge is followed. Null if `tolerance` is not set.
    threshold: Option<f64>,
    /// The value toward which the threshold moves, by a small step a day. Null if `tolerance` is not set.
    settles_at: Option<f64>,
}

/// A range of confidences up to a bound, and how welcome posts with such a confidence were.
#[derive(Serialize, JsonSchema)]
struct FigureStep {
    up_to: f64,
    /// The share of welcome posts, smoothed by half a post more than was seen.
    welcome: f64,
    labels: usize,
}

#[derive(Serialize, JsonSchema)]
struct FigureSums {
    /// The number of messages heard, without the persona's own.
    heard: u64,
    decisions: u64,
    spoke: u64,
    /// How often the persona reacted in place of a reply.
    reacted: u64,
    /// How often people reacted to the persona's posts.
    reactions: u64,
    /// The number of questions to everybody that no other person answered.
    unanswered_questions: u64,
    /// How many of these questions the persona took up unasked.
    taken_up: u64,
    #[serde(flatten)]
    calls: FigureCalls,
}

#[derive(Serialize, JsonSchema)]
struct FigureCalls {
    calls: u64,
    input_tokens: u64,
    cached_tokens: u64,
    cache_write_tokens: u64,
    output_tokens: u64,
    money: f64,
    /// The tokens among these whose price is unknown.
    unpriced_tokens: u64,
}

#[derive(Serialize, JsonSchema)]
struct FigureDay {
    date: String,
    outcomes: BTreeMap<&'static str, u64>,
    #[serde(flatten)]
    sums: FigureSums,
}

#[derive(Serialize, JsonSchema)]
struct FigureChannel {
    /// Null: not in a channel, but for the whole workspace.
    id: Option<ChannelId>,
    /// Null if the visitor may not know it.
    name: Option<Arc<str>>,
    #[serde(flatten)]
    sums: FigureSums,
}

#[derive(Serialize, JsonSchema)]
struct FigureModel {
    /// Empty if the model is unknown.
    model: Arc<str>,
    #[serde(flatten)]
    calls: FigureCalls,
}

#[derive(Serialize, JsonSchema)]
struct FigureKind {
    kind: CallKind,
    #[serde(flatten)]
    calls: FigureCalls,
}

/// The median delays of answers in a channel, in seconds; null if there were none of that kind.
#[derive(Serialize, JsonSchema)]
struct FigureDelays {
    id: ChannelId,
    /// Null if the visitor may not know it.
    name: Option<Arc<str>>,
    /// The persona's answers when it was addressed.
    addressed_seconds: Option<f64>,
    /// The persona's answers when it was not addressed.
    unasked_seconds: Option<f64>,
}

pub(crate) async fn figures(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: Result<Query<FiguresQuery>, QueryRejection>,
) -> JsonResult<FiguresAnswer> {
    let wrong = || Refusal::WrongDays { most: MOST_DAYS };
    let Query(query) = query.map_err(|_| wrong())?;
    let days = query.days.unwrap_or(SPANS[1]);
    if !(1..=MOST_DAYS).contains(&days) {
        return Err(wrong().into());
    }
    let workspace = workspaces::find(&web, query.workspace.as_deref()).await?;
    let figures = PeriodFigures::read(&web, &workspace, days).await?;
    let welcome = welcome::by_channel(&web, &workspace, &figures).await?;
    let PeriodFigures { days, total, delays, marks, .. } = figures;
    let names = workspaces::channel_names(&web, &visitor.access, &workspace).await?;
    let welcome = welcome
        .into_iter()
        .map(|(id, welcome)| FigureWelcome::new(names.get(&id).cloned(), id, &welcome));
    let channel = |(id, sums): (&Option<ChannelId>, &Sums)| FigureChannel {
        name: id.as_ref().and_then(|id| names.get(id).cloned()),
        id: id.clone(),
        sums: sums.into(),
    };
    let delay = |delays: ChannelDelays| FigureDelays {
        name: names.get(&delays.channel).cloned(),
        id: delays.channel,
        addressed_seconds: delays.asked.map(|asked| asked.as_secs_f64()),
        unasked_seconds: delays.unasked.map(|unasked| unasked.as_secs_f64()),
    };
    let count = |mark: Mark| marks.iter().filter(|found| found.mark == mark).count();
    Ok(Json(FiguresAnswer {
        workspace,
        zone: Calendar { zone: &web.zone }.zone_name(web.clock.now()),
        currency: web.currency.clone(),
        channels: by_cost(&total.channels).into_iter().map(channel).collect(),
        models: by_cost(&total.models).into_iter().map(FigureModel::from).collect(),
        kinds: by_cost(&total.kinds).into_iter().map(FigureKind::from).collect(),
        delays: delays.into_iter().map(delay).collect(),
        marks: Mark::ALL.into_iter().map(|mark| (mark.name(), count(mark))).collect(),
        welcome: welcome.collect(),
        days: days.iter().map(|(day, figures)| FigureDay::new(*day, figures)).collect(),
        total: (&total.all).into(),
        outcomes: total.outcomes,
    }))
}

impl FigureDay {
    fn new(day: Day, figures: &Figures) -> Self {
        Self {
            date: date(day).map(|date| date.to_string()).unwrap_or_default(),
            outcomes: figures.outcomes.clone(),
            sums: (&figures.all).into(),
        }
    }
}

impl FigureWelcome {
    fn new(name: Option<Arc<str>>, id: ChannelId, welcome: &ChannelWelcome) -> Self {
        let named = |reasons: &BTreeMap<WelcomeReason, u64>| {
            reasons.iter().map(|(reason, count)| (reason.name(), *count)).collect()
        };
        let step = |step: &CalibrationStep| FigureStep {
            up_to: step.up_to,
            welcome: step.welcome,
            labels: step.labels,
        };
        Self {
            id,
            name,
            posts: welcome.posts,
            silences: welcome.silences,
            declined: welcome.declined,
            post_reasons: named(&welcome.post_reasons),
            silence_reasons: named(&welcome.silence_reasons),
            answered_after_seconds: welcome.answered_after.map(|after| after.as_secs_f64()),
            never_answered: welcome.never_answered(),
            labels: welcome.labels,
            labels_missing: welcome.labels_missing(),
            steps: welcome.steps.iter().map(step).collect(),
            threshold: welcome.threshold.map(|threshold| threshold.now),
            settles_at: welcome.threshold.map(|threshold| threshold.settles_at),
        }
    }
}

impl From<(&Arc<str>, &Sums)> for FigureModel {
    fn from((model, sums): (&Arc<str>, &Sums)) -> Self {
        Self { model: model.clone(), calls: sums.into() }
    }
}

impl From<(&CallKind, &Sums)> for FigureKind {
    fn from((kind, sums): (&CallKind, &Sums)) -> Self {
        Self { kind: *kind, calls: sums.into() }
    }
}

impl From<&Sums> for FigureSums {
    fn from(sums: &Sums) -> Self {
        Self {
            heard: sums.heard,
            decisions: sums.decisions,
            spoke: sums.spoke,
            reacted: sums.reacted,
            reactions: sums.reactions,
            unanswered_questions: sums.questions,
            taken_up: sums.taken_up,
            calls: sums.into(),
        }
    }
}

impl From<&Sums> for FigureCalls {
    fn from(sums: &Sums) -> Self {
        Self {
            calls: sums.calls,
            input_tokens: sums.usage.input_tokens,
            cached_tokens: sums.usage.cached_tokens,
            cache_write_tokens: sums.usage.cache_write_tokens,
            output_tokens: sums.usage.output_tokens,
            money: sums.micros as f64 / 1e6,
            unpriced_tokens: sums.unpriced_tokens,
        }
    }
}
