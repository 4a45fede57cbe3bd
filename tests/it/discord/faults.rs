//! Faults of Discord's gateway, and the recovery from them (scenarios D01 to D05).

use std::time::Duration;

use aizuchi_fakes::discord::FakeDiscordSettings;
use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::method::Method;
use aizuchi_fakes::discord::session::{ConnectBehavior, HeartbeatBehavior, SessionRefusal};
use aizuchi_harness::net::{free_port, http};
use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::discord::harness::{DiscordHarness, IDENTIFY, RESUME, Setting};
use crate::program::next_poll;

const STORED_MESSAGES: &str = "SELECT count(*) FROM messages WHERE text LIKE 'line %'";
const PAGES: Method = Method::GetMessages;

/// A fault.
type GatewayFault = fn(&DiscordHarness);

impl DiscordHarness {
    fn says_five(&self) {
        for number in 0..5 {
            self.says(self.tea, self.mio, &format!("line {number}"));
        }
    }
}

/// Scenario D01: after a lost connection, the resumed session replays the missed messages, and no history is read.
#[tokio::test]
async fn d01_a_session_is_resumed_after_a_cut() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    let reads = harness.discord.calls(PAGES).len();
    harness.says(harness.tea, harness.mio, "before the cut");
    harness.until_line("before the cut").await;
    harness.discord.reset_connections();
    harness.says_five();
    harness.until_kept(STORED_MESSAGES, 5).await;
    assert_eq!((harness.said(IDENTIFY), harness.said(RESUME)), (1, 1));
    assert_eq!(
        harness.discord.calls(PAGES).len(),
        reads,
        "nothing was missed, so no history is read"
    );
    assert_eq!(program.stop(), Some(0));
    // 1000 and 1001 would end the session.
    let closes = harness.discord.close_codes();
    assert!(!closes.contains(&Some(1000)) && !closes.contains(&Some(1001)), "{closes:?}");
}

/// Scenario D02: the session is also resumed after a kill or a stop, because its sequence number is stored with the
/// messages.
#[tokio::test]
async fn d02_a_session_is_resumed_after_a_kill() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    harness.says(harness.tea, harness.mio, "before the kill");
    harness.until_line("before the kill").await;
    program.kill();
    harness.says_five();
    let reads = harness.discord.calls(PAGES).len();
    let program = harness.start().await;
    harness.until_kept(STORED_MESSAGES, 5).await;
    assert_eq!((harness.said(IDENTIFY), harness.said(RESUME)), (1, 1));
    assert_eq!(program.stop(), Some(0));
    harness.asks(harness.attic, harness.ren, "are you there?");
    let program = harness.start().await;
    assert_eq!(harness.posts(1).await[0].channel, harness.attic);
    assert_eq!((harness.said(IDENTIFY), harness.said(RESUME)), (1, 2));
    assert_eq!(
        harness.discord.calls(PAGES).len(),
        reads,
        "nothing was missed, so no history is read"
    );
    assert_eq!(program.stop(), Some(0));
    let resumed = harness.discord.payloads(RESUME);
    // READY, the server and the message before the kill.
    assert_eq!(resumed[0].data["seq"], 3, "{resumed:?}");
    assert!(resumed[1].data["seq"].as_u64() > resumed[0].data["seq"].as_u64(), "{resumed:?}");
}

/// Discord replays the deletion of a thread that it lists no longer.
#[tokio::test]
async fn a_thread_that_is_deleted_meanwhile_is_deleted_here() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    let parent = harness.says(harness.tea, harness.mio, "roses?");
    let thread = harness.opens_thread(harness.tea, parent);
    for text in ["red ones", "white ones", "none at all"] {
        harness.says(thread, harness.ren, text);
    }
    harness.until_kept("SELECT count(*) FROM messages WHERE text != ''", 4).await;
    program.kill();
    harness.discord.delete_channel(thread).unwrap();
    let program = harness.start().await;
    harness.until_kept("SELECT count(*) FROM messages WHERE deleted_ms IS NOT NULL", 3).await;
    assert_eq!((harness.said(IDENTIFY), harness.said(RESUME)), (1, 1));
    assert_eq!(harness.lines(harness.tea).await, ["roses?"]);
    assert_eq!(program.stop(), Some(0));
}

/// If Discord has forgotten the session, a new one starts and the gap is backfilled.
#[tokio::test]
async fn an_expired_session_is_replaced_and_the_gap_is_backfilled() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    program.kill();
    harness.until(|discord| discord.connection_count() == 0).await;
    harness.discord.expire_sessions();
    harness.says_five();
    let program = harness.start().await;
    harness.until_kept(STORED_MESSAGES, 5).await;
    assert_eq!((harness.said(IDENTIFY), harness.said(RESUME)), (2, 1));
    // Both are counted in the store, which survives restarts.
    let counted = "SELECT length(value) - length(replace(value, ' ', '')) + 1 FROM bookmarks
        WHERE place = 'identifies'";
    assert_eq!(harness.count(counted).await, 2);
    assert_eq!(program.stop(), Some(0));
}

