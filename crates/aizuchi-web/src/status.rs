//! The current status of every workspace and channel, as the database knows it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use aizuchi_model::chat::{Channel, ChannelId, Visibility, WorkspaceId};
use aizuchi_model::context::BudgetUsage;
use aizuchi_model::flow::step::Step;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::place::Place;
use aizuchi_model::rules::setting_override::{PlaceSetting, SettingKind};
use aizuchi_model::rules::{Mode, Rulebook};
use aizuchi_model::texts;
use aizuchi_store::archive::Archive;
use aizuchi_store::figures::{CallSum, WorkspacePeriod};
use aizuchi_store::order::OrdersInForce;
use aizuchi_store::{ChannelActivity, StoreError};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const PUBLIC: &str = "public";

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Status {
    pub version: &'static str,
    /// Where the database is, without credentials.
    pub database: String,
    /// Identifies the database. It changes when the database is recreated or restored from a backup.
    pub installation: Arc<str>,
    pub workspaces: Vec<WorkspaceStatus>,
    /// The number of posts and answers that failed for good and wait for an operator.
    pub dead_letters: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WorkspaceStatus {
    pub workspace: WorkspaceId,
    /// Known only to the running program, and otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<ConnectionStatus>,
    /// When a mute of the whole workspace ends, in epoch seconds.
    pub muted_until: Option<f64>,
    pub channels: Vec<ChannelStatus>,
    /// The tokens used since midnight.
    pub tokens_today: u64,
    /// The cost since midnight, in the currency of the price table.
    pub money_today: f64,
    /// The cost of the last 30 days.
    pub money_this_month: f64,
    /// The tokens among these whose price is unknown.
    pub unpriced_tokens_today: u64,
    pub unpriced_tokens_this_month: u64,
    /// What counts against the limits.
    #[serde(skip)]
    pub usage: BudgetUsage,
}

/// The state of a workspace's connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionStatus {
    /// The name that users see; null for the local room, for direct messages, and while the workspace is not connected.
    pub name: Option<String>,
    /// The name of the platform; null for the local room, and while the workspace is not connected.
    pub platform: Option<String>,
    /// Why the workspace cannot be heard now; null if it can.
    pub outage: Option<String>,
    /// The number of channels, out of `channels`, not yet read since the last gap. Both are 0 on platforms that cannot
    /// miss messages.
    pub behind: usize,
    pub channels: usize,
    /// The number of channels whose last read failed.
    pub failing: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChannelStatus {
    pub id: ChannelId,
    pub name: String,
    pub visibility: &'static str,
    pub mode: &'static str,
    /// Whether an order or the config gives it another mode than its workspace.
    #[serde(skip)]
    pub has_own_mode: bool,
    /// The settings that an order or the config gives it, and that differ from those of its workspace.
    #[serde(skip)]
    pub own: Vec<(SettingKind, Option<PlaceSetting>)>,
    pub muted_until: Option<f64>,
    pub last_heard: Option<f64>,
    pub last_spoke: Option<f64>,
    pub pending: Vec<PendingStatus>,
    /// The number of decisions since midnight by outcome; `open` counts those that have not ended.
    pub decisions_today: BTreeMap<&'static str, usize>,
    pub tokens_today: u64,
    pub money_today: f64,
    /// The tokens among these whose price is unknown.
    pub unpriced_tokens_today: u64,
}

/// Formats what was spent. The cost of tokens without a price is unknown.
pub fn told_cost(language: Language, money: f64, currency: &str, unpriced_tokens: u64) -> String {
    let known = format!("{money:.2} {currency}");
    match (unpriced_tokens, money > 0.0) {
        (0, _) => known,
        (_, true) => texts::console::cost_partly_unknown(language, &known),
        (_, false) => texts::console::cost_unknown(language).to_owned(),
    }
}

/// A pending step of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PendingStatus {
    pub verb: &'static str,
    pub thread: Option<String>,
    pub due: f64,
    /// Whether a user addressed the persona and waits for an answer.
    pub owed: bool,
    /// Whether the step is being worked on now.
    pub in_progress: bool,
}

/// The number of decisions per outcome.
type OutcomeCounts = BTreeMap<&'static str, usize>;

