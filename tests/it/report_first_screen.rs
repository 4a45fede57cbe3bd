//! Every number at the top of a report, counted again from the events of the replay and from the history, by other code.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::report::{folder_with, page_and_json, recording, replay, seen};

/// Thirty days, each with a question that nobody takes up, or that somebody talks past just after a post would come, one
/// that somebody takes up, and on some days a call.
fn workshop() -> String {
    let day = |day: usize| {
        format!(
            "{day} 08:10:00 help ida Does anyone know which glaze is safe for cups number {day}?\n{}\
             {day} 10:00:00 help otto Where do we keep the big trimming tool, who knows?\n\
             {day} 10:20:00 help ruth In the second drawer.\n\
             {day} 13:00:00 tools sami Has anybody a spare shim for wheel {day}?\n\
             {day} 13:01:{:02} tools ruth I had one, let me look.\n\
             {day} 13:02:10 tools ida There was one in the box.\n\
             {day} 16:00:00 help otto {} how hot is kiln {day}?\n",
            if day % 4 == 1 {
                format!("{day} 08:12:00 help ruth Good morning!\n")
            } else {
                String::new()
            },
            day % 50,
            if day.is_multiple_of(3) { "@Aizuchi" } else { "Ruth," },
        )
    };
    recording(&(0..30).map(day).collect::<String>())
}

/// The numbers at the top of the page.
#[derive(Debug, PartialEq)]
struct FirstScreen {
    posts: usize,
    month: usize,
    week: String,
    at_open_questions: usize,
    open_questions: usize,
    before_people: usize,
    in_mid_talk: usize,
    messages: usize,
    people: usize,
    channels: usize,
}

struct Message {
    room: String,
    id: String,
    ts: f64,
    author: String,
    text: String,
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn messages(history: &Path) -> Vec<Message> {
    let text = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
    let message = |line: Value| Message {
        room: text(&line, "room"),
        id: text(&line, "id"),
        ts: line["ts"].as_f64().unwrap(),
        author: text(&line, "author"),
        text: text(&line, "text"),
    };
    lines(history).into_iter().map(message).collect()
}

/// Counts everything again, from the events and the messages.
fn count(events: &[Value], messages: &[Message]) -> FirstScreen {
    let by_id: HashMap<&str, &Message> = messages.iter().map(|one| (&*one.id, one)).collect();
    let end = messages.last().unwrap().ts;
    let open: Vec<&Message> = messages
        .iter()
        .filter(|one| one.text.contains('?') && !one.text.contains('@') && end - one.ts > 3600.0)
        .filter(|one| {
            let others = messages
                .iter()
                .filter(|other| other.room == one.room && other.author != one.author);
            !others.into_iter().any(|other| (0.0..=3600.0).contains(&(other.ts - one.ts)))
        })
        .collect();
    let (mut posts, mut at_open, mut before_people, mut in_mid_talk) = (0, Vec::new(), 0, 0);
    for event in events.iter().filter(|event| event["kind"] == "speak") {
        let about = event["about"].as_str().or(event["message"].as_str()).unwrap();
        let (about, at) = (by_id[about], event["t"].as_f64().unwrap());
        if about.text.contains("@Aizuchi") {
            continue;
        }
        posts += 1;
        let is_open = open.iter().any(|one| one.id == about.id) && at - about.ts <= 3600.0;
        if is_open && !at_open.contains(&&*about.id) {
            at_open.push(&*about.id);
        }
        // Nobody answers in a thread here, so whoever writes next in the channel takes it up.
        let of_others =
            || messages.iter().filter(|one| one.room == about.room && one.author != about.author);
        let next = of_others().map(|one| one.ts).find(|ts| *ts >= about.ts);
        before_people +=
            usize::from(next.is_some_and(|next| next > at && next - about.ts <= 3600.0));
        let is_near = |one: &&Message| {
            one.room == event["room"].as_str().unwrap()
                && one.author != about.author
                && (one.ts - at).abs() <= 60.0
        };
        in_mid_talk += usize::from(messages.iter().any(|one| is_near(&one)));
    }
    let days = (end - messages[0].ts) / 86_400.0;
    let distinct = |key: fn(&Message) -> &str| {
        messages.iter().map(key).collect::<std::collections::HashSet<_>>().len()
    };
    let week = posts as f64 / days * 7.0;
    let week = if week < 9.95 { format!("{week:.1}") } else { format!("{week:.0}") };
    FirstScreen {
        posts,
        month: (posts as f64 / days * 30.4).round() as usize,
        week: week.trim_end_matches(".0").to_owned(),
        at_open_questions: at_open.len(),
        open_questions: open.len(),
        before_people,
        in_mid_talk,
        messages: messages.len(),
        people: distinct(|one| &one.author),
        channels: distinct(|one| &one.room),
    }
}

/// Returns the text between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no {before:?} in {text}"));
    rest.split_once(after).unwrap_or_else(|| panic!("no {after:?} after {before:?}")).0
}

