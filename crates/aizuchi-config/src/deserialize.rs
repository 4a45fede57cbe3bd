//! Deserializes the tree into the config types. The setting decides the type of a value, an unknown key is an error,
//! a key without a value counts as not set, and every problem carries its location.

use std::slice;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

use crate::problem::ConfigProblem;
use crate::secret::{displayable, is_secret_key};
use crate::suggestions;
use crate::syntax_tree::{ConfigEntry, ConfigNode, ConfigText, ConfigValue};

/// Deserializes a whole config.
pub fn deserialize<T: DeserializeOwned>(node: &ConfigNode) -> Result<T, ConfigProblem> {
    match &node.value {
        ConfigValue::Empty | ConfigValue::Section(_) => {
            T::deserialize(NodeDeserializer { node, is_secret: false })
        }
        ConfigValue::List(_) => Err(ConfigProblem::for_file(
            Some(node.location),
            "the file contains a list, but a config consists of keys, like \"language: en\"",
        )),
        ConfigValue::Text(_) => Err(ConfigProblem::for_file(
            Some(node.location),
            "the file contains only text, but a config consists of keys; a key needs a colon and a space after it, like \"language: en\"",
        )),
    }
}

#[derive(Clone, Copy)]
struct NodeDeserializer<'t> {
    node: &'t ConfigNode,
    /// Whether the value must not be shown.
    is_secret: bool,
}

impl<'t> NodeDeserializer<'t> {
    fn expect_text(self, must: &str) -> Result<&'t ConfigText, ConfigProblem> {
        let ConfigValue::Text(text) = &self.node.value else {
            return Err(self.invalid_value(must));
        };
        Ok(text)
    }

    fn invalid_value(self, must: impl Into<String>) -> ConfigProblem {
        ConfigProblem::for_value(self.node.location, self.describe_value(), must)
    }

    /// A description of the value for error messages. `None` if it must not be shown.
    fn describe_value(self) -> Option<String> {
        match &self.node.value {
            ConfigValue::Empty => Some("empty".to_owned()),
            ConfigValue::List(_) => Some("a list".to_owned()),
            ConfigValue::Section(_) => Some("a section with keys of its own".to_owned()),
            ConfigValue::Text(text) if self.is_secret || text.is_expanded => None,
            ConfigValue::Text(text)
                if is_number(text) || text.text == "true" || text.text == "false" =>
            {
                displayable(&text.text)
            }
            ConfigValue::Text(text) => displayable(&text.text).map(|text| format!("\"{text}\"")),
        }
    }

    /// Like [`Self::describe_value`], for places where no text is expected. Never shows a text, because it may be a
    /// secret under the wrong key.
    fn describe_kind(self) -> Option<String> {
        match &self.node.value {
            ConfigValue::Text(_) => Some("a text".to_owned()),
            ConfigValue::Empty | ConfigValue::List(_) | ConfigValue::Section(_) => {
                self.describe_value()
            }
        }
    }

    fn whole_number<V: de::Visitor<'t>>(self, visitor: V) -> Result<V::Value, ConfigProblem> {
        let must = "it must be a whole number";
        let text = &self.expect_text(must)?.text;
        if let Ok(number) = text.parse::<u64>() {
            return visitor.visit_u64(number);
        }
        visitor.visit_i64(text.parse().map_err(|_| self.invalid_value(must))?)
    }

    fn expect_section(self, must: &str) -> Result<&'t [ConfigEntry], ConfigProblem> {
        match &self.node.value {
            ConfigValue::Empty => Ok(&[]),
            ConfigValue::Section(entries) => Ok(entries),
            ConfigValue::Text(_) | ConfigValue::List(_) => {
                Err(ConfigProblem::for_value(self.node.location, self.describe_kind(), must))
            }
        }
    }
}

