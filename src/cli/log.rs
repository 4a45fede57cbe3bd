//! Sets up logging to stderr: text on a terminal, JSON otherwise.

use std::collections::HashMap;
use std::fmt::Debug;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use aizuchi_config::logging::{self, LogFormat, LoggingConfig};
use aizuchi_llm::MODEL_CONTENT_TARGET;
use anyhow::Context as _;
use parking_lot::Mutex;
use tracing::field::Field;
use tracing::{Event, Level, Metadata, Subscriber, error};
use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::{Filter, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, reload};

use crate::cli::traces::Traces;
use crate::cli::traces::layer::TraceLayer;

/// The interval at which a trouble of the store that goes on is logged again.
const REPEAT_INTERVAL: Duration = Duration::from_secs(60);
/// How a trouble of the store begins in an error, unless it is about what is written.
const STORE_TROUBLES: [&str; 2] = ["the store is busy: ", "the database cannot be used: "];

/// A handle that replaces the log levels at run time.
pub struct LogLevels(reload::Handle<BoxedFilter, Registry>);

type BoxedFilter = Box<dyn Filter<Registry> + Send + Sync>;

impl LogLevels {
    /// Applies other log levels. `RUST_LOG` still overrides them.
    pub fn replace(&self, logging: &LoggingConfig) -> anyhow::Result<()> {
        self.0.reload(configured_filter(logging)).context("cannot change the levels of the log")
    }
}

/// The filter of the configured levels. `RUST_LOG` overrides them.
fn configured_filter(logging: &LoggingConfig) -> BoxedFilter {
    let level = logging.level.filter();
    // Dependencies may log chat text or secrets at their verbose levels.
    let dependencies = match logging.level {
        logging::LogLevel::Debug => "info",
        logging::LogLevel::Info | logging::LogLevel::Warning => "warn",
        logging::LogLevel::Error | logging::LogLevel::Critical => "error",
    };
    let loggers = logging.loggers.iter().flat_map(|(logger, level)| {
        targets(&logger.0).into_iter().map(|target| format!(",{target}={}", level.filter()))
    });
    // A filter matches targets by prefix, and all crates of this workspace are named `aizuchi…`.
    Box::new(filter(&format!("{dependencies},aizuchi={level}{}", loggers.collect::<String>())))
}

/// Initializes logging from the config, and the layer that exports spans as traces.
pub fn init(logging: &LoggingConfig, traces: Option<&Traces>) -> LogLevels {
    let (filter, levels) = reload::Layer::new(configured_filter(logging));
    let is_terminal = std::io::stderr().is_terminal();
    let layer = layer();
    let spans = traces.map(|traces| {
        let has_content = traces.has_content();
        let is_followed = move |metadata: &Metadata<'_>| TraceLayer::follows(metadata, has_content);
        traces.layer().with_filter(filter_fn(is_followed))
    });
    let layer = match is_json(logging) {
        true => layer.json().with_span_list(false).map_event_format(OnceAMinute::new).boxed(),
        false => {
            let layer = layer.with_ansi(is_terminal && logging.format == LogFormat::Auto);
            layer.map_event_format(OnceAMinute::new).boxed()
        }
    };
    tracing_subscriber::registry().with(layer.with_filter(filter)).with(spans).init();
    std::panic::set_hook(Box::new(|panic| {
        // The panic message may contain chat messages.
        let place = panic.location().map(ToString::to_string);
        error!(place, "a defect in the program");
    }));
    LogLevels(levels)
}

/// Whether the lines of the log are JSON objects.
pub fn is_json(logging: &LoggingConfig) -> bool {
    match logging.format {
        LogFormat::Auto => !std::io::stderr().is_terminal(),
        LogFormat::Text => false,
        LogFormat::Json => true,
    }
}

/// Writes each trouble of the store once a minute and level, whoever logs it: while a disk is full, everything that is to
/// be stored fails. It is no filter, since the layers' filters keep the state of an event that a filter drops by its
/// fields.
struct OnceAMinute<F> {
    format: F,
    logged: Mutex<HashMap<(Level, String), Instant>>,
}

impl<F> OnceAMinute<F> {
    fn new(format: F) -> Self {
        Self { format, logged: Mutex::default() }
    }

