//! Tests of messages over REST: posts, errors, permissions, rate limits and faults.

use aizuchi_fakes::discord::FakeDiscordSettings;
use aizuchi_fakes::discord::api_error::RateLimitScope;
use aizuchi_fakes::discord::driver::setup::PermissionEffect;
use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::id::ChannelId;
use aizuchi_fakes::discord::message::{EventDelivery, NewFakeMessage};
use aizuchi_fakes::discord::method::Method;
use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::file::FakeFile;
use aizuchi_model::clock::Clock;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use twilight_model::gateway::Intents;
use twilight_model::guild::Permissions;

use super::{Harness, default_intents, settings};

#[tokio::test]
async fn a_post_is_stored_and_its_event_has_the_nonce() {
    let harness = Harness::new().await;
    let (mut socket, _) = harness.listen(default_intents()).await;
    let body = json!({ "content": "Tea is ready.", "nonce": "n-1", "enforce_nonce": true });
    let (status, message) = harness.post(body.clone()).await;
    assert_eq!((status, &message["nonce"]), (200, &json!("n-1")));
    let event = socket.event("MESSAGE_CREATE").await;
    assert_eq!((&event["id"], &event["nonce"]), (&message["id"], &json!("n-1")));
    let posts = harness.discord.posts();
    assert_eq!(
        (posts.len(), &posts[0].text, &posts[0].body),
        (1, &"Tea is ready.".to_owned(), &body)
    );
    let (_, history) = harness.get(&format!("channels/{}/messages", harness.tea)).await;
    assert_eq!(history[0]["content"], "Tea is ready.");
    assert_eq!(history[0]["nonce"], Value::Null, "the nonce is not stored with the message");
}

#[tokio::test]
async fn posting_is_idempotent_on_an_enforced_nonce() {
    let harness = Harness::new().await;
    let body = json!({ "content": "once", "nonce": "n", "enforce_nonce": true });
    let (_, first) = harness.post(body.clone()).await;
    let (status, again) = harness.post(body.clone()).await;
    assert_eq!((status, &again["id"]), (200, &first["id"]));
    assert_eq!(harness.discord.texts(harness.tea).unwrap(), ["once"]);
    // Without `enforce_nonce`, the message is posted again.
    harness.post(json!({ "content": "twice", "nonce": "n" })).await;
    assert_eq!(harness.discord.posts().len(), 2);
    let id: Value = harness.post(body.clone()).await.1["id"].clone();
    let path = format!("channels/{}/messages/{}", harness.tea, id.as_str().unwrap());
    assert_eq!(harness.request("DELETE", &path, json!({})).await.0, 204);
    let (status, gone) = harness.post(body).await;
    assert_eq!((status, &gone["code"]), (404, &json!(10008)), "posted, and deleted meanwhile");
}

#[tokio::test]
async fn errors_have_discords_codes() {
    let harness = Harness::new().await;
    let tea = harness.tea;
    let theirs = harness.discord.send_message(tea, harness.mio, "mine").unwrap();
    let board = harness.discord.add_channel(aizuchi_fakes::discord::channel::NewChannel {
        name: "board".to_owned(),
        members: vec![harness.mio],
        ..Default::default()
    });
    let board = board.unwrap();
    harness.discord.start_thread_from_message(tea, theirs, harness.mio, "talk").unwrap();
    let long = "x".repeat(2001);
    let text = json!({ "content": "x" });
    for (http_method, path, body, expected_status, code) in [
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
        let (status, response) = harness.request(http_method, &path, body).await;
        assert_eq!(
            (status, &response["code"]),
            (expected_status, &json!(code)),
            "{http_method} {path}: {response}"
        );
    }
    assert_eq!(harness.discord.posts(), []);
}

