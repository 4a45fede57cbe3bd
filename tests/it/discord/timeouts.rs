//! What takes long on a real Discord, with less patience: sessions that do not begin, commands that take a while.

use std::sync::Arc;
use std::time::Duration;

use aizuchi_core::clock::Clock;
use aizuchi_core::inbox::Inbox;
use aizuchi_core::persona::{Language, Persona};
use aizuchi_core::platform::PlatformDeps;
use aizuchi_discord::DiscordPlatform;
use aizuchi_discord::identity::fetch_identity;
use aizuchi_discord::settings::{DiscordSettings, DiscordTimeouts, ThreadSettings};
use aizuchi_fakes::discord::api_error::RateLimitScope;
use aizuchi_fakes::discord::command::{InteractionStatus, NewInteraction};
use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::method::Method;
use aizuchi_fakes::discord::session::SessionRefusal;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};
use twilight_model::channel::message::MessageFlags;

use crate::discord::harness::{DiscordHarness, IDENTIFY, RESUME};
use aizuchi_harness::harness::{TestMind, TestPlatform, TestStore, build_parts};

/// The adapter without the rest of the program.
struct Alone {
    stage: DiscordHarness,
    discord: Arc<DiscordPlatform>,
    inbox: Arc<Inbox>,
    _stop: DropGuard,
}

impl Alone {
    async fn on(stage: DiscordHarness) -> Self {
        let kept = TestStore::volatile();
        let settings = DiscordSettings {
            token: "dev-discord-token".into(),
            api_base: stage.api.clone(),
            gateway_url: None,
            shards: None,
            threads: ThreadSettings::default(),
            settle_time: SignedDuration::from_secs(30),
            history_span: SignedDuration::ZERO,
            sync_interval: SignedDuration::from_hours(1),
            time_zone: TimeZone::UTC,
            timeouts: DiscordTimeouts {
                call: Duration::from_secs(2),
                open: Duration::from_millis(300),
                command_answer: Duration::from_millis(50),
            },
        };
        let (mind, room) = (Arc::new(TestMind::default()), Arc::new(TestPlatform::default()));
        let (inbox, _) = build_parts(kept.store.clone(), Clock::system(), mind, room);
        let persona = Arc::new(Persona {
            name: "Aizuchi".to_owned(),
            system_prompt: String::new(),
            language: Language::En,
        });
        let archive = kept.archive.clone();
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
        let discord = Arc::new(DiscordPlatform::new(settings, who, surroundings).await.unwrap());
        let stop = CancellationToken::new();
        let (running, stopping) = (discord.clone(), stop.clone());
        tokio::spawn(async move { running.run(stopping).await });
        Self { stage, discord, inbox, _stop: stop.drop_guard() }
    }

    fn is_heard(&self) -> bool {
        self.discord.connection.state().open_connections > 0
    }

    async fn until_heard(&self) {
        let mut changes = self.discord.connection.subscribe();
        changes.wait_for(|state| state.open_connections > 0).await.unwrap();
    }
}

/// Hello and heartbeats are no session.
#[tokio::test]
async fn a_session_that_does_not_begin_is_tried_anew() {
    let stage = DiscordHarness::new().await;
    stage.discord.refuse_next_session(SessionRefusal::NoReply);
    let alone = Alone::on(stage).await;
    alone.stage.until(|discord| discord.payloads(IDENTIFY).len() == 1).await;
    assert!(!alone.is_heard());
    alone.until_heard().await;
    assert_eq!(alone.stage.said(IDENTIFY), 2);
}

#[tokio::test]
async fn a_session_that_does_not_go_on_is_tried_anew() {
    let alone = Alone::on(DiscordHarness::new().await).await;
    alone.until_heard().await;
    alone.stage.discord.refuse_next_session(SessionRefusal::NoReply);
    alone.stage.discord.reset_connections();
    alone.stage.until(|discord| discord.payloads(RESUME).len() == 1).await;
    assert!(!alone.is_heard());
    alone.until_heard().await;
    assert_eq!((alone.stage.said(IDENTIFY), alone.stage.said(RESUME)), (1, 2));
}

/// Three seconds are little for somebody who has said much.
#[tokio::test]
async fn what_takes_long_to_obey_is_answered_later() {
    let alone = Alone::on(DiscordHarness::new().await).await;
    let Alone { stage, .. } = &alone;
    alone.until_heard().await;
    stage.until(|discord| !discord.commands(None).is_empty()).await;
    // Nothing is kept for as long as something is heard.
    let hearing = alone.inbox.channel_cache.lock_for_hearing().await;
    let options = json!([{ "name": "forget-me", "type": 1 }]);
    let (channel, user, name) = (stage.tea, stage.ren, "aizuchi".to_owned());
    let given = stage
        .discord
        .interact(NewInteraction { channel, user, kind: 2, name, options, at: None })
        .unwrap();
    let seen = || stage.discord.interaction(given).unwrap();
    stage.until(|_| seen().status == InteractionStatus::Deferred(MessageFlags::EPHEMERAL)).await;
    assert!(seen().responses.is_empty());
    stage
        .discord
        .inject_fault(Method::ChangeAnswer, Fault::rate_limited(0.1, RateLimitScope::User));
    stage.discord.inject_fault(Method::ChangeAnswer, Fault::ResetAfter);
    drop(hearing);
    stage.until(|_| !seen().responses.is_empty()).await;
    let answers = seen().responses;
    assert_eq!(answers.len(), 1);
    assert!(answers[0].is_ephemeral);
    assert!(answers[0].message.content.starts_with("I have deleted what you said"));
}
