//! Discord's REST API: one call at a time, as JSON. A [`DiscordApiError`] tells the caller what to do next.
//!
//! `twilight-http` retries a globally limited call (and one without a bucket) immediately, forever, and inside the
//! call, so this client is our own. The data types are twilight's.

use std::fmt;
use std::time::Duration;

use aizuchi_http::body::{BodyError, MAX_PLATFORM_BODY_BYTES, read_body};
use aizuchi_http::json::parse_json;
use aizuchi_http::log_sentence::to_log_sentence;
use aizuchi_model::clock::{Clock, duration_from_seconds};
use aizuchi_model::reloadable::Reloadable;
use aizuchi_platform::call_error::{PlatformApi, PlatformCallError};
use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response, StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::Value;

use crate::rate_limit::{RateLimitBucket, RateLimitRoute, RateLimiter};
use crate::settings::DiscordSettings;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The wait if a 429 response does not say how long.
const DEFAULT_RETRY_AFTER: SignedDuration = SignedDuration::from_secs(5);
/// The longest wait of a call for its slot. If it would be longer, the call fails as rate-limited.
const MAX_TURN_WAIT: SignedDuration = SignedDuration::from_secs(2);

pub struct DiscordApi {
    client: Client,
    token: Reloadable<SecretString>,
    /// The base URL, without a trailing slash.
    base: String,
    buckets: RateLimiter,
    clock: Clock,
}

/// A call to the API.
#[derive(Clone, Debug)]
pub struct ApiRequest {
    pub method: Method,
    /// Relative to the base URL, with the query.
    pub path: String,
    pub body: Option<Value>,
    /// How long the call may wait for its slot.
    pub max_turn_wait: SignedDuration,
}

impl ApiRequest {
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path.into(), None)
    }

    pub fn post(path: impl Into<String>, body: Value) -> Self {
        Self::new(Method::POST, path.into(), Some(body))
    }

    /// Makes the call fail instead of waiting for its slot.
    pub fn without_wait(self) -> Self {
        Self { max_turn_wait: SignedDuration::ZERO, ..self }
    }

    pub fn new(method: Method, path: String, body: Option<Value>) -> Self {
        Self { method, path, body, max_turn_wait: MAX_TURN_WAIT }
    }

    /// Whether the path contains a token of its own, that of an interaction.
    pub fn has_own_token(&self) -> bool {
        ["/interactions/", "/webhooks/"].iter().any(|prefix| self.path.starts_with(prefix))
    }

    /// Returns the route without ids and secrets, for logs.
    pub fn route_name(&self) -> String {
        self.route().template
    }

    /// Returns the rate limit route, of whose ids only the first one counts, and for reactions not even the emoji.
    fn route(&self) -> RateLimitRoute {
        let path = self.path.split('?').next().unwrap_or_default();
        let mut parts = path.trim_start_matches('/').split('/');
        let (kind, major_parameter) =
            (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let mut template = format!("{} /{kind}/*", self.method);
        if kind == "interactions" {
            // The next part is a secret token. Each interaction is used once, so its id is enough.
            return RateLimitRoute { template, major_parameter: major_parameter.to_owned() };
        }
        if kind == "webhooks" {
            // The next part is a secret token, and also the key by which Discord counts these calls.
            return RateLimitRoute {
                template,
                major_parameter: parts.next().unwrap_or_default().to_owned(),
            };
        }
        for part in parts {
            let is_id = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            template.push('/');
            template.push_str(if is_id { "*" } else { part });
            if part == "reactions" {
                break;
            }
        }
        RateLimitRoute { template, major_parameter: major_parameter.to_owned() }
    }
}

/// Discord's error codes for temporary limits, such as slow mode.
const TEMPORARY_CODES: [u64; 4] = [20_016, 20_028, 40_062, 130_000];

/// Discord's REST API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiscordRestApi {}

impl PlatformApi for DiscordRestApi {
    const NAME: &'static str = "Discord";
    type Refusal = DiscordRefusal;

