//! Converts a model's Markdown to Discord's. Discord supports most of Markdown, so only the rest is replaced: tables,
//! rules, small headings, images and task lists.

use std::ops::Range;

use aizuchi_model::chat::UserId;
use aizuchi_model::outgoing::urls::without_urls;
use aizuchi_model::split::utf16_length;
use aizuchi_model::table;
use aizuchi_platform::parsed_text::normalize_text;
use aizuchi_platform::user_names::{TextOrMention, split_mentions};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::text::code::{CodePart, is_all_code};
use crate::text::emoji::{GuildEmoji, expand_shortcodes};
use crate::text::escape::{break_invitations, escape_mentions};
use crate::text::is_id;

/// Discord's limit for a message, in UTF-16 code units.
pub const MAX_MESSAGE_LENGTH: usize = 2_000;

/// Finds the users and emoji that a text names.
#[derive(Clone, Copy)]
pub struct MentionLookup<'a> {
    /// Returns the user with exactly this name.
    pub find_user: &'a dyn Fn(&str) -> Option<UserId>,
    /// Returns the server's custom emoji of this name.
    pub find_emoji: &'a dyn Fn(&str) -> Option<GuildEmoji>,
}

impl MentionLookup<'static> {
    /// Returns a lookup that finds nothing.
    pub fn empty() -> Self {
        Self { find_user: &|_| None, find_emoji: &|_| None }
    }
}

/// Renders a text for Discord. If a replacement would make it too long, the text is sent as written.
pub fn to_discord_markdown(markdown: &str, lookup: &MentionLookup<'_>) -> String {
    let text = normalize_text(markdown);
    let find_user = |name: &str| (lookup.find_user)(name).filter(|id| is_id(id.as_str()));
    let lookup = MentionLookup { find_user: &find_user, find_emoji: lookup.find_emoji };
    let replacements = find_replacements(&text);
    let plain = without_code_urls(&text, &replacements);
    let fits = |rendered: &String| utf16_length(rendered) <= MAX_MESSAGE_LENGTH;
    Some(apply_replacements(&text, &replacements, &lookup))
        .filter(fits)
        .or_else(|| Some(apply_replacements(&plain, &[], &lookup)).filter(fits))
        .unwrap_or_else(|| apply_replacements(&plain, &[], &MentionLookup::empty()))
}

/// Renders the text without any mention or emoji, with and without the replacements.
pub fn to_markdown_without_names(markdown: &str) -> [String; 2] {
    let text = normalize_text(markdown);
    let replacements = find_replacements(&text);
    let plain = without_code_urls(&text, &replacements);
    [(&text, &*replacements), (&plain, &[])]
        .map(|(text, replacements)| apply_replacements(text, replacements, &MentionLookup::empty()))
}

/// Returns the text without the URLs of its code, which is not told apart without the replacements.
fn without_code_urls(text: &str, replacements: &[Replacement]) -> String {
    let mut plain = text.to_owned();
    for Replacement { range, content } in replacements.iter().rev() {
        if matches!(content, ReplacementContent::Code(_)) {
            plain.replace_range(range.clone(), &without_urls(&text[range.clone()]));
        }
    }
    plain
}

/// A part of the text that Discord would not show as intended, and its replacement.
struct Replacement {
    range: Range<usize>,
    content: ReplacementContent,
}

enum ReplacementContent {
    /// The part stays unchanged, without mentions.
    Original,
    Text(String),
    /// Code, or what contains some. It loses its URLs if Discord may read it as something else.
    Code(String),
}

fn apply_replacements(
    text: &str,
    replacements: &[Replacement],
    lookup: &MentionLookup<'_>,
) -> String {
    let mut writer = TextWriter::default();
    let mut at = 0;
    for replacement in replacements {
        writer.push_prose(&text[at..replacement.range.start], lookup);
        match &replacement.content {
            ReplacementContent::Original => writer.text.push_str(&text[replacement.range.clone()]),
            ReplacementContent::Text(text) => writer.text.push_str(text),
            ReplacementContent::Code(code) => writer.push_code(code),
        }
        at = replacement.range.end;
    }
    writer.push_prose(&text[at..], lookup);
    writer.screen_code();
    // Escaping comes last, because two adjacent parts may form a mention together.
    let is_intended = |id: &str| writer.mentioned.iter().any(|user| user.as_str() == id);
    break_invitations(&escape_mentions(&writer.text, &is_intended))
}

#[derive(Default)]
struct TextWriter {
    text: String,
    /// The code in the text, in order.
    code: Vec<CodePart>,
    mentioned: Vec<UserId>,
}

impl TextWriter {
    fn push_code(&mut self, code: &str) {
        let range = self.text.len()..self.text.len() + code.trim_end().len();
        self.text.push_str(code);
        self.code.push(CodePart { range, bare: without_urls(code.trim_end()) });
    }

    /// Removes the URLs from all code unless Discord reads it as code, too.
    fn screen_code(&mut self) {
        if !is_all_code(&self.text, &self.code) {
            for part in self.code.iter().rev() {
                self.text.replace_range(part.range.clone(), &part.bare);
            }
        }
    }

