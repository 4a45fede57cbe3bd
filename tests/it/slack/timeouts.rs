//! What takes long in a real workspace, with less patience: connections that fall silent, calls that hang.

use std::sync::Arc;
use std::time::Duration;

use aizuchi_core::chat::{ChannelId, ConversationId, Cursor, Heard, MessageId};
use aizuchi_core::clock::Clock;
use aizuchi_core::decision::DecisionResult;
use aizuchi_core::event::{DraftMetadata, OutboxItem, OutboxItemId};
use aizuchi_core::inbox::Inbox;
use aizuchi_core::memory::Lineage;
use aizuchi_core::persona::{Language, Persona};
use aizuchi_core::platform::PlatformDeps;
use aizuchi_core::platform::{Platform, PlatformError};
use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::slack::delivery::ConnectBehavior;
use aizuchi_fakes::slack::fault::{Fault, HistoryCap};
use aizuchi_fakes::slack::message::NewFakeMessage;
use aizuchi_fakes::slack::ts::Ts;
use aizuchi_slack::SlackPlatform;
use aizuchi_slack::identity::fetch_identity;
use aizuchi_slack::settings::{EventTransport, ReplyPlacement, SlackSettings, SlackTimeouts};
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::slack::harness::SlackHarness;
use aizuchi_harness::harness::{TestMind, TestPlatform, TestStore, build_parts};

/// The adapter without the rest of the program.
pub struct Alone {
    pub stage: SlackHarness,
    pub slack: Arc<SlackPlatform>,
    inbox: Arc<Inbox>,
    pub kept: TestStore,
    _stop: DropGuard,
}

impl Alone {
    pub async fn new() -> Self {
        Self::on(SlackHarness::new().await).await
    }

    async fn on(stage: SlackHarness) -> Self {
        let kept = TestStore::sqlite().await;
        let settings = SlackSettings {
            bot_token: SecretString::from("xoxb-dev"),
            events: EventTransport::SocketMode {
                app_token: SecretString::from("xapp-dev"),
                connections: 2,
            },
            api_base: stage.api.clone(),
            reply_in: ReplyPlacement::TopLevel,
            settle_time: SignedDuration::from_secs(60),
            history_span: SignedDuration::from_hours(24),
            sync_interval: SignedDuration::from_hours(1),
            timeouts: SlackTimeouts {
                call: Duration::from_millis(500),
                command_answer: Duration::from_millis(50),
                open: Duration::from_millis(500),
                ping_interval: Duration::from_millis(50),
                idle: Duration::from_millis(300),
                limited_page_interval: SignedDuration::from_millis(50),
            },
        };
        let clock = Clock::system();
        let (mind, room) = (Arc::new(TestMind::default()), Arc::new(TestPlatform::default()));
        let (inbox, _) = build_parts(kept.store.clone(), clock, mind, room);
        let persona = Persona {
            name: "Aizuchi".to_owned(),
            system_prompt: String::new(),
            language: Language::En,
        };
        let (persona, archive) = (Arc::new(persona), kept.archive.clone());
        let surroundings = PlatformDeps {
            answers: aizuchi_harness::harness::answers(
                kept.store.clone(),
                archive.clone(),
                &persona,
            ),
            persona,
            inbox: inbox.clone(),
            archive,
        };
        let who = fetch_identity(&settings).await.unwrap();
        let slack = Arc::new(SlackPlatform::new(settings, who, surroundings).await.unwrap());
        let stop = CancellationToken::new();
        let (running, stopping) = (slack.clone(), stop.clone());
        tokio::spawn(async move { running.run(stopping).await });
        let alone = Self { stage, slack, inbox, kept, _stop: stop.drop_guard() };
        alone.stage.until(|slack| slack.connection_counts().open == 2).await;
        for channel in [&alone.stage.tea, &alone.stage.attic] {
            alone.notes(channel, |_| true).await;
        }
        alone
    }

    fn piece(&self, key: &str) -> OutboxItem {
        OutboxItem {
            id: OutboxItemId(1),
            first_in_draft: OutboxItemId(1),
            conversation: ConversationId {
                workspace: self.slack.identity().workspace.clone(),
                channel: ChannelId::new(self.stage.tea.as_str()),
                thread: None,
            },
            key: key.into(),
            text: "Here I am.".into(),
            reaction_to: None,
            metadata: Arc::new(DraftMetadata {
                owed: vec![MessageId::new("1.000000")],
                about: None,
                lineage: Lineage::default(),
                seen_revision: 0,
                ends: DecisionResult::Spoke,
                why: String::new(),
                only_for: None,
            }),
            dispatched_at: Some(Timestamp::now()),
        }
    }

