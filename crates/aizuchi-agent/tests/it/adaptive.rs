//! The adaptive wait, which follows the tempo of the channel: transcripts on every store, and properties of its rule.

use aizuchi_harness::fixtures::{JOIN, at, top_level};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::on_every_store;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::MessageId;
use aizuchi_model::rhythm::tempo::Tempo;
use aizuchi_model::rhythm::{OpenMessage, WaitBounds, judge_due, rest_duration};
use insta::assert_snapshot;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

/// The number of seconds until the judge is called, if no further message comes.
async fn silence(harness: &Harness) -> i64 {
    let began = harness.clock.now();
    while harness.step_of(&top_level("garden")).await.is_some() {
        harness.pass(1).await;
        assert!(harness.clock.now().duration_since(began) < SignedDuration::from_hours(2));
    }
    harness.clock.now().duration_since(began).as_secs()
}

#[tokio::test]
async fn a_question_to_the_channel_is_judged_sooner_than_a_statement() {
    let report = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let mut report = String::new();
        for text in [
            "thanks, the roses are in",
            "does anyone know why the roses look ill?",
            "鉢植えの土はどこで買えますか",
            "ラベンダーはいつ植えるのがよいでしょうか。",
        ] {
            harness.says("alice", text).await;
            let waited = silence(&harness).await;
            report.push_str(&format!("{waited:>3} s after: {text}\n"));
            harness.pass(1).await;
        }
        report
    });
    assert_snapshot!(report.await, @"
    300 s after: thanks, the roses are in
     90 s after: does anyone know why the roses look ill?
     90 s after: 鉢植えの土はどこで買えますか
     90 s after: ラベンダーはいつ植えるのがよいでしょうか。
    ");
}

#[tokio::test]
async fn the_wait_follows_the_tempo_of_the_channel() {
    let report = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let mut report = String::new();
        for gap in [100, 20, 5, 1] {
            for _ in 0..30 {
                harness.says("alice", "so it goes").await;
                harness.pass(gap).await;
            }
            harness.says("bob", "it does").await;
            let waited = silence(&harness).await;
            report.push_str(&format!("a message every {gap:>3} s: {waited} s\n"));
        }
        report
    });
    assert_snapshot!(report.await, @"
    a message every 100 s: 300 s
    a message every  20 s: 258 s
    a message every   5 s: 65 s
    a message every   1 s: 15 s
    ");
}

/// Two users talk to each other while a question waits.
const BESIDE_THE_QUESTION: [(&str, &str); 2] =
    [("bob", "@carol the tulips are out"), ("carol", "@bob so are the lilies")];

#[tokio::test]
async fn further_messages_do_not_delay_the_judgment_of_a_question() {
    let report = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let mut report = String::new();
        for gap in [50, 2] {
            harness.says("alice", "does anyone have a ladder?").await;
            let (asked, began) =
                (harness.mind.prompt_texts(PromptVerb::Judge).len(), harness.clock.now());
            let mut messages = 0;
            while harness.mind.prompt_texts(PromptVerb::Judge).len() == asked {
                harness.pass(gap).await;
                if harness.mind.prompt_texts(PromptVerb::Judge).len() == asked {
                    let (user, text) = BESIDE_THE_QUESTION[messages % 2];
                    harness.says(user, text).await;
                    harness.pass(0).await;
                    messages += 1;
                }
            }
            let waited = harness.clock.now().duration_since(began).as_secs();
            report.push_str(&format!(
                "a message every {gap:>2} s: {waited} s, {messages} messages below\n"
            ));
            harness.pass(1000).await;
        }
        report
    });
    assert_snapshot!(report.await, @"
    a message every 50 s: 250 s, 4 messages below
    a message every  2 s: 32 s, 16 messages below
    ");
}

