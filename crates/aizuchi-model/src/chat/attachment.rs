//! Files that were sent with a message. Only a file's name is known until its content is needed.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::chat::{MessageId, to_single_line};

/// The maximum length of a name, in characters. A longer one is cut.
const MAX_NAME_CHARS: usize = 200;
const MAX_ALT_TEXT_CHARS: usize = 1_000;

/// A file of a message. It is part of the message: edited, deleted and seen with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The platform's id, unique within the message.
    pub id: Arc<str>,
    /// On one line. Empty if the platform does not provide it.
    pub name: Arc<str>,
    /// The media type, such as `image/png`, in lower case. Empty if the platform does not provide it.
    pub media_type: Arc<str>,
    /// 0 if the platform does not provide it.
    #[serde(default)]
    pub size_bytes: u64,
    /// The duration of a recording, rounded up, if the platform provides it. Its sender may have made it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u32>,
    /// The sender's description, on one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alt_text: Option<Arc<str>>,
    /// Where the platform stores it. For its adapter only: no one else may read it, and no model gets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Arc<str>>,
    /// The content, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<AttachmentContent>,
}

/// The known content of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentContent {
    /// A model's description of a picture.
    Description(Arc<str>),
    /// The beginning of a text.
    Excerpt(Arc<str>),
    /// A model's transcript of a recording.
    Transcript(Arc<str>),
    /// It will not be transcribed, for this reason.
    Unheard(UnheardReason),
    /// It was opened, but its content could not be determined.
    Unreadable,
}

/// Why a recording has no transcript, and never will.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnheardReason {
    /// It is longer than the settings allow.
    TooLong,
    /// Its content is not a recording in a known format.
    NoRecording,
    /// The model heard no speech.
    NoWords,
    /// The model refused it, or returned nothing usable. Another attempt would be paid for again.
    Failed,
}

impl AttachmentContent {
    /// Whether the content of the file is known.
    pub fn is_known(&self) -> bool {
        match self {
            AttachmentContent::Description(_)
            | AttachmentContent::Excerpt(_)
            | AttachmentContent::Transcript(_) => true,
            AttachmentContent::Unheard(_) | AttachmentContent::Unreadable => false,
        }
    }
}

/// The content that was read from a file, to be stored with its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadAttachment {
    pub message: MessageId,
    /// The id of the file.
    pub attachment: Arc<str>,
    pub content: AttachmentContent,
}

impl ReadAttachment {
    /// Adds the content to the files of its message, if the file is among them and is unread. Returns whether it was
    /// added.
    pub fn add_to(&self, attachments: &mut [Attachment]) -> bool {
        let is_it = |attachment: &&mut Attachment| attachment.id == self.attachment;
        let unread = attachments.iter_mut().find(is_it).filter(|attachment| attachment.is_unread());
        let Some(attachment) = unread else { return false };
        attachment.content = Some(self.content.clone());
        true
    }
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentKind {
    Picture,
    Audio,
    Video,
    /// Text that can be read as it is.
    Text,
    Other,
}

/// File extensions that determine the kind if there is no media type.
const ENDINGS: [(AttachmentKind, &[&str]); 4] = [
    (AttachmentKind::Picture, &["png", "jpg", "jpeg", "gif", "webp", "heic", "bmp", "svg"]),
    (AttachmentKind::Audio, &["mp3", "m4a", "ogg", "oga", "opus", "wav", "flac"]),
    (AttachmentKind::Video, &["mp4", "mov", "webm", "mkv", "avi"]),
    (
        AttachmentKind::Text,
        &[
            "txt", "log", "md", "csv", "tsv", "json", "jsonl", "ndjson", "yaml", "yml", "toml",
            "xml", "ini", "conf", "diff", "patch", "sql", "sh", "rs", "py", "js", "ts", "go",
        ],
    ),
];

/// Media types of text that do not begin with `text/`.
const TEXT_TYPES: [&str; 8] = [
    "application/json", "application/x-ndjson", "application/jsonl", "application/csv",
    "application/xml", "application/yaml", "application/x-yaml", "application/toml",
];

impl Attachment {
    /// Creates a file as a platform describes it. Missing values are empty.
    pub fn new(id: &str, name: &str, media_type: &str, size_bytes: u64) -> Self {
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        Self {
            id: id.into(),
            name: shown_line(name, MAX_NAME_CHARS).into(),
            media_type: to_single_line(media_type).to_lowercase().into(),
            size_bytes,
            seconds: None,
            alt_text: None,
            url: None,
            content: None,
        }
    }

