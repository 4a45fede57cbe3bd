//! The event stream.

use aizuchi_harness::net::http;
use serde_json::{Value, json};

use crate::program::Home;

#[tokio::test]
async fn the_stream_resumes_after_the_last_event_seen() {
    let home = Home::new(1000.0);
    let program = home.start();
    program.says("alice", "one").await;
    let first = program.wait_for(0, |kind, data| kind == "message" && data["text"] == "one").await;
    let second = program.says("alice", "two").await;
    let seen = first["revision"].as_u64().unwrap();
    let next = program.wait_for(seen, |kind, _| kind == "message").await;
    assert_eq!(next["id"].as_str(), Some(&*second));
    let is_waiting =
        |kind: &str, data: &Value| kind == "status" && data["steps"][0]["doing"] == "considering";
    program.wait_for(seen, is_waiting).await;
    // A browser reconnects with the last event it saw, which takes precedence over the URL.
    let client = http();
    let resumed =
        client.get(format!("{}/events?after=0", program.address)).header("last-event-id", seen);
    let mut resumed = resumed.send().await.unwrap();
    let mut first = String::new();
    while !first.contains("event: message") {
        first += std::str::from_utf8(&resumed.chunk().await.unwrap().unwrap()).unwrap();
    }
    assert!(first.contains("\"text\":\"two\"") && !first.contains("\"text\":\"one\""), "{first}");
}

#[tokio::test]
async fn a_long_history_is_streamed_completely_and_in_order() {
    let home = Home::new(1000.0);
    let program = home.start();
    // More than one batch.
    const LINES: usize = 230;
    let texts: Vec<String> = (0..LINES).map(|number| format!("line {number}")).collect();
    // A client may have at most two hundred connections at a time.
    for some in texts.chunks(LINES / 2) {
        futures_util::future::join_all(some.iter().map(|text| program.says("alice", text))).await;
    }
    let revisions = std::sync::Mutex::new(Vec::new());
    let are_all = |kind: &str, data: &Value| {
        let mut revisions = revisions.lock().unwrap();
        if kind == "message" {
            revisions.push(data["revision"].as_u64().unwrap());
        }
        revisions.len() == LINES
    };
    program.wait_for(0, are_all).await;
    let revisions = revisions.into_inner().unwrap();
    assert!(revisions.is_sorted_by(|one, next| one < next), "{revisions:?}");

    // A page contains a part of the messages and links to the rest in both directions.
    let page = async |query: &str| {
        let page = program.get(&format!("/api/messages?channel=general{query}")).await;
        let messages = page["messages"].as_array().unwrap().iter();
        let ids: Vec<String> = messages.map(|it| it["id"].as_str().unwrap().to_owned()).collect();
        let id = |name: &str| page[name].as_str().map(str::to_owned);
        (ids, id("older"), id("newer"))
    };
    let (newest, older, newer) = page("").await;
    assert_eq!((newest.len(), older.as_ref(), newer), (200, newest.first(), None));
    let (oldest, before, newer) = page(&format!("&before={}", newest[0])).await;
    assert_eq!((oldest.len(), before, newer), (LINES - 200, None, None));
    let (first, older, newer) = page("&after=0").await;
    assert_eq!((first.len(), older, newer.as_ref()), (200, None, first.last()));
    let (rest, older, newer) = page(&format!("&after={}", first[199])).await;
    assert_eq!((rest.len(), older, newer), (LINES - 200, None, None));
    let room = program.get("/api/room").await;
    let talks = room["talks"].as_array().unwrap();
    let talk = talks.iter().find(|talk| talk["channel"] == "general").unwrap();
    assert_eq!((&talk["older"], &room["truncated"]), (&json!(newest[0]), &json!(false)));
}
