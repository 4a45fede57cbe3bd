//! Decisions: work in flight while users post, who is owed an answer, and what prevents a post, as transcripts on
//! every store.

use aizuchi_harness::fixtures::{JOIN, JOIN_IN_60, at, new_channel, thread, top_level};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_platform::Fault;
use aizuchi_harness::test_store::on_every_store;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{AuthorKind, Heard, MessageId, Visibility};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{Decision, DecisionResult};
use aizuchi_model::rules::{ChannelRules, Mode};
use insta::assert_snapshot;

use crate::modes::opt_out;

pub const REACT: &str =
    r#"{"should_respond": false, "reason": "good news", "confidence": 0.9, "reaction": "🎉"}"#;

fn facilitator() -> HarnessOptions {
    mode(Mode::Facilitator)
}

pub fn mode(mode: Mode) -> HarnessOptions {
    HarnessOptions::from_rules(ChannelRules { mode, ..ChannelRules::default() })
}

/// Posts three messages, the last of which is a question.
async fn discuss(harness: &Harness) -> MessageId {
    harness.says("bob", "the roses look ill").await;
    harness.says("carol", "they do").await;
    harness.says("alice", "what can we do?").await
}

pub async fn last(harness: &Harness) -> Decision {
    harness.decisions("garden").await.pop().unwrap()
}

// Work in flight in facilitator mode.

#[tokio::test]
async fn a_facilitators_reply_sees_messages_that_came_during_the_judge_call() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(facilitator());
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Judge, || async move {
            there.after_5s_says("bob", "@carol the tulips are out").await;
        });
        discuss(&harness).await;
        harness.pass(100).await;
        assert_eq!(harness.mind.verbs(), "judge reply");
        assert!(harness.mind.prompt_texts(PromptVerb::Reply)[0].contains("the tulips are out"));
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s bob: the roses look ill
       0s carol: they do
       0s alice: what can we do?
      10s bob: @carol the tulips are out
      10s (persona): Here I am.
    [m000 m001 m002 m003] spoke: nobody answers (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn the_judges_delay_is_capped() {
    for mode in [Mode::Companion, Mode::Facilitator] {
        let mut options =
            HarnessOptions::from_rules(ChannelRules { mode, ..ChannelRules::default() });
        options.settings.max_delay_seconds = 40.0;
        on_every_store(async |store| {
            let harness = Harness::new(store).await.with_options(options.clone());
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
            discuss(&harness).await;
            // In facilitator mode, a message does not extend the delay.
            harness.pass(if mode == Mode::Facilitator { 5 } else { 90 }).await;
            assert_eq!(harness.mind.verbs(), "judge", "{mode:?}");
            if mode == Mode::Facilitator {
                harness.says("bob", "no idea").await;
            }
            harness.pass(39).await;
            assert_eq!(harness.mind.verbs(), "judge", "{mode:?}");
            harness.pass(1).await;
            assert_eq!(harness.mind.verbs(), "judge reply", "{mode:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_slow_judge_does_not_delay_the_next_judgment() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(facilitator());
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Judge, || async move {
            for words in ["one", "two", "three"] {
                there.after_5s_says("bob", words).await;
            }
        });
        discuss(&harness).await;
        harness.pass(20).await;
        for words in ["four", "five", "six", "seven"] {
            harness.after_5s_says("bob", words).await;
        }
        // Half a minute after the first unjudged message, however many follow.
        assert_eq!(harness.step_of(&top_level("garden")).await.unwrap().due, at(40));
        harness.transcript().await
    });
    drop(transcript.await);
}

#[tokio::test]
async fn messages_while_a_facilitator_drafts_cause_one_redraft() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(facilitator());
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.mind.script.push(PromptVerb::Reply, Ok("Too early."));
        for words in ["@carol the tulips are out", "@carol so are the lilies"] {
            let there = harness.clone();
            harness.mind.meanwhile(PromptVerb::Reply, move || async move {
                there.after_5s_says("bob", words).await;
            });
        }
        discuss(&harness).await;
        harness.pass(100).await;
        assert_eq!(harness.mind.verbs(), "judge reply reply");
        assert!(harness.mind.prompt_texts(PromptVerb::Reply)[1].contains("the tulips are out"));
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s bob: the roses look ill
       0s carol: they do
       0s alice: what can we do?
      10s bob: @carol the tulips are out
      15s bob: @carol so are the lilies
      15s (persona): Here I am.
    [m000 m001 m002 m003] spoke: nobody answers (judge kept, reply superseded, reply kept)
    [m004] chose_silence by directed: the new messages were for someone else ()
    ");
}

#[tokio::test]
async fn a_draft_is_dropped_once_somebody_has_answered() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(facilitator());
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.after_5s_says("bob", "@alice water them").await;
        });
        discuss(&harness).await;
        harness.pass(100).await;
        assert!(harness.platform.posted_texts().is_empty());
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s bob: the roses look ill
       0s carol: they do
       0s alice: what can we do?
      10s bob: @alice water them
    [m000 m001 m002] dropped: bob responded to it in the meantime (0.93) (judge kept, reply kept)
    [m003] chose_silence by directed: the new messages were for someone else ()
    ");
}

