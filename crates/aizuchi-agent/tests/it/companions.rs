//! Several companions in one channel: another bot also speaks unasked there, and only one of them does so about each
//! message. `momobot` is a companion that the settings name.

use std::collections::BTreeSet;

use aizuchi_harness::fixtures::{JOIN, JOIN_IN_60, at, thread};
use aizuchi_harness::harness::{Harness, HarnessOptions, PERSONA_USER_ID};
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{ChannelId, MessageId, UserId};
use aizuchi_model::companions::rank;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{Decision, DecisionResult};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::ChannelRules;

/// Settings that name these companions. The wait is fixed at 60 s, and so is the window.
fn named(companions: &[&str]) -> HarnessOptions {
    let companions = companions.iter().map(|bot| UserId::new(*bot)).collect();
    let rules = ChannelRules { companions: Some(companions), ..ChannelRules::default() };
    HarnessOptions::from_rules(rules).with_fixed_wait()
}

async fn with_momobot(store: TestStore) -> Harness {
    Harness::new(store).await.with_options(named(&["u-momobot"]))
}

async fn last(harness: &Harness) -> Decision {
    harness.decisions("garden").await.pop().unwrap()
}

fn place(message: &MessageId) -> usize {
    let others = BTreeSet::from([UserId::new("u-momobot")]);
    rank(&ChannelId::new("garden"), message, &UserId::new(PERSONA_USER_ID), &others)
}

#[tokio::test]
async fn whoever_is_second_for_a_message_waits_one_window_longer() {
    let places = on_every_store(async |store| {
        let harness = with_momobot(store).await;
        let mut places = Vec::new();
        for question in [
            "when do I cut the roses?",
            "does anyone have a ladder?",
            "does anyone know whether the shed is open?",
            "does anyone know where the seeds are?",
            "does anyone have a rake?",
            "is anyone in the garden today?",
        ] {
            let asked = harness.clock.now();
            let message = harness.says("alice", question).await;
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
            harness.pass(1000).await;
            let own = harness.messages("garden").await.pop().unwrap();
            assert_eq!(&*own.message.text, "Here I am.");
            let seconds = own.message.at.duration_since(asked).as_secs();
            assert_eq!(seconds, 60 + 60 * place(&message) as i64, "{question}");
            places.push(place(&message));
        }
        places
    });
    let places = places.await;
    assert!(places.contains(&0) && places.contains(&1), "{places:?}");
}

#[tokio::test]
async fn where_a_companion_has_spoken_no_judge_is_asked() {
    on_every_store(async |store| {
        let harness = with_momobot(store).await;
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(20).await;
        harness.says("momobot", "in spring, before they sprout").await;
        harness.pass(1000).await;
        assert_eq!(harness.mind.verbs(), "");
        let decision = last(&harness).await;
        assert_eq!(decision.gate, Some(Gate::OtherCompanion));
        assert_eq!(decision.ended, Some(DecisionResult::ChoseSilence));
        // Later messages by human users are judged as usual.
        harness.says("bob", "does anyone have a ladder?").await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.pass(1000).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
    })
    .await;
}

#[tokio::test]
async fn what_it_wanted_to_say_is_withdrawn_once_another_has_spoken() {
    for (language, expected) in [
        (Language::En, "another companion, momobot, spoke in the meantime"),
        (Language::Ja, "その間に、ほかの会話ボットの momobot が話しました"),
    ] {
        let options = HarnessOptions { language, ..named(&["u-momobot"]) };
        on_every_store(async |store| {
            let harness = Harness::new(store).await.with_options(options.clone());
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
            harness.says("alice", "when do I cut the roses?").await;
            harness.pass(70).await;
            assert_eq!(harness.mind.verbs(), "judge");
            harness.says("momobot", "in spring, before they sprout").await;
            harness.pass(1000).await;
            // Not even a draft is made.
            assert_eq!(harness.mind.verbs(), "judge");
            assert!(harness.platform.posted_texts().is_empty());
            let decision = last(&harness).await;
            assert_eq!(decision.ended, Some(DecisionResult::Dropped));
            assert_eq!(decision.gate, Some(Gate::OtherCompanion));
            let why = decision.why.unwrap_or_default();
            assert_eq!(why.replace(' ', ""), expected.replace(' ', ""));
        })
        .await;
    }
}

