//! Shortened timeouts: sessions that do not start, and commands that take long.

use std::sync::Arc;
use std::time::Duration;

use aizuchi_agent::inbox::Inbox;
use aizuchi_discord::DiscordPlatform;
use aizuchi_discord::identity::fetch_identity;
use aizuchi_discord::settings::{DiscordSettings, DiscordTimeouts, ThreadSettings};
use aizuchi_fakes::discord::FakeDiscord;
use aizuchi_fakes::discord::api_error::RateLimitScope;
use aizuchi_fakes::discord::command::{InteractionStatus, NewInteraction};
use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::method::Method;
use aizuchi_fakes::discord::session::SessionRefusal;
use aizuchi_harness::harness::build_parts;
use aizuchi_harness::test_mind::TestMind;
use aizuchi_harness::test_platform::TestPlatform;
use aizuchi_harness::test_store::TestStore;
use aizuchi_model::clock::Clock;
use aizuchi_model::persona::{Language, Persona};
use aizuchi_platform::PlatformDeps;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use secrecy::SecretString;
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};
use twilight_model::channel::message::MessageFlags;

use crate::discord::harness::{DiscordHarness, IDENTIFY, RESUME};

/// The adapter without the program.
struct AdapterHarness {
    harness: DiscordHarness,
    discord: Arc<DiscordPlatform>,
    inbox: Arc<Inbox>,
    _stop: DropGuard,
    /// Its writer ends with it.
    _store: TestStore,
}

impl AdapterHarness {
    async fn on(harness: DiscordHarness) -> Self {
        let store = TestStore::sqlite().await;
        let settings = DiscordSettings {
            token: SecretString::from("dev-discord-token").into(),
            api_base: harness.api.clone(),
            gateway_url: None,
            shards: None,
            threads: ThreadSettings::default(),
            in_flight_timeout: SignedDuration::from_secs(30),
            history_span: SignedDuration::ZERO,
            sync_interval: SignedDuration::from_hours(1),
            time_zone: TimeZone::UTC,
            timeouts: DiscordTimeouts {
                open: Duration::from_secs(1),
                command_answer: Duration::from_millis(50),
                ..DiscordTimeouts::default()
            },
        };
        let (llm, platform) = (Arc::new(TestMind::default()), Arc::new(TestPlatform::default()));
        let (inbox, _) = build_parts(store.store.clone(), Clock::system(), llm, platform);
        let persona = Arc::new(Persona {
            name: "Aizuchi".to_owned(),
            system_prompt: String::new(),
            language: Language::En,
        });
        let archive = store.archive.clone();
        let deps = PlatformDeps {
            answers: aizuchi_harness::harness::answers(
                store.store.clone(),
                archive.clone(),
                &persona,
            ),
            persona,
            inbox: inbox.clone(),
            archive,
            cursors: store.cursors.clone(),
        };
        let identity = fetch_identity(&settings).await.unwrap();
        let discord = Arc::new(DiscordPlatform::new(settings, identity, deps).await.unwrap());
        let stop = CancellationToken::new();
        let (running, stopping) = (discord.clone(), stop.clone());
        tokio::spawn(async move { running.run(stopping).await });
        Self { harness, discord, inbox, _stop: stop.drop_guard(), _store: store }
    }

    fn is_heard(&self) -> bool {
        self.discord.connection.state().open_connections > 0
    }

    async fn until_heard(&self) {
        let mut changes = self.discord.connection.subscribe();
        changes.wait_for(|state| state.open_connections > 0).await.unwrap();
    }
}

/// More sessions than are attempted until they are accepted again.
const REFUSALS: usize = 100;

/// Starts no session until `accept_sessions`.
fn refuse_sessions(discord: &FakeDiscord) {
    (0..REFUSALS).for_each(|_| discord.refuse_next_session(SessionRefusal::NoReply));
}

/// Waits until a session was refused, and starts the next one.
async fn accept_sessions(harness: &DiscordHarness) {
    let refusals = |discord: &FakeDiscord| discord.read(|state| state.gateway.refusals.len());
    harness.until(|discord| refusals(discord) < REFUSALS).await;
    harness.discord.change(|state| state.gateway.refusals.clear());
}

/// A connection with a hello and heartbeats is not a session yet.
#[tokio::test]
async fn a_session_that_does_not_start_is_retried() {
    let harness = DiscordHarness::new().await;
    refuse_sessions(&harness.discord);
    let adapter = AdapterHarness::on(harness).await;
    adapter.harness.until(|discord| !discord.payloads(IDENTIFY).is_empty()).await;
    assert!(!adapter.is_heard());
    accept_sessions(&adapter.harness).await;
    adapter.until_heard().await;
    assert!(adapter.harness.said(IDENTIFY) >= 2);
}

#[tokio::test]
async fn a_session_that_does_not_resume_is_retried() {
    let adapter = AdapterHarness::on(DiscordHarness::new().await).await;
    adapter.until_heard().await;
    let identified = adapter.harness.said(IDENTIFY);
    refuse_sessions(&adapter.harness.discord);
    adapter.harness.discord.reset_connections();
    adapter.harness.until(|discord| !discord.payloads(RESUME).is_empty()).await;
    assert!(!adapter.is_heard());
    accept_sessions(&adapter.harness).await;
    adapter.until_heard().await;
    assert_eq!(adapter.harness.said(IDENTIFY), identified);
    assert!(adapter.harness.said(RESUME) >= 2);
}

/// Forgetting a user with many messages can take longer than Discord's three seconds.
#[tokio::test]
async fn a_slow_command_is_deferred() {
    let adapter = AdapterHarness::on(DiscordHarness::new().await).await;
    let AdapterHarness { harness, .. } = &adapter;
    adapter.until_heard().await;
    harness.until(|discord| !discord.commands(None).is_empty()).await;
    // While this lock is held, the command cannot be executed.
    let hearing = adapter.inbox.channel_cache.lock_for_hearing().await;
    let sure = json!([{ "name": "yes", "type": 5, "value": true }]);
    let options = json!([{ "name": "forget-me", "type": 1, "options": sure }]);
    let (channel, user, name) = (harness.tea, harness.ren, "aizuchi".to_owned());
    let interaction = harness
        .discord
        .interact(NewInteraction { channel, user, kind: 2, name, options, at: None })
        .unwrap();
    let seen = || harness.discord.interaction(interaction).unwrap();
    harness.until(|_| seen().status == InteractionStatus::Deferred(MessageFlags::EPHEMERAL)).await;
    assert!(seen().responses.is_empty());
    harness
        .discord
        .inject_fault(Method::ChangeAnswer, Fault::rate_limited(0.1, RateLimitScope::User));
    harness.discord.inject_fault(Method::ChangeAnswer, Fault::ResetAfter);
    drop(hearing);
    harness.until(|_| !seen().responses.is_empty()).await;
    let answers = seen().responses;
    assert_eq!(answers.len(), 1);
    assert!(answers[0].is_ephemeral);
    assert!(answers[0].message.content.starts_with("I’ve deleted what you said"));
}
