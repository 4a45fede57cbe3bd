//! The commands `aizuchi status` and `aizuchi export`.

use serde_json::Value;

use crate::command::aizuchi;
use crate::program::Home;

fn run(home: &Home, arguments: &[&str]) -> String {
    let mut command = aizuchi();
    command.arg("--config").arg(home.config()).args(arguments);
    String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
}

#[tokio::test]
async fn the_status_names_what_each_channel_is_doing() {
    let home = Home::new(1000.0);
    let program = home.start();
    program.says("alice", "the pump key hangs behind the green door").await;
    program.says("alice", "@Aizuchi mute for 20 minutes").await;
    let shown = run(&home, &["status"]);
    assert!(shown.contains("#general") && shown.contains("muted for"), "{shown}");
    assert!(shown.contains("HEARD") && shown.contains("s ago"), "{shown}");
    assert!(shown.contains("today 0 tokens and") && shown.contains("COST TODAY"), "{shown}");
    let status: Value = serde_json::from_str(&run(&home, &["status", "--json"])).unwrap();
    let channel = &status["workspaces"][0]["channels"][0];
    assert_eq!((&channel["name"], &channel["mode"]), (&"general".into(), &"companion".into()));
    assert!(channel["last_heard"].is_number() && channel["muted_until"].is_number(), "{channel}");
    assert_eq!(channel["pending"][0]["verb"], "judge", "{channel}");
    assert_eq!(status["dead_letters"], 0);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn what_is_exported_is_read_by_replay_and_import() {
    let home = Home::new(1000.0);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("messages.jsonl");
    let file = file.to_str().unwrap();
    let program = home.start();
    for text in ["the pump key hangs behind the green door", "and it is red", "who paints it?"] {
        program.says("alice", text).await;
    }
    program.says("bob", "not me").await;
    assert!(run(&home, &["export", file]).contains("holds"));
    let lines: Vec<Value> = std::fs::read_to_string(file)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let texts: Vec<&str> = lines.iter().filter_map(|line| line["text"].as_str()).collect();
    assert!(texts.contains(&"who paints it?") && texts.contains(&"not me"), "{texts:?}");
    let mut messages = lines.iter().filter(|line| line["kind"].is_null());
    assert!(messages.all(|line| line["room"] == "general" && line["ts"].is_number()));
    // The export is read by a replay, and by another installation.
    let replayed = aizuchi().args(["replay", file, "--strict", "--json"]).assert().success();
    let replayed: Value = serde_json::from_slice(&replayed.get_output().stdout).unwrap();
    assert_eq!(replayed["bad_lines"], 0);
    let other = Home::new(1000.0);
    run(&other, &["import", file]);
    assert!(run(&other, &["search", "pump"]).contains("green door"));
    // Data about one user.
    let bob = run(&home, &["export", "--user", "bob"]);
    assert!(bob.contains("not me") && !bob.contains("green door"), "{bob}");
    let mut again = aizuchi();
    again.arg("--config").arg(home.config()).args(["export", file]);
    let refused = again.assert().code(1);
    let refused = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(refused.contains("cannot write"), "{refused}");
    assert_eq!(program.stop(), Some(0));
}
