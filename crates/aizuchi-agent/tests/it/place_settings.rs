//! Settings that users change for a thread, a channel or the workspace: their effect there and nowhere else, who may
//! change them, and how they end, on every store.

use std::sync::Arc;

use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_harness::fixtures::{JOIN, at, message, new_channel, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_mind::TestMind;
use aizuchi_harness::test_store::{on_every_database, on_every_store};
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_model::chat::{
    Arrival, ChannelId, ConversationId, Heard, MessageId, Role, User, UserId, Visibility,
};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::place::Place;
use aizuchi_model::rules::setting_override::{
    Amount, Confidence, PlaceSetting, SettingChange, SettingKind, SettingOverride, SettingRole,
    SettingScope, Switch,
};
use aizuchi_model::rules::{
    BudgetLimits, ChannelRules, LanguageRule, MemoryRule, PostTiming, Rulebook, TimingRules,
    ToolRule,
};
use aizuchi_store::FORGOTTEN_USER_ID;
use aizuchi_store::order::Order;
use aizuchi_store::order_journal::{OrderJournalQuery, OrderKind};
use jiff::tz::TimeZone;
use proptest::prelude::*;

const HOUR: i64 = 3600;

/// An admin posts a message.
async fn admin_says(harness: &Harness, conversation: ConversationId, id: &str, text: &str) {
    let message = message(conversation, id, harness.clock.now(), "root", text);
    let (user, kind) = (message.author.id.clone(), message.author.kind);
    let user = User {
        workspace: workspace(),
        id: user,
        name: "root".into(),
        kind,
        role: Role::Admin,
        zone: None,
    };
    harness.inbox.hear(Heard::User(user)).await.unwrap();
    harness.hear(message).await;
    harness.pass(5).await;
}

fn garden() -> SettingScope {
    SettingScope::Channel(top_level("garden").channel)
}

fn set(scope: SettingScope, setting: PlaceSetting, role: SettingRole) -> Order {
    let (change, by) = (SettingChange::Set(setting), "olga".into());
    Order::ChangeSetting { workspace: workspace(), scope, change, role, by, at: at(1) }
}

fn confidence(share: f64) -> PlaceSetting {
    PlaceSetting::MinConfidence(Confidence::new(share).unwrap())
}

/// The rules in force in a channel.
fn rules(harness: &Harness, channel: &str) -> ChannelRules {
    let (workspace, id) = (workspace(), ChannelId::new(channel));
    let rulebook = harness.options.settings.rulebook.read();
    rulebook.rules_in(&Place::new(&workspace, &id, channel, Visibility::Public)).clone()
}

async fn stored(harness: &Harness) -> Vec<SettingOverride> {
    harness.store.store.orders(&workspace()).await.unwrap().settings
}

/// The newest prompt of a reply in a channel.
fn reply_in(harness: &Harness, channel: &str) -> Prompt {
    let prompts = harness.mind.prompts(PromptVerb::Reply);
    let is_there = |prompt: &&Prompt| prompt.context.conversation.channel.as_str() == channel;
    prompts.iter().rfind(is_there).unwrap().clone()
}

#[tokio::test]
async fn settings_are_changed_listed_and_taken_back_in_the_chat() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.set_longest_post(2000);
        let there = top_level("garden");
        for (id, text) in [
            ("a1", "@Aizuchi set confidence 0.95"),
            ("a2", "@Aizuchi set language ja in #kitchen"),
            ("a3", "@Aizuchi set tools off everywhere"),
            ("a4", "@Aizuchi settings"),
            ("a5", "@Aizuchi set timing human in this thread"),
            ("a6", "@Aizuchi set model large"),
            ("a7", "@Aizuchi set memory off in #attic"),
            ("a8", "@Aizuchi set language french"),
        ] {
            admin_says(&harness, there.clone(), id, text).await;
        }
        assert_eq!(stored(&harness).await.len(), 3);
        assert_eq!(rules(&harness, "garden").min_confidence, 0.95);
        assert_eq!(rules(&harness, "kitchen").min_confidence, 0.7);
        let japanese = LanguageRule::Fixed(Language::Ja);
        assert_eq!(rules(&harness, "kitchen").language, japanese);
        assert_eq!(rules(&harness, "garden").language, LanguageRule::AsWritten);
        assert_eq!(rules(&harness, "kitchen").tools, ToolRule::Only(Vec::new()));
        admin_says(&harness, there.clone(), "a9", "@Aizuchi set confidence default").await;
        admin_says(&harness, there, "b1", "@Aizuchi reset settings everywhere").await;
        assert_eq!(rules(&harness, "garden"), ChannelRules::default());
        let query = OrderJournalQuery { workspace: None, kind: None, before: None, limit: 9 };
        let journal = harness.store.archive.order_journal(&query).await.unwrap();
        let values: Vec<_> = journal.iter().map(|given| given.record.value.as_deref()).collect();
        let expected = [
            None,
            Some("min_confidence"),
            Some("tools off"),
            Some("language ja"),
            Some("min_confidence 0.95"),
        ];
        assert_eq!(values, expected);
        assert!(journal.iter().all(|given| given.record.kind == OrderKind::ChangeSetting));
        harness.transcript().await
    });
    let transcript = transcript.await;
    for expected in [
        "Done, for this channel: the confidence that I need to speak unasked is 0.95 from now on.",
        "`@Aizuchi set confidence default` returns to what holds without this.",
        "Done, #kitchen: the language is ja from now on.",
        "`@Aizuchi set language default in #kitchen`",
        "Done, for all channels: the use of tools is off from now on.",
        "- the use of tools: off (set for all channels)",
        "- the memory: on (from the config)",
        "Please set that in the thread that you mean.",
        "The config names no other models",
        "I know no public channel of that name.",
        "I didn’t understand that setting.",
        "nothing is set there for the confidence that I need to speak unasked any more, so it is 0.7.",
    ] {
        assert!(transcript.contains(expected), "{expected}: {transcript}");
    }
}

