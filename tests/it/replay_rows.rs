//! The rows of a recorded channel match its messages, and a part of a channel is as if there were no other.

use std::collections::HashSet;

use aizuchi_import::input::{InputOptions, Recording};
use aizuchi_import::rows::IdHash;
use proptest::prelude::*;
use serde_json::json;

use crate::replay_inputs::messages;

#[derive(Clone, Debug)]
struct Line {
    channel: usize,
    id: usize,
    thread: Option<usize>,
    second: i64,
    author: usize,
    name: Option<usize>,
    text: usize,
    reply_to: Option<usize>,
    is_opener: bool,
}

const TEXTS: [&str; 6] = [
    "does anyone have a ladder?",
    "in the shed",
    "誰か鍵を知りませんか？",
    "see https://a.example/x?y=1",
    "@Mia it is so",
    "what? no, \"really\"\nnot",
];

fn line() -> impl Strategy<Value = Line> {
    let place = (0..2_usize, 0..60_usize, prop::option::weighted(0.4, 0..60_usize));
    let who = (0..20_000_i64, 0..4_usize, prop::option::of(0..3_usize));
    let what =
        (0..TEXTS.len(), prop::option::weighted(0.2, 0..60_usize), prop::bool::weighted(0.05));
    (place, who, what).prop_map(
        |((channel, id, thread), (second, author, name), (text, reply_to, is_opener))| Line {
            channel,
            id,
            thread,
            second,
            author,
            name,
            text,
            reply_to,
            is_opener,
        },
    )
}

fn to_json_lines(lines: &[Line]) -> String {
    let to_line = |line: &Line| {
        let id = |id: usize| format!("m{id}");
        json!({
            "room": format!("room {}", line.channel),
            "thread": line.thread.map(id),
            "id": id(line.id),
            "ts": line.second as f64 + 0.123_456,
            "author": format!("u{}", line.author),
            "name": line.name.map(|name| ["u1", "Mia", "mia"][name]),
            "text": TEXTS[line.text],
            "reply_to": line.reply_to.map(id).into_iter().collect::<Vec<_>>(),
            "bot": line.author == 3,
            "opener": line.is_opener,
        })
    };
    lines.iter().map(|line| format!("{}\n", to_line(line))).collect()
}

fn recording(text: &str) -> Recording {
    Recording::read(&mut text.as_bytes(), "lines", &InputOptions::default()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_rows_match_the_messages(lines in prop::collection::vec(line(), 1..80)) {
        let text = to_json_lines(&lines);
        let mut ids = HashSet::new();
        let is_new = |line: &&Line| ids.insert((line.channel, line.id));
        let first: Vec<Line> = lines.iter().filter(is_new).cloned().collect();
        let recording = recording(&text);
        prop_assert_eq!(recording.messages(), first.len() as u64);
        prop_assert_eq!(recording.bad_records.count, (lines.len() - first.len()) as u64);
        for found in &recording.channels {
            let told = messages(found);
            prop_assert_eq!(found.is_annotated, lines.iter().any(|line| line.is_opener));
            prop_assert!(told.is_sorted_by_key(|message| message.at()));
            for line in first.iter().filter(|line| found.name == format!("room {}", line.channel)) {
                let id = format!("m{}", line.id);
                let message = told.iter().find(|message| message.id == id).unwrap();
                prop_assert_eq!(&*message.text, TEXTS[line.text]);
                prop_assert_eq!(message.ts, line.second as f64 + 0.123_456);
                prop_assert_eq!(&message.thread, &line.thread.map(|id| format!("m{id}")));
            }
            // The rows match the messages.
            for (row, message) in found.rows.all().zip(&told) {
                prop_assert_eq!(row.id, IdHash::new(&message.id));
                prop_assert_eq!(&**found.rows.author(&row), &message.author);
                prop_assert_eq!(
                    found.rows.thread_id(row.thread),
                    IdHash::from_thread(message.thread.as_deref())
                );
                prop_assert_eq!((row.ts, row.is_bot()), (message.ts, message.bot));
                prop_assert_eq!(row.is_reply(), !message.reply_to.is_empty());
                for asked in found.rows.all().zip(&told) {
                    let is_answer = message.reply_to.contains(&asked.1.id);
                    prop_assert_eq!(found.rows.is_answer(&row, &asked.0), is_answer);
                    let found_answer = found.rows.answers_to(&asked.0).any(|one| one.id == row.id);
                    prop_assert_eq!(found_answer, is_answer);
                }
            }
        }
    }
}

/// Replaying a part gives the same result as replaying a file with that part alone.
#[test]
fn a_part_of_a_channel_is_as_if_there_were_no_other() {
    let line = |number: usize| Line {
        channel: 0,
        id: number,
        thread: None,
        second: 100 * number as i64,
        author: number % 3,
        name: Some(number % 2),
        text: number % TEXTS.len(),
        reply_to: number.checked_sub(1),
        is_opener: false,
    };
    let lines: Vec<Line> = (0..20).map(line).collect();
    let whole = recording(&to_json_lines(&lines));
    let part = recording(&to_json_lines(&lines[10..]));
    let whole = &whole.channels[0];
    let from = part.span.unwrap().0;
    let within = whole.within(|at| at >= from).unwrap();
    let part = &part.channels[0];
    assert_eq!(messages(&within), messages(part));
    assert_eq!(within.rows.authors(), part.rows.authors());
    assert_eq!(within.rows.names().collect::<Vec<_>>(), part.rows.names().collect::<Vec<_>>());
    assert_eq!(within.rows.replies().count(), part.rows.replies().count());
}
