//! The feed of the home page: what the persona said and what it held back, over all channels, newest first.

use std::cmp::Reverse;
use std::collections::HashMap;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{ChannelId, ConversationId, MessageId, WorkspaceId, to_short_line};
use aizuchi_model::decision::{Decision, DecisionId, DecisionResult};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_store::query::{DecisionFilter, DecisionQuery};
use aizuchi_store::stored_message::StoredMessage;
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan as _};
use serde::Deserialize;

use crate::console::layout::{ListPart, TimeView, address_with, channel_address, decision_address};
use crate::console::quote::{ShownMessage, gist};
use crate::console::reason::{FilterOption, gates, parse_gate, reason};
use crate::figures::tally::Figures;
use crate::status::{ChannelStatus, Status, WorkspaceStatus};
use crate::workspaces::Shown;
use crate::{ApiProblem, Web, workspaces};

/// The number of decisions on a page.
const PAGE: usize = 50;
/// The number of characters of a message that are shown.
const BEGINNING: usize = 140;
/// The number of days that the feed goes back, with today.
pub const DAYS: i64 = 7;
/// The value of the period that is only today.
const TODAY: &str = "today";

/// The fields of the form. Empty fields count as absent, and so do those with an unknown value.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct FeedQuery {
    pub result: String,
    pub reason: String,
    /// The name or the id of a channel.
    pub channel: String,
    /// `today`, or empty for the last days.
    pub period: String,
    /// The cursor: the time and the number of a decision.
    pub before: String,
    /// The only workspace.
    pub workspace: String,
}

/// A group of outcomes.
struct FeedResult {
    name: &'static str,
    word: fn(Language) -> &'static str,
    /// The first outcome's icon stands for all.
    outcomes: &'static [DecisionFilter],
}

const RESULTS: [FeedResult; 4] = {
    use DecisionFilter::{Ended, Open};
    use DecisionResult::{
        ChoseSilence, Dropped, Failed, Muted, OverBudget, Proposed, Reacted, Spoke,
    };
    let held_back: &[DecisionFilter] =
        &[Ended(ChoseSilence), Ended(Proposed), Ended(Dropped), Ended(Muted), Ended(OverBudget)];
    let said: &[DecisionFilter] = &[Ended(Spoke), Ended(Reacted)];
    [
        FeedResult { name: "said", word: texts::home::said, outcomes: said },
        FeedResult { name: "held_back", word: texts::home::held_back, outcomes: held_back },
        FeedResult { name: "failed", word: texts::home::failed, outcomes: &[Ended(Failed)] },
        FeedResult { name: "waiting", word: texts::home::undecided, outcomes: &[Open] },
    ]
};

pub struct FeedView {
    pub query: FeedQuery,
    pub results: Vec<FeedCount>,
    pub reasons: Vec<FilterOption>,
    /// The days with their rows, the newest first.
    pub days: Vec<(String, Vec<FeedRow>)>,
    /// What stands in place of a text that is not shown.
    pub hidden: &'static str,
    /// Says that texts are not shown, and why.
    pub withheld: Option<String>,
    pub part: ListPart,
}

/// A group of outcomes to choose, and how many of today's decisions ended so.
pub struct FeedCount {
    pub name: &'static str,
    pub word: &'static str,
    pub icon: &'static str,
    pub today: u64,
    pub address: String,
    /// How many of them ended in each way.
    pub kinds: Vec<(&'static str, u64)>,
    /// The days before today, if they are known, and today, each with what it says when pointed at.
    pub trend: Vec<(u64, String)>,
    /// The mean of the days before.
    pub mean: String,
}

/// A decision in one line.
pub struct FeedRow {
    pub id: i64,
    pub at: TimeView,
    pub channel: String,
    pub channel_address: String,
    pub address: String,
    pub outcome: &'static str,
    pub word: &'static str,
    pub reason: Option<String>,
    /// The beginning of what was said, or of what it did not speak to.
    pub text: String,
    pub is_hidden: bool,
    pub may_read_models: bool,
    pub is_addressed: bool,
}

impl FeedQuery {
    /// The address of the home page with this filter and another cursor.
    fn address(&self, before: &str) -> String {
        let fields = [
            ("workspace", &*self.workspace),
            ("result", &*self.result),
            ("reason", &*self.reason),
            ("channel", &*self.channel),
            ("period", &*self.period),
            ("before", before),
        ];
        address_with("/console", &fields) + "#feed"
    }

    fn cursor(&self) -> Option<(Timestamp, DecisionId)> {
        let (at, id) = self.before.split_once('-')?;
        let at = Timestamp::from_millisecond(at.parse().ok()?).ok()?;
        Some((at, DecisionId(id.parse().ok()?)))
    }

