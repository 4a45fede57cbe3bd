//! The language that users see.

use aizuchi_model::persona::Language;
use aizuchi_model::rules::LanguageRule;
use schemars::JsonSchema;
use serde::Deserialize;

/// A language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum LanguageSetting {
    /// English.
    En,
    /// Japanese.
    Ja,
    /// The language of the message that is answered, else the one that people write there, else English.
    #[default]
    Auto,
}

impl LanguageSetting {
    /// The language to use where nothing indicates another one.
    pub fn own(self) -> Language {
        match self {
            LanguageSetting::En | LanguageSetting::Auto => Language::En,
            LanguageSetting::Ja => Language::Ja,
        }
    }

    /// The rule of a channel with this setting.
    pub fn rule(self) -> LanguageRule {
        match self {
            LanguageSetting::En => LanguageRule::Fixed(Language::En),
            LanguageSetting::Ja => LanguageRule::Fixed(Language::Ja),
            LanguageSetting::Auto => LanguageRule::AsWritten,
        }
    }
}
