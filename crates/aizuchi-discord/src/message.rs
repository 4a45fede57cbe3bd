//! A whole message as Discord delivers it: its words, and a line for everything else that people see: what
//! was forwarded, files, stickers, a poll and how it ended, what a program put into a box. Whatever has another shape than
//! expected is passed over.

use serde_json::Value;

use crate::from_discord::line::{POLL_RESULT, STAGE_BEGINS, STAGE_ENDS, STAGE_TOPIC};
use crate::text::Names;
use crate::text::read::read;
use aizuchi_core::chat::{Mention, one_line};
use aizuchi_core::persona::Language;
use aizuchi_core::platform::read::Read;

/// What was said, and who was named in its own words.
pub fn read_message(message: &Value, names: &Names<'_>, language: Language) -> Read {
    let reading = Reading { names, language };
    if let Some(text) = reading.told(message) {
        return Read { text, mentions: Vec::new() };
    }
    let mut mentions = Vec::new();
    let words = reading.words(text_of(message, "content"), &mut mentions);
    // For people, boxes only show what a link leads to.
    let has_boxes = words.trim().is_empty() || message["author"]["bot"] == true;
    let boxes = list(message, "embeds").filter(|_| has_boxes).map(|embed| reading.boxed(embed));
    let poll = Some(&message["poll"]).filter(|poll| poll.is_object());
    let forwarded = list(message, "message_snapshots").map(|snapshot| &snapshot["message"]);
    let lines = boxes
        .chain(reading.things(message))
        .chain(poll.map(|poll| reading.poll(poll)))
        .chain(forwarded.map(|forwarded| reading.forwarded(forwarded)));
    Read { text: joined([words.clone()].into_iter().chain(lines), "\n"), mentions }
}

struct Reading<'a> {
    names: &'a Names<'a>,
    language: Language,
}

impl Reading<'_> {
    fn words(&self, text: &str, mentions: &mut Vec<Mention>) -> String {
        let read = read(text, self.names);
        mentions.extend(read.mentions);
        read.text.trim_end().to_owned()
    }

    /// What Discord itself tells.
    fn told(&self, message: &Value) -> Option<String> {
        let (kind, about) = match message["type"].as_u64()? {
            STAGE_BEGINS => {
                (self.language.pick("a stage begins", "ステージ開始"), self.topic(message))
            }
            STAGE_ENDS => {
                (self.language.pick("the stage ends", "ステージ終了"), self.topic(message))
            }
            STAGE_TOPIC => {
                (self.language.pick("the stage is about", "ステージの話題"), self.topic(message))
            }
            POLL_RESULT => {
                (self.language.pick("the poll has ended", "投票終了"), self.result(message))
            }
            _ => return None,
        };
        Some(format!("[{}]", joined([kind.to_owned(), about], ": ")))
    }

    fn topic(&self, message: &Value) -> String {
        one_line(&self.quoted(text_of(message, "content")))
    }

    /// `Tea?: green (3/5)`, or that nobody has won, out of a box made for programs.
    fn result(&self, message: &Value) -> String {
        let result = list(message, "embeds").find(|embed| embed["type"] == "poll_result");
        let field = |name: &str| {
            let fields = result.into_iter().flat_map(|embed| list(embed, "fields"));
            let value = fields.into_iter().find(|field| field["name"] == name);
            one_line(value.map_or("", |field| text_of(field, "value")))
        };
        let won = [field("victor_answer_emoji_name"), field("victor_answer_text")];
        let won = joined(won, " ");
        let votes = [field("victor_answer_votes"), field("total_votes")];
        let ended = match (won.is_empty(), &votes[1]) {
            (true, all) => self.drawn(all),
            (false, all) if all.is_empty() => won,
            (false, _) => format!("{won} ({})", joined(votes, "/")),
        };
        joined([field("poll_question_text"), ended], ": ")
    }

    fn drawn(&self, votes: &str) -> String {
        match (self.language, votes) {
            (_, "") => String::new(),
            (Language::En, "1") => "no winner, 1 vote".to_owned(),
            (Language::En, votes) => format!("no winner, {votes} votes"),
            (Language::Ja, votes) => format!("勝者なし、{votes} 票"),
        }
    }

    /// Words in which nobody is named, as far as notifications go.
    fn quoted(&self, text: &str) -> String {
        self.words(text, &mut Vec::new())
    }

    fn things<'a>(&'a self, message: &'a Value) -> impl Iterator<Item = String> + 'a {
        let files = list(message, "attachments").map(|file| self.file(file));
        files.chain(list(message, "sticker_items").map(|sticker| self.sticker(sticker)))
    }

    /// `[file: plan.pdf, application/pdf: what its sender says of it]`
    fn file(&self, file: &Value) -> String {
        let is_voice = file["waveform"].is_string();
        let kind = match is_voice {
            true => self.language.pick("voice message", "ボイスメッセージ"),
            false => self.language.pick("file", "ファイル"),
        };
        let name = [text_of(file, "title"), text_of(file, "filename")];
        let name = name.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
        let known = [name, text_of(file, "content_type")].map(one_line);
        let known = if is_voice { String::new() } else { joined(known, self.comma()) };
        let told = one_line(text_of(file, "description"));
        format!("[{}]", joined([kind.to_owned(), known, told], ": "))
    }

    fn comma(&self) -> &'static str {
        self.language.pick(", ", "、")
    }

    fn sticker(&self, sticker: &Value) -> String {
        let kind = self.language.pick("sticker", "スタンプ").to_owned();
        format!("[{}]", joined([kind, one_line(text_of(sticker, "name"))], ": "))
    }

    fn poll(&self, poll: &Value) -> String {
        let question = one_line(text_of(&poll["question"], "text"));
        let answers = list(poll, "answers").map(|answer| &answer["poll_media"]);
        let answers = answers.map(|media| {
            joined([text_of(&media["emoji"], "name"), text_of(media, "text")].map(one_line), " ")
        });
        let answers = joined(answers, " / ");
        let kind = self.language.pick("poll", "投票").to_owned();
        format!("[{}]", joined([kind, question, answers], ": "))
    }

    /// Somebody else's words, which their sender shows here.
    fn forwarded(&self, message: &Value) -> String {
        let words = self.quoted(text_of(message, "content"));
        let boxes = list(message, "embeds").map(|embed| self.boxed(embed));
        let all = joined([words].into_iter().chain(boxes).chain(self.things(message)), "\n");
        let quoted = all.lines().map(|line| format!("> {line}"));
        let forwarded = self.language.pick("[forwarded]", "[転送]").to_owned();
        joined([forwarded].into_iter().chain(quoted), "\n")
    }

    fn boxed(&self, embed: &Value) -> String {
        let title = self.quoted(text_of(embed, "title"));
        let title = match (text_of(embed, "url"), title.is_empty()) {
            ("", _) | (_, true) => title,
            (url, false) => format!("{title} ({})", one_line(url)),
        };
        let author = one_line(text_of(&embed["author"], "name"));
        let told = self.quoted(text_of(embed, "description"));
        let fields = list(embed, "fields").map(|field| {
            joined(["name", "value"].map(|part| self.quoted(text_of(field, part))), ": ")
        });
        let footer = one_line(text_of(&embed["footer"], "text"));
        joined([author, title, told].into_iter().chain(fields).chain([footer]), "\n")
    }
}