    /// Whether a channel is the chosen one, by its id or by the name that is shown.
    fn names(&self, channel: &ChannelStatus) -> bool {
        let wanted = self.channel.trim().trim_start_matches('#').to_lowercase();
        [&*channel.name, channel.id.as_str()].iter().any(|it| it.to_lowercase() == wanted)
    }

    /// Whether the filter leaves anything out.
    pub fn is_filtered(&self) -> bool {
        [&self.result, &self.reason, &self.channel].iter().any(|field| !field.is_empty())
    }
}

/// Reads a page of the feed of the workspaces in a status.
pub async fn read(
    web: &Web,
    access: &Access,
    (status, week): (&Status, &[Figures]),
    query: FeedQuery,
    language: Language,
) -> Result<FeedView, ApiProblem> {
    let results = RESULTS.iter().filter(|it| query.result.is_empty() || it.name == query.result);
    let ended: Vec<DecisionFilter> = results.flat_map(|it| it.outcomes).copied().collect();
    let (gate, before) = (parse_gate(&query.reason), query.cursor());
    let today = web.clock.now().to_zoned(web.zone.clone()).date();
    let days = if query.period == TODAY { 0 } else { DAYS - 1 };
    let begin = (today - days.days()).to_zoned(web.zone.clone());
    let mut since = begin.map_or(Timestamp::UNIX_EPOCH, |begin| begin.timestamp());
    // One more tells whether there is another page.
    let limit = PAGE + 1;
    let mut found: Vec<Decision> = Vec::new();
    for WorkspaceStatus { workspace, channels, .. } in &status.workspaces {
        let is_chosen = |it: &&ChannelStatus| query.channel.is_empty() || query.names(it);
        let chosen = channels.iter().filter(is_chosen).map(|it| Some(it.id.clone()));
        // A workspace is read as a whole, if the visitor reaches all of it.
        let is_any = query.channel.is_empty() && web.scope.includes(workspace, None);
        for channel in if is_any { vec![None] } else { chosen.collect() } {
            let (workspace, ended) = (workspace.clone(), ended.clone());
            let query =
                DecisionQuery::Feed { workspace, channel, ended, gate, since, before, limit };
            found.extend(web.archive.decisions(query).await?);
            found.sort_by_key(|decision| Reverse((decision.opened, decision.id)));
            found.truncate(limit);
            since = found.get(PAGE).map_or(since, |oldest| oldest.opened);
        }
    }
    let is_full = found.len() > PAGE;
    found.truncate(PAGE);
    let cursor = |it: &Decision| format!("{}-{}", it.opened.as_millisecond(), it.id.0);
    let part = ListPart {
        name: "feed",
        shown: found.len(),
        newest: before.map(|_| query.address("")),
        older: found.last().filter(|_| is_full).map(|it| query.address(&cursor(it))),
    };
    let found = with_messages(web, access, status, found).await?;
    let is_withheld = |message: &&StoredMessage| !access.may_read_message(message);
    let withheld = found.iter().filter_map(|(_, it)| it.as_ref()).filter(is_withheld).count();
    let row = |(decision, message): &(Decision, Option<StoredMessage>)| {
        row(decision, message.as_ref(), (access, status), language)
    };
    let date = |(decision, _): &(Decision, _)| decision.opened.to_zoned(web.zone.clone()).date();
    let days = found.chunk_by(|one, other| date(one) == date(other)).map(|rows| {
        (texts::home::day(language, date(&rows[0]), today), rows.iter().map(row).collect())
    });
    Ok(FeedView {
        results: RESULTS
            .iter()
            .map(|it| feed_count(it, (status, week, today), &query, language))
            .collect(),
        reasons: gates(language),
        days: days.collect(),
        hidden: match access {
            Access::ThisMachine => texts::home::text_hidden_here(language),
            Access::Public | Access::SignedIn(_) => texts::home::text_hidden(language),
        },
        withheld: (withheld > 0)
            .then(|| texts::home::texts_withheld(language, withheld, access.withheld(language))),
        part,
        query,
    })
}

/// Reads the message that each decision is shown with: what was said, or else what it is about. Reads of private text
/// are recorded.
async fn with_messages(
    web: &Web,
    access: &Access,
    status: &Status,
    decisions: Vec<Decision>,
) -> Result<Vec<(Decision, Option<StoredMessage>)>, ApiProblem> {
    let shown = |decision: &Decision| {
        let about = decision.judgment.as_ref().and_then(|judgment| judgment.about.as_ref());
        let about = decision.reaction.as_ref().map(|(message, _)| message).or(about);
        let id = decision.posted_messages.first().or(about).or(decision.messages.last());
        id.map(|id| (decision.conversation.channel.clone(), id.clone()))
    };
    let mut messages: HashMap<(WorkspaceId, ChannelId, MessageId), StoredMessage> = HashMap::new();
    for WorkspaceStatus { workspace, .. } in &status.workspaces {
        let here = decisions.iter().filter(|it| it.conversation.workspace == *workspace);
        let here: Vec<Decision> = here.cloned().collect();
        let ids: Vec<_> = here.iter().filter_map(shown).collect();
        let read = web.archive.messages_by_id(workspace, &ids).await?;
        workspaces::record_look(web, access, workspace, Shown::Messages(&read)).await?;
        workspaces::record_look(web, access, workspace, Shown::Decisions(&here)).await?;
        messages.extend(read.into_iter().map(|stored| {
            let channel = stored.message.conversation.channel.clone();
            ((workspace.clone(), channel, stored.message.id.clone()), stored)
        }));
    }
    let found = decisions.into_iter().map(|decision| {
        let workspace = &decision.conversation.workspace;
        let place = shown(&decision).map(|(channel, id)| (workspace.clone(), channel, id));
        let message = place.and_then(|place| messages.get(&place).cloned());
        (decision, message)
    });
    let found = found.collect();
    Ok(found)
}

fn row(
    decision: &Decision,
    message: Option<&StoredMessage>,
    (access, status): (&Access, &Status),
    language: Language,
) -> FeedRow {
    let ConversationId { workspace, channel, .. } = &decision.conversation;
    let here = status.workspaces.iter().filter(|it| it.workspace == *workspace);
    let here = here.flat_map(|it| &it.channels).find(|it| it.id == *channel);
    let outcome = decision.ended.map_or("open", |ended| ended.name());
    // It has not spoken if it posted nothing, or if that is gone.
    let silence: Option<fn(Language) -> &'static str> = match decision.posted_messages.is_empty() {
        true if decision.ended == Some(DecisionResult::Spoke) => Some(texts::home::nothing_said),
        false if message.is_some_and(|it| it.is_deleted && !it.is_expired) => {
            Some(texts::home::withdrawn)
        }
        true | false => None,
    };
    let (readable, may_read_models) =
        (message.filter(|it| access.may_read_message(it)), access.may_read_models(workspace));
    let shown = readable.map(|it| ShownMessage::new(it, access, language, false));
    let emoji = decision.reaction.as_ref().filter(|_| may_read_models);
    let emoji = emoji.map_or("", |(_, emoji)| &**emoji);
    FeedRow {
        id: decision.id.0,
        at: TimeView::new(decision.opened),
        channel: here.map_or_else(|| channel.to_string(), |here| here.name.clone()),
        channel_address: channel_address(workspace, channel),
        address: decision_address(workspace, decision.id),
        outcome: silence.map_or(outcome, |_| "dropped"),
        word: silence
            .map_or_else(|| texts::console::outcome_word(language, outcome), |word| word(language)),
        reason: reason(decision, access, language),
        text: to_short_line(&format!("{emoji} {}", gist(shown.as_ref())), BEGINNING),
        is_hidden: message.is_some() && shown.is_none(),
        may_read_models,
        is_addressed: decision.is_addressed,
    }
}

