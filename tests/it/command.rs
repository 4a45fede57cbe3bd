//! The command line: error messages.

use std::sync::Arc;
use std::time::Duration;

use assert_cmd::Command;
use sqlx::{ConnectOptions, Connection, Executor};

use crate::program::Home;

/// A program that should end by itself is killed after this long.
const TIMEOUT: Duration = Duration::from_secs(300);

pub fn aizuchi() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_aizuchi"));
    program.timeout(TIMEOUT).env_remove("AIZUCHI_CONFIG").env("LC_ALL", "C");
    program
}

/// Returns the stderr of the program when it refuses to run with a config.
pub fn refusal(config: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.yaml"), config).unwrap();
    let run =
        aizuchi().current_dir(folder.path()).args(["--config", "config.yaml"]).assert().code(1);
    String::from_utf8(run.get_output().stderr.clone()).unwrap()
}

#[test]
fn a_broken_config_is_named_with_its_line() {
    for (config, expected) in [
        ("persona:\n  nam: Aki\n", "config.yaml:2:3: unknown key \"nam\" in persona"),
        ("response:\n  min_wait_seconds: soon\n", "config.yaml:2:21: response.min_wait_seconds is"),
        ("http:\n  listen: 0.0.0.0:80\n", "config.yaml:2:11: http.listen can be reached from"),
        ("persona: [\n", "config.yaml:1:10: the bracket that opens here is never closed"),
    ] {
        let stderr = refusal(config);
        assert!(stderr.starts_with(&format!("aizuchi: {expected}")), "{config:?} →\n{stderr}");
        assert_eq!(stderr.trim_end().lines().count(), 1, "{stderr}");
    }
    aizuchi().args(["--config", "nowhere.yaml"]).assert().code(1);
}

#[test]
fn the_local_room_has_a_short_wait_by_default() {
    use aizuchi_config::Config;
    let waits = |config: &str| {
        let config = Config::parse(config).unwrap();
        (config.room_wait_settings().min_wait_seconds, config.wait_settings().min_wait_seconds)
    };
    assert_eq!(waits(""), (12.0, 300.0));
    assert_eq!(waits("# nothing\n"), (12.0, 300.0));
    assert_eq!(waits("language: ja\n"), (12.0, 300.0));
    assert_eq!(waits("response:\n  min_wait_seconds: 60\n"), (60.0, 60.0));
}

/// A user who tries the program in a browser would mistake a human-like delay for a bug.
#[test]
fn the_local_room_posts_immediately_by_default() {
    use aizuchi_config::Config;
    use aizuchi_model::chat::local;
    use aizuchi_model::platform::Platforms;
    use aizuchi_model::rules::PostTiming;
    let timings = |config: &str| {
        let config = Config::parse(config).unwrap();
        let store = Arc::new(aizuchi_store::volatile::VolatileStore::new());
        let clock = aizuchi_model::clock::Clock::system();
        let platforms = Platforms::default();
        let answers =
            aizuchi::app::agent::build_command_answers(&config, store.clone(), store.clone());
        let agent = aizuchi::app::agent::build_agent(
            &config,
            (store, answers),
            platforms,
            clock,
            Arc::default(),
            0,
            None,
        );
        let settings = agent.unwrap().settings;
        (settings.workspace_timings[&local::workspace_id()], settings.timing)
    };
    assert_eq!(timings(""), (PostTiming::Immediate, PostTiming::HumanLike));
    assert_eq!(
        timings("response:\n  timing: human\n"),
        (PostTiming::HumanLike, PostTiming::HumanLike)
    );
}

#[test]
fn a_port_in_use_is_named() {
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let home = Home::on(other.local_addr().unwrap().port(), 1.0);
    let stderr = refused(&home);
    assert!(stderr.contains("another program is already listening on 127.0.0.1:"), "{stderr}");
}

#[test]
fn a_second_process_on_one_database_is_refused() {
    let home = Home::new(1.0);
    let _first = home.start();
    let run = aizuchi().arg("--config").arg(home.config()).assert().code(1);
    let stderr = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(stderr.contains("another Aizuchi is running on"), "{stderr}");
}

#[test]
fn a_file_that_is_not_a_database_is_not_changed() {
    let home = Home::new(1.0);
    let text = "Dear diary, this is no database at all. ".repeat(40);
    std::fs::write(home.database(), &text).unwrap();
    let stderr = refused(&home);
    assert!(stderr.contains("room.db: the file is not a database"), "{stderr}");
    assert_eq!(std::fs::read_to_string(home.database()).unwrap(), text);
}

