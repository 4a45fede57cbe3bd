//! `aizuchi gate --try --judge hindsight`: in a recording with annotations, whatever is not annotated is unknown to the
//! judge that uses hindsight.

use std::ops::Range;
use std::sync::Arc;

use aizuchi::replay::gate_trial::GateTrial;
use aizuchi::replay::history::History;
use aizuchi::replay::rows::IdHash;
use aizuchi::replay::{Policy, ReplayJudge, ReplaySettings};
use aizuchi::tune::figures::hindsight;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::command::aizuchi;

const DAY: u64 = 86_400;
const BEGIN: u64 = 1_772_442_000;

fn line(channel: &str, id: &str, ts: u64, text: &str, annotation: &Value) -> String {
    let author = ["mara", "ivo", "lena", "tom"][(ts / 20 % 4) as usize];
    let mut line = json!({ "room": channel, "id": id, "ts": ts, "author": author, "text": text });
    if let (Some(line), Some(annotation)) = (line.as_object_mut(), annotation.as_object()) {
        line.extend(annotation.clone());
    }
    format!("{line}\n")
}

fn opens() -> Value {
    json!({ "opener": true })
}

fn answers(id: &str) -> Value {
    json!({ "reply_to": [id] })
}

fn id(day: u64, number: u64) -> String {
    format!("d{day}m{number:02}")
}

/// Each day has some conversation, and then two unanswered questions, hours apart. On the annotated days, it is known
/// which messages begin something and which answer.
fn talk(channel: &str, days: u64, annotated: Range<u64>) -> String {
    let said = ["that was quite a storm", "the roof held", "we should paint it", "green is nice"];
    let questions = ["does anybody know where the long ladder is?", "which key opens the shed?"];
    let mut lines = String::new();
    for day in 0..days {
        let morning = BEGIN + day * DAY;
        let annotate = |annotation| match annotated.contains(&day) {
            true => annotation,
            false => Value::Null,
        };
        for number in 0..28 {
            let (hour, place) = (number / 7, number % 7);
            let text = said[(number + day) as usize % said.len()];
            let annotation = match place {
                0 => opens(),
                _ => answers(&id(day, number - 1)),
            };
            let at = morning + hour * 5000 + place * 20;
            lines += &line(channel, &id(day, number), at, text, &annotate(annotation));
        }
        for (number, question) in (0..).zip(questions) {
            let at = morning + 25_000 + number * 9000;
            lines += &line(channel, &id(day, 28 + number), at, question, &annotate(opens()));
        }
    }
    lines
}

fn read(lines: &str) -> History {
    History::read(lines.as_bytes()).unwrap()
}

/// Whether the hindsight judge knows the outcome after each of these messages.
fn known(history: &History, channel: &str, ids: &[String]) -> Vec<bool> {
    let judge = hindsight(history).unwrap();
    ids.iter().map(|id| judge.may_know(channel, IdHash::new(id))).collect()
}

fn tried(history: &History) -> GateTrial {
    let judge = Arc::new(hindsight(history).unwrap());
    let settings = ReplaySettings { judge: ReplayJudge::Model, latency_ms: 4000, seed: 1 };
    let policy = Policy::default_settings();
    GateTrial::new(history, &policy, settings, Some(judge), &|_| {}).unwrap()
}

#[test]
fn before_and_after_what_is_annotated_nothing_is_known() {
    let ids = |day: u64| (0..30).map(|number| id(day, number)).collect::<Vec<_>>();
    let annotated = read(&(talk("porch", 6, 2..4) + &talk("shed", 6, 0..0)));
    for day in 0..6 {
        let is_known = (2..4).contains(&day);
        assert_eq!(known(&annotated, "porch", &ids(day)), [is_known; 30], "day {day}");
        // Another channel of the recording is annotated.
        assert_eq!(known(&annotated, "shed", &ids(day)), [false; 30], "day {day}");
    }
    let plain = read(&talk("porch", 6, 0..0));
    for day in 0..6 {
        assert_eq!(known(&plain, "porch", &ids(day)), [true; 30], "day {day}");
    }
}

#[test]
fn what_still_stands_there_from_before_is_unknown_too() {
    let (key, ladder) = ("which key opens the shed?", "does anybody know where the ladder is?");
    let lines = [
        line("porch", "1", BEGIN, key, &Value::Null),
        line("porch", "2", BEGIN + 600, "the roof held", &opens()),
        line("porch", "3", BEGIN + 3600, "so it did", &answers("2")),
        line("porch", "4", BEGIN + 3601, ladder, &opens()),
        line("porch", "5", BEGIN + 9000, "good night", &opens()),
    ];
    let ids = ["1", "2", "3", "4", "5"].map(str::to_owned);
    // A question is reached within an hour.
    let expected = [false, false, false, true, true];
    assert_eq!(known(&read(&lines.concat()), "porch", &ids), expected);
}

#[test]
fn what_is_unknown_is_neither_learned_from_nor_counted() {
    let annotated_from = Timestamp::from_second((BEGIN + 2 * DAY) as i64).unwrap();
    let trial = tried(&read(&talk("porch", 4, 2..4)));
    assert!(trial.unknown > 0);
    assert!(trial.moments.iter().any(|moment| moment.judged.is_yes), "{:?}", trial.moments);
    assert!(trial.moments.iter().all(|moment| moment.at >= annotated_from), "{:?}", trial.moments);
    // The second half of the two days that are annotated.
    assert_eq!(trial.messages, 30);

    // Without annotations it judges by all messages, from the beginning on.
    let trial = tried(&read(&talk("porch", 4, 0..0)));
    assert_eq!((trial.unknown, trial.messages), (0, 60));
    let mut early = trial.moments.iter().filter(|moment| moment.at < annotated_from);
    assert!(early.any(|moment| moment.judged.is_yes), "{:?}", trial.moments);
}

#[test]
fn how_much_is_unknown_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("porch.jsonl"), talk("porch", 4, 2..4)).unwrap();
    let printed = |arguments: &[&str]| {
        let mut command = aizuchi();
        command.current_dir(folder.path()).args(["gate", "--try", "porch.jsonl"]).args(arguments);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let sentence = "What the judge would have said is unknown at ";
    for (judge, is_unknown) in [("hindsight", true), ("builtin", false)] {
        let text = printed(&["--judge", judge]);
        assert_eq!(text.contains(sentence), is_unknown, "{judge}: {text}");
        let text = printed(&["--judge", judge, "--json"]);
        let trial: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(trial["unknown"].as_u64().unwrap() > 0, is_unknown, "{judge}: {text}");
    }
}
