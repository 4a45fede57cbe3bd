//! What people see, told as transcripts, on every store. Behind the talk stands the ledger: the
//! lines a decision covers, how it ended and why, and the model calls it cost.

use std::sync::atomic::Ordering;

use aizuchi_core::chat::MessageId;
use aizuchi_core::llm::LlmError;
use aizuchi_core::prompt::PromptVerb;
use insta::assert_snapshot;

use aizuchi_harness::harness::{
    Fault, Harness, HarnessOptions, JOIN, JOIN_IN_60, SILENCE, TestStore, build_parts_with,
    on_every_store, thread,
};

/// A fixed wait, for the stories in which each new message starts it again: by default, work in flight goes on.
async fn fixed_wait(kept: TestStore) -> Harness {
    Harness::new(kept).await.with_options(HarnessOptions::fixed_wait())
}

#[tokio::test]
async fn a_mention_is_answered_at_once() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("alice", "@Aizuchi are you there?").await;
        world.pass(1).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi are you there?
       0s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_mention_in_a_thread_is_answered_in_the_thread() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        let parent = world.says("alice", "the tomatoes are late").await;
        world.pass(5).await;
        world.says_in(thread("garden", parent.as_str()), "bob", "@Aizuchi how come?").await;
        world.pass(400).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: the tomatoes are late
       5s   bob: @Aizuchi how come?
       5s   (persona): Here I am.
    [m000] chose_silence: they get along (judge kept)
    [m001] spoke: bob asked me (reply kept)
    ");
}

