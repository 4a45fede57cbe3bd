//! Files that users send in the local room.

use std::sync::Arc;

use aizuchi_model::chat::attachment::Attachment;
use aizuchi_model::chat::{ChannelId, MessageId};
use async_trait::async_trait;
use jiff::Timestamp;

use crate::StoreError;
use crate::database::connection::{Connection, Row, query};
use crate::database::sql::uploads as sql;
use crate::database::write_request::WriteRequest;
use crate::database::{DatabaseStore, rows};
use crate::uploads::{PART_BYTES, UNSENT_LIFETIME, Upload, UploadChange, UploadLimits, Uploads};

/// How many bytes of unsent files are dropped in one transaction. At least one file is, whatever its size.
const SWEEP_BYTES: i64 = 50_000_000;

#[async_trait]
impl Uploads for DatabaseStore {
    async fn put_upload(
        &self,
        upload: Arc<Upload>,
        limits: UploadLimits,
    ) -> Result<bool, StoreError> {
        self.change_uploads(UploadChange::Put { upload, limits }).await
    }

    async fn drop_unsent_upload(&self, id: &str) -> Result<bool, StoreError> {
        self.change_uploads(UploadChange::Drop { id: id.to_owned() }).await
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

    async fn upload_part(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        id: &str,
        number: u32,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let part = query(sql::UPLOAD_PART).bind(id).bind(channel.as_str()).bind(message.as_str());
        let part = part.bind(number).fetch_optional(&self.readers).await?;
        part.map_or(Ok(None), |row| rows::column(&row, "bytes"))
    }
}

impl DatabaseStore {
    /// Drops all files that were not sent with a message in time, in several transactions.
    pub(super) async fn drop_unsent_uploads(&self, now: Timestamp) -> Result<(), StoreError> {
        let before = now.checked_sub(UNSENT_LIFETIME).unwrap_or(Timestamp::MIN);
        while self.change_uploads(UploadChange::DropBefore(before)).await? {}
        Ok(())
    }

    async fn change_uploads(&self, change: UploadChange) -> Result<bool, StoreError> {
        self.write(|reply| WriteRequest::ChangeUploads { change, reply }).await
    }
}

/// Applies a change. Returns whether it took effect; see [`Uploads`].
pub async fn change(
    connection: &mut Connection,
    change: &UploadChange,
) -> Result<bool, StoreError> {
    match change {
        UploadChange::Put { upload, limits } => put(connection, upload, limits).await,
        UploadChange::Drop { id } => {
            let dropped = query(sql::DROP_UNSENT_UPLOAD).bind(id).execute(connection).await?;
            Ok(dropped > 0)
        }
        UploadChange::DropBefore(before) => {
            let drop = query(sql::DROP_UNSENT_UPLOADS).bind(before.as_millisecond());
            Ok(drop.bind(SWEEP_BYTES).execute(connection).await? > 0)
        }
    }
}

/// Only one task writes, so no other write comes between checking the quota and using it.
async fn put(
    connection: &mut Connection,
    upload: &Upload,
    limits: &UploadLimits,
) -> Result<bool, StoreError> {
    let size = upload.bytes.len() as i64;
    let taken = query(sql::TAKEN_BY_UPLOADS).fetch_one(&mut *connection).await?;
    let taken: i64 = rows::column(&taken, "taken_bytes")?;
    if taken.saturating_add(size) > whole(limits.max_total_bytes) {
        return Ok(false);
    }
    // Makes room for the new file: one place, and its size.
    let older = query(sql::DROP_OLDEST_UNSENT_UPLOADS).bind(whole(limits.max_unsent as u64) - 1);
    let older = older.bind(whole(limits.max_unsent_bytes) - size);
    older.execute(&mut *connection).await?;
    let put = query(sql::PUT_UPLOAD).bind(&*upload.id).bind(&*upload.name);
    let put = put.bind(&*upload.media_type).bind(size);
    put.bind(upload.at.as_millisecond()).execute(&mut *connection).await?;
    put_parts(connection, upload).await?;
    Ok(true)
}

/// Up to eight parts in one statement, since a server may be far away.
async fn put_parts(connection: &mut Connection, upload: &Upload) -> Result<(), StoreError> {
    let parts: Vec<&[u8]> = upload.bytes.chunks(PART_BYTES).collect();
    let mut number: i64 = 0;
    let (eights, rest) = parts.as_chunks::<8>();
    let eights = eights.iter().map(|eight| (sql::PUT_EIGHT_UPLOAD_PARTS, &eight[..]));
    let ones = rest.iter().map(|part| (sql::PUT_UPLOAD_PART, std::slice::from_ref(part)));
    let statements: Vec<(&'static str, &[&[u8]])> = eights.chain(ones).collect();
    for (statement, parts) in statements {
        let mut put = query(statement).bind(&*upload.id);
        for part in parts {
            put = put.bind(number).bind(Some(part.to_vec()));
            number += 1;
        }
        put.execute(&mut *connection).await?;
    }
    Ok(())
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
