//! The prompt templates of both languages, since one run measures cases in both.

use aizuchi_config::Config;
use aizuchi_config::language::LanguageSetting;
use aizuchi_llm::prompt::builder::PromptBuilder;
use aizuchi_model::persona::Language;

pub struct LanguagePrompts {
    en: PromptBuilder,
    ja: PromptBuilder,
}

impl LanguagePrompts {
    /// Loads the templates. The operator's own replace those of the languages that may be spoken.
    pub fn load(config: &Config) -> anyhow::Result<Self> {
        let load = |language: Language| {
            let is_spoken =
                config.language == LanguageSetting::Auto || language == config.language.own();
            let folder = config.prompts_dir().filter(|_| is_spoken);
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
