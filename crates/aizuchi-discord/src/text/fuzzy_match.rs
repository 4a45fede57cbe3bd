//! Whether a message on Discord may be a post of a given text. Which names became mentions and emoji depends on the
//! state of the cache at the time, so either form matches.

use crate::text::is_id;

/// Longer than any display name.
const MAX_NAME_CHARS: usize = 80;

/// Whether a message's content matches a text that was rendered without any mention or emoji. Discord removes the
/// whitespace around a content.
pub fn is_fuzzy_match(content: &str, text: &str) -> bool {
    matches_with_mentions(&with_emoji_names(content.trim()), &with_emoji_names(text.trim()))
}

/// Replaces `<:parrot:1>` with `:parrot:`.
fn with_emoji_names(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        plain.push_str(before);
        match split_emoji(after) {
            Some((name, more)) => {
                plain.push_str(&format!(":{name}:"));
                rest = more;
            }
            None => {
                plain.push('<');
                rest = after;
            }
        }
    }
    plain + rest
}

/// Returns the name of the emoji that starts here, and the rest of the text.
fn split_emoji(after: &str) -> Option<(&str, &str)> {
    let whole = after.strip_prefix("a:").or_else(|| after.strip_prefix(':'))?;
    let (inner, more) = whole.split_once('>')?;
    let (name, id) = inner.split_once(':')?;
    is_id(id).then_some((name, more))
}

/// Matches a text with mentions: a mention matches any name. A name contains no further `@`, so the search does not
/// branch.
fn matches_with_mentions(content: &str, text: &str) -> bool {
    let Some((before, more)) = split_first_mention(content) else { return content == text };
    let Some(rest) = text.strip_prefix(before) else { return false };
    let Some(name) = rest.strip_prefix(['@', '＠']) else { return false };
    let characters = name.char_indices().take_while(|(_, character)| !"@＠\n".contains(*character));
    let mut ends = characters.map(|(at, character)| at + character.len_utf8()).take(MAX_NAME_CHARS);
    ends.any(|end| matches_with_mentions(more, &name[end..]))
}

/// Splits the text before and after the first `<@1>`.
fn split_first_mention(content: &str) -> Option<(&str, &str)> {
    content.match_indices("<@").find_map(|(at, marker)| {
        let (id, more) = content[at + marker.len()..].split_once('>')?;
        is_id(id).then_some((&content[..at], more))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolved_and_unresolved_names_match() {
        let text = "@Mio Rose, @花子さん and @Kim: :parrot:!";
        for content in [
            text,
            "<@11>, @花子さん and @Kim: :parrot:!",
            "@Mio Rose, <@12>さん and <@13>: <:parrot:7>!",
            "<@11>, <@12>さん and <@13>: <a:parrot:7>!",
            "<@11> Rose, <@12> and @Kim: :parrot:!",
        ] {
            assert!(is_fuzzy_match(content, text), "{content}");
        }
        for content in [
            "<@11>, @花子さん and @Kim: :parrot:?",
            "<@11>, @花子さん and Kim: :parrot:!",
            "<@11>, @花子さん and @Kim: <:carrot:7>!",
            "<@11> and <@13>: :parrot:!",
            "<@11>, <@12>さん and <@13>: :parrot:! <@14>",
            "<@x>, @花子さん and @Kim: :parrot:!",
        ] {
            assert!(!is_fuzzy_match(content, text), "{content}");
        }
        assert!(is_fuzzy_match("see <:parrot:9> <b", "see <:parrot:9> <b"));
        assert!(is_fuzzy_match("**Roses**", "\n**Roses**\n"));
        assert!(
            !is_fuzzy_match("<@1>", "Mio")
                && !is_fuzzy_match("<@1>", "@")
                && is_fuzzy_match("<@1>", "@Mio")
        );
    }
}
