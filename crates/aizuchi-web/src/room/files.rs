//! The files that users send in the local room. Anybody in the room can send them and everybody there sees them, so
//! no file is served to a browser as a page of ours.

use std::sync::Arc;

use aizuchi_model::chat::attachment::{Attachment, AttachmentKind, picture_type};
use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::chat::{ChannelId, Message, MessageId};
use aizuchi_platform::local::LocalRoom;
use aizuchi_platform::local::error::LocalRoomError;
use aizuchi_store::StoreError;
use axum::Json;
use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Extension, Path, Query, Request, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Visitor;
use crate::console::layout::encode;
use crate::refusal::Refusal;
use crate::workspaces::WorkspaceParameter;
use crate::{ApiProblem, Web, workspaces};

/// The security policy of a file: it may run no script, use no style, submit no form and send no request.
pub const FILE_POLICY: &str = "default-src 'none'; sandbox";
/// The media type of everything that is not a picture. Browsers save it.
const UNKNOWN_TYPE: &str = "application/octet-stream";

#[derive(Deserialize, JsonSchema)]
pub struct UploadQuery {
    /// The name of the file.
    #[serde(default)]
    name: String,
    /// The id of the local room, which is the default. No other workspace accepts this request.
    workspace: Option<String>,
}

/// An uploaded file. A message has to be sent with it within an hour.
#[derive(Serialize, JsonSchema)]
pub struct UploadedAnswer {
    id: Arc<str>,
    name: Arc<str>,
    kind: AttachmentKind,
    size_bytes: u64,
}

#[derive(Deserialize, JsonSchema)]
pub struct FileQuery {
    channel: String,
    /// The id of the message that the file was sent with.
    message: String,
    /// The id of the local room, which is the default. No other workspace serves files.
    workspace: Option<String>,
}

/// Returns the address of a file of a message of the local room.
pub fn address(message: &Message, file: &Attachment) -> Option<String> {
    (message.conversation.workspace == workspace_id()).then(|| {
        let (channel, id) = (message.conversation.channel.as_str(), message.id.as_str());
        let (channel, message) = (encode(channel), encode(id));
        format!("/api/files/{}?channel={channel}&message={message}", encode(&file.id))
    })
}

/// `POST /api/files`: the body is the content of the file.
pub async fn upload(
    State(web): State<Arc<Web>>,
    query: Result<Query<UploadQuery>, QueryRejection>,
    request: Request,
) -> Result<(StatusCode, Json<UploadedAnswer>), ApiProblem> {
    let Query(query) = query.map_err(|_| Refusal::UnclearQuery)?;
    workspaces::require_local(&web, query.workspace.as_deref()).await?;
    let (head, body) = request.into_parts();
    let media_type = head.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    // Limits how many uploads are in memory at the same time.
    let _turn = web.room.upload_turn().await.map_err(Refusal::Room)?;
    let bytes = read_whole(body, web.room.max_upload_bytes()).await.map_err(Refusal::Room)?;
    let added = web.room.add_upload(&query.name, media_type.unwrap_or_default(), bytes).await;
    let file = added.map_err(Refusal::Room)?;
    let kind = file.kind();
    let Attachment { id, name, size_bytes, .. } = file;
    Ok((StatusCode::CREATED, Json(UploadedAnswer { id, name, kind, size_bytes })))
}