    fn is_token_invalid(refusal: &DiscordRefusal) -> bool {
        /// "Invalid webhook token": the token of an interaction, which has expired.
        const INVALID_WEBHOOK_TOKEN: u64 = 50_027;
        refusal.status == 401 && refusal.code != INVALID_WEBHOOK_TOKEN
    }

    fn is_temporary(refusal: &DiscordRefusal) -> bool {
        TEMPORARY_CODES.contains(&refusal.code)
    }
}

pub type DiscordApiError = PlatformCallError<DiscordRestApi>;

/// Discord's reason for refusing a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscordRefusal {
    pub status: u16,
    /// Discord's JSON error code; 0 if there is none.
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

impl DiscordApi {
    pub fn new(settings: &DiscordSettings, clock: Clock) -> anyhow::Result<Self> {
        // Fails if a crypto provider is already installed, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        authorization(&settings.token.read()).context("discord.token is not a valid token")?;
        let client = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(settings.timeouts.call)
            // Following a redirect would send the token to its target.
            .redirect(Policy::none())
            // Discord prescribes this form of the user agent and may block any other.
            .user_agent(concat!(
                "DiscordBot (https://crates.io/crates/aizuchi, ",
                env!("CARGO_PKG_VERSION"),
                ")"
            ))
            .build()
            .context("cannot prepare calls to Discord")?;
        Ok(Self {
            client,
            token: settings.token.clone(),
            base: settings.api_base.clone(),
            buckets: RateLimiter::default(),
            clock,
        })
    }

    /// Makes a call once its rate limit allows. An empty response becomes null.
    pub async fn call(&self, request: &ApiRequest) -> Result<Value, DiscordApiError> {
        let route = request.route();
        let now = self.bucket_time();
        let turn = self.buckets.reserve_turn(&route, now, request.max_turn_wait);
        let wait = turn.map_err(DiscordApiError::RateLimited)?.duration_since(now);
        self.clock.sleep_until(self.clock.now() + wait).await;
        let builder =
            self.client.request(request.method.clone(), format!("{}{}", self.base, request.path));
        let authorization = authorization(&self.token.read());
        let builder = builder
            .headers(authorization.map(|value| (AUTHORIZATION, value)).into_iter().collect());
        let builder = match &request.body {
            Some(body) => builder.json(body),
            None => builder,
        };
        let response = builder.send().await.map_err(|error| DiscordApiError::unanswered(&error))?;
        let status = response.status();
        self.update_bucket(&route, &response);
        let headers = RateLimitHeaders::from_response(&response);
        let body = read_body(response, MAX_PLATFORM_BODY_BYTES).await;
        if status == StatusCode::TOO_MANY_REQUESTS {
            return Err(self.rate_limited(&route, headers, &body.unwrap_or_default()));
        }
        let body = body.map_err(|error| DiscordApiError::OutcomeUnknown(error.to_string()))?;
        parse_body(status, &body)
    }

    /// Fetches a file of at most `max_bytes` from Discord's CDN. The URL alone grants access, so no token is sent.
    pub async fn fetch_file(
        &self,
        url: &str,
        max_bytes: usize,
    ) -> Result<Vec<u8>, DiscordApiError> {
        let refused = |status: u16, message: &str| {
            let message = message.to_owned();
            DiscordApiError::Refused(DiscordRefusal { status, code: 0, message })
        };
        let Some(url) = self.file_url(url) else {
            return Err(refused(0, "an address that is not Discord's"));
        };
        let response = self
            .client
            .get(url)
            .send()
            .await
            .map_err(|error| DiscordApiError::unanswered(&error))?;
        let status = response.status();
        if status.is_redirection() || status.is_client_error() {
            let reason = status.canonical_reason().unwrap_or("no");
            return Err(refused(status.as_u16(), reason));
        }
        if !status.is_success() {
            return Err(DiscordApiError::Unreachable(format!("it answers {status}")));
        }
        match read_body(response, max_bytes).await {
            Ok(bytes) => Ok(bytes),
            Err(error @ BodyError::TooLarge) => Err(refused(status.as_u16(), &error.to_string())),
            Err(error @ BodyError::Broken(_)) => {
                Err(DiscordApiError::Unreachable(error.to_string()))
            }
        }
    }

