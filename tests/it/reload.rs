//! The parts of a changed config that take effect without a restart: at SIGHUP, on the console, and when a command asks.

use aizuchi_harness::providers::{Server, ServerLimits};
use serde_json::{Value, json};

use crate::command::aizuchi;
use crate::console::harness::{ADMIN, OPERATOR, client, get, get_in, json_of, post, set_tokens};
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

/// Runs a command beside the program, and returns what it prints, or why it fails.
fn beside(home: &Home, arguments: &[&str]) -> Result<String, String> {
    let mut command = aizuchi();
    let output = command.arg("--config").arg(home.config()).args(arguments).output().unwrap();
    let told = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    match output.status.success() {
        true => Ok(told(output.stdout) + &told(output.stderr)),
        false => Err(told(output.stderr)),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_and_the_console_reload_without_a_signal() {
    let home = Home::new(1000.0);
    set_tokens(&home);
    let program = home.start();
    let mode = async || {
        let channels = get(&program, Some(ADMIN), "/api/channels").await;
        json_of(channels).await["channels"][0]["mode"].clone()
    };
    home.replace("  announce: false\n", "  announce: false\n  mode: observe\n");
    home.replace("http:\n", "http:\n  trusted_proxies: [10.0.0.1]\n");
    let told = beside(&home, &["reload"]).unwrap();
    assert!(told.contains("in force now: response.mode"), "{told}");
    assert!(told.contains("takes effect after a restart: http.trusted_proxies"), "{told}");
    assert_eq!(mode().await, "observe");
    let told = beside(&home, &["reload"]).unwrap();
    assert!(told.contains("nothing has changed that takes effect"), "{told}");

    let page = get(&program, Some(ADMIN), "/console/configuration").await.text().await.unwrap();
    for part in ["response.mode", "observe", "http.trusted_proxies", "after a restart", "not shown"]
    {
        assert!(page.contains(part), "no {part} in {page}");
    }
    assert!(!page.contains(ADMIN) && !page.contains(OPERATOR), "{page}");
    let api = json_of(get(&program, Some(ADMIN), "/api/configuration").await).await;
    assert_eq!(api["need_restart"], serde_json::json!(["http.trusted_proxies"]));
    let settings = api["settings"].as_array().unwrap();
    let token = settings.iter().find(|it| it["key"] == "http.token").unwrap();
    assert_eq!(token["value"], Value::Null);

    home.replace("mode: observe", "mode: mention_only");
    let reload = client().post(format!("{}/console/configuration", program.address));
    let page = reload.bearer_auth(ADMIN).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("In force now: response.mode"), "{page}");
    assert_eq!(mode().await, "mention_only");

    home.replace("mode: mention_only", "mode: loud");
    let refused = beside(&home, &["reload"]).unwrap_err();
    assert!(refused.contains("response.mode is"), "{refused}");
    home.replace("mode: loud", "mode: mention_only");
    home.replace("trusted_proxies: [10.0.0.1]", "listen: nowhere");
    let api = client().post(format!("{}/api/reload", program.address)).bearer_auth(ADMIN);
    let refused = api.send().await.unwrap();
    assert_eq!(refused.headers()["aizuchi-refusal"], "unusable_config");
    assert_eq!(mode().await, "mention_only");
    let orders = json_of(get(&program, Some(ADMIN), "/api/orders").await).await;
    let orders = orders["orders"].as_array().unwrap();
    let told: Vec<_> = orders.iter().map(|it| (&it["kind"], &it["by"], &it["value"])).collect();
    let (by_command, by_admin) = (Value::from("command-line"), Value::from("http.token"));
    let expected = [(&by_admin, "response"), (&by_command, ""), (&by_command, "response")];
    for ((kind, by, value), (who, keys)) in told.into_iter().zip(expected) {
        assert_eq!((kind, by), (&Value::from("reload"), who));
        assert_eq!(value.as_str().unwrap_or_default(), keys);
    }
    assert_eq!(program.stop(), Some(0));
}

/// The row of a setting on the page of the config.
fn row<'a>(page: &'a str, key: &str) -> Option<&'a str> {
    let (_, row) = page.split_once(&format!("<th scope=\"row\">{key}<br>"))?;
    row.split("</tr>").next()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_the_config_says_where_each_value_comes_from() {
    let home = Home::new(1000.0);
    set_tokens(&home);
    home.replace("  announce: false\n", "  announce: false\n  mode: \"${MODE}\"\n");
    std::fs::write(home.config().with_file_name(".env"), "MODE=mention_only\n").unwrap();
    let program = home.start_with(&["--language", "en"], &[]);
    let says = json!({"channel": "general", "user": "mia", "text": "the plums are ripe"});
    post(&program, Some(ADMIN), "/api/messages", says).await;
    beside(&home, &["set", "min_confidence", "0.9", "--workspace", "local"]).unwrap();
    beside(&home, &["set", "mode", "observe", "--channel", "general"]).unwrap();
    beside(&home, &["set", "min_confidence", "0.95", "--channel", "general"]).unwrap();
    let show = async |path: &str, language: &str| {
        let page = get_in(&program, Some(ADMIN), path, language).await.text().await.unwrap();
        assert!(page.len() < 100_000, "{path}: {} bytes", page.len());
        page
    };
    let page = show("/console/configuration", "en").await;
    let differs = "Channels that differ (1): <a href=\"/console/channels/local/general\" dir=\"auto\">general</a> observe";
    for (key, expected) in [
        (
            "response.announce",
            &["<td data-label=\"Value\">false <small>(true | false)</small></td>", ">file, line "]
                [..],
        ),
        ("response.mode", &[">mention_only <", "environment variable, named in line", differs]),
        ("language", &[">en <", ">--language <"]),
        (
            "workspaces.local.min_confidence",
            &[
                ">0.9 <",
                "/console/orders?workspace=local&#38;kind=change_setting",
                "order for all channels of Local room</a>",
            ],
        ),
        (
            "response.max_share",
            &[">0.5 <small>(0–1)</small>", ">default</td>", "Aizuchi posts nothing unasked while"],
        ),
        ("response.quiet_hours", &[">–</td>", ">default</td>"]),
        ("http.mcp", &[">true <", "needs a restart"]),
        ("http.token", &["set, not shown here"]),
        ("response.min_confidence", &["general</a> 0.95", ">default <a"]),
    ] {
        let row = row(&page, key).unwrap_or_else(|| panic!("no {key} in {page}"));
        for part in expected {
            assert!(row.contains(part), "no {part} in {key}: {row}");
        }
    }
    // What is at its default is folded, below the rest.
    let (above, below) = page.split_once("data-testid=\"section\"").unwrap();
    for key in ["response.announce", "response.mode", "workspaces.local.min_confidence"] {
        assert!(row(above, key).is_some() && row(below, key).is_none(), "{key}");
    }
    assert!(row(above, "response.max_share").is_none());
    assert!(page.contains("<summary>response ("), "{page}");

    let found = show("/console/configuration?q=Quiet_H", "en").await;
    assert!(found.contains("Settings found: 1"), "{found}");
    assert!(row(&found, "response.quiet_hours").is_some() && row(&found, "language").is_none());
    let found = show("/console/configuration?q=no-such-key", "en").await;
    assert!(found.contains("No setting matches."), "{found}");
    let (_, own) = above.split_once("<h2 id=\"varied\">Channels differ</h2>").unwrap();
    assert!(row(own, "response.min_confidence").is_some() && row(own, "response.mode").is_none());
    let japanese = show("/console/configuration", "ja").await;
    assert!(row(&japanese, "response.min_confidence").unwrap().contains("判断役の確信度"));

    let api = json_of(get(&program, Some(ADMIN), "/api/configuration").await).await;
    let settings = api["settings"].as_array().unwrap();
    let setting = |key: &str| settings.iter().find(|it| it["key"] == key).unwrap();
    let order = &setting("workspaces.local.min_confidence")["source"];
    assert_eq!(*order, json!({"from": "order", "at": "local"}));
    assert_eq!(setting("http.token")["value"], Value::Null);
    assert_eq!(setting("http.mcp")["source"], json!({"from": "default"}));

    // An order is taken back on the page.
    let form = [
        ("order", "clear min_confidence"),
        ("workspace", "local"),
        ("channel", ""),
        ("back", "/console/configuration"),
    ];
    let sent = client().post(format!("{}/console/orders", program.address)).bearer_auth(ADMIN);
    let answer = sent.form(&form).send().await.unwrap();
    let led_to = "/console/configuration?set=min_confidence";
    assert_eq!(answer.headers()["location"], led_to);
    let page = show(led_to, "en").await;
    assert!(page.contains("data-testid=\"setting-done\">Changed: confidence<"), "{page}");
    assert_eq!(row(&page, "workspaces.local.min_confidence"), None);
    assert_eq!(get(&program, Some(OPERATOR), "/console/configuration").await.status(), 403);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_changes_a_setting_while_the_program_runs() {
    let home = Home::new(1000.0);
    let program = home.start();
    program.says("mia", "the plums are ripe").await;
    let settings = async || {
        let found = program.get("/api/settings?channel=general").await;
        let all = found["settings"].as_array().unwrap().clone();
        move |name: &str| all.iter().find(|it| it["setting"] == name).unwrap()["value"].clone()
    };
    let set = |arguments: &[&str]| beside(&home, &[&["set"], arguments].concat());
    assert_eq!(set(&["timing", "plain", "--channel", "#general"]).unwrap(), "timing: plain\n");
    assert_eq!(settings().await("timing"), "plain");
    set(&["memory", "off", "--workspace", "local"]).unwrap();
    assert_eq!(settings().await("memory"), "off");
    set(&["timing", "--channel", "general"]).unwrap();
    assert_ne!(settings().await("timing"), "plain");
    set(&["mode", "observe", "--channel", "general"]).unwrap();
    assert_eq!(mode(&program).await, "observe");
    set(&["mode", "--channel", "general"]).unwrap();
    assert_eq!(mode(&program).await, "companion");
    for (arguments, expected) in [
        (&["timing", "hasty", "--channel", "general"][..], "\"hasty\" cannot be used for timing"),
        (&["mood", "good", "--channel", "general"], "there is no setting \"mood\""),
        (&["mode", "loud", "--channel", "general"], "\"loud\" is not a mode"),
        (&["timing", "plain", "--channel", "attic"], "there is no channel \"attic\""),
        (&["timing", "plain"], "--channel"),
    ] {
        let refused = set(arguments).unwrap_err();
        assert!(refused.contains(expected), "{arguments:?}: {refused}");
    }
    assert_eq!(program.stop(), Some(0));
    let refused = set(&["timing", "plain", "--channel", "general"]).unwrap_err();
    assert!(refused.contains("nothing answers at"), "{refused}");
}
