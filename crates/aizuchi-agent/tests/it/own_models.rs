//! Models for a channel or a workspace: its messages go to them, and the ledger records it, on every store.

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_harness::fixtures::{thread, top_level};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_mind::TestMind;
use aizuchi_harness::test_store::{on_every_database, on_every_store};
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use aizuchi_model::rules::{ChannelRules, ModelRules, Rulebook};
use async_trait::async_trait;

const HOUR: i64 = 3600;
const JOIN: &str = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9, "delay_seconds": 0}"#;
const DECLINE: &str =
    r#"{"should_respond": false, "reason": "they talk", "confidence": 0.9, "delay_seconds": null}"#;

/// A model with another name.
#[derive(Default)]
struct OwnModel(TestMind);

#[async_trait]
impl Llm for OwnModel {
    fn model(&self) -> &str {
        "scripted/own"
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        self.0.ask(prompt).await
    }
}

fn all(name: &str) -> ModelRules {
    let name = || Some(name.into());
    ModelRules { response: name(), judgment: name(), memory: name(), state: name() }
}

fn options(rulebook: Rulebook, own: &Arc<OwnModel>) -> HarnessOptions {
    let model: Arc<dyn Llm> = own.clone();
    let named = BTreeMap::from([("own".to_owned(), model)]);
    HarnessOptions { named, ..HarnessOptions::from_rulebook(rulebook) }
}

fn in_garden(models: ModelRules) -> Rulebook {
    let rules = ChannelRules { models, ..ChannelRules::default() };
    Rulebook { channels: [("#garden".to_owned(), rules)].into(), ..Rulebook::default() }
}

/// The models that were called for the newest decision of a channel.
async fn asked(harness: &Harness, channel: &str) -> Vec<String> {
    let decision = harness.decisions(channel).await.pop().unwrap();
    decision.attempts.iter().map(|attempt| attempt.model.to_string()).collect()
}

#[tokio::test]
async fn a_channel_and_its_threads_are_judged_and_answered_by_its_own_model() {
    on_every_store(async |store| {
        let own = Arc::new(OwnModel::default());
        own.0.script.set_default(PromptVerb::Judge, JOIN);
        let harness = Harness::new(store).await.with_options(options(in_garden(all("own")), &own));
        harness.mind.script.set_default(PromptVerb::Judge, DECLINE);
        let parent = harness.says("alice", "does anyone know when to prune?").await;
        harness.says_in(top_level("kitchen"), "alice", "does anyone know where the pot is?").await;
        harness.pass(600).await;
        assert_eq!(asked(&harness, "garden").await, ["scripted/own"; 2]);
        assert_eq!(asked(&harness, "kitchen").await, ["scripted"]);
        harness.says_in(thread("garden", parent.as_str()), "bob", "@Aizuchi and the hedge?").await;
        harness.pass(60).await;
        assert_eq!(asked(&harness, "garden").await, ["scripted/own"]);
        let elsewhere = harness.mind.prompts(PromptVerb::Judge);
        assert!(elsewhere.iter().all(|prompt| !prompt.text.contains("prune")));
        assert_eq!(harness.mind.prompts(PromptVerb::Reply).len(), 0);
    })
    .await;
}

#[tokio::test]
async fn an_agent_may_have_a_model_of_its_own_there() {
    on_every_store(async |store| {
        let own = Arc::new(OwnModel::default());
        own.0.script.set_default(PromptVerb::Judge, JOIN);
        let judge = ModelRules { judgment: Some("own".into()), ..ModelRules::default() };
        let harness = Harness::new(store).await.with_options(options(in_garden(judge), &own));
        harness.says("alice", "does anyone know when to prune?").await;
        harness.pass(600).await;
        assert_eq!(asked(&harness, "garden").await, ["scripted/own", "scripted"]);
    })
    .await;
}

/// The harness's workspace is identified by its id; a channel's own model takes precedence.
#[tokio::test]
async fn a_workspace_has_a_model_of_its_own() {
    on_every_store(async |store| {
        let own = Arc::new(OwnModel::default());
        own.0.script.set_default(PromptVerb::Judge, DECLINE);
        let workspace = aizuchi_harness::fixtures::workspace();
        let workspace_models = [(workspace.to_string(), all("own"))].into();
        // An unknown name counts as none, since the config rejects it.
        let rulebook = Rulebook { workspace_models, ..in_garden(all("gone")) };
        let harness = Harness::new(store).await.with_options(options(rulebook, &own));
        harness.mind.script.set_default(PromptVerb::Judge, DECLINE);
        harness.says("alice", "does anyone know when to prune?").await;
        harness.says_in(top_level("kitchen"), "alice", "does anyone know where the pot is?").await;
        harness.pass(600).await;
        assert_eq!(asked(&harness, "garden").await, ["scripted"]);
        assert_eq!(asked(&harness, "kitchen").await, ["scripted/own"]);
    })
    .await;
}

/// The memories of a channel are folded by its own model.
#[tokio::test]
async fn a_channel_is_remembered_by_its_own_model() {
    on_every_database(async |store| {
        let own = Arc::new(OwnModel::default());
        let usual = Arc::new(TestMind::default());
        let entry = r#"{"entries":[{"date":"2027-01-15","text":"noted","sources":[1]}]}"#;
        own.0.script.set_default(PromptVerb::Remember, entry);
        usual.script.set_default(PromptVerb::Remember, entry);
        let memory: Arc<dyn Llm> = usual.clone();
        let options = options(in_garden(all("own")), &own);
        let options = HarnessOptions { memory: Some(memory), ..options };
        let harness = Harness::new(store).await.with_options(options);
        harness.says("alice", "the roses are ill").await;
        harness.says_in(top_level("kitchen"), "alice", "the soup is hot").await;
        harness.pass(3 * HOUR).await;
        let folded = |mind: &TestMind, text: &str| {
            mind.prompt_texts(PromptVerb::Remember).iter().any(|prompt| prompt.contains(text))
        };
        assert!(folded(&own.0, "the roses are ill") && !folded(&own.0, "the soup is hot"));
        assert!(folded(&usual, "the soup is hot") && !folded(&usual, "the roses are ill"));
    })
    .await;
}
