//! Timeouts of the adapter, with shorter ones than in production: idle connections and hanging calls.

use std::sync::Arc;
use std::time::Duration;

use aizuchi_agent::inbox::Inbox;
use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::slack::channel::ChannelKind;
use aizuchi_fakes::slack::delivery::ConnectBehavior;
use aizuchi_fakes::slack::fault::{Fault, HistoryCap};
use aizuchi_fakes::slack::message::NewFakeMessage;
use aizuchi_fakes::slack::state::TokenStatus;
use aizuchi_fakes::slack::ts::Ts;
use aizuchi_fakes::slack::{FakeSlack, FakeSlackSettings};
use aizuchi_harness::harness::build_parts;
use aizuchi_harness::test_mind::TestMind;
use aizuchi_harness::test_platform::TestPlatform;
use aizuchi_harness::test_store::TestStore;
use aizuchi_model::chat::{ChannelId, ConversationId, Cursor, MessageId};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::flow::outbox::{DraftMetadata, OutboxItem, OutboxItemId};
use aizuchi_model::persona::{Language, Persona};
use aizuchi_model::platform::{Platform, PlatformError};
use aizuchi_platform::PlatformDeps;
use aizuchi_slack::SlackPlatform;
use aizuchi_slack::identity::fetch_identity;
use aizuchi_slack::settings::{EventTransport, ReplyPlacement, SlackSettings, SlackTimeouts};
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::program::next_poll;
use crate::slack::harness::{SlackHarness, SlackOptions};

/// What a user is told of a command that takes long.
const STILL_WORKING: &str = "This is taking a moment. I’ll tell you here when it’s done.";

/// The adapter alone, without the rest of the program.
pub struct AdapterHarness {
    pub harness: SlackHarness,
    pub slack: Arc<SlackPlatform>,
    inbox: Arc<Inbox>,
    pub database: TestStore,
    _stop: DropGuard,
}

/// Timeouts that a busy machine does not exceed either, with short waits between pages. A test shortens only the
/// timeout that it is about.
fn patient() -> SlackTimeouts {
    SlackTimeouts {
        limited_page_interval: SignedDuration::from_millis(50),
        history_lag: SignedDuration::from_millis(200),
        ..SlackTimeouts::default()
    }
}

/// Like `patient`, but connections that open silently are given up soon.
fn quick_to_open() -> SlackTimeouts {
    SlackTimeouts {
        open: Duration::from_secs(1),
        ping_interval: Duration::from_millis(100),
        ..patient()
    }
}

async fn connect(
    harness: &SlackHarness,
    database: &TestStore,
    clock: Clock,
    timeouts: SlackTimeouts,
) -> (SlackPlatform, Arc<Inbox>) {
    let settings = SlackSettings {
        bot_token: SecretString::from("xoxb-dev").into(),
        events: EventTransport::SocketMode {
            app_token: SecretString::from("xapp-dev").into(),
            connections: 2,
        },
        api_base: harness.api.clone(),
        reply_in: ReplyPlacement::TopLevel,
        in_flight_timeout: SignedDuration::from_secs(60),
        history_span: SignedDuration::from_hours(24),
        sync_interval: SignedDuration::from_hours(1),
        timeouts,
    };
    let (mind, platform) = (Arc::new(TestMind::default()), Arc::new(TestPlatform::default()));
    let (inbox, _) = build_parts(database.store.clone(), clock, mind, platform);
    let persona = Persona {
        name: "Aizuchi".to_owned(),
        system_prompt: String::new(),
        language: Language::En,
    };
    let (persona, archive) = (Arc::new(persona), database.archive.clone());
    let deps = PlatformDeps {
        answers: aizuchi_harness::harness::answers(
            database.store.clone(),
            archive.clone(),
            &persona,
        ),
        persona,
        inbox: inbox.clone(),
        archive,
        cursors: database.cursors.clone(),
    };
    let patient = SlackSettings { timeouts: patient(), ..settings.clone() };
    let identity = fetch_identity(&patient).await.unwrap();
    (SlackPlatform::new(settings, identity, deps).await.unwrap(), inbox)
}