#[tokio::test]
async fn settings_are_changed_in_japanese() {
    let transcript = on_every_store(async |store| {
        let unset = vec![
            (None, PlaceSetting::Timing(PostTiming::Immediate)),
            (None, PlaceSetting::Announce(Switch::On)),
        ];
        let options = HarnessOptions::from_rulebook(Rulebook { unset, ..Rulebook::default() });
        let options = HarnessOptions { language: Language::Ja, ..options };
        let harness = Harness::new(store).await.with_options(options);
        harness.platform.set_longest_post(2000);
        for (id, text) in [
            ("a1", "@Aizuchi 確信度を０.9にして"),
            ("a2", "@Aizuchi #kitchen の言語を英語に変更して"),
            ("a3", "@Aizuchi 設定一覧"),
            ("a4", "@Aizuchi 確信度を標準に戻して"),
        ] {
            admin_says(&harness, top_level("garden"), id, text).await;
        }
        harness.transcript().await
    });
    let transcript = transcript.await;
    for expected in [
        "自分から話すのに必要な確信度を「0.9」に変更しました（このチャンネル）。",
        "`@Aizuchi 確信度を標準に戻して` で元に戻せます。",
        "言語を「英語」に変更しました（#kitchen）。",
        "- 自分から話すのに必要な確信度：0.9（このチャンネルの設定）",
        "自分から話すのに必要な確信度を元に戻しました（このチャンネル）。いまは「0.7」です。",
        "- 話すタイミング：すぐ（設定ファイル）",
        "- 参加のあいさつ：オン（設定ファイル）",
        "- ツール：オン（設定ファイル）",
        "- 記憶：オン（設定ファイル）",
    ] {
        assert!(transcript.contains(expected), "{expected}: {transcript}");
    }
}

/// A member makes the persona quieter in a channel, and cannot lift an admin's order.
#[tokio::test]
async fn members_only_narrow() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.set_longest_post(2000);
        for text in ["set language ja", "set memory on", "set memory off everywhere"] {
            harness.says("alice", &format!("@Aizuchi {text}")).await;
            harness.pass(5).await;
        }
        assert_eq!(stored(&harness).await, []);
        admin_says(&harness, top_level("garden"), "a1", "@Aizuchi set confidence 0.8").await;
        for (text, expected) in [
            ("set confidence 0.9", 0.9),
            ("set confidence 0.1", 0.8),
            ("set confidence 0.85", 0.85),
            ("set confidence default", 0.8),
            ("reset settings", 0.8),
        ] {
            harness.says("alice", &format!("@Aizuchi {text}")).await;
            harness.pass(5).await;
            assert_eq!(rules(&harness, "garden").min_confidence, expected, "{text}");
        }
        // An admin's order takes precedence.
        harness.says("alice", "@Aizuchi set confidence 0.99").await;
        harness.pass(5).await;
        admin_says(&harness, top_level("garden"), "a2", "@Aizuchi set confidence 0.6").await;
        assert_eq!(rules(&harness, "garden").min_confidence, 0.6);
        harness.transcript().await
    });
    let transcript = transcript.await;
    for expected in
        ["Only an admin can do that.", "What holds is 0.8: ", "What an admin has set stays."]
    {
        assert!(transcript.contains(expected), "{expected}: {transcript}");
    }
}

