//! The language of the person at the terminal.

use aizuchi_config::language::LanguageSetting;
use aizuchi_model::persona::Language;

/// The language in which a person at the terminal reads what the config leaves to the language of the chat.
pub fn terminal_language(setting: LanguageSetting) -> Language {
    match setting {
        LanguageSetting::En | LanguageSetting::Ja => setting.own(),
        LanguageSetting::Auto => environment_language(),
    }
}

/// The language of the environment, if there are texts in it.
pub fn environment_language() -> Language {
    let settings = ["LC_ALL", "LC_MESSAGES", "LANG"].map(std::env::var);
    let setting = settings.into_iter().flatten().find(|setting| !setting.is_empty());
    if setting.is_some_and(|setting| setting.starts_with("ja")) {
        Language::Ja
    } else {
        Language::En
    }
}
