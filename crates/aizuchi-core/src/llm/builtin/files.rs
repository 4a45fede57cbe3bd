//! What it is asked about pictures, recordings and other files. It can open none of them, and says so. What a model has told
//! of one before is known.

use crate::chat::attachment::{AttachmentContent, AttachmentKind};
use crate::chat::{Message, is_blank, to_single_line};
use crate::llm::builtin::matching::{holds_any, normalize};
use crate::llm::builtin::preamble::without_call;
use crate::prompt::Prompt;
use crate::texts::{self, Name};
use aizuchi_structure::cues::Cues;

/// How pictures are called by those who ask about one.
const PICTURES: [&str; 9] =
    ["picture", "image", "photo", "screenshot", "attachment", "画像", "写真", "スクショ", "添付"];
const RECORDINGS: [&str; 7] =
    ["voice message", "voice note", "recording", "audio", "ボイスメッセージ", "録音", "音声"];
/// How many messages a question may be away from the file that it is about.
const LOOKBACK: usize = 12;

/// The answer to a message that asks about a file, or that sends one and says nothing.
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

/// What the files are whose content is not known.
fn unknown_kinds(message: &Message) -> Vec<AttachmentKind> {
    let is_known = |content: &Option<AttachmentContent>| {
        content.as_ref().is_some_and(AttachmentContent::is_known)
    };
    let files = message.attachments.iter().filter(|file| !is_known(&file.content));
    files.map(|file| file.kind()).collect()
}

/// How those call a file who ask about one that was sent before.
fn names_of(kind: AttachmentKind) -> &'static [&'static str] {
    match kind {
        AttachmentKind::Picture => &PICTURES,
        AttachmentKind::Audio => &RECORDINGS,
        AttachmentKind::Video | AttachmentKind::Text | AttachmentKind::Other => &[],
    }
}
