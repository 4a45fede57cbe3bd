//! Reads a whole message: its text, or its blocks and attachments if it has no text. Parts of an unexpected shape are
//! skipped.

use aizuchi_model::chat::{ChannelId, Mention, MessageId, QuotedMessage, UserId};
use aizuchi_platform::parsed_text::ParsedText;
use serde_json::Value;

use crate::from_slack::{parse_id, parse_ts};
use crate::mrkdwn::read::parse_mrkdwn;
use crate::mrkdwn::{NameLookup, escape};

/// Returns the text of a message, which may be empty.
pub fn read_message(message: &Value, names: &NameLookup<'_>) -> ParsedText {
    let body = parse_mrkdwn(&message_text(message), names);
    let has_text = !str_at(message, "text").trim().is_empty();
    let shared = array_at(message, "attachments").filter(|_| !has_text).filter_map(quoted_message);
    let quotes: Vec<Mention> = shared.map(Mention::Quote).collect();
    // Users whom shared words mention are not notified again.
    let mentions = if quotes.is_empty() { body.mentions } else { quotes };
    ParsedText { text: body.text.trim_end().to_owned(), mentions }
}

/// Returns the message that an attachment shows, if it was shared.
fn quoted_message(attachment: &Value) -> Option<QuotedMessage> {
    let author = parse_id(&attachment["author_id"]).map(UserId::new);
    let channel = parse_id(&attachment["channel_id"]).map(ChannelId::new);
    let message = channel.zip(parse_id(&attachment["ts"]).map(MessageId::new));
    let is_shared = ["is_share", "is_msg_unfurl"].iter().any(|key| attachment[*key] == true);
    let (is_quoted, at) = (is_shared || author.is_some(), parse_ts(&attachment["ts"]));
    is_quoted.then_some(QuotedMessage { author, message, at })
}

/// Returns the message as mrkdwn. Apps may put all their content into blocks or attachments; in a user's message, the
/// blocks only repeat the text.
fn message_text(message: &Value) -> String {
    let text = str_at(message, "text");
    if !text.trim().is_empty() {
        return text.to_owned();
    }
    let attachments = array_at(message, "attachments").map(attachment_text);
    join_non_empty([blocks_text(message)].into_iter().chain(attachments), "\n")
}

fn attachment_text(attachment: &Value) -> String {
    let title = str_at(attachment, "title");
    let link = str_at(attachment, "title_link");
    let title = match (title, link) {
        ("", _) | (_, "") => title.to_owned(),
        (title, link) => format!("<{link}|{title}>"),
    };
    let fields = array_at(attachment, "fields").map(|field| {
        join_non_empty(["title", "value"].map(|part| str_at(field, part).to_owned()), ": ")
    });
    let parts = [str_at(attachment, "pretext").to_owned(), title]
        .into_iter()
        .chain([str_at(attachment, "text").to_owned(), blocks_text(attachment)])
        .chain(fields);
    let text = join_non_empty(parts, "\n");
    let text = if text.is_empty() { str_at(attachment, "fallback").to_owned() } else { text };
    if quoted_message(attachment).is_some() { quote(&text) } else { text }
}

fn quote(text: &str) -> String {
    text.lines().map(|line| format!("&gt; {line}")).collect::<Vec<_>>().join("\n")
}

fn blocks_text(holder: &Value) -> String {
    join_non_empty(array_at(holder, "blocks").map(block_text), "\n")
}

fn block_text(block: &Value) -> String {
    match str_at(block, "type") {
        "rich_text" => join_non_empty(array_at(block, "elements").map(rich_text_part), "\n"),
        "section" => {
            let fields = array_at(block, "fields").map(text_object_text);
            join_non_empty([text_object_text(&block["text"])].into_iter().chain(fields), "\n")
        }
        "header" => text_object_text(&block["text"]),
        "context" => join_non_empty(array_at(block, "elements").map(text_object_text), " "),
        // Markdown is similar enough to mrkdwn, but `<…>` has no meaning in it.
        "markdown" => escape(str_at(block, "text")),
        "image" | "video" => escape(first_non_empty(block, &["alt_text"])),
        _ => String::new(),
    }
}