/// The data read of one workspace.
struct WorkspaceData<'a> {
    orders: &'a OrdersInForce,
    /// What was spent today, by channel.
    spent: HashMap<Option<ChannelId>, UsageTotals>,
    steps: &'a [Step],
    activity: HashMap<ChannelId, ChannelActivity>,
    decisions: HashMap<ChannelId, OutcomeCounts>,
}

/// The usage of model calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct UsageTotals {
    tokens: u64,
    micros: u64,
    unpriced_tokens: u64,
}

impl UsageTotals {
    fn add(&mut self, sum: &CallSum) {
        self.tokens += sum.usage.input_tokens + sum.usage.output_tokens;
        self.micros += sum.price.micros;
        self.unpriced_tokens += sum.unpriced_tokens;
    }
}

/// The inputs for reading a status.
pub struct StatusReader<'a> {
    pub archive: &'a dyn Archive,
    pub rulebook: &'a Rulebook,
    /// The time zone in which today begins at midnight.
    pub zone: &'a TimeZone,
    pub now: Timestamp,
}

impl StatusReader<'_> {
    pub async fn workspace(
        &self,
        workspace: &WorkspaceId,
        orders: &OrdersInForce,
    ) -> Result<WorkspaceStatus, StoreError> {
        let spending = self.archive.spending(workspace, self.now).await?;
        let mut whole = UsageTotals::default();
        let mut spent: HashMap<Option<ChannelId>, UsageTotals> = HashMap::new();
        for sum in self.archive.calls_by_day(&self.today(workspace)).await? {
            whole.add(&sum);
            spent.entry(sum.channel.clone()).or_default().add(&sum);
        }
        let steps = self.archive.pending_steps(workspace).await?;
        let activity = self.archive.channel_activity(workspace).await?.into_iter();
        let mut decisions: HashMap<ChannelId, OutcomeCounts> = HashMap::new();
        for counted in self.archive.decision_counts(workspace, self.midnight()).await? {
            let outcome = counted.ended.map_or("open", |ended| ended.name());
            let count = usize::try_from(counted.count).unwrap_or(usize::MAX);
            decisions.entry(counted.channel).or_default().insert(outcome, count);
        }
        let data = WorkspaceData {
            orders,
            spent,
            steps: &steps,
            activity: activity.map(|activity| (activity.channel.clone(), activity)).collect(),
            decisions,
        };
        let channels = self.archive.channels(workspace).await?.into_iter();
        let mut channels: Vec<_> = channels.map(|channel| self.channel(channel, &data)).collect();
        channels.sort_by(|one, other| one.name.cmp(&other.name));
        let month = spending.iter().find(|spending| spending.channel.is_none());
        Ok(WorkspaceStatus {
            workspace: workspace.clone(),
            connection: None,
            muted_until: orders.workspace_mute(self.now).map(|mute| seconds(mute.until)),
            channels,
            tokens_today: whole.tokens,
            money_today: money(whole.micros),
            money_this_month: month.map_or(0.0, |month| money(month.spent.micros_in_month)),
            unpriced_tokens_today: whole.unpriced_tokens,
            unpriced_tokens_this_month: month.map_or(0, |month| month.unpriced_tokens_in_month),
            usage: month.map(|month| month.spent).unwrap_or_default(),
        })
    }

    fn channel(&self, channel: Channel, data: &WorkspaceData<'_>) -> ChannelStatus {
        let spent = data.spent.get(&Some(channel.id.clone())).copied().unwrap_or_default();
        let steps = data.steps.iter();
        let here = steps.filter(|step| step.work.conversation().channel == channel.id);
        let activity = data.activity.get(&channel.id);
        let mute = data.orders.channel_mute(&channel.id, self.now);
        let mode = self.mode(&channel, data.orders);
        let around = self.rulebook.workspace_rules(&channel.workspace);
        let rules = self.rulebook.rules_in(&Place::of_channel(&channel));
        let own = SettingKind::all().filter(|kind| kind.value_in(rules) != kind.value_in(around));
        ChannelStatus {
            name: channel.name.to_string(),
            visibility: visibility_name(channel.visibility),
            mode: mode.name(),
            has_own_mode: mode != around.mode,
            own: own.map(|kind| (kind, kind.value_in(rules))).collect(),
            muted_until: mute.map(|mute| seconds(mute.until)),
            last_heard: activity.and_then(|activity| activity.last_heard).map(seconds),
            last_spoke: activity.and_then(|activity| activity.last_spoke).map(seconds),
            pending: here.map(|step| self.pending(step)).collect(),
            decisions_today: data.decisions.get(&channel.id).cloned().unwrap_or_default(),
            tokens_today: spent.tokens,
            money_today: money(spent.micros),
            unpriced_tokens_today: spent.unpriced_tokens,
            id: channel.id,
        }
    }

    fn mode(&self, channel: &Channel, orders: &OrdersInForce) -> Mode {
        let ordered = orders.modes.iter().find(|(ordered, _)| *ordered == channel.id);
        let configured = || self.rulebook.rules_in(&Place::of_channel(channel)).mode;
        ordered.map_or_else(configured, |(_, mode)| *mode)
    }

    fn pending(&self, step: &Step) -> PendingStatus {
        PendingStatus {
            verb: step.work.verb(),
            thread: step.work.conversation().thread.as_ref().map(ToString::to_string),
            due: seconds(step.due),
            owed: step.is_owed,
            in_progress: step.lease.is_some_and(|lease| lease.until > self.now),
        }
    }

    fn today(&self, workspace: &WorkspaceId) -> WorkspacePeriod {
        WorkspacePeriod {
            workspace: workspace.clone(),
            since: self.midnight(),
            until: Timestamp::MAX,
            offset: SignedDuration::ZERO,
        }
    }

    /// The beginning of today.
    pub fn midnight(&self) -> Timestamp {
        let midnight = self.now.to_zoned(self.zone.clone()).start_of_day();
        midnight.map_or(self.now, |midnight| midnight.timestamp())
    }
}

