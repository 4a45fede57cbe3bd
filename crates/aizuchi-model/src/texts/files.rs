//! The words for files in messages: in prompts, on pages, and in exports.

use crate::chat::Message;
use crate::chat::attachment::{Attachment, AttachmentKind, UnheardReason};
use crate::persona::Language;

texts! {
    picture: "picture" / "画像";
    audio: "audio" / "音声";
    video: "video" / "動画";
    file: "file" / "ファイル";
    /// In a prompt.
    quoted(kind: &str, name: &str): "{kind} “{name}”" / "{kind}「{name}」";
    alt_text(text: &str): "which its sender calls “{text}”" / "送った人の説明は「{text}」";
    picture_unread: "nobody has described it yet" / "内容は未確認";
    content_unknown: "its content is unknown" / "内容は未確認";
    unreadable: "it could not be opened" / "開けませんでした";
    too_long: "it is too long to be listened to" / "長すぎるため聞いていません";
    no_recording: "no recording could be found in it" / "録音として読み取れませんでした";
    no_words: "nobody was heard to speak in it" / "話し声は聞き取れませんでした";
    hearing_failed: "it could not be made out" / "聞き取れませんでした";
    /// `text` is the transcript.
    heard(text: &str): "someone says: “{text}”" / "話している内容: 「{text}」";
    /// The beginning of the file's content follows, line by line.
    begins: "it begins:" / "冒頭:";
    list_separator: ", " / "、";
}

/// The kind of a file.
pub fn kind(language: Language, kind: AttachmentKind) -> &'static str {
    match kind {
        AttachmentKind::Picture => picture(language),
        AttachmentKind::Audio => audio(language),
        AttachmentKind::Video => video(language),
        AttachmentKind::Text | AttachmentKind::Other => file(language),
    }
}

/// That the content of a file is unknown.
pub fn unread(language: Language, kind: AttachmentKind) -> &'static str {
    match kind {
        AttachmentKind::Picture => picture_unread(language),
        AttachmentKind::Audio
        | AttachmentKind::Video
        | AttachmentKind::Text
        | AttachmentKind::Other => content_unknown(language),
    }
}

/// Why a recording will not be transcribed.
pub fn unheard(language: Language, reason: UnheardReason) -> &'static str {
    match reason {
        UnheardReason::TooLong => too_long(language),
        UnheardReason::NoRecording => no_recording(language),
        UnheardReason::NoWords => no_words(language),
        UnheardReason::Failed => hearing_failed(language),
    }
}

/// The label of a file, `[picture: plan.png]`.
pub fn label(language: Language, attachment: &Attachment) -> String {
    let kind = kind(language, attachment.kind());
    match attachment.name.is_empty() {
        true => format!("[{kind}]"),
        false => format!("[{kind}: {}]", attachment.name),
    }
}

/// The text of a message as users see it, with a line for each of its files.
pub fn shown_text(language: Language, message: &Message) -> String {
    let labels = message.attachments.iter().map(|attachment| label(language, attachment));
    let text = (!message.text.is_empty()).then(|| message.text.to_string());
    text.into_iter().chain(labels).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_called_what_it_is() {
        for (name, media_type, english, japanese) in [
            ("plan.png", "image/png", "[picture: plan.png]", "[画像: plan.png]"),
            ("", "audio/ogg", "[audio]", "[音声]"),
            ("a.mov", "", "[video: a.mov]", "[動画: a.mov]"),
            ("計画.pdf", "application/pdf", "[file: 計画.pdf]", "[ファイル: 計画.pdf]"),
            ("a.log", "text/plain", "[file: a.log]", "[ファイル: a.log]"),
        ] {
            let attachment = Attachment::new("F1", name, media_type, 0);
            assert_eq!(label(Language::En, &attachment), english);
            assert_eq!(label(Language::Ja, &attachment), japanese);
        }
    }
}
