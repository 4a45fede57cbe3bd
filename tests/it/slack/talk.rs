//! What users see in Slack.

use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::file::FakeFile;
use aizuchi_fakes::slack::channel::{ChannelKind, NewChannel};
use aizuchi_fakes::slack::fault::Fault;
use aizuchi_fakes::slack::message::NewFakeMessage;
use aizuchi_fakes::slack::ts::Ts;
use aizuchi_fakes::slack::user_actions::NameChange;
use aizuchi_harness::fixtures::MARKED_ANSWERS;
use serde_json::json;

use crate::slack::harness::{SlackHarness, SlackOptions};

/// The whole path: the bot is mentioned in a thread of a private channel and replies there, with the right context.
#[tokio::test]
async fn a_mention_in_a_thread_of_a_private_channel_is_answered_in_that_thread() {
    let harness = SlackHarness::new().await;
    harness.post_message(&harness.tea, &harness.ren, "the kettle is in the kitchen");
    let program = harness.start().await;
    harness.until_named().await;
    let parent =
        harness.post_message(&harness.attic, &harness.ren, "what do roses need in winter?");
    harness.post_in_thread(&harness.attic, parent, &harness.mio, "straw, perhaps");
    // With two connections it could arrive after Mio's question, which would start a redraft.
    harness.until_kept("SELECT count(*) FROM messages WHERE text = 'straw, perhaps'", 1).await;
    harness.will_say(&["Straw **and** patience."]);
    let question = format!("<@{}> what do you say?", harness.bot);
    harness.post_in_thread(&harness.attic, parent, &harness.mio, &question);
    let post = harness.wait_for_posts(1).await.remove(0);
    assert_eq!((post.channel, post.thread), (harness.attic.clone(), Some(parent)));
    assert_eq!(post.text, "Straw *and* patience.");
    for (argument, value) in [
        ("unfurl_links", "false"),
        ("unfurl_media", "false"),
        ("link_names", "false"),
        ("parse", "none"),
    ] {
        assert_eq!(post.arguments[argument].to_string().trim_matches('"'), value, "{argument}");
    }
    let prompt = harness.prompt();
    for part in
        ["what do roses need in winter?", "straw, perhaps", "@Aizuchi what do you say?", "Ren"]
    {
        assert!(prompt.contains(part), "{part} is in\n{prompt}");
    }
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    assert_eq!(harness.kept(&harness.attic).await.last().unwrap(), "Straw **and** patience.");
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.slack.posts().len(), 1);
}

/// A model's own markup is in no post. The channels take turns, because each takes one post a second.
#[tokio::test]
async fn a_models_own_markup_is_in_no_post() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    let answers = MARKED_ANSWERS.iter().filter_map(|(answer, posted)| Some((answer, (*posted)?)));
    for ((number, (answer, posted)), channel) in
        answers.enumerate().zip([&harness.tea, &harness.attic].into_iter().cycle())
    {
        harness.will_say(&[answer]);
        harness.post_mention(channel, &harness.mio, "what do the roses need?");
        let post = harness.wait_for_posts(number + 1).await.remove(number);
        let posted = posted.replace('<', "&lt;").replace('>', "&gt;");
        assert_eq!(post.text, posted, "of {answer:?}");
    }
    assert_eq!(program.stop(), Some(0));
}

/// H04, H05: an event that Slack delivers twice, or under two ids, is answered once.
#[tokio::test]
async fn duplicate_deliveries_are_heard_once() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    // Slack sends a mention as two events, `message` and `app_mention`.
    harness.post_mention(&harness.tea, &harness.mio, "hello?");
    harness.wait_for_posts(1).await;
    // The same client message as two messages, the second with an earlier time.
    let duplicate = |ts| NewFakeMessage {
        client_msg_id: Some("7d5b3f6e-0000-4000-8000-000000000001".to_owned()),
        ts,
        ..NewFakeMessage::new(&harness.tea, &harness.mio, &format!("<@{}> and again?", harness.bot))
    };
    let first = harness.slack.send_message_with(duplicate(None)).unwrap();
    harness.wait_for_posts(2).await;
    let earlier = Ts(first.0 - 30_000_000);
    harness.slack.send_message_with(duplicate(Some(earlier))).unwrap();
    harness.post_message(&harness.tea, &harness.ren, "that is all");
    harness.until_kept("SELECT count(*) FROM messages WHERE text = 'that is all'", 1).await;
    harness.until_kept("SELECT count(*) FROM owed WHERE closed_ms IS NULL", 0).await;
    assert_eq!(harness.slack.posts().len(), 2);
    let stored = harness.kept(&harness.tea).await;
    assert_eq!(stored.iter().filter(|text| text.contains("and again?")).count(), 1, "{stored:?}");
    assert_eq!(program.stop(), Some(0));
}

