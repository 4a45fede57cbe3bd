//! What takes long in a real workspace, with less patience: connections that fall silent, calls that hang.

use std::sync::Arc;
use std::time::Duration;

use aizuchi_core::chat::{Bookmark, ChannelId, ConversationId, Heard, MessageId};
use aizuchi_core::clock::Clock;
use aizuchi_core::decision::Ended;
use aizuchi_core::event::{DraftNotes, Piece, PieceId};
use aizuchi_core::hear::Ears;
use aizuchi_core::memory::Lineage;
use aizuchi_core::persona::{Language, Persona};
use aizuchi_core::platform::Surroundings;
use aizuchi_core::platform::{Platform, PlatformError};
use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::slack::fault::{Cap, Fault};
use aizuchi_fakes::slack::mail::Greeting;
use aizuchi_fakes::slack::message::Saying;
use aizuchi_fakes::slack::ts::Ts;
use aizuchi_slack::{Events, Patience, ReplyIn, Slack};
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::slack::stage::Stage;
use aizuchi_harness::world::{Kept, Mind, Room, parts};

/// The adapter without the rest of the program.
pub struct Alone {
    pub stage: Stage,
    pub slack: Arc<Slack>,
    ears: Arc<Ears>,
    pub kept: Kept,
    _stop: DropGuard,
}

impl Alone {
    pub async fn new() -> Self {
        Self::on(Stage::new().await).await
    }

    async fn on(stage: Stage) -> Self {
        let kept = Kept::sqlite().await;
        let settings = aizuchi_slack::Settings {
            bot_token: SecretString::from("xoxb-dev"),
            events: Events::Socket { app_token: SecretString::from("xapp-dev"), connections: 2 },
            api_base: stage.api.clone(),
            reply_in: ReplyIn::Same,
            settle: SignedDuration::from_secs(60),
            history: SignedDuration::from_hours(24),
            sync_every: SignedDuration::from_hours(1),
            patience: Patience {
                calling: Duration::from_millis(500),
                obeying: Duration::from_millis(50),
                opening: Duration::from_millis(500),
                ping: Duration::from_millis(50),
                silence: Duration::from_millis(300),
                capped_page: SignedDuration::from_millis(50),
            },
        };
        let clock = Clock::system();
        let (mind, room) = (Arc::new(Mind::default()), Arc::new(Room::default()));
        let (ears, _) = parts(kept.store.clone(), clock, mind, room);
        let persona = Persona {
            name: "Aizuchi".to_owned(),
            system_prompt: String::new(),
            language: Language::En,
        };
        let (persona, archive) = (Arc::new(persona), kept.archive.clone());
        let surroundings = Surroundings {
            answers: aizuchi_harness::world::answers(kept.store.clone(), archive.clone(), &persona),
            persona,
            ears: ears.clone(),
            archive,
        };
        let who = aizuchi_slack::ask_who(&settings).await.unwrap();
        let slack = Arc::new(Slack::new(settings, who, surroundings).await.unwrap());
        let stop = CancellationToken::new();
        let (running, stopping) = (slack.clone(), stop.clone());
        tokio::spawn(async move { running.run(stopping).await });
        let alone = Self { stage, slack, ears, kept, _stop: stop.drop_guard() };
        alone.stage.until(|slack| slack.connections().open == 2).await;
        for channel in [&alone.stage.tea, &alone.stage.attic] {
            alone.notes(channel, |_| true).await;
        }
        alone
    }

    fn piece(&self, key: &str) -> Piece {
        Piece {
            id: PieceId(1),
            first: PieceId(1),
            conversation: ConversationId {
                workspace: self.slack.who().workspace.clone(),
                channel: ChannelId::new(self.stage.tea.as_str()),
                thread: None,
            },
            key: key.into(),
            text: "Here I am.".into(),
            on: None,
            draft: Arc::new(DraftNotes {
                owed: vec![MessageId::new("1.000000")],
                about: None,
                made_from: Lineage::default(),
                considered: 0,
                ends: Ended::Spoke,
                why: String::new(),
                only_for: None,
            }),
            dispatched: Some(Timestamp::now()),
        }
    }

    /// Waits until it has noted something: how far a channel was read, or how much it gets of one.
    async fn notes(&self, place: &str, is_it: impl Fn(&str) -> bool) {
        let workspace = self.slack.who().workspace.clone();
        let noted = async {
            loop {
                let noted = self.kept.archive.bookmarks(&workspace).await.unwrap();
                if noted.iter().any(|noted| &*noted.place == place && is_it(&noted.value)) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), noted).await.unwrap();
    }

    async fn is_heard(&self, id: &MessageId) -> bool {
        let channel = ChannelId::new(self.stage.tea.as_str());
        let line = self.kept.archive.line(&self.slack.who().workspace, &channel, id).await;
        line.unwrap().is_some()
    }

