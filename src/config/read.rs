//! Reads the tree into the types of settings. A value is read as what its setting asks for, an
//! unknown key is an error, a key with nothing behind it is not set, and every problem is told
//! where it stands.

use std::slice;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

use crate::config::nearest;
use crate::config::problem::Problem;
use crate::config::secret::{is_secret_key, shown};
use crate::config::tree::{Entry, Node, Text, Value};

/// Reads a whole config.
pub fn read<T: DeserializeOwned>(node: &Node) -> Result<T, Problem> {
    match &node.value {
        Value::Empty | Value::Section(_) => T::deserialize(Reader { node, is_secret: false }),
        Value::List(_) => Err(Problem::of_file(
            Some(node.place),
            "the file holds a list, but a config is made of keys, like \"language: en\"",
        )),
        Value::Text(_) => Err(Problem::of_file(
            Some(node.place),
            "the file holds only a text, but a config is made of keys; a key needs a colon and a \
             space behind it, like \"language: en\"",
        )),
    }
}

#[derive(Clone, Copy)]
struct Reader<'t> {
    node: &'t Node,
    /// Nothing of it may be shown.
    is_secret: bool,
}

impl<'t> Reader<'t> {
    fn text(self, must: &str) -> Result<&'t Text, Problem> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            Value::Empty | Value::List(_) | Value::Section(_) => Err(self.wrong(must)),
        }
    }

    fn wrong(self, must: impl Into<String>) -> Problem {
        Problem::of_value(self.node.place, self.is(), must)
    }

    /// What stands there, as far as it may be told.
    fn is(self) -> Option<String> {
        match &self.node.value {
            Value::Empty => Some("empty".to_owned()),
            Value::List(_) => Some("a list".to_owned()),
            Value::Section(_) => Some("a section with keys of its own".to_owned()),
            Value::Text(text) if self.is_secret || text.is_expanded => None,
            Value::Text(text) if is_number(text) || text.text == "true" || text.text == "false" => {
                shown(&text.text)
            }
            Value::Text(text) => shown(&text.text).map(|shown| format!("\"{shown}\"")),
        }
    }

    /// Like `is`, where a text is none of the kinds that are asked for: it may be a secret that
    /// slipped out of its key.
    fn is_kind(self) -> Option<String> {
        match &self.node.value {
            Value::Text(_) => Some("a text".to_owned()),
            Value::Empty | Value::List(_) | Value::Section(_) => self.is(),
        }
    }

    fn whole_number<V: de::Visitor<'t>>(self, visitor: V) -> Result<V::Value, Problem> {
        let must = "it must be a whole number";
        let text = &self.text(must)?.text;
        if let Ok(number) = text.parse::<u64>() {
            return visitor.visit_u64(number);
        }
        visitor.visit_i64(text.parse().map_err(|_| self.wrong(must))?)
    }

    fn sections(self, must: &str) -> Result<&'t [Entry], Problem> {
        match &self.node.value {
            Value::Empty => Ok(&[]),
            Value::Section(entries) => Ok(entries),
            Value::Text(_) | Value::List(_) => {
                Err(Problem::of_value(self.node.place, self.is_kind(), must))
            }
        }
    }
}