/// H09, H10: direct messages are gathered for two seconds before the reply; one that is deleted in the meantime is not
/// seen.
#[tokio::test]
async fn edits_and_deletions_before_the_reply_to_a_direct_message_count() {
    let harness = SlackHarness::new().await;
    let direct = harness.slack.open_direct_message(&harness.mio).unwrap();
    let program = harness.start().await;
    let message = harness.post_message(&direct, &harness.mio, "the first wording");
    harness.slack.edit_message(&direct, message, "the second wording").unwrap();
    let slip = harness.post_message(&direct, &harness.mio, "a slip of the hand");
    harness.slack.delete_message(&direct, slip).unwrap();
    harness.wait_for_posts(1).await;
    let prompt = harness.prompt();
    assert!(prompt.contains("the second wording"), "{prompt}");
    assert!(!prompt.contains("the first wording") && !prompt.contains("a slip"), "{prompt}");
    harness.until_kept("SELECT count(*) FROM owed WHERE closed_ms IS NULL", 0).await;
    assert_eq!(harness.slack.posts().len(), 1);
    assert_eq!(program.stop(), Some(0));
    let exchanges = harness.exchanges().await;
    assert!(exchanges.contains("the second wording"), "{exchanges}");
    assert!(!exchanges.contains("a slip of the hand"), "{exchanges}");
    let bytes = std::fs::read(harness.home.database()).unwrap();
    let contains = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(!contains("a slip of the hand"), "a deleted text is no longer in the file");
}

/// In the predecessor, messages with files, `/me` messages and messages of integrations were not heard.
#[tokio::test]
async fn files_me_messages_and_integrations_are_heard_and_bots_get_no_answer() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    let mention = format!("<@{}> look", harness.bot);
    let file = json!({"id": "F1", "name": "plan.pdf", "pretty_type": "PDF", "mimetype": "application/pdf"});
    let new_messages = [
        NewFakeMessage {
            subtype: Some("me_message".to_owned()),
            ..NewFakeMessage::new(&harness.tea, &harness.mio, "waves")
        },
        NewFakeMessage {
            subtype: Some("bot_message".to_owned()),
            bot: Some("B0DEPLOYS".to_owned()),
            ..NewFakeMessage::new(&harness.tea, "", &mention)
        },
        NewFakeMessage {
            subtype: Some("file_share".to_owned()),
            files: vec![file],
            ..NewFakeMessage::new(&harness.tea, &harness.mio, &mention)
        },
    ];
    for new_message in new_messages {
        harness.slack.send_message_with(new_message).unwrap();
        // With two connections, the first could arrive after the answer to the last.
        harness.until_kept("SELECT count(*) > 0 FROM messages WHERE text = 'waves'", 1).await;
    }
    harness.wait_for_posts(1).await;
    let prompt = harness.prompt();
    assert!(prompt.contains("waves") && prompt.contains("plan.pdf"), "{prompt}");
    harness.until_kept("SELECT count(*) FROM messages WHERE author_kind = 'bot'", 1).await;
    harness.until_kept("SELECT count(*) FROM owed WHERE closed_ms IS NULL", 0).await;
    assert_eq!(harness.slack.posts().len(), 1);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn names_are_converted_both_ways_and_no_other_mention_is_live() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    harness.post_message(&harness.tea, &harness.ren, "I bake");
    // A name is looked up after its user's first message, and used a moment after it is stored, which later messages show.
    for number in 0.. {
        let text = format!("<@{}> bakes {number}", harness.ren);
        harness.post_message(&harness.tea, &harness.mio, &text);
        let kept = format!("SELECT count(*) FROM messages WHERE text LIKE '% bakes {number}'");
        harness.until_kept(&kept, 1).await;
        if harness.count("SELECT count(*) FROM messages WHERE text LIKE '@Ren bakes %'").await > 0 {
            break;
        }
    }
    harness.will_say(&["Ask @Ren, @everyone, <!channel> or <@U0NOBODY>, @here."]);
    let question = format!(
        "<@{}> who bakes, <@{}>? see <#{}|tea> :tada:",
        harness.bot, harness.ren, harness.tea
    );
    harness.post_message(&harness.tea, &harness.mio, &question);
    let post = harness.wait_for_posts(1).await.remove(0);
    let prompt = harness.prompt();
    assert!(prompt.contains("@Aizuchi who bakes, @Ren? see #tea 🎉"), "{prompt}");
    assert!(post.text.contains(&format!("<@{}>", harness.ren)), "{}", post.text);
    assert!(!post.text.contains("<!") && !post.text.contains("<@U0NOBODY>"), "{}", post.text);
    // After a user is renamed, the next prompt has the new name.
    let names = NameChange { display_name: "Renate", real_name: "Renate" };
    harness.slack.rename_user(&harness.ren, names).unwrap();
    harness.until_kept("SELECT count(*) FROM users WHERE name = 'Renate'", 1).await;
    harness.slack.rename_channel(&harness.tea, &harness.mio, "coffee").unwrap();
    harness.until_kept("SELECT count(*) FROM channels WHERE name = 'coffee'", 1).await;
    let topic = format!("Beans &amp; cups, <@{}> orders", harness.ren);
    harness.slack.set_topic(&harness.tea, &harness.mio, &topic).unwrap();
    let told = "Beans & cups, @… orders";
    let kept = format!("SELECT count(*) FROM channels WHERE topic = '{told}'");
    harness.until_kept(&kept, 1).await;
    harness.post_mention(&harness.tea, &harness.mio, "and now?");
    harness.wait_for_posts(2).await;
    let prompt = harness.prompt();
    assert!(prompt.contains("Renate") && prompt.contains("#coffee"), "{prompt}");
    assert!(prompt.contains(&format!("“{told}”")), "{prompt}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn edits_and_reactions_are_stored_and_previews_are_ignored() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    let message = harness.post_message(&harness.tea, &harness.mio, "see https://example.com");
    harness.slack.unfurl(&harness.tea, message).unwrap();
    harness.slack.add_reaction(&harness.tea, message, &harness.ren, "eyes").unwrap();
    harness.until_kept("SELECT count(*) FROM reactions WHERE removed_ms IS NULL", 1).await;
    harness.until_kept("SELECT count(*) FROM messages WHERE edits > 0", 0).await;
    harness.slack.edit_message(&harness.tea, message, "see the book").unwrap();
    harness.until_kept("SELECT count(*) FROM messages WHERE edits = 1", 1).await;
    harness.slack.remove_reaction(&harness.tea, message, &harness.ren, "eyes").unwrap();
    harness.until_kept("SELECT count(*) FROM reactions WHERE removed_ms IS NULL", 0).await;
    assert_eq!(harness.kept(&harness.tea).await, ["see the book"]);
    assert_eq!(program.stop(), Some(0));
}

