//! The program's posts on Discord, despite faults and refusals.

use aizuchi_fakes::discord::api_error::{ErrorCode, RateLimitScope};
use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::method::Method;
use aizuchi_fakes::fault::Hang;
use aizuchi_harness::providers::ProviderResponse;
use serde_json::json;

use crate::discord::harness::{DiscordHarness, Setting};

/// Scenario D07: Discord's response is lost, and the post exists once.
#[tokio::test]
async fn a_lost_response_leaves_one_post() {
    for fault in [Fault::ResetAfter, Fault::StatusAfter(502), Fault::HangAfter(Hang::UntilReleased)]
    {
        let harness = DiscordHarness::new().await;
        let program = harness.start().await;
        harness.discord.inject_fault(Method::CreateMessage, fault.clone());
        harness.will_say(&["It is ready."]);
        harness.asks(harness.tea, harness.mio, "is it ready?");
        harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
        assert_eq!(program.stop(), Some(0));
        let own = harness.discord.texts(harness.tea).unwrap();
        assert_eq!(own.iter().filter(|text| *text == "It is ready.").count(), 1, "{fault:?}");
        assert_eq!(harness.discord.calls(Method::CreateMessage).len(), 1, "{fault:?}");
    }
}

/// Scenario H17: a rate limit in one channel does not delay other channels.
#[tokio::test]
async fn a_rate_limit_in_one_channel_does_not_delay_another() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    let limit = |seconds| {
        let fault = Fault::rate_limited(seconds, RateLimitScope::User);
        harness.discord.inject_fault(Method::CreateMessage, fault);
    };
    harness.will_say(&["first", "second", "third"]);
    limit(3.0);
    harness.asks(harness.tea, harness.mio, "one?");
    harness.posts(1).await;
    let calls = harness.discord.calls(Method::CreateMessage);
    let waited = calls[1].at.duration_since(calls[0].at);
    assert!(calls.len() == 2 && waited.as_secs_f64() >= 3.0, "{waited} {}", calls.len());
    // Longer than an answer takes on any machine.
    limit(600.0);
    harness.asks(harness.tea, harness.mio, "two?");
    harness.until(|discord| discord.calls(Method::CreateMessage).len() == 3).await;
    harness.asks(harness.attic, harness.ren, "three?");
    let posts = harness.posts(2).await;
    assert_eq!((posts[0].channel, posts[1].channel), (harness.tea, harness.attic));
    assert_eq!(program.stop(), Some(0));
}

/// Scenario H19: a refused post is not retried, and becomes a dead letter.
#[tokio::test]
async fn a_refused_post_becomes_a_dead_letter() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    harness
        .discord
        .inject_fault(Method::CreateMessage, Fault::error(ErrorCode::MissingPermissions));
    harness.asks(harness.tea, harness.mio, "are you there?");
    harness.until_kept("SELECT count(*) FROM dead_letters", 1).await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.discord.calls(Method::CreateMessage).len(), 1);
    assert_eq!(harness.discord.posts().len(), 0);
}

#[tokio::test]
async fn a_long_answer_is_split_into_posts_that_fit() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    let code = format!("```rust\n{}```", "let tea = Tea::new();\n".repeat(60));
    let text = format!(
        "{}\n\n{code}\n\n{}That is all.",
        "京都はよいところです。".repeat(150),
        "All of it. ".repeat(150)
    );
    harness.will_say(&[&text]);
    let asked = harness.asks(harness.tea, harness.mio, "tell me everything");
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    let posts = harness.discord.posts();
    assert!(posts.len() >= 3, "{}", posts.len());
    for post in &posts {
        assert!(post.text.encode_utf16().count() <= 2000);
        assert_eq!(post.text.matches("```").count() % 2, 0, "{}", post.text);
        let is_whole = post.text.ends_with(['。', '.', '`']);
        assert!(is_whole, "{}", post.text);
    }
    // Only the first post replies to the question.
    let replied_to = posts.iter().map(|post| post.body["message_reference"]["message_id"].clone());
    let replied_to: Vec<_> = replied_to.filter(|id| !id.is_null()).collect();
    assert_eq!(replied_to, [json!(asked.to_string())]);
    assert_eq!(program.stop(), Some(0));
}

