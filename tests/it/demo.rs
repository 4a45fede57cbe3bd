//! The demo on the real pipeline with a virtual clock, and the command that shows it.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi::app::agent::{build_agent, build_command_answers};
use aizuchi_agent::inbox::channel_cache::ChannelCache;
use aizuchi_agent::inbox::in_flight::InFlight;
use aizuchi_agent::inbox::{Inbox, Redaction};
use aizuchi_agent::metrics::Metrics;
use aizuchi_agent::runner::Runner;
use aizuchi_config::Config;
use aizuchi_harness::test_store::Unkept;
use aizuchi_model::chat::local::{self, workspace_id};
use aizuchi_model::chat::{MessageId, Role, Visibility};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{Decision, DecisionResult};
use aizuchi_model::persona::Language;
use aizuchi_model::platform::{Platform, Platforms};
use aizuchi_model::texts;
use aizuchi_platform::demo::script::SCENES;
use aizuchi_platform::demo::{Caption, Demo, Phase};
use aizuchi_platform::local::LocalRoom;
use aizuchi_platform::local::demo_channel::DemoChannel;
use aizuchi_platform::local::error::LocalRoomError;
use aizuchi_platform::local::upload::UploadSettings;
use aizuchi_store::Store;
use aizuchi_store::archive::Archive;
use aizuchi_store::order::Order;
use aizuchi_store::query::{DecisionQuery, MessageQuery, MessageRange};
use aizuchi_store::volatile::VolatileStore;
use futures_executor::LocalPool;
use futures_util::task::LocalSpawnExt;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

/// A program with its local room, whose clock moves when a test moves it.
struct DemoProgram {
    pool: LocalPool,
    clock: Clock,
    store: Arc<VolatileStore>,
    room: Arc<LocalRoom>,
    demo: Arc<Demo>,
    language: Language,
}

/// The result of a play.
struct Play {
    /// The last caption of each scene.
    captions: Vec<Caption>,
    took: SignedDuration,
}

impl DemoProgram {
    fn new(config: &str) -> Self {
        let config = Config::parse(config).unwrap();
        // Neither at midnight nor in the morning: the demo must not depend on the time of day.
        let clock = Clock::manual("2026-03-04T16:20:00Z".parse().unwrap());
        let store = Arc::new(VolatileStore::new());
        let (in_flight, metrics) = (Arc::new(InFlight::default()), Arc::new(Metrics::default()));
        let channel_cache = Arc::new(ChannelCache::new(config.app_rulebook().into()));
        let persona = config.persona();
        let inbox = |wait_settings| {
            Arc::new(Inbox {
                store: store.clone(),
                archive: store.clone(),
                in_flight: in_flight.clone(),
                channel_cache: channel_cache.clone(),
                clock: clock.clone(),
                metrics: metrics.clone(),
                wait_settings,
                redaction: Redaction::Keep,
                persona_name: Some(persona.name.as_str().into()),
                also_called: Vec::new(),
                zone: TimeZone::UTC,
                is_announcing: true,
                remember_delay: None,
                random_seed: 7,
            })
        };
        let name = persona.name.clone();
        let room = inbox(config.room_wait_settings());
        let uploads = UploadSettings { store: Arc::new(Unkept), max_bytes: 0, max_total_bytes: 0 };
        let room = Arc::new(LocalRoom::new(room, store.clone(), uploads, clock.clone(), name));
        let demo_channel =
            DemoChannel { room: room.clone(), inbox: inbox(config.demo_wait_settings()) };
        let revisions = store.revisions();
        let demo = Demo::new(demo_channel, store.clone(), revisions, clock.clone(), persona);
        let demo = Arc::new(demo);
        let platform: Arc<dyn Platform> = room.clone();
        let platforms = Platforms(HashMap::from([(workspace_id(), platform)]).into());
        let answers = build_command_answers(&config, store.clone(), store.clone());
        let parts = (store.clone() as Arc<dyn Store>, answers);
        let agent =
            build_agent(&config, parts, platforms, clock.clone(), metrics, 7, None).unwrap();
        let runner = Runner::new(agent, in_flight, channel_cache, config.runner_settings());
        let runner = runner.unwrap();
        let mut pool = LocalPool::new();
        let spawner = pool.spawner();
        let run = async move { runner.run(CancellationToken::new()).await.unwrap() };
        spawner.spawn_local(run).unwrap();
        let played = demo.clone();
        let run = async move { played.run(CancellationToken::new()).await.unwrap() };
        spawner.spawn_local(run).unwrap();
        pool.run_until(room.open()).unwrap();
        Self { pool, clock, store, room, demo, language: config.language.own() }
    }

