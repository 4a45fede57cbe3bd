//! Tests of the fake Slack. `scripts/peers` checks with Slack's own clients that it behaves like Slack.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::file::FakeFile;
use aizuchi_fakes::slack::channel::{ChannelKind, NewChannel};
use aizuchi_fakes::slack::delivery::{AckStatus, ConnectBehavior, PayloadKind};
use aizuchi_fakes::slack::driver::{AfterDisconnect, ConnectionCounts, DisconnectReason};
use aizuchi_fakes::slack::fault::Fault;
use aizuchi_fakes::slack::message::NewFakeMessage;
use aizuchi_fakes::slack::request_url::UrlVerification;
use aizuchi_fakes::slack::{FakeSlack, FakeSlackSettings, serve};
use aizuchi_harness::net::http;
use aizuchi_model::clock::Clock;
use futures_util::{SinkExt, StreamExt};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A running fake Slack with one channel, `#tea`, whose members are Mio and the bot.
struct Harness {
    slack: Arc<FakeSlack>,
    api: String,
    http: reqwest::Client,
    bot: String,
    mio: String,
    tea: String,
    _stop: DropGuard,
}

/// The most that a test waits for something that should happen at once.
const TIMEOUT: Duration = Duration::from_secs(60);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

impl Harness {
    /// A fake whose clock stands still, so that no event is redelivered because the machine is slow.
    async fn new() -> Self {
        Self::with_clock(still_clock()).await
    }

    async fn with_clock(clock: Clock) -> Self {
        Self::with(FakeSlackSettings { clock, ..FakeSlackSettings::default() }).await
    }

