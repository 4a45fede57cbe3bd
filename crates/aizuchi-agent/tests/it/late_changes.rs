//! Changes of messages during the last checks before a post that repeats them.

use std::sync::Arc;

use aizuchi_harness::fixtures::at;
use aizuchi_harness::harness::{Harness, HarnessOptions, build_parts_with};
use aizuchi_harness::test_store::on_every_store;
use aizuchi_llm::prompt::PromptVerb;
use jiff::SignedDuration;

use crate::crash::{CrashingPort, Fuse};

#[tokio::test]
async fn a_deletion_while_the_last_checks_read_the_context_is_honored() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let fuse = Fuse::new(usize::MAX);
        let port = CrashingPort { inner: harness.store.store.clone(), fuse: fuse.clone() };
        let (clock, mind) = (harness.clock.clone(), harness.mind.clone());
        let archive = Some(harness.store.archive.clone());
        let options = HarnessOptions { archive, ..HarnessOptions::default() };
        // Another process than the one that hears the deletion, which cancels its own work.
        let platform = harness.platform.clone();
        let runner = build_parts_with(Arc::new(port), clock, mind, platform, options).1;
        harness.mind.script.push(PromptVerb::Reply, Ok("It is 4711."));
        let secret = harness.says("bob", "the code is 4711").await;
        harness.says("alice", "@Aizuchi what is the code?").await;
        harness.clock.advance_to(at(10));
        while harness.mind.prompt_texts(PromptVerb::Reply).is_empty() {
            runner.step().await.unwrap();
        }
        harness.platform.set_typing_seconds(5);
        let meanwhile = async {
            harness.platform.until_typing(1).await;
            let there = harness.clone();
            fuse.before_next_context(Box::new(move || {
                Box::pin(async move { there.deletes(&secret).await })
            }));
            harness.clock.advance_to(harness.clock.now() + SignedDuration::from_secs(5));
        };
        let (stepped, ()) = tokio::join!(runner.step(), meanwhile);
        assert!(stepped.unwrap());
        assert!(!fuse.is_interruption_pending(), "the context was read after the typing");
        harness.platform.set_typing_seconds(0);
        while runner.step().await.unwrap() {}
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
    })
    .await;
}
