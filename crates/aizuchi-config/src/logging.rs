//! The `logging` section.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

section! {
    /// The log, which goes to stderr. The variable `RUST_LOG` overrides this section.
    pub struct LoggingConfig {
        /// Lines of this level and above are written.
        pub level: LogLevel = LogLevel::Info,
        /// The format of a line.
        pub format: LogFormat = LogFormat::Auto,
        /// Levels of parts of the program, by the part's name.
        #[schemars(with = "BTreeMap<String, LogLevel>")]
        pub loggers: BTreeMap<LoggerName, LogLevel>,
    }
}

text_settings! {
    /// A part of the program, by the name it logs under.
    #[derive(PartialOrd, Ord)]
    LoggerName(String) = |text| {
        let is_known = |letter: char| letter.is_ascii_alphanumeric() || "_-.:".contains(letter);
        (!text.is_empty() && text.chars().all(is_known)).then_some(text)
    }, "it must be the name of a part, like sqlx";
}

/// `DEBUG`, `INFO`, `WARNING`, `ERROR` or `CRITICAL`, in upper or lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", inline, extend("pattern" = "^(?i:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)$|\\$\\{"))]
pub enum LogLevel {
    Debug,
    Info,
    Warning,
    Error,
    Critical,
}

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum LogFormat {
    /// Text, with colors on a terminal.
    #[default]
    Auto,
    /// Text without colors.
    Text,
    /// One JSON object per line.
    Json,
}

impl LogLevel {
    /// The name of the level in a log filter.
    pub fn filter(self) -> &'static str {
        match self {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Warning => "warn",
            LogLevel::Error | LogLevel::Critical => "error",
        }
    }
}

impl TryFrom<String> for LogLevel {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        match value.to_uppercase().as_str() {
            "DEBUG" => Ok(LogLevel::Debug),
            "INFO" => Ok(LogLevel::Info),
            "WARNING" | "WARN" => Ok(LogLevel::Warning),
            "ERROR" => Ok(LogLevel::Error),
            "CRITICAL" | "FATAL" => Ok(LogLevel::Critical),
            _ => Err("it must be DEBUG, INFO, WARNING, ERROR or CRITICAL"),
        }
    }
}