impl AdapterHarness {
    pub async fn new() -> Self {
        Self::with(SlackHarness::new().await).await
    }

    async fn with(harness: SlackHarness) -> Self {
        Self::with_clock(harness, Clock::system()).await
    }

    pub async fn with_clock(harness: SlackHarness, clock: Clock) -> Self {
        Self::with_timeouts(harness, clock, patient()).await
    }

    async fn with_timeouts(harness: SlackHarness, clock: Clock, timeouts: SlackTimeouts) -> Self {
        let database = TestStore::sqlite().await;
        let (slack, inbox) = connect(&harness, &database, clock, timeouts).await;
        let slack = Arc::new(slack);
        let stop = CancellationToken::new();
        let (running, stopping) = (slack.clone(), stop.clone());
        tokio::spawn(async move { running.run(stopping).await });
        let adapter = Self { harness, slack, inbox, database, _stop: stop.drop_guard() };
        adapter.harness.wait_until(|slack| slack.connection_counts().open == 2).await;
        for channel in [&adapter.harness.tea, &adapter.harness.attic] {
            adapter.wait_for_cursor(channel, |_| true).await;
        }
        adapter
    }

    /// The adapter of the next process, which has seen no event.
    async fn restarted(&self, timeouts: SlackTimeouts) -> SlackPlatform {
        connect(&self.harness, &self.database, Clock::system(), timeouts).await.0
    }

    pub fn outbox_item(&self, key: &str) -> OutboxItem {
        OutboxItem {
            id: OutboxItemId(1),
            first_in_draft: OutboxItemId(1),
            conversation: ConversationId {
                workspace: self.slack.identity().workspace.clone(),
                channel: ChannelId::new(self.harness.tea.as_str()),
                thread: None,
            },
            key: key.into(),
            text: "Here I am.".into(),
            reaction_to: None,
            metadata: Arc::new(DraftMetadata {
                owed: vec![MessageId::new("1.000000").into()],
                ..DraftMetadata::new(DecisionResult::Spoke, "")
            }),
            dispatched_at: Some(Timestamp::now()),
        }
    }

    /// Waits until the adapter has stored a cursor with a certain value.
    async fn wait_for_cursor(&self, stream: &str, matches: impl Fn(&str) -> bool) {
        let workspace = self.slack.identity().workspace.clone();
        let stored = async {
            loop {
                let cursors = self.database.cursors.cursors(&workspace).await.unwrap();
                if cursors.iter().any(|it| &*it.stream == stream && matches(&it.value)) {
                    return;
                }
                next_poll().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), stored).await.unwrap();
    }

    async fn is_heard(&self, id: &MessageId) -> bool {
        let channel = ChannelId::new(self.harness.tea.as_str());
        let workspace = &self.slack.identity().workspace;
        self.database.archive.message(workspace, &channel, id).await.unwrap().is_some()
    }

    /// Stores a cursor as if the adapter had.
    async fn set_cursor(&self, stream: &str, value: &str) {
        let workspace = self.slack.identity().workspace.clone();
        let cursor = Cursor { workspace, stream: stream.into(), value: value.into() };
        self.database.cursors.put_cursor(cursor).await.unwrap();
    }

    /// Posts a message as a user, and waits until it is stored.
    async fn post_and_wait(&self, text: &str) {
        let ts = self.harness.post_message(&self.harness.tea, &self.harness.mio, text);
        self.until_heard(ts).await;
    }

    /// Waits for `count` answers to slash commands. Returns those to Mio, newest last.
    pub async fn command_answers(&self, count: usize) -> Vec<String> {
        let answers = || self.harness.slack.read(|state| state.workspace.ephemeral.clone());
        self.harness.wait_until(|_| answers().len() >= count).await;
        let answers = answers().into_iter().filter(|one| one.user == self.harness.mio);
        answers.map(|one| one.text).collect()
    }

