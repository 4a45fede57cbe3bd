//! Models' own markup: tokens of their chat templates, thinking and tool calls that a server passes on as text. The only
//! place that knows it, for all providers. So far it finds answers that say nothing; it does not clean others.

use crate::chat::is_blank;

/// The tags around what is not part of an answer.
const BLOCKS: [&str; 4] = ["think", "thinking", "reasoning", "tool_call"];
/// Template tokens besides `<|…|>`.
const TOKENS: [&str; 8] =
    ["<s>", "</s>", "<eos>", "<bos>", "<start_of_turn>", "<end_of_turn>", "[inst]", "[/inst]"];
/// An answer that repeats a phrase this often at its end does not come to one by itself.
const MAX_REPEATS: usize = 24;
/// Shorter repetitions may be meant: laughter, a ruler.
const MIN_REPEATED_CHARACTERS: usize = 120;

/// Why an answer says nothing, if it does not: a model has lost itself in markup or in a phrase.
pub fn degeneracy(text: &str) -> Option<&'static str> {
    if !is_blank(text) && is_only_markup(text) {
        Some("its answer holds nothing but markup")
    } else if ends_in_repetition(text) {
        Some("its answer repeats itself to the end")
    } else {
        None
    }
}

/// Whether a text begins with thinking.
pub fn begins_with_thinking(text: &str) -> bool {
    let lower = text.trim_start().to_ascii_lowercase();
    BLOCKS[..3].iter().any(|name| lower.starts_with(&format!("<{name}>")))
}

/// Whether nothing but template tokens, thinking and tool calls is in a text. What is not closed goes on to the end.
pub fn is_only_markup(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let mut rest = &*lower;
    while let Some(begin) = rest.find(['<', '[']).filter(|begin| is_blank(&rest[..*begin])) {
        let Some(after) = skip_markup(&rest[begin..]) else { return false };
        rest = after;
    }
    is_blank(rest)
}

/// Returns what follows the markup at the beginning of a text in lower case.
fn skip_markup(lower: &str) -> Option<&str> {
    if let Some(rest) = TOKENS.iter().find_map(|token| lower.strip_prefix(token)) {
        return Some(rest);
    }
    if let Some((name, rest)) = lower.strip_prefix("<|").and_then(|rest| rest.split_once("|>")) {
        let is_name = name.chars().all(|it| it.is_alphanumeric() || "_-/▁".contains(it));
        return is_name.then_some(rest);
    }
    BLOCKS.iter().find_map(|name| {
        let closing = format!("</{name}>");
        if let Some(rest) = lower.strip_prefix(&closing) {
            return Some(rest);
        }
        let inside = lower.strip_prefix('<')?.strip_prefix(name)?.strip_prefix('>')?;
        Some(inside.split_once(&closing).map_or("", |(_, rest)| rest))
    })
}

fn ends_in_repetition(text: &str) -> bool {
    let text = text.trim_end_matches(|last: char| last.is_whitespace() || last == '…');
    let backwards = || text.bytes().rev();
    (1..=text.len() / MAX_REPEATS).any(|period| {
        let pairs = backwards().zip(backwards().skip(period));
        let repeated = period + pairs.take_while(|(last, before)| last == before).count();
        let characters = || {
            let end = text.as_bytes()[text.len() - repeated..].iter();
            end.filter(|byte| **byte & 0xC0 != 0x80).count()
        };
        repeated >= period * MAX_REPEATS && characters() >= MIN_REPEATED_CHARACTERS
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_markup_says_nothing() {
        for text in [
            "<|im_end|><think>".repeat(30),
            "<think>They greet me.".to_owned(),
            "<Think>They greet me.</Think>\n".to_owned(),
            "<think></think></s>".to_owned(),
            "</think>".to_owned(),
            "<|eot_id|>\n<|start_header_id|>".to_owned(),
            "<｜end▁of▁sentence｜>".replace('｜', "|"),
            "<tool_call>{\"name\":\"search\",\"arguments\":{}}</tool_call>".to_owned(),
        ] {
            assert_eq!(degeneracy(&text), Some("its answer holds nothing but markup"), "{text}");
        }
        for text in [
            "",
            " ",
            "Hello<|im_end|>",
            "<think>They greet me.</think>Hello",
            "Use `<think>` tags to mark reasoning.",
            "`<think>`",
            "[1] and <b>",
            "<|a b|>",
            "{\"should_respond\": true}",
        ] {
            assert_eq!(degeneracy(text), None, "{text}");
        }
    }

    #[test]
    fn an_answer_that_repeats_itself_to_the_end_says_nothing() {
        for text in [
            "I see. ".repeat(40),
            format!("Roses need water. {}…", "I see, ".repeat(40)),
            "はい。".repeat(45),
            "!".repeat(2000),
            format!("{}and so", "and so on and on, ".repeat(30)),
        ] {
            assert_eq!(degeneracy(&text), Some("its answer repeats itself to the end"), "{text}");
        }
        for text in [
            "ha".repeat(50),
            "以上です。\n".to_owned() + &"─".repeat(80),
            format!("{}That is enough.", "I see. ".repeat(40)),
            "I see. ".repeat(20),
            format!("Like this:\n```\n{}\n```", "-".repeat(200)),
            (1..60).map(|number| format!("{number}. I see.\n")).collect(),
        ] {
            assert_eq!(degeneracy(&text), None, "{text}");
        }
    }
}