/// It may have been revoked since, so nothing is changed, and no answer claims otherwise.
#[tokio::test]
async fn what_was_ordered_while_it_was_away_is_not_said_to_hold() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.set_longest_post(2000);
        admin_says(&harness, top_level("garden"), "a1", "@Aizuchi set memory off").await;
        for (id, text, expected) in [
            ("b1", "@Aizuchi set confidence 0.9", "I did not change the confidence"),
            ("b2", "@Aizuchi set memory off", "Done, for this channel: the memory is off"),
            ("b3", "@Aizuchi set memory default", "I did not change the memory"),
            ("b4", "@Aizuchi reset settings", "I did not change the settings"),
        ] {
            let said_at = harness.clock.now();
            harness.pass(600).await;
            let message = message(top_level("garden"), id, said_at, "root", text);
            harness.inbox.hear(Heard::Message(message, Arrival::Backfilled)).await.unwrap();
            harness.pass(60).await;
            let posted = harness.platform.posted_texts();
            assert!(posted.last().is_some_and(|it| it.starts_with(expected)), "{text}: {posted:?}");
        }
        let found = rules(&harness, "garden");
        assert_eq!((found.min_confidence, found.memory), (0.7, MemoryRule::Off));
    })
    .await;
}

/// Two users in a direct message choose how the persona talks to them, and cannot lift an admin's order.
#[tokio::test]
async fn a_direct_message_has_settings_of_its_own() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let dm = Heard::Channel(new_channel("dm", Visibility::Direct));
        harness.inbox.hear(dm).await.unwrap();
        let here = || SettingScope::Channel(top_level("dm").channel);
        let none = PlaceSetting::Tools(ToolRule::Only(Vec::new()));
        harness.order(set(SettingScope::Workspace, none, SettingRole::Admin)).await;
        harness.order(set(here(), PlaceSetting::Memory(Switch::Off), SettingRole::Admin)).await;
        let says = async |text: &str| {
            harness.says_in(top_level("dm"), "alice", text).await;
            harness.pass(5).await;
            let found = rules(&harness, "dm");
            assert_eq!(found.tools, ToolRule::Only(Vec::new()), "{text}");
            assert_eq!(found.memory, MemoryRule::Off, "{text}");
            (found.language, found.min_confidence)
        };
        let japanese = LanguageRule::Fixed(Language::Ja);
        for (text, expected) in [
            ("set language ja", (japanese, 0.7)),
            ("set tools on", (japanese, 0.7)),
            ("set memory on", (japanese, 0.7)),
            ("set tools default", (japanese, 0.7)),
            ("set memory default", (japanese, 0.7)),
            ("set confidence 0.5", (japanese, 0.5)),
            ("set model large", (japanese, 0.5)),
            ("set language en everywhere", (japanese, 0.5)),
            ("reset settings", (LanguageRule::AsWritten, 0.7)),
        ] {
            assert_eq!(says(text).await, expected, "{text}");
        }
        // An admin's order takes precedence here, too.
        assert_eq!(says("set confidence 0.5").await, (LanguageRule::AsWritten, 0.5));
        harness.order(set(here(), confidence(0.9), SettingRole::Admin)).await;
        assert_eq!(rules(&harness, "dm").min_confidence, 0.9);
    })
    .await;
}

/// The next judgment uses the new confidence, without a restart.
#[tokio::test]
async fn an_ordered_confidence_holds_at_the_next_judgment() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        harness.order(set(garden(), confidence(0.95), SettingRole::Member)).await;
        harness.says("alice", "does anyone know when to prune?").await;
        harness.pass(HOUR).await;
        assert_eq!(harness.platform.posts_in(&top_level("garden")), 0);
        let decisions = harness.decisions("garden").await;
        let mut whys = decisions.iter().filter_map(|decision| decision.why.as_deref());
        assert!(
            whys.any(|why| why.contains("I need 0.95): set for this channel")),
            "{decisions:?}"
        );
        harness.order(set(garden(), confidence(0.8), SettingRole::Admin)).await;
        harness.says("alice", "and when to water? does anyone know?").await;
        harness.pass(HOUR).await;
        assert!(harness.platform.posts_in(&top_level("garden")) > 0);
    })
    .await;
}

