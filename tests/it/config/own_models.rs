//! Models of single channels and workspaces.

use aizuchi_config::environment::Environment;
use aizuchi_config::{Config, ModelSelection};
use aizuchi_model::chat::{ChannelId, Visibility, WorkspaceId};
use aizuchi_model::rules::Mode;
use aizuchi_model::rules::place::Place;

use crate::config::environment;

const NAMED: &str = "models:\n  named:\n    small: {model_id: ollama/small}\n    large: {model_id: openai/large, client_args: {api_key: sk-x}}\n";

fn read(text: &str) -> Result<Config, String> {
    let loaded = Config::read(text, "config.yaml", &Environment::default());
    loaded.map(|loaded| loaded.config).map_err(|error| format!("{error:#}"))
}

#[test]
fn a_name_that_no_model_has_is_refused() {
    for (text, expected) in [
        (
            format!("{NAMED}channels:\n  \"#tea\": {{model: smal}}\n"),
            "channels.#tea.model is \"smal\", which is not a model in models.named; did you mean \"small\"?",
        ),
        (
            format!("{NAMED}channels:\n  \"#tea\": {{model: {{judgment: gpt}}}}\n"),
            "channels.#tea.model.judgment is \"gpt\", which is not a model in models.named; there are large and small",
        ),
        (
            "models: {workspaces: {slack: gpt}}\n".to_owned(),
            "models.workspaces.slack is \"gpt\", which is not a model in models.named; there are none",
        ),
        (
            format!("{NAMED}channels:\n  \"#tea\": {{model: [small]}}\n"),
            "the name of a model in models.named, or a section with one",
        ),
        (
            "models: {named: {own: {model_id: openai/gpt-4o}}}\n".to_owned(),
            "models.named.own.model_id is a model of openai, which needs a key: set models.named.own.client_args.api_key",
        ),
    ] {
        let error = read(&text).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_channel_names_its_models_and_a_workspace_the_rest() {
    let text = format!(
        "{NAMED}  workspaces:\n    slack: {{judgment: small, response: small}}\n    \"slack:T2\": large\nchannels:\n  \"#tea\": {{model: {{judgment: large}}}}\n"
    );
    let config = read(&text).unwrap();
    let book = config.rulebook();
    let models = |workspace: &str, channel: &str| {
        let (workspace, id) = (WorkspaceId::new(workspace), ChannelId::new("C1"));
        let rules = book.rules_in(&Place::new(&workspace, &id, channel, Visibility::Public));
        let found = book.models_in(&workspace, Some(&rules.models));
        [found.judgment, found.response, found.memory].map(|name| name.map(|it| it.to_string()))
    };
    let names = |names: [&str; 3]| names.map(|it| (!it.is_empty()).then(|| it.to_owned()));
    assert_eq!(models("T1", "tea"), names(["large", "small", ""]));
    assert_eq!(models("T1", "pot"), names(["small", "small", ""]));
    assert_eq!(models("T2", "pot"), names(["large", "large", "large"]));
    assert_eq!(models("local", "tea"), names(["large", "", ""]));
    assert_eq!(config.minds.named["small"].model.id.to_string(), "ollama/small");
    // Their prices and keys are known.
    assert!(config.secrets().any(|secret| secret == "sk-x"));
}

/// Without a model for everyone, it posts unasked only in channels with a model as the judge.
#[test]
fn a_channel_with_a_judge_of_its_own_is_no_channel_of_the_built_in_rules() {
    let slack = "slack: {bot_token: xoxb-1, app_token: xapp-1}\n";
    let text = format!("{NAMED}{slack}channels:\n  \"#tea\": {{model: small}}\n  \"#pot\": {{}}\n");
    let book = read(&text).unwrap().rulebook();
    assert_eq!(book.channels["#tea"].mode, Mode::Companion);
    assert_eq!(book.channels["#pot"].mode, Mode::MentionOnly);
}

/// The mode that suits a channel's model does not let the built-in rules interrupt users elsewhere.
#[test]
fn the_built_in_rules_speak_unasked_in_a_workspace_only_if_the_config_says_so() {
    let agents = "agents: {response: {model_id: openai/large, client_args: {api_key: sk-x}}}\n";
    let named =
        "models:\n  named:\n    rules: {model_id: builtin}\n    small: {model_id: ollama/small}\n";
    let slack = "slack: {bot_token: xoxb-1, app_token: xapp-1}\n";
    let with = |workspaces: &str, more: &str| {
        format!("{named}  workspaces: {{{workspaces}}}\n{slack}{agents}{more}")
    };
    for workspaces in ["slack: rules", "'slack:T1': {judgment: rules}"] {
        let error = read(&with(workspaces, "")).unwrap_err();
        assert!(error.contains("has the built-in rules judge"), "{error}");
        assert!(error.contains("response.mode must say"), "{error}");
        let config = read(&with(workspaces, "response: {mode: mention_only}\n")).unwrap();
        assert_eq!(config.rulebook().default_rules.mode, Mode::MentionOnly);
    }
    for workspaces in ["local: rules", "slack: {response: rules}", "slack: small"] {
        let config = read(&with(workspaces, "")).unwrap();
        assert_eq!(config.rulebook().default_rules.mode, Mode::Companion, "{workspaces}");
    }
}

/// The warning also applies to a workspace that has a model.
#[test]
fn a_model_of_a_workspace_alone_says_nothing_unasked() {
    let slack = "slack: {bot_token: xoxb-1, app_token: xapp-1}\n";
    let text = format!("{NAMED}  workspaces: {{slack: small}}\n{slack}");
    let loaded = Config::read(&text, "config.yaml", &Environment::default()).unwrap();
    assert_eq!(loaded.config.rulebook().default_rules.mode, Mode::MentionOnly);
    let expected = "nothing is said unasked, even in workspaces that have a model";
    assert!(loaded.warnings.iter().any(|it| it.contains(expected)), "{:?}", loaded.warnings);
}

/// A model for everything is also the model of the channels.
#[test]
fn a_model_that_is_set_for_everything_stands_in_for_all() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, format!("{NAMED}channels:\n  \"#tea\": {{model: small}}\n")).unwrap();
    let model = "ollama/other".parse().unwrap();
    let loaded = Config::load(Some(&file), ModelSelection::Override(&model)).unwrap();
    assert!(loaded.config.minds.named.is_empty());
    let environment = environment(&[], "");
    let config = Config::read(NAMED, "config.yaml", &environment).unwrap().config;
    assert_eq!(config.minds.named.len(), 2);
}

/// If a model costs money, an order is tried only on request.
#[test]
fn every_order_is_tried_only_where_no_model_costs_anything() {
    for (price, expected) in [("0", true), ("2", false)] {
        let text = format!(
            "agents: {{response: {{model_id: openai/small, client_args: {{api_key: sk-x}}}}}}\n\
             models:\n  prices:\n    openai/small: {{input: 0, output: 0}}\n    \
             openai/large: {{input: {price}, output: {price}}}\n  \
             named:\n    large: {{model_id: openai/large, client_args: {{api_key: sk-x}}}}\n    \
             rules: {{model_id: builtin}}\n\
             channels:\n  \"#tea\": {{model: large}}\n"
        );
        let config = read(&text).unwrap();
        assert_eq!(config.rulebook().drafts_standing_orders, expected, "{text}");
    }
}
