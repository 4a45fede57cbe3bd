//! What users see, as transcripts on every store. The ledger is below the messages: the messages that a decision
//! covers, how it ended and why, and its model calls.

use std::sync::atomic::Ordering;

use aizuchi_harness::fixtures::{JOIN, JOIN_IN_60, thread};
use aizuchi_harness::harness::{Harness, HarnessOptions, build_parts_with};
use aizuchi_harness::test_platform::Fault;
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_llm::LlmError;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::MessageId;
use aizuchi_model::decision::Usage;
use insta::assert_snapshot;

/// A fixed wait, for the stories in which each new message restarts it: by default, work in flight continues.
async fn fixed_wait(store: TestStore) -> Harness {
    Harness::new(store).await.with_options(HarnessOptions::fixed_wait())
}

#[tokio::test]
async fn a_mention_is_answered_at_once() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(1).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi are you there?
       0s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_mention_in_a_thread_is_answered_in_the_thread() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let parent = harness.says("alice", "my tomatoes are late").await;
        harness.pass(5).await;
        harness.says_in(thread("garden", parent.as_str()), "bob", "@Aizuchi how come?").await;
        harness.pass(400).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: my tomatoes are late
       5s   bob: @Aizuchi how come?
       5s   (persona): Here I am.
    [m000] chose_silence by nothing_open: nobody seemed to be waiting for an answer ()
    [m001] spoke: bob asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_conversation_that_rests_is_judged_once() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "does anyone know why my beans are late?").await;
        harness.pass(10).await;
        harness.says("bob", "hm").await;
        harness.pass(10_000).await;
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Judge).len(), 1);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: does anyone know why my beans are late?
      10s bob: hm
    [m000 m001] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn an_open_question_is_answered() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(400).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
      90s (persona): Here I am.
    [m000] spoke: nobody answers (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn a_burst_costs_one_judgment() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        for number in 0..10 {
            harness.says("alice", &format!("is this line {number}?")).await;
            harness.pass(2).await;
        }
        harness.pass(1000).await;
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Judge).len(), 1);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: is this line 0?
       2s alice: is this line 1?
       4s alice: is this line 2?
       6s alice: is this line 3?
       8s alice: is this line 4?
      10s alice: is this line 5?
      12s alice: is this line 6?
      14s alice: is this line 7?
      16s alice: is this line 8?
      18s alice: is this line 9?
    [m000 m001 m002 m003 m004 m005 m006 m007 m008 m009] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn with_a_fixed_wait_a_message_during_the_judge_call_discards_it() {
    let transcript = on_every_store(async |store| {
        let harness = fixed_wait(store).await;
        harness.says("alice", "does it rain tomorrow?").await;
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Judge, || async move {
            there.says("bob", "all day, they say").await;
            // The canceled call never takes its answer.
            there.mind.script.push(PromptVerb::Judge, Ok(aizuchi_harness::fixtures::SILENCE));
        });
        harness.pass(1000).await;
        assert!(harness.platform.posted_texts().is_empty());
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: does it rain tomorrow?
      60s bob: all day, they say
    [m000 m001] chose_silence: they get along (judge superseded, judge kept)
    ");
}

#[tokio::test]
async fn with_a_fixed_wait_a_superseded_judgment_is_discarded() {
    let transcript = on_every_store(async |store| {
        let harness = fixed_wait(store).await;
        // Another process hears the message, so nothing here cancels the work.
        let (elsewhere, _) = build_parts_with(
            harness.store.store.clone(),
            harness.clock.clone(),
            harness.mind.clone(),
            harness.platform.clone(),
            harness.options.clone(),
        );
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("alice", "does it rain tomorrow?").await;
        let there = Harness { inbox: elsewhere, ..harness.clone() };
        harness.mind.meanwhile(PromptVerb::Judge, || async move {
            there.says("bob", "all day, they say").await;
        });
        harness.pass(1000).await;
        assert!(harness.platform.posted_texts().is_empty());
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: does it rain tomorrow?
      60s bob: all day, they say
    [m000 m001] chose_silence: they get along (judge superseded, judge kept)
    ");
}

#[tokio::test]
async fn with_a_fixed_wait_a_message_while_the_platform_is_busy_restarts_the_wait() {
    let transcript = on_every_store(async |store| {
        let harness = fixed_wait(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("alice", "when do I cut the roses?").await;
        let there = harness.clone();
        harness.platform.meanwhile(|| async move {
            there.says("bob", "who has a spade?").await;
        });
        harness.platform.fails(&[Fault::Busy]);
        harness.pass(1000).await;
        assert!(harness.platform.posted_texts().is_empty());
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
      60s bob: who has a spade?
    [m000] dropped: the conversation moved on in the meantime (judge kept, reply kept)
    [m001] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn an_old_mention_is_still_answered() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let down = || {
            Err(LlmError::Busy {
                why: "down".to_owned(),
                retry_after: None,
                usage: Usage::default(),
            })
        };
        harness.mind.script.push(PromptVerb::Reply, down());
        harness.says("alice", "@Aizuchi what do roses need?").await;
        harness.pass(1).await;
        for number in 0..60 {
            harness.says("bob", &format!("chatter {number}")).await;
        }
        harness.pass(1000).await;
        let asked = harness.mind.prompt_texts(PromptVerb::Reply);
        assert!(asked.last().unwrap().contains("\n@Aizuchi what do roses need?"));
        let ledger = harness.decisions("garden").await;
        assert!(ledger.iter().all(|row| row.ended.is_some()));
        format!("{:?}", harness.platform.posted_texts())
    });
    assert_snapshot!(transcript.await, @r#"["Here I am."]"#);
}

#[tokio::test]
async fn a_bot_that_edits_its_message_does_not_delay_a_judgment() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("alice", "when do I cut the roses?").await;
        let message = harness.says("buildbot", "build 0 %").await;
        for percent in 1..=9 {
            harness.pass(10).await;
            harness.edits(&message, &format!("build {percent}0 %")).await;
        }
        assert_eq!(harness.platform.posted_texts().len(), 1);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
       0s buildbot: build 90 %
      90s (persona): Here I am.
    [m000] spoke: nobody answers (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn with_a_fixed_wait_a_message_during_the_delay_restarts_the_wait() {
    let transcript = on_every_store(async |store| {
        let harness = fixed_wait(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
        harness.says("alice", "who has the spade?").await;
        harness.pass(90).await;
        harness.says("bob", "I have it").await;
        harness.pass(1000).await;
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Judge).len(), 2);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: who has the spade?
      90s bob: I have it
    [m000 m001] chose_silence: they get along (judge superseded, judge kept)
    ");
}

#[tokio::test]
async fn with_a_fixed_wait_a_message_during_the_reply_call_discards_it() {
    let transcript = on_every_store(async |store| {
        let harness = fixed_wait(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("alice", "who has the spade?").await;
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says("bob", "I have it").await;
        });
        harness.pass(1000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: who has the spade?
      60s bob: I have it
    [m000 m001] chose_silence: they get along (judge superseded, reply superseded, judge kept)
    ");
}

#[tokio::test]
async fn two_mentions_while_busy_are_both_answered() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi what about the roses?").await;
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says("bob", "@Aizuchi and the tulips?").await;
        });
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says("carol", "@Aizuchi and the daisies?").await;
        });
        harness.pass(1).await;
        // Bob's mention came in time for the only redraft. Carol's gets a separate answer.
        assert_eq!(harness.platform.calls.load(Ordering::SeqCst), 2);
        let answered =
            |post: usize| harness.platform.posted.lock().unwrap()[post].0.metadata.owed.clone();
        assert_eq!(answered(0), [MessageId::new("m000"), MessageId::new("m001")]);
        assert_eq!(answered(1), [MessageId::new("m002")]);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi what about the roses?
       0s bob: @Aizuchi and the tulips?
       0s carol: @Aizuchi and the daisies?
       0s (persona): Here I am.
       0s (persona): Here I am.
    [m000 m001] spoke: alice asked me (reply superseded, reply kept)
    [m002] spoke: carol asked me (reply kept)
    ");
}

#[tokio::test]
async fn messages_of_others_neither_delay_nor_cancel_an_owed_answer() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi what about the roses?").await;
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.after_5s_says("carol", "chatter one").await;
            there.after_5s_says("carol", "chatter two").await;
            there.after_5s_says("bob", "@Aizuchi and the tulips?").await;
        });
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.after_5s_says("carol", "who has the spade?").await;
            there.after_5s_says("carol", "chatter four").await;
        });
        harness.pass(40).await;
        harness.pass(1000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi what about the roses?
       5s carol: chatter one
      10s carol: chatter two
      15s bob: @Aizuchi and the tulips?
      20s carol: who has the spade?
      25s carol: chatter four
      25s (persona): Here I am.
    [m000 m003] spoke: alice asked me (reply superseded, reply kept)
    [m001 m002 m004 m005] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn messages_behind_an_answer_are_judged_later() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi what about the roses?").await;
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says("carol", "has anyone seen my gloves?").await;
        });
        harness.pass(1).await;
        harness.pass(10).await;
        harness.says("dan", "no").await;
        harness.pass(1000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi what about the roses?
       0s carol: has anyone seen my gloves?
       0s (persona): Here I am.
      11s dan: no
    [m000] spoke: alice asked me (reply kept)
    [m001 m002] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn a_second_message_of_the_asker_is_read_for_the_answer() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi what about the roses?").await;
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says("alice", "the red ones").await;
        });
        harness.pass(400).await;
        let asked = harness.mind.prompt_texts(PromptVerb::Reply);
        assert_eq!(asked.len(), 2);
        assert!(asked[1].contains("\nthe red ones"));
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi what about the roses?
       0s alice: the red ones
       0s (persona): Here I am.
    [m000 m001] spoke: alice asked me (reply superseded, reply kept)
    ");
}