#[tokio::test]
async fn tools_are_narrowed_in_the_next_reply() {
    on_every_store(async |store| {
        let tools = Some(ToolSettings::new(TimeZone::UTC));
        let options = HarnessOptions { tools, ..HarnessOptions::default() };
        let harness = Harness::new(store).await.with_options(options);
        let only = PlaceSetting::Tools(ToolRule::Only(vec!["search_messages".to_owned()]));
        harness.order(set(garden(), only, SettingRole::Member)).await;
        for (channel, is_narrowed) in [("garden", true), ("kitchen", false)] {
            harness.says_in(top_level(channel), "alice", "@Aizuchi hello").await;
            harness.pass(60).await;
            let tools = reply_in(&harness, channel).tools;
            assert_eq!(tools.len() == 1, is_narrowed, "{channel}");
            assert!(tools.iter().any(|tool| &*tool.name == "search_messages"));
        }
    })
    .await;
}

/// Later messages are in no memory, and earlier memories are in no prompt there.
#[tokio::test]
async fn a_memory_is_switched_off() {
    on_every_database(async |store| {
        let memory = Arc::new(TestMind::default());
        let entry =
            r#"{"entries":[{"date":"2027-01-15","text":"the roses are ill","sources":[1]}]}"#;
        memory.script.set_default(PromptVerb::Remember, entry);
        let options = HarnessOptions { memory: Some(memory), ..HarnessOptions::default() };
        let harness = Harness::new(store).await.with_options(options);
        harness.says("alice", "the roses are ill").await;
        harness.pass(3 * HOUR).await;
        let mentions_roses = async || {
            harness.says("alice", "@Aizuchi hello").await;
            harness.pass(60).await;
            let context = reply_in(&harness, "garden").context;
            context.channel_memories.iter().any(|channel| {
                channel.channel_id.as_str() == "garden"
                    && (channel.long_term_memory.is_some() || channel.short_term_memory.is_some())
            })
        };
        assert!(mentions_roses().await);
        harness.order(set(garden(), PlaceSetting::Memory(Switch::Off), SettingRole::Admin)).await;
        assert!(!mentions_roses().await);
        let clear = SettingChange::Clear(SettingKind::Memory);
        harness
            .order(Order::ChangeSetting {
                workspace: workspace(),
                scope: garden(),
                change: clear,
                role: SettingRole::Admin,
                by: "olga".into(),
                at: at(2),
            })
            .await;
        assert!(mentions_roses().await);
    })
    .await;
}

#[tokio::test]
async fn settings_outlive_the_process_and_name_nobody_who_was_forgotten() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.order(set(garden(), confidence(0.9), SettingRole::Admin)).await;
        let off = PlaceSetting::Memory(Switch::Off);
        let order = Order::ChangeSetting {
            workspace: workspace(),
            scope: garden(),
            change: SettingChange::Set(off),
            role: SettingRole::Member,
            by: "u-alice 5000".into(),
            at: at(5),
        };
        harness.order(order.signed("u-alice 5000")).await;
        // The process's cached settings are gone.
        harness.options.settings.rulebook.replace(Rulebook::default());
        let harness = harness.restart().await;
        let found = rules(&harness, "garden");
        assert_eq!((found.min_confidence, found.memory), (0.9, MemoryRule::Off));
        let user = UserId::new("u-alice");
        let asked = harness.clock.now();
        harness.order(Order::Forget { workspace: workspace(), user, asked }).await;
        let by: Vec<_> = stored(&harness).await.iter().map(|it| it.by.to_string()).collect();
        assert_eq!(by, ["olga", FORGOTTEN_USER_ID]);
        assert_eq!(rules(&harness, "garden").memory, MemoryRule::Off);
    })
    .await;
}

/// A config that is loosened or tightened while orders are in force.
fn configured() -> impl Strategy<Value = ChannelRules> {
    let tools = prop_oneof![
        Just(ToolRule::All),
        Just(ToolRule::Only(Vec::new())),
        Just(ToolRule::Only(vec!["web_search".to_owned(), "get_memo".to_owned()])),
    ];
    let timing = prop_oneof![
        Just(None),
        Just(Some(PostTiming::HumanLike)),
        Just(Some(PostTiming::Immediate))
    ];
    let announces = prop_oneof![Just(None), Just(Some(true)), Just(Some(false))];
    (0..=10u8, tools, any::<bool>(), timing, announces).prop_map(
        |(tenths, tools, remembers, post_timing, announces)| ChannelRules {
            min_confidence: f64::from(tenths) / 10.0,
            tools,
            memory: if remembers { MemoryRule::On } else { MemoryRule::Off },
            timing: TimingRules { post_timing, ..TimingRules::default() },
            announces,
            budget_limits: BudgetLimits {
                micros_per_day: (tenths % 2 == 0).then_some(u64::from(tenths) * 400_000),
                ..BudgetLimits::default()
            },
            ..ChannelRules::default()
        },
    )
}

