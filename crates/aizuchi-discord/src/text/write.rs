//! What a model writes in Markdown becomes what Discord shows. Discord reads most of Markdown, so only
//! what it does not know is changed: tables, rules, small headings, pictures, boxes to tick.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::text::emoji::{GuildEmoji, expand_shortcodes};
use crate::text::escape::escape_mentions;
use crate::text::is_id;
use aizuchi_core::chat::{UserId, to_single_line};
use aizuchi_core::platform::parsed_text::normalize_text;
use aizuchi_core::platform::split::utf16_length;
use aizuchi_core::platform::table;
use aizuchi_core::platform::user_names::{TextPart, split_mentions};

/// Discord takes so much at once.
pub const MAX_MESSAGE_LENGTH: usize = 2_000;

/// What names stand for where something is said.
#[derive(Clone, Copy)]
pub struct MentionLookup<'a> {
    /// The id of whoever has exactly this name.
    pub find_user: &'a dyn Fn(&str) -> Option<UserId>,
    /// The server's own of this name.
    pub find_emoji: &'a dyn Fn(&str) -> Option<GuildEmoji>,
}

impl MentionLookup<'static> {
    /// Nobody and nothing has a name.
    pub fn empty() -> Self {
        Self { find_user: &|_| None, find_emoji: &|_| None }
    }
}

/// What would be too long with everything that makes it nicer goes out as it is written.
pub fn to_discord_markdown(markdown: &str, known: &MentionLookup<'_>) -> String {
    let text = normalize_text(markdown);
    let people = |name: &str| (known.find_user)(name).filter(|id| is_id(id.as_str()));
    let known = MentionLookup { find_user: &people, find_emoji: known.find_emoji };
    let edits = find_replacements(&text);
    let fits = |written: &String| utf16_length(written) <= MAX_MESSAGE_LENGTH;
    Some(apply_replacements(&text, &edits, &known))
        .filter(fits)
        .or_else(|| Some(apply_replacements(&text, &[], &known)).filter(fits))
        .unwrap_or_else(|| apply_replacements(&text, &[], &MentionLookup::empty()))
}

/// The same where nothing has a name, with and without what makes it nicer.
pub fn to_markdown_without_names(markdown: &str) -> [String; 2] {
    let text = normalize_text(markdown);
    [&find_replacements(&text)[..], &[]]
        .map(|edits| apply_replacements(&text, edits, &MentionLookup::empty()))
}

/// Something that Discord would show as it is not meant, and what it becomes.
struct Replacement {
    range: Range<usize>,
    content: ReplacementContent,
}

enum ReplacementContent {
    /// Nobody is called in it.
    Original,
    Text(String),
}

fn apply_replacements(text: &str, edits: &[Replacement], known: &MentionLookup<'_>) -> String {
    let mut page = TextWriter { text: String::with_capacity(text.len()), mentioned: Vec::new() };
    let mut at = 0;
    for edit in edits {
        page.push_prose(&text[at..edit.range.start], known);
        page.text.push_str(match &edit.content {
            ReplacementContent::Original => &text[edit.range.clone()],
            ReplacementContent::Text(shown) => shown,
        });
        at = edit.range.end;
    }
    page.push_prose(&text[at..], known);
    // At the end: two parts may make what neither was.
    escape_mentions(&page.text, &|id| page.mentioned.iter().any(|called| called.as_str() == id))
}

struct TextWriter {
    text: String,
    mentioned: Vec<UserId>,
}

impl TextWriter {
    fn push_prose(&mut self, text: &str, known: &MentionLookup<'_>) {
        for part in split_mentions(text, known.find_user) {
            match part {
                TextPart::Text(words) => {
                    self.text.push_str(&expand_shortcodes(words, known.find_emoji))
                }
                TextPart::Mention(id) => {
                    self.text.push_str(&format!("<@{id}>"));
                    self.mentioned.push(id);
                }
            }
        }
    }
}

