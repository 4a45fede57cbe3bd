//! Trying a standing order before it takes effect: on the console, through the API and in the chat.

use aizuchi_harness::providers::{ProviderResponse, Server, ServerLimits};
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};

use crate::console::harness::{
    ADMIN, OPERATOR, VIEWER, client, encode, get, json_of, set_tokens, slack_workspace,
};
use crate::program::{Home, Program};
use crate::slack::harness::{SlackHarness, SlackOptions};

const REASON: &str = "nobody answers the kettle";
const FORBIDDEN: &str = "the order forbids kettles";
const ORDER: &str = "never about kettles <script>window.pwned = 1</script>";
const PRICES: &str = "models:\n  prices:\n    openai/large-1: {input: 2, output: 10}\n";

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

/// Starts a workspace in which the persona took up a question unasked.
async fn spoken() -> (SlackHarness, Program, String) {
    let options = SlackOptions { wait: 0.3, more: PRICES, ..SlackOptions::default() };
    let harness = SlackHarness::with(options).await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.will_say(&[&verdict(true, REASON), "on the top shelf"]);
    harness.post_message(&harness.tea, &harness.mio, "where is the kettle?");
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    (harness, program, workspace)
}

async fn try_order(
    program: &Program,
    (token, language): (&str, &str),
    (workspace, channel): (&str, &str),
    fields: &[(&str, &str)],
) -> Response {
    let fields = fields.iter().map(|(name, value)| format!("{name}={}", encode(value)));
    client()
        .post(format!("{}/console/channels/{workspace}/{channel}/order-trial", program.address))
        .bearer_auth(token)
        .header("accept", "text/html")
        .header("accept-language", language)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(fields.collect::<Vec<_>>().join("&"))
        .send()
        .await
        .unwrap()
}

async fn standing_orders(program: &Program, workspace: &str) -> Vec<Value> {
    let path = format!("/api/standing-orders?workspace={workspace}");
    let listed = json_of(get(program, Some(ADMIN), &path).await).await;
    listed["standing_orders"].as_array().unwrap().clone()
}

#[tokio::test]
async fn the_console_tells_what_an_order_would_have_changed() {
    let (harness, program, workspace) = spoken().await;
    let place = (&*workspace, &*harness.tea);
    let asked = harness.model.requests().len();
    let price = [("text", ORDER), ("channel", &*harness.tea), ("action", "price")];
    let priced = try_order(&program, (ADMIN, "en"), place, &price).await.text().await.unwrap();
    let estimate = "openai/large-1 would be asked. Model calls: at most 2; about";
    assert!(priced.contains(estimate), "{priced}");
    assert!(priced.contains("never about kettles &#60;script&#62;"), "{priced}");
    assert!(!priced.contains("<script>window"), "{priced}");
    assert_eq!(harness.model.requests().len(), asked, "the price is told without a call");

    harness.will_say(&[&verdict(false, FORBIDDEN), &verdict(true, REASON)]);
    let ask = [("text", ORDER), ("channel", &*harness.tea), ("action", "ask"), ("cap", "0.5")];
    let tried = try_order(&program, (ADMIN, "en"), place, &ask).await.text().await.unwrap();
    let told = "Of 1 time it spoke here unasked in the last 7 days, 1 would have stayed silent.";
    assert!(tried.contains(told), "{tried}");
    assert!(tried.contains("data-testid=\"group-silent\""), "{tried}");
    assert!(tried.contains("where is the kettle?") && tried.contains(FORBIDDEN), "{tried}");
    let requests = harness.model.requests();
    let has_order =
        |number: usize| requests[number].body.to_string().contains("never about kettles");
    assert_eq!(requests.len(), asked + 2);
    assert!(has_order(asked) && !has_order(asked + 1), "the second is asked without it");
    // The answers are cached for a while, even for a user who may read less of them, and in Japanese.
    let operators =
        try_order(&program, (OPERATOR, "ja"), place, &price).await.text().await.unwrap();
    assert!(
        operators.contains("自分から話した 1 回のうち、1 回は黙っていたはずです"),
        "{operators}"
    );
    assert!(!operators.contains(FORBIDDEN), "{operators}");
    let viewers = try_order(&program, (VIEWER, "en"), place, &ask).await;
    assert_eq!(viewers.status(), StatusCode::FORBIDDEN);
    let empty = [("text", " "), ("channel", &*harness.tea), ("action", "price")];
    let refused = try_order(&program, (ADMIN, "en"), place, &empty).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(standing_orders(&program, &workspace).await, [Value::Null; 0]);
    assert_eq!(harness.model.requests().len(), asked + 2);
    assert_eq!(harness.slack.posts().len(), 1);
    assert_eq!(program.stop(), Some(0));
}

