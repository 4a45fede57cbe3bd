//! A whole message as Discord delivers it: its words, and a line for everything else that people see: what
//! was forwarded, files, stickers, a poll, what a program put into a box.

use twilight_model::channel::Attachment;
use twilight_model::channel::message::embed::Embed;
use twilight_model::channel::message::sticker::MessageSticker;
use twilight_model::channel::message::{Message, MessageSnapshot};
use twilight_model::poll::Poll;

use crate::chat::{Mention, one_line};
use crate::persona::Language;
use crate::platform::discord::text::Names;
use crate::platform::discord::text::read::read;
use crate::platform::read::Read;

/// What was said, and who was named in its own words.
pub fn read_message(message: &Message, names: &Names<'_>, language: Language) -> Read {
    let reading = Reading { names, language };
    let mut mentions = Vec::new();
    let words = reading.words(&message.content, &mut mentions);
    let mut lines = vec![words];
    if message.content.trim().is_empty() || message.author.bot {
        lines.extend(message.embeds.iter().map(|embed| reading.boxed(embed)));
    }
    lines.extend(message.attachments.iter().map(|file| reading.file(file)));
    lines.extend(message.sticker_items.iter().map(|sticker| reading.sticker(sticker)));
    lines.extend(message.poll.iter().map(|poll| reading.poll(poll)));
    lines.extend(message.message_snapshots.iter().map(|forwarded| reading.forwarded(forwarded)));
    Read { text: joined(lines, "\n"), mentions }
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

    /// Words in which nobody is named, as far as notifications go.
    fn quoted(&self, text: &str) -> String {
        self.words(text, &mut Vec::new())
    }

    /// `[file: plan.pdf, application/pdf: what its sender says of it]`
    fn file(&self, file: &Attachment) -> String {
        let is_voice = file.waveform.is_some();
        let kind = match is_voice {
            true => self.language.pick("voice message", "ボイスメッセージ"),
            false => self.language.pick("file", "ファイル"),
        };
        let name = file.title.as_deref().unwrap_or(&file.filename);
        let known = [Some(name), file.content_type.as_deref()].into_iter().flatten();
        let known = if is_voice { String::new() } else { self.listed(known) };
        let told = file.description.as_deref().map(one_line).unwrap_or_default();
        format!("[{}]", joined([kind.to_owned(), known, told], ": "))
    }

    fn listed<'a>(&self, words: impl Iterator<Item = &'a str>) -> String {
        joined(words.map(one_line), self.language.pick(", ", "、"))
    }

    fn sticker(&self, sticker: &MessageSticker) -> String {
        format!("[{}: {}]", self.language.pick("sticker", "スタンプ"), one_line(&sticker.name))
    }

    fn poll(&self, poll: &Poll) -> String {
        let question = poll.question.text.as_deref().map(one_line).unwrap_or_default();
        let answers = poll.answers.iter();
        let answers = answers.filter_map(|answer| answer.poll_media.text.as_deref());
        let answers = joined(answers.map(one_line), " / ");
        let poll = self.language.pick("poll", "投票").to_owned();
        format!("[{}]", joined([poll, question, answers], ": "))
    }

    /// Somebody else's words, which their sender shows here.
    fn forwarded(&self, forwarded: &MessageSnapshot) -> String {
        let message = &forwarded.message;
        let boxes = message.embeds.iter().map(|embed| self.boxed(embed));
        let files = message.attachments.iter().map(|file| self.file(file));
        let stickers = message.sticker_items.iter().map(|sticker| self.sticker(sticker));
        let words = self.quoted(&message.content);
        let all = joined([words].into_iter().chain(boxes).chain(files).chain(stickers), "\n");
        let quoted = all.lines().map(|line| format!("> {line}")).collect::<Vec<_>>();
        let forwarded = self.language.pick("[forwarded]", "[転送]");
        format!("{forwarded}\n{}", quoted.join("\n"))
    }

    fn boxed(&self, embed: &Embed) -> String {
        let title = embed.title.as_deref().map(|title| self.quoted(title)).unwrap_or_default();
        let title = match (&embed.url, title.is_empty()) {
            (Some(url), false) => format!("{title} ({})", one_line(url)),
            (_, _) => title,
        };
        let author = embed.author.as_ref().map(|author| one_line(&author.name));
        let told = embed.description.as_deref().map(|told| self.quoted(told));
        let fields = embed.fields.iter();
        let fields =
            fields.map(|field| joined([self.quoted(&field.name), self.quoted(&field.value)], ": "));
        let footer = embed.footer.as_ref().map(|footer| one_line(&footer.text));
        let parts = author.into_iter().chain([title]).chain(told).chain(fields).chain(footer);
        joined(parts, "\n")
    }
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
    use crate::chat::UserId;

    fn reads(more: Value, language: Language) -> Read {
        let mut message = json!({
            "attachments": [], "channel_id": "1", "content": "", "edited_timestamp": null, "embeds": [],
            "id": "2", "mention_everyone": false, "mention_roles": [], "mentions": [], "pinned": false,
            "timestamp": "2026-01-01T00:00:00+00:00", "tts": false, "type": 0,
            "author": {"id": "3", "username": "mio", "discriminator": "0", "avatar": null},
        });
        for (key, value) in more.as_object().unwrap() {
            message[key] = value.clone();
        }
        let persona = UserId::new("900");
        let names = Names {
            persona: &persona,
            persona_name: "Aizuchi",
            user: &|_| None,
            channel: &|_| None,
            role: &|_| None,
            zone: &TimeZone::UTC,
        };
        read_message(&serde_json::from_value(message).unwrap(), &names, language)
    }

    fn file(more: Value) -> Value {
        let mut file = json!({
            "filename": "plan.pdf", "id": "7", "proxy_url": "", "size": 9, "url": "https://cdn.example/x",
        });
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
    }
}
