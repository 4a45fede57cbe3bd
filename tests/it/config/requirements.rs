//! Requirements on settings that tests of the core cannot check.

use aizuchi_config::Config;
use aizuchi_config::environment::Environment;
use aizuchi_harness::fixtures::{at, top_level};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::on_every_store;

/// Requirement: a small model of its own names the conversation state. `EAVESDROP_JUDGE_MODEL` names it, and its default
/// is `anthropic/claude-haiku-4-5`.
#[test]
fn a_small_model_of_its_own_names_the_state() {
    let text = "decision: {state: separate}\nagents: {state: {model_id: ollama/tiny}}";
    let config = |text: &str, keys: &[(&str, &str)]| {
        let keys = keys.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let environment = Environment::new(keys, "", ".env").unwrap();
        let config = Config::read(text, "config.yaml", &environment).unwrap().config;
        config.minds.state.model.id.to_string()
    };
    let key = ("ANTHROPIC_API_KEY", "invented");
    let large = "agents: {response: {model_id: anthropic/claude-sonnet-4-5}}";
    let variable = ("EAVESDROP_JUDGE_MODEL", "ollama/small");
    assert_eq!(config(large, &[key]), "anthropic/claude-haiku-4-5");
    assert_eq!(config(large, &[key, variable]), "ollama/small");
    assert_eq!(config(text, &[key, variable]), "ollama/tiny");
}

/// Requirement: by default `min_wait_seconds` is 300 and `jitter_ratio` 0.3, and `check_interval_seconds` is no longer
/// read.
#[tokio::test]
async fn wait_settings_have_the_required_defaults() {
    let read = |text: &str| {
        let environment = Environment::new([], "", ".env").unwrap();
        Config::read(text, "config.yaml", &environment).unwrap().config.wait_settings()
    };
    let (defaults, configured) = (
        read("response: {wait: fixed}"),
        read(
            "response: {wait: fixed, min_wait_seconds: 20, jitter_ratio: 0, check_interval_seconds: 5}",
        ),
    );
    assert_eq!((defaults.min_wait_seconds, defaults.jitter_ratio), (300.0, 0.3));
    on_every_store(async |store| {
        let options = HarnessOptions { wait_settings: configured, ..HarnessOptions::fixed_wait() };
        let harness = Harness::new(store).await.with_options(options);
        harness.says("alice", "hello").await;
        assert_eq!(harness.step_of(&top_level("garden")).await.unwrap().due, at(20));
    })
    .await;
}
