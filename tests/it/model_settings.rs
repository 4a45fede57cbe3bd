//! The real program with a model's API: settings, ledger, fallback, and a log without secrets and chat text.

use aizuchi_harness::providers::{ProviderResponse, Server, ServerLimits};
use serde_json::{Value, json};

use crate::command::aizuchi;
use crate::program::Home;

const KEY: &str = "sk-test-0123456789abcdef";
const CHAT: &str = "the treasure is under the old oak";

/// A home whose agents use a model of this server.
fn home(server: &Server, model: &str, more: &str) -> Home {
    let home = Home::new(1000.0);
    home.add(&format!(
        "agents:
  response:
    model_id: {model}
    system_prompt: Answer like a pirate.
    client_args:
      api_key: ${{TEST_KEY}}
      api_base: {}/v1
{more}",
        server.base
    ));
    home
}

fn is_answer(kind: &str, data: &Value) -> bool {
    kind == "message" && data["persona"] == true
}

#[tokio::test]
async fn a_model_answers_and_the_ledger_has_its_price() {
    let server = Server::start(ServerLimits::default()).await;
    server.then([ProviderResponse::Says("**Ahoy**, alice!".to_owned())]);
    let prices =
        "models:\n  prices:\n    openai/large-1: {input: 2, cached_input: 1, output: 10}\n";
    let home = home(&server, "openai/large-1", prices);
    let program = home.start_with(&[], &[("TEST_KEY", KEY)]);
    let message = program.says("alice", "@Aizuchi hello").await;
    let answer = program.wait_for(0, is_answer).await;
    assert_eq!(answer["text"], "**Ahoy**, alice!");
    assert_eq!(answer["html"], "<p><strong>Ahoy</strong>, alice!</p>\n");
    let seen = server.requests().remove(0);
    assert_eq!(seen.headers["authorization"], format!("Bearer {KEY}"));
    let prompt = seen.body["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(prompt.contains("Answer like a pirate.") && prompt.contains("@Aizuchi hello"));
    let rows = program.get(&format!("/api/decisions?message={message}")).await;
    let attempt = &rows["decisions"][0]["attempts"][0];
    assert_eq!(attempt["model"], "openai/large-1");
    assert_eq!(
        attempt["usage"],
        json!({
            "input_tokens": 120, "cached_tokens": 64, "cache_write_tokens": 0, "output_tokens": 7,
            "is_estimated": false,
        })
    );
    assert_eq!(attempt["price"], json!(0.000_246));
    let figures = program.request("/metrics").await.text().await.unwrap();
    let cost = r#"aizuchi_model_cost_total{model="openai/large-1"} 0.000246"#;
    assert!(figures.contains(cost), "{figures}");
    // The page names the model.
    let page = program.request("/").await.text().await.unwrap();
    assert!(page.contains("openai/large-1"), "{page}");
    assert_eq!(program.stop(), Some(0));
}

/// A list price is specific to its provider. A model of another server has none by its name alone.
#[tokio::test]
async fn a_model_of_another_server_has_no_list_price() {
    let server = Server::start(ServerLimits::default()).await;
    server.then([ProviderResponse::Says("Ahoy, alice!".to_owned())]);
    let home = home(&server, "openai/gpt-4o-mini", "");
    let program = home.start_with(&[], &[("TEST_KEY", KEY)]);
    let message = program.says("alice", "@Aizuchi hello").await;
    program.wait_for(0, is_answer).await;
    let rows = program.get(&format!("/api/decisions?message={message}")).await;
    let attempt = &rows["decisions"][0]["attempts"][0];
    assert_eq!(
        (&attempt["model"], &attempt["price"]),
        (&json!("openai/gpt-4o-mini"), &json!(null))
    );
    let spending = program.get("/api/spending").await;
    assert_eq!(spending["workspace"]["price_in_day"], json!(null), "{spending}");
    let mut status = aizuchi();
    status.env("TEST_KEY", KEY).arg("--config").arg(home.config()).arg("status");
    let status = String::from_utf8(status.output().unwrap().stdout).unwrap();
    assert!(status.contains("tokens and cost unknown, in 30 days cost unknown"), "{status}");
}

/// A model that the config declares free costs nothing.
#[tokio::test]
async fn a_model_that_costs_nothing_has_a_known_price() {
    let server = Server::start(ServerLimits::default()).await;
    server.then([ProviderResponse::Says("Ahoy, alice!".to_owned())]);
    let free = "models:\n  prices:\n    openai/large-1: {input: 0, output: 0}\n";
    let home = home(&server, "openai/large-1", free);
    let program = home.start_with(&[], &[("TEST_KEY", KEY)]);
    program.says("alice", "@Aizuchi hello").await;
    program.wait_for(0, is_answer).await;
    let spending = program.get("/api/spending").await;
    assert_eq!(spending["workspace"]["price_in_day"], json!(0.0), "{spending}");
    assert!(spending["workspace"]["tokens_in_day"].as_u64() > Some(0), "{spending}");
}

#[tokio::test]
async fn a_model_writes_a_memo_and_reads_it_again() {
    let server = Server::start(ServerLimits::default()).await;
    let call = |name: &str, arguments: Value| {
        let tool_call = ("call_1".to_owned(), name.to_owned(), arguments.to_string());
        ProviderResponse::Calls("", vec![tool_call])
    };
    let memo = json!({ "name": "alice's birthday", "content": "May 3rd", "priority": 5 });
    server.then([
        call("add_memo", memo),
        ProviderResponse::Says("I will remember it.".to_owned()),
        call("get_memo", json!({ "memo_name": "alice's birthday" })),
        ProviderResponse::Says("On May 3rd.".to_owned()),
    ]);
    let home = home(&server, "openai/large-1", "");
    let program = home.start_with(&[], &[("TEST_KEY", KEY)]);
    let message = program.says("alice", "@Aizuchi my birthday is on May 3rd").await;
    let answer = program.wait_for(0, is_answer).await;
    assert_eq!(answer["text"], "I will remember it.");
    let rows = program.get(&format!("/api/decisions?message={message}")).await;
    let attempts = rows["decisions"][0]["attempts"].as_array().unwrap().iter();
    let verbs: Vec<[&Value; 2]> =
        attempts.map(|attempt| [&attempt["verb"], &attempt["end"]]).collect();
    assert_eq!(verbs, [[&json!("reply"), &json!("kept")]; 2]);
    // The memo survives the process.
    assert_eq!(program.stop(), Some(0));
    let program = home.start_with(&[], &[("TEST_KEY", KEY)]);
    program.says("bob", "@Aizuchi when is her birthday?").await;
    let seen = answer["revision"].as_u64().unwrap();
    assert_eq!(program.wait_for(seen, is_answer).await["text"], "On May 3rd.");
    let messages = &server.requests()[3].body["messages"];
    let result = messages[2]["content"].as_str().unwrap();
    assert!(result.contains("\n- content: May 3rd\n"), "{messages}");
    assert_eq!(program.stop(), Some(0));
    assert!(!home.log().contains("May 3rd"));
}

#[tokio::test]
async fn a_flag_selects_the_model() {
    let server = Server::start(ServerLimits::default()).await;
    let home = home(&server, "openai/small-1", "");
    let program = home.start_with(&["--model", "openai/large-2"], &[("TEST_KEY", KEY)]);
    program.says("alice", "@Aizuchi hello").await;
    program.wait_for(0, is_answer).await;
    assert_eq!(server.requests()[0].body["model"], "large-2");
}

#[tokio::test]
async fn the_key_in_the_environment_is_enough() {
    let home = Home::new(1000.0);
    let run = crate::command::aizuchi()
        .arg("--config")
        .arg(home.config())
        .args(["run", "--model", "openai/gpt-4o-mini"])
        .env_remove("OPENAI_API_KEY")
        .assert()
        .code(1);
    let stderr = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    let expected = "--model names a model of openai, which needs a key: set";
    assert!(stderr.contains(expected), "{stderr}");
    let program =
        home.start_with(&["run", "--model", "openai/gpt-4o-mini"], &[("OPENAI_API_KEY", KEY)]);
    let page = program.request("/").await.text().await.unwrap();
    assert!(page.contains(r#""mind":"openai/gpt-4o-mini""#), "{page}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn another_model_answers_when_the_first_is_down() {
    let server = Server::start(ServerLimits::default()).await;
    let down = ProviderResponse::Status(401, vec![], String::new());
    server.then([down, ProviderResponse::Says("I am the other".to_owned())]);
    let fallback = format!(
        "    fallback:\n      model_id: ollama/small-1\n      client_args: {{api_base: {}}}\n",
        server.base
    );
    let home = home(&server, "openai/large-1", &fallback);
    let program = home.start_with(&[], &[("TEST_KEY", KEY)]);
    let message = program.says("alice", "@Aizuchi hello").await;
    assert_eq!(program.wait_for(0, is_answer).await["text"], "I am the other");
    let rows = program.get(&format!("/api/decisions?message={message}")).await;
    let attempts = &rows["decisions"][0]["attempts"];
    assert_eq!(
        (&attempts[0]["model"], &attempts[0]["end"]),
        (&json!("openai/large-1"), &json!("failed"))
    );
    assert_eq!(
        (&attempts[1]["model"], &attempts[1]["end"]),
        (&json!("ollama/small-1"), &json!("kept"))
    );
    let log = home.log();
    assert!(log.contains("openai/large-1: it does not accept the API key (401)"), "{log}");
}

#[tokio::test]
async fn neither_keys_nor_chat_text_appear_in_the_log() {
    let server = Server::start(ServerLimits::default()).await;
    let leak = format!("{CHAT} {KEY}");
    let error = json!({ "error": { "code": "bad", "message": leak } }).to_string();
    server.then([
        ProviderResponse::Status(401, vec![], error.clone()),
        ProviderResponse::Raw("text/html", leak.clone()),
        ProviderResponse::Raw("application/json", format!("{{\"x\": \"{leak}")),
        ProviderResponse::Status(503, vec![("retry-after", "0".to_owned())], error),
        ProviderResponse::Says(leak),
    ]);
    let home = home(&server, "openai/large-1", "");
    let program = home.start_with(&[], &[("TEST_KEY", KEY), ("RUST_LOG", "trace")]);
    // The first mention fails and gets an apology; the second is retried until it is answered.
    program.says("alice", &format!("@Aizuchi {CHAT}")).await;
    let apology = program.wait_for(0, is_answer).await;
    program.says("alice", &format!("@Aizuchi {CHAT}")).await;
    program.wait_for(apology["revision"].as_u64().unwrap(), is_answer).await;
    assert_eq!(server.requests().len(), 5);
    assert_eq!(program.stop(), Some(0));
    let log = home.log();
    assert!(log.contains("a model call failed"), "{log}");
    for secret in [KEY, "treasure", "old oak"] {
        let line = log.lines().find(|line| line.contains(secret));
        assert!(line.is_none(), "{secret} is in the log: {line:?}");
    }
}

#[tokio::test]
async fn the_log_is_json_without_a_terminal() {
    let home = Home::new(0.2);
    let program = home.start();
    program.says("alice", "lunch was good").await;
    program.wait_for(0, |kind, data| kind == "decision" && !data["ended"].is_null()).await;
    assert_eq!(program.stop(), Some(0));
    let log = home.log();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("one JSON object a line"))
        .collect();
    let silence = lines.iter().find(|line| {
        line["fields"]["message"]
            .as_str()
            .is_some_and(|message| message.starts_with("stays silent"))
    });
    let span = &silence.expect("the decision is logged")["span"];
    assert_eq!((&span["name"], &span["verb"]), (&json!("step"), &json!("judge")));
    assert_eq!(span["conversation"], "local/general");
}