/// Reads the numbers that a page shows.
fn shown(page: &str) -> FirstScreen {
    let text = seen(page);
    let number = |text: &str| text.trim().parse().unwrap_or_else(|_| panic!("{text:?}"));
    let row = between(page, "Joins in", "</tr>");
    let cells: Vec<&str> = row.split("<td").skip(1).map(|cell| between(cell, ">", "<")).collect();
    let [(at_open, open), (before_people, all), (mid_talk, whole)] =
        [cells[1], cells[2], cells[3]].map(|cell| cell.split_once(" of ").unwrap());
    assert_eq!((all, whole), (between(&text, "would have spoken ", " times in "), all));
    FirstScreen {
        posts: number(between(&text, "would have spoken ", " times in ")),
        month: number(between(&text, " days, about ", " times a month")),
        week: cells[0].to_owned(),
        at_open_questions: number(at_open),
        open_questions: number(open),
        before_people: number(before_people),
        in_mid_talk: number(mid_talk),
        messages: number(between(&text, "From ", " messages")),
        people: number(between(&text, " messages of ", " people")),
        channels: number(between(&text, "In your ", " channels")),
    }
}

#[test]
fn each_number_of_the_first_screen_follows_from_the_events() {
    let (_folder, history) = folder_with(&workshop());
    let [events, answers] =
        ["events.jsonl", "answers.jsonl"].map(|name| history.with_file_name(name));
    replay(&history, &["--judge", "silent", "--events", events.to_str().unwrap()]);
    // The judge says yes at two of three checks.
    let calls = lines(&events).into_iter().filter(|event| event["kind"] == "judge_called");
    let answer = |(number, call): (usize, Value)| {
        let (room, message) = (&call["room"], &call["message"]);
        json!({"room": room, "message": message, "should_respond": number % 3 > 0}).to_string()
            + "\n"
    };
    fs::write(&answers, calls.enumerate().map(answer).collect::<String>()).unwrap();
    let judged = ["--judge", answers.to_str().unwrap(), "--events", events.to_str().unwrap()];
    let (page, json) = page_and_json(&history, &judged);
    let (mut events, messages) = (lines(&events), messages(&history));
    let expected = count(&events, &messages);
    let some = [expected.in_mid_talk, expected.at_open_questions, expected.before_people];
    assert!(some.iter().all(|count| *count > 3), "{expected:?}");
    assert_eq!(shown(&page), expected);
    // The numbers count the lines: without one of them, they differ.
    let spoken = events.iter().rposition(|event| event["kind"] == "speak").unwrap();
    events.remove(spoken);
    assert_ne!(shown(&page), count(&events, &messages));

    // The price of a month is that of all calls, memory included, for the days of the history.
    let policy = &json["report"]["policies"][0];
    let amount = |key: &str| policy["cost"][key].as_f64().unwrap();
    let total = ["checks", "replies", "memory"].map(amount).iter().sum::<f64>();
    let days = (messages.last().unwrap().ts - messages[0].ts) / 86_400.0;
    let month = format!("about ${:.2}", total / days * 30.4);
    assert!(amount("memory") > 0.0 && seen(&page).contains(&month), "{month}: {}", seen(&page));
    // A token of a prompt is a few bytes.
    let bytes: f64 = events.iter().filter_map(|event| event["prompt_bytes"].as_f64()).sum();
    let checks = events.iter().filter(|event| event["kind"] == "judge_called").count() as f64;
    let tokens = (amount("checks") - checks * 90.0 * 5e-6) / 1e-6;
    assert!((2.0..6.0).contains(&(bytes / tokens)), "{bytes} bytes, {tokens} tokens");
    for way in ["Only when asked", "Asks first"] {
        let row = between(&page, way, "</tr>");
        let is_asked = way == "Only when asked";
        assert_eq!(row.contains(">0 of "), is_asked, "{row}");
    }
}

/// What the page says to set is a config.
#[test]
fn the_lines_to_set_are_a_config() {
    let (_folder, history) = folder_with(&workshop().replace("tools", "to: \\\"ols"));
    let (page, json) = page_and_json(&history, &["--judge", "speak"]);
    let lines = between(&page, "data-testid=\"config\">", "</code>");
    let lines = lines.replace("&#34;", "\"").replace("&#92;", "\\");
    let posts = &json["report"]["policies"][0]["by_channel"][1]["posts"];
    let [count, mid_talk] = ["count", "in_mid_talk"].map(|key| posts[key].as_u64().unwrap());
    let is_named = lines.contains("\"#to: \\\"ols\": {mode: mention_only}");
    assert_eq!(is_named, count >= 6 && mid_talk * 3 >= count, "{posts} {lines}");
    let config = history.with_file_name("proposed.yaml");
    fs::write(&config, &lines).unwrap();
    replay(&history, &["--judge", "silent", "--policy", config.to_str().unwrap()]);
    assert!(lines.contains("mode: propose"), "{lines}");
}
