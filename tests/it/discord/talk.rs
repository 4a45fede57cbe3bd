//! What users see.

use aizuchi_fakes::discord::channel::NewChannelKind;
use aizuchi_fakes::discord::driver::setup::PermissionEffect;
use aizuchi_fakes::discord::guild::NewUser;
use aizuchi_fakes::discord::message::NewFakeMessage;
use aizuchi_fakes::discord::permission::OverwriteTarget;
use aizuchi_fakes::discord::thread::NewThread;
use aizuchi_fakes::file::FakeFile;
use aizuchi_harness::fixtures::MARKED_ANSWERS;
use jiff::Timestamp;
use serde_json::json;
use twilight_model::channel::ChannelType;
use twilight_model::gateway::Intents;
use twilight_model::guild::Permissions;

use crate::discord::harness::{DiscordHarness, Setting};

/// The whole path: a mention in a private channel's thread is answered there, with the right context.
#[tokio::test]
async fn a_mention_in_a_thread_of_a_private_channel_is_answered_in_that_thread() {
    let harness = DiscordHarness::new().await;
    harness.says(harness.tea, harness.ren, "the kettle is in the kitchen");
    let program = harness.start().await;
    let parent = harness.says(harness.attic, harness.ren, "what do roses need in winter?");
    let thread = harness.opens_thread(harness.attic, parent);
    harness.says(thread, harness.mio, "straw, perhaps");
    harness.will_say(&["Straw **and** patience."]);
    harness.asks(thread, harness.mio, "what do you say?");
    let post = harness.posts(1).await.remove(0);
    assert_eq!(post.channel, thread);
    assert_eq!(post.text, "Straw **and** patience.");
    let prompt = harness.prompt();
    for part in
        ["what do roses need in winter?", "straw, perhaps", "@Aizuchi what do you say?", "Ren"]
    {
        assert!(prompt.contains(part), "{part} is in\n{prompt}");
    }
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    assert_eq!(harness.lines(harness.attic).await.last().unwrap(), "Straw **and** patience.");
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.discord.posts().len(), 1);
}

/// A model's own markup is in no post.
#[tokio::test]
async fn a_models_own_markup_is_in_no_post() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    let answers = MARKED_ANSWERS.iter().filter_map(|(answer, posted)| Some((answer, (*posted)?)));
    for ((number, (answer, posted)), channel) in
        answers.enumerate().zip([harness.tea, harness.attic].into_iter().cycle())
    {
        harness.will_say(&[answer]);
        harness.asks(channel, harness.mio, "what do the roses need?");
        let post = harness.posts(number + 1).await.remove(number);
        assert_eq!(post.text, posted, "of {answer:?}");
    }
    assert_eq!(program.stop(), Some(0));
}

/// A mention, a reply to the persona, and a direct message are answered; other messages are not.
#[tokio::test]
async fn only_addressed_messages_are_answered() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    harness.says(harness.tea, harness.ren, "nobody is meant by this");
    harness.asks(harness.tea, harness.mio, "hello?");
    let first = harness.posts(1).await.remove(0);
    harness.discord.send_reply(harness.tea, harness.ren, first.id, "is that so?").unwrap();
    harness.posts(2).await;
    let direct = harness.discord.open_direct_message(harness.ren).unwrap();
    harness.says(direct, harness.ren, "and here?");
    let third = harness.posts(3).await.remove(2);
    assert_eq!(third.channel, direct);
    // The server is listed by its name, and direct messages have no workspace name.
    let found = program.get("/api/workspaces").await;
    let found = found["workspaces"].as_array().unwrap();
    let name = |id: &str| found.iter().find(|it| it["id"] == id).unwrap()["name"].clone();
    assert_eq!(name(&format!("discord:{}", harness.guild)), "Garden");
    assert_eq!(name("discord:direct"), json!(null));
    // A reply to another user addresses that user.
    let message = harness.says(harness.tea, harness.ren, "I have cut the roses");
    harness.discord.send_reply(harness.tea, harness.mio, message, "well done").unwrap();
    harness.until_line("well done").await;
    harness.until_kept("SELECT count(*) FROM owed WHERE closed_ms IS NULL", 0).await;
    assert_eq!(harness.discord.posts().len(), 3);
    let named = format!(
        "SELECT count(*) FROM messages WHERE text = 'well done' AND mentions LIKE '%{}%'",
        harness.ren
    );
    assert_eq!(harness.count(&named).await, 1);
    // It is known that this is a reply, and to which message.
    let link = format!(
        "SELECT count(*) FROM links AS l JOIN messages AS m ON m.id = l.message
         WHERE m.text = 'well done' AND l.parent = '{message}' AND l.probability = 1 AND l.version = 0"
    );
    assert_eq!(harness.count(&link).await, 1);
    assert_eq!(program.stop(), Some(0));
}

