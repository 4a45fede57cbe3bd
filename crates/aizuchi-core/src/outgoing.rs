//! What becomes of a text that a model wrote before anybody sees it. A model may obey whoever wrote into the chat, so
//! these rules hold whatever it answers.

pub mod secrets;
pub mod urls;

use crate::chat::to_visible_text;
use crate::outgoing::secrets::SecretScanner;
use crate::outgoing::urls::{KnownUrls, screen_urls};
use crate::persona::Language;

/// The text without hidden letters and secrets. Only URLs in `known` are live.
pub fn screen(
    text: &str,
    known: &KnownUrls,
    secrets: &SecretScanner,
    language: Language,
) -> String {
    // Renderers use private letters as marks.
    let visible =
        to_visible_text(text).replace(|letter| matches!(letter, '\u{e000}'..='\u{f8ff}'), "");
    screen_urls(&secrets.redact(&visible, language), known)
}
