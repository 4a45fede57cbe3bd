//! Metrics for operators, in OpenMetrics format. They count committed changes and actual events. No decision depends
//! on them, and they contain no chat text or names.

pub mod labels;
pub mod gauges;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use aizuchi_model::chat::{Arrival, AuthorKind};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{Attempt, DecisionResult};
use jiff::{SignedDuration, Timestamp};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry, Unit};

use crate::metrics::gauges::GaugeSnapshot;
use crate::metrics::labels::{
    DecisionLabels, ExternalCallEnd, ExternalToolLabels, HeardLabels, LabelValue, MalformedInput,
    MalformedInputLabels, MarkLabel, ModelCallLabels, ModelLabel, MoneyLabels, PanicLabels,
    PeriodLabel, PlatformLabel, PlatformTask, PostLabels, TokenLabels, VerbLabel, WorkspaceLabel,
};

type CountersBy<L> = Family<L, Counter>;
type GaugesBy<L> = Family<L, Gauge>;
type HistogramsBy<L> = Family<L, Histogram, fn() -> Histogram>;
/// A counter of fractional amounts, such as money.
type FloatCounter = Counter<f64, AtomicU64>;
type FloatGauge = Gauge<f64, AtomicU64>;

/// Declares the metrics. A field has the name of its metric; `_seconds` and `_bytes` at its end are the unit.
macro_rules! metrics {
    (@new) => { Default::default() };
    (@new $new:expr) => { $new };
    ($($vis:vis $field:ident: $type:ty $(= $new:expr)?, $help:literal;)*) => {
        pub struct Metrics {
            registry: Registry,
            /// The names of all families; families without a value yet are left out of the text.
            families: Vec<String>,
            $($vis $field: $type,)*
        }

        impl Default for Metrics {
            fn default() -> Self {
                let mut metrics = Self {
                    registry: Registry::with_prefix("aizuchi"),
                    families: Vec::new(),
                    $($field: metrics!(@new $($new)?),)*
                };
                let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
                metrics.register("build", "What is running", version);
                $(metrics.register(stringify!($field), $help, metrics.$field.clone());)*
                metrics
            }
        }
    };
}

metrics! {
    messages_heard: CountersBy<HeardLabels>, "Lines heard for the first time";
    decisions: CountersBy<DecisionLabels>, "Decisions closed, by how they ended and by which gate";
    model_calls: CountersBy<ModelCallLabels>, "Model calls";
    model_tokens: CountersBy<TokenLabels>, "Tokens used";
    model_cost: Family<ModelLabel, FloatCounter>, "What models cost, in the currency of the prices";
    posts: CountersBy<PostLabels>, "What it said";
    malformed_input: CountersBy<MalformedInputLabels>, "What a platform sent that could not be read, by kind";
    panics: CountersBy<PanicLabels>, "Defects of the program that ended a piece of work";
    external_tool_calls: CountersBy<ExternalToolLabels>,
        "Calls of the operator's tools, by server and by how they ended";
    pub unsolicited_soon_after_unseen: Counter,
        "Unsolicited posts that landed within 5 s after a line they had not seen";
    pub wake_ups: Counter, "How often the runner had a look";
    dead_letters: Gauge, "What was given up and waits for a person";
    ready: Gauge, "1 if /ready answers 200";
    platform_connected: GaugesBy<WorkspaceLabel>, "1 if the workspace is connected, by workspace";
    channels_behind: GaugesBy<PlatformLabel>, "Channels that have not been read since the last gap, by platform";
    channels_failing: GaugesBy<PlatformLabel>,
        "Channels whose history could not be read when it was tried last, by platform";
    money_spent: Family<MoneyLabels, FloatGauge>, "What models cost within the last 24 hours and 30 days, by workspace";
    money_limit: Family<PeriodLabel, FloatGauge>, "What they may cost at most, where that is set";
    model_failing: GaugesBy<ModelLabel>, "1 for each model whose last calls failed";
    standing_by: Gauge, "1 if it waits for another process to end";
    marked_decisions: GaugesBy<MarkLabel>, "Decisions that people have marked";
    steps_pending: GaugesBy<VerbLabel>, "Steps that wait";
    hear_seconds: Histogram = fast_histogram(), "From a line's arrival until it was safe";
    pub context_seconds: Histogram = fast_histogram(), "Reading a context";
    mention_answer_seconds: Histogram = human_histogram(), "From a mention to its answer";
    unsolicited_delay_seconds: Histogram = human_histogram(), "From the newest line it had seen until it joined in";
    step_lateness_seconds: HistogramsBy<VerbLabel> = Family::new_with_constructor(work_histogram),
        "From when a step fell due until it was taken up";
    step_seconds: HistogramsBy<VerbLabel> = Family::new_with_constructor(work_histogram), "Working at a step";
    model_seconds: HistogramsBy<ModelLabel> = Family::new_with_constructor(work_histogram),
        "A model call, tries included";
    start_seconds: FloatGauge, "From the start until everything was ready";
    last_backup_timestamp_seconds: FloatGauge,
        "When the last scheduled backup was made, in epoch seconds; 0 if none was";
    backup_interval_seconds: FloatGauge, "How often a backup is made; 0 if none is scheduled";
    overdue_seconds: FloatGauge, "How long the oldest step has been due";
    oldest_owed_seconds: FloatGauge, "How long the oldest message has waited that is owed an answer";
    resident_memory_bytes: Gauge, "Memory in use";
}

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