/// In the order of the text, none in another.
fn find_replacements(text: &str) -> Vec<Replacement> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    let mut edits: Vec<Replacement> = Vec::new();
    let mut table = TableWriter::default();
    for (event, at) in Parser::new_ext(text, options).into_offset_iter() {
        let to = match event {
            Event::Start(Tag::Table(columns)) => {
                table = TableWriter { columns, ..TableWriter::default() };
                continue;
            }
            Event::End(TagEnd::Table) => {
                ReplacementContent::Text(table.to_code_block(&text[at.clone()]))
            }
            Event::Start(Tag::TableHead | Tag::TableRow) => {
                table.rows.push(Vec::new());
                continue;
            }
            Event::Start(Tag::TableCell) => {
                table.rows.last_mut().into_iter().for_each(|row| row.push(String::new()));
                continue;
            }
            Event::Text(words) | Event::Code(words) if table.is_open() => {
                table.push_text(&words);
                continue;
            }
            Event::End(TagEnd::TableCell | TagEnd::TableRow | TagEnd::TableHead) => continue,
            _ if table.is_open() => continue,
            Event::Code(_) | Event::Start(Tag::CodeBlock(_) | Tag::Link { .. }) => {
                ReplacementContent::Original
            }
            Event::Start(Tag::Image { title: _, .. }) => {
                ReplacementContent::Text(image_alt_text(&text[at.clone()]).to_owned())
            }
            Event::Start(Tag::Heading { level, .. }) if level > HeadingLevel::H3 => {
                ReplacementContent::Text(bold_heading(&text[at.clone()]))
            }
            Event::Rule => ReplacementContent::Text(text[at.clone()].replace(['-', '*', '_'], "—")),
            Event::TaskListMarker(true) => ReplacementContent::Text("☑".to_owned()),
            Event::TaskListMarker(false) => ReplacementContent::Text("☐".to_owned()),
            _ => continue,
        };
        let is_behind = edits.last().is_none_or(|last| last.range.end <= at.start);
        if matches!(to, ReplacementContent::Text(_)) && table.is_open() {
            table = TableWriter::default();
        }
        if is_behind {
            edits.push(Replacement { range: at, content: to });
        }
    }
    edits
}

/// `![its words](https://…)`: nobody's client shall fetch what a model names.
fn image_alt_text(image: &str) -> &str {
    let words = image.strip_prefix("![").and_then(|rest| rest.split_once(']'));
    words.map_or("", |(words, _)| words)
}

fn bold_heading(line: &str) -> String {
    let words = to_single_line(line.trim_start_matches(['#', ' ']));
    format!("**{}**\n", words.trim_end_matches(['#', ' ']).replace("**", ""))
}

#[derive(Default)]
struct TableWriter {
    columns: Vec<pulldown_cmark::Alignment>,
    rows: Vec<Vec<String>>,
}

impl TableWriter {
    fn is_open(&self) -> bool {
        !self.columns.is_empty()
    }

    fn push_text(&mut self, words: &str) {
        let cell = self.rows.last_mut().and_then(|row| row.last_mut());
        cell.into_iter().for_each(|cell| cell.push_str(words));
    }

    /// A block of code, whose letters are equally wide. The line that ends the table stays.
    fn to_code_block(&self, source: &str) -> String {
        let aligned = table::format_table(&self.rows, &self.columns).replace("```", "'''");
        let end = if source.ends_with('\n') { "\n" } else { "" };
        format!("```\n{aligned}\n```{end}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn person(name: &str) -> Option<UserId> {
        let id = match name {
            "Mio" => "11",
            "花子" => "13",
            "odd" => "1> @everyone",
            _ => return None,
        };
        Some(UserId::new(id))
    }

    fn parrot(name: &str) -> Option<GuildEmoji> {
        let emoji = GuildEmoji { id: "7".into(), name: "parrot".into(), is_animated: false };
        (name == "parrot").then_some(emoji)
    }

    fn known() -> MentionLookup<'static> {
        MentionLookup { find_user: &person, find_emoji: &parrot }
    }