    fn is_due(&self, event: &Event<'_>) -> bool {
        let level = *event.metadata().level();
        let Some(trouble) = store_trouble(event).filter(|_| level <= Level::WARN) else {
            return true;
        };
        let (now, mut logged) = (Instant::now(), self.logged.lock());
        logged.retain(|_, at| now.duration_since(*at) < REPEAT_INTERVAL);
        let key = (level, trouble);
        !logged.contains_key(&key) && logged.insert(key, now).is_none()
    }
}

impl<S, N, F> FormatEvent<S, N> for OnceAMinute<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        match self.is_due(event) {
            true => self.format.format_event(context, writer, event),
            false => Ok(()),
        }
    }
}

/// The trouble of the store that an event is about, without what was being done.
fn store_trouble(event: &Event<'_>) -> Option<String> {
    let mut trouble = None;
    event.record(&mut |field: &Field, value: &dyn Debug| {
        if field.name() == "error" {
            let error = format!("{value:?}");
            let starts = STORE_TROUBLES.iter().filter_map(|start| error.find(start));
            trouble = starts.min().map(|start| error[start..].trim_end_matches('"').to_owned());
        }
    });
    trouble
}

/// The log targets of a part of this program. Parts keep the names from when the program was a single crate:
/// `aizuchi::agent` is `aizuchi_agent::agent`, `aizuchi::platform::slack` is `aizuchi_slack`.
fn targets(logger: &str) -> Vec<String> {
    let Some(part) = logger.strip_prefix("aizuchi::") else { return vec![logger.to_owned()] };
    let (first, rest) = part.split_once("::").unwrap_or((part, ""));
    let moved = match (first, rest.split_once("::").unwrap_or((rest, ""))) {
        ("platform", ("slack" | "discord", _)) => vec![format!("aizuchi_{rest}")],
        ("platform", ("", _)) => {
            ["aizuchi_platform", "aizuchi_slack", "aizuchi_discord"].map(String::from).into()
        }
        ("hear", _) => vec!["aizuchi_agent::inbox".to_owned()],
        ("dev", _) => vec!["aizuchi_fakes".to_owned()],
        ("command", _) => vec![part.replacen("command", "aizuchi_actions", 1)],
        ("prompt", _) => vec![format!("aizuchi_llm::{part}")],
        ("config" | "import" | "llm" | "platform" | "store" | "web", _) => {
            vec![format!("aizuchi_{part}")]
        }
        _ => ["agent", "model", "past"].map(|it| format!("aizuchi_{it}::{part}")).into(),
    };
    std::iter::once(logger.to_owned()).chain(moved).collect()
}

/// The levels of `RUST_LOG`, with the targets of each part that it names.
fn rename_targets(levels: &str) -> String {
    let renamed = levels.split(',').flat_map(|directive| {
        let end = directive.find(['=', '[']).unwrap_or(directive.len());
        let (target, rest) = directive.split_at(end);
        targets(target).into_iter().map(move |target| format!("{target}{rest}"))
    });
    renamed.collect::<Vec<_>>().join(",")
}

/// Initializes logging as plain text, for verbs that run in the foreground and end by themselves.
pub fn init_plain(level: &str) {
    let is_terminal = std::io::stderr().is_terminal();
    let layer = layer().with_ansi(is_terminal);
    tracing_subscriber::registry().with(layer.with_filter(filter(level))).init();
}

/// Writes to stderr. If that is a file on a full disk, lines are lost: reporting the error there would panic, so the
/// program continues without a log.
fn layer<S: Subscriber + for<'a> LookupSpan<'a>>()
-> fmt::Layer<S, fmt::format::DefaultFields, fmt::format::Format, fn() -> std::io::Stderr> {
    fmt::layer().with_writer(std::io::stderr as fn() -> _).log_internal_errors(false)
}

/// The filter by target and level. `RUST_LOG` outranks `levels`, and [`is_allowed`] outranks both.
fn filter<S: Subscriber + for<'a> LookupSpan<'a>>(levels: &str) -> impl Filter<S> + use<S> {
    filter_with(std::env::var(EnvFilter::DEFAULT_ENV).ok(), levels)
}

