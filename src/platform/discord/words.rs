//! A whole message as people read it on Discord: its text with names for ids, who is named in it, and a line
//! for each thing that comes with it. Bold, code and the like stay as they are written.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::chat::{ChannelId, Mention, UserId, one_line};
use crate::persona::Language;
use crate::platform::discord::from_discord::person;
use crate::platform::read::{Read, clean, next_code};

/// Discord says so of a file that was spoken.
const VOICE: u64 = 1 << 13;
/// A part of a program's message that is text.
const TEXT_PART: u64 = 10;

/// Who and what an id stands for.
pub struct Names<'a> {
    pub persona: &'a UserId,
    pub persona_name: &'a str,
    pub user: &'a dyn Fn(&UserId) -> Option<Arc<str>>,
    pub channel: &'a dyn Fn(&ChannelId) -> Option<Arc<str>>,
    pub role: &'a dyn Fn(&str) -> Option<RoleName>,
}

/// What a role is called, and whether it is the persona's alone: people name it as if it were its user.
pub struct RoleName {
    pub name: Arc<str>,
    pub is_persona: bool,
}

/// The words of a message and a line for each thing that comes with it. Both may be missing.
pub fn read_message(message: &Value, names: &Names<'_>, language: Language) -> Read {
    let mut reading = Reading { names, message, text: String::new(), mentions: Vec::new() };
    reading.read(&words(message));
    for user in list(message, "mentions").filter_map(|user| user["id"].as_str()) {
        reading.note(UserId::new(user));
    }
    let text = reading.text.trim_end().to_owned();
    let mentions = reading.mentions;
    let forwarded = list(message, "message_snapshots").map(|snapshot| {
        let forwarded = &snapshot["message"];
        let mut reading =
            Reading { names, message: forwarded, text: String::new(), mentions: vec![] };
        reading.read(&words(forwarded));
        let said = joined([reading.text].into_iter().chain(things(forwarded, language)), "\n");
        format!("[{}]\n{said}", language.pick("forwarded", "転送"))
    });
    let things = things(message, language).into_iter().chain(forwarded);
    Read { text: joined([text].into_iter().chain(things), "\n"), mentions }
}

/// People say what they say in the text; programs may say everything beside it.
fn words(message: &Value) -> String {
    let text = text_of(message, "content");
    if !text.trim().is_empty() || message["author"]["bot"] != true {
        return text.to_owned();
    }
    let embeds = list(message, "embeds").map(embed);
    joined(embeds.chain(list(message, "components").map(part)), "\n")
}

fn embed(embed: &Value) -> String {
    let fields = list(embed, "fields")
        .map(|field| joined(["name", "value"].map(|part| text_of(field, part).to_owned()), ": "));
    let parts = [&embed["author"]["name"], &embed["title"], &embed["description"]];
    let parts = parts.map(|part| part.as_str().unwrap_or_default().to_owned());
    joined(parts.into_iter().chain(fields), "\n")
}

/// Boxes hold boxes, but not many.
fn part(holder: &Value) -> String {
    let own = if holder["type"] == TEXT_PART { text_of(holder, "content") } else { "" };
    let inner = list(holder, "components").map(part);
    joined([own.to_owned()].into_iter().chain(inner), "\n")
}

/// What comes with a message, a line for each.
fn things(message: &Value, language: Language) -> Vec<String> {
    let is_voice = message["flags"].as_u64().unwrap_or(0) & VOICE != 0;
    let files = list(message, "attachments").map(|it| file(it, is_voice, language));
    let stickers = list(message, "sticker_items").map(|sticker| {
        bracket(language.pick("sticker", "スタンプ"), &[text_of(sticker, "name")], language)
    });
    let poll = message["poll"].is_object().then(|| poll(&message["poll"], language));
    files.chain(stickers).chain(poll).collect()
}

/// `[image: plan.png, the beds from above]`
fn file(file: &Value, is_voice: bool, language: Language) -> String {
    if is_voice {
        return bracket(language.pick("voice message", "ボイスメッセージ"), &[], language);
    }
    let kind = text_of(file, "content_type").split('/').next().unwrap_or_default();
    let kind = match kind {
        "image" => language.pick("image", "画像"),
        "video" => language.pick("video", "動画"),
        "audio" => language.pick("audio", "音声"),
        _ => language.pick("file", "ファイル"),
    };
    bracket(kind, &[text_of(file, "filename"), text_of(file, "description")], language)
}

