//! A recording is replayed from disk the same way as from memory.

use std::io::Write;

use aizuchi_model::persona::Language;
use aizuchi_past::replay::history::{ChannelSource, History};
use aizuchi_past::replay::input::{InputOptions, PrivateChannels, Recording};
use aizuchi_past::replay::rows::IdHash;
use aizuchi_past::replay::score::ReplayScore;
use aizuchi_past::replay::{Policy, Replay, ReplayJudge, ReplaySettings};
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
    let options = InputOptions {
        from: None,
        to: None,
        private: PrivateChannels::Taken,
        language: Language::En,
    };
    let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    Recording::open(file.path(), &options, &|_| {}).unwrap()
}

fn score(channels: &dyn ChannelSource) -> ReplayScore {
    let policy = Policy::default_settings();
    let settings = ReplaySettings { judge: ReplayJudge::Speak, latency_ms: 4000, seed: 1 };
    let replay = Replay::new(&policy, settings).unwrap().on_threads(1);
    let mut score = ReplayScore::new(&policy);
    let replayed = replay.run(channels, None, &mut |_, channel, record| {
        score.add(channel, record);
        Ok(())
    });
    replayed.unwrap();
    ReplayScore { elapsed_seconds: 0.0, ..score }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn disk_and_memory_hold_the_same(lines in prop::collection::vec(line(), 1..80)) {
        let text = to_json_lines(&lines);
        let history = History::read(text.as_bytes()).unwrap();
        let recording = recording(&text);
        prop_assert_eq!(recording.channel_count(), history.channels.len());
        prop_assert_eq!(recording.bad_records(), history.bad_lines.len() as u64);
        for (index, expected) in history.channels.iter().enumerate() {
            let found = recording.channel(index).unwrap();
            let told = messages(&found);
            prop_assert_eq!(&told, &messages(expected));
            prop_assert!(told.is_sorted_by_key(|message| message.at()));
            prop_assert_eq!(found.is_annotated, expected.is_annotated);
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
        prop_assert_eq!(score(&recording), score(&history));
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
    let whole = whole.channel(0).unwrap();
    let from = part.span.unwrap().0;
    let within = whole.within(|at| at >= from).unwrap();
    let part = part.channel(0).unwrap();
    assert_eq!(messages(&within), messages(&part));
    assert_eq!(within.rows.authors(), part.rows.authors());
    assert_eq!(within.rows.names().collect::<Vec<_>>(), part.rows.names().collect::<Vec<_>>());
    assert_eq!(within.rows.replies().count(), part.rows.replies().count());
}
