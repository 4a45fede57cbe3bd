//! What people order on the page.

use serde_json::{Value, json};

use crate::program::{Home, Program};

const MUTE_SHAPE: &str = r#"send {"channel": "…", "minutes": 60}; without a channel: everywhere, without minutes: for good"#;
const MODE_SHAPE: &str = r#"send {"channel": "…", "mode": "companion", "facilitator", "mention_only", "observe", "off" or null}"#;

async fn order(room: &Program, what: &str, body: Value) {
    let (status, answer) = room.send("POST", &format!("/api/{what}"), Some(&body)).await;
    assert_eq!((status, answer), (204, Value::Null), "{what} {body}");
}

/// How it takes part in #general.
async fn general(room: &Program) -> Value {
    room.get("/api/channels").await["channels"][0].clone()
}

/// The decision on a line, once it is closed.
async fn closed(room: &Program, line: &str) -> Value {
    let is_it = |kind: &str, data: &Value| {
        let covers = |line: &str| data["messages"].as_array().unwrap().contains(&json!(line));
        kind == "decision" && !data["ended"].is_null() && covers(line)
    };
    room.wait_for(0, is_it).await
}

#[tokio::test]
async fn a_mute_holds_for_mentions_too_and_ends_when_it_is_told() {
    let home = Home::new(0.1);
    let room = home.start();
    order(&room, "mute", json!({ "channel": "general" })).await;
    let remark = room.says("alice", "where is the ladder?").await;
    let row = closed(&room, &remark).await;
    assert_eq!((&row["ended"], &row["gate"]), (&json!("muted"), &json!("muted")));
    assert_eq!((&row["mode"], &row["passed"]), (&json!("companion"), &json!(["channel_mode"])));
    assert_eq!(row["why"], "I am muted here");
    let asked = room.says("alice", "@Aizuchi are you there?").await;
    let row = closed(&room, &asked).await;
    assert_eq!((&row["ended"], &row["gate"]), (&json!("muted"), &json!("muted")));

    // Elsewhere it speaks.
    let body = json!({ "channel": "random", "user": "bob", "text": "@Aizuchi hello?" });
    assert_eq!(room.post(&body).await.0, 201);
    let is_said = |channel: &'static str| {
        move |kind: &str, data: &Value| {
            kind == "message" && data["persona"] == true && data["channel"] == channel
        }
    };
    room.wait_for(0, is_said("random")).await;

    order(&room, "unmute", json!({ "channel": "general" })).await;
    let again = room.says("alice", "@Aizuchi and now?").await;
    let row = closed(&room, &again).await;
    assert_eq!(row["ended"], "spoke");
    // What was asked while it was muted is not answered afterwards.
    assert_eq!(row["messages"], json!([again]));
    assert_eq!(closed(&room, &asked).await["ended"], "muted");

    order(&room, "mute", json!({ "minutes": 5 })).await;
    let asked = room.says("bob", "@Aizuchi please").await;
    assert_eq!(closed(&room, &asked).await["ended"], "muted");
}

#[tokio::test]
async fn what_was_ordered_is_told_and_outlives_a_restart() {
    let home = Home::new(1000.0);
    home.add("channels:\n  '#random': {mode: observe}\n");
    let room = home.start();
    let manner = |mode: &str, is_ordered: bool, until: Value| json!({ "id": "general", "name": "general", "mode": mode, "ordered": is_ordered, "muted_until": until });
    let usual = manner("companion", false, Value::Null);
    assert_eq!(general(&room).await, usual);
    let channels = room.get("/api/channels").await;
    assert_eq!(channels["muted_until"], Value::Null);
    assert_eq!(channels["channels"][1]["mode"], "observe");

    for mode in ["facilitator", "mention_only", "observe", "off", "companion"] {
        order(&room, "mode", json!({ "channel": "general", "mode": mode })).await;
        assert_eq!(general(&room).await, manner(mode, true, Value::Null));
    }
    // A page that is open hears of it.
    order(&room, "mute", json!({})).await;
    let is_muted = |kind: &str, data: &Value| kind == "room" && !data["muted_until"].is_null();
    let here = room.wait_for(0, is_muted).await;
    assert_eq!(here["channels"][0], general(&room).await);
    room.kill();

    let room = home.start();
    assert!(room.get("/api/channels").await["muted_until"].as_f64().unwrap() > 2e11);
    assert_eq!(general(&room).await, manner("companion", true, Value::Null));
    order(&room, "unmute", json!({})).await;
    order(&room, "mute", json!({ "channel": "general", "minutes": 60 })).await;
    let hour = general(&room).await["muted_until"].as_f64().unwrap();
    let said = room.says("alice", "hello").await;
    let now = room.messages().await[0]["ts"].as_f64().unwrap();
    assert!((3500.0..3600.1).contains(&(hour - now)), "{said} {hour} {now}");
    order(&room, "unmute", json!({ "channel": "general" })).await;
    order(&room, "mode", json!({ "channel": "general", "mode": null })).await;
    assert_eq!(general(&room).await, usual);
    assert_eq!(room.get("/api/channels").await["muted_until"], Value::Null);
}

