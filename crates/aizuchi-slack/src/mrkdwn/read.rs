//! Converts mrkdwn to plain text and collects its mentions. Keeps the marks for bold text, code and other styles.

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, Mention, UserId, channel_topic, to_single_line};
use aizuchi_platform::emoji_names;
use aizuchi_platform::parsed_text::{ParsedText, normalize_text};

use crate::mrkdwn::{NameLookup, is_id};

/// Parses any text; invalid mrkdwn stays as it is.
pub fn parse_mrkdwn(text: &str, names: &NameLookup<'_>) -> ParsedText {
    let text = normalize_text(text);
    let mut reading =
        MrkdwnReader { names, text: String::with_capacity(text.len()), mentions: Vec::new() };
    let mut rest = text.as_str();
    while let Some((prose, code, more)) = next_code(rest) {
        reading.read_segment(prose, Segment::Prose);
        reading.read_segment(code, Segment::Code);
        rest = more;
    }
    reading.read_segment(rest, Segment::Prose);
    ParsedText { text: reading.text, mentions: reading.mentions }
}

/// Parses the topic of a channel, without the names of users.
pub fn parse_topic(text: &str, names: &NameLookup<'_>) -> Arc<str> {
    let names = NameLookup { persona_name: "…", user: &|_| Some("…".into()), ..*names };
    channel_topic(&parse_mrkdwn(text, &names).text)
}

/// Splits at the next code span or code block: the text before it, the code with its marks, and the rest.
fn next_code(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(start) = text[from..].find('`').map(|at| from + at) {
        let behind = &text[start..];
        let length = code_block_length(behind).or_else(|| code_span_length(behind));
        if let Some(length) = length {
            return Some((&text[..start], &behind[..length], &behind[length..]));
        }
        from = start + 1;
    }
    None
}

fn code_block_length(from: &str) -> Option<usize> {
    let code = from.strip_prefix("```")?;
    Some(code.find("```").filter(|end| *end > 0)? + 6)
}

fn code_span_length(from: &str) -> Option<usize> {
    let line = from.split('\n').next().unwrap_or(from);
    let code = line.strip_prefix('`')?;
    Some(code.find('`').filter(|end| *end > 0)? + 2)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Segment {
    Prose,
    Code,
}

struct MrkdwnReader<'a> {
    names: &'a NameLookup<'a>,
    text: String,
    mentions: Vec<Mention>,
}