#[tokio::test]
async fn permissions_decide_what_the_app_may_do() {
    let harness = Harness::new().await;
    let path = format!("channels/{}/messages", harness.tea);
    harness.discord.send_message(harness.tea, harness.mio, "hello").unwrap();
    for (permission, expected) in [
        (Permissions::READ_MESSAGE_HISTORY, (200, json!([]))),
        (Permissions::VIEW_CHANNEL, (403, json!({ "message": "Missing Access", "code": 50001 }))),
    ] {
        harness.discord.set_permissions(harness.tea, PermissionEffect::Deny, permission).unwrap();
        assert_eq!(harness.get(&path).await, expected);
        harness.discord.set_permissions(harness.tea, PermissionEffect::Allow, permission).unwrap();
    }
    harness
        .discord
        .set_permissions(harness.tea, PermissionEffect::Deny, Permissions::SEND_MESSAGES)
        .unwrap();
    assert_eq!(harness.post(json!({ "content": "x" })).await.1["code"], 50013);
    assert_eq!(harness.get(&path).await.1.as_array().unwrap().len(), 1);
    harness.discord.set_privileged_intents(PermissionEffect::Deny, Intents::MESSAGE_CONTENT);
    assert_eq!(harness.get(&path).await.1[0]["content"], "");
    let (_, application) = harness.get("applications/@me").await;
    assert_eq!(
        application["flags"].as_u64().unwrap() & (1 << 19),
        0,
        "the flag shows the app that it lacks the intent"
    );
}

#[tokio::test]
async fn history_is_newest_first_in_both_directions() {
    let harness = Harness::new().await;
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut ids = Vec::new();
    for number in 0..5 {
        let at = Some(start + SignedDuration::from_secs(number));
        let message = NewFakeMessage::new(harness.tea, harness.mio, &number.to_string());
        let message = NewFakeMessage { at, delivery: EventDelivery::Lost, ..message };
        ids.push(harness.discord.send_message_with(message).unwrap());
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
        let (_, found) = harness.get(&format!("channels/{}/messages?{query}", harness.tea)).await;
        let texts = found.as_array().unwrap().iter().map(|one| one["content"].as_str().unwrap());
        assert_eq!(texts.collect::<String>(), expected, "{query}");
    }
}

#[tokio::test]
async fn allowed_mentions_decide_who_is_pinged() {
    let harness = Harness::new().await;
    let question = harness.discord.send_message(harness.tea, harness.mio, "who?").unwrap();
    let content = format!("<@{}> @everyone", harness.mio);
    let to = json!({ "message_id": question });
    for (allowed, expected) in [
        (json!({ "parse": [] }), 0),
        (json!({ "parse": [], "replied_user": true }), 1),
        (json!({ "parse": ["users"] }), 1),
        (json!(null), 1),
    ] {
        let body =
            json!({ "content": content, "allowed_mentions": allowed, "message_reference": to });
        let (_, message) = harness.post(body).await;
        assert_eq!(message["mentions"].as_array().unwrap().len(), expected, "{allowed}");
        assert_eq!(message["mention_everyone"], false, "the app lacks the permission");
        assert_eq!(message["referenced_message"]["content"], "who?");
    }
}

#[tokio::test]
async fn rate_limits_are_reported_and_enforced() {
    // The clock stands still, so that no limit is reset because the machine is slow.
    let clock = Clock::manual("2026-01-01T00:00:00Z".parse().unwrap());
    let harness = Harness::with(FakeDiscordSettings { clock, ..settings() }).await;
    let path = format!("channels/{}/messages", harness.tea);
    for remaining in [4, 3, 2, 1, 0] {
        let response = harness.send("POST", &path, json!({ "content": "x" })).await.unwrap();
        assert_eq!(response.headers()["x-ratelimit-limit"], "5");
        assert_eq!(response.headers()["x-ratelimit-remaining"], remaining.to_string());
    }
    let refused = harness.send("POST", &path, json!({ "content": "x" })).await.unwrap();
    assert_eq!(refused.status().as_u16(), 429);
    assert_eq!(refused.headers()["x-ratelimit-scope"], "user");
    let error: Value = refused.json().await.unwrap();
    assert!(error["retry_after"].as_f64().unwrap() > 1.0, "{error}");
    assert_eq!(error["global"], false);
    assert_eq!(harness.discord.posts().len(), 5);

    harness.discord.inject_fault(Method::GetMe, Fault::rate_limited(0.5, RateLimitScope::Global));
    let refused = harness.send("GET", "users/@me", json!({})).await.unwrap();
    assert_eq!(refused.headers()["x-ratelimit-global"], "true");
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(refused.json::<Value>().await.unwrap()["retry_after"], 0.5);
}

