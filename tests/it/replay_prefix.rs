//! The shared prefix of consecutive prompts, within a channel's day: a cache that lasts for minutes contains nothing
//! from the evening before.

use std::path::Path;

use aizuchi_import::input::{InputOptions, Recording};
use aizuchi_past::replay::{Policy, ReplayJudge, ReplaySettings, replay};
use serde_json::{Value, json};

const DAY: i64 = 24 * 3_600;

/// Returns two channels with four bursts of messages on each of two days, the second starting shortly after midnight.
fn two_days() -> Recording {
    let mut lines = String::new();
    for (channel, days) in [("porch", 0..2_i64), ("shed", 1..2)] {
        for (day, burst) in days.flat_map(|day| (0..4_i64).map(move |burst| (day, burst))) {
            for message in 0..5 {
                let ts = day * DAY + 60 + 600 * burst + message;
                let author = ["ann", "bob", "cid"][message as usize % 3];
                let id = format!("{channel}{ts}");
                let text = "so it goes with the roses and the tomatoes";
                let line =
                    json!({ "room": channel, "id": id, "ts": ts, "author": author, "text": text });
                lines.push_str(&format!("{line}\n"));
            }
        }
    }
    Recording::read(&mut lines.as_bytes(), "lines", &InputOptions::default()).unwrap()
}

#[test]
fn the_first_prompt_of_a_channels_day_is_left_out() {
    let policy = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/debounce-30.yaml");
    let policy = Policy::open(&policy).unwrap();
    let settings = ReplaySettings { judge: ReplayJudge::Silent, latency_ms: 0, seed: 1 };
    let mut events = Vec::new();
    let channels = two_days().channels;
    let score = replay(&channels, &policy, &settings, Some(&mut events), &|_| {}).unwrap();
    let events = String::from_utf8(events).unwrap();
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let calls: Vec<Value> = events.filter(|event| event["kind"] == "judge_called").collect();
    assert_eq!(calls.len(), 12);
    let day = |call: &Value| (call["room"].clone(), call["t"].as_f64().unwrap() as i64 / DAY);
    let later =
        |(place, call): &(usize, &Value)| calls[..*place].iter().any(|it| day(it) == day(call));
    let sum = |key: &str| {
        let later = calls.iter().enumerate().filter(later);
        later.map(|(_, call)| call[key].as_u64().unwrap()).sum::<u64>()
    };
    let (prompts, shared) = (sum("prompt_bytes"), sum("prefix_bytes"));
    assert_eq!((score.same_day_prompt_bytes, score.same_day_prefix_bytes), (prompts, shared));
    assert_eq!(score.prefix_share(), Some(shared as f64 / prompts as f64));
    // Nine of twelve remain.
    assert!(score.prompt_bytes > prompts && score.prefix_bytes > shared, "{score:?}");
    // The messages of the evening before are still in the prompt after midnight, and would count.
    let first_of_second_day = &calls[4];
    assert!(first_of_second_day["prefix_bytes"].as_u64().unwrap() > 0);
}

/// With one call per day there is no earlier prompt on that day, so the shared prefix is unknown.
#[test]
fn single_prompts_of_days_share_nothing_that_is_known() {
    let lines = (0..3).map(|day| {
        let (id, ts) = (format!("l{day}"), day * DAY + 60);
        json!({ "room": "porch", "id": id, "ts": ts, "author": "ann", "text": "so it goes" })
            .to_string()
    });
    let lines = lines.collect::<Vec<_>>().join("\n");
    let policy = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/debounce-30.yaml");
    let settings = ReplaySettings { judge: ReplayJudge::Silent, latency_ms: 0, seed: 1 };
    let history =
        Recording::read(&mut lines.as_bytes(), "lines", &InputOptions::default()).unwrap();
    let policy = Policy::open(&policy).unwrap();
    let score = replay(&history.channels, &policy, &settings, None, &|_| {}).unwrap();
    assert_eq!((score.judge_calls, score.prefix_share()), (3, None));
}
