//! Files that users share. Anyone with a link to a file can open it for a day.

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use twilight_model::id::Id;
use twilight_model::id::marker::AttachmentMarker;

use crate::discord::id::ChannelId;
use crate::discord::{FakeDiscord, ServerContext};
use crate::file::FakeFile;

impl FakeDiscord {
    /// Uploads a file to a channel and returns its attachment object. `base` is the URL of the server.
    pub fn upload_file(&self, base: &str, channel: ChannelId, file: FakeFile) -> Value {
        self.change(|state| {
            let world = &mut state.world;
            let id: Id<AttachmentMarker> = world.new_id();
            let url = format!("{base}/attachments/{channel}/{id}/{}", file.name);
            let told = json!({
                "id": id,
                "filename": file.name,
                "content_type": file.media_type,
                "size": file.bytes.len(),
                "url": format!("{url}?ex={}", world.link_age),
                "proxy_url": url,
            });
            world.files.insert(id.to_string(), file);
            told
        })
    }

    /// Expires all links to files, as after a day. Only messages that are fetched again contain valid links.
    pub fn expire_file_links(&self) {
        self.change(|state| state.world.link_age += 1);
    }
}

#[derive(Deserialize)]
pub struct LinkQuery {
    ex: Option<u32>,
}

pub async fn download(
    State(server): State<ServerContext>,
    Path((_channel, id, _name)): Path<(String, String, String)>,
    Query(query): Query<LinkQuery>,
) -> Result<FakeFile, StatusCode> {
    server.fake.read(|state| {
        let world = &state.world;
        let file = world.files.get(&id).filter(|_| query.ex == Some(world.link_age));
        file.cloned().ok_or(StatusCode::NOT_FOUND)
    })
}
