//! Converts a post's text to blocks. In a plain text, Slack's server links everything that looks like a URL, with or
//! without a scheme, even in code. A verbatim block contains only the links that its text writes out.

use serde_json::{Value, json};

/// Slack's limit for the text of one block, in characters.
const MAX_BLOCK_LENGTH: usize = 3_000;
/// Opens and closes a code block.
const FENCE: &str = "```";
/// The space reserved to close and reopen a code block at the end and the start of a block.
const FENCE_ROOM: usize = 8;

/// Returns the blocks of a text in mrkdwn.
pub fn to_blocks(mrkdwn: &str) -> Value {
    let sections = split_mrkdwn(mrkdwn, MAX_BLOCK_LENGTH).into_iter().map(|text| {
        let text = json!({ "type": "mrkdwn", "text": text, "verbatim": true });
        // Otherwise Slack folds a long text behind “See more”.
        json!({ "type": "section", "text": text, "expand": true })
    });
    sections.collect()
}

/// Splits mrkdwn at line ends or, if a line is too long, between characters. A split code block continues in the next
/// part.
fn split_mrkdwn(mrkdwn: &str, longest: usize) -> Vec<String> {
    let mut parts = Parts { finished: Vec::new(), part: String::new(), is_code: false };
    let limit = longest - FENCE_ROOM;
    for line in mrkdwn.split_inclusive('\n') {
        for piece in split_line(line, limit) {
            if length(&parts.part) + length(&piece) > limit {
                parts.finish();
            }
            parts.push(&piece);
        }
    }
    parts.is_code = false;
    parts.finish();
    parts.finished
}

struct Parts {
    finished: Vec<String>,
    part: String,
    /// Whether a code block is open at the end of the part.
    is_code: bool,
}

impl Parts {
    fn push(&mut self, piece: &str) {
        let closing = piece.strip_prefix(FENCE).filter(|_| self.is_code && self.part == FENCE);
        if let Some(rest) = closing {
            // The code block ended with the last part.
            (self.part, self.is_code) = (String::new(), false);
            return self.push(rest);
        }
        self.is_code ^= !piece.matches(FENCE).count().is_multiple_of(2);
        self.part.push_str(piece);
    }

    fn finish(&mut self) {
        let mut part = std::mem::take(&mut self.part);
        if self.is_code {
            self.part.push_str(FENCE);
            match part.trim_end().strip_suffix(FENCE) {
                // The code block begins with the next part.
                Some(before) => part.truncate(before.len()),
                None => part.push_str(FENCE),
            }
        }
        let shown = part.trim_matches('\n');
        if !shown.trim().is_empty() {
            self.finished.push(shown.to_owned());
        }
    }
}

/// Splits a line into pieces without cutting a link, a mention, an entity or a fence.
fn split_line(line: &str, longest: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut rest = line;
    while let Some(character) = rest.chars().next() {
        let end = match character {
            '<' => rest.find('>').map(|end| end + 1),
            '&' => rest.find(';').map(|end| end + 1),
            '`' => Some(rest.len() - rest.trim_start_matches('`').len()),
            _ => None,
        };
        let (token, after) = rest.split_at(end.unwrap_or(character.len_utf8()));
        if pieces.last().is_some_and(|piece| length(piece) + length(token) > longest) {
            pieces.push(String::new());
        }
        pieces.last_mut().into_iter().for_each(|piece| piece.push_str(token));
        rest = after;
    }
    pieces
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_is_one_verbatim_block() {
        let text = "*Go* to <https://a.example|the wiki> (www.evil.example)\n```\ncurl https://b.example\n```";
        let expected = json!([{
            "type": "section",
            "text": { "type": "mrkdwn", "text": text, "verbatim": true },
            "expand": true,
        }]);
        assert_eq!(to_blocks(text), expected);
        assert_eq!(to_blocks(" \n"), json!([]));
    }

    #[test]
    fn a_long_text_is_split_between_lines_and_characters() {
        for (text, expected) in [
            ("one two\nthree four\n", vec!["one two", "three four"]),
            (
                "a\n```\none two three\nfour five\n```\nb",
                vec!["a", "```one two three\n```", "```four five\n```", "b"],
            ),
            ("&amp;&amp;&amp;&amp;&amp;", vec!["&amp;&amp;&amp;", "&amp;&amp;"]),
            ("see <https://a.example> there", vec!["see ", "<https://a.example>", " there"]),
        ] {
            assert_eq!(split_mrkdwn(text, 24), expected, "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_is_lost_and_every_part_fits(
            text in "(a|bc |&amp;|<@U1>|<https://a\\.example>|\n|\n\n|```|`|犬){0,120}"
        ) {
            let parts = split_mrkdwn(&text, 40);
            prop_assert!(parts.iter().all(|part| length(part) <= 40), "{:?}", parts);
            let characters = |text: &str| text.replace(['\n', ' ', '`'], "");
            prop_assert_eq!(characters(&parts.concat()), characters(&text));
            for part in &parts {
                prop_assert_eq!(part.matches('<').count(), part.matches('>').count());
            }
        }
    }
}
