//! The persona does not talk over an answer, whether or not the answer names anyone: the default wait, on every
//! store, with a judge that always wants to speak.

use std::path::Path;

use aizuchi_harness::fixtures::{JOIN_IN_60, START, message, thread};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{Arrival, Heard, MessageId};
use insta::assert_snapshot;
use serde_json::Value;

const STAY_SILENT: &str =
    r#"{"should_respond": false, "reason": "it has been answered", "confidence": 0.9}"#;

/// A channel in which these users write, each this many seconds after the previous one. The judge always says yes,
/// with a delay.
async fn after_messages(store: TestStore, messages: &[(i64, &str, &str)]) -> Harness {
    let harness = Harness::new(store).await;
    harness.mind.script.set_default(PromptVerb::Judge, JOIN_IN_60);
    for (seconds, user, text) in messages {
        harness.pass(*seconds).await;
        harness.says(user, text).await;
    }
    harness
}

#[tokio::test]
async fn an_answer_that_names_nobody_is_not_spoken_over() {
    let transcript = on_every_store(async |store| {
        let harness = after_messages(
            store,
            &[
                (0, "carol", "good morning"),
                (30, "ann", "where is the key for the shed?"),
                (100, "bob", "on the hook by the door"),
                (20, "ann", "got it, thanks!"),
            ],
        )
        .await;
        harness.pass(10_000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s carol: good morning
      30s ann: where is the key for the shed?
     130s bob: on the hook by the door
     150s ann: got it, thanks!
    [m000 m001] dropped: the person who asked is satisfied (judge kept)
    [m002 m003] chose_silence by nothing_open: nobody seemed to be waiting for an answer ()
    ");
}

#[tokio::test]
async fn an_arrangement_between_two_is_theirs() {
    let transcript = on_every_store(async |store| {
        let harness = after_messages(
            store,
            &[
                (0, "ann", "anyone free for lunch?"),
                (95, "bob", "me! 12:30?"),
                (15, "ann", "great, see you then"),
            ],
        )
        .await;
        harness.pass(10_000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s ann: anyone free for lunch?
      95s bob: me! 12:30?
     110s ann: great, see you then
    [m000] dropped: bob responded to it in the meantime (0.63) (judge kept)
    [m001 m002] chose_silence by nothing_open: nobody seemed to be waiting for an answer ()
    ");
}

#[tokio::test]
async fn what_is_settled_in_japanese_is_not_spoken_over() {
    let talks: [&[(i64, &str, &str)]; 3] = [
        &[
            (0, "carol", "おはようございます"),
            (30, "ann", "物置の鍵はどこですか？"),
            (100, "bob", "入り口のフックです"),
            (20, "ann", "ありました、ありがとう！"),
        ],
        &[
            (0, "ann", "誰かランチ行きませんか？"),
            (95, "bob", "行きます！12時半でどうでしょう"),
            (15, "ann", "了解です、ではのちほど"),
        ],
        &[
            (0, "bob", "名札の紐、通し終わりました"),
            (30, "ann", "印刷機、ふたを閉めても動かない。故障したのかな？"),
            (25, "ann", "あ、トレイが半開きになってただけでした。お騒がせしました"),
            (20, "bob", "よかったです〜"),
        ],
    ];
    for messages in talks {
        on_every_store(async |store| {
            let harness = after_messages(store, messages).await;
            harness.pass(10_000).await;
            let transcript = harness.transcript().await;
            assert!(harness.platform.posted_texts().is_empty(), "{transcript}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_question_after_greetings_and_one_to_everyone_are_open() {
    for (greeting, answer, question) in [
        ("hi Mia", "hey Ken", "does anyone know when the shop opens?"),
        ("hi Mia", "hey Ken", "@everyone when does the shop open?"),
        ("みあさん、おはよう", "ケンさん、おはよう", "お店が何時に開くか、誰か知りませんか"),
        ("おはよう", "おはようございます", "@everyone お店は何時に開きますか"),
    ] {
        on_every_store(async |store| {
            let harness = after_messages(
                store,
                &[(0, "ken", greeting), (5, "mia", answer), (5, "mia", question)],
            )
            .await;
            harness.pass(10_000).await;
            let transcript = harness.transcript().await;
            assert_eq!(harness.platform.posted_texts(), ["Here I am."], "{transcript}");
        })
        .await;
    }
}

#[tokio::test]
async fn thanks_in_advance_close_nothing() {
    for (question, thanks) in [
        ("who has the key to the shed?", "thanks in advance!"),
        ("物置の鍵を持っている方いますか。", "よろしくお願いします"),
    ] {
        on_every_store(async |store| {
            let messages = [(0, "ann", question), (20, "ann", thanks)];
            let harness = after_messages(store, &messages).await;
            harness.pass(10_000).await;
            let transcript = harness.transcript().await;
            assert_eq!(harness.platform.posted_texts(), ["Here I am."], "{transcript}");
        })
        .await;
    }
}

#[tokio::test]
async fn trouble_that_is_told_is_judged_and_small_talk_is_not() {
    for (text, is_judged) in [
        ("our cat is at the vet, I am so worried", true),
        ("we won the cup! 🎉", true),
        ("プリンターが動かなくて困っています", true),
        ("it rains again", false),
        ("ok", false),
        ("了解です", false),
        // A question mark in code, in a link or in a quotation is not a question.
        ("the pattern is `a?b` there", false),
        ("https://example.org/?page=2", false),
        ("> who has the key?\nit hangs by the door", false),
        ("書き方は `a?b` です", false),
        ("資料は https://example.org/?page=2 です", false),
        ("> 鍵はどこですか？\n入り口のフックです", false),
    ] {
        on_every_store(async |store| {
            let harness = after_messages(store, &[(0, "ann", text)]).await;
            harness.pass(10_000).await;
            let judged = !harness.mind.prompt_texts(PromptVerb::Judge).is_empty();
            assert_eq!(judged, is_judged, "{text}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_reply_to_the_personas_own_post_is_judged() {
    on_every_store(async |store| {
        let harness = after_messages(store, &[(0, "ann", "where is the key for the shed?")]).await;
        harness.mind.script.set_default(PromptVerb::Reply, "It is on the hook by the door.");
        harness.pass(1000).await;
        let before = harness.mind.prompt_texts(PromptVerb::Judge).len();
        harness.says("ann", "yes, there it is").await;
        harness.pass(1000).await;
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Judge).len(), before + 1);
    })
    .await;
}

#[tokio::test]
async fn an_answer_to_the_personas_own_question_is_owed_a_reply() {
    for (asked, answer, is_owed) in [
        ("Is it on the hook by the door?", "yes, there it is", true),
        ("入り口のフックに掛かっていませんか？", "はい、ありました", true),
        // Not, or not certainly, to the persona.
        ("Is it on the hook by the door?", "bob: did you take it?", false),
        ("Is it on the hook by the door?", "does anyone want tea?", false),
        ("Is it on the hook by the door?", "Aizuchi seems to talk less than last week", false),
        ("入り口のフックに掛かっていませんか？", "Aizuchiって先週より無口になった気がする", false),
    ] {
        on_every_store(async |store| {
            let harness =
                after_messages(store, &[(0, "ann", "where is the key for the shed?")]).await;
            harness.mind.script.set_default(PromptVerb::Reply, asked);
            harness.pass(1000).await;
            harness.mind.script.set_default(PromptVerb::Reply, "Good.");
            harness.says("ann", answer).await;
            harness.pass(2).await;
            let posted = harness.platform.posted_texts();
            assert_eq!(posted.len(), 1 + usize::from(is_owed), "{answer}");
        })
        .await;
    }
}

/// A slip of the finger is corrected before the reply.
#[tokio::test]
async fn an_answer_to_the_personas_own_question_may_be_edited() {
    for (edited, is_owed) in [("yes, there it was", true), ("@bob did you take it?", false)] {
        on_every_store(async |store| {
            let harness =
                after_messages(store, &[(0, "ann", "where is the key for the shed?")]).await;
            harness.mind.script.set_default(PromptVerb::Reply, "Is it on the hook by the door?");
            harness.pass(1000).await;
            harness.mind.script.set_default(PromptVerb::Reply, "Good.");
            let answer = harness.says("ann", "yes, there it is").await;
            harness.edits(&answer, edited).await;
            harness.pass(2).await;
            let posted = harness.platform.posted_texts();
            assert_eq!(posted.len(), 1 + usize::from(is_owed), "{edited}");
        })
        .await;
    }
}

#[tokio::test]
async fn an_answer_in_the_thread_of_the_personas_own_question_is_owed_a_reply() {
    for (asked, answer) in [
        ("Is it on the hook by the door?", "yes, there it is"),
        ("入り口のフックに掛かっていませんか？", "はい、ありました"),
    ] {
        on_every_store(async |store| {
            let harness =
                after_messages(store, &[(0, "ann", "where is the key for the shed?")]).await;
            harness.mind.script.set_default(PromptVerb::Reply, asked);
            harness.pass(1000).await;
            harness.mind.script.set_default(PromptVerb::Reply, "Good.");
            let own = harness.messages("garden").await;
            let own = own.iter().find(|stored| &*stored.message.text == asked).unwrap();
            let in_thread = thread("garden", own.message.id.as_str());
            harness.says_in(in_thread.clone(), "ann", answer).await;
            harness.pass(2).await;
            assert_eq!(harness.platform.posts_in(&in_thread), 1, "{answer}");
        })
        .await;
    }
}

/// The outcome of a question with replies in its thread, given as (seconds later, author, text).
async fn asked_in_thread(store: TestStore, replies: &[(i64, &str, &str)]) -> String {
    let harness = after_messages(store, &[]).await;
    let question = harness.says("ann", "where is the key for the shed?").await;
    for (seconds, user, text) in replies {
        harness.pass(*seconds).await;
        harness.says_in(thread("garden", question.as_str()), user, text).await;
    }
    harness.pass(2000).await;
    let judged = harness.mind.prompt_texts(PromptVerb::Judge).len();
    format!("{} in {judged} calls", harness.transcript().await)
}

#[tokio::test]
async fn a_question_with_a_thread_is_judged_there_alone() {
    let transcript =
        on_every_store(async |store| asked_in_thread(store, &[(10, "ann", "the old one")]).await);
    assert_snapshot!(transcript.await, @"
       0s ann: where is the key for the shed?
      10s   ann: the old one
     160s   (persona): Here I am.
    [m000] chose_silence by nothing_open: nobody seemed to be waiting for an answer ()
    [m001] spoke: give them a minute (judge kept, reply kept)
     in 1 calls
    ");
    let transcript = on_every_store(async |store| {
        let replies = [(10, "bob", "which shed?"), (20, "ann", "the one by the pond")];
        asked_in_thread(store, &replies).await
    });
    // A user who asks back takes the question up.
    assert_snapshot!(transcript.await, @"
       0s ann: where is the key for the shed?
      10s   bob: which shed?
      30s   ann: the one by the pond
     180s   (persona): Here I am.
    [m000] chose_silence by nothing_open: nobody seemed to be waiting for an answer ()
    [m001 m002] spoke: give them a minute (judge kept, reply kept)
     in 1 calls
    ");
}

#[tokio::test]
async fn a_japanese_question_and_its_thread_get_one_verdict() {
    for (seconds, calls) in [(10, 1), (100, 2)] {
        on_every_store(async |store| {
            let harness = after_messages(store, &[(0, "ann", "物置の鍵はどこですか？")]).await;
            harness.pass(seconds).await;
            harness.says_in(thread("garden", "m000"), "ann", "古いほうです").await;
            harness.pass(2000).await;
            assert_eq!(harness.platform.posted_texts(), ["Here I am."], "{seconds}");
            // A question that was judged at the top level is judged again in its thread.
            assert_eq!(harness.mind.prompt_texts(PromptVerb::Judge).len(), calls, "{seconds}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_verdict_is_left_to_the_thread_that_was_opened_meanwhile() {
    let transcript =
        on_every_store(async |store| asked_in_thread(store, &[(100, "ann", "the old one")]).await);
    assert_snapshot!(transcript.await, @"
       0s ann: where is the key for the shed?
     100s   ann: the old one
     250s   (persona): Here I am.
    [m000] dropped: the conversation moved to the message’s thread (judge kept)
    [m001] spoke: give them a minute (judge kept, reply kept)
     in 2 calls
    ");
}

/// A question to the channel with an answer there, and its asker's next message in its thread.
#[tokio::test]
async fn what_was_answered_in_the_channel_is_not_open_in_its_thread() {
    on_every_store(async |store| {
        let harness = after_messages(store, &[]).await;
        let question = harness.says("ann", "where is the key for the shed?").await;
        harness.pass(40).await;
        harness.says("bob", "on the hook by the door").await;
        harness.pass(20).await;
        harness.says("ann", "got it, thanks!").await;
        harness.pass(10).await;
        harness.says_in(thread("garden", question.as_str()), "ann", "the old one").await;
        harness.pass(2000).await;
        assert!(harness.platform.posted_texts().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_mention_that_was_answered_is_not_open_in_its_thread() {
    on_every_store(async |store| {
        let harness = after_messages(store, &[]).await;
        let question = harness.says("ann", "@Aizuchi where is the key for the shed?").await;
        harness.pass(10).await;
        assert_eq!(harness.platform.posted_texts().len(), 1);
        harness.says_in(thread("garden", question.as_str()), "ann", "thanks, got it").await;
        harness.pass(2000).await;
        assert_eq!(harness.platform.posted_texts().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn what_the_persona_has_answered_is_not_open() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("bob", "@Aizuchi which size is it?").await;
        harness.pass(10).await;
        harness.says("bob", "half an inch, I think").await;
        harness.says("ann", "who has a washer of that size?").await;
        harness.pass(2000).await;
        let prompt = harness.mind.prompt_texts(PromptVerb::Judge).remove(0);
        let open = prompt.lines().filter(|line| line.contains("still open"));
        assert_eq!(open.count(), 1, "{prompt}");
    })
    .await;
}

#[tokio::test]
async fn a_question_is_not_left_to_a_thread_that_is_not_judged() {
    on_every_store(async |store| {
        let harness = after_messages(store, &[]).await;
        let question = harness.says("ann", "where is the key for the shed?").await;
        harness.pass(10).await;
        let in_thread = thread("garden", question.as_str());
        let missed = message(in_thread, "m9", harness.clock.now(), "ann", "the old one");
        let heard = Heard::Message(missed, Arrival::Backfilled);
        harness.inbox.hear(heard).await.unwrap();
        harness.pass(2000).await;
        assert_eq!(harness.platform.posted_texts().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_question_is_judged_in_its_thread_though_somebody_is_called_there() {
    on_every_store(async |store| {
        let harness = after_messages(store, &[(0, "bob", "good morning")]).await;
        let question = harness.says("ann", "where is the key for the shed?").await;
        harness.pass(10).await;
        harness.says_in(thread("garden", question.as_str()), "ann", "@bob maybe you?").await;
        harness.pass(2000).await;
        assert_eq!(harness.platform.posted_texts().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_call_by_name_is_owed_an_answer() {
    for (text, is_answered) in [
        ("Aizuchi, could you sum that up?", true),
        ("Aizuchi、まとめてください", true),
        ("Aizuchi is slow today", false),
    ] {
        on_every_store(async |store| {
            let harness = Harness::new(store).await;
            harness.says("ann", text).await;
            harness.pass(5).await;
            assert_eq!(harness.platform.posted_texts().len(), usize::from(is_answered), "{text}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_name_that_a_user_has_calls_that_user() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("Aizuchi", "hello").await;
        harness.says("ann", "Aizuchi, could you sum that up?").await;
        harness.pass(5).await;
        assert!(harness.platform.posted_texts().is_empty());
    })
    .await;
}

/// The persona's behavior in channels that were written for this test by authors who did not know the models.
#[derive(Debug, Default, PartialEq)]
struct Count {
    answered: usize,
    spoken_over: usize,
    plainly_answered: usize,
    plainly_spoken_over: usize,
    open: usize,
    dropped: usize,
}

/// The judge always says yes with a delay, and the reply never chooses silence, so only the structure decides.
#[tokio::test]
async fn among_strangers_the_structure_alone_holds_back_an_eager_judge() {
    let mut count = Count::default();
    for channel in channels_of_strangers() {
        let is_plain = channel["plain"] == true;
        if let Some(answer) = answered_by(&channel) {
            // Speaking before the first answer is not speaking over it.
            let spoke = speaks_after(&channel, answer, JOIN_IN_60).await;
            count.answered += 1;
            count.spoken_over += usize::from(spoke);
            count.plainly_answered += usize::from(is_plain);
            count.plainly_spoken_over += usize::from(is_plain && spoke);
        } else {
            let spoke = speaks_after(&channel, asked(&channel), JOIN_IN_60).await;
            count.open += 1;
            count.dropped += usize::from(!spoke);
        }
    }
    // The measured values: see docs/internals/eval.md. A change of the models changes them.
    assert_snapshot!(
        format!("{count:?}"),
        @"Count { answered: 240, spoken_over: 185, plainly_answered: 150, plainly_spoken_over: 107, open: 160, dropped: 4 }"
    );
}

/// The judge says yes until somebody answers, and no from then on: what it has said before is not posted any more.
#[tokio::test]
async fn among_strangers_an_honest_judge_speaks_over_hardly_any_answer() {
    let (mut answered, mut spoken_over) = (0, 0);
    for channel in channels_of_strangers() {
        if let Some(answer) = answered_by(&channel) {
            answered += 1;
            spoken_over += usize::from(speaks_after(&channel, answer, STAY_SILENT).await);
        }
    }
    // The measured values: see docs/internals/eval.md. A change of the models changes them.
    assert_snapshot!(format!("{spoken_over} of {answered}"), @"3 of 240");
}

fn channels_of_strangers() -> Vec<Value> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../aizuchi-structure/examples/fit_structure");
    let read = |name| std::fs::read_to_string(folder.join(name)).unwrap();
    let channels = ["rooms.jsonl", "rooms2.jsonl"].map(read).concat();
    channels.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn asked(channel: &Value) -> usize {
    channel["asked"].as_u64().unwrap() as usize
}

/// The first message that answers a channel's question, according to its author or a reader.
fn answered_by(channel: &Value) -> Option<usize> {
    let by_writer = || {
        let mut messages = channel["messages"].as_array().unwrap().iter();
        messages.position(|message| message["role"] == "answers")
    };
    let is_answered = channel["status"] == "answered";
    let by_reader = || channel["answered_by"].as_u64().map(|index| index as usize);
    is_answered.then(|| by_reader().or_else(by_writer).unwrap())
}

/// Whether the persona speaks after a message of a channel. `verdict` is that of the judge from that message on.
async fn speaks_after(channel: &Value, index: usize, verdict: &str) -> bool {
    let harness = Harness::new(TestStore::volatile()).await;
    harness.mind.script.set_default(PromptVerb::Judge, JOIN_IN_60);
    let mut after: Option<MessageId> = None;
    for (number, message) in channel["messages"].as_array().unwrap().iter().enumerate() {
        let at = message["at"].as_f64().unwrap() as i64;
        harness.pass(START + at - harness.clock.now().as_second()).await;
        let author = message["author"].as_str().unwrap();
        if number == index {
            harness.mind.script.set_default(PromptVerb::Judge, verdict);
        }
        let id = harness.says(author, message["text"].as_str().unwrap()).await;
        if number == index {
            after = Some(id);
        }
    }
    harness.pass(4000).await;
    let messages = harness.messages("garden").await;
    let first = messages.iter().position(|message| Some(&message.message.id) == after.as_ref());
    messages[first.unwrap()..]
        .iter()
        .any(|message| message.message.author.id.as_str() == "u-persona")
}
