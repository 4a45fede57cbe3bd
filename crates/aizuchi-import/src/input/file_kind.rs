//! What a file is, by its content.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use crate::input::InputFormat;

/// What is read, for somebody whose file is not.
pub const READ: &str = "what is read: an export of Slack (the zip or its folder), the JSON of DiscordChatExporter, \
     the JSON that Element exports of a Matrix room, a bulk export of Mattermost, and JSON Lines with room, id, ts, \
     author and text";

/// The number of lines that are looked at.
const MAX_LINES: usize = 20;

/// The kind of a file, detected from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    JsonLines,
    Discord,
    Matrix,
    Mattermost,
    /// Messages as Slack's API has them, one a line.
    SlackMessages,
    /// A list of such messages, like the file of a channel and a day in an export.
    SlackDay,
    Database,
    /// Something else that is known, but not read.
    Foreign(&'static str),
    Unknown,
}

/// The strings, keys or values, that tell the JSON of other programs. The first entry counts whose strings all occur.
const FOREIGN_JSON: [(&[&str], &str); 29] = [
    (&["zerver_message"], "an export of Zulip"),
    (&["zerver_realm"], "an export of Zulip"),
    (&["sender_full_name"], "an export of Zulip"),
    (&["msg", "u"], "an export of Rocket.Chat"),
    (&["msg", "rid"], "an export of Rocket.Chat"),
    (&["msg", "username"], "an export of Rocket.Chat"),
    (&["sender_name", "timestamp_ms"], "an export of Messenger or Instagram"),
    (&["senderName", "timestamp"], "an export of Messenger or Instagram"),
    (&["participants", "thread_path"], "an export of Messenger or Instagram"),
    (&["personal_information"], "an export of Telegram"),
    (&["personal_chat"], "an export of Telegram"),
    (&["saved_messages"], "an export of Telegram"),
    (&["private_group"], "an export of Telegram"),
    (&["private_supergroup"], "an export of Telegram"),
    (&["public_supergroup"], "an export of Telegram"),
    (&["date_unixtime"], "an export of Telegram"),
    (&["date", "from"], "an export of Telegram"),
    (&["date", "actor"], "an export of Telegram"),
    (&["creator", "created_date"], "an export of Google Chat"),
    (&["createdDateTime"], "an export of Microsoft Teams"),
    (&["originalarrivaltime"], "an export of Skype or Microsoft Teams"),
    (&["fromUser", "sent"], "an export of Gitter"),
    (&["ID", "Timestamp", "Contents"], "Discord's own package of a person's data"),
    (&["author", "channel_id", "content"], "raw messages of Discord"),
    (&["create_at", "channel_id"], "raw posts of Mattermost"),
    (&["origin_server_ts"], "raw events of Matrix"),
    (&["decide_at", "context"], "cases for `aizuchi eval`"),
    (&["labels", "messages"], "cases for `aizuchi eval`"),
    (&["$date", "_id"], "a dump of a MongoDB database"),
];

/// Matches a line of a log with the time and the nick, or a notice, as IRC clients write it.
static IRC: LazyLock<Regex> = LazyLock::new(|| {
    let time = r"\[?(?:\d{4}[-/]\d\d[-/]\d\d[T ]|[A-Z][a-z]{2} \d\d )?\d{1,2}:\d\d(?::\d\d)?\S{0,6}?\]?\s+";
    let said = r"(?:<\s?[^<>\s]{1,32}>\s|-!-\s|\*{1,3}\s|[\w\[\]\\`^{}|\-@+]{1,32}\t)";
    Regex::new(&format!(
        r"(?m)^(?:{time}{said}|<[ @+%]?[^<>\s/]{{1,32}}> \S|--- Log opened|\*{{3,4}} )"
    ))
    .expect("the pattern is valid")
});
/// Matches the beginning of a message with its date and time.
static WHATSAPP: LazyLock<Regex> = LazyLock::new(|| {
    let date = r"\d{1,4}[/.\-]\d{1,2}[/.\-]\d{1,4}";
    let time = r"[^\s\d\]]*\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:\s?[AaPp]\.?\s?[Mm]\.?)?";
    Regex::new(&format!(r"(?m)^\x{{200e}}?(?:\[{date},?\s+{time}\]\s|{date},?\s+{time}\s[-–]\s)"))
        .expect("the pattern is valid")
});
/// Matches what LINE writes at the beginning, or a message of it.
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)\A\[LINE\]|^\d{4}[/.]\d\d[/.]\d\d.*\r?\n(?:午[前後])?\d{1,2}:\d\d[\t ]")
        .expect("the pattern is valid")
});
/// Matches a first line of nothing but short cells.
static CSV: LazyLock<Regex> = LazyLock::new(|| {
    let cell = r#"(?:"[^"\n]*"|[\w.#(@+\-][\w .:#/()@+\-]{0,60})?"#;
    Regex::new(&format!(r"\A{cell}(?:[,;\t]{cell})+\r?\n")).expect("the pattern is valid")
});

