//! The figures of `/metrics` about answers that cannot be used.

use serde_json::Value;

use crate::program::Home;
use aizuchi_harness::providers::{Server, ServerLimits};

#[tokio::test]
async fn answers_that_cannot_be_used_count_as_failed() {
    let server = Server::start(ServerLimits::default()).await;
    // The second is the answer to the request to repair the first.
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
