//! Messages of the local room: sending, resending, editing, reacting and reading.

use serde_json::{Value, json};

use crate::program::Home;

#[tokio::test]
async fn a_user_can_edit_and_delete_own_messages() {
    let home = Home::new(1000.0);
    let program = home.start();
    let id = program.says("alice", "helo").await;
    let path = format!("/api/messages/{id}");
    let body = |user: &str, text: &str| json!({ "channel": "general", "user": user, "text": text });
    let not_own = json!({ "error": "only the person who wrote a message can change it" });
    assert_eq!(
        program.send("PATCH", &path, Some(&body("bob", "hi"))).await,
        (403, not_own.clone())
    );
    let empty = json!({ "error": "the text is empty" });
    assert_eq!(program.send("PATCH", &path, Some(&body("alice", " "))).await, (422, empty));
    let (status, answer) =
        program.send("PATCH", &path, Some(&body("alice", "hello @Aizuchi"))).await;
    assert_eq!((status, &answer["id"]), (200, &json!(id)));
    // A mention that an edit adds is answered.
    program.wait_for(0, |kind, data| kind == "message" && data["persona"] == true).await;
    let message = &program.messages().await[0];
    assert_eq!((&message["text"], &message["edited"]), (&json!("hello @Aizuchi"), &json!(true)));
    assert_eq!(message["ts"], answer["ts"]);

    let whose = |user: &str| format!("{path}?channel=general&user={user}");
    assert_eq!(program.send("DELETE", &whose("bob"), None).await, (403, not_own));
    assert_eq!(program.send("DELETE", &whose("alice"), None).await, (200, json!({ "id": id })));
    let message = &program.messages().await[0];
    assert_eq!((&message["text"], &message["deleted"]), (&json!(""), &json!(true)));
    let gone = json!({ "error": format!("there is no message {id:?} in this channel") });
    assert_eq!(program.send("DELETE", &whose("alice"), None).await, (404, gone.clone()));
    assert_eq!(program.send("PATCH", &path, Some(&body("alice", "x"))).await, (404, gone));
    assert_eq!(program.send("DELETE", &path, None).await.0, 400);
}

