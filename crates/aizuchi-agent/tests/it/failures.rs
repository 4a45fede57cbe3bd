//! What the console reads of the calls, look-ups and posts that failed.

use aizuchi_harness::fixtures::{at, top_level, workspace};
use aizuchi_harness::test_platform::Fault;
use aizuchi_harness::test_store::on_every_database;
use aizuchi_llm::LlmError;
use aizuchi_llm::prompt::PromptVerb;
use insta::assert_snapshot;
use serde_json::json;

use crate::external_tools;

#[tokio::test]
async fn what_failed_is_counted_by_its_reason() {
    let told = on_every_database(async |store| {
        let (harness, _) = external_tools::harness(store).await;
        let script = &harness.mind.script;
        let called = [("nursery__hang", json!({})), ("nursery__fail", json!({}))];
        script.push_tool_calls(PromptVerb::Reply, "", &called);
        harness.platform.fails(&[Fault::Busy, Fault::LostRequest]);
        harness.says("alice", "@Aizuchi when do the roses bloom?").await;
        harness.pass(100).await;
        for channel in ["garden", "kitchen", "garden"] {
            script.push(PromptVerb::Reply, Err(LlmError::Refused("no credit".to_owned())));
            harness.says_in(top_level(channel), "bob", "@Aizuchi and the tulips?").await;
            harness.pass(100).await;
        }
        let archive = &harness.store.archive;
        let failed = archive.failed_calls(&workspace(), at(0)).await.unwrap();
        let newer = archive.failed_calls(&workspace(), at(150)).await.unwrap();
        assert!(newer.len() < failed.len() && newer.iter().all(|it| it.first >= at(150)));
        // Neither look-ups nor posts are calls of a model.
        let calls = archive.recent_calls(99).await.unwrap();
        assert!(calls.iter().all(|call| &*call.verb == "reply"), "{calls:?}");
        let lines = failed.iter().map(|it| {
            let [first, last] =
                [it.first, it.last].map(|when| when.duration_since(at(0)).as_secs());
            let channel = it.channel.as_ref().map_or("", |channel| channel.as_str());
            let error = it.error.as_deref().unwrap_or_default();
            format!(
                "{channel} {} {}: {error} ({} times, {first} s to {last} s)",
                it.verb, it.model, it.count
            )
        });
        lines.collect::<Vec<_>>().join("\n")
    });
    assert_snapshot!(told.await, @"
    garden reply scripted: the model refuses: no credit (2 times, 100 s to 300 s)
    kitchen reply scripted: the model refuses: no credit (1 times, 200 s to 200 s)
    garden post : the platform's answer is not known: cut off (1 times, 2 s to 2 s)
    garden look_up nursery__fail: the tool reports a failure (1 times, 0 s to 0 s)
    garden look_up nursery__hang: no answer in time (1 times, 0 s to 0 s)
    garden post : the platform is busy: slow down (1 times, 0 s to 0 s)
    ");
}
