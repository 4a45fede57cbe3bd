//! The gateway: sessions that begin, go on and end.

use aizuchi_fakes::discord::FakeDiscordSettings;
use aizuchi_fakes::discord::driver::setup::PermissionEffect;
use aizuchi_fakes::discord::session::{ConnectBehavior, HeartbeatBehavior, SessionRefusal};
use futures_util::StreamExt;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use twilight_model::gateway::Intents;

use super::{End, Socket, Stage, TOKEN, settings, usual};

#[tokio::test]
async fn a_session_begins_with_ready_and_its_guilds() {
    let stage = Stage::new().await;
    let mut socket = stage.connect().await;
    let hello = socket.heard().await;
    assert_eq!(hello["d"]["heartbeat_interval"], 41_250);
    socket.identify(usual()).await;
    let ready = socket.heard().await;
    assert_eq!((&ready["t"], &ready["s"]), (&json!("READY"), &json!(1)));
    assert_eq!(ready["d"]["user"]["id"], json!(stage.bot));
    assert_eq!(ready["d"]["guilds"], json!([{ "id": stage.guild, "unavailable": true }]));
    assert_eq!(ready["d"]["resume_gateway_url"], format!("ws://{}/gateway", stage.address));
    let guild = socket.event("GUILD_CREATE").await;
    assert_eq!(guild["name"], "Tea House");
    assert_eq!(guild["channels"][0]["id"], json!(stage.tea));
    socket.say(1, json!(2)).await;
    assert_eq!(socket.heard().await["op"], 11);
    assert_eq!(stage.discord.session_count(), 1);
    assert_eq!(stage.discord.payloads(2)[0].data["token"], Value::Null, "nobody keeps the token");
}

#[tokio::test]
async fn a_resume_brings_what_was_missed() {
    let stage = Stage::new().await;
    let (mut socket, ready) = stage.listen(usual()).await;
    stage.discord.send_message(stage.tea, stage.mio, "one").unwrap();
    assert_eq!(socket.event("MESSAGE_CREATE").await["content"], "one");
    stage.discord.reset_connections();
    assert_eq!(socket.end().await, End::Reset);
    stage.until(|discord| discord.connection_count() == 0).await;
    for text in ["two", "three"] {
        stage.discord.send_message(stage.tea, stage.mio, text).unwrap();
    }
    let mut again = stage.connect().await;
    again.heard().await;
    again.resume(&ready["session_id"], 3).await;
    for (seq, text) in [(4, "two"), (5, "three")] {
        let frame = again.heard().await;
        assert_eq!((&frame["s"], &frame["d"]["content"]), (&json!(seq), &json!(text)));
    }
    assert_eq!(again.heard().await["t"], "RESUMED");
    assert_eq!(stage.discord.session_start_quota().remaining, 999, "to resume costs no session");
}

#[tokio::test]
async fn sessions_that_are_over_are_not_resumed() {
    let stage = Stage::new().await;
    let (socket, ready) = stage.listen(usual()).await;
    let session = &ready["session_id"];
    drop(socket);
    stage.until(|discord| discord.connection_count() == 0).await;
    stage.discord.expire_sessions();
    let mut again = stage.connect().await;
    again.heard().await;
    again.resume(session, 1).await;
    let refused = again.heard().await;
    assert_eq!((&refused["op"], &refused["d"]), (&json!(9), &json!(false)));
    // The connection is still good for a new one.
    again.identify(usual()).await;
    assert_eq!(again.heard().await["t"], "READY");
}

#[tokio::test]
async fn whoever_says_goodbye_ends_the_session() {
    for (code, is_resumed) in [(1000, false), (1001, false), (4000, true)] {
        let stage = Stage::new().await;
        let (mut socket, ready) = stage.listen(usual()).await;
        let close = tokio_tungstenite::tungstenite::protocol::CloseFrame {
            code: code.into(),
            reason: "".into(),
        };
        socket.0.close(Some(close)).await.unwrap();
        stage.until(|discord| discord.connection_count() == 0).await;
        assert_eq!(stage.discord.close_codes(), [Some(code)]);
        let mut again = stage.connect().await;
        again.heard().await;
        again.resume(&ready["session_id"], 2).await;
        let answer = again.heard().await;
        assert_eq!(answer["t"] == "RESUMED", is_resumed, "{code}: {answer}");
    }
}

