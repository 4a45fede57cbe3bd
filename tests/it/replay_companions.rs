//! Replays with several companions in one channel.

use aizuchi::replay::companion_score::CompanionScore;
use aizuchi::replay::history::History;
use aizuchi::replay::{Policy, Replay, ReplayJudge, ReplaySettings};
use serde_json::json;

/// Returns a history with a question every twenty minutes, each by another user, some followed by an unrelated message.
fn history() -> History {
    const THINGS: [&str; 8] =
        ["ladder", "rake", "bucket", "hammer", "tent", "kettle", "lamp", "saw"];
    let mut lines = String::new();
    let mut say = |ts: f64, author: &str, text: &str| {
        let id = format!("l{:04}", lines.lines().count());
        let line = json!({ "room": "porch", "id": id, "ts": ts, "author": author, "text": text });
        lines.push_str(&format!("{line}\n"));
    };
    for (number, thing) in THINGS.iter().cycle().take(64).enumerate() {
        let begin = 1000.0 + 1200.0 * number as f64;
        let author = ["ann", "bob", "cid", "dan", "eve"][number % 5];
        say(begin, author, &format!("does anyone have a {thing} for day {number}?"));
        if number % 3 == 0 {
            say(begin + 40.0, ["fay", "gus"][number % 2], "the tulips are out");
        }
    }
    History::read(lines.as_bytes()).unwrap()
}

fn score(policy: &Policy, companions: usize) -> CompanionScore {
    let settings = ReplaySettings { judge: ReplayJudge::Speak, latency_ms: 4000, seed: 1 };
    let replay = Replay::new(policy, settings).unwrap();
    replay.score_companions(&history(), companions, &|_| {}).unwrap()
}

#[test]
fn of_several_companions_exactly_one_speaks() {
    let policy = Policy::default_settings();
    for companions in [2, 3] {
        let score = score(&policy, companions);
        assert!(score.exactly_one >= 30, "{score:?}");
        assert!(score.share_exactly_one().unwrap() >= 0.99, "{score:?}");
    }
    assert_eq!(score(&policy, 2), score(&policy, 2));
}

#[test]
fn those_that_know_nothing_of_each_other_all_speak() {
    let mut policy = Policy::default_settings();
    policy.config.response.companions = Some(Vec::new());
    let score = score(&policy, 2);
    assert!(score.more_than_one > score.exactly_one, "{score:?}");
}
