//! Orders through the page's API: mute, mode, opt-out; and the budget.

use aizuchi_harness::providers::{Server, ServerLimits};
use serde_json::{Value, json};

use crate::program::{Home, Program};

const MUTE_SHAPE: &str = r#"send {"channel": "…", "minutes": 60}; without a channel: everywhere, without minutes: for good"#;
const MODE_SHAPE: &str = r#"send {"channel": "…", "mode": "companion", "facilitator", "mention_only", "propose", "observe", "off" or null}"#;

async fn order(program: &Program, order: &str, body: Value) {
    let (status, answer) = program.send("POST", &format!("/api/{order}"), Some(&body)).await;
    assert_eq!((status, answer), (204, Value::Null), "{order} {body}");
}

/// Returns the status of #general.
async fn general(program: &Program) -> Value {
    program.get("/api/channels").await["channels"][0].clone()
}

/// Waits for the closed decision on a message.
async fn closed(program: &Program, message: &str) -> Value {
    let is_it = |kind: &str, data: &Value| {
        let covers = |message: &str| data["messages"].as_array().unwrap().contains(&json!(message));
        kind == "decision" && !data["ended"].is_null() && covers(message)
    };
    program.wait_for(0, is_it).await
}

#[tokio::test]
async fn a_mute_applies_to_mentions_and_ends_with_unmute() {
    let home = Home::new(0.1);
    let program = home.start();
    order(&program, "mute", json!({ "channel": "general" })).await;
    let remark = program.says("alice", "where is the ladder?").await;
    let row = closed(&program, &remark).await;
    assert_eq!((&row["ended"], &row["gate"]), (&json!("muted"), &json!("muted")));
    assert_eq!((&row["mode"], &row["passed"]), (&json!("companion"), &json!(["channel_mode"])));
    assert_eq!(row["why"], "I was muted");
    let asked = program.says("alice", "@Aizuchi are you there?").await;
    let row = closed(&program, &asked).await;
    assert_eq!((&row["ended"], &row["gate"]), (&json!("muted"), &json!("muted")));

    // Other channels are not muted.
    let body = json!({ "channel": "random", "user": "bob", "text": "@Aizuchi hello?" });
    assert_eq!(program.post(&body).await.0, 201);
    let is_post_in = |channel: &'static str| {
        move |kind: &str, data: &Value| {
            kind == "message" && data["persona"] == true && data["channel"] == channel
        }
    };
    program.wait_for(0, is_post_in("random")).await;

    order(&program, "unmute", json!({ "channel": "general" })).await;
    let again = program.says("alice", "@Aizuchi and now?").await;
    let row = closed(&program, &again).await;
    assert_eq!(row["ended"], "spoke");
    // A mention during the mute is not answered later.
    assert_eq!(row["messages"], json!([again]));
    assert_eq!(closed(&program, &asked).await["ended"], "muted");

    order(&program, "mute", json!({ "minutes": 5 })).await;
    let asked = program.says("bob", "@Aizuchi please").await;
    assert_eq!(closed(&program, &asked).await["ended"], "muted");
}

#[tokio::test]
async fn orders_are_shown_and_survive_a_restart() {
    let home = Home::new(1000.0);
    home.add("channels:\n  '#random': {mode: observe}\n");
    let program = home.start();
    let status = |mode: &str, is_ordered: bool, until: Value| json!({ "id": "general", "name": "general", "mode": mode, "ordered": is_ordered, "muted_until": until });
    let default_status = status("companion", false, Value::Null);
    assert_eq!(general(&program).await, default_status);
    let channels = program.get("/api/channels").await;
    assert_eq!(channels["muted_until"], Value::Null);
    assert_eq!(channels["channels"][1]["mode"], "observe");

    for mode in ["facilitator", "mention_only", "propose", "observe", "off", "companion"] {
        order(&program, "mode", json!({ "channel": "general", "mode": mode })).await;
        assert_eq!(general(&program).await, status(mode, true, Value::Null));
    }
    // An open page receives the change.
    order(&program, "mute", json!({})).await;
    let is_muted = |kind: &str, data: &Value| kind == "room" && !data["muted_until"].is_null();
    let here = program.wait_for(0, is_muted).await;
    assert_eq!(here["channels"][0], general(&program).await);
    program.kill();

    let program = home.start();
    assert!(program.get("/api/channels").await["muted_until"].as_f64().unwrap() > 2e11);
    assert_eq!(general(&program).await, status("companion", true, Value::Null));
    order(&program, "unmute", json!({})).await;
    order(&program, "mute", json!({ "channel": "general", "minutes": 60 })).await;
    let hour = general(&program).await["muted_until"].as_f64().unwrap();
    let said = program.says("alice", "hello").await;
    let now = program.messages().await[0]["ts"].as_f64().unwrap();
    assert!((3500.0..3600.1).contains(&(hour - now)), "{said} {hour} {now}");
    order(&program, "unmute", json!({ "channel": "general" })).await;
    order(&program, "mode", json!({ "channel": "general", "mode": null })).await;
    assert_eq!(general(&program).await, default_status);
    assert_eq!(program.get("/api/channels").await["muted_until"], Value::Null);
}

