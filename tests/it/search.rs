//! `aizuchi search`: what it finds and what it says.

use serde_json::{Value, json};

use crate::command::aizuchi;
use crate::program::Home;

/// A room in which something was said, and what to start it with again.
async fn room() -> Home {
    let home = Home::new(1000.0);
    let room = home.start();
    room.says("Alice", "When do I cut the roses?").await;
    room.says("Bob", "大きい犬が\u{1b}[31m京都にいる\nYes!").await;
    let body = json!({ "channel": "random", "user": "Bob", "text": "my roses are blue" });
    assert_eq!(room.post(&body).await.0, 201);
    assert_eq!(room.stop(), Some(0));
    home
}

fn search(home: &Home, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut program = aizuchi();
    let run = program.arg("--config").arg(home.config()).arg("search").args(arguments);
    let output = run.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[tokio::test]
async fn lines_are_shown_one_by_one() {
    let home = room().await;
    let (code, said, _) = search(&home, &["rose"]);
    assert_eq!((code, said.lines().count()), (Some(0), 2), "{said}");
    assert!(said.contains(" UTC  #random  Bob: my roses are blue\n"), "{said}");
    assert!(said.contains(" UTC  #general  Alice: When do I cut the roses?\n"), "{said}");
    let (_, said, _) = search(&home, &["rose", "--limit", "1"]);
    assert_eq!(said.lines().count(), 1, "{said}");
    for channel in ["random", "#random"] {
        let (_, said, _) = search(&home, &["cut", "rose", "--channel", channel]);
        assert!(said.ends_with("  #random  Bob: my roses are blue\n"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    // Nothing that people wrote moves a terminal's cursor.
    for word in ["犬", "京都"] {
        let (_, said, _) = search(&home, &[word]);
        assert!(said.ends_with("  #general  Bob: 大きい犬が[31m京都にいる Yes!\n"), "{said:?}");
    }
    let (code, said, _) = search(&home, &["canary"]);
    assert_eq!((code, &*said), (Some(0), "Nothing was found.\n"));
}

#[tokio::test]
async fn a_program_reads_them_as_json_also_while_the_room_is_open() {
    let home = room().await;
    let running = home.start();
    let id = running.says("Carol", "a canary sings").await;
    let (code, said, _) = search(&home, &["canary", "--json"]);
    assert_eq!(code, Some(0));
    let mut found: Value = serde_json::from_str(&said).unwrap();
    let result = found["results"][0].as_object_mut().unwrap();
    assert!(result.remove("score").unwrap().as_f64().unwrap() > 0.0);
    assert!(result.remove("ts").unwrap().as_f64().unwrap() > 1e9);
    assert!(result.remove("user").unwrap().is_string());
    let expected = json!({
        "id": id, "channel": "general", "channel_name": "general", "name": "Carol",
        "text": "a canary sings", "thread": null,
    });
    assert_eq!(found, json!({ "results": [expected] }));
    let (_, said, _) = search(&home, &["sparrow", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap(), json!({ "results": [] }));
    assert_eq!(running.stop(), Some(0));
}

#[tokio::test]
async fn what_cannot_be_searched_is_told_in_a_sentence() {
    let home = Home::new(1000.0);
    let (code, _, said) = search(&home, &["rose"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("room.db does not exist yet; `aizuchi run` creates it"), "{said}");
    assert!(!home.database().exists());
    let home = room().await;
    let (code, _, said) = search(&home, &["rose", "--channel", "attic"]);
    assert_eq!(
        (code, &*said),
        (Some(1), "aizuchi: there is no channel \"attic\" in the database\n")
    );
    for wrong in [&["rose", "--limit", "0"][..], &["rose", "--limit", "101"], &[]] {
        assert_eq!(search(&home, wrong).0, Some(2));
    }
    std::fs::write(home.database(), "Dear diary, this is no database at all. ".repeat(40)).unwrap();
    let (code, _, said) = search(&home, &["rose"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("room.db: the file is not a database"), "{said}");
}
