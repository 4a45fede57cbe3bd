//! The port of tools that an operator lends to replies besides those of the store, as MCP servers have them. Whatever comes
//! from them is untrusted: their descriptions as well as their answers.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::SignedDuration;
use serde_json::{Map, Value};

use crate::chat::{ChannelId, Visibility};

/// Tools outside the store.
#[async_trait]
pub trait ExternalTools: Send + Sync {
    /// Those that a reply in this place may use now, always in the same order.
    fn offered(&self, place: ReplyPlace<'_>) -> Vec<ExternalTool>;

    /// Whether the operator lends this tool to replies in this place, also while it cannot be reached.
    fn is_lent(&self, name: &str, place: ReplyPlace<'_>) -> bool;

    /// Calls one of them. This ends within the tool's own time limit.
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
    /// No tool of the store has this name, and no other external one.
    pub name: Arc<str>,
    pub description: Arc<str>,
    /// The JSON schema of its arguments object.
    pub parameters: Arc<Value>,
    /// Whether somebody has to allow each call, as it may change something.
    pub needs_consent: bool,
    /// The longest that a call takes.
    pub time_limit: SignedDuration,
}

/// What a tool answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExternalAnswer {
    pub text: String,
    /// Whether there was more of it than is ever shown.
    pub is_cut: bool,
    /// Whether it says itself that it failed.
    pub is_failure: bool,
}

/// Why a tool did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExternalToolError {
    #[error("no answer in time")]
    TimedOut,
    #[error("the server cannot be reached, or has gone")]
    Unavailable,
    /// Nothing was sent to anybody.
    #[error("no server that is connected has the tool")]
    NotSent,
}