/// In a thread that the persona opened, no mention is needed.
#[tokio::test]
async fn every_message_in_the_personas_thread_is_addressed() {
    let harness =
        DiscordHarness::with(Setting { discord: "  threads: auto\n", ..Setting::default() }).await;
    let program = harness.start().await;
    harness.asks(harness.tea, harness.mio, "what do roses need?");
    let post = harness.posts(1).await.remove(0);
    assert_ne!(post.channel, harness.tea);
    harness.says(post.channel, harness.ren, "and in summer?");
    let second = harness.posts(2).await.remove(1);
    assert_eq!(second.channel, post.channel);
    // This also holds after a restart.
    harness.until_kept("SELECT count(*) FROM owed WHERE closed_ms IS NULL", 0).await;
    assert_eq!(program.stop(), Some(0));
    let program = harness.start().await;
    harness.says(post.channel, harness.mio, "and in spring?");
    assert_eq!(harness.posts(3).await.remove(2).channel, post.channel);
    assert_eq!(program.stop(), Some(0));
}

/// Scenarios H09 and H10: edits and deletions before the answer are taken into account.
#[tokio::test]
async fn a_direct_message_edited_or_deleted_before_its_answer_counts_as_changed() {
    let harness = DiscordHarness::new().await;
    let direct = harness.discord.open_direct_message(harness.mio).unwrap();
    let program = harness.start().await;
    let message = harness.says(direct, harness.mio, "the first wording");
    harness.discord.edit_message(direct, message, "the second wording").unwrap();
    let slip = harness.says(direct, harness.mio, "a slip of the hand");
    harness.discord.delete_message(direct, slip).unwrap();
    harness.posts(1).await;
    let prompt = harness.prompt();
    assert!(prompt.contains("the second wording"), "{prompt}");
    assert!(!prompt.contains("the first wording") && !prompt.contains("a slip"), "{prompt}");
    harness.until_kept("SELECT count(*) FROM owed WHERE closed_ms IS NULL", 0).await;
    assert_eq!(harness.discord.posts().len(), 1);
    assert_eq!(program.stop(), Some(0));
    let exchanges = harness.exchanges().await;
    assert!(exchanges.contains("the second wording"), "{exchanges}");
    assert!(!exchanges.contains("a slip of the hand"), "{exchanges}");
    let bytes = std::fs::read(harness.database()).unwrap();
    let has_bytes = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(!has_bytes("a slip of the hand"), "the file still holds a deleted message");
}

/// A link preview is not an edit, and several messages can be deleted at once.
#[tokio::test]
async fn edits_deletions_and_reactions_are_heard_and_previews_ignored() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    let kettle = harness.says(harness.tea, harness.mio, "see https://example.com/kettle");
    harness.discord.unfurl(harness.tea, kettle).unwrap();
    let typo = harness.says(harness.tea, harness.ren, "the kettel");
    harness.discord.edit_message(harness.tea, typo, "the kettle").unwrap();
    let gone = ["one", "two", "three"].map(|text| harness.says(harness.tea, harness.ren, text));
    harness.discord.bulk_delete_messages(harness.tea, &gone).unwrap();
    harness.discord.add_reaction(harness.tea, kettle, harness.ren, "👍").unwrap();
    harness.discord.add_reaction(harness.tea, kettle, harness.mio, "👍").unwrap();
    harness.discord.remove_reaction(harness.tea, kettle, harness.mio, "👍").unwrap();
    harness.says(harness.tea, harness.ren, "that is all");
    harness.until_line("that is all").await;
    let lines = harness.lines(harness.tea).await;
    assert_eq!(lines, ["see https://example.com/kettle", "the kettle", "that is all"]);
    assert_eq!(harness.count("SELECT sum(edits) FROM messages").await, 1);
    let reactions = "SELECT count(*) FROM reactions WHERE emoji = '👍' AND removed_ms IS NULL";
    assert_eq!(harness.count(reactions).await, 1);
    assert_eq!(program.stop(), Some(0));
}

