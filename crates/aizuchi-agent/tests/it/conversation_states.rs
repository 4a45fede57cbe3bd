//! The state of a conversation, named in a separate call or in the judge's, and facilitator mode with kotonoha's
//! defaults. Each test covers a requirement of the feature's specification.

use std::cell::RefCell;
use std::io::Write;
use std::sync::Once;

use ConversationState::{Active, Conflict, Ending, Misunderstanding};
use aizuchi_harness::fixtures::{JOIN, START, at, top_level};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_platform::Fault;
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_llm::LlmError;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::MessageId;
use aizuchi_model::context::state::ConversationState;
use aizuchi_model::decision::Usage;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{AttemptResult, Decision, DecisionResult};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::{ChannelRules, Mode};
use jiff::SignedDuration;

const NO: &str = r#"{"should_respond": false, "reason": "they get along", "confidence": 0.9}"#;

/// The instructions that a reply gets for a state.
const CONFLICT_WORDS: &str = "There is tension: be calm and brief, take no side";
const MISUNDERSTANDING_WORDS: &str = "say calmly what each of them seems to mean";

/// The word lists that kotonoha used before it had a model.
const OLD_ENDING_WORDS: [&str; 10] = [
    "これ以上",
    "以上です",
    "以上になります",
    "申し上げることはありません",
    "以上で",
    "終了",
    "おわり",
    "締めくくり",
    "以上",
    "以上です。",
];
const OLD_MISUNDERSTANDING_WORDS: [&str; 7] =
    ["誤解", "勘違い", "違う", "そうではない", "間違い", "理解していない", "分かっていない"];

async fn separate(store: TestStore) -> Harness {
    let harness =
        Harness::new(store).await.with_options(HarnessOptions::default().with_separate_state());
    harness.mind.script.set_default(PromptVerb::State, "ACTIVE");
    harness
}

fn facilitator() -> ChannelRules {
    ChannelRules { mode: Mode::Facilitator, ..ChannelRules::default() }
}

/// A harness in facilitator mode, whose judge names the state.
async fn facilitated(store: TestStore) -> Harness {
    Harness::new(store).await.with_options(HarnessOptions::from_rules(facilitator()))
}

/// Posts this many messages by three users, one second apart.
async fn talk(harness: &Harness, messages: usize) {
    for number in 0..messages {
        let who = ["alice", "bob", "carol"][number % 3];
        harness.says(who, &format!("does anybody have a thought {number} on the roses?")).await;
        harness.pass(1).await;
    }
}

async fn rows(harness: &Harness) -> Vec<Decision> {
    harness.decisions("garden").await
}

fn state_of(row: &Decision) -> Option<ConversationState> {
    row.evaluation.as_ref().and_then(|weighed| weighed.conversation_state)
}

/// An answer of the judge, with additional fields.
fn says(should_respond: bool, more: &str) -> String {
    format!(
        r#"{{"should_respond": {should_respond}, "reason": "asked", "confidence": 0.9, "delay_seconds": 0{more}}}"#
    )
}

