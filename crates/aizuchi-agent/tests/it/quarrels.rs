//! A facilitator in a quarrel: angry words neither withdraw its calm ones nor keep it silent while the quarrel grows, and
//! plain agreements cost no call.

use aizuchi_harness::fixtures::SILENCE;
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::rules::{ChannelRules, Mode};
use insta::assert_snapshot;

async fn facilitated(store: TestStore) -> Harness {
    let rules = ChannelRules { mode: Mode::Facilitator, ..ChannelRules::default() };
    Harness::new(store).await.with_options(HarnessOptions::from_rules(rules))
}

/// A verdict to speak in this state.
fn verdict(state: &str, more: &str) -> String {
    format!(
        r#"{{"should_respond": true, "reason": "they blame each other", "confidence": 0.9,
            "delay_seconds": 0, "conversation_state": "{state}"{more}}}"#
    )
}

const GREW: &str = r#", "same_conversation": true, "situation_changed": true"#;
const SAME: &str = r#", "same_conversation": true, "situation_changed": false"#;

async fn quarrel(harness: &Harness) {
    for (who, text) in [
        ("ann", "the release is late again because of your tests"),
        ("ben", "my tests? you changed the interface the night before"),
        ("ann", "I told you on Monday, you never listen"),
    ] {
        harness.says(who, text).await;
    }
}

/// A quarrel in which somebody writes while the calm words are drafted.
async fn interrupted(store: TestStore, who: &str, text: &str) -> Harness {
    let harness = facilitated(store).await;
    harness.mind.script.push(PromptVerb::Judge, Ok(&verdict("conflict", "")));
    let (there, who, text) = (harness.clone(), who.to_owned(), text.to_owned());
    harness.mind.meanwhile(PromptVerb::Reply, || async move {
        there.says(&who, &text).await;
    });
    quarrel(&harness).await;
    harness.pass(60).await;
    harness
}

#[tokio::test]
async fn an_angry_retort_does_not_withdraw_calm_words() {
    for retort in [
        "ann: that is not true, you told nobody",
        "and whose fault is that, ann?",
        "no.",
        "いつもそうやって人のせいにする",
    ] {
        on_every_store(async |store| {
            let harness = interrupted(store, "ben", retort).await;
            assert_eq!(harness.mind.verbs(), "judge reply reply", "{retort}");
            assert!(harness.mind.prompt_texts(PromptVerb::Reply)[1].contains(retort));
            assert_eq!(harness.platform.posted_texts().len(), 1, "{retort}");
        })
        .await;
    }
}

