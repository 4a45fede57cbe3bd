//! Read a PDF: its beginning becomes an excerpt, like that of a text file.

use std::sync::Arc;

use aizuchi_model::chat::attachment::{Attachment, AttachmentContent};
use aizuchi_model::chat::{Message, is_blank, to_visible_text};
use aizuchi_model::decision::{Attempt, LOOK_UP};
use jiff::Timestamp;
use tracing::debug;

use crate::agent::files::content::{MAX_EXCERPT_CHARS, shorten};
use crate::agent::model_call::unless_superseded;
use crate::agent::reserve_budget::Calls;
use crate::agent::{StepError, Worker};
use crate::documents::{DocumentError, DocumentText, is_pdf};

impl Worker<'_> {
    /// Whether a PDF reader is available and the attachment is a PDF within the size limit.
    pub(super) fn may_read_pdf(&self, attachment: &Attachment) -> bool {
        let max_bytes = self.settings.files.max_pdf_bytes as u64;
        let fits = max_bytes > 0 && attachment.size_bytes <= max_bytes;
        fits && self.documents.is_some() && attachment.is_pdf()
    }

    /// Reads the beginning of a PDF. Returns `None` if that is not possible now.
    pub(super) async fn read_pdf(
        &self,
        message: &Arc<Message>,
        attachment: &Attachment,
        deadline: Timestamp,
        calls: &mut Calls<'_>,
    ) -> Result<Option<AttachmentContent>, StepError> {
        let Some(documents) = &self.documents else { return Ok(None) };
        let max_bytes = self.settings.files.max_pdf_bytes;
        let fetched = self.fetch_file(message, attachment, max_bytes, deadline, calls).await?;
        let Some(bytes) = fetched else { return Ok(None) };
        if !is_pdf(&bytes) {
            return Ok(Some(AttachmentContent::Unreadable));
        }
        let left = deadline.duration_since(self.now());
        if !left.is_positive() {
            return Ok(None);
        }
        // Other PDFs may be being read, and this one waits for them.
        let reading = self.clock.timeout(left, documents.pdf_text(bytes));
        let Ok(read) = unless_superseded(calls.superseded, reading).await? else {
            return Ok(None);
        };
        match read {
            Ok(DocumentText { text, is_cut: _ }) => {
                let text = to_visible_text(&text);
                Ok(Some(match is_blank(&text) {
                    true => AttachmentContent::Unreadable,
                    false => {
                        let excerpt = shorten(text.trim(), MAX_EXCERPT_CHARS);
                        AttachmentContent::Excerpt(excerpt.into())
                    }
                }))
            }
            Err(DocumentError::Unreadable) => Ok(Some(AttachmentContent::Unreadable)),
            Err(error @ DocumentError::Unavailable(_)) => {
                debug!(%error, "a PDF could not be read");
                let error = error.to_string();
                calls.attempts.push(Attempt::failed(LOOK_UP, "pdf", self.now(), error));
                Ok(None)
            }
        }
    }
}