    fn start(&mut self) {
        let (channel, play) = self.pool.run_until(self.demo.start()).unwrap();
        assert_eq!(play, self.demo.subscribe().borrow().play);
        assert_eq!(channel.id, local::demo_channel_id());
        self.pool.run_until_stalled();
    }

    /// Plays the whole demo.
    fn play(&mut self) -> Play {
        self.start();
        let (began, mut captions) = (self.clock.now(), Vec::new());
        while let Some((scene, caption)) = self.shown() {
            captions.resize(scene, caption.clone());
            captions[scene - 1] = caption;
            self.go_on();
        }
        assert_eq!(self.demo.subscribe().borrow().phase, Phase::Over);
        Play { captions, took: self.clock.now().duration_since(began) }
    }

    fn shown(&self) -> Option<(usize, Caption)> {
        match &self.demo.subscribe().borrow().phase {
            Phase::Playing(progress) => Some((progress.scene, progress.caption.clone())),
            Phase::Idle | Phase::Over => None,
        }
    }

    /// Advances the clock to the next event.
    fn go_on(&mut self) {
        let next = self.clock.next_wake_at().expect("something waits for the clock");
        self.clock.advance_to(next);
        self.pool.run_until_stalled();
    }

    fn decisions(&mut self) -> Vec<Decision> {
        let (workspace, channel) = (workspace_id(), local::demo_channel_id());
        let query = DecisionQuery::Channel { workspace, channel, limit: 100 };
        self.pool.run_until(self.store.decisions(query)).unwrap()
    }

    /// Returns the messages in the demo's channel, with their authors.
    fn messages(&mut self) -> Vec<(MessageId, String, String)> {
        let (workspace, channel) = (workspace_id(), local::demo_channel_id());
        let range = MessageRange::Newest;
        let query = MessageQuery { workspace, channel, thread: None, range, limit: 100 };
        let messages = self.pool.run_until(self.store.messages(query)).unwrap();
        let message = |stored: &aizuchi_store::stored_message::StoredMessage| {
            let message = &stored.message;
            (message.id.clone(), stored.author_name.to_string(), message.text.to_string())
        };
        messages.iter().map(message).collect()
    }

    /// Returns the outcome of each scene: the decision on its last message.
    fn outcomes(&mut self, play: &Play) -> Vec<(Option<DecisionResult>, bool)> {
        let decisions = self.decisions();
        let found = play.captions.iter().map(|caption| {
            let id = caption.decision.expect("each scene leads to a decision");
            decisions.iter().find(|decision| decision.id == id).unwrap()
        });
        found.map(|found| (found.ended, found.gate == Some(Gate::Command))).collect()
    }
}

/// Silence, silence, speech, and two answers to commands.
const EXPECTED: [(Option<DecisionResult>, bool); SCENES] = [
    (Some(DecisionResult::ChoseSilence), false),
    (Some(DecisionResult::ChoseSilence), false),
    (Some(DecisionResult::Spoke), false),
    (Some(DecisionResult::Spoke), true),
    (Some(DecisionResult::Spoke), true),
];

