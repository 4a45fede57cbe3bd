//! What people see.

use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::slack::channel::{ChannelKind, NewChannel};
use aizuchi_fakes::slack::fault::Fault;
use aizuchi_fakes::slack::message::NewFakeMessage;
use aizuchi_fakes::slack::ts::Ts;
use aizuchi_fakes::slack::user_actions::NameChange;
use serde_json::json;

use crate::slack::harness::{Setting, SlackHarness};

/// The whole path: a private channel's thread, in which it is mentioned and answers, with the right context.
#[tokio::test]
async fn a_mention_in_a_thread_of_a_private_channel_is_answered_in_that_thread() {
    let stage = SlackHarness::new().await;
    stage.says(&stage.tea, &stage.ren, "the kettle is in the kitchen");
    let program = stage.start().await;
    let parent = stage.says(&stage.attic, &stage.ren, "what do roses need in winter?");
    stage.says_in_thread(&stage.attic, parent, &stage.mio, "straw, perhaps");
    // Over two connections it may come behind what Mio asks next, and then she is answered anew.
    stage.until_kept("SELECT count(*) FROM messages WHERE text = 'straw, perhaps'", 1).await;
    stage.will_say(&["Straw **and** patience."]);
    let question = format!("<@{}> what do you say?", stage.bot);
    stage.says_in_thread(&stage.attic, parent, &stage.mio, &question);
    let post = stage.posts(1).await.remove(0);
    assert_eq!((post.channel, post.thread), (stage.attic.clone(), Some(parent)));
    assert_eq!(post.text, "Straw *and* patience.");
    for (argument, value) in [
        ("unfurl_links", "false"),
        ("unfurl_media", "false"),
        ("link_names", "false"),
        ("parse", "none"),
    ] {
        assert_eq!(post.arguments[argument].to_string().trim_matches('"'), value, "{argument}");
    }
    let prompt = stage.prompt();
    for part in
        ["what do roses need in winter?", "straw, perhaps", "@Aizuchi what do you say?", "Ren"]
    {
        assert!(prompt.contains(part), "{part} is in\n{prompt}");
    }
    stage.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    assert_eq!(stage.kept(&stage.attic).await.last().unwrap(), "Straw **and** patience.");
    assert_eq!(program.stop(), Some(0));
    assert_eq!(stage.slack.posts().len(), 1);
}

/// H04, H05: whatever Slack delivers twice is said once.
#[tokio::test]
async fn what_slack_delivers_twice_is_heard_once() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    // A mention is told as a message and as a mention.
    stage.asks(&stage.tea, &stage.mio, "hello?");
    stage.posts(1).await;
    // One gesture as two messages, the later one dated before the first.
    let gesture = |ts| NewFakeMessage {
        client_msg_id: Some("7d5b3f6e-0000-4000-8000-000000000001".to_owned()),
        ts,
        ..NewFakeMessage::new(&stage.tea, &stage.mio, &format!("<@{}> and again?", stage.bot))
    };
    let first = stage.slack.send_message_with(gesture(None)).unwrap();
    stage.posts(2).await;
    let earlier = Ts(first.0 - 30_000_000);
    stage.slack.send_message_with(gesture(Some(earlier))).unwrap();
    stage.says(&stage.tea, &stage.ren, "that is all");
    stage.until_kept("SELECT count(*) FROM messages WHERE text = 'that is all'", 1).await;
    stage.until_kept("SELECT count(*) FROM owed WHERE closed_ms IS NULL", 0).await;
    assert_eq!(stage.slack.posts().len(), 2);
    let kept = stage.kept(&stage.tea).await;
    assert_eq!(kept.iter().filter(|text| text.contains("and again?")).count(), 1, "{kept:?}");
    assert_eq!(program.stop(), Some(0));
}

/// H09, H10: what is written to it directly waits two seconds for more; what is taken back meanwhile was
/// never said.
#[tokio::test]
async fn a_direct_line_that_is_edited_or_deleted_before_its_answer_counts_as_it_stands() {
    let stage = SlackHarness::new().await;
    let direct = stage.slack.open_direct_message(&stage.mio).unwrap();
    let program = stage.start().await;
    let line = stage.says(&direct, &stage.mio, "the first wording");
    stage.slack.edit_message(&direct, line, "the second wording").unwrap();
    let slip = stage.says(&direct, &stage.mio, "a slip of the hand");
    stage.slack.delete_message(&direct, slip).unwrap();
    stage.posts(1).await;
    let prompt = stage.prompt();
    assert!(prompt.contains("the second wording"), "{prompt}");
    assert!(!prompt.contains("the first wording") && !prompt.contains("a slip"), "{prompt}");
    stage.until_kept("SELECT count(*) FROM owed WHERE closed_ms IS NULL", 0).await;
    assert_eq!(stage.slack.posts().len(), 1);
    assert_eq!(program.stop(), Some(0));
    let bytes = std::fs::read(stage.home.database()).unwrap();
    let holds = |words: &str| bytes.windows(words.len()).any(|part| part == words.as_bytes());
    assert!(!holds("a slip of the hand"), "what was deleted is in the file no more");
}

