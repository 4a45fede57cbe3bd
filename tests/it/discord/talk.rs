//! What people see.

use aizuchi_fakes::discord::channel::NewChannelKind;
use aizuchi_fakes::discord::driver::setup::PermissionEffect;
use aizuchi_fakes::discord::guild::NewUser;
use aizuchi_fakes::discord::message::NewFakeMessage;
use aizuchi_fakes::discord::permission::OverwriteTarget;
use aizuchi_fakes::discord::thread::NewThread;
use jiff::Timestamp;
use serde_json::json;
use twilight_model::channel::ChannelType;
use twilight_model::gateway::Intents;
use twilight_model::guild::Permissions;

use crate::discord::harness::{DiscordHarness, Setting};

/// The whole path: a private channel's thread, in which it is mentioned and answers, with the right context.
#[tokio::test]
async fn a_mention_in_a_thread_of_a_private_channel_is_answered_in_that_thread() {
    let stage = DiscordHarness::new().await;
    stage.says(stage.tea, stage.ren, "the kettle is in the kitchen");
    let program = stage.start().await;
    let parent = stage.says(stage.attic, stage.ren, "what do roses need in winter?");
    let thread =
        stage.discord.start_thread_from_message(stage.attic, parent, stage.mio, "roses").unwrap();
    stage.says(thread, stage.mio, "straw, perhaps");
    stage.will_say(&["Straw **and** patience."]);
    stage.asks(thread, stage.mio, "what do you say?");
    let post = stage.posts(1).await.remove(0);
    assert_eq!(post.channel, thread);
    assert_eq!(post.text, "Straw **and** patience.");
    let prompt = stage.prompt();
    for part in
        ["what do roses need in winter?", "straw, perhaps", "@Aizuchi what do you say?", "Ren"]
    {
        assert!(prompt.contains(part), "{part} is in\n{prompt}");
    }
    stage.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    assert_eq!(stage.lines(stage.attic).await.last().unwrap(), "Straw **and** patience.");
    assert_eq!(program.stop(), Some(0));
    assert_eq!(stage.discord.posts().len(), 1);
}

/// Who is answered: a mention, its role, a reply to it, anybody in its thread or in a direct message.
#[tokio::test]
async fn whoever_speaks_to_it_is_answered_and_nobody_else() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    stage.says(stage.tea, stage.ren, "nobody is meant by this");
    stage.asks(stage.tea, stage.mio, "hello?");
    let first = stage.posts(1).await.remove(0);
    stage.discord.send_reply(stage.tea, stage.ren, first.id, "is that so?").unwrap();
    stage.posts(2).await;
    let direct = stage.discord.open_direct_message(stage.ren).unwrap();
    stage.says(direct, stage.ren, "and here?");
    let third = stage.posts(3).await.remove(2);
    assert_eq!(third.channel, direct);
    // A reply to somebody else is for them.
    let line = stage.says(stage.tea, stage.ren, "I have cut the roses");
    stage.discord.send_reply(stage.tea, stage.mio, line, "well done").unwrap();
    stage.until_line("well done").await;
    stage.until_kept("SELECT count(*) FROM owed WHERE closed_ms IS NULL", 0).await;
    assert_eq!(stage.discord.posts().len(), 3);
    let named = format!(
        "SELECT count(*) FROM messages WHERE text = 'well done' AND mentions LIKE '%{}%'",
        stage.ren
    );
    assert_eq!(stage.count(&named).await, 1);
    assert_eq!(program.stop(), Some(0));
}

/// In a thread that it has opened itself, nobody needs to mention it.
#[tokio::test]
async fn in_its_own_thread_every_line_is_said_to_it() {
    let stage =
        DiscordHarness::with(Setting { discord: "  threads: auto\n", ..Setting::default() }).await;
    let program = stage.start().await;
    stage.asks(stage.tea, stage.mio, "what do roses need?");
    let post = stage.posts(1).await.remove(0);
    assert_ne!(post.channel, stage.tea);
    stage.says(post.channel, stage.ren, "and in summer?");
    let second = stage.posts(2).await.remove(1);
    assert_eq!(second.channel, post.channel);
    // It also knows so after it was started anew.
    stage.until_kept("SELECT count(*) FROM owed WHERE closed_ms IS NULL", 0).await;
    assert_eq!(program.stop(), Some(0));
    let program = stage.start().await;
    stage.says(post.channel, stage.mio, "and in spring?");
    assert_eq!(stage.posts(3).await.remove(2).channel, post.channel);
    assert_eq!(program.stop(), Some(0));
}

