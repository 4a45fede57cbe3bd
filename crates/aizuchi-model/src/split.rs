//! Splits a text that is too long for one post, at the least disruptive place. Code, tables, quotes and emphasis
//! continue in the next chunk.

use std::iter::once;
use std::ops::Range;

use unicode_segmentation::GraphemeCursor;

use crate::outgoing::urls::{CodeBlocks, KnownUrls, screen_urls, without_urls};
use crate::split::blocks::Blocks;

mod blocks;

/// Characters that may follow the punctuation mark at the end of a sentence.
const CLOSING_MARKS: [char; 14] =
    ['」', '』', '）', '】', '》', '〉', '”', '’', '。', '！', '？', ')', '"', '\''];
/// Longer names and URLs are split like any other text.
const MAX_NAME_LENGTH: usize = 30;
const MAX_URL_LENGTH: usize = 1_000;

/// The maximum number of posts for one answer; the rest is left out.
pub const MAX_POSTS: usize = 5;
/// Appended to an answer that was cut.
const ELLIPSIS: &str = "\n…";
/// How many times posts are screened and split before they lose all URLs.
const MAX_PASSES: usize = 6;

/// Splits a screened text into posts of at most `longest`, at most as many as an answer may take. What was code in the
/// whole text may not be code in a part of it, so each part is screened; and since that may lengthen a part, each is
/// split once more.
pub fn to_posts(text: &str, known: &KnownUrls, longest: usize) -> Vec<String> {
    let mut posts = limit_posts(split(text, longest), longest);
    for _ in 0..MAX_PASSES {
        let screened = posts.iter().map(|post| screen_urls(post, known, CodeBlocks::KeepUrls));
        let screened = screened.flat_map(|post| split(&post, longest)).collect();
        let screened = limit_posts(screened, longest);
        if screened == posts {
            return posts;
        }
        posts = screened;
    }
    posts.iter().map(|post| without_urls(post)).collect()
}

/// Limits an answer to the first of these posts, each of at most `longest`.
pub fn limit_posts(mut posts: Vec<String>, longest: usize) -> Vec<String> {
    if posts.len() > MAX_POSTS {
        posts.truncate(MAX_POSTS);
        let last = posts.pop().unwrap_or_default();
        let shorter = split(&last, longest.saturating_sub(ELLIPSIS.len())).into_iter().next();
        posts.push(shorter.unwrap_or_default() + ELLIPSIS);
    }
    posts
}

/// Returns the length of a text as platforms and browsers count it: in UTF-16 code units.
pub fn utf16_length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Splits a text into chunks of at most `longest`, as [`utf16_length`] counts. It prefers the end of a
/// paragraph in the second half, then the end of a line, a sentence, a word, and only then any place. A code
/// block, a table or an emphasized part is split only if nothing else is possible; then one chunk closes it and the next
/// one opens it again.
pub fn split(text: &str, longest: usize) -> Vec<String> {
    let text = text.trim();
    let longest = longest.max(1);
    let blocks = Blocks::of_text(text, longest);
    let mut chunks = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let opening = blocks.seam(at).opening;
        let max_length = longest - utf16_length(&opening);
        let cut = SplitWindow { text, blocks: &blocks, at, max_length }.cut();
        let body = text[at..cut].trim_end();
        if !body.trim().is_empty() {
            chunks.push(format!("{opening}{body}{}", blocks.seam(cut).closing));
        }
        at = next_chunk_start(text, &blocks, cut);
    }
    chunks
}

/// Returns where the next chunk begins.
fn next_chunk_start(text: &str, blocks: &Blocks<'_>, cut: usize) -> usize {
    let blank = |at: usize| at + text[at..].len() - text[at..].trim_start().len();
    if let Some(end) = blocks.end_of_code(cut, blank(cut)) {
        return blank(end);
    }
    if !blocks.is_in_code(cut) {
        return blank(cut);
    }
    // The next line of code keeps its indentation.
    let gap = &text[cut..blank(cut)];
    cut + gap.rfind('\n').map_or(0, |line_end| line_end + 1)
}

/// The part of the text from which the next chunk is cut.
struct SplitWindow<'a> {
    text: &'a str,
    blocks: &'a Blocks<'a>,
    at: usize,
    max_length: usize,
}

