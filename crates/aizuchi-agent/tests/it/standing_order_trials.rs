//! Trials of draft orders for the answer in the chat, while time passes and users go on talking, on every store.

use std::sync::{Arc, Mutex, OnceLock};

use aizuchi_actions::standing_order_trial::{
    LONGEST_TRIAL, StandingOrderTrial, StandingOrderTrialOutcome,
};
use aizuchi_agent::agent::AgentSettings;
use aizuchi_agent::inbox::Inbox;
use aizuchi_harness::fixtures::{message, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_model::chat::{Arrival, ConversationId, Heard, Message, Role, User};
use aizuchi_model::clock::Clock;
use aizuchi_model::rules::Rulebook;
use aizuchi_model::standing_order::{StandingOrder, StandingOrderEffect};
use aizuchi_store::StoreError;
use async_trait::async_trait;
use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

/// A trial that takes its time, during which a user may say something.
struct Slow {
    takes: SignedDuration,
    /// The clock and the inbox that it uses.
    place: OnceLock<(Clock, Arc<Inbox>)>,
    /// The message that comes during the first trial.
    meanwhile: Mutex<Option<Message>>,
    /// The numbers of the drafts, and whether their trial was stopped.
    tried: Mutex<Vec<(i64, bool)>>,
}

impl Slow {
    fn taking(takes: SignedDuration) -> Arc<Self> {
        Arc::new(Self {
            takes,
            place: OnceLock::new(),
            meanwhile: Mutex::default(),
            tried: Mutex::default(),
        })
    }

    fn tried(&self) -> Vec<(i64, bool)> {
        self.tried.lock().unwrap().clone()
    }
}

#[async_trait]
impl StandingOrderTrial for Slow {
    async fn try_draft(
        &self,
        _: &ConversationId,
        draft: &StandingOrder,
        stop: &CancellationToken,
    ) -> Result<StandingOrderTrialOutcome, StoreError> {
        let (clock, inbox) = self.place.get().unwrap();
        let said = self.meanwhile.lock().unwrap().take();
        if let Some(message) = said {
            inbox.hear(Heard::Message(message, Arrival::Live)).await.unwrap();
        }
        self.tried.lock().unwrap().push((draft.number, stop.is_cancelled()));
        clock.advance_to(clock.now() + self.takes);
        if self.takes > LONGEST_TRIAL {
            std::future::pending::<()>().await;
        }
        let effect = StandingOrderEffect {
            days: 7,
            spoke: 12,
            newly_silent: 3,
            ..StandingOrderEffect::default()
        };
        Ok(StandingOrderTrialOutcome::Tried(effect))
    }
}

/// A harness in which orders begin as drafts, and are tried with this trial.
async fn room(store: TestStore, trial: &Arc<Slow>) -> Harness {
    let rulebook = Rulebook { drafts_standing_orders: true, ..Rulebook::default() };
    let options = HarnessOptions::default();
    let settings = AgentSettings { rulebook: rulebook.into(), ..options.settings };
    let standing_order_trial: Option<Arc<dyn StandingOrderTrial>> = Some(trial.clone());
    let options = HarnessOptions { settings, standing_order_trial, ..HarnessOptions::default() };
    let harness = Harness::new(store).await.with_options(options);
    harness.platform.set_longest_post(1000);
    assert!(trial.place.set((harness.clock.clone(), harness.inbox.clone())).is_ok());
    harness
}

async fn admin_says(harness: &Harness, id: &str, text: &str) {
    let message = message(top_level("garden"), id, harness.clock.now(), "root", text);
    let (user, kind) = (message.author.id.clone(), message.author.kind);
    let user = User {
        workspace: workspace(),
        id: user,
        name: "root".into(),
        kind,
        role: Role::Admin,
        zone: None,
    };
    harness.inbox.hear(Heard::User(user)).await.unwrap();
    harness.hear(message).await;
}

/// The posts, without line breaks.
fn told(harness: &Harness) -> String {
    let posts = harness.platform.posted_texts().join(" ");
    posts.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_trial_takes_no_longer_than_its_step_may() {
    on_every_database(async |store| {
        let quick = Slow::taking(LONGEST_TRIAL - SignedDuration::from_secs(1));
        let harness = room(store, &quick).await;
        admin_says(&harness, "a1", "@Aizuchi in this channel: be brief").await;
        harness.pass(300).await;
        assert_eq!(quick.tried(), [(1, false)]);
        assert!(told(&harness).contains("3 would have stayed silent"), "{}", told(&harness));
    })
    .await;
    on_every_database(async |store| {
        let endless = Slow::taking(LONGEST_TRIAL + SignedDuration::from_secs(1));
        let harness = room(store, &endless).await;
        admin_says(&harness, "a1", "@Aizuchi in this channel: be brief").await;
        harness.pass(300).await;
        assert_eq!(endless.tried(), [(1, false)], "its step is not done again");
        let told = told(&harness);
        assert!(told.contains("I tried it, but the model didn’t answer."), "{told}");
    })
    .await;
}

/// A message that makes the answer obsolete stops the trial, and the answer comes once.
#[tokio::test]
async fn a_new_message_stops_a_trial() {
    on_every_database(async |store| {
        let trial = Slow::taking(SignedDuration::from_secs(5));
        let harness = room(store, &trial).await;
        let more = message(top_level("garden"), "a2", harness.clock.now(), "root", "as I said");
        *trial.meanwhile.lock().unwrap() = Some(more);
        admin_says(&harness, "a1", "@Aizuchi in this channel: be brief").await;
        harness.pass(300).await;
        assert_eq!(trial.tried(), [(1, true), (1, false)]);
        let told = told(&harness);
        assert_eq!(told.matches("Draft 1, for this channel").count(), 1, "{told}");
        assert!(told.contains("3 would have stayed silent"), "{told}");
    })
    .await;
}

/// Many orders at once delay the conversation no longer than one does.
#[tokio::test]
async fn one_draft_of_a_step_is_tried() {
    on_every_database(async |store| {
        let trial = Slow::taking(SignedDuration::from_secs(5));
        let harness = room(store, &trial).await;
        for (id, words) in [("a1", "be brief"), ("a2", "be kind"), ("a3", "be quick")] {
            admin_says(&harness, id, &format!("@Aizuchi in this channel: {words}")).await;
            harness.clock.advance_to(harness.clock.now() + SignedDuration::from_secs(1));
        }
        harness.pass(300).await;
        assert_eq!(trial.tried(), [(1, false)]);
        let told = told(&harness);
        for words in ["Draft 1, ", "Draft 2, ", "Draft 3, "] {
            assert!(told.contains(words), "{words}: {told}");
        }
        assert_eq!(told.matches("3 would have stayed silent").count(), 1, "{told}");
        assert_eq!(told.matches("the console can tell").count(), 2, "{told}");
    })
    .await;
}
