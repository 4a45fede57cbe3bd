//! The files that people send in the local room.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::chat::attachment::Attachment;
use crate::chat::{ChannelId, Message, MessageId, WorkspaceId};
use crate::store::StoreError;
use crate::store::uploads::{UNSENT_LIFETIME, UPLOAD_WORKSPACE, Upload, Uploads};
use crate::store::volatile::{VolatileState, VolatileStore};

/// A file, and the message that was sent with it.
pub(super) struct UploadRecord {
    upload: Arc<Upload>,
    sent: Option<(ChannelId, MessageId)>,
}

#[async_trait]
impl Uploads for VolatileStore {
    async fn put_upload(&self, upload: Arc<Upload>) -> Result<(), StoreError> {
        let id = upload.id.clone();
        self.lock().uploads.insert(id, UploadRecord { upload, sent: None });
        Ok(())
    }

    async fn unsent_uploads(&self) -> Result<Vec<Attachment>, StoreError> {
        let state = self.lock();
        let unsent = state.uploads.values().filter(|record| record.sent.is_none());
        let mut unsent: Vec<&Arc<Upload>> = unsent.map(|record| &record.upload).collect();
        unsent.sort_by_key(|upload| (upload.at, upload.id.clone()));
        Ok(unsent.into_iter().map(|upload| upload.attachment()).collect())
    }

    async fn upload(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        id: &str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let state = self.lock();
        let of_message = |record: &&UploadRecord| {
            let sent = record.sent.as_ref();
            let is_its = sent.is_some_and(|(there, of)| (there, of) == (channel, message));
            is_its && state.has_file(channel, message, id)
        };
        let record = state.uploads.get(id).filter(of_message);
        Ok(record.map(|record| record.upload.bytes.clone()))
    }
}

impl VolatileState {
    /// The files of a new message belong to it from now on.
    pub(super) fn note_sent_uploads(&mut self, message: &Message) {
        if message.conversation.workspace.as_str() != UPLOAD_WORKSPACE {
            return;
        }
        for attachment in &message.attachments {
            if let Some(record) = self.uploads.get_mut(&attachment.id) {
                let place = (message.conversation.channel.clone(), message.id.clone());
                record.sent.get_or_insert(place);
            }
        }
    }

    /// Drops files whose messages are gone, or have them no more.
    pub(super) fn drop_lost_uploads(&mut self) {
        let mut uploads = std::mem::take(&mut self.uploads);
        uploads.retain(|id, record| match &record.sent {
            Some((channel, message)) => self.has_file(channel, message, id),
            None => true,
        });
        self.uploads = uploads;
    }

    /// Drops files that no message was sent with in time.
    pub(super) fn drop_unsent_uploads(&mut self, now: Timestamp) {
        let before = now.checked_sub(UNSENT_LIFETIME).unwrap_or(Timestamp::MIN);
        self.uploads.retain(|_, record| record.sent.is_some() || record.upload.at >= before);
    }

    fn has_file(&self, channel: &ChannelId, message: &MessageId, id: &str) -> bool {
        let workspace = WorkspaceId::new(UPLOAD_WORKSPACE);
        let key = (workspace, channel.clone(), message.clone());
        let conversation = self.conversation_of.get(&key);
        let record = conversation.and_then(|conversation| self.conversations.get(conversation));
        let mut messages = record.into_iter().flat_map(|record| &record.messages);
        let found = messages.find(|found| found.message.id == *message && !found.is_deleted);
        found.is_some_and(|found| found.message.attachments.iter().any(|file| *file.id == *id))
    }
}
