//! The syntax tree of a config file: keys and texts with their locations, without types.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess};
use serde_saphyr::{Error, Location, NonFiniteFloatPolicy, Spanned};

use crate::problem::{ConfigLocation, ConfigProblem};
use crate::secret::displayable;

#[derive(Clone, Debug, PartialEq)]
pub struct ConfigNode {
    pub location: ConfigLocation,
    pub value: ConfigValue,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ConfigValue {
    /// The key has no value.
    Empty,
    Text(ConfigText),
    List(Vec<ConfigNode>),
    Section(Vec<ConfigEntry>),
}

/// A scalar value. The setting decides its type.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigText {
    pub text: String,
    /// Written in quotes. Where a setting accepts numbers and texts, this is a text.
    pub is_quoted: bool,
    /// Contains the value of a variable, so it must not be shown.
    pub is_expanded: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ConfigEntry {
    pub key: String,
    pub key_location: ConfigLocation,
    pub node: ConfigNode,
}

impl ConfigNode {
    /// Parses YAML. An empty file is an empty node.
    pub fn parse(source: &str) -> Result<Self, ConfigProblem> {
        let options = serde_saphyr::options! {
            strict_booleans: true,
            with_snippet: false,
            non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        };
        let raw = serde_saphyr::from_str_with_options(source, options);
        let raw: Spanned<RawValue> = raw.map_err(|error| syntax_problem(&error, source))?;
        Ok(raw.node(source))
    }

    /// The entry at a path of keys.
    pub fn find(&self, path: &[&str]) -> Option<&ConfigEntry> {
        let (first, rest) = path.split_first()?;
        let entry = self.entries().iter().find(|entry| entry.key == *first)?;
        if rest.is_empty() { Some(entry) } else { entry.node.find(rest) }
    }

    /// The entry of a key.
    pub fn find_mut(&mut self, key: &str) -> Option<&mut ConfigEntry> {
        let ConfigValue::Section(entries) = &mut self.value else { return None };
        entries.iter_mut().find(|entry| entry.key == key)
    }

    /// Removes the entry at a path of keys, if there is one.
    pub fn remove(&mut self, path: &[&str]) {
        let Some((first, rest)) = path.split_first() else { return };
        if !rest.is_empty() {
            if let Some(entry) = self.find_mut(first) {
                entry.node.remove(rest);
            }
        } else if let ConfigValue::Section(entries) = &mut self.value {
            entries.retain(|entry| entry.key != *first);
        }
    }

    /// The location of the value at a path of keys, if it is set.
    pub fn location_of(&self, path: &[&str]) -> Option<ConfigLocation> {
        let is_set = |entry: &&ConfigEntry| entry.node.value != ConfigValue::Empty;
        self.find(path).filter(is_set).map(|entry| entry.node.location)
    }

    pub fn entries(&self) -> &[ConfigEntry] {
        let ConfigValue::Section(entries) = &self.value else { return &[] };
        entries
    }
}

/// A value as the YAML parser returns it. Plain numbers and booleans are read again from the source, because a name or
/// a token needs the original spelling.
enum RawValue {
    Empty,
    Plain,
    Text(String),
    List(Vec<Spanned<RawValue>>),
    Section(Vec<(Spanned<String>, Spanned<RawValue>)>),
}

trait ToNode {
    fn node(self, source: &str) -> ConfigNode;
}

impl ToNode for Spanned<RawValue> {
    fn node(self, source: &str) -> ConfigNode {
        let source_text = source_slice(&self.defined, source);
        let is_quoted = source_text.starts_with(['"', '\'']);
        let text =
            |text: String| ConfigValue::Text(ConfigText { text, is_quoted, is_expanded: false });
        let value = match self.value {
            RawValue::Empty => ConfigValue::Empty,
            RawValue::Plain => text(source_text.trim().to_owned()),
            RawValue::Text(value) => text(value),
            RawValue::List(list) => {
                ConfigValue::List(list.into_iter().map(|item| item.node(source)).collect())
            }
            RawValue::Section(entries) => {
                let entry = |(key, value): (Spanned<String>, Spanned<RawValue>)| ConfigEntry {
                    key_location: to_location(&key.referenced),
                    key: key.value,
                    node: value.node(source),
                };
                ConfigValue::Section(entries.into_iter().map(entry).collect())
            }
        };
        ConfigNode { location: to_location(&self.referenced), value }
    }
}

impl<'de> Deserialize<'de> for RawValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> de::Visitor<'de> for RawVisitor {
    type Value = RawValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a setting")
    }

    fn visit_unit<E>(self) -> Result<RawValue, E> {
        Ok(RawValue::Empty)
    }

    fn visit_bool<E>(self, _: bool) -> Result<RawValue, E> {
        Ok(RawValue::Plain)
    }

    fn visit_i64<E>(self, _: i64) -> Result<RawValue, E> {
        Ok(RawValue::Plain)
    }

    fn visit_i128<E>(self, _: i128) -> Result<RawValue, E> {
        Ok(RawValue::Plain)
    }

    fn visit_u64<E>(self, _: u64) -> Result<RawValue, E> {
        Ok(RawValue::Plain)
    }

    fn visit_u128<E>(self, _: u128) -> Result<RawValue, E> {
        Ok(RawValue::Plain)
    }

    fn visit_f64<E>(self, _: f64) -> Result<RawValue, E> {
        Ok(RawValue::Plain)
    }

    fn visit_str<E>(self, text: &str) -> Result<RawValue, E> {
        Ok(RawValue::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<RawValue, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(RawValue::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut section: A) -> Result<RawValue, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = section.next_entry()? {
            entries.push(entry);
        }
        Ok(RawValue::Section(entries))
    }
}

