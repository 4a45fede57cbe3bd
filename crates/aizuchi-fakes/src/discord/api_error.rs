//! Why Discord does not do what it was asked to, in Discord's own words and numbers.

use std::fmt;

use serde::Deserialize;
use serde_json::{Value, json};

/// The reasons that this fake knows, by Discord's names for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    Unauthorized,
    NotFound,
    MethodNotAllowed,
    UnknownChannel,
    UnknownGuild,
    UnknownMember,
    UnknownMessage,
    UnknownRole,
    UnknownUser,
    UnknownEmoji,
    UnknownWebhook,
    UnknownInteraction,
    UnknownCommand,
    #[serde(rename = "acknowledged")]
    AlreadyAcknowledged,
    MissingAccess,
    NotTheAuthor,
    EmptyMessage,
    CannotSendToUser,
    NotATextChannel,
    MissingPermissions,
    #[serde(rename = "too_few_or_too_many")]
    InvalidMessageCount,
    SystemMessage,
    WrongChannelType,
    TooOldToDelete,
    InvalidBody,
    ThreadArchived,
    InvalidJson,
    SlowMode,
    ReactionBlocked,
    ReplyWithoutHistory,
    AlreadyAThread,
    ThreadLocked,
    Internal,
}

impl ErrorCode {
    /// HTTP's status, Discord's code, Discord's words.
    fn response_parts(self) -> (u16, u64, &'static str) {
        match self {
            Self::Unauthorized => (401, 0, "401: Unauthorized"),
            Self::NotFound => (404, 0, "404: Not Found"),
            Self::MethodNotAllowed => (405, 0, "405: Method Not Allowed"),
            Self::UnknownChannel => (404, 10003, "Unknown Channel"),
            Self::UnknownGuild => (404, 10004, "Unknown Guild"),
            Self::UnknownMember => (404, 10007, "Unknown Member"),
            Self::UnknownMessage => (404, 10008, "Unknown Message"),
            Self::UnknownRole => (404, 10011, "Unknown Role"),
            Self::UnknownUser => (404, 10013, "Unknown User"),
            Self::UnknownEmoji => (400, 10014, "Unknown Emoji"),
            Self::UnknownWebhook => (404, 10015, "Unknown Webhook"),
            Self::UnknownInteraction => (404, 10062, "Unknown interaction"),
            Self::UnknownCommand => (404, 10063, "Unknown application command"),
            Self::AlreadyAcknowledged => (400, 40060, "Interaction has already been acknowledged."),
            Self::MissingAccess => (403, 50001, "Missing Access"),
            Self::NotTheAuthor => (403, 50005, "Cannot edit a message authored by another user"),
            Self::EmptyMessage => (400, 50006, "Cannot send an empty message"),
            Self::CannotSendToUser => (403, 50007, "Cannot send messages to this user"),
            Self::NotATextChannel => (400, 50008, "Cannot send messages in a non-text channel"),
            Self::MissingPermissions => (403, 50013, "Missing Permissions"),
            Self::InvalidMessageCount => (
                400,
                50016,
                "Provided too few or too many messages to delete. Must provide at least 2 and at most 100 messages to delete.",
            ),
            Self::SystemMessage => (403, 50021, "Cannot execute action on a system message"),
            Self::WrongChannelType => (400, 50024, "Cannot execute action on this channel type"),
            Self::TooOldToDelete => {
                (400, 50034, "You can only bulk delete messages that are under 14 days old.")
            }
            Self::InvalidBody => (400, 50035, "Invalid Form Body"),
            Self::ThreadArchived => (400, 50083, "Thread is archived"),
            Self::InvalidJson => (400, 50109, "The request body contains invalid JSON."),
            Self::SlowMode => {
                (429, 20016, "This action cannot be performed due to slowmode rate limit.")
            }
            Self::ReactionBlocked => (403, 90001, "Reaction blocked"),
            Self::ReplyWithoutHistory => {
                (400, 160_002, "You cannot reply without permission to read message history")
            }
            Self::AlreadyAThread => {
                (400, 160_004, "A thread has already been created for this message")
            }
            Self::ThreadLocked => (400, 160_005, "Thread is locked"),
            Self::Internal => (500, 0, "500: Internal Server Error"),
        }
    }
}

/// What answers a request that is not obeyed.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    pub status: u16,
    pub code: u64,
    pub message: &'static str,
    /// Where in the request's body the trouble lies.
    pub errors: Option<Box<Value>>,
    pub retry_after: Option<RetryAfter>,
}

/// How long the caller has to wait, and for what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryAfter {
    pub seconds: f64,
    pub scope: RateLimitScope,
}

/// Whom a limit is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateLimitScope {
    #[default]
    User,
    Global,
    Shared,
}

impl RateLimitScope {
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Global => "global",
            Self::Shared => "shared",
        }
    }
}

pub fn api_error(reason: ErrorCode) -> ApiError {
    let (status, code, message) = reason.response_parts();
    ApiError { status, code, message, errors: None, retry_after: None }
}

impl ApiError {
    /// A field of the body is wrong. `path` names it from the outside in, with dots.
    pub fn invalid_field(path: &str, code: &str, message: &str) -> Self {
        let told = json!({ "_errors": [{ "code": code, "message": message }] });
        let nested = path.rsplit('.').fold(told, |inner, name| json!({ name: inner }));
        Self { errors: Some(Box::new(nested)), ..api_error(ErrorCode::InvalidBody) }
    }

    /// The body as a whole is not what it should be.
    pub fn invalid_body(message: &str) -> Self {
        let told = json!({ "_errors": [{ "code": "MODEL_TYPE_CONVERT", "message": message }] });
        Self { errors: Some(Box::new(told)), ..api_error(ErrorCode::InvalidBody) }
    }

    pub fn rate_limited(wait: RetryAfter) -> Self {
        let message = "You are being rate limited.";
        Self { status: 429, code: 0, message, errors: None, retry_after: Some(wait) }
    }

    pub fn to_json(&self) -> Value {
        if let Some(wait) = self.retry_after {
            let is_global = wait.scope == RateLimitScope::Global;
            return json!({ "message": self.message, "retry_after": wait.seconds, "global": is_global });
        }
        let mut shape = json!({ "message": self.message, "code": self.code });
        if let Some(errors) = &self.errors {
            shape["errors"] = Value::clone(errors);
        }
        shape
    }
}

impl From<ErrorCode> for ApiError {
    fn from(reason: ErrorCode) -> Self {
        api_error(reason)
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for ApiError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_field_is_named_from_the_outside_in() {
        let refusal = ApiError::invalid_field("message.content", "BASE_TYPE_REQUIRED", "missing");
        let told = json!({ "_errors": [{ "code": "BASE_TYPE_REQUIRED", "message": "missing" }] });
        assert_eq!(
            refusal.to_json(),
            json!({
                "message": "Invalid Form Body",
                "code": 50035,
                "errors": { "message": { "content": told } },
            })
        );
    }
}
