//! Slack's webhooks: signatures are checked, and an event is acknowledged after it is stored.

use aizuchi_harness::net::http;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::Sha256;

use crate::program::Program;
use crate::slack::harness::SlackHarness;

const SECRET: &str = "8f742231b10e8888abcd99";

/// A request from Slack and its signature.
struct SignedRequest<'a> {
    secret: &'a str,
    at: Timestamp,
    kind: &'a str,
    body: &'a str,
}

impl<'a> SignedRequest<'a> {
    fn json(body: &'a str) -> Self {
        Self { secret: SECRET, at: Timestamp::now(), kind: "application/json", body }
    }

    async fn send(&self, program: &Program) -> (u16, Value) {
        let time = self.at.as_second().to_string();
        let mut hash = Hmac::<Sha256>::new_from_slice(self.secret.as_bytes()).unwrap();
        hash.update(format!("v0:{time}:{}", self.body).as_bytes());
        let digest = hash.finalize().into_bytes();
        let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let request = http()
            .post(format!("{}/slack/events", program.address))
            // Through a proxy, the host differs from the program's own address.
            .header("host", "aizuchi.example.com")
            .header("content-type", self.kind)
            .header("x-slack-request-timestamp", time)
            .header("x-slack-signature", format!("v0={digits}"))
            .body(self.body.to_owned());
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        (status, answer.json().await.unwrap_or(Value::Null))
    }
}

#[tokio::test]
async fn only_signed_events_are_accepted() {
    let harness = SlackHarness::over_http(SECRET).await;
    let program = harness.home.start();
    let verification = json!({"type": "url_verification", "challenge": "3eZbrw1aB"}).to_string();
    let (status, answer) = SignedRequest::json(&verification).send(&program).await;
    assert_eq!((status, &answer["challenge"]), (200, &json!("3eZbrw1aB")));
    let text = format!("<@{}> hello?", harness.bot);
    let event = |ts: &str| {
        let event = json!({"type": "event_callback", "team_id": "T0DEV00001", "event_id": "Ev1",
            "event": {"type": "message", "channel": harness.tea, "channel_type": "channel",
                "user": harness.mio, "text": text, "ts": ts}});
        event.to_string()
    };
    // The message of a forged event is in no history, so it cannot be stored any other way.
    let forged_event = event(&format!("{}.000100", Timestamp::now().as_second()));
    let late = Timestamp::now() - jiff::SignedDuration::from_secs(400);
    for forged in [
        SignedRequest { secret: "another", ..SignedRequest::json(&forged_event) },
        SignedRequest { at: late, ..SignedRequest::json(&forged_event) },
    ] {
        assert_eq!(forged.send(&program).await.0, 401);
    }
    // The backfill has read the channels before the message is there, so the event brings it.
    harness.until_read().await;
    assert_eq!(harness.count("SELECT count(*) FROM messages").await, 0);
    let ts = harness.slack.send_message(&harness.tea, &harness.mio, &text).unwrap();
    let event = event(&ts.to_string());
    for _ in 0..3 {
        assert_eq!(SignedRequest::json(&event).send(&program).await.0, 200);
    }
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    assert_eq!(harness.slack.posts().len(), 1);
    assert_eq!(SignedRequest::json("{").send(&program).await.0, 400);
    // Other pages are closed to requests with a foreign host.
    let foreign = http().get(format!("{}/api/channels", program.address));
    let foreign = foreign.header("host", "aizuchi.example.com").send().await.unwrap();
    assert_eq!(foreign.status(), 403);
    assert_eq!(program.request("/ready").await.status(), 200);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_slash_command_is_answered_to_its_user() {
    let harness = SlackHarness::over_http(SECRET).await;
    let program = harness.home.start();
    harness.until_kept("SELECT count(*) FROM channels WHERE workspace = 'T0DEV00001'", 2).await;
    for (channel, arguments, expected) in [
        (harness.tea.as_str(), "", "In this channel I answer when I’m mentioned, and join"),
        (&harness.tea, "why%3F", "I haven’t decided anything here yet"),
        (&harness.tea, "mute+2h", "I’ll stay silent here until"),
        (&harness.tea, "sing", "Say `@Aizuchi` and one of these"),
        (&harness.tea, "mode+off", "Only an admin can do that."),
        (&harness.tea, "unmute", "I’m not muted any more."),
        ("C0NOWHERE", "", "I’m not in this channel."),
    ] {
        let user = &harness.mio;
        let body =
            format!("command=%2Faizuchi&text={arguments}&channel_id={channel}&user_id={user}");
        let kind = "application/x-www-form-urlencoded";
        let (status, answer) =
            SignedRequest { kind, ..SignedRequest::json(&body) }.send(&program).await;
        // A command that silences the bot for everyone is announced to everyone.
        let is_for_all = matches!(arguments, "mute+2h" | "unmute");
        let kind = if is_for_all { "in_channel" } else { "ephemeral" };
        assert_eq!((status, &answer["response_type"]), (200, &json!(kind)), "{arguments}");
        let text = answer["text"].as_str().unwrap();
        assert!(text.starts_with(expected), "{text}");
    }
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn web_hooks_are_closed_in_socket_mode() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    assert_eq!(SignedRequest::json("{}").send(&program).await.0, 404);
    assert_eq!(program.stop(), Some(0));
}

/// After a reload only the new secret is valid.
#[tokio::test]
async fn a_signing_secret_is_replaced_without_a_restart() {
    const NEW_SECRET: &str = "0f9d4c7be21a6638ff00aa";
    let harness = SlackHarness::over_http(SECRET).await;
    let program = harness.home.start();
    let verification = json!({"type": "url_verification", "challenge": "3eZbrw1aB"}).to_string();
    let with_new = || SignedRequest { secret: NEW_SECRET, ..SignedRequest::json(&verification) };
    assert_eq!(SignedRequest::json(&verification).send(&program).await.0, 200);
    assert_eq!(with_new().send(&program).await.0, 401);
    harness.home.replace(SECRET, NEW_SECRET);
    harness.reload_until(&program, r#""changed":"slack.signing_secret"#, 1).await;
    assert_eq!(with_new().send(&program).await.0, 200);
    assert_eq!(SignedRequest::json(&verification).send(&program).await.0, 401);
    assert_eq!(program.stop(), Some(0));
}
