//! SIGHUP: the parts of a changed config that take effect without a restart.

use aizuchi_harness::providers::{Server, ServerLimits};
use serde_json::Value;

use crate::program::{Home, Program};

async fn mode(program: &Program) -> Value {
    program.get("/api/channels").await["channels"][0]["mode"].clone()
}

#[tokio::test]
async fn modes_levels_and_prompts_are_reloaded() {
    let home = Home::new(1000.0);
    let program = home.start();
    assert_eq!(mode(&program).await, "companion");
    home.replace("  announce: false\n", "  announce: false\n  mode: observe\n");
    home.reload_until(&program, r#""changed":"response.mode"#, 1).await;
    assert_eq!(mode(&program).await, "observe");
    assert!(!home.log().contains("need a restart"), "{}", home.log());

    // An unchanged config changes nothing.
    home.reload_until(&program, "nothing that can be reloaded has changed", 1).await;

    // A channel's own mode, a level, and something that needs a restart.
    home.add("channels: {\"#general\": {mode: mention_only}}\nlogging: {level: DEBUG}\n");
    home.replace("http:\n", "http:\n  trusted_proxies: [10.0.0.1]\n");
    let need_restart = r#""keys":"http.trusted_proxies"#;
    home.reload_until(&program, need_restart, 1).await;
    assert_eq!(mode(&program).await, "mention_only");
    assert!(
        home.log().contains(r#""changed":"channels.#general.mode, logging.level"#),
        "{}",
        home.log()
    );
    // It is reported until the restart.
    home.reload_until(&program, need_restart, 2).await;

    // An invalid config changes nothing.
    home.replace("mode: mention_only", "mode: loud");
    home.reload_until(&program, "the config cannot be used, so the settings stay as they are", 1)
        .await;
    assert!(home.log().contains("channels.#general.mode is"), "{}", home.log());
    assert_eq!(mode(&program).await, "mention_only");
    home.replace("mode: loud", "mode: companion");
    home.add("prompts_dir: nowhere\n");
    home.reload_until(&program, "the settings stay as they are", 2).await;
    assert_eq!(mode(&program).await, "mention_only");
    assert_eq!(program.stop(), Some(0));
}

/// A choice on the page after a reload uses the new settings.
#[tokio::test]
async fn a_model_is_chosen_with_the_settings_of_the_last_reload() {
    let home = Home::new(1000.0);
    let program = home.start();
    let has_key = async || {
        let models = program.get("/api/models").await;
        models["providers"][0]["has_key"].clone()
    };
    assert_eq!(has_key().await, false);
    let env_file = home.config().with_file_name(".env");
    std::fs::write(&env_file, "OPENAI_API_KEY=sk-test-0123456789abcdef\n").unwrap();
    home.reload_until(&program, "nothing that can be reloaded has changed", 1).await;
    assert_eq!(has_key().await, true);
    assert_eq!(program.stop(), Some(0));
}

/// A key is changed in its file: the next call uses the new one, without a restart.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_called_with_the_key_of_the_last_reload() {
    let server = Server::start(ServerLimits::default()).await;
    server.will_say(&["with the old key", "with the new key"]);
    let home = Home::new(1000.0);
    let base = &server.base;
    home.add(&format!(
        "agents: {{response: {{model_id: openai/gpt-4.1-mini, client_args: {{api_base: \"{base}/v1\", api_key: \"${{KEY}}\"}}}}}}\n"
    ));
    let key_file = home.path().join("key");
    std::fs::write(&key_file, "sk-test-the-old-key-0123\n").unwrap();
    let key_file_name = key_file.display().to_string();
    let program = home.start_with(&[], &[("KEY_FILE", &key_file_name)]);
    let answers = async |expected: &str| {
        program.says("alice", "@Aizuchi hello").await;
        program.wait_for(0, |kind, data| kind == "message" && data["text"] == expected).await;
    };
    answers("with the old key").await;
    std::fs::write(&key_file, "sk-test-the-new-key-0123\n").unwrap();
    let said = r#""changed":"agents.response.client_args.api_key"#;
    home.reload_until(&program, said, 1).await;
    answers("with the new key").await;
    let requests = server.requests();
    let keys: Vec<_> = requests.iter().map(|request| &request.headers["authorization"]).collect();
    assert_eq!(keys, ["Bearer sk-test-the-old-key-0123", "Bearer sk-test-the-new-key-0123"]);
    assert!(!home.log().contains("need a restart"), "{}", home.log());
    assert!(!home.log().contains("-key-0123"), "a key is in the log");
    assert_eq!(program.stop(), Some(0));
}