    fn push_prose(&mut self, text: &str, lookup: &MentionLookup<'_>) {
        for part in split_mentions(text, lookup.find_user) {
            match part {
                TextOrMention::Text(text) => {
                    self.text.push_str(&expand_shortcodes(text, lookup.find_emoji))
                }
                TextOrMention::Mention(id) => {
                    self.text.push_str(&format!("<@{id}>"));
                    self.mentioned.push(id);
                }
            }
        }
    }
}

/// Returns the replacements in the order of the text, without overlaps.
fn find_replacements(text: &str) -> Vec<Replacement> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    let mut replacements: Vec<Replacement> = Vec::new();
    let mut table = TableWriter::default();
    let mut is_small_heading = false;
    for (event, mut at) in Parser::new_ext(text, options).into_offset_iter() {
        let content = match event {
            Event::Start(Tag::Table(columns)) => {
                table = TableWriter { columns, ..TableWriter::default() };
                continue;
            }
            Event::End(TagEnd::Table) => {
                ReplacementContent::Code(table.to_code_block(&text[at.clone()]))
            }
            Event::Start(Tag::TableHead | Tag::TableRow) => {
                table.rows.push(Vec::new());
                continue;
            }
            Event::Start(Tag::TableCell) => {
                table.rows.last_mut().into_iter().for_each(|row| row.push(String::new()));
                continue;
            }
            Event::Text(text) | Event::Code(text) if table.is_open() => {
                table.push_text(&text);
                continue;
            }
            Event::End(TagEnd::TableCell | TagEnd::TableRow | TagEnd::TableHead) => continue,
            _ if table.is_open() => continue,
            Event::Code(_) | Event::Start(Tag::CodeBlock(_))
                if text[at.start..].starts_with('`') =>
            {
                ReplacementContent::Code(text[at.clone()].to_owned())
            }
            Event::Start(Tag::CodeBlock(_) | Tag::Link { .. }) => ReplacementContent::Original,
            Event::Start(Tag::Image { title: _, .. }) => {
                ReplacementContent::Text(image_alt_text(&text[at.clone()]).to_owned())
            }
            Event::Start(Tag::Heading { level, .. }) if level > HeadingLevel::H3 => {
                let title = text[at.clone()].trim_start_matches(['#', ' ']);
                // An empty one has no end to be replaced.
                if title.trim().is_empty() {
                    continue;
                }
                is_small_heading = true;
                at.end -= title.len();
                ReplacementContent::Text("**".to_owned())
            }
            // All of a small heading is bold.
            Event::Start(Tag::Strong) if is_small_heading => {
                at.end = at.start + 2;
                ReplacementContent::Text(String::new())
            }
            Event::End(TagEnd::Strong) if is_small_heading => {
                at.start = at.end - 2;
                ReplacementContent::Text(String::new())
            }
            Event::End(TagEnd::Heading(level)) if level > HeadingLevel::H3 => {
                is_small_heading = false;
                at.start += text[at.clone()].trim_end_matches(['#', ' ', '\n']).len();
                ReplacementContent::Text("**\n".to_owned())
            }
            Event::Rule => ReplacementContent::Text(text[at.clone()].replace(['-', '*', '_'], "—")),
            Event::TaskListMarker(true) => ReplacementContent::Text("☑".to_owned()),
            Event::TaskListMarker(false) => ReplacementContent::Text("☐".to_owned()),
            _ => continue,
        };
        // An outer element comes first, and its replacement covers those within it.
        let is_disjoint = replacements.last().is_none_or(|last| last.range.end <= at.start);
        if table.is_open() {
            table = TableWriter::default();
        }
        if is_disjoint {
            replacements.push(Replacement { range: at, content });
        }
    }
    replacements
}

