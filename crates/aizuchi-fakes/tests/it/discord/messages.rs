//! What is said over REST, and what Discord says to it.

use aizuchi_fakes::discord::api_error::RateLimitScope;
use aizuchi_fakes::discord::driver::setup::PermissionEffect;
use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::id::ChannelId;
use aizuchi_fakes::discord::message::{EventDelivery, NewFakeMessage};
use aizuchi_fakes::discord::method::Method;
use aizuchi_fakes::fault::Hang;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use twilight_model::gateway::Intents;
use twilight_model::guild::Permissions;

use super::{Stage, usual};

#[tokio::test]
async fn a_post_is_kept_told_and_echoed() {
    let stage = Stage::new().await;
    let (mut socket, _) = stage.listen(usual()).await;
    let body = json!({ "content": "Tea is ready.", "nonce": "n-1", "enforce_nonce": true });
    let (status, message) = stage.post(body.clone()).await;
    assert_eq!((status, &message["nonce"]), (200, &json!("n-1")));
    let told = socket.event("MESSAGE_CREATE").await;
    assert_eq!((&told["id"], &told["nonce"]), (&message["id"], &json!("n-1")));
    let posts = stage.discord.posts();
    assert_eq!(
        (posts.len(), &posts[0].text, &posts[0].body),
        (1, &"Tea is ready.".to_owned(), &body)
    );
    let (_, history) = stage.get(&format!("channels/{}/messages", stage.tea)).await;
    assert_eq!(history[0]["content"], "Tea is ready.");
    assert_eq!(history[0]["nonce"], Value::Null, "a nonce is not kept with the message");
}

#[tokio::test]
async fn one_nonce_makes_one_message() {
    let stage = Stage::new().await;
    let body = json!({ "content": "once", "nonce": "n", "enforce_nonce": true });
    let (_, first) = stage.post(body.clone()).await;
    let (status, again) = stage.post(body.clone()).await;
    assert_eq!((status, &again["id"]), (200, &first["id"]));
    assert_eq!(stage.discord.texts(stage.tea).unwrap(), ["once"]);
    // Without the wish it is said anew.
    stage.post(json!({ "content": "twice", "nonce": "n" })).await;
    assert_eq!(stage.discord.posts().len(), 2);
    let id: Value = stage.post(body.clone()).await.1["id"].clone();
    let path = format!("channels/{}/messages/{}", stage.tea, id.as_str().unwrap());
    assert_eq!(stage.ask("DELETE", &path, json!({})).await.0, 204);
    let (status, gone) = stage.post(body).await;
    assert_eq!((status, &gone["code"]), (404, &json!(10008)), "said, and gone meanwhile");
}

#[tokio::test]
async fn refusals_have_discords_numbers() {
    let stage = Stage::new().await;
    let tea = stage.tea;
    let theirs = stage.discord.send_message(tea, stage.mio, "mine").unwrap();
    let board = stage.discord.add_channel(aizuchi_fakes::discord::channel::NewChannel {
        name: "board".to_owned(),
        members: vec![stage.mio],
        ..Default::default()
    });
    let board = board.unwrap();
    stage.discord.start_thread_from_message(tea, theirs, stage.mio, "talk").unwrap();
    let long = "x".repeat(2001);
    let text = json!({ "content": "x" });
    for (verb, path, body, status, code) in [
        ("POST", "channels/1/messages".to_owned(), text.clone(), 404, 10003),
        ("POST", format!("channels/{board}/messages"), text.clone(), 403, 50001),
        ("POST", format!("channels/{tea}/messages"), json!({ "content": " " }), 400, 50006),
        ("POST", format!("channels/{tea}/messages"), json!({ "content": long }), 400, 50035),
        (
            "POST",
            format!("channels/{tea}/messages"),
            json!({ "content": "x", "nonce": long }),
            400,
            50035,
        ),
        (
            "POST",
            format!("channels/{tea}/messages"),
            json!({ "content": "x", "message_reference": { "message_id": "5" } }),
            400,
            50035,
        ),
        (
            "POST",
            format!("channels/{tea}/messages"),
            json!({ "content": "x", "allowed_mentions": { "parse": ["users"], "users": ["5"] } }),
            400,
            50035,
        ),
        ("PATCH", format!("channels/{tea}/messages/{theirs}"), text.clone(), 403, 50005),
        ("DELETE", format!("channels/{tea}/messages/{theirs}"), json!({}), 403, 50013),
        (
            "POST",
            format!("channels/{tea}/messages/bulk-delete"),
            json!({ "messages": ["1", "2"] }),
            403,
            50013,
        ),
        (
            "POST",
            format!("channels/{tea}/messages/{theirs}/threads"),
            json!({ "name": "again" }),
            400,
            160_004,
        ),
        (
            "PUT",
            format!("channels/{tea}/messages/{theirs}/reactions/tea/@me"),
            json!({}),
            400,
            10014,
        ),
        ("GET", "guilds/1".to_owned(), json!({}), 404, 10004),
        ("GET", "users/1".to_owned(), json!({}), 404, 10013),
        ("GET", format!("channels/{tea}/messages?limit=101"), json!({}), 400, 50035),
        ("GET", "channels/tea".to_owned(), json!({}), 400, 50035),
        ("GET", "nothing/here".to_owned(), json!({}), 404, 0),
        ("PUT", "users/@me".to_owned(), json!({}), 405, 0),
    ] {
        let (told, answer) = stage.ask(verb, &path, body).await;
        assert_eq!((told, &answer["code"]), (status, &json!(code)), "{verb} {path}: {answer}");
    }
    assert_eq!(stage.discord.posts(), []);
}

