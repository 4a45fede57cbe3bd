//! The `timezone` setting.

use jiff::tz::{TimeZone, db};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::suggestions::similar_word;

/// The name of a time zone, as the IANA has it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", inline)]
pub struct ZoneName(pub TimeZone);

impl TryFrom<String> for ZoneName {
    type Error = String;

    fn try_from(value: String) -> Result<Self, String> {
        if let Ok(zone) = TimeZone::get(value.trim()) {
            return Ok(Self(zone));
        }
        let names: Vec<String> = db().available().map(|name| name.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let sentence = "it must be UTC or the name of a time zone, like Asia/Tokyo";
        Err(match similar_word(&value, &names) {
            Some(suggestion) => format!("{sentence}; did you mean {suggestion}?"),
            None => sentence.to_owned(),
        })
    }
}
