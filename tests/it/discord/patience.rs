//! What takes long on a real Discord, with less patience: sessions that do not begin, commands that take a while.

use std::sync::Arc;
use std::time::Duration;

use aizuchi_core::clock::Clock;
use aizuchi_core::hear::Ears;
use aizuchi_core::persona::{Language, Persona};
use aizuchi_core::platform::Surroundings;
use aizuchi_discord::{Discord, Patience, Settings, ThreadRules, ask_who};
use aizuchi_fakes::discord::command::{Standing, Use};
use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::method::Method;
use aizuchi_fakes::discord::refusal::Scope;
use aizuchi_fakes::discord::session::Refused;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};
use twilight_model::channel::message::MessageFlags;

use crate::discord::stage::{IDENTIFY, RESUME, Stage};
use aizuchi_harness::world::{Kept, Mind, Room, parts};

/// The adapter without the rest of the program.
struct Alone {
    stage: Stage,
    discord: Arc<Discord>,
    ears: Arc<Ears>,
    _stop: DropGuard,
}

impl Alone {
    async fn on(stage: Stage) -> Self {
        let kept = Kept::volatile();
        let settings = Settings {
            token: "dev-discord-token".into(),
            api_base: stage.api.clone(),
            gateway_url: None,
            shards: None,
            threads: ThreadRules::default(),
            settle: SignedDuration::from_secs(30),
            history: SignedDuration::ZERO,
            sync_every: SignedDuration::from_hours(1),
            zone: TimeZone::UTC,
            patience: Patience {
                calling: Duration::from_secs(2),
                opening: Duration::from_millis(300),
                obeying: Duration::from_millis(50),
            },
        };
        let (mind, room) = (Arc::new(Mind::default()), Arc::new(Room::default()));
        let (ears, _) = parts(kept.store.clone(), Clock::system(), mind, room);
        let persona = Arc::new(Persona {
            name: "Aizuchi".to_owned(),
            system_prompt: String::new(),
            language: Language::En,
        });
        let archive = kept.archive.clone();
        let surroundings = Surroundings {
            answers: aizuchi_harness::world::answers(kept.store.clone(), archive.clone(), &persona),
            persona,
            ears: ears.clone(),
            archive,
        };
        let who = ask_who(&settings).await.unwrap();
        let discord = Arc::new(Discord::new(settings, who, surroundings).await.unwrap());
        let stop = CancellationToken::new();
        let (running, stopping) = (discord.clone(), stop.clone());
        tokio::spawn(async move { running.run(stopping).await });
        Self { stage, discord, ears, _stop: stop.drop_guard() }
    }

    fn is_heard(&self) -> bool {
        self.discord.air.state().open > 0
    }

    async fn until_heard(&self) {
        let mut changes = self.discord.air.changes();
        changes.wait_for(|state| state.open > 0).await.unwrap();
    }
}

/// Hello and heartbeats are no session.
#[tokio::test]
async fn a_session_that_does_not_begin_is_tried_anew() {
    let stage = Stage::new().await;
    stage.discord.refuse_session(Refused::Nothing);
    let alone = Alone::on(stage).await;
    alone.stage.until(|discord| discord.said(IDENTIFY).len() == 1).await;
    assert!(!alone.is_heard());
    alone.until_heard().await;
    assert_eq!(alone.stage.said(IDENTIFY), 2);
}

#[tokio::test]
async fn a_session_that_does_not_go_on_is_tried_anew() {
    let alone = Alone::on(Stage::new().await).await;
    alone.until_heard().await;
    alone.stage.discord.refuse_session(Refused::Nothing);
    alone.stage.discord.cut();
    alone.stage.until(|discord| discord.said(RESUME).len() == 1).await;
    assert!(!alone.is_heard());
    alone.until_heard().await;
    assert_eq!((alone.stage.said(IDENTIFY), alone.stage.said(RESUME)), (1, 2));
}

/// Three seconds are little for somebody who has said much.
#[tokio::test]
async fn what_takes_long_to_obey_is_answered_later() {
    let alone = Alone::on(Stage::new().await).await;
    let Alone { stage, .. } = &alone;
    alone.until_heard().await;
    stage.until(|discord| !discord.commands(None).is_empty()).await;
    // Nothing is kept for as long as something is heard.
    let hearing = alone.ears.rooms.hear().await;
    let options = json!([{ "name": "forget-me", "type": 1 }]);
    let (channel, user, name) = (stage.tea, stage.ren, "aizuchi".to_owned());
    let given =
        stage.discord.use_app(Use { channel, user, kind: 2, name, options, at: None }).unwrap();
    let seen = || stage.discord.interaction(given).unwrap();
    stage.until(|_| seen().standing == Standing::Deferred(MessageFlags::EPHEMERAL)).await;
    assert!(seen().answers.is_empty());
    stage.discord.fault(Method::ChangeAnswer, Fault::rate_limited(0.1, Scope::User));
    stage.discord.fault(Method::ChangeAnswer, Fault::ResetAfter);
    drop(hearing);
    stage.until(|_| !seen().answers.is_empty()).await;
    let answers = seen().answers;
    assert_eq!(answers.len(), 1);
    assert!(answers[0].is_ephemeral);
    assert!(answers[0].message.content.starts_with("I have deleted what you said"));
}
