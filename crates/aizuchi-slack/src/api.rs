//! A client for Slack's Web API. Arguments are sent as a form, which every method accepts. [`SlackApiError`] tells the
//! caller what a failure means.

use std::time::Duration;

use aizuchi_http::body::{BodyError, MAX_PLATFORM_BODY_BYTES, read_body};
use aizuchi_http::json::parse_json;
use aizuchi_http::log_sentence::to_log_sentence;
use aizuchi_platform::call_error::{PlatformApi, PlatformCallError};
use anyhow::Context as _;
use jiff::SignedDuration;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::from_slack::non_empty_str;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Used when Slack rate-limits a call without sending `Retry-After`.
const DEFAULT_RETRY_AFTER: SignedDuration = SignedDuration::from_secs(30);

pub struct SlackApi {
    client: Client,
    /// The base URL, without a trailing slash.
    base: String,
}

/// Slack's Web API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlackWebApi {}

impl PlatformApi for SlackWebApi {
    const NAME: &'static str = "Slack";
    /// The code of an error.
    type Refusal = String;

    /// Slack's own clients treat the same codes as permanent.
    fn is_token_invalid(code: &String) -> bool {
        const PERMANENT: [&str; 9] = [
            "not_authed", "invalid_auth", "account_inactive", "user_removed_from_team",
            "team_disabled", "token_revoked", "token_expired", "not_allowed_token_type",
            "org_login_required",
        ];
        PERMANENT.contains(&code.as_str())
    }
}

pub type SlackApiError = PlatformCallError<SlackWebApi>;

/// Why a file cannot be read if Slack returns its sign-in page instead.
pub const NO_ACCESS: &str = "to sign in: the app lacks the scope files:read";

/// A downloaded file.
#[derive(Debug)]
pub struct SlackFile {
    pub bytes: Vec<u8>,
    /// Whether Slack declares it a web page.
    pub is_page: bool,
}

pub struct SlackApiResponse {
    pub body: Value,
    /// The scopes of the token, comma-separated, if the response lists them.
    pub scopes: Option<String>,
}

impl SlackApi {
    /// Creates a client. `call_timeout` includes connecting.
    pub fn new(base: &str, call_timeout: Duration) -> anyhow::Result<Self> {
        // Fails if a provider is installed already, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(call_timeout)
            // Following a redirect would send the token to another host.
            .redirect(Policy::none())
            .user_agent(concat!("aizuchi/", env!("CARGO_PKG_VERSION")))
            .build()
            .context("cannot prepare calls to Slack")?;
        Ok(Self { client, base: base.trim_end_matches('/').to_owned() })
    }

    /// Calls a method and returns the body of a successful response (`"ok": true`).
    pub async fn call(
        &self,
        token: &SecretString,
        method: &str,
        arguments: &[(&str, String)],
    ) -> Result<Value, SlackApiError> {
        self.call_with_scopes(token, method, arguments).await.map(|answer| answer.body)
    }

    /// Like [`SlackApi::call`], and also returns the token's scopes.
    pub async fn call_with_scopes(
        &self,
        token: &SecretString,
        method: &str,
        arguments: &[(&str, String)],
    ) -> Result<SlackApiResponse, SlackApiError> {
        let call = self.client.post(format!("{}/{method}", self.base));
        let call = call.bearer_auth(token.expose_secret()).form(arguments);
        let response = call.send().await.map_err(|error| SlackApiError::unanswered(&error))?;
        let (status, retry_after) = (response.status(), retry_after(&response));
        let scopes = scopes(&response);
        if status == StatusCode::TOO_MANY_REQUESTS {
            return Err(SlackApiError::RateLimited(retry_after.unwrap_or(DEFAULT_RETRY_AFTER)));
        }
        // Slack refuses with status 200; any other status may come from a proxy, after Slack has acted.
        if !status.is_success() {
            return Err(SlackApiError::OutcomeUnknown(format!("it answers {status}")));
        }
        let body = read_body(response, MAX_PLATFORM_BODY_BYTES).await;
        let body = body.map_err(|error| SlackApiError::OutcomeUnknown(error.to_string()))?;
        let body = parse_json(&body).map_err(|_| SlackApiError::Malformed("it is not JSON"))?;
        parse_body(body, retry_after).map(|body| SlackApiResponse { body, scopes })
    }

