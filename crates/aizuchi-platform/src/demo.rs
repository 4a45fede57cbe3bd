//! A minute of two scripted users in the local room, on the real pipeline. Only what the users say is scripted: what
//! the persona does is decided as always, and each caption is made from the decision in the ledger.

pub mod script;

use std::sync::Arc;

use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::chat::{Channel, MessageId};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::{Decision, DecisionId};
use aizuchi_model::persona::{Language, Persona};
use aizuchi_model::texts;
use aizuchi_store::StoreError;
use aizuchi_store::archive::Archive;
use aizuchi_store::query::DecisionQuery;
use jiff::SignedDuration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::demo::script::{Awaited, Cast, SCRIPT, Scene};
use crate::local::demo_channel::{self, DemoChannel};

/// How long to wait for a decision before the script continues without it.
const DECISION_TIMEOUT: SignedDuration = SignedDuration::from_secs(60);

/// Plays the script in the local room, one play at a time.
pub struct Demo {
    demo_channel: DemoChannel,
    archive: Arc<dyn Archive>,
    revisions: watch::Receiver<u64>,
    clock: Clock,
    persona: Arc<Persona>,
    status: watch::Sender<DemoStatus>,
}

/// The state of the demo.
#[derive(Clone, Debug, PartialEq)]
pub struct DemoStatus {
    /// The number of the newest play. It rises, over restarts as well, so that a page can recognize an older status.
    pub play: i64,
    pub phase: Phase,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// Not played yet, or the last play was skipped.
    Idle,
    Playing(SceneProgress),
    /// Played to the end.
    Over,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SceneProgress {
    /// The number of the scene, counted from 1.
    pub scene: usize,
    pub caption: Caption,
}

/// One sentence about what happens, in each language that a page may have.
#[derive(Clone, Debug, PartialEq)]
pub struct Caption {
    pub english: String,
    pub japanese: String,
    /// The decision that the caption describes.
    pub decision: Option<DecisionId>,
}

impl Demo {
    pub fn new(
        demo_channel: DemoChannel,
        archive: Arc<dyn Archive>,
        revisions: watch::Receiver<u64>,
        clock: Clock,
        persona: Arc<Persona>,
    ) -> Self {
        let play = clock.now().as_millisecond();
        let status = watch::Sender::new(DemoStatus { play, phase: Phase::Idle });
        Self { demo_channel, archive, revisions, clock, persona, status }
    }

    /// Subscribes to changes of the status.
    pub fn subscribe(&self) -> watch::Receiver<DemoStatus> {
        self.status.subscribe()
    }

    /// Starts a play, unless one is in progress. Returns its channel, which is ready by then, and its number.
    pub async fn start(&self) -> Result<(Channel, i64), StoreError> {
        if let Some(play) = self.number() {
            return Ok((demo_channel::channel(), play));
        }
        let channel = self.demo_channel.prepare(&self.cast().names()).await?;
        self.status.send_if_modified(|status| {
            let is_new = status.number().is_none();
            if is_new {
                let caption = self.opening(&SCRIPT[0]);
                status.play += 1;
                status.phase = Phase::Playing(SceneProgress { scene: 1, caption });
            }
            is_new
        });
        Ok((channel, self.status.borrow().play))
    }

    /// Ends the play that is in progress, if any.
    pub fn skip(&self) {
        if let Some(play) = self.number() {
            self.change(play, Phase::Idle);
        }
    }

    /// Performs each play that is started, until `shutdown`.
    pub async fn run(&self, shutdown: CancellationToken) -> anyhow::Result<()> {
        let mut status = self.subscribe();
        loop {
            let play = tokio::select! {
                () = shutdown.cancelled() => return Ok(()),
                play = next_play(&mut status) => play,
            };
            let played = tokio::select! {
                () = shutdown.cancelled() => return Ok(()),
                _ = status.wait_for(|status| status.number() != Some(play)) => Ok(()),
                played = self.play(play) => played,
            };
            if let Err(error) = played.and(self.demo_channel.unmute().await) {
                warn!(%error, "the demo stopped: the store failed");
                self.skip();
            }
        }
    }