#[test]
fn a_database_that_cannot_be_opened_is_named() {
    let home = Home::new(1.0);
    std::fs::create_dir(home.database()).unwrap();
    let stderr = refused(&home);
    assert!(stderr.contains("room.db: the database file cannot be opened"), "{stderr}");
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused() {
    let home = Home::new(1.0);
    assert_eq!(home.start().stop(), Some(0));
    let mut database = open(&home).await;
    database
        .execute(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES (999, 'from the future', true, x'00', 0)",
        )
        .await
        .unwrap();
    database.close().await.unwrap();
    let stderr = refused(&home);
    assert!(
        stderr.contains("was written by a newer version of Aizuchi (it has schema 999)"),
        "{stderr}"
    );
}

#[tokio::test]
async fn a_locked_database_is_named() {
    let home = Home::new(1.0);
    assert_eq!(home.start().stop(), Some(0));
    let mut database = open(&home).await;
    database.execute("BEGIN EXCLUSIVE").await.unwrap();
    let config = home.config();
    let run =
        tokio::task::spawn_blocking(move || aizuchi().arg("--config").arg(config).assert().code(1));
    let stderr = String::from_utf8(run.await.unwrap().get_output().stderr.clone()).unwrap();
    assert!(stderr.contains("another program holds a lock on the database"), "{stderr}");
}

#[test]
fn a_read_only_database_is_named() {
    let home = Home::new(1.0);
    assert_eq!(home.start().stop(), Some(0));
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &std::path::Path| match path.extension().and_then(|it| it.to_str()) {
        // The log may still exist.
        Some("db" | "db-wal" | "db-shm") => 0o444,
        _ => 0o666,
    };
    for entry in std::fs::read_dir(home.path()).unwrap() {
        let path = entry.unwrap().path();
        set_permissions(&path, Permissions::from_mode(mode(&path))).unwrap();
    }
    set_permissions(home.path(), Permissions::from_mode(0o777)).unwrap();
    // Permissions do not apply to root, so root runs the program as the user `nobody`.
    let is_root = std::process::Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let mut program = Command::new("setpriv");
    program.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        env!("CARGO_BIN_EXE_aizuchi"),
    ]);
    let mut program = if is_root { program } else { aizuchi() };
    let run = program.timeout(TIMEOUT).arg("--config").arg(home.config()).assert().code(1);
    let stderr = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(stderr.contains("room.db: the database is read-only"), "{stderr}");
}

#[test]
fn a_replay_reports_the_lines_it_skips() {
    let folder = tempfile::tempdir().unwrap();
    let history = folder.path().join("history.jsonl");
    let lines = concat!(
        r#"{"room":"r","id":"1","ts":1,"author":"ann","text":"who has the key?"}"#,
        "\nnonsense\n",
        r#"{"room":"r","id":"2","author":"bob","text":"my secret"}"#,
        "\n"
    );
    std::fs::write(&history, lines).unwrap();
    let run = aizuchi().arg("replay").arg(&history).arg("--json").assert().code(0);
    let output = run.get_output();
    let stderr = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(stderr.contains("line 2: it is not a JSON object, at column 2; left out"), "{stderr}");
    assert!(stderr.contains("line 3: the field `ts` is missing; left out"), "{stderr}");
    assert!(!stderr.contains("secret"), "{stderr}");
    let table: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(table["bad_lines"], 2);
    assert_eq!(table["policies"][0]["score"]["judge_calls"], 1);
    aizuchi().arg("replay").arg(&history).arg("--strict").assert().code(2);
    let huge = u64::MAX.to_string();
    aizuchi().arg("replay").arg(&history).args(["--latency", &huge]).assert().code(2);
    aizuchi().args(["--config", "nowhere.yaml", "replay"]).arg(&history).assert().code(1);
    aizuchi().arg("replay").arg(folder.path().join("nowhere")).assert().code(1);
    std::fs::write(&history, "\n").unwrap();
    aizuchi().arg("replay").arg(&history).assert().code(1);
}

/// Values missing from the recording are unknown, not zero.
#[test]
fn a_replay_of_a_recording_without_annotations_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let history = folder.path().join("history.jsonl");
    let message = |id: u32, more: &str| {
        format!(
            r#"{{"room":"r","id":"{id}","ts":{},"author":"u{}","text":"who has the key?"{more}}}"#,
            id * 1000,
            id % 2
        )
    };
    let unannotated: Vec<String> = (1..4).map(|id| message(id, "")).collect();
    std::fs::write(&history, unannotated.join("\n")).unwrap();
    let replay = |arguments: &[&str]| {
        let run = aizuchi().arg("replay").arg(&history).args(arguments).assert().code(0);
        String::from_utf8(run.get_output().stdout.clone()).unwrap()
    };
    let value = |table: &str, name: &str| {
        let row = table.lines().find(|line| line.contains(name));
        let cells = row.unwrap_or_else(|| panic!("{name} is missing in\n{table}"));
        cells.trim_matches('|').rsplit('|').next().unwrap().trim().to_owned()
    };
    let table = replay(&["--judge", "silent", "--internals"]);
    for name in
        ["questions that nobody answered", "… judged within 600 s", "… in an active exchange"]
    {
        assert_eq!(value(&table, name), "–", "{name}\n{table}");
    }
    let json: serde_json::Value = serde_json::from_str(&replay(&["--json"])).unwrap();
    let score = &json["policies"][0]["score"];
    assert!(score["open_questions"].is_null() && score["reached_questions"].is_null(), "{score}");
    assert_eq!(score["answers_annotated"], false);

    let annotated =
        [message(1, r#","opener":true"#), message(2, r#","reply_to":["1"]"#), message(3, "")];
    std::fs::write(&history, annotated.join("\n")).unwrap();
    let table = replay(&["--internals"]);
    assert_eq!(value(&table, "questions that nobody answered"), "0", "{table}");
}

fn refused(home: &Home) -> String {
    let run = aizuchi().arg("--config").arg(home.config()).assert().code(1);
    let stderr = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(!stderr.contains("panicked"), "{stderr}");
    stderr
}

async fn open(home: &Home) -> sqlx::SqliteConnection {
    sqlx::sqlite::SqliteConnectOptions::new().filename(home.database()).connect().await.unwrap()
}