#[tokio::test]
async fn an_answered_question_has_no_timer() {
    let report = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let mut report = String::new();
        for answer in ["@alice bob has one", "@carol the tulips are out"] {
            harness.says("alice", "does anyone have a ladder?").await;
            harness.pass(10).await;
            harness.says("bob", answer).await;
            report.push_str(&format!("{} s after: {answer}\n", silence(&harness).await));
        }
        report
    });
    assert_snapshot!(report.await, @"
    300 s after: @alice bob has one
    90 s after: @carol the tulips are out
    ");
}

#[tokio::test]
async fn messages_during_the_judge_call_do_not_cancel_it() {
    let report = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        let inbox = harness.inbox.clone();
        let clock = harness.clock.clone();
        harness.mind.meanwhile(PromptVerb::Judge, move || async move {
            let message = aizuchi_harness::fixtures::message(
                aizuchi_harness::fixtures::top_level("garden"),
                "m9",
                clock.now(),
                "carol",
                "my tulips are late",
            );
            let heard =
                aizuchi_model::chat::Heard::Message(message, aizuchi_model::chat::Arrival::Live);
            inbox.hear(heard).await.unwrap();
        });
        harness.says("alice", "does anyone have a ladder?").await;
        harness.pass(1000).await;
        harness.transcript().await
    });
    assert_snapshot!(report.await, @"
       0s alice: does anyone have a ladder?
      90s u-carol: my tulips are late
      90s (persona): Here I am.
    [m000 m9] spoke: nobody answers (judge kept, reply kept)
    ");
}

fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

fn tempo(gaps: &[i64]) -> Tempo {
    let mut tempo = Tempo::default();
    let mut second = 0;
    for gap in gaps {
        second += gap;
        tempo.record_message(at(second));
    }
    tempo
}

fn asked(at: Timestamp, messages_since: usize) -> OpenMessage {
    OpenMessage { message: MessageId::new("q"), at, messages_since, names_persona: false }
}

prop_compose! {
    fn bounds()(floor in 0..400i64, longest in 0..4000i64, ceiling in 0..8000i64) -> WaitBounds {
        WaitBounds { min_rest: seconds(floor), max_rest: seconds(longest), max_wait: seconds(ceiling) }
    }
}

proptest! {
    #[test]
    fn the_wait_is_within_its_bounds(gaps in prop::collection::vec(0..100_000i64, 0..50), bounds in bounds()) {
        let rest = rest_duration(&tempo(&gaps), &bounds);
        prop_assert!(rest >= bounds.min_rest.min(bounds.max_rest));
        prop_assert!(rest <= bounds.max_rest);
    }

    #[test]
    fn slower_channels_have_longer_waits(
        gaps in prop::collection::vec((0..5000i64, 0..5000i64), 1..50),
        messages in 0..30usize,
        age in 0..1000i64,
        is_open: bool,
        bounds in bounds(),
    ) {
        let fast = tempo(&gaps.iter().map(|(gap, _)| *gap).collect::<Vec<_>>());
        let slow = tempo(&gaps.iter().map(|(gap, more)| gap + more).collect::<Vec<_>>());
        let now = at(1_000_000);
        let asked = is_open.then(|| asked(now - seconds(age), messages));
        let since = now - seconds(age);
        let of = |tempo| judge_due(now, tempo, asked.as_slice(), since, &bounds);
        prop_assert!(of(&fast) <= of(&slow));
    }

    #[test]
    fn a_question_never_lengthens_the_wait_and_has_a_deadline(
        gaps in prop::collection::vec(0..5000i64, 0..50),
        messages in 0..30usize,
        age in 0..1000i64,
        bounds in bounds(),
    ) {
        let tempo = tempo(&gaps);
        let (now, since) = (at(1_000_000), at(1_000_000 - age));
        let asked = asked(since, messages);
        let with = judge_due(now, &tempo, &[asked], since, &bounds);
        let without = judge_due(now, &tempo, &[], since, &bounds);
        prop_assert!(now <= with && with <= without);
        prop_assert!(with <= now.max(since + seconds(210)));
        prop_assert!(without <= now.max(since + bounds.max_wait));
        prop_assert!(messages < 16 || with == now);
    }
}
