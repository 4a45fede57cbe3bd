//! The command `aizuchi check`: one line for each finding, and exit code 1 if there is a problem.

use std::process::Output;

use aizuchi_config::Config;
use aizuchi_config::models::in_use::prompts::load_prompts_in;
use aizuchi_fakes::discord::channel::NewChannelKind;
use aizuchi_fakes::slack::channel::NewChannel as NewSlackChannel;
use aizuchi_harness::providers::{ProviderResponse, Server, ServerLimits};
use aizuchi_harness::test_store::TestStore;
use aizuchi_model::persona::Language;
use aizuchi_store::database::location::DatabaseLocation;

use crate::command::aizuchi;
use crate::discord::harness::DiscordHarness;
use crate::program::Home;
use crate::slack::harness::SlackHarness;

async fn check(home: &Home, key: &str) -> (Option<i32>, Vec<String>) {
    let (config, key) = (home.config(), key.to_owned());
    let run = tokio::task::spawn_blocking(move || {
        let mut command = aizuchi();
        command.arg("--config").arg(config).arg("check").env("TEST_KEY", key);
        command.output().unwrap()
    });
    let Output { status, stdout, stderr } = run.await.unwrap();
    let stderr = String::from_utf8(stderr).unwrap();
    assert!(stderr.is_empty(), "{stderr}");
    let lines = String::from_utf8(stdout).unwrap();
    (status.code(), lines.lines().map(str::to_owned).collect())
}

/// Returns the lines without the folder of this test.
fn shown(lines: &[String], home: &Home) -> String {
    let folder = format!("{}/", home.path().display());
    lines.join("\n").replace(&folder, "")
}