#[tokio::test]
async fn a_draft_is_dropped_with_a_reason_once_the_question_is_answered_in_its_thread() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(facilitator());
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says_in(thread("garden", "m002"), "bob", "water them").await;
        });
        discuss(&harness).await;
        harness.pass(100).await;
        assert!(harness.platform.posted_texts().is_empty());
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s bob: the roses look ill
       0s carol: they do
       0s alice: what can we do?
       5s   bob: water them
    [m000 m001 m002] dropped: bob responded to it in the meantime (1.00) (judge kept, reply kept)
    [m003] chose_silence by too_few: too little had been said yet ()
    ");
}

#[tokio::test]
async fn an_edited_question_is_judged_again() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(facilitator());
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.mind.script.push(PromptVerb::Reply, Ok("Water them."));
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.edits(&MessageId::new("m002"), "never mind, what is for lunch?").await;
        });
        discuss(&harness).await;
        harness.pass(100).await;
        assert!(harness.platform.posted_texts().is_empty());
        assert!(harness.mind.prompt_texts(PromptVerb::Judge)[1].contains("what is for lunch?"));
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s bob: the roses look ill
       0s carol: they do
       0s alice: never mind, what is for lunch?
    [m000 m001] dropped: a message it was based on has changed (judge kept, reply kept)
    [m002] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn a_deleted_question_is_not_answered() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(facilitator());
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.mind.script.push(PromptVerb::Reply, Ok("Water them."));
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.deletes(&MessageId::new("m002")).await;
        });
        discuss(&harness).await;
        harness.pass(100).await;
        assert!(harness.platform.posted_texts().is_empty());
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s bob: the roses look ill
       0s carol: they do
       0s alice: (deleted)
    [m000 m001 m002] dropped: the message was deleted (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn a_mention_supersedes_a_facilitators_work_in_flight() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(facilitator());
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        for (verb, user) in [(PromptVerb::Judge, "dan"), (PromptVerb::Reply, "eve")] {
            let there = harness.clone();
            harness.mind.meanwhile(verb, move || async move {
                there.after_5s_says(user, "@Aizuchi are you there?").await;
            });
        }
        discuss(&harness).await;
        harness.pass(100).await;
        // One answer covers both.
        let owed = harness.platform.posted.lock().unwrap()[0].0.metadata.owed.clone();
        assert_eq!(owed, ["m003", "m004"].map(MessageId::new));
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s bob: the roses look ill
       0s carol: they do
       0s alice: what can we do?
      10s dan: @Aizuchi are you there?
      15s eve: @Aizuchi are you there?
      15s (persona): Here I am.
      15s (persona): Here I am.
    [m003 m004] spoke: dan asked me (judge superseded, reply superseded, reply kept)
    [m000 m001 m002] spoke: nobody answers (judge kept, reply kept)
    ");
}

// Owed answers.

#[tokio::test]
async fn a_mention_is_answered_though_another_one_was_deleted() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        let first = harness.says("alice", "@Aizuchi what about the roses?").await;
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says("bob", "@Aizuchi and the tulips?").await;
            there.deletes(&first).await;
        });
        harness.pass(1000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: (deleted)
       0s bob: @Aizuchi and the tulips?
       0s (persona): Here I am.
    [m000 m001] spoke: bob asked me (reply superseded, reply kept)
    ");
}

// What prevents a post.

#[tokio::test]
async fn direct_messages_are_debounced_for_two_seconds() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        let heard = Heard::Channel(new_channel("direct", Visibility::Direct));
        harness.inbox.hear(heard).await.unwrap();
        for message in ["hello", "are you there?", "I have a question"] {
            harness.says_in(top_level("direct"), "alice", message).await;
            harness.pass(1).await;
            assert_eq!(harness.platform.posted_texts().len(), 0, "{message}");
        }
        harness.pass(1).await;
        assert_eq!(harness.platform.posted_texts().len(), 1);
        assert_eq!(harness.platform.posted.lock().unwrap()[0].1.at, at(4));
        harness.pass(1000).await;
        assert_eq!(harness.mind.verbs(), "reply");
        // A user who keeps typing is still answered.
        let begun = harness.clock.now();
        for _ in 0..15 {
            harness.says_in(top_level("direct"), "alice", "and").await;
            harness.pass(1).await;
        }
        let waited = harness.platform.posted.lock().unwrap()[1].1.at.duration_since(begun);
        assert_eq!(waited.as_secs(), 10);
    })
    .await;
}