    /// Posts to the `response_url` of a slash command or a click. The request is sent without a token, and only to
    /// Slack's hosts.
    pub async fn post_to_response_url(&self, url: &str, body: &Value) -> Result<(), SlackApiError> {
        let Some(url) = self.allowed_url(url) else {
            return Err(SlackApiError::Refused("an address that is not Slack's".to_owned()));
        };
        let call = self.client.post(url).json(body);
        let response = call.send().await.map_err(|error| SlackApiError::unanswered(&error))?;
        let retry_after = retry_after(&response);
        match response.status() {
            status if status.is_success() => Ok(()),
            StatusCode::TOO_MANY_REQUESTS => {
                Err(SlackApiError::RateLimited(retry_after.unwrap_or(DEFAULT_RETRY_AFTER)))
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                Err(SlackApiError::Unreachable("it is not available".to_owned()))
            }
            status if status.is_client_error() => Err(SlackApiError::Refused(status.to_string())),
            status => Err(SlackApiError::OutcomeUnknown(format!("it answers {status}"))),
        }
    }

    /// Fetches a file of at most `max_bytes`. The token is sent to Slack only, never to the target of a redirect.
    pub async fn fetch_file(
        &self,
        token: &SecretString,
        url: &str,
        max_bytes: usize,
    ) -> Result<SlackFile, SlackApiError> {
        let Some(url) = self.allowed_url(url) else {
            return Err(SlackApiError::Refused("an address that is not Slack's".to_owned()));
        };
        let call = self.client.get(url).bearer_auth(token.expose_secret());
        let response = call.send().await.map_err(|error| SlackApiError::unanswered(&error))?;
        match response.status() {
            status if status.is_success() => {}
            StatusCode::TOO_MANY_REQUESTS => {
                let wait = retry_after(&response).unwrap_or(DEFAULT_RETRY_AFTER);
                return Err(SlackApiError::RateLimited(wait));
            }
            // The redirect leads to Slack's sign-in page.
            status if status.is_redirection() => {
                return Err(SlackApiError::Refused(NO_ACCESS.to_owned()));
            }
            status if status.is_client_error() => {
                return Err(SlackApiError::Refused(status.to_string()));
            }
            // A download changes nothing, so it may always be repeated.
            status => return Err(SlackApiError::Unreachable(format!("it answers {status}"))),
        }
        let content_type = response.headers().get(CONTENT_TYPE);
        let is_page = content_type.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
        match read_body(response, max_bytes).await {
            Ok(bytes) => Ok(SlackFile { bytes, is_page }),
            Err(error @ BodyError::TooLarge) => Err(SlackApiError::Refused(error.to_string())),
            Err(error @ BodyError::Broken(_)) => Err(SlackApiError::Unreachable(error.to_string())),
        }
    }

    /// Parses the URL if it belongs to Slack or to the host of the configured API.
    fn allowed_url(&self, url: &str) -> Option<Url> {
        let url = Url::parse(url).ok()?;
        let host = url.host_str()?;
        // The dot in the suffix keeps out a host like `evilslack.com`.
        let is_slack = host == "slack.com" || host.ends_with(".slack.com");
        // The whole origin counts: another port of the same host is another service and must not get the token.
        let is_base = Url::parse(&self.base).is_ok_and(|base| base.origin() == url.origin());
        ((is_slack && url.scheme() == "https") || is_base).then_some(url)
    }
}

