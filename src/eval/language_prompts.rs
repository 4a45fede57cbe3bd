//! The prompt templates of both languages, since one run measures cases in both.

use crate::config::Config;
use aizuchi_core::persona::Language;
use aizuchi_core::prompt::builder::PromptBuilder;

pub struct LanguagePrompts {
    en: PromptBuilder,
    ja: PromptBuilder,
}

impl LanguagePrompts {
    /// Loads the templates. The operator's own templates replace those of the configured language.
    pub fn load(config: &Config) -> anyhow::Result<Self> {
        let load = |language: Language| {
            let folder = config.prompts_dir().filter(|_| language == config.language.own());
            PromptBuilder::load(language, folder.as_deref())
        };
        Ok(Self { en: load(Language::En)?, ja: load(Language::Ja)? })
    }

    pub fn for_language(&self, language: Language) -> &PromptBuilder {
        match language {
            Language::En => &self.en,
            Language::Ja => &self.ja,
        }
    }
}