#[tokio::test]
async fn modes_and_those_who_opted_out_are_obeyed_at_once() {
    let home = Home::new(1000.0);
    let room = home.start();
    order(&room, "mode", json!({ "channel": "general", "mode": "observe" })).await;
    let asked = room.says("alice", "@Aizuchi hello?").await;
    let row = closed(&room, &asked).await;
    assert_eq!((&row["ended"], &row["gate"]), (&json!("muted"), &json!("channel_mode")));
    order(&room, "mode", json!({ "channel": "general", "mode": "off" })).await;
    room.says("alice", "@Aizuchi hello?").await;
    assert_eq!(room.messages().await[1]["gate"], "channel_mode");
    order(&room, "mode", json!({ "channel": "general", "mode": null })).await;

    order(&room, "opt-out", json!({ "user": "bob" })).await;
    let unheard = room.says("bob", "@Aizuchi hello?").await;
    assert_eq!(room.messages().await[2]["gate"], "opted_out");
    let rows = room.get(&format!("/api/decisions?message={unheard}")).await;
    assert_eq!(rows["decisions"], json!([]));
    order(&room, "opt-out", json!({ "user": "bob", "undo": true })).await;
    let heard = room.says("bob", "@Aizuchi and now?").await;
    assert_eq!(closed(&room, &heard).await["ended"], "spoke");
}

#[tokio::test]
async fn orders_that_make_no_sense_are_refused() {
    let home = Home::new(1000.0);
    let room = home.start();
    let nowhere = "there is no channel \"nowhere\" here";
    let minutes = "it can be muted for 1 to 525600 minutes";
    for (what, body, status, sentence) in [
        ("mute", json!({ "channel": "nowhere" }), 404, nowhere),
        ("mute", json!({ "minutes": 0 }), 422, minutes),
        ("mute", json!({ "minutes": 525_601 }), 422, minutes),
        ("mute", json!({ "minutes": -5 }), 422, MUTE_SHAPE),
        ("mute", json!({ "minutes": "five" }), 422, MUTE_SHAPE),
        // Misspelled, it would silence all channels.
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
        (
            "opt-out",
            json!({ "user": "" }),
            422,
            "a name is needed, of at most 40 characters on one line",
        ),
        (
            "opt-out",
            json!({}),
            422,
            r#"send {"user": "…"} and, to be listened to again, "undo": true"#,
        ),
    ] {
        let (found, answer) = room.send("POST", &format!("/api/{what}"), Some(&body)).await;
        assert_eq!((found, answer["error"].as_str()), (status, Some(sentence)), "{what} {body}");
    }
    assert_eq!(room.send("GET", "/api/mute", None).await.0, 405);
    assert_eq!(general(&room).await["muted_until"], Value::Null);
}

#[tokio::test]
async fn what_was_used_up_stands_beside_its_limits() {
    let home = Home::new(0.1);
    home.add("budget: {tokens_per_day: 1, money_per_month: 2.5}\nchannels:\n  '#general': {budget: {tokens_per_day: 1000000000}}\n");
    let room = home.start();
    let nothing = |limits: Value| json!({ "tokens_in_day": 0, "tokens_in_month": 0, "price_in_day": 0.0, "price_in_month": 0.0, "limits": limits, "reached": "within" });
    let limits = json!({ "tokens_per_day": 1, "price_per_day": null, "price_per_month": 2.5 });
    let before = room.get("/api/spending").await;
    assert_eq!(before["workspace"], nothing(limits));
    assert_eq!(before["currency"], "USD");
    assert_eq!(before["channels"][0]["limits"]["tokens_per_day"], 1_000_000_000);

    let remark = room.says("alice", "lunch was good").await;
    let row = closed(&room, &remark).await;
    let usage = &row["attempts"][0]["usage"];
    let used = usage["input_tokens"].as_u64().unwrap() + usage["output_tokens"].as_u64().unwrap();
    assert!(used > 1);
    let after = room.get("/api/spending").await;
    for (spending, reached) in [(&after["workspace"], "hard"), (&after["channels"][0], "within")] {
        assert_eq!(
            (&spending["tokens_in_day"], &spending["tokens_in_month"]),
            (&json!(used), &json!(used))
        );
        assert_eq!(spending["reached"], reached);
    }
    assert_eq!(after["channels"][1]["tokens_in_day"], 0);
    // Over budget is a gate like the others.
    let more = room.says("alice", "dinner as well").await;
    let row = closed(&room, &more).await;
    assert_eq!((&row["ended"], &row["gate"]), (&json!("over_budget"), &json!("budget")));
}
