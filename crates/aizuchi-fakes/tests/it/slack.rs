//! What our fake Slack promises to those who test against it. That it is like Slack is proven by
//! Slack's own clients (`scripts/peers`).

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use aizuchi_core::clock::Clock;
use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::slack::channel::{ChannelKind, NewChannel};
use aizuchi_fakes::slack::delivery::{AckStatus, ConnectBehavior};
use aizuchi_fakes::slack::driver::{AfterDisconnect, ConnectionCounts, DisconnectReason};
use aizuchi_fakes::slack::fault::Fault;
use aizuchi_fakes::slack::message::NewFakeMessage;
use aizuchi_fakes::slack::push::UrlVerification;
use aizuchi_fakes::slack::{FakeSlack, FakeSlackSettings, serve};
use futures_util::{SinkExt, StreamExt};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use aizuchi_harness::net::http;

/// A fake Slack with one channel, in which Mio and the bot are.
struct Stage {
    slack: Arc<FakeSlack>,
    api: String,
    http: reqwest::Client,
    bot: String,
    mio: String,
    tea: String,
    _stop: DropGuard,
}

/// No test waits longer than this for something that should happen at once.
const PATIENCE: Duration = Duration::from_secs(60);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

impl Stage {
    async fn new() -> Self {
        Self::with(FakeSlackSettings::default()).await
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
        let answer = self.http.post(url).bearer_auth("xapp-dev").send().await.unwrap();
        let answer: Value = answer.json().await.unwrap();
        let url = answer["url"].as_str().expect("it says where to connect");
        tokio_tungstenite::connect_async(url).await.unwrap().0
    }

    /// A socket that has been greeted.
    async fn listen(&self) -> Socket {
        let mut socket = self.connect().await;
        assert_eq!(heard(&mut socket).await["type"], "hello");
        socket
    }

