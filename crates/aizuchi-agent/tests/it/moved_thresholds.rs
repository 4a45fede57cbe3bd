//! The threshold of `response.tolerance` moves by a small step a day, even after the labels are gone, and across a
//! restart. On every store.

use std::sync::Arc;

use aizuchi_agent::learner::Learner;
use aizuchi_harness::fixtures::{JOIN, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::on_every_database;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{ChannelId, Role};
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::decision::proposal::ProposalChoice;
use aizuchi_model::decision::tolerance::{ChannelLabels, Label, MIN_LABELS, WelcomeLabels};
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
        rulebook: rulebook.into(),
        welcome_labels: Arc::default(),
    }
}

/// The threshold after the learner has run, in hundredths.
async fn threshold(learner: &Learner) -> i64 {
    learner.step().await.unwrap();
    // Nothing is known about a workspace from which nothing was heard.
    let least = rules().min_confidence;
    let known = learner.welcome_labels.read(&workspace());
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

#[tokio::test]
async fn words_that_are_often_unwelcome_are_held_back() {
    let told = on_every_database(async |store| {
        let rules = ChannelRules { tolerance: Some(0.05), ..ChannelRules::default() };
        let welcome_labels = Arc::new(WelcomeLabels::default());
        let options = HarnessOptions {
            welcome_labels: welcome_labels.clone(),
            ..HarnessOptions::from_rules(rules.clone())
        };
        let harness = Harness::new(store).await.with_options(options);
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        let says = async |text: &str| {
            harness.says("alice", text).await;
            // Long enough that no gate applies.
            harness.pass(4000).await;
            harness.decisions("garden").await.pop().unwrap()
        };
        // The judge's confidence when it joins in.
        let known = async |is_welcome: bool, count: usize| {
            let labels = vec![Label { confidence: 0.9, is_welcome }; count];
            let channels = ChannelLabels::from([(ChannelId::new("garden"), labels)]);
            welcome_labels.replace(workspace(), channels.into());
            says("does anyone know where the ladder went?").await
        };
        let too_few = known(false, MIN_LABELS - 1).await;
        assert_eq!(too_few.ended, Some(DecisionResult::Spoke));
        let welcome = known(true, 200).await;
        assert_eq!(welcome.ended, Some(DecisionResult::Spoke));
        let held_back = known(false, 200).await;
        assert_eq!(held_back.ended, Some(DecisionResult::ChoseSilence));
        assert!(held_back.judgment.unwrap().should_respond);
        // A mention is still answered.
        assert_eq!(says("@Aizuchi are you there?").await.ended, Some(DecisionResult::Spoke));

        // The ratings in the ledger replace them: three posts without any feedback.
        let rulebook = Rulebook { default_rules: rules, ..Rulebook::default() };
        let learner = Learner {
            rulebook: rulebook.into(),
            welcome_labels: welcome_labels.clone(),
            ..learner(&harness)
        };
        learner.step().await.unwrap();
        assert_eq!(welcome_labels.read(&workspace()).unwrap().labels, ChannelLabels::new());
        let ladder = says("does anyone know where the ladder went?").await;
        assert_eq!(ladder.ended, Some(DecisionResult::Spoke));
        held_back.why.unwrap()
    })
    .await;
    let expected = "here, words under 1.00 were unwelcome more often than 5.0 %";
    assert!(told.contains(expected), "{told}");
}
