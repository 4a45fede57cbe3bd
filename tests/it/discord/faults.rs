//! What Discord does to its apps, and how it is lived through (the D-scenarios).

use aizuchi_fakes::discord::FakeDiscordSettings;
use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::method::Method;
use aizuchi_fakes::discord::session::{ConnectBehavior, HeartbeatBehavior, SessionRefusal};
use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::discord::harness::{DiscordHarness, IDENTIFY, RESUME, Setting};

const LINES: &str = "SELECT count(*) FROM messages WHERE text LIKE 'line %'";
const PAGES: Method = Method::GetMessages;

/// Something that Discord does.
type Trouble = fn(&DiscordHarness);

impl DiscordHarness {
    fn says_five(&self) {
        for number in 0..5 {
            self.says(self.tea, self.mio, &format!("line {number}"));
        }
    }
}

/// D01: what was said while the connection was away comes when the session goes on; nothing is read.
#[tokio::test]
async fn d01_a_session_goes_on_after_a_cut() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    let read = stage.discord.calls(PAGES).len();
    stage.says(stage.tea, stage.mio, "before the cut");
    stage.until_line("before the cut").await;
    stage.discord.reset_connections();
    stage.says_five();
    stage.until_kept(LINES, 5).await;
    assert_eq!((stage.said(IDENTIFY), stage.said(RESUME)), (1, 1));
    assert_eq!(stage.discord.calls(PAGES).len(), read, "nothing was missed, so nothing is read");
    assert_eq!(program.stop(), Some(0));
    // 1000 and 1001 would end the session.
    let closes = stage.discord.close_codes();
    assert!(!closes.contains(&Some(1000)) && !closes.contains(&Some(1001)), "{closes:?}");
}

/// D02: also after a kill, or a stop, the session goes on; its place was kept with the lines.
#[tokio::test]
async fn d02_a_session_goes_on_after_a_kill() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    stage.says(stage.tea, stage.mio, "before the kill");
    stage.until_line("before the kill").await;
    program.kill();
    stage.says_five();
    let read = stage.discord.calls(PAGES).len();
    let program = stage.start().await;
    stage.until_kept(LINES, 5).await;
    assert_eq!((stage.said(IDENTIFY), stage.said(RESUME)), (1, 1));
    assert_eq!(program.stop(), Some(0));
    stage.asks(stage.attic, stage.ren, "are you there?");
    let program = stage.start().await;
    assert_eq!(stage.posts(1).await[0].channel, stage.attic);
    assert_eq!((stage.said(IDENTIFY), stage.said(RESUME)), (1, 2));
    assert_eq!(stage.discord.calls(PAGES).len(), read, "nothing was missed, so nothing is read");
    assert_eq!(program.stop(), Some(0));
    let resumed = stage.discord.payloads(RESUME);
    // READY, the server and the line before the kill.
    assert_eq!(resumed[0].data["seq"], 3, "{resumed:?}");
    assert!(resumed[1].data["seq"].as_u64() > resumed[0].data["seq"].as_u64(), "{resumed:?}");
}

/// A session that Discord has forgotten is begun anew, and what was said meanwhile is read.
#[tokio::test]
async fn a_session_that_is_over_is_followed_by_another_and_the_gap_is_read() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    program.kill();
    stage.until(|discord| discord.connection_count() == 0).await;
    stage.discord.expire_sessions();
    stage.says_five();
    let program = stage.start().await;
    stage.until_kept(LINES, 5).await;
    assert_eq!((stage.said(IDENTIFY), stage.said(RESUME)), (2, 1));
    // Both are counted where no restart forgets them.
    let counted = "SELECT length(value) - length(replace(value, ' ', '')) + 1 FROM bookmarks
        WHERE place = 'identifies'";
    assert_eq!(stage.count(counted).await, 2);
    assert_eq!(program.stop(), Some(0));
}

