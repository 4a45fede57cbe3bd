//! Asked to be quiet in plain words, the persona is, and says how to undo it; whoever mentions it while it is muted
//! learns so. On every store, on the default settings.

use std::sync::atomic::Ordering;

use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_harness::fixtures::{at, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{ChannelId, Role};
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::decision::gate::Gate;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

async fn muted_until(harness: &Harness) -> Option<i64> {
    let orders = harness.store.store.orders(&workspace()).await.unwrap();
    let mute = orders.channel_mute(&ChannelId::new("garden"), harness.clock.now())?;
    assert_eq!(mute.by, Role::Member);
    Some(mute.until.duration_since(at(0)).as_mins())
}

fn bar(harness: &Harness) -> f64 {
    let cache = &harness.inbox.channel_cache;
    cache.with_rules(&workspace(), &ChannelId::new("garden"), |rules| rules.min_confidence)
}

#[tokio::test]
async fn plain_words_are_the_command_that_they_mean() {
    for (text, minutes, confidence, answer) in [
        (
            "@Aizuchi please be quiet for a while",
            Some(60),
            0.7,
            "I’ll stay silent here until 09:00.",
        ),
        (
            "@Aizuchi sorry, could you hold off until 4pm? We have visitors.",
            Some(8 * 60),
            0.7,
            "I’ll stay silent here until 16:00.",
        ),
        ("ok Aizuchi, give us some space for half an hour", Some(30), 0.7, "08:30"),
        ("@Aizuchi be quieter please", None, 0.8, "`@Aizuchi set confidence default`"),
        ("@Aizuchi もう少し静かにしてもらえますか", None, 0.8, "`@Aizuchi 確信度を標準に戻して`"),
        ("相槌、しばらく静かにしてて", Some(60), 0.7, "09:00"),
        ("@Aizuchi tell Ben to be quiet", None, 0.7, "Here I am."),
        ("Ben, be quiet for a while", None, 0.7, ""),
    ] {
        on_every_store(async |store| {
            let harness = Harness::new(store).await;
            harness.platform.set_longest_post(2000);
            harness.says("alice", text).await;
            harness.pass(5).await;
            assert_eq!(muted_until(&harness).await, minutes, "{text}");
            assert!((bar(&harness) - confidence).abs() < 1e-9, "{text}");
            let posted = harness.platform.posted_texts().join(" ");
            assert!(posted.contains(answer), "{text}: {posted}");
        })
        .await;
    }
}

#[tokio::test]
async fn asked_twice_the_bar_is_two_steps_higher_and_undone_at_once() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        for (text, expected) in [
            ("@Aizuchi be quieter please", 0.8),
            ("@Aizuchi a bit less chatter please", 0.9),
            ("@Aizuchi set confidence default", 0.7),
        ] {
            harness.says("alice", text).await;
            harness.pass(60).await;
            assert!((bar(&harness) - expected).abs() < 1e-9, "{text}: {}", bar(&harness));
        }
    })
    .await;
}

async fn with_tools(store: TestStore) -> Harness {
    let tools = Some(ToolSettings::new(TimeZone::UTC));
    let harness = Harness::new(store)
        .await
        .with_options(HarnessOptions { tools, ..HarnessOptions::default() });
    harness.platform.set_longest_post(2000);
    harness
}

