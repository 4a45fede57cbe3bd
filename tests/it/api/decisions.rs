//! Reading the ledger.

use serde_json::{Value, json};

use crate::program::Home;

#[tokio::test]
async fn a_decision_can_be_opened_and_read() {
    let home = Home::new(0.2);
    let program = home.start();
    let message = program.says("alice", "my <b>roses</b> look ill").await;
    let is_closed = |kind: &str, data: &Value| kind == "decision" && !data["ended"].is_null();
    let row = program.wait_for(0, is_closed).await;
    let page = format!("/decisions/{}", row["id"]);
    let shown = program.request(&page).await.text().await.unwrap();
    for part in [
        "stayed silent",
        "nobody asked the room anything",
        "my &#60;b&#62;roses&#60;/b&#62; look ill",
        "Judge: used",
        "You decide whether you should join in now.",
        "&#34;should_respond&#34;:false",
    ] {
        assert!(shown.contains(part), "{part:?} is missing in {shown}");
    }
    // A page of messages can include their decisions.
    let messages = program.get("/api/messages?channel=general&decisions=true").await;
    assert_eq!(messages["decisions"][0]["id"], row["id"]);

    // A deleted message is removed from the stored prompts.
    let path = format!("/api/messages/{message}?channel=general&user=alice");
    assert_eq!(program.send("DELETE", &path, None).await.0, 200);
    let shown = program.request(&page).await.text().await.unwrap();
    assert!(shown.contains("The text is no longer kept"), "{shown}");
    assert!(!shown.contains("roses"), "{shown}");
    for absent in ["/decisions/999", "/decisions/x"] {
        assert_eq!(program.request(absent).await.status().as_u16(), 404);
    }
}

#[tokio::test]
async fn a_decision_shows_its_gates_and_what_happened_next() {
    let home = Home::new(0.1);
    let program = home.start();
    let remark = program.says("alice", "my lunch was good").await;
    let row =
        program.wait_for(0, |kind, data| kind == "decision" && !data["ended"].is_null()).await;
    assert_eq!(row["mode"], "companion");
    assert_eq!(row["passed"].as_array().unwrap().len(), 11);
    assert_eq!((&row["conversation_state"], &row["about"]), (&json!("active"), &json!(remark)));
    assert_eq!(row["next"], json!({ "answered": null, "reactions": 0 }));
    let answer = program.says("bob", "@Aizuchi so it was").await;
    let rows = program.get(&format!("/api/decisions?message={remark}")).await;
    let next = &rows["decisions"][0]["next"]["answered"];
    assert_eq!(next["message"], json!(answer));
    // Another channel may have a message with the same id.
    let garden = json!({ "name": "garden" });
    assert_eq!(program.send("POST", "/api/channels", Some(&garden)).await.0, 201);
    for (channel, found) in [("general", 1), ("garden", 0)] {
        let path = format!("/api/decisions?message={remark}&channel={channel}");
        assert_eq!(program.get(&path).await["decisions"].as_array().unwrap().len(), found);
    }
    assert!(next["seconds"].as_f64().is_some_and(|seconds| (0.0..60.0).contains(&seconds)));

    let said = program.wait_for(0, |kind, data| kind == "message" && data["persona"] == true).await;
    let nod = json!({ "channel": "general", "message": said["id"], "user": "bob", "emoji": "👍" });
    assert_eq!(program.send("POST", "/api/reactions", Some(&nod)).await.0, 204);
    let rows = program.get(&format!("/api/decisions?message={answer}")).await;
    let asked = &rows["decisions"][0];
    assert_eq!((&asked["mode"], &asked["addressed"]), (&json!("companion"), &json!(true)));
    assert_eq!(asked["passed"], json!(["channel_mode", "muted", "budget"]));
    assert_eq!(asked["next"], json!({ "answered": null, "reactions": 1 }));
    assert_eq!(asked["all_said"], json!([said["id"]]));
    for (row, parts) in [
        (
            &row,
            &[
                "<dd>joins in at pauses</dd>",
                "channel mode, muted, quiet hours",
                "<dd>alice: my lunch was good</dd>",
                "bob wrote ",
            ][..],
        ),
        (asked, &["<dd>channel mode, muted, budget</dd>", "1 reaction to what I said"]),
    ] {
        let page = program.request(&format!("/decisions/{}", row["id"])).await;
        let page = page.text().await.unwrap();
        for part in parts {
            assert!(page.contains(part), "{part:?} is missing in {page}");
        }
    }
}
