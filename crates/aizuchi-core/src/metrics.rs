//! Metrics for operators, in OpenMetrics format. They count what was committed or really happened. Nothing is
//! decided by them, and they hold no chat text or names.

use std::collections::BTreeMap;
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry, Unit};

use crate::chat::{Arrival, AuthorKind, WorkspaceId};
use crate::decision::gate::Gate;
use crate::decision::mark::Mark;
use crate::decision::{Attempt, DecisionResult};

/// A counter of something fractional, such as money.
type FloatCounter = Counter<f64, std::sync::atomic::AtomicU64>;
type FloatGauge = Gauge<f64, std::sync::atomic::AtomicU64>;

pub struct Metrics {
    registry: Registry,
    /// The names of all families; those without a figure yet are not in the text.
    families: Vec<String>,
    heard: Family<HeardLabels, Counter>,
    hear_seconds: Histogram,
    /// How long reading a context takes, in seconds.
    pub context_seconds: Histogram,
    step_lateness_seconds: Family<VerbLabel, Histogram, fn() -> Histogram>,
    step_seconds: Family<VerbLabel, Histogram, fn() -> Histogram>,
    decisions: Family<DecisionLabels, Counter>,
    model_calls: Family<ModelCallLabels, Counter>,
    model_seconds: Family<ModelLabel, Histogram, fn() -> Histogram>,
    model_tokens: Family<TokenLabels, Counter>,
    model_cost: Family<ModelLabel, FloatCounter>,
    posts: Family<PostLabels, Counter>,
    malformed_input: Family<MalformedInputLabels, Counter>,
    panics: Family<PanicLabels, Counter>,
    external_tool_calls: Family<ExternalToolLabels, Counter>,
    mention_answer_seconds: Histogram,
    unsolicited_delay_seconds: Histogram,
    /// Unsolicited posts within five seconds after a message they had not seen.
    pub unsolicited_soon_after_unseen: Counter,
    /// How often the runner woke up to look for work.
    pub wake_ups: Counter,
    start_seconds: FloatGauge,
    last_backup_seconds: FloatGauge,
    backup_interval_seconds: FloatGauge,
    dead_letters: Gauge,
    steps_pending: Family<VerbLabel, Gauge>,
    marked_decisions: Family<MarkLabel, Gauge>,
    overdue_seconds: FloatGauge,
    oldest_owed_seconds: FloatGauge,
    money_spent: Family<MoneyLabels, FloatGauge>,
    money_limit: Family<PeriodLabel, FloatGauge>,
    model_failing: Family<ModelLabel, Gauge>,
    standing_by: Gauge,
    resident_memory_bytes: Gauge,
    ready: Gauge,
    platform_connected: Family<WorkspaceLabel, Gauge>,
    channels_behind: Family<PlatformLabel, Gauge>,
    channels_failing: Family<PlatformLabel, Gauge>,
}

/// Gauges that are read from the store on request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GaugeSnapshot {
    /// Pending steps by verb.
    pub pending: Vec<(String, u64)>,
    /// Dead letters that wait for an operator.
    pub dead_letters: u64,
    /// How many decisions people have marked, by mark.
    pub marks: Vec<(Mark, u64)>,
    /// How long the oldest step has been due.
    pub overdue: SignedDuration,
    /// How long the oldest message has waited that is owed an answer.
    pub oldest_owed: SignedDuration,
    /// What models cost in each workspace within a period, in micros of the currency.
    pub spent: Vec<(WorkspaceId, BudgetPeriod, u64)>,
    /// What they may cost at most.
    pub limits: Vec<(BudgetPeriod, u64)>,
}

/// A period that a limit on money is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetPeriod {
    /// 24 hours.
    Day,
    /// 30 days.
    Month,
}

impl BudgetPeriod {
    fn name(self) -> &'static str {
        match self {
            BudgetPeriod::Day => "day",
            BudgetPeriod::Month => "month",
        }
    }
}