    /// Parses the URL if it belongs to Discord's CDN or to the host of the configured API.
    fn file_url(&self, url: &str) -> Option<Url> {
        const HOSTS: [&str; 2] = ["cdn.discordapp.com", "media.discordapp.net"];
        let url = Url::parse(url).ok()?;
        let is_discord = url.scheme() == "https" && HOSTS.contains(&url.host_str()?);
        let is_base = Url::parse(&self.base).is_ok_and(|base| base.origin() == url.origin());
        (is_discord || is_base).then_some(url)
    }

    /// Returns the time by which buckets refill. It cannot be set back, after which they would stay empty for as long.
    fn bucket_time(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + self.clock.elapsed()
    }

    fn update_bucket(&self, route: &RateLimitRoute, response: &Response) {
        let number = |name: &str| header(response, name)?.parse::<f64>().ok();
        let bucket = (|| {
            let reset_after =
                duration_from_seconds(number("x-ratelimit-reset-after")?.clamp(0.0, 86_400.0));
            Some(RateLimitBucket {
                limit: number("x-ratelimit-limit")? as u32,
                remaining: number("x-ratelimit-remaining")? as u32,
                resets_at: self.bucket_time() + reset_after,
            })
        })();
        if let (Some(name), Some(bucket)) = (header(response, "x-ratelimit-bucket"), bucket) {
            self.buckets.update(route, name, bucket);
        }
    }

    fn rate_limited(
        &self,
        route: &RateLimitRoute,
        limit: RateLimitHeaders,
        body: &[u8],
    ) -> DiscordApiError {
        let body = parse_json(body).unwrap_or_default();
        let body_wait = body["retry_after"].as_f64().filter(|wait| wait.is_finite());
        // If header and body disagree, the longer wait is safe: Discord bans addresses that keep calling too early.
        let wait = limit.retry_after.into_iter().chain(body_wait).reduce(f64::max);
        let wait = wait
            .map_or(DEFAULT_RETRY_AFTER, |wait| duration_from_seconds(wait.clamp(0.0, 86_400.0)));
        let until = self.bucket_time() + wait;
        // A response that is not JSON comes from the proxy in front of Discord, whose limit applies to all calls.
        let is_global = limit.is_global || body["global"] == true || body.is_null();
        if is_global {
            self.buckets.block_all(until);
        } else {
            self.buckets.block(route, until);
        }
        DiscordApiError::RateLimited(wait)
    }
}

/// Builds the `Authorization` header, unless the token contains characters that are invalid in a header.
pub(crate) fn authorization(token: &SecretString) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bot {}", token.expose_secret())).ok()?;
    // Keeps the token out of debug output.
    value.set_sensitive(true);
    Some(value)
}

/// The headers of a 429 response.
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

/// Returns the id after which the next page of a list begins: the newest one of a full page. It is an error if that is
/// not beyond `after`, which the page was requested with.
pub fn next_id(newest: Option<u64>, after: u64) -> Result<u64, DiscordApiError> {
    newest.filter(|newest| *newest > after).ok_or(DiscordApiError::Malformed("its list has no end"))
}

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

/// The body of an error response.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorBody {
    code: u64,
    message: String,
}

fn parse_body(status: StatusCode, text: &[u8]) -> Result<Value, DiscordApiError> {
    let body = parse_json(text).ok();
    if status.is_success() {
        let is_empty = text.trim_ascii().is_empty();
        let body = body.or(is_empty.then_some(Value::Null));
        return body.ok_or(DiscordApiError::Malformed("it is not JSON"));
    }
    // Discord or its proxy may answer this after the call has taken effect.
    if !status.is_client_error() || status == StatusCode::REQUEST_TIMEOUT {
        return Err(DiscordApiError::OutcomeUnknown(format!("it answers {status}")));
    }
    let error: ErrorBody =
        body.and_then(|body| serde_json::from_value(body).ok()).unwrap_or_default();
    let reason = || status.canonical_reason().unwrap_or("no").to_owned();
    let message =
        Some(sanitize(&error.message)).filter(|message| !message.is_empty()).unwrap_or_else(reason);
    Err(DiscordApiError::Refused(DiscordRefusal {
        status: status.as_u16(),
        code: error.code,
        message,
    }))
}

