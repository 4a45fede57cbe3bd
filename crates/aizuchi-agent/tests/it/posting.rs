//! The life of a post: errors, retries, lost answers, several parts, and crashes.

use std::sync::atomic::Ordering;

use aizuchi_harness::fixtures::JOIN;
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_platform::Fault;
use aizuchi_harness::test_store::on_every_store;
use aizuchi_llm::LlmError;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::MessageId;
use aizuchi_model::decision::Usage;
use insta::assert_snapshot;

#[tokio::test]
async fn a_mention_while_the_platform_is_busy_is_answered() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("alice", "when do I cut the roses?").await;
        let there = harness.clone();
        // During the post, Bob mentions the persona; then the platform refuses the post for now.
        harness.platform.meanwhile(|| async move {
            there.says("bob", "@Aizuchi and the tulips?").await;
        });
        harness.platform.fails(&[Fault::Busy]);
        harness.pass(91).await;
        harness.says("carol", "will it rain?").await;
        harness.pass(1000).await;
        assert_eq!(harness.platform.posted_texts().len(), 1);
        assert!(
            harness
                .mind
                .prompt_texts(PromptVerb::Reply)
                .last()
                .unwrap()
                .contains("\n@Aizuchi and the tulips?")
        );
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
      90s bob: @Aizuchi and the tulips?
      90s (persona): Here I am.
      91s carol: will it rain?
    [m001] spoke: bob asked me (judge superseded, reply superseded, reply kept)
    [m000] chose_silence: they get along (judge kept)
    [m002] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn a_half_posted_answer_is_finished() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let long = "The first thing that roses need is good soil, and deep.\n\nThe second is water, in the morning, at the root.";
        harness.mind.script.push(PromptVerb::Reply, Ok(long));
        harness.platform.fails(&[Fault::None, Fault::Busy]);
        harness.says("alice", "@Aizuchi what do roses need?").await;
        harness.pass(1).await;
        harness.says("alice", "I mean the red ones").await;
        harness.says("bob", "@Aizuchi and tulips?").await;
        harness.pass(1000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi what do roses need?
       0s (persona): The first thing that roses need is good soil, and deep.
       1s alice: I mean the red ones
       1s bob: @Aizuchi and tulips?
       2s (persona): The second is water, in the morning, at the root.
       2s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    [m002] spoke: bob asked me (reply kept)
    [m001] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn a_post_of_unknown_fate_ends_as_a_dead_letter() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.platform.fails(&[Fault::LostRequest; 100]);
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(10_000).await;
        let letters = harness.store.archive.dead_letters(&Default::default()).await.unwrap();
        assert_eq!(letters.len(), 1);
        assert_eq!(letters[0].error, "the platform took it at no attempt");
        assert!(harness.platform.calls.load(Ordering::SeqCst) <= 15);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
    [m000] failed: something went wrong (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn an_owed_answer_is_retried_then_apologized_for() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        for _ in 0..4 {
            let down = LlmError::Busy {
                why: "down".to_owned(),
                retry_after: None,
                usage: Usage::default(),
            };
            harness.mind.script.push(PromptVerb::Reply, Err(down));
        }
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(1000).await;
        assert_eq!(harness.platform.posted_texts().len(), 1);
        let ledger = harness.decisions("garden").await;
        assert_eq!(ledger[0].attempts.len(), 4);
        assert_eq!(ledger[0].ended.map(|ended| ended.name()), Some("failed"));
        harness.says("bob", "@Aizuchi better now?").await;
        harness.pass(1).await;
        assert_eq!(harness.platform.posted_texts().last().map(String::as_str), Some("Here I am."));
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi are you there?
      45s (persona): Sorry, I can’t think of an answer right now. Please try again later.
    1000s bob: @Aizuchi better now?
    1000s (persona): Here I am.
    [m000] failed: I couldn’t think of an answer (reply failed, reply failed, reply failed, reply failed)
    [m001] spoke: bob asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_long_answer_is_split_into_posts() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(
            PromptVerb::Reply,
            Ok("The first thing that roses need is good soil, and deep.\n\nThe second is water, in the morning, at the root."),
        );
        harness.says("alice", "@Aizuchi what do roses need?").await;
        harness.pass(1).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi what do roses need?
       0s (persona): The first thing that roses need is good soil, and deep.
       0s (persona): The second is water, in the morning, at the root.
    [m000] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_post_to_a_busy_platform_is_retried() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.fails(&[Fault::Busy]);
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(60).await;
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Reply).len(), 1);
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi are you there?
       2s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_lost_answer_is_found_in_the_history() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.fails(&[Fault::LostAnswer]);
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(120).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi are you there?
       0s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_lost_request_is_retried() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.fails(&[Fault::LostRequest]);
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(20).await;
        // It is not retried before the request is certainly lost.
        assert_eq!(harness.platform.calls.load(Ordering::SeqCst), 1);
        harness.pass(120).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi are you there?
      30s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    ");
}

