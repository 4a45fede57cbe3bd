//! What a model writes in Markdown becomes what Discord shows. Discord reads most of Markdown, so only
//! what it does not know is changed: tables, rules, small headings, pictures, boxes to tick.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::text::emoji::{Emoji, shown};
use crate::text::harmless::harmless;
use crate::text::is_id;
use aizuchi_core::chat::{UserId, one_line};
use aizuchi_core::platform::people::{Part, parts};
use aizuchi_core::platform::read::clean;
use aizuchi_core::platform::split::length;
use aizuchi_core::platform::table;

/// Discord takes so much at once.
pub const LONGEST: usize = 2_000;

/// What names stand for where something is said.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// The id of whoever has exactly this name.
    pub people: &'a dyn Fn(&str) -> Option<UserId>,
    /// The server's own of this name.
    pub emoji: &'a dyn Fn(&str) -> Option<Emoji>,
}

impl Known<'static> {
    /// Nobody and nothing has a name.
    pub fn nothing() -> Self {
        Self { people: &|_| None, emoji: &|_| None }
    }
}

/// What would be too long with everything that makes it nicer goes out as it is written.
pub fn write(markdown: &str, known: &Known<'_>) -> String {
    let text = clean(markdown);
    let people = |name: &str| (known.people)(name).filter(|id| is_id(id.as_str()));
    let known = Known { people: &people, emoji: known.emoji };
    let edits = edits(&text);
    let fits = |written: &String| length(written) <= LONGEST;
    Some(written(&text, &edits, &known))
        .filter(fits)
        .or_else(|| Some(written(&text, &[], &known)).filter(fits))
        .unwrap_or_else(|| written(&text, &[], &Known::nothing()))
}

/// The same where nothing has a name, with and without what makes it nicer.
pub fn unnamed(markdown: &str) -> [String; 2] {
    let text = clean(markdown);
    [&edits(&text)[..], &[]].map(|edits| written(&text, edits, &Known::nothing()))
}

/// Something that Discord would show as it is not meant, and what it becomes.
struct Edit {
    at: Range<usize>,
    to: Change,
}

enum Change {
    /// Nobody is called in it.
    Kept,
    Shown(String),
}

fn written(text: &str, edits: &[Edit], known: &Known<'_>) -> String {
    let mut page = Page { text: String::with_capacity(text.len()), called: Vec::new() };
    let mut at = 0;
    for edit in edits {
        page.prose(&text[at..edit.at.start], known);
        page.text.push_str(match &edit.to {
            Change::Kept => &text[edit.at.clone()],
            Change::Shown(shown) => shown,
        });
        at = edit.at.end;
    }
    page.prose(&text[at..], known);
    // At the end: two parts may make what neither was.
    harmless(&page.text, &|id| page.called.iter().any(|called| called.as_str() == id))
}

struct Page {
    text: String,
    called: Vec<UserId>,
}

impl Page {
    fn prose(&mut self, text: &str, known: &Known<'_>) {
        for part in parts(text, known.people) {
            match part {
                Part::Words(words) => self.text.push_str(&shown(words, known.emoji)),
                Part::Person(id) => {
                    self.text.push_str(&format!("<@{id}>"));
                    self.called.push(id);
                }
            }
        }
    }
}

/// In the order of the text, none in another.
fn edits(text: &str) -> Vec<Edit> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    let mut edits: Vec<Edit> = Vec::new();
    let mut table = Table::default();
    for (event, at) in Parser::new_ext(text, options).into_offset_iter() {
        let to = match event {
            Event::Start(Tag::Table(columns)) => {
                table = Table { columns, ..Table::default() };
                continue;
            }
            Event::End(TagEnd::Table) => Change::Shown(table.shown(&text[at.clone()])),
            Event::Start(Tag::TableHead | Tag::TableRow) => {
                table.rows.push(Vec::new());
                continue;
            }
            Event::Start(Tag::TableCell) => {
                table.rows.last_mut().into_iter().for_each(|row| row.push(String::new()));
                continue;
            }
            Event::Text(words) | Event::Code(words) if table.is_open() => {
                table.put(&words);
                continue;
            }
            Event::End(TagEnd::TableCell | TagEnd::TableRow | TagEnd::TableHead) => continue,
            _ if table.is_open() => continue,
            Event::Code(_) | Event::Start(Tag::CodeBlock(_) | Tag::Link { .. }) => Change::Kept,
            Event::Start(Tag::Image { title: _, .. }) => {
                Change::Shown(picture(&text[at.clone()]).to_owned())
            }
            Event::Start(Tag::Heading { level, .. }) if level > HeadingLevel::H3 => {
                Change::Shown(heading(&text[at.clone()]))
            }
            Event::Rule => Change::Shown(text[at.clone()].replace(['-', '*', '_'], "—")),
            Event::TaskListMarker(true) => Change::Shown("☑".to_owned()),
            Event::TaskListMarker(false) => Change::Shown("☐".to_owned()),
            _ => continue,
        };
        let is_behind = edits.last().is_none_or(|last| last.at.end <= at.start);
        if matches!(to, Change::Shown(_)) && table.is_open() {
            table = Table::default();
        }
        if is_behind {
            edits.push(Edit { at, to });
        }
    }
    edits
}

