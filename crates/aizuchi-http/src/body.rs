//! Reads the body of an HTTP response up to a limit. A server that never stops sending must not exhaust the memory, so
//! every body is read in this way.

use reqwest::{Error, Response};

/// The limit for models. The longest useful answer takes a quarter of it.
pub const MAX_MODEL_BODY_BYTES: usize = 1024 * 1024;
/// The limit for chat platforms. A page of their history has up to 1,000 messages with attachments, which takes a few
/// megabytes; refusing a page would hide everything before it.
pub const MAX_PLATFORM_BODY_BYTES: usize = 16 * 1024 * 1024;

/// Why a body was not read to its end.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// It is longer than the limit. The rest was not read.
    #[error("the answer is too large")]
    TooLarge,
    // The error itself contains the URL, which may contain secrets.
    #[error("{}", if .0.is_timeout() { "no answer in time" } else { "the answer broke off" })]
    Broken(Error),
}

/// Reads a body of at most `limit_bytes`, counted after decompression. Dropping the response closes the connection.
pub async fn read_body(mut response: Response, limit_bytes: usize) -> Result<Vec<u8>, BodyError> {
    let announced = response.content_length().unwrap_or(0);
    if announced > limit_bytes as u64 {
        return Err(BodyError::TooLarge);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(BodyError::Broken)? {
        if chunk.len() > limit_bytes - body.len() {
            return Err(BodyError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Reads the beginning of a body, at most `limit_bytes` of it, and returns whether there was more.
pub async fn read_beginning(
    mut response: Response,
    limit_bytes: usize,
) -> Result<(Vec<u8>, bool), Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = limit_bytes - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((body, true));
        }
    }
    Ok((body, false))
}