/// The last check comes after the typing indicator.
#[tokio::test]
async fn a_companion_that_speaks_while_it_types_is_heard() {
    on_every_store(async |store| {
        let harness = with_momobot(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says("momobot", "in spring").await;
        });
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(1000).await;
        assert_eq!(harness.mind.verbs(), "judge reply");
        assert!(harness.platform.posted_texts().is_empty());
        assert_eq!(last(&harness).await.gate, Some(Gate::OtherCompanion));
    })
    .await;
}

#[tokio::test]
async fn an_answer_in_the_thread_counts_as_well() {
    on_every_store(async |store| {
        let harness = with_momobot(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
        let message = harness.says("alice", "when do I cut the roses?").await;
        harness.pass(70).await;
        harness.says_in(thread("garden", message.as_str()), "momobot", "in spring").await;
        harness.pass(1000).await;
        assert!(harness.platform.posted_texts().is_empty());
        assert_eq!(harness.decisions("garden").await[0].gate, Some(Gate::OtherCompanion));
    })
    .await;
}

/// In many channels, bots report builds and unfurl links while human users talk.
#[tokio::test]
async fn bots_that_are_not_named_count_for_nothing() {
    on_every_store(async |store| {
        let harness = with_momobot(store).await;
        harness.says("alice", "is the build red?").await;
        harness.pass(5).await;
        harness.says("buildbot", "build 1 is green").await;
        harness.says("alice", "nice").await;
        harness.pass(300).await;
        harness.mind.calls();
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        let asked = harness.says("alice", "does anyone know how to rotate the certificate?").await;
        harness.pass(5).await;
        harness.says("buildbot", "build 2 is green").await;
        harness.says("newsbot", "two new issues").await;
        harness.says_in(thread("garden", asked.as_str()), "linkbot", "Certificates: how to").await;
        harness.pass(1000).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
    })
    .await;
}

/// An answer that another user requested from a companion takes up nothing.
#[tokio::test]
async fn what_another_companion_was_asked_for_is_no_answer() {
    on_every_store(async |store| {
        let harness = with_momobot(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(5).await;
        harness.says("bob", "@momobot how much did it rain?").await;
        harness.says("momobot", "3 mm").await;
        harness.pass(1000).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
    })
    .await;
}

#[tokio::test]
async fn companions_have_two_turns_without_a_person() {
    on_every_store(async |store| {
        let options = named(&["u-momobot", "u-pipbot"]);
        let harness = Harness::new(store).await.with_options(options);
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
        harness.says("alice", "does anyone know how to repair it?").await;
        harness.pass(70).await;
        harness.says("momobot", "@Aizuchi do you?").await;
        harness.says("pipbot", "@momobot or you?").await;
        harness.pass(1000).await;
        assert_eq!(harness.mind.verbs(), "judge");
        assert_eq!(last(&harness).await.ended, Some(DecisionResult::Dropped));
        assert!(harness.platform.posted_texts().is_empty());
        // A bot is not owed an answer, but a human user still is.
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(10).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
        harness.says("momobot", "@Aizuchi are you, really?").await;
        harness.says("pipbot", "@Aizuchi hello?").await;
        harness.pass(1000).await;
        assert_eq!(harness.platform.posted_texts().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_mention_of_another_companion_is_for_that_one_alone() {
    on_every_store(async |store| {
        let harness = with_momobot(store).await;
        harness.says("alice", "@momobot when do I cut the roses?").await;
        harness.pass(1000).await;
        assert_eq!(harness.mind.verbs(), "");
        assert_eq!(last(&harness).await.gate, Some(Gate::Directed));
        // Both owe an answer to a user who mentions both, whoever comes first.
        harness.says("alice", "@momobot @Aizuchi good morning").await;
        harness.says("momobot", "good morning, alice").await;
        harness.pass(10).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
    })
    .await;
}

#[tokio::test]
async fn the_persona_itself_may_stand_in_the_list() {
    on_every_store(async |store| {
        let options = named(&[PERSONA_USER_ID]);
        let harness = Harness::new(store).await.with_options(options);
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(70).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
        assert_eq!(harness.messages("garden").await.pop().unwrap().message.at, at(60));
    })
    .await;
}