/// It waits behind others for longer than its attempts would last.
#[tokio::test]
async fn a_post_queued_behind_others_costs_no_attempt() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.fails(&[Fault::Queued; 30]);
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(1000).await;
        assert!(harness.store.archive.dead_letters(&Default::default()).await.unwrap().is_empty());
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @r"
       0s alice: @Aizuchi are you there?
      60s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_lost_answer_after_retries_is_looked_up() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.fails(&[Fault::Busy; 6]);
        harness.platform.fails(&[Fault::LostAnswer]);
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(10_000).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
        assert!(harness.store.archive.dead_letters(&Default::default()).await.unwrap().is_empty());
        format!("{:?}", harness.decisions("garden").await[0].ended)
    });
    assert_snapshot!(transcript.await, @"Some(Spoke)");
}

#[tokio::test]
async fn a_refused_post_is_kept_as_a_dead_letter() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.fails(&[Fault::Refused]);
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(1000).await;
        assert_eq!(harness.platform.calls.load(Ordering::SeqCst), 1);
        let letters = harness.store.archive.dead_letters(&Default::default()).await.unwrap();
        assert_eq!(letters.len(), 1);
        assert_eq!(letters[0].text.as_deref(), Some("Here I am."));
        assert_eq!(letters[0].error, "the platform refuses: the channel is closed");
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi are you there?
    [m000] failed: something went wrong (reply kept)
    ");
}

#[tokio::test]
async fn a_new_message_does_not_replace_a_post_in_flight() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.platform.fails(&[Fault::LostAnswer]);
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(91).await;
        harness.says("bob", "in spring").await;
        harness.says("carol", "@Aizuchi is that so?").await;
        harness.pass(1000).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am.", "Here I am."]);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
      90s (persona): Here I am.
      91s bob: in spring
      91s carol: @Aizuchi is that so?
      92s (persona): Here I am.
    [m000] spoke: nobody answers (judge kept, reply kept)
    [m002] spoke: carol asked me (reply kept)
    [m001] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn a_restart_keeps_the_wait() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(80).await;
        let harness = harness.restart().await;
        harness.pass(9).await;
        assert!(harness.mind.prompt_texts(PromptVerb::Judge).is_empty());
        harness.pass(2).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
        let said: Vec<MessageId> = harness.decisions("garden").await.remove(0).posted_messages;
        assert_eq!(said, [MessageId::new("p000")]);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
      90s (persona): Here I am.
    [m000] spoke: nobody answers (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn an_answer_survives_many_crashes() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi are you there?").await;
        for _ in 0..20 {
            // A process claims the step and crashes; its lease expires.
            let lease = jiff::SignedDuration::from_secs(10);
            harness.store.store.claim(harness.clock.now(), lease, 1).await.unwrap();
            harness.clock.advance_to(harness.clock.now() + lease);
        }
        harness.pass(400).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi are you there?
     200s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    ");
}
