//! The fixed wait: a mention is answered at once, everything else is judged once the conversation rests. Each test
//! covers a requirement of this strategy, or a question that the requirements leave open.

use aizuchi_agent::inbox::WaitSettings;
use aizuchi_harness::fixtures::{
    JOIN, JOIN_IN_60, SILENCE, START, at, message, thread, top_level, workspace,
};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_llm::LlmError;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::owed::Owed;
use aizuchi_model::chat::{Arrival, Author, AuthorKind, Heard, MessageId, Role, UserId};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{Decision, DecisionResult};
use aizuchi_model::persona::Language;
use aizuchi_model::rhythm::WaitStrategy;
use aizuchi_model::rules::ChannelRules;
use aizuchi_store::order::Order;
use insta::assert_snapshot;
use jiff::{SignedDuration, Timestamp};

use crate::prompts::golden::VERDICT_FIELDS;

/// The required wait: 300 seconds with a jitter of 30 %.
fn required() -> HarnessOptions {
    let waiting = WaitSettings { wait: WaitStrategy::Fixed, ..WaitSettings::default() };
    HarnessOptions { wait_settings: waiting, ..HarnessOptions::fixed_wait() }
}

/// A fixed wait of 60 seconds and without jitter.
async fn fixed(store: TestStore) -> Harness {
    Harness::new(store).await.with_options(HarnessOptions::fixed_wait())
}

fn joins(delay: &str) -> String {
    format!(
        r#"{{"should_respond": true, "reason": "asked", "confidence": 0.7, "delay_seconds": {delay}}}"#
    )
}

/// The times of the posts, in seconds since the start.
fn spoken(harness: &Harness) -> Vec<i64> {
    let said = harness.platform.posted.lock().unwrap();
    said.iter().map(|(_, posted)| posted.at.as_second() - START).collect()
}

async fn only_decision(harness: &Harness) -> Decision {
    let mut rows = harness.decisions("garden").await;
    assert_eq!(rows.len(), 1, "{rows:#?}");
    rows.remove(0)
}

#[tokio::test]
async fn a_judgment_has_the_required_fields_and_stays_what_it_was() {
    on_every_store(async |store| {
        let harness = fixed(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(&joins("0")));
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(100).await;
        let first = only_decision(&harness).await.judgment.unwrap();
        let fields = (first.should_respond, &*first.reason, first.confidence, first.delay_seconds);
        assert_eq!(fields, (true, "asked", 0.7, Some(0)));
        harness.says("bob", "in spring").await;
        harness.pass(100).await;
        let rows = harness.decisions("garden").await;
        assert_eq!(rows[0].judgment, Some(first));
    })
    .await;
}

#[tokio::test]
async fn the_delay_says_when_it_speaks() {
    for (answer, expected) in [
        (joins("0"), vec![60]),
        (joins("45"), vec![105]),
        (joins("null"), vec![60]),
        (joins("45").replace("true", "false"), vec![]),
        (SILENCE.to_owned(), vec![]),
    ] {
        on_every_store(async |store| {
            let harness = fixed(store).await;
            harness.mind.script.push(PromptVerb::Judge, Ok(&answer));
            harness.says("alice", "when do I cut the roses?").await;
            harness.pass(1000).await;
            assert_eq!(spoken(&harness), expected, "{answer}");
        })
        .await;
    }
}