impl<'t> Deserializer<'t> for Reader<'t> {
    type Error = Problem;

    /// For values that are passed on as they are.
    fn deserialize_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Problem> {
        match &self.node.value {
            Value::Empty => visitor.visit_unit(),
            Value::List(_) => self.deserialize_seq(visitor),
            Value::Section(_) => self.deserialize_map(visitor),
            Value::Text(text) if is_number(text) => {
                if text.text.parse::<i64>().is_ok() || text.text.parse::<u64>().is_ok() {
                    self.whole_number(visitor)
                } else {
                    self.deserialize_f64(visitor)
                }
            }
            Value::Text(text) if !text.is_quoted && text.text == "true" => visitor.visit_bool(true),
            Value::Text(text) if !text.is_quoted && text.text == "false" => {
                visitor.visit_bool(false)
            }
            Value::Text(text) => visitor.visit_str(&text.text),
        }
    }

    fn deserialize_bool<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Problem> {
        let must = "it must be true or false";
        match self.text(must)?.text.to_lowercase().as_str() {
            "true" | "yes" | "on" => visitor.visit_bool(true),
            "false" | "no" | "off" => visitor.visit_bool(false),
            _ => Err(self.wrong(must)),
        }
    }

    fn deserialize_u64<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Problem> {
        let is_below_zero = |text: &Text| text.text.parse::<i64>().is_ok_and(|number| number < 0);
        match &self.node.value {
            Value::Text(text) if is_below_zero(text) => Err(self.wrong("it must not be negative")),
            Value::Empty | Value::Text(_) | Value::List(_) | Value::Section(_) => {
                self.whole_number(visitor)
            }
        }
    }

    fn deserialize_i64<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.whole_number(visitor)
    }

    fn deserialize_f64<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Problem> {
        let must = "it must be a number";
        let number: Option<f64> = self.text(must)?.text.parse().ok();
        match number.filter(|number| number.is_finite()) {
            Some(number) => visitor.visit_f64(number),
            None => Err(self.wrong(must)),
        }
    }

    fn deserialize_string<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_str(&self.text("it must be a text")?.text)
    }

    fn deserialize_str<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_string(visitor)
    }

    /// A key with nothing behind it, or with an empty text, is as good as no key.
    fn deserialize_option<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Problem> {
        match &self.node.value {
            Value::Empty => visitor.visit_none(),
            Value::Text(text) if text.text.is_empty() => visitor.visit_none(),
            Value::Text(_) | Value::List(_) | Value::Section(_) => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'t>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Problem> {
        let items = match &self.node.value {
            Value::Empty => &[][..],
            Value::List(items) => items,
            Value::Text(_) | Value::Section(_) => {
                let must = "it must be a list, like [one, two]";
                return Err(Problem::of_value(self.node.place, self.is_kind(), must));
            }
        };
        visitor.visit_seq(Items { items: items.iter(), is_secret: self.is_secret })
    }

    fn deserialize_map<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Problem> {
        let entries = self.sections("it must be a section with keys of its own")?;
        let entries = Entries::of(entries, self.is_secret);
        visitor.visit_map(entries).map_err(|problem| problem.at(self.node.place, None))
    }

    fn deserialize_struct<V: Visitor<'t>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let must =
            format!("it must be a section with keys of its own: {}", nearest::listed(keys, "and"));
        let entries = self.sections(&must)?;
        if let Some(entry) = entries.iter().find(|entry| !keys.contains(&entry.key.as_str())) {
            return Err(Problem::unknown_key(entry.key_place, &entry.key, keys));
        }
        let mut entries = Entries::of(entries, self.is_secret);
        entries.skips_empty = true;
        visitor.visit_map(entries).map_err(|problem| problem.at(self.node.place, None))
    }

    fn deserialize_enum<V: Visitor<'t>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let must = format!("it must be {}", nearest::listed(words, "or"));
        let text = self.text(&must)?;
        match words.iter().find(|&&word| word == text.text) {
            Some(&word) => visitor.visit_enum(word.into_deserializer()),
            None => Err(self.wrong(must)),
        }
    }

    forward_to_deserialize_any! {
        <V: Visitor<'t>>
        i8 i16 i32 i128 u8 u16 u32 u128 f32 char bytes byte_buf unit unit_struct tuple tuple_struct
        identifier ignored_any
    }
}

struct Items<'t> {
    items: slice::Iter<'t, Node>,
    is_secret: bool,
}

impl<'t> SeqAccess<'t> for Items<'t> {
    type Error = Problem;

    fn next_element_seed<T: DeserializeSeed<'t>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Problem> {
        let Some(node) = self.items.next() else { return Ok(None) };
        let reader = Reader { node, is_secret: self.is_secret };
        seed.deserialize(reader).map(Some).map_err(|problem| problem.at(node.place, reader.is()))
    }
}

struct Entries<'t> {
    entries: slice::Iter<'t, Entry>,
    /// Its key has been given, its value not yet.
    open: Option<&'t Entry>,
    is_secret: bool,
    skips_empty: bool,
}

impl<'t> Entries<'t> {
    fn of(entries: &'t [Entry], is_secret: bool) -> Self {
        Self { entries: entries.iter(), open: None, is_secret, skips_empty: false }
    }
}

impl<'t> MapAccess<'t> for Entries<'t> {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'t>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Problem> {
        let skips_empty = self.skips_empty;
        let mut entries =
            self.entries.by_ref().filter(|entry| !skips_empty || entry.node.value != Value::Empty);
        let Some(entry) = entries.next() else { return Ok(None) };
        self.open = Some(entry);
        let key: StrDeserializer<'t, Problem> = entry.key.as_str().into_deserializer();
        let key = seed.deserialize(key);
        key.map(Some).map_err(|problem| problem.with_key(entry.key_place, &entry.key))
    }

    fn next_value_seed<T: DeserializeSeed<'t>>(&mut self, seed: T) -> Result<T::Value, Problem> {
        let entry = self.open.take().expect("serde asks for a value after its key");
        let is_secret = self.is_secret || is_secret_key(&entry.key);
        let reader = Reader { node: &entry.node, is_secret };
        seed.deserialize(reader)
            .map_err(|problem| problem.at(entry.node.place, reader.is()).within(&entry.key))
    }
}

/// Written without quotes, and a number.
fn is_number(text: &Text) -> bool {
    let begins_like_one = text.text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    !text.is_quoted && begins_like_one && text.text.parse::<f64>().is_ok_and(f64::is_finite)
}