/// Deleting a thread deletes its messages, and all reactions to a message can be removed at once.
#[tokio::test]
async fn bulk_removals_are_heard() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    let parent = harness.says(harness.tea, harness.mio, "roses?");
    let thread = harness.opens_thread(harness.tea, parent);
    for text in ["one", "two", "three"] {
        harness.says(thread, harness.ren, text);
    }
    for emoji in ["👍", "🎉"] {
        harness.discord.add_reaction(harness.tea, parent, harness.ren, emoji).unwrap();
    }
    let reactions = "SELECT count(*) FROM reactions WHERE removed_ms IS NULL";
    harness.until_kept(reactions, 2).await;
    let event = json!({"channel_id": harness.tea, "guild_id": harness.guild, "message_id": parent});
    harness.discord.emit_event("MESSAGE_REACTION_REMOVE_ALL", event);
    harness.until_kept(reactions, 0).await;
    harness.discord.delete_channel(thread).unwrap();
    harness.until_kept("SELECT count(*) FROM messages WHERE deleted_ms IS NOT NULL", 3).await;
    assert_eq!(harness.lines(harness.tea).await, ["roses?"]);
    assert_eq!(program.stop(), Some(0));
}

/// The servers can be spread over several shards.
#[tokio::test]
async fn shards_share_the_servers() {
    let usual = Setting::default();
    let world = aizuchi_fakes::discord::FakeDiscordSettings {
        min_shards: 2,
        max_concurrency: 2,
        ..usual.world.clone()
    };
    let harness = DiscordHarness::with(Setting { discord: "  shards: 2\n", world, ..usual }).await;
    let program = harness.home.start();
    harness.until(|discord| discord.session_count() == 2).await;
    harness.asks(harness.tea, harness.mio, "hello?");
    harness.posts(1).await;
    let direct = harness.discord.open_direct_message(harness.ren).unwrap();
    harness.says(direct, harness.ren, "and here?");
    harness.posts(2).await;
    harness.until_ready_is(&program, 200).await;
    assert_eq!(program.stop(), Some(0));
}

/// Stickers become text, files are known by their names, and bots and webhooks are recognized.
#[tokio::test]
async fn files_and_stickers_are_known_and_bots_get_no_answer() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    let weather =
        harness.discord.add_user_with(NewUser { name: "Weather".to_owned(), is_bot: true });
    harness.discord.add_member(harness.guild, weather).unwrap();
    let mention = format!("<@{}> look", harness.bot);
    let file = json!({"id": "1", "filename": "plan.pdf", "content_type": "application/pdf",
        "size": 1, "url": "https://example.com/plan.pdf", "proxy_url": "https://example.com/plan.pdf"});
    harness.says(harness.tea, weather, &mention);
    harness.says_so(NewFakeMessage {
        webhook: Some("deploys".to_owned()),
        ..NewFakeMessage::new(harness.tea, harness.mio, &mention)
    });
    harness.says_so(NewFakeMessage {
        attachments: vec![file],
        stickers: vec![json!({"id": "5", "name": "Wave", "format_type": 1})],
        ..NewFakeMessage::new(harness.tea, harness.mio, "the beds")
    });
    harness.discord.set_nick(harness.guild, harness.ren, "Ren of the roses").unwrap();
    harness.says(harness.tea, harness.ren, "that is all");
    harness.until_line("that is all").await;
    let lines = harness.lines(harness.tea).await;
    assert_eq!(lines[..2], ["@Aizuchi look", "@Aizuchi look"]);
    assert_eq!(lines[2], "the beds\n[sticker: Wave]");
    let known = "SELECT count(*) FROM messages WHERE file_names = 'plan.pdf'";
    assert_eq!(harness.count(known).await, 1);
    let kinds = "SELECT count(*) FROM users WHERE kind = 'bot' AND name IN ('Weather', 'deploys')";
    assert_eq!(harness.count(kinds).await, 2);
    let named = "SELECT count(*) FROM users WHERE name = 'Ren of the roses'";
    assert_eq!(harness.count(named).await, 1);
    assert_eq!(harness.count("SELECT count(*) FROM owed").await, 0);
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.discord.posts().len(), 0);
}

