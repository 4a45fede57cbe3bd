//! The metrics of `/metrics`: counts of events, and of unusable answers.

use aizuchi_harness::net::http;
use aizuchi_harness::providers::{ProviderResponse, Server, ServerLimits};
use serde_json::Value;

use crate::program::Home;

#[tokio::test]
async fn metrics_count_what_happened() {
    let home = Home::new(0.2);
    let program = home.start();
    program.says("alice", "@Aizuchi are you there?").await;
    program.wait_for(0, |kind, data| kind == "message" && data["persona"] == true).await;
    program.says("bob", "my lunch was good").await;
    let is_silent =
        |kind: &str, data: &Value| kind == "decision" && data["ended"] == "chose_silence";
    program.wait_for(0, is_silent).await;
    let answer = program.request("/metrics").await;
    let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
    let expected = [
        "aizuchi_messages_heard_total{author=\"human\",arrival=\"live\"} 2",
        "aizuchi_hear_seconds_count 2",
        "aizuchi_step_lateness_seconds_count{verb=\"reply\"} 1",
        "aizuchi_step_seconds_count{verb=\"post\"} 1",
        "aizuchi_decisions_total{ended=\"spoke\",gate=\"none\"} 1",
        "aizuchi_decisions_total{ended=\"chose_silence\",gate=\"none\"} 1",
        "aizuchi_model_calls_total{verb=\"judge\",model=\"builtin\",end=\"kept\"} 1",
        "aizuchi_posts_total{addressed=\"true\"} 1",
        "aizuchi_mention_answer_seconds_count 1",
        "aizuchi_unsolicited_soon_after_unseen_total 0",
        "aizuchi_dead_letters 0",
        "aizuchi_steps_pending{verb=\"judge\"} 0",
        "# EOF",
    ];
    // A decision is counted after its end is stored and published.
    let is_complete =
        |text: &str| expected.into_iter().all(|one| text.lines().any(|line| line == one));
    let text = program.until_text("/metrics", is_complete).await;
    for gauge in
        ["aizuchi_resident_memory_bytes", "aizuchi_start_seconds", "aizuchi_wake_ups_total"]
    {
        let found = text.lines().find_map(|line| line.strip_prefix(gauge)?.strip_prefix(' '));
        assert!(found.unwrap().parse::<f64>().unwrap() > 0.0, "{gauge}");
    }
    let chat_words = ["alice", "bob", "lunch", "there"];
    assert!(!chat_words.iter().any(|word| text.contains(word)), "{text}");
}

#[tokio::test]
async fn answers_that_cannot_be_used_count_as_failed() {
    let server = Server::start(ServerLimits::default()).await;
    // The second is the response to the request to repair the first.
    server.will_say(&["I would rather not say.", "No JSON today."]);
    let home = Home::new(0.1);
    home.add(&format!(
        "agents:
  response: {{model_id: openai/large-1, client_args: {{api_key: sk-test, api_base: {}/v1}}}}
  memory: {{model_id: builtin}}
",
        server.base
    ));
    let program = home.start();
    program.says("alice", "does anybody know where the ladder is?").await;
    let is_failed = |kind: &str, data: &Value| kind == "decision" && data["ended"] == "failed";
    program.wait_for(0, is_failed).await;
    let text = program.request("/metrics").await.text().await.unwrap();
    let calls: Vec<&str> =
        text.lines().filter(|line| line.starts_with("aizuchi_model_calls_total{")).collect();
    let expected =
        "aizuchi_model_calls_total{verb=\"judge\",model=\"openai/large-1\",end=\"failed\"} 2";
    assert_eq!(calls, [expected], "{text}");
}

#[tokio::test]
async fn a_reader_gets_the_format_that_it_asks_for() {
    let home = Home::new(1000.0);
    let program = home.start();
    program.says("alice", "the pump key hangs behind the green door").await;
    let url = format!("{}/metrics", program.address);
    let client = http();
    let text = client.get(&url).header("accept", "text/plain;version=0.0.4").send().await.unwrap();
    assert_eq!(text.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let text = text.text().await.unwrap();
    for line in [
        "# TYPE aizuchi_messages_heard_total counter",
        "aizuchi_messages_heard_total{author=\"human\",arrival=\"live\"} 1",
        "# TYPE aizuchi_build_info gauge",
        "# TYPE aizuchi_hear_seconds histogram",
        "aizuchi_oldest_owed_seconds 0.0",
        "aizuchi_money_spent{workspace=\"local\",period=\"day\"} 0.0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is missing: {text}");
    }
    assert!(!text.contains("# UNIT") && !text.contains("# EOF"), "{text}");
    let accepted = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
    let asked = client.get(url).header("accept", accepted).send().await.unwrap();
    let kind = asked.headers()["content-type"].to_str().unwrap().to_owned();
    assert_eq!(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    let text = asked.text().await.unwrap();
    assert!(text.contains("# TYPE aizuchi_messages_heard counter\n"), "{text}");
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn somebody_who_waits_for_an_answer_is_seen() {
    let server = Server::start(ServerLimits::default()).await;
    server.then([ProviderResponse::Held("Here.".to_owned())]);
    let home = Home::new(1000.0);
    home.add(&format!(
        "agents:
  response: {{model_id: openai/large-1, client_args: {{api_key: sk-test, api_base: {}/v1}}}}
budget: {{money_per_day: 5}}
",
        server.base
    ));
    let program = home.start();
    program.says("alice", "@Aizuchi where is the ladder?").await;
    server.came(1).await;
    let text = program.request("/metrics").await.text().await.unwrap();
    let figure = |text: &str, name: &str| -> f64 {
        let line =
            text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert!(figure(&text, "aizuchi_oldest_owed_seconds ") > 0.0, "{text}");
    assert_eq!(figure(&text, "aizuchi_money_limit{period=\"day\"}"), 5.0);
    server.release();
    program.wait_for(0, |kind, data| kind == "decision" && data["ended"] == "spoke").await;
    let text = program.request("/metrics").await.text().await.unwrap();
    assert_eq!(figure(&text, "aizuchi_oldest_owed_seconds "), 0.0, "{text}");
    assert_eq!(program.stop(), Some(0));
}