/// `![its words](https://…)`: nobody's client shall fetch what a model names.
fn picture(image: &str) -> &str {
    let words = image.strip_prefix("![").and_then(|rest| rest.split_once(']'));
    words.map_or("", |(words, _)| words)
}

fn heading(line: &str) -> String {
    let words = one_line(line.trim_start_matches(['#', ' ']));
    format!("**{}**\n", words.trim_end_matches(['#', ' ']).replace("**", ""))
}

#[derive(Default)]
struct Table {
    columns: Vec<pulldown_cmark::Alignment>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn is_open(&self) -> bool {
        !self.columns.is_empty()
    }

    fn put(&mut self, words: &str) {
        let cell = self.rows.last_mut().and_then(|row| row.last_mut());
        cell.into_iter().for_each(|cell| cell.push_str(words));
    }

    /// A block of code, whose letters are equally wide. The line that ends the table stays.
    fn shown(&self, source: &str) -> String {
        let aligned = table::aligned(&self.rows, &self.columns).replace("```", "'''");
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

    fn parrot(name: &str) -> Option<Emoji> {
        let emoji = Emoji { id: "7".into(), name: "parrot".into(), is_animated: false };
        (name == "parrot").then_some(emoji)
    }

    fn known() -> Known<'static> {
        Known { people: &person, emoji: &parrot }
    }

    #[test]
    fn emoji_of_the_server_are_shown_where_they_are_no_code() {
        for (markdown, expected) in [
            ("**yes** :parrot: :other:", "**yes** <:parrot:7> :other:"),
            ("`:parrot:` @Mio:parrot:", "`:parrot:` <@11><:parrot:7>"),
            ("[:parrot:](https://x.example)", "[:parrot:](https://x.example)"),
        ] {
            assert_eq!(write(markdown, &known()), expected, "{markdown:?}");
        }
        let many = ":parrot: ".repeat(200);
        assert_eq!(write(&many, &known()), many);
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
            assert_eq!(write(text, &known()), text);
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
            assert_eq!(write(markdown, &known()), expected, "{markdown:?}");
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
            assert_eq!(write(markdown, &known()), expected, "{markdown:?}");
        }
    }

    #[test]
    fn what_would_be_too_long_goes_out_as_it_is() {
        let many = "@Mio ".repeat(400);
        assert_eq!(
            write(
                &many,
                &Known { people: &|_| Some(UserId::new("1234567890123456789")), ..known() }
            ),
            many
        );
        let row = format!("| a | {} |\n|---|---|\n| {} | b |", "x".repeat(900), "y".repeat(900));
        assert_eq!(write(&row, &known()), row);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whatever_a_model_writes_calls_nobody_else(
            text in "([a-z@<>&!#|`*_\\[\\]()\n -]|@everyone|@here|<@&1>|<@11>|@Mio|```|\\| a \\||----|\u{200b}|[あ-ん]){0,80}"
        ) {
            let written = write(&text, &known());
            prop_assert!(length(&written) <= LONGEST);
            let seen: String =
                written.chars().filter(|letter| !aizuchi_core::chat::is_unseen(*letter)).collect();
            prop_assert!(!seen.contains("@everyone") && !seen.contains("@here"), "{}", seen);
            let seen = seen.replace("<@11>", "");
            prop_assert!(!seen.contains("<@&") && !seen.contains("<@1"), "{}", seen);
        }
    }
}
