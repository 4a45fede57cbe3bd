//! Threads, forums and commands.

use aizuchi_fakes::discord::FakeDiscordSettings;
use aizuchi_fakes::discord::channel::{NewChannel, NewChannelKind};
use aizuchi_fakes::discord::driver::setup::PermissionEffect;
use aizuchi_fakes::discord::thread::NewThread;
use serde_json::json;
use twilight_model::channel::ChannelType;
use twilight_model::guild::Permissions;

use super::{Stage, settings, usual};

#[tokio::test]
async fn a_thread_grows_from_a_message_and_has_its_number() {
    let stage = Stage::new().await;
    let (mut socket, _) = stage.listen(usual()).await;
    let seed = stage.discord.send_message(stage.tea, stage.mio, "which tea?").unwrap();
    socket.event("MESSAGE_CREATE").await;
    let path = format!("channels/{}/messages/{seed}/threads", stage.tea);
    let (status, thread) = stage.ask("POST", &path, json!({ "name": "which tea" })).await;
    assert_eq!((status, &thread["id"]), (201, &json!(seed)));
    assert_eq!(socket.event("THREAD_CREATE").await["newly_created"], true);
    assert_eq!(socket.event("MESSAGE_UPDATE").await["thread"]["id"], json!(seed));
    assert_eq!(socket.event("MESSAGE_CREATE").await["type"], 21);
    let said = stage.discord.send_message(seed.cast(), stage.mio, "green").unwrap();
    let told = socket.event("MESSAGE_CREATE").await;
    assert_eq!((&told["id"], &told["channel_id"]), (&json!(said), &json!(seed)));
    let (_, active) = stage.get(&format!("guilds/{}/threads/active", stage.guild)).await;
    assert_eq!(active["threads"][0]["message_count"], 1);
    assert_eq!(active["threads"][0]["parent_id"], json!(stage.tea));
    assert_eq!(active["members"][0]["user_id"], json!(stage.bot), "who begins it is in it");
}

#[tokio::test]
async fn a_line_opens_an_archived_thread_but_not_a_locked_one() {
    let stage = Stage::new().await;
    let seed = stage.discord.send_message(stage.tea, stage.mio, "old").unwrap();
    let thread =
        stage.discord.start_thread_from_message(stage.tea, seed, stage.mio, "old").unwrap();
    stage.discord.archive_thread(thread).unwrap();
    let active = format!("guilds/{}/threads/active", stage.guild);
    assert_eq!(stage.get(&active).await.1["threads"], json!([]));
    let archived = format!("channels/{}/threads/archived/public", stage.tea);
    assert_eq!(stage.get(&archived).await.1["threads"][0]["id"], json!(thread));
    let path = format!("channels/{thread}/messages");
    let react = format!(
        "{path}/{}/reactions/%F0%9F%8D%B5/@me",
        stage.discord.messages(thread).unwrap()[0].id
    );
    assert_eq!(stage.ask("PUT", &react, json!({})).await.1["code"], 50083);
    assert_eq!(stage.ask("POST", &path, json!({ "content": "again" })).await.0, 200);
    assert_eq!(stage.get(&active).await.1["threads"][0]["id"], json!(thread));
    stage.discord.lock_thread(thread).unwrap();
    assert_eq!(stage.ask("POST", &path, json!({ "content": "?" })).await.1["code"], 160_005);
}

#[tokio::test]
async fn a_private_thread_is_told_to_who_is_in_it() {
    let stage = Stage::new().await;
    let (mut socket, _) = stage.listen(usual()).await;
    let new = NewThread {
        kind: ChannelType::PrivateThread,
        ..NewThread::new(stage.tea, stage.mio, "between us")
    };
    let thread = stage.discord.start_thread(new).unwrap();
    stage.discord.send_message(thread, stage.mio, "nobody hears").unwrap();
    let path = format!("channels/{thread}/messages");
    assert_eq!(stage.ask("POST", &path, json!({ "content": "I do" })).await.1["code"], 50001);
    stage.discord.join_thread(thread, stage.bot).unwrap();
    assert_eq!(socket.event("THREAD_CREATE").await["id"], json!(thread));
    let joined = socket.event("THREAD_MEMBERS_UPDATE").await;
    assert_eq!(joined["added_members"][0]["user_id"], json!(stage.bot));
    stage.discord.send_message(thread, stage.mio, "come in").unwrap();
    assert_eq!(socket.event("MESSAGE_CREATE").await["content"], "come in");
}