    async fn until_heard(&self, ts: Ts) {
        let id = MessageId::new(ts.to_string());
        let mut revisions = self.database.store.revisions();
        let heard = async {
            while !self.is_heard(&id).await {
                revisions.changed().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(60), heard).await.unwrap();
    }
}

/// H25: idle connections are replaced, and the messages that they lost are backfilled.
#[tokio::test]
async fn h25_an_idle_connection_is_replaced() {
    let timeouts = SlackTimeouts {
        idle: Duration::from_secs(1),
        ping_interval: Duration::from_millis(100),
        ..patient()
    };
    let harness = SlackHarness::new().await;
    let adapter = AdapterHarness::with_timeouts(harness, Clock::system(), timeouts).await;
    adapter.post_and_wait("before").await;
    adapter.harness.slack.stall_connections();
    adapter.post_and_wait("into the void").await;
    adapter.harness.wait_until(|slack| slack.connection_counts().open >= 2).await;
    adapter.post_and_wait("after").await;
}

/// A connection without a hello is dropped, and so is a request for a URL that hangs.
#[tokio::test]
async fn a_connection_without_a_hello_is_reopened() {
    let timeouts = SlackTimeouts { call: Duration::from_secs(1), ..quick_to_open() };
    let harness = SlackHarness::new().await;
    let adapter = AdapterHarness::with_timeouts(harness, Clock::system(), timeouts).await;
    adapter.harness.slack.set_connect_behavior(ConnectBehavior::Silence);
    adapter
        .harness
        .slack
        .inject_fault("apps.connections.open", Fault::HangBefore(Hang::UntilReleased));
    let before = adapter.harness.slack.calls("apps.connections.open").len();
    adapter.harness.slack.reset_connections();
    adapter
        .harness
        .wait_until(|slack| slack.calls("apps.connections.open").len() >= before + 4)
        .await;
    assert!(adapter.slack.outage().is_some());
    adapter.harness.slack.set_connect_behavior(ConnectBehavior::Hello);
    adapter.post_and_wait("after").await;
    assert_eq!(adapter.slack.outage(), None);
}

/// A message from just before a gap that was deleted in the gap is not mistaken for one that the history does not show
/// yet.
#[tokio::test]
async fn a_young_message_that_was_deleted_in_a_gap_is_forgotten() {
    let team = FakeSlackSettings { retry_delays: Vec::new(), ..FakeSlackSettings::default() };
    let harness = SlackHarness::with(SlackOptions { team, ..SlackOptions::default() }).await;
    let adapter = AdapterHarness::with_timeouts(harness, Clock::system(), quick_to_open()).await;
    let AdapterHarness { harness, slack, .. } = &adapter;
    let slip = harness.post_message(&harness.tea, &harness.mio, "a slip of the tongue");
    adapter.until_heard(slip).await;
    harness.slack.set_connect_behavior(ConnectBehavior::Silence);
    harness.slack.reset_connections();
    let mut changes = slack.connection.subscribe();
    changes.wait_for(|state| state.open_connections == 0).await.unwrap();
    harness.slack.delete_message(&harness.tea, slip).unwrap();
    harness.slack.set_connect_behavior(ConnectBehavior::Hello);
    let (id, tea) = (MessageId::new(slip.to_string()), ChannelId::new(harness.tea.as_str()));
    let forgotten = async {
        loop {
            let workspace = &slack.identity().workspace;
            let stored = adapter.database.archive.message(workspace, &tea, &id).await.unwrap();
            if stored.unwrap().is_deleted {
                return;
            }
            next_poll().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), forgotten).await.unwrap();
}

/// H14: after any failure of the call, the history shows whether the message was posted.
#[tokio::test]
async fn h14_an_unknown_outcome_can_be_looked_up() {
    let adapter = AdapterHarness::new().await;
    let restarted = adapter.restarted(patient()).await;
    let hasty = SlackTimeouts { call: Duration::from_secs(1), ..patient() };
    let hasty = adapter.restarted(hasty).await;
    let mut posts = 0;
    for (number, fault, was_posted) in [
        (1, Fault::HangAfter(Hang::UntilReleased), true),
        (2, Fault::HangBefore(Hang::UntilReleased), false),
        (3, Fault::ResetAfter, true),
        (4, Fault::ResetBefore, false),
        (5, Fault::StatusAfter(500), true),
        (6, Fault::Status(503), false),
        (7, Fault::Garbage, false),
    ] {
        let outbox_item = adapter.outbox_item(&format!("key-{number}"));
        adapter.harness.slack.inject_fault("chat.postMessage", fault.clone());
        let answer = hasty.post(&outbox_item).await;
        assert!(matches!(answer, Err(PlatformError::OutcomeUnknown(_))), "{fault:?}: {answer:?}");
        // On a busy machine, the call may time out before Slack has handled it.
        posts += usize::from(was_posted);
        let is_handled = |slack: &FakeSlack| {
            slack.calls("chat.postMessage").len() == number && slack.posts().len() == posts
        };
        adapter.harness.wait_until(is_handled).await;
        let found = restarted.find_posted(&outbox_item).await.unwrap();
        assert_eq!(found.is_some(), was_posted, "{fault:?}");
    }
    adapter.harness.slack.release_hanging();
    // If the history cannot be read, the outcome stays unknown.
    for fault in [Fault::Status(503), Fault::HangBefore(Hang::UntilReleased)] {
        adapter.harness.slack.inject_fault("conversations.history", fault.clone());
        let found = hasty.find_posted(&adapter.outbox_item("key-1")).await;
        let is_unknown = matches!(found, Err(PlatformError::OutcomeUnknown(_)));
        assert!(is_unknown, "{fault:?}: {found:?}");
        adapter.harness.slack.release_hanging();
    }
    // Only a message of the bot itself counts.
    let posted = restarted.find_posted(&adapter.outbox_item("key-1")).await.unwrap().unwrap();
    assert_eq!(posted.author.as_str(), adapter.harness.bot);
}

/// A page that is cut off at the limit may be a coincidence; a longer page shows that there is no limit.
#[tokio::test]
async fn a_rate_limit_on_the_history_can_be_lifted() {
    let harness = SlackHarness::new().await;
    for number in 0..40 {
        harness.post_message(&harness.tea, &harness.mio, &format!("line {number}"));
    }
    let cap = HistoryCap { objects: 15, interval: SignedDuration::ZERO };
    harness.slack.cap_history(Some(cap));
    let adapter = AdapterHarness::with(harness).await;
    adapter.wait_for_cursor("history is capped", |value| value == "true").await;
    adapter.harness.slack.cap_history(None);
    adapter.harness.slack.reset_connections();
    adapter.wait_for_cursor("history is capped", |value| value == "false").await;
}

/// The newest page of a history is read first, since it may show that a message on an older one was answered.
#[tokio::test]
async fn a_mention_that_a_newer_page_answers_is_not_owed() {
    let harness = SlackHarness::new().await;
    let mut lines = vec![(&harness.mio, format!("<@{}> what do roses need?", harness.bot))];
    lines.extend((0..20).map(|number| (&harness.ren, format!("line {number}"))));
    lines.push((&harness.bot, "Straw.".to_owned()));
    // A second apart: an answer within the millisecond of its question would not count as later.
    let begin = Timestamp::now() - SignedDuration::from_mins(1);
    for (second, (user, text)) in (0..).zip(lines) {
        let ts = Some(Ts::from_timestamp(begin + SignedDuration::from_secs(second)));
        let line = NewFakeMessage::new(&harness.tea, user, &text);
        let line = NewFakeMessage { is_lost: true, ts, ..line };
        harness.slack.send_message_with(line).unwrap();
    }
    harness.slack.cap_history(Some(HistoryCap { objects: 15, interval: SignedDuration::ZERO }));
    let adapter = AdapterHarness::with(harness).await;
    let database = adapter.database.database.as_ref().unwrap();
    assert_eq!(
        database.count("SELECT count(*) AS n FROM messages WHERE author_kind = 'human'").await,
        21
    );
    assert_eq!(database.count("SELECT count(*) AS n FROM owed WHERE message LIKE '1%.%'").await, 0);
}

/// Slack may send no events while it refuses the token. Any call may be the first that it accepts again.
#[tokio::test]
async fn messages_missed_with_a_refused_token_are_read_afterwards() {
    let adapter = AdapterHarness::new().await;
    let AdapterHarness { harness, slack, .. } = &adapter;
    let item = adapter.outbox_item("key-1");
    harness.slack.set_token_status(TokenStatus::Inactive);
    let refused = slack.post(&item).await;
    assert!(matches!(refused, Err(PlatformError::Busy { .. })), "{refused:?}");
    let missed = NewFakeMessage::new(&harness.tea, &harness.mio, "are you there?");
    let missed = NewFakeMessage { is_lost: true, ..missed };
    let missed = harness.slack.send_message_with(missed).unwrap();
    harness.slack.set_token_status(TokenStatus::Valid);
    slack.post(&item).await.unwrap();
    adapter.until_heard(missed).await;
}

/// Only the history tells of a channel that became private during a gap.
#[tokio::test]
async fn a_channel_that_became_private_during_a_gap_is_private_after_it() {
    let adapter = AdapterHarness::new().await;
    adapter.post_and_wait("the roses").await;
    let AdapterHarness { harness, database, .. } = &adapter;
    let database = database.database.as_ref().unwrap();
    let public =
        "SELECT count(*) AS n FROM messages WHERE visibility = 'public' AND author_kind = 'human'";
    assert_eq!(database.count(public).await, 1);
    harness.slack.change(|state| {
        state.workspace.channel_mut(&harness.tea).unwrap().kind = ChannelKind::Private;
    });
    let notice = NewFakeMessage {
        subtype: Some("channel_convert_to_private".to_owned()),
        is_lost: true,
        ..NewFakeMessage::new(&harness.tea, &harness.mio, "made this channel *private*.")
    };
    harness.slack.send_message_with(notice).unwrap();
    harness.slack.reset_connections();
    let restricted = async {
        while database.count(public).await > 0 {
            next_poll().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), restricted).await.unwrap();
}

/// With a rate-limited history, a post is looked up page by page, and no page is read twice.
#[tokio::test]
async fn a_lookup_resumes_where_it_stopped() {
    let adapter = AdapterHarness::new().await;
    let restarted = adapter.restarted(patient()).await;
    let outbox_item = adapter.outbox_item("key-1");
    let slack = &adapter.harness.slack;
    slack.inject_fault("chat.postMessage", Fault::ResetAfter);
    assert!(matches!(
        adapter.slack.post(&outbox_item).await,
        Err(PlatformError::OutcomeUnknown(_))
    ));
    for number in 0..40 {
        adapter.harness.post_message(
            &adapter.harness.tea,
            &adapter.harness.mio,
            &format!("line {number}"),
        );
    }
    adapter.post_and_wait("the last one").await;
    let cap = HistoryCap { objects: 15, interval: SignedDuration::from_hours(1) };
    for _ in 0..2 {
        // The limit allows one page from here on.
        slack.cap_history(Some(cap));
        let found = restarted.find_posted(&outbox_item).await;
        assert!(matches!(found, Err(PlatformError::Busy { .. })), "{found:?}");
    }
    slack.cap_history(Some(cap));
    let found = restarted.find_posted(&outbox_item).await.unwrap().unwrap();
    assert_eq!(found.id.as_str(), slack.posts()[0].ts.to_string());
    let calls = slack.calls("conversations.history");
    // Calls with `inclusive` belong to the backfill.
    let calls = calls.iter().filter(|call| call.arguments.get("inclusive").is_none());
    let cursors: Vec<_> = calls.map(|call| call.arguments.get("cursor").cloned()).collect();
    assert_eq!(cursors.len(), 5, "three pages, and two that had to wait");
    assert!(cursors[0].is_none() && cursors[1].is_some() && cursors[3].is_some());
    assert_eq!((&cursors[1], &cursors[3]), (&cursors[2], &cursors[4]));
    assert_ne!(cursors[1], cursors[3]);
}

/// With a rate-limited history, an old thread that was active before a gap is read after it, however long the gap was.
#[tokio::test]
async fn a_rate_limited_backfill_reads_threads_that_were_active_before_the_gap() {
    let harness = SlackHarness::new().await;
    for number in 0..20 {
        harness.post_message(&harness.tea, &harness.mio, &format!("line {number}"));
    }
    harness.slack.cap_history(Some(HistoryCap { objects: 15, interval: SignedDuration::ZERO }));
    let adapter = AdapterHarness::with(harness).await;
    adapter.wait_for_cursor("history is capped", |value| value == "true").await;
    let AdapterHarness { harness, .. } = &adapter;
    let ago =
        |hours| Some(Ts::from_timestamp(Timestamp::now() - SignedDuration::from_hours(hours)));
    let message = |hours, thread, text: &str| NewFakeMessage {
        ts: ago(hours),
        thread,
        ..NewFakeMessage::new(&harness.tea, &harness.mio, text)
    };
    let parent = harness.slack.send_message_with(message(40, None, "what do roses need?")).unwrap();
    let reply = harness.slack.send_message_with(message(25, Some(parent), "straw")).unwrap();
    adapter.until_heard(reply).await;
    // The program stopped two hours ago.
    let stopped = ago(2).map(|ts| ts.to_string()).unwrap();
    adapter.set_cursor(&harness.tea, &stopped).await;
    let mention = format!("<@{}> only straw?", harness.bot);
    let missed = NewFakeMessage { is_lost: true, ..message(1, Some(parent), &mention) };
    let missed = harness.slack.send_message_with(missed).unwrap();
    harness.slack.reset_connections();
    adapter.until_heard(missed).await;
}

/// Slack waits three seconds for the answer to a command. Forgetting a user with many messages may take longer.
#[tokio::test]
async fn a_slow_command_is_answered_later() {
    let timeouts = SlackTimeouts { command_answer: Duration::from_millis(50), ..patient() };
    let harness = SlackHarness::new().await;
    let adapter = AdapterHarness::with_timeouts(harness, Clock::system(), timeouts).await;
    // Orders wait while something is being heard.
    let lock = adapter.inbox.channel_cache.lock_for_hearing().await;
    let AdapterHarness { harness, .. } = &adapter;
    harness.slack.run_command(&harness.tea, &harness.mio, "/aizuchi", "forget me, yes").unwrap();
    assert_eq!(adapter.command_answers(1).await, [STILL_WORKING]);
    drop(lock);
    let answers = adapter.command_answers(2).await;
    assert!(answers[1].starts_with("I’ve deleted what you said"), "{answers:?}");
}

/// Right after a start, only Slack knows whether the bot is in a command's channel. A rate limit keeps nobody waiting.
#[tokio::test]
async fn a_command_whose_channel_slack_does_not_describe_is_given_up_soon() {
    let clock = Clock::manual(Timestamp::now());
    let adapter = AdapterHarness::with_clock(SlackHarness::new().await, clock.clone()).await;
    let AdapterHarness { harness, database, .. } = &adapter;
    for method in ["users.conversations", "conversations.info"] {
        harness.slack.inject_fault_times(method, &Fault::rate_limited(3600), 10);
    }
    let timeouts = SlackTimeouts { command_answer: Duration::from_millis(50), ..patient() };
    let restarted = Arc::new(connect(harness, database, clock.clone(), timeouts).await.0);
    let (running, stop) = (restarted.clone(), CancellationToken::new());
    let _stop = stop.clone().drop_guard();
    tokio::spawn(async move { running.run(stop).await });
    let before = harness.slack.calls("conversations.info").len();
    let (host, tea, mio) = (harness.api.trim_end_matches("/api"), &harness.tea, &harness.mio);
    let command = json!({
        "channel_id": tea,
        "user_id": mio,
        "text": "mute 2h",
        "response_url": format!("{host}/commands/{tea}/{mio}"),
    });
    assert_eq!(restarted.answer_command(command).await["text"], STILL_WORKING);
    harness.wait_until(|slack| slack.calls("conversations.info").len() > before).await;
    clock.advance_to(clock.now() + SignedDuration::from_secs(10));
    let told = adapter.command_answers(1).await;
    assert_eq!(told, ["That didn’t work just now. Please try again."]);
    let mutes = "SELECT count(*) AS n FROM mutes";
    assert_eq!(database.database.as_ref().unwrap().count(mutes).await, 0);
}
