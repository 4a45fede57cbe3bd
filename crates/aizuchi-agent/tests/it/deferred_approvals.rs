//! A proposal that a keeper approves while a platform is disconnected or behind is posted afterwards. On every store.

use aizuchi_harness::fixtures::{JOIN, SILENCE, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::decision::proposal::{ProposalChoice, ProposalId, ProposalState};
use aizuchi_model::platform::BackfillState;
use aizuchi_model::rules::{ChannelRules, Mode};
use aizuchi_store::order::Order;
use aizuchi_store::query::ProposalQuery;

/// A harness where a question of alice's is open and an answer is proposed.
async fn proposed(store: TestStore) -> (Harness, ProposalId) {
    let rules = ChannelRules { mode: Mode::Propose, ..ChannelRules::default() };
    let harness = Harness::new(store).await.with_options(HarnessOptions::from_rules(rules));
    harness.mind.script.set_default(PromptVerb::Judge, JOIN);
    harness.says("eve", "good morning").await;
    harness.pass(30).await;
    harness.says("alice", "when do I cut the roses?").await;
    harness.pass(400).await;
    harness.mind.script.set_default(PromptVerb::Judge, SILENCE);
    let (id, _) = newest(&harness).await;
    (harness, id)
}

async fn newest(harness: &Harness) -> (ProposalId, ProposalState) {
    let query =
        ProposalQuery { workspace: Some(workspace()), decision: None, before: None, limit: 1 };
    let now = harness.clock.now();
    let proposal = harness.store.archive.proposals(&query, now).await.unwrap().remove(0);
    (proposal.id, proposal.state)
}

async fn approve(harness: &Harness, id: ProposalId) {
    let (workspace, by, choice) = (workspace(), "olga".into(), ProposalChoice::SayIt);
    let order = Order::DecideProposal { workspace, id, choice, by };
    harness.inbox.apply_order(order).await.unwrap();
}

/// The judgment that waited before it was due long ago, but the approved text is only minutes late.
#[tokio::test]
async fn approved_words_are_as_late_as_their_approval() {
    on_every_database(async |store| {
        let (harness, id) = proposed(store).await;
        harness.platform.set_backfill_state(BackfillState::Disconnected);
        harness.says("bob", "eve: it rains again").await;
        harness.pass(2_900).await;
        approve(&harness, id).await;
        harness.pass(1_070).await;
        assert!(harness.platform.posted_texts().is_empty());
        harness.platform.set_backfill_state(BackfillState::Complete);
        harness.pass(400).await;
        let transcript = harness.transcript().await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."], "{transcript}");
        assert_eq!(newest(&harness).await, (id, ProposalState::Approved));
    })
    .await;
}

/// A user who mentions the persona in the meantime is answered, too.
#[tokio::test]
async fn approved_words_outlast_a_mention_during_an_outage() {
    on_every_database(async |store| {
        let (harness, id) = proposed(store).await;
        harness.platform.set_backfill_state(BackfillState::Disconnected);
        approve(&harness, id).await;
        harness.pass(30).await;
        harness.says("bob", "eve: it rains again, I told @Aizuchi").await;
        harness.pass(30).await;
        harness.mind.script.push(PromptVerb::Reply, Ok("It does."));
        harness.platform.set_backfill_state(BackfillState::Complete);
        harness.pass(30).await;
        let transcript = harness.transcript().await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am.", "It does."], "{transcript}");
        assert_eq!(newest(&harness).await, (id, ProposalState::Approved), "{transcript}");
    })
    .await;
}

/// The history cannot be read, and the user waits no longer than without the proposal.
#[tokio::test]
async fn approved_words_make_way_for_an_answer_that_waits_for_a_backfill() {
    on_every_database(async |store| {
        let (harness, id) = proposed(store).await;
        let gap_ended = harness.clock.now();
        harness.platform.set_backfill_state(BackfillState::Pending { gap_ended });
        approve(&harness, id).await;
        harness.pass(5).await;
        harness.says("bob", "eve: it rains again, I told @Aizuchi").await;
        harness.mind.script.push(PromptVerb::Reply, Ok("It does."));
        harness.pass(30).await;
        let transcript = harness.transcript().await;
        assert_eq!(harness.platform.posted_texts(), ["It does."], "{transcript}");
        assert_eq!(newest(&harness).await, (id, ProposalState::Lapsed), "{transcript}");
    })
    .await;
}
