//! Outages: what happens to messages while a step fails or a platform is behind, as transcripts on every store.

use std::sync::{Arc, Mutex};

use aizuchi_harness::fixtures::{JOIN, JOIN_IN_60, at, message, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_platform::{Fault, SETTLE};
use aizuchi_harness::test_store::{on_every_database, on_every_store};
use aizuchi_llm::LlmError;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_llm::scripted::ScriptedMind;
use aizuchi_model::chat::{Arrival, Heard};
use aizuchi_model::decision::{DecisionResult, Usage};
use aizuchi_model::platform::BackfillState;
use aizuchi_model::rules::{ChannelRules, Mode, Rulebook};
use insta::assert_snapshot;
use jiff::SignedDuration;

#[tokio::test]
async fn messages_during_a_failing_judge_call_are_judged_later() {
    let rules = ChannelRules { mode: Mode::Facilitator, ..ChannelRules::default() };
    let transcript = on_every_store(async |store| {
        let harness =
            Harness::new(store).await.with_options(HarnessOptions::from_rules(rules.clone()));
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Judge, || async move {
            there.after_5s_says("bob", "they need water").await;
            panic!("a defect");
        });
        for message in ["the roses look ill", "they do", "what can we do?"] {
            harness.says("alice", message).await;
        }
        harness.pass(60).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: the roses look ill
       0s alice: they do
       0s alice: what can we do?
      10s bob: they need water
    [m000 m001 m002] failed: a defect in the program (judge failed)
    [m003] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn a_mention_while_a_reply_fails_for_good_is_answered() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        harness.says("alice", "@Aizuchi when does it rain?").await;
        let there = harness.clone();
        // This uses up the only redraft.
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.after_5s_says("bob", "@Aizuchi and where?").await;
        });
        for _ in 0..3 {
            harness.mind.meanwhile(PromptVerb::Reply, || async { panic!("a defect") });
        }
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.after_5s_says("carol", "@Aizuchi and why?").await;
            panic!("a defect");
        });
        harness.pass(60).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi when does it rain?
       5s bob: @Aizuchi and where?
      13s carol: @Aizuchi and why?
      13s (persona): Here I am.
    [m000 m001] failed: a defect in the program (reply superseded, reply failed, reply failed, reply failed, reply failed)
    [m002] spoke: carol asked me (reply kept)
    ");
}