thread_local! {
    /// The log of this thread, while a test records it.
    static LOGGED: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// Records the log of this thread while it lives. The subscriber is global and stays: with one per test, tracing may
/// cache a log statement as disabled while another thread has none.
struct Log;

/// Writes to the recorded log of this thread, if there is one.
struct ToThread;

impl Log {
    fn begin() -> Self {
        static BEGUN: Once = Once::new();
        BEGUN.call_once(|| {
            let subscriber = tracing_subscriber::fmt()
                .with_env_filter("aizuchi=debug")
                .with_ansi(false)
                .with_writer(|| ToThread)
                .finish();
            tracing::subscriber::set_global_default(subscriber)
                .expect("no other subscriber is set");
        });
        LOGGED.set(Some(Vec::new()));
        Self
    }

    fn text(&self) -> String {
        LOGGED.with_borrow(|logged| String::from_utf8(logged.clone().unwrap()).unwrap())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        LOGGED.set(None);
    }
}

impl Write for ToThread {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOGGED.with_borrow_mut(|logged| match logged {
            Some(logged) => logged.write(bytes),
            None => Ok(bytes.len()),
        })
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn one_word_names_the_state_by_its_prefix_and_priority() {
    for (answer, expected) in [
        ("ENDING", Ending),
        ("MISUNDERSTANDING", Misunderstanding),
        ("CONFLICT", Conflict),
        ("ACTIVE", Active),
        (" Ending.\n", Ending),
        ("conflict", Conflict),
        ("**MISUNDERSTANDING**", Misunderstanding),
        ("\"ENDING\"", Ending),
        ("ENDING, or rather CONFLICT", Ending),
        ("CONFLICT と MISUNDERSTANDING", Conflict),
        ("I cannot tell", Active),
    ] {
        on_every_store(async |store| {
            let harness = separate(store).await;
            harness.mind.script.push(PromptVerb::State, Ok(answer));
            harness.says("alice", "who is there?").await;
            harness.pass(400).await;
            let row = rows(&harness).await.remove(0);
            assert_eq!(state_of(&row), Some(expected), "{answer:?}");
            assert_eq!(row.attempts.len(), if expected == Ending { 1 } else { 2 }, "{answer:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn the_question_tells_the_states_apart_in_their_order() {
    let wanted = [
        (
            Language::En,
            [
                "ENDING",
                "change of subject",
                "MISUNDERSTANDING",
                "into each other's mouths",
                "CONFLICT",
                "to a purpose",
                "ACTIVE",
                "goes well",
            ],
        ),
        (
            Language::Ja,
            [
                "ENDING",
                "話題が変わっただけ",
                "MISUNDERSTANDING",
                "勝手に決めつけている",
                "CONFLICT",
                "建設的な議論",
                "ACTIVE",
                "順調",
            ],
        ),
    ];
    for (language, words) in wanted {
        let options =
            HarnessOptions { language, ..HarnessOptions::default().with_separate_state() };
        on_every_store(async |store| {
            let harness = Harness::new(store).await.with_options(options.clone());
            harness.mind.script.set_default(PromptVerb::State, "ACTIVE");
            harness.says("alice", "who is there?").await;
            harness.pass(400).await;
            let asked = harness.mind.prompt_texts(PromptVerb::State).remove(0);
            let mut rest = &*asked;
            for word in words {
                let conversation =
                    rest.find(word).unwrap_or_else(|| panic!("{word} is not in its place"));
                rest = &rest[conversation..];
            }
        })
        .await;
    }
}

#[tokio::test]
async fn no_word_list_decides() {
    on_every_store(async |store| {
        let harness = separate(store).await;
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        // The words without their meaning, each in its own channel: the judge is called, and joins in.
        for (number, words) in
            OLD_ENDING_WORDS.iter().chain(&OLD_MISUNDERSTANDING_WORDS).enumerate()
        {
            let channel = format!("room{number}");
            harness.says_in(top_level(&channel), "alice", "花はどこですか").await;
            harness.says_in(top_level(&channel), "alice", words).await;
            harness.pass(400).await;
            let asked = vec!["state judge reply"; number + 1].join(" ");
            assert_eq!(harness.mind.verbs(), asked, "{words}");
            assert_eq!(state_of(&harness.decisions(&channel).await[0]), Some(Active), "{words}");
        }
        // The meaning without the words.
        harness.mind.script.push(PromptVerb::State, Ok("ENDING"));
        harness.says("alice", "花はどこですか").await;
        harness.says("alice", "ではまた明日。おやすみなさい").await;
        harness.pass(400).await;
        assert!(harness.mind.verbs().ends_with("reply state"), "{}", harness.mind.verbs());
    })
    .await;
}

#[tokio::test]
async fn the_whole_conversation_is_judged_and_the_newest_message_comes_last() {
    on_every_store(async |store| {
        let harness = separate(store).await;
        talk(&harness, 12).await;
        harness.pass(400).await;
        let asked = harness.mind.prompt_texts(PromptVerb::State).remove(0);
        let conversations =
            (0..12).map(|number| asked.find(&format!("thought {number} on")).unwrap());
        assert!(conversations.is_sorted(), "{asked}");
        assert!(!asked[asked.find("thought 11 on").unwrap()..].contains("thought 0 on"));
    })
    .await;
}

#[tokio::test]
async fn nothing_to_judge_costs_no_call() {
    on_every_store(async |store| {
        let harness = separate(store).await;
        let message = harness.says("alice", "oops").await;
        harness.deletes(&message).await;
        harness.pass(1000).await;
        assert_eq!(harness.mind.verbs(), "");
        assert_eq!(rows(&harness).await[0].ended, Some(DecisionResult::Dropped));
    })
    .await;
}

#[tokio::test]
async fn the_state_is_one_call_of_at_most_twenty_tokens() {
    on_every_store(async |store| {
        let harness = separate(store).await;
        harness.says("alice", "who is there?").await;
        harness.pass(400).await;
        let [prompt] = &harness.mind.prompts(PromptVerb::State)[..] else { panic!("one question") };
        assert_eq!(prompt.max_tokens, Some(20));
        assert!(prompt.schema().is_none() && prompt.tools.is_empty());
        // The persona's prompt is not included.
        assert!(!prompt.text.contains("You are kind."));
    })
    .await;
}

#[tokio::test]
async fn a_state_call_does_not_block_other_conversations() {
    on_every_store(async |store| {
        let harness = separate(store).await;
        harness.says("alice", "good night").await;
        harness.clock.advance_to(at(300));
        harness.says_in(top_level("kitchen"), "bob", "@Aizuchi is there bread?").await;
        let mind = harness.mind.clone();
        harness.mind.meanwhile(PromptVerb::State, || async move {
            while mind.prompt_texts(PromptVerb::Reply).is_empty() {
                tokio::task::yield_now().await;
            }
        });
        harness.pass(0).await;
        assert_eq!(harness.platform.posts_in(&top_level("kitchen")), 1);
    })
    .await;
}

#[tokio::test]
async fn an_error_is_active_and_flagged_and_the_judge_decides() {
    let failures: [fn() -> Result<&'static str, LlmError>; 5] = [
        || Err(LlmError::Refused("no".to_owned())),
        || Err(LlmError::TimedOut("never".to_owned())),
        || Ok("it may be ENDING or ACTIVE"),
        || Ok(""),
        || {
            Err(LlmError::Busy {
                why: "down".to_owned(),
                retry_after: None,
                usage: Usage::default(),
            })
        },
    ];
    for failure in failures {
        on_every_store(async |store| {
            let failure = failure();
            let case = format!("{failure:?}");
            let log = Log::begin();
            let is_error = failure.is_err();
            let harness = separate(store).await;
            harness.mind.script.push(PromptVerb::State, failure);
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
            harness.says("alice", "when do I cut the roses?").await;
            harness.pass(400).await;
            assert_eq!(harness.mind.verbs(), "state judge reply", "{case}");
            let row = rows(&harness).await.remove(0);
            assert_eq!(
                (state_of(&row), row.ended),
                (Some(Active), Some(DecisionResult::Spoke)),
                "{case}"
            );
            assert_eq!(row.attempts[0].verb.as_ref(), "state");
            assert_eq!(row.attempts[0].result, AttemptResult::Failed, "{case}");
            assert!(row.attempts[0].error.is_some(), "{case}");
            assert_eq!(log.text().contains("Error in conversation state analysis: "), is_error);
        })
        .await;
    }
}

#[tokio::test]
async fn an_ending_is_silence_before_the_judge() {
    on_every_store(async |store| {
        let harness = separate(store).await;
        let log = Log::begin();
        harness.mind.script.push(PromptVerb::State, Ok("ENDING"));
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        harness.says("alice", "was that all for today?").await;
        harness.pass(1000).await;
        assert_eq!(harness.mind.verbs(), "state");
        let row = rows(&harness).await.remove(0);
        assert_eq!((row.ended, state_of(&row)), (Some(DecisionResult::ChoseSilence), Some(Ending)));
        let sentence = "Intervention blocked for channel garden: conversation is ending";
        assert!(log.text().contains(sentence), "{}", log.text());
        // A mention is still answered.
        harness.says("bob", "@Aizuchi good night").await;
        harness.pass(1).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
    })
    .await;
}

#[tokio::test]
async fn conflicts_reach_the_judge_and_both_prompts_name_them() {
    for (label, state, hint, words) in [
        ("CONFLICT", Conflict, "There seems to be tension in it.", CONFLICT_WORDS),
        (
            "MISUNDERSTANDING",
            Misunderstanding,
            "seem to misunderstand each other",
            MISUNDERSTANDING_WORDS,
        ),
    ] {
        on_every_store(async |store| {
            let harness = separate(store).await;
            let log = Log::begin();
            harness.mind.script.push(PromptVerb::State, Ok(label));
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
            harness.says("alice", "why do you never listen?").await;
            harness.pass(1000).await;
            assert_eq!(harness.mind.verbs(), "state judge reply", "{label}");
            let judged = harness.mind.prompt_texts(PromptVerb::Judge).remove(0);
            assert!(judged.contains(hint), "{judged}");
            assert!(!judged.contains("### conversation_state"), "it is named already");
            let prompt = harness.mind.prompt_texts(PromptVerb::Reply).remove(0);
            assert!(prompt.contains(words), "{prompt}");
            assert_eq!(state_of(&rows(&harness).await[0]), Some(state));
            let name = state.name();
            let sentence =
                format!("Conversation state detected: {name}, proceeding to LLM judgment");
            assert!(log.text().contains(&sentence), "{}", log.text());
        })
        .await;
    }
}

#[tokio::test]
async fn no_state_forces_a_post() {
    for label in ["CONFLICT", "MISUNDERSTANDING", "ACTIVE"] {
        on_every_store(async |store| {
            let harness = separate(store).await;
            harness.mind.script.push(PromptVerb::State, Ok(label));
            harness.mind.script.set_default(PromptVerb::Judge, NO);
            harness.says("alice", "why do you never listen?").await;
            harness.pass(1000).await;
            assert_eq!(harness.mind.verbs(), "state judge", "{label}");
            assert!(harness.platform.posted_texts().is_empty(), "{label}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_decision_costs_one_state_call() {
    on_every_store(async |store| {
        let harness = separate(store).await;
        for label in ["ACTIVE", "CONFLICT", "ENDING"] {
            harness.mind.script.push(PromptVerb::State, Ok(label));
            harness.says("alice", "any new thoughts?").await;
            harness.pass(1000).await;
        }
        for row in rows(&harness).await {
            let calls = row.attempts.iter().filter(|attempt| &*attempt.verb == "state");
            assert_eq!(calls.count(), 1);
        }
    })
    .await;
}

#[tokio::test]
async fn an_unchanged_conversation_is_classified_once() {
    on_every_store(async |store| {
        let harness = separate(store).await;
        let busy = || {
            Err(LlmError::Busy {
                why: "down".to_owned(),
                retry_after: None,
                usage: Usage::default(),
            })
        };
        harness.mind.script.push(PromptVerb::State, Ok("CONFLICT"));
        harness.mind.script.push(PromptVerb::Judge, busy());
        harness.mind.script.push(PromptVerb::Judge, busy());
        harness.says("alice", "why do you never listen?").await;
        harness.pass(1000).await;
        // The judge is retried; the conversation is unchanged.
        assert_eq!(harness.mind.verbs(), "state judge judge judge");
        assert_eq!(state_of(&rows(&harness).await[0]), Some(Conflict));
        assert!(
            harness.mind.prompt_texts(PromptVerb::Judge)[2]
                .contains("There seems to be tension in it.")
        );
        // An edit changes the conversation.
        harness.edits(&MessageId::new("m000"), "you always listen").await;
        harness.says("bob", "do I?").await;
        harness.pass(1000).await;
        assert_eq!(harness.mind.prompt_texts(PromptVerb::State).len(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_fused_call_names_the_state_and_judges() {
    for (state, should_respond, spoke) in [
        (Ending, true, false),
        (Ending, false, false),
        (Conflict, true, true),
        (Conflict, false, false),
        (Misunderstanding, true, true),
        (Active, true, true),
    ] {
        on_every_store(async |store| {
            let harness = Harness::new(store).await;
            let more = format!(r#", "conversation_state": "{}""#, state.name());
            harness.mind.script.push(PromptVerb::Judge, Ok(&says(should_respond, &more)));
            harness.says("alice", "is that that?").await;
            harness.pass(1000).await;
            let expected = if spoke { "judge reply" } else { "judge" };
            assert_eq!(harness.mind.verbs(), expected, "{state:?}");
            assert!(
                harness.mind.prompt_texts(PromptVerb::Judge)[0].contains("### conversation_state")
            );
            let row = rows(&harness).await.remove(0);
            assert_eq!(state_of(&row), Some(state));
            let ended = if spoke { DecisionResult::Spoke } else { DecisionResult::ChoseSilence };
            assert_eq!(row.ended, Some(ended), "{state:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_facilitator_judges_5_s_after_the_newest_message() {
    on_every_store(async |store| {
        let harness = facilitated(store).await;
        talk(&harness, 3).await;
        harness.pass(3).await;
        assert_eq!(harness.mind.verbs(), "");
        // The newest message is 4 seconds old.
        harness.pass(1).await;
        assert_eq!(harness.mind.verbs(), "judge");
    })
    .await;
}

#[tokio::test]
async fn a_facilitator_judges_at_most_30_s_after_the_first_message() {
    on_every_store(async |store| {
        let harness = facilitated(store).await;
        let mut asked = Vec::new();
        for _ in 0..30 {
            harness.says("alice", "and another thing").await;
            let before = harness.mind.prompt_texts(PromptVerb::Judge).len();
            harness.pass(4).await;
            if harness.mind.prompt_texts(PromptVerb::Judge).len() > before {
                asked.push(rows(&harness).await.last().unwrap().attempts.last().unwrap().at);
            }
        }
        let asked: Vec<i64> = asked.iter().map(|at| at.as_second() - START).collect();
        // The first message after a judgment comes two seconds later.
        assert_eq!(asked[..3], [30, 62, 94], "{asked:?}");
    })
    .await;
}

#[tokio::test]
async fn a_facilitator_waits_for_enough_messages() {
    on_every_store(async |store| {
        let harness = facilitated(store).await;
        talk(&harness, 2).await;
        harness.pass(100).await;
        let row = rows(&harness).await.remove(0);
        assert_eq!((row.gate, harness.mind.verbs()), (Some(Gate::TooFew), String::new()));
        talk(&harness, 1).await;
        harness.pass(100).await;
        assert_eq!(harness.mind.verbs(), "judge");
    })
    .await;
}

#[tokio::test]
async fn a_facilitator_sees_the_newest_20_messages_including_its_own() {
    on_every_store(async |store| {
        let harness = facilitated(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        talk(&harness, 30).await;
        harness.pass(700).await;
        harness.mind.calls();
        talk(&harness, 3).await;
        harness.pass(100).await;
        let prompt = harness.mind.prompts(PromptVerb::Judge).remove(0);
        assert_eq!(prompt.context.target_messages().len(), 20);
        assert!(
            prompt.context.target_messages().iter().any(|message| &*message.text == "Here I am.")
        );
    })
    .await;
}

#[tokio::test]
async fn no_model_is_asked_during_the_cooldown_even_after_a_restart() {
    on_every_store(async |store| {
        let harness = facilitated(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        talk(&harness, 3).await;
        harness.pass(10).await;
        assert_eq!(harness.platform.posted_texts().len(), 1);
        let spoke = harness.platform.posted.lock().unwrap()[0].1.at;
        harness.mind.calls();
        for round in 0..4 {
            harness.says("alice", &format!("round {round}")).await;
            harness.pass(100).await;
        }
        let harness = harness.restart().await;
        harness.says("bob", "and on").await;
        harness.pass(100).await;
        assert_eq!(harness.mind.verbs(), "");
        let settled = rows(&harness).await.split_off(1);
        assert!(settled.iter().all(|row| row.gate == Some(Gate::Cooldown)), "{settled:#?}");
        // A mention is answered during the cooldown.
        harness.says("carol", "@Aizuchi are you there?").await;
        harness.pass(10).await;
        assert_eq!(harness.mind.verbs(), "reply");
        // Then the cooldown is over.
        harness.clock.advance_to(spoke + SignedDuration::from_mins(10));
        harness.says("bob", "so what do we do?").await;
        harness.pass(10).await;
        assert_eq!(harness.mind.verbs(), "reply judge");
    })
    .await;
}

#[tokio::test]
async fn an_unchanged_conversation_is_silence_in_the_same_call() {
    for (same, changed, spoke) in
        [(true, false, false), (true, true, true), (false, false, true), (false, true, true)]
    {
        on_every_store(async |store| {
            let harness = facilitated(store).await;
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
            talk(&harness, 3).await;
            harness.pass(700).await;
            assert!(
                !harness.mind.prompt_texts(PromptVerb::Judge)[0].contains("### same_conversation")
            );
            harness.mind.calls();
            let more = format!(r#", "same_conversation": {same}, "situation_changed": {changed}"#);
            harness.mind.script.push(PromptVerb::Judge, Ok(&says(true, &more)));
            talk(&harness, 3).await;
            harness.pass(100).await;
            let expected = if spoke { "judge reply" } else { "judge" };
            assert_eq!(harness.mind.verbs(), expected, "{same} {changed}");
            let asked = harness.mind.prompt_texts(PromptVerb::Judge).remove(0);
            assert!(asked.contains("### same_conversation") && asked.contains("When you last"));
            assert!(asked.contains("Here I am."), "its own words are part of the talk");
        })
        .await;
    }
}

#[tokio::test]
async fn a_post_that_failed_is_no_intervention() {
    on_every_store(async |store| {
        let harness = facilitated(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.platform.fails(&[Fault::Refused]);
        talk(&harness, 3).await;
        harness.pass(60).await;
        assert!(harness.platform.posted_texts().is_empty());
        assert_eq!(rows(&harness).await[0].ended, Some(DecisionResult::Failed));
        harness.mind.calls();
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        talk(&harness, 1).await;
        harness.pass(60).await;
        assert_eq!(harness.mind.verbs(), "judge reply");
        assert!(!harness.mind.prompt_texts(PromptVerb::Judge)[0].contains("### same_conversation"));
    })
    .await;
}

/// The post was in flight when the mention came, and still counts as unsolicited.
#[tokio::test]
async fn a_mention_during_a_post_does_not_undo_the_intervention() {
    on_every_store(async |store| {
        let harness = facilitated(store).await;
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        let there = harness.clone();
        harness.platform.meanwhile(|| async move {
            there.says("dan", "@Aizuchi what do you think?").await;
        });
        talk(&harness, 3).await;
        harness.pass(60).await;
        assert_eq!(harness.platform.posted_texts().len(), 2);
        harness.mind.calls();
        talk(&harness, 4).await;
        harness.pass(60).await;
        assert_eq!(harness.mind.verbs(), "");
        let last = rows(&harness).await.pop().unwrap();
        assert_eq!(last.gate, Some(Gate::Cooldown));
        let first = rows(&harness).await.remove(0);
        assert!(!first.is_addressed && first.ended == Some(DecisionResult::Spoke), "{first:#?}");
    })
    .await;
}
