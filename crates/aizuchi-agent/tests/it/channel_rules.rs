//! Rules of a channel: what they change there, and nowhere else.

use std::sync::Arc;

use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_harness::fixtures::{at, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_mind::TestMind;
use aizuchi_harness::test_store::{on_every_database, on_every_store};
use aizuchi_llm::prompt::tool::ToolSpec;
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_model::chat::{ChannelId, UserId, Visibility};
use aizuchi_model::memo::Memo;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::{
    ChannelRules, MemoryRule, PersonaRule, PostTiming, Rulebook, TimingRules, ToolRule,
};
use aizuchi_store::order::Order;
use jiff::tz::TimeZone;

const HOUR: i64 = 3600;
const JOIN_WHENEVER: &str = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9, "delay_seconds": null}"#;

/// The defaults, with these rules in `garden`.
fn garden(rules: ChannelRules) -> HarnessOptions {
    let channels = [("#garden".to_owned(), rules)].into();
    HarnessOptions::from_rulebook(Rulebook { channels, ..Rulebook::default() })
}

/// A memo from a public channel.
fn import_memo(channel: &str, content: &str) -> Order {
    let memo = Memo {
        name: content.to_owned(),
        content: content.to_owned(),
        priority: 5,
        tags: Vec::new(),
        detail: None,
        created: at(0),
        updated: at(0),
        channel: ChannelId::new(channel),
        visibility: Visibility::Public,
        said_by: None,
    };
    Order::ImportMemo { workspace: workspace(), memo: Box::new(memo), messages: Vec::new() }
}

/// Mentions the persona in `garden` and in `kitchen`, and returns the prompts of the replies.
async fn replies(harness: &Harness) -> [Prompt; 2] {
    harness.says("alice", "@Aizuchi how are the roses?").await;
    harness.says_in(top_level("kitchen"), "alice", "@Aizuchi how is the soup?").await;
    harness.pass(60).await;
    let prompts = harness.mind.prompts(PromptVerb::Reply);
    ["garden", "kitchen"].map(|channel| {
        let is_there = |prompt: &&Prompt| prompt.context.conversation.channel.as_str() == channel;
        prompts.iter().rfind(is_there).unwrap().clone()
    })
}

#[tokio::test]
async fn a_channel_has_a_persona_of_its_own() {
    for (rule, beginning) in [
        (PersonaRule::Addition("Speak of plants.".into()), "You are kind.\n\nSpeak of plants.\n\n"),
        (PersonaRule::Replacement("You are a gardener.".into()), "You are a gardener.\n\n"),
    ] {
        let options = garden(ChannelRules { persona: Some(rule), ..ChannelRules::default() });
        on_every_store(async |store| {
            let harness = Harness::new(store).await.with_options(options.clone());
            let [garden, kitchen] = replies(&harness).await;
            assert!(garden.text.starts_with(beginning), "{}", garden.text);
            assert!(
                kitchen.text.starts_with("You are kind.\n\nYou are Aizuchi"),
                "{}",
                kitchen.text
            );
            harness.says("bob", "does anyone know when to prune?").await;
            harness.pass(600).await;
            let judged = &harness.mind.prompt_texts(PromptVerb::Judge)[0];
            assert!(judged.starts_with(beginning), "{judged}");
        })
        .await;
    }
}

fn names(tools: &[ToolSpec]) -> Vec<&str> {
    tools.iter().map(|tool| &*tool.name).collect()
}

#[tokio::test]
async fn a_channel_offers_tools_of_its_own() {
    for (tools, expected) in [
        (ToolRule::Only(Vec::new()), &[][..]),
        (ToolRule::Only(vec!["search_messages".to_owned()]), &["search_messages"][..]),
    ] {
        let rules = ChannelRules { tools, ..ChannelRules::default() };
        let tools = Some(ToolSettings::new(TimeZone::UTC));
        let options = HarnessOptions { tools, ..garden(rules) };
        on_every_store(async |store| {
            let harness = Harness::new(store).await.with_options(options.clone());
            let [garden, kitchen] = replies(&harness).await;
            assert_eq!(names(&garden.tools), expected);
            assert_eq!(names(&kitchen.tools), names(&ToolSettings::specs(Language::En)));
        })
        .await;
    }
}

