//! The port for external tools that an operator offers to replies in addition to the store's, such as those of MCP
//! servers. Everything that comes from them is untrusted: their descriptions as well as their answers.

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, Visibility};
use async_trait::async_trait;
use jiff::SignedDuration;
use serde_json::{Map, Value};

/// Tools that are not the store's.
#[async_trait]
pub trait ExternalTools: Send + Sync {
    /// Returns the tools that a reply in this place may use now, always in the same order.
    fn offered(&self, place: ReplyPlace<'_>) -> Vec<ExternalTool>;

    /// Whether the operator offers this tool to replies in this place, even while it cannot be reached.
    fn is_lent(&self, name: &str, place: ReplyPlace<'_>) -> bool;

    /// Calls a tool. This ends within the tool's own time limit.
    async fn call(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<ExternalAnswer, ExternalToolError>;
}

/// Where a reply is written.
#[derive(Clone, Copy, Debug)]
pub struct ReplyPlace<'a> {
    pub channel: &'a ChannelId,
    pub channel_name: &'a str,
    pub visibility: Visibility,
}

/// A tool as its server describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalTool {
    /// The name, which is unique among the store's and all external tools.
    pub name: Arc<str>,
    pub description: Arc<str>,
    /// The JSON schema of its arguments object.
    pub parameters: Arc<Value>,
    /// Whether a user has to allow each call, because it may change something.
    pub needs_consent: bool,
    /// The maximum duration of a call.
    pub time_limit: SignedDuration,
}

/// A tool's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExternalAnswer {
    pub text: String,
    /// Whether the answer was longer than the maximum.
    pub is_cut: bool,
    /// Whether the tool reports a failure.
    pub is_failure: bool,
}

/// Why a tool did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExternalToolError {
    #[error("no answer in time")]
    TimedOut,
    #[error("the server cannot be reached, or has gone")]
    Unavailable,
    /// The request was not sent.
    #[error("no server that is connected has the tool")]
    NotSent,
}
