//! The port of files that people send in the local room, where no chat platform keeps them.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::chat::attachment::Attachment;
use crate::chat::{ChannelId, MessageId};
use crate::store::StoreError;

/// The workspace whose files are kept: the local room. The databases' triggers name it, too.
pub const UPLOAD_WORKSPACE: &str = "local";
/// How long a file is kept that no message is sent with.
pub const UNSENT_LIFETIME: SignedDuration = SignedDuration::from_hours(1);

/// A file that was uploaded, and that a message may be sent with.
#[derive(Clone, PartialEq, Eq)]
pub struct Upload {
    /// Nobody can guess it. It becomes the id of the message's attachment.
    pub id: Arc<str>,
    pub name: Arc<str>,
    pub media_type: Arc<str>,
    /// At least one.
    pub bytes: Vec<u8>,
    pub at: Timestamp,
}

impl Upload {
    /// What a message that is sent with it has of it.
    pub fn attachment(&self) -> Attachment {
        Attachment::new(&self.id, &self.name, &self.media_type, self.bytes.len() as u64)
    }
}

/// Keeps files in two steps: first the file, then the message that is sent with it, which takes it over in its own
/// transaction. From then on it goes with that message: deleted, forgotten or expired. One that no message takes over is
/// dropped after [`UNSENT_LIFETIME`].
#[async_trait]
pub trait Uploads: Send + Sync {
    /// Keeps a file. Durable when this returns; wakes no task.
    async fn put_upload(&self, upload: Arc<Upload>) -> Result<(), StoreError>;

    /// The files that no message was sent with yet, oldest first.
    async fn unsent_uploads(&self) -> Result<Vec<Attachment>, StoreError>;

    /// The content of a file of a message of the local room. `None` if the message has no such file.
    async fn upload(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        id: &str,
    ) -> Result<Option<Vec<u8>>, StoreError>;
}
