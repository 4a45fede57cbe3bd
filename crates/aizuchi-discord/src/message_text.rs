//! Reads the text of a whole message: its content, and a line for every other visible part except its files: forwarded
//! messages, stickers, polls and their results, embeds and texts in components of bots. A part of an unexpected shape is
//! skipped.

use aizuchi_model::chat::{Mention, to_single_line};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_platform::parsed_text::ParsedText;
use serde_json::Value;

use crate::from_discord::message::{POLL_RESULT, STAGE_END, STAGE_START, STAGE_TOPIC};
use crate::json::array_at;
use crate::text::NameLookup;
use crate::text::read::parse_discord_markdown;

/// Discord's number for a component that shows a text.
const TEXT_DISPLAY: u64 = 10;

/// Returns a message's text, and the users mentioned in its own content.
pub fn read_message_text(
    message: &Value,
    names: &NameLookup<'_>,
    language: Language,
) -> ParsedText {
    let reader = MessageTextReader { names, language };
    if let Some(text) = reader.system_text(message) {
        return ParsedText { text, mentions: Vec::new() };
    }
    let mut mentions = Vec::new();
    let content = reader.text(str_at(message, "content"), &mut mentions);
    // A human's embeds are only link previews.
    let reads_embeds = content.trim().is_empty() || message["author"]["bot"] == true;
    let embeds =
        array_at(message, "embeds").filter(|_| reads_embeds).map(|embed| reader.embed(embed));
    let poll = Some(&message["poll"]).filter(|poll| poll.is_object());
    let forwarded = array_at(message, "message_snapshots").map(|snapshot| &snapshot["message"]);
    let extras = embeds
        .chain(reader.component_texts(message))
        .chain(reader.stickers(message))
        .chain(poll.map(|poll| reader.poll(poll)))
        .chain(forwarded.map(|forwarded| reader.forwarded(forwarded)));
    ParsedText { text: join_non_empty([content.clone()].into_iter().chain(extras), "\n"), mentions }
}

struct MessageTextReader<'a> {
    names: &'a NameLookup<'a>,
    language: Language,
}

impl MessageTextReader<'_> {
    fn text(&self, text: &str, mentions: &mut Vec<Mention>) -> String {
        let parsed = parse_discord_markdown(text, self.names);
        mentions.extend(parsed.mentions);
        parsed.text.trim_end().to_owned()
    }

    /// Returns the text of a system message.
    fn system_text(&self, message: &Value) -> Option<String> {
        let language = self.language;
        let (kind, detail) = match message["type"].as_u64()? {
            STAGE_START => (texts::discord::stage_begins(language), self.stage_topic(message)),
            STAGE_END => (texts::discord::stage_ends(language), self.stage_topic(message)),
            STAGE_TOPIC => (texts::discord::stage_topic(language), self.stage_topic(message)),
            POLL_RESULT => (texts::discord::poll_ended(language), self.poll_result(message)),
            _ => return None,
        };
        Some(format!("[{}]", join_non_empty([kind.to_owned(), detail], ": ")))
    }

    fn stage_topic(&self, message: &Value) -> String {
        to_single_line(&self.text_without_mentions(str_at(message, "content")))
    }

    /// Returns `Tea?: green (3/5)`, or that there is no winner, from the embed of a poll result.
    fn poll_result(&self, message: &Value) -> String {
        let result = array_at(message, "embeds").find(|embed| embed["type"] == "poll_result");
        let field = |name: &str| {
            let fields = result.into_iter().flat_map(|embed| array_at(embed, "fields"));
            let value = fields.into_iter().find(|field| field["name"] == name);
            to_single_line(value.map_or("", |field| str_at(field, "value")))
        };
        let winner = [field("victor_answer_emoji_name"), field("victor_answer_text")];
        let winner = join_non_empty(winner, " ");
        let votes = [field("victor_answer_votes"), field("total_votes")];
        let outcome = match (winner.is_empty(), &votes[1]) {
            (true, all) => self.no_winner_text(all),
            (false, all) if all.is_empty() => winner,
            (false, _) => format!("{winner} ({})", join_non_empty(votes, "/")),
        };
        join_non_empty([field("poll_question_text"), outcome], ": ")
    }

    fn no_winner_text(&self, votes: &str) -> String {
        match votes {
            "" => String::new(),
            "1" => texts::discord::no_winner_one_vote(self.language).to_owned(),
            votes => texts::discord::no_winner(self.language, votes),
        }
    }

    /// Reads a text whose mentions do not count, because they notify no user.
    fn text_without_mentions(&self, text: &str) -> String {
        self.text(text, &mut Vec::new())
    }

    /// Returns the texts in components, which replace the content of some messages of bots. Components are nested.
    fn component_texts(&self, parent: &Value) -> Vec<String> {
        let mut shown = Vec::new();
        for component in array_at(parent, "components") {
            if component["type"].as_u64() == Some(TEXT_DISPLAY) {
                shown.push(self.text_without_mentions(str_at(component, "content")));
            }
            shown.extend(self.component_texts(component));
        }
        shown
    }

    fn stickers<'a>(&'a self, message: &'a Value) -> impl Iterator<Item = String> + 'a {
        array_at(message, "sticker_items").map(|sticker| self.sticker(sticker))
    }

    fn sticker(&self, sticker: &Value) -> String {
        let kind = texts::discord::sticker(self.language).to_owned();
        format!("[{}]", join_non_empty([kind, to_single_line(str_at(sticker, "name"))], ": "))
    }

    fn poll(&self, poll: &Value) -> String {
        let question = to_single_line(str_at(&poll["question"], "text"));
        let answers = array_at(poll, "answers").map(|answer| &answer["poll_media"]);
        let answers = answers.map(|media| {
            join_non_empty(
                [str_at(&media["emoji"], "name"), str_at(media, "text")].map(to_single_line),
                " ",
            )
        });
        let answers = join_non_empty(answers, " / ");
        let kind = texts::discord::poll(self.language).to_owned();
        format!("[{}]", join_non_empty([kind, question, answers], ": "))
    }

    /// Quotes another user's message.
    fn forwarded(&self, message: &Value) -> String {
        let content = self.text_without_mentions(str_at(message, "content"));
        let embeds = array_at(message, "embeds").map(|embed| self.embed(embed));
        let shown = embeds.chain(self.component_texts(message)).chain(self.stickers(message));
        let all = join_non_empty([content].into_iter().chain(shown), "\n");
        let quoted = all.lines().map(|line| format!("> {line}"));
        let forwarded = texts::discord::forwarded(self.language).to_owned();
        join_non_empty([forwarded].into_iter().chain(quoted), "\n")
    }

    fn embed(&self, embed: &Value) -> String {
        let title = self.text_without_mentions(str_at(embed, "title"));
        let title = match (str_at(embed, "url"), title.is_empty()) {
            ("", _) | (_, true) => title,
            (url, false) => format!("{title} ({})", to_single_line(url)),
        };
        let author = to_single_line(str_at(&embed["author"], "name"));
        let description = self.text_without_mentions(str_at(embed, "description"));
        let fields = array_at(embed, "fields").map(|field| {
            join_non_empty(
                ["name", "value"].map(|part| self.text_without_mentions(str_at(field, part))),
                ": ",
            )
        });
        let footer = to_single_line(str_at(&embed["footer"], "text"));
        join_non_empty([author, title, description].into_iter().chain(fields).chain([footer]), "\n")
    }
}