    #[test]
    fn emoji_of_the_server_are_shown_where_they_are_no_code() {
        for (markdown, expected) in [
            ("**yes** :parrot: :other:", "**yes** <:parrot:7> :other:"),
            ("`:parrot:` @Mio:parrot:", "`:parrot:` <@11><:parrot:7>"),
            ("[:parrot:](https://x.example)", "[:parrot:](https://x.example)"),
        ] {
            assert_eq!(to_discord_markdown(markdown, &known()), expected, "{markdown:?}");
        }
        let many = ":parrot: ".repeat(200);
        assert_eq!(to_discord_markdown(&many, &known()), many);
    }

    #[test]
    fn what_discord_knows_stays() {
        for text in [
            "**bold** *it* __under__ ~~no~~ ||spoiler|| `code`",
            "# big\n## less\n### small\n-# tiny",
            "> a\n> b\n\n- a\n  - b\n1. c",
            "```rust\nlet a = 1;\n# a\n---\n| a | b |\n```\nend",
            "[a link](https://x.example/?a=1&b=2) <https://x.example>",
            "これは**「大事」**です",
            "a < b & c > d, snake_case_name, 2 * 3 * 4",
        ] {
            assert_eq!(to_discord_markdown(text, &known()), text);
        }
    }

    #[test]
    fn what_discord_does_not_know_becomes_what_it_does() {
        for (markdown, expected) in [
            ("a\n\n---\n\nb", "a\n\n———\n\nb"),
            ("#### A *small* one ####\ntext", "**A *small* one**\ntext"),
            ("- [ ] open\n- [x] done", "- ☐ open\n- ☑ done"),
            ("see ![the plan](https://x.example/?secret) here", "see the plan here"),
            ("| a | b |\n|--:|---|\n| 1 | `x` |\n\nend", "```\na  b\n-  -\n1  x\n```\n\nend"),
            ("| 名 | n |\n|---|---|\n| @Mio | @everyone |", {
                "```\n名    n\n----  ---------\n@Mio  ＠everyone\n```"
            }),
        ] {
            assert_eq!(to_discord_markdown(markdown, &known()), expected, "{markdown:?}");
        }
    }

    #[test]
    fn only_those_are_called_who_are_there() {
        for (markdown, expected) in [
            ("@Mio, @花子さん and @Kim", "<@11>, <@13>さん and @Kim"),
            ("`@Mio` and a@Mio.example", "`@Mio` and a@Mio.example"),
            ("[@Mio](https://x.example)", "[@Mio](https://x.example)"),
            ("@![everyone](https://x.example)", "＠everyone"),
            ("@odd @everyone <@11> <@&5> <#5>", "@odd ＠everyone <＠11> <＠&5> <#5>"),
            ("```\n@here\n```", "```\n＠here\n```"),
        ] {
            assert_eq!(to_discord_markdown(markdown, &known()), expected, "{markdown:?}");
        }
    }

    #[test]
    fn what_would_be_too_long_goes_out_as_it_is() {
        let many = "@Mio ".repeat(400);
        assert_eq!(
            to_discord_markdown(
                &many,
                &MentionLookup {
                    find_user: &|_| Some(UserId::new("1234567890123456789")),
                    ..known()
                }
            ),
            many
        );
        let row = format!("| a | {} |\n|---|---|\n| {} | b |", "x".repeat(900), "y".repeat(900));
        assert_eq!(to_discord_markdown(&row, &known()), row);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whatever_a_model_writes_calls_nobody_else(
            text in "([a-z@<>&!#|`*_\\[\\]()\n -]|@everyone|@here|<@&1>|<@11>|@Mio|```|\\| a \\||----|\u{200b}|[あ-ん]){0,80}"
        ) {
            let written = to_discord_markdown(&text, &known());
            prop_assert!(utf16_length(&written) <= MAX_MESSAGE_LENGTH);
            let seen: String =
                written.chars().filter(|letter| !aizuchi_core::chat::is_invisible(*letter)).collect();
            prop_assert!(!seen.contains("@everyone") && !seen.contains("@here"), "{}", seen);
            let seen = seen.replace("<@11>", "");
            prop_assert!(!seen.contains("<@&") && !seen.contains("<@1"), "{}", seen);
        }
    }
}