/// H09, H10: what is taken back before its answer was never said.
#[tokio::test]
async fn a_direct_line_that_is_edited_or_deleted_before_its_answer_counts_as_it_stands() {
    let stage = DiscordHarness::new().await;
    let direct = stage.discord.open_direct_message(stage.mio).unwrap();
    let program = stage.start().await;
    let line = stage.says(direct, stage.mio, "the first wording");
    stage.discord.edit_message(direct, line, "the second wording").unwrap();
    let slip = stage.says(direct, stage.mio, "a slip of the hand");
    stage.discord.delete_message(direct, slip).unwrap();
    stage.posts(1).await;
    let prompt = stage.prompt();
    assert!(prompt.contains("the second wording"), "{prompt}");
    assert!(!prompt.contains("the first wording") && !prompt.contains("a slip"), "{prompt}");
    stage.until_kept("SELECT count(*) FROM owed WHERE closed_ms IS NULL", 0).await;
    assert_eq!(stage.discord.posts().len(), 1);
    assert_eq!(program.stop(), Some(0));
    let bytes = std::fs::read(stage.database()).unwrap();
    let holds = |words: &str| bytes.windows(words.len()).any(|part| part == words.as_bytes());
    assert!(!holds("a slip of the hand"), "what was deleted is in the file no more");
}

/// An edit is an edit, a preview below a line is none, and many lines can go at once.
#[tokio::test]
async fn edits_previews_deletions_and_reactions_are_heard_as_what_they_are() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    let kettle = stage.says(stage.tea, stage.mio, "see https://example.com/kettle");
    stage.discord.unfurl(stage.tea, kettle).unwrap();
    let typo = stage.says(stage.tea, stage.ren, "the kettel");
    stage.discord.edit_message(stage.tea, typo, "the kettle").unwrap();
    let gone = ["one", "two", "three"].map(|text| stage.says(stage.tea, stage.ren, text));
    stage.discord.bulk_delete_messages(stage.tea, &gone).unwrap();
    stage.discord.add_reaction(stage.tea, kettle, stage.ren, "👍").unwrap();
    stage.discord.add_reaction(stage.tea, kettle, stage.mio, "👍").unwrap();
    stage.discord.remove_reaction(stage.tea, kettle, stage.mio, "👍").unwrap();
    stage.says(stage.tea, stage.ren, "that is all");
    stage.until_line("that is all").await;
    let lines = stage.lines(stage.tea).await;
    assert_eq!(lines, ["see https://example.com/kettle", "the kettle", "that is all"]);
    assert_eq!(stage.count("SELECT sum(edits) FROM messages").await, 1);
    let reactions = "SELECT count(*) FROM reactions WHERE emoji = '👍' AND removed_ms IS NULL";
    assert_eq!(stage.count(reactions).await, 1);
    assert_eq!(program.stop(), Some(0));
}

/// With a thread, what was said in it is gone; reactions can go all at once.
#[tokio::test]
async fn what_goes_all_at_once_is_gone() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    let parent = stage.says(stage.tea, stage.mio, "roses?");
    let thread =
        stage.discord.start_thread_from_message(stage.tea, parent, stage.mio, "roses").unwrap();
    for text in ["one", "two", "three"] {
        stage.says(thread, stage.ren, text);
    }
    for emoji in ["👍", "🎉"] {
        stage.discord.add_reaction(stage.tea, parent, stage.ren, emoji).unwrap();
    }
    let reactions = "SELECT count(*) FROM reactions WHERE removed_ms IS NULL";
    stage.until_kept(reactions, 2).await;
    let of = json!({"channel_id": stage.tea, "guild_id": stage.guild, "message_id": parent});
    stage.discord.emit_event("MESSAGE_REACTION_REMOVE_ALL", of);
    stage.until_kept(reactions, 0).await;
    stage.discord.delete_channel(thread).unwrap();
    stage.until_kept("SELECT count(*) FROM messages WHERE deleted_ms IS NOT NULL", 3).await;
    assert_eq!(stage.lines(stage.tea).await, ["roses?"]);
    assert_eq!(program.stop(), Some(0));
}