#[tokio::test]
async fn a_working_setup_passes() {
    let server = Server::start(ServerLimits::default()).await;
    let home = Home::new(1.0);
    home.add(&format!(
        "agents:
  response: {{model_id: openai/large-1, client_args: {{api_key: \"${{TEST_KEY}}\", api_base: {}/v1}}}}
  memory: {{model_id: builtin}}
  state: {{model_id: builtin}}
",
        server.base
    ));
    let (code, lines) = check(&home, "sk-test").await;
    let shown = shown(&lines, &home);
    assert_eq!(code, Some(0), "{shown}");
    let expected = [
        "ok    config    config.yaml",
        "ok    prompts   built in",
        "ok    limits    tokens_per_day 2000000, posts_per_hour off, ",
        "ok    database  room.db will be created",
        "ok    pages     127.0.0.1:0 is free",
        "ok    model     openai/large-1 (response, judgment) answered in ",
        "ok    model     builtin (memory, state)",
    ];
    let (notes, found): (Vec<&str>, Vec<&str>) =
        shown.lines().partition(|line| line.starts_with("ok    note "));
    assert_eq!(notes.len(), 2, "{shown}");
    for (line, expected) in found.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line:?} is not {expected:?}");
    }
    assert_eq!(found.len(), expected.len());
    // The check costs one token and leaves no files behind.
    assert_eq!(server.requests()[0].body["max_tokens"], 1);
    assert!(!home.database().exists());
    let left: Vec<_> = std::fs::read_dir(home.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// A model chosen at runtime has a token limit, so the check reports the limit even if only the built-in mind is used.
#[tokio::test]
async fn the_limit_that_the_program_runs_with_is_named_without_a_model() {
    let home = Home::new(1.0);
    let (code, lines) = check(&home, "").await;
    assert_eq!(code, Some(0), "{lines:?}");
    let limits = lines.iter().find(|line| line.starts_with("ok    limits")).unwrap();
    assert!(limits.contains("tokens_per_day 2000000, "), "{limits}");
}

/// Where a channel may have another language, the start needs the prompts of both.
#[tokio::test]
async fn the_prompts_of_each_language_have_to_leave_room() {
    let text = |max_tokens: u64| {
        let persona = "A quiet gardener who knows each plant by name. ".repeat(200);
        format!(
            "context: {{max_tokens: {max_tokens}}}\npersona: {{system_prompt: {persona}}}\n\
             channels: {{\"#garden\": {{language: auto}}}}\n"
        )
    };
    let leaves_room = |language: Language, max_tokens: u64| {
        load_prompts_in(&Config::parse(&text(max_tokens)).unwrap(), language).is_ok()
    };
    // The instructions of one language are longer than those of the other one.
    let mut sizes = (2000..30_000).step_by(40).map(|max_tokens| {
        let of_each = [Language::En, Language::Ja].map(|it| leaves_room(it, max_tokens));
        (max_tokens, of_each)
    });
    let (max_tokens, [is_english, _]) = sizes.find(|(_, [en, ja])| en != ja).unwrap();
    let home = Home::new(1.0);
    home.add(&text(max_tokens));
    home.add(if is_english { "language: en\n" } else { "language: ja\n" });
    let (code, lines) = check(&home, "").await;
    let line = lines.iter().find(|line| line[6..].starts_with("prompts")).unwrap();
    assert_eq!(code, Some(1), "{line}");
    assert!(line.starts_with("FAIL  prompts   context.max_tokens is "), "{line}");
}

#[tokio::test]
async fn every_problem_is_reported() {
    let server = Server::start(ServerLimits::default()).await;
    server.then([ProviderResponse::Status(401, vec![], String::new())]);
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let home = Home::on(port, 1.0);
    let no_engine = aizuchi_harness::net::free_port();
    home.add(&format!(
        "agents:
  response: {{model_id: openai/large-1, client_args: {{api_key: \"${{TEST_KEY}}\", api_base: {}/v1}}}}
  state: {{model_id: builtin}}
tools:
  web_fetch: {{enabled: true}}
  web_search: {{searxng_url: 'http://127.0.0.1:{no_engine}'}}
",
        server.base
    ));
    std::fs::write(home.database(), "Dear diary, this is no database at all. ".repeat(40)).unwrap();
    let (code, lines) = check(&home, "sk-secret-key").await;
    let shown = shown(&lines, &home);
    assert_eq!(code, Some(1), "{shown}");
    for expected in [
        "ok    config    config.yaml".to_owned(),
        "ok    prompts   built in".to_owned(),
        "FAIL  database  the database cannot be used: room.db: the file is not a database"
            .to_owned(),
        format!("FAIL  pages     another program is already listening on 127.0.0.1:{port}"),
        format!(
            "FAIL  web       web_search with SearXNG at http://127.0.0.1:{no_engine}: no connection"
        ),
        "ok    web       web_fetch directly".to_owned(),
        format!(
            "FAIL  model     the model refuses: openai/large-1: it does not accept the API key (401); its address is \
             {}/v1/; check client_args.api_key",
            server.base
        ),
    ] {
        assert!(shown.lines().any(|line| line == expected), "{expected}\nis missing in\n{shown}");
    }
    assert!(!shown.contains("sk-secret-key"), "{shown}");
}

/// Gateways answer 200 whatever happened.
#[tokio::test]
async fn an_error_with_a_status_of_success_fails() {
    let server = Server::start(ServerLimits::default()).await;
    for (body, expected) in [
        (
            r#"{"error": {"message": "slow down", "code": 429}}"#,
            "it asks to be called less often (429): “slow down”",
        ),
        (r#"{"error": "the tank is empty"}"#, "it is in trouble itself (500): “the tank is empty”"),
        (r#"{"detail": "Unauthorized"}"#, "it does not accept the API key (401): “Unauthorized”"),
    ] {
        let raw = ProviderResponse::Raw("application/json", body.to_owned());
        server.then([raw]);
        let home = Home::new(1.0);
        let args = format!("{{api_base: {}/v1, max_retries: 0}}", server.base);
        home.add(&format!(
            "agents: {{response: {{model_id: openai/large-1, client_args: {args}}}}}\n"
        ));
        let (code, lines) = check(&home, "").await;
        let model = lines.iter().find(|line| line.starts_with("FAIL  model ")).unwrap();
        assert!(code == Some(1) && model.contains(expected), "{model}");
        server.forget();
    }
}

#[tokio::test]
async fn the_address_that_was_meant_is_named() {
    let server = Server::start(ServerLimits::default()).await;
    for path in ["", "/v1/chat/completions", "/v1/v1/"] {
        let home = Home::new(1.0);
        let args = format!("{{api_base: {}{path}}}", server.base);
        home.add(&format!(
            "agents: {{response: {{model_id: openai/large-1, client_args: {args}}}}}\n"
        ));
        let (code, lines) = check(&home, "").await;
        let model = lines.iter().find(|line| line.starts_with("FAIL  model ")).unwrap();
        let hint = format!("; it answers at {}/v1/: set client_args.api_base to that", server.base);
        assert!(code == Some(1) && model.ends_with(&hint), "{model}");
    }
}

#[tokio::test]
async fn a_parameter_that_the_model_refuses_is_named() {
    let server = Server::start(ServerLimits::default()).await;
    let refusal = r#"{"error": {"message": "'temperature' must be 1", "param": "temperature"}}"#;
    server.then([ProviderResponse::Status(400, vec![], refusal.to_owned())]);
    let home = Home::new(1.0);
    home.add(&format!(
        "agents:
  response: {{model_id: openai/large-1, params: {{temperature: 0.5}}, client_args: {{api_base: {}/v1}}}}
",
        server.base
    ));
    let (code, lines) = check(&home, "").await;
    assert_eq!(code, Some(0), "{lines:?}");
    let model = lines.iter().find(|line| line.starts_with("ok    model ")).unwrap();
    assert!(
        model.ends_with("; it does not accept params.temperature, so this is left out"),
        "{model}"
    );
}

/// Ollama silently truncates inputs that are too long.
#[tokio::test]
async fn a_context_that_is_too_short_is_named() {
    let server = Server::start(ServerLimits::default()).await;
    server.has_models(&["tiny:latest"]);
    server.has_context(4096);
    let home = Home::new(1.0);
    home.add(&format!(
        "agents:
  response: {{model_id: ollama/tiny, client_args: {{api_base: {}}}}}
",
        server.base
    ));
    let (code, lines) = check(&home, "").await;
    assert_eq!(code, Some(0), "{lines:?}");
    let note = lines.iter().find(|line| line.starts_with("ok    note      ollama/tiny: ")).unwrap();
    assert!(note.contains("a context of 4096 tokens"), "{note}");
    assert!(note.contains("OLLAMA_CONTEXT_LENGTH=18048"), "{note}");
}

#[tokio::test]
async fn a_broken_config_is_reported_in_one_line() {
    let home = Home::new(1.0);
    home.add("persona:\n  nam: Aki\n");
    let (code, lines) = check(&home, "").await;
    assert_eq!(code, Some(1));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("FAIL  config    ") && lines[0].contains("nam"), "{lines:?}");
}

#[tokio::test]
async fn a_context_limit_without_room_for_messages_is_refused() {
    let home = Home::new(1.0);
    let prompt = "静かに話を聞き、必要なときだけ短く答える。".repeat(60);
    home.add(&format!(
        "language: ja\ncontext: {{max_tokens: 2000}}\npersona: {{system_prompt: \"{prompt}\"}}\n"
    ));
    let (code, lines) = check(&home, "").await;
    assert_eq!(code, Some(1), "{lines:?}");
    let refused = lines.iter().find(|line| line.starts_with("FAIL  prompts   ")).unwrap();
    let sentence = refused.strip_prefix("FAIL  prompts   ").unwrap();
    let (before, after) = sentence.split_once("at least ").unwrap();
    assert_eq!(before, "context.max_tokens is 2000, but it must be ");
    let (least, _) = after.split_once(':').unwrap();
    // Starting the program fails with the same sentence.
    let config = home.config();
    let run = move || aizuchi().arg("--config").arg(config).output().unwrap();
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains(sentence), "{stderr}");
    let fitting = std::fs::read_to_string(home.config()).unwrap();
    std::fs::write(home.config(), fitting.replace("2000", least)).unwrap();
    let (code, lines) = check(&home, "").await;
    assert_eq!(code, Some(0), "{lines:?}");
}

#[tokio::test]
async fn a_running_program_is_no_problem() {
    let home = Home::on(aizuchi_harness::net::free_port(), 1000.0);
    let _program = home.start();
    let (code, lines) = check(&home, "").await;
    let shown = shown(&lines, &home);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("room.db is in use by a running Aizuchi"), "{shown}");
    assert!(shown.contains("is served by a running Aizuchi"), "{shown}");
}

/// The program is asked at the address that it has left in the database, since the config may name another port.
#[tokio::test]
async fn a_program_on_another_port_is_no_problem() {
    let home = Home::new(1000.0);
    let program = home.start();
    let (code, lines) = check(&home, "").await;
    let shown = shown(&lines, &home);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("room.db is in use by a running Aizuchi, of version "), "{shown}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn all_limits_in_force_are_named() {
    let home = Home::new(1000.0);
    home.add("budget: {money_per_day: 1.5, money_per_month: 30}\nmodels: {currency: EUR}\n");
    let (code, lines) = check(&home, "").await;
    assert_eq!(code, Some(0), "{lines:?}");
    let limits = lines.iter().find(|line| line.starts_with("ok    limits")).unwrap();
    assert!(limits.contains("money_per_day 1.5 EUR, money_per_month 30 EUR, "), "{limits}");
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Platforms {
    None,
    Slack,
    Discord,
    Both,
}

/// Whether the program runs or not, a config that is right passes on each combination of platforms, and only a channel
/// that is nowhere is a problem.
#[tokio::test]
async fn a_config_that_is_right_passes_on_all_platforms() {
    for platforms in [Platforms::None, Platforms::Slack, Platforms::Discord, Platforms::Both] {
        let (slack, discord) = (SlackHarness::new().await, DiscordHarness::new().await);
        let garden = discord.add_channel("garden", NewChannelKind::Text);
        let home = Home::new(1000.0);
        let of_slack = format!(
            "slack: {{bot_token: xoxb-dev, app_token: xapp-dev, api_base: {}}}\n",
            slack.api
        );
        let of_discord =
            format!("discord: {{token: dev-discord-token, api_base: {}}}\n", discord.api);
        // Only Slack has `#den`, and only Discord has `#garden`.
        let on_slack = "  \"#tea\": {mode: observe}\n  \"#den\": {mode: observe}\n";
        let on_discord =
            format!("  \"#garden\": {{mode: observe}}\n  \"{garden}\": {{mode: off}}\n");
        let den = NewSlackChannel {
            name: "den".to_owned(),
            members: vec![slack.bot.clone()],
            ..Default::default()
        };
        slack.slack.add_channel(den).unwrap();
        let (sections, channels, missing) = match platforms {
            Platforms::None => {
                (String::new(), "  \"#general\": {mode: observe}\n".to_owned(), vec![])
            }
            Platforms::Slack => (of_slack, on_slack.to_owned(), vec!["slack"]),
            Platforms::Discord => (of_discord, on_discord, vec!["discord"]),
            Platforms::Both => (
                of_slack + &of_discord,
                format!("{on_slack}{on_discord}"),
                vec!["slack", "discord"],
            ),
        };
        // The local room has it, also before the first start.
        let random = "  \"#random\": {mode: observe}\n";
        home.add(&format!("{sections}channels:\n{channels}{random}"));
        let check = async || {
            let (code, lines) = check(&home, "").await;
            let failed: Vec<String> =
                lines.iter().filter(|it| it.starts_with("FAIL")).cloned().collect();
            (
                code,
                failed,
                lines.iter().any(|it| it.ends_with("which no platform in the config has")),
            )
        };
        assert_eq!(check().await, (Some(0), vec![], false), "{platforms:?}");
        let program = home.start();
        if matches!(platforms, Platforms::Slack | Platforms::Both) {
            slack.wait_until(|slack| slack.connection_counts().open >= 2).await;
        }
        if matches!(platforms, Platforms::Discord | Platforms::Both) {
            discord.until_heard().await;
        }
        assert_eq!(check().await, (Some(0), vec![], false), "{platforms:?}, running");
        assert_eq!(program.stop(), Some(0));
        home.add("  \"#nowhere\": {mode: observe}\n");
        let (_, failed, is_noted) = check().await;
        assert_eq!(is_noted, missing.is_empty(), "{platforms:?}");
        let found: Vec<_> =
            failed.iter().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
        assert_eq!(found, missing, "{failed:?}");
        assert!(
            failed.iter().all(|line| line.contains("the config names #nowhere, ")),
            "{failed:?}"
        );
    }
}

#[tokio::test]
async fn another_active_program_on_a_database_server_is_no_problem() {
    let store = TestStore::postgres().await;
    let home = Home::on(aizuchi_harness::net::free_port(), 1000.0);
    let address = store.database.as_ref().unwrap().address.clone();
    let DatabaseLocation::Postgres(server) = &address else { panic!("{address} is no server") };
    let config = std::fs::read_to_string(home.config()).unwrap();
    let file = format!("sqlite://{}", home.database().display());
    assert!(config.contains(&file), "{config}");
    std::fs::write(home.config(), config.replace(&file, server.url())).unwrap();
    let (code, lines) = check(&home, "").await;
    assert_eq!(code, Some(0), "{lines:?}");
    let expected = format!("another Aizuchi is active on {address}; this one would stand by");
    assert!(lines.iter().any(|line| line.contains(&expected)), "{lines:?}");
    let free = address.to_string();
    // The database is dropped with the last clone.
    let _database = store.database.clone();
    store.stop().await;
    let (_, lines) = check(&home, "").await;
    assert!(lines.iter().any(|line| line.ends_with(&free)), "{lines:?}");
}

#[tokio::test]
async fn a_server_that_refuses_is_named_with_what_to_do() {
    let home = Home::new(1000.0);
    let port = aizuchi_harness::net::free_port();
    let config = std::fs::read_to_string(home.config()).unwrap();
    let file = format!("sqlite://{}", home.database().display());
    let server = format!("postgres://aki:hunter2@127.0.0.1:{port}/room");
    std::fs::write(home.config(), config.replace(&file, &server)).unwrap();
    let (code, lines) = check(&home, "").await;
    assert_eq!(code, Some(1), "{lines:?}");
    let expected = format!(
        "FAIL  database  the database cannot be used: postgres://127.0.0.1:{port}/room: the server refuses the connection; \
         check that it runs, and its host and port in storage.url"
    );
    assert!(lines.contains(&expected), "{lines:?}");
}

#[tokio::test]
async fn keys_of_channels_that_mean_something_else_are_named() {
    let home = Home::new(1000.0);
    home.add("channels:\n  general: {mode: observe}\n  #random:\n");
    let (code, lines) = check(&home, "").await;
    assert_eq!(code, Some(0), "{lines:?}");
    let shown = shown(&lines, &home);
    for note in [
        "ok    note      config.yaml:9:3: channels.general is read as a channel's id; did you mean the channel of this \
         name, \"#general\"?",
        "ok    note      config.yaml:10:3: #random: is read as a comment, because YAML ignores what follows a #; write \
         \"#random\": with the quotes",
    ] {
        assert!(shown.lines().any(|line| line == note), "{note}\nis missing in\n{shown}");
    }
    // The channel's settings are then parsed as part of another section.
    let config = std::fs::read_to_string(home.config()).unwrap();
    std::fs::write(home.config(), config + "    mode: observe\n").unwrap();
    let (code, lines) = check(&home, "").await;
    assert_eq!((code, lines.len()), (Some(1), 1), "{lines:?}");
    assert!(lines[0].contains("; see line 10: #random: is read as a comment"), "{lines:?}");
}

/// New files are inaccessible to other users whatever the umask, and `check` reports files that are accessible.
#[tokio::test]
async fn secrets_and_talk_are_for_their_owner_only() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new(1000.0);
    let config = std::fs::read_to_string(home.config()).unwrap();
    std::fs::write(home.config(), config.replace("room.db", "data/rooms/room.db")).unwrap();
    let data = home.path().join("data");
    let files = ["", "rooms", "rooms/room.db", "rooms/room.db-wal", "rooms/room.db-shm"];
    let files = files.map(|file| data.join(file));
    let program = home.start_in_shell("umask 022");
    program.says("alice", "hello").await;
    let mode =
        |file: &std::path::PathBuf| std::fs::metadata(file).unwrap().permissions().mode() & 0o777;
    assert_eq!(files.each_ref().map(mode), [0o700, 0o700, 0o600, 0o600, 0o600]);
    assert_eq!(mode(&data.join("rooms/room.db.lock")), 0o600);
    assert_eq!(program.stop(), Some(0));
    let (_, lines) = check(&home, "").await;
    assert!(!lines.join("\n").contains("other users"), "{lines:?}");

    let env = home.path().join(".env");
    std::fs::write(&env, "TEST_KEY=x\n").unwrap();
    let config = std::fs::read_to_string(home.config()).unwrap();
    let config = config.replace("http:\n", "http:\n  token: 9f86d081884c7d65\n");
    std::fs::write(home.config(), config).unwrap();
    for (file, mode) in [
        (&home.config(), 0o644),
        (&env, 0o640),
        (&data.join("rooms"), 0o755),
        (&data.join("rooms/room.db"), 0o604),
    ] {
        set_permissions(file, Permissions::from_mode(mode)).unwrap();
    }
    let (code, lines) = check(&home, "").await;
    assert_eq!(code, Some(0), "{lines:?}");
    let shown = shown(&lines, &home);
    let notes: Vec<&str> = shown.lines().filter(|line| line.contains("other users")).collect();
    let note = |what: &str, file: &str, mode: &str| {
        format!(
            "ok    note      other users of this machine can read {what} in {file}; `chmod {mode} {file}` keeps them out"
        )
    };
    assert_eq!(
        notes,
        [
            note("the secrets", "config.yaml", "600"),
            note("the secrets", ".env", "600"),
            note("what was said", "data/rooms", "700"),
            note("what was said", "data/rooms/room.db", "600"),
        ]
    );
}