impl SplitWindow<'_> {
    fn cut(&self) -> usize {
        let rest = &self.text[self.at..];
        let Some(end) = fitting_end(rest, self.max_length) else {
            return self.text.len();
        };
        let head = &rest[..end];
        let unbreakable = unbreakable_ranges(rest, end, self.max_length);
        let is_whole =
            |cut: &usize| !unbreakable.iter().any(|range| range.start < *cut && *cut < range.end);
        let fit = |cuts: &[usize], from: usize| {
            let cuts =
                cuts.iter().copied().filter(|cut| *cut >= from.max(1) && self.is_valid_cut(*cut));
            cuts.collect::<Vec<_>>()
        };
        let levels = [paragraph_ends(head), line_ends(head), sentence_ends(head), word_ends(head)];
        let good = |cuts: &[usize], is_inside: bool| {
            let cuts = fit(cuts, end / 2).into_iter().filter(is_whole);
            cuts.filter(|cut| self.blocks.is_in_block(self.at + *cut) == is_inside).max()
        };
        let between = |is_inside| levels.iter().find_map(|cuts| good(cuts, is_inside));
        let anywhere: Vec<usize> =
            head.char_indices().map(|(cut, _)| cut).chain(once(end)).collect();
        let whole = |cuts: &[usize], from| fit(cuts, from).into_iter().filter(is_whole).max();
        let cut = between(false)
            .or_else(|| between(true))
            .or_else(|| whole(&anywhere, end / 2))
            // A short chunk is better than a broken link.
            .or_else(|| levels.iter().find_map(|cuts| whole(cuts, 0)))
            .or_else(|| fit(&anywhere, 0).into_iter().max());
        self.at + cut.unwrap_or_else(|| self.hard_cut(head))
    }

    /// Cuts when not even one grapheme cluster fits.
    fn hard_cut(&self, head: &str) -> usize {
        let end = self.at + head.len();
        let spare = utf16_length(&self.blocks.seam(end).closing);
        fitting_end(head, utf16_length(head).saturating_sub(spare)).unwrap_or(head.len())
    }

    /// Whether a cut here is between two grapheme clusters, not in the marks of a block, and leaves space for what closes
    /// the blocks around it.
    fn is_valid_cut(&self, cut: usize) -> bool {
        let here = self.at + cut;
        let is_boundary = || {
            let mut cursor = GraphemeCursor::new(here, self.text.len(), true);
            cursor.is_boundary(self.text, 0).unwrap_or(true)
        };
        let used = || utf16_length(self.text[self.at..here].trim_end());
        let has_space =
            || used() + utf16_length(&self.blocks.seam(here).closing) <= self.max_length;
        is_boundary() && self.blocks.allow(self.at, here) && has_space()
    }
}

/// Returns where a text exceeds the length. The first character always fits.
fn fitting_end(text: &str, max_length: usize) -> Option<usize> {
    let mut left = max_length;
    let mut ends = text.char_indices().skip_while(|(at, character)| {
        let fits = character.len_utf16() <= left;
        left = left.saturating_sub(character.len_utf16());
        fits || *at == 0
    });
    ends.next().map(|(end, _)| end)
}

fn paragraph_ends(head: &str) -> Vec<usize> {
    head.match_indices("\n\n").map(|(at, border)| at + border.len()).collect()
}

fn line_ends(head: &str) -> Vec<usize> {
    head.match_indices('\n').map(|(at, border)| at + border.len()).collect()
}

/// Returns the positions after the punctuation at the end of a sentence and the brackets that follow it; in English,
/// before a space.
fn sentence_ends(head: &str) -> Vec<usize> {
    let ends = head.char_indices().filter_map(|(at, mark)| {
        let after = &head[at + mark.len_utf8()..];
        let rest = after.trim_start_matches(CLOSING_MARKS);
        let end = head.len() - rest.len();
        match mark {
            '。' | '！' | '？' | '．' => Some(end),
            '.' | '!' | '?' => {
                let blank = rest.chars().next().filter(|character| character.is_whitespace())?;
                Some(end + blank.len_utf8())
            }
            _ => None,
        }
    });
    ends.collect()
}

