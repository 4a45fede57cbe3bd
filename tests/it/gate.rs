//! The command `aizuchi gate`: showing what was learned from the judge, or that nothing was, and forgetting it.

use std::time::{Duration, Instant};

use aizuchi_harness::fixtures::{JOIN, SILENCE, at, message, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::TestStore;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{Arrival, ConversationId, Heard, WorkspaceId};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::learned::features::{NAMES, VERSION};
use aizuchi_model::decision::learned::{MAX_MOMENTS, MIN_VERDICTS, MIN_YES};
use aizuchi_model::flow::Disposition;
use aizuchi_model::rules::ChannelRules;
use aizuchi_store::InboxEntry;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::aizuchi;
use crate::program::Home;

const SHORT: &str = "is anyone there?";
const LONG: &str =
    "does anyone know where the ladder went that stood behind the shed, next to the apple tree?";
/// Long enough that no other gate closes.
const PAUSE: i64 = 4000;
/// Until its `exec`, a process that another test spawns holds an inherited lock of a database.
const EXEC_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns a SQLite database with this number of verdicts. The judge takes up long questions, and declines short ones.
async fn judged(count: usize) -> Harness {
    let options = HarnessOptions::from_rules(ChannelRules::default());
    let harness = Harness::new(TestStore::sqlite().await).await.with_options(options);
    for number in 0..count {
        // No other feature reveals the verdict: the time since the last message varies.
        let is_long = number * number % 11 < 4;
        let (text, verdict) = if is_long { (LONG, JOIN) } else { (SHORT, SILENCE) };
        harness.mind.script.set_default(PromptVerb::Judge, verdict);
        harness.says("mara", text).await;
        harness.pass(PAUSE).await;
    }
    let verdicts = harness.store.archive.count_judged_moments(&workspace()).await.unwrap();
    assert_eq!(verdicts, count);
    harness
}

/// Creates a folder with a config that names the database.
fn folder(harness: &Harness, sections: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let database = harness.store.database.as_ref().unwrap().path().display().to_string();
    let config = format!("storage:\n  url: sqlite://{database}\n{sections}");
    std::fs::write(folder.path().join("config.yaml"), config).unwrap();
    folder
}

fn gate(folder: &TempDir, arguments: &[&str]) -> (Option<i32>, String, String) {
    run(aizuchi().arg("--config").arg(folder.path().join("config.yaml")).arg("gate"), arguments)
}

fn run(command: &mut assert_cmd::Command, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = command.args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn json_of(printed: &str) -> Value {
    serde_json::from_str(printed).unwrap()
}

/// One test, because learning takes most of its time.
#[tokio::test]
async fn what_was_learned_is_shown_until_it_is_forgotten() {
    let harness = judged(MIN_VERDICTS).await;
    let archive = &harness.store.archive;
    let moments = archive.judged_moments(&workspace(), MAX_MOMENTS).await.unwrap();
    let yes = moments.iter().filter(|judged| judged.is_yes).count();
    let newest = moments.last().unwrap().decision;

    // It is shown while another process uses the database.
    let on = folder(&harness, "response: {learned_gate: {miss: 0.1}}\n");
    let (code, shown, stderr) = gate(&on, &[]);
    assert_eq!(code, Some(0), "{stderr}");
    let head = format!(
        "story: learned from {MIN_VERDICTS} verdicts of scripted, {yes} of them yes (features {VERSION}, up to decision {newest})\n\
         The gate saves "
    );
    assert!(shown.starts_with(&head), "{shown}");
    assert!(
        shown.contains(" at most (allowed: 10.0 %). To know that, it still asks about "),
        "{shown}"
    );
    let tail = " % of what it could skip.\n\
        Nothing is skipped in channels that only observe, and none of another judge's calls.\n";
    assert!(shown.ends_with(tail), "{shown}");

    let (_, printed, _) = gate(&on, &["--json"]);
    let printed = json_of(&printed);
    let [learned] = &printed["gates"].as_array().unwrap()[..] else { panic!("{printed}") };
    for (key, expected) in [
        ("workspace", json!("story")),
        ("is_on", json!(true)),
        ("judge", json!("scripted")),
        ("features", json!({ "version": VERSION, "names": &NAMES[..] })),
        ("verdicts", json!(MIN_VERDICTS)),
        ("yes", json!(yes)),
        ("explored", json!(0)),
        ("cutoff", json!(newest)),
        ("miss", json!(0.1)),
    ] {
        assert_eq!(learned[key], expected, "{key}");
    }
    let share = |key: &str| learned[key].as_f64().unwrap();
    assert!(share("skipped") > 0.0 && share("skipped") < 1.0, "{learned}");
    assert!(share("missed") <= share("missed_at_most"), "{learned}");
    assert!((0.05..=0.5).contains(&share("exploration")), "{learned}");
    assert!(share("missed_at_most") <= 0.1, "{learned}");

    // If the config does not set the gate, the figures are hypothetical.
    let off = folder(&harness, "");
    let (_, printed, _) = gate(&off, &[]);
    let note = "\nresponse.learned_gate is not set, so every moment is judged.\n";
    assert!(printed.ends_with(note) && !printed.contains("The gate saves"), "{printed}");
    let (_, printed, _) = gate(&off, &["--json"]);
    let printed = json_of(&printed);
    assert_eq!(
        (&printed["gates"][0]["is_on"], &printed["gates"][0]["miss"]),
        (&json!(false), &json!(0.02))
    );

    // A reset needs exclusive use of the database.
    let (code, printed, stderr) = gate(&on, &["--reset"]);
    assert_eq!((code, &*printed), (Some(1), ""));
    assert!(stderr.contains("another Aizuchi is running on "), "{stderr}");
    assert_eq!(gate(&on, &[]).1, shown, "nothing is forgotten");
    // The folder of the database lives as long as this handle.
    let database = harness.store.database.clone();
    let store = harness.store.clone();
    drop(harness);
    store.stop().await;
    let stopped = Instant::now();
    let forgotten = loop {
        let (code, printed, stderr) = gate(&on, &["--reset"]);
        if code == Some(0) {
            break printed;
        }
        let is_locked = stderr.contains("another Aizuchi is running on ");
        assert!(is_locked && stopped.elapsed() < EXEC_TIMEOUT, "{stderr}");
    };
    assert_eq!(forgotten, "Everything that was learned has been forgotten.\n");
    assert_eq!(gate(&on, &[]).1, "There are no verdicts yet.\n");
    drop(database);
}

#[tokio::test]
async fn too_few_verdicts_teach_nothing() {
    let harness = judged(3).await;
    // A workspace without verdicts is not shown.
    let elsewhere =
        ConversationId { workspace: WorkspaceId::new("elsewhere"), ..top_level("garden") };
    let morning = message(elsewhere, "m1", at(0), "ivo", "good morning");
    let heard = Heard::Message(morning, Arrival::Live);
    let entry = InboxEntry::new(heard, Disposition::Settled(Gate::Backfilled), at(0));
    harness.store.store.hear(entry).await.unwrap();
    let on = folder(&harness, "response: {learned_gate: {miss: 0.1}}\n");
    let (code, printed, stderr) = gate(&on, &[]);
    let expected = format!(
        "story: fewer than {MIN_VERDICTS} verdicts, so nothing was learned\n\
         Nothing is skipped: it takes {MIN_VERDICTS} verdicts, {MIN_YES} of them yes.\n"
    );
    assert_eq!((code, &printed), (Some(0), &expected), "{stderr}");
    let (_, printed, _) = gate(&on, &["--json"]);
    let printed = json_of(&printed);
    let [learned] = &printed["gates"].as_array().unwrap()[..] else { panic!("{printed}") };
    let (is_on, verdicts) = (&learned["is_on"], &learned["verdicts"]);
    assert_eq!((is_on, verdicts), (&json!(false), &json!(0)));
    for unknown in ["cutoff", "skipped", "missed", "missed_at_most"] {
        assert_eq!(learned.get(unknown), Some(&Value::Null), "{unknown}");
    }
}

#[test]
fn without_verdicts_there_is_nothing_to_show_or_forget() {
    let home = Home::new(1000.0);
    let of_home = |arguments: &[&str]| {
        run(aizuchi().arg("--config").arg(home.config()).arg("gate"), arguments)
    };
    for arguments in [&[] as &[&str], &["--json"], &["--reset"]] {
        let (code, printed, stderr) = of_home(arguments);
        assert_eq!((code, &*printed), (Some(1), ""), "{arguments:?}");
        assert!(
            stderr.contains("room.db does not exist yet; `aizuchi run` creates it"),
            "{stderr}"
        );
    }
    assert!(!home.database().exists(), "nothing is created by a look");
    assert_eq!(home.start().stop(), Some(0));
    for (arguments, expected) in [
        (&[] as &[&str], "There are no verdicts yet.\n"),
        (&["--json"], "{\n  \"gates\": []\n}\n"),
        (&["--reset"], "Everything that was learned has been forgotten.\n"),
    ] {
        let (code, printed, stderr) = of_home(arguments);
        assert_eq!((code, &*printed), (Some(0), expected), "{arguments:?} {stderr}");
    }
}

#[test]
fn all_workspaces_are_shown() {
    let (ended, printed, stderr) = run(&mut aizuchi(), &["gate", "porch"]);
    assert_eq!((ended, &*printed), (Some(2), ""), "{stderr}");
    assert!(stderr.contains("unexpected argument 'porch'"), "{stderr}");
}
