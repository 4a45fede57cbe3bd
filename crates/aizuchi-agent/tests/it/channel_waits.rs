//! The waits of a channel with its own, after a restart.

use aizuchi_harness::fixtures::{at, top_level};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::on_every_store;
use aizuchi_model::rules::{ChannelRules, Rulebook, TimingRules};

/// Elsewhere, a conversation is judged after half a minute, so a question that is older has been judged.
#[tokio::test]
async fn a_restart_forgets_no_question_that_waits_longer_than_elsewhere() {
    let timing = TimingRules { min_wait_seconds: Some(300.0), ..TimingRules::default() };
    let rules = ChannelRules { timing, ..ChannelRules::default() };
    let channels = [("#garden".to_owned(), rules)].into();
    let mut options = HarnessOptions::from_rulebook(Rulebook { channels, ..Rulebook::default() });
    options.wait_settings.min_wait_seconds = 30.0;
    for is_restarted in [false, true] {
        on_every_store(async |store| {
            let mut harness = Harness::new(store).await.with_options(options.clone());
            harness.says("alice", "does anyone have a ladder?").await;
            harness.pass(60).await;
            if is_restarted {
                harness = harness.restart().await;
            }
            harness.says("bob", "@carol the tulips are out").await;
            let step = harness.step_of(&top_level("garden")).await.unwrap();
            assert_eq!(step.due, at(150), "restarted: {is_restarted}");
        })
        .await;
    }
}