    async fn until(&self, is_so: impl Fn(&FakeSlack) -> bool) {
        let mut changed = self.slack.subscribe();
        let come = async {
            while !is_so(&self.slack) {
                changed.changed().await.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, come).await.expect("it comes in time");
    }
}

/// The next frame with words.
async fn heard(socket: &mut Socket) -> Value {
    let heard = async {
        loop {
            match socket.next().await.unwrap().unwrap() {
                Message::Text(text) => return serde_json::from_str(text.as_str()).unwrap(),
                Message::Ping(_) => {}
                other => panic!("{other:?}"),
            }
        }
    };
    tokio::time::timeout(PATIENCE, heard).await.expect("it comes in time")
}

async fn ack(socket: &mut Socket, envelope: &Value) {
    let ack = json!({ "envelope_id": envelope["envelope_id"] }).to_string();
    socket.send(Message::text(ack)).await.unwrap();
}

fn texts(messages: &Value) -> Vec<&str> {
    messages.as_array().unwrap().iter().map(|message| message["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_line_is_told_and_a_mention_twice() {
    let stage = Stage::new().await;
    let mut socket = stage.listen().await;
    let text = format!("<@{}> tea?", stage.bot);
    let ts = stage.slack.send_message(&stage.tea, &stage.mio, &text).unwrap();
    let (message, mention) = (heard(&mut socket).await, heard(&mut socket).await);
    let (message, mention) = (&message["payload"], &mention["payload"]);
    assert_eq!(message["event"]["type"], "message");
    assert_eq!(message["event"]["channel_type"], "channel");
    assert_eq!(mention["event"]["type"], "app_mention");
    assert_eq!(mention["event"]["ts"], json!(ts));
    assert_eq!(message["event"]["ts"], json!(ts));
    assert_ne!(message["event_id"], mention["event_id"]);
}

#[tokio::test]
async fn what_is_not_acknowledged_comes_again_as_often_as_slack_tries() {
    let clock = Clock::manual(Timestamp::from_second(1_800_000_000).unwrap());
    let stage =
        Stage::with(FakeSlackSettings { clock: clock.clone(), ..FakeSlackSettings::default() })
            .await;
    let mut socket = stage.listen().await;
    stage.slack.send_message(&stage.tea, &stage.mio, "hello").unwrap();
    let first = heard(&mut socket).await;
    assert_eq!(first["retry_attempt"], 0);
    let mut ids = vec![first["envelope_id"].clone()];
    for (wait, attempt) in [(3, 1), (3 + 60, 2), (3 + 300, 3)] {
        clock.advance_to(clock.now() + SignedDuration::from_secs(3));
        stage.until(|slack| missed(slack) == attempt).await;
        clock.advance_to(clock.now() + SignedDuration::from_secs(wait - 3));
        let again = heard(&mut socket).await;
        assert_eq!(again["retry_attempt"], json!(attempt));
        assert_eq!(again["retry_reason"], "timeout");
        assert_eq!(again["payload"], first["payload"]);
        assert!(!ids.contains(&again["envelope_id"]), "an envelope is used once");
        ids.push(again["envelope_id"].clone());
    }
    clock.advance_to(clock.now() + SignedDuration::from_secs(3));
    stage.until(|slack| slack.dropped_envelopes().len() == 1).await;
    ack(&mut socket, &json!({ "envelope_id": ids[3] })).await;
    stage
        .until(|slack| {
            matches!(slack.unacked_deliveries().last().unwrap().ack_status, AckStatus::Late(_))
        })
        .await;
    assert_eq!(stage.slack.acked_deliveries(), []);
}

fn missed(slack: &FakeSlack) -> usize {
    let missed = slack.deliveries().into_iter();
    missed.filter(|delivery| delivery.ack_status == AckStatus::TimedOut).count()
}

#[tokio::test]
async fn an_acknowledged_line_does_not_come_again() {
    let stage = Stage::new().await;
    let mut socket = stage.listen().await;
    stage.slack.send_message(&stage.tea, &stage.mio, "one").unwrap();
    let one = heard(&mut socket).await;
    ack(&mut socket, &one).await;
    stage.until(|slack| slack.acked_deliveries().len() == 1).await;
    stage.slack.redeliver();
    stage.slack.send_message(&stage.tea, &stage.mio, "two").unwrap();
    assert_eq!(heard(&mut socket).await["payload"]["event"]["text"], "two");
}

#[tokio::test]
async fn each_line_goes_to_one_of_the_sockets() {
    let stage = Stage::new().await;
    let (mut one, mut two) = (stage.listen().await, stage.listen().await);
    for text in ["a", "b"] {
        stage.slack.send_message(&stage.tea, &stage.mio, text).unwrap();
    }
    let first = heard(&mut one).await["payload"]["event"]["text"].clone();
    let second = heard(&mut two).await["payload"]["event"]["text"].clone();
    let mut both = [first, second];
    both.sort_by_key(Value::to_string);
    assert_eq!(both, ["a", "b"]);
}

#[tokio::test]
async fn sockets_are_asked_to_end_cut_or_left_for_dead() {
    let stage = Stage::new().await;
    let mut old = stage.listen().await;
    stage.slack.reset_min_open();
    stage.slack.request_disconnect(DisconnectReason::Warning, AfterDisconnect::Stay);
    let frame = heard(&mut old).await;
    assert_eq!((&frame["type"], &frame["reason"]), (&json!("disconnect"), &json!("warning")));
    let mut new = stage.listen().await;
    old.close(None).await.unwrap();
    stage.until(|slack| slack.connection_counts().open == 1).await;
    assert_eq!(stage.slack.connection_counts().min_open, 1);
    stage.slack.stall_connections();
    assert_eq!(stage.slack.connection_counts(), ConnectionCounts { open: 0, min_open: 0 });
    stage.slack.send_message(&stage.tea, &stage.mio, "into the void").unwrap();
    let mut newest = stage.listen().await;
    stage.slack.redeliver();
    stage.slack.redeliver();
    assert_eq!(heard(&mut newest).await["payload"]["event"]["text"], "into the void");
    stage.slack.reset_connections();
    for socket in [&mut new, &mut newest] {
        let ended = tokio::time::timeout(PATIENCE, socket.next()).await;
        let ended = ended.expect("it comes in time");
        let Some(Err(tungstenite::Error::Io(error))) = ended else {
            panic!("a reset, and no goodbye: {ended:?}");
        };
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
    stage.until(|slack| slack.read(|state| state.dispatcher.connections.is_empty())).await;
}

#[tokio::test]
async fn a_socket_may_open_and_never_say_hello() {
    let stage = Stage::new().await;
    stage.slack.set_connect_behavior(ConnectBehavior::Silence);
    let mut silent = stage.connect().await;
    stage.until(|slack| slack.connection_counts().open == 1).await;
    stage.slack.send_message(&stage.tea, &stage.mio, "anybody?").unwrap();
    stage.slack.request_disconnect(DisconnectReason::RefreshRequested, AfterDisconnect::Close);
    assert_eq!(heard(&mut silent).await["type"], "disconnect", "nothing came before");
}

#[tokio::test]
async fn one_socket_too_many_is_turned_away() {
    let stage =
        Stage::with(FakeSlackSettings { max_connections: 1, ..FakeSlackSettings::default() }).await;
    let _one = stage.listen().await;
    let mut other = stage.connect().await;
    assert_eq!(heard(&mut other).await["reason"], "too_many_websockets");
}

#[tokio::test]
async fn what_the_bot_says_is_kept_with_its_metadata() {
    let stage = Stage::new().await;
    let mut socket = stage.listen().await;
    let metadata = json!({ "event_type": "said", "event_payload": { "key": "k1" } });
    let arguments = json!({
        "channel": stage.tea,
        "text": "tea it is",
        "metadata": metadata,
        "unfurl_links": false,
    });
    let answer = stage.call("chat.postMessage", arguments).await;
    let heard = heard(&mut socket).await["payload"]["event"].clone();
    assert_eq!(heard["ts"], answer["ts"]);
    assert_eq!(heard["user"], json!(stage.bot));
    assert!(heard["bot_id"].is_string() && heard["app_id"].is_string(), "{heard}");
    stage.slack.send_message(&stage.tea, &stage.mio, "fine").unwrap();
    let posts = stage.slack.posts();
    assert_eq!(posts.len(), 1);
    assert_eq!(posts[0].arguments["unfurl_links"], json!(false));
    let arguments = json!({ "channel": stage.tea });
    let short = stage.call("conversations.history", arguments).await;
    assert_eq!(short["messages"][0].get("metadata"), None);
    assert_eq!(short["messages"][1]["metadata"], json!({ "event_type": "said" }));
    let arguments = json!({ "channel": stage.tea, "include_all_metadata": true });
    let full = stage.call("conversations.history", arguments).await;
    assert_eq!(full["messages"][1]["metadata"], metadata);
}

#[tokio::test]
async fn histories_come_in_pages_newest_first_and_threads_apart() {
    let stage = Stage::new().await;
    let parent = stage.slack.send_message(&stage.tea, &stage.mio, "1").unwrap();
    let reply = |text: &str, is_broadcast| NewFakeMessage {
        thread: Some(parent),
        is_broadcast,
        ..NewFakeMessage::new(&stage.tea, &stage.mio, text)
    };
    for (text, is_broadcast) in [("1a", false), ("1b", true), ("1c", false)] {
        stage.slack.send_message_with(reply(text, is_broadcast)).unwrap();
    }
    stage.slack.send_message(&stage.tea, &stage.mio, "2").unwrap();
    let mut arguments = json!({ "channel": stage.tea, "limit": 2 });
    let first = stage.call("conversations.history", arguments.clone()).await;
    assert_eq!((texts(&first["messages"]), &first["has_more"]), (vec!["2", "1b"], &json!(true)));
    arguments["cursor"] = first["response_metadata"]["next_cursor"].clone();
    let second = stage.call("conversations.history", arguments.clone()).await;
    assert_eq!((texts(&second["messages"]), &second["has_more"]), (vec!["1"], &json!(false)));
    assert_eq!(second["messages"][0]["reply_count"], 3);
    arguments["cursor"] = json!("nonsense");
    let refused = stage.call("conversations.history", arguments).await;
    assert_eq!(refused, json!({ "ok": false, "error": "invalid_cursor" }));
    let arguments = json!({ "channel": stage.tea, "ts": parent });
    let thread = stage.call("conversations.replies", arguments).await;
    assert_eq!(texts(&thread["messages"]), ["1", "1a", "1b", "1c"]);
    let arguments = json!({ "channel": stage.tea, "oldest": parent, "inclusive": true });
    let after = stage.call("conversations.history", arguments).await;
    assert_eq!(texts(&after["messages"]), ["2", "1b", "1"]);
}

#[tokio::test]
async fn a_line_can_change_go_and_leave_a_stone() {
    let stage = Stage::new().await;
    let mut socket = stage.listen().await;
    let ts = stage.slack.send_message(&stage.tea, &stage.mio, "teh").unwrap();
    stage.slack.edit_message(&stage.tea, ts, "tea").unwrap();
    let reply =
        NewFakeMessage { thread: Some(ts), ..NewFakeMessage::new(&stage.tea, &stage.mio, "yes") };
    let reply = stage.slack.send_message_with(reply).unwrap();
    stage.slack.delete_message(&stage.tea, ts).unwrap();
    stage.slack.delete_message(&stage.tea, reply).unwrap();
    let mut events = Vec::new();
    for _ in 0..5 {
        events.push(heard(&mut socket).await["payload"]["event"].clone());
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
async fn what_the_bot_must_not_see_is_not_there() {
    let stage = Stage::new().await;
    let mut socket = stage.listen().await;
    let new = |name: &str, kind| NewChannel {
        name: name.to_owned(),
        kind,
        members: vec![stage.mio.clone()],
        ..NewChannel::default()
    };
    let secret = stage.slack.add_channel(new("secret", ChannelKind::Private)).unwrap();
    let garden = stage.slack.add_channel(new("garden", ChannelKind::Public)).unwrap();
    for channel in [&secret, &garden] {
        stage.slack.send_message(channel, &stage.mio, "not for bots").unwrap();
    }
    stage.slack.send_message(&stage.tea, &stage.mio, "for bots").unwrap();
    assert_eq!(heard(&mut socket).await["payload"]["event"]["text"], "for bots");
    for (channel, error) in [(&secret, "channel_not_found"), (&garden, "not_in_channel")] {
        let answer = stage.call("conversations.history", json!({ "channel": channel })).await;
        assert_eq!(answer, json!({ "ok": false, "error": error }));
    }
    stage.call("conversations.join", json!({ "channel": garden })).await;
    let joined = heard(&mut socket).await["payload"]["event"].clone();
    assert_eq!(joined["type"], "member_joined_channel");
    let answer = stage.call("conversations.history", json!({ "channel": garden })).await;
    assert_eq!(answer["ok"], true);
}

#[tokio::test]
async fn a_fault_is_met_once() {
    let stage = Stage::new().await;
    let arguments = json!({ "channel": stage.tea, "text": "hello" });
    for (fault, posts) in [(Fault::ResetBefore, 0), (Fault::ResetAfter, 1)] {
        stage.slack.inject_fault("chat.postMessage", fault.clone());
        let broken = stage.send("chat.postMessage", &arguments).await;
        assert!(broken.is_err(), "{fault:?}");
        assert_eq!(stage.slack.posts().len(), posts, "{fault:?}");
    }
    stage.slack.inject_fault("chat.postMessage", Fault::rate_limited(7));
    let limited = stage.send("chat.postMessage", &arguments).await.unwrap();
    assert_eq!(
        (limited.status().as_u16(), &limited.headers()["retry-after"]),
        (429, &"7".parse().unwrap())
    );
    stage.slack.inject_fault("chat.postMessage", Fault::error("restricted_action"));
    assert_eq!(stage.post("hello").await["error"], "restricted_action");
    for fault in [Fault::Status(503), Fault::Garbage] {
        stage.slack.inject_fault("chat.postMessage", fault);
        let answer = stage.send("chat.postMessage", &arguments).await.unwrap();
        assert!(answer.json::<Value>().await.is_err());
    }
    assert_eq!(stage.post("hello").await["ok"], true);
    assert_eq!(stage.slack.posts().len(), 2);
}

#[tokio::test]
async fn a_call_hangs_until_it_is_released() {
    let stage = Stage::new().await;
    for (fault, before, after) in [
        (Fault::HangBefore(Hang::UntilReleased), 0, 1),
        (Fault::HangAfter(Hang::UntilReleased), 2, 2),
    ] {
        stage.slack.inject_fault("chat.postMessage", fault);
        let release = async {
            stage.until(|slack| slack.calls("chat.postMessage").len() == after).await;
            stage.until(|slack| slack.posts().len() == before).await;
            stage.slack.release_hanging();
        };
        let (answer, ()) = tokio::join!(stage.post("hello"), release);
        assert_eq!(answer["ok"], true);
        assert_eq!(stage.slack.posts().len(), after);
    }
}

#[tokio::test]
async fn a_late_commit_does_not_need_its_caller() {
    let clock = Clock::manual(Timestamp::from_second(1_800_000_000).unwrap());
    let stage =
        Stage::with(FakeSlackSettings { clock: clock.clone(), ..FakeSlackSettings::default() })
            .await;
    let late = Fault::CommitLater { after: SignedDuration::from_secs(40), answer: Some(504) };
    stage.slack.inject_fault("chat.postMessage", late);
    let arguments = json!({ "channel": stage.tea, "text": "late" });
    let answer = stage.send("chat.postMessage", &arguments).await.unwrap();
    assert_eq!((answer.status().as_u16(), stage.slack.posts().len()), (504, 0));
    clock.advance_to(clock.now() + SignedDuration::from_secs(40));
    stage.until(|slack| slack.posts().len() == 1).await;
}

#[tokio::test]
async fn capped_histories_are_short_and_rare() {
    let clock = Clock::manual(Timestamp::from_second(1_800_000_000).unwrap());
    let stage =
        Stage::with(FakeSlackSettings { clock: clock.clone(), ..FakeSlackSettings::default() })
            .await;
    for count in 0..16 {
        stage.slack.send_message(&stage.tea, &stage.mio, &count.to_string()).unwrap();
    }
    stage.slack.cap_history(Some(Default::default()));
    let arguments = json!({ "channel": stage.tea, "limit": 100 });
    let capped = stage.call("conversations.history", arguments.clone()).await;
    assert_eq!((texts(&capped["messages"]).len(), &capped["has_more"]), (15, &json!(true)));
    let refused = stage.send("conversations.history", &arguments).await.unwrap();
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"]),
        (429, &"60".parse().unwrap())
    );
    clock.advance_to(clock.now() + SignedDuration::from_secs(60));
    assert_eq!(stage.call("conversations.history", arguments).await["ok"], true);
}

#[tokio::test]
async fn tokens_and_scopes_are_looked_at() {
    let scopes = vec!["channels:read".to_owned()];
    let stage = Stage::with(FakeSlackSettings { scopes, ..FakeSlackSettings::default() }).await;
    let refused = stage.post("hello").await;
    let expected = json!({
        "ok": false,
        "error": "missing_scope",
        "needed": "chat:write",
        "provided": "channels:read",
    });
    assert_eq!(refused, expected);
    for (token, method, error) in [
        ("", "auth.test", "not_authed"),
        ("xoxb-other", "auth.test", "invalid_auth"),
        ("xoxb-dev", "apps.connections.open", "not_allowed_token_type"),
        ("xoxb-dev", "no.such", "unknown_method"),
    ] {
        let url = format!("{}/{method}", stage.api);
        let answer = stage.http.post(url).form(&[("token", token)]).send().await.unwrap();
        assert_eq!(answer.json::<Value>().await.unwrap()["error"], error);
    }
    let answer = stage.send("auth.test", &json!({})).await.unwrap();
    assert_eq!(answer.headers()["x-oauth-scopes"], "channels:read");
    assert_eq!(answer.json::<Value>().await.unwrap()["user_id"], json!(stage.bot));
}

#[tokio::test]
async fn other_programs_steer_it_over_http() {
    let stage = Stage::new().await;
    let base = stage.api.strip_suffix("/api").unwrap();
    let order = async |verb: &str, body: Value| {
        let url = format!("{base}/control/{verb}");
        let answer = stage.http.post(url).json(&body).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let line = json!({ "channel": stage.tea, "user": stage.mio, "text": "hello" });
    let (status, said) = order("say", line).await;
    assert_eq!((status, &said["ok"]), (200, &json!(true)));
    let bad = json!({ "channel": stage.tea, "user": stage.mio, "txt": "hello" });
    assert_eq!(order("say", bad).await.0, 400);
    let edit = json!({ "channel": "C404", "ts": said["ts"], "text": "bye" });
    let refused = json!({ "ok": false, "error": "channel_not_found" });
    assert_eq!(order("edit", edit).await, (400, refused));
    let fault =
        json!({ "method": "auth.test", "fault": { "kind": "error", "error": "fatal_error" } });
    assert_eq!(order("fault", fault).await.0, 200);
    assert_eq!(stage.call("auth.test", json!({})).await["error"], "fatal_error");
    assert_eq!(order("cut", json!({})).await.0, 200);
    let state = stage.http.get(format!("{base}/control/state")).send().await.unwrap();
    let state: Value = state.json().await.unwrap();
    assert_eq!(texts(&state["channels"][0]["messages"]), ["hello"]);
}

#[tokio::test]
async fn a_person_reads_and_writes_on_its_page() {
    let stage = Stage::new().await;
    let base = stage.api.strip_suffix("/api").unwrap();
    let read = async |path: &str| {
        let page = stage.http.get(format!("{base}{path}")).send().await.unwrap();
        assert_eq!(page.status(), 200);
        page.text().await.unwrap()
    };
    let form = [("user", &*stage.mio), ("channel", &*stage.tea), ("text", "<b>tea</b>, @Aizuchi?")];
    let answer = stage.http.post(format!("{base}/page/say")).form(&form).send().await.unwrap();
    assert_eq!(answer.status(), 200, "it leads back to the page");
    let said = format!("&lt;b&gt;tea&lt;/b&gt;, <@{}>?", stage.bot);
    assert_eq!(stage.slack.texts(&stage.tea).unwrap(), [said]);
    let lines = read(&format!("/lines?user={}&channel={}", stage.mio, stage.tea)).await;
    assert!(lines.contains("&#60;b&#62;tea&#60;/b&#62;, @Aizuchi?"), "{lines}");
    let page = read("/").await;
    assert!(page.contains("#tea") && page.contains("Mio"), "{page}");
}

#[tokio::test]
async fn events_over_http_need_an_address_that_answers() {
    let stage = Stage::new().await;
    // The Web API answers with JSON, but does not repeat the word.
    stage.slack.set_request_url(&format!("{}/auth.test", stage.api));
    let trust = |slack: &FakeSlack| slack.request_url().map(|address| address.verification);
    stage.until(|slack| trust(slack) == Some(UrlVerification::Failed)).await;
    // `api.test` repeats all that it is given.
    stage.slack.set_request_url(&format!("{}/api.test", stage.api));
    stage.until(|slack| trust(slack) == Some(UrlVerification::Verified)).await;
    stage.slack.inject_fault("api.test", Fault::Status(500));
    stage.slack.send_message(&stage.tea, &stage.mio, "by post").unwrap();
    stage.until(|slack| slack.acked_deliveries().len() == 1).await;
    let attempts: Vec<u32> =
        stage.slack.deliveries().iter().map(|delivery| delivery.retry_attempt).collect();
    assert_eq!(attempts, [0, 1]);
}

#[tokio::test]
async fn what_happens_to_a_channel_is_told_in_its_own_words() {
    let stage = Stage::new().await;
    let mut socket = stage.listen().await;
    let (slack, tea, mio) = (&stage.slack, &*stage.tea, &*stage.mio);
    slack.rename_channel(tea, mio, "coffee").unwrap();
    slack.make_private(tea, mio).unwrap();
    slack.archive_channel(tea, mio).unwrap();
    assert_eq!(slack.send_message(tea, mio, "too late").unwrap_err().error, "is_archived");
    slack.unarchive_channel(tea, mio).unwrap();
    slack.leave_channel(tea, &stage.bot).unwrap();
    slack.send_message(tea, mio, "among ourselves").unwrap();
    slack.join_channel(tea, &stage.bot).unwrap();
    slack.delete_channel(tea, mio).unwrap();
    let mut told = Vec::new();
    while told.last() != Some(&"group_deleted".to_owned()) {
        let event = heard(&mut socket).await["payload"]["event"].clone();
        let name = event["subtype"].as_str().or(event["type"].as_str());
        told.push(name.unwrap().to_owned());
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
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_mention_in_a_direct_message_is_told_once() {
    let stage = Stage::new().await;
    let mut socket = stage.listen().await;
    let direct = stage.slack.open_direct_message(&stage.mio).unwrap();
    assert_eq!(heard(&mut socket).await["payload"]["event"]["type"], "im_created");
    let text = format!("<@{}> psst", stage.bot);
    stage.slack.send_message(&direct, &stage.mio, &text).unwrap();
    assert_eq!(heard(&mut socket).await["payload"]["event"]["channel_type"], "im");
    stage.slack.send_message(&direct, &stage.mio, "are you there?").unwrap();
    assert_eq!(heard(&mut socket).await["payload"]["event"]["text"], "are you there?");
}
