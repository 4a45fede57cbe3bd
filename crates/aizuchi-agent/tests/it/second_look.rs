//! Verdicts that are not final: an unsure yes, and a silence that asks for a second look. Transcripts on every
//! store.

use aizuchi_harness::fixtures::{JOIN, START, top_level};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::decision::AttemptResult;
use aizuchi_model::rules::{ChannelRules, Mode};
use insta::assert_snapshot;

const UNSURE: &str = r#"{"should_respond": true, "reason": "they may still answer", "confidence": 0.5, "delay_seconds": 60}"#;
const LATER: &str = r#"{"should_respond": false, "reason": "not yet", "confidence": 0.8, "delay_seconds": null, "look_again_seconds": 120}"#;

/// Alice asks, and the judge is called after 90 seconds. It gives these answers in turn.
async fn asked(store: TestStore, answers: &[&str]) -> Harness {
    said(store, "does anyone have a ladder?", answers).await
}

/// Alice writes, and the judge gives these answers in turn.
async fn said(store: TestStore, text: &str, answers: &[&str]) -> Harness {
    let harness = Harness::new(store).await;
    for answer in answers {
        harness.mind.script.push(PromptVerb::Judge, Ok(answer));
    }
    harness.says("alice", text).await;
    harness
}

/// When the judge was called, in seconds since the start.
async fn judged_at(harness: &Harness) -> Vec<i64> {
    let rows = harness.decisions("garden").await;
    let attempts = rows.iter().flat_map(|row| &row.attempts);
    let judged = attempts.filter(|attempt| &*attempt.verb == "judge");
    judged.map(|attempt| attempt.at.as_second() - START).collect()
}

