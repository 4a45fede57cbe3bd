//! A journal of the app's actions, for assertions.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::discord::id::{ChannelId, MessageId};
use crate::discord::method::Method;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordedCall {
    pub method: Method,
    /// The path with its query string.
    pub path: String,
    pub at: Timestamp,
    pub body: Value,
    /// Absent while the request hangs, or if its connection was reset.
    pub answer: Option<Value>,
    pub status: Option<u16>,
}

/// A message that the app has posted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordedPost {
    pub channel: ChannelId,
    pub id: MessageId,
    pub text: String,
    /// The request's body as sent.
    pub body: Value,
    pub at: Timestamp,
}

/// A payload that the app has sent to the gateway, without its token.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReceivedPayload {
    pub connection: u64,
    pub op: u64,
    pub data: Value,
    pub at: Timestamp,
}

#[derive(Default)]
pub struct Journal {
    pub calls: Vec<RecordedCall>,
    pub posts: Vec<RecordedPost>,
    pub payloads: Vec<ReceivedPayload>,
    /// The close codes of the app's connections, or `None` for a connection that ended without a close frame.
    pub close_codes: Vec<Option<u16>>,
}
