//! Breaking down: what becomes of those who talk while a step fails, as transcripts on every store.

use aizuchi_core::llm::LlmError;
use aizuchi_core::prompt::Verb;
use aizuchi_core::rules::{Mode, Rulebook, Rules};
use insta::assert_snapshot;

use aizuchi_harness::world::{Extras, JOIN, JOIN_IN_60, at, by, top};

#[tokio::test]
async fn what_is_said_while_a_judge_breaks_down_is_judged_later() {
    let rules = Rules { mode: Mode::Facilitator, ..Rules::default() };
    let told = by(Extras::of(rules), |world| async move {
        let there = world.clone();
        world.mind.meanwhile(Verb::Judge, || async move {
            there.after_5s_says("bob", "they need water").await;
            panic!("a defect");
        });
        for line in ["the roses look ill", "they do", "what can we do?"] {
            world.says("alice", line).await;
        }
        world.pass(60).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: the roses look ill
       0s alice: they do
       0s alice: what can we do?
      10s bob: they need water
    [m000 m001 m002] failed: a defect in the program ()
    [m003] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn who_asks_while_an_answer_breaks_down_for_good_is_answered() {
    let told = by(Extras::default(), |world| async move {
        world.says("alice", "@Aizuchi when does it rain?").await;
        let there = world.clone();
        // The one redraft is used up.
        world.mind.meanwhile(Verb::Reply, || async move {
            there.after_5s_says("bob", "@Aizuchi and where?").await;
        });
        for _ in 0..3 {
            world.mind.meanwhile(Verb::Reply, || async { panic!("a defect") });
        }
        let there = world.clone();
        world.mind.meanwhile(Verb::Reply, || async move {
            there.after_5s_says("carol", "@Aizuchi and why?").await;
            panic!("a defect");
        });
        world.pass(60).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi when does it rain?
       5s bob: @Aizuchi and where?
      13s carol: @Aizuchi and why?
      13s (persona): Here I am.
    [m000 m001] failed: a defect in the program (reply superseded)
    [m002] spoke: carol asked me (reply kept)
    ");
}

#[tokio::test]
async fn an_apology_settles_those_too_who_have_had_answers_enough() {
    let book = Rulebook { answers_per_hour: Some(1), ..Rulebook::default() };
    let told = by(Extras::of_book(book), |world| async move {
        world.says("alice", "@Aizuchi when does it rain?").await;
        world.pass(10).await;
        world.says("alice", "@Aizuchi and where?").await;
        world.says("bob", "@Aizuchi may I sit here?").await;
        world.mind.script.then(Verb::Reply, Err(LlmError::Refused("broken".to_owned())));
        world.pass(10).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi when does it rain?
       0s (persona): Here I am.
      10s alice: @Aizuchi and where?
      10s bob: @Aizuchi may I sit here?
      10s (persona): Sorry, I cannot think of an answer right now. Please try again later.
    [m000] spoke: alice asked me (reply kept)
    [m001 m002] failed: I could not think of an answer (reply failed)
    ");
}

/// Nothing is decided or said on talk of which a part may be missing, however long that takes; and the
/// waiting costs no try.
#[tokio::test]
async fn while_a_platform_is_behind_everything_waits() {
    let told = by(Extras::default(), |world| async move {
        world.mind.script.then(Verb::Judge, Ok(JOIN_IN_60));
        world.says("alice", "when do I cut the roses?").await;
        world.says_in(top("kitchen"), "bob", "@Aizuchi what is for tea?").await;
        world.room.is_behind(true);
        world.pass(600).await;
        assert!(world.mind.prompts(Verb::Judge).is_empty() && world.room.texts().is_empty());
        world.room.is_behind(false);
        world.pass(10).await;
        assert_eq!(world.room.texts(), ["Here I am."], "bob is answered");
        world.room.is_behind(true);
        world.pass(600).await;
        // What is heard late counts.
        world.says("carol", "alice, in spring").await;
        world.room.is_behind(false);
        world.pass(1000).await;
        assert_eq!(world.room.texts().len(), 1);
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: when do I cut the roses?
    1210s carol: alice, in spring
    [m000 m002] chose_silence: they get along (judge superseded, judge kept)
    ");
}

/// Whoever mentions it while it types words of its own is answered, though people went on and it has to find
/// other words.
#[tokio::test]
async fn a_mention_while_it_types_is_not_forgotten_over_the_redraft() {
    let rules = Rules { mode: Mode::Facilitator, ..Rules::default() };
    let told = by(Extras::of(rules), |world| async move {
        world.mind.script.then(Verb::Judge, Ok(JOIN));
        for line in ["the roses look ill", "they do", "what can we do?"] {
            world.says("alice", line).await;
        }
        world.room.types_for(5);
        world.clock.advance_to(at(5));
        while world.mind.asked(Verb::Reply).is_empty() {
            world.runner.step().await.unwrap();
        }
        let meanwhile = async {
            world.room.until_typing(1).await;
            world.says("carol", "@Aizuchi are you there?").await;
            world.clock.advance_to(at(10));
        };
        let (posted, ()) = tokio::join!(world.runner.step(), meanwhile);
        assert!(posted.unwrap());
        world.room.types_for(0);
        world.pass(60).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: the roses look ill
       0s alice: they do
       0s alice: what can we do?
       5s carol: @Aizuchi are you there?
      10s (persona): Here I am.
    [m000 m001 m002 m003] spoke: carol asked me (judge superseded, reply superseded, reply kept)
    ");
}
