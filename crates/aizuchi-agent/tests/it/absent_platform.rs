//! The config leaves a platform out at one start.

use aizuchi_harness::fixtures::thread;
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::on_every_store;
use jiff::SignedDuration;

use crate::store_commands::PromisesExt;

/// Eleven hours, of which only the first and the last are watched: an attempt every few seconds takes its time.
async fn pass_half_a_day(harness: &Harness) {
    harness.pass(3600).await;
    harness.clock.advance_to(harness.clock.now() + SignedDuration::from_hours(9));
    harness.pass(3600).await;
}

#[tokio::test]
async fn an_answer_stays_owed_until_the_platform_is_back() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("mio", "@Aizuchi what do roses need?").await;
        harness.says_in(thread("garden", "t1"), "mio", "@Aizuchi status").await;
        let absent = HarnessOptions { lacks_platform: true, ..HarnessOptions::default() };
        let harness = harness.with_options(absent);
        pass_half_a_day(&harness).await;
        assert_eq!(harness.store.archive.dead_letters(&Default::default()).await.unwrap(), []);
        let harness = harness.with_options(HarnessOptions::default());
        harness.pass(60).await;
        let posted = harness.platform.posted_texts();
        let is_status = |post: &String| post.starts_with("In this channel I answer");
        let is_answer = |post: &String| post == "Here I am.";
        assert_eq!(posted.iter().filter(|post| is_answer(post)).count(), 1, "{posted:?}");
        assert_eq!(posted.iter().filter(|post| is_status(post)).count(), 1, "{posted:?}");
        assert_eq!(harness.store.steps().await, 0);
    })
    .await;
}

/// The answer was drafted when the platform went.
#[tokio::test]
async fn a_draft_waits_for_its_platform_and_becomes_a_dead_letter_when_it_is_too_old() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("mio", "@Aizuchi what do roses need?").await;
        assert!(harness.runner.step().await.unwrap());
        let absent = HarnessOptions { lacks_platform: true, ..HarnessOptions::default() };
        let harness = harness.with_options(absent);
        pass_half_a_day(&harness).await;
        assert_eq!(harness.store.archive.dead_letters(&Default::default()).await.unwrap(), []);
        harness.clock.advance_to(harness.clock.now() + SignedDuration::from_hours(1));
        harness.pass(60).await;
        let letters = harness.store.archive.dead_letters(&Default::default()).await.unwrap();
        assert_eq!(letters.len(), 1);
        assert_eq!(harness.store.steps().await, 0);
    })
    .await;
}
