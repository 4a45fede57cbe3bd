//! The answers of several allowed calls share the prompt that reports them. On every store.

use std::sync::atomic::Ordering;

use aizuchi_agent::agent::AgentSettings;
use aizuchi_harness::fixtures::top_level;
use aizuchi_harness::test_store::on_every_database;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::ChannelId;
use aizuchi_model::decision::consent::ConsentChoice;
use aizuchi_model::persona::Language;
use serde_json::json;

use crate::consents::{Garden, PLANT, consents, decide};

#[tokio::test]
async fn several_long_answers_fit_into_one_prompt() {
    on_every_database(async |store| {
        let garden = Garden::asking(store, Language::En).await;
        let harness = &garden.harness;
        garden.shed.is_wordy.store(true, Ordering::SeqCst);
        let calls = [0, 1, 2].map(|number| (PLANT, json!({ "roses": number })));
        harness.mind.script.push_tool_calls(PromptVerb::Reply, "", &calls);
        harness.mind.script.push(PromptVerb::Reply, Ok("I asked for these."));
        harness.says_in(top_level("kitchen"), "bob", "@Aizuchi plant roses").await;
        harness.pass(10).await;
        let kitchen = ChannelId::new("kitchen");
        for consent in consents(harness).await {
            if consent.conversation.channel == kitchen {
                decide(harness, consent.id, ConsentChoice::AllowOnce).await.unwrap();
            }
        }
        harness.mind.script.push(PromptVerb::Reply, Ok("They want water."));
        garden.goes_on().await;
        assert_eq!(garden.calls().len(), 3);
        let told = harness.mind.prompts(PromptVerb::Reply).pop().unwrap();
        let results = &told.tool_rounds[0].results;
        assert_eq!(results.len(), 3);
        let max_tokens = AgentSettings::default().budget.max_tokens;
        assert!(told.total_tokens() <= max_tokens, "{}", told.total_tokens());
        let lengths: Vec<usize> = results.iter().map(|result| result.text.len()).collect();
        let (shortest, longest) = (lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
        assert!(shortest * 10 > longest * 8, "each has the same share: {lengths:?}");
    })
    .await;
}
