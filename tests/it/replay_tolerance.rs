//! A replay of the own database applies `response.tolerance` as far as the ledger records the reception of posts.

use std::path::Path;

use aizuchi_harness::fixtures::{JOIN, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{StoreKind, TestStore};
use aizuchi_import::input::{PrivateChannels, database};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::decision::proposal::ProposalChoice;
use aizuchi_model::rules::{ChannelRules, Mode};
use aizuchi_store::order::Order;
use aizuchi_store::query::ProposalQuery;
use serde_json::Value;

use crate::command::aizuchi;

/// Returns a database in which this many proposals were declined, and none accepted.
async fn declined(proposals: usize, store: TestStore) -> Harness {
    let rules = ChannelRules { mode: Mode::Propose, ..ChannelRules::default() };
    let harness = Harness::new(store).await.with_options(HarnessOptions::from_rules(rules));
    harness.mind.script.set_default(PromptVerb::Judge, JOIN);
    for _ in 0..proposals {
        harness.says("alice", "does anybody know where the spare key is?").await;
        harness.pass(400).await;
        let query =
            ProposalQuery { workspace: Some(workspace()), decision: None, before: None, limit: 1 };
        let now = harness.clock.now();
        let id = harness.store.archive.proposals(&query, now).await.unwrap().remove(0).id;
        let (workspace, by) = (workspace(), "olga".into());
        let choice = ProposalChoice::NotNow;
        harness.order(Order::DecideProposal { workspace, id, choice, by }).await;
        harness.pass(4000).await;
    }
    harness
}

/// Replays the database with these settings. Returns the number of posts, and the notes about them.
fn replay(database: &Path, settings: &str) -> (u64, String) {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("tried.yaml");
    std::fs::write(&policy, settings).unwrap();
    let output = aizuchi()
        .args(["replay", "--json", "--from-store"])
        .arg(format!("sqlite://{}", database.display()))
        .args(["--judge", "builtin", "--policy"])
        .arg(&policy)
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    (json["policies"][0]["score"]["spoken_posts"].as_u64().unwrap(), stderr)
}

#[tokio::test]
async fn a_replay_of_the_own_database_holds_back_what_was_often_unwelcome() {
    let harness = declined(60, TestStore::sqlite().await).await;
    let path = harness.store.database.as_ref().unwrap().path().to_owned();
    let (spoken, told) = replay(&path, "response: {mode: companion, min_confidence: 0.3}\n");
    assert!(spoken > 0, "{told}");
    assert!(!told.contains("tolerance"), "{told}");
    let (spoken_to_welcome, told) =
        replay(&path, "response: {mode: companion, min_confidence: 0.3, tolerance: 0.05}\n");
    let expected = "tried: with response.tolerance, the judge must be at least 1.00 sure in garden (known: 60 posts, declined proposals and marks; at least 50 are needed)";
    assert!(told.contains(expected), "{told}");
    assert!(spoken_to_welcome < spoken, "{spoken_to_welcome} of {spoken}");
    let (all, _) =
        replay(&path, "response: {mode: companion, min_confidence: 0.3, tolerance: 1.0}\n");
    assert_eq!(all, spoken, "everything is tolerated");
}

#[tokio::test]
async fn both_databases_tell_how_welcome_words_were() {
    for kind in StoreKind::DATABASES {
        let harness = declined(3, kind.open().await).await;
        let address = &harness.store.database.as_ref().unwrap().address;
        let read = database::welcome_labels(address, PrivateChannels::LeftOut).await.unwrap();
        assert_eq!(read.keys().collect::<Vec<_>>(), ["garden"], "{kind:?}");
        let labels = &read["garden"];
        assert_eq!(labels.len(), 3, "{kind:?}");
        assert!(labels.iter().all(|label| !label.is_welcome), "{kind:?}");
    }
}