fn ordered() -> impl Strategy<Value = SettingOverride> {
    let switch = || prop_oneof![Just(Switch::On), Just(Switch::Off)];
    let tools = prop_oneof![
        Just(ToolRule::All),
        Just(ToolRule::Only(Vec::new())),
        Just(ToolRule::Only(vec!["web_search".to_owned(), "web_fetch".to_owned()])),
    ];
    let setting = prop_oneof![
        Just(PlaceSetting::Language(LanguageRule::AsWritten)),
        (0..=1000u16).prop_map(|share| confidence(f64::from(share) / 1000.0)),
        Just(PlaceSetting::Timing(PostTiming::HumanLike)),
        Just(PlaceSetting::Timing(PostTiming::Immediate)),
        switch().prop_map(PlaceSetting::Announce),
        switch().prop_map(PlaceSetting::Memory),
        tools.prop_map(PlaceSetting::Tools),
        Just(PlaceSetting::Model("small".into())),
        (0..5_000_000u64).prop_map(|micros| PlaceSetting::MoneyPerDay(Amount(micros))),
    ];
    let channel = || top_level("garden").channel;
    let scope = prop_oneof![
        Just(SettingScope::Workspace),
        Just(SettingScope::Channel(channel())),
        Just(SettingScope::Thread(channel(), MessageId::new("t1"))),
    ];
    let role = prop_oneof![
        Just(SettingRole::Admin),
        Just(SettingRole::Direct),
        Just(SettingRole::Keeper),
        Just(SettingRole::Member)
    ];
    (scope, setting, role).prop_map(|(scope, setting, role)| {
        let (by, at) = ("olga".into(), at(0));
        SettingOverride { scope, setting, role, by, at }
    })
}

/// The rules that an order must not change.
fn untouched(rules: &ChannelRules) -> ChannelRules {
    let plain = ChannelRules::default();
    ChannelRules {
        min_confidence: plain.min_confidence,
        tools: plain.tools,
        memory: plain.memory,
        timing: TimingRules { post_timing: None, ..rules.timing },
        announces: plain.announces,
        language: plain.language,
        models: plain.models,
        budget_limits: BudgetLimits { micros_per_day: None, ..rules.budget_limits },
        ..rules.clone()
    }
}

/// Every tool that is named in a rule.
const TOOLS: [&str; 4] = ["web_search", "web_fetch", "get_memo", "search_messages"];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_setting_widens_what_the_config_allows(
        default_rules in configured(),
        own in configured(),
        orders in prop::collection::vec(ordered(), 0..8),
    ) {
        let channels = [("#garden".to_owned(), own)].into();
        let book = Rulebook { default_rules, channels, ..Rulebook::default() };
        let with_orders = book.clone().with_orders(&workspace(), &orders);
        let (workspace, thread) = (workspace(), MessageId::new("t1"));
        let only_narrow = orders
            .iter()
            .all(|order| matches!(order.role, SettingRole::Keeper | SettingRole::Member));
        for (channel, thread) in
            [("garden", None), ("garden", Some(&thread)), ("kitchen", None)]
        {
            let id = ChannelId::new(channel);
            let place = Place { thread, ..Place::new(&workspace, &id, channel, Visibility::Public) };
            let (before, after) = (book.rules_in(&place), with_orders.rules_in(&place));
            prop_assert_eq!(untouched(before), untouched(after));
            for tool in TOOLS {
                prop_assert!(before.tools.allows(tool) || !after.tools.allows(tool), "{}", tool);
            }
            let money = |rules: &ChannelRules| rules.budget_limits.micros_per_day.unwrap_or(u64::MAX);
            prop_assert!(money(after) <= money(before));
            prop_assert!(before.memory == MemoryRule::On || after.memory == MemoryRule::Off);
            if only_narrow {
                prop_assert!(after.min_confidence >= before.min_confidence);
                prop_assert!(after.announces == before.announces || after.announces == Some(false));
                let timing = after.timing.post_timing;
                prop_assert!(
                    timing == before.timing.post_timing || timing == Some(PostTiming::HumanLike)
                );
                prop_assert_eq!((&before.language, &before.models), (&after.language, &after.models));
            }
        }
        // Other workspaces are unchanged.
        let other = aizuchi_model::chat::WorkspaceId::new("other");
        let id = ChannelId::new("garden");
        let place = Place::new(&other, &id, "garden", Visibility::Public);
        prop_assert_eq!(book.rules_in(&place), with_orders.rules_in(&place));
    }
}