impl<'t> Deserializer<'t> for NodeDeserializer<'t> {
    type Error = ConfigProblem;

    /// For values that are passed through without a known type.
    fn deserialize_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, ConfigProblem> {
        match &self.node.value {
            ConfigValue::Empty => visitor.visit_unit(),
            ConfigValue::List(_) => self.deserialize_seq(visitor),
            ConfigValue::Section(_) => self.deserialize_map(visitor),
            ConfigValue::Text(text) if is_number(text) => {
                if text.text.parse::<i64>().is_ok() || text.text.parse::<u64>().is_ok() {
                    self.whole_number(visitor)
                } else {
                    self.deserialize_f64(visitor)
                }
            }
            ConfigValue::Text(text) if !text.is_quoted && text.text == "true" => {
                visitor.visit_bool(true)
            }
            ConfigValue::Text(text) if !text.is_quoted && text.text == "false" => {
                visitor.visit_bool(false)
            }
            ConfigValue::Text(text) => visitor.visit_str(&text.text),
        }
    }

    fn deserialize_bool<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, ConfigProblem> {
        let must = "it must be true or false";
        match self.expect_text(must)?.text.to_lowercase().as_str() {
            "true" | "yes" | "on" => visitor.visit_bool(true),
            "false" | "no" | "off" => visitor.visit_bool(false),
            _ => Err(self.invalid_value(must)),
        }
    }

    fn deserialize_u64<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, ConfigProblem> {
        let is_below_zero =
            |text: &ConfigText| text.text.parse::<i64>().is_ok_and(|number| number < 0);
        if let ConfigValue::Text(text) = &self.node.value
            && is_below_zero(text)
        {
            return Err(self.invalid_value("it must not be negative"));
        }
        self.whole_number(visitor)
    }

    fn deserialize_i64<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, ConfigProblem> {
        self.whole_number(visitor)
    }

    fn deserialize_f64<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, ConfigProblem> {
        let must = "it must be a number";
        let number: Option<f64> = self.expect_text(must)?.text.parse().ok();
        match number.filter(|number| number.is_finite()) {
            Some(number) => visitor.visit_f64(number),
            None => Err(self.invalid_value(must)),
        }
    }

    fn deserialize_string<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, ConfigProblem> {
        visitor.visit_str(&self.expect_text("it must be text")?.text)
    }

    fn deserialize_str<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, ConfigProblem> {
        self.deserialize_string(visitor)
    }

    /// A key without a value or with an empty text counts as not set.
    fn deserialize_option<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, ConfigProblem> {
        match &self.node.value {
            ConfigValue::Empty => visitor.visit_none(),
            ConfigValue::Text(text) if text.text.is_empty() => visitor.visit_none(),
            ConfigValue::Text(_) | ConfigValue::List(_) | ConfigValue::Section(_) => {
                visitor.visit_some(self)
            }
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'t>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ConfigProblem> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, ConfigProblem> {
        let items = match &self.node.value {
            ConfigValue::Empty => &[][..],
            ConfigValue::List(items) => items,
            ConfigValue::Text(_) | ConfigValue::Section(_) => {
                let must = "it must be a list, like [one, two]";
                return Err(ConfigProblem::for_value(
                    self.node.location,
                    self.describe_kind(),
                    must,
                ));
            }
        };
        visitor.visit_seq(ListAccess { items: items.iter(), is_secret: self.is_secret })
    }

    fn deserialize_map<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, ConfigProblem> {
        let entries = self.expect_section("it must be a section with keys of its own")?;
        let entries = SectionAccess::new(entries, self.is_secret);
        visitor.visit_map(entries).map_err(|problem| problem.at(self.node.location, None))
    }

    fn deserialize_struct<V: Visitor<'t>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ConfigProblem> {
        let must = format!(
            "it must be a section with keys of its own: {}",
            suggestions::join_list(keys, "and")
        );
        let entries = self.expect_section(&must)?;
        if let Some(entry) = entries.iter().find(|entry| !keys.contains(&entry.key.as_str())) {
            return Err(ConfigProblem::unknown_key(entry.key_location, &entry.key, keys));
        }
        let mut entries = SectionAccess::new(entries, self.is_secret);
        entries.skips_empty = true;
        visitor.visit_map(entries).map_err(|problem| problem.at(self.node.location, None))
    }

    fn deserialize_enum<V: Visitor<'t>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ConfigProblem> {
        let must = format!("it must be {}", suggestions::join_list(variants, "or"));
        let text = self.expect_text(&must)?;
        match variants.iter().find(|&&variant| variant == text.text) {
            Some(&variant) => visitor.visit_enum(variant.into_deserializer()),
            None => Err(self.invalid_value(must)),
        }
    }

    forward_to_deserialize_any! {
        <V: Visitor<'t>>
        i8 i16 i32 i128 u8 u16 u32 u128 f32 char bytes byte_buf unit unit_struct tuple tuple_struct
        identifier ignored_any
    }
}

struct ListAccess<'t> {
    items: slice::Iter<'t, ConfigNode>,
    is_secret: bool,
}

impl<'t> SeqAccess<'t> for ListAccess<'t> {
    type Error = ConfigProblem;

    fn next_element_seed<T: DeserializeSeed<'t>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ConfigProblem> {
        let Some(node) = self.items.next() else { return Ok(None) };
        let deserializer = NodeDeserializer { node, is_secret: self.is_secret };
        seed.deserialize(deserializer)
            .map(Some)
            .map_err(|problem| problem.at(node.location, deserializer.describe_value()))
    }
}

struct SectionAccess<'t> {
    entries: slice::Iter<'t, ConfigEntry>,
    /// The entry whose key has been returned, but not yet its value.
    open: Option<&'t ConfigEntry>,
    is_secret: bool,
    skips_empty: bool,
}

impl<'t> SectionAccess<'t> {
    fn new(entries: &'t [ConfigEntry], is_secret: bool) -> Self {
        Self { entries: entries.iter(), open: None, is_secret, skips_empty: false }
    }
}

impl<'t> MapAccess<'t> for SectionAccess<'t> {
    type Error = ConfigProblem;

    fn next_key_seed<K: DeserializeSeed<'t>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ConfigProblem> {
        let skips_empty = self.skips_empty;
        let mut entries = self
            .entries
            .by_ref()
            .filter(|entry| !skips_empty || entry.node.value != ConfigValue::Empty);
        let Some(entry) = entries.next() else { return Ok(None) };
        self.open = Some(entry);
        let key: StrDeserializer<'t, ConfigProblem> = entry.key.as_str().into_deserializer();
        let key = seed.deserialize(key);
        key.map(Some).map_err(|problem| problem.with_key(entry.key_location, &entry.key))
    }

    fn next_value_seed<T: DeserializeSeed<'t>>(
        &mut self,
        seed: T,
    ) -> Result<T::Value, ConfigProblem> {
        let entry = self.open.take().expect("serde asks for a value after its key");
        let is_secret = self.is_secret || is_secret_key(&entry.key);
        let deserializer = NodeDeserializer { node: &entry.node, is_secret };
        seed.deserialize(deserializer).map_err(|problem| {
            problem.at(entry.node.location, deserializer.describe_value()).within(&entry.key)
        })
    }
}

/// Whether the text is a number without quotes.
fn is_number(text: &ConfigText) -> bool {
    let starts_like_number =
        text.text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    !text.is_quoted && starts_like_number && text.text.parse::<f64>().is_ok_and(f64::is_finite)
}