/// Makes an error message safe to show: a response from a proxy could contain anything.
fn sanitize(message: &str) -> String {
    let is_plain =
        |character: &char| character.is_ascii_alphanumeric() || "_:., '-()".contains(*character);
    to_log_sentence(message).chars().filter(is_plain).take(120).collect()
}

#[cfg(test)]
mod tests {
    use aizuchi_harness::endless::{ENDLESS_BODIES, EndlessBody, EndlessServer};
    use aizuchi_harness::recording::RecordingServer;
    use jiff::tz::TimeZone;
    use serde_json::json;

    use super::*;
    use crate::settings::{DiscordTimeouts, ThreadSettings};

    #[tokio::test]
    async fn an_answer_without_an_end_is_given_up() {
        let too_large = DiscordApiError::OutcomeUnknown("the answer is too large".to_owned());
        let cases = ENDLESS_BODIES.map(|body| (200, body, too_large.clone()));
        let errors = [
            (500, EndlessBody::Chunked, too_large),
            (429, EndlessBody::Chunked, DiscordApiError::RateLimited(DEFAULT_RETRY_AFTER)),
        ];
        for (status, body, expected) in cases.into_iter().chain(errors) {
            let server = EndlessServer::start(status, body).await;
            let api = DiscordApi::new(&settings(&server.base), Clock::system()).unwrap();
            let error = api.call(&ApiRequest::get("/users/@me")).await.unwrap_err();
            assert_eq!(error, expected, "{status} {body:?}");
            server.closed(1).await;
        }
    }

    #[tokio::test]
    async fn a_clock_that_is_set_back_blocks_no_call() {
        let spent = [
            ("x-ratelimit-bucket", "abc"),
            ("x-ratelimit-limit", "5"),
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset-after", "1.0"),
        ];
        let server = RecordingServer::start("200 OK", &spent, "{}").await;
        let start = Timestamp::from_second(1_700_000_000).unwrap();
        let clock = Clock::manual(start);
        let api = DiscordApi::new(&settings(&server.base), clock.clone()).unwrap();
        let call = ApiRequest::get("/users/@me").without_wait();
        assert_eq!(api.call(&call).await, Ok(json!({})));
        let second = SignedDuration::from_secs(1);
        assert_eq!(api.call(&call).await, Err(DiscordApiError::RateLimited(second)));
        clock.set_by(SignedDuration::from_hours(-1));
        clock.advance_to(clock.now() + second);
        assert_eq!(api.call(&call).await, Ok(json!({})));
    }

    #[tokio::test]
    async fn a_file_is_fetched_from_discord_alone_and_without_the_token() {
        let elsewhere = RecordingServer::start("200 OK", &[], "a boat").await;
        let target = format!("{}/boat.png", elsewhere.base);
        let files = RecordingServer::start("200 OK", &[("content-type", "image/png")], "PNG").await;
        let api = DiscordApi::new(&settings(&files.base), Clock::system()).unwrap();
        let own = format!("{}/attachments/1/7/boat.png?ex=1", files.base);
        assert_eq!(api.fetch_file(&own, 3).await, Ok(b"PNG".to_vec()));
        let error = api.fetch_file(&own, 2).await.unwrap_err();
        assert_eq!(error.to_string(), "Discord says the answer is too large (200)");
        assert!(files.heads().iter().all(|head| !head.to_lowercase().contains("authorization")));
        let error = api.fetch_file(&target, 100).await.unwrap_err();
        assert_eq!(error.to_string(), "Discord says an address that is not Discord's (0)");

        let leading = RecordingServer::start("302 Found", &[("location", &*target)], "").await;
        let api = DiscordApi::new(&settings(&leading.base), Clock::system()).unwrap();
        let error = api.fetch_file(&format!("{}/7", leading.base), 100).await.unwrap_err();
        assert_eq!(error.to_string(), "Discord says Found (302)");
        assert_eq!((leading.heads().len(), elsewhere.heads()), (1, Vec::new()));
    }