#[tokio::test]
async fn a_forum_has_posts_and_no_talk_of_its_own() {
    let stage = Stage::new().await;
    let (mut socket, _) = stage.listen(usual()).await;
    let new = NewChannel {
        name: "questions".to_owned(),
        kind: NewChannelKind::Forum,
        ..Default::default()
    };
    let forum = stage.discord.add_channel(new).unwrap();
    socket.event("CHANNEL_CREATE").await;
    let path = format!("channels/{forum}/messages");
    assert_eq!(stage.ask("POST", &path, json!({ "content": "x" })).await.1["code"], 50008);
    let post =
        stage.discord.create_forum_post(forum, stage.mio, "Milk?", "first or last?").unwrap();
    assert_eq!(socket.event("THREAD_CREATE").await["parent_id"], json!(forum));
    let first = socket.event("MESSAGE_CREATE").await;
    assert_eq!((&first["id"], &first["content"]), (&json!(post), &json!("first or last?")));
    let body = json!({ "name": "Sugar", "message": { "content": "one lump" } });
    let (status, mine) = stage.ask("POST", &format!("channels/{forum}/threads"), body).await;
    assert_eq!((status, &mine["message"]["content"]), (201, &json!("one lump")));
    assert_eq!(stage.discord.posts()[0].text, "one lump");
}

#[tokio::test]
async fn a_command_is_answered_once_and_soon() {
    let stage = Stage::new().await;
    let commands = format!("applications/{}/commands", stage.bot);
    let body = json!([{ "name": "aizuchi", "description": "Ask it.", "type": 1 }]);
    assert_eq!(stage.ask("PUT", &commands, body).await.0, 200);
    let wrong = json!([{ "name": "Wrong Name", "description": "" }]);
    assert_eq!(stage.ask("PUT", &commands, wrong).await.1["code"], 50035);
    let (mut socket, _) = stage.listen(usual()).await;
    let options = json!([{ "name": "why", "type": 1 }]);
    let id = stage.discord.run_command(stage.tea, stage.mio, "aizuchi", options).unwrap();
    let told = socket.event("INTERACTION_CREATE").await;
    assert_eq!(
        (&told["data"]["name"], &told["member"]["user"]["id"]),
        (&json!("aizuchi"), &json!(stage.mio))
    );
    let token = told["token"].as_str().unwrap();
    let callback = format!("interactions/{id}/{token}/callback");
    let hidden = json!({ "type": 4, "data": { "content": "Because.", "flags": 64 } });
    assert_eq!(stage.ask("POST", &callback, hidden.clone()).await.0, 204);
    assert_eq!(stage.ask("POST", &callback, hidden).await.1["code"], 40060);
    let (_, more) = stage
        .ask("POST", &format!("webhooks/{}/{token}", stage.bot), json!({ "content": "And more." }))
        .await;
    assert_eq!(more["type"], 20);
    let original = format!("webhooks/{}/{token}/messages/@original", stage.bot);
    assert_eq!(stage.ask("PATCH", &original, json!({ "content": "Well." })).await.0, 200);
    let answers = stage.discord.interaction(id).unwrap().responses;
    let answers: Vec<_> =
        answers.iter().map(|one| (one.message.content.as_str(), one.is_ephemeral)).collect();
    assert_eq!(answers, [("Well.", true), ("And more.", false)]);
    assert_eq!(
        stage.discord.texts(stage.tea).unwrap(),
        ["And more."],
        "what is hidden is in no history"
    );
    let stranger = stage.ask("POST", "interactions/1/none/callback", json!({ "type": 5 })).await;
    assert_eq!(stranger.1["code"], 10062);
}

#[tokio::test]
async fn rules_are_set_by_who_may_and_threads_come_into_sight() {
    let permissions = Permissions::all().difference(Permissions::ADMINISTRATOR);
    let stage = Stage::with(FakeDiscordSettings { permissions, ..settings() }).await;
    let (mut socket, _) = stage.listen(usual()).await;
    let path = format!("channels/{}/permissions/{}", stage.tea, stage.mio);
    let deny = Permissions::SEND_MESSAGES;
    let (status, _) = stage.ask("PUT", &path, json!({ "type": 1, "deny": deny })).await;
    assert_eq!(status, 204);
    let rules = socket.event("CHANNEL_UPDATE").await["permission_overwrites"].clone();
    assert_eq!((&rules[0]["id"], &rules[0]["deny"]), (&json!(stage.mio), &json!(deny)));
    assert_eq!(stage.ask("DELETE", &path, json!({})).await.0, 204);
    socket.event("CHANNEL_UPDATE").await;
    let more = json!({ "type": 1, "allow": Permissions::ADMINISTRATOR });
    assert_eq!(stage.ask("PUT", &path, more).await.1["code"], 50013);

    stage
        .discord
        .set_permissions(stage.tea, PermissionEffect::Deny, Permissions::VIEW_CHANNEL)
        .unwrap();
    socket.event("CHANNEL_UPDATE").await;
    let seed = stage.discord.send_message(stage.tea, stage.mio, "behind closed doors").unwrap();
    let thread =
        stage.discord.start_thread_from_message(stage.tea, seed, stage.mio, "talk").unwrap();
    stage
        .discord
        .set_permissions(stage.tea, PermissionEffect::Allow, Permissions::VIEW_CHANNEL)
        .unwrap();
    socket.event("CHANNEL_UPDATE").await;
    assert_eq!(socket.event("THREAD_LIST_SYNC").await["threads"][0]["id"], json!(thread));
}
