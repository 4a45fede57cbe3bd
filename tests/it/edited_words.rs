//! The API and the decision's page show the proposed text beside the edited one that was posted.

use serde_json::{Value, json};

use crate::program::Home;

#[tokio::test]
async fn the_page_of_a_decision_names_what_was_proposed_and_who_changed_it() {
    let home = Home::new(0.1);
    home.add("channels:\n  general: {mode: propose, min_confidence: 0.3}\n");
    let program = home.start();
    // The built-in rules can only quote.
    program.says("bob", "the ladder hangs behind the shed").await;
    let asked = program.says("alice", "does anyone know where the ladder is?").await;
    let has_ended = |ended: &'static str| {
        let asked = json!(asked);
        move |kind: &str, data: &Value| {
            let covers = |data: &Value| data["messages"].as_array().unwrap().contains(&asked);
            kind == "decision" && data["ended"] == ended && covers(data)
        }
    };
    program.wait_for(0, has_ended("proposed")).await;
    let newest = async || program.get("/api/proposals").await["proposals"][0].clone();
    let open = newest().await;
    assert_eq!(open["original"], Value::Null);
    let words = open["text"].as_str().unwrap();
    let edit = json!({ "choice": "edit", "text": "By the gate." });
    let path = format!("/api/proposals/{}", open["id"]);
    assert_eq!(program.send("POST", &path, Some(&edit)).await.0, 204);
    program.wait_for(0, has_ended("spoke")).await;
    let said = newest().await;
    let shown = (&said["state"], &said["text"], &said["original"]);
    assert_eq!(shown, (&json!("edited"), &json!(null), &json!(words)));
    let page = format!("/console/decisions/local/{}", open["decision"]);
    let page = program.request(&page).await.text().await.unwrap();
    assert!(page.contains("said in other words, by this machine"), "{page}");
    assert!(page.contains("Proposed words"), "{page}");
    assert_eq!(program.stop(), Some(0));
}