#[tokio::test]
async fn a_mention_comes_before_a_waiting_judgment() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("bob", "the roses look ill").await;
        harness.pass(30).await;
        harness.says("alice", "@Aizuchi what can we do?").await;
        harness.pass(1000).await;
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Judge).len(), 0);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s bob: the roses look ill
      30s alice: @Aizuchi what can we do?
      30s (persona): Here I am.
    [m001] spoke: alice asked me (reply kept)
    [m000] chose_silence by nothing_open: nobody seemed to be waiting for an answer ()
    ");
}

#[tokio::test]
async fn messages_during_a_reply_call_are_judged_later() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi are you there?").await;
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says("bob", "is the shed open?").await;
        });
        harness.pass(1000).await;
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Judge).len(), 1);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi are you there?
       0s bob: is the shed open?
       0s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    [m001] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn bots_start_nothing() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("buildbot", "@Aizuchi the build is red").await;
        harness.pass(1000).await;
        assert!(harness.mind.prompt_texts(PromptVerb::Judge).is_empty());
        let messages = harness.messages("garden").await;
        assert_eq!(messages[0].gate.map(|gate| gate.name()), Some("other_bot"));
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"   0s buildbot: @Aizuchi the build is red");
}

#[tokio::test]
async fn a_malformed_judgment_is_asked_for_once_more() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok("I think so, yes!"));
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(400).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
      90s (persona): Here I am.
    [m000] spoke: nobody answers (judge failed, judge kept, reply kept)
    ");
}

#[tokio::test]
async fn a_failed_judge_is_not_recorded_as_a_choice() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok("[]"));
        harness.mind.script.push(
            PromptVerb::Judge,
            Ok(r#"{"should_respond": true, "reason": "x", "confidence": 7}"#),
        );
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(1000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
    [m000] failed: something went wrong (judge failed, judge failed)
    ");
}
