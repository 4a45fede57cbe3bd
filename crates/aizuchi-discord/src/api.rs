//! Discord's REST API: one call at a time, as JSON. What an answer means for the caller is an
//! [`ApiError`].
//!
//! `twilight-http` repeats a call at once where Discord limits all calls or says nothing of a bucket, for
//! ever, and within the call; so this is ours. The shapes are twilight's.

use std::fmt;
use std::time::Duration;

use anyhow::Context as _;
use jiff::SignedDuration;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response, StatusCode};
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde_json::Value;

use crate::rate_limit::{RateLimitBucket, RateLimitRoute, RateLimiter};
use crate::settings::DiscordSettings;
use aizuchi_core::clock::{Clock, duration_from_seconds};
use aizuchi_core::platform::http_error::{describe_error, is_unsent};

/// How long opening a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Where Discord asks to wait and does not say how long.
const DEFAULT_RETRY_AFTER: SignedDuration = SignedDuration::from_secs(5);
/// A call waits for its turn so long; behind a longer queue it comes again later.
const MAX_TURN_WAIT: SignedDuration = SignedDuration::from_secs(2);

pub struct DiscordApi {
    client: Client,
    /// Without a slash at the end.
    base: String,
    buckets: RateLimiter,
    clock: Clock,
}

/// What is asked of Discord.
#[derive(Clone, Debug)]
pub struct ApiRequest {
    pub method: Method,
    /// From the base on, with the query.
    pub path: String,
    pub body: Option<Value>,
    /// How long it may wait for its turn.
    pub max_turn_wait: SignedDuration,
}

impl ApiRequest {
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path.into(), None)
    }

    pub fn post(path: impl Into<String>, body: Value) -> Self {
        Self::new(Method::POST, path.into(), Some(body))
    }

    /// One that is not worth a wait.
    pub fn without_wait(self) -> Self {
        Self { max_turn_wait: SignedDuration::ZERO, ..self }
    }

    pub fn new(method: Method, path: String, body: Option<Value>) -> Self {
        Self { method, path, body, max_turn_wait: MAX_TURN_WAIT }
    }

    /// Ids behind the first one make no difference, and of reactions not even the emoji does.
    fn route(&self) -> RateLimitRoute {
        let path = self.path.split('?').next().unwrap_or_default();
        let mut parts = path.trim_start_matches('/').split('/');
        let (kind, of) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let mut shape = format!("{} /{kind}/*", self.method);
        if kind == "interactions" {
            // The next part is as good as a password, and each is used once.
            return RateLimitRoute { template: shape, major_parameter: of.to_owned() };
        }
        if kind == "webhooks" {
            // The next part is as good as a password, too, and says whose calls are counted together.
            return RateLimitRoute {
                template: shape,
                major_parameter: parts.next().unwrap_or_default().to_owned(),
            };
        }
        for part in parts {
            let is_id = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            shape.push('/');
            shape.push_str(if is_id { "*" } else { part });
            if part == "reactions" {
                break;
            }
        }
        RateLimitRoute { template: shape, major_parameter: of.to_owned() }
    }
}

/// What the caller does next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscordApiError {
    /// Nothing was done; wait so long.
    #[error("Discord asks to wait {0:#}")]
    RateLimited(SignedDuration),
    /// Nothing was done, and the same call will get the same answer.
    #[error("Discord says {0}")]
    Refused(DiscordRefusal),
    /// The call did not get there.
    #[error("Discord cannot be reached: {0}")]
    Unreachable(String),
    /// It may have been done.
    #[error("Discord's answer is not known: {0}")]
    OutcomeUnknown(String),
}

/// Why Discord says no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscordRefusal {
    pub status: u16,
    /// Discord's own number for it, if it has one.
    pub code: u64,
    pub message: String,
}

impl fmt::Display for DiscordRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            0 => write!(f, "{} ({})", self.message, self.status),
            code => write!(f, "{} ({code})", self.message),
        }
    }
}

impl DiscordApiError {
    /// The token is worth nothing, and will be worth nothing the next time.
    pub fn is_token_invalid(&self) -> bool {
        matches!(self, DiscordApiError::Refused(refusal) if refusal.status == 401)
    }

