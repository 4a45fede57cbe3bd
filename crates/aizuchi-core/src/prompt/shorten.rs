//! Lines of talk that are too long for a prompt, without their middle.

use crate::persona::Language;
use crate::prompt::fence::fence;
use crate::prompt::tokens::estimate;

/// A fenced text of about so many tokens at most: its beginning and its end, and between them how much
/// was left out. Nobody can forge that note, since a line that begins with stars is fenced.
pub fn shorten(text: &str, most: u64, language: Language) -> String {
    let letters: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let all = letters.len();
    let mut kept = all;
    loop {
        let tokens = estimate_kept(text, &letters, kept);
        if tokens <= most || kept <= 2 {
            break;
        }
        // Never the same again, and soon there.
        kept = ((kept as u64 * most / tokens) as usize).min(kept * 9 / 10).max(2);
    }
    let (head, tail) = head_and_tail(text, &letters, kept);
    let left_out = all - kept;
    let note = match language {
        Language::En => format!("**({left_out} characters left out)**"),
        Language::Ja => format!("**（{left_out}文字を省略）**"),
    };
    format!("{}\n{note}\n{}", fence(head), fence(tail))
}

fn estimate_kept(text: &str, letters: &[usize], kept: usize) -> u64 {
    let (head, tail) = head_and_tail(text, letters, kept);
    estimate(head) + estimate(tail)
}

/// So many letters, two thirds of them from the beginning.
fn head_and_tail<'a>(text: &'a str, letters: &[usize], kept: usize) -> (&'a str, &'a str) {
    let at = |letter: usize| letters.get(letter).copied().unwrap_or(text.len());
    let head = (kept * 2).div_ceil(3).min(kept);
    (&text[..at(head)], &text[at(letters.len() - (kept - head))..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paste_keeps_its_ends() {
        let text = format!("first{}last", "あ".repeat(40_000));
        let short = shorten(&text, 100, Language::En);
        assert!(estimate(&short) < 140, "{short}");
        assert!(short.starts_with("firstあ") && short.ends_with("あlast"));
        let kept = short.chars().filter(|letter| *letter == 'あ').count();
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
    fn the_shortest_is_two_letters() {
        assert_eq!(shorten("abc", 0, Language::En), "ab\n**(1 characters left out)**\n");
    }
}
