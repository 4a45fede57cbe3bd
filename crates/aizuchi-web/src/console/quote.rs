//! Messages that are quoted on a page about something else, as its visitor may read them.

use aizuchi_actions::access::Access;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_store::stored_message::StoredMessage;

use crate::console::layout::TimeView;

/// A message of a conversation.
pub struct ShownMessage {
    /// `None` if it is hidden from this visitor.
    pub by: Option<String>,
    pub at: TimeView,
    pub text: String,
    /// Whether the page is about this message.
    pub is_about: bool,
}

impl ShownMessage {
    pub fn new(
        stored: &StoredMessage,
        access: &Access,
        language: Language,
        is_about: bool,
    ) -> Self {
        let can_read = access.may_read_message(stored);
        Self {
            by: can_read.then(|| stored.author_name.to_string()),
            at: TimeView::new(stored.message.at),
            text: match can_read {
                true => kept_text(stored, language),
                false => texts::console::text_withheld(language).to_owned(),
            },
            is_about,
        }
    }
}

/// Returns a message in one line: its author, if known here, and its text.
pub fn gist(message: Option<&ShownMessage>) -> String {
    message.map_or(String::new(), |message| match &message.by {
        Some(by) => format!("{by}: {}", message.text),
        None => message.text.clone(),
    })
}

/// Returns the text of a message, or why it is gone.
pub fn kept_text(stored: &StoredMessage, language: Language) -> String {
    match (stored.is_expired, stored.is_deleted) {
        (true, _) => texts::console::expired(language).to_owned(),
        (false, true) => texts::console::deleted(language).to_owned(),
        (false, false) => texts::files::shown_text(language, &stored.message),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aizuchi_model::chat::attachment::Attachment;
    use aizuchi_model::chat::local::workspace_id;
    use aizuchi_model::chat::{
        Author, AuthorKind, ChannelId, ConversationId, Message, MessageId, UserId, Visibility,
    };
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn a_message_that_is_gone_is_not_blank() {
        let message = Message {
            conversation: ConversationId {
                workspace: workspace_id(),
                channel: ChannelId::new("general"),
                thread: None,
            },
            id: MessageId::new("m1"),
            at: Timestamp::UNIX_EPOCH,
            author: Author { id: UserId::new("mia"), kind: AuthorKind::Human },
            text: "the kettle is old".into(),
            mentions: Vec::new(),
            attachments: Vec::new(),
            edits: 0,
        };
        let kept = StoredMessage {
            message: Arc::new(message.clone()),
            author_name: "Mia".into(),
            visibility: Visibility::Public,
            is_deleted: false,
            is_expired: false,
            is_withheld: false,
            gate: None,
            reactions: Vec::new(),
            revision: 1,
        };
        let sent = Message {
            attachments: vec![Attachment::new("F1", "plan.png", "image/png", 7)],
            ..message.clone()
        };
        let sent = StoredMessage { message: Arc::new(sent), ..kept.clone() };
        let erased = Arc::new(Message { text: "".into(), ..message });
        let deleted = StoredMessage { message: erased, is_deleted: true, ..kept.clone() };
        let expired = StoredMessage { is_expired: true, ..deleted.clone() };
        for (stored, english, japanese) in [
            (&kept, "the kettle is old", "the kettle is old"),
            (
                &sent,
                "the kettle is old\n[picture: plan.png]",
                "the kettle is old\n[画像: plan.png]",
            ),
            (&deleted, "(deleted)", "（削除済み）"),
            (&expired, "(expired)", "（保存期間終了）"),
        ] {
            for (language, expected) in [(Language::En, english), (Language::Ja, japanese)] {
                let quoted = ShownMessage::new(stored, &Access::ThisMachine, language, false);
                assert_eq!((quoted.by.as_deref(), &*quoted.text), (Some("Mia"), expected));
                let withheld = ShownMessage::new(stored, &Access::Public, language, false);
                assert_eq!(withheld.text, texts::console::text_withheld(language));
            }
        }
    }
}