/// `[poll: Which day? Monday / Tuesday]`
fn poll(poll: &Value, language: Language) -> String {
    let answers = list(poll, "answers").map(|answer| text_of(&answer["poll_media"], "text"));
    let answers = joined(answers.map(str::to_owned), " / ");
    let asked = [text_of(&poll["question"], "text"), &answers];
    let asked = joined(asked.map(one_line), " ");
    bracket(language.pick("poll", "投票"), &[&asked], language)
}

fn bracket(kind: &str, parts: &[&str], language: Language) -> String {
    let parts = joined(parts.iter().map(|part| one_line(part)), language.pick(", ", "、"));
    if parts.is_empty() { format!("[{kind}]") } else { format!("[{kind}: {parts}]") }
}

struct Reading<'a> {
    names: &'a Names<'a>,
    message: &'a Value,
    text: String,
    mentions: Vec<Mention>,
}

impl Reading<'_> {
    fn read(&mut self, text: &str) {
        let text = clean(text);
        let mut rest = text.as_str();
        while let Some((prose, code, more)) = next_code(rest) {
            self.prose(prose);
            // In code, Discord shows ids as they are.
            self.text.push_str(code);
            rest = more;
        }
        self.prose(rest);
    }

    fn prose(&mut self, text: &str) {
        let mut rest = text;
        while let Some(start) = rest.find('<') {
            self.text.push_str(&rest[..start]);
            let behind = &rest[start + 1..];
            let taken = behind.find('>').and_then(|end| {
                let shown = self.bracket(&behind[..end])?;
                self.text.push_str(&shown);
                Some(end + 1)
            });
            if taken.is_none() {
                self.text.push('<');
            }
            rest = &behind[taken.unwrap_or(0)..];
        }
        self.text.push_str(rest);
    }

    /// What people see of `<…>`, if it means something to Discord.
    fn bracket(&mut self, inner: &str) -> Option<String> {
        if let Some(role) = inner.strip_prefix("@&").filter(|id| is_id(id)) {
            return Some(self.role(role));
        }
        if let Some(user) = inner.strip_prefix('@') {
            let user = user.strip_prefix('!').unwrap_or(user);
            return is_id(user).then(|| self.user(UserId::new(user)));
        }
        if let Some(channel) = inner.strip_prefix('#').filter(|id| is_id(id)) {
            let name = (self.names.channel)(&ChannelId::new(channel));
            return Some(format!("#{}", name.as_deref().unwrap_or("…")));
        }
        if let Some(moment) = inner.strip_prefix("t:") {
            return self::moment(moment);
        }
        if let Some((command, id)) = inner.strip_prefix('/').and_then(|it| it.split_once(':')) {
            return is_id(id).then(|| format!("/{command}"));
        }
        let emoji = inner.strip_prefix("a:").or(inner.strip_prefix(':'))?;
        let (name, id) = emoji.split_once(':')?;
        is_id(id).then(|| format!(":{name}:"))
    }

    fn user(&mut self, user: UserId) -> String {
        let name = if user == *self.names.persona {
            self.names.persona_name.into()
        } else {
            let told = || {
                let mut told = list(self.message, "mentions");
                let it = told.find(|it| it["id"] == user.as_str())?;
                person(it, &it["member"]).map(|person| person.name)
            };
            (self.names.user)(&user).or_else(told).unwrap_or_else(|| user.as_str().into())
        };
        self.note(user);
        format!("@{name}")
    }

    fn role(&mut self, role: &str) -> String {
        match (self.names.role)(role) {
            Some(RoleName { is_persona: true, .. }) => self.user(self.names.persona.clone()),
            Some(RoleName { name, is_persona: false }) => format!("@{name}"),
            None => "@…".to_owned(),
        }
    }

    /// Each once, in the order of the text.
    fn note(&mut self, user: UserId) {
        let is_persona = user == *self.names.persona;
        let mention = if is_persona { Mention::Persona } else { Mention::User(user) };
        if !self.mentions.contains(&mention) {
            self.mentions.push(mention);
        }
    }
}

