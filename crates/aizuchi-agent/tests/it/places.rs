//! Rules of a thread and of a workspace: each reaches the prompts of its place, and no others, on every store.

use std::collections::BTreeMap;

use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_harness::fixtures::{JOIN, at, new_channel, thread, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::on_every_store;
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_model::chat::{Channel, ConversationId, Heard, Visibility, channel_topic};
use aizuchi_model::rules::place::WorkspaceRules;
use aizuchi_model::rules::setting_override::{
    PlaceSetting, SettingChange, SettingRole, SettingScope,
};
use aizuchi_model::rules::{ChannelRules, PersonaRule, Rulebook, ToolRule};
use aizuchi_store::order::Order;
use jiff::tz::TimeZone;

fn with_persona(text: &str) -> ChannelRules {
    let persona = Some(PersonaRule::Addition(text.into()));
    ChannelRules { persona, ..ChannelRules::default() }
}

/// Options with a persona for the workspace, for one of its channels, and for a thread there.
fn options(key: &str) -> HarnessOptions {
    let of_thread = BTreeMap::from([("m000".to_owned(), with_persona("Be brief."))]);
    let rules = WorkspaceRules {
        default_rules: with_persona("Speak of plants."),
        channels: [("#garden".to_owned(), with_persona("Be the gardener."))].into(),
        threads: [("#garden".to_owned(), of_thread)].into(),
    };
    let workspaces = [(key.to_owned(), rules)].into();
    HarnessOptions::from_rulebook(Rulebook { workspaces, ..Rulebook::default() })
}

/// Mentions the persona, and returns the prompt of its reply.
async fn reply(harness: &Harness, conversation: ConversationId) -> Prompt {
    harness.says_in(conversation.clone(), "alice", "@Aizuchi hello").await;
    harness.pass(60).await;
    let prompts = harness.mind.prompts(PromptVerb::Reply);
    let is_there = |prompt: &&Prompt| prompt.context.conversation == conversation;
    prompts.iter().rfind(is_there).unwrap().clone()
}

#[tokio::test]
async fn a_persona_is_that_of_the_narrowest_place() {
    for (key, added) in
        [("story", ["Be brief.", "Be the gardener.", "Speak of plants."]), ("other", [""; 3])]
    {
        on_every_store(async |store| {
            let harness = Harness::new(store).await.with_options(options(key));
            let parent = harness.says("bob", "the pump leaks").await;
            assert_eq!(parent.as_str(), "m000");
            let places =
                [thread("garden", parent.as_str()), top_level("garden"), top_level("kitchen")];
            for (place, added) in places.into_iter().zip(added) {
                let prompt = reply(&harness, place).await;
                let beginning = match added {
                    "" => "You are kind.\n\nYou are Aizuchi".to_owned(),
                    added => format!("You are kind.\n\n{added}\n\n"),
                };
                assert!(prompt.text.starts_with(&beginning), "{beginning}: {}", prompt.text);
            }
        })
        .await;
    }
}

fn without_tools(scope: SettingScope) -> Order {
    let change = SettingChange::Set(PlaceSetting::Tools(ToolRule::Only(Vec::new())));
    let (role, by) = (SettingRole::Admin, "olga".into());
    Order::ChangeSetting { workspace: workspace(), scope, change, role, by, at: at(1) }
}

#[tokio::test]
async fn an_order_for_a_thread_holds_in_it_alone() {
    on_every_store(async |store| {
        let tools = Some(ToolSettings::new(TimeZone::UTC));
        let options = HarnessOptions { tools, ..HarnessOptions::default() };
        let harness = Harness::new(store).await.with_options(options);
        let parent = harness.says("bob", "the pump leaks").await;
        let pump = thread("garden", parent.as_str());
        harness.order(without_tools(SettingScope::Thread(pump.channel.clone(), parent))).await;
        assert!(reply(&harness, pump).await.tools.is_empty());
        assert!(!reply(&harness, top_level("garden")).await.tools.is_empty());
        harness.order(without_tools(SettingScope::Workspace)).await;
        assert!(reply(&harness, top_level("kitchen")).await.tools.is_empty());
    })
    .await;
}

/// An order during a judge call applies to the next question.
#[tokio::test]
async fn a_step_keeps_the_rules_with_which_it_began() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        let inbox = harness.inbox.clone();
        harness.mind.meanwhile(PromptVerb::Judge, move || async move {
            let change = SettingChange::Set(PlaceSetting::MinConfidence(
                aizuchi_model::rules::setting_override::Confidence::new(0.95).unwrap(),
            ));
            let scope = SettingScope::Channel(top_level("garden").channel);
            let (role, by) = (SettingRole::Admin, "olga".into());
            let order =
                Order::ChangeSetting { workspace: workspace(), scope, change, role, by, at: at(1) };
            inbox.apply_order(order).await.unwrap();
        });
        harness.says("alice", "does anyone know when to prune?").await;
        harness.pass(3600).await;
        let posts = harness.platform.posts_in(&top_level("garden"));
        assert!(posts > 0);
        harness.says("carol", "and when to water? does anyone know?").await;
        harness.pass(3600).await;
        assert_eq!(harness.platform.posts_in(&top_level("garden")), posts);
    })
    .await;
}

#[tokio::test]
async fn an_empty_topic_changes_nothing_where_none_is_known() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let mut changes = Vec::new();
        for topic in [None, Some(""), None, Some("Seeds"), None, Some("")] {
            let topic = topic.map(channel_topic);
            let attic = Channel { topic, ..new_channel("attic", Visibility::Public) };
            let receipt = harness.inbox.hear(Heard::Channel(attic)).await.unwrap();
            changes.push(receipt.is_new);
        }
        assert_eq!(changes, [true, false, false, true, false, true]);
    })
    .await;
}

#[tokio::test]
async fn a_topic_is_told_in_its_channel_until_it_changes() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let set = async |topic: Option<&str>| {
            let topic = topic.map(channel_topic);
            let garden = Channel { topic, ..new_channel("garden", Visibility::Public) };
            harness.inbox.hear(Heard::Channel(garden)).await.unwrap();
        };
        let told = async |place: &str| {
            let prompt = reply(&harness, top_level(place)).await;
            prompt.text.contains("“Roses and hedges”")
        };
        set(Some("Roses and\nhedges")).await;
        assert!(told("garden").await);
        assert!(!told("kitchen").await);
        // Who does not know the topic, changes nothing.
        set(None).await;
        assert!(told("garden").await);
        set(Some("")).await;
        assert!(!told("garden").await);
    })
    .await;
}