/// A verdict that the judge would change today in any case is not attributed to the order.
#[tokio::test]
async fn what_the_order_does_not_change_is_unclear() {
    let (harness, program, workspace) = spoken().await;
    let place = (&*workspace, &*harness.tea);
    harness.will_say(&[&verdict(false, FORBIDDEN), &verdict(false, "it is answered")]);
    let ask = [("text", "be brief"), ("channel", ""), ("action", "ask"), ("cap", "0.5")];
    let tried = try_order(&program, (ADMIN, "en"), place, &ask).await.text().await.unwrap();
    assert!(tried.contains("0 would have stayed silent. Unclear: 1."), "{tried}");
    assert!(!tried.contains("data-testid=\"change\""), "{tried}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_draft_is_listed_tried_and_kept() {
    let (harness, program, workspace) = spoken().await;
    let place = (&*workspace, &*harness.tea);
    let send = async |path: &str, body: Value| {
        let address = format!("{}{path}", program.address);
        client().post(address).bearer_auth(ADMIN).json(&body).send().await.unwrap().status()
    };
    let body = json!({
        "workspace": workspace, "channel": harness.tea, "text": "be brief", "draft": true,
    });
    assert_eq!(send("/api/standing-orders", body).await, StatusCode::NO_CONTENT);
    let listed = standing_orders(&program, &workspace).await;
    assert_eq!((&listed[0]["number"], &listed[0]["draft"]), (&json!(1), &json!(true)));
    let timeline = format!("/console/channels/{workspace}/{}", harness.tea);
    let shown = get(&program, Some(ADMIN), &timeline).await.text().await.unwrap();
    assert!(shown.contains("data-testid=\"keep-draft\"") && shown.contains("be brief"), "{shown}");
    let price = [("number", "1"), ("action", "price")];
    let priced = try_order(&program, (ADMIN, "en"), place, &price).await.text().await.unwrap();
    assert!(priced.contains("be brief") && priced.contains("keep-draft 1"), "{priced}");
    let gone = try_order(&program, (ADMIN, "en"), place, &[("number", "9")]).await;
    assert_eq!(gone.status(), StatusCode::CONFLICT);
    let keep = format!("/api/standing-orders/1/keep?workspace={workspace}");
    assert_eq!(send(&keep, Value::Null).await, StatusCode::NO_CONTENT);
    assert_eq!(send(&keep, Value::Null).await, StatusCode::CONFLICT);
    let listed = standing_orders(&program, &workspace).await;
    assert_eq!((listed.len(), &listed[0]["draft"]), (1, &json!(false)));
    assert_eq!(program.stop(), Some(0));
}

/// Every user is an admin in the local room. An order is a draft there until it is confirmed, and the answer says what
/// it would have changed.
#[tokio::test]
async fn the_chat_tells_what_an_order_would_have_changed() {
    let server = Server::start(ServerLimits::default()).await;
    let home = Home::new(0.1);
    home.replace("  announce: false\n", "  announce: false\n  order_trial_cost: 0.5\n");
    home.add(&format!(
        "{PRICES}agents: {{response: {{model_id: openai/large-1, client_args: {{api_key: sk-test, api_base: '{}/v1'}}}}}}\n",
        server.base
    ));
    let program = home.start();
    let posts = async || -> Vec<String> {
        let messages = program.messages().await;
        let posts = messages.iter().filter(|message| message["persona"] == true);
        posts.map(|message| message["text"].as_str().unwrap().to_owned()).collect()
    };
    let is_post = |kind: &str, data: &Value| kind == "message" && data["persona"] == true;
    server.will_say(&[&verdict(true, REASON), "on the top shelf"]);
    program.says("alice", "where is the kettle?").await;
    program.wait_for(0, is_post).await;
    server.will_say(&[&verdict(false, FORBIDDEN), &verdict(true, REASON)]);
    program.says("alice", "@Aizuchi in this channel: never about kettles").await;
    let is_draft = |kind: &str, data: &Value| {
        let text = data["text"].as_str().unwrap_or_default();
        kind == "message" && text.starts_with("Draft 1")
    };
    program.wait_for(0, is_draft).await;
    let told = posts().await.pop().unwrap();
    let expected = "Of 1 time I spoke here unasked in the last 7 days, 1 would have stayed silent.";
    assert!(told.contains(expected), "{told}");
    let listed = program.get("/api/standing-orders?channel=general").await;
    assert_eq!(listed["standing_orders"][0]["draft"], true);
    program.says("alice", "@Aizuchi keep order 1").await;
    let is_kept = |kind: &str, data: &Value| {
        let text = data["text"].as_str().unwrap_or_default();
        kind == "message" && text.starts_with("Noted as order 1")
    };
    program.wait_for(0, is_kept).await;
    let listed = program.get("/api/standing-orders?channel=general").await;
    assert_eq!(listed["standing_orders"][0]["draft"], false);
    program.kill();
}

/// If a user gives an order and posts again, the answer is started over. The model's results so far are cached.
#[tokio::test]
async fn a_trial_that_is_begun_anew_asks_nothing_twice() {
    let server = Server::start(ServerLimits::default()).await;
    let home = Home::new(0.1);
    home.replace("  announce: false\n", "  announce: false\n  order_trial_cost: 0.5\n");
    home.add(&format!(
        "{PRICES}agents: {{response: {{model_id: openai/large-1, client_args: {{api_key: sk-test, api_base: '{}/v1'}}}}}}\n",
        server.base
    ));
    let program = home.start();
    server.will_say(&[&verdict(true, REASON), "on the top shelf"]);
    program.says("alice", "where is the kettle?").await;
    program.wait_for(0, |kind, data| kind == "message" && data["persona"] == true).await;
    let asked = server.requests().len();
    server.then([
        ProviderResponse::Says(verdict(false, FORBIDDEN)),
        ProviderResponse::Held(verdict(true, REASON)),
        ProviderResponse::Says(verdict(true, REASON)),
    ]);
    program.says("alice", "@Aizuchi in this channel: never about kettles").await;
    server.came(asked + 2).await;
    program.says("alice", "as I said").await;
    server.abandoned(1).await;
    let is_told = |kind: &str, data: &Value| {
        let text = data["text"].as_str().unwrap_or_default();
        kind == "message" && text.contains("1 would have stayed silent.")
    };
    program.wait_for(0, is_told).await;
    let requests = server.requests();
    let with_order =
        requests.iter().filter(|it| it.body.to_string().contains("never about kettles")).count();
    assert_eq!(with_order, 1);
    program.kill();
}

/// The built-in rules do not read orders, and say so.
#[tokio::test]
async fn without_a_model_there_is_nothing_to_try() {
    let home = Home::new(1000.0);
    home.replace("  announce: false\n", "  announce: false\n  order_trial_cost: 0.5\n");
    let program = home.start();
    program.says("alice", "@Aizuchi in this channel: be brief").await;
    let is_told = |kind: &str, data: &Value| {
        let text = data["text"].as_str().unwrap_or_default();
        kind == "message" && text.contains("The built-in rules judge here, and they read no orders")
    };
    program.wait_for(0, is_told).await;
    let address = format!("{}/console/channels/local/general/order-trial", program.address);
    let page = client().post(address).header("accept-language", "en");
    let page = page.header("content-type", "application/x-www-form-urlencoded");
    let page = page.body("text=be+brief&channel=general&action=price").send().await.unwrap();
    let page = page.text().await.unwrap();
    assert!(page.contains("With a language model it can be tried."), "{page}");
    program.kill();
}
