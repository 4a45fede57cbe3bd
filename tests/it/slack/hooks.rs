//! Slack's events over HTTP: signed, answered when they are kept, and never twice.

use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::Sha256;

use crate::program::Program;
use crate::slack::harness::SlackHarness;
use aizuchi_harness::net::http;

const SECRET: &str = "8f742231b10e8888abcd99";

/// How a request is signed.
struct Signed<'a> {
    secret: &'a str,
    at: Timestamp,
    kind: &'a str,
    body: &'a str,
}

impl<'a> Signed<'a> {
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
            // A proxy in front of it has a name of its own.
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
async fn signed_events_are_heard_and_others_are_not() {
    let stage = SlackHarness::over_http(SECRET).await;
    let program = stage.home.start();
    let verification = json!({"type": "url_verification", "challenge": "3eZbrw1aB"}).to_string();
    let (status, answer) = Signed::json(&verification).send(&program).await;
    assert_eq!((status, &answer["challenge"]), (200, &json!("3eZbrw1aB")));
    let event = json!({"type": "event_callback", "team_id": "T0DEV00001", "event_id": "Ev1",
        "event": {"type": "message", "channel": stage.tea, "channel_type": "channel",
            "user": stage.mio, "text": format!("<@{}> hello?", stage.bot),
            "ts": format!("{}.000100", Timestamp::now().as_second())}});
    let event = event.to_string();
    let late = Timestamp::now() - jiff::SignedDuration::from_secs(400);
    for forged in [
        Signed { secret: "another", ..Signed::json(&event) },
        Signed { at: late, ..Signed::json(&event) },
    ] {
        assert_eq!(forged.send(&program).await.0, 401);
    }
    assert_eq!(stage.count("SELECT count(*) FROM messages").await, 0);
    for _ in 0..3 {
        assert_eq!(Signed::json(&event).send(&program).await.0, 200);
    }
    stage.posts(1).await;
    stage.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    assert_eq!(stage.slack.posts().len(), 1);
    assert_eq!(Signed::json("{").send(&program).await.0, 400);
    // Nothing else is open to whoever calls from elsewhere.
    let elsewhere = http().get(format!("{}/api/channels", program.address));
    let elsewhere = elsewhere.header("host", "aizuchi.example.com").send().await.unwrap();
    assert_eq!(elsewhere.status(), 403);
    assert_eq!(program.request("/ready").await.status(), 200);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_slash_command_is_answered_to_whoever_gives_it() {
    let stage = SlackHarness::over_http(SECRET).await;
    let program = stage.home.start();
    stage.until_kept("SELECT count(*) FROM channels WHERE workspace = 'T0DEV00001'", 2).await;
    for (channel, line, words) in [
        (
            stage.tea.as_str(),
            "",
            "In this channel, Aizuchi answers when it is mentioned, and joins",
        ),
        (&stage.tea, "why%3F", "I have decided nothing here yet"),
        (&stage.tea, "mute+2h", "I say nothing here until"),
        (&stage.tea, "sing", "Say `@Aizuchi` and one of these"),
        (&stage.tea, "mode+off", "Only an admin may order that."),
        (&stage.tea, "unmute", "I am not muted."),
        ("C0NOWHERE", "", "Aizuchi is not in this channel."),
    ] {
        let user = &stage.mio;
        let body = format!("command=%2Faizuchi&text={line}&channel_id={channel}&user_id={user}");
        let kind = "application/x-www-form-urlencoded";
        let (status, answer) = Signed { kind, ..Signed::json(&body) }.send(&program).await;
        assert_eq!((status, &answer["response_type"]), (200, &json!("ephemeral")));
        let text = answer["text"].as_str().unwrap();
        assert!(text.starts_with(words), "{text}");
    }
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn where_events_come_over_a_socket_nobody_else_may_bring_them() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    assert_eq!(Signed::json("{}").send(&program).await.0, 404);
    assert_eq!(program.stop(), Some(0));
}
