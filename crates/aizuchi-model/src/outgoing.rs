//! Screens a text that a model wrote before users see it. A model may follow instructions that a user wrote into the
//! chat, so these rules apply whatever it answers.

pub mod fences;
pub mod secrets;
pub mod urls;

use crate::chat::to_visible_text;
use crate::outgoing::fences::normalize_fences;
use crate::outgoing::secrets::SecretScanner;
use crate::outgoing::urls::{CodeBlocks, KnownUrls, rendered_text, screen_urls};
use crate::persona::Language;
use crate::texts;

/// The maximum length of a model's text, in characters; the rest is left out. The posts of an answer have less.
const MAX_LENGTH: usize = 100_000;
/// How many times markup that hides a secret is removed.
const MAX_PASSES: usize = 3;

/// Returns the text without hidden characters and secrets. Only URLs in `known` are live.
pub fn screen(
    text: &str,
    known: &KnownUrls,
    code: CodeBlocks,
    secrets: &SecretScanner,
    language: Language,
) -> String {
    let end = text.char_indices().nth(MAX_LENGTH).map_or(text.len(), |(end, _)| end);
    // Renderers use private-use characters as markers.
    let mut text = normalize_fences(&to_visible_text(&text[..end]))
        .replace(|character| matches!(character, '\u{e000}'..='\u{f8ff}'), "");
    for _ in 0..MAX_PASSES {
        let screened = screen_urls(&secrets.redact(&text, language), known, code);
        // A secret may be split by markup that readers do not see, or by a scheme that was removed.
        let rendered = rendered_text(&screened);
        if !secrets.has_secret(&rendered) && !secrets.has_secret(&screened) {
            return screened;
        }
        text = rendered;
    }
    texts::replies::secret_removed(language).to_owned()
}