#[tokio::test]
async fn what_is_wrong_closes_with_its_code() {
    type Wrong = (u16, fn(&Stage) -> (u64, Value));
    let wrongs: [Wrong; 9] = [
        (4001, |_| (99, json!({}))),
        (4002, |_| (2, json!({ "token": TOKEN }))),
        (4003, |_| (3, json!({}))),
        (4004, |_| (2, json!({ "token": "no", "intents": 1, "properties": {} }))),
        (4010, |_| (2, json!({ "token": TOKEN, "intents": 1, "properties": {}, "shard": [1, 1] }))),
        (4013, |_| (2, json!({ "token": TOKEN, "intents": 1 << 30, "properties": {} }))),
        (4014, |stage| {
            stage.discord.set_privileged_intents(PermissionEffect::Deny, Intents::MESSAGE_CONTENT);
            (2, json!({ "token": TOKEN, "intents": 1 << 15, "properties": {} }))
        }),
        (4002, |_| (1, json!("x".repeat(5000)))),
        (4004, |_| (6, json!({ "token": "no", "session_id": "s", "seq": 1 }))),
    ];
    for (code, wrong) in wrongs {
        let stage = Stage::new().await;
        let mut socket = stage.connect().await;
        socket.heard().await;
        let (op, data) = wrong(&stage);
        socket.say(op, data).await;
        assert_eq!(socket.end().await, End::Closed(code));
    }
}

#[tokio::test]
async fn more_trouble_closes_with_its_code() {
    let stage = Stage::with(FakeDiscordSettings { min_shards: 2, ..settings() }).await;
    let mut socket = stage.connect().await;
    socket.heard().await;
    socket.identify(usual()).await;
    assert_eq!(socket.end().await, End::Closed(4011));

    let stage = Stage::new().await;
    let (mut socket, ready) = stage.listen(usual()).await;
    socket.identify(usual()).await;
    assert_eq!(socket.end().await, End::Closed(4005));
    let mut socket = stage.connect().await;
    socket.heard().await;
    socket.resume(&ready["session_id"], 99).await;
    assert_eq!(socket.end().await, End::Closed(4007));

    let (mut socket, _) = stage.listen(usual()).await;
    for _ in 0..121 {
        socket.say(1, Value::Null).await;
    }
    assert_eq!(socket.end().await, End::Closed(4008));

    let url = format!("ws://{}/gateway?v=9&encoding=json", stage.address);
    let mut socket = Socket(tokio_tungstenite::connect_async(url).await.unwrap().0);
    assert_eq!(socket.end().await, End::Closed(4012));
}

#[tokio::test]
async fn sessions_are_counted() {
    let stage = Stage::new().await;
    stage.discord.set_remaining_session_starts(1);
    let (_first, _) = stage.listen(usual()).await;
    let (_, told) = stage.get("gateway/bot").await;
    assert_eq!(told["session_start_limit"]["remaining"], 0);
    assert_eq!(told["session_start_limit"]["total"], 1000);
    // One too many, and the token is worth nothing any more.
    let mut socket = stage.connect().await;
    socket.heard().await;
    socket.identify(usual()).await;
    assert_eq!(socket.end().await, End::Closed(4004));
    let (status, told) = stage.get("users/@me").await;
    assert_eq!((status, &told["message"]), (401, &json!("401: Unauthorized")));
}

#[tokio::test]
async fn sessions_that_begin_too_fast_are_invalid() {
    let slow = SignedDuration::from_hours(1);
    let stage = Stage::with(FakeDiscordSettings { identify_interval: slow, ..settings() }).await;
    let (_first, _) = stage.listen(usual()).await;
    let mut socket = stage.connect().await;
    socket.heard().await;
    socket.identify(usual()).await;
    let refused = socket.heard().await;
    assert_eq!((&refused["op"], &refused["d"]), (&json!(9), &json!(false)));
}

#[tokio::test]
async fn discord_can_ask_to_reconnect_or_refuse() {
    let stage = Stage::new().await;
    let (mut socket, ready) = stage.listen(usual()).await;
    stage.discord.request_reconnect();
    assert_eq!(socket.heard().await["op"], 7);
    stage.discord.invalidate_sessions(SessionRefusal::Resumable);
    let told = socket.heard().await;
    assert_eq!((&told["op"], &told["d"]), (&json!(9), &json!(true)));
    stage.discord.close_connections(4000);
    assert_eq!(socket.end().await, End::Closed(4000));
    stage.until(|discord| discord.connection_count() == 0).await;
    stage.discord.refuse_next_session(SessionRefusal::Close(4009));
    let mut again = stage.connect().await;
    again.heard().await;
    again.resume(&ready["session_id"], 2).await;
    assert_eq!(again.end().await, End::Closed(4009));
}