/// Op 7, op 9 and every close code after which the bot may reconnect.
#[tokio::test]
async fn no_message_is_missed_however_a_connection_ends() {
    let faults: [(GatewayFault, usize); 8] = [
        (|harness| harness.discord.request_reconnect(), 1),
        (|harness| harness.discord.invalidate_sessions(SessionRefusal::Resumable), 1),
        (|harness| harness.discord.close_connections(4000), 1),
        (|harness| harness.discord.close_connections(4003), 1),
        (|harness| harness.discord.close_connections(1001), 1),
        (|harness| harness.discord.invalidate_sessions(SessionRefusal::Invalid), 2),
        (|harness| harness.discord.close_connections(4007), 2),
        (|harness| harness.discord.close_connections(4009), 2),
    ];
    let runs = (0..).zip(faults).map(|(number, (fault, sessions))| async move {
        let harness = DiscordHarness::new().await;
        let program = harness.start().await;
        fault(&harness);
        harness.says_five();
        harness.until_kept(STORED_MESSAGES, 5).await;
        harness.until_heard().await;
        assert_eq!(harness.said(IDENTIFY), sessions, "{number}");
        assert_eq!(program.stop(), Some(0));
    });
    join_all(runs).await;
}

/// Scenario D05: if reconnecting would not help, the program exits with the reason.
#[tokio::test]
async fn d05_a_fatal_close_code_is_explained_and_ends_the_program() {
    for (code, text) in [
        (4004, "discord.token"),
        (4010, "discord.shards"),
        (4011, "discord.shards"),
        (4012, "4012"),
        (4013, "4013"),
        (4014, "Message Content Intent"),
    ] {
        let harness = DiscordHarness::new().await;
        harness.discord.refuse_next_session(SessionRefusal::Close(code));
        let program = harness.home.start();
        let last = harness.ends(program).await;
        assert!(last.contains(text), "{code}: {last}");
        assert!(!last.contains("dev-discord-token"), "{last}");
        assert_eq!(harness.said(IDENTIFY), 1, "{code}");
    }
}

/// A connection whose heartbeats are not acknowledged is dropped, and the session is resumed on another one.
#[tokio::test]
async fn an_unresponsive_connection_is_replaced() {
    let usual = Setting::default();
    let world = FakeDiscordSettings {
        // Discord ends the session of a program that misses two heartbeats.
        heartbeat_interval: SignedDuration::from_secs(2),
        ..usual.world.clone()
    };
    let harness = DiscordHarness::with(Setting { world, ..usual }).await;
    let program = harness.start().await;
    harness.discord.stall_connections();
    harness.says_five();
    harness.until_kept(STORED_MESSAGES, 5).await;
    harness.discord.set_heartbeat_behavior(HeartbeatBehavior::Ignored);
    let before = harness.said(RESUME);
    harness.until(|discord| discord.payloads(RESUME).len() > before).await;
    harness.discord.set_heartbeat_behavior(HeartbeatBehavior::Acknowledged);
    harness.says(harness.tea, harness.mio, "line 5");
    harness.until_kept(STORED_MESSAGES, 6).await;
    assert_eq!(harness.said(IDENTIFY), 1);
    assert_eq!(program.stop(), Some(0));
}

/// A message above the size limit is not read, and resuming the session would deliver it again. A new session starts,
/// and the missed messages are backfilled.
#[tokio::test]
async fn a_message_beyond_the_limit_ends_the_session() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    harness.discord.emit_event("PRESENCE_UPDATE", json!({"note": "x".repeat(17 * 1024 * 1024)}));
    harness.says_five();
    harness.until_log("a message is larger than the limit").await;
    // The message may recur with the new session, and each session counts against Discord's daily limit.
    let log = harness.home.log();
    let lost =
        log.lines().find(|line| line.contains("a message is larger than the limit")).unwrap();
    assert!(lost.contains(r#""wait":"1s "#) || lost.contains(r#""wait":"2s"#), "{lost}");
    harness.until_kept(STORED_MESSAGES, 5).await;
    harness.until_heard().await;
    assert_eq!((harness.said(IDENTIFY), harness.said(RESUME)), (2, 0));
    assert_eq!(program.stop(), Some(0));
}

/// `/ready` fails while Discord is disconnected, and so does `/health`, in the words of kotonoha.
#[tokio::test]
async fn the_program_is_not_ready_while_disconnected() {
    let harness = DiscordHarness::new().await;
    let port = free_port();
    harness.add(&format!("health_check:\n  port: {port}\n"));
    let program = harness.start().await;
    let health = async || {
        let answer = http().get(format!("http://127.0.0.1:{port}/health")).send().await.unwrap();
        let (status, body) = (answer.status().as_u16(), answer.json::<Value>().await.unwrap());
        (status, body["status"].clone(), body["discord"].clone())
    };
    assert_eq!(program.request("/ready").await.status(), 200);
    harness.discord.set_connect_behavior(ConnectBehavior::Refusal);
    harness.discord.reset_connections();
    harness.until_log("lost a connection to Discord").await;
    let ready = program.request("/ready").await;
    assert_eq!(ready.status(), 503);
    assert!(ready.text().await.unwrap().contains("no connection to Discord"));
    assert_eq!(health().await, (503, json!("starting"), json!("disconnected")));
    harness.discord.set_connect_behavior(ConnectBehavior::Hello);
    harness.says_five();
    harness.until_kept(STORED_MESSAGES, 5).await;
    // The missed events are replayed before the session counts as resumed.
    harness.until_ready_is(&program, 200).await;
    // The health port caches its result for a moment.
    let healthy = async {
        while health().await != (200, json!("healthy"), json!("connected")) {
            next_poll().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), healthy).await.unwrap();
    assert_eq!(program.stop(), Some(0));
}

/// Scenario H01: an event that cannot be stored is not acknowledged, so Discord replays it until it is stored.
#[tokio::test]
async fn h01_an_event_that_cannot_be_stored_is_replayed() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    let lock = harness.lock_database().await;
    harness.says_five();
    harness.until_log("an event could not be stored").await;
    assert_eq!(harness.count(STORED_MESSAGES).await, 0);
    drop(lock);
    harness.until_kept(STORED_MESSAGES, 5).await;
    assert_eq!(harness.said(IDENTIFY), 1);
    assert_eq!(program.stop(), Some(0));
}