    /// Returns the same file with its sender's description, unless that is empty.
    pub fn with_alt_text(self, alt_text: &str) -> Self {
        let alt_text = shown_line(alt_text, MAX_ALT_TEXT_CHARS);
        Self { alt_text: (!alt_text.is_empty()).then(|| alt_text.into()), ..self }
    }

    /// Returns the same file with its duration. An invalid duration is ignored.
    pub fn with_seconds(self, seconds: Option<f64>) -> Self {
        let is_time = |seconds: &f64| seconds.is_finite() && *seconds > 0.0;
        // A number that is too large becomes the largest one.
        Self { seconds: seconds.filter(is_time).map(|seconds| seconds.ceil() as u32), ..self }
    }

    pub fn kind(&self) -> AttachmentKind {
        let media_type = &*self.media_type;
        match media_type.split('/').next().unwrap_or_default() {
            "image" => AttachmentKind::Picture,
            "audio" => AttachmentKind::Audio,
            "video" => AttachmentKind::Video,
            "text" => AttachmentKind::Text,
            _ if TEXT_TYPES.contains(&media_type) => AttachmentKind::Text,
            _ if ["", "application/octet-stream"].contains(&media_type) => self.kind_by_name(),
            _ => AttachmentKind::Other,
        }
    }

    fn kind_by_name(&self) -> AttachmentKind {
        let ending = self.name.rsplit_once('.').map_or("", |(_, ending)| ending).to_lowercase();
        let known = ENDINGS.iter().find(|(_, endings)| endings.contains(&&*ending));
        known.map_or(AttachmentKind::Other, |(kind, _)| *kind)
    }

    /// Whether it is a PDF, by its type or, without one, its name.
    pub fn is_pdf(&self) -> bool {
        let has_ending = || self.name.to_lowercase().ends_with(".pdf");
        let is_untold = ["", "application/octet-stream"].contains(&&*self.media_type);
        *self.media_type == *"application/pdf" || is_untold && has_ending()
    }