impl FileKind {
    pub fn sniff(beginning: &[u8]) -> Self {
        if beginning.starts_with(b"SQLite format 3\0") {
            return Self::Database;
        }
        if let Some(what) = binary_kind(beginning) {
            return Self::Foreign(what);
        }
        let text = String::from_utf8_lossy(beginning);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        // Nothing is wrong with a file without messages.
        if text.is_empty() {
            return Self::JsonLines;
        }
        text_kind(text).map_or_else(|| json_kind(text), Self::Foreign)
    }

    /// The format as which it is read, if it is.
    pub fn format(self) -> Option<InputFormat> {
        match self {
            Self::JsonLines => Some(InputFormat::JsonLines),
            Self::Discord => Some(InputFormat::Discord),
            Self::Matrix => Some(InputFormat::Matrix),
            Self::Mattermost => Some(InputFormat::Mattermost),
            Self::SlackMessages => Some(InputFormat::SlackMessages),
            Self::SlackDay | Self::Database | Self::Foreign(_) | Self::Unknown => None,
        }
    }

    /// Why a file of this kind is not read.
    pub fn refusal(self, shown: &str) -> String {
        match self {
            Self::SlackDay => {
                "it is a part of a Slack export; name the folder or the zip that has \
                 channels.json"
                    .to_owned()
            }
            Self::Database => format!(
                "it is a database; if it is Aizuchi's, replay it with --from-store sqlite://{shown}"
            ),
            Self::Foreign(what) => format!("it seems to be {what}, which is not read; {READ}"),
            Self::JsonLines
            | Self::Discord
            | Self::Matrix
            | Self::Mattermost
            | Self::SlackMessages
            | Self::Unknown => format!("it is of no kind that Aizuchi knows; {READ}"),
        }
    }
}

fn binary_kind(beginning: &[u8]) -> Option<&'static str> {
    let size = beginning.first_chunk().map_or(0, |size| u32::from_le_bytes(*size));
    let is_field = beginning.get(4).is_some_and(|kind| (1..=0x13).contains(kind));
    let name = beginning.get(5..).unwrap_or_default().split(|byte| *byte == 0).next();
    let is_name =
        name.is_some_and(|name| !name.is_empty() && name.iter().all(u8::is_ascii_graphic));
    if size >= 5 && beginning.get(3) == Some(&0) && is_field && is_name {
        return Some("BSON, a dump of a MongoDB database like that of Rocket.Chat");
    }
    if beginning.get(257..262) == Some(b"ustar") {
        return Some("a tar archive (unpack it, and name the folder)");
    }
    if beginning.starts_with(b"\xff\xfe") || beginning.starts_with(b"\xfe\xff") {
        return Some("text in UTF-16 (save it in UTF-8)");
    }
    beginning.contains(&0).then_some("a binary file")
}

