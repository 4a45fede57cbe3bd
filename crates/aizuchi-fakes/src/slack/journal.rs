//! What the app has done, for those who check on it.

use jiff::Timestamp;
use serde_json::Value;

use crate::slack::ts::Ts;

/// A call of a method, with its arguments as they were sent, but for the token.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedCall {
    pub method: String,
    pub at: Timestamp,
    pub arguments: Value,
    /// Not there while the call hangs, or if it broke.
    pub answer: Option<Value>,
}

/// What `chat.postMessage` has put into a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedPost {
    pub channel: String,
    pub ts: Ts,
    pub thread: Option<Ts>,
    pub text: String,
    pub arguments: Value,
    pub at: Timestamp,
}

#[derive(Default)]
pub struct Journal {
    pub calls: Vec<RecordedCall>,
    pub posts: Vec<RecordedPost>,
}