/// Op 7, op 9 and every code with which Discord closes a connection that may come again.
#[tokio::test]
async fn whatever_ends_a_connection_nothing_is_missed() {
    let trouble: [(Trouble, usize); 8] = [
        (|stage| stage.discord.request_reconnect(), 1),
        (|stage| stage.discord.invalidate_sessions(SessionRefusal::Resumable), 1),
        (|stage| stage.discord.close_connections(4000), 1),
        (|stage| stage.discord.close_connections(4003), 1),
        (|stage| stage.discord.close_connections(1001), 1),
        (|stage| stage.discord.invalidate_sessions(SessionRefusal::Invalid), 2),
        (|stage| stage.discord.close_connections(4007), 2),
        (|stage| stage.discord.close_connections(4009), 2),
    ];
    let lives = (0..).zip(trouble).map(|(number, (happens, sessions))| async move {
        let stage = DiscordHarness::new().await;
        let program = stage.start().await;
        happens(&stage);
        stage.says_five();
        stage.until_kept(LINES, 5).await;
        stage.until_heard().await;
        assert_eq!(stage.said(IDENTIFY), sessions, "{number}");
        assert_eq!(program.stop(), Some(0));
    });
    join_all(lives).await;
}

/// D05: where another connection would do no better, it says why and ends.
#[tokio::test]
async fn d05_where_it_may_not_be_it_says_why_and_ends() {
    for (code, words) in [
        (4004, "discord.token"),
        (4010, "discord.shards"),
        (4011, "discord.shards"),
        (4012, "4012"),
        (4013, "4013"),
        (4014, "Message Content Intent"),
    ] {
        let stage = DiscordHarness::new().await;
        stage.discord.refuse_next_session(SessionRefusal::Close(code));
        let program = stage.home.start();
        let last = stage.ends(program).await;
        assert!(last.contains(words), "{code}: {last}");
        assert!(!last.contains("dev-discord-token"), "{last}");
        assert_eq!(stage.said(IDENTIFY), 1, "{code}");
    }
}

/// A connection over which no heartbeat is answered is given up, and the session goes on over another.
#[tokio::test]
async fn a_connection_that_is_half_dead_is_given_up() {
    let usual = Setting::default();
    let world = FakeDiscordSettings {
        heartbeat_interval: SignedDuration::from_millis(300),
        ..usual.world.clone()
    };
    let stage = DiscordHarness::with(Setting { world, ..usual }).await;
    let program = stage.start().await;
    stage.discord.stall_connections();
    stage.says_five();
    stage.until_kept(LINES, 5).await;
    stage.discord.set_heartbeat_behavior(HeartbeatBehavior::Ignored);
    let before = stage.said(RESUME);
    stage.until(|discord| discord.payloads(RESUME).len() > before).await;
    stage.discord.set_heartbeat_behavior(HeartbeatBehavior::Acknowledged);
    stage.says(stage.tea, stage.mio, "line 5");
    stage.until_kept(LINES, 6).await;
    assert_eq!(stage.said(IDENTIFY), 1);
    assert_eq!(program.stop(), Some(0));
}

/// While Discord cannot be heard, whoever asks is told so.
#[tokio::test]
async fn it_is_not_ready_while_it_is_off_the_air() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    assert_eq!(program.request("/ready").await.status(), 200);
    stage.discord.set_connect_behavior(ConnectBehavior::Refusal);
    stage.discord.reset_connections();
    stage.until_log("a connection to Discord is lost").await;
    let ready = program.request("/ready").await;
    assert_eq!(ready.status(), 503);
    assert!(ready.text().await.unwrap().contains("no connection to Discord"));
    stage.discord.set_connect_behavior(ConnectBehavior::Hello);
    stage.says_five();
    stage.until_kept(LINES, 5).await;
    stage.until_heard().await;
    assert_eq!(program.request("/ready").await.status(), 200);
    assert_eq!(program.stop(), Some(0));
}