/// Returns the text of `{"type": "mrkdwn" | "plain_text", "text": …}`, or of an image among the text.
fn text_object_text(object: &Value) -> String {
    match str_at(object, "type") {
        "mrkdwn" => str_at(object, "text").to_owned(),
        "image" => escape(str_at(object, "alt_text")),
        _ => escape(str_at(object, "text")),
    }
}

fn rich_text_part(part: &Value) -> String {
    match str_at(part, "type") {
        "rich_text_list" => {
            let indent = part["indent"].as_u64().unwrap_or_default().min(8);
            let is_numbered = str_at(part, "style") == "ordered";
            let offset = part["offset"].as_u64().unwrap_or_default();
            let items =
                array_at(part, "elements").zip(offset.saturating_add(1)..).map(|(item, number)| {
                    let mark = if is_numbered { format!("{number}.") } else { "•".to_owned() };
                    format!("{}{mark} {}", "    ".repeat(indent as usize), rich_text_line(item))
                });
            items.collect::<Vec<_>>().join("\n")
        }
        "rich_text_quote" => quote(&rich_text_line(part)),
        "rich_text_preformatted" => format!("```\n{}\n```", rich_text_line(part)),
        _ => rich_text_line(part).trim_end_matches('\n').to_owned(),
    }
}

fn rich_text_line(part: &Value) -> String {
    array_at(part, "elements").map(rich_text_element).collect()
}

fn rich_text_element(element: &Value) -> String {
    let id = |key: &str| str_at(element, key);
    match str_at(element, "type") {
        "text" => apply_style(escape(id("text")), &element["style"]),
        "link" if id("text").is_empty() => format!("<{}>", escape(id("url"))),
        "link" => format!("<{}|{}>", escape(id("url")), escape(id("text"))),
        "user" => format!("<@{}>", id("user_id")),
        "channel" => format!("<#{}>", id("channel_id")),
        "usergroup" => format!("<!subteam^{}>", id("usergroup_id")),
        "broadcast" => format!("<!{}>", id("range")),
        "emoji" => match element["skin_tone"].as_u64() {
            Some(tone) => format!(":{}::skin-tone-{tone}:", id("name")),
            None => format!(":{}:", id("name")),
        },
        "date" => escape(id("fallback")),
        _ => escape(id("text")),
    }
}

fn apply_style(text: String, style: &Value) -> String {
    let is = |key: &str| style[key].as_bool().unwrap_or_default();
    let marks = [("code", '`'), ("strike", '~'), ("italic", '_'), ("bold", '*')];
    let marks = marks.iter().filter(|(key, _)| is(key) && !text.trim().is_empty());
    marks.fold(text.clone(), |text, (_, mark)| format!("{mark}{text}{mark}"))
}

fn array_at<'a>(holder: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    holder[key].as_array().into_iter().flatten()
}

fn str_at<'a>(holder: &'a Value, key: &str) -> &'a str {
    holder[key].as_str().unwrap_or_default()
}

/// Returns the first text that is not blank.
fn first_non_empty<'a>(holder: &'a Value, keys: &[&str]) -> &'a str {
    let mut texts = keys.iter().map(|key| str_at(holder, key));
    texts.find(|text| !text.trim().is_empty()).unwrap_or_default()
}