#[tokio::test]
async fn the_steps_are_judge_reply_and_post_and_nothing_else() {
    on_every_store(async |store| {
        let harness = fixed(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("alice", "when do I cut the roses?").await;
        let mut verbs = Vec::new();
        harness.clock.advance_to(at(60));
        while let Some(step) = harness.step_of(&top_level("garden")).await {
            verbs.push(step.work.verb());
            harness.runner.step().await.unwrap();
        }
        assert_eq!(verbs, ["judge", "reply", "post"]);
    })
    .await;
}

#[tokio::test]
async fn a_channels_top_level_and_each_thread_have_one_step() {
    on_every_store(async |store| {
        let harness = fixed(store).await;
        let conversations = [top_level("garden"), thread("garden", "m000"), top_level("kitchen")];
        for round in 0..3 {
            for conversation in &conversations {
                harness.says_in(conversation.clone(), "alice", &format!("line {round}")).await;
            }
            let steps = harness.store.archive.pending_steps(&workspace()).await.unwrap();
            let mut pending: Vec<_> = steps.iter().map(|step| step.work.conversation()).collect();
            pending.sort();
            let mut expected: Vec<_> = conversations.iter().collect();
            expected.sort();
            assert_eq!(pending, expected, "round {round}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_out_of_range_answer_is_no_judgment() {
    let confidence = |value: &str| joins("0").replace("0.7", value);
    for bad in [
        confidence("1.1"),
        confidence("-0.1"),
        confidence("\"high\""),
        joins("-1"),
        joins("-1.5"),
        joins("0").replace("\"should_respond\": true, ", ""),
        joins("0").replace("\"reason\": \"asked\", ", ""),
        "Yes, speak!".to_owned(),
    ] {
        on_every_store(async |store| {
            let harness = fixed(store).await;
            harness.mind.script.set_default(PromptVerb::Judge, &*bad);
            harness.says("alice", "when do I cut the roses?").await;
            harness.pass(1000).await;
            let row = only_decision(&harness).await;
            assert_eq!(row.ended, Some(DecisionResult::Failed), "{bad}");
            assert_eq!(row.attempts.len(), 2, "one try to mend it: {bad}");
            assert!(harness.platform.posted_texts().is_empty(), "{bad}");
        })
        .await;
    }
    for good in [confidence("1.0"), joins("0").replace(", \"delay_seconds\": 0", "")] {
        on_every_store(async |store| {
            let harness = fixed(store).await;
            harness.mind.script.push(PromptVerb::Judge, Ok(&good));
            harness.says("alice", "when do I cut the roses?").await;
            harness.pass(1000).await;
            assert_eq!(spoken(&harness), [60], "{good}");
        })
        .await;
    }
}

#[tokio::test]
async fn the_delay_is_part_of_the_judgment() {
    on_every_store(async |store| {
        let harness = fixed(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(60).await;
        assert_eq!(only_decision(&harness).await.judgment.unwrap().delay_seconds, Some(60));
        assert_eq!(harness.step_of(&top_level("garden")).await.unwrap().due, at(120));
    })
    .await;
}

/// The whole prompt is compared. The part about the fields of the answer is required word for word.
#[tokio::test]
async fn the_judge_is_asked_in_the_required_words() {
    let options = HarnessOptions { language: Language::Ja, ..HarnessOptions::fixed_wait() };
    let asked = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(options.clone());
        harness.says("alice", "バラはいつ切るの？").await;
        harness.pass(60).await;
        harness.mind.prompt_texts(PromptVerb::Judge).remove(0)
    })
    .await;
    assert!(asked.contains(VERDICT_FIELDS), "{asked}");
    assert_snapshot!("judge_in_the_required_words", asked);
}

#[tokio::test]
async fn nothing_is_judged_periodically() {
    on_every_store(async |store| {
        let harness = fixed(store).await;
        harness.says("alice", "does anybody know when to cut the roses?").await;
        harness.pass(30 * 24 * 3600).await;
        assert_eq!(harness.mind.verbs(), "judge");
        assert_eq!(harness.store.store.next_ready().await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn a_message_is_stored_before_anything_follows() {
    on_every_store(async |store| {
        let harness = fixed(store).await;
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.says_in(top_level("kitchen"), "bob", "who baked this?").await;
        // The process crashes before it does anything.
        let harness = harness.restart().await;
        assert_eq!(harness.messages("garden").await.len(), 1);
        assert_eq!(harness.messages("kitchen").await.len(), 1);
        assert_eq!(harness.step_of(&top_level("garden")).await.unwrap().work.verb(), "reply");
        assert_eq!(harness.step_of(&top_level("kitchen")).await.unwrap().work.verb(), "judge");
        harness.pass(100).await;
        assert_eq!(spoken(&harness), [0]);
    })
    .await;
}

#[tokio::test]
async fn its_own_message_is_only_stored() {
    on_every_store(async |store| {
        let harness = fixed(store).await;
        let author = Author { id: UserId::new("u-persona"), kind: AuthorKind::Persona };
        let own = message(top_level("garden"), "p9", at(0), "alice", "@Aizuchi talks to itself");
        harness.hear(aizuchi_model::chat::Message { author, ..own }).await;
        harness.pass(1000).await;
        assert_eq!(harness.mind.verbs(), "");
        let messages = harness.messages("garden").await;
        assert_eq!((messages.len(), messages[0].gate), (1, Some(Gate::OwnMessage)));
    })
    .await;
}

#[tokio::test]
async fn a_mention_is_answered_at_once_and_never_judged() {
    on_every_store(async |store| {
        let harness = fixed(store).await;
        let harness = harness.with_options(required());
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.says_in(thread("garden", "m000"), "bob", "@Aizuchi and here?").await;
        harness.pass(0).await;
        assert_eq!(spoken(&harness), [0, 0]);
        harness.pass(10_000).await;
        assert_eq!(harness.mind.verbs(), "reply reply");
    })
    .await;
}

#[tokio::test]
async fn other_messages_wait_for_300_seconds_with_jitter() {
    on_every_store(async |store| {
        let harness = fixed(store).await;
        let harness = harness.with_options(required());
        let mut waits = Vec::new();
        for number in 0..40 {
            let conversation = top_level(&format!("c{number}"));
            harness.says_in(conversation.clone(), "alice", "hello").await;
            let step = harness.step_of(&conversation).await.unwrap();
            assert_eq!(step.work.verb(), "judge");
            waits.push(step.due.duration_since(at(0)).as_secs_f64());
        }
        assert!(waits.iter().all(|wait| (210.0..=390.0).contains(wait)), "{waits:?}");
        // They are spread over the whole range.
        for (low, high) in [(210.0, 255.0), (255.0, 300.0), (300.0, 345.0), (345.0, 390.0)] {
            assert!(waits.iter().any(|wait| (low..high).contains(wait)), "{low}: {waits:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_new_message_restarts_the_wait_in_its_own_thread_only() {
    let transcript = on_every_store(async |store| {
        let harness = fixed(store).await;
        harness.mind.script.set_default(PromptVerb::Judge, JOIN_IN_60);
        harness.says("alice", "when do I cut the roses?").await;
        harness.says_in(thread("garden", "m000"), "dan", "does anyone know which ones?").await;
        harness.pass(50).await;
        // During the wait for the judgment …
        harness.says("bob", "who has a spade?").await;
        harness.pass(60 + 30).await;
        // … and during the delay of the reply. The thread is not affected.
        harness.says("alice", "and who has a rake?").await;
        harness.pass(1000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
       0s   dan: does anyone know which ones?
      50s bob: who has a spade?
     120s   (persona): Here I am.
     140s alice: and who has a rake?
     260s (persona): Here I am.
    [m000 m002 m003] spoke: give them a minute (judge superseded, judge kept, reply kept)
    [m001] spoke: give them a minute (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn the_judge_sees_the_newest_messages_and_its_failure_is_silence() {
    on_every_store(async |store| {
        let harness = fixed(store).await;
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(30).await;
        // A bot's message does not restart the wait, and is part of the prompt.
        harness.says("rainbot", "no rain today").await;
        harness.mind.script.push(PromptVerb::Judge, Err(LlmError::Refused("no".to_owned())));
        harness.pass(1000).await;
        assert!(harness.mind.prompt_texts(PromptVerb::Judge)[0].contains("no rain today"));
        let row = only_decision(&harness).await;
        assert_eq!((row.ended, row.attempts.len()), (Some(DecisionResult::Failed), 1));
        assert_eq!(row.attempts[0].verb.as_ref(), "judge");
        assert!(row.attempts[0].usage == Default::default() && row.attempts[0].error.is_some());
        assert!(harness.platform.posted_texts().is_empty());
        // A channel about which the platform has sent nothing is judged as a private one.
        harness.says_in(top_level("attic"), "bob", "hello?").await;
        harness.pass(100).await;
        assert_eq!(harness.decisions("attic").await[0].ended, Some(DecisionResult::ChoseSilence));
    })
    .await;
}

#[tokio::test]
async fn the_reply_is_made_from_a_fresh_context_and_stored() {
    on_every_store(async |store| {
        let harness = fixed(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(90).await;
        harness.says("rainbot", "no rain today").await;
        harness.pass(100).await;
        assert_eq!(harness.mind.verbs(), "judge reply");
        assert!(!harness.mind.prompt_texts(PromptVerb::Judge)[0].contains("no rain today"));
        assert!(harness.mind.prompt_texts(PromptVerb::Reply)[0].contains("no rain today"));
        let messages = harness.messages("garden").await;
        let own = messages.last().unwrap();
        assert_eq!((&*own.message.text, own.gate), ("Here I am.", Some(Gate::OwnMessage)));
    })
    .await;
}

#[tokio::test]
async fn no_judgment_is_reused_for_new_messages() {
    on_every_store(async |store| {
        let harness = fixed(store).await;
        for number in 1..=3 {
            harness.says("alice", "are the beans up?").await;
            harness.pass(100).await;
            assert_eq!(harness.mind.prompt_texts(PromptVerb::Judge).len(), number);
        }
    })
    .await;
}

#[tokio::test]
async fn a_burst_costs_one_judgment() {
    on_every_store(async |store| {
        let harness = fixed(store).await;
        let harness = harness.with_options(required());
        for number in 0..20 {
            harness.says("alice", &format!("is this line {number}?")).await;
            harness.pass(1).await;
        }
        harness.pass(10_000).await;
        assert_eq!(harness.mind.verbs(), "judge");
    })
    .await;
}

#[tokio::test]
async fn a_start_answers_no_old_messages() {
    on_every_store(async |store| {
        let harness = fixed(store).await;
        let old = |id: &str, second: i64, text: &str| {
            Heard::Message(
                message(top_level("garden"), id, at(second), "alice", text),
                Arrival::Backfilled,
            )
        };
        harness.clock.advance_to(at(100_000));
        for heard in [
            old("o1", 0, "when do I cut the roses?"),
            old("o2", 10, "@Aizuchi when do I cut the roses?"),
            old("o3", 99_000, "does anybody know?"),
        ] {
            harness.inbox.hear(heard).await.unwrap();
        }
        let harness = harness.restart().await;
        harness.pass(10_000).await;
        assert_eq!(harness.mind.verbs(), "");
        let gates = harness.messages("garden").await.into_iter().map(|stored| stored.gate);
        assert_eq!(gates.collect::<Vec<_>>(), [Some(Gate::Backfilled); 3]);
        // A recent mention is still owed an answer.
        let young =
            message(top_level("garden"), "o4", at(109_000), "bob", "@Aizuchi are you there?");
        harness.inbox.hear(Heard::Message(young, Arrival::Backfilled)).await.unwrap();
        harness.pass(0).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
    })
    .await;
}

#[tokio::test]
async fn it_posts_when_it_should() {
    on_every_store(async |store| {
        let harness = fixed(store).await;
        let harness = harness.with_options(required());
        let due = async || harness.step_of(&top_level("garden")).await.unwrap().due;
        // A mention is answered at once.
        harness.says("alice", "@Aizuchi hello").await;
        harness.pass(0).await;
        assert_eq!(spoken(&harness), [0]);
        harness.pass(1).await;
        // A yes is posted after the wait and the delay.
        for delay in [0, 100] {
            harness.mind.script.push(PromptVerb::Judge, Ok(&joins(&delay.to_string())));
            harness.says("bob", "when do I cut the roses?").await;
            let judged = due().await;
            let wait = judged.duration_since(harness.clock.now()).as_secs();
            assert!((210..=390).contains(&wait));
            harness.pass(1000).await;
            let said = harness.platform.posted.lock().unwrap().last().unwrap().1.at;
            assert_eq!(said, judged + SignedDuration::from_secs(delay));
        }
        // A no is silence.
        harness.says("carol", "thanks").await;
        harness.pass(1000).await;
        assert_eq!(spoken(&harness).len(), 3);
        // Messages in a row: the timer of the first one is canceled, and the wait starts again. The second message
        // comes just before that timer is due, so that the new wait ends later, whatever its jitter.
        let until = |due: Timestamp| due.duration_since(harness.clock.now()).as_secs();
        let judged = || harness.mind.prompt_texts(PromptVerb::Judge).len();
        harness.says("alice", "are the beans up?").await;
        let first = due().await;
        harness.pass(until(first) - 1).await;
        let before = judged();
        harness.says("bob", "and the peas?").await;
        let second = due().await;
        assert!((210..=390).contains(&until(second)), "{first} {second}");
        harness.pass(until(first) + 2).await;
        assert!(harness.clock.now() > first);
        assert_eq!(judged(), before, "the first timer still runs");
        harness.pass(until(second) - 1).await;
        assert_eq!(judged(), before, "it is judged too early");
        harness.pass(2).await;
        assert_eq!(judged(), before + 1);
        harness.pass(1000).await;
        assert_eq!(judged(), before + 1, "both messages are judged by one judgment");
    })
    .await;
}

#[tokio::test]
async fn a_conversation_has_one_timer_whatever_it_waits_for() {
    let transcript = on_every_store(async |store| {
        let harness = fixed(store).await;
        // A mention replaces a pending judgment, and a pending reply.
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
        harness.says("bob", "my roses look ill").await;
        harness.pass(90).await;
        harness.says("alice", "@Aizuchi what can we do?").await;
        harness.pass(10_000).await;
        assert_eq!(harness.platform.posted_texts().len(), 1);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s bob: my roses look ill
      90s alice: @Aizuchi what can we do?
      90s (persona): Here I am.
    [m001] spoke: alice asked me (judge superseded, reply kept)
    [m000] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn all_mentions_are_answered_and_no_channel_delays_a_judgment_forever() {
    let waiting =
        WaitSettings { max_wait_seconds: 300.0, ..HarnessOptions::fixed_wait().wait_settings };
    let options = HarnessOptions { wait_settings: waiting, ..HarnessOptions::fixed_wait() };
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(options.clone());
        harness.says("alice", "@Aizuchi what about the roses?").await;
        harness.says("bob", "@Aizuchi and the tulips?").await;
        harness.pass(0).await;
        let owed: Vec<Owed> = {
            let said = harness.platform.posted.lock().unwrap();
            said.iter().flat_map(|(item, _)| item.metadata.owed.clone()).collect()
        };
        assert_eq!(owed, ["m000", "m001"].map(MessageId::new));
        // A message every 50 seconds never lets the conversation rest.
        let begun = harness.clock.now();
        while harness.mind.prompt_texts(PromptVerb::Judge).is_empty() {
            harness.says("carol", "is there more of it?").await;
            harness.pass(50).await;
        }
        format!(
            "judged {} s after the first line",
            harness.clock.now().duration_since(begun).as_secs()
        )
    });
    assert_snapshot!(transcript.await, @"judged 300 s after the first line");
}

#[tokio::test]
async fn a_delay_is_capped() {
    on_every_store(async |store| {
        let harness = fixed(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(&joins("999999")));
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(10_000).await;
        assert_eq!(spoken(&harness), [60 + 3600]);
    })
    .await;
}

#[tokio::test]
async fn an_edit_or_a_deletion_counts() {
    let transcript = on_every_store(async |store| {
        let harness = fixed(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
        let question = harness.says("alice", "when do I cut the roses?").await;
        harness.pass(90).await;
        harness.edits(&question, "when do I cut the tulips?").await;
        harness.pass(90).await;
        harness.deletes(&question).await;
        harness.pass(1000).await;
        assert!(harness.mind.prompt_texts(PromptVerb::Judge)[1].contains("tulips"));
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Judge).len(), 2);
        // A mention that is edited away is a message like any other.
        let mention = harness.says("bob", "@Aizuchi hello").await;
        harness.edits(&mention, "hello").await;
        harness.pass(1000).await;
        assert!(harness.platform.posted_texts().is_empty());
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: (deleted)
    1180s bob: hello
    [m000] dropped: the message was deleted (judge superseded, judge superseded)
    [m001] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn after_its_own_message_and_for_bots_no_model_is_asked() {
    let transcript = on_every_store(async |store| {
        let harness = fixed(store).await;
        harness.says("alice", "@Aizuchi hello").await;
        harness.says("bob", "so it goes").await;
        harness.pass(100).await;
        harness.says("buildbot", "@Aizuchi the build is red").await;
        harness.pass(1000).await;
        assert_eq!(harness.mind.verbs(), "reply");
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi hello
       0s bob: so it goes
       0s (persona): Here I am.
     100s buildbot: @Aizuchi the build is red
    [m000] spoke: alice mentioned me (reply kept)
    [m001] chose_silence by nothing_open: nobody seemed to be waiting for an answer ()
    ");
}

#[tokio::test]
async fn an_answer_in_a_thread_settles_the_question_at_top_level() {
    let transcript = on_every_store(async |store| {
        let harness = fixed(store).await;
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        let question = harness.says("alice", "when do I cut the roses?").await;
        harness.pass(10).await;
        let in_thread = thread("garden", question.as_str());
        harness.says_in(in_thread, "bob", "in spring").await;
        // It does not restart the wait of the top level.
        assert_eq!(harness.step_of(&top_level("garden")).await.unwrap().due, at(60));
        harness.pass(1000).await;
        assert!(harness.platform.posted_texts().is_empty());
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
      10s   bob: in spring
    [m000] chose_silence by nothing_open: nobody seemed to be waiting for an answer ()
    [m001] chose_silence by nothing_open: nobody seemed to be waiting for an answer ()
    ");
}

#[tokio::test]
async fn a_question_that_is_asked_again_in_its_thread_is_judged_there() {
    let transcript = on_every_store(async |store| {
        let harness = fixed(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        let question = harness.says("alice", "when do I cut the roses?").await;
        harness.pass(10).await;
        let in_thread = thread("garden", question.as_str());
        harness.says_in(in_thread.clone(), "bob", "when you cut the tulips").await;
        harness.pass(10).await;
        harness.says_in(in_thread, "alice", "and when is that?").await;
        harness.pass(1000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
      10s   bob: when you cut the tulips
      20s   alice: and when is that?
      80s   (persona): Here I am.
    [m000] chose_silence by nothing_open: nobody seemed to be waiting for an answer ()
    [m001 m002] spoke: nobody answers (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn timers_survive_a_restart() {
    for (seconds, verbs) in [(30, ""), (90, "judge"), (200, "judge reply")] {
        on_every_store(async |store| {
            let harness = fixed(store).await;
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
            harness.says("alice", "when do I cut the roses?").await;
            harness.pass(seconds).await;
            assert_eq!(harness.mind.verbs(), verbs);
            let harness = harness.restart().await;
            harness.pass(1000).await;
            assert_eq!(spoken(&harness), [120], "a restart after {seconds} s");
        })
        .await;
    }
}

#[tokio::test]
async fn it_checks_again_before_it_posts() {
    on_every_store(async |store| {
        let harness = fixed(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(90).await;
        let until = Timestamp::MAX;
        harness
            .order(Order::Mute { workspace: workspace(), channel: None, until, by: Role::Admin })
            .await;
        harness.pass(1000).await;
        assert!(harness.platform.posted_texts().is_empty());
        let row = only_decision(&harness).await;
        assert_eq!((row.ended, row.gate), (Some(DecisionResult::Muted), Some(Gate::Muted)));
    })
    .await;
}

#[tokio::test]
async fn low_confidence_is_silence() {
    for (least, spoke) in [(0.69, true), (0.7, true), (0.71, false)] {
        on_every_store(async |store| {
            let options = HarnessOptions::from_rules(ChannelRules {
                min_confidence: least,
                ..ChannelRules::default()
            });
            let harness = Harness::new(store).await.with_options(options.with_fixed_wait());
            harness.mind.script.push(PromptVerb::Judge, Ok(&joins("0")));
            harness.says("alice", "when do I cut the roses?").await;
            harness.pass(1000).await;
            assert_eq!(harness.platform.posted_texts().len(), usize::from(spoke), "{least}");
            let ended = only_decision(&harness).await.ended;
            let expected = if spoke { DecisionResult::Spoke } else { DecisionResult::ChoseSilence };
            assert_eq!(ended, Some(expected), "{least}");
        })
        .await;
    }
}