#[test]
fn the_demo_shows_silence_speech_a_mute_and_a_reason_in_both_languages() {
    for tag in ["en", "ja"] {
        let mut program = DemoProgram::new(&format!("language: {tag}\n"));
        let play = program.play();
        let transcript = program.messages();
        assert_eq!(program.outcomes(&play), EXPECTED, "{transcript:#?}");
        let (shortest, longest) = (SignedDuration::from_secs(40), SignedDuration::from_secs(62));
        assert!((shortest..=longest).contains(&play.took), "{:?}", play.took);
        // The captions agree with the ledger.
        let decisions = program.decisions();
        for caption in &play.captions[..3] {
            let decision = decisions.iter().find(|decision| Some(decision.id) == caption.decision);
            let decision = decision.unwrap();
            let why = decision.why.as_deref().unwrap().trim_end_matches(['.', '。']);
            let text = |language| texts::demo::decided(language, "Aizuchi", decision.ended, why);
            assert_eq!(caption.english, text(Language::En));
            assert_eq!(caption.japanese, text(Language::Ja));
        }
        // It answers the question from earlier messages, and mentions them when asked.
        let own: Vec<_> = transcript.iter().filter(|(_, name, _)| name == "Aizuchi").collect();
        assert_eq!(own.len(), 3, "{transcript:#?}");
        let place = if tag == "en" { "second drawer" } else { "二段目の引き出し" };
        assert!(own[0].2.contains(place), "{transcript:#?}");
        let language = program.language;
        assert_eq!(play.captions[3].english, texts::demo::stopped(Language::En, "Aizuchi"));
        assert_eq!(play.captions[4].english, texts::demo::told_why(Language::En, "Aizuchi"));
        let asker = texts::demo::second_person(language);
        assert!(own[2].2.contains(asker), "the reason names who asked: {:?}", own[2].2);
        // The demo leaves neither a mute nor users behind.
        let controls = program.pool.run_until(program.room.controls()).unwrap();
        assert!(controls.channels.iter().all(|channel| channel.muted_until.is_none()));
        // The messages stay in the channel.
        let channels = program.pool.run_until(program.room.channels()).unwrap();
        let channel = channels.iter().find(|channel| channel.id == local::demo_channel_id());
        assert_eq!(channel.unwrap().visibility, Visibility::Private);
        let reopened = program.pool.run_until(program.room.open());
        reopened.unwrap();
        assert!(program.room.user_names().is_empty(), "{:?}", program.room.user_names());
    }
}

#[test]
fn the_demo_is_the_same_each_time_and_whatever_the_settings_say() {
    let strict = "response:\n  mode: mention_only\n  quiet_hours: 00:00-23:59\n  wait: fixed\n  \
                  cooldown_seconds: 900\n  min_wait_seconds: 600\n";
    // No server listens there.
    let dead_model = "agents:\n  response:\n    model_id: openai/none\n    client_args: \
                      {api_base: \"http://127.0.0.1:9/v1\", api_key: k}\n";
    for settings in ["", strict, dead_model] {
        let mut program = DemoProgram::new(settings);
        let first = program.play();
        assert_eq!(program.outcomes(&first), EXPECTED, "{settings}");
        let said = program.messages().len();
        let second = program.play();
        assert_eq!(program.outcomes(&second), EXPECTED, "{settings}: {:#?}", program.messages());
        assert_eq!(program.messages().len(), 2 * said);
    }
}

#[test]
fn captions_tell_what_was_decided_and_not_what_the_script_means_to_show() {
    let mut program = DemoProgram::new("");
    let (workspace, until, by) = (workspace_id(), Timestamp::MAX, Role::Admin);
    let mute = Order::Mute { workspace, channel: None, until, by };
    program.pool.run_until(program.room.apply_order(mute)).unwrap();
    let play = program.play();
    let outcomes = program.outcomes(&play);
    assert_eq!(outcomes[2].0, Some(DecisionResult::Muted), "{:#?}", program.messages());
    let why = texts::judging::gate_reason(Language::En, Gate::Muted);
    assert_eq!(play.captions[2].english, texts::demo::was_muted(Language::En, "Aizuchi", why));
}

#[test]
fn the_demo_can_be_skipped_and_started_again() {
    let mut program = DemoProgram::new("");
    program.start();
    while program.shown().is_some_and(|(scene, _)| scene < 4) {
        program.go_on();
    }
    program.demo.skip();
    program.pool.run_until_stalled();
    assert_eq!(program.demo.subscribe().borrow().phase, Phase::Idle);
    let said = program.messages().len();
    let later = program.clock.now() + SignedDuration::from_mins(2);
    while program.clock.next_wake_at().is_some_and(|next: Timestamp| next < later) {
        program.go_on();
    }
    assert_eq!(program.messages().len(), said, "{:#?}", program.messages());
    program.demo.skip();
    let play = program.play();
    assert_eq!(program.outcomes(&play), EXPECTED);
}

#[test]
fn nobody_can_be_called_like_the_people_of_the_script() {
    let mut program = DemoProgram::new("");
    program.play();
    let added = program.pool.run_until(program.room.add_user("demo:Mia"));
    assert!(matches!(added, Err(LocalRoomError::NameTaken(_))), "{added:?}");
    // A user with the same name is a different user.
    let (name, is_new) = program.pool.run_until(program.room.add_user("Mia")).unwrap();
    assert_eq!((&*name, is_new), ("Mia", true));
}