#[tokio::test]
async fn permissions_decide_what_the_app_may_do() {
    let stage = Stage::new().await;
    let path = format!("channels/{}/messages", stage.tea);
    stage.discord.send_message(stage.tea, stage.mio, "hello").unwrap();
    for (permission, expected) in [
        (Permissions::READ_MESSAGE_HISTORY, (200, json!([]))),
        (Permissions::VIEW_CHANNEL, (403, json!({ "message": "Missing Access", "code": 50001 }))),
    ] {
        stage.discord.set_permissions(stage.tea, PermissionEffect::Deny, permission).unwrap();
        assert_eq!(stage.get(&path).await, expected);
        stage.discord.set_permissions(stage.tea, PermissionEffect::Allow, permission).unwrap();
    }
    stage
        .discord
        .set_permissions(stage.tea, PermissionEffect::Deny, Permissions::SEND_MESSAGES)
        .unwrap();
    assert_eq!(stage.post(json!({ "content": "x" })).await.1["code"], 50013);
    assert_eq!(stage.get(&path).await.1.as_array().unwrap().len(), 1);
    stage.discord.set_privileged_intents(PermissionEffect::Deny, Intents::MESSAGE_CONTENT);
    assert_eq!(stage.get(&path).await.1[0]["content"], "");
    let (_, application) = stage.get("applications/@me").await;
    assert_eq!(application["flags"].as_u64().unwrap() & (1 << 19), 0, "the app can see it");
}

#[tokio::test]
async fn history_comes_newest_first_from_either_side() {
    let stage = Stage::new().await;
    let begin: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut ids = Vec::new();
    for number in 0..5 {
        let at = Some(begin + SignedDuration::from_secs(number));
        let saying = NewFakeMessage::new(stage.tea, stage.mio, &number.to_string());
        let saying = NewFakeMessage { at, delivery: EventDelivery::Lost, ..saying };
        ids.push(stage.discord.send_message_with(saying).unwrap());
    }
    let middle = ids[2];
    for (query, expected) in [
        ("limit=2".to_owned(), "43"),
        (format!("after={middle}&limit=1"), "3"),
        (format!("after={middle}"), "43"),
        ("after=0&limit=2".to_owned(), "10"),
        (format!("before={middle}&limit=1"), "1"),
        (format!("around={middle}&limit=3"), "321"),
        (String::new(), "43210"),
    ] {
        let (_, found) = stage.get(&format!("channels/{}/messages?{query}", stage.tea)).await;
        let texts = found.as_array().unwrap().iter().map(|one| one["content"].as_str().unwrap());
        assert_eq!(texts.collect::<String>(), expected, "{query}");
    }
}