    async fn with(settings: FakeSlackSettings) -> Self {
        let slack = FakeSlack::new(settings);
        let bot = slack.bot_user();
        let mio = slack.add_user("Mio");
        let new = NewChannel {
            name: "tea".to_owned(),
            members: vec![mio.clone(), bot.clone()],
            ..NewChannel::default()
        };
        let tea = slack.add_channel(new).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let api = format!("http://{}/api", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        tokio::spawn(serve(listener, slack.clone(), stop.clone()));
        Self { slack, api, http: http(), bot, mio, tea, _stop: stop.drop_guard() }
    }

    async fn call(&self, method: &str, arguments: Value) -> Value {
        self.send(method, &arguments).await.unwrap().json().await.unwrap()
    }

    async fn send(&self, method: &str, arguments: &Value) -> reqwest::Result<reqwest::Response> {
        let url = format!("{}/{method}", self.api);
        self.http.post(url).bearer_auth("xoxb-dev").json(arguments).send().await
    }

    async fn post(&self, text: &str) -> Value {
        self.call("chat.postMessage", json!({ "channel": self.tea, "text": text })).await
    }

    async fn connect(&self) -> Socket {
        let url = format!("{}/apps.connections.open", self.api);
        let response = self.http.post(url).bearer_auth("xapp-dev").send().await.unwrap();
        let response: Value = response.json().await.unwrap();
        let url = response["url"].as_str().expect("the response has a URL");
        tokio_tungstenite::connect_async(url).await.unwrap().0
    }

    /// A socket that has received its `hello`.
    async fn listen(&self) -> Socket {
        let mut socket = self.connect().await;
        assert_eq!(next_frame(&mut socket).await["type"], "hello");
        socket
    }

    async fn wait_until(&self, condition: impl Fn(&FakeSlack) -> bool) {
        let mut changed = self.slack.subscribe();
        let holds = async {
            while !condition(&self.slack) {
                changed.changed().await.unwrap();
            }
        };
        tokio::time::timeout(TIMEOUT, holds).await.expect("the condition holds in time");
    }
}

/// A clock that moves only when a test moves it.
fn still_clock() -> Clock {
    Clock::manual(Timestamp::from_second(1_800_000_000).unwrap())
}

/// The next text frame.
async fn next_frame(socket: &mut Socket) -> Value {
    let frame = async {
        loop {
            match socket.next().await.unwrap().unwrap() {
                Message::Text(text) => return serde_json::from_str(text.as_str()).unwrap(),
                Message::Ping(_) => {}
                other => panic!("{other:?}"),
            }
        }
    };
    tokio::time::timeout(TIMEOUT, frame).await.expect("a frame comes in time")
}

async fn ack(socket: &mut Socket, envelope: &Value) {
    let ack = json!({ "envelope_id": envelope["envelope_id"] }).to_string();
    socket.send(Message::text(ack)).await.unwrap();
}

fn texts(messages: &Value) -> Vec<&str> {
    messages.as_array().unwrap().iter().map(|message| message["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_message_has_one_event_and_a_mention_two() {
    let harness = Harness::new().await;
    let mut socket = harness.listen().await;
    let text = format!("<@{}> tea?", harness.bot);
    let ts = harness.slack.send_message(&harness.tea, &harness.mio, &text).unwrap();
    let (message, mention) = (next_frame(&mut socket).await, next_frame(&mut socket).await);
    let (message, mention) = (&message["payload"], &mention["payload"]);
    assert_eq!(message["event"]["type"], "message");
    assert_eq!(message["event"]["channel_type"], "channel");
    assert_eq!(mention["event"]["type"], "app_mention");
    assert_eq!(mention["event"]["ts"], json!(ts));
    assert_eq!(message["event"]["ts"], json!(ts));
    assert_ne!(message["event_id"], mention["event_id"]);
}

#[tokio::test]
async fn an_unacknowledged_event_is_redelivered_until_the_retries_are_used_up() {
    let clock = still_clock();
    let harness = Harness::with_clock(clock.clone()).await;
    let mut socket = harness.listen().await;
    harness.slack.send_message(&harness.tea, &harness.mio, "hello").unwrap();
    let first = next_frame(&mut socket).await;
    assert_eq!(first["retry_attempt"], 0);
    let mut ids = vec![first["envelope_id"].clone()];
    for (wait, attempt) in [(3, 1), (3 + 60, 2), (3 + 300, 3)] {
        clock.advance_to(clock.now() + SignedDuration::from_secs(3));
        harness.wait_until(|slack| timed_out_count(slack) == attempt).await;
        clock.advance_to(clock.now() + SignedDuration::from_secs(wait - 3));
        let again = next_frame(&mut socket).await;
        assert_eq!(again["retry_attempt"], json!(attempt));
        assert_eq!(again["retry_reason"], "timeout");
        assert_eq!(again["payload"], first["payload"]);
        assert!(!ids.contains(&again["envelope_id"]), "each attempt has an envelope id of its own");
        ids.push(again["envelope_id"].clone());
    }
    clock.advance_to(clock.now() + SignedDuration::from_secs(3));
    harness.wait_until(|slack| slack.dropped_envelopes().len() == 1).await;
    ack(&mut socket, &json!({ "envelope_id": ids[3] })).await;
    harness
        .wait_until(|slack| {
            matches!(slack.unacked_deliveries().last().unwrap().ack_status, AckStatus::Late)
        })
        .await;
    assert_eq!(harness.slack.acked_deliveries(), []);
}

fn timed_out_count(slack: &FakeSlack) -> usize {
    let deliveries = slack.deliveries().into_iter();
    deliveries.filter(|delivery| delivery.ack_status == AckStatus::TimedOut).count()
}

#[tokio::test]
async fn an_acknowledged_event_is_not_redelivered() {
    let harness = Harness::new().await;
    let mut socket = harness.listen().await;
    harness.slack.send_message(&harness.tea, &harness.mio, "one").unwrap();
    let one = next_frame(&mut socket).await;
    ack(&mut socket, &one).await;
    harness.wait_until(|slack| slack.acked_deliveries().len() == 1).await;
    harness.slack.redeliver();
    harness.slack.send_message(&harness.tea, &harness.mio, "two").unwrap();
    assert_eq!(next_frame(&mut socket).await["payload"]["event"]["text"], "two");
}

#[tokio::test]
async fn each_event_goes_to_one_of_the_sockets() {
    let harness = Harness::new().await;
    let (mut one, mut two) = (harness.listen().await, harness.listen().await);
    for text in ["a", "b"] {
        harness.slack.send_message(&harness.tea, &harness.mio, text).unwrap();
    }
    let first = next_frame(&mut one).await["payload"]["event"]["text"].clone();
    let second = next_frame(&mut two).await["payload"]["event"]["text"].clone();
    let mut both = [first, second];
    both.sort_by_key(Value::to_string);
    assert_eq!(both, ["a", "b"]);
}

#[tokio::test]
async fn sockets_can_be_disconnected_stalled_and_reset() {
    let harness = Harness::new().await;
    let mut old = harness.listen().await;
    harness.slack.reset_min_open();
    harness.slack.request_disconnect(DisconnectReason::Warning, AfterDisconnect::Stay);
    let frame = next_frame(&mut old).await;
    assert_eq!((&frame["type"], &frame["reason"]), (&json!("disconnect"), &json!("warning")));
    let mut new = harness.listen().await;
    old.close(None).await.unwrap();
    harness.wait_until(|slack| slack.connection_counts().open == 1).await;
    assert_eq!(harness.slack.connection_counts().min_open, 1);
    harness.slack.stall_connections();
    assert_eq!(harness.slack.connection_counts(), ConnectionCounts { open: 0, min_open: 0 });
    harness.slack.send_message(&harness.tea, &harness.mio, "into the void").unwrap();
    let mut newest = harness.listen().await;
    harness.slack.redeliver();
    harness.slack.redeliver();
    assert_eq!(next_frame(&mut newest).await["payload"]["event"]["text"], "into the void");
    harness.slack.reset_connections();
    for socket in [&mut new, &mut newest] {
        let ended = tokio::time::timeout(TIMEOUT, socket.next()).await;
        let ended = ended.expect("the socket ends in time");
        let Some(Err(tungstenite::Error::Io(error))) = ended else {
            panic!("a reset without a close frame: {ended:?}");
        };
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
    harness.wait_until(|slack| slack.read(|state| state.dispatcher.connections.is_empty())).await;
}

#[tokio::test]
async fn a_socket_may_open_and_never_say_hello() {
    let harness = Harness::new().await;
    harness.slack.set_connect_behavior(ConnectBehavior::Silence);
    let mut silent = harness.connect().await;
    harness.wait_until(|slack| slack.connection_counts().open == 1).await;
    harness.slack.send_message(&harness.tea, &harness.mio, "anybody?").unwrap();
    harness.slack.request_disconnect(DisconnectReason::RefreshRequested, AfterDisconnect::Close);
    assert_eq!(
        next_frame(&mut silent).await["type"],
        "disconnect",
        "there was no hello and no event before"
    );
}

#[tokio::test]
async fn a_socket_above_the_limit_is_disconnected() {
    let harness =
        Harness::with(FakeSlackSettings { max_connections: 1, ..FakeSlackSettings::default() })
            .await;
    let _one = harness.listen().await;
    let mut other = harness.connect().await;
    assert_eq!(next_frame(&mut other).await["reason"], "too_many_websockets");
}

#[tokio::test]
async fn a_post_is_stored_with_its_metadata() {
    let harness = Harness::new().await;
    let mut socket = harness.listen().await;
    let metadata = json!({ "event_type": "said", "event_payload": { "key": "k1" } });
    let arguments = json!({
        "channel": harness.tea,
        "text": "tea it is",
        "metadata": metadata,
        "unfurl_links": false,
    });
    let response = harness.call("chat.postMessage", arguments).await;
    let event = next_frame(&mut socket).await["payload"]["event"].clone();
    assert_eq!(event["ts"], response["ts"]);
    assert_eq!(event["user"], json!(harness.bot));
    assert!(event["bot_id"].is_string() && event["app_id"].is_string(), "{event}");
    harness.slack.send_message(&harness.tea, &harness.mio, "fine").unwrap();
    let posts = harness.slack.posts();
    assert_eq!(posts.len(), 1);
    assert_eq!(posts[0].arguments["unfurl_links"], json!(false));
    let arguments = json!({ "channel": harness.tea });
    let short = harness.call("conversations.history", arguments).await;
    assert_eq!(short["messages"][0].get("metadata"), None);
    assert_eq!(short["messages"][1]["metadata"], json!({ "event_type": "said" }));
    let arguments = json!({ "channel": harness.tea, "include_all_metadata": true });
    let full = harness.call("conversations.history", arguments).await;
    assert_eq!(full["messages"][1]["metadata"], metadata);
}

#[tokio::test]
async fn history_is_paged_newest_first_without_replies() {
    let harness = Harness::new().await;
    let parent = harness.slack.send_message(&harness.tea, &harness.mio, "1").unwrap();
    let reply = |text: &str, is_broadcast| NewFakeMessage {
        thread: Some(parent),
        is_broadcast,
        ..NewFakeMessage::new(&harness.tea, &harness.mio, text)
    };
    for (text, is_broadcast) in [("1a", false), ("1b", true), ("1c", false)] {
        harness.slack.send_message_with(reply(text, is_broadcast)).unwrap();
    }
    harness.slack.send_message(&harness.tea, &harness.mio, "2").unwrap();
    let mut arguments = json!({ "channel": harness.tea, "limit": 2 });
    let first = harness.call("conversations.history", arguments.clone()).await;
    assert_eq!((texts(&first["messages"]), &first["has_more"]), (vec!["2", "1b"], &json!(true)));
    arguments["cursor"] = first["response_metadata"]["next_cursor"].clone();
    let second = harness.call("conversations.history", arguments.clone()).await;
    assert_eq!((texts(&second["messages"]), &second["has_more"]), (vec!["1"], &json!(false)));
    assert_eq!(second["messages"][0]["reply_count"], 3);
    arguments["cursor"] = json!("nonsense");
    let error = harness.call("conversations.history", arguments).await;
    assert_eq!(error, json!({ "ok": false, "error": "invalid_cursor" }));
    let arguments = json!({ "channel": harness.tea, "ts": parent });
    let thread = harness.call("conversations.replies", arguments).await;
    assert_eq!(texts(&thread["messages"]), ["1", "1a", "1b", "1c"]);
    let mut arguments = json!({ "channel": harness.tea, "oldest": parent, "inclusive": true });
    let after = harness.call("conversations.history", arguments.clone()).await;
    assert_eq!(texts(&after["messages"]), ["2", "1b", "1"]);
    // Without `latest`, the pages go forward.
    arguments["limit"] = json!(2);
    let first = harness.call("conversations.history", arguments.clone()).await;
    assert_eq!((texts(&first["messages"]), &first["has_more"]), (vec!["1b", "1"], &json!(true)));
    arguments["cursor"] = first["response_metadata"]["next_cursor"].clone();
    let second = harness.call("conversations.history", arguments).await;
    assert_eq!((texts(&second["messages"]), &second["has_more"]), (vec!["2"], &json!(false)));
}

#[tokio::test]
async fn messages_are_edited_deleted_and_leave_tombstones() {
    let harness = Harness::new().await;
    let mut socket = harness.listen().await;
    let ts = harness.slack.send_message(&harness.tea, &harness.mio, "teh").unwrap();
    harness.slack.edit_message(&harness.tea, ts, "tea").unwrap();
    let reply = NewFakeMessage {
        thread: Some(ts),
        ..NewFakeMessage::new(&harness.tea, &harness.mio, "yes")
    };
    let reply = harness.slack.send_message_with(reply).unwrap();
    harness.slack.delete_message(&harness.tea, ts).unwrap();
    harness.slack.delete_message(&harness.tea, reply).unwrap();
    let mut events = Vec::new();
    for _ in 0..5 {
        events.push(next_frame(&mut socket).await["payload"]["event"].clone());
    }
    let subtypes: Vec<&str> =
        events.iter().map(|event| event["subtype"].as_str().unwrap_or("")).collect();
    assert_eq!(subtypes, ["", "message_changed", "", "message_changed", "message_deleted"]);
    assert_eq!(events[1]["previous_message"]["text"], "teh");
    assert_eq!(events[1]["message"]["text"], "tea");
    assert_eq!(events[3]["message"]["subtype"], "tombstone");
    assert_eq!(events[4]["deleted_ts"], json!(reply));
}

#[tokio::test]
async fn channels_that_the_bot_is_not_in_are_hidden_from_it() {
    let harness = Harness::new().await;
    let mut socket = harness.listen().await;
    let new = |name: &str, kind| NewChannel {
        name: name.to_owned(),
        kind,
        members: vec![harness.mio.clone()],
        ..NewChannel::default()
    };
    let secret = harness.slack.add_channel(new("secret", ChannelKind::Private)).unwrap();
    let garden = harness.slack.add_channel(new("garden", ChannelKind::Public)).unwrap();
    for channel in [&secret, &garden] {
        harness.slack.send_message(channel, &harness.mio, "not for bots").unwrap();
    }
    harness.slack.send_message(&harness.tea, &harness.mio, "for bots").unwrap();
    assert_eq!(next_frame(&mut socket).await["payload"]["event"]["text"], "for bots");
    for (channel, error) in [(&secret, "channel_not_found"), (&garden, "not_in_channel")] {
        let response = harness.call("conversations.history", json!({ "channel": channel })).await;
        assert_eq!(response, json!({ "ok": false, "error": error }));
    }
    harness.call("conversations.join", json!({ "channel": garden })).await;
    let joined = next_frame(&mut socket).await["payload"]["event"].clone();
    assert_eq!(joined["type"], "member_joined_channel");
    let response = harness.call("conversations.history", json!({ "channel": garden })).await;
    assert_eq!(response["ok"], true);
}

#[tokio::test]
async fn a_fault_applies_to_one_call() {
    let harness = Harness::new().await;
    let arguments = json!({ "channel": harness.tea, "text": "hello" });
    for (fault, posts) in [(Fault::ResetBefore, 0), (Fault::ResetAfter, 1)] {
        harness.slack.inject_fault("chat.postMessage", fault.clone());
        let broken = harness.send("chat.postMessage", &arguments).await;
        assert!(broken.is_err(), "{fault:?}");
        assert_eq!(harness.slack.posts().len(), posts, "{fault:?}");
    }
    harness.slack.inject_fault("chat.postMessage", Fault::rate_limited(7));
    let limited = harness.send("chat.postMessage", &arguments).await.unwrap();
    assert_eq!(
        (limited.status().as_u16(), &limited.headers()["retry-after"]),
        (429, &"7".parse().unwrap())
    );
    harness.slack.inject_fault("chat.postMessage", Fault::error("restricted_action"));
    assert_eq!(harness.post("hello").await["error"], "restricted_action");
    for fault in [Fault::Status(503), Fault::Garbage] {
        harness.slack.inject_fault("chat.postMessage", fault);
        let response = harness.send("chat.postMessage", &arguments).await.unwrap();
        assert!(response.json::<Value>().await.is_err());
    }
    assert_eq!(harness.post("hello").await["ok"], true);
    assert_eq!(harness.slack.posts().len(), 2);
}

#[tokio::test]
async fn a_call_hangs_until_it_is_released() {
    let harness = Harness::new().await;
    for (fault, before, after) in [
        (Fault::HangBefore(Hang::UntilReleased), 0, 1),
        (Fault::HangAfter(Hang::UntilReleased), 2, 2),
    ] {
        harness.slack.inject_fault("chat.postMessage", fault);
        let release = async {
            harness.wait_until(|slack| slack.calls("chat.postMessage").len() == after).await;
            harness.wait_until(|slack| slack.posts().len() == before).await;
            harness.slack.release_hanging();
        };
        let (response, ()) = tokio::join!(harness.post("hello"), release);
        assert_eq!(response["ok"], true);
        assert_eq!(harness.slack.posts().len(), after);
    }
}

#[tokio::test]
async fn a_late_commit_does_not_need_its_client() {
    let clock = still_clock();
    let harness = Harness::with_clock(clock.clone()).await;
    let late = Fault::CommitLater { after: SignedDuration::from_secs(40), status: Some(504) };
    harness.slack.inject_fault("chat.postMessage", late);
    let arguments = json!({ "channel": harness.tea, "text": "late" });
    let response = harness.send("chat.postMessage", &arguments).await.unwrap();
    assert_eq!((response.status().as_u16(), harness.slack.posts().len()), (504, 0));
    clock.advance_to(clock.now() + SignedDuration::from_secs(40));
    harness.wait_until(|slack| slack.posts().len() == 1).await;
}

#[tokio::test]
async fn capped_history_has_short_pages_and_a_rate_limit() {
    let clock = still_clock();
    let harness = Harness::with_clock(clock.clone()).await;
    for count in 0..16 {
        harness.slack.send_message(&harness.tea, &harness.mio, &count.to_string()).unwrap();
    }
    harness.slack.cap_history(Some(Default::default()));
    let arguments = json!({ "channel": harness.tea, "limit": 100 });
    let capped = harness.call("conversations.history", arguments.clone()).await;
    assert_eq!((texts(&capped["messages"]).len(), &capped["has_more"]), (15, &json!(true)));
    let error = harness.send("conversations.history", &arguments).await.unwrap();
    assert_eq!(
        (error.status().as_u16(), &error.headers()["retry-after"]),
        (429, &"60".parse().unwrap())
    );
    clock.advance_to(clock.now() + SignedDuration::from_secs(60));
    assert_eq!(harness.call("conversations.history", arguments).await["ok"], true);
}

#[tokio::test]
async fn tokens_and_scopes_are_checked() {
    let scopes = vec!["channels:read".to_owned()];
    let harness = Harness::with(FakeSlackSettings { scopes, ..FakeSlackSettings::default() }).await;
    let error = harness.post("hello").await;
    let expected = json!({
        "ok": false,
        "error": "missing_scope",
        "needed": "chat:write",
        "provided": "channels:read",
    });
    assert_eq!(error, expected);
    for (token, method, error) in [
        ("", "auth.test", "not_authed"),
        ("xoxb-other", "auth.test", "invalid_auth"),
        ("xoxb-dev", "apps.connections.open", "not_allowed_token_type"),
        ("xoxb-dev", "no.such", "unknown_method"),
    ] {
        let url = format!("{}/{method}", harness.api);
        let response = harness.http.post(url).form(&[("token", token)]).send().await.unwrap();
        assert_eq!(response.json::<Value>().await.unwrap()["error"], error);
    }
    let response = harness.send("auth.test", &json!({})).await.unwrap();
    assert_eq!(response.headers()["x-oauth-scopes"], "channels:read");
    assert_eq!(response.json::<Value>().await.unwrap()["user_id"], json!(harness.bot));
}

#[tokio::test]
async fn the_control_api_drives_it() {
    let harness = Harness::new().await;
    let base = harness.api.strip_suffix("/api").unwrap();
    let control = async |verb: &str, body: Value| {
        let url = format!("{base}/control/{verb}");
        let response = harness.http.post(url).json(&body).send().await.unwrap();
        (response.status().as_u16(), response.json::<Value>().await.unwrap())
    };
    let message = json!({ "channel": harness.tea, "user": harness.mio, "text": "hello" });
    let (status, response) = control("say", message).await;
    assert_eq!((status, &response["ok"]), (200, &json!(true)));
    let unknown_field = json!({ "channel": harness.tea, "user": harness.mio, "txt": "hello" });
    assert_eq!(control("say", unknown_field).await.0, 400);
    let edit = json!({ "channel": "C404", "ts": response["ts"], "text": "bye" });
    let error = json!({ "ok": false, "error": "channel_not_found" });
    assert_eq!(control("edit", edit).await, (400, error));
    let fault =
        json!({ "method": "auth.test", "fault": { "kind": "error", "error": "fatal_error" } });
    assert_eq!(control("fault", fault).await.0, 200);
    assert_eq!(harness.call("auth.test", json!({})).await["error"], "fatal_error");
    assert_eq!(control("cut", json!({})).await.0, 200);
    let state = harness.http.get(format!("{base}/control/state")).send().await.unwrap();
    let state: Value = state.json().await.unwrap();
    assert_eq!(texts(&state["channels"][0]["messages"]), ["hello"]);
}

#[tokio::test]
async fn the_page_shows_and_sends_messages() {
    let harness = Harness::new().await;
    let base = harness.api.strip_suffix("/api").unwrap();
    let read = async |path: &str| {
        let page = harness.http.get(format!("{base}{path}")).send().await.unwrap();
        assert_eq!(page.status(), 200);
        page.text().await.unwrap()
    };
    let form =
        [("user", &*harness.mio), ("channel", &*harness.tea), ("text", "<b>tea</b>, @Aizuchi?")];
    let response = harness.http.post(format!("{base}/page/say")).form(&form).send().await.unwrap();
    assert_eq!(response.status(), 204);
    let expected = format!("&lt;b&gt;tea&lt;/b&gt;, <@{}>?", harness.bot);
    assert_eq!(harness.slack.texts(&harness.tea).unwrap(), [expected.as_str()]);
    let place = format!("user={}&channel={}", harness.mio, harness.tea);
    let answer: Value = serde_json::from_str(&read(&format!("/page/view?{place}")).await).unwrap();
    let view = &answer["view"];
    let message = &view["messages"][0];
    assert_eq!(message["text"], expected);
    assert_eq!(message["source"], "<b>tea</b>, @Aizuchi?");
    assert_eq!((&message["name"], &message["is_own"]), (&json!("Mio"), &json!(true)));
    assert_eq!(view["names"][&harness.bot], "Aizuchi");
    let channels = view["channels"].as_array().unwrap().iter().map(|channel| &channel["name"]);
    assert!(channels.clone().any(|name| name == "#tea"), "{view}");
    // What the page shows already is not sent again.
    let seen = format!("{base}/page/view?{place}&seen={}", answer["revision"]);
    assert_eq!(harness.http.get(seen).send().await.unwrap().status(), 204);
    let page = read("/").await;
    assert!(page.contains("A stand-in for Slack. Nothing leaves this machine."), "{page}");
}

#[tokio::test]
async fn the_page_runs_slash_commands() {
    let harness = Harness::new().await;
    let base = harness.api.strip_suffix("/api").unwrap();
    let say = async |text: &str, thread: &str| {
        let place = [("user", &*harness.mio), ("channel", &*harness.tea)];
        let form = [place[0], place[1], ("text", text), ("thread", thread)];
        let answer = harness.http.post(format!("{base}/page/say")).form(&form).send().await;
        let answer = answer.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    assert_eq!(say("/dance", "").await, (422, "unknown_command".to_owned()));
    let thread = harness.slack.send_message(&harness.tea, &harness.mio, "tea?").unwrap();
    let in_thread = (422, "not_supported_in_threads".to_owned());
    assert_eq!(say("/aizuchi help", &thread.to_string()).await, in_thread);
    assert_eq!(say("/aizuchi mute 2 hours", "").await.0, 204);
    let commands: Vec<Value> = harness.slack.read(|state| {
        let envelopes = state.dispatcher.envelopes.iter();
        let commands = envelopes.filter(|envelope| envelope.kind == PayloadKind::SlashCommand);
        commands.map(|envelope| envelope.payload.clone()).collect()
    });
    let used: Vec<_> = commands.iter().map(|used| (&used["command"], &used["text"])).collect();
    assert_eq!(used, [(&json!("/aizuchi"), &json!("mute 2 hours"))]);
    assert_eq!(harness.slack.texts(&harness.tea).unwrap(), ["tea?"]);
}

#[tokio::test]
async fn events_over_http_need_a_verified_url() {
    let harness = Harness::new().await;
    // The Web API responds with JSON, but does not echo the challenge.
    harness.slack.set_request_url(&format!("{}/auth.test", harness.api));
    let verification = |slack: &FakeSlack| slack.request_url().map(|url| url.verification);
    harness.wait_until(|slack| verification(slack) == Some(UrlVerification::Failed)).await;
    // `api.test` echoes its arguments.
    harness.slack.set_request_url(&format!("{}/api.test", harness.api));
    harness.wait_until(|slack| verification(slack) == Some(UrlVerification::Verified)).await;
    harness.slack.inject_fault("api.test", Fault::Status(500));
    harness.slack.send_message(&harness.tea, &harness.mio, "by post").unwrap();
    harness.wait_until(|slack| slack.acked_deliveries().len() == 1).await;
    let attempts: Vec<u32> =
        harness.slack.deliveries().iter().map(|delivery| delivery.retry_attempt).collect();
    assert_eq!(attempts, [0, 1]);
}

#[tokio::test]
async fn changes_of_a_channel_have_their_own_events() {
    let harness = Harness::new().await;
    let mut socket = harness.listen().await;
    let (slack, tea, mio) = (&harness.slack, &*harness.tea, &*harness.mio);
    slack.rename_channel(tea, mio, "coffee").unwrap();
    slack.make_private(tea, mio).unwrap();
    slack.archive_channel(tea, mio).unwrap();
    assert_eq!(slack.send_message(tea, mio, "too late").unwrap_err().error, "is_archived");
    slack.unarchive_channel(tea, mio).unwrap();
    slack.leave_channel(tea, &harness.bot).unwrap();
    slack.send_message(tea, mio, "among ourselves").unwrap();
    slack.join_channel(tea, &harness.bot).unwrap();
    slack.delete_channel(tea, mio).unwrap();
    let mut events = Vec::new();
    while events.last() != Some(&"group_deleted".to_owned()) {
        let event = next_frame(&mut socket).await["payload"]["event"].clone();
        let name = event["subtype"].as_str().or(event["type"].as_str());
        events.push(name.unwrap().to_owned());
    }
    let expected = [
        "channel_rename",
        "channel_name",
        "channel_convert_to_private",
        "group_archive",
        "channel_archive",
        "group_unarchive",
        "channel_unarchive",
        "group_left",
        "member_joined_channel",
        "channel_join",
        "group_deleted",
    ];
    assert_eq!(events, expected);
}

#[tokio::test]
async fn a_mention_in_a_direct_message_has_one_event() {
    let harness = Harness::new().await;
    let mut socket = harness.listen().await;
    let direct = harness.slack.open_direct_message(&harness.mio).unwrap();
    assert_eq!(next_frame(&mut socket).await["payload"]["event"]["type"], "im_created");
    let text = format!("<@{}> psst", harness.bot);
    harness.slack.send_message(&direct, &harness.mio, &text).unwrap();
    assert_eq!(next_frame(&mut socket).await["payload"]["event"]["channel_type"], "im");
    harness.slack.send_message(&direct, &harness.mio, "are you there?").unwrap();
    assert_eq!(next_frame(&mut socket).await["payload"]["event"]["text"], "are you there?");
}

#[tokio::test]
async fn a_file_is_shown_to_the_app_alone() {
    let harness = Harness::new().await;
    harness.call("auth.test", json!({})).await;
    let file = harness.slack.upload_file(FakeFile::new("tea.png", "image/png", b"PNG"));
    let get = |token: &str| {
        let request = harness.http.get(file["url_private"].as_str().unwrap()).bearer_auth(token);
        async move { request.send().await.unwrap().text().await.unwrap() }
    };
    assert_eq!(get("xoxb-dev").await, "PNG");
    assert!(get("xoxb-other").await.contains("Sign in"));
    assert_eq!(harness.slack.downloads(), [file["id"].as_str().unwrap()]);
}
