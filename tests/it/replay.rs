//! Replays: the real pipeline on a virtual clock, deterministic to the byte.

use std::path::Path;
use std::sync::Arc;

use aizuchi_import::history::RecordedChannel;
use aizuchi_import::input::{InputOptions, Recording};
use aizuchi_past::replay::score::ReplayScore;
use aizuchi_past::replay::{Policy, Replay, ReplayJudge, ReplaySettings, replay};
use serde_json::Value;

use crate::replay_inputs::messages;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn policy(name: &str) -> Policy {
    Policy::open(&root().join(format!("policies/{name}.yaml"))).unwrap()
}

/// Returns a history of three users in one channel: a burst of messages every ten minutes, a second apart, and an
/// unanswered question between two bursts.
fn history(bursts: usize) -> Vec<RecordedChannel> {
    let mut lines = String::new();
    let mut record = |ts: f64, author: &str, text: &str, opener: bool| {
        let number = lines.lines().count();
        let line = serde_json::json!({
            "room": "porch", "thread": null, "id": format!("l{number:04}"), "ts": ts, "author": author,
            "text": text, "reply_to": [], "bot": author == "parrot", "opener": opener,
        });
        lines.push_str(&format!("{line}\n"));
    };
    for burst in 0..bursts {
        let begin = 1000.0 + 600.0 * burst as f64;
        for message in 0..5 {
            record(
                begin + f64::from(message),
                ["ann", "bob", "cid"][message as usize % 3],
                "so it goes",
                false,
            );
        }
        record(begin + 5.0, "parrot", "hello", false);
        if burst == 1 {
            record(begin + 120.0, "dan", "does anyone have a ladder?", true);
        }
    }
    Recording::read(&mut lines.as_bytes(), "lines", &InputOptions::default()).unwrap().channels
}

fn run(
    history: &[RecordedChannel],
    policy: &Policy,
    judge: ReplayJudge,
    latency_ms: u64,
    seed: u64,
) -> (ReplayScore, Vec<Value>, Vec<u8>) {
    let mut bytes = Vec::new();
    let settings = ReplaySettings { judge, latency_ms, seed };
    let score = replay(history, policy, &settings, Some(&mut bytes), &|_| {}).unwrap();
    let events = String::from_utf8(bytes.clone()).unwrap();
    let events = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (score, events, bytes)
}

fn count(events: &[Value], kind: &str) -> usize {
    events.iter().filter(|event| event["kind"] == kind).count()
}

#[test]
fn equal_seeds_give_equal_bytes() {
    let history = history(10);
    let policy = policy("debounce-30");
    let (_, _, one) = run(&history, &policy, ReplayJudge::Builtin, 4000, 1);
    let (_, _, again) = run(&history, &policy, ReplayJudge::Builtin, 4000, 1);
    let (_, _, other) = run(&history, &policy, ReplayJudge::Builtin, 4000, 2);
    assert_eq!(one, again);
    assert_ne!(one, other);
}

/// Returns channels with the same users and the same message ids, the longest first.
fn nine_channels() -> Vec<RecordedChannel> {
    let channel = |number: usize| {
        let mut channel = history(number).remove(0);
        channel.name = format!("room {number}");
        channel
    };
    (1..=9).rev().map(channel).collect()
}

#[test]
fn a_defect_in_one_channel_ends_the_replay_of_all() {
    let policy = policy("adaptive");
    let mut channels = nine_channels();
    channels[1].bytes = Arc::default();
    for threads in [0, 1, 2] {
        let settings = ReplaySettings { judge: ReplayJudge::Silent, latency_ms: 0, seed: 1 };
        let replay = Replay::new(&policy, settings).unwrap().on_threads(threads);
        let failed = replay.run(&channels, None, &mut |_, _| Ok(()));
        assert_eq!(failed.err().unwrap().to_string(), "cannot read a message again");
    }
}

#[test]
fn channels_side_by_side_give_what_they_give_one_after_the_other() {
    let history = nine_channels();
    for (name, judge) in [
        ("adaptive", ReplayJudge::Builtin),
        ("facilitator", ReplayJudge::Speak),
        ("every-message", ReplayJudge::Silent),
    ] {
        let policy = policy(name);
        let run = |threads: usize| {
            let settings = ReplaySettings { judge, latency_ms: 4000, seed: 1 };
            let replay = Replay::new(&policy, settings).unwrap().observed().on_threads(threads);
            let mut events = Vec::new();
            let mut score = ReplayScore::new(&policy);
            let mut moments = Vec::new();
            let mut taken = Vec::new();
            replay
                .run(&history, Some(&mut events), &mut |channel, record| {
                    taken.push(channel.name.clone());
                    score.add(channel, record);
                    moments.push(record.moments.take());
                    Ok(())
                })
                .unwrap();
            assert!(taken.iter().rev().is_sorted() && taken.len() == 9);
            score.elapsed_seconds = 0.0;
            (events, score, moments)
        };
        let in_turn = run(1);
        assert!(!in_turn.0.is_empty(), "{name}");
        assert!(in_turn == run(2) && in_turn == run(7), "{name}");
    }
}

