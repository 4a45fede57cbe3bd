//! The models of the real program: discovering them on this machine, choosing them on the page, and the message if one
//! does not respond.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use aizuchi_harness::net::{free_port, http};
use aizuchi_harness::providers::{Server, ServerLimits};
use reqwest::header::{AUTHORIZATION, HOST, ORIGIN};
use serde_json::{Value, json};

use crate::program::{Home, Program};

const KEY: &str = "sk-test-0123456789abcdef";
const WRONG_KEY: &str = "sk-test-wrong-0123456789";

/// Starts a server that lists these models. Also returns the address for Ollama's variable.
async fn ollama(models: &[&str]) -> (Server, String) {
    let server = Server::start(ServerLimits::default()).await;
    server.has_models(models);
    let host = server.base.trim_start_matches("http://").to_owned();
    (server, host)
}

/// Starts the program with only this model server, and waits until discovery has finished.
async fn start_with_ollama(home: &Home, host: &str) -> Program {
    let program = home.start_with(&[], &[("OLLAMA_HOST", host)]);
    program.wait_for(0, |kind, data| kind == "models" && data["found"] != 0).await;
    program
}

/// Chooses a model as a page of the program does.
async fn choose(program: &Program, choice: Value) -> (u16, Value) {
    let request = http().post(format!("{}/api/models", program.address));
    let answer = request.header(ORIGIN, &program.address).json(&choice).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

fn env_file(home: &Home) -> String {
    std::fs::read_to_string(home.path().join(".env")).unwrap_or_default()
}

fn is_answer(kind: &str, data: &Value) -> bool {
    kind == "message" && data["persona"] == true
}

/// Returns the models of the attempts for a mention, after it was answered.
async fn models_asked(program: &Program, after: u64) -> (Value, Value) {
    let message = program.says("alice", "@Aizuchi hello").await;
    let answer = program.wait_for(after, is_answer).await;
    let rows = program.get(&format!("/api/decisions?message={message}")).await;
    (answer, rows["decisions"][0].clone())
}

/// A user who asks in the local room has the page open.
#[tokio::test]
async fn how_to_connect_a_model_is_told_on_its_page() {
    let home = Home::new(1000.0);
    let program = home.start();
    program.says("alice", "@Aizuchi how do I connect a language model?").await;
    let answer = program.wait_for(0, is_answer).await;
    let text = answer["text"].as_str().unwrap();
    assert!(text.starts_with("You can connect a language model on this page."), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_found_model_is_used_at_once_and_after_a_restart() {
    let (server, host) = ollama(&["nomic-embed-text:latest", "qwen3:8b", "tiny:1b"]).await;
    server.will_say(&["ok", "from the model"]);
    let home = Home::new(1000.0);
    std::fs::write(home.path().join(".env"), "# mine\nOTHER='a b'\n").unwrap();
    let program = start_with_ollama(&home, &host).await;
    let models = program.get("/api/models").await;
    assert_eq!((&models["builtin"], &models["may_choose"]), (&json!(true), &json!(true)));
    let found = &models["found"][0];
    let names = [&found["server"], &found["models"][0]["id"], &found["models"][1]["id"]];
    assert_eq!(names, [&json!("Ollama"), &json!("ollama/qwen3:8b"), &json!("ollama/tiny:1b")]);

    let choice = json!({ "kind": "local", "server": "Ollama", "model": "ollama/qwen3:8b" });
    let (status, models) = choose(&program, choice).await;
    assert_eq!((status, &models["response"]), (200, &json!("ollama/qwen3:8b")), "{models}");
    // The trial was the shortest possible call.
    assert_eq!(server.requests()[0].body["max_tokens"], 1);
    let (answer, row) = models_asked(&program, 0).await;
    assert_eq!(answer["text"], "from the model");
    assert_eq!(row["attempts"][0]["model"], "ollama/qwen3:8b");
    let metrics = program.request("/metrics").await.text().await.unwrap();
    assert!(metrics.contains(r#"model="ollama/qwen3:8b""#), "{metrics}");
    // The default limit of models applies now, and the price of this one is unknown.
    let spending = program.get("/api/spending").await;
    assert_eq!(spending["workspace"]["limits"]["tokens_per_day"], 2_000_000);
    assert!(spending["workspace"]["tokens_in_day"].as_u64().unwrap() > 0);
    assert_eq!(spending["workspace"]["price_in_day"], Value::Null);

    let saved = format!(
        "# mine\nOTHER='a b'\nAIZUCHI_MODEL=ollama/qwen3:8b\nAIZUCHI_MODEL_API_BASE=http://{host}/v1/\n"
    );
    assert_eq!(env_file(&home), saved);
    let mode = std::fs::metadata(home.path().join(".env")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(program.stop(), Some(0));

    let program = home.start();
    let page = program.request("/").await.text().await.unwrap();
    assert!(page.contains(r#""mind":"ollama/qwen3:8b""#), "{page}");
    let (status, models) = choose(&program, json!({ "kind": "builtin" })).await;
    assert_eq!((status, &models["builtin"]), (200, &json!(true)));
    assert_eq!(env_file(&home), "# mine\nOTHER='a b'\nAIZUCHI_MODEL=builtin\n");
    let (_, row) = models_asked(&program, answer["revision"].as_u64().unwrap()).await;
    let attempt = &row["attempts"][0];
    assert_eq!(attempt["model"], "builtin");
    let usage = (&attempt["usage"]["input_tokens"], &attempt["usage"]["output_tokens"]);
    assert_eq!(usage, (&json!(0), &json!(0)), "rules use no tokens");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_looks_for_models_if_told_not_to() {
    let (server, host) = ollama(&["qwen3:8b"]).await;
    let home = Home::new(1000.0);
    home.add("discover: false\n");
    let program = home.start_with(&[], &[("OLLAMA_HOST", &host)]);
    let choice = json!({ "kind": "local", "server": "Ollama", "model": "ollama/qwen3:8b" });
    let (status, answer) = choose(&program, choice).await;
    assert_eq!(
        (status, &answer["error"]),
        (422, &json!("That model is no longer available here."))
    );
    let look = http().post(format!("{}/api/models/look", program.address));
    let answer = look.header(ORIGIN, &program.address).send().await.unwrap();
    assert_eq!(answer.json::<Value>().await.unwrap()["found"], json!([]));
    assert!(server.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_start_says_what_could_be_used() {
    let (_server, host) = ollama(&["qwen3:8b"]).await;
    let home = Home::new(1000.0);
    let mut child = Command::new(env!("CARGO_BIN_EXE_aizuchi"))
        .arg("--config")
        .arg(home.config())
        .envs([("OLLAMA_HOST", &*host), ("ANTHROPIC_API_KEY", KEY)])
        .current_dir(home.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut told = Vec::new();
    for line in lines {
        told.push(line);
        if told.last().is_some_and(|line| line.starts_with("ANTHROPIC_API_KEY")) {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let told = told.join("\n");
    // The address cannot be given with --model, because it is not Ollama's own.
    for expected in [
        "Ollama is running here with qwen3:8b. To use it: aizuchi --model auto",
        "ANTHROPIC_API_KEY is set, but no model is chosen. Use a model, for example: aizuchi \
         --model anthropic/claude-haiku-4-5",
    ] {
        assert!(told.contains(expected), "{told}");
    }
    assert!(!told.contains(KEY), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_found_model_is_used_by_the_flag() {
    let (server, host) = ollama(&["qwen3:8b", "tiny:1b"]).await;
    server.will_say(&["found me"]);
    let home = Home::new(1000.0);
    let program = home.start_with(&["--model", "auto"], &[("OLLAMA_HOST", &host)]);
    let (answer, row) = models_asked(&program, 0).await;
    assert_eq!(answer["text"], "found me");
    assert_eq!(row["attempts"][0]["model"], "ollama/qwen3:8b");
    let said = format!("aizuchi: --model auto: Ollama at {host} has ollama/qwen3:8b");
    assert!(home.log().contains(&said), "{}", home.log());
    // The flag takes precedence over a choice on the page.
    let (status, answer) = choose(&program, json!({ "kind": "builtin" })).await;
    assert_eq!(status, 409);
    assert!(answer["error"].as_str().unwrap().contains("--model"), "{answer}");
}

#[tokio::test]
async fn a_flag_that_finds_nothing_says_so() {
    let port = free_port();
    let home = Home::new(1000.0);
    let run = crate::command::aizuchi()
        .arg("--config")
        .arg(home.config())
        .args(["check", "--model", "auto"])
        .env("OLLAMA_HOST", format!("127.0.0.1:{port}"))
        .assert()
        .code(1);
    let stderr = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(stderr.contains("no model server answers on this machine"), "{stderr}");
}

/// The address may lack its version.
fn nameless_at(base: &str) -> Value {
    json!({ "kind": "compatible", "api_base": base, "model": "", "key": KEY })
}

#[tokio::test]
async fn a_key_is_tried_saved_and_never_shown() {
    let server = Server::start(ServerLimits::default()).await;
    server.accepts_only(KEY);
    let home = Home::new(1000.0);
    let program = home.start_with(&[], &[("RUST_LOG", "trace")]);
    let choice = |key: &str| json!({ "kind": "compatible", "api_base": format!("{}/v1", server.base), "model": "large-1", "key": key });
    let (status, answer) = choose(&program, choice(WRONG_KEY)).await;
    let refused = format!(
        "openai/large-1 at {}/v1/ did not answer: the model refused the key. Nothing was changed.",
        server.base
    );
    assert_eq!((status, &answer["error"]), (422, &json!(refused)));
    assert_eq!(env_file(&home), "");
    let nameless = json!({ "kind": "compatible", "api_base": format!("{}/v1", server.base), "model": " ", "key": KEY });
    let (status, answer) = choose(&program, nameless).await;
    assert_eq!((status, &answer["error"]), (422, &json!("Enter the model’s name.")));
    server.has_models(&["large-1", "tiny:1b"]);
    let (_, answer) = choose(&program, nameless_at(&server.base)).await;
    assert_eq!(answer["error"], "Enter the model’s name. The server has: large-1, tiny:1b.");
    let elsewhere =
        json!({ "kind": "compatible", "api_base": server.base, "model": "large-1", "key": KEY });
    let (status, answer) = choose(&program, elsewhere).await;
    let hint = format!("Nothing was changed. It answers at {}/v1/: use that address.", server.base);
    assert!(status == 422 && answer["error"].as_str().unwrap().ends_with(&hint), "{answer}");
    let with_user = server.base.replace("://", "://user:word@");
    let (status, answer) = choose(&program, nameless_at(&with_user)).await;
    assert!(status == 422 && answer.to_string().contains("no spaces and no @"), "{answer}");
    for key in ["two words", "quo'te", "$HOME"] {
        let (status, answer) = choose(&program, choice(key)).await;
        assert_eq!(status, 422);
        assert!(!answer.to_string().contains(key), "{answer}");
    }

    // The scheme may be omitted.
    let address = format!("{}/v1", server.base);
    let bare = address.strip_prefix("http://").unwrap();
    let choice = json!({ "kind": "compatible", "api_base": bare, "model": "large-1", "key": KEY });
    let (status, models) = choose(&program, choice).await;
    assert_eq!((status, &models["response"]), (200, &json!("openai/large-1")), "{models}");
    assert_eq!(models["address"], json!(format!("{}/v1/", server.base)));
    let saved = format!(
        "AIZUCHI_MODEL=openai/large-1\nAIZUCHI_MODEL_API_BASE={}/v1\nAIZUCHI_MODEL_API_KEY={KEY}\n",
        server.base
    );
    assert_eq!(env_file(&home), saved);
    server.will_say(&[&format!("my key is {KEY}")]);
    let (answer, _) = models_asked(&program, 0).await;
    assert_eq!(answer["text"], "my key is [secret removed]");
    let shown = [models.to_string(), program.get("/api/models").await.to_string()];
    let page = program.request("/").await.text().await.unwrap();
    assert_eq!(program.stop(), Some(0));
    for text in shown.iter().chain([&page, &home.log()]) {
        for key in [KEY, WRONG_KEY, "two words"] {
            assert!(!text.contains(key), "{key} is shown");
        }
    }
    // It is still the model after a restart.
    let program = home.start();
    models_asked(&program, answer["revision"].as_u64().unwrap()).await;
}

#[tokio::test]
async fn a_choice_that_would_not_last_is_refused() {
    let home = Home::new(1000.0);
    let hosted = |key: Option<&str>| json!({ "kind": "hosted", "provider": "openai", "model": "gpt-4o-mini", "key": key });
    let program = home.start_with(&[], &[("OPENAI_API_KEY", WRONG_KEY)]);
    let (status, answer) = choose(&program, hosted(Some(KEY))).await;
    assert_eq!(status, 409);
    assert!(answer["error"].as_str().unwrap().contains("OPENAI_API_KEY was set"), "{answer}");
    assert_eq!(program.stop(), Some(0));

    let program = home.start_with(&[], &[("OPENAI_API_KEY", "")]);
    let (status, answer) = choose(&program, hosted(None)).await;
    assert_eq!((status, &answer["error"]), (422, &json!("openai needs a key.")));
    let (status, answer) = choose(&program, json!({ "kind": "other" })).await;
    assert_eq!(status, 422, "{answer}");
    assert_eq!(program.stop(), Some(0));

    home.add("agents: {judgment: {model_id: builtin}}\n");
    let program = home.start();
    let (status, answer) = choose(&program, hosted(Some(KEY))).await;
    assert_eq!(status, 409);
    assert!(answer["error"].as_str().unwrap().contains("config"), "{answer}");
    assert_eq!(env_file(&home), "");
}

#[tokio::test]
async fn only_the_own_page_on_this_machine_may_choose() {
    let home = Home::new(1000.0);
    let program = home.start();
    let own = program.address.as_str();
    let port = own.rsplit_once(':').unwrap().1;
    let rebound = format!("room.example:{port}");
    let from_rebound = format!("http://{rebound}");
    for (what, headers) in [
        ("no origin", vec![]),
        ("another site", vec![("origin", "https://room.example")]),
        ("another port", vec![("origin", "http://127.0.0.1:1")]),
        ("another scheme", vec![("origin", "https://127.0.0.1")]),
        ("a sandboxed page", vec![("origin", "null")]),
        ("DNS rebinding", vec![("host", &*rebound), ("origin", &*from_rebound)]),
        ("a proxy", vec![("origin", own), ("x-forwarded-for", "192.0.2.1")]),
        ("a proxy of another kind", vec![("origin", own), ("x-real-ip", "192.0.2.1")]),
        ("a proxy by its own name", vec![("origin", own), ("via", "1.1 proxy")]),
        ("a frame of another site", vec![("origin", own), ("sec-fetch-site", "cross-site")]),
    ] {
        for path in ["/api/models", "/api/models/look"] {
            let mut request =
                http().post(format!("{own}{path}")).json(&json!({ "kind": "builtin" }));
            for (name, value) in &headers {
                request = request.header(*name, *value);
            }
            let answer = request.send().await.unwrap();
            assert_eq!(answer.status(), 403, "{what} at {path}");
        }
    }
    // A form of another site cannot send JSON.
    let form = http().post(format!("{own}/api/models")).header(ORIGIN, own);
    let answer = form.header("content-type", "text/plain").body(r#"{"kind":"builtin"}"#);
    assert_eq!(answer.send().await.unwrap().status(), 415);
    let long = json!({ "kind": "hosted", "provider": "openai", "model": "x".repeat(10_000) });
    assert_eq!(choose(&program, long).await.0, 413);
    assert_eq!(env_file(&home), "");
    let (status, _) = choose(&program, json!({ "kind": "builtin" })).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn nobody_chooses_where_other_machines_can_reach_the_page() {
    const TOKEN: &str = "open-sesame-0123456789";
    let home = Home::new(1000.0);
    let config = std::fs::read_to_string(home.config()).unwrap();
    let open = config.replace("127.0.0.1:0", &format!("0.0.0.0:0\n  token: {TOKEN}"));
    std::fs::write(home.config(), open).unwrap();
    let program = home.start();
    let port = program.address.rsplit_once(':').unwrap().1;
    let own = format!("http://127.0.0.1:{port}");
    let request = http().post(format!("{own}/api/models")).json(&json!({ "kind": "builtin" }));
    let request = request.header(ORIGIN, &own).header(AUTHORIZATION, format!("Bearer {TOKEN}"));
    assert_eq!(request.send().await.unwrap().status(), 403);
    let models = http().get(format!("{own}/api/models")).header(HOST, "aizuchi.example");
    let models = models.header(AUTHORIZATION, format!("Bearer {TOKEN}")).send().await.unwrap();
    let models: Value = models.json().await.unwrap();
    assert_eq!(models["may_choose"], false);
    assert!(models["why_not"].as_str().unwrap().contains("on the machine"), "{models}");
}

/// A config whose model is at this address.
fn home_with_model(base: &str) -> Home {
    let home = Home::new(1000.0);
    home.add(&format!(
        "agents:\n  response:\n    model_id: openai/large-1\n    client_args: {{api_key: {KEY}, \
         api_base: '{base}/v1', max_retries: 0}}\n"
    ));
    home
}

#[tokio::test]
async fn a_refused_key_is_seen_at_once_until_a_call_succeeds() {
    let server = Server::start(ServerLimits::default()).await;
    server.accepts_only("sk-another-key");
    let home = home_with_model(&server.base);
    let program = home.start();
    let is_refused = |kind: &str, data: &Value| {
        kind == "models" && data["problems"][0]["problem"] == "key_refused"
    };
    program.wait_for(0, is_refused).await;
    assert!(server.requests().is_empty(), "looking at the list of models asks no model");
    let ready = program.request("/ready").await;
    assert_eq!(ready.status(), 200);
    let ready: Value = ready.json().await.unwrap();
    let told = json!([{ "model": "openai/large-1", "problem": "key_refused", "told": "the model refused the key" }]);
    assert_eq!((&ready["status"], &ready["models"]), (&json!("ready"), &told));
    home.until_log(r#""model":"openai/large-1","problem":"key_refused""#).await;

    let (apology, row) = models_asked(&program, 0).await;
    assert_eq!(
        (&row["ended"], &row["why"]),
        (&json!("failed"), &json!("the model refused the key"))
    );

    server.accepts_only(KEY);
    models_asked(&program, apology["revision"].as_u64().unwrap()).await;
    program.wait_for(0, |kind, data| kind == "models" && data["problems"] == json!([])).await;
    assert_eq!(program.get("/ready").await, json!({ "status": "ready" }));
}

#[tokio::test]
async fn a_model_that_is_not_there_is_seen_at_once() {
    let home = home_with_model(&format!("http://127.0.0.1:{}", free_port()));
    home.add("language: ja\n");
    let program = home.start();
    let is_away = |kind: &str, data: &Value| {
        kind == "models" && data["problems"][0]["problem"] == "unreachable"
    };
    program.wait_for(0, is_away).await;
    let ready = program.get("/ready").await;
    assert_eq!(ready["models"][0]["told"], "モデルに接続できません");
}
