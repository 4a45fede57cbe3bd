//! Proposals that a user declines become labels of how welcome posts are, like those that a user approves. On
//! every store.

use aizuchi_agent::learner::welcome_labels;
use aizuchi_harness::fixtures::{JOIN, at, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::ChannelId;
use aizuchi_model::decision::mark::Mark;
use aizuchi_model::decision::proposal::{ProposalChoice, ProposalId};
use aizuchi_model::decision::tolerance::{self, Label, MIN_LABELS};
use aizuchi_model::decision::welcome::{Aftermath, RatedChoice, SpeakChoice};
use aizuchi_model::rules::{ChannelRules, Mode};
use aizuchi_store::figures::{ChoiceAftermath, WorkspacePeriod};
use aizuchi_store::order::Order;
use aizuchi_store::query::ProposalQuery;
use jiff::{SignedDuration, Timestamp};

/// Long enough that no gate applies, and that the rating counts.
const PAUSE: i64 = 4000;

/// A harness whose judge always wants to speak, and where posts need approval.
async fn proposing(store: TestStore) -> Harness {
    let rules = ChannelRules { mode: Mode::Propose, ..ChannelRules::default() };
    let harness = Harness::new(store).await.with_options(HarnessOptions::from_rules(rules));
    harness.mind.script.set_default(PromptVerb::Judge, JOIN);
    harness
}

async fn newest(harness: &Harness) -> ProposalId {
    let query =
        ProposalQuery { workspace: Some(workspace()), decision: None, before: None, limit: 1 };
    let now = harness.clock.now();
    harness.store.archive.proposals(&query, now).await.unwrap().remove(0).id
}

/// A question that the persona would answer, and a user's choice about the proposal.
async fn proposed(harness: &Harness, choice: ProposalChoice) {
    harness.says("alice", "when do I cut the roses?").await;
    harness.pass(400).await;
    let (workspace, id, by) = (workspace(), newest(harness).await, "olga".into());
    harness.order(Order::DecideProposal { workspace, id, choice, by }).await;
    harness.pass(PAUSE).await;
}

async fn labels(harness: &Harness) -> Vec<Label> {
    let archive = &*harness.store.archive;
    let mut channels = welcome_labels(archive, &workspace(), harness.clock.now()).await.unwrap();
    channels.remove(&ChannelId::new("garden")).unwrap_or_default()
}

async fn aftermaths(harness: &Harness) -> Vec<ChoiceAftermath> {
    let offset = SignedDuration::ZERO;
    let period =
        WorkspacePeriod { workspace: workspace(), since: at(0), until: Timestamp::MAX, offset };
    harness.store.archive.aftermaths(&period).await.unwrap()
}

#[tokio::test]
async fn every_click_is_a_label_once() {
    on_every_database(async |store| {
        let harness = proposing(store).await;
        for number in 0..MIN_LABELS {
            let declined = [ProposalChoice::NotNow, ProposalChoice::NeverLikeThis];
            let choice = match number % 4 {
                0 => declined[0].clone(),
                2 => declined[1].clone(),
                _ => ProposalChoice::SayIt,
            };
            if number == MIN_LABELS - 1 {
                let rules = ChannelRules::default();
                let threshold =
                    tolerance::threshold(&labels(&harness).await, rules.min_confidence, 0.05);
                assert!((threshold - rules.min_confidence).abs() < 1e-9, "nothing moves yet");
            }
            proposed(&harness, choice).await;
        }
        let labels = labels(&harness).await;
        assert_eq!(labels.len(), MIN_LABELS, "{labels:?}");
        let welcome = labels.iter().filter(|label| label.is_welcome).count();
        assert_eq!(welcome, MIN_LABELS / 2);
        assert!(labels.iter().all(|label| (label.confidence - 0.9).abs() < 1e-9));
        // Half of the proposals were declined, so the judge needs more confidence.
        assert!(tolerance::threshold(&labels, 0.7, 0.05) > 0.7);
        assert!((tolerance::threshold(&labels, 0.7, 0.6) - 0.7).abs() < 1e-9);
    })
    .await;
}

#[tokio::test]
async fn what_lapses_is_no_label_and_a_later_mark_wins() {
    let told = on_every_database(async |store| {
        let harness = proposing(store).await;
        // No one decides.
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(90_000).await;
        assert_eq!(labels(&harness).await, []);
        proposed(&harness, ProposalChoice::NotNow).await;
        let found = aftermaths(&harness).await;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].aftermath, Aftermath::Declined);
        let rated: RatedChoice = found[0].rate();
        assert_eq!((rated.choice, rated.confidence), (SpeakChoice::Declined, Some(0.9)));
        let label = |is_welcome| [Label { confidence: 0.9, is_welcome }];
        assert_eq!(labels(&harness).await, label(false));
        let (workspace, id, by) = (workspace(), rated.decision, "rita".into());
        let mark = Some(Mark::ShouldHaveSpoken);
        harness.order(Order::MarkDecision { workspace, id, mark, by }).await;
        assert_eq!(labels(&harness).await, label(true));
        format!("{found:?}")
    });
    assert!(!told.await.is_empty());
}
