//! What takes long on a real Discord, with less patience: sessions that do not begin.

use std::sync::Arc;
use std::time::Duration;

use aizuchi::clock::Clock;
use aizuchi::dev::discord::session::Refused;
use aizuchi::persona::{Language, Persona};
use aizuchi::platform::Surroundings;
use aizuchi::platform::discord::{Discord, Patience, Settings, ThreadRules, ask_who};
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::discord::stage::{IDENTIFY, RESUME, Stage};
use crate::world::{Kept, Mind, Room, parts};

/// The adapter without the rest of the program.
struct Alone {
    stage: Stage,
    discord: Arc<Discord>,
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
            answers: crate::world::answers(kept.store.clone(), archive.clone(), &persona),
            persona,
            ears,
            archive,
        };
        let who = ask_who(&settings).await.unwrap();
        let discord = Arc::new(Discord::new(settings, who, surroundings).await.unwrap());
        let stop = CancellationToken::new();
        let (running, stopping) = (discord.clone(), stop.clone());
        tokio::spawn(async move { running.run(stopping).await });
        Self { stage, discord, _stop: stop.drop_guard() }
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
