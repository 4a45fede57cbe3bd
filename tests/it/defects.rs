//! Bugs of myao2 that need the whole program to be tested. The tests of `aizuchi-agent` cover the others.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::command::aizuchi;
use crate::program::Home;

/// The age of a message does not depend on the machine's time zone, and prompts show the workspace's time.
#[tokio::test]
async fn times_do_not_depend_on_the_machines_time_zone() {
    let home = Home::new(1000.0);
    let program = home.start_with(&[], &[("TZ", "Asia/Tokyo")]);
    let before = Timestamp::now();
    program.says("Alice", "good morning").await;
    let ts = program.messages().await[0]["ts"].as_f64().unwrap();
    assert!((ts - before.as_millisecond() as f64 / 1000.0).abs() < 30.0, "{ts}");
    // With an error of nine hours, the message would have been judged by now.
    let decisions = program.get("/api/decisions?channel=general").await;
    assert_eq!(decisions["decisions"][0]["ended"], Value::Null, "{decisions}");
    // Zones without daylight saving, whose local times are never ambiguous.
    for zone in ["Asia/Tokyo", "America/Bogota"] {
        let mut command = aizuchi();
        command.env("TZ", zone).arg("--config").arg(home.config());
        let output = command.args(["prompt", "judge", "--channel", "general"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let now = text.lines().find_map(|line| line.strip_prefix("Current time: ")).unwrap();
        let now = now.strip_suffix(zone).expect(now).trim();
        let line = text.lines().find_map(|line| line.strip_suffix("** Alice:")).unwrap();
        let read = |time: &str| time.trim_matches('*').parse::<DateTime>().unwrap();
        let age = read(now).duration_since(read(line)).as_secs();
        assert!((0..60).contains(&age), "{text}");
        let now = read(now).to_zoned(TimeZone::get(zone).unwrap()).unwrap().timestamp();
        assert!(now.duration_since(before).as_secs().abs() < 60, "{text}");
    }
    assert_eq!(program.stop(), Some(0));
}

/// Counts the SQL statements of a reply, from the mention to the post.
async fn statements(channels: usize) -> BTreeMap<String, usize> {
    let home = Home::new(1000.0);
    let program = home.start_with(&[], &[("RUST_LOG", "sqlx::query=debug")]);
    for number in 0..channels {
        let name = json!({ "name": format!("room-{number}") });
        let (status, channel) = program.send("POST", "/api/channels", Some(&name)).await;
        assert_eq!(status, 201, "{channel}");
        let message = json!({ "channel": channel["id"], "user": "Bob", "text": "so it is" });
        assert_eq!(program.post(&message).await.0, 201);
    }
    let before = home.log().lines().count();
    program.says("Alice", "@Aizuchi what do you know?").await;
    let is_answer = |_: &str, data: &Value| data["bot"] == json!(true);
    program.wait_for(0, is_answer).await;
    assert_eq!(program.stop(), Some(0));
    let mut counts = BTreeMap::new();
    for line in home.log().lines().skip(before) {
        let line: Value = serde_json::from_str(line).unwrap();
        if line["target"] == json!("sqlx::query") {
            let fields = &line["fields"];
            let statement = fields["db.statement"].as_str().filter(|text| !text.is_empty());
            let statement = statement.or(fields["summary"].as_str()).unwrap_or_default();
            *counts.entry(statement.to_owned()).or_default() += 1;
        }
    }
    counts
}

#[tokio::test]
async fn the_statements_of_a_reply_do_not_grow_with_the_channels() {
    let (few, many) = (statements(10).await, statements(200).await);
    let total = |counts: &BTreeMap<String, usize>| counts.values().sum::<usize>();
    assert!(total(&few) > 10, "{few:?}");
    // A few statements depend on the runner's timing, none on the number of channels.
    assert!(total(&many) < total(&few) + 40, "{few:#?}\n{many:#?}");
    assert!(many.values().all(|count| *count < 40), "{many:#?}");
    let contexts = many.iter().filter(|(statement, _)| statement.contains("(WITH near AS ("));
    assert!(contexts.map(|(_, count)| count).sum::<usize>() >= 1, "{many:#?}");
}
