//! The log: lines for people on a terminal, JSON elsewhere, always on stderr.

use std::io::IsTerminal;

use tracing::{Metadata, Subscriber};
use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::layer::{Filter, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt};

use crate::config::logging::{self, LogFormat, LoggingConfig};

/// Logs as the config says; `RUST_LOG` outranks its levels.
pub fn init(logging: &LoggingConfig) {
    let level = logging.level.filter();
    // Other people's code may tell more than it should when it tells much.
    let others = match logging.level {
        logging::LogLevel::Debug => "info",
        logging::LogLevel::Info | logging::LogLevel::Warning => "warn",
        logging::LogLevel::Error | logging::LogLevel::Critical => "error",
    };
    let loggers = logging.loggers.iter().flat_map(|(logger, level)| {
        targets(&logger.0).into_iter().map(|target| format!(",{target}={}", level.filter()))
    });
    // The crates of this program are all named `aizuchi…`, and a target is matched by its beginning.
    let filter = filter(&format!("{others},aizuchi={level}{}", loggers.collect::<String>()));
    let is_terminal = std::io::stderr().is_terminal();
    let lines = fmt::layer().with_writer(std::io::stderr);
    let log = tracing_subscriber::registry();
    match logging.format {
        LogFormat::Auto if is_terminal => {
            log.with(lines.with_ansi(true).with_filter(filter)).init()
        }
        LogFormat::Text => log.with(lines.with_ansi(false).with_filter(filter)).init(),
        LogFormat::Auto | LogFormat::Json => {
            log.with(lines.json().with_span_list(false).with_filter(filter)).init()
        }
    }
}

/// The log targets of a part of this program, whichever of its crates has it: `aizuchi::agent` is
/// `aizuchi_core::agent`, `aizuchi::platform::slack` is `aizuchi_slack`.
fn targets(logger: &str) -> Vec<String> {
    let Some(part) = logger.strip_prefix("aizuchi::") else { return vec![logger.to_owned()] };
    let core = match part.strip_prefix("platform::") {
        Some(platform @ ("slack" | "discord")) => format!("aizuchi_{platform}"),
        Some(_) | None => format!("aizuchi_core::{part}"),
    };
    vec![logger.to_owned(), core]
}

/// For verbs that end by themselves and whose reader looks on.
pub fn init_plain(level: &str) {
    let is_terminal = std::io::stderr().is_terminal();
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(is_terminal);
    tracing_subscriber::registry().with(lines.with_filter(filter(level))).init();
}

/// What is written, by target and level. Two targets never are, whatever is asked for: `genai`
/// writes whole requests and answers into its trace, and `hyper` what goes over the wire.
fn filter<S: Subscriber + for<'a> LookupSpan<'a>>(levels: &str) -> impl Filter<S> + use<S> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(levels));
    let is_discreet = |metadata: &Metadata<'_>| {
        let part = metadata.target().split("::").next().unwrap_or_default();
        part != "genai" && part != "hyper"
    };
    filter.and(filter_fn(is_discreet))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_in_their_crates() {
        assert_eq!(targets("sqlx"), ["sqlx"]);
        assert_eq!(targets("aizuchi::agent"), ["aizuchi::agent", "aizuchi_core::agent"]);
        assert_eq!(
            targets("aizuchi::platform::slack"),
            ["aizuchi::platform::slack", "aizuchi_slack"]
        );
    }
}
