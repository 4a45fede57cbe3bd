//! The command `aizuchi search`.

use aizuchi_harness::test_store::put_database;
use serde_json::{Value, json};

use crate::command::aizuchi;
use crate::program::Home;

/// Creates a home whose database contains a few messages.
async fn home_with_messages() -> Home {
    let home = Home::new(1000.0);
    let program = home.start();
    program.says("Alice", "When do I cut the roses?").await;
    program.says("Bob", "大きい犬が\u{1b}[31m京都にいる\nYes!").await;
    let body = json!({ "channel": "random", "user": "Bob", "text": "my roses are blue" });
    assert_eq!(program.post(&body).await.0, 201);
    assert_eq!(program.stop(), Some(0));
    home
}

fn search(home: &Home, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = aizuchi();
    let run = command.arg("--config").arg(home.config()).arg("search").args(arguments);
    let output = run.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[tokio::test]
async fn each_message_is_one_line() {
    let home = home_with_messages().await;
    let (code, stdout, _) = search(&home, &["rose"]);
    assert_eq!((code, stdout.lines().count()), (Some(0), 2), "{stdout}");
    assert!(stdout.contains(" UTC  #random  Bob: my roses are blue\n"), "{stdout}");
    // Each line starts with the message's id, which `why` accepts.
    for line in stdout.lines() {
        let id = line.split("  ").next().unwrap();
        let run = aizuchi().arg("--config").arg(home.config()).args(["why", id]).assert().code(0);
        let why = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
        let text = line.split_once(": ").unwrap().1;
        assert!(why.lines().next().unwrap().ends_with(text), "{line}\n{why}");
    }
    assert!(stdout.contains(" UTC  #general  Alice: When do I cut the roses?\n"), "{stdout}");
    let (_, stdout, _) = search(&home, &["rose", "--limit", "1"]);
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    for channel in ["random", "#random"] {
        let (_, stdout, _) = search(&home, &["cut", "rose", "--channel", channel]);
        assert!(stdout.ends_with("  #random  Bob: my roses are blue\n"), "{stdout}");
        assert_eq!(stdout.lines().count(), 1, "{stdout}");
    }
    // Control characters in a message do not reach the terminal.
    for word in ["犬", "京都"] {
        let (_, stdout, _) = search(&home, &[word]);
        assert!(stdout.ends_with("  #general  Bob: 大きい犬が[31m京都にいる Yes!\n"), "{stdout:?}");
    }
    let (code, stdout, _) = search(&home, &["canary"]);
    assert_eq!((code, &*stdout), (Some(0), "Nothing was found.\n"));
}

#[tokio::test]
async fn json_output_works_while_the_program_runs() {
    let home = home_with_messages().await;
    let running = home.start();
    let id = running.says("Carol", "a canary sings").await;
    let (code, stdout, _) = search(&home, &["canary", "--json"]);
    assert_eq!(code, Some(0));
    let mut found: Value = serde_json::from_str(&stdout).unwrap();
    let result = found["results"][0].as_object_mut().unwrap();
    assert!(result.remove("score").unwrap().as_f64().unwrap() > 0.0);
    assert!(result.remove("ts").unwrap().as_f64().unwrap() > 1e9);
    assert!(result.remove("user").unwrap().is_string());
    let expected = json!({
        "id": id, "workspace": "local", "channel": "general", "channel_name": "general", "name": "Carol",
        "text": "a canary sings", "thread": null,
    });
    assert_eq!(found, json!({ "results": [expected] }));
    let (_, stdout, _) = search(&home, &["sparrow", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap(), json!({ "results": [] }));
    assert_eq!(running.stop(), Some(0));
}

#[tokio::test]
async fn errors_are_reported_in_one_sentence() {
    let home = Home::new(1000.0);
    let (code, _, stderr) = search(&home, &["rose"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("room.db does not exist yet; `aizuchi run` creates it"), "{stderr}");
    assert!(!home.database().exists());
    let home = home_with_messages().await;
    let (code, _, stderr) = search(&home, &["rose", "--channel", "attic"]);
    assert_eq!(
        (code, &*stderr),
        (Some(1), "aizuchi: there is no channel \"attic\" in the database\n")
    );
    for wrong in [&["rose", "--limit", "0"][..], &["rose", "--limit", "101"], &[]] {
        assert_eq!(search(&home, wrong).0, Some(2));
    }
    std::fs::write(home.database(), "Dear diary, this is no database at all. ".repeat(40)).unwrap();
    let (code, _, stderr) = search(&home, &["rose"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("room.db: the file is not a database"), "{stderr}");
}

/// SQLite puts the log of what was not yet moved into the file beside the target of a link.
#[tokio::test]
async fn a_database_behind_a_symbolic_link_has_one_log_and_one_owner() {
    let home = Home::new(1000.0);
    let folder = home.path().join("disk");
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("real.db");
    put_database(&file);
    std::os::unix::fs::symlink("disk/real.db", home.database()).unwrap();
    let program = home.start();
    program.says("Alice", "When do I cut the roses?").await;
    let other = Home::new(1000.0);
    other.replace(&other.database().display().to_string(), &file.display().to_string());
    let lines = folder.join("lines.jsonl");
    std::fs::write(&lines, r#"{"room":"tea","id":"1","ts":1,"author":"Bob","text":"Hi"}"#).unwrap();
    let mut import = aizuchi();
    let import = import.arg("--config").arg(other.config()).arg("import").arg(&lines);
    let refused = String::from_utf8(import.output().unwrap().stderr).unwrap();
    assert!(refused.contains("another Aizuchi is running on"), "{refused}");
    program.kill();
    let (code, stdout, _) = search(&home, &["roses"]);
    assert_eq!((code, stdout.lines().count()), (Some(0), 1), "{stdout}");
    assert!(stdout.ends_with("Alice: When do I cut the roses?\n"), "{stdout}");
}