/// H01: what cannot be kept has not been heard. It comes again, however often that takes.
#[tokio::test]
async fn h01_what_cannot_be_kept_comes_again() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    let lock = stage.lock_database().await;
    stage.says_five();
    stage.until_log("what came could not be kept").await;
    assert_eq!(stage.count(LINES).await, 0);
    drop(lock);
    stage.until_kept(LINES, 5).await;
    assert_eq!(stage.said(IDENTIFY), 1);
    assert_eq!(program.stop(), Some(0));
}

/// The token is worth more than an answer: what Discord allows in a day is never spent.
#[tokio::test]
async fn a_spent_budget_is_waited_for() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    program.kill();
    stage.until(|discord| discord.connection_count() == 0).await;
    stage.discord.expire_sessions();
    let now = Timestamp::now().as_second();
    let spent: Vec<String> =
        (0..900).map(|number| (now - 40_000 + number * 40).to_string()).collect();
    let lock = stage.lock_database().await;
    let mut lock = lock;
    sqlx::query("UPDATE bookmarks SET value = ?1 WHERE place = 'identifies'")
        .bind(spent.join(" "))
        .execute(&mut lock)
        .await
        .unwrap();
    sqlx::query("COMMIT").execute(&mut lock).await.unwrap();
    drop(lock);
    let program = stage.home.start();
    stage.until_log("Discord might take the token away").await;
    assert_eq!(program.request("/ready").await.status(), 503);
    assert_eq!(stage.said(IDENTIFY), 1);
    // Whoever waits so long can still be stopped.
    assert_eq!(program.stop(), Some(0));
}

/// What comes twice is heard once; what is not understood spoils nothing.
#[tokio::test]
async fn what_comes_twice_or_makes_no_sense_spoils_nothing() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    let line = stage.asks(stage.tea, stage.mio, "hello?");
    stage.posts(1).await;
    let again = json!({"id": line, "channel_id": stage.tea, "guild_id": stage.guild, "type": 0,
        "content": format!("<@{}> hello?", stage.bot), "timestamp": "2026-11-21T00:00:00+00:00",
        "author": {"id": stage.mio, "username": "mio"}, "mentions": [{"id": stage.bot}]});
    stage.discord.emit_event("MESSAGE_CREATE", again);
    for odd in [json!(null), json!({"id": "x"}), json!([1]), json!({"id": line, "channel_id": 5})] {
        stage.discord.emit_event("MESSAGE_CREATE", odd.clone());
        stage.discord.emit_event("GUILD_CREATE", odd);
    }
    stage.discord.emit_event("SOMETHING_NEW", json!({}));
    stage.says(stage.tea, stage.ren, "that is all");
    stage.until_line("that is all").await;
    assert_eq!(stage.discord.posts().len(), 1);
    assert_eq!(stage.said(IDENTIFY), 1);
    assert_eq!(program.stop(), Some(0));
}

/// A channel that was never told of is asked about; while that fails, what is said there is not lost.
#[tokio::test]
async fn an_unknown_place_is_asked_about_until_there_is_an_answer() {
    let stage = DiscordHarness::new().await;
    let parent = stage.says(stage.tea, stage.mio, "an old line");
    let thread =
        stage.discord.start_thread_from_message(stage.tea, parent, stage.mio, "old").unwrap();
    stage.discord.archive_thread(thread).unwrap();
    let program = stage.start().await;
    assert_eq!(program.stop(), Some(0));
    // The session goes on, which tells nothing of threads.
    stage.discord.inject_fault_times(Method::GetChannel, &Fault::Status(503), 2);
    stage.discord.inject_fault_times(Method::GetActiveThreads, &Fault::Status(503), 2);
    stage.says(thread, stage.ren, "line 0");
    let program = stage.home.start();
    stage.until_kept(&format!("{LINES} AND thread = '{thread}'"), 1).await;
    assert_eq!(program.stop(), Some(0));
}
