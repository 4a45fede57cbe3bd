//! Converts Discord's markup to the text that users see, with its mentions. Bold, code, spoilers and other styles are
//! kept, because models know them.

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, Mention, UserId, channel_topic, to_single_line};
use aizuchi_platform::parsed_text::{ParsedText, normalize_text};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::text::{NameLookup, RoleName, is_id};

/// Parses any text. Code, and markup that is not Discord's, stays as it is.
pub fn parse_discord_markdown(text: &str, names: &NameLookup<'_>) -> ParsedText {
    let text = normalize_text(text);
    let mut reader =
        MarkdownReader { names, text: String::with_capacity(text.len()), mentions: Vec::new() };
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['<', '`', '\\']) {
        reader.text.push_str(&rest[..at]);
        rest = &rest[at..];
        let consumed = match rest.as_bytes()[0] {
            b'<' => reader.bracket(rest).unwrap_or_else(|| reader.push_verbatim(rest, 1)),
            b'`' => reader.push_verbatim(rest, code_length(rest)),
            // An escaped character is plain text.
            _ => reader.push_verbatim(rest, 1 + rest.chars().nth(1).map_or(0, char::len_utf8)),
        };
        rest = &rest[consumed..];
    }
    reader.text.push_str(rest);
    ParsedText { text: reader.text, mentions: reader.mentions }
}

/// Parses the topic of a channel, without the names of users and roles. No code or escape hides an id.
pub fn parse_topic(
    text: &str,
    channel: &dyn Fn(&ChannelId) -> Option<Arc<str>>,
    time_zone: &TimeZone,
) -> Arc<str> {
    let names = NameLookup {
        persona: &UserId::unknown(),
        persona_name: "",
        user: &|_| Some("…".into()),
        channel: &|id| channel(id).or_else(|| Some("…".into())),
        role: &|_| Some(RoleName::Named("…".into())),
        time_zone,
    };
    channel_topic(&parse_discord_markdown(&text.replace(['`', '\\'], ""), &names).text)
}

/// Returns the length of the code block or span that starts here, or of backticks that start none.
fn code_length(text: &str) -> usize {
    let ticks = text.len() - text.trim_start_matches('`').len();
    let mut at = ticks;
    while let Some(start) = text[at..].find('`').map(|found| at + found) {
        let after = &text[start..];
        let length = after.len() - after.trim_start_matches('`').len();
        if length == ticks {
            return start + length;
        }
        if ticks >= 3 && length >= 3 {
            return start + 3;
        }
        at = start + length;
    }
    ticks
}

struct MarkdownReader<'a> {
    names: &'a NameLookup<'a>,
    text: String,
    mentions: Vec<Mention>,
}

impl MarkdownReader<'_> {
    fn push_verbatim(&mut self, from: &str, length: usize) -> usize {
        self.text.push_str(&from[..length]);
        length
    }

    /// Parses `<…>`: a mention, a channel, an emoji, a time or a command. With any other content, it is plain text.
    fn bracket(&mut self, from: &str) -> Option<usize> {
        let inner = &from[1..];
        let end = inner.find(['<', '>', '\n']).filter(|end| inner[*end..].starts_with('>'))?;
        let inside = &inner[..end];
        let text = match inside.chars().next()? {
            '@' => self.read_mention(&inside[1..])?,
            '#' => self.read_channel(&inside[1..])?,
            ':' | 'a' => read_emoji(inside)?,
            't' => self.read_time(inside.strip_prefix("t:")?)?,
            '/' => read_command(inside)?,
            _ => return None,
        };
        self.text.push_str(&text);
        Some(end + 2)
    }

    fn read_mention(&mut self, inside: &str) -> Option<String> {
        if let Some(role) = inside.strip_prefix('&') {
            is_id(role).then_some(())?;
            return Some(match (self.names.role)(role) {
                Some(RoleName::Persona) => self.mention_persona(),
                Some(RoleName::Named(name)) => with_at_sign(&name),
                None => with_at_sign(role),
            });
        }
        let id = inside.strip_prefix('!').unwrap_or(inside);
        is_id(id).then_some(())?;
        let user = UserId::new(id);
        if user == *self.names.persona {
            return Some(self.mention_persona());
        }
        let name = (self.names.user)(&user);
        self.add_mention(Mention::User(user));
        Some(with_at_sign(name.as_deref().unwrap_or(id)))
    }

    fn mention_persona(&mut self) -> String {
        self.add_mention(Mention::Persona);
        with_at_sign(self.names.persona_name)
    }

    fn add_mention(&mut self, mention: Mention) {
        if !self.mentions.contains(&mention) {
            self.mentions.push(mention);
        }
    }

    fn read_channel(&self, id: &str) -> Option<String> {
        is_id(id).then_some(())?;
        let name = (self.names.channel)(&ChannelId::new(id));
        Some(format!("#{}", to_single_line(name.as_deref().unwrap_or(id)).trim_start_matches('#')))
    }

    /// Reads `1700000000:R`, in the persona's time zone.
    fn read_time(&self, inside: &str) -> Option<String> {
        let (second, style) = inside.split_once(':').unwrap_or((inside, "f"));
        let at = Timestamp::from_second(second.parse().ok()?).ok()?;
        let at = at.to_zoned(self.names.time_zone.clone());
        let format = match style {
            "t" => "%H:%M",
            "T" => "%H:%M:%S",
            "d" | "D" => "%Y-%m-%d",
            "f" | "F" | "R" | "s" | "S" => "%Y-%m-%d %H:%M",
            _ => return None,
        };
        Some(at.strftime(format).to_string())
    }
}