fn to_location(location: &Location) -> ConfigLocation {
    ConfigLocation { line: location.line(), column: location.column() }
}

/// The source text of a value.
fn source_slice<'a>(location: &Location, source: &'a str) -> &'a str {
    let span = location.span();
    let range = span.byte_offset().zip(span.byte_len()).and_then(|(from, length)| {
        let from = usize::try_from(from).ok()?;
        Some(from..from.checked_add(usize::try_from(length).ok()?)?)
    });
    range.and_then(|range| source.get(range)).unwrap_or_default()
}

/// Translates a syntax error for the operator. The parser's own message is for programmers and may quote a value.
fn syntax_problem(error: &Error, source: &str) -> ConfigProblem {
    let location = error.location().map(|location| to_location(&location));
    let error = match error {
        Error::AliasError { error, .. } => error,
        other => other,
    };
    let line = location.and_then(|location| {
        source.lines().nth(usize::try_from(location.line.checked_sub(1)?).ok()?)
    });
    let indentation = line.map(|line| &line[..line.len() - line.trim_start().len()]);
    let sentence = match error {
        _ if indentation.is_some_and(|indentation| indentation.contains('\t')) => {
            "this line is indented with a tab; use spaces"
        }
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().and_then(displayable);
            let key = key.map_or("a key".to_owned(), |key| format!("the key \"{key}\""));
            return ConfigProblem::for_file(
                location,
                format!("{key} appears twice in one section; keep one of them"),
            );
        }
        Error::MultipleDocuments { .. } => {
            "a second document begins here, but a config file must be a single one; remove the line with --- or ..."
        }
        Error::UnknownAnchor { .. } => {
            "what follows this * is not defined anywhere above; put a text that begins with * in quotes"
        }
        Error::MergeValueNotMapOrSeqOfMaps { .. } => "what follows << must be a section",
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::RecursiveReferencesRequireWeakTypes { .. } => TOO_COMPLEX,
        other => describe_syntax_error(&other.to_string()),
    };
    ConfigProblem::for_file(location, sentence)
}

const TOO_COMPLEX: &str = "the file is too large or too deeply nested to be a config";

/// The parser distinguishes most syntax errors only by their message.
fn describe_syntax_error(message: &str) -> &'static str {
    let says = |part: &str| message.contains(part);
    if says("tabs disallowed") {
        "this line is indented with a tab; use spaces"
    } else if says("unclosed bracket") {
        "the bracket that opens here is never closed"
    } else if says("misplaced bracket") {
        "this bracket closes, but none was opened"
    } else if says("escape character") || says("hexadecimal") {
        "this backslash in double quotes starts no known escape; write two of them, or use single quotes"
    } else if says("quoted scalar") {
        "a quoted text is never closed, or continues without indentation"
    } else if says("mapping values are not allowed") {
        "a colon is not expected here; check the indentation, look for a line above without its colon, and put text that contains a colon in quotes"
    } else if says("did not find expected key") {
        "this line is indented differently from the lines around it"
    } else if says("expected ':'") {
        "a key needs a colon and a space after it"
    } else if says("flow mapping") || says("flow sequence") {
        "something between these brackets cannot be read; put variables and text with special characters in quotes"
    } else if says("unexpected character") {
        "text cannot begin with this character; put it in quotes"
    } else if says("expected string scalar") {
        "a key must be a name on one line"
    } else if says("recursion") || says("depth") || says("limit") {
        TOO_COMPLEX
    } else {
        "this cannot be read as YAML; check the indentation, the colons and the quotes around it"
    }
}
