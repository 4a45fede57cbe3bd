//! Settings of workspaces and threads.

use aizuchi_config::Config;
use aizuchi_config::environment::Environment;
use aizuchi_model::chat::{ChannelId, MessageId, Visibility, WorkspaceId};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::place::Place;
use aizuchi_model::rules::{
    ChannelRules, LanguageRule, MemoryRule, Mode, PersonaRule, Rulebook, ToolRule,
};

const TEXT: &str = r##"
response: {min_confidence: 0.5}
channels:
  "#garden":
    min_confidence: 0.6
    tools: [search_messages]
    keeper: U1
    thread_settings:
      "1700000000.000100": {language: en, persona: Be brief., tools: false}
workspaces:
  slack: {language: ja, min_confidence: 0.8, memory: "off"}
  "slack:T1": {mode: observe, persona: Speak of plants.}
"##;

fn rules(book: &Rulebook, workspace: &str, name: &str, thread: Option<&str>) -> ChannelRules {
    let (workspace, channel) = (WorkspaceId::new(workspace), ChannelId::new("C9"));
    let thread = thread.map(MessageId::new);
    let place = Place::new(&workspace, &channel, name, Visibility::Public);
    book.rules_in(&Place { thread: thread.as_ref(), ..place }).clone()
}

#[test]
fn the_narrower_place_takes_precedence_setting_by_setting() {
    let book = Config::parse(TEXT).unwrap().rulebook();
    let (as_written, japanese) = (LanguageRule::AsWritten, LanguageRule::Fixed(Language::Ja));
    for (workspace, name, thread, confidence, language, memory, mode) in [
        ("local", "pot", None, 0.5, as_written, MemoryRule::On, Mode::Companion),
        ("local", "garden", None, 0.6, as_written, MemoryRule::On, Mode::Companion),
        ("T2", "pot", None, 0.8, japanese, MemoryRule::Off, Mode::Companion),
        ("T2", "garden", None, 0.6, japanese, MemoryRule::Off, Mode::Companion),
        ("T1", "garden", None, 0.6, japanese, MemoryRule::Off, Mode::Observe),
        (
            "T1",
            "garden",
            Some("1700000000.000100"),
            0.6,
            LanguageRule::Fixed(Language::En),
            MemoryRule::Off,
            Mode::Observe,
        ),
    ] {
        let found = rules(&book, workspace, name, thread);
        let what = (found.min_confidence, found.language, found.memory, found.mode);
        assert_eq!(what, (confidence, language, memory, mode), "{workspace} {name}");
    }
    let plants = Some(PersonaRule::Addition("Speak of plants.".into()));
    assert_eq!(rules(&book, "T1", "garden", None).persona, plants);
    let thread = rules(&book, "T1", "garden", Some("1700000000.000100"));
    assert_eq!(thread.persona, Some(PersonaRule::Addition("Be brief.".into())));
    assert_eq!(thread.tools, ToolRule::Only(Vec::new()));
    // A thread inherits unset values from its channel.
    assert!(thread.keeper.is_some());
    let other = rules(&book, "T1", "garden", Some("1700000000.000200"));
    assert_eq!(other, rules(&book, "T1", "garden", None));
}

/// Slack's ids of teams have no prefix. A config may write one.
#[test]
fn the_settings_of_a_slack_team_apply_to_it() {
    let confidence = |text: &str, workspace: &str| {
        let book = Config::parse(text).unwrap().rulebook();
        rules(&book, workspace, "pot", None).min_confidence
    };
    let team = "T0123456789";
    for key in ["slack", "T0123456789", "slack:T0123456789"] {
        let text = format!("workspaces: {{'{key}': {{min_confidence: 0.8}}}}\n");
        assert_eq!(confidence(&text, team), 0.8, "{key}");
        for other in ["local", "discord", "discord:1", "discord:direct"] {
            assert_eq!(confidence(&text, other), 0.7, "{key} {other}");
        }
    }
    let both = "workspaces: {slack: {min_confidence: 0.8}, T0123456789: {max_share: 0.1}}\n";
    assert_eq!(confidence(both, team), 0.8);
    let servers = "workspaces: {discord: {min_confidence: 0.8}}\n";
    assert_eq!((confidence(servers, "discord:1"), confidence(servers, team)), (0.8, 0.7));
}

#[test]
fn a_workspace_says_only_what_it_may() {
    let named = "models: {named: {rules: {model_id: builtin}}}\n";
    for (text, expected) in [
        ("workspaces: {slack: {keeper: U1}}".to_owned(), "keeper"),
        (
            "channels: {C1: {thread_settings: {x: {mode: observe}}}}".to_owned(),
            "config.yaml:1:39: unknown key \"mode\"",
        ),
        ("workspaces: {slack: {model: gpt}}".to_owned(), "workspaces.slack.model is \"gpt\""),
        (
            format!(
                "{named}slack: {{bot_token: xoxb-1, app_token: xapp-1}}\nworkspaces: {{slack: {{model: rules}}}}"
            ),
            "workspaces.slack has the built-in rules judge",
        ),
        (
            "workspaces: {slack: {min_wait_seconds: 60, max_wait_seconds: 5}}".to_owned(),
            "max_wait_seconds of a workspace must be at least its min_wait_seconds",
        ),
    ] {
        let error = Config::read(&text, "config.yaml", &Environment::default()).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.contains(expected), "{error}");
    }
}

/// The mode that suits a channel's model does not let the built-in rules interrupt users in a thread.
#[test]
fn the_built_in_rules_speak_unasked_in_a_thread_only_if_the_config_says_so() {
    let models = "models:\n  named:\n    rules: {model_id: builtin}\n    small: {model_id: ollama/small}\n\
                  agents: {response: {model_id: openai/large, client_args: {api_key: sk-x}}}\n\
                  slack: {bot_token: xoxb-1, app_token: xapp-1}\n";
    for (channel, model, expected) in [
        ("", "rules", Mode::MentionOnly),
        ("", "{response: rules}", Mode::Companion),
        ("", "small", Mode::Companion),
        ("mode: companion, ", "rules", Mode::Companion),
        ("mode: propose, ", "rules", Mode::Propose),
    ] {
        let text = format!(
            "{models}channels: {{'#garden': {{{channel}thread_settings: {{t1: {{model: {model}}}}}}}}}\n"
        );
        let config = Config::read(&text, "config.yaml", &Environment::default()).unwrap().config;
        let book = config.rulebook();
        let mode = rules(&book, "T1", "garden", Some("t1")).mode;
        assert_eq!(mode, expected, "{channel} {model}");
        assert_ne!(rules(&book, "T1", "garden", None).mode, Mode::MentionOnly);
    }
}