#[tokio::test]
async fn a_reaction_is_placed_once_and_does_not_count_as_a_post() {
    for fault in [Fault::None, Fault::Busy, Fault::LostAnswer, Fault::LostRequest] {
        on_every_store(async |store| {
            let harness = Harness::new(store).await.with_options(HarnessOptions::default());
            harness.mind.script.push(PromptVerb::Judge, Ok(REACT));
            harness.platform.fails(&[fault]);
            let message = harness.says("alice", "we have won!").await;
            harness.pass(300).await;
            // The process may crash before it knows whether the reaction was added.
            let harness = harness.restart().await;
            harness.pass(500).await;
            assert_eq!(harness.platform.posted_texts(), ["🎉"], "{fault:?}");
            let row = last(&harness).await;
            assert_eq!(row.ended, Some(DecisionResult::Reacted), "{fault:?}");
            assert_eq!(row.reaction, Some((message.clone(), "🎉".into())), "{fault:?}");
            assert!(row.posted_messages.is_empty() && row.messages == [message], "{fault:?}");
            let shown = harness.messages("garden").await;
            let reacted = &shown[0].reactions;
            assert_eq!((reacted.len(), &*reacted[0].emoji), (1, "🎉"), "{fault:?}");
            assert_eq!(reacted[0].users[0].id.as_str(), "u-persona");
            // A reaction is not a message, so the persona may post next.
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
            harness.says("bob", "who has?").await;
            harness.pass(100).await;
            assert_eq!(harness.platform.posted_texts(), ["🎉", "Here I am."], "{fault:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn only_allowed_and_confident_reactions_are_placed() {
    let react =
        |emoji: &str, confidence: &str| REACT.replace("🎉", emoji).replace("0.9", confidence);
    for (answer, placed) in [
        (react("🎉", "0.9"), true),
        (react("🦖", "0.9"), false),
        (react("🎉", "0.4"), false),
        (
            react("🎉", "0.9").replace("false", "true").replace("}", ", \"delay_seconds\": 0}"),
            false,
        ),
    ] {
        on_every_store(async |store| {
            let harness = Harness::new(store).await.with_options(HarnessOptions::default());
            harness.mind.script.push(PromptVerb::Judge, Ok(&answer));
            harness.says("alice", "we have won!").await;
            harness.pass(400).await;
            assert_eq!(
                harness.platform.posted_texts().contains(&"🎉".to_owned()),
                placed,
                "{answer}"
            );
        })
        .await;
    }
}

#[tokio::test]
async fn bots_neither_start_nor_delay_a_judgment() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
        harness.says("alice", "when do I cut the roses?").await;
        for number in 0..20 {
            harness.says("rainbot", &format!("@Aizuchi {number} mm")).await;
            harness.pass(10).await;
        }
        harness.mind.verbs() + "\n" + &harness.transcript().await
    });
    let transcript = transcript.await;
    let (verbs, transcript) = transcript.split_once('\n').unwrap();
    assert_eq!(verbs, "judge reply");
    assert!(transcript.contains(" 150s (persona): Here I am."), "{transcript}");
}

#[tokio::test]
async fn every_message_has_one_decision_or_a_gate() {
    for options in
        [HarnessOptions::default(), facilitator(), mode(Mode::MentionOnly), mode(Mode::Observe)]
    {
        on_every_store(async |store| {
            let harness = Harness::new(store).await.with_options(options.clone());
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
            harness.mind.script.push(PromptVerb::Judge, Ok(REACT));
            harness.order(opt_out("zoe")).await;
            for round in 0..12 {
                let user = ["alice", "bob", "rainbot", "zoe", "carol"][round % 5];
                let text = if round % 4 == 1 { "@Aizuchi and this?" } else { "and this?" };
                harness.says(user, text).await;
                let there = harness.clone();
                let verb = if round % 2 == 0 { PromptVerb::Judge } else { PromptVerb::Reply };
                harness.mind.meanwhile(verb, || async move {
                    there.after_5s_says("dan", "meanwhile").await;
                });
                harness.pass([3, 100, 700][round % 3]).await;
            }
            harness.pass(10_000).await;
            every_message_is_accounted_for(&harness).await;
        })
        .await;
    }
}

/// Once nothing is pending, each message has one closed decision, or a gate; a command has both.
pub async fn every_message_is_accounted_for(harness: &Harness) {
    let rows = harness.decisions("garden").await;
    for row in &rows {
        assert!(row.ended.is_some(), "{row:#?}");
    }
    for stored in harness.messages("garden").await {
        let id = &stored.message.id;
        let covering = rows.iter().filter(|row| row.messages.contains(id)).count();
        let is_own = stored.message.author.kind == AuthorKind::Persona;
        let is_command = stored.gate == Some(Gate::Command);
        let is_decided = stored.gate.is_none() || (is_command && !is_own);
        let expected = usize::from(is_decided && !stored.is_deleted);
        let is_deleted = stored.is_deleted && covering <= 1;
        assert!(covering == expected || is_deleted, "{stored:#?}\n{rows:#?}");
        assert!(!is_own || is_command || stored.gate == Some(Gate::OwnMessage));
    }
}

#[tokio::test]
async fn text_in_place_of_an_emoji_is_not_stored() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        let answer = r#"{"should_respond": false, "reason": "they get along", "confidence": 0.9,
            "reaction": "the roses look ill"}"#;
        harness.mind.script.push(PromptVerb::Judge, Ok(answer));
        harness.says("bob", "my roses look ill").await;
        harness.pass(400).await;
        let row = harness.decisions("garden").await.remove(0);
        assert_eq!((row.judgment.unwrap().reaction, row.reaction), (None, None));
        harness.transcript().await
    });
    drop(transcript.await);
}
