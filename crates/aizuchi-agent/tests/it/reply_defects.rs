//! Defects of the program during a reply that no user waits for.

use aizuchi_harness::fixtures::JOIN;
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::on_every_store;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::decision::DecisionResult;

/// Nobody has to retry what nobody waits for, so no dead letter is left.
#[tokio::test]
async fn a_defect_in_an_unsolicited_reply_is_a_failed_silence() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.mind.meanwhile(PromptVerb::Reply, || async { panic!("a defect") });
        harness.says("alice", "does it rain tomorrow?").await;
        harness.pass(1000).await;
        assert_eq!(harness.mind.prompts(PromptVerb::Reply).len(), 1);
        let rows = harness.decisions("garden").await;
        let ended: Vec<_> = rows.iter().map(|row| row.ended).collect();
        assert_eq!(ended, [Some(DecisionResult::Failed)]);
        assert!(harness.platform.posted_texts().is_empty());
        let letters = harness.store.archive.dead_letters(&Default::default()).await.unwrap();
        assert!(letters.is_empty(), "{letters:?}");
    })
    .await;
}