#[tokio::test]
async fn calm_words_are_left_to_somebody_else_who_steps_in() {
    let transcript = on_every_store(async |store| {
        let harness = interrupted(store, "carol", "ann, ben: breathe, it was nobody’s fault").await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s ann: the release is late again because of your tests
       0s ben: my tests? you changed the interface the night before
       0s ann: I told you on Monday, you never listen
       5s carol: ann, ben: breathe, it was nobody’s fault
    [m000 m001 m002] dropped: carol responded to it in the meantime (1.00) (judge kept, reply kept)
    [m003] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn talk_beside_a_quarrel_does_not_take_it_up() {
    for text in ["has anybody fed the fish today?", "@dave lunch?"] {
        on_every_store(async |store| {
            let harness = interrupted(store, "carol", text).await;
            let transcript = harness.transcript().await;
            assert_eq!(harness.platform.posted_texts().len(), 1, "{transcript}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_companion_leaves_a_quarrel_to_the_people_in_it() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(&verdict("misunderstanding", "")));
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says("ben", "ann: on the hook by the door").await;
        });
        harness.says("ben", "good morning").await;
        harness.pass(30).await;
        harness.says("ann", "where is the key for the shed?").await;
        harness.pass(1000).await;
        assert!(harness.mind.verbs().starts_with("judge reply"));
        assert!(harness.platform.posted_texts().is_empty(), "{}", harness.transcript().await);
    })
    .await;
}

#[tokio::test]
async fn whether_they_make_peace_is_judged_once_more() {
    for (words, second, posts) in [
        ("ok, you are right, I am sorry", SILENCE.to_owned(), 0),
        ("ok, sorry that I trusted you", verdict("conflict", ""), 1),
        ("ごめん、言い過ぎた", SILENCE.to_owned(), 0),
    ] {
        on_every_store(async |store| {
            let harness = facilitated(store).await;
            harness.mind.script.push(PromptVerb::Judge, Ok(&verdict("conflict", "")));
            harness.mind.script.push(PromptVerb::Judge, Ok(&second));
            let there = harness.clone();
            harness.mind.meanwhile(PromptVerb::Reply, move || async move {
                there.says("ben", words).await;
            });
            quarrel(&harness).await;
            harness.pass(60).await;
            assert_eq!(harness.mind.prompt_texts(PromptVerb::Judge).len(), 2, "{words}");
            assert_eq!(harness.platform.posted_texts().len(), posts, "{words}");
        })
        .await;
    }
}

#[tokio::test]
async fn after_the_second_look_a_retort_does_not_withdraw_calm_words() {
    on_every_store(async |store| {
        let harness = facilitated(store).await;
        for words in ["ok, sorry that I trusted you", "sorry, but that is nonsense"] {
            harness.mind.script.push(PromptVerb::Judge, Ok(&verdict("conflict", "")));
            let there = harness.clone();
            harness.mind.meanwhile(PromptVerb::Reply, move || async move {
                there.says("ben", words).await;
            });
        }
        quarrel(&harness).await;
        harness.pass(60).await;
        assert_eq!(harness.mind.verbs(), "judge reply judge reply reply");
        assert_eq!(harness.platform.posted_texts().len(), 1);
    })
    .await;
}

/// A quarrel about which the persona has spoken at 5 s, after a verdict with this state.
async fn spoken_about(store: TestStore, state: &str) -> Harness {
    let harness = facilitated(store).await;
    harness.mind.script.push(PromptVerb::Judge, Ok(&verdict(state, "")));
    quarrel(&harness).await;
    harness.pass(5).await;
    assert_eq!(harness.platform.posted_texts().len(), 1);
    harness.mind.calls();
    harness
}

#[tokio::test]
async fn a_quarrel_that_grows_shortens_the_cooldown() {
    for (answer, posts) in [
        (verdict("conflict", GREW), 2),
        (verdict("misunderstanding", GREW), 2),
        (verdict("conflict", SAME), 1),
        (verdict("active", GREW), 1),
        (SILENCE.to_owned(), 1),
    ] {
        on_every_store(async |store| {
            let harness = spoken_about(store, "conflict").await;
            harness.mind.script.push(PromptVerb::Judge, Ok(&answer));
            harness.pass(40).await;
            harness.says("ben", "so now it is my fault, as always").await;
            harness.pass(100).await;
            harness.says("ann", "yes, it is").await;
            harness.pass(35).await;
            assert_eq!(harness.mind.verbs(), "", "three minutes have not passed");
            harness.pass(60).await;
            let asked = harness.mind.prompt_texts(PromptVerb::Judge);
            assert!(asked[0].contains("so now it is my fault") && asked[0].contains("yes, it is"));
            assert!(asked[0].contains("### situation_changed"));
            assert_eq!(
                (asked.len(), harness.platform.posted_texts().len()),
                (1, posts),
                "{answer}"
            );
            let transcript = harness.transcript().await;
            // Once in three minutes at most.
            harness.mind.calls();
            harness.says("ben", "enough").await;
            harness.pass(60).await;
            assert_eq!(harness.mind.verbs(), "", "{transcript}");
            harness.pass(200).await;
            assert!(harness.mind.verbs().starts_with("judge"), "{transcript}");
        })
        .await;
    }
}

#[tokio::test]
async fn the_cooldown_holds_for_others_and_after_other_posts() {
    for (state, who) in [("conflict", "carol"), ("active", "ben")] {
        on_every_store(async |store| {
            let harness = spoken_about(store, state).await;
            harness.pass(100).await;
            harness.says(who, "has the build finished?").await;
            harness.pass(300).await;
            assert_eq!(harness.mind.verbs(), "", "{state} {who}");
            let last = harness.decisions("garden").await.pop().unwrap();
            assert_eq!(last.gate, Some(Gate::Cooldown));
        })
        .await;
    }
}

/// Words about something else are no reason to miss a quarrel that begins soon after them.
#[tokio::test]
async fn a_new_quarrel_is_met_in_the_cooldown_after_another_post() {
    for (state, more, posts) in [
        ("conflict", r#", "same_conversation": false"#, 2),
        ("conflict", SAME, 1),
        ("active", r#", "same_conversation": false"#, 1),
    ] {
        on_every_store(async |store| {
            let harness = spoken_about(store, "active").await;
            harness.pass(200).await;
            harness.mind.script.push(PromptVerb::Judge, Ok(&verdict(state, more)));
            quarrel(&harness).await;
            harness.says("ben", "because you never ask").await;
            harness.pass(60).await;
            assert_eq!(harness.platform.posted_texts().len(), posts, "{state} {more}");
        })
        .await;
    }
}

#[tokio::test]
async fn plain_agreements_cost_a_facilitator_no_call() {
    for (texts, calls) in [
        (&["12日でOKです", "私もOKです", "了解です"][..], 0),
        (&["12th works for me", "ok for me", "👍"], 0),
        (&["12日でOKですが、場所はどこですか"], 1),
        (&["ok, but who pays?"], 1),
    ] {
        on_every_store(async |store| {
            let harness = facilitated(store).await;
            harness.says("ann", "shall we meet on the 12th?").await;
            harness.says("ben", "or on the 13th").await;
            harness.says("ann", "the 12th is better for me").await;
            harness.pass(60).await;
            harness.mind.calls();
            for text in texts {
                harness.says("carol", text).await;
                harness.pass(20).await;
            }
            assert_eq!(harness.mind.calls().len(), calls, "{texts:?}");
        })
        .await;
    }
}
