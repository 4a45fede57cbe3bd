//! Tests of threads, forums, permission overwrites and commands.

use aizuchi_fakes::discord::FakeDiscordSettings;
use aizuchi_fakes::discord::channel::{NewChannel, NewChannelKind};
use aizuchi_fakes::discord::driver::setup::PermissionEffect;
use aizuchi_fakes::discord::thread::NewThread;
use serde_json::json;
use twilight_model::channel::ChannelType;
use twilight_model::guild::Permissions;

use super::{Harness, default_intents, settings};

#[tokio::test]
async fn a_thread_from_a_message_has_its_id() {
    let harness = Harness::new().await;
    let (mut socket, _) = harness.listen(default_intents()).await;
    let parent = harness.discord.send_message(harness.tea, harness.mio, "which tea?").unwrap();
    socket.event("MESSAGE_CREATE").await;
    let path = format!("channels/{}/messages/{parent}/threads", harness.tea);
    let (status, thread) = harness.request("POST", &path, json!({ "name": "which tea" })).await;
    assert_eq!((status, &thread["id"]), (201, &json!(parent)));
    assert_eq!(socket.event("THREAD_CREATE").await["newly_created"], true);
    assert_eq!(socket.event("MESSAGE_UPDATE").await["thread"]["id"], json!(parent));
    assert_eq!(socket.event("MESSAGE_CREATE").await["type"], 21);
    let message = harness.discord.send_message(parent.cast(), harness.mio, "green").unwrap();
    let event = socket.event("MESSAGE_CREATE").await;
    assert_eq!((&event["id"], &event["channel_id"]), (&json!(message), &json!(parent)));
    let (_, active) = harness.get(&format!("guilds/{}/threads/active", harness.guild)).await;
    assert_eq!(active["threads"][0]["message_count"], 1);
    assert_eq!(active["threads"][0]["parent_id"], json!(harness.tea));
    assert_eq!(
        active["members"][0]["user_id"],
        json!(harness.bot),
        "the app is a member of the thread that it started"
    );
}

#[tokio::test]
async fn a_message_unarchives_a_thread_unless_it_is_locked() {
    let harness = Harness::new().await;
    let parent = harness.discord.send_message(harness.tea, harness.mio, "old").unwrap();
    let thread =
        harness.discord.start_thread_from_message(harness.tea, parent, harness.mio, "old").unwrap();
    harness.discord.archive_thread(thread).unwrap();
    let active = format!("guilds/{}/threads/active", harness.guild);
    assert_eq!(harness.get(&active).await.1["threads"], json!([]));
    let archived = format!("channels/{}/threads/archived/public", harness.tea);
    assert_eq!(harness.get(&archived).await.1["threads"][0]["id"], json!(thread));
    let path = format!("channels/{thread}/messages");
    let react = format!(
        "{path}/{}/reactions/%F0%9F%8D%B5/@me",
        harness.discord.messages(thread).unwrap()[0].id
    );
    assert_eq!(harness.request("PUT", &react, json!({})).await.1["code"], 50083);
    assert_eq!(harness.request("POST", &path, json!({ "content": "again" })).await.0, 200);
    assert_eq!(harness.get(&active).await.1["threads"][0]["id"], json!(thread));
    harness.discord.lock_thread(thread).unwrap();
    assert_eq!(harness.request("POST", &path, json!({ "content": "?" })).await.1["code"], 160_005);
}

#[tokio::test]
async fn events_of_a_private_thread_go_to_its_members() {
    let harness = Harness::new().await;
    let (mut socket, _) = harness.listen(default_intents()).await;
    let new = NewThread {
        kind: ChannelType::PrivateThread,
        ..NewThread::new(harness.tea, harness.mio, "between us")
    };
    let thread = harness.discord.start_thread(new).unwrap();
    harness.discord.send_message(thread, harness.mio, "nobody hears").unwrap();
    let path = format!("channels/{thread}/messages");
    assert_eq!(harness.request("POST", &path, json!({ "content": "I do" })).await.1["code"], 50001);
    harness.discord.join_thread(thread, harness.bot).unwrap();
    assert_eq!(socket.event("THREAD_CREATE").await["id"], json!(thread));
    let joined = socket.event("THREAD_MEMBERS_UPDATE").await;
    assert_eq!(joined["added_members"][0]["user_id"], json!(harness.bot));
    harness.discord.send_message(thread, harness.mio, "come in").unwrap();
    assert_eq!(socket.event("MESSAGE_CREATE").await["content"], "come in");
}