fn list<'a>(holder: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    holder[key].as_array().into_iter().flatten()
}

fn text_of<'a>(holder: &'a Value, key: &str) -> &'a str {
    holder[key].as_str().unwrap_or_default()
}

/// Those that say anything.
fn joined(parts: impl IntoIterator<Item = String>, between: &str) -> String {
    let said = parts.into_iter().filter(|part| !part.trim().is_empty());
    said.collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use serde_json::{Value, json};

    use super::*;
    use aizuchi_core::chat::UserId;

    fn reads(message: Value, language: Language) -> Read {
        let persona = UserId::new("900");
        let names = Names {
            persona: &persona,
            persona_name: "Aizuchi",
            user: &|_| None,
            channel: &|_| None,
            role: &|_| None,
            zone: &TimeZone::UTC,
        };
        read_message(&message, &names, language)
    }

    fn file(more: Value) -> Value {
        let mut file = json!({"filename": "plan.pdf", "id": "7", "url": "https://cdn.example/x"});
        for (key, value) in more.as_object().unwrap() {
            file[key] = value.clone();
        }
        file
    }

    #[test]
    fn whatever_people_see_is_told() {
        let message = json!({
            "content": "see <@900>\n",
            "attachments": [
                file(json!({"content_type": "application/pdf", "description": "our plan\nfor May"})),
                file(json!({"waveform": "AAA", "content_type": "audio/ogg"})),
            ],
            "sticker_items": [{"format_type": 1, "id": "5", "name": "Wave"}],
            "embeds": [{"type": "link", "title": "a preview of the link"}],
        });
        let read = reads(message, Language::En);
        assert_eq!(
            read.text,
            "see @Aizuchi\n[file: plan.pdf, application/pdf: our plan for May]\n[voice message]\n\
             [sticker: Wave]"
        );
        assert_eq!(read.mentions, [Mention::Persona]);
        let message = json!({"attachments": [file(json!({}))]});
        assert_eq!(reads(message, Language::Ja).text, "[ファイル: plan.pdf]");
        let odd = json!({"content": 5, "attachments": [1], "sticker_items": [{}], "embeds": "x", "poll": []});
        assert_eq!(reads(odd, Language::En).text, "[file]\n[sticker]");
    }

    #[test]
    fn boxes_are_read_where_a_program_wrote_them_or_nothing_else_is_there() {
        let embed = json!({
            "type": "rich", "title": "Build 7", "url": "https://ci.example/7", "description": "it **failed**",
            "author": {"name": "CI"}, "footer": {"text": "main"},
            "fields": [{"name": "branch", "value": "`main`", "inline": true}],
        });
        let expected = "CI\nBuild 7 (https://ci.example/7)\nit **failed**\nbranch: `main`\nmain";
        let read = reads(json!({ "embeds": [embed] }), Language::En);
        assert_eq!(read.text, expected);
        let bot =
            json!({"id": "3", "username": "ci", "discriminator": "0", "avatar": null, "bot": true});
        let read =
            reads(json!({"content": "done", "embeds": [embed], "author": bot}), Language::En);
        assert_eq!(read.text, format!("done\n{expected}"));
    }

    #[test]
    fn what_was_forwarded_names_nobody() {
        let message = json!({
            "message_snapshots": [{"message": {
                "attachments": [file(json!({}))], "content": "old words <@900>\nmore", "embeds": [],
                "timestamp": "2025-01-01T00:00:00+00:00", "type": 0, "mentions": [], "mention_roles": [],
                "edited_timestamp": null,
            }}],
        });
        let read = reads(message, Language::En);
        assert_eq!(read.text, "[forwarded]\n> old words @Aizuchi\n> more\n> [file: plan.pdf]");
        assert_eq!(read.mentions, []);
    }

    #[test]
    fn a_poll_is_its_question_and_its_answers() {
        let message = json!({"poll": {
            "question": {"text": "Tea?"}, "allow_multiselect": false, "layout_type": 1, "expiry": null,
            "answers": [
                {"answer_id": 1, "poll_media": {"text": "green"}},
                {"answer_id": 2, "poll_media": {"text": "black"}},
            ],
        }});
        assert_eq!(reads(message, Language::Ja).text, "[投票: Tea?: green / black]");
        let message = json!({"poll": {"question": {"text": ""}, "answers": [
            {"poll_media": {"text": "green", "emoji": {"id": null, "name": "🍵"}}}, {"poll_media": 5}, {},
        ]}});
        assert_eq!(reads(message, Language::En).text, "[poll: 🍵 green]");
    }

    #[test]
    fn how_a_poll_has_ended_is_told() {
        let result_in = |language, fields: Value| {
            let fields = fields.as_object().unwrap().iter();
            let fields = fields.map(|(name, value)| json!({"name": name, "value": value}));
            let embed = json!({"type": "poll_result", "fields": fields.collect::<Vec<_>>()});
            reads(json!({"type": 46, "content": "", "embeds": [embed]}), language).text
        };
        let result = |fields| result_in(Language::En, fields);
        let won = json!({"poll_question_text": "Tea?", "victor_answer_votes": "3", "total_votes": "5",
            "victor_answer_id": "1", "victor_answer_text": "green", "victor_answer_emoji_name": "🍵"});
        assert_eq!(result(won), "[the poll has ended: Tea?: 🍵 green (3/5)]");
        let drawn =
            json!({"poll_question_text": "Tea?", "victor_answer_votes": "2", "total_votes": "4"});
        assert_eq!(result(drawn.clone()), "[the poll has ended: Tea?: no winner, 4 votes]");
        assert_eq!(result_in(Language::Ja, drawn), "[投票終了: Tea?: 勝者なし、4 票]");
        assert_eq!(result(json!({})), "[the poll has ended]");
        let odd = json!({"type": 46, "embeds": [5, {"type": "poll_result", "fields": {}}]});
        assert_eq!(reads(odd, Language::Ja).text, "[投票終了]");
    }

    #[test]
    fn what_happens_on_a_stage_is_told() {
        for (kind, expected) in [
            (27, "[a stage begins: Roses, with @Aizuchi]"),
            (28, "[the stage ends: Roses, with @Aizuchi]"),
            (31, "[the stage is about: Roses, with @Aizuchi]"),
        ] {
            let message = json!({"type": kind, "content": "Roses,\nwith <@900>"});
            let read = reads(message, Language::En);
            assert_eq!((read.text.as_str(), read.mentions), (expected, vec![]));
        }
    }
}
