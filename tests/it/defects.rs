//! Defects of myao2 that the whole program could have; more of them stand in the tests of `aizuchi-core`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::command::aizuchi;
use crate::program::Home;

/// A fresh line is fresh wherever the machine stands, and a memory's day is the workspace's.
#[tokio::test]
async fn defect_21_times_are_moments_and_not_what_a_clock_shows() {
    let home = Home::new(1000.0);
    let room = home.start_with(&[], &[("TZ", "Asia/Tokyo")]);
    let before = Timestamp::now();
    room.says("Alice", "good morning").await;
    let told = room.messages().await[0]["ts"].as_f64().unwrap();
    assert!((told - before.as_millisecond() as f64 / 1000.0).abs() < 30.0, "{told}");
    // Nine hours of rest would have made it be judged by now.
    let decisions = room.get("/api/decisions?channel=general").await;
    assert_eq!(decisions["decisions"][0]["ended"], Value::Null, "{decisions}");
    for (zone, shown) in [("Asia/Tokyo", "Asia/Tokyo"), ("America/New_York", "America/New_York")] {
        let mut program = aizuchi();
        program.env("TZ", zone).arg("--config").arg(home.config());
        let output = program.args(["prompt", "judge", "--channel", "general"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let now = text.lines().find_map(|line| line.strip_prefix("Current time: ")).unwrap();
        let now = now.strip_suffix(shown).expect(now).trim();
        let line = text.lines().find_map(|line| line.strip_suffix("** Alice:")).unwrap();
        let read = |time: &str| time.trim_matches('*').parse::<DateTime>().unwrap();
        let age = read(now).duration_since(read(line)).as_secs();
        assert!((0..60).contains(&age), "{text}");
        let now = read(now).to_zoned(TimeZone::get(zone).unwrap()).unwrap().timestamp();
        assert!(now.duration_since(before).as_secs().abs() < 60, "{text}");
    }
    assert_eq!(room.stop(), Some(0));
}

/// The statements of a reply, from the mention to the post, by what they say.
async fn statements(channels: usize) -> BTreeMap<String, usize> {
    let home = Home::new(1000.0);
    let room = home.start_with(&[], &[("RUST_LOG", "sqlx::query=debug")]);
    for number in 0..channels {
        let name = json!({ "name": format!("room-{number}") });
        let (status, channel) = room.send("POST", "/api/channels", Some(&name)).await;
        assert_eq!(status, 201, "{channel}");
        let line = json!({ "channel": channel["id"], "user": "Bob", "text": "so it is" });
        assert_eq!(room.post(&line).await.0, 201);
    }
    let before = home.log().lines().count();
    room.says("Alice", "@Aizuchi what do you know?").await;
    let is_answer = |_: &str, data: &Value| data["bot"] == json!(true);
    room.wait_for(0, is_answer).await;
    assert_eq!(room.stop(), Some(0));
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
async fn defect_36_a_reply_takes_no_more_statements_where_there_are_more_channels() {
    let (few, many) = (statements(10).await, statements(200).await);
    let all = |counts: &BTreeMap<String, usize>| counts.values().sum::<usize>();
    assert!(all(&few) > 10, "{few:?}");
    // Some depend on when the runner happens to look; none on the number of channels.
    assert!(all(&many) < all(&few) + 40, "{few:#?}\n{many:#?}");
    assert!(many.values().all(|count| *count < 40), "{many:#?}");
    let contexts = many.iter().filter(|(statement, _)| statement.contains("WITH newest AS"));
    assert!(contexts.map(|(_, count)| count).sum::<usize>() >= 1, "{many:#?}");
}