#[tokio::test]
async fn a_forum_has_posts_but_no_messages_of_its_own() {
    let harness = Harness::new().await;
    let (mut socket, _) = harness.listen(default_intents()).await;
    let new = NewChannel {
        name: "questions".to_owned(),
        kind: NewChannelKind::Forum,
        ..Default::default()
    };
    let forum = harness.discord.add_channel(new).unwrap();
    socket.event("CHANNEL_CREATE").await;
    let path = format!("channels/{forum}/messages");
    assert_eq!(harness.request("POST", &path, json!({ "content": "x" })).await.1["code"], 50008);
    let post =
        harness.discord.create_forum_post(forum, harness.mio, "Milk?", "first or last?").unwrap();
    assert_eq!(socket.event("THREAD_CREATE").await["parent_id"], json!(forum));
    let first = socket.event("MESSAGE_CREATE").await;
    assert_eq!((&first["id"], &first["content"]), (&json!(post), &json!("first or last?")));
    let body = json!({ "name": "Sugar", "message": { "content": "one lump" } });
    let (status, own_post) =
        harness.request("POST", &format!("channels/{forum}/threads"), body).await;
    assert_eq!((status, &own_post["message"]["content"]), (201, &json!("one lump")));
    assert_eq!(harness.discord.posts()[0].text, "one lump");
}

#[tokio::test]
async fn a_command_takes_one_first_response_and_followups() {
    let harness = Harness::new().await;
    let commands = format!("applications/{}/commands", harness.bot);
    let body = json!([{ "name": "aizuchi", "description": "Ask it.", "type": 1 }]);
    assert_eq!(harness.request("PUT", &commands, body).await.0, 200);
    let invalid = json!([{ "name": "Wrong Name", "description": "" }]);
    assert_eq!(harness.request("PUT", &commands, invalid).await.1["code"], 50035);
    let (mut socket, _) = harness.listen(default_intents()).await;
    let options = json!([{ "name": "why", "type": 1 }]);
    let id = harness.discord.run_command(harness.tea, harness.mio, "aizuchi", options).unwrap();
    let interaction = socket.event("INTERACTION_CREATE").await;
    assert_eq!(
        (&interaction["data"]["name"], &interaction["member"]["user"]["id"]),
        (&json!("aizuchi"), &json!(harness.mio))
    );
    let token = interaction["token"].as_str().unwrap();
    let callback = format!("interactions/{id}/{token}/callback");
    let ephemeral = json!({ "type": 4, "data": { "content": "Because.", "flags": 64 } });
    assert_eq!(harness.request("POST", &callback, ephemeral.clone()).await.0, 204);
    assert_eq!(harness.request("POST", &callback, ephemeral).await.1["code"], 40060);
    let (_, more) = harness
        .request(
            "POST",
            &format!("webhooks/{}/{token}", harness.bot),
            json!({ "content": "And more." }),
        )
        .await;
    assert_eq!(more["type"], 20);
    let original = format!("webhooks/{}/{token}/messages/@original", harness.bot);
    assert_eq!(harness.request("PATCH", &original, json!({ "content": "Well." })).await.0, 200);
    let responses = harness.discord.interaction(id).unwrap().responses;
    let responses: Vec<_> =
        responses.iter().map(|one| (one.message.content.as_str(), one.is_ephemeral)).collect();
    assert_eq!(responses, [("Well.", true), ("And more.", false)]);
    assert_eq!(
        harness.discord.texts(harness.tea).unwrap(),
        ["And more."],
        "an ephemeral response is not in the history"
    );
    let unknown =
        harness.request("POST", "interactions/1/none/callback", json!({ "type": 5 })).await;
    assert_eq!(unknown.1["code"], 10062);
}

#[tokio::test]
async fn overwrites_need_permission_and_reveal_threads() {
    let permissions = Permissions::all().difference(Permissions::ADMINISTRATOR);
    let harness = Harness::with(FakeDiscordSettings { permissions, ..settings() }).await;
    let (mut socket, _) = harness.listen(default_intents()).await;
    let path = format!("channels/{}/permissions/{}", harness.tea, harness.mio);
    let deny = Permissions::SEND_MESSAGES;
    let (status, _) = harness.request("PUT", &path, json!({ "type": 1, "deny": deny })).await;
    assert_eq!(status, 204);
    let overwrites = socket.event("CHANNEL_UPDATE").await["permission_overwrites"].clone();
    assert_eq!((&overwrites[0]["id"], &overwrites[0]["deny"]), (&json!(harness.mio), &json!(deny)));
    assert_eq!(harness.request("DELETE", &path, json!({})).await.0, 204);
    socket.event("CHANNEL_UPDATE").await;
    let more = json!({ "type": 1, "allow": Permissions::ADMINISTRATOR });
    assert_eq!(harness.request("PUT", &path, more).await.1["code"], 50013);

    harness
        .discord
        .set_permissions(harness.tea, PermissionEffect::Deny, Permissions::VIEW_CHANNEL)
        .unwrap();
    socket.event("CHANNEL_UPDATE").await;
    let parent =
        harness.discord.send_message(harness.tea, harness.mio, "behind closed doors").unwrap();
    let thread = harness
        .discord
        .start_thread_from_message(harness.tea, parent, harness.mio, "talk")
        .unwrap();
    harness
        .discord
        .set_permissions(harness.tea, PermissionEffect::Allow, Permissions::VIEW_CHANNEL)
        .unwrap();
    socket.event("CHANNEL_UPDATE").await;
    assert_eq!(socket.event("THREAD_LIST_SYNC").await["threads"][0]["id"], json!(thread));
}
