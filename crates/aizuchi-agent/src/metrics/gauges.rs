//! Gauges that are set on request: the state of the store, the process and its connections.

use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::decision::mark::Mark;
use jiff::SignedDuration;

use crate::metrics::Metrics;
use crate::metrics::labels::{
    LabelValue, MarkLabel, ModelLabel, MoneyLabels, PeriodLabel, PlatformLabel, VerbLabel,
    WorkspaceLabel,
};

/// Gauges that are read from the store on request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GaugeSnapshot {
    /// Pending steps by verb.
    pub pending: Vec<(String, u64)>,
    /// Dead letters that wait for an operator.
    pub dead_letters: u64,
    /// The number of decisions that users have marked, by mark.
    pub marks: Vec<(Mark, u64)>,
    /// How long the oldest step has been due.
    pub overdue: SignedDuration,
    /// How long the oldest message that is owed an answer has waited.
    pub oldest_owed: SignedDuration,
    /// The cost of models in each workspace within a period, in micros of the currency.
    pub spent: Vec<(WorkspaceId, BudgetPeriod, u64)>,
    /// The limits on that cost, in micros of the currency.
    pub limits: Vec<(BudgetPeriod, u64)>,
}

/// The period of a limit on cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum BudgetPeriod {
    /// 24 hours.
    Day,
    /// 30 days.
    Month,
}

impl BudgetPeriod {
    fn name(self) -> &'static str {
        self.into()
    }
}

/// The state of the process and its connections when the metrics are requested.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readiness {
    /// The result of `/ready`.
    pub is_ready: bool,
    /// The workspaces, and whether they are connected.
    pub connected: Vec<(WorkspaceId, bool)>,
    /// By platform: the number of channels that have not been read since the last gap, and of those that cannot be
    /// read.
    pub backfills: Vec<(&'static str, usize, usize)>,
    /// The names of the failing models.
    pub failing_models: Vec<String>,
}

impl Metrics {
    /// Sets the gauges for the result of `/ready` and the connections.
    pub fn set_readiness(&self, readiness: &Readiness) {
        let whole = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.ready.set(i64::from(readiness.is_ready));
        // A workspace may be known only since its platform takes the bot.
        self.platform_connected.clear();
        for (workspace, is_connected) in &readiness.connected {
            let label = WorkspaceLabel { workspace: workspace.to_string() };
            self.platform_connected.get_or_create(&label).set(i64::from(*is_connected));
        }
        for (platform, behind, failing) in &readiness.backfills {
            let label = PlatformLabel { platform: LabelValue(platform) };
            self.channels_behind.get_or_create(&label).set(whole(*behind));
            self.channels_failing.get_or_create(&label).set(whole(*failing));
        }
        // A model that works again, or is no longer used, has no value.
        self.model_failing.clear();
        for model in &readiness.failing_models {
            self.model_failing.get_or_create(&ModelLabel { model: model.clone() }).set(1);
        }
    }

    pub(super) fn set_gauges(&self, snapshot: &GaugeSnapshot) {
        let whole = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        for verb in ["judge", "reply", "post"] {
            let count = snapshot.pending.iter().find(|(name, _)| name == verb);
            let count = count.map_or(0, |(_, count)| whole(*count));
            self.steps_pending.get_or_create(&VerbLabel { verb: verb.to_owned() }).set(count);
        }
        for mark in Mark::ALL {
            let count = snapshot.marks.iter().find(|(counted, _)| *counted == mark);
            let label = MarkLabel { mark: LabelValue(mark.name()) };
            let count = count.map_or(0, |(_, count)| whole(*count));
            self.marked_decisions.get_or_create(&label).set(count);
        }
        self.dead_letters.set(whole(snapshot.dead_letters));
        self.overdue_seconds.set(snapshot.overdue.max(SignedDuration::ZERO).as_secs_f64());
        self.oldest_owed_seconds.set(snapshot.oldest_owed.max(SignedDuration::ZERO).as_secs_f64());
        for (workspace, period, micros) in &snapshot.spent {
            let period = LabelValue(period.name());
            let label = MoneyLabels { workspace: workspace.to_string(), period };
            self.money_spent.get_or_create(&label).set(*micros as f64 / 1e6);
        }
        // A new config may have removed a limit.
        self.money_limit.clear();
        for (period, micros) in &snapshot.limits {
            let label = PeriodLabel { period: LabelValue(period.name()) };
            self.money_limit.get_or_create(&label).set(*micros as f64 / 1e6);
        }
    }
}