fn with_at_sign(name: &str) -> String {
    format!("@{}", to_single_line(name).trim_start_matches('@'))
}

/// Reads a custom emoji: `:wave:1` or `a:wave:1`.
fn read_emoji(inside: &str) -> Option<String> {
    let (name, id) =
        inside.strip_prefix('a').unwrap_or(inside).strip_prefix(':')?.split_once(':')?;
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_name && is_id(id)).then(|| format!(":{name}:"))
}

/// Reads `/aizuchi why:1`.
fn read_command(inside: &str) -> Option<String> {
    let (name, id) = inside.rsplit_once(':')?;
    (is_id(id) && name.len() > 1).then(|| to_single_line(name))
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::is_line_break;
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> ParsedText {
        let persona = UserId::new("900");
        let names = NameLookup {
            persona: &persona,
            persona_name: "Aizuchi",
            user: &|id| (id.as_str() == "1").then(|| Arc::from("山田 花子")),
            channel: &|id| (id.as_str() == "5").then(|| Arc::from("general")),
            role: &|id| match id {
                "7" => Some(RoleName::Named(Arc::from("mods"))),
                "8" => Some(RoleName::Persona),
                _ => None,
            },
            time_zone: &TimeZone::fixed(jiff::tz::offset(9)),
        };
        parse_discord_markdown(text, &names)
    }

    #[test]
    fn markup_becomes_plain_text() {
        for (text, expected) in [
            ("hello", "hello"),
            ("<@1>さん <@!1>", "@山田 花子さん @山田 花子"),
            ("<@9>, <@!900> and <@900>", "@9, @Aizuchi and @Aizuchi"),
            ("<@&7> <@&8> <@&6>", "@mods @Aizuchi @6"),
            ("<#5> <#6>", "#general #6"),
            ("<:party:12><a:wave:13> :tada:", ":party::wave: :tada:"),
            ("at <t:1700000000> or <t:1700000000:t>", "at 2023-11-15 07:13 or 07:13"),
            ("<t:1700000000:R>, <t:1700000000:D>", "2023-11-15 07:13, 2023-11-15"),
            ("<t:x> <t:1:q> <t:99999999999999999999>", "<t:x> <t:1:q> <t:99999999999999999999>"),
            ("</aizuchi why:12> </:1>", "/aizuchi why </:1>"),
            ("||a spoiler|| **bold** -# small", "||a spoiler|| **bold** -# small"),
            ("@everyone <https://a.example>", "@everyone <https://a.example>"),
            ("`<@1>` ``<@1>` `` <@1>", "`<@1>` ``<@1>` `` @山田 花子"),
            ("```\n<@1>\n``` <@1>", "```\n<@1>\n``` @山田 花子"),
            ("an ` alone <@1>", "an ` alone @山田 花子"),
            ("\\<@1> \\` <@1>", "\\<@1> \\` @山田 花子"),
            ("<@> <@x> <@1 < <#> <:a> <::1> <t:> <", "<@> <@x> <@1 < <#> <:a> <::1> <t:> <"),
            ("<<@1>>", "<@山田 花子>"),
            ("a\r\nb\u{2028}c\u{0}\u{1b}[1m\td", "a\nb\nc[1m\td"),
        ] {
            assert_eq!(parse(text).text, expected, "{text:?}");
        }
    }

    #[test]
    fn a_topic_names_no_user() {
        for (text, expected) in [
            ("ask <@1>, <@!9>\nor <@900>: a<b", "ask @…, @… or @…: a<b"),
            ("`<@1>` ```<@9>``` \\<@1>", "@… @… @…"),
            ("<#5> <#6> <@&7> <@&6> <@&8>", "#general #… @… @… @…"),
            ("<:party:12> <t:1700000000:D>", ":party: 2023-11-14"),
        ] {
            let channel = |id: &ChannelId| (id.as_str() == "5").then(|| Arc::from("general"));
            assert_eq!(&*parse_topic(text, &channel, &TimeZone::UTC), expected, "{text:?}");
        }
    }

    #[test]
    fn each_mention_is_reported_once_and_none_in_code() {
        let parsed = parse("<@9> <@&8> `<@1>` <@!9> <@900> \\<@5> <@&7>");
        assert_eq!(parsed.mentions, [Mention::User(UserId::new("9")), Mention::Persona]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_can_be_read(text in "(\\PC|\\pC|[<>@#!&:/`\\\\\n]|<@1>|<a:b:1>|<t:1:R>|```){0,60}") {
            let parsed = parse(&text);
            let is_raw = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
            prop_assert!(!parsed.text.contains(is_raw), "{:?}", parsed.text);
            prop_assert!(!parsed.text.contains(|character| character != '\n' && is_line_break(character)));
        }
    }
}
