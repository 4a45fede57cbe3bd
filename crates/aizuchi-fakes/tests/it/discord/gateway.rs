//! Tests of the gateway: sessions start, resume and end.

use aizuchi_fakes::discord::FakeDiscordSettings;
use aizuchi_fakes::discord::driver::setup::PermissionEffect;
use aizuchi_fakes::discord::session::{ConnectBehavior, HeartbeatBehavior, SessionRefusal};
use futures_util::StreamExt;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use twilight_model::gateway::Intents;

use super::{ConnectionEnd, Harness, Socket, TOKEN, default_intents, settings};

#[tokio::test]
async fn a_session_starts_with_ready_and_its_guilds() {
    let harness = Harness::new().await;
    let mut socket = harness.connect().await;
    let hello = socket.next_payload().await;
    assert_eq!(hello["d"]["heartbeat_interval"], 41_250);
    socket.identify(default_intents()).await;
    let ready = socket.next_payload().await;
    assert_eq!((&ready["t"], &ready["s"]), (&json!("READY"), &json!(1)));
    assert_eq!(ready["d"]["user"]["id"], json!(harness.bot));
    assert_eq!(ready["d"]["guilds"], json!([{ "id": harness.guild, "unavailable": true }]));
    assert_eq!(ready["d"]["resume_gateway_url"], format!("ws://{}/gateway", harness.address));
    let guild = socket.event("GUILD_CREATE").await;
    assert_eq!(guild["name"], "Tea House");
    assert_eq!(guild["channels"][0]["id"], json!(harness.tea));
    socket.send_payload(1, json!(2)).await;
    assert_eq!(socket.next_payload().await["op"], 11);
    assert_eq!(harness.discord.session_count(), 1);
    assert_eq!(
        harness.discord.payloads(2)[0].data["token"],
        Value::Null,
        "the journal does not store the token"
    );
}

#[tokio::test]
async fn a_resume_sends_the_missed_events() {
    let harness = Harness::new().await;
    let (mut socket, ready) = harness.listen(default_intents()).await;
    harness.discord.send_message(harness.tea, harness.mio, "one").unwrap();
    assert_eq!(socket.event("MESSAGE_CREATE").await["content"], "one");
    harness.discord.reset_connections();
    assert_eq!(socket.wait_for_end().await, ConnectionEnd::Reset);
    harness.wait_until(|discord| discord.connection_count() == 0).await;
    for text in ["two", "three"] {
        harness.discord.send_message(harness.tea, harness.mio, text).unwrap();
    }
    let mut again = harness.connect().await;
    again.next_payload().await;
    again.resume(&ready["session_id"], 3).await;
    for (seq, text) in [(4, "two"), (5, "three")] {
        let event = again.next_payload().await;
        assert_eq!((&event["s"], &event["d"]["content"]), (&json!(seq), &json!(text)));
    }
    assert_eq!(again.next_payload().await["t"], "RESUMED");
    assert_eq!(
        harness.discord.session_start_quota().remaining,
        999,
        "resuming does not count as a session start"
    );
}

#[tokio::test]
async fn expired_sessions_are_not_resumed() {
    let harness = Harness::new().await;
    let (socket, ready) = harness.listen(default_intents()).await;
    let session = &ready["session_id"];
    drop(socket);
    harness.wait_until(|discord| discord.connection_count() == 0).await;
    harness.discord.expire_sessions();
    let mut again = harness.connect().await;
    again.next_payload().await;
    again.resume(session, 1).await;
    let refused = again.next_payload().await;
    assert_eq!((&refused["op"], &refused["d"]), (&json!(9), &json!(false)));
    // The connection can still start a new session.
    again.identify(default_intents()).await;
    assert_eq!(again.next_payload().await["t"], "READY");
}

#[tokio::test]
async fn close_codes_1000_and_1001_end_the_session() {
    for (code, is_resumed) in [(1000, false), (1001, false), (4000, true)] {
        let harness = Harness::new().await;
        let (mut socket, ready) = harness.listen(default_intents()).await;
        let close = tokio_tungstenite::tungstenite::protocol::CloseFrame {
            code: code.into(),
            reason: "".into(),
        };
        socket.0.close(Some(close)).await.unwrap();
        harness.wait_until(|discord| discord.connection_count() == 0).await;
        assert_eq!(harness.discord.close_codes(), [Some(code)]);
        let mut again = harness.connect().await;
        again.next_payload().await;
        again.resume(&ready["session_id"], 2).await;
        let response = again.next_payload().await;
        assert_eq!(response["t"] == "RESUMED", is_resumed, "{code}: {response}");
    }
}

