//! What is wrong with a config file, in one sentence for people: where it stands, which key it is
//! about, what would be right. Never with a secret or what a variable holds.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

use crate::config::secret::displayable;
use crate::config::suggestions;

/// A line and a column, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigLocation {
    pub line: u64,
    pub column: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    pub location: Option<ConfigLocation>,
    /// The keys around it, the innermost first: it grows while the problem travels outwards.
    path: Vec<String>,
    kind: ProblemKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ProblemKind {
    /// A sentence that needs nothing else.
    File(String),
    /// What follows the name of the key.
    Key(String),
    /// What a value is, where that may be told, and what it must be.
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
    /// About the file as a whole, or its syntax.
    pub fn for_file(place: Option<ConfigLocation>, sentence: impl Into<String>) -> Self {
        Self { location: place, path: Vec::new(), kind: ProblemKind::File(sentence.into()) }
    }

    /// A sentence that begins with the name of the key.
    pub fn for_key(place: ConfigLocation, predicate: impl Into<String>) -> Self {
        Self { location: Some(place), path: Vec::new(), kind: ProblemKind::Key(predicate.into()) }
    }

    /// `must` goes on after “but”.
    pub fn for_value(place: ConfigLocation, is: Option<String>, must: impl Into<String>) -> Self {
        Self {
            location: Some(place),
            path: Vec::new(),
            kind: ProblemKind::InvalidValue { is, must: must.into() },
        }
    }

    pub fn unknown_key(place: ConfigLocation, key: &str, known: &[&str]) -> Self {
        let known = known.iter().map(|&key| key.to_owned()).collect();
        Self {
            location: Some(place),
            path: Vec::new(),
            kind: ProblemKind::Unknown { key: key.to_owned(), known },
        }
    }

    /// Where it stands and what stands there, if that is not known from further inside.
    pub fn at(mut self, place: ConfigLocation, is: Option<String>) -> Self {
        if self.location.is_none() {
            self.location = Some(place);
            if let ProblemKind::InvalidValue { is: unknown, .. } = &mut self.kind {
                *unknown = is;
            }
        }
        self
    }

    /// The key around it.
    pub fn within(mut self, key: &str) -> Self {
        self.path.push(key.to_owned());
        self
    }

    /// What is wrong with a key itself. One that nothing knows is named anyway.
    pub fn with_key(self, place: ConfigLocation, key: &str) -> Self {
        let problem = self.at(place, None);
        match problem.kind {
            ProblemKind::Unknown { .. } => problem,
            ProblemKind::File(_)
            | ProblemKind::Key(_)
            | ProblemKind::InvalidValue { .. }
            | ProblemKind::Missing(_) => problem.within(key),
        }
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

    fn description(&self) -> String {
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

/// What the types of settings say about a value: the reader adds where and which key.
impl de::Error for ConfigProblem {
    fn custom<T: fmt::Display>(must: T) -> Self {
        let what = ProblemKind::InvalidValue { is: None, must: must.to_string() };
        Self { location: None, path: Vec::new(), kind: what }
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
        let what = ProblemKind::Unknown { key: key.to_owned(), known };
        Self { location: None, path: Vec::new(), kind: what }
    }

    fn duplicate_field(key: &'static str) -> Self {
        Self::custom(format_args!("its key \"{key}\" is set twice, under two names"))
    }
}
