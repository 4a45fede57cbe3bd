//! Cuts the middle out of messages that are too long for a prompt.

use aizuchi_model::persona::Language;
use aizuchi_model::texts;

use crate::prompt::fence::fence;
use crate::prompt::tokens::estimate;

/// Shortens a text to about `max_tokens` at most, and fences it: its beginning, a note of how much was left out, and
/// its end. The note cannot be forged, since a line that begins with asterisks is fenced.
pub fn shorten(text: &str, max_tokens: u64, language: Language) -> String {
    let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let total = offsets.len();
    let mut kept = total;
    loop {
        let tokens = estimate_kept(text, &offsets, kept);
        if tokens <= max_tokens || kept <= 2 {
            break;
        }
        // Shrink by at least a tenth, so the loop ends soon.
        kept = ((kept as u64 * max_tokens / tokens) as usize).min(kept * 9 / 10).max(2);
    }
    let (head, tail) = head_and_tail(text, &offsets, kept);
    let note = texts::prompts::characters_left_out(language, total - kept);
    format!("{}\n{note}\n{}", fence(head), fence(tail))
}

fn estimate_kept(text: &str, offsets: &[usize], kept: usize) -> u64 {
    let (head, tail) = head_and_tail(text, offsets, kept);
    estimate(head) + estimate(tail)
}

/// Splits off the kept characters: the first two thirds of `kept` from the beginning, the rest from the end.
fn head_and_tail<'a>(text: &'a str, offsets: &[usize], kept: usize) -> (&'a str, &'a str) {
    let at = |character: usize| offsets.get(character).copied().unwrap_or(text.len());
    let head = (kept * 2).div_ceil(3).min(kept);
    (&text[..at(head)], &text[at(offsets.len() - (kept - head))..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_both_ends() {
        let text = format!("first{}last", "あ".repeat(40_000));
        let short = shorten(&text, 100, Language::En);
        assert!(estimate(&short) < 140, "{short}");
        assert!(short.starts_with("firstあ") && short.ends_with("あlast"));
        let kept = short.chars().filter(|character| *character == 'あ').count();
        let note = format!("\n**({} characters left out)**\n", 40_000 - kept);
        assert!(short.contains(&note), "{short}");
    }

    #[test]
    fn each_end_is_fenced() {
        let text = format!("# head {}\n---", "x ".repeat(1000));
        let short = shorten(&text, 20, Language::Ja);
        assert!(short.starts_with("\\# head") && short.ends_with("\n\\---"), "{short}");
        assert!(short.contains("文字を省略）**\n"));
    }

    #[test]
    fn at_least_two_characters_are_kept() {
        assert_eq!(shorten("abc", 0, Language::En), "ab\n**(1 characters left out)**\n");
    }
}