#[tokio::test]
async fn talk_that_rests_is_judged_once() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("alice", "the beans are up").await;
        world.pass(10).await;
        world.says("bob", "at last").await;
        world.pass(10_000).await;
        assert_eq!(world.mind.prompt_texts(PromptVerb::Judge).len(), 1);
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: the beans are up
      10s bob: at last
    [m000 m001] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn an_open_question_is_taken_up() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        world.says("alice", "when do I cut the roses?").await;
        world.pass(400).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: when do I cut the roses?
      90s (persona): Here I am.
    [m000] spoke: nobody answers (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn a_burst_costs_one_judgment() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        for number in 0..10 {
            world.says("alice", &format!("line {number}")).await;
            world.pass(2).await;
        }
        world.pass(1000).await;
        assert_eq!(world.mind.prompt_texts(PromptVerb::Judge).len(), 1);
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: line 0
       2s alice: line 1
       4s alice: line 2
       6s alice: line 3
       8s alice: line 4
      10s alice: line 5
      12s alice: line 6
      14s alice: line 7
      16s alice: line 8
      18s alice: line 9
    [m000 m001 m002 m003 m004 m005 m006 m007 m008 m009] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn a_line_during_the_judge_call_discards_it() {
    let told = on_every_store(async |kept| {
        let world = fixed_wait(kept).await;
        world.says("alice", "does it rain tomorrow?").await;
        let there = world.clone();
        world.mind.meanwhile(PromptVerb::Judge, || async move {
            there.says("bob", "all day, they say").await;
            // The call that is dropped never takes its answer.
            there.mind.script.push(PromptVerb::Judge, Ok(aizuchi_harness::harness::SILENCE));
        });
        world.pass(1000).await;
        assert!(world.platform.posted_texts().is_empty());
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: does it rain tomorrow?
      60s bob: all day, they say
    [m000 m001] chose_silence: they get along (judge superseded, judge kept)
    ");
}

#[tokio::test]
async fn a_yes_that_comes_too_late_is_discarded() {
    let told = on_every_store(async |kept| {
        let world = fixed_wait(kept).await;
        // Another process hears the line, so nobody here calls the work off.
        let (elsewhere, _) = build_parts_with(
            world.store.store.clone(),
            world.clock.clone(),
            world.mind.clone(),
            world.platform.clone(),
            world.options.clone(),
        );
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        world.says("alice", "does it rain tomorrow?").await;
        let there = Harness { inbox: elsewhere, ..world.clone() };
        world.mind.meanwhile(PromptVerb::Judge, || async move {
            there.says("bob", "all day, they say").await;
        });
        world.pass(1000).await;
        assert!(world.platform.posted_texts().is_empty());
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: does it rain tomorrow?
      60s bob: all day, they say
    [m000 m001] chose_silence: they get along (judge superseded, judge kept)
    ");
}

#[tokio::test]
async fn an_answer_made_from_a_line_that_is_deleted_meanwhile_is_made_anew() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        let secret = world.says("bob", "the surprise party is on Friday").await;
        world.says("alice", "@Aizuchi what is on Friday?").await;
        let there = world.clone();
        world.mind.script.push(PromptVerb::Reply, Ok("Bob says: the surprise party!"));
        world.mind.script.push(PromptVerb::Reply, Ok("I cannot say."));
        world.mind.meanwhile(PromptVerb::Reply, || async move { there.deletes(&secret).await });
        world.pass(1000).await;
        assert_eq!(world.platform.posted_texts(), ["I cannot say."]);
        assert!(!world.mind.prompt_texts(PromptVerb::Reply)[1].contains("party"));
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s bob: (deleted)
       0s alice: @Aizuchi what is on Friday?
       0s (persona): I cannot say.
    [m000 m001] spoke: alice asked me (reply superseded, reply kept)
    ");
}

#[tokio::test]
async fn nobody_is_kept_waiting_for_ever_by_lines_that_keep_changing() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        let line = world.says("bob", "draft 0").await;
        world.says("alice", "@Aizuchi what does bob say?").await;
        for number in 1..=9 {
            let (there, line) = (world.clone(), line.clone());
            world.mind.meanwhile(PromptVerb::Reply, move || async move {
                // A moment later, since two edits of one moment are one.
                there.clock.advance_to(there.clock.now() + jiff::SignedDuration::from_secs(1));
                there.edits(&line, &format!("draft {number}")).await;
            });
        }
        world.pass(1000).await;
        assert_eq!(world.mind.prompt_texts(PromptVerb::Reply).len(), 4);
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s bob: draft 4
       0s alice: @Aizuchi what does bob say?
       4s (persona): Sorry, I cannot think of an answer right now. Please try again later.
    [m000 m001] failed: I could not think of an answer (reply superseded, reply superseded, reply superseded, reply superseded)
    ");
}

#[tokio::test]
async fn words_made_from_a_parent_that_is_edited_meanwhile_are_not_said_unasked() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        let parent = world.says("bob", "the code is 1234").await;
        world.mind.script.push(PromptVerb::Judge, Ok(SILENCE));
        world.pass(400).await;
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        world.says_in(thread("garden", parent.as_str()), "alice", "which code?").await;
        let there = world.clone();
        world.mind.script.push(PromptVerb::Reply, Ok("1234"));
        world
            .mind
            .meanwhile(PromptVerb::Reply, || async move { there.edits(&parent, "oops").await });
        world.pass(1000).await;
        assert!(world.platform.posted_texts().is_empty());
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s bob: oops
     400s   alice: which code?
    [m000] chose_silence:  (judge kept)
    [m001] dropped: a line that it was made from has changed (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn who_waits_behind_a_mention_that_is_taken_back_is_judged() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        world.says("bob", "when do I cut the roses?").await;
        world.pass(30).await;
        let mention = world.says("alice", "@Aizuchi hello").await;
        world.deletes(&mention).await;
        world.pass(1000).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s bob: when do I cut the roses?
      30s alice: (deleted)
      90s (persona): Here I am.
    [m000 m001] spoke: nobody answers (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn a_mention_while_a_post_is_refused_for_now_is_answered() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        world.says("alice", "when do I cut the roses?").await;
        let there = world.clone();
        // While it is on its way, Bob asks; then the platform does not take it.
        world.platform.meanwhile(|| async move {
            there.says("bob", "@Aizuchi and the tulips?").await;
        });
        world.platform.fails(&[Fault::Busy]);
        world.pass(91).await;
        world.says("carol", "nice weather").await;
        world.pass(1000).await;
        assert_eq!(world.platform.posted_texts().len(), 1);
        assert!(
            world
                .mind
                .prompt_texts(PromptVerb::Reply)
                .last()
                .unwrap()
                .contains("\n@Aizuchi and the tulips?")
        );
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: when do I cut the roses?
      90s bob: @Aizuchi and the tulips?
      90s (persona): Here I am.
      91s carol: nice weather
    [m000 m001] spoke: bob asked me (judge superseded, reply superseded, reply kept)
    [m002] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn a_line_while_a_post_is_refused_for_now_starts_the_wait_again() {
    let told = on_every_store(async |kept| {
        let world = fixed_wait(kept).await;
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        world.says("alice", "when do I cut the roses?").await;
        let there = world.clone();
        world.platform.meanwhile(|| async move {
            there.says("bob", "in spring").await;
        });
        world.platform.fails(&[Fault::Busy]);
        world.pass(1000).await;
        assert!(world.platform.posted_texts().is_empty());
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: when do I cut the roses?
      60s bob: in spring
    [m000] dropped: people went on meanwhile (judge kept, reply kept)
    [m001] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn a_half_said_answer_is_finished_not_begun_anew() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        let long = "The first thing that roses need is good soil, and deep.\n\nThe second is water, in the morning, at the root.";
        world.mind.script.push(PromptVerb::Reply, Ok(long));
        world.platform.fails(&[Fault::None, Fault::Busy]);
        world.says("alice", "@Aizuchi what do roses need?").await;
        world.pass(1).await;
        world.says("alice", "I mean the red ones").await;
        world.says("bob", "@Aizuchi and tulips?").await;
        world.pass(1000).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi what do roses need?
       0s (persona): The first thing that roses need is good soil, and deep.
       1s alice: I mean the red ones
       1s bob: @Aizuchi and tulips?
       2s (persona): The second is water, in the morning, at the root.
       2s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    [m001 m002] spoke: bob asked me (reply kept)
    ");
}

#[tokio::test]
async fn who_asked_long_ago_is_still_answered() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        let down = || Err(LlmError::Busy { why: "down".to_owned(), retry_after: None });
        world.mind.script.push(PromptVerb::Reply, down());
        world.says("alice", "@Aizuchi what do roses need?").await;
        world.pass(1).await;
        for number in 0..60 {
            world.says("bob", &format!("chatter {number}")).await;
        }
        world.pass(1000).await;
        let asked = world.mind.prompt_texts(PromptVerb::Reply);
        assert!(asked.last().unwrap().contains("\n@Aizuchi what do roses need?"));
        let ledger = world.decisions("garden").await;
        assert!(ledger.iter().all(|row| row.ended.is_some()));
        format!("{:?}", world.platform.posted_texts())
    });
    assert_snapshot!(told.await, @r#"["Here I am."]"#);
}

#[tokio::test]
async fn a_bot_that_edits_its_line_does_not_make_it_mute() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        world.says("alice", "when do I cut the roses?").await;
        let line = world.says("buildbot", "build 0 %").await;
        for percent in 1..=9 {
            world.pass(10).await;
            world.edits(&line, &format!("build {percent}0 %")).await;
        }
        assert_eq!(world.platform.posted_texts().len(), 1);
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: when do I cut the roses?
       0s buildbot: build 90 %
      90s (persona): Here I am.
    [m000] spoke: nobody answers (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn a_platform_that_never_says_what_became_of_it_is_given_up() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        world.platform.fails(&[Fault::LostRequest; 100]);
        world.says("alice", "when do I cut the roses?").await;
        world.pass(10_000).await;
        let letters = world.store.archive.dead_letters().await.unwrap();
        assert_eq!(letters.len(), 1);
        assert_eq!(letters[0].error, "the platform took it at no attempt");
        assert!(world.platform.calls.load(Ordering::SeqCst) <= 15);
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: when do I cut the roses?
    [m000] failed: something went wrong (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn a_line_during_the_delay_starts_the_wait_again() {
    let told = on_every_store(async |kept| {
        let world = fixed_wait(kept).await;
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
        world.says("alice", "who has the spade?").await;
        world.pass(90).await;
        world.says("bob", "I have it").await;
        world.pass(1000).await;
        assert_eq!(world.mind.prompt_texts(PromptVerb::Judge).len(), 2);
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: who has the spade?
      90s bob: I have it
    [m000 m001] chose_silence: they get along (judge superseded, judge kept)
    ");
}

#[tokio::test]
async fn a_line_during_the_reply_call_discards_it() {
    let told = on_every_store(async |kept| {
        let world = fixed_wait(kept).await;
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        world.says("alice", "who has the spade?").await;
        let there = world.clone();
        world.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says("bob", "I have it").await;
        });
        world.pass(1000).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: who has the spade?
      60s bob: I have it
    [m000 m001] chose_silence: they get along (judge superseded, reply superseded, judge kept)
    ");
}

#[tokio::test]
async fn two_mentions_while_busy_are_both_answered() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("alice", "@Aizuchi what about the roses?").await;
        let there = world.clone();
        world.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says("bob", "@Aizuchi and the tulips?").await;
        });
        let there = world.clone();
        world.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says("carol", "@Aizuchi and the daisies?").await;
        });
        world.pass(1).await;
        // Bob's came in time for the one redraft; Carol's has an answer of its own.
        assert_eq!(world.platform.calls.load(Ordering::SeqCst), 2);
        let answered =
            |post: usize| world.platform.posted.lock().unwrap()[post].0.metadata.owed.clone();
        assert_eq!(answered(0), [MessageId::new("m000"), MessageId::new("m001")]);
        assert_eq!(answered(1), [MessageId::new("m002")]);
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
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
async fn others_chatter_neither_delays_nor_cancels_an_owed_answer() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("alice", "@Aizuchi what about the roses?").await;
        let there = world.clone();
        world.mind.meanwhile(PromptVerb::Reply, || async move {
            there.after_5s_says("carol", "chatter one").await;
            there.after_5s_says("carol", "chatter two").await;
            there.after_5s_says("bob", "@Aizuchi and the tulips?").await;
        });
        let there = world.clone();
        world.mind.meanwhile(PromptVerb::Reply, || async move {
            there.after_5s_says("carol", "chatter three").await;
            there.after_5s_says("carol", "chatter four").await;
        });
        world.pass(40).await;
        world.pass(1000).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi what about the roses?
       5s carol: chatter one
      10s carol: chatter two
      15s bob: @Aizuchi and the tulips?
      20s carol: chatter three
      25s carol: chatter four
      25s (persona): Here I am.
    [m000 m001 m002 m003] spoke: alice asked me (reply superseded, reply kept)
    [m004 m005] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn lines_behind_an_answer_are_judged_later() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("alice", "@Aizuchi what about the roses?").await;
        let there = world.clone();
        world.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says("carol", "has anyone seen my gloves?").await;
        });
        world.pass(1).await;
        world.pass(10).await;
        world.says("dan", "no").await;
        world.pass(1000).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi what about the roses?
       0s carol: has anyone seen my gloves?
       0s (persona): Here I am.
      11s dan: no
    [m000] spoke: alice asked me (reply kept)
    [m001 m002] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn a_second_line_of_the_asker_is_answered_too() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("alice", "@Aizuchi what about the roses?").await;
        let there = world.clone();
        world.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says("alice", "the red ones").await;
        });
        world.pass(400).await;
        let asked = world.mind.prompt_texts(PromptVerb::Reply);
        assert_eq!(asked.len(), 2);
        assert!(asked[1].contains("\nthe red ones"));
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi what about the roses?
       0s alice: the red ones
       0s (persona): Here I am.
    [m000 m001] spoke: alice asked me (reply superseded, reply kept)
    ");
}

