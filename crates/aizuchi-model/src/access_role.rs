//! The roles of those who sign in to the pages and the API.

use schemars::JsonSchema;
use serde::Deserialize;
use strum::{EnumString, IntoStaticStr};

/// Who may do what on the pages and through the API.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Deserialize,
    JsonSchema,
    EnumString,
    IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[schemars(inline)]
pub enum AccessRole {
    /// Reads figures.
    Viewer,
    /// Also gives orders, and reads what was said in public channels.
    Operator,
    /// Also reads what was said in private channels, which is recorded, and what models were asked.
    Admin,
}

impl AccessRole {
    pub fn name(self) -> &'static str {
        self.into()
    }
}
