//! Messages that are edited or deleted while they are judged, drafted about or answered.

use aizuchi_harness::fixtures::{JOIN, SILENCE, thread};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_platform::Fault;
use aizuchi_harness::test_store::on_every_store;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::MessageId;
use insta::assert_snapshot;

#[tokio::test]
async fn a_reply_made_from_a_message_that_is_deleted_meanwhile_is_redrafted() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let secret = harness.says("bob", "the surprise party is on Friday").await;
        harness.says("alice", "@Aizuchi what is on Friday?").await;
        let there = harness.clone();
        harness.mind.script.push(PromptVerb::Reply, Ok("Bob says: the surprise party!"));
        harness.mind.script.push(PromptVerb::Reply, Ok("I cannot say."));
        harness.mind.meanwhile(PromptVerb::Reply, || async move { there.deletes(&secret).await });
        harness.pass(1000).await;
        assert_eq!(harness.platform.posted_texts(), ["I cannot say."]);
        assert!(!harness.mind.prompt_texts(PromptVerb::Reply)[1].contains("party"));
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s bob: (deleted)
       0s alice: @Aizuchi what is on Friday?
       0s (persona): I cannot say.
    [m001] spoke: alice asked me (reply superseded, reply kept)
    [m000] dropped: the message was deleted ()
    ");
}

/// Another message is edited during each draft.
#[tokio::test]
async fn an_answer_is_given_up_after_its_sources_changed_three_times() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let mut messages = Vec::new();
        for number in 1..=5 {
            messages.push(harness.says("bob", &format!("line {number}")).await);
        }
        harness.says("alice", "@Aizuchi what does bob say?").await;
        edit_meanwhile(&harness, messages.into_iter());
        harness.pass(1000).await;
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Reply).len(), 4);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s bob: draft 1
       0s bob: draft 2
       0s bob: draft 3
       0s bob: draft 4
       0s bob: line 5
       0s alice: @Aizuchi what does bob say?
       4s (persona): Sorry, I can’t think of an answer right now. Please try again later.
    [m005] failed: I couldn’t think of an answer (reply superseded, reply superseded, reply superseded, reply superseded)
    [m000 m001 m002 m003 m004] chose_silence by nothing_open: nobody seemed to be waiting for an answer ()
    ");
}

#[tokio::test]
async fn an_answer_leaves_out_a_message_that_is_edited_again_and_again() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let message = harness.says("bob", "draft 0").await;
        harness.says("alice", "@Aizuchi what does bob say?").await;
        edit_meanwhile(&harness, std::iter::repeat_n(message, 9));
        harness.pass(1000).await;
        let prompts = harness.mind.prompt_texts(PromptVerb::Reply);
        let shows: Vec<bool> = prompts.iter().map(|prompt| prompt.contains("draft ")).collect();
        assert_eq!(shows, [true, true, true, false]);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s bob: draft 4
       0s alice: @Aizuchi what does bob say?
       4s (persona): Here I am.
    [m001] spoke: alice asked me (reply superseded, reply superseded, reply superseded, reply kept)
    [m000] chose_silence by nothing_open: nobody seemed to be waiting for an answer ()
    ");
}

/// Edits one of these messages during each call for a reply, a second after it has begun.
fn edit_meanwhile(harness: &Harness, messages: impl Iterator<Item = MessageId>) {
    for (number, message) in (1..).zip(messages) {
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, move || async move {
            // A moment later, since two edits at the same time count as one.
            there.clock.advance_to(there.clock.now() + jiff::SignedDuration::from_secs(1));
            there.edits(&message, &format!("draft {number}")).await;
        });
    }
}

#[tokio::test]
async fn an_unsolicited_draft_is_dropped_if_the_threads_parent_is_edited() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let parent = harness.says("bob", "my code is 1234").await;
        harness.mind.script.push(PromptVerb::Judge, Ok(SILENCE));
        harness.pass(400).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness
            .says_in(thread("garden", parent.as_str()), "alice", "does anyone know which code?")
            .await;
        let there = harness.clone();
        harness.mind.script.push(PromptVerb::Reply, Ok("1234"));
        harness
            .mind
            .meanwhile(PromptVerb::Reply, || async move { there.edits(&parent, "oops").await });
        harness.pass(1000).await;
        assert!(harness.platform.posted_texts().is_empty());
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s bob: oops
     400s   alice: does anyone know which code?
    [m000] chose_silence:  (judge kept)
    [m001] dropped: a message it was based on has changed (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn a_question_behind_a_deleted_mention_is_judged() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("bob", "when do I cut the roses?").await;
        harness.pass(30).await;
        let mention = harness.says("alice", "@Aizuchi hello").await;
        harness.deletes(&mention).await;
        harness.pass(1000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s bob: when do I cut the roses?
      30s alice: (deleted)
      90s (persona): Here I am.
    [m000 m001] spoke: nobody answers (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn a_deleted_message_needs_no_second_judgment() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "my beans are up").await;
        harness.pass(400).await;
        let slip = harness.says("bob", "oops, wrong window").await;
        harness.pass(5).await;
        harness.deletes(&slip).await;
        harness.pass(1000).await;
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Judge).len(), 1);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: my beans are up
     400s bob: (deleted)
    [m000] chose_silence: they get along (judge kept)
    [m001] dropped: the message was deleted ()
    ");
}

/// Its answer failed, so nothing else may silence it later for a reason that concerns other messages.
#[tokio::test]
async fn a_mention_that_is_edited_while_its_answer_is_refused_ends_with_it() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("bob", "my beans are up").await;
        let mention = harness.says("alice", "@Aizuchi are you there?").await;
        let (users, edited) = (harness.clone(), mention.clone());
        harness.platform.meanwhile(move || async move {
            users.edits(&edited, "@Aizuchi are you there today?").await;
        });
        harness.platform.fails(&[Fault::Refused]);
        harness.pass(1000).await;
        assert!(harness.platform.posted_texts().is_empty());
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s bob: my beans are up
       0s alice: @Aizuchi are you there today?
    [m001] failed: something went wrong (reply kept)
    [m000] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn a_deleted_mention_is_not_answered() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let mention = harness.says("alice", "@Aizuchi are you there?").await;
        harness.deletes(&mention).await;
        harness.pass(1000).await;
        assert!(harness.platform.posted_texts().is_empty());
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: (deleted)
    [m000] dropped: the question was withdrawn ()
    ");
}

#[tokio::test]
async fn a_mention_edited_in_is_answered() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let message = harness.says("alice", "are you there?").await;
        harness.pass(20).await;
        harness.edits(&message, "@Aizuchi are you there?").await;
        harness.pass(1000).await;
        harness.edits(&message, "@Aizuchi are you there??").await;
        harness.pass(1000).await;
        assert_eq!(harness.platform.posted_texts().len(), 1);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi are you there??
      20s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_mention_that_is_edited_out_is_judged() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let message = harness.says("alice", "@Aizuchi are you there?").await;
        harness.edits(&message, "are you there?").await;
        harness.pass(1000).await;
        assert!(harness.platform.posted_texts().is_empty());
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: are you there?
    [m000] chose_silence: they get along (judge kept)
    ");
}
