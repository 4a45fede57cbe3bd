//! What a file is, by its content.

use serde_json::{Map, Value};

use crate::input::InputFormat;

/// What is read, for somebody whose file is not.
pub const READ: &str = "what is read: an export of Slack (the zip or its folder), the JSON of DiscordChatExporter, \
     and JSON Lines with room, id, ts, author and text";

/// The number of lines that are looked at.
const MAX_LINES: usize = 20;

/// The kind of a file, detected from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    JsonLines,
    Discord,
    /// A list of messages of Slack, the file of a channel and a day in an export.
    SlackDay,
    Database,
    /// Something else that is known, but not read.
    Foreign(&'static str),
    Unknown,
}

/// The keys that tell other JSON. The first entry counts whose keys all occur.
const FOREIGN_JSON: [(&[&str], &str); 5] = [
    (&["ID", "Timestamp", "Contents"], "Discord's own package of a person's data"),
    (&["author", "channel_id", "content"], "raw messages of Discord"),
    (&["decide_at", "context"], "cases for `aizuchi eval`"),
    (&["date", "from"], "an export of Telegram"),
    (&["origin_server_ts"], "events of Matrix"),
];

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
        json_kind(text)
    }

    /// The format as which it is read, if it is.
    pub fn format(self) -> Option<InputFormat> {
        match self {
            Self::JsonLines => Some(InputFormat::JsonLines),
            Self::Discord => Some(InputFormat::Discord),
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
            Self::JsonLines | Self::Discord | Self::Unknown => {
                format!("it is of no kind that Aizuchi knows; {READ}")
            }
        }
    }
}

fn binary_kind(beginning: &[u8]) -> Option<&'static str> {
    if beginning.get(257..262) == Some(b"ustar") {
        return Some("a tar archive (unpack it, and name the folder)");
    }
    if beginning.starts_with(b"\xff\xfe") || beginning.starts_with(b"\xfe\xff") {
        return Some("text in UTF-16 (save it in UTF-8)");
    }
    beginning.contains(&0).then_some("a binary file")
}

fn json_kind(text: &str) -> FileKind {
    let lines = text.lines().take(MAX_LINES);
    let mut lines = lines.filter_map(|line| serde_json::from_str::<Map<String, Value>>(line).ok());
    if lines.any(|line| is_recording(&line)) {
        return FileKind::JsonLines;
    }
    // A quotation mark within a string is escaped, so these stand at the ends of whole strings.
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    let is_object = text.starts_with('{');
    if is_object && has("guild") {
        return FileKind::Discord;
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

/// Whether a line is of JSON Lines.
fn is_recording(line: &Map<String, Value>) -> bool {
    let has = |key: &str| line.contains_key(key);
    has("room") && ["id", "ts", "text"].into_iter().any(has) || has("kind") && has("workspace")
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
            ("[\n {\"type\": \"message\"", FileKind::SlackDay),
            ("{\"type\":\"message\",\"ts\":\"1.000001\"}\n", FileKind::Unknown),
            ("SQLite format 3\0\x10", FileKind::Database),
            ("{\"guild\":1,\"room\":\"a\",\"id\":\"1\"}\n", FileKind::JsonLines),
            ("{\"kind\":\"channel\",\"workspace\":\"w\"}\n", FileKind::JsonLines),
            ("hello", FileKind::Unknown),
            ("[12/11/2026, 10:01:02] Ana: hello", FileKind::Unknown),
            ("<!DOCTYPE html>\n<html>", FileKind::Unknown),
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
            (r#"{"messages":[{"id":1,"date":"2026-01-01T10:00:00","from":"Ana"}]}"#, "Telegram"),
            ("\u{1}\0\u{2}", "binary"),
            (r#"{"ok":true,"messages":[{"type":"message","ts":"1.000001"}]}"#, "Slack's API"),
            (r#"[{"id":"1","channel_id":"2","author":{},"content":"hi"}]"#, "messages of Discord"),
            (r#"{"chunk":[{"type":"m.room.message","origin_server_ts":1}]}"#, "Matrix"),
        ] {
            let kind = FileKind::sniff(beginning.as_bytes());
            let FileKind::Foreign(what) = kind else { panic!("{kind:?}: {beginning}") };
            assert!(what.contains(expected), "{what}: {beginning}");
        }
    }
}