impl Metrics {
    fn register(&mut self, name: &str, help: &str, metric: impl Metric) {
        self.families.push(format!("aizuchi_{name}"));
        match name.rsplit_once('_') {
            Some((name, "seconds")) => {
                self.registry.register_with_unit(name, help, Unit::Seconds, metric);
            }
            Some((name, "bytes")) => {
                self.registry.register_with_unit(name, help, Unit::Bytes, metric);
            }
            Some(_) | None => self.registry.register(name, help, metric),
        }
    }

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
        self.messages_heard.get_or_create(&HeardLabels { author, arrival }).inc();
    }

    /// Records the time from a message's arrival to its commit.
    pub fn record_hear_duration(&self, since: Instant) {
        self.hear_seconds.observe(since.elapsed().as_secs_f64());
    }

    /// Records how long after its due time a step was claimed.
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

    /// Records a post; `is_owed` says whether it answers a mention.
    pub fn record_post(&self, is_owed: bool) {
        let addressed = LabelValue(if is_owed { "true" } else { "false" });
        self.posts.get_or_create(&PostLabels { addressed }).inc();
    }

    /// Records platform input that could not be parsed.
    pub fn record_malformed(&self, platform: &'static str, input: MalformedInput) {
        let (platform, kind) = (LabelValue(platform), LabelValue(input.name()));
        self.malformed_input.get_or_create(&MalformedInputLabels { platform, kind }).inc();
    }

    /// Records a call to a tool of one of the operator's servers, which is named as in the settings.
    pub fn record_external_call(&self, server: &str, end: ExternalCallEnd) {
        let (server, end) = (server.to_owned(), LabelValue(end.name()));
        self.external_tool_calls.get_or_create(&ExternalToolLabels { server, end }).inc();
    }

    /// Records a panic in a platform's task.
    pub fn record_panic(&self, platform: &'static str, task: PlatformTask) {
        let (platform, task) = (LabelValue(platform), LabelValue(task.name()));
        self.panics.get_or_create(&PanicLabels { platform, task }).inc();
    }

    /// Records how long after a mention it was answered.
    pub fn record_mention_answer(&self, after: SignedDuration) {
        self.mention_answer_seconds.observe(after.as_secs_f64());
    }

    /// Records the time from the newest message that an unsolicited post had seen to the post.
    pub fn record_unsolicited_delay(&self, after: SignedDuration) {
        self.unsolicited_delay_seconds.observe(after.as_secs_f64());
    }

    /// Records the duration of startup.
    pub fn record_start(&self, after: std::time::Duration) {
        self.start_seconds.set(after.as_secs_f64());
    }

    pub fn record_backup(&self, at: Timestamp) {
        self.last_backup_timestamp_seconds.set(at.as_second() as f64);
    }

    /// Sets the interval between scheduled backups.
    pub fn set_backup_interval(&self, interval: SignedDuration) {
        self.backup_interval_seconds.set(interval.as_secs_f64());
    }

    /// Sets whether this process waits for another one to end, and could take over, since it can look at the database.
    pub fn set_standing_by(&self, stands_by: bool) {
        self.standing_by.set(i64::from(stands_by));
    }

    /// When the last scheduled backup was made, if one is known.
    pub fn last_backup(&self) -> Option<Timestamp> {
        let seconds = self.last_backup_timestamp_seconds.get();
        // Before the first backup, the value is 0 or 1.
        (seconds > 1.0).then(|| Timestamp::from_second(seconds as i64).ok()).flatten()
    }

    /// When the next scheduled backup is due, which may be past. `None` if none is scheduled.
    pub fn next_backup(&self) -> Option<Timestamp> {
        let interval = self.backup_interval_seconds.get();
        let due = self.last_backup_timestamp_seconds.get() + interval;
        (interval > 0.0).then(|| Timestamp::from_second(due as i64).ok()).flatten()
    }

    /// The names of all metric families.
    pub fn families(&self) -> &[String] {
        &self.families
    }

    /// Formats all metrics as OpenMetrics text. A snapshot, if any, updates the gauges that it covers.
    pub fn to_openmetrics(&self, snapshot: Option<&GaugeSnapshot>) -> String {
        if let Some(snapshot) = snapshot {
            self.set_gauges(snapshot);
        }
        self.resident_memory_bytes.set(resident_memory_bytes().unwrap_or(0));
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("writing to a string does not fail");
        text
    }

    /// Formats all metrics in the older Prometheus text format, for readers that do not ask for OpenMetrics, such as
    /// `promtool check metrics`. It names a counter with its suffix and supports neither infos nor units.
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
}
/// The resident memory according to proc(5); `None` on systems without it.
fn resident_memory_bytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: i64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}