#[tokio::test]
async fn invalid_payloads_close_with_their_codes() {
    type Case = (u16, fn(&Harness) -> (u64, Value));
    let cases: [Case; 9] = [
        (4001, |_| (99, json!({}))),
        (4002, |_| (2, json!({ "token": TOKEN }))),
        (4003, |_| (3, json!({}))),
        (4004, |_| (2, json!({ "token": "no", "intents": 1, "properties": {} }))),
        (4010, |_| (2, json!({ "token": TOKEN, "intents": 1, "properties": {}, "shard": [1, 1] }))),
        (4013, |_| (2, json!({ "token": TOKEN, "intents": 1 << 30, "properties": {} }))),
        (4014, |harness| {
            harness
                .discord
                .set_privileged_intents(PermissionEffect::Deny, Intents::MESSAGE_CONTENT);
            (2, json!({ "token": TOKEN, "intents": 1 << 15, "properties": {} }))
        }),
        (4002, |_| (1, json!("x".repeat(5000)))),
        (4004, |_| (6, json!({ "token": "no", "session_id": "s", "seq": 1 }))),
    ];
    for (code, payload) in cases {
        let harness = Harness::new().await;
        let mut socket = harness.connect().await;
        socket.next_payload().await;
        let (op, data) = payload(&harness);
        socket.send_payload(op, data).await;
        assert_eq!(socket.wait_for_end().await, ConnectionEnd::Closed(code));
    }
}

#[tokio::test]
async fn protocol_violations_close_with_their_codes() {
    let harness = Harness::with(FakeDiscordSettings { min_shards: 2, ..settings() }).await;
    let mut socket = harness.connect().await;
    socket.next_payload().await;
    socket.identify(default_intents()).await;
    assert_eq!(socket.wait_for_end().await, ConnectionEnd::Closed(4011));

    let harness = Harness::new().await;
    let (mut socket, ready) = harness.listen(default_intents()).await;
    socket.identify(default_intents()).await;
    assert_eq!(socket.wait_for_end().await, ConnectionEnd::Closed(4005));
    let mut socket = harness.connect().await;
    socket.next_payload().await;
    socket.resume(&ready["session_id"], 99).await;
    assert_eq!(socket.wait_for_end().await, ConnectionEnd::Closed(4007));

    let (mut socket, _) = harness.listen(default_intents()).await;
    for _ in 0..121 {
        socket.send_payload(1, Value::Null).await;
    }
    assert_eq!(socket.wait_for_end().await, ConnectionEnd::Closed(4008));

    let url = format!("ws://{}/gateway?v=9&encoding=json", harness.address);
    let mut socket = Socket(tokio_tungstenite::connect_async(url).await.unwrap().0);
    assert_eq!(socket.wait_for_end().await, ConnectionEnd::Closed(4012));
}

#[tokio::test]
async fn session_starts_are_limited() {
    let harness = Harness::new().await;
    harness.discord.set_remaining_session_starts(1);
    let (_first, _) = harness.listen(default_intents()).await;
    let (_, gateway) = harness.get("gateway/bot").await;
    assert_eq!(gateway["session_start_limit"]["remaining"], 0);
    assert_eq!(gateway["session_start_limit"]["total"], 1000);
    // One session too many resets the token.
    let mut socket = harness.connect().await;
    socket.next_payload().await;
    socket.identify(default_intents()).await;
    assert_eq!(socket.wait_for_end().await, ConnectionEnd::Closed(4004));
    let (status, error) = harness.get("users/@me").await;
    assert_eq!((status, &error["message"]), (401, &json!("401: Unauthorized")));
}

#[tokio::test]
async fn sessions_that_start_too_fast_are_invalid() {
    let slow = SignedDuration::from_hours(1);
    let harness =
        Harness::with(FakeDiscordSettings { identify_interval: slow, ..settings() }).await;
    let (_first, _) = harness.listen(default_intents()).await;
    let mut socket = harness.connect().await;
    socket.next_payload().await;
    socket.identify(default_intents()).await;
    let refused = socket.next_payload().await;
    assert_eq!((&refused["op"], &refused["d"]), (&json!(9), &json!(false)));
}

#[tokio::test]
async fn discord_can_ask_to_reconnect_and_refuse_sessions() {
    let harness = Harness::new().await;
    let (mut socket, ready) = harness.listen(default_intents()).await;
    harness.discord.request_reconnect();
    assert_eq!(socket.next_payload().await["op"], 7);
    harness.discord.invalidate_sessions(SessionRefusal::Resumable);
    let payload = socket.next_payload().await;
    assert_eq!((&payload["op"], &payload["d"]), (&json!(9), &json!(true)));
    harness.discord.close_connections(4000);
    assert_eq!(socket.wait_for_end().await, ConnectionEnd::Closed(4000));
    harness.wait_until(|discord| discord.connection_count() == 0).await;
    harness.discord.refuse_next_session(SessionRefusal::Close(4009));
    let mut again = harness.connect().await;
    again.next_payload().await;
    again.resume(&ready["session_id"], 2).await;
    assert_eq!(again.wait_for_end().await, ConnectionEnd::Closed(4009));
}