/// Returns the alternative text of `![text](https://…)`: no client may fetch a URL that a model chose.
fn image_alt_text(image: &str) -> &str {
    let alt_text = image.strip_prefix("![").and_then(|rest| rest.split_once(']'));
    alt_text.map_or("", |(alt_text, _)| alt_text)
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

    fn push_text(&mut self, text: &str) {
        let cell = self.rows.last_mut().and_then(|row| row.last_mut());
        cell.into_iter().for_each(|cell| cell.push_str(text));
    }

    /// Renders the table as a code block, whose characters have equal width. Keeps the line end after the table.
    fn to_code_block(&self, source: &str) -> String {
        let aligned = table::format_table(&self.rows, &self.columns).replace("```", "'''");
        let end = if source.ends_with('\n') { "\n" } else { "" };
        format!("```\n{aligned}\n```{end}")
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_model::outgoing;
    use aizuchi_model::outgoing::secrets::SecretScanner;
    use aizuchi_model::outgoing::urls::{CodeBlocks, KnownUrls};
    use aizuchi_model::persona::Language;
    use proptest::prelude::*;

    use super::*;
    use crate::text::code::tests::reading::{ChatClient, live_targets};

    fn find_user(name: &str) -> Option<UserId> {
        let id = match name {
            "Mio" => "11",
            "花子" => "13",
            "odd" => "1> @everyone",
            _ => return None,
        };
        Some(UserId::new(id))
    }

    fn find_emoji(name: &str) -> Option<GuildEmoji> {
        let emoji = GuildEmoji { id: "7".into(), name: "parrot".into(), is_animated: false };
        (name == "parrot").then_some(emoji)
    }

    fn lookup() -> MentionLookup<'static> {
        MentionLookup { find_user: &find_user, find_emoji: &find_emoji }
    }

    #[test]
    fn custom_emoji_are_rendered_outside_code() {
        for (markdown, expected) in [
            ("**yes** :parrot: :other:", "**yes** <:parrot:7> :other:"),
            ("`:parrot:` @Mio:parrot:", "`:parrot:` <@11><:parrot:7>"),
            ("[:parrot:](https://x.example)", "[:parrot:](https://x.example)"),
        ] {
            assert_eq!(to_discord_markdown(markdown, &lookup()), expected, "{markdown:?}");
        }
        let many = ":parrot: ".repeat(200);
        assert_eq!(to_discord_markdown(&many, &lookup()), many);
    }

    #[test]
    fn markdown_that_discord_supports_stays() {
        for text in [
            "**bold** *it* __under__ ~~no~~ ||spoiler|| `code`",
            "# big\n## less\n### small\n-# tiny",
            "> a\n> b\n\n- a\n  - b\n1. c",
            "```rust\nlet a = 1;\n# a\n---\n| a | b |\n```\nend",
            "[a link](https://x.example/?a=1&b=2) <https://x.example>",
            "これは**「大事」**です",
            "a < b & c > d, snake_case_name, 2 * 3 * 4",
        ] {
            assert_eq!(to_discord_markdown(text, &lookup()), text);
        }
    }

    #[test]
    fn unsupported_markdown_is_replaced() {
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
            assert_eq!(to_discord_markdown(markdown, &lookup()), expected, "{markdown:?}");
        }
    }

    #[test]
    fn only_known_users_are_mentioned() {
        for (markdown, expected) in [
            ("@Mio, @花子さん and @Kim", "<@11>, <@13>さん and @Kim"),
            ("`@Mio` and a@Mio.example", "`@Mio` and a@Mio.example"),
            ("[@Mio](https://x.example)", "[@Mio](https://x.example)"),
            ("@![everyone](https://x.example)", "＠everyone"),
            ("@odd @everyone <@11> <@&5> <#5>", "@odd ＠everyone <＠11> <＠&5> <#5>"),
            ("```\n@here\n```", "```\n＠here\n```"),
        ] {
            assert_eq!(to_discord_markdown(markdown, &lookup()), expected, "{markdown:?}");
        }
    }

    #[test]
    fn a_text_that_would_become_too_long_is_unchanged() {
        let many = "@Mio ".repeat(400);
        assert_eq!(
            to_discord_markdown(
                &many,
                &MentionLookup {
                    find_user: &|_| Some(UserId::new("1234567890123456789")),
                    ..lookup()
                }
            ),
            many
        );
        let row = format!("| a | {} |\n|---|---|\n| {} | b |", "x".repeat(900), "y".repeat(900));
        assert_eq!(to_discord_markdown(&row, &lookup()), row);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_models_answer_links_only_to_urls_of_the_conversation(parts in prop::collection::vec(prop_oneof![
            "\\[(x|here)\\](\\(|\\[1\\])?(<)?(https?|HTTPS)?(:|&#58;|&colon;)//(evil|known)\\.example/[a-z]{0,2}(>)?\\)?",
            "(https://known\\.example/a|\n\\[1\\]: |\n\n|<|>|\\||`|```\n|\n    |<div>|\u{e000}|\u{1c})",
            "\\PC{0,2}",
        ], 0..16)) {
            let mut known = KnownUrls::default();
            known.add("see https://known.example/a there");
            let answer = parts.concat();
            let (code, secrets) = (CodeBlocks::KeepUrls, SecretScanner::default());
            let answer = outgoing::screen(&answer, &known, code, &secrets, Language::En);
            let rendered = to_discord_markdown(&answer, &lookup());
            let client = ChatClient { has_lists: true, has_emoji: true };
            for target in live_targets(&rendered, client) {
                prop_assert_eq!(target, "https://known.example/a", "{:?}", rendered);
            }
        }

        #[test]
        fn no_text_mentions_anyone_else(
            text in "([a-z@<>&!#|`*_\\[\\]()\n -]|@everyone|@here|<@&1>|<@11>|@Mio|```|\\| a \\||----|\u{200b}|[あ-ん]){0,80}"
        ) {
            let rendered = to_discord_markdown(&text, &lookup());
            prop_assert!(utf16_length(&rendered) <= MAX_MESSAGE_LENGTH);
            let visible: String =
                rendered.chars().filter(|character| !aizuchi_model::chat::is_invisible(*character)).collect();
            prop_assert!(!visible.contains("@everyone") && !visible.contains("@here"), "{}", visible);
            let visible = visible.replace("<@11>", "");
            prop_assert!(!visible.contains("<@&") && !visible.contains("<@1"), "{}", visible);
        }
    }
}