impl MrkdwnReader<'_> {
    fn read_segment(&mut self, text: &str, segment: Segment) {
        let mut rest = text;
        // In `:a::b:` the second colon belongs to an emoji, so the third may start another one.
        let mut is_behind_emoji = false;
        while let Some(character) = rest.chars().next() {
            let taken = match character {
                '<' => self.bracket(rest),
                '&' => self.entity(rest),
                ':' if segment == Segment::Prose => self.emoji(rest, is_behind_emoji),
                _ => None,
            };
            is_behind_emoji = character == ':' && taken.is_some();
            if taken.is_none() {
                self.text.push(character);
            }
            rest = &rest[taken.unwrap_or(character.len_utf8())..];
        }
    }

    fn entity(&mut self, from: &str) -> Option<usize> {
        let (length, character) = parse_entity(from)?;
        self.text.push(character);
        Some(length)
    }

    /// Parses an emoji. `10:30:45` and `a::b::c` contain none.
    fn emoji(&mut self, from: &str, is_behind_emoji: bool) -> Option<usize> {
        let before = self.text.chars().next_back();
        let is_inside =
            before.is_some_and(|character| character.is_ascii_digit() || character == ':');
        if is_inside && !is_behind_emoji {
            return None;
        }
        let name = emoji_name_length(&from[1..])?;
        let tone = from[name + 2..].strip_prefix(":skin-tone-").and_then(|tone| tone.find(':'));
        let toned = tone.map(|tone| &from[1..name + 2 + ":skin-tone-".len() + tone]);
        let toned = toned.map(|toned| (toned, emoji_names::to_character(toned)));
        let (name, shown) = match toned.filter(|(_, shown)| !shown.starts_with(':')) {
            Some((toned, shown)) => (toned, shown),
            None => (&from[1..=name], emoji_names::to_character(&from[1..=name])),
        };
        self.text.push_str(&shown);
        Some(name.len() + 2)
    }

    /// Parses `<…>`: a mention, a link or a special mention. With any other content, it is text.
    fn bracket(&mut self, from: &str) -> Option<usize> {
        let inner = &from[1..];
        let end = inner.find(['<', '>', '\n']).filter(|end| inner[*end..].starts_with('>'))?;
        let (target, label) = inner[..end].split_once('|').unwrap_or((&inner[..end], ""));
        let label = to_single_line(&decode_entities(label));
        let shown = match target.chars().next()? {
            '@' => self.user_mention(target.get(1..)?, &label)?,
            '#' => self.channel_mention(target.get(1..)?, &label)?,
            '!' => self.special_mention(target.get(1..)?, label)?,
            _ => format_link(&decode_entities(target), label)?,
        };
        self.text.push_str(&shown);
        Some(end + 2)
    }

    fn user_mention(&mut self, id: &str, label: &str) -> Option<String> {
        let user = UserId::new(id.to_owned());
        is_id(id).then_some(())?;
        let is_persona = user == *self.names.persona;
        let name = match (self.names.user)(&user) {
            _ if is_persona => self.names.persona_name.to_owned(),
            Some(name) => to_single_line(&name),
            None if label.is_empty() => id.to_owned(),
            None => label.trim_start_matches('@').to_owned(),
        };
        let mention = if is_persona { Mention::Persona } else { Mention::User(user) };
        if !self.mentions.contains(&mention) {
            self.mentions.push(mention);
        }
        Some(format!("@{name}"))
    }

    fn channel_mention(&self, id: &str, label: &str) -> Option<String> {
        is_id(id).then_some(())?;
        let known =
            (self.names.channel)(&ChannelId::new(id.to_owned())).map(|name| to_single_line(&name));
        let label =
            Some(label.trim_start_matches('#').to_owned()).filter(|label| !label.is_empty());
        let name = known.or(label).unwrap_or_else(|| id.to_owned());
        Some(format!("#{}", name.trim_start_matches('#')))
    }

    fn special_mention(&self, kind: &str, label: String) -> Option<String> {
        if let "here" | "channel" | "everyone" = kind {
            return Some(format!("@{kind}"));
        }
        let label = Some(label).filter(|label| !label.is_empty());
        let Some(group) = kind.strip_prefix("subteam^") else {
            // A date or an unknown kind, whose label is meant for clients that cannot show it.
            return label;
        };
        let known = || (self.names.group)(group).map(|name| to_single_line(&name));
        let name = label.or_else(known).unwrap_or_else(|| group.to_owned());
        Some(format!("@{}", name.trim_start_matches('@')))
    }
}

fn emoji_name_length(from: &str) -> Option<usize> {
    let end = from.char_indices().take(101).find(|(_, character)| *character == ':')?.0;
    emoji_names::is_name(&from[..end]).then_some(end)
}

fn format_link(target: &str, label: String) -> Option<String> {
    let target = to_single_line(target);
    let (scheme, address) = target.split_once(':')?;
    let is_scheme = scheme.starts_with(|character: char| character.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "+-.".contains(character));
    let is_link = is_scheme && (address.starts_with("//") || matches!(scheme, "mailto" | "tel"));
    is_link.then_some(())?;
    let short = address.trim_start_matches("//").trim_end_matches('/');
    let shown = if address.starts_with("//") { target.as_str() } else { address };
    if label.is_empty() || label == target {
        return Some(shown.to_owned());
    }
    // Slack adds links to text like `example.org` and `anna@example.org`.
    let is_made_by_slack = label.trim_end_matches('/') == short;
    Some(if is_made_by_slack { label } else { format!("{label} ({shown})") })
}