impl Status {
    /// Replaces the names of private channels with their ids.
    pub fn without_private_names(mut self) -> Self {
        let channels = self.workspaces.iter_mut().flat_map(|workspace| &mut workspace.channels);
        for channel in channels.filter(|channel| channel.visibility != PUBLIC) {
            channel.name = channel.id.to_string();
        }
        self
    }
}

fn visibility_name(visibility: Visibility) -> &'static str {
    match visibility {
        Visibility::Public => PUBLIC,
        Visibility::Private => "private",
        Visibility::Direct => "direct",
    }
}

fn seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1000.0
}

fn money(micros: u64) -> f64 {
    micros as f64 / 1_000_000.0
}

#[cfg(test)]
mod tests {
    use aizuchi_harness::fixtures::workspace;
    use aizuchi_harness::test_store::StoreKind;
    use aizuchi_model::decision::{Price, Usage};
    use aizuchi_model::flow::planned_call::UnclaimedCall;

    use super::*;

    #[tokio::test]
    async fn today_begins_at_midnight_in_the_zone() {
        let store = StoreKind::Sqlite.open().await;
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        for (time, tokens) in [("2027-01-15T14:59:59Z", 100), ("2027-01-15T15:00:00Z", 20)] {
            let call = UnclaimedCall {
                workspace: workspace(),
                channel: None,
                model: "openai/test".into(),
                calls: 1,
                usage: Usage { input_tokens: tokens, ..Usage::default() },
                price: Some(Price { micros: 1_000_000 }),
                at: at(time),
                reservation: None,
            };
            store.store.book(&call).await.unwrap();
        }
        // The zone is nine hours ahead of UTC.
        let (zone, rulebook) = (TimeZone::posix("JST-9").unwrap(), Rulebook::default());
        let reader = StatusReader {
            archive: &*store.archive,
            rulebook: &rulebook,
            zone: &zone,
            now: at("2027-01-15T20:00:00Z"),
        };
        let status = reader.workspace(&workspace(), &OrdersInForce::default()).await.unwrap();
        assert_eq!((status.tokens_today, status.money_today), (20, 1.0));
        assert_eq!(status.money_this_month, 2.0);
    }

    #[test]
    fn what_tokens_without_a_price_cost_is_not_known() {
        for (money, unpriced, expected) in [
            (0.0, 0, "0.00 USD"),
            (0.5, 0, "0.50 USD"),
            (0.0, 300, "cost unknown"),
            (0.5, 300, "at least 0.50 USD"),
        ] {
            assert_eq!(told_cost(Language::En, money, "USD", unpriced), expected);
        }
    }
}