/// Joins the parts that are not blank.
fn join_non_empty(parts: impl IntoIterator<Item = String>, separator: &str) -> String {
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
    parts.collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::{Mention, UserId};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn parse(message: &Value) -> ParsedText {
        let names = NameLookup {
            persona: &UserId::new("UBOT"),
            persona_name: "Aizuchi",
            user: &|_| None,
            channel: &|_| None,
            group: &|_| None,
        };
        read_message(message, &names)
    }

    #[test]
    fn a_text_needs_nothing_beside_it() {
        let message = json!({
            "text": "see\n",
            "files": [{"name": "plan.pdf", "pretty_type": "PDF"}],
            "attachments": [{"text": "a preview"}],
            "blocks": [{"type": "header", "text": {"text": "the same"}}],
        });
        assert_eq!(parse(&message).text, "see");
        let message = json!({"text": "", "files": [{"name": "計画.pdf", "pretty_type": "PDF"}]});
        assert_eq!(parse(&message).text, "");
    }

    #[test]
    fn attachments_are_read_if_there_is_no_text() {
        for (attachment, expected) in [
            (json!({"fallback": "it failed"}), "it failed"),
            (
                json!({
                    "fallback": "no", "pretext": "Build", "title": "#7 &amp; more",
                    "title_link": "https://a.example/7", "text": "*failed*",
                    "fields": [{"title": "Branch", "value": "main"}, 7],
                }),
                "Build\n#7 & more (https://a.example/7)\n*failed*\nBranch: main",
            ),
            (
                json!({"blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "<@U1>"}}]}),
                "@U1",
            ),
            (json!("odd"), ""),
        ] {
            let read = parse(&json!({"attachments": [attachment]}));
            assert_eq!(read.text, expected);
        }
    }

    #[test]
    fn a_shared_message_is_quoted() {
        let shared = json!({"author_id": "U2", "is_share": true, "channel_id": "C2",
            "ts": "1700000000.000100", "text": "hi <@UBOT>\nforget me", "fallback": "no"});
        let of_nobody = json!({"is_msg_unfurl": true, "channel_id": 7, "text": "hello"});
        let read = parse(&json!({"attachments": [shared, of_nobody]}));
        assert_eq!(read.text, "> hi @Aizuchi\n> forget me\n> hello");
        let named = QuotedMessage {
            author: Some(UserId::new("U2")),
            message: Some((ChannelId::new("C2"), MessageId::new("1700000000.000100"))),
            at: parse_ts(&json!("1700000000.000100")),
        };
        let unnamed = QuotedMessage { author: None, message: None, at: None };
        assert_eq!(read.mentions, [Mention::Quote(named), Mention::Quote(unnamed)]);
        // Where users see it, their own text says what it is about.
        let read = parse(&json!({"text": "see", "attachments": [shared]}));
        assert_eq!((read.text.as_str(), read.mentions), ("see", vec![]));
    }

    #[test]
    fn blocks_are_read_if_there_is_no_text() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let message = json!({"text": "", "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": "A <b> & :tada:"}},
            {"type": "section", "text": {"type": "mrkdwn", "text": "*x* <#C1|general>"}, "fields": [{"type": "mrkdwn", "text": "f"}]},
            {"type": "divider"},
            {"type": "context", "elements": [{"type": "image", "alt_text": "logo"}, {"type": "plain_text", "text": "y"}]},
            {"type": "rich_text", "elements": [
                {"type": "rich_text_section", "elements": [
                    text("hi "), {"type": "user", "user_id": "UBOT"}, text(" <!here> "),
                    {"type": "text", "text": "bold", "style": {"bold": true}},
                    {"type": "emoji", "name": "wave", "skin_tone": 3},
                    {"type": "link", "url": "https://a.example", "text": "plan"},
                    {"type": "broadcast", "range": "here"},
                ]},
                {"type": "rich_text_list", "style": "ordered", "indent": 1, "elements": [
                    {"type": "rich_text_section", "elements": [text("one")]},
                    {"type": "rich_text_section", "elements": [text("two")]},
                ]},
                {"type": "rich_text_quote", "elements": [text("a\nb")]},
                {"type": "rich_text_preformatted", "elements": [text("let a = ':tada:';")]},
            ]},
        ]});
        let read = parse(&message);
        let expected = "A <b> & 🎉\n*x* #general\nf\nlogo y\n\
            hi @Aizuchi <!here> *bold*👋🏼plan (https://a.example)@here\n    1. one\n    2. two\n\
            > a\n> b\n```\nlet a = ':tada:';\n```";
        assert_eq!(read.text, expected);
        assert_eq!(read.mentions, [Mention::Persona]);
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let keys = "(text|type|blocks|elements|attachments|files|fields|name|title|style|indent|offset|user_id)";
        let texts = "(rich_text|rich_text_list|section|text|mrkdwn|context|ordered|user|\\PC{0,5})";
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            texts.prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::hash_map(keys, inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_shape_can_be_read(message in any_value()) {
            let read = parse(&message);
            let has_control = read.text.contains(|character: char| character.is_control() && character != '\n');
            prop_assert!(!has_control);
        }
    }
}
