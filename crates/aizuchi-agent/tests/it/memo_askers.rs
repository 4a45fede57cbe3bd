//! A memo goes with the messages whose answer made it, and with no others that the answer only settled.

use std::sync::Arc;

use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_harness::fixtures::{top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::on_every_database;
use aizuchi_llm::builtin::BuiltinMind;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{ChannelId, Deletion, Heard, MessageId};
use aizuchi_model::rules::Rulebook;
use jiff::tz::TimeZone;
use serde_json::json;

async fn delete(harness: &Harness, message: MessageId) {
    let deletion = Deletion { conversation: top_level("garden"), message, at: harness.clock.now() };
    harness.inbox.hear(Heard::Deletion(deletion)).await.unwrap();
}

async fn memos(harness: &Harness) -> Vec<String> {
    let memos = harness.store.store.memos(&workspace(), &ChannelId::new("garden")).await.unwrap();
    memos.into_iter().map(|(_, memo)| memo.name).collect()
}

#[tokio::test]
async fn a_memo_outlives_a_question_that_its_answer_left_unanswered() {
    on_every_database(async |store| {
        let book = Rulebook { answers_per_hour: Some(1), ..Rulebook::default() };
        let harness = Harness::new(store).await.with_options(HarnessOptions {
            tools: Some(ToolSettings::new(TimeZone::UTC)),
            memory: Some(Arc::new(BuiltinMind)),
            ..HarnessOptions::from_rulebook(book)
        });
        harness.says("bob", "@Aizuchi when does it rain?").await;
        harness.pass(10).await;
        let memo = json!({ "name": "tea", "content": "green", "priority": 1 });
        harness.mind.script.push_tool_calls(PromptVerb::Reply, "", &[("add_memo", memo)]);
        let asked = harness.says("alice", "@Aizuchi note what I drink").await;
        let unanswered = harness.says("bob", "@Aizuchi and where?").await;
        harness.pass(10).await;
        assert_eq!(memos(&harness).await, ["tea"]);
        delete(&harness, unanswered).await;
        harness.pass(10).await;
        assert_eq!(memos(&harness).await, ["tea"]);
        delete(&harness, asked).await;
        harness.pass(10).await;
        assert!(memos(&harness).await.is_empty());
    })
    .await;
}