fn parse_body(body: Value, retry_after: Option<SignedDuration>) -> Result<Value, SlackApiError> {
    if body["ok"] == true {
        return Ok(body);
    }
    let Some(code) = body["error"].as_str() else {
        return Err(SlackApiError::Malformed("it is neither yes nor no"));
    };
    Err(match code {
        "ratelimited" | "rate_limited" => {
            SlackApiError::RateLimited(retry_after.unwrap_or(DEFAULT_RETRY_AFTER))
        }
        // Slack documents that the operation may have partially succeeded.
        "internal_error" | "fatal_error" | "request_timeout" => {
            SlackApiError::OutcomeUnknown(format!("it says {code}"))
        }
        // While a workspace is moved to an Enterprise organization, all of its calls fail.
        "service_unavailable" | "team_added_to_org" | "accesslimited" => {
            SlackApiError::Unreachable(format!("it says {code}"))
        }
        "missing_scope" => match body["needed"].as_str() {
            Some(needed) => {
                tracing::warn!(
                    platform = "slack",
                    scope = sanitize_code(needed),
                    "the Slack app lacks a scope"
                );
                SlackApiError::Refused(code.to_owned())
            }
            None => SlackApiError::Refused(code.to_owned()),
        },
        code => SlackApiError::Refused(sanitize_code(code)),
    })
}

/// Keeps only plain characters of an error code, because it comes from the network and is logged and shown.
fn sanitize_code(code: &str) -> String {
    let is_plain =
        |character: &char| character.is_ascii_alphanumeric() || "_:.,- ".contains(*character);
    to_log_sentence(code).chars().filter(is_plain).take(80).collect()
}

/// Returns the items of a page's list.
pub fn page_items<'a>(page: &'a Value, list: &str) -> Result<&'a Vec<Value>, SlackApiError> {
    page[list].as_array().ok_or(SlackApiError::Malformed("it lacks its list"))
}

/// Returns the cursor of the next page, if any. It is an error if it equals `cursor`, the one that this page was
/// requested with.
pub fn cursor_after(
    page: &Value,
    cursor: Option<&String>,
) -> Result<Option<String>, SlackApiError> {
    let next = next_cursor(page);
    match next.is_some() && next.as_ref() == cursor {
        true => Err(SlackApiError::Malformed("its list has no end")),
        false => Ok(next),
    }
}

/// Returns the cursor of the next page, if any.
pub fn next_cursor(page: &Value) -> Option<String> {
    non_empty_str(&page["response_metadata"]["next_cursor"]).map(str::to_owned)
}

fn retry_after(response: &Response) -> Option<SignedDuration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse::<f64>().ok()?;
    // Capped at one day.
    seconds
        .is_finite()
        .then(|| aizuchi_model::clock::duration_from_seconds(seconds.clamp(0.0, 86_400.0)))
}

