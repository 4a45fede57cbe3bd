//! What the real program says on Discord, whatever happens on the way.

use aizuchi_fakes::discord::api_error::{ErrorCode, RateLimitScope};
use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::method::Method;
use aizuchi_fakes::fault::Hang;
use serde_json::json;

use crate::discord::harness::{DiscordHarness, Setting};
use aizuchi_harness::providers::Treatment;

/// D07: the answer of Discord is lost, and the post is there once.
#[tokio::test]
async fn a_lost_answer_leaves_one_post() {
    for fault in [Fault::ResetAfter, Fault::StatusAfter(502), Fault::HangAfter(Hang::UntilReleased)]
    {
        let stage = DiscordHarness::new().await;
        let program = stage.start().await;
        stage.discord.inject_fault(Method::CreateMessage, fault.clone());
        stage.will_say(&["It is ready."]);
        stage.asks(stage.tea, stage.mio, "is it ready?");
        stage.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
        assert_eq!(program.stop(), Some(0));
        let own = stage.discord.texts(stage.tea).unwrap();
        assert_eq!(own.iter().filter(|text| *text == "It is ready.").count(), 1, "{fault:?}");
        assert_eq!(stage.discord.calls(Method::CreateMessage).len(), 1, "{fault:?}");
    }
}

/// H17 on Discord: other channels are not held up.
#[tokio::test]
async fn a_limit_in_one_channel_does_not_stall_another() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    stage
        .discord
        .inject_fault(Method::CreateMessage, Fault::rate_limited(3.0, RateLimitScope::User));
    stage.will_say(&["first", "second"]);
    stage.asks(stage.tea, stage.mio, "one?");
    stage.until(|discord| discord.calls(Method::CreateMessage).len() == 1).await;
    stage.asks(stage.attic, stage.ren, "two?");
    let posts = stage.posts(2).await;
    assert_eq!((posts[0].channel, posts[1].channel), (stage.attic, stage.tea));
    let calls = stage.discord.calls(Method::CreateMessage);
    let waited = calls[2].at.duration_since(calls[0].at);
    assert!(calls.len() == 3 && waited.as_secs_f64() >= 3.0, "{waited} {}", calls.len());
    assert_eq!(program.stop(), Some(0));
}

/// H19 on Discord: no storm, and somebody is told.
#[tokio::test]
async fn what_discord_refuses_is_a_dead_letter() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    stage.discord.inject_fault(Method::CreateMessage, Fault::error(ErrorCode::MissingPermissions));
    stage.asks(stage.tea, stage.mio, "are you there?");
    stage.until_kept("SELECT count(*) FROM dead_letters", 1).await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(stage.discord.calls(Method::CreateMessage).len(), 1);
    assert_eq!(stage.discord.posts().len(), 0);
}

#[tokio::test]
async fn a_long_answer_comes_in_pieces_that_fit() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    let code = format!("```rust\n{}```", "let tea = Tea::new();\n".repeat(60));
    let long = format!(
        "{}\n\n{code}\n\n{}",
        "京都はよいところです。".repeat(150),
        "All of it. ".repeat(150)
    );
    stage.will_say(&[&long]);
    let asked = stage.asks(stage.tea, stage.mio, "tell me everything");
    stage.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    let posts = stage.discord.posts();
    assert!(posts.len() >= 3, "{}", posts.len());
    for post in &posts {
        assert!(post.text.encode_utf16().count() <= 2000);
        assert_eq!(post.text.matches("```").count() % 2, 0, "{}", post.text);
        let is_whole = post.text.ends_with(['。', '.', '`']);
        assert!(is_whole, "{}", post.text);
    }
    // Only the first one points to the question.
    let points = posts.iter().map(|post| post.body["message_reference"]["message_id"].clone());
    let points: Vec<_> = points.filter(|point| !point.is_null()).collect();
    assert_eq!(points, [json!(asked.to_string())]);
    assert_eq!(program.stop(), Some(0));
}

/// Whoever asked is told; whoever did not is not.
#[tokio::test]
async fn who_would_wait_in_vain_gets_a_sentence() {
    for (language, sentence) in [("en", "Sorry"), ("ja", "すみません")] {
        let stage = DiscordHarness::new().await;
        stage.home.add(&format!("language: {language}\n"));
        let program = stage.start().await;
        stage.model.then([Treatment::Status(401, Vec::new(), "no".to_owned())]);
        let asked = stage.asks(stage.tea, stage.mio, "are you there?");
        let post = stage.posts(1).await.remove(0);
        assert!(post.text.contains(sentence), "{}", post.text);
        assert_eq!(post.body["message_reference"]["message_id"], asked.to_string());
        assert_eq!(program.stop(), Some(0));
    }
}

/// D11: what a model says calls nobody, in a post as it is sent.
#[tokio::test]
async fn nobody_is_called_by_what_a_model_says() {
    let stage = DiscordHarness::new().await;
    let role = stage.discord.add_role(stage.guild, "gardeners").unwrap();
    let program = stage.start().await;
    stage.says(stage.tea, stage.ren, "hello");
    stage.until_line("hello").await;
    let evil = format!("@everyone @here <@&{role}> <@{}> @Ren", stage.mio);
    stage.will_say(&[&evil]);
    stage.asks(stage.tea, stage.mio, "call them all");
    let post = stage.posts(1).await.remove(0);
    let expected = format!("＠everyone ＠here <＠&{role}> <＠{}> <@{}>", stage.mio, stage.ren);
    assert_eq!(post.text, expected);
    assert_eq!(post.body["allowed_mentions"]["parse"], json!([]));
    let message = stage.discord.messages(stage.tea).unwrap().pop().unwrap();
    assert!(message.mentions.is_empty() && message.mention_roles.is_empty());
    assert!(!message.mention_everyone);
    assert_eq!(program.stop(), Some(0));
}

/// As kotonoha: a mention opens a thread, and there nobody needs to mention it.
#[tokio::test]
async fn a_mention_opens_a_thread_and_the_talk_goes_on_there() {
    let setting =
        Setting { discord: "  threads: auto\n  auto_archive_minutes: 60\n", ..Setting::default() };
    let stage = DiscordHarness::with(setting).await;
    let program = stage.start().await;
    stage.will_say(&["Straw.", "And patience."]);
    let asked = stage.asks(stage.tea, stage.mio, "what do roses need? It is cold.");
    let first = stage.posts(1).await.remove(0);
    assert_eq!(first.channel.get(), asked.get());
    let opened = &stage.discord.calls(Method::StartThreadFrom)[0].body;
    assert_eq!(opened, &json!({ "name": "what do roses need", "auto_archive_duration": 60 }));
    stage.says(first.channel, stage.ren, "and what else?");
    let second = stage.posts(2).await.remove(1);
    assert_eq!((second.channel, &*second.text), (first.channel, "And patience."));
    stage.until_kept("SELECT count(*) FROM owed WHERE closed_ms IS NULL", 0).await;
    assert_eq!(program.stop(), Some(0));
}

/// Typing is shown to those who wait for an answer, and to nobody else.
#[tokio::test]
async fn it_is_seen_thinking_by_those_who_asked() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    stage.says(stage.tea, stage.mio, "nobody is meant by this");
    stage.until_line("nobody is meant by this").await;
    assert_eq!(stage.discord.calls(Method::StartTyping).len(), 0);
    // An answer that is there at once is not thought of for long enough to be seen.
    stage.model.then([Treatment::Never]);
    stage.asks(stage.tea, stage.mio, "are you there?");
    stage.until(|discord| discord.calls(Method::StartTyping).len() == 1).await;
    assert_eq!(program.stop(), Some(0));
}