#[tokio::test]
async fn only_whom_the_app_lets_is_pinged() {
    let stage = Stage::new().await;
    let asked = stage.discord.send_message(stage.tea, stage.mio, "who?").unwrap();
    let content = format!("<@{}> @everyone", stage.mio);
    let to = json!({ "message_id": asked });
    for (allowed, pinged) in [
        (json!({ "parse": [] }), 0),
        (json!({ "parse": [], "replied_user": true }), 1),
        (json!({ "parse": ["users"] }), 1),
        (json!(null), 1),
    ] {
        let body =
            json!({ "content": content, "allowed_mentions": allowed, "message_reference": to });
        let (_, message) = stage.post(body).await;
        assert_eq!(message["mentions"].as_array().unwrap().len(), pinged, "{allowed}");
        assert_eq!(message["mention_everyone"], false, "it has no such permission");
        assert_eq!(message["referenced_message"]["content"], "who?");
    }
}

#[tokio::test]
async fn buckets_are_told_and_kept() {
    let stage = Stage::new().await;
    let path = format!("channels/{}/messages", stage.tea);
    for left in [4, 3, 2, 1, 0] {
        let answer = stage.send("POST", &path, json!({ "content": "x" })).await.unwrap();
        assert_eq!(answer.headers()["x-ratelimit-limit"], "5");
        assert_eq!(answer.headers()["x-ratelimit-remaining"], left.to_string());
    }
    let refused = stage.send("POST", &path, json!({ "content": "x" })).await.unwrap();
    assert_eq!(refused.status().as_u16(), 429);
    assert_eq!(refused.headers()["x-ratelimit-scope"], "user");
    let told: Value = refused.json().await.unwrap();
    assert!(told["retry_after"].as_f64().unwrap() > 1.0, "{told}");
    assert_eq!(told["global"], false);
    assert_eq!(stage.discord.posts().len(), 5);

    stage.discord.inject_fault(Method::GetMe, Fault::rate_limited(0.5, RateLimitScope::Global));
    let refused = stage.send("GET", "users/@me", json!({})).await.unwrap();
    assert_eq!(refused.headers()["x-ratelimit-global"], "true");
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(refused.json::<Value>().await.unwrap()["retry_after"], 0.5);
}

#[tokio::test]
async fn faults_lose_answers_before_and_after() {
    let stage = Stage::new().await;
    let path = format!("channels/{}/messages", stage.tea);
    let body = |text: &str| json!({ "content": text });
    let said = |stage: &Stage| stage.discord.texts(stage.tea).unwrap();
    stage.discord.inject_fault(Method::CreateMessage, Fault::ResetBefore);
    assert!(stage.send("POST", &path, body("a")).await.is_err());
    stage.discord.inject_fault(Method::CreateMessage, Fault::ResetAfter);
    assert!(stage.send("POST", &path, body("b")).await.is_err());
    stage.discord.inject_fault(Method::CreateMessage, Fault::Status(503));
    assert_eq!(stage.post(body("c")).await.0, 503);
    stage.discord.inject_fault(Method::CreateMessage, Fault::StatusAfter(502));
    assert_eq!(stage.post(body("d")).await.0, 502);
    assert_eq!(said(&stage), ["b", "d"]);

    stage.discord.inject_fault(Method::CreateMessage, Fault::HangAfter(Hang::UntilReleased));
    let hanging = stage.send("POST", &path, body("e"));
    let released = async {
        stage.until(|discord| discord.posts().len() == 3).await;
        stage.discord.release_hanging();
    };
    let (answer, ()) = tokio::join!(hanging, released);
    assert_eq!(answer.unwrap().status().as_u16(), 200);

    let after = SignedDuration::from_millis(1);
    stage
        .discord
        .inject_fault(Method::CreateMessage, Fault::CommitLater { after, answer: Some(504) });
    assert_eq!(stage.post(body("f")).await.0, 504);
    stage.until(|discord| discord.posts().len() == 4).await;
    assert_eq!(said(&stage), ["b", "d", "e", "f"]);
}

#[tokio::test]
async fn people_can_be_written_to_unless_they_close_the_door() {
    let stage = Stage::new().await;
    let (_, direct) =
        stage.ask("POST", "users/@me/channels", json!({ "recipient_id": stage.mio })).await;
    let id: ChannelId = serde_json::from_value(direct["id"].clone()).unwrap();
    assert_eq!(
        (&direct["type"], id),
        (&json!(1), stage.discord.open_direct_message(stage.mio).unwrap())
    );
    let path = format!("channels/{id}/messages");
    assert_eq!(stage.ask("POST", &path, json!({ "content": "hello" })).await.0, 200);
    stage.discord.close_direct_messages(stage.mio).unwrap();
    assert_eq!(stage.ask("POST", &path, json!({ "content": "?" })).await.1["code"], 50007);
}
