//! The files that people send in the local room.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::chat::attachment::Attachment;
use crate::chat::{ChannelId, MessageId};
use crate::store::StoreError;
use crate::store::database::connection::{Connection, Row, query};
use crate::store::database::sql::uploads as sql;
use crate::store::database::write_request::WriteRequest;
use crate::store::database::{DatabaseStore, rows};
use crate::store::uploads::{UNSENT_LIFETIME, Upload, Uploads};

/// A driver reads some hundreds of rows ahead, so none is large.
const PART_BYTES: usize = 128 * 1024;

#[async_trait]
impl Uploads for DatabaseStore {
    async fn put_upload(&self, upload: Arc<Upload>) -> Result<(), StoreError> {
        self.write(|reply| WriteRequest::PutUpload { upload, reply }).await
    }

    async fn unsent_uploads(&self) -> Result<Vec<Attachment>, StoreError> {
        let found = query(sql::UNSENT_UPLOADS).fetch_all(&self.readers).await?;
        let attachment = |row: &Row| -> Result<Attachment, StoreError> {
            let (id, name): (String, String) =
                (rows::column(row, "id")?, rows::column(row, "name")?);
            let media_type: String = rows::column(row, "media_type")?;
            let size_bytes: i64 = rows::column(row, "size_bytes")?;
            Ok(Attachment::new(&id, &name, &media_type, size_bytes.unsigned_abs()))
        };
        found.iter().map(attachment).collect()
    }

    async fn upload(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        id: &str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let parts = query(sql::UPLOAD_PARTS).bind(id).bind(channel.as_str()).bind(message.as_str());
        let mut content = Vec::new();
        for row in parts.fetch_all(&self.readers).await? {
            content.extend(rows::column::<Option<Vec<u8>>>(&row, "bytes")?.unwrap_or_default());
        }
        Ok((!content.is_empty()).then_some(content))
    }
}

pub async fn put(connection: &mut Connection, upload: &Upload) -> Result<(), StoreError> {
    let put = query(sql::PUT_UPLOAD).bind(&*upload.id).bind(&*upload.name);
    let put = put.bind(&*upload.media_type).bind(upload.bytes.len() as i64);
    put.bind(upload.at.as_millisecond()).execute(&mut *connection).await?;
    for (number, part) in upload.bytes.chunks(PART_BYTES).enumerate() {
        let put = query(sql::PUT_UPLOAD_PART).bind(&*upload.id).bind(number as i64);
        put.bind(Some(part.to_vec())).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Drops files that no message was sent with in time.
pub async fn drop_unsent(connection: &mut Connection, now: Timestamp) -> Result<(), StoreError> {
    let before = now.checked_sub(UNSENT_LIFETIME).unwrap_or(Timestamp::MIN);
    query(sql::DROP_UNSENT_UPLOADS).bind(before.as_millisecond()).execute(connection).await?;
    Ok(())
}
