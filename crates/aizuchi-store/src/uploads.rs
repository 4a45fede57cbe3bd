//! The port for files that users send in the local room, since no chat platform stores them.

use std::sync::Arc;

use aizuchi_model::chat::attachment::Attachment;
use aizuchi_model::chat::{ChannelId, MessageId};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::StoreError;

/// The workspace whose files are stored: the local room. The databases' triggers name it, too.
pub const UPLOAD_WORKSPACE: &str = "local";
/// The size of a part of a file, in bytes. It is small because a driver reads some hundreds of rows ahead.
pub const PART_BYTES: usize = 128 * 1024;
/// How long a file is kept before it is sent with a message.
pub const UNSENT_LIFETIME: SignedDuration = SignedDuration::from_hours(1);

/// The quotas for files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UploadLimits {
    /// The maximum number of unsent files, and their maximum total size. The oldest are dropped first.
    pub max_unsent: usize,
    pub max_unsent_bytes: u64,
    /// The maximum total size of all files. A file that would exceed it is rejected.
    pub max_total_bytes: u64,
}

/// A change to the unsent files.
pub enum UploadChange {
    /// Stores a file, if the quota permits.
    Put { upload: Arc<Upload>, limits: UploadLimits },
    /// Drops the file with this id.
    Drop { id: String },
    /// Drops some files that were uploaded before this, but not all at once, since they may be large.
    DropBefore(Timestamp),
}

/// An uploaded file, which can be sent with a message.
#[derive(Clone, PartialEq, Eq)]
pub struct Upload {
    /// An unguessable id, which becomes the id of the message's attachment.
    pub id: Arc<str>,
    pub name: Arc<str>,
    pub media_type: Arc<str>,
    /// Not empty.
    pub bytes: Vec<u8>,
    pub at: Timestamp,
}

impl Upload {
    /// The attachment of a message that is sent with the file.
    pub fn attachment(&self) -> Attachment {
        Attachment::new(&self.id, &self.name, &self.media_type, self.bytes.len() as u64)
    }
}

/// Stores files in two steps: first the file, and then the message that is sent with it, which takes ownership in its
/// own transaction. From then on the file is deleted, forgotten or expired with that message. A file without a message
/// is dropped after [`UNSENT_LIFETIME`].
#[async_trait]
pub trait Uploads: Send + Sync {
    /// Stores a file. Durable when this returns; wakes no task. Returns whether the quota permitted it.
    async fn put_upload(
        &self,
        upload: Arc<Upload>,
        limits: UploadLimits,
    ) -> Result<bool, StoreError>;

    /// Drops an unsent file. Returns whether it existed.
    async fn drop_unsent_upload(&self, id: &str) -> Result<bool, StoreError>;

    /// The unsent files, oldest first.
    async fn unsent_uploads(&self) -> Result<Vec<Attachment>, StoreError>;

    /// The content of a file of a message in the local room. `None` if the message has no such file.
    async fn upload(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        id: &str,
    ) -> Result<Option<Vec<u8>>, StoreError>;

    /// A part of that content, numbered from 0, so that a file can be streamed. `None` after the last part.
    async fn upload_part(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        id: &str,
        number: u32,
    ) -> Result<Option<Vec<u8>>, StoreError>;
}
