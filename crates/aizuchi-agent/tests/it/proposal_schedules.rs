//! Random schedules where posts need approval: users ask, mention, edit and delete, click late and twice, change
//! modes and orders, and the process crashes. A proposal is posted at most once, and only if it was approved in
//! time.

use std::sync::atomic::Ordering;

use aizuchi_harness::effort::cases;
use aizuchi_harness::fixtures::{JOIN, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::StoreKind;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::MessageId;
use aizuchi_model::decision::proposal::{Proposal, ProposalChoice, ProposalState};
use aizuchi_model::rules::{ChannelRules, Mode};
use aizuchi_model::standing_order::{StandingOrderScope, StandingOrderText};
use aizuchi_store::order::Order;
use aizuchi_store::query::ProposalQuery;
use jiff::SignedDuration;
use proptest::prelude::*;

const PROPOSED: &str = "Here I am.";

#[derive(Clone, Debug)]
enum Action {
    Ask(u8),
    Mention(u8),
    Edit(u8),
    Delete(u8),
    /// A keeper decides one of the newest proposals, in time or late.
    Click {
        back: u8,
        choice: u8,
    },
    /// One of the modes in which nothing is posted unasked without approval.
    Mode(u8),
    GiveOrder,
    DropOrder(u8),
    Wait(u16),
    /// What is claimed at this point is never completed.
    Crash,
}

fn action() -> impl Strategy<Value = Action> {
    let waits = [1_u16, 6, 61, 400, 400, 1900, 3700];
    prop_oneof![
        4 => (0..3_u8).prop_map(Action::Ask),
        1 => (0..3_u8).prop_map(Action::Mention),
        1 => (0..4_u8).prop_map(Action::Edit),
        1 => (0..4_u8).prop_map(Action::Delete),
        5 => (0..3_u8, 0..4_u8).prop_map(|(back, choice)| Action::Click { back, choice }),
        2 => (0..4_u8).prop_map(Action::Mode),
        1 => Just(Action::GiveOrder),
        1 => (1..4_u8).prop_map(Action::DropOrder),
        5 => prop::sample::select(waits.to_vec()).prop_map(Action::Wait),
        1 => Just(Action::Crash),
    ]
}

struct Simulation {
    harness: Harness,
    messages: Vec<MessageId>,
    /// How often the unchanged text was approved in time.
    approved: usize,
    /// The texts that replaced proposed ones.
    edited: Vec<String>,
    number: usize,
}

impl Simulation {
    async fn new(kind: StoreKind) -> Self {
        let rules = ChannelRules { mode: Mode::Propose, max_share: 1.0, ..ChannelRules::default() };
        let harness = Harness::new(kind.open().await).await;
        let harness = harness.with_options(HarnessOptions::from_rules(rules));
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        Self { harness, messages: Vec::new(), approved: 0, edited: Vec::new(), number: 0 }
    }

    async fn apply(self, action: &Action) -> Self {
        let mut simulation = self;
        let people = ["alice", "bob", "carol"];
        simulation.number += 1;
        let number = simulation.number;
        match action {
            Action::Ask(who) => {
                let text = format!("who knows how to prune rose {number}?");
                simulation.says(people[usize::from(*who)], &text).await;
            }
            Action::Mention(who) => {
                let text = format!("@Aizuchi what of rose {number}?");
                simulation.says(people[usize::from(*who)], &text).await;
            }
            Action::Edit(back) => {
                if let Some(message) = simulation.recent(*back) {
                    let text = format!("or rather, who prunes rose {number}?");
                    simulation.harness.edits(&message, &text).await;
                }
            }
            Action::Delete(back) => {
                if let Some(message) = simulation.recent(*back) {
                    simulation.harness.deletes(&message).await;
                }
            }
            Action::Click { back, choice } => simulation.click(*back, *choice).await,
            Action::Mode(mode) => {
                let mode =
                    [Some(Mode::Propose), Some(Mode::MentionOnly), Some(Mode::Observe), None]
                        [usize::from(*mode)];
                let (workspace, channel) = (workspace(), top_level("garden").channel);
                simulation.harness.order(Order::Mode { workspace, channel, mode }).await;
            }
            Action::GiveOrder => {
                let scope = StandingOrderScope::Channel(top_level("garden").channel);
                let text = StandingOrderText::parse(&format!("say it {number} times")).unwrap();
                let (workspace, by) = (workspace(), format!("olga {number}").into());
                let give = Order::GiveStandingOrder { workspace, scope, text, by };
                // The maximum number of orders may have been reached.
                let _ = simulation.harness.inbox.apply_order(give).await;
            }
            Action::DropOrder(number) => {
                let (workspace, number) = (workspace(), i64::from(*number));
                // There may be no order with this number.
                let drop = Order::DropStandingOrder { workspace, number };
                let _ = simulation.harness.inbox.apply_order(drop).await;
            }
            Action::Wait(seconds) => simulation.harness.pass(i64::from(*seconds)).await,
            Action::Crash => {
                let lease = SignedDuration::from_secs(100);
                let now = simulation.harness.clock.now();
                simulation.harness.store.store.claim(now, lease, 9).await.unwrap();
                simulation.harness = simulation.harness.restart().await;
            }
        }
        simulation
    }

    async fn says(&mut self, who: &str, text: &str) {
        let message = self.harness.says(who, text).await;
        self.messages.push(message);
    }

    fn recent(&self, back: u8) -> Option<MessageId> {
        self.messages.iter().rev().nth(usize::from(back)).cloned()
    }

    async fn proposals(&self) -> Vec<Proposal> {
        let query = ProposalQuery {
            workspace: Some(workspace()),
            decision: None,
            before: None,
            limit: 500,
        };
        let now = self.harness.clock.now();
        self.harness.store.archive.proposals(&query, now).await.unwrap()
    }

    async fn click(&mut self, back: u8, choice: u8) {
        let Some(proposal) = self.proposals().await.into_iter().nth(usize::from(back)) else {
            return;
        };
        let words = format!("In other words {}.", self.number);
        let choice = match choice {
            0 => ProposalChoice::SayIt,
            1 => ProposalChoice::Edit(vec![words.clone()]),
            2 => ProposalChoice::NotNow,
            _ => ProposalChoice::NeverLikeThis,
        };
        let (workspace, id, by) = (workspace(), proposal.id, "olga".into());
        let order = Order::DecideProposal { workspace, id, choice: choice.clone(), by };
        let is_decided = self.harness.inbox.apply_order(order).await.is_ok();
        let can_be = proposal.state == ProposalState::Open && proposal.text.is_some();
        let is_said = is_decided && choice.state().is_approved();
        assert!(can_be || !is_said, "it lapsed, or was decided before: {proposal:?}");
        if is_decided {
            match choice {
                ProposalChoice::SayIt => self.approved += 1,
                ProposalChoice::Edit(_) => self.edited.push(words),
                ProposalChoice::NotNow | ProposalChoice::NeverLikeThis => {}
            }
        }
    }

    /// Checks the invariants.
    fn check(&self) {
        let posted = self.harness.platform.posted.lock().unwrap();
        let unasked: Vec<&str> = posted
            .iter()
            .filter(|(item, _)| item.metadata.owed.is_empty() && item.reaction_to.is_none())
            .map(|(item, _)| &*item.text)
            .collect();
        let as_proposed = unasked.iter().filter(|text| **text == PROPOSED).count();
        assert!(as_proposed <= self.approved, "{as_proposed} of {}: {unasked:?}", self.approved);
        for text in unasked.iter().filter(|text| **text != PROPOSED) {
            assert!(self.edited.iter().any(|edited| edited == text), "nobody said so: {text}");
            let times = unasked.iter().filter(|other| *other == text).count();
            assert_eq!(times, 1, "said twice: {text}");
        }
        let mut keys: Vec<_> = posted.iter().map(|(item, _)| item.key.clone()).collect();
        let all = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), all, "posted twice");
    }
}

async fn run(kind: StoreKind, actions: &[Action]) {
    let mut simulation = Simulation::new(kind).await;
    for action in actions {
        simulation = simulation.apply(action).await;
        simulation.check();
    }
    simulation.harness.pass(100_000).await;
    simulation.check();
    let calls = simulation.harness.platform.calls.load(Ordering::SeqCst);
    let left = simulation.proposals().await;
    assert!(left.iter().all(|it| it.state != ProposalState::Open), "{left:?}");
    // Nothing of it returns later.
    simulation.harness.pass(100_000).await;
    assert_eq!(simulation.harness.platform.calls.load(Ordering::SeqCst), calls);
}

fn on(kind: StoreKind, actions: &[Action]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run(kind, actions));
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    prop::collection::vec(action(), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(32, 256), failure_persistence: None, max_shrink_iters: 400, ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_proposed_is_said_at_most_once_on_sqlite(actions in actions()) {
        on(StoreKind::Sqlite, &actions);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(2, 16), failure_persistence: None, max_shrink_iters: 50, ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_proposed_is_said_at_most_once_on_postgres(actions in actions()) {
        on(StoreKind::Postgres, &actions);
    }
}
