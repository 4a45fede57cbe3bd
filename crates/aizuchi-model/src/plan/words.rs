//! Lists of words in text files. `english.txt` tells what their lines are.

use jiff::civil::Weekday;

use crate::plan::PlanKind;
use crate::plan::recurrence::weekday_of;

pub const ENGLISH: &str = include_str!("english.txt");
pub const JAPANESE: &str = include_str!("japanese.txt");
pub const ZONES: &str = include_str!("zones.txt");

/// What a phrase means, as it stands in a list.
pub trait Meaning: Sized {
    fn read(text: &'static str) -> Option<Self>;
}

/// A phrase of a list, with its meaning if it has one.
pub trait WordEntry: Sized {
    fn read(phrase: &'static str, meaning: Option<&'static str>) -> Option<Self>;
}

impl WordEntry for &'static str {
    fn read(phrase: &'static str, meaning: Option<&'static str>) -> Option<Self> {
        meaning.is_none().then_some(phrase)
    }
}

impl<T: Meaning> WordEntry for (&'static str, T) {
    fn read(phrase: &'static str, meaning: Option<&'static str>) -> Option<Self> {
        Some((phrase, T::read(meaning?)?))
    }
}

/// Reads the list of this name. The error is the line that cannot be read.
pub fn list<E: WordEntry>(file: &'static str, name: &str) -> Result<Vec<E>, &'static str> {
    let (mut entries, mut is_named) = (Vec::new(), false);
    for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(title) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_named = title.eq_ignore_ascii_case(name);
        } else if is_named {
            let (meaning, phrases) = match line.split_once(" = ") {
                Some((meaning, phrases)) => (Some(meaning), phrases),
                None => (None, line),
            };
            for phrase in phrases.split(" | ") {
                entries.push(E::read(phrase, meaning).ok_or(line)?);
            }
        }
    }
    Ok(entries)
}

/// Makes a static of each list of a file that a module reads, and a test of them.
macro_rules! word_lists {
    ($file:expr; $($vis:vis $name:ident: $entry:ty,)+) => {
        $($vis static $name: std::sync::LazyLock<&[$entry]> = std::sync::LazyLock::new(|| {
            crate::plan::words::list($file, stringify!($name)).expect("a test reads it").leak()
        });)+

        #[cfg(test)]
        #[test]
        fn each_list_of_words_is_there() {
            $(assert!(!$name.is_empty(), stringify!($name));)+
        }
    };
}
pub(crate) use word_lists;

/// Meanings that are written as they are named.
macro_rules! named_meanings {
    ($($name:ty),+) => {
        $(impl crate::plan::words::Meaning for $name {
            fn read(text: &'static str) -> Option<Self> {
                text.parse().ok()
            }
        })+
    };
}
pub(crate) use named_meanings;

named_meanings!(i64, PlanKind);

impl Meaning for &'static str {
    fn read(text: &'static str) -> Option<Self> {
        Some(text)
    }
}

/// "coming" is without a number.
impl Meaning for Option<i64> {
    fn read(text: &'static str) -> Option<Self> {
        if text == "coming" { Some(None) } else { text.parse().ok().map(Some) }
    }
}

impl Meaning for Weekday {
    fn read(text: &'static str) -> Option<Self> {
        weekday_of(text)
    }
}

impl<A: Meaning, B: Meaning> Meaning for (A, B) {
    fn read(text: &'static str) -> Option<Self> {
        let (one, other) = text.split_once(' ')?;
        Some((A::read(one)?, B::read(other)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_has_another_form_is_an_error() {
        assert_eq!(
            list::<(&str, i64)>("[digits]\n1 = one | a\n", "DIGITS"),
            Ok(vec![("one", 1), ("a", 1)])
        );
        assert_eq!(list::<(&str, i64)>("[digits]\none\n", "DIGITS"), Err("one"));
        assert_eq!(list::<(&str, i64)>("[digits]\nx = one\n", "DIGITS"), Err("x = one"));
        assert_eq!(list::<&str>("[verbs]\n1 = post\n", "VERBS"), Err("1 = post"));
    }
}