#[tokio::test]
async fn heartbeats_can_be_ignored_and_sockets_stalled() {
    let harness = Harness::new().await;
    let (mut socket, _) = harness.listen(default_intents()).await;
    harness.discord.set_heartbeat_behavior(HeartbeatBehavior::Ignored);
    socket.send_payload(1, Value::Null).await;
    harness.wait_until(|discord| discord.payloads(1).len() == 1).await;
    harness.discord.send_message(harness.tea, harness.mio, "still talking").unwrap();
    socket.event("MESSAGE_CREATE").await;
    harness.discord.stall_connections();
    harness.discord.send_message(harness.tea, harness.mio, "into the void").unwrap();
    assert_eq!((harness.discord.connection_count(), harness.discord.session_count()), (0, 0));
    harness.discord.reset_connections();
    assert_eq!(socket.wait_for_end().await, ConnectionEnd::Reset);

    harness.discord.set_connect_behavior(ConnectBehavior::Refusal);
    let url = format!("ws://{}/gateway?v=10", harness.address);
    let refused = tokio_tungstenite::connect_async(url).await.map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("503"), "{refused}");
}

#[tokio::test]
async fn a_client_without_heartbeats_is_disconnected() {
    let interval = SignedDuration::from_millis(5);
    let harness =
        Harness::with(FakeDiscordSettings { heartbeat_interval: interval, ..settings() }).await;
    let mut socket = harness.connect().await;
    socket.next_payload().await;
    assert_eq!(socket.wait_for_end().await, ConnectionEnd::Closed(4009));
}

#[tokio::test]
async fn payloads_are_compressed_on_request() {
    let harness = Harness::new().await;
    let url = format!("ws://{}/gateway?v=10&encoding=json&compress=zlib-stream", harness.address);
    let mut socket = Socket(tokio_tungstenite::connect_async(url).await.unwrap().0);
    let mut stream = flate2::Decompress::new(true);
    let mut decompress = async |socket: &mut Socket| -> Value {
        let Message::Binary(bytes) = socket.0.next().await.unwrap().unwrap() else {
            panic!("the frame is compressed")
        };
        assert!(bytes.ends_with(&[0, 0, 0xff, 0xff]));
        let mut text = Vec::with_capacity(1 << 16);
        stream.decompress_vec(&bytes, &mut text, flate2::FlushDecompress::Sync).unwrap();
        serde_json::from_slice(&text).unwrap()
    };
    assert_eq!(decompress(&mut socket).await["op"], 10);
    socket.identify(default_intents()).await;
    assert_eq!(decompress(&mut socket).await["t"], "READY");
    assert_eq!(decompress(&mut socket).await["t"], "GUILD_CREATE");
}

#[tokio::test]
async fn sessions_get_only_the_events_of_their_intents() {
    let harness = Harness::new().await;
    let (mut without_messages, _) = harness.listen(Intents::GUILDS).await;
    let (mut without_content, _) = harness.listen(Intents::GUILDS | Intents::GUILD_MESSAGES).await;
    let (mut with_content, _) = harness.listen(default_intents()).await;
    harness.discord.send_message(harness.tea, harness.mio, "a secret").unwrap();
    harness
        .discord
        .send_message(harness.tea, harness.mio, &format!("<@{}> tea?", harness.bot))
        .unwrap();
    harness.discord.rename_channel(harness.tea, "coffee").unwrap();
    assert_eq!(without_messages.event("CHANNEL_UPDATE").await["name"], "coffee");
    assert_eq!(without_content.event("MESSAGE_CREATE").await["content"], "");
    let mention = without_content.event("MESSAGE_CREATE").await;
    assert_eq!(
        mention["content"],
        format!("<@{}> tea?", harness.bot),
        "an app may read messages that mention it"
    );
    assert_eq!(with_content.event("MESSAGE_CREATE").await["content"], "a secret");
}

#[tokio::test]
async fn each_shard_gets_the_events_of_its_own_guilds() {
    let harness = Harness::new().await;
    let mut shards = Vec::new();
    for shard in [0, 1] {
        let mut socket = harness.connect().await;
        socket.next_payload().await;
        let identify = json!({ "token": TOKEN, "intents": default_intents(), "properties": {}, "shard": [shard, 2] });
        socket.send_payload(2, identify).await;
        assert_eq!(socket.next_payload().await["d"]["shard"], json!([shard, 2]));
        shards.push(socket);
    }
    let guild_shard = usize::try_from((harness.guild.get() >> 22) % 2).unwrap();
    shards[guild_shard].event("GUILD_CREATE").await;
    harness.discord.send_message(harness.tea, harness.mio, "in the guild").unwrap();
    let direct = harness.discord.open_direct_message(harness.mio).unwrap();
    harness.discord.send_message(direct, harness.mio, "in private").unwrap();
    assert_eq!(shards[guild_shard].event("MESSAGE_CREATE").await["content"], "in the guild");
    assert_eq!(shards[0].event("MESSAGE_CREATE").await["content"], "in private");
}