/// A forum post is answered in its thread, with its title in the prompt.
#[tokio::test]
async fn a_forum_post_is_read_with_its_title() {
    let harness = DiscordHarness::new().await;
    let forum = harness.add_channel("questions", NewChannelKind::Forum);
    let program = harness.start().await;
    let text = format!("<@{}> they are yellow", harness.bot);
    let post = harness.discord.create_forum_post(forum, harness.mio, "My roses", &text).unwrap();
    let said = harness.posts(1).await.remove(0);
    assert_eq!(said.channel, post);
    assert!(harness.prompt().contains("My roses"), "{}", harness.prompt());
    assert_eq!(harness.lines(forum).await[0], "**My roses**\n@Aizuchi they are yellow");
    assert_eq!(program.stop(), Some(0));
}

/// A channel is public while everyone on the server can read it, and its messages follow when that changes.
#[tokio::test]
async fn a_channel_is_public_while_everyone_may_read_it() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    let is = |channel, visibility: &str| {
        format!(
            "SELECT count(*) FROM channels WHERE id = '{channel}' AND visibility = '{visibility}'"
        )
    };
    assert_eq!(harness.count(&is(harness.tea, "public")).await, 1);
    assert_eq!(harness.count(&is(harness.attic, "private")).await, 1);
    let message = harness.says(harness.tea, harness.mio, "soon we are among ourselves");
    harness.until_line("soon we are among ourselves").await;
    let everyone = OverwriteTarget::Role(harness.guild.cast());
    harness
        .discord
        .set_permissions_for(
            harness.tea,
            everyone,
            PermissionEffect::Deny,
            Permissions::VIEW_CHANNEL,
        )
        .unwrap();
    harness
        .discord
        .set_permissions(harness.tea, PermissionEffect::Allow, Permissions::VIEW_CHANNEL)
        .unwrap();
    harness.until_kept(&is(harness.tea, "private"), 1).await;
    let kept =
        format!("SELECT count(*) FROM messages WHERE id = '{message}' AND visibility = 'private'");
    assert_eq!(harness.count(&kept).await, 1);
    // A private thread is a channel of its own.
    let hidden = harness
        .discord
        .start_thread(NewThread {
            kind: ChannelType::PrivateThread,
            ..NewThread::new(harness.tea, harness.mio, "a surprise")
        })
        .unwrap();
    harness.discord.join_thread(hidden, harness.bot).unwrap();
    harness.asks(hidden, harness.mio, "do not tell Ren");
    assert_eq!(harness.posts(1).await[0].channel, hidden);
    assert_eq!(harness.count(&is(hidden, "private")).await, 1);
    harness.discord.rename_channel(harness.tea, "green-tea").unwrap();
    let named = "SELECT count(*) FROM channels WHERE name = 'green-tea'";
    harness.until_kept(named, 1).await;
    let (tea, attic, mio) = (harness.tea, harness.attic, harness.mio);
    let topic = format!("What to\nbrew in <#{tea}>, not <#{attic}>: ask <@{mio}> <:pot:5>");
    harness.discord.set_topic(tea, &topic).unwrap();
    // Who may read it, may not read the attic's name.
    let told = "What to brew in #green-tea, not #…: ask @… :pot:";
    let kept = format!("SELECT count(*) FROM channels WHERE topic = '{told}'");
    harness.until_kept(&kept, 1).await;
    harness.asks(harness.tea, harness.mio, "sencha?");
    harness.posts(2).await;
    assert!(harness.prompt().contains(&format!("“{told}”")), "{}", harness.prompt());
    assert_eq!(program.stop(), Some(0));
}