/// Discord resets the token of a bot that identifies too often, so a spent budget is never exceeded.
#[tokio::test]
async fn a_spent_identify_budget_is_waited_for() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    program.kill();
    harness.until(|discord| discord.connection_count() == 0).await;
    harness.discord.expire_sessions();
    let now = Timestamp::now().as_second();
    let spent: Vec<String> =
        (0..900).map(|number| (now - 40_000 + number * 40).to_string()).collect();
    let lock = harness.lock_database().await;
    let mut lock = lock;
    sqlx::query("UPDATE bookmarks SET value = ?1 WHERE place = 'identifies'")
        .bind(spent.join(" "))
        .execute(&mut lock)
        .await
        .unwrap();
    sqlx::query("COMMIT").execute(&mut lock).await.unwrap();
    drop(lock);
    let program = harness.home.start();
    harness.until_log("Discord might reset the token").await;
    assert_eq!(program.request("/ready").await.status(), 503);
    assert_eq!(harness.said(IDENTIFY), 1);
    // The program can be stopped while it waits.
    assert_eq!(program.stop(), Some(0));
}

/// A duplicate event is heard once, and malformed events are ignored.
#[tokio::test]
async fn duplicate_and_malformed_events_are_harmless() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    let message = harness.asks(harness.tea, harness.mio, "hello?");
    harness.posts(1).await;
    let again = json!({"id": message, "channel_id": harness.tea, "guild_id": harness.guild, "type": 0,
        "content": format!("<@{}> hello?", harness.bot), "timestamp": "2026-11-21T00:00:00+00:00",
        "author": {"id": harness.mio, "username": "mio"}, "mentions": [{"id": harness.bot}]});
    harness.discord.emit_event("MESSAGE_CREATE", again);
    for odd in
        [json!(null), json!({"id": "x"}), json!([1]), json!({"id": message, "channel_id": 5})]
    {
        harness.discord.emit_event("MESSAGE_CREATE", odd.clone());
        harness.discord.emit_event("GUILD_CREATE", odd);
    }
    harness.discord.emit_event("SOMETHING_NEW", json!({}));
    harness.says(harness.tea, harness.ren, "that is all");
    harness.until_line("that is all").await;
    assert_eq!(harness.discord.posts().len(), 1);
    assert_eq!(harness.said(IDENTIFY), 1);
    assert_eq!(program.stop(), Some(0));
}

/// An unknown channel is looked up. While the lookup fails, its messages are not lost.
#[tokio::test]
async fn an_unknown_channel_is_fetched_until_discord_answers() {
    let harness = DiscordHarness::new().await;
    let parent = harness.says(harness.tea, harness.mio, "an old line");
    let thread = harness.opens_thread(harness.tea, parent);
    harness.discord.archive_thread(thread).unwrap();
    let program = harness.start().await;
    assert_eq!(program.stop(), Some(0));
    // The session is resumed, so Discord does not describe the threads.
    harness.discord.inject_fault_times(Method::GetChannel, &Fault::Status(503), 2);
    harness.discord.inject_fault_times(Method::GetActiveThreads, &Fault::Status(503), 2);
    harness.says(thread, harness.ren, "line 0");
    let program = harness.home.start();
    harness.until_kept(&format!("{STORED_MESSAGES} AND thread = '{thread}'"), 1).await;
    assert_eq!(program.stop(), Some(0));
}
