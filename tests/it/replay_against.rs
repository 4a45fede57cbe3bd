//! The different decisions of another version, or of other settings, about the same messages.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, query, query_scalar, raw_sql};
use tempfile::TempDir;

use crate::command::aizuchi;
use crate::program::Home;
use aizuchi_core::store::database::schema::migrate;
use aizuchi_core::store::sqlite;

const HISTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/small-history.jsonl");

fn write(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Creates a program that runs this script when it should replay.
fn program(folder: &TempDir, script: &str) -> PathBuf {
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'aizuchi 0.0.1'; exit; fi\n{script}\n"
    );
    let path = write(folder, "old-aizuchi", &text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn compare(other: &Path, arguments: &[&str]) -> String {
    let mut command = aizuchi();
    command.args(["replay", HISTORY, "--against"]).arg(other).args(arguments);
    String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
}

fn refusal(other: &Path, arguments: &[&str]) -> String {
    let mut command = aizuchi();
    command.args(["replay", HISTORY, "--against"]).arg(other).args(arguments);
    String::from_utf8(command.assert().failure().get_output().stderr.clone()).unwrap()
}

#[test]
fn other_settings_are_told_message_by_message() {
    let folder = tempfile::tempdir().unwrap();
    let same = write(&folder, "same.yaml", "response: {mode: companion}\n");
    let shown = compare(&same, &[]);
    assert!(shown.starts_with("default and same decide the same about all "), "{shown}");
    let quiet = write(&folder, "quiet.yaml", "response: {mode: mention_only}\n");
    let shown = compare(&quiet, &[]);
    assert!(shown.starts_with("default and quiet decide differently about "), "{shown}");
    // The number of differences, and each with its place, its text and both decisions.
    let table: Vec<&str> = shown.split("\n\n").nth(1).unwrap().lines().collect();
    assert_eq!(table[0], "  default  quiet         messages");
    let first: Vec<&str> = shown.split("\n\n").nth(2).unwrap().lines().collect();
    assert!(first[0].starts_with('#') && first[0].contains(": “"), "{first:?}");
    assert!(first[1].starts_with("  default  speaks"), "{first:?}");
    assert!(first[2].starts_with("  quiet    stays silent"), "{first:?}");
    let told: Value = serde_json::from_str(&compare(&quiet, &["--json"])).unwrap();
    let differences = told["differences"].as_array().unwrap();
    assert_eq!(table[1..], [format!("  speaks   stays silent  {:>8}", differences.len())]);
    assert_eq!(shown.matches("stays silent").count(), differences.len() + 1);
    for difference in differences {
        assert_eq!(difference["before"]["fate"], "spoken_to", "{difference}");
        assert_eq!(difference["after"]["fate"], "kept_silent", "{difference}");
    }
}

/// With another wait it posts about the same messages, but later.
#[test]
fn an_answer_at_another_time_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let slow = write(&folder, "slow.yaml", "response: {min_wait_seconds: 400}\n");
    let shown = compare(&slow, &["--judge", "speak"]);
    assert!(
        shown.lines().any(|row| row.starts_with("  speaks  ") && row.contains("  speaks later  ")),
        "{shown}"
    );
    let later = shown.lines().find(|line| line.ends_with(" later")).unwrap();
    assert!(later.starts_with("  slow     speaks, ") && later.contains('m'), "{later}");
}

/// An answer that only one of them gives does not affect later answers.
#[test]
fn a_difference_stays_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let quiet = "timezone: UTC\nresponse: {quiet_hours: \"17:00-17:20\"}\n";
    let quiet = write(&folder, "quiet.yaml", quiet);
    let told: Value =
        serde_json::from_str(&compare(&quiet, &["--judge", "speak", "--json"])).unwrap();
    let differences = told["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 1, "{differences:?}");
    assert_eq!(differences[0]["after"]["gate"], "quiet_hours");
}

#[test]
fn another_version_replays_the_same_messages() {
    let itself = Path::new(env!("CARGO_BIN_EXE_aizuchi"));
    let shown = compare(itself, &[]);
    let expected = concat!(
        "aizuchi ",
        env!("CARGO_PKG_VERSION"),
        " and this aizuchi ",
        env!("CARGO_PKG_VERSION"),
        " decide the same about all "
    );
    assert!(shown.starts_with(expected), "{shown}");
    // A version that never posted, and had another gate.
    let folder = tempfile::tempdir().unwrap();
    let old = program(
        &folder,
        r#"
        test "$1" = replay || exit 9
        echo "$@" > "$0.arguments"
        test "$(wc -l < "$2")" = "$(wc -l < 'HISTORY')" || exit 8
        while [ $# -gt 0 ]; do [ "$1" = --events ] && events=$2; shift; done
        echo '{"kind": "heard", "room": "garden-club", "message": "garden-club#00001"}' > "$events"
        echo '{"kind": "gate", "room": "garden-club", "message": "garden-club#00001", "gate": "too_late"}' >> "$events"
        "#
        .replace("HISTORY", HISTORY)
        .as_str(),
    );
    let policy = write(&folder, "policy.yaml", "response: {mode: companion}\n");
    let policy = policy.to_str().unwrap();
    compare(&old, &["--policy", policy, "--judge", "speak", "--latency", "70", "--seed", "5"]);
    let arguments = std::fs::read_to_string(folder.path().join("old-aizuchi.arguments")).unwrap();
    let told = " --judge speak --latency 70 --seed 5 --events ";
    assert!(arguments.contains(told), "{arguments}");
    assert!(arguments.trim_end().ends_with(&format!(" --policy {policy}")), "{arguments}");
    let shown = compare(&old, &["--language", "ja"]);
    let arguments = std::fs::read_to_string(folder.path().join("old-aizuchi.arguments")).unwrap();
    assert!(
        arguments.contains(" --judge builtin ") && arguments.contains(" --language ja"),
        "{arguments}"
    );
    let this = concat!("this aizuchi ", env!("CARGO_PKG_VERSION"));
    assert!(shown.starts_with(&format!("aizuchi 0.0.1 and {this} decide differently about ")));
    assert!(shown.contains(&format!("\n  {this}  speaks\n")), "{shown}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let broken = program(&folder, "echo 'aizuchi: the policy has an unknown key' >&2; exit 1");
    let stderr = refusal(&broken, &[]);
    let expected = "cannot replay them: aizuchi: the policy has an unknown key";
    assert!(stderr.trim_end().ends_with(expected), "{stderr}");
    let silent = program(&folder, "exit 0");
    assert!(refusal(&silent, &[]).contains("wrote no events"));
    let garbled = program(
        &folder,
        "while [ $# -gt 0 ]; do [ \"$1\" = --events ] && events=$2; shift; done; echo no > \"$events\"",
    );
    assert!(refusal(&garbled, &[]).contains("wrote an event that cannot be read"));
    let stderr = refusal(&silent, &["--judge", "model", "--model", "ollama/x"]);
    assert!(stderr.contains("it would ask the model once more"), "{stderr}");
    let neither = write(&folder, "notes.txt", "hello");
    let stderr = refusal(&neither, &[]);
    assert!(stderr.contains("neither a program nor a config that ends in .yaml"), "{stderr}");
    let settings = write(&folder, "other.yaml", "response: {mode: off}\n");
    let policy = settings.to_str().unwrap();
    let stderr = refusal(&settings, &["--policy", policy, "--policy", policy]);
    assert!(stderr.contains("--against compares with one --policy"), "{stderr}");
    let stderr = refusal(&settings, &["--events", "events.jsonl"]);
    assert!(stderr.contains("--events"), "{stderr}");
}

/// Statements that copy the tables of `newer` to tables of the same name in `main`, as far as both have the same
/// columns. The search index is built from these.
const COPY_TABLES: &str = r#"
    SELECT 'DELETE FROM main.' || name || '; INSERT INTO main.' || name || ' (' || columns || ') SELECT ' || columns
        || ' FROM newer.' || name
    FROM (SELECT t.name, (SELECT group_concat('"' || c.name || '"') FROM pragma_table_info(t.name, 'main') AS c
            WHERE c.name IN (SELECT name FROM pragma_table_info(t.name, 'newer'))) AS columns
        FROM pragma_table_list AS t
        WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite%' AND t.name NOT LIKE 'recall%'
            AND t.name <> '_sqlx_migrations') AS common
    WHERE columns IS NOT NULL"#;

/// Converts the database to the state of the version before the newest migration.
async fn as_earlier_version(home: &Home) {
    let path = home.path().join("earlier.db");
    let (mut earlier, lock) = sqlite::connect(&path).await.unwrap();
    let (_, migrations) = sqlite::MIGRATIONS.split_last().unwrap();
    migrate("the earlier version", migrations, &mut earlier).await.unwrap();
    earlier.close().await.unwrap();
    drop(lock);
    let mut database = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let newer = query("ATTACH ?1 AS newer").bind(home.database().display().to_string());
    newer.execute(&mut database).await.unwrap();
    let copies: Vec<String> = query_scalar(COPY_TABLES).fetch_all(&mut database).await.unwrap();
    assert!(copies.len() > 20, "{copies:?}");
    for copy in copies {
        raw_sql(AssertSqlSafe(copy)).execute(&mut database).await.unwrap();
    }
    // The last connection checkpoints the write-ahead log.
    database.close().await.unwrap();
    std::fs::rename(path, home.database()).unwrap();
}

#[tokio::test]
async fn the_own_messages_are_compared_before_the_upgrade() {
    let home = Home::new(1000.0);
    let program = home.start();
    program.says("alice", "does anyone know where the ladder is?").await;
    program.says("bob", "@Aizuchi are you there?").await;
    assert_eq!(program.stop(), Some(0));
    as_earlier_version(&home).await;
    let folder = tempfile::tempdir().unwrap();
    let quiet = write(&folder, "quiet.yaml", "response: {mode: 'off'}\n");
    let on = |arguments: &[&str]| {
        let mut command = aizuchi();
        command.arg("--config").arg(home.config()).args(arguments);
        command
    };
    let refused = on(&["search", "ladder"]).assert().failure();
    let refused = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(refused.contains("was written by an older version"), "{refused}");
    let mut compare = on(&["replay", "--from-store", "--against"]);
    let compared = compare.arg(&quiet).assert().success();
    let shown = String::from_utf8(compared.get_output().stdout.clone()).unwrap();
    assert!(shown.starts_with("config and quiet decide differently about 1 of "), "{shown}");
    assert!(shown.contains("are you there?"), "{shown}");
    // The old version continues with the database.
    let folder = home.database().parent().unwrap().to_owned();
    let names = std::fs::read_dir(folder).unwrap().flatten().map(|file| file.file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().contains("before")));
    let refused = on(&["search", "ladder"]).assert().failure();
    let refused = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(refused.contains("was written by an older version"), "{refused}");
}