/// How the process and its connections stand when the metrics are asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readiness {
    /// As `/ready` says.
    pub is_ready: bool,
    /// The workspaces, and whether they are connected.
    pub connected: Vec<(WorkspaceId, bool)>,
    /// By platform: how many channels have not been read since the last gap, and how many cannot be read.
    pub backfills: Vec<(&'static str, usize, usize)>,
    /// The models that fail, by their names.
    pub failing_models: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HeardLabels {
    author: LabelValue,
    arrival: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerbLabel {
    verb: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WorkspaceLabel {
    workspace: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MarkLabel {
    mark: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PlatformLabel {
    platform: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabels {
    ended: LabelValue,
    gate: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ModelCallLabels {
    verb: String,
    model: String,
    end: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ModelLabel {
    model: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MoneyLabels {
    workspace: String,
    period: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PeriodLabel {
    period: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabels {
    model: String,
    kind: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PostLabels {
    addressed: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MalformedInputLabels {
    platform: LabelValue,
    kind: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ExternalToolLabels {
    server: String,
    end: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PanicLabels {
    platform: LabelValue,
    task: LabelValue,
}

/// What a platform sent that fits no type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MalformedInput {
    /// A frame of its connection that holds no event.
    Frame,
    Event,
    /// A slash command, or another interaction of a user.
    Command,
    /// The response to a call.
    Response,
}

impl MalformedInput {
    pub fn name(self) -> &'static str {
        match self {
            MalformedInput::Frame => "frame",
            MalformedInput::Event => "event",
            MalformedInput::Command => "command",
            MalformedInput::Response => "response",
        }
    }
}

/// How a call of one of the operator's tools ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExternalCallEnd {
    Answered,
    /// The tool answered that it failed.
    Failed,
    TimedOut,
    Unavailable,
}

impl ExternalCallEnd {
    pub fn name(self) -> &'static str {
        match self {
            ExternalCallEnd::Answered => "answered",
            ExternalCallEnd::Failed => "failed",
            ExternalCallEnd::TimedOut => "timed_out",
            ExternalCallEnd::Unavailable => "unavailable",
        }
    }
}

/// A task of a platform, in which a defect showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlatformTask {
    Connection,
    Event,
    Command,
    Sync,
    Backfill,
    Keeper,
}

impl PlatformTask {
    pub fn name(self) -> &'static str {
        match self {
            PlatformTask::Connection => "connection",
            PlatformTask::Event => "event",
            PlatformTask::Command => "command",
            PlatformTask::Sync => "sync",
            PlatformTask::Backfill => "backfill",
            PlatformTask::Keeper => "keeper",
        }
    }
}

/// A value from a closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct LabelValue(&'static str);

impl EncodeLabelValue for LabelValue {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> Result<(), std::fmt::Error> {
        self.0.encode(encoder)
    }
}

impl Metrics {
    pub fn record_heard(&self, author: AuthorKind, arrival: Arrival) {
        let author = LabelValue(match author {
            AuthorKind::Human => "human",
            AuthorKind::Bot => "bot",
            AuthorKind::Persona => "persona",
        });
        let arrival = LabelValue(match arrival {
            Arrival::Live => "live",
            Arrival::Backfilled | Arrival::BackfilledAnswered => "caught_up",
        });
        self.heard.get_or_create(&HeardLabels { author, arrival }).inc();
    }

    /// From a message's arrival until it was committed.
    pub fn record_hear_duration(&self, since: Instant) {
        self.hear_seconds.observe(since.elapsed().as_secs_f64());
    }

    /// A step was claimed this long after it was due.
    pub fn record_claim(&self, verb: &str, lateness: SignedDuration) {
        let label = VerbLabel { verb: verb.to_owned() };
        let lateness = lateness.max(SignedDuration::ZERO).as_secs_f64();
        self.step_lateness_seconds.get_or_create(&label).observe(lateness);
    }

    pub fn record_step(&self, verb: &str, took: SignedDuration) {
        let label = VerbLabel { verb: verb.to_owned() };
        self.step_seconds.get_or_create(&label).observe(took.as_secs_f64());
    }

    pub fn record_decision(&self, ended: DecisionResult, gate: Option<Gate>) {
        let closed = DecisionLabels {
            ended: LabelValue(ended.name()),
            gate: LabelValue(gate.map_or("none", Gate::name)),
        };
        self.decisions.get_or_create(&closed).inc();
    }

    pub fn record_model_call(&self, attempt: &Attempt) {
        let model = attempt.model.to_string();
        let called = ModelCallLabels {
            verb: attempt.verb.to_string(),
            model: model.clone(),
            end: LabelValue(attempt.result.name()),
        };
        self.model_calls.get_or_create(&called).inc();
        let of_model = ModelLabel { model: model.clone() };
        self.model_seconds.get_or_create(&of_model).observe(attempt.latency.as_secs_f64());
        if let Some(price) = attempt.price {
            self.model_cost.get_or_create(&of_model).inc_by(price.micros as f64 / 1e6);
        }
        let usage = attempt.usage;
        for (kind, count) in [
            ("input", usage.input_tokens.saturating_sub(usage.cached_tokens)),
            ("cached_input", usage.cached_tokens),
            ("output", usage.output_tokens),
        ] {
            let label = TokenLabels { model: model.clone(), kind: LabelValue(kind) };
            self.model_tokens.get_or_create(&label).inc_by(count);
        }
    }

    /// A message was posted; `is_owed` says whether it answers a mention.
    pub fn record_post(&self, is_owed: bool) {
        let addressed = LabelValue(if is_owed { "true" } else { "false" });
        self.posts.get_or_create(&PostLabels { addressed }).inc();
    }

    /// A platform sent something that fits no type.
    pub fn record_malformed(&self, platform: &'static str, input: MalformedInput) {
        let (platform, kind) = (LabelValue(platform), LabelValue(input.name()));
        self.malformed_input.get_or_create(&MalformedInputLabels { platform, kind }).inc();
    }

    /// A tool of one of the operator's servers, by its name in the settings, was called.
    pub fn record_external_call(&self, server: &str, end: ExternalCallEnd) {
        let (server, end) = (server.to_owned(), LabelValue(end.name()));
        self.external_tool_calls.get_or_create(&ExternalToolLabels { server, end }).inc();
    }

    /// A task of a platform had a defect.
    pub fn record_panic(&self, platform: &'static str, task: PlatformTask) {
        let (platform, task) = (LabelValue(platform), LabelValue(task.name()));
        self.panics.get_or_create(&PanicLabels { platform, task }).inc();
    }

    /// A mention was answered this long after it.
    pub fn record_mention_answer(&self, after: SignedDuration) {
        self.mention_answer_seconds.observe(after.as_secs_f64());
    }

    /// An unsolicited post was made this long after the newest message that it had seen.
    pub fn record_unsolicited_delay(&self, after: SignedDuration) {
        self.unsolicited_delay_seconds.observe(after.as_secs_f64());
    }

    /// Startup took this long.
    pub fn record_start(&self, after: std::time::Duration) {
        self.start_seconds.set(after.as_secs_f64());
    }

    pub fn record_backup(&self, at: Timestamp) {
        self.last_backup_seconds.set(at.as_second() as f64);
    }

    /// How often a backup is made.
    pub fn set_backup_interval(&self, interval: SignedDuration) {
        self.backup_interval_seconds.set(interval.as_secs_f64());
    }

    /// This process waits for another one to end.
    pub fn set_standing_by(&self, stands_by: bool) {
        self.standing_by.set(i64::from(stands_by));
    }

    /// When the last scheduled backup was made, if one is known.
    pub fn last_backup(&self) -> Option<Timestamp> {
        let seconds = self.last_backup_seconds.get();
        // Before the first one, the figure is 0 or 1.
        (seconds > 1.0).then(|| Timestamp::from_second(seconds as i64).ok()).flatten()
    }

    /// The names of all families of metrics.
    pub fn families(&self) -> &[String] {
        &self.families
    }

    /// All metrics as OpenMetrics text. A snapshot, if any, updates the gauges that it covers.
    pub fn to_openmetrics(&self, snapshot: Option<&GaugeSnapshot>) -> String {
        if let Some(snapshot) = snapshot {
            self.set_gauges(snapshot);
        }
        self.resident_memory_bytes.set(resident_memory_bytes().unwrap_or(0));
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("writing to a string does not fail");
        text
    }

    /// The same in the older text format, for readers that do not ask for OpenMetrics, such as `promtool check metrics`: it
    /// names a counter with its suffix and knows neither infos nor units.
    pub fn to_plain_text(&self, snapshot: Option<&GaugeSnapshot>) -> String {
        let text = self.to_openmetrics(snapshot);
        let lines: Vec<&str> = text.lines().collect();
        let kinds = lines.iter().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
        let kinds: BTreeMap<&str, &str> = kinds.collect();
        let described = |line: &str| -> Option<String> {
            let (mark, rest) = line.strip_prefix("# ")?.split_once(' ')?;
            let (name, rest) = rest.split_once(' ')?;
            let kind = kinds.get(name).copied().unwrap_or("untyped");
            let (suffix, known_kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                kind => ("", kind),
            };
            match mark {
                "HELP" => Some(format!("# HELP {name}{suffix} {rest}\n")),
                "TYPE" => Some(format!("# TYPE {name}{suffix} {known_kind}\n")),
                _ => None,
            }
        };
        let line = |line: &&str| match line.starts_with('#') {
            true => described(line),
            false => Some(format!("{line}\n")),
        };
        lines.iter().filter_map(line).collect()
    }

    /// Sets what `/ready` says, too.
    pub fn set_readiness(&self, readiness: &Readiness) {
        let whole = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.ready.set(i64::from(readiness.is_ready));
        for (workspace, is_connected) in &readiness.connected {
            let label = WorkspaceLabel { workspace: workspace.to_string() };
            self.platform_connected.get_or_create(&label).set(i64::from(*is_connected));
        }
        for (platform, behind, failing) in &readiness.backfills {
            let label = PlatformLabel { platform: LabelValue(platform) };
            self.channels_behind.get_or_create(&label).set(whole(*behind));
            self.channels_failing.get_or_create(&label).set(whole(*failing));
        }
        // One that works again, or is used no more, has no figure.
        self.model_failing.clear();
        for model in &readiness.failing_models {
            self.model_failing.get_or_create(&ModelLabel { model: model.clone() }).set(1);
        }
    }

    fn set_gauges(&self, snapshot: &GaugeSnapshot) {
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
        // A limit may have been taken away by a new config.
        self.money_limit.clear();
        for (period, micros) in &snapshot.limits {
            let label = PeriodLabel { period: LabelValue(period.name()) };
            self.money_limit.get_or_create(&label).set(*micros as f64 / 1e6);
        }
    }
}

impl Default for Metrics {
    fn default() -> Self {
        /// 1 ms to 4 min, including the 20 ms target for lateness.
        fn work_histogram() -> Histogram {
            let goal = std::iter::once(0.02);
            let finer = exponential_buckets(0.001, 4.0, 2).chain(goal);
            Histogram::new(finer.chain(exponential_buckets(0.064, 4.0, 7)))
        }
        /// 50 µs to 13 s.
        fn fast_histogram() -> Histogram {
            Histogram::new(exponential_buckets(0.000_05, 4.0, 10))
        }
        /// 0.5 s to 1 h, including the 1.5 s target for answers.
        fn human_histogram() -> Histogram {
            let finer = [0.5, 1.0, 1.5].into_iter();
            Histogram::new(finer.chain(exponential_buckets(2.0, 2.0, 12)))
        }
        let mut metrics = Self {
            registry: Registry::with_prefix("aizuchi"),
            families: Vec::new(),
            heard: Family::default(),
            hear_seconds: fast_histogram(),
            context_seconds: fast_histogram(),
            step_lateness_seconds: Family::new_with_constructor(
                work_histogram as fn() -> Histogram,
            ),
            step_seconds: Family::new_with_constructor(work_histogram as fn() -> Histogram),
            decisions: Family::default(),
            model_calls: Family::default(),
            model_seconds: Family::new_with_constructor(work_histogram as fn() -> Histogram),
            model_tokens: Family::default(),
            model_cost: Family::default(),
            posts: Family::default(),
            malformed_input: Family::default(),
            panics: Family::default(),
            external_tool_calls: Family::default(),
            mention_answer_seconds: human_histogram(),
            unsolicited_delay_seconds: human_histogram(),
            unsolicited_soon_after_unseen: Counter::default(),
            dead_letters: Gauge::default(),
            wake_ups: Counter::default(),
            start_seconds: Gauge::default(),
            last_backup_seconds: Gauge::default(),
            backup_interval_seconds: Gauge::default(),
            steps_pending: Family::default(),
            marked_decisions: Family::default(),
            overdue_seconds: Gauge::default(),
            oldest_owed_seconds: Gauge::default(),
            money_spent: Family::default(),
            money_limit: Family::default(),
            model_failing: Family::default(),
            standing_by: Gauge::default(),
            resident_memory_bytes: Gauge::default(),
            ready: Gauge::default(),
            platform_connected: Family::default(),
            channels_behind: Family::default(),
            channels_failing: Family::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let registry = &mut self.registry;
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "What is running", version);
        let mut families =
            vec!["aizuchi_build".to_owned(), "aizuchi_resident_memory_bytes".to_owned()];
        let mut counts = |name: &str, help: &str, counter: &dyn Registrable| {
            families.push(format!("aizuchi_{name}"));
            counter.register(registry, name, help, None);
        };
        counts("messages_heard", "Lines heard for the first time", &self.heard);
        counts(
            "decisions",
            "Decisions closed, by how they ended and by which gate",
            &self.decisions,
        );
        counts("model_calls", "Model calls", &self.model_calls);
        counts("model_tokens", "Tokens used", &self.model_tokens);
        counts("model_cost", "What models cost, in the currency of the prices", &self.model_cost);
        counts("posts", "What it said", &self.posts);
        counts(
            "malformed_input",
            "What a platform sent that could not be read, by kind",
            &self.malformed_input,
        );
        counts("panics", "Defects of the program that ended a piece of work", &self.panics);
        counts(
            "external_tool_calls",
            "Calls of the operator's tools, by server and by how they ended",
            &self.external_tool_calls,
        );
        counts(
            "unsolicited_soon_after_unseen",
            "Unsolicited posts that landed within 5 s after a line they had not seen",
            &self.unsolicited_soon_after_unseen,
        );
        counts("wake_ups", "How often the runner had a look", &self.wake_ups);
        counts("dead_letters", "What was given up and waits for a person", &self.dead_letters);
        counts("ready", "1 if /ready answers 200", &self.ready);
        counts(
            "platform_connected",
            "1 if the workspace is connected, by workspace",
            &self.platform_connected,
        );
        counts(
            "channels_behind",
            "Channels that have not been read since the last gap, by platform",
            &self.channels_behind,
        );
        counts(
            "channels_failing",
            "Channels whose history could not be read when it was tried last, by platform",
            &self.channels_failing,
        );
        counts(
            "money_spent",
            "What models cost within the last 24 hours and 30 days, by workspace",
            &self.money_spent,
        );
        counts("money_limit", "What they may cost at most, where that is set", &self.money_limit);
        counts("model_failing", "1 for each model whose last calls failed", &self.model_failing);
        counts("standing_by", "1 if it waits for another process to end", &self.standing_by);
        counts("marked_decisions", "Decisions that people have marked", &self.marked_decisions);
        counts("steps_pending", "Steps that wait", &self.steps_pending);
        let mut seconds = |name: &str, help: &str, figure: &dyn Registrable| {
            families.push(format!("aizuchi_{name}_seconds"));
            figure.register(registry, name, help, Some(Unit::Seconds));
        };
        seconds("hear", "From a line's arrival until it was safe", &self.hear_seconds);
        seconds("context", "Reading a context", &self.context_seconds);
        seconds("mention_answer", "From a mention to its answer", &self.mention_answer_seconds);
        seconds(
            "unsolicited_delay",
            "From the newest line it had seen until it joined in",
            &self.unsolicited_delay_seconds,
        );
        seconds(
            "step_lateness",
            "From when a step fell due until it was taken up",
            &self.step_lateness_seconds,
        );
        seconds("step", "Working at a step", &self.step_seconds);
        seconds("model", "A model call, tries included", &self.model_seconds);
        seconds("start", "From the start until everything was ready", &self.start_seconds);
        seconds(
            "last_backup_timestamp",
            "When the last scheduled backup was made, in epoch seconds; 0 if none was",
            &self.last_backup_seconds,
        );
        seconds(
            "backup_interval",
            "How often a backup is made; 0 if none is scheduled",
            &self.backup_interval_seconds,
        );
        seconds("overdue", "How long the oldest step has been due", &self.overdue_seconds);
        seconds(
            "oldest_owed",
            "How long the oldest message has waited that is owed an answer",
            &self.oldest_owed_seconds,
        );
        let memory = &self.resident_memory_bytes;
        memory.register(registry, "resident_memory", "Memory in use", Some(Unit::Bytes));
        self.families = families;
    }
}

/// Anything that can be registered.
trait Registrable {
    fn register(&self, registry: &mut Registry, name: &str, help: &str, unit: Option<Unit>);
}

impl<M: Metric + Clone> Registrable for M {
    fn register(&self, registry: &mut Registry, name: &str, help: &str, unit: Option<Unit>) {
        match unit {
            Some(unit) => registry.register_with_unit(name, help, unit, self.clone()),
            None => registry.register(name, help, self.clone()),
        }
    }
}

/// The resident memory according to proc(5); `None` on systems without it.
fn resident_memory_bytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: i64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}
