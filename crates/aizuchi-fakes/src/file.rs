//! A file that a user shares.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

#[derive(Clone, Debug, PartialEq)]
pub struct FakeFile {
    pub name: String,
    pub media_type: String,
    pub bytes: Vec<u8>,
}

impl FakeFile {
    pub fn new(name: &str, media_type: &str, bytes: &[u8]) -> Self {
        Self { name: name.to_owned(), media_type: media_type.to_owned(), bytes: bytes.to_vec() }
    }
}

impl IntoResponse for FakeFile {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, self.media_type)], self.bytes).into_response()
    }
}
