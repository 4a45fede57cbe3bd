//! Whether a line may be what a text became, whoever and whatever was known when it was said: names of people
//! and emoji become mentions and pictures, or stay as they are.

use crate::text::is_id;

/// In letters; no name is longer.
const MAX_NAME_CHARS: usize = 80;

/// Whether a line says a text that was written where nothing has a name.
pub fn is_fuzzy_match(line: &str, text: &str) -> bool {
    matches_with_mentions(&with_emoji_names(line), &with_emoji_names(text))
}

/// `<:parrot:1>` is `:parrot:`.
fn with_emoji_names(text: &str) -> String {
    let mut named = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('<') {
        named.push_str(before);
        match split_emoji(behind) {
            Some((name, more)) => {
                named.push_str(&format!(":{name}:"));
                rest = more;
            }
            None => {
                named.push('<');
                rest = behind;
            }
        }
    }
    named + rest
}

/// The name of an emoji, and what follows.
fn split_emoji(behind: &str) -> Option<(&str, &str)> {
    let whole = behind.strip_prefix("a:").or_else(|| behind.strip_prefix(':'))?;
    let (inner, more) = whole.split_once('>')?;
    let (name, id) = inner.split_once(':')?;
    is_id(id).then_some((name, more))
}

/// A mention stands for a name, which holds no further `@`: so there is but one way to go on.
fn matches_with_mentions(line: &str, text: &str) -> bool {
    let Some((before, more)) = split_first_mention(line) else { return line == text };
    let Some(called) = text.strip_prefix(before) else { return false };
    let Some(name) = called.strip_prefix(['@', '＠']) else { return false };
    let letters = name.char_indices().take_while(|(_, letter)| !"@＠\n".contains(*letter));
    let mut ends = letters.map(|(at, letter)| at + letter.len_utf8()).take(MAX_NAME_CHARS);
    ends.any(|end| matches_with_mentions(more, &name[end..]))
}

/// What stands before and behind the first `<@1>`.
fn split_first_mention(line: &str) -> Option<(&str, &str)> {
    line.match_indices("<@").find_map(|(at, sign)| {
        let (id, more) = line[at + sign.len()..].split_once('>')?;
        is_id(id).then_some((&line[..at], more))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_and_what_is_known_makes_no_difference() {
        let text = "@Mio Rose, @花子さん and @Kim: :parrot:!";
        for line in [
            text,
            "<@11>, @花子さん and @Kim: :parrot:!",
            "@Mio Rose, <@12>さん and <@13>: <:parrot:7>!",
            "<@11>, <@12>さん and <@13>: <a:parrot:7>!",
            "<@11> Rose, <@12> and @Kim: :parrot:!",
        ] {
            assert!(is_fuzzy_match(line, text), "{line}");
        }
        for line in [
            "<@11>, @花子さん and @Kim: :parrot:?",
            "<@11>, @花子さん and Kim: :parrot:!",
            "<@11>, @花子さん and @Kim: <:carrot:7>!",
            "<@11> and <@13>: :parrot:!",
            "<@11>, <@12>さん and <@13>: :parrot:! <@14>",
            "<@x>, @花子さん and @Kim: :parrot:!",
        ] {
            assert!(!is_fuzzy_match(line, text), "{line}");
        }
        assert!(is_fuzzy_match("see <:parrot:9> <b", "see <:parrot:9> <b"));
        assert!(
            !is_fuzzy_match("<@1>", "Mio")
                && !is_fuzzy_match("<@1>", "@")
                && is_fuzzy_match("<@1>", "@Mio")
        );
    }
}