#[tokio::test]
async fn users_can_react_to_messages() {
    let home = Home::new(1000.0);
    let program = home.start();
    let id = program.says("alice", "the roses bloom").await;
    let before = program.get("/api/channels").await["revision"].as_u64().unwrap();
    assert_eq!(program.messages().await[0]["reactions"], json!([]));
    let body = |user: &str, emoji: &str, remove: Value| json!({ "channel": "general", "message": id, "user": user, "emoji": emoji, "remove": remove });
    let react = async |user: &str, emoji: &str, remove: bool| {
        let body = body(user, emoji, json!(remove));
        let (status, answer) = program.send("POST", "/api/reactions", Some(&body)).await;
        assert_eq!((status, answer), (204, Value::Null), "{body}");
    };
    react("bob", "🎉", false).await;
    react("bob", "🎉", false).await;
    react("carol", " 🎉 ", false).await;
    react("bob", "👍", false).await;
    let thumb = json!({ "emoji": "👍", "users": ["bob"], "own": false });
    let party = json!({ "emoji": "🎉", "users": ["bob", "carol"], "own": false });
    // An open page receives the change with a new revision.
    let reacted = |reactions: Value| {
        move |kind: &str, data: &Value| kind == "message" && data["reactions"] == reactions
    };
    let message = program.wait_for(before, reacted(json!([party, thumb]))).await;
    assert!(message["revision"].as_u64().unwrap() > before);
    assert_eq!((&message["text"], &message["edited"]), (&json!("the roses bloom"), &json!(false)));
    // A reacting user is added to the users.
    let people = program.get("/api/people").await;
    assert_eq!(people["people"].as_array().unwrap().len(), 3, "{people}");
    react("bob", "🎉", true).await;
    react("bob", "🎉", true).await;
    react("dave", "🎉", true).await;
    let party = json!({ "emoji": "🎉", "users": ["carol"], "own": false });
    assert_eq!(program.messages().await[0]["reactions"], json!([party, thumb]));
    assert_eq!(program.get("/api/people").await, people);

    let shape = r#"send {"channel": "…", "message": "…", "user": "…", "emoji": "…"} and, to take it back, "remove": true"#;
    let emoji = "an emoji must be one line of 1 to 32 characters";
    let with = |key: &str, value: &str| {
        let mut body = body("bob", "🎉", json!(false));
        body[key] = json!(value);
        body
    };
    for (body, status, sentence) in [
        (with("emoji", ""), 422, emoji),
        (with("emoji", &"x".repeat(33)), 422, emoji),
        (with("emoji", "a\nb"), 422, emoji),
        (with("user", ""), 422, "a name must be one line of 1 to 40 characters"),
        (
            with("user", "aizuchi"),
            409,
            "the name \"aizuchi\" belongs to the companion; please choose another",
        ),
        (with("channel", "nowhere"), 404, "there is no channel \"nowhere\" here"),
        (with("message", "x"), 404, "there is no message \"x\" in this channel"),
        (with("channel", "random"), 404, &format!("there is no message {id:?} in this channel")),
        (json!({ "channel": "general" }), 422, shape),
        (body("bob", "🎉", json!("yes")), 422, shape),
    ] {
        let (found, answer) = program.send("POST", "/api/reactions", Some(&body)).await;
        assert_eq!((found, answer["error"].as_str()), (status, Some(sentence)), "{body}");
    }
    let path = format!("/api/messages/{id}?channel=general&user=alice");
    assert_eq!(program.send("DELETE", &path, None).await.0, 200);
    assert_eq!(program.messages().await[0]["reactions"], json!([]));
    let (status, _) = program.send("POST", "/api/reactions", Some(&with("emoji", "👍"))).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn a_thread_comes_with_its_parent() {
    let home = Home::new(1000.0);
    let program = home.start();
    let parent = program.says("alice", "the roses look ill").await;
    let reply = json!({ "channel": "general", "thread": parent, "user": "bob", "text": "oh no" });
    assert_eq!(program.post(&reply).await.0, 201);
    let thread = program.get(&format!("/api/messages?channel=general&thread={parent}")).await;
    assert_eq!(thread["parent"]["text"], "the roses look ill");
    assert_eq!(thread["messages"][0]["text"], "oh no");
    assert!(program.get("/api/messages?channel=general").await["parent"].is_null());
}

#[tokio::test]
async fn posting_is_idempotent_on_the_id() {
    let home = Home::new(1000.0);
    let program = home.start();
    let message =
        json!({ "id": "0123456789abcdef", "channel": "general", "user": "alice", "text": "hello" });
    let (_, first) = program.post(&message).await;
    assert_eq!(program.post(&message).await, (201, first));
    let other = json!({ "id": "0123456789abcdef", "channel": "general", "user": "alice", "text": "goodbye" });
    let (status, answer) = program.post(&other).await;
    assert_eq!((status, &answer["error"]), (409, &json!("another message has this id already")));
    assert_eq!(program.messages().await.len(), 1);
}

/// The response to a message is lost, and before the client sends it again, its author edits and then deletes it.
#[tokio::test]
async fn a_message_that_was_edited_or_deleted_can_be_sent_again() {
    let home = Home::new(1000.0);
    let program = home.start();
    let id = "0123456789abcdef";
    let body = |user: &str| json!({ "id": id, "channel": "general", "user": user, "text": "helo" });
    let (_, first) = program.post(&body("alice")).await;
    let edit = json!({ "channel": "general", "user": "alice", "text": "hello" });
    let path = format!("/api/messages/{id}");
    assert_eq!(program.send("PATCH", &path, Some(&edit)).await.0, 200);
    assert_eq!(program.post(&body("alice")).await, (201, first.clone()));
    assert_eq!(program.messages().await[0]["text"], "hello");
    let path = format!("{path}?channel=general&user=alice");
    assert_eq!(program.send("DELETE", &path, None).await.0, 200);
    assert_eq!(program.post(&body("alice")).await, (201, first));
    assert_eq!(program.messages().await[0]["deleted"], true);
    // The id still refers to that message.
    assert_eq!(program.post(&body("bob")).await.0, 409);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn older_messages_are_paged() {
    let home = Home::new(1000.0);
    let program = home.start();
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(program.says("alice", &format!("line {number}")).await);
    }
    let older = program.get(&format!("/api/messages?channel=general&before={}", ids[2])).await;
    let older: Vec<&str> = older["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["id"].as_str().unwrap())
        .collect();
    assert_eq!(older, [&ids[0], &ids[1]]);
}
