//! A whole message as Slack delivers it: its text, or what its blocks and attachments say instead,
//! and the files that come with it. Whatever has another shape than expected is passed over.

use serde_json::Value;

use crate::mrkdwn::read::read;
use crate::mrkdwn::{Names, escape};
use aizuchi_core::chat::one_line;
use aizuchi_core::persona::Language;
use aizuchi_core::platform::read::Read;

/// The words of a message and a line for each file. Both may be missing.
pub fn read_message(message: &Value, names: &Names<'_>, language: Language) -> Read {
    let words = read(&words(message), names);
    let files = list(message, "files").map(|file| describe(file, language));
    let text = joined([words.text.trim_end().to_owned()].into_iter().chain(files), "\n");
    Read { text, mentions: words.mentions }
}

/// `[file: plan.pdf, PDF]`
fn describe(file: &Value, language: Language) -> String {
    let name = first(file, &["name", "title"]);
    let kind = first(file, &["pretty_type", "filetype", "mimetype"]);
    let known = joined([name, kind].map(one_line), language.pick(", ", "、"));
    let file = language.pick("file", "ファイル");
    if known.is_empty() { format!("[{file}]") } else { format!("[{file}: {known}]") }
}

/// All of it as mrkdwn. Programs may say everything in blocks or in attachments; for people, blocks
/// only repeat the text.
fn words(message: &Value) -> String {
    let text = text_of(message, "text");
    if !text.trim().is_empty() {
        return text.to_owned();
    }
    let attached = list(message, "attachments").map(attachment);
    joined([blocks(message)].into_iter().chain(attached), "\n")
}

fn attachment(attachment: &Value) -> String {
    let title = text_of(attachment, "title");
    let link = text_of(attachment, "title_link");
    let title = match (title, link) {
        ("", _) | (_, "") => title.to_owned(),
        (title, link) => format!("<{link}|{title}>"),
    };
    let fields = list(attachment, "fields")
        .map(|field| joined(["title", "value"].map(|part| text_of(field, part).to_owned()), ": "));
    let parts = [text_of(attachment, "pretext").to_owned(), title]
        .into_iter()
        .chain([text_of(attachment, "text").to_owned(), blocks(attachment)])
        .chain(fields);
    let said = joined(parts, "\n");
    if said.is_empty() { text_of(attachment, "fallback").to_owned() } else { said }
}

fn blocks(holder: &Value) -> String {
    joined(list(holder, "blocks").map(block), "\n")
}

fn block(block: &Value) -> String {
    match text_of(block, "type") {
        "rich_text" => joined(list(block, "elements").map(rich_part), "\n"),
        "section" => {
            let fields = list(block, "fields").map(text_object);
            joined([text_object(&block["text"])].into_iter().chain(fields), "\n")
        }
        "header" => text_object(&block["text"]),
        "context" => joined(list(block, "elements").map(text_object), " "),
        // Markdown, which is near enough, but none of Slack's brackets.
        "markdown" => escape(text_of(block, "text")),
        "image" | "video" => escape(first(block, &["alt_text"])),
        _ => String::new(),
    }
}

/// `{"type": "mrkdwn" | "plain_text", "text": …}`, or an image among the text.
fn text_object(object: &Value) -> String {
    match text_of(object, "type") {
        "mrkdwn" => text_of(object, "text").to_owned(),
        "image" => escape(text_of(object, "alt_text")),
        _ => escape(text_of(object, "text")),
    }
}

fn rich_part(part: &Value) -> String {
    match text_of(part, "type") {
        "rich_text_list" => {
            let indent = part["indent"].as_u64().unwrap_or_default().min(8);
            let is_numbered = text_of(part, "style") == "ordered";
            let offset = part["offset"].as_u64().unwrap_or_default();
            let items =
                list(part, "elements").zip(offset.saturating_add(1)..).map(|(item, number)| {
                    let mark = if is_numbered { format!("{number}.") } else { "•".to_owned() };
                    format!("{}{mark} {}", "    ".repeat(indent as usize), line(item))
                });
            items.collect::<Vec<_>>().join("\n")
        }
        "rich_text_quote" => {
            line(part).lines().map(|line| format!("&gt; {line}")).collect::<Vec<_>>().join("\n")
        }
        "rich_text_preformatted" => format!("```\n{}\n```", line(part)),
        _ => line(part).trim_end_matches('\n').to_owned(),
    }
}

fn line(part: &Value) -> String {
    list(part, "elements").map(element).collect()
}

fn element(element: &Value) -> String {
    let id = |key: &str| text_of(element, key);
    match text_of(element, "type") {
        "text" => styled(escape(id("text")), &element["style"]),
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

fn styled(text: String, style: &Value) -> String {
    let is = |key: &str| style[key].as_bool().unwrap_or_default();
    let marks = [("code", '`'), ("strike", '~'), ("italic", '_'), ("bold", '*')];
    let marks = marks.iter().filter(|(key, _)| is(key) && !text.trim().is_empty());
    marks.fold(text.clone(), |text, (_, mark)| format!("{mark}{text}{mark}"))
}

fn list<'a>(holder: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    holder[key].as_array().into_iter().flatten()
}

fn text_of<'a>(holder: &'a Value, key: &str) -> &'a str {
    holder[key].as_str().unwrap_or_default()
}

/// The first of the texts that says anything.
fn first<'a>(holder: &'a Value, keys: &[&str]) -> &'a str {
    let mut texts = keys.iter().map(|key| text_of(holder, key));
    texts.find(|text| !text.trim().is_empty()).unwrap_or_default()
}

/// Those that say anything.
fn joined(parts: impl IntoIterator<Item = String>, between: &str) -> String {
    let said = parts.into_iter().filter(|part| !part.trim().is_empty());
    said.collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use aizuchi_core::chat::{Mention, UserId};

    use super::*;

    fn reads(message: &Value, language: Language) -> Read {
        let names = Names {
            persona: &UserId::new("UBOT"),
            persona_name: "Aizuchi",
            user: &|_| None,
            channel: &|_| None,
            group: &|_| None,
        };
        read_message(message, &names, language)
    }

    #[test]
    fn files_stand_behind_the_text() {
        let message = json!({
            "text": "see\n",
            "files": [
                {"name": "plan.pdf", "pretty_type": "PDF"},
                {"title": "a\nb", "mimetype": "text/plain"},
                {"mode": "tombstone"},
            ],
            "attachments": [{"text": "a preview"}],
            "blocks": [{"type": "header", "text": {"text": "the same"}}],
        });
        let read = reads(&message, Language::En);
        assert_eq!(read.text, "see\n[file: plan.pdf, PDF]\n[file: a b, text/plain]\n[file]");
        let message = json!({"text": "", "files": [{"name": "計画.pdf", "pretty_type": "PDF"}]});
        assert_eq!(reads(&message, Language::Ja).text, "[ファイル: 計画.pdf、PDF]");
    }

    #[test]
    fn attachments_are_read_where_the_text_is_missing() {
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
            let read = reads(&json!({"attachments": [attachment]}), Language::En);
            assert_eq!(read.text, expected);
        }
    }

    #[test]
    fn blocks_are_read_where_the_text_is_missing() {
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
        let read = reads(&message, Language::En);
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
            let read = reads(&message, Language::Ja);
            let has_control = read.text.contains(|letter: char| letter.is_control() && letter != '\n');
            prop_assert!(!has_control);
        }
    }
}
