//! Registers all metrics with their names and help texts.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry, Unit};

use crate::metrics::Metrics;

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

/// A metric that can be registered.
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
