//! Commands in Slack, and the announcement when the bot joins a channel.

use aizuchi_fakes::fault::Fault;
use aizuchi_fakes::slack::channel::NewChannel;
use aizuchi_model::chat::{ChannelId, Visibility};
use aizuchi_model::memory::{MemoryEntry, MemoryKey, MemoryScope, MemoryTerm};
use aizuchi_store::order::Order;
use serde_json::Value;

use crate::slack::harness::SlackHarness;
use crate::slack::timeouts::AdapterHarness;

/// Returns the ephemeral posts so far: user and text.
fn ephemeral_posts(harness: &SlackHarness) -> Vec<(String, String)> {
    let calls = harness.slack.calls("chat.postEphemeral");
    let argument = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let user_and_text = |call: &aizuchi_fakes::slack::journal::RecordedCall| {
        (argument(&call.arguments["user"]), argument(&call.arguments["text"]))
    };
    calls.iter().map(user_and_text).collect()
}

#[tokio::test]
async fn a_mute_is_told_to_all_and_other_commands_are_answered_to_their_user() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    harness.post_mention(&harness.tea, &harness.mio, "mute 2h");
    // Everyone there has to know.
    let told = harness.wait_for_posts(1).await.remove(0).text;
    assert!(told.starts_with("I’ll stay silent here until"), "{told}");
    harness.post_mention(&harness.tea, &harness.ren, "are you there?");
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'muted'", 1).await;
    harness.post_mention(&harness.tea, &harness.ren, "unmute");
    harness.wait_for_posts(2).await;
    harness.post_mention(&harness.tea, &harness.ren, "status");
    harness.wait_until(|slack| slack.calls("chat.postEphemeral").len() == 2).await;
    // Whoever mentions it while it is muted learns so.
    for (begin, (user, text)) in
        ["I’ll stay silent here until", "In this channel I "].iter().zip(ephemeral_posts(&harness))
    {
        assert_eq!(user, harness.ren);
        assert!(text.starts_with(begin), "{text}");
    }
    harness.will_say(&["I am."]);
    harness.post_mention(&harness.tea, &harness.ren, "and now?");
    assert_eq!(harness.wait_for_posts(3).await.remove(2).text, "I am.");
    assert!(!harness.prompt().contains("unmute"));
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn what_was_missed_is_told_with_links_and_times_are_those_of_the_profile() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    let text = format!("<@{}> could you fill the kettle?", harness.mio);
    let asked = harness.post_message(&harness.tea, &harness.ren, &text);
    harness.post_mention(&harness.tea, &harness.mio, "what did I miss?");
    harness.wait_until(|slack| slack.calls("chat.postEphemeral").len() == 1).await;
    let (user, told) = ephemeral_posts(&harness).remove(0);
    assert_eq!(user, harness.mio);
    let asked = asked.to_string().replace('.', "");
    let link = format!(".slack.com/archives/{}/p{asked}", harness.tea);
    assert!(told.contains("For you:") && told.contains(&link), "{told}");
    harness.post_mention(&harness.tea, &harness.mio, "remind me in 2 hours to water the fern");
    harness.wait_until(|slack| slack.calls("chat.postEphemeral").len() == 2).await;
    let told = ephemeral_posts(&harness).remove(1).1;
    assert!(told.contains(" JST "), "{told}");
    assert_eq!(program.stop(), Some(0));
}

