//! What is wrong with a config file, in one sentence for people: where it stands, which key it is
//! about, what would be right. Never with a secret or what a variable holds.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

use crate::config::nearest;
use crate::config::secret::shown;

/// A line and a column, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub line: u64,
    pub column: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub place: Option<Place>,
    /// The keys around it, the innermost first: it grows while the problem travels outwards.
    path: Vec<String>,
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    /// A sentence that needs nothing else.
    File(String),
    /// What follows the name of the key.
    Key(String),
    /// What a value is, where that may be told, and what it must be.
    Value {
        is: Option<String>,
        must: String,
    },
    Missing(&'static str),
    Unknown {
        key: String,
        known: Vec<String>,
    },
}

impl Problem {
    /// About the file as a whole, or its syntax.
    pub fn of_file(place: Option<Place>, sentence: impl Into<String>) -> Self {
        Self { place, path: Vec::new(), what: What::File(sentence.into()) }
    }

    /// A sentence that begins with the name of the key.
    pub fn of_key(place: Place, predicate: impl Into<String>) -> Self {
        Self { place: Some(place), path: Vec::new(), what: What::Key(predicate.into()) }
    }

    /// `must` goes on after “but”.
    pub fn of_value(place: Place, is: Option<String>, must: impl Into<String>) -> Self {
        Self { place: Some(place), path: Vec::new(), what: What::Value { is, must: must.into() } }
    }

    pub fn unknown_key(place: Place, key: &str, known: &[&str]) -> Self {
        let known = known.iter().map(|&key| key.to_owned()).collect();
        Self {
            place: Some(place),
            path: Vec::new(),
            what: What::Unknown { key: key.to_owned(), known },
        }
    }

    /// Where it stands and what stands there, if that is not known from further inside.
    pub fn at(mut self, place: Place, is: Option<String>) -> Self {
        if self.place.is_none() {
            self.place = Some(place);
            if let What::Value { is: unknown, .. } = &mut self.what {
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
    pub fn with_key(self, place: Place, key: &str) -> Self {
        let problem = self.at(place, None);
        match problem.what {
            What::Unknown { .. } => problem,
            What::File(_) | What::Key(_) | What::Value { .. } | What::Missing(_) => {
                problem.within(key)
            }
        }
    }

    /// `FILE:LINE:COLUMN: what is wrong`.
    pub fn in_file(&self, file: &str) -> String {
        match self.place {
            Some(Place { line, column }) => format!("{file}:{line}:{column}: {}", self.sentence()),
            None => format!("{file}: {}", self.sentence()),
        }
    }

    fn sentence(&self) -> String {
        let path: Vec<String> =
            self.path.iter().rev().map(|key| shown(key).unwrap_or("…".to_owned())).collect();
        let within = path.join(".");
        match &self.what {
            What::File(sentence) => sentence.clone(),
            What::Key(predicate) => format!("{within} {predicate}"),
            What::Value { is: Some(is), must } => format!("{within} is {is}, but {must}"),
            What::Value { is: None, must } => format!("{within} cannot be used: {must}"),
            What::Missing(key) => format!("{within} has no key \"{key}\", which it needs"),
            What::Unknown { key, known } => nearest::unknown_key(&path, key, known),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { line, column }) = self.place {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.sentence())
    }
}

impl std::error::Error for Problem {}

/// What the types of settings say about a value: the reader adds where and which key.
impl de::Error for Problem {
    fn custom<T: fmt::Display>(must: T) -> Self {
        let what = What::Value { is: None, must: must.to_string() };
        Self { place: None, path: Vec::new(), what }
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("it must be {expected}"))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("it must be {expected}"))
    }

    fn missing_field(key: &'static str) -> Self {
        Self { place: None, path: Vec::new(), what: What::Missing(key) }
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        let known = known.iter().map(|&key| key.to_owned()).collect();
        let what = What::Unknown { key: key.to_owned(), known };
        Self { place: None, path: Vec::new(), what }
    }

    fn duplicate_field(key: &'static str) -> Self {
        Self::custom(format_args!("its key \"{key}\" is set twice, under two names"))
    }
}