#[tokio::test]
async fn faults_lose_responses_before_and_after_the_commit() {
    let harness = Harness::new().await;
    let path = format!("channels/{}/messages", harness.tea);
    let body = |text: &str| json!({ "content": text });
    let texts = |harness: &Harness| harness.discord.texts(harness.tea).unwrap();
    harness.discord.inject_fault(Method::CreateMessage, Fault::ResetBefore);
    assert!(harness.send("POST", &path, body("a")).await.is_err());
    harness.discord.inject_fault(Method::CreateMessage, Fault::ResetAfter);
    assert!(harness.send("POST", &path, body("b")).await.is_err());
    harness.discord.inject_fault(Method::CreateMessage, Fault::Status(503));
    assert_eq!(harness.post(body("c")).await.0, 503);
    harness.discord.inject_fault(Method::CreateMessage, Fault::StatusAfter(502));
    assert_eq!(harness.post(body("d")).await.0, 502);
    assert_eq!(texts(&harness), ["b", "d"]);

    harness.discord.inject_fault(Method::CreateMessage, Fault::HangAfter(Hang::UntilReleased));
    let hanging = harness.send("POST", &path, body("e"));
    let released = async {
        harness.wait_until(|discord| discord.posts().len() == 3).await;
        harness.discord.release_hanging();
    };
    let (response, ()) = tokio::join!(hanging, released);
    assert_eq!(response.unwrap().status().as_u16(), 200);

    let after = SignedDuration::from_millis(1);
    harness
        .discord
        .inject_fault(Method::CreateMessage, Fault::CommitLater { after, status: Some(504) });
    assert_eq!(harness.post(body("f")).await.0, 504);
    harness.wait_until(|discord| discord.posts().len() == 4).await;
    assert_eq!(texts(&harness), ["b", "d", "e", "f"]);
}

#[tokio::test]
async fn users_get_direct_messages_unless_they_close_them() {
    let harness = Harness::new().await;
    let (_, direct) =
        harness.request("POST", "users/@me/channels", json!({ "recipient_id": harness.mio })).await;
    let id: ChannelId = serde_json::from_value(direct["id"].clone()).unwrap();
    assert_eq!(
        (&direct["type"], id),
        (&json!(1), harness.discord.open_direct_message(harness.mio).unwrap())
    );
    let path = format!("channels/{id}/messages");
    assert_eq!(harness.request("POST", &path, json!({ "content": "hello" })).await.0, 200);
    harness.discord.close_direct_messages(harness.mio).unwrap();
    assert_eq!(harness.request("POST", &path, json!({ "content": "?" })).await.1["code"], 50007);
}

#[tokio::test]
async fn the_link_to_a_file_expires_and_the_message_has_a_new_one() {
    let harness = Harness::new().await;
    let base = format!("http://{}", harness.address);
    let file = FakeFile::new("tea.png", "image/png", b"PNG");
    let attachments = vec![harness.discord.upload_file(&base, harness.tea, file)];
    let old = attachments[0]["url"].as_str().unwrap().to_owned();
    let message = NewFakeMessage::new(harness.tea, harness.mio, "look");
    let sent = NewFakeMessage { attachments, ..message };
    let id = harness.discord.send_message_with(sent).unwrap();
    let get = async |url: &str| {
        let response = harness.http.get(url).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    assert_eq!(get(&old).await, (200, "PNG".to_owned()));
    harness.discord.expire_file_links();
    assert_eq!(get(&old).await.0, 404);
    let (_, message) = harness.get(&format!("channels/{}/messages/{id}", harness.tea)).await;
    let new = message["attachments"][0]["url"].as_str().unwrap();
    assert_eq!(get(new).await.0, 200);
}
