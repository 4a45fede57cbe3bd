//! Decisions: work in flight while users post, who is owed an answer, and what prevents a post, as transcripts on
//! every store.

use std::sync::Arc;

use aizuchi_core::chat::{AuthorKind, ConversationId, Heard, MessageId, Role, UserId, Visibility};
use aizuchi_core::decision::gate::Gate;
use aizuchi_core::decision::{Decision, DecisionResult};
use aizuchi_core::llm::Llm;
use aizuchi_core::llm::builtin::BuiltinMind;
use aizuchi_core::prompt::PromptVerb;
use aizuchi_core::rules::{BudgetLimits, ChannelRules, Mode, QuietHours, Rulebook};
use aizuchi_core::store::order::Order;
use insta::assert_snapshot;
use jiff::Timestamp;
use jiff::civil::time;
use jiff::tz::TimeZone;

use aizuchi_harness::fixtures::{JOIN, JOIN_IN_60, at, new_channel, thread, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_platform::Fault;
use aizuchi_harness::test_store::{on_every_database, on_every_store};

const REACT: &str =
    r#"{"should_respond": false, "reason": "good news", "confidence": 0.9, "reaction": "🎉"}"#;

fn facilitator() -> HarnessOptions {
    mode(Mode::Facilitator)
}

fn mode(mode: Mode) -> HarnessOptions {
    HarnessOptions::from_rules(ChannelRules { mode, ..ChannelRules::default() })
}

/// Three messages, the last of which is a question.
async fn discuss(harness: &Harness) -> MessageId {
    harness.says("bob", "the roses look ill").await;
    harness.says("carol", "they do").await;
    harness.says("alice", "what can we do?").await
}

async fn last(harness: &Harness) -> Decision {
    harness.decisions("garden").await.pop().unwrap()
}

fn mute(channel: &ConversationId) -> Order {
    let channel = Some(channel.channel.clone());
    Order::Mute { workspace: workspace(), channel, until: Timestamp::MAX, by: Role::Admin }
}

fn unmute(channel: &ConversationId) -> Order {
    Order::Unmute {
        workspace: workspace(),
        channel: Some(channel.channel.clone()),
        by: Role::Admin,
    }
}

fn opt_out(user: &str) -> Order {
    Order::OptOut { workspace: workspace(), user: UserId::new(format!("u-{user}")) }
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
        // Half a minute after the first message that was not judged, however many follow.
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
    [m000 m001 m002 m003 m004] spoke: dan asked me (judge superseded, reply superseded, reply kept)
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
async fn a_mention_during_a_mute_is_never_answered() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        harness.order(mute(&top_level("garden"))).await;
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(10).await;
        harness.says_in(top_level("kitchen"), "bob", "@Aizuchi and here?").await;
        harness.pass(10).await;
        assert_eq!(harness.platform.posts_in(&top_level("kitchen")), 1);
        harness.order(unmute(&top_level("garden"))).await;
        harness.pass(10_000).await;
        assert_eq!(harness.platform.posts_in(&top_level("garden")), 0);
        harness.says("alice", "@Aizuchi are you there again?").await;
        harness.pass(10).await;
        assert_eq!(harness.mind.verbs(), "reply reply");
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi are you there?
    10020s alice: @Aizuchi are you there again?
    10020s (persona): Here I am.
    [m000] muted by muted: I was muted ()
    [m002] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn mutes_hold_with_and_without_an_end() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        for (until, spoken) in [(at(500), 1), (Timestamp::MAX, 1)] {
            let channel = None;
            harness
                .order(Order::Mute { workspace: workspace(), channel, until, by: Role::Admin })
                .await;
            let said = harness.platform.posted_texts().len();
            harness.says("alice", "@Aizuchi are you there?").await;
            harness.pass(1000).await;
            assert_eq!(harness.platform.posted_texts().len(), said, "{until}");
            harness.says("alice", "@Aizuchi and now?").await;
            harness.pass(1).await;
            assert_eq!(harness.platform.posted_texts().len(), spoken, "{until}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_mute_drops_drafts_that_wait() {
    for text in ["when do I cut the roses?", "@Aizuchi when do I cut the roses?"] {
        on_every_store(async |store| {
            let harness = Harness::new(store).await.with_options(HarnessOptions::default());
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
            harness.platform.fails(&[Fault::Busy]);
            harness.says("alice", text).await;
            harness.pass(90).await;
            harness.pass(0).await;
            let is_drafted = harness.mind.prompt_texts(PromptVerb::Reply).len() == 1;
            assert!(
                is_drafted && harness.platform.posted_texts().is_empty() || text.starts_with('@')
            );
            let harness =
                if text.starts_with('@') { muted_mention(&harness).await } else { harness };
            harness.order(mute(&top_level("garden"))).await;
            harness.pass(1000).await;
            assert!(
                harness.platform.posted_texts().iter().all(|said| said != "Never this."),
                "{text}"
            );
            let row = last(&harness).await;
            assert_eq!(
                (row.ended, row.gate),
                (Some(DecisionResult::Muted), Some(Gate::Muted)),
                "{text}"
            );
            harness.order(unmute(&top_level("garden"))).await;
            let said = harness.platform.posted_texts().len();
            harness.pass(10_000).await;
            assert_eq!(harness.platform.posted_texts().len(), said, "{text}");
        })
        .await;
    }
}

/// A user mentions the persona, and the platform is busy when it answers.
async fn muted_mention(harness: &Harness) -> Harness {
    harness.mind.script.push(PromptVerb::Reply, Ok("Never this."));
    harness.platform.fails(&[Fault::Busy]);
    harness.says("bob", "@Aizuchi and the tulips?").await;
    harness.pass(0).await;
    harness.clone()
}

#[tokio::test]
async fn observe_mode_decides_for_the_ledger_only() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(mode(Mode::Observe));
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(400).await;
        let shadow = last(&harness).await.judgment.unwrap();
        assert!(shadow.should_respond);
        harness.mind.script.push(PromptVerb::Judge, Ok(REACT));
        harness.says("bob", "who has won?").await;
        harness.pass(400).await;
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(1000).await;
        assert_eq!(harness.mind.verbs(), "judge judge");
        assert_eq!(harness.platform.calls.load(std::sync::atomic::Ordering::SeqCst), 0);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
     400s bob: who has won?
     800s alice: @Aizuchi are you there?
    [m000] muted: I would have spoken, but I only listen here (judge kept)
    [m001] chose_silence: good news (judge kept)
    [m002] muted by channel_mode: I don’t speak up on my own in this channel ()
    ");
}

#[tokio::test]
async fn mention_only_mode_answers_mentions_only() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(mode(Mode::MentionOnly));
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(100).await;
        harness.says("alice", "@Aizuchi when do I cut the roses?").await;
        harness.pass(100).await;
        assert_eq!(harness.mind.verbs(), "reply");
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
     100s alice: @Aizuchi when do I cut the roses?
     100s (persona): Here I am.
    [m000] chose_silence by channel_mode: I don’t speak up on my own in this channel ()
    [m001] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn off_mode_does_not_store_texts() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(mode(Mode::Off));
        let message = harness.says("alice", "the xyzzy is in the shed").await;
        harness.says("bob", "@Aizuchi what is xyzzy?").await;
        harness.pass(10).await;
        harness.edits(&message, "the xyzzy is in the barn").await;
        harness.edits(&message, "@Aizuchi the xyzzy is in the barn").await;
        harness.pass(10_000).await;
        assert_eq!(harness.mind.verbs(), "");
        let messages = harness.messages("garden").await;
        assert!(messages.iter().all(|stored| stored.gate == Some(Gate::ChannelMode)));
        harness.transcript().await.replace(": \n", ":\n")
    });
    assert_snapshot!(transcript.await, @"
    0s alice:
    0s bob:
    ");
}

