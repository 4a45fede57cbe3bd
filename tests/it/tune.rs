//! `aizuchi tune`: settings that fit a history better, or none if the result is inconclusive.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::aizuchi;

/// Returns a history in which each day has some conversation, and then two unanswered questions, hours apart.
fn history(days: u64) -> String {
    let mut lines = String::new();
    let mut number = 0;
    let mut add = |ts: u64, author: u64, text: &str, opener: bool| {
        number += 1;
        let author = ["mara", "ivo", "lena", "tom"][author as usize % 4];
        let line = json!({
            "room": "porch", "id": format!("m{number:04}"), "ts": ts, "author": author, "text": text, "opener": opener,
        });
        lines += &format!("{line}\n");
    };
    let talk = ["thanks, that was it", "ok, thanks", "thanks, bye", "got it, thanks"];
    let questions = ["does anybody know where the long ladder is?", "which key opens the shed?"];
    for day in 0..days {
        let morning = 1_772_442_000 + day * 86_400;
        for hour in 0..4 {
            for message in 0..7 {
                let text = talk[(message + hour + day) as usize % talk.len()];
                add(morning + hour * 5000 + message * 20, message + hour, text, false);
            }
        }
        for (hour, question) in (0..).zip(questions) {
            add(morning + 25_000 + hour * 9000, hour, question, true);
        }
    }
    lines
}

/// Returns a history in which two users talk each day almost without a pause, ignoring two questions.
fn busy_history(days: u64) -> String {
    let talk = [
        "ivo: the roof held, I looked this morning",
        "mara: then it can wait until spring",
        "ivo: green is nice for it",
        "mara: blue is nicer",
    ];
    let mut lines = String::new();
    for day in 0..days {
        for number in 0..60 {
            let question = match number {
                15 => Some(("lena", "does anybody know where the long ladder is?")),
                40 => Some(("tom", "which key opens the shed?")),
                _ => None,
            };
            let place = number as usize;
            let (author, text) = question.unwrap_or((["mara", "ivo"][place % 2], talk[place % 4]));
            let line = json!({
                "room": "porch", "id": format!("m{day:02}{number:02}"), "ts": 1_772_442_000 + day * 86_400 + number * 25,
                "author": author, "text": text, "opener": question.is_some(),
            });
            lines += &format!("{line}\n");
        }
    }
    lines
}

fn folder(days: u64) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("porch.jsonl"), history(days)).unwrap();
    // It posts at most once a day.
    let shy = "response:\n  cooldown_seconds: 86400\n";
    std::fs::write(folder.path().join("shy.yaml"), shy).unwrap();
    folder
}

fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = aizuchi().current_dir(folder).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_better_setting_is_found_and_confirmed_on_later_days() {
    let folder = folder(17);
    let tune =
        ["tune", "porch.jsonl", "--judge", "speak", "--policy", "shy.yaml", "--goal", "balanced"];
    let (code, printed, stderr) = run(folder.path(), &tune);
    assert_eq!(code, Some(0), "{printed}{stderr}");
    assert!(printed.contains("\nresponse:\n"), "{printed}");
    assert!(printed.contains("\n  cooldown_seconds: 0"), "{printed}");
    assert!(
        printed.contains("# Goal: balanced. Learned from 2026-03-02 to 2026-03-11"),
        "{printed}"
    );
    assert!(printed.contains("checked from 2026-03-12 to 2026-03-18"), "{printed}");
    assert!(
        printed.contains("# share of its posts into an active exchange: 0.00 -> 0.00"),
        "{printed}"
    );

    // Every run gives the same result, and more questions are reached.
    let (_, again, _) = run(folder.path(), &[&tune[..], &["--json"]].concat());
    let again: Value = serde_json::from_str(&again).unwrap();
    let advice = &again["advice"];
    assert!(
        printed.ends_with(&format!("{}\n", advice["patch"].as_str().unwrap().trim_end())),
        "{again}"
    );
    let reached = |when: &str| advice[when]["reached_share"].as_f64().unwrap();
    assert!(reached("after") > reached("before"), "{again}");
    assert_eq!(again["refused"], Value::Null);

    // The output is a policy.
    std::fs::write(folder.path().join("patch.yaml"), &printed).unwrap();
    let (code, _, stderr) =
        run(folder.path(), &["replay", "porch.jsonl", "--policy", "patch.yaml"]);
    assert_eq!(code, Some(0), "{stderr}");
}