fn str_at<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}

/// Joins the parts that are not blank.
fn join_non_empty(parts: impl IntoIterator<Item = String>, separator: &str) -> String {
    let present = parts.into_iter().filter(|part| !part.trim().is_empty());
    present.collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::UserId;
    use jiff::tz::TimeZone;
    use serde_json::{Value, json};

    use super::*;

    fn read_text(message: Value, language: Language) -> ParsedText {
        let persona = UserId::new("900");
        let names = NameLookup {
            persona: &persona,
            persona_name: "Aizuchi",
            user: &|_| None,
            channel: &|_| None,
            role: &|_| None,
            time_zone: &TimeZone::UTC,
        };
        read_message_text(&message, &names, language)
    }

    fn file(more: Value) -> Value {
        let mut file = json!({"filename": "plan.pdf", "id": "7", "url": "https://cdn.example/x"});
        for (key, value) in more.as_object().unwrap() {
            file[key] = value.clone();
        }
        file
    }

    #[test]
    fn what_users_see_beside_files_becomes_text() {
        let message = json!({
            "content": "see <@900>\n",
            "attachments": [file(json!({"content_type": "application/pdf"}))],
            "sticker_items": [{"format_type": 1, "id": "5", "name": "Wave"}],
            "embeds": [{"type": "link", "title": "a preview of the link"}],
        });
        let read = read_text(message, Language::En);
        assert_eq!(read.text, "see @Aizuchi\n[sticker: Wave]");
        assert_eq!(read.mentions, [Mention::Persona]);
        let message = json!({"attachments": [file(json!({}))]});
        assert_eq!(read_text(message, Language::Ja).text, "");
        let odd = json!({"content": 5, "attachments": [1], "sticker_items": [{}], "embeds": "x", "poll": []});
        assert_eq!(read_text(odd, Language::En).text, "[sticker]");
    }

    #[test]
    fn embeds_are_read_from_bots_or_if_there_is_no_content() {
        let embed = json!({
            "type": "rich", "title": "Build 7", "url": "https://ci.example/7", "description": "it **failed**",
            "author": {"name": "CI"}, "footer": {"text": "main"},
            "fields": [{"name": "branch", "value": "`main`", "inline": true}],
        });
        let expected = "CI\nBuild 7 (https://ci.example/7)\nit **failed**\nbranch: `main`\nmain";
        let read = read_text(json!({ "embeds": [embed] }), Language::En);
        assert_eq!(read.text, expected);
        let bot =
            json!({"id": "3", "username": "ci", "discriminator": "0", "avatar": null, "bot": true});
        let read =
            read_text(json!({"content": "done", "embeds": [embed], "author": bot}), Language::En);
        assert_eq!(read.text, format!("done\n{expected}"));
    }

    #[test]
    fn texts_in_components_are_read() {
        let components = json!([
            {"type": 17, "components": [
                {"type": 10, "content": "**Build 7** for <@900>"},
                {"type": 9, "components": [{"type": 10, "content": "it failed"}],
                    "accessory": {"type": 2, "label": "Open"}},
            ]},
            {"type": 1, "components": [{"type": 2, "label": "Retry", "custom_id": "retry"}]},
            {"type": 10}, {"type": 10, "content": 5}, 5,
        ]);
        let message = json!({"content": "", "flags": 1 << 15, "components": components,
            "author": {"id": "3", "username": "ci", "bot": true}});
        let read = read_text(message.clone(), Language::En);
        assert_eq!(read.text, "**Build 7** for @Aizuchi\nit failed");
        assert_eq!(read.mentions, []);
        let forwarded = json!({"message_snapshots": [{"message": message}]});
        let expected = "[forwarded]\n> **Build 7** for @Aizuchi\n> it failed";
        assert_eq!(read_text(forwarded, Language::En).text, expected);
        let odd = json!({"components": {"type": 10, "content": "hidden"}});
        assert_eq!(read_text(odd, Language::En).text, "");
    }

    #[test]
    fn forwarded_messages_mention_no_user() {
        let message = json!({
            "message_snapshots": [{"message": {
                "attachments": [file(json!({}))], "content": "old words <@900>\nmore", "embeds": [],
                "timestamp": "2025-01-01T00:00:00+00:00", "type": 0, "mentions": [], "mention_roles": [],
                "edited_timestamp": null,
            }}],
        });
        let read = read_text(message, Language::En);
        assert_eq!(read.text, "[forwarded]\n> old words @Aizuchi\n> more");
        assert_eq!(read.mentions, []);
    }

    #[test]
    fn a_poll_shows_its_question_and_answers() {
        let message = json!({"poll": {
            "question": {"text": "Tea?"}, "allow_multiselect": false, "layout_type": 1, "expiry": null,
            "answers": [
                {"answer_id": 1, "poll_media": {"text": "green"}},
                {"answer_id": 2, "poll_media": {"text": "black"}},
            ],
        }});
        assert_eq!(read_text(message, Language::Ja).text, "[投票: Tea?: green / black]");
        let message = json!({"poll": {"question": {"text": ""}, "answers": [
            {"poll_media": {"text": "green", "emoji": {"id": null, "name": "🍵"}}}, {"poll_media": 5}, {},
        ]}});
        assert_eq!(read_text(message, Language::En).text, "[poll: 🍵 green]");
    }

    #[test]
    fn a_poll_result_shows_the_winner() {
        let result_in = |language, fields: Value| {
            let fields = fields.as_object().unwrap().iter();
            let fields = fields.map(|(name, value)| json!({"name": name, "value": value}));
            let embed = json!({"type": "poll_result", "fields": fields.collect::<Vec<_>>()});
            read_text(json!({"type": 46, "content": "", "embeds": [embed]}), language).text
        };
        let result = |fields| result_in(Language::En, fields);
        let winner = json!({"poll_question_text": "Tea?", "victor_answer_votes": "3", "total_votes": "5",
            "victor_answer_id": "1", "victor_answer_text": "green", "victor_answer_emoji_name": "🍵"});
        assert_eq!(result(winner), "[the poll has ended: Tea?: 🍵 green (3/5)]");
        let drawn =
            json!({"poll_question_text": "Tea?", "victor_answer_votes": "2", "total_votes": "4"});
        assert_eq!(result(drawn.clone()), "[the poll has ended: Tea?: no winner, 4 votes]");
        assert_eq!(result_in(Language::Ja, drawn), "[投票終了: Tea?: 最多票なし、4 票]");
        assert_eq!(result(json!({})), "[the poll has ended]");
        let odd = json!({"type": 46, "embeds": [5, {"type": "poll_result", "fields": {}}]});
        assert_eq!(read_text(odd, Language::Ja).text, "[投票終了]");
    }

    #[test]
    fn stage_events_become_text() {
        for (kind, expected) in [
            (27, "[a stage begins: Roses, with @Aizuchi]"),
            (28, "[the stage ends: Roses, with @Aizuchi]"),
            (31, "[the stage is about: Roses, with @Aizuchi]"),
        ] {
            let message = json!({"type": kind, "content": "Roses,\nwith <@900>"});
            let read = read_text(message, Language::En);
            assert_eq!((read.text.as_str(), read.mentions), (expected, vec![]));
        }
    }
}