#[tokio::test]
async fn an_apology_settles_mentions_over_the_answer_limit() {
    let book = Rulebook { answers_per_hour: Some(1), ..Rulebook::default() };
    let transcript = on_every_store(async |store| {
        let harness =
            Harness::new(store).await.with_options(HarnessOptions::from_rulebook(book.clone()));
        harness.says("alice", "@Aizuchi when does it rain?").await;
        harness.pass(10).await;
        harness.says("alice", "@Aizuchi and where?").await;
        harness.says("bob", "@Aizuchi may I sit here?").await;
        harness.mind.script.push(PromptVerb::Reply, Err(LlmError::Refused("broken".to_owned())));
        harness.pass(10).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi when does it rain?
       0s (persona): Here I am.
      10s alice: @Aizuchi and where?
      10s bob: @Aizuchi may I sit here?
      10s (persona): Sorry, I can’t think of an answer right now. Please try again later.
    [m000] spoke: alice asked me (reply kept)
    [m001 m002] failed: I couldn’t think of an answer (reply failed)
    ");
}

/// A provider may ask for a wait of hours after one call. Users who wait for an answer get an apology at once, and the
/// next mention asks the provider again.
#[tokio::test]
async fn a_longer_retry_after_than_a_user_waits_is_apologized_for() {
    let busy = |seconds| {
        let why = "it asks to be called less often (429)".to_owned();
        let retry_after = Some(SignedDuration::from_secs(seconds));
        Err(LlmError::Busy { why, retry_after, usage: Usage::default() })
    };
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        harness.mind.script.push(PromptVerb::Reply, busy(3600));
        harness.says("alice", "@Aizuchi when does it rain?").await;
        harness.pass(10).await;
        harness.says("bob", "@Aizuchi and where?").await;
        harness.pass(10).await;
        // This one is worth the wait.
        harness.mind.script.push(PromptVerb::Reply, busy(50));
        harness.says("carol", "@Aizuchi and why?").await;
        harness.pass(60).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi when does it rain?
       0s (persona): Sorry, I can’t think of an answer right now. Please try again later.
      10s bob: @Aizuchi and where?
      10s (persona): Here I am.
      20s carol: @Aizuchi and why?
      70s (persona): Here I am.
    [m000] failed: I couldn’t think of an answer (reply failed)
    [m001] spoke: bob asked me (reply kept)
    [m002] spoke: carol asked me (reply failed, reply kept)
    ");
}

#[tokio::test]
async fn the_fallback_answers_while_the_model_asks_for_a_long_wait() {
    let transcript = on_every_store(async |store| {
        let fallback = Arc::new(ScriptedMind::default());
        fallback.set_default(PromptVerb::Reply, "From the fallback.");
        let options = HarnessOptions { fallback: Some(fallback), ..HarnessOptions::default() };
        let harness = Harness::new(store).await.with_options(options);
        let (why, retry_after) = ("429".to_owned(), Some(SignedDuration::from_hours(1)));
        let busy = LlmError::Busy { why, retry_after, usage: Usage::default() };
        harness.mind.script.push(PromptVerb::Reply, Err(busy));
        for asker in ["alice", "bob", "carol"] {
            harness.says(asker, "@Aizuchi when does it rain?").await;
            harness.pass(45).await;
        }
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi when does it rain?
       0s (persona): From the fallback.
      45s bob: @Aizuchi when does it rain?
      45s (persona): From the fallback.
      90s carol: @Aizuchi when does it rain?
      90s (persona): Here I am.
    [m000] spoke: alice asked me (reply failed, reply kept)
    [m001] spoke: bob asked me (reply kept)
    [m002] spoke: carol asked me (reply kept)
    ");
}

/// A model that has lost itself says nothing: its answer is a failure like any other.
#[tokio::test]
async fn an_answer_of_markup_or_of_repetition_is_no_answer() {
    let markup = "<|im_end|><think>".repeat(30);
    let repetition = format!("Let me see. {}", "I see, ".repeat(60));
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        let script = &harness.mind.script;
        script.push(PromptVerb::Reply, Ok(&markup));
        harness.says("alice", "@Aizuchi when does it rain?").await;
        harness.pass(10).await;
        for answer in [&repetition, &markup, &repetition, &markup] {
            script.push(PromptVerb::Reply, Ok(answer));
        }
        harness.says("alice", "@Aizuchi and where?").await;
        harness.pass(100).await;
        for answer in [&markup, &repetition, &markup] {
            script.push(PromptVerb::Judge, Ok(answer));
        }
        harness.says("bob", "the roses look ill").await;
        harness.pass(1000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi when does it rain?
       1s (persona): Here I am.
      10s alice: @Aizuchi and where?
      51s (persona): Sorry, I can’t think of an answer right now. Please try again later.
     110s bob: the roses look ill
    [m000] spoke: alice asked me (reply failed, reply kept)
    [m001] failed: I couldn’t think of an answer (reply failed, reply failed, reply failed, reply failed)
    [m002] failed: something went wrong (judge failed, judge failed, judge failed)
    ");
}

/// Nothing is decided or posted while a platform is disconnected, however long that takes, and waiting uses up no
/// attempt (invariant 13).
#[tokio::test]
async fn all_steps_wait_while_a_platform_is_disconnected() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
        harness.says("alice", "when do I cut the roses?").await;
        harness.says_in(top_level("kitchen"), "bob", "@Aizuchi what is for tea?").await;
        harness.platform.set_backfill_state(BackfillState::Disconnected);
        harness.pass(600).await;
        assert!(
            harness.mind.prompts(PromptVerb::Judge).is_empty()
                && harness.platform.posted_texts().is_empty()
        );
        harness.platform.set_backfill_state(BackfillState::Complete);
        harness.pass(10).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."], "bob is answered");
        harness.platform.set_backfill_state(BackfillState::Disconnected);
        harness.pass(600).await;
        // A message that is heard late counts.
        harness.says("carol", "@alice, in spring").await;
        harness.platform.set_backfill_state(BackfillState::Complete);
        harness.pass(1000).await;
        assert_eq!(harness.platform.posted_texts().len(), 1);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
    1210s carol: @alice, in spring
    [m000] dropped: carol responded to it in the meantime (0.96) (judge kept)
    [m002] chose_silence by directed: the new messages were for someone else ()
    ");
}

/// What was written in a gap is read from the history. It counts like what is heard live.
#[tokio::test]
async fn an_answer_in_a_gap_is_not_spoken_over() {
    for is_drafted in [false, true] {
        let ended = on_every_store(async |store| {
            let harness = Harness::new(store).await.with_options(HarnessOptions::default());
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
            harness.says("alice", "when do I cut the roses?").await;
            let platform = harness.platform.clone();
            if is_drafted {
                harness.mind.meanwhile(PromptVerb::Reply, move || async move {
                    platform.set_backfill_state(BackfillState::Disconnected);
                });
                harness.pass(200).await;
            } else {
                harness.pass(100).await;
                platform.set_backfill_state(BackfillState::Disconnected);
            }
            harness.pass(600).await;
            for (id, name, text) in
                [("h1", "carol", "@alice, in spring"), ("h2", "alice", "@carol thanks!")]
            {
                let missed = message(top_level("garden"), id, harness.clock.now(), name, text);
                harness.inbox.hear(Heard::Message(missed, Arrival::Backfilled)).await.unwrap();
            }
            harness.platform.set_backfill_state(BackfillState::Complete);
            harness.pass(1000).await;
            assert!(harness.platform.posted_texts().is_empty(), "{is_drafted}");
            harness.decisions("garden").await.remove(0).ended
        });
        assert_eq!(ended.await, Some(DecisionResult::Dropped), "{is_drafted}");
    }
}

/// The history of the channel cannot be read. A user who asked waits for a while and is then answered from what is
/// known, and nothing else is decided. After another gap, the same wait begins again.
#[tokio::test]
async fn an_owed_answer_waits_for_a_backfill_only_so_long() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("alice", "when do I cut the roses?").await;
        harness.says_in(top_level("kitchen"), "bob", "@Aizuchi what is for tea?").await;
        harness.platform.set_backfill_state(BackfillState::Pending { gap_ended: at(0) });
        harness.pass(14).await;
        assert_eq!(harness.platform.posted_texts().len(), 0);
        harness.pass(2).await;
        assert_eq!(harness.platform.posts_in(&top_level("kitchen")), 1);
        // A second mention does not wait again.
        harness.says_in(top_level("kitchen"), "bob", "@Aizuchi and for supper?").await;
        harness.pass(1).await;
        assert_eq!(harness.platform.posts_in(&top_level("kitchen")), 2);
        harness.platform.set_backfill_state(BackfillState::Disconnected);
        harness.says_in(top_level("kitchen"), "bob", "@Aizuchi are you there?").await;
        harness.pass(600).await;
        let gap_ended = harness.clock.now();
        harness.platform.set_backfill_state(BackfillState::Pending { gap_ended });
        harness.pass(10).await;
        assert_eq!(harness.platform.posts_in(&top_level("kitchen")), 2);
        harness.pass(20).await;
        assert_eq!(harness.platform.posts_in(&top_level("kitchen")), 3);
        assert!(harness.mind.prompts(PromptVerb::Judge).is_empty());
        harness.platform.set_backfill_state(BackfillState::Complete);
        harness.pass(1000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
     650s (persona): Here I am.
    [m000] spoke: nobody answers (judge kept, reply kept)
    ");
}

/// A mention during the typing of an unsolicited post is answered, though other messages require a redraft.
#[tokio::test]
async fn a_mention_during_typing_is_answered_by_the_redraft() {
    let rules = ChannelRules { mode: Mode::Facilitator, ..ChannelRules::default() };
    let transcript = on_every_store(async |store| {
        let harness =
            Harness::new(store).await.with_options(HarnessOptions::from_rules(rules.clone()));
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        for message in ["the roses look ill", "they do", "what can we do?"] {
            harness.says("alice", message).await;
        }
        harness.platform.set_typing_seconds(5);
        harness.clock.advance_to(at(5));
        while harness.mind.prompt_texts(PromptVerb::Reply).is_empty() {
            harness.runner.step().await.unwrap();
        }
        let meanwhile = async {
            harness.platform.until_typing(1).await;
            harness.says("carol", "@Aizuchi are you there?").await;
            harness.clock.advance_to(at(10));
        };
        let (posted, ()) = tokio::join!(harness.runner.step(), meanwhile);
        assert!(posted.unwrap());
        harness.platform.set_typing_seconds(0);
        harness.pass(60).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: the roses look ill
       0s alice: they do
       0s alice: what can we do?
       5s carol: @Aizuchi are you there?
      10s (persona): Here I am.
    [m003] spoke: carol asked me (judge superseded, reply superseded, reply kept)
    [m000 m001 m002] chose_silence: they get along (judge kept)
    ");
}

/// The step knows that its outcome is not committed, so there is no need to wait for the lease to expire.
#[tokio::test]
async fn an_answer_is_committed_as_soon_as_the_store_is_back() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let database = harness.store.database.clone().unwrap();
        harness.says("alice", "@Aizuchi when does it rain?").await;
        let there = database.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move { there.refuse_attempts().await });
        let began = harness.clock.now();
        let runner = harness.runner.clone();
        let replying = tokio::spawn(async move { runner.step().await });
        let mut mended = None;
        while !replying.is_finished() {
            tokio::task::yield_now().await;
            let Some(next) = harness.clock.next_wake_at() else { continue };
            let now = harness.clock.now();
            if next.duration_since(now) > SignedDuration::from_secs(5) {
                continue; // The model has not answered yet.
            }
            if mended.is_none() && now.duration_since(began) > SignedDuration::from_secs(100) {
                database.accept_attempts().await;
                mended = Some(now);
            }
            harness.clock.advance_to(next);
        }
        assert!(replying.await.unwrap().unwrap());
        let waited = harness.clock.now().duration_since(mended.unwrap());
        assert!(waited <= SignedDuration::from_secs(5), "{waited:#}");
        harness.pass(1).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
        assert_eq!(harness.decisions("garden").await[0].attempts.len(), 1);
    })
    .await;
}

/// The typing before a request does not count towards the time in which its post may still arrive.
#[tokio::test]
async fn a_request_after_long_typing_has_its_time_to_arrive() {
    let waited = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        harness.platform.set_typing_seconds(20);
        harness.platform.fails(&[Fault::LostRequest]);
        let requested = Arc::new(Mutex::new(Vec::new()));
        for _ in 0..2 {
            let (clock, requested) = (harness.clock.clone(), requested.clone());
            harness.platform.meanwhile(|| async move {
                requested.lock().unwrap().push(clock.now());
            });
        }
        harness.says("alice", "@Aizuchi when does it rain?").await;
        while harness.mind.prompt_texts(PromptVerb::Reply).is_empty() {
            harness.runner.step().await.unwrap();
        }
        let typing = async {
            harness.platform.until_typing(1).await;
            harness.platform.set_typing_seconds(0);
            harness.clock.advance_to(at(20));
        };
        let (requested_once, ()) = tokio::join!(harness.runner.step(), typing);
        assert!(requested_once.unwrap());
        harness.pass(300).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
        let requested = requested.lock().unwrap();
        requested[1].duration_since(requested[0])
    });
    let waited = waited.await;
    assert!(waited >= SETTLE, "asked again after {waited:#}");
}