/// The question is ephemeral, so Slack's history does not show it.
#[tokio::test]
async fn a_yes_to_an_ephemeral_question_forgets() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    harness.post_message(&harness.tea, &harness.mio, "my shed leaks");
    harness.post_mention(&harness.tea, &harness.mio, "forget me");
    harness.wait_until(|slack| slack.calls("chat.postEphemeral").len() == 1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    harness.post_message(&harness.tea, &harness.mio, "yes, please");
    harness.wait_until(|slack| slack.calls("chat.postEphemeral").len() == 2).await;
    let told = ephemeral_posts(&harness).remove(1).1;
    assert!(told.starts_with("I’ve deleted what you said"), "{told}");
    harness.until_kept("SELECT count(*) FROM messages WHERE text = 'my shed leaks'", 0).await;
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_command_in_a_direct_message_needs_no_mention_and_its_answer_is_not_ephemeral() {
    let harness = SlackHarness::new().await;
    let direct = harness.slack.open_direct_message(&harness.mio).unwrap();
    let program = harness.start().await;
    harness.post_message(&direct, &harness.mio, "status");
    let post = harness.wait_for_posts(1).await.remove(0);
    assert_eq!(post.channel, direct);
    assert!(post.text.starts_with("In this channel I "), "{}", post.text);
    assert_eq!(program.stop(), Some(0));
}

/// An ephemeral answer with an unknown outcome is not repeated: it cannot be looked up, and the user can ask again.
#[tokio::test]
async fn an_ephemeral_answer_with_an_unknown_outcome_is_not_repeated() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    harness.slack.inject_fault_times("chat.postEphemeral", &Fault::ResetAfter, 1);
    harness.post_mention(&harness.tea, &harness.mio, "status");
    harness
        .until_kept("SELECT count(*) FROM decisions WHERE gate = 'command' AND ended = 'spoke'", 1)
        .await;
    assert_eq!(ephemeral_posts(&harness).len(), 1);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn the_bot_announces_itself_once_in_each_channel_that_it_joins() {
    let harness = SlackHarness::new().await;
    harness.home.announce();
    let members = vec![harness.mio.clone(), harness.ren.clone()];
    let garden = NewChannel { name: "garden".to_owned(), members, ..NewChannel::default() };
    let garden = harness.slack.add_channel(garden).unwrap();
    let program = harness.start().await;
    let posts = harness.wait_for_posts(2).await;
    let mut announced: Vec<_> = posts.iter().map(|post| post.channel.clone()).collect();
    announced.sort();
    let mut joined = vec![harness.tea.clone(), harness.attic.clone()];
    joined.sort();
    assert_eq!(announced, joined);
    assert!(posts[0].text.contains("Aizuchi, a bot") && posts[0].text.contains("forget me"));
    harness.slack.join_channel(&garden, &harness.bot).unwrap();
    assert_eq!(harness.wait_for_posts(3).await.last().unwrap().channel, garden);
    harness.slack.leave_channel(&garden, &harness.bot).unwrap();
    harness.slack.join_channel(&garden, &harness.bot).unwrap();
    assert_eq!(program.stop(), Some(0));
    // Neither a restart nor a second join is announced.
    let program = harness.start().await;
    harness.post_mention(&garden, &harness.mio, "do you know this garden?");
    harness.wait_for_posts(4).await;
    harness.until_kept("SELECT count(*) FROM steps", 0).await;
    assert_eq!(harness.slack.posts().len(), 4);
    assert_eq!(program.stop(), Some(0));
}

/// A command's answer may contain a model's text, so its mentions and links are inert.
#[tokio::test]
async fn nothing_in_a_commands_answer_is_live() {
    let adapter = AdapterHarness::new().await;
    let key = MemoryKey {
        workspace: adapter.slack.identity().workspace.clone(),
        scope: MemoryScope::Channel(ChannelId::new(adapter.harness.tea.as_str())),
        term: MemoryTerm::LongTerm,
    };
    let entry = MemoryEntry {
        date: jiff::civil::date(2026, 3, 1),
        text: "**roses** <!channel> <https://evil.example|Wiki> <@U0DEV00001> & @here".into(),
        visibility: Visibility::Public,
        messages: Vec::new(),
        pinned: false,
    };
    let newest = jiff::Timestamp::now();
    let order = Order::ImportMemory { key, entries: vec![entry], newest };
    adapter.database.store.order(order, newest).await.unwrap();
    adapter
        .harness
        .slack
        .run_command(&adapter.harness.tea, &adapter.harness.mio, "/aizuchi", "memory")
        .unwrap();
    // On a busy machine, the first answer may say that it takes a moment.
    let mut answers = adapter.command_answers(1).await;
    if !answers[0].contains("roses") {
        answers = adapter.command_answers(2).await;
    }
    // The link is escaped, because it was not posted in this conversation.
    let escaped = "From this channel:\n\n\
        • 2026-03-01: *roses* &lt;!channel&gt; evil.example|Wiki &lt;@U0DEV00001&gt; &amp; @here";
    assert_eq!(answers.last().map(String::as_str), Some(escaped));
}
