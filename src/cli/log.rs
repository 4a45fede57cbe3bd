//! The log: lines for people on a terminal, JSON elsewhere, always on stderr.

use std::io::IsTerminal;

use tracing::Level;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::Directive;

use crate::config::logging::{self, LogFormat, LoggingConfig};

/// Logs as the config says; `RUST_LOG` outranks its levels.
pub fn begin(logging: &LoggingConfig) {
    let level = logging.level.filter();
    // Other people's code may tell more than it should when it tells much.
    let others = match logging.level {
        logging::Level::Debug => "info",
        logging::Level::Info | logging::Level::Warning => "warn",
        logging::Level::Error | logging::Level::Critical => "error",
    };
    let parts =
        logging.loggers.iter().map(|(part, level)| format!(",{}={}", part.0, level.filter()));
    let filter = filter(&format!("{others},aizuchi={level}{}", parts.collect::<String>()));
    let is_terminal = std::io::stderr().is_terminal();
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match logging.format {
        LogFormat::Auto if is_terminal => lines.with_ansi(true).init(),
        LogFormat::Text => lines.with_ansi(false).init(),
        LogFormat::Auto | LogFormat::Json => lines.json().init(),
    }
}

/// For verbs that end by themselves and whose reader looks on.
pub fn begin_plain(level: &str) {
    tracing_subscriber::fmt()
        .with_env_filter(filter(level))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}

fn filter(levels: &str) -> EnvFilter {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(levels));
    // Whatever is asked for: it writes whole requests and answers into its trace.
    filter.add_directive(silenced("genai")).add_directive(silenced("hyper"))
}

fn silenced(part: &str) -> Directive {
    let mut directive = Directive::from(Level::ERROR);
    if let Ok(off) = format!("{part}=off").parse() {
        directive = off;
    }
    directive
}