    /// It has read a channel until then.
    async fn notes_that(&self, place: &str, value: &str) {
        let workspace = self.slack.who().workspace.clone();
        let bookmark = Bookmark { workspace, place: place.into(), value: value.into() };
        self.ears.hear(Heard::Bookmark(bookmark)).await.unwrap();
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
    alone.stage.slack.half_dead();
    alone.hears("into the void").await;
    alone.stage.until(|slack| slack.connections().open >= 2).await;
    alone.hears("after").await;
}

/// One that opens and is never greeted is given up, too, and so is an address that is never given.
#[tokio::test]
async fn a_connection_without_a_hello_is_tried_again() {
    let alone = Alone::new().await;
    alone.stage.slack.greet_with(Greeting::Silence);
    alone.stage.slack.fault("apps.connections.open", Fault::HangBefore(Hang::UntilReleased));
    let before = alone.stage.slack.calls("apps.connections.open").len();
    alone.stage.slack.cut();
    alone.stage.until(|slack| slack.calls("apps.connections.open").len() >= before + 4).await;
    assert!(alone.slack.off_air().is_some());
    alone.stage.slack.greet_with(Greeting::Hello);
    alone.hears("after").await;
    assert_eq!(alone.slack.off_air(), None);
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
        alone.stage.slack.fault("chat.postMessage", fault.clone());
        let answer = alone.slack.post(&piece).await;
        assert!(matches!(answer, Err(PlatformError::Unknown(_))), "{fault:?}: {answer:?}");
        let found = alone.slack.find(&piece).await.unwrap();
        assert_eq!(found.is_some(), was_said, "{fault:?}");
        alone.stage.slack.release();
    }
    // A history that cannot be read tells nothing.
    alone.stage.slack.fault("conversations.history", Fault::Status(503));
    let found = alone.slack.find(&alone.piece("key-1")).await;
    assert!(matches!(found, Err(PlatformError::Unknown(_))), "{found:?}");
    // Whoever knows the key of a post and writes it down elsewhere has not posted it.
    let said = alone.slack.find(&alone.piece("key-1")).await.unwrap().unwrap();
    assert_eq!(said.author.as_str(), alone.stage.bot);
}

/// A page that is cut off where those of a capped app are may be a whim; the next one that is longer tells so.
#[tokio::test]
async fn a_capped_history_need_not_stay_capped() {
    let stage = Stage::new().await;
    for number in 0..40 {
        stage.says(&stage.tea, &stage.mio, &format!("line {number}"));
    }
    let cap = Cap { objects: 15, interval: SignedDuration::ZERO };
    stage.slack.cap_history(Some(cap));
    let alone = Alone::on(stage).await;
    alone.notes("history is capped", |value| value == "true").await;
    alone.stage.slack.cap_history(None);
    alone.stage.slack.cut();
    alone.notes("history is capped", |value| value == "false").await;
}

/// Where Slack gives fifteen lines a minute, a post is looked for page by page, and no page is read twice.
#[tokio::test]
async fn looking_a_post_up_goes_on_where_it_had_to_stop() {
    let alone = Alone::new().await;
    let piece = alone.piece("key-1");
    let slack = &alone.stage.slack;
    slack.fault("chat.postMessage", Fault::ResetAfter);
    assert!(matches!(alone.slack.post(&piece).await, Err(PlatformError::Unknown(_))));
    for number in 0..40 {
        alone.stage.says(&alone.stage.tea, &alone.stage.mio, &format!("line {number}"));
    }
    alone.hears("the last one").await;
    let cap = Cap { objects: 15, interval: SignedDuration::from_hours(1) };
    for _ in 0..2 {
        // It allows one page from now on.
        slack.cap_history(Some(cap));
        let found = alone.slack.find(&piece).await;
        assert!(matches!(found, Err(PlatformError::Busy { .. })), "{found:?}");
    }
    slack.cap_history(Some(cap));
    let found = alone.slack.find(&piece).await.unwrap().unwrap();
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
    let stage = Stage::new().await;
    for number in 0..20 {
        stage.says(&stage.tea, &stage.mio, &format!("line {number}"));
    }
    stage.slack.cap_history(Some(Cap { objects: 15, interval: SignedDuration::ZERO }));
    let alone = Alone::on(stage).await;
    alone.notes("history is capped", |value| value == "true").await;
    let Alone { stage, .. } = &alone;
    let ago = |hours| Some(Ts::at(Timestamp::now() - SignedDuration::from_hours(hours)));
    let said = |hours, thread, text: &str| Saying {
        ts: ago(hours),
        thread,
        ..Saying::new(&stage.tea, &stage.mio, text)
    };
    let parent = stage.slack.say_with(said(40, None, "what do roses need?")).unwrap();
    let lively = stage.slack.say_with(said(25, Some(parent), "straw")).unwrap();
    alone.until_heard(lively).await;
    // It stopped two hours ago.
    let stopped = ago(2).map(|ts| ts.to_string()).unwrap();
    alone.notes_that(&stage.tea, &stopped).await;
    let mention = format!("<@{}> only straw?", stage.bot);
    let missed = Saying { is_delivered: false, ..said(1, Some(parent), &mention) };
    let missed = stage.slack.say_with(missed).unwrap();
    stage.slack.cut();
    alone.until_heard(missed).await;
}

/// Slack waits three seconds for what becomes of a command, and whoever has said much has much to be forgotten.
#[tokio::test]
async fn what_takes_long_to_obey_is_answered_later() {
    let alone = Alone::new().await;
    // Nothing is kept for as long as something is heard.
    let hearing = alone.ears.rooms.hear().await;
    let Alone { stage, .. } = &alone;
    stage.slack.command(&stage.tea, &stage.mio, "/aizuchi", "forget me").unwrap();
    let patience = "This takes a moment. I will tell you here when it is done.";
    assert_eq!(alone.told(1).await, [patience]);
    drop(hearing);
    let told = alone.told(2).await;
    assert!(told[1].starts_with("I have deleted what you said"), "{told:?}");
}