/// `DELETE /api/files/{id}`: discards an upload that is not sent after all. Only the client that uploaded it knows the
/// id.
pub async fn remove(
    State(web): State<Arc<Web>>,
    id: Result<Path<String>, PathRejection>,
    query: WorkspaceParameter,
) -> Result<StatusCode, ApiProblem> {
    let Path(id) = id.map_err(|_| Refusal::UnreadableId)?;
    let Query(query) = query.map_err(|_| Refusal::UnclearQuery)?;
    workspaces::require_local(&web, query.workspace.as_deref()).await?;
    web.room.remove_upload(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Reads a whole body. At most `max_bytes` are held in memory, and each of them once.
async fn read_whole(body: Body, max_bytes: usize) -> Result<Vec<u8>, LocalRoomError> {
    let mut bytes = Vec::new();
    let mut frames = body.into_data_stream();
    while max_bytes > 0
        && let Some(frame) = frames.next().await
    {
        // A client that has closed the connection reads no response, so any error will do.
        let frame = frame.map_err(|_| LocalRoomError::FileTooLarge(max_bytes))?;
        if bytes.len() + frame.len() > max_bytes {
            return Err(LocalRoomError::FileTooLarge(max_bytes));
        }
        bytes.extend_from_slice(&frame);
    }
    Ok(bytes)
}

/// `GET /api/files/{id}`.
pub async fn download(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    id: Result<Path<String>, PathRejection>,
    query: Result<Query<FileQuery>, QueryRejection>,
) -> Result<Response, ApiProblem> {
    let (Ok(Path(id)), Ok(Query(query))) = (id, query) else {
        return Err(Refusal::NoFile.into());
    };
    workspaces::require_local(&web, query.workspace.as_deref()).await?;
    let (channel, message) = (ChannelId::new(query.channel), MessageId::new(query.message));
    let stored = web.archive.message(&workspace_id(), &channel, &message).await?;
    let stored = stored.filter(|stored| !stored.is_deleted).ok_or(Refusal::NoFile)?;
    if !visitor.access.may_read_message(&stored) {
        return Err(visitor.access.unreadable().into());
    }
    let file = stored.message.attachments.iter().find(|file| *file.id == *id);
    let file = file.ok_or(Refusal::NoFile)?;
    let content = SentFile { room: web.room.clone(), channel, message, id };
    // Read before the headers are sent, because the content decides the type.
    let beginning = content.part(0).await?.ok_or(Refusal::NoFile)?;
    let headers = headers(&file.name, &beginning);
    let length = [(header::CONTENT_LENGTH, file.size_bytes.to_string())];
    Ok((headers, length, Body::from_stream(content.parts_after(beginning))).into_response())
}

/// A file that is read part by part, as the client accepts it.
struct SentFile {
    room: Arc<LocalRoom>,
    channel: ChannelId,
    message: MessageId,
    id: String,
}

impl SentFile {
    async fn part(&self, number: u32) -> Result<Option<Vec<u8>>, StoreError> {
        self.room.file_part(&self.channel, &self.message, &self.id, number).await
    }

    fn parts_after(self, beginning: Vec<u8>) -> impl Stream<Item = Result<Vec<u8>, StoreError>> {
        let others = stream::try_unfold((self, 1_u32), |(file, number)| async move {
            let part = file.part(number).await?;
            Ok::<_, StoreError>(part.map(|part| (part, (file, number + 1))))
        });
        stream::iter([Ok(beginning)]).chain(others)
    }
}

/// A picture is shown, with the type that its content has and not the one that its sender claims; everything else is
/// saved.
fn headers(name: &str, beginning: &[u8]) -> [(HeaderName, String); 4] {
    let (media_type, disposition) = match picture_type(beginning) {
        Some(media_type) => (media_type, "inline"),
        None => (UNKNOWN_TYPE, "attachment"),
    };
    let name = if name.is_empty() { "file" } else { name };
    let disposition = format!("{disposition}; filename*=UTF-8''{}", encode(name));
    [
        (header::CONTENT_TYPE, media_type.to_owned()),
        (header::CONTENT_DISPOSITION, disposition),
        (header::CONTENT_SECURITY_POLICY, FILE_POLICY.to_owned()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pictures_are_shown() {
        for (name, content, media_type, disposition) in [
            (
                "計画.png",
                &b"\x89PNG\r\n\x1a\n"[..],
                "image/png",
                "inline; filename*=UTF-8''%E8%A8%88%E7%94%BB.png",
            ),
            ("a.png", &b"<script>"[..], UNKNOWN_TYPE, "attachment; filename*=UTF-8''a.png"),
            (
                "a.svg",
                &b"<svg xmlns='http://www.w3.org/2000/svg'/>"[..],
                UNKNOWN_TYPE,
                "attachment; filename*=UTF-8''a.svg",
            ),
            (
                "a\"; x=\r\n",
                &b"x"[..],
                UNKNOWN_TYPE,
                "attachment; filename*=UTF-8''a%22%3B%20x%3D%0D%0A",
            ),
            ("", &b"x"[..], UNKNOWN_TYPE, "attachment; filename*=UTF-8''file"),
        ] {
            let response = headers(name, content).into_response();
            let headers = response.headers();
            assert_eq!(headers[header::CONTENT_TYPE], media_type, "{name}");
            assert_eq!(headers[header::CONTENT_DISPOSITION], disposition, "{name}");
            assert_eq!(headers[header::CONTENT_SECURITY_POLICY], FILE_POLICY, "{name}");
        }
    }
}