fn feed_count(
    result: &FeedResult,
    (status, week, date): (&Status, &[Figures], Date),
    query: &FeedQuery,
    language: Language,
) -> FeedCount {
    let kind = |it: &DecisionFilter| {
        let channels = status.workspaces.iter().flat_map(|it| &it.channels);
        let counts = channels.filter_map(|channel| channel.decisions_today.get(it.name()));
        let count = counts.map(|count| *count as u64).sum();
        (texts::console::outcome_word(language, it.name()), count)
    };
    let kinds: Vec<_> = result.outcomes.iter().map(kind).collect();
    let today = kinds.iter().map(|(_, count)| count).sum();
    let of_day = |day: &Figures| {
        result.outcomes.iter().filter_map(|it| day.outcomes.get(it.name())).sum::<u64>()
    };
    let mut trend: Vec<u64> = week.iter().map(of_day).collect();
    let mean = trend.iter().sum::<u64>() as f64 / trend.len().max(1) as f64;
    trend.push(today);
    let address = FeedQuery {
        result: result.name.to_owned(),
        workspace: query.workspace.clone(),
        period: TODAY.to_owned(),
        ..FeedQuery::default()
    };
    FeedCount {
        name: result.name,
        word: (result.word)(language),
        icon: result.outcomes[0].name(),
        today,
        address: address.address(""),
        kinds,
        trend: bars(&trend, |count| count.to_string(), date, language),
        mean: format!("{mean:.*}", usize::from(mean < 10.0)),
    }
}

/// Returns the bars of these values, the last of which is today's.
pub fn bars(
    values: &[u64],
    tell: impl Fn(u64) -> String,
    today: Date,
    language: Language,
) -> Vec<(u64, String)> {
    let bar = |(value, ago): (&u64, usize)| {
        let day = texts::home::day(language, today - (ago as i64).days(), today);
        (*value, format!("{day}: {}", tell(*value)))
    };
    values.iter().zip((0..values.len()).rev()).map(bar).collect()
}