#[tokio::test]
async fn hearts_may_be_ignored_and_sockets_die_silently() {
    let stage = Stage::new().await;
    let (mut socket, _) = stage.listen(usual()).await;
    stage.discord.set_heartbeat_behavior(HeartbeatBehavior::Ignored);
    socket.say(1, Value::Null).await;
    stage.until(|discord| discord.payloads(1).len() == 1).await;
    stage.discord.send_message(stage.tea, stage.mio, "still talking").unwrap();
    socket.event("MESSAGE_CREATE").await;
    stage.discord.stall_connections();
    stage.discord.send_message(stage.tea, stage.mio, "into the void").unwrap();
    assert_eq!((stage.discord.connection_count(), stage.discord.session_count()), (0, 0));
    stage.discord.reset_connections();
    assert_eq!(socket.end().await, End::Reset);

    stage.discord.set_connect_behavior(ConnectBehavior::Refusal);
    let url = format!("ws://{}/gateway?v=10", stage.address);
    let refused = tokio_tungstenite::connect_async(url).await.map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("503"), "{refused}");
}

#[tokio::test]
async fn who_does_not_breathe_is_gone() {
    let interval = SignedDuration::from_millis(5);
    let stage =
        Stage::with(FakeDiscordSettings { heartbeat_interval: interval, ..settings() }).await;
    let mut socket = stage.connect().await;
    socket.heard().await;
    assert_eq!(socket.end().await, End::Closed(4009));
}

#[tokio::test]
async fn words_come_packed_if_wished() {
    let stage = Stage::new().await;
    let url = format!("ws://{}/gateway?v=10&encoding=json&compress=zlib-stream", stage.address);
    let mut socket = Socket(tokio_tungstenite::connect_async(url).await.unwrap().0);
    let mut stream = flate2::Decompress::new(true);
    let mut unpack = async |socket: &mut Socket| -> Value {
        let Message::Binary(bytes) = socket.0.next().await.unwrap().unwrap() else {
            panic!("it is packed")
        };
        assert!(bytes.ends_with(&[0, 0, 0xff, 0xff]));
        let mut text = Vec::with_capacity(1 << 16);
        stream.decompress_vec(&bytes, &mut text, flate2::FlushDecompress::Sync).unwrap();
        serde_json::from_slice(&text).unwrap()
    };
    assert_eq!(unpack(&mut socket).await["op"], 10);
    socket.identify(usual()).await;
    assert_eq!(unpack(&mut socket).await["t"], "READY");
    assert_eq!(unpack(&mut socket).await["t"], "GUILD_CREATE");
}

#[tokio::test]
async fn sessions_hear_only_what_they_asked_for() {
    let stage = Stage::new().await;
    let (mut deaf, _) = stage.listen(Intents::GUILDS).await;
    let (mut blind, _) = stage.listen(Intents::GUILDS | Intents::GUILD_MESSAGES).await;
    let (mut seeing, _) = stage.listen(usual()).await;
    stage.discord.send_message(stage.tea, stage.mio, "a secret").unwrap();
    stage.discord.send_message(stage.tea, stage.mio, &format!("<@{}> tea?", stage.bot)).unwrap();
    stage.discord.rename_channel(stage.tea, "coffee").unwrap();
    assert_eq!(deaf.event("CHANNEL_UPDATE").await["name"], "coffee");
    assert_eq!(blind.event("MESSAGE_CREATE").await["content"], "");
    let mention = blind.event("MESSAGE_CREATE").await;
    assert_eq!(mention["content"], format!("<@{}> tea?", stage.bot), "what pings it, it may read");
    assert_eq!(seeing.event("MESSAGE_CREATE").await["content"], "a secret");
}

#[tokio::test]
async fn each_shard_hears_of_its_own_guilds() {
    let stage = Stage::new().await;
    let mut shards = Vec::new();
    for shard in [0, 1] {
        let mut socket = stage.connect().await;
        socket.heard().await;
        let identify =
            json!({ "token": TOKEN, "intents": usual(), "properties": {}, "shard": [shard, 2] });
        socket.say(2, identify).await;
        assert_eq!(socket.heard().await["d"]["shard"], json!([shard, 2]));
        shards.push(socket);
    }
    let home = usize::try_from((stage.guild.get() >> 22) % 2).unwrap();
    shards[home].event("GUILD_CREATE").await;
    stage.discord.send_message(stage.tea, stage.mio, "in the guild").unwrap();
    let direct = stage.discord.open_direct_message(stage.mio).unwrap();
    stage.discord.send_message(direct, stage.mio, "in private").unwrap();
    assert_eq!(shards[home].event("MESSAGE_CREATE").await["content"], "in the guild");
    assert_eq!(shards[0].event("MESSAGE_CREATE").await["content"], "in private");
}
