//! The cost of trying an order in the chat: with the defaults, with a free model, and where nothing may be spent.

use aizuchi_harness::providers::{Server, ServerLimits};
use serde_json::{Value, json};

use crate::program::{Home, Program};

const PRICED: &str = "models:\n  prices:\n    openai/large-1: {input: 2, output: 10}\n";
const FREE: &str = "models:\n  prices:\n    openai/large-1: {input: 0, output: 0}\n";
const TOLD: &str = "Of 1 time I spoke here unasked in the last 7 days, 1 would have stayed silent.";

fn verdict(should_respond: bool, reason: &str) -> String {
    let confidence = if should_respond { 0.8 } else { 0.95 };
    json!({
        "should_respond": should_respond,
        "reason": reason,
        "confidence": confidence,
        "delay_seconds": 0,
    })
    .to_string()
}

/// Starts a channel in which the persona took up a question unasked, and a model that will judge it again without
/// kettles.
async fn spoken(prices: &str, response: &str) -> (Server, Home, Program) {
    let server = Server::start(ServerLimits::default()).await;
    let home = Home::new(0.1);
    home.replace("  announce: false\n", &format!("  announce: false\n{response}"));
    home.add(&format!(
        "{prices}agents: {{response: {{model_id: openai/large-1, client_args: {{api_key: sk-test, api_base: '{}/v1'}}}}}}\n",
        server.base
    ));
    let program = home.start();
    server.will_say(&[&verdict(true, "nobody answers"), "on the top shelf"]);
    program.says("alice", "where is the kettle?").await;
    program.wait_for(0, |kind, data| kind == "message" && data["persona"] == true).await;
    (server, home, program)
}

/// Returns the first post that starts with this.
async fn answer(program: &Program, begin: &str) -> String {
    let is_it = |kind: &str, data: &Value| {
        let text = data["text"].as_str().unwrap_or_default();
        kind == "message" && data["persona"] == true && text.starts_with(begin)
    };
    program.wait_for(0, is_it).await;
    let messages = program.messages().await;
    let mut texts = messages.iter().filter_map(|message| message["text"].as_str());
    let found = texts.rfind(|text| text.starts_with(begin));
    found.unwrap_or_default().to_owned()
}

#[tokio::test]
async fn an_order_is_tried_on_the_defaults_if_somebody_asks_for_it() {
    let (server, _home, program) = spoken(PRICED, "").await;
    let asked = server.requests().len();
    program.says("alice", "@Aizuchi in this channel: be brief").await;
    answer(&program, "Noted as order 1").await;
    assert_eq!(server.requests().len(), asked, "nobody asked for a trial");
    server.will_say(&[&verdict(false, "no kettles"), &verdict(true, "nobody answers")]);
    program.says("alice", "@Aizuchi try in this channel: never about kettles").await;
    let told = answer(&program, "Draft 2").await;
    assert!(told.contains(TOLD), "{told}");
    assert_eq!(server.requests().len(), asked + 2);
    program.kill();
}

#[tokio::test]
async fn with_a_model_that_costs_nothing_every_order_is_tried() {
    let (server, _home, program) = spoken(FREE, "").await;
    server.will_say(&[&verdict(false, "no kettles"), &verdict(true, "nobody answers")]);
    program.says("alice", "@Aizuchi in this channel: never about kettles").await;
    let told = answer(&program, "Draft 1").await;
    assert!(told.contains(TOLD), "{told}");
    program.kill();
}

#[tokio::test]
async fn where_nothing_may_be_spent_the_answer_has_the_address_of_the_page() {
    let (server, _home, program) = spoken(PRICED, "  order_trial_cost: 0\n").await;
    let asked = server.requests().len();
    program.says("alice", "@Aizuchi in this channel: be brief").await;
    answer(&program, "Noted as order 1").await;
    let order = "@Aizuchi try in this channel: never about https://kettles.example";
    program.says("alice", order).await;
    let told = answer(&program, "Draft 2").await;
    let page = format!("{}/console/channels/local/general", program.address);
    assert!(told.contains(&format!("under the drafts of this channel: {page} ")), "{told}");
    assert!(!told.contains("https://kettles.example"), "a link of an order is none here: {told}");
    assert_eq!(server.requests().len(), asked);
    program.kill();

    let (server, _home, program) = spoken(FREE, "  order_trial_cost: 0\n").await;
    server.will_say(&[&verdict(false, "no kettles"), &verdict(true, "nobody answers")]);
    program.says("alice", "@Aizuchi in this channel: be brief").await;
    answer(&program, "Noted as order 1").await;
    program.says("alice", "@Aizuchi try in this channel: never about kettles").await;
    let told = answer(&program, "Draft 2").await;
    assert!(told.contains(TOLD), "{told}");
    program.kill();
}
