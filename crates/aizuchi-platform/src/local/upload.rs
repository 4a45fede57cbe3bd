//! Files that users send in the local room: uploaded first, then sent with a message.

use std::sync::Arc;

use aizuchi_model::chat::attachment::{Attachment, AttachmentKind};
use aizuchi_model::chat::{ChannelId, MessageId};
use aizuchi_store::StoreError;
use aizuchi_store::uploads::{Upload, UploadLimits, Uploads};
use jiff::SignedDuration;
use tokio::sync::SemaphorePermit;
use uuid::Uuid;

use crate::local::LocalRoom;
use crate::local::error::LocalRoomError;
use crate::local::limits::{MAX_FILES, MAX_UNSENT_BYTES, MAX_UNSENT_FILES};

/// The only document type that is accepted besides pictures, recordings, videos and text.
const PDF: &str = "application/pdf";

/// How long an upload waits for its turn. Each of those before it takes seconds.
const TURN_WAIT: SignedDuration = SignedDuration::from_secs(30);

/// Where files are stored, and how large they may be.
pub struct UploadSettings {
    pub store: Arc<dyn Uploads>,
    /// The maximum size of a file; 0 disables uploads.
    pub max_bytes: usize,
    /// The maximum total size of all files, in bytes.
    pub max_total_bytes: u64,
}

impl LocalRoom {
    /// Returns the maximum size of a file, in bytes; 0 if uploads are disabled.
    pub fn max_upload_bytes(&self) -> usize {
        self.uploads.max_bytes
    }

    /// Waits until a file may be read into memory and stored. The caller holds the permit until that is done.
    pub async fn upload_turn(&self) -> Result<SemaphorePermit<'_>, LocalRoomError> {
        let turn = self.clock.timeout(TURN_WAIT, self.upload_turns.acquire()).await;
        turn.ok().and_then(Result::ok).ok_or(LocalRoomError::TooManyUploads)
    }

    /// Stores a file for a message that is sent with it soon. It is durable when this returns.
    pub async fn add_upload(
        &self,
        name: &str,
        media_type: &str,
        bytes: Vec<u8>,
    ) -> Result<Attachment, LocalRoomError> {
        let max_bytes = self.uploads.max_bytes;
        if max_bytes == 0 {
            return Err(LocalRoomError::NoUploads);
        }
        if bytes.is_empty() {
            return Err(LocalRoomError::EmptyFile);
        }
        if bytes.len() > max_bytes {
            return Err(LocalRoomError::FileTooLarge(max_bytes));
        }
        let id = Uuid::now_v7().to_string();
        let told = Attachment::new(&id, name, media_type, bytes.len() as u64);
        if !is_taken(&told) {
            return Err(LocalRoomError::UntakenFile);
        }
        let (name, media_type) = (told.name.clone(), told.media_type.clone());
        let upload = Upload { id: id.into(), name, media_type, bytes, at: self.clock.now() };
        let limits = UploadLimits {
            max_unsent: MAX_UNSENT_FILES,
            max_unsent_bytes: MAX_UNSENT_BYTES,
            max_total_bytes: self.uploads.max_total_bytes,
        };
        match self.uploads.store.put_upload(Arc::new(upload), limits).await? {
            true => Ok(told),
            false => Err(LocalRoomError::UploadsFull),
        }
    }

    /// Drops an unsent file, if there is one with this id.
    pub async fn remove_upload(&self, id: &str) -> Result<(), StoreError> {
        self.uploads.store.drop_unsent_upload(id).await.map(|_| ())
    }

    /// Returns the content of a message's file. `None` if the message has no such file.
    pub async fn file_content(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        id: &str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        self.uploads.store.upload(channel, message, id).await
    }

    /// Returns a part of that content, numbered from 0. `None` after the last one.
    pub async fn file_part(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        id: &str,
        number: u32,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        self.uploads.store.upload_part(channel, message, id, number).await
    }

    /// Returns the unsent files with these ids. `None` if one of them does not exist.
    pub(super) async fn unsent_files(
        &self,
        ids: &[String],
    ) -> Result<Option<Vec<Attachment>>, LocalRoomError> {
        if ids.is_empty() {
            return Ok(Some(Vec::new()));
        }
        if ids.len() > MAX_FILES {
            return Err(LocalRoomError::TooManyFiles);
        }
        let unsent = self.uploads.store.unsent_uploads().await?;
        let find = |id: &String| unsent.iter().find(|file| *file.id == **id).cloned();
        let mut files: Vec<Attachment> = Vec::new();
        for id in ids {
            let Some(file) = find(id) else { return Ok(None) };
            if files.iter().all(|known| known.id != file.id) {
                files.push(file);
            }
        }
        Ok(Some(files))
    }
}

/// Whether a file of this kind is accepted: one that users can see, hear or read.
fn is_taken(file: &Attachment) -> bool {
    match file.kind() {
        AttachmentKind::Picture
        | AttachmentKind::Audio
        | AttachmentKind::Video
        | AttachmentKind::Text => true,
        AttachmentKind::Other => *file.media_type == *PDF,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_see_hear_and_read_is_taken() {
        for (name, media_type, expected) in [
            ("plan.png", "image/png", true),
            ("note.ogg", "audio/ogg", true),
            ("walk.mp4", "video/mp4", true),
            ("oars.csv", "", true),
            ("plan.pdf", "application/pdf", true),
            ("page.html", "text/html", true),
            ("setup.exe", "application/x-msdownload", false),
            ("setup.exe", "", false),
            ("all.zip", "application/zip", false),
            ("", "", false),
        ] {
            let file = Attachment::new("F1", name, media_type, 7);
            assert_eq!(is_taken(&file), expected, "{name} {media_type}");
        }
    }
}
