//! Problems of a config file as messages for the operator: location, key and expected value. A message never contains
//! a secret or the value of a variable.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

use crate::secret::displayable;
use crate::suggestions;

/// A line and a column, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigLocation {
    pub line: u64,
    pub column: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    pub location: Option<ConfigLocation>,
    /// The keys around the problem, innermost first. It grows while the error propagates outwards.
    path: Vec<String>,
    kind: ProblemKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ProblemKind {
    /// A complete message.
    File(String),
    /// A message that continues the name of the key.
    Key(String),
    /// What the value is, if it may be shown, and what it must be.
    InvalidValue {
        is: Option<String>,
        must: String,
    },
    Missing(&'static str),
    Unknown {
        key: String,
        known: Vec<String>,
    },
}

impl ConfigProblem {
    /// A problem with the whole file or its syntax.
    pub fn for_file(location: Option<ConfigLocation>, sentence: impl Into<String>) -> Self {
        Self { location, path: Vec::new(), kind: ProblemKind::File(sentence.into()) }
    }

    /// A problem whose message begins with the name of the key.
    pub fn for_key(location: ConfigLocation, predicate: impl Into<String>) -> Self {
        Self {
            location: Some(location),
            path: Vec::new(),
            kind: ProblemKind::Key(predicate.into()),
        }
    }

    /// A problem with a value. `must` continues the message after “but”.
    pub fn for_value(
        location: ConfigLocation,
        is: Option<String>,
        must: impl Into<String>,
    ) -> Self {
        Self {
            location: Some(location),
            path: Vec::new(),
            kind: ProblemKind::InvalidValue { is, must: must.into() },
        }
    }

    pub fn unknown_key(location: ConfigLocation, key: &str, known: &[&str]) -> Self {
        let known = known.iter().map(|&key| key.to_owned()).collect();
        Self {
            location: Some(location),
            path: Vec::new(),
            kind: ProblemKind::Unknown { key: key.to_owned(), known },
        }
    }

    /// Adds the location and the description of the value, unless an inner value has set them.
    pub fn at(mut self, location: ConfigLocation, is: Option<String>) -> Self {
        if self.location.is_none() {
            self.location = Some(location);
            if let ProblemKind::InvalidValue { is: unknown, .. } = &mut self.kind {
                *unknown = is;
            }
        }
        self
    }

    /// Adds the key around the problem.
    pub fn within(mut self, key: &str) -> Self {
        self.path.push(key.to_owned());
        self
    }

    /// Adds the location and name of a key that is itself the problem.
    pub fn with_key(self, location: ConfigLocation, key: &str) -> Self {
        let problem = self.at(location, None);
        match problem.kind {
            ProblemKind::Unknown { .. } => problem,
            ProblemKind::File(_)
            | ProblemKind::Key(_)
            | ProblemKind::InvalidValue { .. }
            | ProblemKind::Missing(_) => problem.within(key),
        }
    }

    /// Adds the warning that may explain the problem: the nearest one above it.
    pub fn with_hint(self, warnings: &[Self]) -> Self {
        let line = |problem: &Self| problem.location.map(|location| location.line);
        let hint = warnings.iter().rfind(|warning| line(warning) <= line(&self));
        let Some((hint, hint_line)) = hint.and_then(|hint| Some((hint, line(hint)?))) else {
            return self;
        };
        let sentence =
            format!("{}; see line {hint_line}: {}", self.description(), hint.description());
        Self::for_file(self.location, sentence)
    }

    /// `FILE:LINE:COLUMN: what is wrong`.
    pub fn format_in(&self, file: &str) -> String {
        match self.location {
            Some(ConfigLocation { line, column }) => {
                format!("{file}:{line}:{column}: {}", self.description())
            }
            None => format!("{file}: {}", self.description()),
        }
    }

    pub fn description(&self) -> String {
        let path: Vec<String> =
            self.path.iter().rev().map(|key| displayable(key).unwrap_or("…".to_owned())).collect();
        let within = path.join(".");
        match &self.kind {
            ProblemKind::File(sentence) => sentence.clone(),
            ProblemKind::Key(predicate) => format!("{within} {predicate}"),
            ProblemKind::InvalidValue { is: Some(is), must } => {
                format!("{within} is {is}, but {must}")
            }
            ProblemKind::InvalidValue { is: None, must } => {
                format!("{within} cannot be used: {must}")
            }
            ProblemKind::Missing(key) => format!("{within} has no key \"{key}\", which it needs"),
            ProblemKind::Unknown { key, known } => {
                suggestions::describe_unknown_key(&path, key, known)
            }
        }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ConfigLocation { line, column }) = self.location {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.description())
    }
}

impl std::error::Error for ConfigProblem {}

// Errors of the config types. The deserializer adds the location and the key.
impl de::Error for ConfigProblem {
    fn custom<T: fmt::Display>(must: T) -> Self {
        let kind = ProblemKind::InvalidValue { is: None, must: must.to_string() };
        Self { location: None, path: Vec::new(), kind }
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("it must be {expected}"))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("it must be {expected}"))
    }

    fn missing_field(key: &'static str) -> Self {
        Self { location: None, path: Vec::new(), kind: ProblemKind::Missing(key) }
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        let known = known.iter().map(|&key| key.to_owned()).collect();
        let kind = ProblemKind::Unknown { key: key.to_owned(), known };
        Self { location: None, path: Vec::new(), kind }
    }

    fn duplicate_field(key: &'static str) -> Self {
        Self::custom(format_args!("its key \"{key}\" is set twice, under two names"))
    }
}