    /// Waits until it has noted something: how far a channel was read, or how much it gets of one.
    async fn notes(&self, place: &str, is_it: impl Fn(&str) -> bool) {
        let workspace = self.slack.identity().workspace.clone();
        let noted = async {
            loop {
                let noted = self.kept.archive.cursors(&workspace).await.unwrap();
                if noted.iter().any(|noted| &*noted.stream == place && is_it(&noted.value)) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), noted).await.unwrap();
    }

    async fn is_heard(&self, id: &MessageId) -> bool {
        let channel = ChannelId::new(self.stage.tea.as_str());
        let line = self.kept.archive.message(&self.slack.identity().workspace, &channel, id).await;
        line.unwrap().is_some()
    }

    /// It has read a channel until then.
    async fn notes_that(&self, place: &str, value: &str) {
        let workspace = self.slack.identity().workspace.clone();
        let bookmark = Cursor { workspace, stream: place.into(), value: value.into() };
        self.inbox.hear(Heard::Cursor(bookmark)).await.unwrap();
    }

    /// Somebody says something, and it is heard.
    async fn hears(&self, text: &str) {
        let ts = self.stage.says(&self.stage.tea, &self.stage.mio, text);
        self.until_heard(ts).await;
    }

    /// What somebody was told who gave the command `/aizuchi`, the newest last.
    pub async fn told(&self, count: usize) -> Vec<String> {
        let told = || self.stage.slack.read(|state| state.workspace.ephemeral.clone());
        self.stage.until(|_| told().len() >= count).await;
        let told = told().into_iter().filter(|one| one.user == self.stage.mio);
        told.map(|one| one.text).collect()
    }

