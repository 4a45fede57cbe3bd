//! The local room's API on the real program: requests, errors, and recovery after a kill.

use serde_json::{Value, json};

use crate::program::Home;
use aizuchi_harness::net::http;

#[tokio::test]
async fn a_mention_in_a_thread_is_answered_there() {
    let home = Home::new(1000.0);
    let program = home.start();
    let channels = program.get("/api/channels").await;
    assert_eq!(channels["persona"]["name"], "Aizuchi");
    let general = &channels["channels"][0];
    assert_eq!((&general["id"], &general["name"]), (&json!("general"), &json!("general")));
    let parent = program.says("alice", "the roses look ill").await;
    let body = json!({ "channel": "general", "thread": parent, "user": "bob", "text": "@Aizuchi how come?" });
    let (status, said) = program.post(&body).await;
    assert_eq!(status, 201);
    assert!(said["ts"].as_f64().is_some_and(|ts| ts > 1.7e9));
    let answer =
        program.wait_for(0, |kind, data| kind == "message" && data["persona"] == true).await;
    assert_eq!((&answer["thread"], &answer["user"]), (&json!(parent), &json!("Aizuchi")));
    let thread = program.get(&format!("/api/messages?channel=general&thread={parent}")).await;
    assert_eq!(thread["messages"].as_array().unwrap().len(), 2);
    let after = program.get(&format!("/api/messages?channel=general&after={parent}")).await;
    assert_eq!(after["messages"].as_array().unwrap().len(), 2);
    let id = said["id"].as_str().unwrap();
    let rows = program.get(&format!("/api/decisions?message={id}")).await;
    let row = &rows["decisions"][0];
    assert_eq!((&row["ended"], &row["why"]), (&json!("spoke"), &json!("bob asked me")));
    assert_eq!(row["said"], answer["id"]);
    assert_eq!(program.get("/live").await["status"], "live");
    assert_eq!(program.get("/ready").await["status"], "ready");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_silence_has_a_reason() {
    let home = Home::new(0.2);
    let program = home.start();
    let message = program.says("alice", "my lunch was good").await;
    let is_closed = |kind: &str, data: &Value| kind == "decision" && !data["ended"].is_null();
    let row = program.wait_for(0, is_closed).await;
    assert_eq!(row["ended"], "chose_silence");
    assert_eq!(row["why"], "nobody asked the room anything");
    assert_eq!(row["messages"], json!([message]));
    assert_eq!(row["verdict"]["should_respond"], false);
}

#[tokio::test]
async fn users_and_channels_can_be_added() {
    let home = Home::new(1000.0);
    let program = home.start();
    let name = |name: &str| json!({ "name": name });
    for (path, body, status, expected) in [
        ("/api/channels", name("#garden"), 201, json!({ "id": "garden", "name": "garden" })),
        (
            "/api/channels",
            name("Garden"),
            409,
            json!({ "error": "there is a channel \"Garden\" already" }),
        ),
        (
            "/api/channels",
            name("a b"),
            422,
            json!({ "error": "a channel name must have 1 to 40 letters, digits, hyphens or underscores" }),
        ),
        ("/api/channels", json!({}), 422, json!({ "error": r#"send {"name": "…"}"# })),
        ("/api/people", name("花子"), 201, name("花子")),
        ("/api/people", name(" 花子 "), 200, name("花子")),
        (
            "/api/people",
            name("Aizuchi"),
            409,
            json!({ "error": "the name \"Aizuchi\" belongs to the companion; please choose another" }),
        ),
    ] {
        assert_eq!(program.send("POST", path, Some(&body)).await, (status, expected), "{body}");
    }
    // An open page receives everything that is added.
    let is_bob = |kind: &str, data: &Value| {
        kind == "room" && data["people"].as_array().unwrap().contains(&name("bob"))
    };
    let body = json!({ "channel": "garden", "user": "bob", "text": "hello @花子" });
    let seen = std::cell::Cell::new(0);
    let watched = program.wait_for(0, |kind, data| {
        seen.set(seen.get() + usize::from(kind == "room"));
        is_bob(kind, data)
    });
    let says = async {
        while seen.get() == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(program.post(&body).await.0, 201);
    };
    futures_util::future::join(watched, says).await;
    assert_eq!(seen.get(), 2);
    let people = program.get("/api/people").await;
    assert_eq!(people, json!({ "people": [name("bob"), name("花子")] }));
    // A page that is opened later starts with it.
    let here = program.wait_for(0, |kind, _| kind == "room").await;
    let channels: Vec<&Value> =
        here["channels"].as_array().unwrap().iter().map(|channel| &channel["name"]).collect();
    assert_eq!(channels, ["general", "random", "garden"]);
    assert_eq!(here["people"], people["people"]);
    program.kill();
    let program = home.start();
    assert_eq!(program.get("/api/people").await, people);
    assert_eq!(program.get("/api/channels").await["channels"].as_array().unwrap().len(), 3);
}

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
    // A user who reacts is added to the users.
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
    assert_eq!(row["passed"].as_array().unwrap().len(), 12);
    assert_eq!((&row["conversation_state"], &row["about"]), (&json!("active"), &json!(remark)));
    assert_eq!(row["next"], json!({ "answered": null, "reactions": 0 }));
    let answer = program.says("bob", "@Aizuchi so it was").await;
    let rows = program.get(&format!("/api/decisions?message={remark}")).await;
    let next = &rows["decisions"][0]["next"]["answered"];
    assert_eq!(next["message"], json!(answer));
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

#[tokio::test]
async fn metrics_count_what_happened() {
    let home = Home::new(0.2);
    let program = home.start();
    program.says("alice", "@Aizuchi are you there?").await;
    program.wait_for(0, |kind, data| kind == "message" && data["persona"] == true).await;
    program.says("bob", "my lunch was good").await;
    let is_silent =
        |kind: &str, data: &Value| kind == "decision" && data["ended"] == "chose_silence";
    program.wait_for(0, is_silent).await;
    let answer = program.request("/metrics").await;
    let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
    let text = answer.text().await.unwrap();
    for metric in [
        "aizuchi_messages_heard_total{author=\"human\",arrival=\"live\"} 2",
        "aizuchi_hear_seconds_count 2",
        "aizuchi_step_lateness_seconds_count{verb=\"reply\"} 1",
        "aizuchi_step_seconds_count{verb=\"post\"} 1",
        "aizuchi_decisions_total{ended=\"spoke\",gate=\"none\"} 1",
        "aizuchi_decisions_total{ended=\"chose_silence\",gate=\"none\"} 1",
        "aizuchi_model_calls_total{verb=\"judge\",model=\"builtin\",end=\"kept\"} 1",
        "aizuchi_posts_total{addressed=\"true\"} 1",
        "aizuchi_mention_answer_seconds_count 1",
        "aizuchi_unsolicited_soon_after_unseen_total 0",
        "aizuchi_dead_letters 0",
        "aizuchi_steps_pending{verb=\"judge\"} 0",
        "# EOF",
    ] {
        assert!(text.lines().any(|found| found == metric), "{metric} is missing in\n{text}");
    }
    for gauge in
        ["aizuchi_resident_memory_bytes", "aizuchi_start_seconds", "aizuchi_wake_ups_total"]
    {
        let found = text.lines().find_map(|line| line.strip_prefix(gauge)?.strip_prefix(' '));
        assert!(found.unwrap().parse::<f64>().unwrap() > 0.0, "{gauge}");
    }
    let chat_words = ["alice", "bob", "lunch", "there"];
    assert!(!chat_words.iter().any(|word| text.contains(word)), "{text}");
}

/// No file can grow, as on a full disk: not the database, and not the log.
#[tokio::test]
async fn a_silent_program_notices_that_nothing_can_be_written() {
    let home = Home::new(1000.0);
    let program = home.start_in_shell("trap '' XFSZ");
    program.says("alice", "hello").await;
    home.until_ready_is(&program, 200).await;
    program.limit_file_size(Some(1));
    // Nobody says anything.
    let why = home.until_ready_is(&program, 503).await;
    assert!(why.contains("the disk reports an error"), "{why}");
    let body = json!({ "channel": "general", "user": "alice", "text": "again" });
    assert_eq!(program.post(&body).await.0, 503);
    program.limit_file_size(None);
    home.until_ready_is(&program, 200).await;
    assert_eq!(program.post(&body).await.0, 201);
    let texts = program.messages().await;
    let texts: Vec<&str> = texts.iter().filter_map(|message| message["text"].as_str()).collect();
    assert_eq!(texts, ["hello", "again"]);
}

#[tokio::test]
async fn a_program_whose_database_was_moved_away_writes_nothing() {
    let home = Home::new(1000.0);
    let program = home.start();
    program.says("alice", "hello").await;
    let (there, elsewhere) = (home.database(), home.path().join("elsewhere.db"));
    std::fs::rename(&there, &elsewhere).unwrap();
    let body = json!({ "channel": "general", "user": "alice", "text": "again" });
    let (status, answer) = program.post(&body).await;
    assert_eq!(status, 503, "{answer}");
    let why = home.until_ready_is(&program, 503).await;
    assert!(why.contains("was removed while it was in use"), "{why}");
    std::fs::copy(&elsewhere, &there).unwrap();
    assert_eq!(program.post(&body).await.0, 503);
    let why = home.until_ready_is(&program, 503).await;
    assert!(why.contains("was replaced while it was in use"), "{why}");
    std::fs::rename(&elsewhere, &there).unwrap();
    home.until_ready_is(&program, 200).await;
    assert_eq!(program.post(&body).await.0, 201);
}

#[tokio::test]
async fn the_program_is_ready_again_once_the_database_is_writable() {
    use sqlx::{ConnectOptions, Connection, Executor};
    let home = Home::new(1000.0);
    let program = home.start();
    program.says("alice", "hello").await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(home.database());
    let mut other = options.connect().await.unwrap();
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let body = json!({ "channel": "general", "user": "alice", "text": "again" });
    let sentence = "the store is busy: another program holds a lock on the database";
    assert_eq!(program.post(&body).await, (503, json!({ "error": sentence })));
    let ready = program.request("/ready").await;
    assert_eq!(ready.status().as_u16(), 503);
    assert_eq!(ready.json::<Value>().await.unwrap(), json!({ "error": sentence }));
    assert_eq!(program.request("/metrics").await.status().as_u16(), 200);
    other.execute("ROLLBACK").await.unwrap();
    other.close().await.unwrap();
    assert_eq!(program.request("/ready").await.status().as_u16(), 200);
    assert_eq!(program.post(&body).await.0, 201);
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
async fn invalid_requests_are_refused_with_a_sentence() {
    let home = Home::new(1000.0);
    let program = home.start();
    let message = |channel: &str, user: &str, text: &str| json!({ "channel": channel, "user": user, "text": text });
    for (body, status, sentence) in [
        (message("nowhere", "alice", "hi"), 404, "there is no channel \"nowhere\" here"),
        (message("general", "alice", " \n "), 422, "the text is empty"),
        (
            message("general", "al\u{200b}ice", "hi"),
            422,
            "a name must be one line of 1 to 40 characters",
        ),
        (message("general", "alice", "\u{200b}"), 422, "the text is empty"),
        (message("general", "", "hi"), 422, "a name must be one line of 1 to 40 characters"),
        (
            message("general", "aizuchi", "hi"),
            409,
            "the name \"aizuchi\" belongs to the companion; please choose another",
        ),
        (
            message("general", "alice", &"x".repeat(20_000)),
            413,
            "the text has 20000 characters; at most 16000 are allowed",
        ),
        (
            message("general", "alice", &"x".repeat(1 << 20)),
            413,
            "the text has 1048576 characters; at most 16000 are allowed",
        ),
        (
            json!({ "channel": "general", "thread": "nothing", "user": "alice", "text": "hi" }),
            404,
            "there is no message \"nothing\" in this channel to reply to",
        ),
        (
            json!({ "channel": 7 }),
            422,
            r#"send {"channel": "…", "user": "…", "text": "…"} and, for a thread, "thread": "…""#,
        ),
    ] {
        let (found, answer) = program.post(&body).await;
        assert_eq!((found, answer["error"].as_str()), (status, Some(sentence)));
    }
    for (path, status, sentence) in [
        ("/api/messages", 400, "say which channel: /api/messages?channel=…"),
        ("/api/messages?channel=nowhere", 404, "there is no channel \"nowhere\" here"),
        ("/api/messages?channel=general&after=x", 404, "there is no message \"x\" in this channel"),
        (
            "/api/messages?channel=general&before=x",
            404,
            "there is no message \"x\" in this channel",
        ),
        (
            "/api/messages?channel=general&before=x&after=y",
            400,
            "give `after` or `before`, not both",
        ),
        ("/events?after=abc", 400, "after is a revision, a number"),
        ("/static/%ff", 404, "there is no such file"),
        ("/api/decisions", 400, "say of what: /api/decisions?message=… or ?channel=…"),
        ("/static/secret", 404, "there is no such file"),
        ("/nothing", 404, "there is nothing at this address"),
    ] {
        let answer = program.request(path).await;
        assert_eq!(answer.status().as_u16(), status, "{path}");
        let answer: Value = answer.json().await.unwrap();
        assert_eq!(answer["error"], sentence);
    }
    // None of it was stored.
    assert!(program.messages().await.is_empty());
}

/// Nothing in a request makes the program fail, or costs others their answer.
#[tokio::test]
async fn hostile_requests_are_refused() {
    let home = Home::new(1000.0);
    let program = home.start();
    let client = http();
    let deep = |open: &str, close: &str| open.repeat(50_000) + &close.repeat(50_000);
    let url = format!("{}/api/messages", program.address);
    for body in [
        deep("[", "]").into_bytes(),
        deep("{\"text\":", "}").into_bytes(),
        format!(
            "{{\"channel\": \"general\", \"user\": \"mallory\", \"text\": {}}}",
            deep("[", "]")
        )
        .into_bytes(),
        "[".repeat(900_000).into_bytes(),
        "x".repeat(8 << 20).into_bytes(),
        b"{\"channel\": \"general\", \"user\": \"\xff\xfe\", \"text\": \"hi\"}".to_vec(),
        br#"{"channel": "general", "user": "mallory", "text": "\ud800"}"#.to_vec(),
        br#"{"channel": "general", "user": "mallory", "text": 1e99999}"#.to_vec(),
        br#"{"channel": "\u0000", "user": "mallory", "text": "hi"}"#.to_vec(),
        Vec::new(),
    ] {
        let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
        let request = client.post(&url).header("content-type", "application/json").body(body);
        // A connection may end while more is sent than is read.
        let status = request.send().await.map_or(413, |answer| answer.status().as_u16());
        assert!((400..500).contains(&status), "{status}: {shown}");
    }
    let long = "a".repeat(60_000);
    for path in [
        "/api/messages?channel=general&after=%00",
        "/api/messages?channel=general&limit=99999999999999999999",
        "/api/messages?channel=general&limit=-1",
        "/api/messages?channel=%F0%9F%8D%B5%00&workspace=%27%20OR%201=1",
        "/api/decisions?message=%27%3B%20DROP%20TABLE%20messages%3B--",
        "/api/decisions?channel=..%2F..%2Fetc%2Fpasswd",
        "/static/..%2f..%2f..%2fetc%2fpasswd",
        "/decisions/99999999999999999999999",
        "/events?after=18446744073709551616",
        &format!("/api/messages?channel={long}"),
        &format!("/{long}"),
    ] {
        let status = program.request(path).await.status().as_u16();
        let shown: String = path.chars().take(80).collect();
        assert!(status < 500, "{status}: {shown}");
    }
    program.says("alice", "hello").await;
    assert_eq!(program.messages().await.len(), 1);
}

#[tokio::test]
async fn requests_with_a_foreign_host_or_origin_are_refused() {
    let home = Home::new(1000.0);
    let program = home.start();
    let url = format!("{}/api/channels", program.address);
    let client = http();
    let rebound = client.get(&url).header("host", "evil.example").send().await.unwrap();
    assert_eq!(rebound.status().as_u16(), 403);
    let foreign = client.get(&url).header("origin", "https://evil.example").send().await.unwrap();
    assert_eq!(foreign.status().as_u16(), 403);
    let own = client.get(&url).header("origin", &program.address).send().await.unwrap();
    assert_eq!(own.status().as_u16(), 200);
}

#[tokio::test]
async fn the_stream_resumes_after_the_last_event_seen() {
    let home = Home::new(1000.0);
    let program = home.start();
    program.says("alice", "one").await;
    let first = program.wait_for(0, |kind, data| kind == "message" && data["text"] == "one").await;
    let second = program.says("alice", "two").await;
    let seen = first["revision"].as_u64().unwrap();
    let next = program.wait_for(seen, |kind, _| kind == "message").await;
    assert_eq!(next["id"].as_str(), Some(&*second));
    let is_waiting =
        |kind: &str, data: &Value| kind == "status" && data["steps"][0]["doing"] == "considering";
    program.wait_for(seen, is_waiting).await;
    // A browser reconnects with the last event it saw, which takes precedence over the URL.
    let client = http();
    let resumed =
        client.get(format!("{}/events?after=0", program.address)).header("last-event-id", seen);
    let mut resumed = resumed.send().await.unwrap();
    let mut first = String::new();
    while !first.contains("event: message") {
        first += std::str::from_utf8(&resumed.chunk().await.unwrap().unwrap()).unwrap();
    }
    assert!(first.contains("\"text\":\"two\"") && !first.contains("\"text\":\"one\""), "{first}");
}

#[tokio::test]
async fn a_long_history_is_streamed_completely_and_in_order() {
    let home = Home::new(1000.0);
    let program = home.start();
    // More than one batch.
    const LINES: usize = 230;
    let texts: Vec<String> = (0..LINES).map(|number| format!("line {number}")).collect();
    // No client may have more than two hundred connections at once.
    for some in texts.chunks(LINES / 2) {
        futures_util::future::join_all(some.iter().map(|text| program.says("alice", text))).await;
    }
    let revisions = std::sync::Mutex::new(Vec::new());
    let are_all = |kind: &str, data: &Value| {
        let mut revisions = revisions.lock().unwrap();
        if kind == "message" {
            revisions.push(data["revision"].as_u64().unwrap());
        }
        revisions.len() == LINES
    };
    program.wait_for(0, are_all).await;
    let revisions = revisions.into_inner().unwrap();
    assert!(revisions.is_sorted_by(|one, next| one < next), "{revisions:?}");

    // A page has a part of it and says where the rest is, in both directions.
    let page = async |query: &str| {
        let page = program.get(&format!("/api/messages?channel=general{query}")).await;
        let messages = page["messages"].as_array().unwrap().iter();
        let ids: Vec<String> = messages.map(|it| it["id"].as_str().unwrap().to_owned()).collect();
        let id = |name: &str| page[name].as_str().map(str::to_owned);
        (ids, id("older"), id("newer"))
    };
    let (newest, older, newer) = page("").await;
    assert_eq!((newest.len(), older.as_ref(), newer), (200, newest.first(), None));
    let (oldest, before, newer) = page(&format!("&before={}", newest[0])).await;
    assert_eq!((oldest.len(), before, newer), (LINES - 200, None, None));
    let (first, older, newer) = page("&after=0").await;
    assert_eq!((first.len(), older, newer.as_ref()), (200, None, first.last()));
    let (rest, older, newer) = page(&format!("&after={}", first[199])).await;
    assert_eq!((rest.len(), older, newer), (LINES - 200, None, None));
    let room = program.get("/api/room").await;
    let talks = room["talks"].as_array().unwrap();
    let talk = talks.iter().find(|talk| talk["channel"] == "general").unwrap();
    assert_eq!((&talk["older"], &room["truncated"]), (&json!(newest[0]), &json!(false)));
}

#[tokio::test]
async fn kill_9_loses_no_message_and_answers_none_twice() {
    let home = Home::new(1000.0);
    let mut asked = Vec::new();
    for number in 0..12 {
        let program = home.start();
        for _ in 0..=number % 3 {
            asked.push(program.says("alice", &format!("@Aizuchi question {}", asked.len())).await);
        }
        program.kill();
    }
    let program = home.start();
    // All owed answers are posted now, and the ledger has a row for each question.
    for id in &asked {
        let is_answered = |kind: &str, data: &Value| {
            let covers =
                data["messages"].as_array().is_some_and(|messages| messages.contains(&json!(id)));
            kind == "decision" && covers && data["ended"] == "spoke"
        };
        program.wait_for(0, is_answered).await;
    }
    let messages = program.messages().await;
    let heard: Vec<&str> = messages
        .iter()
        .filter(|message| message["persona"] == false)
        .map(|message| message["id"].as_str().unwrap())
        .collect();
    assert_eq!(heard, asked);
    let rows = program.get("/api/decisions?channel=general").await;
    let rows = rows["decisions"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["ended"] == "spoke"), "{rows:#?}");
    // There is exactly one post for each decision.
    let own = messages.iter().filter(|message| message["persona"] == true).count();
    assert_eq!(own, rows.len());
    assert_eq!(program.get("/api/dead-letters").await, json!({ "dead_letters": [] }));
}

#[tokio::test]
async fn a_wait_survives_a_restart() {
    let home = Home::new(3.0);
    let is_waiting =
        |kind: &str, data: &Value| kind == "status" && data["steps"][0]["doing"] == "considering";
    let program = home.start();
    let is_own = |kind: &str, data: &Value| kind == "message" && data["persona"] == true;
    program.says("bob", "@Aizuchi remember that bob has the key").await;
    program.wait_for(0, is_own).await;
    program.says("alice", "who has the key?").await;
    let before = program.wait_for(0, is_waiting).await;
    program.kill();
    let program = home.start();
    let after = program.wait_for(0, is_waiting).await;
    assert_eq!(after["steps"][0]["due"], before["steps"][0]["due"]);
    let is_answer = |kind: &str, data: &Value| {
        is_own(kind, data)
            && data["text"].as_str().is_some_and(|it| it.starts_with("alice, this might help: "))
    };
    program.wait_for(0, is_answer).await;
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
    // It stays the id of that message.
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

#[tokio::test]
async fn a_stop_does_not_wait_for_a_client_that_never_ends() {
    use tokio::io::AsyncWriteExt;
    let home = Home::new(1000.0);
    let program = home.start();
    let mut stuck = program.connect().await;
    let half = "POST /api/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Content-Length: 100\r\n\r\n{";
    stuck.write_all(half.as_bytes()).await.unwrap();
    program.says("alice", "hello").await;
    let stopped = tokio::task::spawn_blocking(move || program.stop());
    let code = tokio::time::timeout(std::time::Duration::from_secs(30), stopped).await;
    assert_eq!(code.expect("the program stops by itself").unwrap(), Some(0));
}

#[tokio::test]
async fn a_japanese_program_refuses_in_japanese() {
    let home = Home::new(1000.0);
    let config = std::fs::read_to_string(home.config()).unwrap();
    std::fs::write(home.config(), format!("language: ja\n{config}")).unwrap();
    let program = home.start();
    let (_, answer) =
        program.post(&json!({ "channel": "general", "user": "花子", "text": " " })).await;
    assert_eq!(answer["error"], "発言が空です");
}
