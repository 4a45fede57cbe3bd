//! The port of files that people send in the local room, where no chat platform keeps them.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::chat::attachment::Attachment;
use crate::chat::{ChannelId, MessageId};
use crate::store::StoreError;

/// The workspace whose files are kept: the local room. The databases' triggers name it, too.
pub const UPLOAD_WORKSPACE: &str = "local";
/// The size of a part of a file, in bytes. A driver reads some hundreds of rows ahead, so none is large.
pub const PART_BYTES: usize = 128 * 1024;
/// How long a file is kept that no message is sent with.
pub const UNSENT_LIFETIME: SignedDuration = SignedDuration::from_hours(1);

/// How much room files may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UploadLimits {
    /// Of those that no message was sent with yet, this many are kept, and this many bytes of them. The oldest give way.
    pub max_unsent: usize,
    pub max_unsent_bytes: u64,
    /// Of all files. What would exceed it is not kept.
    pub max_total_bytes: u64,
}

/// A change of the files that no message was sent with yet.
pub enum UploadChange {
    /// Keeps a file, if there is room for it.
    Put { upload: Arc<Upload>, limits: UploadLimits },
    /// Drops the file with this id.
    Drop { id: String },
    /// Drops some that were uploaded before this: not all at once, since they may be large.
    DropBefore(Timestamp),
}

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
    /// Keeps a file. Durable when this returns; wakes no task. Returns whether there was room for it.
    async fn put_upload(
        &self,
        upload: Arc<Upload>,
        limits: UploadLimits,
    ) -> Result<bool, StoreError>;

    /// Drops a file that no message was sent with yet. Returns whether there was one.
    async fn drop_unsent_upload(&self, id: &str) -> Result<bool, StoreError>;

    /// The files that no message was sent with yet, oldest first.
    async fn unsent_uploads(&self) -> Result<Vec<Attachment>, StoreError>;

    /// The content of a file of a message of the local room. `None` if the message has no such file.
    async fn upload(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        id: &str,
    ) -> Result<Option<Vec<u8>>, StoreError>;

    /// A part of that content, numbered from 0: what is sent on part by part is never held as a whole. `None` behind the
    /// last part.
    async fn upload_part(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        id: &str,
        number: u32,
    ) -> Result<Option<Vec<u8>>, StoreError>;
}
