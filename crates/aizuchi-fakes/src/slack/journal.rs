//! A journal of the app's actions, for assertions.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::slack::ts::Ts;

/// A call of a method, with its arguments as sent, without the token.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordedCall {
    pub method: String,
    pub at: Timestamp,
    pub arguments: Value,
    /// Absent while the call hangs, or if its connection was reset.
    pub answer: Option<Value>,
}

/// A message that the app has posted with `chat.postMessage`.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    /// The ids of the files that the app has downloaded.
    pub downloads: Vec<String>,
}