/// A user whose question cannot be answered gets an apology.
#[tokio::test]
async fn a_failed_answer_becomes_an_apology() {
    for (language, sentence) in [("en", "Sorry"), ("ja", "すみません")] {
        let harness = DiscordHarness::new().await;
        harness.home.add(&format!("language: {language}\n"));
        let program = harness.start().await;
        harness.model.then([ProviderResponse::Status(401, Vec::new(), "no".to_owned())]);
        let asked = harness.asks(harness.tea, harness.mio, "are you there?");
        let post = harness.posts(1).await.remove(0);
        assert!(post.text.contains(sentence), "{}", post.text);
        assert_eq!(post.body["message_reference"]["message_id"], asked.to_string());
        assert_eq!(program.stop(), Some(0));
    }
}

/// Scenario D11: a model's text mentions no one but users who are present, in a post as it is sent.
#[tokio::test]
async fn a_models_text_mentions_only_known_users() {
    let harness = DiscordHarness::new().await;
    let role = harness.discord.add_role(harness.guild, "gardeners").unwrap();
    let program = harness.start().await;
    harness.says(harness.tea, harness.ren, "hello");
    harness.until_line("hello").await;
    let text = format!("@everyone @here <@&{role}> <@{}> @Ren", harness.mio);
    harness.will_say(&[&text]);
    harness.asks(harness.tea, harness.mio, "call them all");
    let post = harness.posts(1).await.remove(0);
    let expected = format!("＠everyone ＠here <＠&{role}> <＠{}> <@{}>", harness.mio, harness.ren);
    assert_eq!(post.text, expected);
    assert_eq!(post.body["allowed_mentions"]["parse"], json!([]));
    let message = harness.discord.messages(harness.tea).unwrap().pop().unwrap();
    assert!(message.mentions.is_empty() && message.mention_roles.is_empty());
    assert!(!message.mention_everyone);
    assert_eq!(program.stop(), Some(0));
}

/// With `threads: auto`, as in kotonoha, a mention opens a thread, in which no further mention is needed.
#[tokio::test]
async fn a_mention_opens_a_thread_in_which_the_conversation_continues() {
    let setting =
        Setting { discord: "  threads: auto\n  auto_archive_minutes: 60\n", ..Setting::default() };
    let harness = DiscordHarness::with(setting).await;
    let program = harness.start().await;
    harness.will_say(&["Straw.", "And patience."]);
    let asked = harness.asks(harness.tea, harness.mio, "what do roses need? It is cold.");
    let first = harness.posts(1).await.remove(0);
    assert_eq!(first.channel.get(), asked.get());
    let opened = &harness.discord.calls(Method::StartThreadFrom)[0].body;
    assert_eq!(opened, &json!({ "name": "what do roses need", "auto_archive_duration": 60 }));
    harness.says(first.channel, harness.ren, "and what else?");
    let second = harness.posts(2).await.remove(1);
    assert_eq!((second.channel, &*second.text), (first.channel, "And patience."));
    harness.until_kept("SELECT count(*) FROM owed WHERE closed_ms IS NULL", 0).await;
    assert_eq!(program.stop(), Some(0));
}

/// Typing is shown while an answer is owed, and not otherwise.
#[tokio::test]
async fn typing_is_shown_while_an_answer_is_owed() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    harness.says(harness.tea, harness.mio, "nobody is meant by this");
    harness.until_line("nobody is meant by this").await;
    assert_eq!(harness.discord.calls(Method::StartTyping).len(), 0);
    // The model never responds, because typing is shown only if the answer takes a while.
    harness.model.then([ProviderResponse::Never]);
    harness.asks(harness.tea, harness.mio, "are you there?");
    harness.until(|discord| discord.calls(Method::StartTyping).len() == 1).await;
    assert_eq!(program.stop(), Some(0));
}