/// A reaction to a post may arrive before the program has stored the post.
#[tokio::test]
async fn a_reaction_to_a_post_that_is_not_stored_yet_counts() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    harness.slack.inject_fault("chat.postMessage", Fault::HangAfter(Hang::UntilReleased));
    harness.post_mention(&harness.tea, &harness.mio, "hello?");
    let post = harness.wait_for_posts(1).await.remove(0);
    harness.slack.add_reaction(&harness.tea, post.ts, &harness.ren, "tada").unwrap();
    harness.wait_until(|slack| slack.unacked_deliveries().is_empty()).await;
    assert_eq!(harness.kept(&harness.tea).await.len(), 1, "the post is not stored yet");
    harness.slack.release_hanging();
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    let reacted = "SELECT count(*) FROM messages AS m JOIN reactions AS r ON r.message = m.id
        WHERE m.author_kind = 'persona' AND m.reacted >= m.revision AND r.emoji = '🎉'";
    assert_eq!(harness.count(reacted).await, 1);
    assert_eq!(program.stop(), Some(0));
}

/// In the predecessor, messages right after an invitation were missed. Here they are heard, and older ones are
/// backfilled.
#[tokio::test]
async fn a_channel_is_heard_from_the_moment_the_bot_joins() {
    let harness = SlackHarness::new().await;
    let members = vec![harness.mio.clone(), harness.ren.clone()];
    let garden = NewChannel { name: "garden".to_owned(), members, ..NewChannel::default() };
    let garden = harness.slack.add_channel(garden).unwrap();
    harness.post_message(&garden, &harness.ren, "the beds are dug");
    let program = harness.start().await;
    harness.slack.join_channel(&garden, &harness.bot).unwrap();
    harness.post_mention(&garden, &harness.mio, "do you know this garden?");
    let post = harness.wait_for_posts(1).await.remove(0);
    assert_eq!(post.channel, garden);
    let read = "SELECT count(*) FROM messages WHERE text = 'the beds are dug'";
    harness.until_kept(read, 1).await;
    harness
        .until_kept(
            "SELECT count(*) FROM channels WHERE name = 'garden' AND visibility = 'public'",
            1,
        )
        .await;
    // After the bot has left, nothing is heard.
    harness.slack.leave_channel(&garden, &harness.bot).unwrap();
    harness.post_message(&garden, &harness.mio, "gone?");
    harness.post_message(&harness.tea, &harness.mio, "after that");
    harness.until_kept("SELECT count(*) FROM messages WHERE text = 'after that'", 1).await;
    harness.until_kept("SELECT count(*) FROM messages WHERE text = 'gone?'", 0).await;
    assert_eq!(program.stop(), Some(0));
}