    /// Discord's number for why it says no.
    pub fn code(&self) -> Option<u64> {
        match self {
            DiscordApiError::Refused(refusal) => Some(refusal.code),
            DiscordApiError::RateLimited(_)
            | DiscordApiError::Unreachable(_)
            | DiscordApiError::OutcomeUnknown(_) => None,
        }
    }
}

impl DiscordApi {
    pub fn new(settings: &DiscordSettings, clock: Clock) -> anyhow::Result<Self> {
        // It fails where a provider of cryptography is installed already, which is as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let token = format!("Bot {}", settings.token.expose_secret());
        let mut token = HeaderValue::from_str(&token)
            .map_err(|_| anyhow::anyhow!("discord.token is no token"))?;
        token.set_sensitive(true);
        let client = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(settings.timeouts.call)
            // A token would go along to wherever a redirect leads.
            .redirect(Policy::none())
            .default_headers(HeaderMap::from_iter([(AUTHORIZATION, token)]))
            .user_agent(concat!(
                "DiscordBot (https://crates.io/crates/aizuchi, ",
                env!("CARGO_PKG_VERSION"),
                ")"
            ))
            .build()
            .context("preparing calls to Discord")?;
        Ok(Self { client, base: settings.api_base.clone(), buckets: RateLimiter::default(), clock })
    }

    /// Calls when it is its turn. An answer without anything in it is null.
    pub async fn call(&self, call: &ApiRequest) -> Result<Value, DiscordApiError> {
        let route = call.route();
        let turn = self.buckets.reserve_turn(&route, self.clock.now(), call.max_turn_wait);
        self.clock.sleep_until(turn.map_err(DiscordApiError::RateLimited)?).await;
        let request =
            self.client.request(call.method.clone(), format!("{}{}", self.base, call.path));
        let request = match &call.body {
            Some(body) => request.json(body),
            None => request,
        };
        let response = request.send().await.map_err(|error| send_error(&error))?;
        let status = response.status();
        self.update_bucket(&route, &response);
        let limit = RateLimitHeaders::from_response(&response);
        let text = response.text().await;
        if status == StatusCode::TOO_MANY_REQUESTS {
            return Err(self.rate_limited(&route, limit, &text.unwrap_or_default()));
        }
        let text = text.map_err(|error| DiscordApiError::OutcomeUnknown(describe_error(&error)))?;
        parse_body(status, &text)
    }

    fn update_bucket(&self, route: &RateLimitRoute, response: &Response) {
        let number = |name: &str| header(response, name)?.parse::<f64>().ok();
        let told = (|| {
            let reset_after =
                duration_from_seconds(number("x-ratelimit-reset-after")?.clamp(0.0, 86_400.0));
            Some(RateLimitBucket {
                limit: number("x-ratelimit-limit")? as u32,
                remaining: number("x-ratelimit-remaining")? as u32,
                resets_at: self.clock.now() + reset_after,
            })
        })();
        if let (Some(name), Some(told)) = (header(response, "x-ratelimit-bucket"), told) {
            self.buckets.update(route, name, told);
        }
    }

    fn rate_limited(
        &self,
        route: &RateLimitRoute,
        limit: RateLimitHeaders,
        body: &str,
    ) -> DiscordApiError {
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let told = body["retry_after"].as_f64().filter(|wait| wait.is_finite());
        let wait = limit.retry_after.into_iter().chain(told).reduce(f64::max);
        let wait = wait
            .map_or(DEFAULT_RETRY_AFTER, |wait| duration_from_seconds(wait.clamp(0.0, 86_400.0)));
        let until = self.clock.now() + wait;
        // What is not of Discord's making comes from what stands before it, and holds for all.
        let is_everywhere = limit.is_global || body["global"] == true || body.is_null();
        if is_everywhere {
            self.buckets.block_all(until);
        } else {
            self.buckets.block(route, until);
        }
        DiscordApiError::RateLimited(wait)
    }
}

/// What the head of an answer says of a limit that was reached.
struct RateLimitHeaders {
    retry_after: Option<f64>,
    is_global: bool,
}

