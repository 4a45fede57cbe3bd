//! The persona's name, character and language.

pub mod spelling;
pub mod written;

use serde::{Deserialize, Serialize};

/// The language of everything that users see. The texts are in [`crate::texts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    #[default]
    En,
    Ja,
}

impl Language {
    /// The BCP 47 tag, as pages and prompts name it.
    pub fn tag(self) -> &'static str {
        match self {
            Language::En => "en",
            Language::Ja => "ja",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Persona {
    pub name: String,
    /// The beginning of every prompt.
    pub system_prompt: String,
    pub language: Language,
}