/// Defects 16, 17 and 19 of what came before, and who is who.
#[tokio::test]
async fn files_gestures_and_integrations_are_heard_and_bots_get_no_answer() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    let mention = format!("<@{}> look", stage.bot);
    let file = json!({"id": "F1", "name": "plan.pdf", "pretty_type": "PDF", "mimetype": "application/pdf"});
    let said = [
        NewFakeMessage {
            subtype: Some("me_message".to_owned()),
            ..NewFakeMessage::new(&stage.tea, &stage.mio, "waves")
        },
        NewFakeMessage {
            subtype: Some("bot_message".to_owned()),
            bot: Some("B0DEPLOYS".to_owned()),
            ..NewFakeMessage::new(&stage.tea, "", &mention)
        },
        NewFakeMessage {
            subtype: Some("file_share".to_owned()),
            files: vec![file],
            ..NewFakeMessage::new(&stage.tea, &stage.mio, &mention)
        },
    ];
    for saying in said {
        stage.slack.send_message_with(saying).unwrap();
    }
    stage.posts(1).await;
    let prompt = stage.prompt();
    assert!(prompt.contains("waves") && prompt.contains("plan.pdf"), "{prompt}");
    stage.until_kept("SELECT count(*) FROM messages WHERE author_kind = 'bot'", 1).await;
    stage.until_kept("SELECT count(*) FROM owed WHERE closed_ms IS NULL", 0).await;
    assert_eq!(stage.slack.posts().len(), 1);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn names_are_read_and_written_and_nobody_is_called_by_accident() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    stage.says(&stage.tea, &stage.ren, "I bake");
    stage.will_say(&["Ask @Ren, @everyone, <!channel> or <@U0NOBODY>, @here."]);
    let question =
        format!("<@{}> who bakes, <@{}>? see <#{}|tea> :tada:", stage.bot, stage.ren, stage.tea);
    stage.says(&stage.tea, &stage.mio, &question);
    let post = stage.posts(1).await.remove(0);
    let prompt = stage.prompt();
    assert!(prompt.contains("@Aizuchi who bakes, @Ren? see #tea 🎉"), "{prompt}");
    assert!(post.text.contains(&format!("<@{}>", stage.ren)), "{}", post.text);
    assert!(!post.text.contains("<!") && !post.text.contains("<@U0NOBODY>"), "{}", post.text);
    // Somebody chooses another name, and the next prompt has it.
    let names = NameChange { display_name: "Renate", real_name: "Renate" };
    stage.slack.rename_user(&stage.ren, names).unwrap();
    stage.until_kept("SELECT count(*) FROM users WHERE name = 'Renate'", 1).await;
    stage.slack.rename_channel(&stage.tea, &stage.mio, "coffee").unwrap();
    stage.until_kept("SELECT count(*) FROM channels WHERE name = 'coffee'", 1).await;
    stage.asks(&stage.tea, &stage.mio, "and now?");
    stage.posts(2).await;
    let prompt = stage.prompt();
    assert!(prompt.contains("Renate") && prompt.contains("#coffee"), "{prompt}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn edits_count_previews_do_not_and_reactions_are_kept() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    let line = stage.says(&stage.tea, &stage.mio, "see https://example.com");
    stage.slack.unfurl(&stage.tea, line).unwrap();
    stage.slack.add_reaction(&stage.tea, line, &stage.ren, "eyes").unwrap();
    stage.until_kept("SELECT count(*) FROM reactions WHERE removed_ms IS NULL", 1).await;
    stage.until_kept("SELECT count(*) FROM messages WHERE edits > 0", 0).await;
    stage.slack.edit_message(&stage.tea, line, "see the book").unwrap();
    stage.until_kept("SELECT count(*) FROM messages WHERE edits = 1", 1).await;
    stage.slack.remove_reaction(&stage.tea, line, &stage.ren, "eyes").unwrap();
    stage.until_kept("SELECT count(*) FROM reactions WHERE removed_ms IS NULL", 0).await;
    assert_eq!(stage.kept(&stage.tea).await, ["see the book"]);
    assert_eq!(program.stop(), Some(0));
}