fn text_kind(text: &str) -> Option<&'static str> {
    let is_page = ["<!", "<html", "<HTML", "<?xml"].into_iter().any(|tag| text.starts_with(tag));
    let kinds = [
        (is_page, "a page in HTML or XML"),
        (LINE.is_match(text), "a chat of LINE"),
        (IRC.is_match(text), "a log of IRC"),
        (WHATSAPP.is_match(text), "a chat of WhatsApp"),
        (!text.starts_with(['{', '[']) && CSV.is_match(text), "a table (CSV)"),
    ];
    kinds.into_iter().find(|(is_it, _)| *is_it).map(|(_, what)| what)
}

fn json_kind(text: &str) -> FileKind {
    let lines = text.lines().take(MAX_LINES);
    let mut lines = lines.filter_map(|line| serde_json::from_str::<Map<String, Value>>(line).ok());
    if let Some(kind) = lines.find_map(|line| line_kind(&line)) {
        return kind;
    }
    // A quotation mark within a string is escaped, so these stand at the ends of whole strings.
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    let is_object = text.starts_with('{');
    if is_object && has("guild") {
        return FileKind::Discord;
    }
    if is_object && has("room_name") {
        return FileKind::Matrix;
    }
    // The first line may be longer than what is looked at.
    if is_object && ["room", "id", "ts"].into_iter().all(has) {
        return FileKind::JsonLines;
    }
    let mut foreign = FOREIGN_JSON.into_iter();
    match foreign.find(|(keys, _)| keys.iter().all(|key| has(key))) {
        _ if !text.starts_with(['{', '[']) => FileKind::Unknown,
        Some((_, what)) => FileKind::Foreign(what),
        None if !is_object && (has("ts") || has("message")) => FileKind::SlackDay,
        None if has("ts") && has("messages") => FileKind::Foreign("an answer of Slack's API"),
        None => FileKind::Unknown,
    }
}