impl RateLimitHeaders {
    fn from_response(response: &Response) -> Self {
        let retry_after = header(response, "retry-after").and_then(|wait| wait.trim().parse().ok());
        Self {
            retry_after: retry_after.filter(|wait: &f64| wait.is_finite()),
            is_global: header(response, "x-ratelimit-scope") == Some("global")
                || header(response, "x-ratelimit-global") == Some("true"),
        }
    }
}

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

/// How Discord says no.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorBody {
    code: u64,
    message: String,
}

fn parse_body(status: StatusCode, text: &str) -> Result<Value, DiscordApiError> {
    let body = serde_json::from_str::<Value>(text);
    if status.is_success() {
        let is_empty = text.trim().is_empty();
        return body
            .or(if is_empty { Ok(Value::Null) } else { Err(()) })
            .map_err(|()| DiscordApiError::OutcomeUnknown("its answer is no JSON".to_owned()));
    }
    if !status.is_client_error() || status == StatusCode::REQUEST_TIMEOUT {
        return Err(DiscordApiError::OutcomeUnknown(format!("it answers {status}")));
    }
    let no: ErrorBody =
        body.ok().and_then(|body| serde_json::from_value(body).ok()).unwrap_or_default();
    let reason = || status.canonical_reason().unwrap_or("no").to_owned();
    let words =
        Some(sanitize(&no.message)).filter(|words| !words.is_empty()).unwrap_or_else(reason);
    Err(DiscordApiError::Refused(DiscordRefusal {
        status: status.as_u16(),
        code: no.code,
        message: words,
    }))
}

/// A message as it may be shown: an answer from elsewhere could hold anything.
fn sanitize(words: &str) -> String {
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "_:., '-()".contains(*letter);
    words.chars().filter(is_plain).take(120).collect()
}

/// A call that failed before its answer came.
fn send_error(error: &reqwest::Error) -> DiscordApiError {
    if is_unsent(error) {
        DiscordApiError::Unreachable(describe_error(error))
    } else {
        DiscordApiError::OutcomeUnknown(describe_error(error))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_says_what_to_do_next() {
        let refused = |status, code, words: &str| {
            Err(DiscordApiError::Refused(DiscordRefusal {
                status,
                code,
                message: words.to_owned(),
            }))
        };
        let unknown = |why: &str| Err(DiscordApiError::OutcomeUnknown(why.to_owned()));
        for (status, text, expected) in [
            (200, r#"{"id": "1"}"#, Ok(json!({"id": "1"}))),
            (204, "", Ok(Value::Null)),
            (200, "<html>", unknown("its answer is no JSON")),
            (403, r#"{"code": 50013, "message": "Missing Permissions"}"#, {
                refused(403, 50013, "Missing Permissions")
            }),
            (404, "<b>\u{1b}", refused(404, 0, "Not Found")),
            (401, r#"{"code": 0, "message": "401: Unauthorized"}"#, {
                refused(401, 0, "401: Unauthorized")
            }),
            (400, r#"{"code": 1, "message": "<i>\n\u001b[1m"}"#, refused(400, 1, "i1m")),
            (502, "", unknown("it answers 502 Bad Gateway")),
            (302, "", unknown("it answers 302 Found")),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(parse_body(status, text), expected, "{status} {text}");
        }
    }

    #[test]
    fn calls_of_one_shape_share_a_bucket_in_each_channel() {
        for (path, shape, of) in [
            ("/channels/1/messages?limit=5", "GET /channels/*/messages", "1"),
            ("/channels/2/messages/3/threads", "GET /channels/*/messages/*/threads", "2"),
            (
                "/channels/2/messages/3/reactions/%F0/@me",
                { "GET /channels/*/messages/*/reactions" },
                "2",
            ),
            ("/users/@me", "GET /users/*", "@me"),
            ("/interactions/5/aW50/callback", "GET /interactions/*", "5"),
            ("/webhooks/5/aW50/messages/@original", "GET /webhooks/*", "aW50"),
        ] {
            let route =
                RateLimitRoute { template: shape.to_owned(), major_parameter: of.to_owned() };
            assert_eq!(ApiRequest::get(path).route(), route, "{path}");
        }
    }
}
