//! What becomes of a text that a model wrote before anybody sees it. A model may follow what a user wrote into the
//! chat, so these rules hold whatever it answers.

pub mod secrets;
pub mod urls;

use crate::chat::to_visible_text;
use crate::outgoing::secrets::SecretScanner;
use crate::outgoing::urls::{CodeBlocks, KnownUrls, rendered_text, screen_urls};
use crate::persona::Language;
use crate::texts;

/// More than the posts of an answer hold, in characters. What a model wrote beyond it is left out.
const MAX_LENGTH: usize = 100_000;
/// How often markup is taken away that hides a secret.
const MAX_PASSES: usize = 3;

/// The text without hidden characters and secrets. Only URLs in `known` are live.
pub fn screen(
    text: &str,
    known: &KnownUrls,
    code: CodeBlocks,
    secrets: &SecretScanner,
    language: Language,
) -> String {
    let end = text.char_indices().nth(MAX_LENGTH).map_or(text.len(), |(end, _)| end);
    // Renderers use private characters as marks.
    let mut text = to_visible_text(&text[..end])
        .replace(|character| matches!(character, '\u{e000}'..='\u{f8ff}'), "");
    for _ in 0..MAX_PASSES {
        let screened = screen_urls(&secrets.redact(&text, language), known, code);
        // A secret may be cut up by markup that readers do not see, or by a scheme that is gone.
        let rendered = rendered_text(&screened);
        if !secrets.has_secret(&rendered) && !secrets.has_secret(&screened) {
            return screened;
        }
        text = rendered;
    }
    texts::replies::secret_removed(language).to_owned()
}