    async fn play(&self, play: i64) -> Result<(), StoreError> {
        for (index, scene) in SCRIPT.iter().enumerate() {
            self.show(play, index, self.opening(scene));
            let caption = self.perform(scene).await?;
            self.show(play, index, caption);
            self.pause(scene.reading_ms).await;
        }
        self.change(play, Phase::Over);
        Ok(())
    }

    /// Posts the users' messages of a scene. Returns a caption of what came of them.
    async fn perform(&self, scene: &Scene) -> Result<Caption, StoreError> {
        let mut last = None;
        for message in scene.messages {
            self.pause(message.pause_ms).await;
            let text = message.text(self.persona.language, &self.persona.name);
            last = Some(self.demo_channel.say(self.cast().name(message.user), &text).await?);
        }
        let decision = match &last {
            Some(message) => self.await_decision(message).await?,
            None => None,
        };
        let name = &*self.persona.name;
        let Some(decision) = decision else {
            return Ok(Caption::new(None, |language| match scene.awaited {
                Awaited::Decision => texts::demo::undecided(language, name),
                Awaited::Stop | Awaited::Reason => texts::demo::unanswered(language, name),
            }));
        };
        let is_muted = self.demo_channel.is_muted().await?;
        let why = decision.why.as_deref().unwrap_or_default().trim_end_matches(['.', '。']);
        let has_answered = !decision.posted_messages.is_empty();
        Ok(Caption::new(Some(decision.id), |language| match scene.awaited {
            Awaited::Stop if has_answered && is_muted => texts::demo::stopped(language, name),
            Awaited::Stop if has_answered => texts::demo::not_stopped(language, name),
            Awaited::Reason if has_answered => texts::demo::told_why(language, name),
            Awaited::Decision | Awaited::Stop | Awaited::Reason => {
                texts::demo::decided(language, name, decision.ended, why)
            }
        }))
    }

    /// Waits until the decision on a message is closed. `None` if that takes too long.
    async fn await_decision(&self, message: &MessageId) -> Result<Option<Decision>, StoreError> {
        let mut revisions = self.revisions.clone();
        let found = async {
            loop {
                revisions.borrow_and_update();
                let found = self.closed_decision(message).await;
                if !matches!(found, Ok(None)) || revisions.changed().await.is_err() {
                    return found;
                }
            }
        };
        self.clock.timeout(DECISION_TIMEOUT, found).await.unwrap_or(Ok(None))
    }

    async fn closed_decision(&self, message: &MessageId) -> Result<Option<Decision>, StoreError> {
        let query = DecisionQuery::Message { workspace: workspace_id(), message: message.clone() };
        let decisions = self.archive.decisions(query).await?;
        Ok(decisions.into_iter().rev().find(|decision| decision.closed.is_some()))
    }

    fn show(&self, play: i64, index: usize, caption: Caption) {
        self.change(play, Phase::Playing(SceneProgress { scene: index + 1, caption }));
    }

    /// The number of the play in progress.
    fn number(&self) -> Option<i64> {
        self.status.borrow().number()
    }

    /// Changes the status, unless this play is over.
    fn change(&self, play: i64, phase: Phase) {
        self.status.send_if_modified(|status| {
            let is_current = status.number() == Some(play);
            if is_current {
                status.phase = phase;
            }
            is_current
        });
    }

    async fn pause(&self, milliseconds: i64) {
        let until = self.clock.now() + SignedDuration::from_millis(milliseconds);
        self.clock.sleep_until(until).await;
    }

    fn opening(&self, scene: &Scene) -> Caption {
        let cast = self.cast();
        Caption::new(None, |language| (scene.opening)(language, &cast, &self.persona.name))
    }

    fn cast(&self) -> Cast {
        Cast { language: self.persona.language }
    }
}

impl Caption {
    fn new(decision: Option<DecisionId>, text: impl Fn(Language) -> String) -> Self {
        Self { english: text(Language::En), japanese: text(Language::Ja), decision }
    }
}

impl DemoStatus {
    /// The number of the play in progress.
    fn number(&self) -> Option<i64> {
        matches!(self.phase, Phase::Playing(_)).then_some(self.play)
    }
}

/// Waits until a play is started.
async fn next_play(status: &mut watch::Receiver<DemoStatus>) -> i64 {
    loop {
        let play = status.borrow_and_update().number();
        if let Some(play) = play {
            return play;
        }
        if status.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
