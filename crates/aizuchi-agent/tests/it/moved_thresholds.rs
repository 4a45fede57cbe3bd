//! The threshold of `response.tolerance` moves by a small step a day, even after the labels are gone, and across a
//! restart. On every store.

use std::sync::Arc;

use aizuchi_agent::learner::Learner;
use aizuchi_harness::fixtures::{JOIN, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::on_every_database;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{ChannelId, Role};
use aizuchi_model::decision::learned::LearnedGates;
use aizuchi_model::decision::proposal::ProposalChoice;
use aizuchi_model::decision::tolerance::MIN_LABELS;
use aizuchi_model::rules::{ChannelRules, Mode, Rulebook};
use aizuchi_store::order::Order;
use aizuchi_store::query::ProposalQuery;
use futures_util::future::join_all;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

fn rules() -> ChannelRules {
    ChannelRules { mode: Mode::Propose, tolerance: Some(0.05), ..ChannelRules::default() }
}

/// The learner of a newly started program.
fn learner(harness: &Harness) -> Learner {
    let rulebook = Rulebook { default_rules: rules(), ..Rulebook::default() };
    Learner {
        archive: harness.store.archive.clone(),
        cursors: harness.store.cursors.clone(),
        clock: harness.clock.clone(),
        miss: None,
        rulebook: rulebook.into(),
        gates: Arc::new(LearnedGates::default()),
    }
}

/// The threshold after the learner has run, in hundredths.
async fn threshold(learner: &Learner) -> i64 {
    learner.step().await.unwrap();
    // Nothing is known about a workspace from which nothing was heard.
    let least = rules().min_confidence;
    let known = learner.gates.labels.read(&workspace());
    let threshold = known.map_or(least, |it| it.threshold(&ChannelId::new("garden"), least, 0.05));
    (threshold * 100.0).round() as i64
}

/// A user declines as many proposals as the learner needs labels.
async fn declines(harness: &Harness) {
    for _ in 0..MIN_LABELS {
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(400).await;
        let query =
            ProposalQuery { workspace: Some(workspace()), decision: None, before: None, limit: 1 };
        let now = harness.clock.now();
        let id = harness.store.archive.proposals(&query, now).await.unwrap().remove(0).id;
        let (workspace, by) = (workspace(), "olga".into());
        let choice = ProposalChoice::NotNow;
        harness.order(Order::DecideProposal { workspace, id, choice, by }).await;
        harness.pass(HOUR).await;
    }
}

#[tokio::test]
async fn a_threshold_moves_by_a_step_a_day_over_restarts_and_without_labels() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::from_rules(rules()));
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        let first = learner(&harness);
        assert_eq!(threshold(&first).await, 70, "nothing is known");
        declines(&harness).await;
        assert_eq!(threshold(&first).await, 75);
        harness.pass(HOUR).await;
        assert_eq!(threshold(&first).await, 75, "it moved an hour ago");
        // A newly started program continues from the current threshold, and so does another one on the same
        // database.
        let second = learner(&harness);
        assert_eq!(threshold(&second).await, 75);
        harness.pass(DAY).await;
        assert_eq!(threshold(&second).await, 80);
        assert_eq!(threshold(&first).await, 80);
        harness.pass(DAY).await;
        assert_eq!(threshold(&first).await, 85);
        // The labels age out while the learner runs once a day: the threshold returns the way it came.
        let mut before = 85;
        for _ in 0..120 {
            harness.pass(DAY).await;
            let now = threshold(&first).await;
            assert!((now - before).abs() <= 5, "from {before} to {now}");
            before = now;
        }
        assert_eq!(before, 70);
    })
    .await;
}

#[tokio::test]
async fn what_is_learned_anew_begins_where_it_is_configured() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::from_rules(rules()));
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        declines(&harness).await;
        let learner = learner(&harness);
        assert_eq!(threshold(&learner).await, 75);
        harness.pass(DAY).await;
        assert_eq!(threshold(&learner).await, 80);
        harness.pass(1).await;
        let anew = Order::ForgetMoments { workspace: workspace() };
        harness.order(anew.signed(Arc::from("olga"))).await;
        assert_eq!(threshold(&learner).await, 70);
        harness.pass(30 * DAY).await;
        assert_eq!(threshold(&learner).await, 70, "what was before does not come back");
    })
    .await;
}

/// Orders are read in pages of a thousand.
#[tokio::test]
async fn what_is_learned_anew_stays_so_however_many_orders_follow() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::from_rules(rules()));
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        declines(&harness).await;
        let learner = learner(&harness);
        assert_eq!(threshold(&learner).await, 75);
        harness.pass(1).await;
        let anew = Order::ForgetMoments { workspace: workspace() };
        harness.order(anew.signed("olga")).await;
        assert_eq!(threshold(&learner).await, 70);
        let channel = Some(ChannelId::new("kitchen"));
        let unmute = Order::Unmute { workspace: workspace(), channel, by: Role::Admin };
        let (unmute, now) = (unmute.signed("olga"), harness.clock.now());
        let ordered = (0..=1000).map(|_| harness.store.store.order(unmute.clone(), now));
        join_all(ordered).await.into_iter().for_each(|ordered| ordered.unwrap());
        harness.pass(DAY).await;
        assert_eq!(threshold(&learner).await, 70, "what was before does not come back");
    })
    .await;
}