/// A question in a busy channel is not reached by a wait that each message restarts.
#[test]
fn the_wait_strategy_is_turned() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("porch.jsonl"), busy_history(13)).unwrap();
    std::fs::write(folder.path().join("fixed.yaml"), "response:\n  wait: fixed\n").unwrap();
    let tune = ["tune", "porch.jsonl", "--judge", "speak", "--policy", "fixed.yaml"];
    let (code, printed, stderr) = run(folder.path(), &tune);
    assert_eq!(code, Some(0), "{printed}{stderr}");
    assert!(printed.contains("\nresponse:\n  wait: adaptive\n"), "{printed}");
}

/// Each run of a search judges at different moments.
#[test]
fn recorded_answers_must_be_there_for_nearly_all_moments() {
    let folder = folder(17);
    let answer = json!({ "room": "porch", "message": "m0001", "should_respond": true });
    std::fs::write(folder.path().join("one.jsonl"), answer.to_string()).unwrap();
    let (code, printed, stderr) =
        run(folder.path(), &["tune", "porch.jsonl", "--judge", "one.jsonl"]);
    assert_eq!(code, Some(2), "{printed}{stderr}");
    assert!(printed.contains("# Judged by recorded answers.\n"), "{printed}");
    assert!(printed.contains("The data cannot tell: the file has no answer to "), "{printed}");
}

#[test]
fn gates_are_turned_and_printed_as_one_list() {
    let folder = folder(17);
    let bold = "response:\n  gates: [directed, share]\n";
    std::fs::write(folder.path().join("bold.yaml"), bold).unwrap();
    let tune = ["tune", "porch.jsonl", "--judge", "speak", "--policy", "bold.yaml"];
    let (code, printed, stderr) = run(folder.path(), &tune);
    assert_eq!(code, Some(0), "{printed}{stderr}");
    // A cooldown helps only while this gate is disabled.
    let expected = "\nresponse:\n  gates: [directed, nothing_open, share]\n";
    assert!(printed.ends_with(expected), "{printed}");
}

#[test]
fn a_history_that_cannot_tell_leads_to_no_advice() {
    let folder = folder(4);
    let (code, printed, _) = run(folder.path(), &["tune", "porch.jsonl"]);
    assert_eq!(code, Some(2));
    let expected = "# No change is recommended. The history is too short to tell: there are 2 days with messages to learn \
                    from, and it takes 5.\n";
    assert!(printed.ends_with(expected), "{printed}");
    let (code, printed, _) = run(folder.path(), &["tune", "porch.jsonl", "--json"]);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((code, &printed["advice"]), (Some(2), &Value::Null));
    for (arguments, expected) in [
        (&["tune"][..], "required arguments were not provided"),
        (&["tune", "nowhere.jsonl"], "cannot read nowhere.jsonl"),
        (&["tune", "porch.jsonl", "--goal", "loud"], "invalid value 'loud'"),
        (
            &["--config", "shy.yaml", "tune", "porch.jsonl", "--policy", "shy.yaml"],
            "cannot be used together",
        ),
        (&["--model", "openai/x", "tune", "porch.jsonl"], "--model works only"),
    ] {
        let (code, _, stderr) = run(folder.path(), arguments);
        assert!(code != Some(0) && stderr.contains(expected), "{arguments:?} {stderr}");
    }
}