#[tokio::test]
async fn a_mention_replaces_a_waiting_judgment() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("bob", "the roses look ill").await;
        world.pass(30).await;
        world.says("alice", "@Aizuchi what can we do?").await;
        world.pass(1000).await;
        assert_eq!(world.mind.prompt_texts(PromptVerb::Judge).len(), 0);
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s bob: the roses look ill
      30s alice: @Aizuchi what can we do?
      30s (persona): Here I am.
    [m000 m001] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn what_was_said_while_it_answered_is_judged() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("alice", "@Aizuchi are you there?").await;
        let there = world.clone();
        world.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says("bob", "it always is").await;
        });
        world.pass(1000).await;
        assert_eq!(world.mind.prompt_texts(PromptVerb::Judge).len(), 1);
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi are you there?
       0s bob: it always is
       0s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    [m001] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn bots_start_nothing() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("buildbot", "@Aizuchi the build is red").await;
        world.pass(1000).await;
        assert!(world.mind.prompt_texts(PromptVerb::Judge).is_empty());
        let lines = world.messages("garden").await;
        assert_eq!(lines[0].gate.map(|gate| gate.name()), Some("other_bot"));
        world.transcript().await
    });
    assert_snapshot!(told.await, @"   0s buildbot: @Aizuchi the build is red");
}