#[tokio::test]
async fn an_ordered_mode_overrides_the_settings_until_it_is_reset() {
    let order =
        |mode| Order::Mode { workspace: workspace(), channel: top_level("garden").channel, mode };
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(mode(Mode::MentionOnly));
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        for (ordered, spoke) in [
            (None, 0),
            (Some(Mode::Companion), 1),
            (Some(Mode::Observe), 1),
            (Some(Mode::Companion), 2),
            (None, 2),
        ] {
            harness.order(order(ordered)).await;
            harness.says("alice", "when do I cut the roses?").await;
            harness.says("bob", "and the tulips?").await;
            harness.pass(100).await;
            assert_eq!(harness.platform.posted_texts().len(), spoke, "{ordered:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_ordered_mode_applies_to_a_waiting_reply() {
    let order =
        |mode| Order::Mode { workspace: workspace(), channel: top_level("garden").channel, mode };
    for mode in [Mode::MentionOnly, Mode::Observe, Mode::Off] {
        on_every_store(async |store| {
            let harness = Harness::new(store).await.with_options(HarnessOptions::default());
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
            harness.says("alice", "when do I cut the roses?").await;
            harness.pass(90).await;
            harness.order(order(Some(mode))).await;
            harness.pass(1000).await;
            assert_eq!(harness.mind.verbs(), "judge", "{mode:?}");
            assert_eq!(last(&harness).await.gate, Some(Gate::ChannelMode), "{mode:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn of_a_user_who_opted_out_only_the_id_is_stored() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        harness.order(opt_out("zoe")).await;
        let message = harness.says("zoe", "the xyzzy is in the shed").await;
        harness.says("zoe", "@Aizuchi do you remember the xyzzy?").await;
        harness.pass(10).await;
        // Their edits are ignored, too.
        harness.edits(&message, "the xyzzy is in the barn").await;
        harness.pass(10).await;
        harness.edits(&message, "@Aizuchi the xyzzy is in the barn").await;
        harness.pass(100).await;
        assert_eq!(harness.mind.verbs(), "");
        harness.says("alice", "@Aizuchi what was said?").await;
        harness.says("bob", "well").await;
        harness.pass(10_000).await;
        for prompt in [PromptVerb::Judge, PromptVerb::Reply]
            .map(|verb| harness.mind.prompt_texts(verb))
            .concat()
        {
            assert!(!prompt.contains("xyzzy") && !prompt.contains("zoe"), "{prompt}");
        }
        let messages = harness.messages("garden").await;
        assert_eq!(messages[0].gate, Some(Gate::OptedOut));
        harness.transcript().await.replace(": \n", ":\n")
    });
    assert_snapshot!(transcript.await, @"
       0s zoe:
       0s zoe:
     120s alice: @Aizuchi what was said?
     120s bob: well
     120s (persona): Here I am.
    [m002 m003] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn withheld_texts_are_not_remembered() {
    for (options, user, is_channel_remembered) in
        [(mode(Mode::Off), "bob", false), (HarnessOptions::default(), "zoe", true)]
    {
        on_every_database(async |store| {
            let memory: Option<Arc<dyn Llm>> = Some(Arc::new(BuiltinMind));
            let options = HarnessOptions { memory, ..options.clone() };
            let harness = Harness::new(store).await.with_options(options);
            harness.order(opt_out("zoe")).await;
            let message = harness.says(user, "the xyzzy is in the shed").await;
            harness.says(user, "@Aizuchi do you remember the xyzzy?").await;
            harness.edits(&message, "the xyzzy is in the barn").await;
            assert_eq!(harness.store.store.next_memory_job().await.unwrap(), None, "{user}");
            harness.says("alice", "the beans are up").await;
            harness.pass(10_000).await;
            let memories = harness.store.store.memories(&workspace()).await.unwrap();
            let memories = format!("{memories:?}");
            assert!(!memories.contains("xyzzy") && !memories.contains(user), "{memories}");
            assert_eq!(memories.contains("beans"), is_channel_remembered, "{memories}");
        })
        .await;
    }
}

#[tokio::test]
async fn quiet_hours_span_midnight_and_mentions_are_answered_in_them() {
    // The stories start at five in the afternoon in Tokyo.
    let quiet_hours = Some(QuietHours { from: time(22, 0, 0, 0), to: time(7, 0, 0, 0) });
    let mut options =
        HarnessOptions::from_rules(ChannelRules { quiet_hours, ..ChannelRules::default() });
    options.settings.zone = TimeZone::get("Asia/Tokyo").unwrap();
    const TEN: i64 = 5 * 3600;
    const SEVEN: i64 = 14 * 3600;
    for (judged, spoke) in [
        (TEN - 1, true),
        (TEN, false),
        (TEN + 2 * 3600, false),
        (TEN + 5 * 3600, false),
        (SEVEN - 1, false),
        (SEVEN, true),
        (TEN + 24 * 3600, false),
    ] {
        on_every_store(async |store| {
            let harness = Harness::new(store).await.with_options(options.clone());
            harness.mind.script.set_default(PromptVerb::Judge, JOIN);
            harness.clock.advance_to(at(judged - 90));
            harness.says("alice", "when do I cut the roses?").await;
            harness.pass(90).await;
            assert_eq!(harness.platform.posted_texts().len(), usize::from(spoke), "{judged}");
            let gate = last(&harness).await.gate;
            assert_eq!(gate, (!spoke).then_some(Gate::QuietHours), "{judged}");
            harness.says("bob", "@Aizuchi when do I cut the roses?").await;
            harness.pass(0).await;
            assert_eq!(harness.platform.posted_texts().len(), usize::from(spoke) + 1, "{judged}");
        })
        .await;
    }
    // A reply that would fall into the quiet hours is dropped.
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(options.clone());
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
        harness.clock.advance_to(at(TEN - 120));
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(1000).await;
        assert_eq!(
            (harness.mind.verbs(), last(&harness).await.gate),
            ("judge".to_owned(), Some(Gate::QuietHours))
        );
    })
    .await;
}

#[tokio::test]
async fn a_soft_budget_leaves_mentions_alone() {
    // The first call uses up the soft share of the budget.
    let workspace_limits =
        BudgetLimits { tokens_per_day: Some(10_000_000), ..BudgetLimits::default() };
    let book = Rulebook { workspace_limits, soft_share: 0.00001, ..Rulebook::default() };
    let transcript = on_every_store(async |store| {
        let harness =
            Harness::new(store).await.with_options(HarnessOptions::from_rulebook(book.clone()));
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(100).await;
        harness.says("bob", "does anyone cut tulips?").await;
        harness.pass(100).await;
        harness.says("carol", "@Aizuchi and the daisies?").await;
        harness.pass(100).await;
        assert_eq!(harness.mind.verbs(), "judge reply");
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
     100s bob: does anyone cut tulips?
     200s carol: @Aizuchi and the daisies?
     200s (persona): Here I am.
    [m000] over_budget by budget: my budget was used up (tokens_per_day) (judge kept)
    [m001] over_budget by budget: my budget was used up (tokens_per_day) ()
    [m002] spoke: carol asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_hard_budget_says_one_sentence_per_conversation_and_hour() {
    let workspace_limits = BudgetLimits { tokens_per_day: Some(1), ..BudgetLimits::default() };
    let book = Rulebook { workspace_limits, ..Rulebook::default() };
    let transcript = on_every_store(async |store| {
        let harness =
            Harness::new(store).await.with_options(HarnessOptions::from_rulebook(book.clone()));
        let ask = async |conversation: ConversationId, text: &str| {
            harness.says_in(conversation, "alice", text).await;
            harness.pass(10).await;
        };
        ask(top_level("garden"), "@Aizuchi one?").await;
        ask(top_level("garden"), "@Aizuchi two?").await;
        ask(top_level("garden"), "@Aizuchi three?").await;
        ask(thread("garden", "m000"), "@Aizuchi in here?").await;
        ask(thread("garden", "m000"), "@Aizuchi still?").await;
        harness.pass(3600).await;
        ask(top_level("garden"), "@Aizuchi an hour later?").await;
        assert_eq!(harness.mind.verbs(), "reply");
        harness.pass(25 * 3600).await;
        ask(top_level("garden"), "@Aizuchi a day later?").await;
        assert_eq!(harness.mind.verbs(), "reply reply");
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi one?
       0s (persona): Here I am.
      10s alice: @Aizuchi two?
      10s (persona): I’ve used up my budget for now. Please ask me again later.
      20s alice: @Aizuchi three?
      30s   alice: @Aizuchi in here?
      30s   (persona): I’ve used up my budget for now. Please ask me again later.
      40s   alice: @Aizuchi still?
    3650s alice: @Aizuchi an hour later?
    3650s (persona): I’ve used up my budget for now. Please ask me again later.
    93660s alice: @Aizuchi a day later?
    93660s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    [m001] over_budget by budget: my budget was used up (tokens_per_day) ()
    [m002] over_budget by budget: my budget was used up (tokens_per_day) ()
    [m003] over_budget by budget: my budget was used up (tokens_per_day) ()
    [m004] over_budget by budget: my budget was used up (tokens_per_day) ()
    [m005] over_budget by budget: my budget was used up (tokens_per_day) ()
    [m006] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn the_answer_limit_is_per_user() {
    let book = Rulebook { answers_per_hour: Some(2), ..Rulebook::default() };
    on_every_store(async |store| {
        let harness =
            Harness::new(store).await.with_options(HarnessOptions::from_rulebook(book.clone()));
        for (user, verbs) in [
            ("alice", 1),
            ("alice", 2),
            ("alice", 2),
            ("alice", 2),
            ("bob", 3),
            ("bob", 4),
            ("bob", 4),
        ] {
            harness.says(user, "@Aizuchi and this?").await;
            harness.pass(1).await;
            assert_eq!(harness.mind.prompt_texts(PromptVerb::Reply).len(), verbs, "{user}");
        }
        assert_eq!(last(&harness).await.ended, Some(DecisionResult::OverBudget));
        harness.pass(3600).await;
        harness.says("alice", "@Aizuchi and this?").await;
        harness.pass(1).await;
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Reply).len(), 5);
    })
    .await;
}

#[tokio::test]
async fn unsolicited_posts_per_hour_are_limited_and_mentions_are_not() {
    let budget_limits = BudgetLimits { posts_per_hour: Some(2), ..BudgetLimits::default() };
    let options =
        HarnessOptions::from_rules(ChannelRules { budget_limits, ..ChannelRules::default() });
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(options.clone());
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        for spoken in [1, 2, 2, 2] {
            harness.says("alice", "does anyone know what this is?").await;
            harness.says("bob", "can anyone tell me what that is?").await;
            harness.pass(100).await;
            let transcript = harness.transcript().await;
            assert_eq!(harness.platform.posted_texts().len(), spoken, "{transcript}");
        }
        let row = last(&harness).await;
        assert_eq!((row.ended, row.gate), (Some(DecisionResult::OverBudget), Some(Gate::Budget)));
        harness.says("carol", "@Aizuchi hello?").await;
        harness.pass(1).await;
        assert_eq!(harness.platform.posted_texts().len(), 3);
        harness.pass(3600).await;
        harness.says("alice", "and what about this?").await;
        harness.says("bob", "and this?").await;
        harness.pass(100).await;
        assert_eq!(harness.platform.posted_texts().len(), 4);
    })
    .await;
}

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
        // A user who keeps typing is answered all the same.
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
            // The process may crash before it knows whether the reaction was placed.
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
            // A reaction is not the last word, so it may post next.
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

/// Once nothing is pending, each message has one closed decision, or a gate.
pub async fn every_message_is_accounted_for(harness: &Harness) {
    let rows = harness.decisions("garden").await;
    for row in &rows {
        assert!(row.ended.is_some(), "{row:#?}");
    }
    for stored in harness.messages("garden").await {
        let id = &stored.message.id;
        let covering = rows.iter().filter(|row| row.messages.contains(id)).count();
        let expected = usize::from(stored.gate.is_none() && !stored.is_deleted);
        let is_deleted = stored.is_deleted && covering <= 1;
        assert!(covering == expected || is_deleted, "{stored:#?}\n{rows:#?}");
        let is_own = stored.message.author.kind == AuthorKind::Persona;
        assert!(!is_own || stored.gate == Some(Gate::OwnMessage));
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
