//! Answers questions about pictures, recordings and other files. The built-in mind cannot open them, and says so,
//! unless a model has described one before.

use aizuchi_model::chat::attachment::{AttachmentContent, AttachmentKind};
use aizuchi_model::chat::{Message, is_blank, to_single_line};
use aizuchi_model::texts::{self, Name};
use aizuchi_structure::cues::Cues;

use crate::builtin::matching::{holds_any, normalize};
use crate::builtin::preamble::without_call;
use crate::prompt::Prompt;

/// Words for a picture in questions about one.
const PICTURES: [&str; 9] =
    ["picture", "image", "photo", "screenshot", "attachment", "画像", "写真", "スクショ", "添付"];
const RECORDINGS: [&str; 7] =
    ["voice message", "voice note", "recording", "audio", "ボイスメッセージ", "録音", "音声"];
/// How many messages back the file of a question may be.
const LOOKBACK: usize = 12;

/// The answer to a message that asks about a file, or that sends one without text.
pub fn cannot_open(prompt: &Prompt, message: &Message) -> Option<String> {
    let (context, language) = (&*prompt.context, prompt.persona.language);
    let text = without_call(&message.text, &prompt.persona.name);
    let asks = Cues::from_text(&text).contains(Cues::ASKS);
    let mut kinds = unknown_kinds(message);
    let sends = !kinds.is_empty() && (asks || is_blank(&text));
    if !sends {
        let text = normalize(&text);
        let newest = context.target_messages().iter().rev().take(LOOKBACK);
        kinds = newest.flat_map(|message| unknown_kinds(message)).collect();
        kinds.retain(|kind| asks && holds_any(&text, names_of(*kind)));
    }
    let name = to_single_line(context.display_name(&message.author.id));
    if kinds.contains(&AttachmentKind::Picture) {
        Some(texts::builtin::sees_no_pictures(language, Name(&name)))
    } else if kinds.contains(&AttachmentKind::Audio) {
        Some(texts::builtin::hears_no_recordings(language, Name(&name)))
    } else {
        sends.then(|| texts::builtin::opens_no_files(language, Name(&name)))
    }
}

/// The kinds of the files whose content is unknown.
fn unknown_kinds(message: &Message) -> Vec<AttachmentKind> {
    let is_known = |content: &Option<AttachmentContent>| {
        content.as_ref().is_some_and(AttachmentContent::is_known)
    };
    let files = message.attachments.iter().filter(|file| !is_known(&file.content));
    files.map(|file| file.kind()).collect()
}

/// The words for a file of this kind in questions about an earlier one.
fn names_of(kind: AttachmentKind) -> &'static [&'static str] {
    match kind {
        AttachmentKind::Picture => &PICTURES,
        AttachmentKind::Audio => &RECORDINGS,
        AttachmentKind::Video | AttachmentKind::Text | AttachmentKind::Other => &[],
    }
}