fn word_ends(head: &str) -> Vec<usize> {
    head.match_indices([' ', '、', '，', '　']).map(|(at, border)| at + border.len()).collect()
}

/// Returns links, URLs and mentions that reach the window, even across its end, if they fit into a chunk at all.
fn unbreakable_ranges(rest: &str, end: usize, max_length: usize) -> Vec<Range<usize>> {
    let starts = rest[..end].match_indices(['[', '@', '＠', 'h', '<']);
    let ranges = starts.filter_map(|(at, _)| Some(at..at + unbreakable_length(&rest[at..])?));
    ranges.filter(|range| utf16_length(&rest[range.clone()]) <= max_length).collect()
}

fn unbreakable_length(from: &str) -> Option<usize> {
    let near = from.char_indices().nth(MAX_URL_LENGTH).map_or(from, |(end, _)| &from[..end]);
    let line = near.split('\n').next().unwrap_or(near);
    let url_end = |line: &str| {
        line.find(|character: char| character.is_whitespace() || !character.is_ascii())
    };
    if line.starts_with("http://") || line.starts_with("https://") {
        return Some(url_end(line).unwrap_or(line.len()));
    }
    if line.starts_with('[') {
        let target = line.find("](")?;
        return Some(target + line[target..].find(')')? + 1);
    }
    if line.starts_with('<') {
        return Some(line.find('>')? + 1);
    }
    let name = line.strip_prefix(['@', '＠'])?;
    let is_end =
        |character: &char| !(character.is_alphanumeric() || matches!(character, '_' | '-' | '.'));
    let name: String =
        name.chars().take(MAX_NAME_LENGTH).take_while(|character| !is_end(character)).collect();
    Some(line.len() - line.trim_start_matches(['@', '＠']).len() + name.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Parser, Tag, TagEnd};

    use super::*;
    use crate::outgoing::urls::markdown_options;

    #[test]
    fn long_texts_are_split_at_the_best_place() {
        for (text, longest, expected) in [
            ("short", 10, vec!["short"]),
            ("𠮷𠮷𠮷", 4, vec!["𠮷𠮷", "𠮷"]),
            ("𠮷𠮷", 1, vec!["𠮷", "𠮷"]),
            ("  ", 10, vec![]),
            ("one two three", 8, vec!["one two", "three"]),
            ("A b. C d e f g", 10, vec!["A b.", "C d e f g"]),
            ("first\n\nsecond line", 14, vec!["first", "second line"]),
            ("a line\nanother line", 13, vec!["a line", "another line"]),
            ("そうですね。それはよいですね。", 10, vec!["そうですね。", "それはよいですね。"]),
            ("abcdefghij", 4, vec!["abcd", "efgh", "ij"]),
            ("ああああ", 1, vec!["あ", "あ", "あ", "あ"]),
            ("「そうですね。」と言いました", 10, vec!["「そうですね。」", "と言いました"]),
            ("It works (really!) as told", 20, vec!["It works (really!)", "as told"]),
            ("見て👩\u{200d}👧だよ", 6, vec!["見て", "👩\u{200d}👧だ", "よ"]),
            ("かか\u{3099}か", 2, vec!["か", "か\u{3099}", "か"]),
            ("👩\u{200d}👧", 3, vec!["👩\u{200d}", "👧"]),
            (
                "see [the two words](https://a.example) now",
                32,
                vec!["see [the two words](", "https://a.example) now"],
            ),
            (
                "please do see [the plan](https://a.example)",
                30,
                vec!["please do see", "[the plan](https://a.example)"],
            ),
            ("これはとても長い文です@hanako", 14, vec!["これはとても長い文です", "@hanako"]),
        ] {
            let chunks = split(text, longest);
            assert!(chunks.iter().all(|chunk| utf16_length(chunk) <= longest.max(2)), "{chunks:?}");
            assert_eq!(chunks, expected, "{text:?} in {longest}");
        }
    }

    #[test]
    fn code_continues_in_the_next_piece() {
        for (text, longest, expected) in [
            // There is a better position than inside the code.
            (
                "Some words go first.\n```rust\nlet a = 1;\n```",
                40,
                vec!["Some words go first.", "```rust\nlet a = 1;\n```"],
            ),
            // Code only, with its indentation.
            (
                "```rust\nfn one() {\n    two();\n    three();\n}\n```",
                36,
                vec!["```rust\nfn one() {\n    two();\n```", "```rust\n    three();\n}\n```"],
            ),
            // The closing line is not repeated.
            (
                "~~~~\nsome code\nmore code\n~~~~\nWords follow.",
                30,
                vec!["~~~~\nsome code\nmore code\n~~~~", "Words follow."],
            ),
            (
                "~~~~\nsome code\nmore code\n~~~~\nWords follow.",
                29,
                vec!["~~~~\nsome code\nmore code\n~~~~", "Words follow."],
            ),
            // A block without a closing line.
            ("```\nfirst line\nsecond line", 20, vec!["```\nfirst line\n```", "```\nsecond line"]),
            ("```a\u{3000}\nb\n```", 40, vec!["```a\u{3000}\nb\n```"]),
            ("```\nfirst line\n```second", 20, vec!["```\nfirst line\n```", "```\n```second"]),
            (
                "```\n> abcdefgh ijklmnop\n```",
                20,
                vec!["```\n> abcdefgh\n```", "```\nijklmnop\n```"],
            ),
            // Fences that would fill the chunk are plain text.
            ("```\nabc def\n```", 8, vec!["```", "abc def", "```"]),
        ] {
            let chunks = split(text, longest);
            assert!(chunks.iter().all(|chunk| utf16_length(chunk) <= longest.max(2)), "{chunks:?}");
            assert_eq!(chunks, expected, "{text:?} in {longest}");
        }
    }

    #[test]
    fn blocks_and_emphasis_continue_in_the_next_piece() {
        for (text, longest, expected) in [
            ("> one two three four", 14, vec!["> one two", "> three four"]),
            ("> one two\n> three four", 14, vec!["> one two", "> three four"]),
            ("> > one two three", 14, vec!["> > one two", "> > three"]),
            ("so **one two three four**", 20, vec!["so **one two three**", "**four**"]),
            ("**one two three four five**", 20, vec!["**one two three**", "**four five**"]),
            ("~~one two three four five~~", 20, vec!["~~one two three~~", "~~four five~~"]),
            ("_one **two three four** five_", 20, vec!["_one **two three**_", "_**four** five_"]),
            (
                "> ```\n> one two\n> three\n> four\n> ```",
                32,
                vec!["> ```\n> one two\n> three\n> ```", "> ```\n> four\n> ```"],
            ),
            (
                "- so\n  ```\n  one two\n  three\n  four\n  ```",
                36,
                vec!["- so\n  ```\n  one two\n  three\n  ```", "  ```\n  four\n  ```"],
            ),
            (
                "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |",
                41,
                vec![
                    "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |",
                    "| a | b |\n|---|---|\n| 5 | 6 |",
                ],
            ),
            // Marks that would fill the chunk are plain text.
            ("**one two**", 7, vec!["**one", "two**"]),
        ] {
            let chunks = split(text, longest);
            assert!(chunks.iter().all(|chunk| utf16_length(chunk) <= longest), "{chunks:?}");
            assert_eq!(chunks, expected, "{text:?} in {longest}");
        }
    }

    /// Returns the text without whitespace, without the opening and closing lines of code blocks and the headers of
    /// tables, and without the marks of quotes and emphasis.
    fn content(text: &str) -> String {
        let is_mark = |line: &&str| {
            let line = line.trim_start_matches([' ', '>']);
            ["```", "~~~", "| x | y |", "|---|---|"].iter().any(|mark| line.starts_with(mark))
        };
        let lines = text.lines().filter(|line| !is_mark(line));
        let is_content = |it: &char| !it.is_whitespace() && !">*~_|".contains(*it);
        lines.flat_map(|line| line.chars().filter(is_content)).collect()
    }

    /// Returns each letter with the blocks and the emphasis around it, without the headers of tables.
    fn letters(text: &str) -> Vec<(char, Vec<String>)> {
        let (mut around, mut letters) = (Vec::new(), Vec::new());
        for event in Parser::new_ext(text, markdown_options()) {
            match event {
                Event::Start(Tag::Paragraph | Tag::TableRow | Tag::TableCell) => {}
                Event::Start(tag) => around.push(format!("{:?}", tag.to_end())),
                Event::End(TagEnd::Paragraph | TagEnd::TableRow | TagEnd::TableCell) => {}
                Event::End(_) => drop(around.pop()),
                Event::Text(_) if around.iter().any(|tag| tag == "TableHead") => {}
                Event::Text(text) => {
                    let written = text.chars().filter(|it| it.is_alphabetic());
                    letters.extend(written.map(|it| (it, around.clone())));
                }
                _ => {}
            }
        }
        letters
    }

    fn marks(text: &str) -> usize {
        text.lines().filter(|line| line.trim_start().starts_with("```")).count()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_text_is_lost_and_code_stays_code(
            parts in prop::collection::vec(prop_oneof![
                "[a-z .!。、か\u{3099}👩\u{200d}👧@\\[\\]()]{0,60}",
                "\n\n(> ?){1,2}([a-z ]{1,70}\n){1,2}\n",
                "(\\*\\*|~~|_)[a-z ]{0,80}(\\*\\*|~~|_)",
                "\n\n\\| x \\| y \\|\n\\|---\\|---\\|\n(\\| [a-w]{1,8} \\| [a-w]{0,9} \\|\n){1,6}\n",
                "[a-z ]{0,20}\n\n[あ-ん。]{0,30}",
                "\n```rust\n([a-z (){};]{0,20}\n){0,6}```\n",
                "\n  ```\n( {0,4}[a-z漢字]{0,50}\n){0,3}  ```\n",
                "https?://[a-z./]{1,30}",
            ], 0..8),
            longest in 30..90_usize,
        ) {
            let text = parts.concat();
            let chunks = split(&text, longest);
            prop_assert_eq!(content(&chunks.join("\n")), content(&text));
            for chunk in &chunks {
                prop_assert!(utf16_length(chunk) <= longest, "{:?}", chunk);
                prop_assert!(!chunk.trim().is_empty());
                if marks(&text).is_multiple_of(2) {
                    prop_assert_eq!(marks(chunk) % 2, 0, "{:?} of {:?}", chunk, chunks);
                }
            }
        }

        #[test]
        fn each_letter_keeps_the_blocks_around_it(
            parts in prop::collection::vec(prop_oneof![
                "[a-z][a-z ]{0,59}\n\n",
                "(> [a-z][a-z ]{1,70}\n){1,3}\n",
                "\\*\\*[a-z][a-z ]{0,80}[a-z]\\*\\*\n\n",
                "~~[a-z][a-z ]{0,80}[a-z]~~ [a-z]{1,20}\n\n",
                "> _[a-z][a-z ]{0,80}[a-z]_\n\n",
                "\\| x \\| y \\|\n\\|---\\|---\\|\n(\\| [a-z]{1,8} \\| [a-z]{0,9} \\|\n){1,6}\n",
                "```rust\n([a-z]{1,20}\n){1,6}```\n\n",
            ], 1..6),
            longest in 60..120_usize,
        ) {
            let text = parts.concat();
            let chunks = split(&text, longest);
            let kept: Vec<_> = chunks.iter().flat_map(|chunk| letters(chunk)).collect();
            prop_assert_eq!(kept, letters(&text), "{:?}", chunks);
        }

        #[test]
        fn any_text_is_split_into_pieces_that_fit(text in "(\\PC|[`~\n @\\[あ]){0,200}", longest in 0..40_usize) {
            let characters = |text: &str| text.chars().filter(|character| !character.is_whitespace() && !"`~".contains(*character)).collect::<String>();
            let chunks = split(&text, longest);
            prop_assert!(chunks.iter().all(|chunk| utf16_length(chunk) <= longest.max(2)));
            let joined = characters(&chunks.concat());
            let mut joined = joined.chars();
            // A chunk may repeat the opening line of a code block.
            for character in characters(&text).chars() {
                prop_assert!(joined.any(|one| one == character), "{:?} of {:?}", chunks, text);
            }
        }
    }
}
