//! A few messages on a page about something else, as its visitor may read them.

use crate::web::access::Access;
use crate::web::console::layout::TimeView;
use aizuchi_core::persona::Language;
use aizuchi_core::store::StoredMessage;
use aizuchi_core::texts;

/// A message of a conversation.
pub struct QuotedMessage {
    /// `None`: not shown to this visitor.
    pub by: Option<String>,
    pub at: TimeView,
    pub text: String,
    /// Whether the page is about this one.
    pub is_about: bool,
}

impl QuotedMessage {
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
                true => stored.message.text.to_string(),
                false => texts::console::text_withheld(language).to_owned(),
            },
            is_about,
        }
    }
}