/// Its servers can be shared out over several connections; it is heard where all of them are.
#[tokio::test]
async fn shards_share_the_servers() {
    let usual = Setting::default();
    let world = aizuchi_fakes::discord::FakeDiscordSettings {
        min_shards: 2,
        max_concurrency: 2,
        ..usual.world.clone()
    };
    let stage = DiscordHarness::with(Setting { discord: "  shards: 2\n", world, ..usual }).await;
    let program = stage.home.start();
    stage.until(|discord| discord.session_count() == 2).await;
    stage.asks(stage.tea, stage.mio, "hello?");
    stage.posts(1).await;
    let direct = stage.discord.open_direct_message(stage.ren).unwrap();
    stage.says(direct, stage.ren, "and here?");
    stage.posts(2).await;
    assert_eq!(program.request("/ready").await.status(), 200);
    assert_eq!(program.stop(), Some(0));
}

/// Who is who, and what comes with a line.
#[tokio::test]
async fn files_and_stickers_are_described_and_bots_get_no_answer() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    let weather = stage.discord.add_user_with(NewUser { name: "Weather".to_owned(), is_bot: true });
    stage.discord.add_member(stage.guild, weather).unwrap();
    let mention = format!("<@{}> look", stage.bot);
    let file = json!({"id": "1", "filename": "plan.pdf", "content_type": "application/pdf",
        "size": 1, "url": "https://example.com/plan.pdf", "proxy_url": "https://example.com/plan.pdf"});
    stage.says(stage.tea, weather, &mention);
    stage.says_so(NewFakeMessage {
        webhook: Some("deploys".to_owned()),
        ..NewFakeMessage::new(stage.tea, stage.mio, &mention)
    });
    stage.says_so(NewFakeMessage {
        attachments: vec![file],
        stickers: vec![json!({"id": "5", "name": "Wave", "format_type": 1})],
        ..NewFakeMessage::new(stage.tea, stage.mio, "the beds")
    });
    stage.discord.set_nick(stage.guild, stage.ren, "Ren of the roses").unwrap();
    stage.says(stage.tea, stage.ren, "that is all");
    stage.until_line("that is all").await;
    let lines = stage.lines(stage.tea).await;
    assert_eq!(lines[..2], ["@Aizuchi look", "@Aizuchi look"]);
    assert!(lines[2].starts_with("the beds\n[file: plan.pdf"), "{lines:?}");
    assert!(lines[2].ends_with("[sticker: Wave]"), "{lines:?}");
    let kinds = "SELECT count(*) FROM users WHERE kind = 'bot' AND name IN ('Weather', 'deploys')";
    assert_eq!(stage.count(kinds).await, 2);
    let named = "SELECT count(*) FROM users WHERE name = 'Ren of the roses'";
    assert_eq!(stage.count(named).await, 1);
    assert_eq!(stage.count("SELECT count(*) FROM owed").await, 0);
    assert_eq!(program.stop(), Some(0));
    assert_eq!(stage.discord.posts().len(), 0);
}

/// A post in a forum is answered in the post, and its title is read.
#[tokio::test]
async fn a_post_in_a_forum_is_read_with_its_title() {
    let stage = DiscordHarness::new().await;
    let forum = stage.add_channel("questions", NewChannelKind::Forum);
    let program = stage.start().await;
    let text = format!("<@{}> they are yellow", stage.bot);
    let post = stage.discord.create_forum_post(forum, stage.mio, "My roses", &text).unwrap();
    let said = stage.posts(1).await.remove(0);
    assert_eq!(said.channel, post);
    assert!(stage.prompt().contains("My roses"), "{}", stage.prompt());
    assert_eq!(stage.lines(forum).await[0], "**My roses**\n@Aizuchi they are yellow");
    assert_eq!(program.stop(), Some(0));
}