#[tokio::test]
async fn a_line_taken_back_needs_no_second_verdict() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("alice", "the beans are up").await;
        world.pass(400).await;
        let slip = world.says("bob", "oops, wrong window").await;
        world.pass(5).await;
        world.deletes(&slip).await;
        world.pass(1000).await;
        assert_eq!(world.mind.prompt_texts(PromptVerb::Judge).len(), 1);
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: the beans are up
     400s bob: (deleted)
    [m000] chose_silence: they get along (judge kept)
    [m001] chose_silence by unchanged: nothing has changed since I last looked ()
    ");
}

#[tokio::test]
async fn a_mention_taken_back_is_not_answered() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        let mention = world.says("alice", "@Aizuchi are you there?").await;
        world.deletes(&mention).await;
        world.pass(1000).await;
        assert!(world.platform.posted_texts().is_empty());
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: (deleted)
    [m000] dropped: the question was withdrawn ()
    ");
}

#[tokio::test]
async fn a_mention_edited_in_is_answered() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        let line = world.says("alice", "are you there?").await;
        world.pass(20).await;
        world.edits(&line, "@Aizuchi are you there?").await;
        world.pass(1000).await;
        world.edits(&line, "@Aizuchi are you there??").await;
        world.pass(1000).await;
        assert_eq!(world.platform.posted_texts().len(), 1);
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi are you there??
      20s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_mention_edited_out_is_a_line_like_others() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        let line = world.says("alice", "@Aizuchi are you there?").await;
        world.edits(&line, "are you there?").await;
        world.pass(1000).await;
        assert!(world.platform.posted_texts().is_empty());
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: are you there?
    [m000] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn a_bad_judgment_is_mended_once() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.mind.script.push(PromptVerb::Judge, Ok("I think so, yes!"));
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        world.says("alice", "when do I cut the roses?").await;
        world.pass(400).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: when do I cut the roses?
      90s (persona): Here I am.
    [m000] spoke: nobody answers (judge failed, judge kept, reply kept)
    ");
}

