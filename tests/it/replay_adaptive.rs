//! The adaptive wait in replays.

use std::path::Path;

use aizuchi_import::input::{InputOptions, Recording};
use aizuchi_past::replay::{Policy, ReplayJudge, ReplaySettings, replay};
use proptest::prelude::*;
use serde_json::{Value, json};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The judge is never asked twice about the same newest message, and every question to the channel is judged
    /// while it is in the visibility window.
    #[test]
    fn every_state_is_judged_once_and_every_open_question_in_time(
        messages in prop::collection::vec((0..4usize, 0..8u8, prop_oneof![0..5i64, 0..60i64, 0..900i64]), 1..80),
        latency in prop_oneof![Just(0u64), Just(4000)],
    ) {
        let mut second = 1000;
        // Others talk to a user who never asks, so no one takes up a question.
        let eve = json!({ "room": "porch", "id": "l", "ts": second, "author": "eve", "text": "hello" });
        let mut text = format!("{eve}\n");
        let mut questions = Vec::new();
        for (number, (author, topic, gap)) in messages.iter().enumerate() {
            second += gap;
            // If all users ask the same thing all the time, each question looks like an echo of the previous one.
            let asks = *topic == 0 && questions.len() < 4;
            // Eve posts now and then, so that her name is known to be a user's.
            let is_eves = !asks && number % 10 == 9;
            let message_text = match asks {
                true => "does anyone have a ladder?",
                false if is_eves => "hello",
                false => "eve: the tulips are out",
            };
            if asks {
                questions.push((number, second));
            }
            let author = if is_eves { "eve" } else { ["ann", "bob", "cid", "dan"][*author] };
            let line = json!({
                "room": "porch", "id": format!("l{number:03}"), "ts": second,
                "author": author, "text": message_text,
            });
            text.push_str(&format!("{line}\n"));
        }
        let history = Recording::read(&mut text.as_bytes(), "lines", &InputOptions::default()).unwrap();
        let policy = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/adaptive.yaml");
        let policy = Policy::open(&policy).unwrap();
        let mut events = Vec::new();
        let settings = ReplaySettings { judge: ReplayJudge::Silent, latency_ms: latency, seed: 1 };
        replay(&history.channels, &policy, &settings, Some(&mut events), &|_| {}).unwrap();
        let events = String::from_utf8(events).unwrap();
        let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let calls: Vec<(usize, f64)> = events
            .filter(|event| event["kind"] == "judge_called")
            .filter_map(|event| {
                let newest = event["message"].as_str().unwrap().trim_start_matches('l');
                Some((newest.parse().ok()?, event["t"].as_f64().unwrap()))
            })
            .collect();
        prop_assert!(calls.windows(2).all(|pair| pair[0].0 < pair[1].0), "{calls:?}");
        for (number, asked_at) in questions {
            let covers = |(newest, t): &&(usize, f64)| *newest >= number && *newest < number + 20 && *t <= asked_at as f64 + 320.0;
            // In a burst, several messages may arrive during one model call.
            let is_burst = messages[number..].windows(5).any(|messages| messages.iter().map(|(_, _, gap)| gap).sum::<i64>() < 30);
            prop_assert!(is_burst && latency > 0 || calls.iter().any(|call| covers(&call)), "{number} {calls:?}");
        }
    }
}