/// Who may read a channel decides what becomes of its lines, and may change.
#[tokio::test]
async fn a_channel_is_public_for_as_long_as_everybody_may_read_it() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    let is = |channel, visibility: &str| {
        format!(
            "SELECT count(*) FROM channels WHERE id = '{channel}' AND visibility = '{visibility}'"
        )
    };
    assert_eq!(stage.count(&is(stage.tea, "public")).await, 1);
    assert_eq!(stage.count(&is(stage.attic, "private")).await, 1);
    let line = stage.says(stage.tea, stage.mio, "soon we are among ourselves");
    stage.until_line("soon we are among ourselves").await;
    let everyone = OverwriteTarget::Role(stage.guild.cast());
    stage
        .discord
        .set_permissions_for(stage.tea, everyone, PermissionEffect::Deny, Permissions::VIEW_CHANNEL)
        .unwrap();
    stage
        .discord
        .set_permissions(stage.tea, PermissionEffect::Allow, Permissions::VIEW_CHANNEL)
        .unwrap();
    stage.until_kept(&is(stage.tea, "private"), 1).await;
    let kept =
        format!("SELECT count(*) FROM messages WHERE id = '{line}' AND visibility = 'private'");
    assert_eq!(stage.count(&kept).await, 1);
    // A thread that only some may read is a room of its own.
    let hidden = stage
        .discord
        .start_thread(NewThread {
            kind: ChannelType::PrivateThread,
            ..NewThread::new(stage.tea, stage.mio, "a surprise")
        })
        .unwrap();
    stage.discord.join_thread(hidden, stage.bot).unwrap();
    stage.asks(hidden, stage.mio, "do not tell Ren");
    assert_eq!(stage.posts(1).await[0].channel, hidden);
    assert_eq!(stage.count(&is(hidden, "private")).await, 1);
    stage.discord.rename_channel(stage.tea, "green-tea").unwrap();
    let named = "SELECT count(*) FROM channels WHERE name = 'green-tea'";
    stage.until_kept(named, 1).await;
    assert_eq!(program.stop(), Some(0));
}

/// D09: where it may not read what people write, it says so and answers nobody.
#[tokio::test]
async fn without_the_text_of_messages_it_warns_and_keeps_silent() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    let id = stage.discord.send_message(stage.tea, stage.mio, "x").unwrap();
    stage.until_line("x").await;
    stage.discord.emit_event(
        "MESSAGE_CREATE",
        json!({"id": (id.get() + 1).to_string(), "channel_id": stage.tea, "guild_id": stage.guild,
            "type": 0, "content": "", "timestamp": "2026-11-21T00:00:00+00:00",
            "author": {"id": stage.mio, "username": "mio", "discriminator": "0", "avatar": null},
            "mentions": [{"id": stage.bot, "username": "Aizuchi"}], "attachments": [], "embeds": []}),
    );
    stage.until_log("Message Content Intent").await;
    stage.until_line("").await;
    assert_eq!(stage.count("SELECT count(*) FROM owed").await, 0);
    assert_eq!(program.stop(), Some(0));
}

/// 4014: an intent that nobody has switched on ends it, with a word about where to do that.
#[tokio::test]
async fn a_missing_intent_is_named_and_ends_it() {
    let stage = DiscordHarness::new().await;
    stage.discord.set_privileged_intents(PermissionEffect::Deny, Intents::MESSAGE_CONTENT);
    let program = stage.home.start();
    let last = stage.ends(program).await;
    assert!(last.contains("Message Content Intent"), "{last}");
    assert_eq!(stage.said(crate::discord::harness::IDENTIFY), 1);
}

/// It comes to a server while it runs, and is thrown out of it again.
#[tokio::test]
async fn servers_are_joined_and_left_while_it_runs() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    let other = stage.discord.add_guild("Kitchen", stage.ren);
    let stove = stage
        .discord
        .add_channel(aizuchi_fakes::discord::channel::NewChannel {
            guild: Some(other),
            name: "stove".to_owned(),
            ..Default::default()
        })
        .unwrap();
    stage.asks(stove, stage.ren, "can you cook?");
    assert_eq!(stage.posts(1).await[0].channel, stove);
    let apart = format!("SELECT count(*) FROM channels WHERE workspace = 'discord:{other}'");
    assert!(stage.count(&apart).await >= 1);
    stage.discord.remove_member(other, stage.bot).unwrap();
    stage.until_log("it is on the server Kitchen no more").await;
    assert_eq!(program.stop(), Some(0));
}