    /// Whether it has not been read yet.
    pub fn is_unread(&self) -> bool {
        self.content.is_none()
    }
}

/// Returns the media type of a picture that models can see, by its first bytes, since a server may report a wrong type.
pub fn picture_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Returns the names of files as search finds them, separated by spaces.
pub fn searched_names(attachments: &[Attachment]) -> String {
    let names = attachments.iter().map(|attachment| &*attachment.name);
    names.filter(|name| !name.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns the files that an edited message has now, with the known content of those that it had before.
pub fn after_edit(before: &[Attachment], now: &[Attachment]) -> Vec<Attachment> {
    let with_content = |attachment: &Attachment| {
        let known = before.iter().find(|known| known.id == attachment.id);
        let content = known.and_then(|known| known.content.clone());
        Attachment { content: content.or(attachment.content.clone()), ..attachment.clone() }
    };
    now.iter().map(with_content).collect()
}

/// Whether these are the same files under the same names.
pub fn are_same(one: &[Attachment], other: &[Attachment]) -> bool {
    let shown = |attachment: &Attachment| {
        (attachment.id.clone(), attachment.name.clone(), attachment.alt_text.clone())
    };
    one.iter().map(shown).eq(other.iter().map(shown))
}

fn shown_line(text: &str, max_chars: usize) -> String {
    let line = to_single_line(text);
    match line.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_media_type_tells_the_kind_and_the_name_only_without_one() {
        for (name, media_type, expected) in [
            ("plan.png", "image/png", AttachmentKind::Picture),
            ("plan.png", "", AttachmentKind::Picture),
            ("PLAN.JPG", "application/octet-stream", AttachmentKind::Picture),
            ("plan.png", "application/pdf", AttachmentKind::Other),
            ("note.ogg", "audio/ogg; codecs=opus", AttachmentKind::Audio),
            ("a.mov", "", AttachmentKind::Video),
            ("a", "text/x-rust; charset=utf-8", AttachmentKind::Text),
            ("a", "application/JSON", AttachmentKind::Text),
            ("server.log", "", AttachmentKind::Text),
            ("png", "", AttachmentKind::Other),
            ("", "", AttachmentKind::Other),
        ] {
            let attachment = Attachment::new("F1", name, media_type, 7);
            assert_eq!(attachment.kind(), expected, "{name} {media_type}");
        }
    }

    #[test]
    fn names_and_alt_texts_are_one_line_and_not_endless() {
        let long = "x".repeat(MAX_NAME_CHARS + 1);
        for (name, expected) in [
            ("a\n# b\u{202e}.png", "a # b.png"),
            (&*long, &*format!("{}…", "x".repeat(MAX_NAME_CHARS))),
        ] {
            assert_eq!(&*Attachment::new("F1", name, "", 0).name, expected);
        }
        let described = Attachment::new("F1", "a.png", "", 0).with_alt_text("two\nlines");
        assert_eq!(described.alt_text.as_deref(), Some("two lines"));
        assert_eq!(described.with_alt_text(" ").alt_text, None);
    }

    #[test]
    fn only_a_time_is_a_length() {
        for (seconds, expected) in [
            (Some(3.2), Some(4)),
            (Some(7.0), Some(7)),
            (Some(1e300), Some(u32::MAX)),
            (Some(0.0), None),
            (Some(-1.0), None),
            (Some(f64::NAN), None),
            (Some(f64::INFINITY), None),
            (None, None),
        ] {
            let note = Attachment::new("F1", "", "audio/ogg", 7).with_seconds(seconds);
            assert_eq!(note.seconds, expected, "{seconds:?}");
        }
    }

    #[test]
    fn the_first_bytes_tell_what_a_picture_is() {
        for (bytes, expected) in [
            (&b"\x89PNG\r\n\x1a\n"[..], Some("image/png")),
            (&b"\xff\xd8\xff\xe0"[..], Some("image/jpeg")),
            (&b"GIF89a"[..], Some("image/gif")),
            (&b"RIFF\x01\x02\x03\x04WEBPVP8 "[..], Some("image/webp")),
            (&b"RIFF\x01\x02\x03\x04WAVE"[..], None),
            (&b"<!DOCTYPE html>"[..], None),
            (&b""[..], None),
        ] {
            assert_eq!(picture_type(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn an_edit_keeps_what_is_known_of_the_files_that_stay() {
        let seen = |id: &str| Attachment {
            content: Some(AttachmentContent::Description("a boat".into())),
            ..Attachment::new(id, "boat.png", "image/png", 7)
        };
        let fresh = |id: &str| Attachment::new(id, "boat.png", "image/png", 7);
        let before = [seen("F1"), seen("F2")];
        assert_eq!(after_edit(&before, &[fresh("F2"), fresh("F3")]), [seen("F2"), fresh("F3")]);
        assert!(are_same(&before, &[fresh("F1"), fresh("F2")]));
        assert!(!are_same(&before, &[fresh("F1")]));
        let renamed = Attachment { name: "ship.png".into(), ..fresh("F2") };
        assert!(!are_same(&before, &[fresh("F1"), renamed]));
    }

    #[test]
    fn a_file_is_kept_as_json() {
        let attachment = Attachment {
            url: Some("https://files.example/F1".into()),
            content: Some(AttachmentContent::Excerpt("a,b".into())),
            ..Attachment::new("F1", "a.csv", "text/csv", 3)
        };
        let json = serde_json::to_string(&attachment).unwrap();
        assert_eq!(
            json,
            r#"{"id":"F1","name":"a.csv","media_type":"text/csv","size_bytes":3,"url":"https://files.example/F1","content":{"excerpt":"a,b"}}"#
        );
        assert_eq!(serde_json::from_str::<Attachment>(&json).unwrap(), attachment);
        let unheard = AttachmentContent::Unheard(UnheardReason::NoWords);
        assert_eq!(serde_json::to_string(&unheard).unwrap(), r#"{"unheard":"no_words"}"#);
        let plain = r#"{"id":"F1","name":"a","media_type":""}"#;
        let plain = serde_json::from_str::<Attachment>(plain).unwrap();
        assert_eq!(plain, Attachment::new("F1", "a", "", 0));
    }
}
