//! What people order in Slack, and what it tells when it joins.

use aizuchi_core::chat::{ChannelId, Visibility};
use aizuchi_core::memory::{MemoryEntry, MemoryKey, MemoryScope, MemoryTerm};
use aizuchi_core::store::Order;
use aizuchi_fakes::fault::Fault;
use aizuchi_fakes::slack::channel::NewChannel;
use serde_json::Value;

use crate::slack::harness::SlackHarness;
use crate::slack::timeouts::Alone;

/// What only one person has seen, with who that is.
fn whispers(stage: &SlackHarness) -> Vec<(String, String)> {
    let calls = stage.slack.calls("chat.postEphemeral");
    let argument = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let told = |call: &aizuchi_fakes::slack::journal::RecordedCall| {
        (argument(&call.arguments["user"]), argument(&call.arguments["text"]))
    };
    calls.iter().map(told).collect()
}

#[tokio::test]
async fn a_command_is_answered_to_whoever_gives_it_and_holds() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    stage.asks(&stage.tea, &stage.mio, "mute 2h");
    stage.until(|slack| !slack.calls("chat.postEphemeral").is_empty()).await;
    let (user, text) = whispers(&stage).remove(0);
    assert_eq!(user, stage.mio);
    assert!(text.starts_with("I say nothing here until"), "{text}");
    stage.asks(&stage.tea, &stage.ren, "are you there?");
    stage.until_kept("SELECT count(*) FROM decisions WHERE ended = 'muted'", 1).await;
    stage.asks(&stage.tea, &stage.ren, "unmute");
    stage.until(|slack| slack.calls("chat.postEphemeral").len() == 2).await;
    stage.will_say(&["I am."]);
    stage.asks(&stage.tea, &stage.ren, "and now?");
    assert_eq!(stage.posts(1).await.remove(0).text, "I am.");
    assert!(!stage.prompt().contains("mute"));
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn in_a_direct_message_a_command_needs_no_name_and_its_answer_stays() {
    let stage = SlackHarness::new().await;
    let direct = stage.slack.open_direct_message(&stage.mio).unwrap();
    let program = stage.start().await;
    stage.says(&direct, &stage.mio, "status");
    let post = stage.posts(1).await.remove(0);
    assert_eq!(post.channel, direct);
    assert!(post.text.starts_with("In this channel, Aizuchi"), "{}", post.text);
    assert_eq!(program.stop(), Some(0));
}

/// An answer that may have been said is not said again: only its reader could tell, and asks again.
#[tokio::test]
async fn a_whisper_whose_fate_is_unknown_is_not_repeated() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    stage.slack.inject_fault_times("chat.postEphemeral", &Fault::ResetAfter, 1);
    stage.asks(&stage.tea, &stage.mio, "status");
    stage
        .until_kept("SELECT count(*) FROM decisions WHERE gate = 'command' AND ended = 'spoke'", 1)
        .await;
    assert_eq!(whispers(&stage).len(), 1);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn it_tells_once_in_each_room_that_it_joins_what_it_hears() {
    let stage = SlackHarness::new().await;
    stage.home.announce();
    let members = vec![stage.mio.clone(), stage.ren.clone()];
    let garden = NewChannel { name: "garden".to_owned(), members, ..NewChannel::default() };
    let garden = stage.slack.add_channel(garden).unwrap();
    let program = stage.start().await;
    let posts = stage.posts(2).await;
    let mut told: Vec<_> = posts.iter().map(|post| post.channel.clone()).collect();
    told.sort();
    let mut rooms = vec![stage.tea.clone(), stage.attic.clone()];
    rooms.sort();
    assert_eq!(told, rooms);
    assert!(posts[0].text.contains("Aizuchi, a bot") && posts[0].text.contains("forget me"));
    stage.slack.join_channel(&garden, &stage.bot).unwrap();
    assert_eq!(stage.posts(3).await.last().unwrap().channel, garden);
    stage.slack.leave_channel(&garden, &stage.bot).unwrap();
    stage.slack.join_channel(&garden, &stage.bot).unwrap();
    assert_eq!(program.stop(), Some(0));
    // Neither a restart nor coming back is news.
    let program = stage.start().await;
    stage.asks(&garden, &stage.mio, "do you know this garden?");
    stage.posts(4).await;
    stage.until_kept("SELECT count(*) FROM steps", 0).await;
    assert_eq!(stage.slack.posts().len(), 4);
    assert_eq!(program.stop(), Some(0));
}

/// What a model has noted down is told, and does nothing.
#[tokio::test]
async fn nothing_that_a_command_tells_is_live() {
    let alone = Alone::new().await;
    let key = MemoryKey {
        workspace: alone.slack.identity().workspace.clone(),
        scope: MemoryScope::Channel(ChannelId::new(alone.stage.tea.as_str())),
        term: MemoryTerm::LongTerm,
    };
    let entry = MemoryEntry {
        date: jiff::civil::date(2026, 3, 1),
        text: "**roses** <!channel> <https://evil.example|Wiki> <@U0DEV00001> & @here".into(),
        visibility: Visibility::Public,
        messages: Vec::new(),
    };
    let newest = jiff::Timestamp::now();
    let order = Order::ImportMemory { key, entries: vec![entry], newest };
    alone.kept.store.order(order, newest).await.unwrap();
    alone
        .stage
        .slack
        .run_command(&alone.stage.tea, &alone.stage.mio, "/aizuchi", "memory")
        .unwrap();
    // On a busy machine, it is told first that it takes a moment.
    let mut told = alone.told(1).await;
    if !told[0].contains("roses") {
        told = alone.told(2).await;
    }
    // A link says where it leads, and not what somebody calls it.
    let dead = "• 2026-03-01: *roses* &lt;!channel&gt; <https://evil.example%7CWiki> \
                &lt;@U0DEV00001&gt; &amp; @here";
    assert_eq!(told.last().map(String::as_str), Some(dead));
}