#[tokio::test]
async fn a_judge_that_fails_is_not_a_choice() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.mind.script.push(PromptVerb::Judge, Ok("[]"));
        world.mind.script.push(
            PromptVerb::Judge,
            Ok(r#"{"should_respond": true, "reason": "x", "confidence": 7}"#),
        );
        world.says("alice", "when do I cut the roses?").await;
        world.pass(1000).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: when do I cut the roses?
    [m000] failed: something went wrong (judge failed, judge failed)
    ");
}

#[tokio::test]
async fn an_owed_answer_is_tried_again_then_apologized_for() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        for _ in 0..4 {
            let down = LlmError::Busy { why: "down".to_owned(), retry_after: None };
            world.mind.script.push(PromptVerb::Reply, Err(down));
        }
        world.says("alice", "@Aizuchi are you there?").await;
        world.pass(1000).await;
        assert_eq!(world.platform.posted_texts().len(), 1);
        let ledger = world.decisions("garden").await;
        assert_eq!(ledger[0].attempts.len(), 4);
        assert_eq!(ledger[0].ended.map(|ended| ended.name()), Some("failed"));
        world.says("bob", "@Aizuchi better now?").await;
        world.pass(1).await;
        assert_eq!(world.platform.posted_texts().last().map(String::as_str), Some("Here I am."));
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi are you there?
      45s (persona): Sorry, I cannot think of an answer right now. Please try again later.
    1000s bob: @Aizuchi better now?
    1000s (persona): Here I am.
    [m000] failed: I could not think of an answer (reply failed, reply failed, reply failed, reply failed)
    [m001] spoke: bob asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_long_answer_is_said_in_pieces() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.mind.script.push(
            PromptVerb::Reply,
            Ok("The first thing that roses need is good soil, and deep.\n\nThe second is water, in the morning, at the root."),
        );
        world.says("alice", "@Aizuchi what do roses need?").await;
        world.pass(1).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi what do roses need?
       0s (persona): The first thing that roses need is good soil, and deep.
       0s (persona): The second is water, in the morning, at the root.
    [m000] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_busy_platform_is_waited_for() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.platform.fails(&[Fault::Busy]);
        world.says("alice", "@Aizuchi are you there?").await;
        world.pass(60).await;
        assert_eq!(world.mind.prompt_texts(PromptVerb::Reply).len(), 1);
        assert_eq!(world.platform.posted_texts(), ["Here I am."]);
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi are you there?
       2s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_lost_answer_is_found_in_the_history() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.platform.fails(&[Fault::LostAnswer]);
        world.says("alice", "@Aizuchi are you there?").await;
        world.pass(120).await;
        assert_eq!(world.platform.posted_texts(), ["Here I am."]);
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi are you there?
       0s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_lost_request_is_sent_again() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.platform.fails(&[Fault::LostRequest]);
        world.says("alice", "@Aizuchi are you there?").await;
        world.pass(20).await;
        // Until the request is surely dead, nothing is repeated.
        assert_eq!(world.platform.calls.load(Ordering::SeqCst), 1);
        world.pass(120).await;
        assert_eq!(world.platform.posted_texts(), ["Here I am."]);
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi are you there?
      30s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    ");
}

