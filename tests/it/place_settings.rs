//! Settings of a channel that are ordered in the chat, through the API and on the console.

use aizuchi_harness::providers::{Server, ServerLimits};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::console::harness::{
    ADMIN, OPERATOR, VIEWER, client, encode, get, json_of, post, set_tokens, slack_workspace,
};
use crate::language::{answer, is_japanese};
use crate::program::{Home, Program};
use crate::slack::harness::{SlackHarness, SlackOptions};

const NAMED: &str =
    "models:\n  named:\n    small: {model_id: openai/small-1, client_args: {api_key: sk-x}}\n";

/// Returns a setting from the API's response.
fn setting(answer: &Value, name: &str) -> Value {
    let settings = answer["settings"].as_array().unwrap().iter();
    settings.clone().find(|setting| setting["setting"] == name).unwrap().clone()
}

async fn here(program: &Program, name: &str) -> Value {
    setting(&program.get("/api/settings?channel=general").await, name)
}

async fn change(program: &Program, body: Value) {
    let (status, answer) = program.send("POST", "/api/settings", Some(&body)).await;
    assert_eq!((status, answer), (204, Value::Null), "{body}");
}

#[tokio::test]
async fn a_language_is_set_in_the_chat_and_holds_at_once() {
    let home = Home::new(1000.0);
    let program = home.start();
    let english = answer(&program, "general", "@Aizuchi are you there?").await;
    assert!(!is_japanese(&english), "{english}");
    let done = answer(&program, "general", "@Aizuchi set language ja here").await;
    assert!(done.contains("`@Aizuchi 言語を標準に戻して`"), "{done}");
    let japanese = answer(&program, "general", "@Aizuchi are you there?").await;
    assert!(is_japanese(&japanese), "{japanese}");
    let english = answer(&program, "random", "@Aizuchi are you there?").await;
    assert!(!is_japanese(&english), "{english}");
    program.kill();

    let program = home.start();
    let listed = answer(&program, "general", "@Aizuchi 設定").await;
    assert!(listed.contains("- 言語：日本語（このチャンネルの設定）"), "{listed}");
    let done = answer(&program, "general", "@Aizuchi 言語を標準に戻して").await;
    assert!(done.contains("いまは「自動」です"), "{done}");
    let english = answer(&program, "general", "@Aizuchi are you there?").await;
    assert!(!is_japanese(&english), "{english}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn the_api_tells_and_changes_settings_with_where_they_come_from() {
    let home = Home::new(1000.0);
    home.add("channels:\n  '#general': {min_confidence: 0.8, memory: \"off\"}\n");
    let program = home.start();
    let confidence = here(&program, "min_confidence").await;
    assert_eq!(
        (&confidence["value"], &confidence["ordered"], &confidence["place"]),
        (&json!("0.8"), &json!(false), &json!("channel"))
    );
    change(&program, json!({ "setting": "min_confidence", "value": "0.6" })).await;
    let confidence = here(&program, "min_confidence").await;
    assert_eq!(
        (&confidence["value"], &confidence["configured"], &confidence["place"]),
        (&json!("0.6"), &json!("0.8"), &json!("workspace"))
    );
    let body = json!({ "channel": "general", "setting": "min_confidence", "value": "0.9" });
    change(&program, body).await;
    let confidence = here(&program, "min_confidence").await;
    assert_eq!((&confidence["value"], &confidence["by"]), (&json!("0.9"), &json!("")));
    // An order cannot enable memory that the config disables.
    let body = json!({ "channel": "general", "setting": "memory", "value": "on" });
    change(&program, body).await;
    assert_eq!(here(&program, "memory").await["value"], "off");
    let parent = program.says("alice", "a thread of its own").await;
    let body =
        json!({ "channel": "general", "thread": parent, "setting": "language", "value": "ja" });
    change(&program, body).await;
    let there = format!("/api/settings?channel=general&thread={parent}");
    let language = setting(&program.get(&there).await, "language");
    assert_eq!((&language["value"], &language["place"]), (&json!("ja"), &json!("thread")));
    assert_eq!(here(&program, "language").await["value"], "auto");
    program.kill();

    let program = home.start();
    assert_eq!(here(&program, "min_confidence").await["value"], "0.9");
    let body = json!({ "channel": "general", "setting": "min_confidence", "value": null });
    change(&program, body).await;
    assert_eq!(here(&program, "min_confidence").await["value"], "0.6");
    let given = program.get("/api/orders").await;
    assert_eq!(given["orders"][0]["kind"], "change_setting");
    assert_eq!(given["orders"][0]["value"], "min_confidence");
    for body in [
        json!({ "channel": "general", "setting": "mood", "value": "gay" }),
        json!({ "channel": "general", "setting": "min_confidence", "value": "1.5" }),
        json!({ "chanel": "general", "setting": "memory", "value": "off" }),
        json!({ "channel": "general", "setting": "model", "value": "gpt" }),
        json!({ "channel": "general", "thread": parent, "setting": "announce", "value": "off" }),
        json!({ "thread": parent, "setting": "language", "value": "ja" }),
    ] {
        let (status, answer) = program.send("POST", "/api/settings", Some(&body)).await;
        assert_eq!(status, 422, "{body} {answer}");
    }
    let body = json!({ "channel": "nowhere", "setting": "memory", "value": "off" });
    assert_eq!(program.send("POST", "/api/settings", Some(&body)).await.0, 404);
    assert_eq!(program.stop(), Some(0));
}

/// Without a price, a budget in money would hold back nothing.
#[tokio::test]
async fn a_budget_over_a_model_without_a_price_says_so() {
    let free = "models:\n  prices:\n    openai/large-1: {input: 0, output: 0}\n";
    for (prices, is_short) in [("", true), (free, false)] {
        let server = Server::start(ServerLimits::default()).await;
        let home = Home::new(1000.0);
        let client = format!("client_args: {{api_key: sk-test, api_base: '{}/v1'}}", server.base);
        home.add(&format!(
            "{prices}agents: {{response: {{model_id: openai/large-1, {client}}}}}\n"
        ));
        let program = home.start();
        let english = answer(&program, "general", "@Aizuchi set budget 0.5 here").await;
        assert!(english.contains("Done"), "{english}");
        assert_eq!(english.contains("The price of a model in use is not known"), is_short);
        let japanese = answer(&program, "general", "@Aizuchi 予算を0.4にして").await;
        assert_eq!(
            japanese.contains("料金のわからないモデルが使われており"),
            is_short,
            "{japanese}"
        );
        let settings = program.get("/api/settings?channel=general").await;
        assert_eq!(settings["note"].is_string(), is_short, "{settings}");
        let body = json!({ "channels": ["general"], "order": "set money_per_day", "value": "0.3" });
        let (_, done) = program.send("POST", "/api/channels/order", Some(&body)).await;
        assert_eq!(done["note"].is_string(), is_short, "{done}");
        let numbers = format!("/console/channels?done={}", done["number"]);
        for page in [&*numbers, "/console/channels/local/general"] {
            let shown = get(&program, None, page).await.text().await.unwrap();
            assert_eq!(shown.contains("data-testid=\"unpriced\""), is_short, "{page}: {shown}");
        }
        assert_eq!(program.stop(), Some(0));
    }
}

/// Submits the console's form.
async fn submit(program: &Program, token: &str, fields: &[(&str, &str)]) -> StatusCode {
    let fields = fields.iter().map(|(name, value)| format!("{name}={}", encode(value)));
    let form = client().post(format!("{}/console/orders", program.address)).bearer_auth(token);
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    form.body(fields.collect::<Vec<_>>().join("&")).send().await.unwrap().status()
}

#[tokio::test]
async fn the_console_has_a_form_for_those_who_may_order() {
    let options = SlackOptions { more: NAMED, ..SlackOptions::default() };
    let harness = SlackHarness::with(options).await;
    set_tokens(&harness);
    let program = harness.start().await;
    let workspace = slack_workspace(&program, Some(VIEWER)).await;
    let path = format!("/console/channels/{workspace}/{}", harness.tea);
    let page = async |token| get(&program, Some(token), &path).await.text().await.unwrap();
    assert!(!page(VIEWER).await.contains("data-testid=\"settings\""));
    let operators = page(OPERATOR).await;
    assert!(operators.contains("set min_confidence") && !operators.contains("set model"));
    assert!(page(ADMIN).await.contains("set model"));
    let place = [("workspace", &*workspace), ("channel", &*harness.tea)];
    let set = |order: &'static str, value: &'static str| {
        [place[0], place[1], ("order", order), ("value", value)]
    };
    let refused = submit(&program, VIEWER, &set("set memory", "off")).await;
    assert_eq!(refused, StatusCode::FORBIDDEN);
    let done = submit(&program, OPERATOR, &set("set min_confidence", "0.85")).await;
    assert_eq!(done, StatusCode::SEE_OTHER);
    let refused = submit(&program, OPERATOR, &set("set model", "small")).await;
    assert_eq!(refused, StatusCode::FORBIDDEN);
    let done = submit(&program, ADMIN, &set("set model", "small")).await;
    assert_eq!(done, StatusCode::SEE_OTHER);
    let shown = page(ADMIN).await;
    for expected in ["value=\"0.85\"", "set for this channel", "by olga", "by http.token"] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    let done = submit(&program, OPERATOR, &set("clear min_confidence", "0.85")).await;
    assert_eq!(done, StatusCode::SEE_OTHER);
    let api = format!("/api/settings?workspace={workspace}&channel={}", harness.tea);
    let listed = json_of(get(&program, Some(OPERATOR), &api).await).await;
    assert_eq!(setting(&listed, "min_confidence")["value"], "0.7");
    assert_eq!(listed["models"], json!(["small"]));
    let refused = get(&program, Some(VIEWER), &api).await.status();
    assert_eq!(refused, StatusCode::FORBIDDEN);
    let body = json!({ "workspace": workspace, "setting": "memory", "value": "off" });
    let refused = post(&program, Some(VIEWER), "/api/settings", body).await;
    assert_eq!(refused, StatusCode::FORBIDDEN);
    assert_eq!(program.stop(), Some(0));
}

/// Its messages are still remembered and shown, even without a connection to the platform.
#[tokio::test]
async fn settings_hold_in_a_workspace_that_no_platform_connects() {
    let home = Home::new(1000.0);
    assert_eq!(home.start().stop(), Some(0));
    home.insert_unconnected_workspace("").await;
    let order = "INSERT INTO room_settings \
                     (workspace, channel, thread, setting, role, value, ordered_by, ordered_ms) \
                 VALUES ('slack:T9', 'C9', '', 'memory', 'admin', 'off', 'olga', 1000)";
    assert_eq!(home.change_rows(order.to_owned()).await, 1);
    let program = home.start();
    let listed = program.get("/api/settings?workspace=slack:T9&channel=C9").await;
    let memory = setting(&listed, "memory");
    assert_eq!((&memory["value"], &memory["place"]), (&json!("off"), &json!("channel")));
    assert_eq!(program.stop(), Some(0));
}