/// Live messages are new, whatever the machine's clock says.
#[tokio::test]
async fn a_clock_that_is_a_day_ahead_leaves_nobody_unanswered() {
    let ended = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        harness.clock.set_by(SignedDuration::from_hours(24));
        let say = async |id: &str, second: i64, name: &str, text: &str| {
            harness.hear(message(top_level("garden"), id, at(second), name, text)).await;
            harness.pass(20).await;
        };
        say("m1", 0, "alice", "@Aizuchi when does it rain?").await;
        say("m2", 30, "bob", "@Aizuchi opt out").await;
        let orders = harness.store.store.orders(&workspace()).await.unwrap();
        assert_eq!(orders.opted_out.len(), 1);
        harness.decisions("garden").await.remove(0).ended
    });
    assert_eq!(ended.await, Some(DecisionResult::Spoke));
}

/// With an age of 0, nothing that was missed is answered, and what is heard live still is.
#[tokio::test]
async fn a_live_message_was_not_missed() {
    let mut options = HarnessOptions::default();
    options.wait_settings.max_message_age_seconds = 0.0;
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(options.clone());
        harness.pass(100).await;
        let written = |id: &str, second: i64, name: &str, text: &str| {
            message(top_level("garden"), id, at(second), name, text)
        };
        let missed = written("h1", 90, "carol", "@Aizuchi are you there?");
        harness.inbox.hear(Heard::Message(missed, Arrival::Backfilled)).await.unwrap();
        harness.pass(5).await;
        assert!(harness.platform.posted_texts().is_empty());
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(5).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
        // It arrives after a newer message.
        harness.hear(written("h2", 104, "bob", "@Aizuchi stop")).await;
        let orders = harness.store.store.orders(&workspace()).await.unwrap();
        assert_eq!(orders.mutes.len(), 1);
    })
    .await;
}