#[test]
fn every_message_is_judged_once_even_at_equal_times() {
    let mut history = history(3);
    for channel in &mut history {
        let mut messages = messages(channel);
        for message in &mut messages {
            message.ts = message.ts.floor() - message.ts.floor() % 3.0;
        }
        let is_annotated = channel.is_annotated;
        *channel = RecordedChannel {
            is_annotated,
            ..RecordedChannel::from_messages("porch".to_owned(), messages)
        };
    }
    let (score, events, _) = run(&history, &policy("every-message"), ReplayJudge::Silent, 0, 1);
    assert_eq!(score.human_messages, 16);
    assert_eq!(score.judge_calls, 16);
    assert_eq!(count(&events, "judge_called"), 16);
    assert_eq!(count(&events, "heard"), 19);
}

#[test]
fn each_pause_is_judged_once_including_the_end_of_the_recording() {
    let (score, events, _) = run(&history(4), &policy("debounce-30"), ReplayJudge::Silent, 0, 1);
    // Four bursts and one question.
    assert_eq!(score.judge_calls, 5);
    assert_eq!((score.open_questions, score.reached_questions), (1, 1));
    let last = events.last().unwrap();
    assert_eq!((&last["kind"], &last["message"]), (&"judge_called".into(), &"l0024".into()));
}

#[test]
fn a_debounce_without_a_maximum_waits_until_the_conversation_pauses() {
    for (name, gap) in [("quiet-300", 200), ("debounce-30", 20)] {
        // There is no pause for three hours.
        let line = |number: usize| {
            let (id, ts) = (format!("l{number:04}"), 1000 + number * gap);
            serde_json::json!({
                "room": "porch", "id": id, "ts": ts, "author": "ann", "text": "so it goes",
            })
        };
        let lines: Vec<String> = (0..10_800 / gap).map(|number| line(number).to_string()).collect();
        let history =
            Recording::read(&mut lines.join("\n").as_bytes(), "lines", &InputOptions::default())
                .unwrap()
                .channels;
        let (score, _, _) = run(&history, &policy(name), ReplayJudge::Silent, 0, 1);
        assert_eq!(score.judge_calls, 1, "{name}");
    }
}

#[test]
fn calls_in_flight_are_superseded_by_new_messages() {
    let (score, events, _) =
        run(&history(3), &policy("every-message"), ReplayJudge::Silent, 4000, 1);
    assert_eq!(score.judge_calls, 16);
    assert_eq!(score.superseded_calls, count(&events, "cancelled"));
    assert_eq!(score.superseded_calls, 12, "all but the last of each burst, and the lone question");
}

#[test]
fn an_always_positive_judge_posts_after_each_pause() {
    let (score, events, _) = run(&history(3), &policy("debounce-30"), ReplayJudge::Speak, 4000, 1);
    assert_eq!(score.spoken_posts, 4);
    for speak in events.iter().filter(|event| event["kind"] == "speak") {
        let t = speak["t"].as_f64().unwrap();
        let unseen = events.iter().filter(|event| event["kind"] == "heard").any(|heard| {
            let age = t - heard["t"].as_f64().unwrap();
            (0.0..=5.0).contains(&age) && heard["message"].as_str() > speak["message"].as_str()
        });
        assert!(!unseen, "the post preempted a message: {speak}");
    }
}

#[test]
fn an_always_positive_judge_answers_open_questions() {
    let history = history(3);
    let (_, events, _) = run(&history, &policy("adaptive"), ReplayJudge::Speak, 4000, 1);
    let speaks: Vec<_> = events.iter().filter(|event| event["kind"] == "speak").collect();
    let about = |id: &str| speaks.iter().filter(|speak| speak["about"] == id).count();
    assert_eq!(about("l0012"), 1, "{speaks:?}");
}

#[test]
fn a_judgment_in_a_thread_does_not_reach_a_question_at_the_top_level() {
    let line = |id: usize, ts: usize, thread: Option<&str>, text: &str| {
        serde_json::json!({
            "room": "porch", "thread": thread, "id": format!("l{id}"), "ts": ts, "author": format!("u{id}"),
            "text": text, "opener": id == 0,
        })
    };
    let mut lines = vec![
        line(0, 1000, None, "does anyone have a ladder?"),
        line(1, 1001, Some("l9"), "as I said"),
    ];
    // The top level has no pause before the question is too old; the thread does.
    lines.extend((2..10).map(|id| line(id, 900 + id * 100, None, "hm")));
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let history =
        Recording::read(&mut lines.join("\n").as_bytes(), "lines", &InputOptions::default())
            .unwrap()
            .channels;
    let (score, _, _) = run(&history, &policy("quiet-300"), ReplayJudge::Silent, 0, 1);
    assert_eq!((score.judge_calls, score.open_questions, score.reached_questions), (2, 1, 0));
}

#[test]
fn the_shipped_example_is_complete() {
    let example = root().join("examples/small-history.jsonl");
    let history = Recording::open(&example, &InputOptions::default(), &|_| {}).unwrap();
    assert_eq!((history.channels.len(), history.bad_records.count), (2, 0));
    let (score, _, _) =
        run(&history.channels, &Policy::default_settings(), ReplayJudge::Builtin, 4000, 1);
    assert_eq!((score.messages, score.open_questions), (127, 2));
    assert!(score.spoken_posts > 0);
}
