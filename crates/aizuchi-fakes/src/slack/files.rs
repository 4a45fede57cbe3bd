//! Files that users share. Their URLs are private: without the app's token they return a sign-in page.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::{Html, IntoResponse, Response};
use serde_json::{Value, json};

use crate::file::FakeFile;
use crate::slack::state::TokenStatus;
use crate::slack::{FakeSlack, ServerContext};

impl FakeSlack {
    /// Uploads a file and returns its file object. The app must have called the API before, because the file is on the
    /// same host.
    pub fn upload_file(&self, file: FakeFile) -> Value {
        self.change(|state| {
            let id = format!("F{:08}", state.files.len() + 1);
            let (host, team) = (&state.host, &state.workspace.id);
            let url = format!("http://{host}/files-pri/{team}-{id}/{}", file.name);
            let told = json!({
                "id": id,
                "name": file.name,
                "title": file.name,
                "mimetype": file.media_type,
                "mode": "hosted",
                "size": file.bytes.len(),
                "url_private": url,
                "url_private_download": url,
            });
            state.files.insert(id, file);
            told
        })
    }

    /// Returns the ids of the files that the app has downloaded.
    pub fn downloads(&self) -> Vec<String> {
        self.read(|state| state.journal.downloads.clone())
    }
}

pub async fn download(
    State(server): State<ServerContext>,
    Path((key, _name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let fake = &server.fake;
    let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = token.and_then(|value| value.strip_prefix("Bearer "));
    let has_scope = fake.settings.scopes.iter().any(|scope| scope == "files:read");
    let file = fake.change(|state| {
        let is_valid = state.token_status == TokenStatus::Valid && token == Some(&*state.bot_token);
        let (_team, id) = key.split_once('-').filter(|_| is_valid && has_scope)?;
        let file = state.files.get(id)?.clone();
        state.journal.downloads.push(id.to_owned());
        Some(file)
    });
    match file {
        Some(file) => file.into_response(),
        None => Html("<!DOCTYPE html><title>Sign in | Slack</title>").into_response(),
    }
}