/// Scenario D09: without the messages' content, the program logs a warning and answers nothing.
#[tokio::test]
async fn missing_message_content_is_logged_and_not_answered() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    let id = harness.discord.send_message(harness.tea, harness.mio, "x").unwrap();
    harness.until_line("x").await;
    harness.discord.emit_event(
        "MESSAGE_CREATE",
        json!({"id": (id.get() + 1).to_string(), "channel_id": harness.tea, "guild_id": harness.guild,
            "type": 0, "content": "", "timestamp": "2026-11-21T00:00:00+00:00",
            "author": {"id": harness.mio, "username": "mio", "discriminator": "0", "avatar": null},
            "mentions": [{"id": harness.bot, "username": "Aizuchi"}], "attachments": [], "embeds": []}),
    );
    harness.until_log("Message Content Intent").await;
    harness.until_line("").await;
    assert_eq!(harness.count("SELECT count(*) FROM owed").await, 0);
    assert_eq!(program.stop(), Some(0));
}

/// Close code 4014: a missing intent ends the program, and the error says where to switch it on.
#[tokio::test]
async fn a_missing_intent_is_named_and_ends_the_program() {
    let harness = DiscordHarness::new().await;
    harness.discord.set_privileged_intents(PermissionEffect::Deny, Intents::MESSAGE_CONTENT);
    let program = harness.home.start();
    let last = harness.ends(program).await;
    assert!(last.contains("Message Content Intent"), "{last}");
    assert_eq!(harness.said(crate::discord::harness::IDENTIFY), 1);
}

/// The bot is invited to a server while it runs, and removed again.
#[tokio::test]
async fn servers_are_joined_and_left_at_runtime() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    let other = harness.discord.add_guild("Kitchen", harness.ren);
    let stove = harness
        .discord
        .add_channel(aizuchi_fakes::discord::channel::NewChannel {
            guild: Some(other),
            name: "stove".to_owned(),
            ..Default::default()
        })
        .unwrap();
    harness.asks(stove, harness.ren, "can you cook?");
    assert_eq!(harness.posts(1).await[0].channel, stove);
    let channels = format!("SELECT count(*) FROM channels WHERE workspace = 'discord:{other}'");
    assert!(harness.count(&channels).await >= 1);
    harness.discord.remove_member(other, harness.bot).unwrap();
    harness.until_log("the bot is no longer on a server").await;
    let log = harness.home.log();
    let left = log.lines().find(|line| line.contains("the bot is no longer on a server")).unwrap();
    assert!(left.contains("Kitchen"), "{left}");
    assert_eq!(program.stop(), Some(0));
}

/// System messages about polls and stages are heard with Discord as their author, and never answered.
#[tokio::test]
async fn polls_and_stages_are_heard() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    let direct = harness.discord.open_direct_message(harness.ren).unwrap();
    harness.asks(direct, harness.ren, "are you there?");
    harness.posts(1).await;
    let result = json!([{"type": "poll_result", "fields": [
        {"name": "poll_question_text", "value": "Tea?"}, {"name": "victor_answer_text", "value": "green"},
        {"name": "victor_answer_votes", "value": "3"}, {"name": "total_votes", "value": "5"},
    ]}]);
    let poll =
        json!({"question": {"text": "Tea?"}, "answers": [{"poll_media": {"text": "green"}}]});
    for (id, channel, more) in [
        ("1", harness.tea, json!({"type": 0, "poll": poll})),
        ("2", harness.tea, json!({"type": 46, "embeds": result})),
        ("3", harness.tea, json!({"type": 27, "content": "Roses"})),
        ("4", direct, json!({"type": 46, "embeds": result})),
    ] {
        let at = Timestamp::now().as_millisecond() as u64 - 1_420_070_400_000;
        let number: u64 = id.parse().unwrap();
        let mut event = json!({"id": ((at << 22) + number).to_string(), "channel_id": channel,
            "author": {"id": harness.ren, "username": "ren"}, "content": "", "mentions": []});
        if channel == harness.tea {
            event["guild_id"] = json!(harness.guild);
        }
        for (key, value) in more.as_object().unwrap() {
            event[key] = value.clone();
        }
        harness.discord.emit_event("MESSAGE_CREATE", event);
    }
    let result = "[the poll has ended: Tea?: green (3/5)]";
    harness.until_kept(&format!("SELECT count(*) FROM messages WHERE text = '{result}'"), 2).await;
    assert_eq!(
        harness.lines(harness.tea).await,
        ["[poll: Tea?: green]", result, "[a stage begins: Roses]"]
    );
    let heard = "SELECT count(*) FROM messages WHERE author_kind = 'bot' AND author = 'Discord'";
    assert_eq!(harness.count(heard).await, 3);
    harness.asks(direct, harness.ren, "and now?");
    harness.posts(2).await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.discord.posts().len(), 2);
}