/// It is behind others for longer than it would be tried.
#[tokio::test]
async fn words_that_wait_behind_others_keep_their_turn() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.platform.fails(&[Fault::Queued; 30]);
        world.says("alice", "@Aizuchi are you there?").await;
        world.pass(1000).await;
        assert!(world.store.archive.dead_letters().await.unwrap().is_empty());
        world.transcript().await
    });
    assert_snapshot!(told.await, @r"
       0s alice: @Aizuchi are you there?
      60s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_busy_platform_that_then_loses_the_answer_is_asked_for_it() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.platform.fails(&[Fault::Busy; 6]);
        world.platform.fails(&[Fault::LostAnswer]);
        world.says("alice", "@Aizuchi are you there?").await;
        world.pass(10_000).await;
        assert_eq!(world.platform.posted_texts(), ["Here I am."]);
        assert!(world.store.archive.dead_letters().await.unwrap().is_empty());
        format!("{:?}", world.decisions("garden").await[0].ended)
    });
    assert_snapshot!(told.await, @"Some(Spoke)");
}

#[tokio::test]
async fn a_refused_post_is_kept_as_a_dead_letter() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.platform.fails(&[Fault::Refused]);
        world.says("alice", "@Aizuchi are you there?").await;
        world.pass(1000).await;
        assert_eq!(world.platform.calls.load(Ordering::SeqCst), 1);
        let letters = world.store.archive.dead_letters().await.unwrap();
        assert_eq!(letters.len(), 1);
        assert_eq!(letters[0].text.as_deref(), Some("Here I am."));
        assert_eq!(letters[0].error, "the platform refuses: the channel is closed");
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi are you there?
    [m000] failed: something went wrong (reply kept)
    ");
}

#[tokio::test]
async fn a_new_line_does_not_replace_what_is_being_sent() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        world.platform.fails(&[Fault::LostAnswer]);
        world.says("alice", "when do I cut the roses?").await;
        world.pass(91).await;
        world.says("bob", "in spring").await;
        world.says("carol", "@Aizuchi is that so?").await;
        world.pass(1000).await;
        assert_eq!(world.platform.posted_texts(), ["Here I am.", "Here I am."]);
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: when do I cut the roses?
      90s (persona): Here I am.
      91s bob: in spring
      91s carol: @Aizuchi is that so?
      92s (persona): Here I am.
    [m000] spoke: nobody answers (judge kept, reply kept)
    [m001 m002] spoke: carol asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_restart_keeps_the_wait() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        world.says("alice", "when do I cut the roses?").await;
        world.pass(80).await;
        let world = world.restart().await;
        world.pass(9).await;
        assert!(world.mind.prompt_texts(PromptVerb::Judge).is_empty());
        world.pass(2).await;
        assert_eq!(world.platform.posted_texts(), ["Here I am."]);
        let said: Vec<MessageId> = world.decisions("garden").await.remove(0).posted_messages;
        assert_eq!(said, [MessageId::new("p000")]);
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: when do I cut the roses?
      90s (persona): Here I am.
    [m000] spoke: nobody answers (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn an_answer_outlives_many_deaths_of_the_process() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("alice", "@Aizuchi are you there?").await;
        for _ in 0..20 {
            // A process takes the step and dies; its lease ends.
            let lease = jiff::SignedDuration::from_secs(10);
            world.store.store.claim(world.clock.now(), lease, 1).await.unwrap();
            world.clock.advance_to(world.clock.now() + lease);
        }
        world.pass(400).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi are you there?
     200s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    ");
}
