//! In a channel of mode `propose`, an unasked post is approved or rejected on the console and through the API.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::console::harness::client;
use crate::program::{Home, Program};

/// Waits until the decision on a message has ended this way.
async fn until_ended(program: &Program, message: &str, ended: &str) {
    let is_it = |kind: &str, data: &Value| {
        let covers = |message: &str| data["messages"].as_array().unwrap().contains(&json!(message));
        kind == "decision" && data["ended"] == ended && covers(message)
    };
    program.wait_for(0, is_it).await;
}

/// Returns the newest proposal.
async fn newest(program: &Program) -> Value {
    program.get("/api/proposals").await["proposals"][0].clone()
}

/// Returns the persona's posts.
async fn posts(program: &Program, channel: &str) -> Vec<String> {
    let messages = program.get(&format!("/api/messages?channel={channel}")).await;
    let messages = messages["messages"].as_array().unwrap().iter();
    let own = messages.filter(|message| message["persona"] == true);
    own.map(|message| message["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn words_are_approved_changed_or_declined() {
    let home = Home::new(0.1);
    home.add(
        "channels:\n  general: {mode: propose, min_confidence: 0.3}\n  random: {mode: propose, min_confidence: 0.3}\n",
    );
    let program = home.start();
    // The built-in rules can only quote.
    program.says("bob", "the ladder hangs behind the shed").await;
    let asked = program.says("alice", "does anyone know where the ladder is?").await;
    until_ended(&program, &asked, "proposed").await;
    let open = newest(&program).await;
    assert_eq!((&open["state"], &open["about"]), (&json!("open"), &json!(asked)), "{open}");
    let words = open["text"].as_str().unwrap();
    assert_eq!(posts(&program, "general").await, [""; 0]);
    // The console offers the same, even for browsers without scripts.
    let queue = program.request("/console/queue").await.text().await.unwrap();
    let id = open["id"].as_i64().unwrap();
    assert!(queue.contains("data-testid=\"proposal-text\""), "{queue}");
    assert!(queue.contains(&format!("name=\"proposal\" value=\"{id}\"")), "{queue}");
    let path = format!("/api/proposals/{id}");
    let blank = json!({ "choice": "edit", "text": " " });
    assert_eq!(program.send("POST", &path, Some(&blank)).await.0, 422);
    let unknown = json!({ "choice": "say" });
    let (status, _) = program.send("POST", "/api/proposals/100007", Some(&unknown)).await;
    assert_eq!(status, 404);
    let form = client()
        .post(format!("{}/console/queue", program.address))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(format!("proposal={id}&choice=say&back=/console/queue"));
    assert_eq!(form.send().await.unwrap().status(), StatusCode::SEE_OTHER);
    until_ended(&program, &asked, "spoke").await;
    assert_eq!(posts(&program, "general").await, [words]);
    let said = newest(&program).await;
    assert_eq!(
        (&said["state"], &said["text"], &said["by"]),
        (&json!("approved"), &json!(null), &json!(""))
    );
    let late = program.send("POST", &path, Some(&json!({ "choice": "never" }))).await;
    let told = "somebody has already decided about this proposal";
    assert_eq!(late, (409, json!({ "error": told })));

    // Another text is posted instead of the proposed one.
    let say = async |user: &str, text: &str| {
        let body = json!({ "channel": "random", "user": user, "text": text });
        program.post(&body).await.1
    };
    say("alice", "the key lies under the flower pot").await;
    let asked = say("bob", "does anyone know where the key is?").await;
    let asked = asked["id"].as_str().unwrap();
    until_ended(&program, asked, "proposed").await;
    let path = format!("/api/proposals/{}", newest(&program).await["id"]);
    let edit = json!({ "choice": "edit", "text": "By the gate." });
    assert_eq!(program.send("POST", &path, Some(&edit)).await.0, 204);
    until_ended(&program, asked, "spoke").await;
    assert_eq!(posts(&program, "random").await, ["By the gate."]);
    let answer = program.get("/api/proposals?workspace=local").await;
    let learned = answer["learned"].as_array().unwrap();
    assert!(learned.iter().all(|it| it["decided"] == 1 && it["confidence"].is_null()), "{answer}");
    assert_eq!(learned.len(), 2);
    assert_eq!(program.stop(), Some(0));
}
