//! The language of the person at the terminal.

use aizuchi_core::persona::Language;

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