fn parse_entity(from: &str) -> Option<(usize, char)> {
    let entities = [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>')];
    let (entity, character) = entities.iter().find(|(entity, _)| from.starts_with(entity))?;
    Some((entity.len(), *character))
}

/// Decodes entities in one pass, because the result may look like an entity again.
fn decode_entities(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        let (length, character) = parse_entity(&rest[at..]).unwrap_or((1, '&'));
        decoded.push(character);
        rest = &rest[at + length..];
    }
    decoded + rest
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aizuchi_model::chat::is_line_break;
    use proptest::prelude::*;

    use super::*;

    fn with_names<T>(then: impl FnOnce(&NameLookup<'_>) -> T) -> T {
        let persona = UserId::new("UBOT");
        let names = NameLookup {
            persona: &persona,
            persona_name: "Aizuchi",
            user: &|id| (id.as_str() == "U1").then(|| Arc::from("山田 花子")),
            channel: &|id| (id.as_str() == "C1").then(|| Arc::from("general")),
            group: &|id| (id == "S1").then(|| Arc::from("team")),
        };
        then(&names)
    }

    fn parse(text: &str) -> ParsedText {
        with_names(|names| parse_mrkdwn(text, names))
    }

    #[test]
    fn mrkdwn_becomes_plain_text() {
        for (text, expected) in [
            ("hello", "hello"),
            ("<@U1>さん", "@山田 花子さん"),
            ("<@U1|old>", "@山田 花子"),
            ("<@U9>, <@W9|kim> and <@UBOT|bot>", "@U9, @kim and @Aizuchi"),
            ("<#C1|old> <#C2|random> <#C3> <#C4|>", "#general #random #C3 #C4"),
            ("<!here> <!channel> <!everyone|everyone>", "@here @channel @everyone"),
            ("<!subteam^S9|@leads> <!subteam^S1> <!subteam^S2>", "@leads @team @S2"),
            ("<!date^1392734382^{date}^https://a.example|Feb 18>", "Feb 18"),
            ("<!date^1392734382^{date}>", "<!date^1392734382^{date}>"),
            ("<https://a.example/?a=1&amp;b=2>", "https://a.example/?a=1&b=2"),
            ("<https://a.example|the plan>", "the plan (https://a.example)"),
            ("<https://a.example|https://a.example>", "https://a.example"),
            ("<http://a.example|a.example>", "a.example"),
            ("<mailto:a@b.example|a@b.example>", "a@b.example"),
            ("<mailto:a@b.example|Anna>", "Anna (a@b.example)"),
            ("<tel:+15550100>", "+15550100"),
            ("a &lt;b&gt; &amp; c", "a <b> & c"),
            ("&amp;lt;@U1&amp;gt; &lt;@U1&gt; &nbsp;", "&lt;@U1&gt; <@U1> &nbsp;"),
            ("*bold* _it_ ~no~ &gt; q", "*bold* _it_ ~no~ > q"),
            (":thumbsup::wave::skin-tone-3: :party-parrot::tada:", "👍👋🏼 :party-parrot:🎉"),
            (":party-parrot::skin-tone-3:", ":party-parrot::skin-tone-3:"),
            ("10:30:45, std::key::x, そう:+1:です", "10:30:45, std::key::x, そう👍です"),
            ("`:tada: &lt;a&gt; <@U1>` :tada:", "`:tada: <a> @山田 花子` 🎉"),
            ("```\n:tada:\n<https://a.example>``` :tada:", "```\n:tada:\nhttps://a.example``` 🎉"),
            ("` :tada: `` :tada:", "` :tada: `` 🎉"),
            ("an ` alone :tada:", "an ` alone 🎉"),
            (
                "＜@U1＞ < @U1> <@u1> <@> <#> <!> <> <x> <a|b> <a:b",
                "＜@U1＞ < @U1> <@u1> <@> <#> <!> <> <x> <a|b> <a:b",
            ),
            ("<https://a.example|a\nb>", "<https://a.example|a\nb>"),
            ("<<@U1>>", "<@山田 花子>"),
            ("a\r\nb\u{2028}c\u{0}\u{1b}[1m\td", "a\nb\nc[1m\td"),
        ] {
            assert_eq!(parse(text).text, expected, "{text:?}");
        }
    }

    #[test]
    fn a_topic_names_no_user() {
        for (text, expected) in [
            ("ask <@U1|hana>,\n<@U9> or `<@UBOT>`: a &lt; b", "ask @…, @… or `@…`: a < b"),
            ("<#C1> <!subteam^S1> :tada:", "#general @team 🎉"),
        ] {
            assert_eq!(&*with_names(|names| parse_topic(text, names)), expected, "{text:?}");
        }
    }

    #[test]
    fn each_mention_is_listed_once() {
        let user = |id: &str| Mention::User(UserId::new(id));
        let read = parse("<@U9> <@UBOT> `<@U1>` <@U9|x> <@UBOT> &lt;@U5&gt; <#C1> <!here>");
        assert_eq!(read.mentions, [user("U9"), Mention::Persona, user("U1")]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_can_be_read(text in "(\\PC|\\pC|[<>@#!|&;:`\n]|<@U1>|<!here>|&lt;|:tada:|https://|```){0,60}") {
            let read = parse(&text);
            let is_raw = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
            prop_assert!(!read.text.contains(is_raw), "{:?}", read.text);
            prop_assert!(!read.text.contains(|character| character != '\n' && is_line_break(character)));
            let unique = read.mentions.iter().enumerate();
            for (index, mention) in unique {
                prop_assert!(!read.mentions[..index].contains(mention));
            }
        }
    }
}