/// What Discord itself tells is heard as its own, and answered by nobody, whoever it was that began it.
#[tokio::test]
async fn polls_and_stages_are_part_of_the_talk() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    let direct = stage.discord.open_direct_message(stage.ren).unwrap();
    stage.asks(direct, stage.ren, "are you there?");
    stage.posts(1).await;
    let result = json!([{"type": "poll_result", "fields": [
        {"name": "poll_question_text", "value": "Tea?"}, {"name": "victor_answer_text", "value": "green"},
        {"name": "victor_answer_votes", "value": "3"}, {"name": "total_votes", "value": "5"},
    ]}]);
    let poll =
        json!({"question": {"text": "Tea?"}, "answers": [{"poll_media": {"text": "green"}}]});
    for (id, channel, more) in [
        ("1", stage.tea, json!({"type": 0, "poll": poll})),
        ("2", stage.tea, json!({"type": 46, "embeds": result})),
        ("3", stage.tea, json!({"type": 27, "content": "Roses"})),
        ("4", direct, json!({"type": 46, "embeds": result})),
    ] {
        let at = Timestamp::now().as_millisecond() as u64 - 1_420_070_400_000;
        let number: u64 = id.parse().unwrap();
        let mut told = json!({"id": ((at << 22) + number).to_string(), "channel_id": channel,
            "author": {"id": stage.ren, "username": "ren"}, "content": "", "mentions": []});
        if channel == stage.tea {
            told["guild_id"] = json!(stage.guild);
        }
        for (key, value) in more.as_object().unwrap() {
            told[key] = value.clone();
        }
        stage.discord.emit_event("MESSAGE_CREATE", told);
    }
    let result = "[the poll has ended: Tea?: green (3/5)]";
    stage.until_kept(&format!("SELECT count(*) FROM messages WHERE text = '{result}'"), 2).await;
    assert_eq!(
        stage.lines(stage.tea).await,
        ["[poll: Tea?: green]", result, "[a stage begins: Roses]"]
    );
    let heard = "SELECT count(*) FROM messages WHERE author_kind = 'bot' AND author = 'Discord'";
    assert_eq!(stage.count(heard).await, 3);
    stage.asks(direct, stage.ren, "and now?");
    stage.posts(2).await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(stage.discord.posts().len(), 2);
}

/// Where the lobby is for reading only, or a mode keeps it silent there, it says elsewhere what it hears.
#[tokio::test]
async fn it_introduces_itself_where_it_may_speak() {
    let stage = DiscordHarness::new().await;
    stage.home.announce();
    stage.home.add("channels: {\"#shed\": {mode: observe}}\n");
    stage.discord.change(|state| {
        state.world.guilds.get_mut(&stage.guild).unwrap().system_channel = Some(stage.tea);
    });
    let shed = stage.add_channel("shed", NewChannelKind::Text);
    let greenhouse = stage.add_channel("greenhouse", NewChannelKind::Text);
    for channel in [stage.tea, stage.attic] {
        stage
            .discord
            .set_permissions(channel, PermissionEffect::Deny, Permissions::SEND_MESSAGES)
            .unwrap();
    }
    let program = stage.start().await;
    let post = stage.posts(1).await.remove(0);
    assert_eq!(post.channel, greenhouse, "not in {shed}");
    assert!(post.text.contains("a bot"), "{}", post.text);
    stage.until_kept("SELECT count(*) FROM steps", 0).await;
    assert_eq!(program.stop(), Some(0));
}

/// A bot has to make of `:parrot:` what people's Discord makes of it.
#[tokio::test]
async fn emoji_of_the_server_are_shown() {
    let stage = DiscordHarness::new().await;
    let parrot = json!({"id": "77", "name": "parrot", "animated": false, "available": true,
        "managed": false, "require_colons": true, "roles": []});
    stage.discord.change(|state| {
        state.world.guilds.get_mut(&stage.guild).unwrap().emojis = vec![parrot];
    });
    let program = stage.start().await;
    stage.will_say(&["Roses! :parrot: `:parrot:`"]);
    stage.asks(stage.tea, stage.mio, "what is new?");
    assert_eq!(stage.posts(1).await[0].text, "Roses! <:parrot:77> `:parrot:`");
    stage.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    assert_eq!(stage.lines(stage.tea).await.last().unwrap(), "Roses! :parrot: `:parrot:`");
    assert_eq!(program.stop(), Some(0));
}
