//! The settings of threads, channels and workspaces have the same meaning in each of them.

use aizuchi_config::Config;
use aizuchi_config::environment::Environment;
use aizuchi_model::chat::{ChannelId, MessageId, Visibility, WorkspaceId};
use aizuchi_model::rules::place::Place;
use aizuchi_model::rules::{ChannelRules, MemoryRule};

const MODELS: &str = "models: {named: {small: {model_id: ollama/small}}}\n";

fn rules(text: &str, thread: Option<&str>) -> ChannelRules {
    let config = Config::read(text, "config.yaml", &Environment::default()).unwrap().config;
    let (workspace, channel) = (WorkspaceId::new("T1"), ChannelId::new("C9"));
    let thread = thread.map(MessageId::new);
    let place = Place::new(&workspace, &channel, "garden", Visibility::Public);
    config.rulebook().rules_in(&Place { thread: thread.as_ref(), ..place }).clone()
}

#[test]
fn a_setting_means_the_same_for_a_thread_a_channel_and_a_workspace() {
    let usual = rules(MODELS, Some("t1"));
    for setting in [
        "min_confidence: 0.9",
        "language: ja",
        "persona: Be brief.",
        "persona: {system_prompt: You are a gardener.}",
        "model: small",
        "model: {memory: small}",
        "tools: false",
        "tools: [search_messages]",
        "memory: \"off\"",
        "timing: human",
    ] {
        let [of_thread, of_channel, of_workspace] = [
            format!(
                "{MODELS}channels: {{'#garden': {{thread_settings: {{t1: {{{setting}}}}}}}}}\n"
            ),
            format!("{MODELS}channels: {{'#garden': {{{setting}}}}}\n"),
            format!("{MODELS}workspaces: {{slack: {{{setting}}}}}\n"),
        ];
        let expected = rules(&of_thread, Some("t1"));
        assert_ne!(expected, usual, "{setting}");
        assert_eq!(rules(&of_channel, Some("t1")), expected, "{setting}");
        assert_eq!(rules(&of_workspace, Some("t1")), expected, "{setting}");
        assert_eq!(rules(&of_thread, None), usual, "{setting}");
    }
}

#[test]
fn a_thread_may_be_left_out_of_memory_and_have_a_model_that_makes_its_own() {
    let text = "channels: {'#garden': {thread_settings: {t1: {memory: \"off\"}, t2: {model: {memory: small}}}}}\n";
    let text = format!("{MODELS}{text}");
    let memory = |thread| rules(&text, thread).memory;
    assert_eq!(memory(Some("t1")), MemoryRule::Off);
    assert_eq!((memory(Some("t2")), memory(None)), (MemoryRule::On, MemoryRule::On));
    let models = rules(&text, Some("t2")).models;
    assert_eq!((models.memory.as_deref(), models.response), (Some("small"), None));
}

#[test]
fn what_a_thread_cannot_have_is_refused_with_the_reason() {
    for (text, expected) in [
        (
            "channels: {'#garden': {thread_settings: {t1: {announce: false}}}}",
            "config.yaml:1:47: channels.#garden.thread_settings.t1.announce means nothing: Aizuchi says once that it joins a \
             channel, and nothing joins a thread; channels.#garden.announce is the setting of the whole channel",
        ),
        (
            "channels: {'#garden': {thread_settings: {t1: {keeper: U1}}}}",
            "unknown key \"keeper\" in channels.#garden.thread_settings.t1",
        ),
        (
            "channels: {'#garden': {thread_settings: {t1: {memori: \"off\"}}}}",
            "did you mean \"memory\"?",
        ),
        (
            "channels: {'#garden': {thread_settings: {t1: {model: {memory: large}}}}}",
            "channels.#garden.thread_settings.t1.model.memory is \"large\", which is not a model in models.named",
        ),
        (
            "channels: {'#garden': {thread_settings: {t1: {tools: [shed__open]}}}}",
            "tools of a thread names a tool of an MCP server that is not in tools.mcp.servers",
        ),
    ] {
        let error = Config::read(text, "config.yaml", &Environment::default()).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.contains(expected), "{error}");
    }
}