fn filter_with<S: Subscriber + for<'a> LookupSpan<'a>>(
    from_environment: Option<String>,
    levels: &str,
) -> impl Filter<S> + use<S> {
    let from_environment =
        from_environment.filter(|levels| levels.contains(|it: char| it != ',' && it != ' '));
    let from_environment =
        from_environment.and_then(|levels| EnvFilter::try_new(rename_targets(&levels)).ok());
    let filter = from_environment.unwrap_or_else(|| EnvFilter::new(levels));
    filter.and(filter_fn(is_allowed))
}

/// Whether an event or a span may be logged at all. Only this program's own crates, which log neither chat messages nor
/// secrets, may be verbose. Dependencies log what they handle: whole requests, lines of sockets, URLs with tickets.
fn is_allowed(metadata: &Metadata<'_>) -> bool {
    if metadata.target() == MODEL_CONTENT_TARGET {
        return false;
    }
    let (crate_name, module) =
        metadata.target().split_once("::").unwrap_or((metadata.target(), ""));
    let is_own = crate_name == "aizuchi" || crate_name.starts_with("aizuchi_");
    // These crates log parts of requests and responses even in warnings.
    let is_silent = ["hyper", "rmcp"].contains(&crate_name);
    let most_verbose = match (crate_name, module) {
        // SQL statements are constants. Their parameters are not logged.
        ("sqlx", "query") => Level::DEBUG,
        _ => Level::INFO,
    };
    is_own || (!is_silent && *metadata.level() <= most_verbose)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use aizuchi_store::StoreError;
    use tracing::span::{Attributes, Id};
    use tracing::{event, span, warn};
    use tracing_subscriber::layer::Context;

    use super::*;

    #[test]
    fn loggers_match_the_targets_of_their_crates() {
        assert_eq!(targets("sqlx"), ["sqlx"]);
        let agent = ["aizuchi_agent::agent", "aizuchi_model::agent", "aizuchi_past::agent"];
        assert_eq!(targets("aizuchi::agent")[1..], agent);
        assert_eq!(targets("aizuchi::store::database")[1..], ["aizuchi_store::database"]);
        assert_eq!(targets("aizuchi::command::parse")[1..], ["aizuchi_actions::parse"]);
        assert_eq!(
            targets("aizuchi::platform"),
            ["aizuchi::platform", "aizuchi_platform", "aizuchi_slack", "aizuchi_discord"]
        );
        let socket = "aizuchi::platform::slack::socket";
        assert_eq!(targets(socket), [socket, "aizuchi_slack::socket"]);
        assert_eq!(targets("aizuchi::hear"), ["aizuchi::hear", "aizuchi_agent::inbox"]);
        assert_eq!(
            targets("aizuchi::platform::slack"),
            ["aizuchi::platform::slack", "aizuchi_slack"]
        );
    }

    #[test]
    fn levels_from_the_environment_match_the_targets_of_their_crates() {
        for (levels, renamed) in [
            ("debug", "debug"),
            ("info,sqlx=warn", "info,sqlx=warn"),
            ("aizuchi::web=debug,info", "aizuchi::web=debug,aizuchi_web=debug,info"),
            ("aizuchi::llm", "aizuchi::llm,aizuchi_llm"),
            (
                "aizuchi::hear[heard]=trace",
                "aizuchi::hear[heard]=trace,aizuchi_agent::inbox[heard]=trace",
            ),
        ] {
            assert_eq!(rename_targets(levels), renamed);
            assert!(EnvFilter::try_new(renamed).is_ok(), "{renamed}");
        }
    }

    /// The targets and levels of the events that a filter lets through.
    fn logged(from_environment: &str) -> BTreeSet<(&'static str, Level)> {
        struct Seen(Arc<Mutex<BTreeSet<(&'static str, Level)>>>);
        impl<S: Subscriber> Layer<S> for Seen {
            fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
                self.0.lock().insert((event.metadata().target(), *event.metadata().level()));
            }
            fn on_new_span(&self, span: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
                self.0.lock().insert((span.metadata().target(), *span.metadata().level()));
            }
        }
        let seen: Arc<Mutex<BTreeSet<_>>> = Arc::default();
        let filter = filter_with(Some(from_environment.to_owned()), "info");
        let log = tracing_subscriber::registry().with(Seen(Arc::clone(&seen)).with_filter(filter));
        tracing::subscriber::with_default(log, || {
            macro_rules! emit {
                ($($target:literal)*) => {$(
                    emit!($target, ERROR WARN INFO DEBUG TRACE);
                )*};
                ($target:literal, $($level:ident)*) => {$(
                    event!(target: $target, Level::$level, "text");
                    let _ = span!(target: $target, Level::$level, "span", text = "text");
                )*};
            }
            emit!("aizuchi::cli" "aizuchi_llm::model_content" "aizuchi_agent::runner" "aizuchi_slack::socket"
                "aizuchist" "hyper::proto::h1::io" "h2::codec"
                "hyper_util::client" "reqwest::connect" "rustls::conn" "tungstenite::protocol"
                "tokio_tungstenite" "tokio_websockets" "twilight_gateway::shard" "sqlx::query"
                "sqlx::explain" "sqlx_postgres::connection" "log" "mio::poll" "axum::rejection");
        });
        // Another test may be rebuilding what the subscribers are interested in, and hold this one meanwhile.
        std::mem::take(&mut *seen.lock())
    }

    #[test]
    fn no_levels_in_the_environment_are_the_default() {
        for levels in ["", " ", ","] {
            let own = logged(levels).into_iter().filter(|(target, _)| *target == "aizuchi::cli");
            let own: Vec<Level> = own.map(|(_, level)| level).collect();
            assert_eq!(own, [Level::ERROR, Level::WARN, Level::INFO], "{levels:?}");
        }
    }

    /// A full disk is one line a minute at each level, whatever cannot be stored because of it.
    #[test]
    fn a_standing_trouble_of_the_store_is_logged_once() {
        struct Written(Arc<Mutex<Vec<u8>>>);
        impl std::io::Write for Written {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.lock().extend_from_slice(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let written: Arc<Mutex<Vec<u8>>> = Arc::default();
        let lines = || String::from_utf8_lossy(&written.lock()).lines().count();
        let writer = Arc::clone(&written);
        let layer = fmt::layer().with_writer(move || Written(Arc::clone(&writer)));
        let layer = layer.json().map_event_format(OnceAMinute::new).with_filter(filter("info"));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let full = StoreError::Busy("the disk is full".to_owned());
            let broken = StoreError::Broken("the disk reports an error".to_owned());
            for number in 0..500 {
                // A warning hides no error.
                warn!(
                    error = format!("{:#}", anyhow::anyhow!("{full}").context("cannot go on")),
                    number, "a step failed"
                );
                error!(error = %full, "nothing can be stored");
                warn!(error = format!("an event could not be stored: {full}"), "disconnected");
                warn!(%number, error = %broken, "polling failed");
            }
            assert_eq!(lines(), 3);
            warn!(number = %full, "that is no error");
            warn!(error = "the model is busy", "and that is no trouble of the store");
            warn!(error = "the model is busy", "and that is no trouble of the store");
            assert_eq!(lines(), 6);
        });
    }

    #[test]
    fn dependencies_are_never_verbose_whatever_the_levels_say() {
        for levels in [
            "trace",
            "TRACE",
            "5",
            "debug",
            "tungstenite=trace",
            "tungstenite,hyper,log,reqwest",
            "hyper=trace,log=trace,sqlx=trace,sqlx::explain=debug",
            "[{}]=trace",
            "[span]=trace",
            "[{text}]=trace",
            "[span{text=text}]=trace,twilight_gateway=debug",
            "off,h2=trace",
            "rustls[span]=trace",
            "aizuchist=trace",
        ] {
            for (target, level) in logged(levels) {
                let most_verbose = match target {
                    "aizuchi::cli" | "aizuchi_agent::runner" | "aizuchi_slack::socket" => {
                        Level::TRACE
                    }
                    "sqlx::query" => Level::DEBUG,
                    "hyper::proto::h1::io" => {
                        panic!("{levels}: {target} is logged")
                    }
                    _ => Level::INFO,
                };
                assert!(level <= most_verbose, "{levels}: {target} is logged at {level}");
            }
        }
        assert!(logged("trace").contains(&("aizuchi_agent::runner", Level::TRACE)));
        assert!(logged("trace").contains(&("tungstenite::protocol", Level::INFO)));
        assert!(logged("off,sqlx::query=debug").contains(&("sqlx::query", Level::DEBUG)));
    }
}
