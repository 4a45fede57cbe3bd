//! What the built-in mind can tell from the words of a message, in English and Japanese.

const SECRECY_PHRASES: [&str; 14] = [
    "secret",
    "off the record",
    "between us",
    "keep that to yourself",
    "keep this to yourself",
    "don't remember",
    "do not remember",
    "don't tell",
    "内緒",
    "秘密",
    "ここだけの話",
    "オフレコ",
    "覚えないで",
    "忘れて",
];
const MAX_QUOTE_CHARS: usize = 160;
/// What it nods with at thanks and at "I see", and at a laugh or a greeting.
pub const WELCOME: &str = "👍";
pub const LAUGH: &str = "😄";

/// Whether the author asks not to be repeated or remembered.
pub fn asks_for_secrecy(text: &str) -> bool {
    let lower = text.to_lowercase().replace('’', "'");
    SECRECY_PHRASES.iter().any(|word| lower.contains(word))
}

/// The beginning of a text. Code that the cut leaves open is closed, or else what follows the quote would be code.
pub fn truncate_quote(text: &str) -> String {
    const FENCE: &str = "```";
    let Some((end, _)) = text.char_indices().nth(MAX_QUOTE_CHARS) else {
        return text.to_owned();
    };
    // Perhaps the cut is within a fence.
    let kept = text[..end].trim_end().trim_end_matches('`').trim_end();
    let is_in_block = kept.matches(FENCE).count() % 2 == 1;
    let last = kept.rsplit(FENCE).next().unwrap_or(kept);
    let is_in_code = last.matches('`').count() % 2 == 1;
    let mark = match () {
        () if is_in_block => FENCE,
        () if is_in_code => "`",
        () => "",
    };
    format!("{kept}…{mark}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_cut_between_characters() {
        let long = "あ".repeat(200);
        assert_eq!(truncate_quote(&long).chars().count(), 161);
        assert_eq!(truncate_quote("short"), "short");
        let rest = "x".repeat(200);
        for (text, end) in [
            (format!("see ```let y = 1; {rest}``` here"), "x…```"),
            (format!("see ```let y``` here {rest}"), "x…"),
            (format!("see `let y {rest}` here"), "x…`"),
            (format!("see `let` {rest}"), "x…"),
            (format!("{}```{rest}```", "y".repeat(159)), "y…"),
            (format!("```{}```", "y".repeat(157)), "y…```"),
        ] {
            assert!(truncate_quote(&text).ends_with(end), "{text}: {}", truncate_quote(&text));
        }
    }
}