/// The kind of a file with one object a line, by the first line that tells it.
fn line_kind(line: &Map<String, Value>) -> Option<FileKind> {
    let has = |key: &str| line.contains_key(key);
    let str_at = |key: &str| line.get(key).and_then(Value::as_str);
    let is_room = has("room") && ["id", "ts", "text"].into_iter().any(has);
    if is_room || has("kind") && has("workspace") {
        return Some(FileKind::JsonLines);
    }
    if str_at("ts").is_some() && (str_at("type") == Some("message") || has("user")) {
        return Some(FileKind::SlackMessages);
    }
    let record = str_at("type").and_then(|kind| line.get(kind));
    record.filter(|_| !has("ts")).map(|_| FileKind::Mattermost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart_by_their_beginning() {
        for (beginning, kind) in [
            ("{\"room\":\"a\",\"id\":\"1\"}\n{", FileKind::JsonLines),
            ("spoilt\n{\"room\":\"a\",\"id\":\"1\"}\n{", FileKind::JsonLines),
            ("{\"room\":\"a\",\"id\":\"1\",\"ts\":1,\"text\":\"and so on", FileKind::JsonLines),
            ("\u{feff}{\n  \"guild\": {\n", FileKind::Discord),
            ("{\"guild\":{\"id\":\"1\"},\"channel\":", FileKind::Discord),
            ("{\n \"room_name\": \"Porch\",", FileKind::Matrix),
            ("{\"export_date\": \"1/1/2026\", \"room_name\": \"Porch\",", FileKind::Matrix),
            ("{\"type\":\"version\",\"version\":1}\n{\"type\"", FileKind::Mattermost),
            ("{\"type\":\"post\",\"post\":{\"team\":\"a\"}}\n", FileKind::Mattermost),
            ("[\n {\"type\": \"message\"", FileKind::SlackDay),
            (
                "{\"type\":\"message\",\"ts\":\"1.000001\",\"text\":\"a\"}\n",
                FileKind::SlackMessages,
            ),
            ("SQLite format 3\0\x10", FileKind::Database),
            ("{\"guild\":1,\"room\":\"a\",\"id\":\"1\"}\n", FileKind::JsonLines),
            ("{\"kind\":\"channel\",\"workspace\":\"w\"}\n", FileKind::JsonLines),
            ("hello", FileKind::Unknown),
            (r#"{"message":"hi","by":"ana"}"#, FileKind::Unknown),
            ("Hi, Ana, are you there?\nI am", FileKind::Unknown),
            ("", FileKind::JsonLines),
        ] {
            assert_eq!(FileKind::sniff(beginning.as_bytes()), kind, "{beginning}");
        }
    }

    #[test]
    fn what_other_programs_write_is_named() {
        for (beginning, expected) in [
            (
                r#"{"name":"Tea","type":"personal_chat","messages":[{"id":1,"type":"message","date":"2026-01-01T10:00:00","from":"Ana"}]}"#,
                "Telegram",
            ),
            (r#"{"about":"Here is the data","personal_information":{"#, "Telegram"),
            (
                "{\n \"name\": \"Tea\",\n \"messages\": [{\"date\": \"2026\", \"actor\": 1}]}",
                "Telegram",
            ),
            ("[12/11/2026, 10:01:02] Ana: hello", "WhatsApp"),
            ("\u{200e}[12.11.26, 10:01:02\u{202f}PM] Ana: hello", "WhatsApp"),
            ("12/11/26, 10:01 - Ana: hello", "WhatsApp"),
            ("2026/11/12 午後3:19 - あな: こんにちは", "WhatsApp"),
            ("[LINE] 雑談のトーク履歴\n保存日時：2026/12/08 03:19\n", "LINE"),
            ("\u{feff}[LINE] Chat history with Ana\nSaved on: 12/08/2026, 03:19\n", "LINE"),
            ("2026.12.08 日曜日\n03:19 あな こんにちは\n", "LINE"),
            ("[10:01] <ana> hello\n", "IRC"),
            ("10:01 <ana> hello\n", "IRC"),
            ("10:01 < ana> hello\n", "IRC"),
            ("[2026-01-01 10:01:02] <@ana> hello\n", "IRC"),
            ("2026-01-01T10:01:02Z <ana> hello\n", "IRC"),
            ("--- Log opened Thu Jan 01 10:01:02 2026\n", "IRC"),
            ("2026-01-01 10:01:02\tana\thello\n", "IRC"),
            ("<ana> hello\n<ben> hi\n", "IRC"),
            (
                "[\n {\n  \"_id\": \"1\",\n  \"rid\": \"GENERAL\",\n  \"msg\": \"hi\",\n  \"ts\": {}}]",
                "Rocket.Chat",
            ),
            (r#"{"_id":"1","rid":"GENERAL","msg":"hi","u":{"username":"ana"}}"#, "Rocket.Chat"),
            (r#"{"zerver_usermessage":[],"zerver_message":[{"id":1,"sender":2"#, "Zulip"),
            (r#"[{"id":1,"sender_full_name":"Ana","content":"hi"}]"#, "Zulip"),
            (
                "{\n \"participants\": [],\n \"messages\": [{\"sender_name\": \"Ana\", \"timestamp_ms\": 1}]",
                "Messenger",
            ),
            ("AuthorID,Author,Date,Content\n1,ana,2026-01-01,hi\n", "CSV"),
            ("\"user\";\"text\"\n\"ana\";\"hi\"\n", "CSV"),
            ("\x2e\0\0\0\x02_id\0\x02\0\0\x00\x31\0", "BSON"),
            ("\u{1}\0\u{2}", "binary"),
            ("<!DOCTYPE html>\n<html>", "HTML"),
            (r#"{"ok":true,"messages":[{"type":"message","ts":"1.000001"}]}"#, "Slack's API"),
            ("Jan 01 10:01:02 <ana> hello\n", "IRC"),
            (r#"[{"id":"1","channel_id":"2","author":{},"content":"hi"}]"#, "messages of Discord"),
            (r#"{"chunk":[{"type":"m.room.message","origin_server_ts":1}]}"#, "Matrix"),
        ] {
            let kind = FileKind::sniff(beginning.as_bytes());
            let FileKind::Foreign(what) = kind else { panic!("{kind:?}: {beginning}") };
            assert!(what.contains(expected), "{what}: {beginning}");
        }
    }
}