/// A moment that everybody sees in their own time.
fn moment(written: &str) -> Option<String> {
    let seconds = written.split(':').next()?.parse().ok()?;
    let at = Timestamp::from_second(seconds).ok()?;
    Some(format!("{} UTC", at.strftime("%Y-%m-%d %H:%M")))
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit())
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
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn reads(message: &Value, language: Language) -> Read {
        let names = Names {
            persona: &UserId::new("7"),
            persona_name: "Aizuchi",
            user: &|id| (id.as_str() == "3").then(|| "Mio".into()),
            channel: &|id| (id.as_str() == "2").then(|| "tea".into()),
            role: &|id| match id {
                "8" => Some(RoleName { name: "Aizuchi bot".into(), is_persona: true }),
                "9" => Some(RoleName { name: "gardeners".into(), is_persona: false }),
                _ => None,
            },
        };
        read_message(message, &names, language)
    }

    #[test]
    fn ids_become_names() {
        let (persona, mio) = (Mention::Persona, Mention::User(UserId::new("3")));
        for (content, text, mentions) in [
            ("<@7> hello <@!3>", "@Aizuchi hello @Mio", vec![persona.clone(), mio]),
            ("<@4>", "@Ren", vec![Mention::User(UserId::new("4"))]),
            ("<@5>", "@5", vec![Mention::User(UserId::new("5"))]),
            ("<@&8> and <@&9>, <@&1>", "@Aizuchi and @gardeners, @…", vec![persona]),
            ("in <#2> and <#1>", "in #tea and #…", vec![]),
            ("<:rose:12> <a:wave:13>", ":rose: :wave:", vec![]),
            (
                "<t:1700000000:R> <t:1700000000>",
                { "2023-11-14 22:13 UTC 2023-11-14 22:13 UTC" },
                vec![],
            ),
            ("try </why:99>", "try /why", vec![]),
            ("1 < 2 > 0, <3, <@x> <>", "1 < 2 > 0, <3, <@x> <>", vec![]),
            ("`<@7>` ```\n<#2>\n```", "`<@7>` ```\n<#2>\n```", vec![]),
            ("<@", "<@", vec![]),
        ] {
            let told = json!([{"id": "4", "username": "ren", "member": {"nick": "Ren"}}]);
            let told = if content == "<@4>" { told } else { json!([]) };
            let read = reads(&json!({"content": content, "mentions": told}), Language::En);
            assert_eq!((read.text.as_str(), read.mentions), (text, mentions), "{content}");
        }
    }

    #[test]
    fn whoever_is_notified_is_named() {
        // A reply notifies whom it answers, and does not write their name.
        let reply = json!({"content": "yes", "mentions": [{"id": "7"}, {"id": "3"}]});
        let named = vec![Mention::Persona, Mention::User(UserId::new("3"))];
        assert_eq!(reads(&reply, Language::En).mentions, named);
    }

    #[test]
    fn what_comes_with_a_message_is_described() {
        let message = json!({
            "content": "look",
            "attachments": [
                {"filename": "beds.png", "content_type": "image/png", "description": "from\nabove"},
                {"filename": "plan.pdf", "content_type": "application/pdf"},
                {},
            ],
            "sticker_items": [{"name": "Wave"}],
            "poll": {"question": {"text": "Which day?"},
                "answers": [{"poll_media": {"text": "Mon"}}, {"poll_media": {"text": "Tue"}}]},
            "embeds": [{"title": "a preview"}],
        });
        let text = "look\n[image: beds.png, from above]\n[file: plan.pdf]\n[file]\n[sticker: Wave]\n\
                    [poll: Which day? Mon / Tue]";
        assert_eq!(reads(&message, Language::En).text, text);
        let voice = json!({"content": "", "flags": VOICE, "attachments": [{"filename": "v.ogg"}]});
        assert_eq!(reads(&voice, Language::Ja).text, "[ボイスメッセージ]");
    }

    #[test]
    fn what_is_passed_on_stands_below() {
        let message = json!({"content": "see", "message_snapshots": [
            {"message": {"content": "<@3> cut the roses", "sticker_items": [{"name": "Hi"}]}}]});
        let read = reads(&message, Language::En);
        assert_eq!(read.text, "see\n[forwarded]\n@Mio cut the roses\n[sticker: Hi]");
        // Who was named there is not called here.
        assert_eq!(read.mentions, []);
    }

    #[test]
    fn programs_may_say_everything_beside_the_text() {
        let message = json!({"content": "", "author": {"bot": true},
            "embeds": [{"title": "Build #7", "fields": [{"name": "state", "value": "failed"}]}],
            "components": [{"type": 17, "components": [{"type": 10, "content": "see the log"}]}]});
        assert_eq!(reads(&message, Language::En).text, "Build #7\nstate: failed\nsee the log");
    }

    proptest! {
        #[test]
        fn any_text_is_read(content in r"[<>@#&!:a-z0-9`/ \n]{0,40}") {
            let message = json!({"content": content});
            let read = reads(&message, Language::En);
            prop_assert!(read.text.len() <= content.len() * 20 + 20);
        }
    }
}