    async fn until_heard(&self, ts: Ts) {
        let id = MessageId::new(ts.to_string());
        let mut revisions = self.kept.store.revisions();
        let heard = async {
            while !self.is_heard(&id).await {
                revisions.changed().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(60), heard).await.unwrap();
    }
}

/// H25: connections that stay and carry nothing are given up, and what they swallowed is read.
#[tokio::test]
async fn h25_a_connection_that_falls_silent_is_replaced() {
    let alone = Alone::new().await;
    alone.hears("before").await;
    alone.stage.slack.stall_connections();
    alone.hears("into the void").await;
    alone.stage.until(|slack| slack.connection_counts().open >= 2).await;
    alone.hears("after").await;
}

/// One that opens and is never greeted is given up, too, and so is an address that is never given.
#[tokio::test]
async fn a_connection_without_a_hello_is_tried_again() {
    let alone = Alone::new().await;
    alone.stage.slack.set_connect_behavior(ConnectBehavior::Silence);
    alone.stage.slack.inject_fault("apps.connections.open", Fault::HangBefore(Hang::UntilReleased));
    let before = alone.stage.slack.calls("apps.connections.open").len();
    alone.stage.slack.reset_connections();
    alone.stage.until(|slack| slack.calls("apps.connections.open").len() >= before + 4).await;
    assert!(alone.slack.outage().is_some());
    alone.stage.slack.set_connect_behavior(ConnectBehavior::Hello);
    alone.hears("after").await;
    assert_eq!(alone.slack.outage(), None);
}

/// H14 and its like: whatever the call came to, the history tells whether it was said.
#[tokio::test]
async fn h14_what_is_not_known_can_be_looked_up() {
    let alone = Alone::new().await;
    for (number, fault, was_said) in [
        (1, Fault::HangAfter(Hang::UntilReleased), true),
        (2, Fault::HangBefore(Hang::UntilReleased), false),
        (3, Fault::ResetAfter, true),
        (4, Fault::ResetBefore, false),
        (5, Fault::StatusAfter(500), true),
        (6, Fault::Status(503), false),
        (7, Fault::Garbage, false),
    ] {
        let piece = alone.piece(&format!("key-{number}"));
        alone.stage.slack.inject_fault("chat.postMessage", fault.clone());
        let answer = alone.slack.post(&piece).await;
        assert!(matches!(answer, Err(PlatformError::OutcomeUnknown(_))), "{fault:?}: {answer:?}");
        let found = alone.slack.find_posted(&piece).await.unwrap();
        assert_eq!(found.is_some(), was_said, "{fault:?}");
        alone.stage.slack.release_hanging();
    }
    // A history that cannot be read tells nothing.
    alone.stage.slack.inject_fault("conversations.history", Fault::Status(503));
    let found = alone.slack.find_posted(&alone.piece("key-1")).await;
    assert!(matches!(found, Err(PlatformError::OutcomeUnknown(_))), "{found:?}");
    // Whoever knows the key of a post and writes it down elsewhere has not posted it.
    let said = alone.slack.find_posted(&alone.piece("key-1")).await.unwrap().unwrap();
    assert_eq!(said.author.as_str(), alone.stage.bot);
}

/// A page that is cut off where those of a capped app are may be a whim; the next one that is longer tells so.
#[tokio::test]
async fn a_capped_history_need_not_stay_capped() {
    let stage = SlackHarness::new().await;
    for number in 0..40 {
        stage.says(&stage.tea, &stage.mio, &format!("line {number}"));
    }
    let cap = HistoryCap { objects: 15, interval: SignedDuration::ZERO };
    stage.slack.cap_history(Some(cap));
    let alone = Alone::on(stage).await;
    alone.notes("history is capped", |value| value == "true").await;
    alone.stage.slack.cap_history(None);
    alone.stage.slack.reset_connections();
    alone.notes("history is capped", |value| value == "false").await;
}

/// Where Slack gives fifteen lines a minute, a post is looked for page by page, and no page is read twice.
#[tokio::test]
async fn looking_a_post_up_goes_on_where_it_had_to_stop() {
    let alone = Alone::new().await;
    let piece = alone.piece("key-1");
    let slack = &alone.stage.slack;
    slack.inject_fault("chat.postMessage", Fault::ResetAfter);
    assert!(matches!(alone.slack.post(&piece).await, Err(PlatformError::OutcomeUnknown(_))));
    for number in 0..40 {
        alone.stage.says(&alone.stage.tea, &alone.stage.mio, &format!("line {number}"));
    }
    alone.hears("the last one").await;
    let cap = HistoryCap { objects: 15, interval: SignedDuration::from_hours(1) };
    for _ in 0..2 {
        // It allows one page from now on.
        slack.cap_history(Some(cap));
        let found = alone.slack.find_posted(&piece).await;
        assert!(matches!(found, Err(PlatformError::Busy { .. })), "{found:?}");
    }
    slack.cap_history(Some(cap));
    let found = alone.slack.find_posted(&piece).await.unwrap().unwrap();
    assert_eq!(found.id.as_str(), slack.posts()[0].ts.to_string());
    let calls = slack.calls("conversations.history");
    // Others are about the past.
    let calls = calls.iter().filter(|call| call.arguments.get("latest").is_some());
    let cursors: Vec<_> = calls.map(|call| call.arguments.get("cursor").cloned()).collect();
    assert_eq!(cursors.len(), 5, "three pages, and two that had to wait");
    assert!(cursors[0].is_none() && cursors[1].is_some() && cursors[3].is_some());
    assert_eq!((&cursors[1], &cursors[3]), (&cursors[2], &cursors[4]));
    assert_ne!(cursors[1], cursors[3]);
}

/// Where little is read, an old thread that was lively before a gap is not forgotten over it, however long
/// the gap was.
#[tokio::test]
async fn a_capped_history_misses_no_answer_in_a_thread_that_was_lively_before() {
    let stage = SlackHarness::new().await;
    for number in 0..20 {
        stage.says(&stage.tea, &stage.mio, &format!("line {number}"));
    }
    stage.slack.cap_history(Some(HistoryCap { objects: 15, interval: SignedDuration::ZERO }));
    let alone = Alone::on(stage).await;
    alone.notes("history is capped", |value| value == "true").await;
    let Alone { stage, .. } = &alone;
    let ago =
        |hours| Some(Ts::from_timestamp(Timestamp::now() - SignedDuration::from_hours(hours)));
    let said = |hours, thread, text: &str| NewFakeMessage {
        ts: ago(hours),
        thread,
        ..NewFakeMessage::new(&stage.tea, &stage.mio, text)
    };
    let parent = stage.slack.send_message_with(said(40, None, "what do roses need?")).unwrap();
    let lively = stage.slack.send_message_with(said(25, Some(parent), "straw")).unwrap();
    alone.until_heard(lively).await;
    // It stopped two hours ago.
    let stopped = ago(2).map(|ts| ts.to_string()).unwrap();
    alone.notes_that(&stage.tea, &stopped).await;
    let mention = format!("<@{}> only straw?", stage.bot);
    let missed = NewFakeMessage { is_delivered: false, ..said(1, Some(parent), &mention) };
    let missed = stage.slack.send_message_with(missed).unwrap();
    stage.slack.reset_connections();
    alone.until_heard(missed).await;
}

/// Slack waits three seconds for what becomes of a command, and whoever has said much has much to be forgotten.
#[tokio::test]
async fn what_takes_long_to_obey_is_answered_later() {
    let alone = Alone::new().await;
    // Nothing is kept for as long as something is heard.
    let hearing = alone.inbox.channel_cache.lock_for_hearing().await;
    let Alone { stage, .. } = &alone;
    stage.slack.run_command(&stage.tea, &stage.mio, "/aizuchi", "forget me").unwrap();
    let patience = "This takes a moment. I will tell you here when it is done.";
    assert_eq!(alone.told(1).await, [patience]);
    drop(hearing);
    let told = alone.told(2).await;
    assert!(told[1].starts_with("I have deleted what you said"), "{told:?}");
}