    #[test]
    fn files_are_at_discords_hosts() {
        let api = DiscordApi::new(&settings("http://127.0.0.1:4000/api/v10"), Clock::system());
        let api = api.unwrap();
        for (url, is_allowed) in [
            ("https://cdn.discordapp.com/attachments/1/7/a.png?ex=1&is=2&hm=3", true),
            ("https://media.discordapp.net/attachments/1/7/a.png", true),
            ("http://127.0.0.1:4000/attachments/1/7/a.png", true),
            ("http://cdn.discordapp.com/attachments/1/7/a.png", false),
            ("https://cdn.discordapp.com@evil.example/a.png", false),
            ("https://cdn.discordapp.com.evil.example/a.png", false),
            ("http://127.0.0.1:4001/a.png", false),
            ("a.png", false),
        ] {
            assert_eq!(api.file_url(url).is_some(), is_allowed, "{url}");
        }
    }

    fn settings(api_base: &str) -> DiscordSettings {
        DiscordSettings {
            token: SecretString::from("token").into(),
            api_base: api_base.to_owned(),
            gateway_url: None,
            shards: None,
            threads: ThreadSettings::default(),
            in_flight_timeout: SignedDuration::ZERO,
            history_span: SignedDuration::ZERO,
            sync_interval: SignedDuration::ZERO,
            time_zone: TimeZone::UTC,
            timeouts: DiscordTimeouts { call: Duration::from_secs(600), ..Default::default() },
        }
    }

    #[test]
    fn a_response_decides_what_to_do_next() {
        let refused = |status, code, message: &str| {
            Err(DiscordApiError::Refused(DiscordRefusal {
                status,
                code,
                message: message.to_owned(),
            }))
        };
        let unknown = |why: &str| Err(DiscordApiError::OutcomeUnknown(why.to_owned()));
        for (status, text, expected) in [
            (200, r#"{"id": "1"}"#, Ok(json!({"id": "1"}))),
            (204, "", Ok(Value::Null)),
            (200, "<html>", Err(DiscordApiError::Malformed("it is not JSON"))),
            (403, r#"{"code": 50013, "message": "Missing Permissions"}"#, {
                refused(403, 50013, "Missing Permissions")
            }),
            (404, "<b>\u{1b}", refused(404, 0, "Not Found")),
            (401, r#"{"code": 0, "message": "401: Unauthorized"}"#, {
                refused(401, 0, "401: Unauthorized")
            }),
            (400, r#"{"code": 1, "message": "<i>\n\u001b[1m"}"#, refused(400, 1, "i 1m")),
            (400, r#"{"code": 1, "message": "no MTIzNDU2Nzg5MDEyMzQ1.Ga"}"#, {
                refused(400, 1, "no withheld")
            }),
            (502, "", unknown("it answers 502 Bad Gateway")),
            (302, "", unknown("it answers 302 Found")),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(parse_body(status, text.as_bytes()), expected, "{status} {text}");
        }
    }

    /// The token of an interaction expires after 15 minutes, that of the bot does not.
    #[test]
    fn only_the_bots_own_token_counts_as_invalid() {
        for (text, expected) in [
            (r#"{"code": 0, "message": "401: Unauthorized"}"#, true),
            (r#"{"code": 50027, "message": "Invalid Webhook Token"}"#, false),
        ] {
            let error = parse_body(StatusCode::UNAUTHORIZED, text.as_bytes()).unwrap_err();
            assert_eq!(error.is_token_invalid(), expected, "{text}");
        }
    }

    #[test]
    fn calls_with_the_same_template_share_a_bucket_per_channel() {
        for (path, template, major_parameter) in [
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
            let route = RateLimitRoute {
                template: template.to_owned(),
                major_parameter: major_parameter.to_owned(),
            };
            assert_eq!(ApiRequest::get(path).route(), route, "{path}");
        }
    }
}