#[tokio::test]
async fn an_unsure_yes_is_looked_at_once_more_after_its_delay() {
    let transcript = on_every_store(async |store| {
        let harness = asked(store, &[UNSURE, JOIN]).await;
        harness.pass(100).await;
        assert!(harness.platform.posted_texts().is_empty());
        // The second look is stored: a restart does not lose it.
        let harness = harness.restart().await;
        harness.pass(1000).await;
        assert_eq!(judged_at(&harness).await, [90, 150]);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: does anyone have a ladder?
     150s (persona): Here I am.
    [m000] spoke: nobody answers (judge looked_again, judge kept, reply kept)
    ");
}

#[tokio::test]
async fn a_yes_that_stays_unsure_is_silence() {
    let transcript = on_every_store(async |store| {
        let harness = asked(store, &[]).await;
        harness.mind.script.set_default(PromptVerb::Judge, UNSURE);
        harness.pass(10_000).await;
        assert_eq!(judged_at(&harness).await, [90, 150]);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: does anyone have a ladder?
    [m000] chose_silence: I wasn’t sure enough (0.50; I need 0.70) (judge looked_again, judge kept)
    ");
}

#[tokio::test]
async fn without_a_delay_it_is_looked_at_after_one_more_wait() {
    for question in ["does anyone have a ladder?", "誰かはしごを持っていませんか？"]
    {
        on_every_store(async |store| {
            let unsure = UNSURE.replace("60", "null");
            let harness = said(store, question, &[&unsure, JOIN]).await;
            harness.pass(1000).await;
            assert_eq!(judged_at(&harness).await, [90, 180], "{question}");
            assert_eq!(harness.platform.posted_texts(), ["Here I am."], "{question}");
        })
        .await;
    }
}

/// At first others may still comfort her. Later no one has, and no one has written anything.
#[tokio::test]
async fn sympathy_comes_though_nobody_writes_again() {
    for text in ["our cat is at the vet, I am so worried", "うちの猫が入院していて、とても心配です"]
    {
        on_every_store(async |store| {
            let harness = said(store, text, &[LATER, JOIN]).await;
            harness.pass(10_000).await;
            assert_eq!(judged_at(&harness).await, [90, 210], "{text}");
            assert_eq!(harness.platform.posted_texts(), ["Here I am."], "{text}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_silence_may_ask_to_look_again_once() {
    let transcript = on_every_store(async |store| {
        let harness = asked(store, &[]).await;
        harness.mind.script.set_default(PromptVerb::Judge, LATER);
        harness.pass(10_000).await;
        assert_eq!(judged_at(&harness).await, [90, 210]);
        // A new message opens a separate decision, which may get a second look, too.
        harness.mind.script.push(PromptVerb::Judge, Ok(LATER));
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("bob", "does anyone have a spade?").await;
        harness.pass(10_000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: does anyone have a ladder?
    10000s bob: does anyone have a spade?
    10210s (persona): Here I am.
    [m000] chose_silence: not yet (judge looked_again, judge kept)
    [m001] spoke: nobody answers (judge looked_again, judge kept, reply kept)
    ");
}

#[tokio::test]
async fn a_new_message_takes_the_place_of_the_second_look() {
    let transcript = on_every_store(async |store| {
        let harness = asked(store, &[LATER, JOIN]).await;
        harness.pass(100).await;
        harness.says("bob", "@alice yes, behind the shed").await;
        harness.pass(10_000).await;
        assert_eq!(judged_at(&harness).await, [90]);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: does anyone have a ladder?
     100s bob: @alice yes, behind the shed
    [m000 m001] chose_silence by nothing_open: nobody seemed to be waiting for an answer (judge looked_again)
    ");
}

#[tokio::test]
async fn a_mention_comes_before_the_second_look() {
    on_every_store(async |store| {
        let harness = asked(store, &[LATER]).await;
        harness.pass(100).await;
        harness.says("bob", "@Aizuchi do you?").await;
        harness.pass(1).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
        harness.pass(10_000).await;
        assert!(harness.step_of(&top_level("garden")).await.is_none());
    })
    .await;
}

#[tokio::test]
async fn a_mention_before_the_second_look_allows_no_third() {
    on_every_store(async |store| {
        let harness = asked(store, &[]).await;
        harness.mind.script.set_default(PromptVerb::Judge, LATER);
        harness.pass(100).await;
        harness.says("bob", "@Aizuchi what weekday is the 4th of December?").await;
        harness.pass(10_000).await;
        assert_eq!(judged_at(&harness).await, [90, 210]);
    })
    .await;
}

#[tokio::test]
async fn the_time_of_the_second_look_has_bounds() {
    for (delay, expected) in [
        ("999999999", vec![90, 90 + 3600]),
        ("90.5", vec![90, 180]),
        ("1", vec![90, 120]),
        // Some models write these for "no".
        ("0", vec![90]),
        ("-1", vec![90]),
        ("\"never\"", vec![90]),
    ] {
        on_every_store(async |store| {
            let harness = asked(store, &[&LATER.replace("120", delay)]).await;
            harness.pass(10_000).await;
            assert_eq!(judged_at(&harness).await, expected, "{delay}");
        })
        .await;
    }
}

#[tokio::test]
async fn busy_talk_does_not_postpone_what_waits_for_a_second_look() {
    on_every_store(async |store| {
        let harness = asked(store, &[&LATER.replace("120", "3600")]).await;
        harness.pass(100).await;
        for _ in 0..100 {
            harness.says("bob", "who can help me with my tulips?").await;
            harness.pass(50).await;
        }
        let judged = judged_at(&harness).await;
        assert!(judged[1] <= 100 + 3600 + 50, "{judged:?}");
    })
    .await;
}

/// A message comes while the reply is drafted. By the structure it may have taken the question up.
#[tokio::test]
async fn a_draft_that_became_doubtful_is_dropped_and_the_judge_looks_again() {
    let transcript = on_every_store(async |store| {
        let harness = asked(store, &[JOIN]).await;
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says("bob", "there was one").await;
        });
        harness.pass(10_000).await;
        assert_eq!(judged_at(&harness).await, [90, 90]);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: does anyone have a ladder?
      90s bob: there was one
    [m000 m001] chose_silence: they get along (judge looked_again, reply looked_again, judge kept)
    ");
}

#[tokio::test]
async fn a_facilitator_is_asked_once() {
    on_every_store(async |store| {
        let mut rules = ChannelRules { mode: Mode::Facilitator, ..ChannelRules::default() };
        rules.facilitation.min_messages = 0;
        let harness = Harness::new(store).await.with_options(HarnessOptions::from_rules(rules));
        harness.mind.script.set_default(PromptVerb::Judge, LATER);
        harness.says("alice", "does anyone have a ladder?").await;
        harness.pass(10_000).await;
        let judged = &harness.decisions("garden").await[0].attempts;
        assert_eq!(judged.len(), 1);
        assert_eq!(judged[0].result, AttemptResult::Kept);
    })
    .await;
}