#[tokio::test]
async fn modes_and_opt_outs_take_effect_at_once() {
    let home = Home::new(1000.0);
    let program = home.start();
    order(&program, "mode", json!({ "channel": "general", "mode": "observe" })).await;
    let asked = program.says("alice", "@Aizuchi hello?").await;
    let row = closed(&program, &asked).await;
    assert_eq!((&row["ended"], &row["gate"]), (&json!("muted"), &json!("channel_mode")));
    order(&program, "mode", json!({ "channel": "general", "mode": "off" })).await;
    program.says("alice", "@Aizuchi hello?").await;
    assert_eq!(program.messages().await[1]["gate"], "channel_mode");
    order(&program, "mode", json!({ "channel": "general", "mode": null })).await;

    order(&program, "opt-out", json!({ "user": "bob" })).await;
    let unheard = program.says("bob", "@Aizuchi hello?").await;
    assert_eq!(program.messages().await[2]["gate"], "opted_out");
    let rows = program.get(&format!("/api/decisions?message={unheard}")).await;
    assert_eq!(rows["decisions"], json!([]));
    order(&program, "opt-out", json!({ "user": "bob", "undo": true })).await;
    let heard = program.says("bob", "@Aizuchi and now?").await;
    assert_eq!(closed(&program, &heard).await["ended"], "spoke");
    // All orders are recorded, as given on this machine.
    let given = program.get("/api/orders").await;
    let given = given["orders"].as_array().unwrap();
    let kinds: Vec<_> = given.iter().map(|given| given["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["opt_in", "opt_out", "mode", "mode", "mode"]);
    assert!(given.iter().all(|given| given["by"] == ""));
    let values: Vec<_> = given[2..].iter().map(|given| given["value"].clone()).collect();
    assert_eq!(values, [Value::Null, json!("off"), json!("observe")]);
}

#[tokio::test]
async fn invalid_orders_are_refused() {
    let home = Home::new(1000.0);
    let program = home.start();
    let nowhere = "there is no channel \"nowhere\" here";
    let minutes = "it can be muted for 1 to 525600 minutes";
    for (order, body, status, sentence) in [
        ("mute", json!({ "channel": "nowhere" }), 404, nowhere),
        ("mute", json!({ "minutes": 0 }), 422, minutes),
        ("mute", json!({ "minutes": 525_601 }), 422, minutes),
        ("mute", json!({ "minutes": -5 }), 422, MUTE_SHAPE),
        ("mute", json!({ "minutes": "five" }), 422, MUTE_SHAPE),
        // If the misspelled key were ignored, all channels would be muted.
        ("mute", json!({ "chanel": "general" }), 422, MUTE_SHAPE),
        ("unmute", json!({ "channel": "nowhere" }), 404, nowhere),
        ("unmute", json!([]), 422, r#"send {"channel": "…"}; without a channel: everywhere"#),
        ("mode", json!({ "channel": "nowhere", "mode": "off" }), 404, nowhere),
        ("mode", json!({ "channel": "general", "mode": "loud" }), 422, MODE_SHAPE),
        ("mode", json!({ "channel": "general" }), 422, MODE_SHAPE),
        (
            "opt-out",
            json!({ "user": "aizuchi" }),
            409,
            "the name \"aizuchi\" belongs to the companion; please choose another",
        ),
        ("opt-out", json!({ "user": "" }), 422, "a name must be one line of 1 to 40 characters"),
        (
            "opt-out",
            json!({}),
            422,
            r#"send {"user": "…"} and, to be listened to again, "undo": true"#,
        ),
    ] {
        let (found, answer) = program.send("POST", &format!("/api/{order}"), Some(&body)).await;
        assert_eq!((found, answer["error"].as_str()), (status, Some(sentence)), "{order} {body}");
    }
    assert_eq!(program.send("GET", "/api/mute", None).await.0, 405);
    assert_eq!(general(&program).await["muted_until"], Value::Null);
}

#[tokio::test]
async fn spending_is_shown_with_its_limits() {
    let server = Server::start(ServerLimits::default()).await;
    let silence = json!({
        "should_respond": false, "reason": "no", "confidence": 0.9, "delay_seconds": null,
        "conversation_state": "active", "about": null, "reaction": null, "look_again_seconds": null,
    });
    server.will_say(&[&silence.to_string()]);
    let home = Home::new(0.1);
    home.add(&format!(
        "budget: {{tokens_per_day: 1, money_per_month: 2.5}}
channels:
  '#general': {{budget: {{tokens_per_day: 1000000000}}}}
models: {{prices: {{openai/large-1: {{input: 2, output: 10}}}}}}
agents: {{response: {{model_id: openai/large-1, client_args: {{api_base: '{}/v1'}}}}}}
",
        server.base
    ));
    let program = home.start();
    let nothing = |limits: Value| json!({ "tokens_in_day": 0, "tokens_in_month": 0, "price_in_day": 0.0, "price_in_month": 0.0, "unpriced_tokens_in_day": 0, "unpriced_tokens_in_month": 0, "limits": limits, "reached": "within" });
    let limits = json!({ "tokens_per_day": 1, "price_per_day": null, "price_per_month": 2.5 });
    let before = program.get("/api/spending").await;
    assert_eq!(before["workspace"], nothing(limits));
    assert_eq!(before["currency"], "USD");
    assert_eq!(before["channels"][0]["limits"]["tokens_per_day"], 1_000_000_000);

    let remark = program.says("alice", "my lunch was good").await;
    let row = closed(&program, &remark).await;
    let usage = &row["attempts"][0]["usage"];
    let used = usage["input_tokens"].as_u64().unwrap() + usage["output_tokens"].as_u64().unwrap();
    assert!(used > 1);
    let after = program.get("/api/spending").await;
    for (spending, reached) in [(&after["workspace"], "hard"), (&after["channels"][0], "within")] {
        assert_eq!(
            (&spending["tokens_in_day"], &spending["tokens_in_month"]),
            (&json!(used), &json!(used))
        );
        assert_eq!(spending["reached"], reached);
    }
    assert_eq!(after["channels"][1]["tokens_in_day"], 0);
    let price = &after["workspace"]["price_in_day"];
    assert!(price.as_f64().is_some_and(|price| price > 0.0), "{price}");
    // Over budget, the gate keeps the bot silent.
    let more = program.says("alice", "who cooks dinner?").await;
    let row = closed(&program, &more).await;
    assert_eq!((&row["ended"], &row["gate"]), (&json!("over_budget"), &json!("budget")));
}

#[tokio::test]
async fn standing_orders_are_given_listed_changed_and_revoked() {
    let home = Home::new(1000.0);
    let program = home.start();
    let give = async |body: Value| order(&program, "standing-orders", body).await;
    give(json!({ "channel": "general", "text": " be\nbrief " })).await;
    give(json!({ "text": "be kind" })).await;
    give(json!({ "number": 1, "text": "be very brief" })).await;
    let listed = async |query: &str| -> Vec<Value> {
        let answer = program.get(&format!("/api/standing-orders{query}")).await;
        let orders = answer["standing_orders"].as_array().unwrap().clone();
        let told = |order: Value| {
            json!([order["number"], order["version"], order["channel"], order["text"]])
        };
        orders.into_iter().map(told).collect()
    };
    let brief = json!([1, 2, "general", "be very brief"]);
    let kind = json!([2, 1, null, "be kind"]);
    assert_eq!(listed("?channel=general").await, [brief.clone(), kind.clone()]);
    assert_eq!(listed("?channel=random").await, std::slice::from_ref(&kind));
    let asked = program.says("alice", "@Aizuchi orders").await;
    assert_eq!(closed(&program, &asked).await["ended"], "spoke");
    let drop =
        async |id: u32| program.send("DELETE", &format!("/api/standing-orders/{id}"), None).await;
    assert_eq!(drop(1).await, (204, Value::Null));
    assert_eq!(drop(1).await.0, 409);
    assert_eq!(listed("").await, std::slice::from_ref(&kind));
    let first = json!([1, 1, "general", "be brief"]);
    assert_eq!(listed("?all=true").await, [first, brief, kind]);
    for (body, status) in [
        (json!({ "channel": "general", "text": " " }), 422),
        (json!({ "channel": "general", "text": "x".repeat(301) }), 422),
        (json!({ "channel": "nowhere", "text": "be kind" }), 404),
        (json!({ "channel": "general", "thread": "nothing", "text": "be kind" }), 404),
        (json!({ "thread": "m1", "text": "be kind" }), 422),
        (json!({ "chanel": "general", "text": "be kind" }), 422),
        (json!({ "number": 9, "text": "be kind" }), 409),
    ] {
        let answer = program.send("POST", "/api/standing-orders", Some(&body)).await;
        assert_eq!(answer.0, status, "{body}: {}", answer.1);
    }
    let journal = program.get("/api/orders").await;
    let kinds: Vec<_> =
        journal["orders"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    let expected = [
        "drop_standing_order", "change_standing_order", "give_standing_order",
        "give_standing_order",
    ];
    assert_eq!(kinds, expected);
}