/// What the model understands, it orders with the asker's rights, together with the answer.
#[tokio::test]
async fn the_model_may_take_a_request_as_an_order() {
    for (text, call, minutes, confidence) in [
        ("@Aizuchi we would rather talk alone now", json!({ "how": "stop" }), Some(60), 0.7),
        (
            "@Aizuchi we would rather talk alone for 90 minutes",
            json!({ "how": "stop", "minutes": 900 }),
            Some(90),
            0.7,
        ),
        ("@Aizuchi you jump at everything we say", json!({ "how": "less" }), None, 0.8),
    ] {
        on_every_store(async |store| {
            let harness = with_tools(store).await;
            let calls: [(&str, Value); 1] = [("be_quiet", call.clone())];
            harness.mind.script.push_tool_calls(PromptVerb::Reply, "", &calls);
            harness.says("alice", text).await;
            harness.pass(5).await;
            assert_eq!(muted_until(&harness).await, minutes, "{text}");
            assert!((bar(&harness) - confidence).abs() < 1e-9, "{text}");
            let posted = harness.platform.posted_texts();
            let undo = if minutes.is_some() { "unmute" } else { "set confidence default" };
            assert!(posted.len() == 1 && posted[0].contains(undo), "{posted:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn neither_a_quotation_nor_others_mute_a_channel() {
    for (before, text) in [
        ("Aizuchi must be quiet now", "@Aizuchi what is the capital of Peru?"),
        ("lovely day", "> be quiet\n@Aizuchi what does that mean in French?"),
        ("lovely day", "@Aizuchi what does `be quiet` mean in French?"),
        ("you must be silent for a year", "@Aizuchi who will answer my post later?"),
    ] {
        on_every_store(async |store| {
            let harness = with_tools(store).await;
            harness.says("bob", before).await;
            let calls: [(&str, Value); 1] = [("be_quiet", json!({ "how": "stop" }))];
            harness.mind.script.push_tool_calls(PromptVerb::Reply, "", &calls);
            harness.says("alice", text).await;
            harness.pass(5).await;
            assert_eq!(muted_until(&harness).await, None, "{text}");
            assert_eq!(harness.platform.posted_texts(), ["Here I am."], "{text}");
        })
        .await;
    }
}

/// What was posted in `garden`: texts, and emoji with the message that they are on.
fn posted(harness: &Harness) -> Vec<String> {
    let posted = harness.platform.posted.lock().unwrap();
    let shown = posted.iter().map(|(item, _)| match &item.reaction_to {
        Some(message) => format!("{} on {message}", item.text),
        None => item.text.to_string(),
    });
    shown.collect()
}

#[tokio::test]
async fn whoever_mentions_it_while_it_is_muted_learns_so_once_in_a_while() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.set_longest_post(2000);
        harness.says("alice", "@Aizuchi mute").await;
        harness.pass(60).await;
        harness.platform.posted.lock().unwrap().clear();
        let first = harness.says("bob", "@Aizuchi when is the deploy?").await;
        harness.pass(60).await;
        harness.says("bob", "@Aizuchi are you there?").await;
        let carols = harness.says("carol", "@Aizuchi who are you?").await;
        harness.pass(600).await;
        let third = harness.says("bob", "Aizuchi, still asleep?").await;
        harness.pass(60).await;
        let expected = [&first, &carols, &third].map(|message| format!("🔇 on {message}"));
        assert_eq!(posted(&harness), expected);
        // Never answered later, and the ledger says why.
        harness.says("alice", "@Aizuchi unmute").await;
        harness.pass(600).await;
        assert_eq!(posted(&harness).len(), 4);
        let decisions = harness.decisions("garden").await;
        let muted = decisions.iter().filter(|it| it.ended == Some(DecisionResult::Muted));
        assert_eq!(muted.filter(|it| it.gate == Some(Gate::Muted)).count(), 4);
    })
    .await;
}

#[tokio::test]
async fn where_a_platform_can_tell_one_user_alone_it_does() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.set_longest_post(2000);
        harness.platform.whispers.store(true, Ordering::SeqCst);
        harness.says("alice", "@Aizuchi mute 2h").await;
        harness.pass(60).await;
        harness.platform.posted.lock().unwrap().clear();
        harness.says("bob", "@Aizuchi when is the deploy?").await;
        harness.pass(60).await;
        let text =
            "I’ll stay silent here until 10:00. Anyone here can unmute me with `@Aizuchi unmute`.";
        assert_eq!(posted(&harness), [text]);
        let item = harness.platform.posted.lock().unwrap()[0].0.clone();
        assert_eq!(item.metadata.only_reader().map(|user| user.as_str()), Some("u-bob"));
        harness.clock.advance_to(harness.clock.now() + SignedDuration::from_hours(3));
        harness.pass(60).await;
        assert_eq!(posted(&harness).len(), 1);
    })
    .await;
}
