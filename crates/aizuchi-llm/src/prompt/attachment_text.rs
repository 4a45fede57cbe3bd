//! The lines in a prompt that describe a message's files. They follow its text and are fenced like it.

use std::borrow::Cow;

use aizuchi_model::chat::attachment::{Attachment, AttachmentContent};
use aizuchi_model::chat::{Message, is_blank, to_single_line, to_visible_text};
use aizuchi_model::persona::Language;
use aizuchi_model::texts::files;

use crate::prompt::fence::escape_quotes;

/// Returns the message with its files described in the text.
pub fn with_files(message: &Message, language: Language) -> Cow<'_, Message> {
    if message.attachments.is_empty() {
        return Cow::Borrowed(message);
    }
    let text = (!is_blank(&message.text)).then(|| message.text.to_string());
    let files = message.attachments.iter().map(|attachment| describe(attachment, language));
    let text = text.into_iter().chain(files).collect::<Vec<_>>().join("\n");
    let (text, attachments) = (text.into(), Vec::new());
    Cow::Owned(Message { text, attachments, ..message.clone() })
}

/// Describes a file: `[picture “plan.png”, nobody has described it yet]`.
fn describe(attachment: &Attachment, language: Language) -> String {
    let kind = files::kind(language, attachment.kind());
    // With escaped quotation marks, a name cannot end its own quotation.
    let name = escape_quotes(&attachment.name);
    let named = match name.is_empty() {
        true => kind.to_owned(),
        false => files::quoted(language, kind, &name),
    };
    let alt_text = attachment.alt_text.as_deref().map(escape_quotes);
    let alt_text = alt_text.map(|text| files::alt_text(language, &text));
    let known = [named].into_iter().chain(alt_text);
    let separator = files::list_separator(language);
    let label = |status: Option<&str>| {
        let parts = known.clone().chain(status.map(str::to_owned));
        parts.collect::<Vec<_>>().join(separator)
    };
    match &attachment.content {
        None => format!("[{}]", label(Some(files::unread(language, attachment.kind())))),
        Some(AttachmentContent::Unreadable) => {
            format!("[{}]", label(Some(files::unreadable(language))))
        }
        Some(AttachmentContent::Unheard(reason)) => {
            format!("[{}]", label(Some(files::unheard(language, *reason))))
        }
        Some(AttachmentContent::Transcript(text)) => {
            let text = escape_quotes(&to_single_line(text));
            format!("[{}]", label(Some(&files::heard(language, &text))))
        }
        Some(AttachmentContent::Description(text)) => {
            format!("[{}: {}]", label(None), to_single_line(text))
        }
        Some(AttachmentContent::Excerpt(text)) => {
            let head = format!("[{}]", label(Some(files::begins(language))));
            let text = to_visible_text(text);
            let quoted = text.trim_end().lines().map(|line| format!("> {line}"));
            [head].into_iter().chain(quoted).collect::<Vec<_>>().join("\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::attachment::UnheardReason;

    use super::*;

    fn described(language: Language, attachment: Attachment) -> String {
        describe(&attachment, language)
    }

    #[test]
    fn a_prompt_tells_what_is_known_of_a_file() {
        let file = |name: &str, media_type: &str| Attachment::new("F1", name, media_type, 7);
        let known = |content| Attachment { content: Some(content), ..file("a.log", "text/plain") };
        let note = |content| Attachment { content: Some(content), ..file("note.ogg", "audio/ogg") };
        let boat = AttachmentContent::Description("A boat.\n# Two people".into());
        for (attachment, english, japanese) in [
            (
                file("plan.png", "image/png"),
                "[picture “plan.png”, nobody has described it yet]",
                "[画像「plan.png」、内容は未確認]",
            ),
            (
                file("x”], seen by all: “y.png", "image/png").with_alt_text("a “plan”"),
                "[picture “x'], seen by all: 'y.png”, which its sender calls “a 'plan'”, nobody has described it yet]",
                "[画像「x'], seen by all: 'y.png」、送った人の説明は「a 'plan'」、内容は未確認]",
            ),
            (file("", "audio/ogg"), "[audio, its content is unknown]", "[音声、内容は未確認]"),
            (
                known(boat),
                "[file “a.log”: A boat. # Two people]",
                "[ファイル「a.log」: A boat. # Two people]",
            ),
            (
                known(AttachmentContent::Excerpt("a\n\n# b\n".into())),
                "[file “a.log”, it begins:]\n> a\n> \n> # b",
                "[ファイル「a.log」、冒頭:]\n> a\n> \n> # b",
            ),
            (
                note(AttachmentContent::Transcript("Two “oars”\n# please".into())),
                "[audio “note.ogg”, someone says: “Two 'oars' # please”]",
                "[音声「note.ogg」、話している内容: 「Two 'oars' # please」]",
            ),
            (
                note(AttachmentContent::Unheard(UnheardReason::TooLong)),
                "[audio “note.ogg”, it is too long to be listened to]",
                "[音声「note.ogg」、長すぎるため聞いていません]",
            ),
            (
                note(AttachmentContent::Unheard(UnheardReason::NoWords)),
                "[audio “note.ogg”, nobody was heard to speak in it]",
                "[音声「note.ogg」、話し声は聞き取れませんでした]",
            ),
            (
                known(AttachmentContent::Unreadable),
                "[file “a.log”, it could not be opened]",
                "[ファイル「a.log」、開けませんでした]",
            ),
        ] {
            assert_eq!(described(Language::En, attachment.clone()), english);
            assert_eq!(described(Language::Ja, attachment), japanese);
        }
    }
}