/// People see a post before the program knows that it has posted.
#[tokio::test]
async fn who_reacts_to_a_post_at_once_has_reacted() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    stage.slack.inject_fault("chat.postMessage", Fault::HangAfter(Hang::UntilReleased));
    stage.asks(&stage.tea, &stage.mio, "hello?");
    let post = stage.posts(1).await.remove(0);
    stage.slack.add_reaction(&stage.tea, post.ts, &stage.ren, "tada").unwrap();
    stage.until(|slack| slack.unacked_deliveries().is_empty()).await;
    assert_eq!(stage.kept(&stage.tea).await.len(), 1, "the post is not kept yet");
    stage.slack.release_hanging();
    stage.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    let shown = "SELECT count(*) FROM messages AS m JOIN reactions AS r ON r.message = m.id
        WHERE m.author_kind = 'persona' AND m.reacted >= m.revision AND r.emoji = '🎉'";
    assert_eq!(stage.count(shown).await, 1);
    assert_eq!(program.stop(), Some(0));
}

/// Defect 18: what is said right after it was invited is heard, and what was said before is read.
#[tokio::test]
async fn a_room_is_listened_to_from_the_moment_it_is_joined() {
    let stage = SlackHarness::new().await;
    let members = vec![stage.mio.clone(), stage.ren.clone()];
    let garden = NewChannel { name: "garden".to_owned(), members, ..NewChannel::default() };
    let garden = stage.slack.add_channel(garden).unwrap();
    stage.says(&garden, &stage.ren, "the beds are dug");
    let program = stage.start().await;
    stage.slack.join_channel(&garden, &stage.bot).unwrap();
    stage.asks(&garden, &stage.mio, "do you know this garden?");
    let post = stage.posts(1).await.remove(0);
    assert_eq!(post.channel, garden);
    let read = "SELECT count(*) FROM messages WHERE text = 'the beds are dug'";
    stage.until_kept(read, 1).await;
    stage
        .until_kept(
            "SELECT count(*) FROM channels WHERE name = 'garden' AND visibility = 'public'",
            1,
        )
        .await;
    // Where it is no more, nothing is said any more.
    stage.slack.leave_channel(&garden, &stage.bot).unwrap();
    stage.says(&garden, &stage.mio, "gone?");
    stage.says(&stage.tea, &stage.mio, "after that");
    stage.until_kept("SELECT count(*) FROM messages WHERE text = 'after that'", 1).await;
    stage.until_kept("SELECT count(*) FROM messages WHERE text = 'gone?'", 0).await;
    assert_eq!(program.stop(), Some(0));
}

/// Invariant 9.
#[tokio::test]
async fn a_room_that_becomes_private_keeps_its_words() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    stage.says(&stage.tea, &stage.ren, "the password of the cellar is plum");
    stage.until_kept("SELECT count(*) FROM messages WHERE visibility = 'public'", 1).await;
    stage.slack.make_private(&stage.tea, &stage.mio).unwrap();
    stage.until_kept("SELECT count(*) FROM messages WHERE visibility = 'public'", 0).await;
    let hall = NewChannel {
        name: "hall".to_owned(),
        members: vec![stage.mio.clone(), stage.bot.clone()],
        ..NewChannel::default()
    };
    let hall = stage.slack.add_channel(hall).unwrap();
    stage.asks(&hall, &stage.mio, "what is the password of the cellar?");
    stage.posts(1).await;
    assert!(!stage.prompt().contains("plum"), "{}", stage.prompt());
    assert_eq!(program.stop(), Some(0));
}

/// A group of people who write to each other beside the channels is no direct message.
#[tokio::test]
async fn in_a_group_message_only_a_mention_is_for_it() {
    let stage = SlackHarness::new().await;
    let group = NewChannel {
        kind: ChannelKind::Group,
        members: vec![stage.mio.clone(), stage.ren.clone(), stage.bot.clone()],
        ..NewChannel::default()
    };
    let group = stage.slack.add_channel(group).unwrap();
    let program = stage.start().await;
    stage.says(&group, &stage.mio, "Ren, are you there?");
    stage.asks(&group, &stage.mio, "and you?");
    stage.posts(1).await;
    stage.until_kept("SELECT count(*) FROM owed", 1).await;
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn answers_may_go_into_threads() {
    let setting = Setting { slack: "  reply_in: thread\n", ..Setting::default() };
    let stage = SlackHarness::with(setting).await;
    let direct = stage.slack.open_direct_message(&stage.mio).unwrap();
    let program = stage.start().await;
    let asked = stage.asks(&stage.tea, &stage.mio, "where do you answer?");
    assert_eq!(stage.posts(1).await[0].thread, Some(asked));
    // What is said there goes on there.
    stage.until_kept(&format!("SELECT count(*) FROM messages WHERE thread = '{asked}'"), 1).await;
    stage.says(&direct, &stage.mio, "and here?");
    assert_eq!(stage.posts(2).await[1].thread, None);
    assert_eq!(program.stop(), Some(0));
}
