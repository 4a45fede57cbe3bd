//! Errors of the REST API, with Discord's own codes and messages.

use std::fmt;

use serde::Deserialize;
use serde_json::{Value, json};

macro_rules! error_codes {
    ($($name:ident $status:literal $code:literal $message:literal)*) => {
        /// The errors that this fake knows, by Discord's names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum ErrorCode {
            $($name),*
        }

        impl ErrorCode {
            /// Returns the HTTP status, and Discord's code and message.
            fn response_parts(self) -> (u16, u64, &'static str) {
                match self {
                    $(Self::$name => ($status, $code, $message)),*
                }
            }
        }
    };
}

error_codes! {
    Unauthorized 401 0 "401: Unauthorized"
    NotFound 404 0 "404: Not Found"
    MethodNotAllowed 405 0 "405: Method Not Allowed"
    UnknownChannel 404 10003 "Unknown Channel"
    UnknownGuild 404 10004 "Unknown Guild"
    UnknownMember 404 10007 "Unknown Member"
    UnknownMessage 404 10008 "Unknown Message"
    UnknownUser 404 10013 "Unknown User"
    UnknownEmoji 400 10014 "Unknown Emoji"
    UnknownWebhook 404 10015 "Unknown Webhook"
    UnknownInteraction 404 10062 "Unknown interaction"
    UnknownCommand 404 10063 "Unknown application command"
    AlreadyAcknowledged 400 40060 "Interaction has already been acknowledged."
    MissingAccess 403 50001 "Missing Access"
    NotTheAuthor 403 50005 "Cannot edit a message authored by another user"
    EmptyMessage 400 50006 "Cannot send an empty message"
    CannotSendToUser 403 50007 "Cannot send messages to this user"
    NotATextChannel 400 50008 "Cannot send messages in a non-text channel"
    MissingPermissions 403 50013 "Missing Permissions"
    InvalidMessageCount 400 50016 "Provided too few or too many messages to delete. Must provide at least 2 and at most 100 messages to delete."
    SystemMessage 403 50021 "Cannot execute action on a system message"
    WrongChannelType 400 50024 "Cannot execute action on this channel type"
    TooOldToDelete 400 50034 "You can only bulk delete messages that are under 14 days old."
    InvalidBody 400 50035 "Invalid Form Body"
    ThreadArchived 400 50083 "Thread is archived"
    InvalidJson 400 50109 "The request body contains invalid JSON."
    SlowMode 429 20016 "This action cannot be performed due to slowmode rate limit."
    ReplyWithoutHistory 400 160_002 "You cannot reply without permission to read message history"
    AlreadyAThread 400 160_004 "A thread has already been created for this message"
    ThreadLocked 400 160_005 "Thread is locked"
}

/// What a request gives.
pub type ApiResult<T = ()> = Result<T, ApiError>;

/// An error response.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    pub status: u16,
    pub code: u64,
    pub message: &'static str,
    /// The errors in the fields of the request's body.
    pub errors: Option<Box<Value>>,
    pub retry_after: Option<RetryAfter>,
}

/// How long the client has to wait, and for which rate limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryAfter {
    pub seconds: f64,
    pub scope: RateLimitScope,
}

/// The scope of a rate limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum RateLimitScope {
    #[default]
    User,
    Global,
    Shared,
}

impl RateLimitScope {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

pub fn api_error(code: ErrorCode) -> ApiError {
    let (status, code, message) = code.response_parts();
    ApiError { status, code, message, errors: None, retry_after: None }
}

impl ApiError {
    /// Returns an error for an invalid field of the body. `path` is dotted, from the outermost field inward.
    pub fn invalid_field(path: &str, code: &str, message: &str) -> Self {
        let field_errors = json!({ "_errors": [{ "code": code, "message": message }] });
        let errors = path.rsplit('.').fold(field_errors, |inner, name| json!({ name: inner }));
        Self { errors: Some(Box::new(errors)), ..api_error(ErrorCode::InvalidBody) }
    }

    /// Returns an error for a body that is invalid as a whole.
    pub fn invalid_body(message: &str) -> Self {
        let errors = json!({ "_errors": [{ "code": "MODEL_TYPE_CONVERT", "message": message }] });
        Self { errors: Some(Box::new(errors)), ..api_error(ErrorCode::InvalidBody) }
    }

    pub fn rate_limited(retry_after: RetryAfter) -> Self {
        let message = "You are being rate limited.";
        Self { status: 429, code: 0, message, errors: None, retry_after: Some(retry_after) }
    }

    pub fn to_json(&self) -> Value {
        if let Some(retry_after) = self.retry_after {
            let is_global = retry_after.scope == RateLimitScope::Global;
            return json!({ "message": self.message, "retry_after": retry_after.seconds, "global": is_global });
        }
        let mut object = json!({ "message": self.message, "code": self.code });
        if let Some(errors) = &self.errors {
            object["errors"] = Value::clone(errors);
        }
        object
    }
}

impl From<ErrorCode> for ApiError {
    fn from(code: ErrorCode) -> Self {
        api_error(code)
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
    fn an_invalid_field_is_named_from_the_outside_in() {
        let error = ApiError::invalid_field("message.content", "BASE_TYPE_REQUIRED", "missing");
        let field_errors =
            json!({ "_errors": [{ "code": "BASE_TYPE_REQUIRED", "message": "missing" }] });
        assert_eq!(
            error.to_json(),
            json!({
                "message": "Invalid Form Body",
                "code": 50035,
                "errors": { "message": { "content": field_errors } },
            })
        );
    }
}
