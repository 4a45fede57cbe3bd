//! Files that users send in the local room.

use std::sync::Arc;

use aizuchi_model::chat::attachment::Attachment;
use aizuchi_model::chat::{ChannelId, Message, MessageId, WorkspaceId};
use async_trait::async_trait;
use jiff::Timestamp;

use crate::StoreError;
use crate::uploads::{
    PART_BYTES, UNSENT_LIFETIME, UPLOAD_WORKSPACE, Upload, UploadLimits, Uploads,
};
use crate::volatile::{VolatileState, VolatileStore};

/// A file, and the message that was sent with it.
pub(super) struct UploadRecord {
    upload: Arc<Upload>,
    sent: Option<(ChannelId, MessageId)>,
}

#[async_trait]
impl Uploads for VolatileStore {
    async fn put_upload(
        &self,
        upload: Arc<Upload>,
        limits: UploadLimits,
    ) -> Result<bool, StoreError> {
        Ok(self.lock().put_upload(upload, limits))
    }

    async fn drop_unsent_upload(&self, id: &str) -> Result<bool, StoreError> {
        let mut state = self.lock();
        let is_unsent = state.uploads.get(id).is_some_and(|record| record.sent.is_none());
        if is_unsent {
            state.uploads.remove(id);
        }
        Ok(is_unsent)
    }

    async fn unsent_uploads(&self) -> Result<Vec<Attachment>, StoreError> {
        let state = self.lock();
        Ok(state.unsent_uploads().into_iter().map(|upload| upload.attachment()).collect())
    }

    async fn upload(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        id: &str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let state = self.lock();
        Ok(state.sent_upload(channel, message, id).map(|upload| upload.bytes.clone()))
    }

    async fn upload_part(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        id: &str,
        number: u32,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let state = self.lock();
        let upload = state.sent_upload(channel, message, id);
        let part = upload.and_then(|upload| upload.bytes.chunks(PART_BYTES).nth(number as usize));
        Ok(part.map(<[u8]>::to_vec))
    }
}

impl VolatileState {
    fn put_upload(&mut self, upload: Arc<Upload>, limits: UploadLimits) -> bool {
        let size = |upload: &Upload| upload.bytes.len() as u64;
        let total: u64 = self.uploads.values().map(|record| size(&record.upload)).sum();
        if total + size(&upload) > limits.max_total_bytes {
            return false;
        }
        let (mut count, mut bytes) = (1, size(&upload));
        let mut lost = Vec::new();
        for older in self.unsent_uploads().into_iter().rev() {
            (count, bytes) = (count + 1, bytes + size(older));
            if count > limits.max_unsent || bytes > limits.max_unsent_bytes {
                lost.push(older.id.clone());
            }
        }
        for id in lost {
            self.uploads.remove(&id);
        }
        self.uploads.insert(upload.id.clone(), UploadRecord { upload, sent: None });
        true
    }

    /// The unsent files, oldest first.
    fn unsent_uploads(&self) -> Vec<&Arc<Upload>> {
        let unsent = self.uploads.values().filter(|record| record.sent.is_none());
        let mut unsent: Vec<&Arc<Upload>> = unsent.map(|record| &record.upload).collect();
        unsent.sort_by_key(|upload| (upload.at, upload.id.clone()));
        unsent
    }

    fn sent_upload(&self, channel: &ChannelId, message: &MessageId, id: &str) -> Option<&Upload> {
        let of_message = |record: &&UploadRecord| {
            let sent = record.sent.as_ref();
            let is_its = sent.is_some_and(|(there, of)| (there, of) == (channel, message));
            is_its && self.has_file(channel, message, id)
        };
        self.uploads.get(id).filter(of_message).map(|record| &*record.upload)
    }

    /// Attaches files to the new message that was sent with them.
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

    /// The total size of a message's files.
    pub(super) fn upload_bytes_of(&self, message: &Message) -> u64 {
        if message.conversation.workspace.as_str() != UPLOAD_WORKSPACE {
            return 0;
        }
        let (channel, id) = (&message.conversation.channel, &message.id);
        let files = message.attachments.iter().filter_map(|file| self.uploads.get(&file.id));
        let is_its = |record: &&UploadRecord| {
            record.sent.as_ref().is_some_and(|(there, of)| (there, of) == (channel, id))
        };
        files.filter(is_its).map(|record| record.upload.bytes.len() as u64).sum()
    }

    /// Drops files whose messages are gone, or no longer have them.
    pub(super) fn drop_lost_uploads(&mut self) {
        let mut uploads = std::mem::take(&mut self.uploads);
        uploads.retain(|id, record| match &record.sent {
            Some((channel, message)) => self.has_file(channel, message, id),
            None => true,
        });
        self.uploads = uploads;
    }

    /// Drops files that were not sent with a message in time.
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
