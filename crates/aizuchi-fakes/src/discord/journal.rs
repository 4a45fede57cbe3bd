//! What the app has done, for those who check on it.

use jiff::Timestamp;
use serde_json::Value;

use crate::discord::id::{ChannelId, MessageId};
use crate::discord::method::Method;

/// A request, without its token.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedCall {
    pub method: Method,
    /// The path, and the query behind it.
    pub path: String,
    pub at: Timestamp,
    pub body: Value,
    /// Not there while the request hangs, or if it broke.
    pub answer: Option<Value>,
    pub status: Option<u16>,
}

/// What the app has put into a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedPost {
    pub channel: ChannelId,
    pub id: MessageId,
    pub text: String,
    /// The request's body, as it was sent.
    pub body: Value,
    pub at: Timestamp,
}

/// What the app has said to the gateway, without its token.
#[derive(Clone, Debug, PartialEq)]
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
    /// The close codes that the app has sent; without one, the connection just ended.
    pub close_codes: Vec<Option<u16>>,
}
