//! The word before a time, which tells whether the time is that of something.

use crate::plan::time_expression::token::TokenReader;
use crate::plan::words::{ENGLISH, named_meanings, word_lists};

/// What stands before a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Lead {
    None,
    On,
    At,
    In,
    By,
    For,
    After,
    /// The time ends or begins something else: "until", "since".
    Bound,
}

word_lists! { ENGLISH;
    LEADS: (&str, Lead),
}

named_meanings!(Lead);

impl Lead {
    pub fn read(reader: &mut TokenReader<'_>) -> Self {
        reader.eat_of(&LEADS).unwrap_or(Lead::None)
    }
}