/// Invariant 9: messages of a channel that is private now do not appear in the prompt of another channel.
#[tokio::test]
async fn a_channel_that_becomes_private_keeps_its_messages_private() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    harness.post_message(&harness.tea, &harness.ren, "the password of the cellar is plum");
    harness.until_kept("SELECT count(*) FROM messages WHERE visibility = 'public'", 1).await;
    harness.slack.make_private(&harness.tea, &harness.mio).unwrap();
    harness.until_kept("SELECT count(*) FROM messages WHERE visibility = 'public'", 0).await;
    let hall = NewChannel {
        name: "hall".to_owned(),
        members: vec![harness.mio.clone(), harness.bot.clone()],
        ..NewChannel::default()
    };
    let hall = harness.slack.add_channel(hall).unwrap();
    harness.post_mention(&hall, &harness.mio, "what is the password of the cellar?");
    harness.wait_for_posts(1).await;
    assert!(!harness.prompt().contains("plum"), "{}", harness.prompt());
    assert_eq!(program.stop(), Some(0));
}

/// A group direct message is not a direct message to the bot.
#[tokio::test]
async fn in_a_group_direct_message_only_a_mention_is_answered() {
    let harness = SlackHarness::new().await;
    let group = NewChannel {
        kind: ChannelKind::Group,
        members: vec![harness.mio.clone(), harness.ren.clone(), harness.bot.clone()],
        ..NewChannel::default()
    };
    let group = harness.slack.add_channel(group).unwrap();
    let program = harness.start().await;
    harness.post_message(&group, &harness.mio, "Ren, are you there?");
    harness.post_mention(&group, &harness.mio, "and you?");
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM owed", 1).await;
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn replies_may_go_into_threads() {
    let setting = SlackOptions { slack: "  reply_in: thread\n", ..SlackOptions::default() };
    let harness = SlackHarness::with(setting).await;
    let direct = harness.slack.open_direct_message(&harness.mio).unwrap();
    let program = harness.start().await;
    let asked = harness.post_mention(&harness.tea, &harness.mio, "where do you answer?");
    assert_eq!(harness.wait_for_posts(1).await[0].thread, Some(asked));
    // The reply is stored in the thread.
    harness.until_kept(&format!("SELECT count(*) FROM messages WHERE thread = '{asked}'"), 1).await;
    harness.post_message(&direct, &harness.mio, "and here?");
    assert_eq!(harness.wait_for_posts(2).await[1].thread, None);
    assert_eq!(program.stop(), Some(0));
}

/// The picture is fetched with the token, described once, and becomes part of the prompt. A picture in a private
/// channel is neither fetched nor described.
#[tokio::test]
async fn a_picture_is_described_when_somebody_asks_about_it() {
    let options = SlackOptions { more: "  vision: {}\n", ..SlackOptions::default() };
    let harness = SlackHarness::with(options).await;
    let program = harness.start().await;
    let shows = |channel: &str, text: &str| {
        let png = FakeFile::new("plan.png", "image/png", b"\x89PNG\r\n\x1a\n");
        let files = vec![harness.slack.upload_file(png)];
        let text = format!("<@{}> {text}", harness.bot);
        let message = NewFakeMessage::new(channel, &harness.mio, &text);
        harness.slack.send_message_with(NewFakeMessage { files, ..message }).unwrap()
    };
    shows(&harness.attic, "what is this?");
    harness.wait_for_posts(1).await;
    let prompt = harness.prompt();
    assert!(prompt.contains("[picture “plan.png”, nobody has described it yet]"), "{prompt}");
    assert_eq!(harness.slack.downloads(), Vec::<String>::new());
    harness.will_say(&["A boat with red sails.", "A fine boat."]);
    let shown = shows(&harness.tea, "and this?");
    assert_eq!(harness.wait_for_posts(2).await.remove(1).text, "A fine boat.");
    let prompt = harness.prompt();
    assert!(prompt.contains("[picture “plan.png”: A boat with red sails.]"), "{prompt}");
    assert_eq!(harness.slack.downloads(), ["F00000002"]);
    let requests = harness.model.requests();
    let mut images =
        requests.iter().map(|it| &it.body["messages"][1]["content"][0]["image_url"]["url"]);
    assert!(images.any(|url| url == "data:image/png;base64,iVBORw0KGgo="));
    let told = requests.iter().any(|it| it.body.to_string().contains("files-pri"));
    assert!(!told, "no model learns where a file is");
    let kept = "SELECT count(*) FROM messages WHERE attachments LIKE '%red sails%'";
    harness.until_kept(kept, 1).await;
    // The description is deleted with the message.
    harness.slack.delete_message(&harness.tea, shown).unwrap();
    harness.until_kept(kept, 0).await;
    assert_eq!(program.stop(), Some(0));
}
