//! What it is asked about pictures and other files. It can open none of them, and says so.

use crate::chat::attachment::AttachmentKind;
use crate::chat::{Message, is_blank, to_single_line};
use crate::llm::builtin::matching::{holds_any, normalize};
use crate::llm::builtin::preamble::without_call;
use crate::prompt::Prompt;
use crate::texts::{self, Name};
use aizuchi_structure::cues::Cues;

/// How pictures are called by those who ask about one.
const PICTURES: [&str; 9] =
    ["picture", "image", "photo", "screenshot", "attachment", "画像", "写真", "スクショ", "添付"];
/// How many messages a question may be away from the picture that it is about.
const LOOKBACK: usize = 12;

/// The answer to a message that asks about a file, or that sends one and says nothing.
pub fn cannot_open(prompt: &Prompt, message: &Message) -> Option<String> {
    let (context, language) = (&*prompt.context, prompt.persona.language);
    let text = without_call(&message.text, &prompt.persona.name);
    let asks = Cues::of(&text).contains(Cues::ASKS);
    let sends = !message.attachments.is_empty() && (asks || is_blank(&text));
    let asks_about_picture = asks && holds_any(&normalize(&text), &PICTURES);
    let newest = context.target_messages().iter().rev().take(LOOKBACK);
    let mut kinds = newest.flat_map(|message| &message.attachments).map(|file| file.kind());
    let is_picture = match sends {
        true => message.attachments.iter().any(|file| file.kind() == AttachmentKind::Picture),
        false if asks_about_picture => kinds.any(|kind| kind == AttachmentKind::Picture),
        false => false,
    };
    let name = to_single_line(context.display_name(&message.author.id));
    match (is_picture, sends) {
        (true, _) => Some(texts::builtin::sees_no_pictures(language, Name(&name))),
        (false, true) => Some(texts::builtin::opens_no_files(language, Name(&name))),
        (false, false) => None,
    }
}