fn scopes(response: &Response) -> Option<String> {
    let scopes = response.headers().get("x-oauth-scopes")?;
    scopes.to_str().ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use aizuchi_harness::endless::{ENDLESS_BODIES, EndlessBody, EndlessServer};
    use aizuchi_harness::recording::RecordingServer;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn an_answer_without_an_end_is_given_up() {
        for body in ENDLESS_BODIES {
            let server = EndlessServer::start(200, body).await;
            let api = SlackApi::new(&server.base, Duration::from_secs(600)).unwrap();
            let error = api.call(&SecretString::from("xoxb-1"), "auth.test", &[]).await;
            let expected = SlackApiError::OutcomeUnknown("the answer is too large".to_owned());
            assert_eq!(error, Err(expected), "{body:?}");
            server.closed(1).await;
        }
        let server = EndlessServer::start(500, EndlessBody::Chunked).await;
        let api = SlackApi::new(&server.base, Duration::from_secs(600)).unwrap();
        let error = api.call(&SecretString::from("xoxb-1"), "auth.test", &[]).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "Slack's answer is not known: it answers 500 Internal Server Error"
        );
        server.closed(1).await;
    }

    #[tokio::test]
    async fn a_file_is_fetched_with_the_token_from_slack_alone() {
        let token = SecretString::from("xoxb-1");
        let elsewhere = RecordingServer::start("200 OK", &[], "a boat").await;
        let slack = RecordingServer::start("200 OK", &[("content-type", "image/png")], "PNG").await;
        let api = SlackApi::new(&slack.base, Duration::from_secs(600)).unwrap();
        let fetch = |url: String, max_bytes| {
            let (api, token) = (&api, &token);
            async move { api.fetch_file(token, &url, max_bytes).await.map(|file| file.bytes) }
        };
        let refused = |why: &str| Err(SlackApiError::Refused(why.to_owned()));
        let own = format!("{}/files-pri/T1-F1/boat.png", slack.base);
        assert_eq!(fetch(own.clone(), 3).await, Ok(b"PNG".to_vec()));
        assert_eq!(fetch(own, 2).await, refused("the answer is too large"));
        assert!(slack.heads().iter().all(|head| head.contains("authorization: Bearer xoxb-1")));

        let leading = format!("{}/boat.png", elsewhere.base);
        let leading = RecordingServer::start("302 Found", &[("location", &*leading)], "").await;
        let api = SlackApi::new(&leading.base, Duration::from_secs(600)).unwrap();
        let fetched = api.fetch_file(&token, &format!("{}/F1", leading.base), 100).await;
        assert_eq!(fetched.map(|file| file.bytes), refused(NO_ACCESS));
        let foreign = api.fetch_file(&token, &format!("{}/F1", elsewhere.base), 100).await;
        assert_eq!(foreign.map(|file| file.bytes), refused("an address that is not Slack's"));
        assert_eq!((leading.heads().len(), elsewhere.heads()), (1, Vec::new()));
    }

    #[test]
    fn response_urls_must_belong_to_slack() {
        let api = SlackApi::new("http://127.0.0.1:4000/api/", Duration::from_secs(1)).unwrap();
        for (url, is_allowed) in [
            ("https://hooks.slack.com/commands/T1/2/3", true),
            ("http://127.0.0.1:4000/commands/1", true),
            ("http://hooks.slack.com/commands/T1/2/3", false),
            ("http://127.0.0.1:4001/commands/1", false),
            ("https://hooks.slack.com@evil.example/commands", false),
            ("https://evilslack.com/commands", false),
            ("https://slack.com.evil.example/commands", false),
            ("commands", false),
            ("", false),
        ] {
            assert_eq!(api.allowed_url(url).is_some(), is_allowed, "{url}");
        }
    }

    #[test]
    fn an_error_code_decides_what_the_caller_does_next() {
        let second = SignedDuration::from_secs(7);
        for (body, expected) in [
            (json!({"ok": true, "ts": "1"}), Ok(json!({"ok": true, "ts": "1"}))),
            (
                json!({"ok": false, "error": "is_archived"}),
                Err(SlackApiError::Refused("is_archived".to_owned())),
            ),
            (json!({"ok": false, "error": "ratelimited"}), Err(SlackApiError::RateLimited(second))),
            (
                json!({"ok": false, "error": "fatal_error"}),
                Err(SlackApiError::OutcomeUnknown("it says fatal_error".to_owned())),
            ),
            (
                json!({"ok": false, "error": "service_unavailable"}),
                Err(SlackApiError::Unreachable("it says service_unavailable".to_owned())),
            ),
            (json!([1]), Err(SlackApiError::Malformed("it is neither yes nor no"))),
            (
                json!({"ok": false, "error": "<b>\n\u{1b}[31m"}),
                Err(SlackApiError::Refused("b 31m".to_owned())),
            ),
            (
                json!({"ok": false, "error": "no xoxb-12-34-abcd"}),
                Err(SlackApiError::Refused("no withheld".to_owned())),
            ),
        ] {
            assert_eq!(parse_body(body.clone(), Some(second)), expected, "{body}");
        }
    }
}
