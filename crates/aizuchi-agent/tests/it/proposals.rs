//! In a channel with mode `propose`, a keeper approves the persona's unsolicited posts: exactly once, and only while
//! the moment lasts. On every store.

use aizuchi_harness::fixtures::{JOIN, SILENCE, at, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{ChannelId, MessageId};
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::decision::mark::Mark;
use aizuchi_model::decision::proposal::{Proposal, ProposalChoice, ProposalId, ProposalState};
use aizuchi_model::rules::{ChannelRules, Mode};
use aizuchi_store::StoreError;
use aizuchi_store::order::Order;
use aizuchi_store::query::ProposalQuery;
use aizuchi_store::refusal_reason::RefusalReason;
use insta::assert_snapshot;

/// A harness whose judge always wants to speak, and where posts need approval.
async fn proposing(store: TestStore) -> Harness {
    let rules = ChannelRules { mode: Mode::Propose, ..ChannelRules::default() };
    let harness = Harness::new(store).await.with_options(HarnessOptions::from_rules(rules));
    harness.mind.script.set_default(PromptVerb::Judge, JOIN);
    harness
}

async fn proposals(harness: &Harness) -> Vec<Proposal> {
    let query =
        ProposalQuery { workspace: Some(workspace()), decision: None, before: None, limit: 10 };
    harness.store.archive.proposals(&query, harness.clock.now()).await.unwrap()
}

async fn still_open(harness: &Harness) -> Vec<Proposal> {
    harness.store.archive.open_proposals(harness.clock.now()).await.unwrap()
}

/// The only proposal.
async fn proposal(harness: &Harness) -> Proposal {
    let mut all = proposals(harness).await;
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

async fn decide(
    harness: &Harness,
    id: ProposalId,
    choice: ProposalChoice,
) -> Result<(), StoreError> {
    let (workspace, by) = (workspace(), "olga".into());
    harness.inbox.apply_order(Order::DecideProposal { workspace, id, choice, by }).await
}

async fn marks(harness: &Harness) -> Vec<Mark> {
    let marks = harness.store.archive.marks_since(&workspace(), at(0)).await.unwrap();
    marks.into_iter().map(|mark| mark.mark).collect()
}

fn refusal(result: Result<(), StoreError>) -> RefusalReason {
    match result {
        Err(StoreError::Refused(reason)) => reason,
        other => panic!("it is not refused: {other:?}"),
    }
}

#[tokio::test]
async fn words_are_said_once_somebody_has_approved_them() {
    let transcript = on_every_database(async |store| {
        let harness = proposing(store).await;
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(400).await;
        assert!(harness.platform.posted_texts().is_empty());
        let open = proposal(&harness).await;
        assert_eq!(open.state, ProposalState::Open);
        assert_eq!(still_open(&harness).await, std::slice::from_ref(&open));
        assert_eq!(open.text.as_deref(), Some("Here I am."));
        assert_eq!(open.about, Some(MessageId::new("m000")));
        assert_eq!((open.why.as_deref(), open.confidence), (Some("nobody answers"), Some(0.9)));
        let waiting = harness.transcript().await;
        decide(&harness, open.id, ProposalChoice::SayIt).await.unwrap();
        harness.pass(1).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
        let said = proposal(&harness).await;
        assert_eq!(still_open(&harness).await, []);
        assert_eq!((said.state, &said.text), (ProposalState::Approved, &None));
        assert_eq!(&*said.decided.as_ref().unwrap().0, "olga");
        assert_eq!(marks(&harness).await, [Mark::Right]);
        let again = decide(&harness, open.id, ProposalChoice::SayIt).await;
        assert_eq!(refusal(again), RefusalReason::ProposalDecided);
        harness.pass(10_000).await;
        assert_eq!(harness.platform.posted_texts().len(), 1);
        format!("{waiting}{}", harness.transcript().await)
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
    [m000] proposed: nobody answers (judge kept, reply kept)
       0s alice: when do I cut the roses?
     400s (persona): Here I am.
    [m000] spoke: nobody answers (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn mentions_are_answered_as_ever() {
    on_every_database(async |store| {
        let harness = proposing(store).await;
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(10).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
        assert_eq!(proposals(&harness).await, []);
    })
    .await;
}

#[tokio::test]
async fn the_first_click_counts() {
    for choice in [ProposalChoice::NotNow, ProposalChoice::NeverLikeThis] {
        on_every_database(async |store| {
            let harness = proposing(store).await;
            harness.says("alice", "when do I cut the roses?").await;
            harness.pass(400).await;
            let id = proposal(&harness).await.id;
            decide(&harness, id, choice.clone()).await.unwrap();
            let late = decide(&harness, id, ProposalChoice::SayIt).await;
            assert_eq!(refusal(late), RefusalReason::ProposalDecided);
            harness.pass(10_000).await;
            assert!(harness.platform.posted_texts().is_empty());
            let declined = proposal(&harness).await;
            assert_eq!((declined.state, declined.text), (choice.state(), None));
            assert_eq!(marks(&harness).await, [Mark::ShouldHaveKeptSilent]);
            let rows = harness.decisions("garden").await;
            assert_eq!(rows[0].ended, Some(DecisionResult::Proposed));
            let labels = harness.store.archive.proposal_labels(&workspace(), 10).await.unwrap();
            let [(channel, label)] = &labels[..] else { panic!("{labels:?}") };
            assert_eq!((channel.as_str(), label.confidence), ("garden", 0.9));
            assert!(!label.is_approved);
            let unknown = decide(&harness, ProposalId(id.0 + 1000), ProposalChoice::SayIt).await;
            assert_eq!(refusal(unknown), RefusalReason::ProposalGone);
        })
        .await;
    }
}

#[tokio::test]
async fn somebody_may_say_it_in_other_words() {
    on_every_database(async |store| {
        let harness = proposing(store).await;
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(400).await;
        let id = proposal(&harness).await.id;
        let words = vec!["In March.".to_owned(), "Before they bud.".to_owned()];
        decide(&harness, id, ProposalChoice::Edit(words)).await.unwrap();
        harness.pass(1).await;
        assert_eq!(harness.platform.posted_texts(), ["In March.", "Before they bud."]);
        assert_eq!(proposal(&harness).await.state, ProposalState::Edited);
        assert_eq!(marks(&harness).await, [Mark::Right]);
    })
    .await;
}

#[tokio::test]
async fn a_proposal_lapses_with_its_time() {
    on_every_database(async |store| {
        let harness = proposing(store).await;
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(4000).await;
        let lapsed = proposal(&harness).await;
        assert_eq!((lapsed.state, lapsed.text), (ProposalState::Lapsed, None));
        assert_eq!(still_open(&harness).await, []);
        let late = decide(&harness, lapsed.id, ProposalChoice::SayIt).await;
        assert_eq!(refusal(late), RefusalReason::ProposalLapsed);
        assert_eq!(marks(&harness).await, []);
        // Its text is erased.
        harness.store.store.drop_exchanges(harness.clock.now(), u64::MAX).await.unwrap();
        let late = decide(&harness, lapsed.id, ProposalChoice::SayIt).await;
        assert_eq!(refusal(late), RefusalReason::ProposalLapsed);
        assert_eq!(proposal(&harness).await.state, ProposalState::Lapsed);
    })
    .await;
}

#[tokio::test]
async fn what_somebody_took_up_is_not_said() {
    on_every_database(async |store| {
        let harness = proposing(store).await;
        harness.says("alice", "where is the key for the shed?").await;
        harness.pass(400).await;
        let id = proposal(&harness).await.id;
        harness.mind.script.set_default(PromptVerb::Judge, SILENCE);
        harness.says("bob", "alice: on the hook by the door").await;
        decide(&harness, id, ProposalChoice::SayIt).await.unwrap();
        harness.pass(10_000).await;
        let transcript = harness.transcript().await;
        assert!(harness.platform.posted_texts().is_empty(), "{transcript}");
        let lapsed = proposal(&harness).await;
        assert_eq!(lapsed.state, ProposalState::Lapsed);
        assert!(lapsed.why.unwrap().starts_with("bob responded"), "{transcript}");
        let rows = harness.decisions("garden").await;
        assert_eq!(rows[0].ended, Some(DecisionResult::Dropped), "{transcript}");
        // Messages in between are judged separately.
        let covered: Vec<_> = rows.iter().map(|row| row.messages.clone()).collect();
        assert_eq!(covered, [[MessageId::new("m000")], [MessageId::new("m001")]]);
        assert!(rows.iter().all(|row| row.closed.is_some()), "{transcript}");
    })
    .await;
}

#[tokio::test]
async fn other_talk_does_not_stop_approved_words_and_is_judged_after_them() {
    on_every_database(async |store| {
        let harness = proposing(store).await;
        harness.says("eve", "good morning").await;
        harness.pass(30).await;
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(400).await;
        let id = proposal(&harness).await.id;
        harness.mind.script.set_default(PromptVerb::Judge, SILENCE);
        harness.says("bob", "eve: it rains again").await;
        decide(&harness, id, ProposalChoice::SayIt).await.unwrap();
        harness.pass(10_000).await;
        let transcript = harness.transcript().await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."], "{transcript}");
        let rows = harness.decisions("garden").await;
        assert_eq!(rows[0].ended, Some(DecisionResult::Spoke), "{transcript}");
        let last = rows.last().unwrap();
        assert_eq!(last.messages, [MessageId::new("m002")], "{transcript}");
        assert!(rows.iter().all(|row| row.closed.is_some()), "{transcript}");
    })
    .await;
}

#[tokio::test]
async fn approved_words_wait_while_the_judge_is_asked() {
    on_every_database(async |store| {
        let harness = proposing(store).await;
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(400).await;
        let id = proposal(&harness).await.id;
        harness.mind.script.set_default(PromptVerb::Judge, SILENCE);
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Judge, move || async move {
            let blocked = decide(&there, id, ProposalChoice::SayIt).await;
            assert_eq!(refusal(blocked), RefusalReason::ProposalBlocked);
        });
        harness.says("carol", "does anyone have a spare key for the shed?").await;
        harness.pass(400).await;
        assert!(harness.platform.posted_texts().is_empty());
        assert_eq!(marks(&harness).await, []);
        assert_eq!(proposals(&harness).await.last().unwrap().state, ProposalState::Open);
    })
    .await;
}

#[tokio::test]
async fn words_go_with_the_message_that_they_answer() {
    on_every_database(async |store| {
        let harness = proposing(store).await;
        let question = harness.says("alice", "when do I cut the roses?").await;
        harness.pass(400).await;
        let id = proposal(&harness).await.id;
        harness.deletes(&question).await;
        let gone = proposal(&harness).await;
        assert_eq!((gone.state, gone.text, gone.why), (ProposalState::Lapsed, None, None));
        let late = decide(&harness, id, ProposalChoice::SayIt).await;
        assert_eq!(refusal(late), RefusalReason::ProposalLapsed);
        harness.pass(1000).await;
        assert!(harness.platform.posted_texts().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_draft_of_before_the_mode_is_not_said() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, move || async move {
            let (workspace, channel) = (workspace(), ChannelId::new("garden"));
            let mode = Some(Mode::Propose);
            there.order(Order::Mode { workspace, channel, mode }).await;
        });
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(1000).await;
        assert!(harness.platform.posted_texts().is_empty(), "{}", harness.transcript().await);
        assert!(harness.step_of(&top_level("garden")).await.is_none());
    })
    .await;
}