#[tokio::test]
async fn a_channel_is_judged_and_answered_in_its_own_time() {
    let timing = TimingRules {
        min_wait_seconds: Some(20.0),
        post_timing: Some(PostTiming::Immediate),
        ..TimingRules::default()
    };
    let mut options = garden(ChannelRules { timing, ..ChannelRules::default() });
    options.settings.timing = PostTiming::HumanLike;
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(options.clone());
        for channel in ["garden", "kitchen"] {
            harness.says_in(top_level(channel), "alice", "where is the spade?").await;
        }
        let due = async |channel: &str| harness.step_of(&top_level(channel)).await.unwrap().due;
        assert_eq!((due("garden").await, due("kitchen").await), (at(20), at(90)));
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_WHENEVER));
        harness.pass(20).await;
        assert_eq!(harness.mind.verbs(), "judge reply");
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
    })
    .await;
}

/// With `memory: off`, nothing is stored, and nothing stored is shown.
#[tokio::test]
async fn a_channel_is_left_out_of_memory() {
    let rules = ChannelRules { memory: MemoryRule::Off, ..ChannelRules::default() };
    on_every_database(async |store| {
        let memory = Arc::new(TestMind::default());
        let entry = r#"{"entries":[{"date":"2027-01-15","text":"the soup is hot","sources":[1]}]}"#;
        memory.script.set_default(PromptVerb::Remember, entry);
        let tools = Some(ToolSettings::new(TimeZone::UTC));
        let options =
            HarnessOptions { memory: Some(memory.clone()), tools, ..garden(rules.clone()) };
        let harness = Harness::new(store).await.with_options(options);
        // Noted before memory was turned off.
        harness.order(import_memo("garden", "the hose is blue")).await;
        harness.order(import_memo("kitchen", "the pot is red")).await;
        harness.says("alice", "the roses are ill").await;
        harness.says_in(top_level("kitchen"), "alice", "the soup is hot").await;
        harness.pass(3 * HOUR).await;
        let memories = harness.store.store.memories(&workspace()).await.unwrap();
        let kitchen = ChannelId::new("kitchen");
        let of_channels: Vec<_> = memories.iter().filter_map(|it| it.key.channel()).collect();
        assert!(!of_channels.is_empty() && of_channels.iter().all(|it| **it == kitchen));
        let folded = memory.prompt_texts(PromptVerb::Remember);
        assert!(folded.iter().all(|text| !text.contains("roses")), "{folded:?}");
        let [garden, kitchen] = replies(&harness).await;
        assert!(!garden.text.contains("the soup is hot"), "{}", garden.text);
        assert!(
            garden.tools.iter().all(|tool| ["be_quiet", "schedule"].contains(&&*tool.name)),
            "{:?}",
            garden.tools
        );
        assert!(kitchen.text.contains("the soup is hot"), "{}", kitchen.text);
        assert!(!kitchen.text.contains("the roses are ill"), "{}", kitchen.text);
        assert!(kitchen.text.contains("the pot is red"), "{}", kitchen.text);
        assert!(!kitchen.text.contains("the hose is blue"), "{}", kitchen.text);
    })
    .await;
}

#[tokio::test]
async fn a_channel_is_told_nothing_of_joining() {
    let rules = ChannelRules { announces: Some(false), ..ChannelRules::default() };
    let options = garden(rules);
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(options.clone());
        for channel in ["garden", "kitchen"] {
            let persona = UserId::new("u-aizuchi");
            harness.inbox.announce_join(top_level(channel), persona).await.unwrap();
        }
        harness.pass(5).await;
        let posts = ["garden", "kitchen"].map(|it| harness.platform.posts_in(&top_level(it)));
        // In the harness, a long post is split into several.
        assert_eq!(posts.map(|posts| posts > 0), [false, true]);
    })
    .await;
}
