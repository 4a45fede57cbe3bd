//! `aizuchi tune`: settings that fit a history better, or none if the result is inconclusive.

use std::path::Path;

use aizuchi::replay::gate_trial::{GateTarget, GateTrial, NothingLearned, SavedCalls};
use aizuchi::replay::learning::TimedMoment;
use aizuchi_core::chat::WorkspaceId;
use aizuchi_core::decision::DecisionId;
use aizuchi_core::decision::learned::features::NAMES;
use aizuchi_core::decision::learned::{JudgedMoment, MomentFeatures};
use jiff::Timestamp;
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

/// Returns moments a minute apart. Every third is a yes that its first feature reveals, and every other of these led to
/// nothing.
fn judged_moments(count: i64) -> Vec<TimedMoment> {
    let moment = |number: i64| {
        let is_yes = number % 3 == 0;
        let mut features = vec![(number % 7) as f32; NAMES.len()];
        features[0] = if is_yes { 1.0 } else { 0.0 };
        features[1] = if number % 6 == 0 { 1.0 } else { 0.0 };
        let decision = DecisionId(number);
        let moment = MomentFeatures::judged("built-in", features);
        TimedMoment {
            at: Timestamp::from_second(number * 60).unwrap(),
            workspace: WorkspaceId::new("porch"),
            judged: JudgedMoment { decision, moment, is_yes },
            was_seen: number % 6 == 0,
        }
    };
    (0..count).map(moment).collect()
}

#[test]
fn a_gate_is_tried_on_moments_that_were_judged() {
    let half = Timestamp::from_second(300 * 60).unwrap();
    let moments = judged_moments(600);
    let trial = GateTrial { moments, half, messages: 1000, unknown: 0, seed: 1 };
    let savings = trial.savings(GateTarget::Yes, 0.1);
    assert_eq!((savings.calls, savings.yes, savings.seen), (300, 100, 50));
    assert!((savings.ceiling.unwrap() - 2.0 / 3.0).abs() < 1e-9);
    // A few of the moments that the judge always declines are still judged.
    let saved = savings.saved.unwrap();
    assert!(saved.missed_yes == 0 && (150..200).contains(&saved.calls), "{savings:?}");
    let savings = trial.savings(GateTarget::Seen, 0.1);
    assert!((savings.ceiling.unwrap() - 5.0 / 6.0).abs() < 1e-9);
    let saved = savings.saved.unwrap();
    assert!(saved.missed_seen == 0 && saved.missed_yes > 30 && saved.calls > 150, "{savings:?}");
}

/// A figure that was not learned is not 0 %.
#[test]
fn why_no_gate_was_learned_is_known() {
    let trial = |count: i64, half: i64| GateTrial {
        moments: judged_moments(count),
        half: Timestamp::from_second(half * 60).unwrap(),
        messages: 1000,
        unknown: 0,
        seed: 1,
    };
    for (count, misses, miss, expected) in [
        (150, GateTarget::Yes, 0.1, NothingLearned::TooFew { verdicts: 150, kept: 50 }),
        (150, GateTarget::Seen, 0.1, NothingLearned::TooFew { verdicts: 150, kept: 25 }),
        (200, GateTarget::Yes, 0.1, NothingLearned::TooLate { verdicts: 200, kept: 67 }),
        // The gate learned from 579 of them in its last training.
        (600, GateTarget::Yes, 0.0, NothingLearned::NoThreshold { verdicts: 579, kept: 193 }),
    ] {
        let savings = trial(count, count / 2).savings(misses, miss);
        assert_eq!(savings.saved, Err(expected));
    }
    // No call was made in the second half, so nothing could be saved there.
    let savings = trial(600, 600).savings(GateTarget::Yes, 0.1);
    assert_eq!((savings.calls, savings.saved), (0, Ok(SavedCalls::default())));
    assert_eq!(savings.ceiling, None);
}

#[test]
fn a_trial_on_too_little_says_so() {
    let folder = folder(4);
    let (code, printed, stderr) = run(folder.path(), &["gate", "--try", "porch.jsonl"]);
    assert_eq!(code, Some(0), "{stderr}");
    let sentences: Vec<&str> =
        printed.lines().filter(|line| line.contains("Nothing was learned: ")).collect();
    let [yes, seen] = &sentences[..] else { panic!("{printed}") };
    assert!(yes.ends_with(" of them a yes. It takes 200, 20 of them a yes."), "{yes}");
    assert!(seen.ends_with("It takes 200, 20 of them a yes that had a visible effect."), "{seen}");
    assert!(!printed.contains("saved: ") && !printed.contains("missed: "), "{printed}");

    let (_, printed, _) = run(folder.path(), &["gate", "--try", "porch.jsonl", "--json"]);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    for (savings, misses) in printed["savings"].as_array().unwrap().iter().zip(["yes", "seen"]) {
        assert_eq!(savings["misses"], misses);
        assert_eq!(savings["nothing_learned"], "too_few_verdicts");
        assert!(savings["calls"].as_u64().unwrap() > 0, "{savings}");
        for unknown in ["saved", "missed_yes", "missed_seen"] {
            assert_eq!(savings.get(unknown), Some(&Value::Null), "{unknown}");
        }
    }
}

#[test]
fn what_a_gate_cannot_be_tried_on_is_named() {
    let folder = folder(4);
    for (arguments, expected) in [
        (&["gate", "--try", "nowhere.jsonl"][..], "cannot read nowhere.jsonl"),
        (&["gate", "--try", "porch.jsonl", "--miss", "2"], "a share from 0 to 0.5"),
        (&["gate", "--try", "porch.jsonl", "--judge", "loud"], "it must be builtin"),
        (&["gate", "--try", "porch.jsonl", "--reset"], "cannot be used with"),
    ] {
        let (code, _, stderr) = run(folder.path(), arguments);
        assert!(code != Some(0) && stderr.contains(expected), "{arguments:?} {stderr}");
    }
}