/// If the system channel is read-only, or its mode is silent, the introduction is posted in another channel.
#[tokio::test]
async fn the_introduction_is_posted_where_the_bot_may_post() {
    let harness = DiscordHarness::new().await;
    harness.home.announce();
    harness.home.add("channels: {\"#shed\": {mode: observe}}\n");
    harness.discord.change(|state| {
        state.world.guilds.get_mut(&harness.guild).unwrap().system_channel = Some(harness.tea);
    });
    let shed = harness.add_channel("shed", NewChannelKind::Text);
    let greenhouse = harness.add_channel("greenhouse", NewChannelKind::Text);
    for channel in [harness.tea, harness.attic] {
        harness
            .discord
            .set_permissions(channel, PermissionEffect::Deny, Permissions::SEND_MESSAGES)
            .unwrap();
    }
    let program = harness.start().await;
    let post = harness.posts(1).await.remove(0);
    assert_eq!(post.channel, greenhouse, "not in {shed}");
    assert!(post.text.contains("a bot"), "{}", post.text);
    harness.until_kept("SELECT count(*) FROM steps", 0).await;
    assert_eq!(program.stop(), Some(0));
}

/// A user's client replaces `:parrot:` by the emoji's markup; the adapter does the same for the bot.
#[tokio::test]
async fn custom_emoji_are_rendered() {
    let harness = DiscordHarness::new().await;
    let parrot = json!({"id": "77", "name": "parrot", "animated": false, "available": true,
        "managed": false, "require_colons": true, "roles": []});
    harness.discord.change(|state| {
        state.world.guilds.get_mut(&harness.guild).unwrap().emojis = vec![parrot];
    });
    let program = harness.start().await;
    harness.will_say(&["Roses! :parrot: `:parrot:`"]);
    harness.asks(harness.tea, harness.mio, "what is new?");
    assert_eq!(harness.posts(1).await[0].text, "Roses! <:parrot:77> `:parrot:`");
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    assert_eq!(harness.lines(harness.tea).await.last().unwrap(), "Roses! :parrot: `:parrot:`");
    assert_eq!(program.stop(), Some(0));
}

/// The link of a picture that was sent earlier has expired, so the message is fetched again for a new one.
#[tokio::test]
async fn a_picture_is_described_when_somebody_asks_about_it() {
    let setting = Setting { more: "  vision: {}\n", ..Setting::default() };
    let harness = DiscordHarness::with(setting).await;
    let program = harness.start().await;
    let base = harness.api.trim_end_matches("/api/v10");
    let png = FakeFile::new("plan.png", "image/png", b"\x89PNG\r\n\x1a\n");
    let attachments = vec![harness.discord.upload_file(base, harness.tea, png)];
    let message = NewFakeMessage::new(harness.tea, harness.mio, "our plan");
    let shown = harness.says_so(NewFakeMessage { attachments, ..message });
    harness.until_line("our plan").await;
    harness.discord.expire_file_links();
    harness.will_say(&["A boat with red sails.", "A fine boat."]);
    harness.asks(harness.tea, harness.mio, "what does it show?");
    assert_eq!(harness.posts(1).await.remove(0).text, "A fine boat.");
    let prompt = harness.prompt();
    let line = "our plan\n[picture “plan.png”: A boat with red sails.]";
    assert!(prompt.contains(line), "{prompt}");
    let kept = "SELECT count(*) FROM messages WHERE attachments LIKE '%red sails%'";
    harness.until_kept(kept, 1).await;
    // The description is deleted with the message.
    harness.discord.delete_message(harness.tea, shown).unwrap();
    harness.until_kept(kept, 0).await;
    assert_eq!(program.stop(), Some(0));
}
