//! The memory use of a channel whose data is mostly on disk, measured in separate processes. A replay would take
//! minutes here, so its rows and calls are generated, and queried as a replay and its score do.

use std::ffi::OsStr;

use aizuchi::replay::column::Column;
use aizuchi::replay::record::JudgeCall;
use aizuchi::replay::rows::builder::{RowSource, RowsBuilder};
use aizuchi::replay::rows::{ChannelRows, IdHash};
use aizuchi::replay::score::{by_thread, in_thread};

use crate::replay_memory::{peak_of, print_peak};

/// The variable with the number of messages in the channel of the measured process.
const MESSAGES: &str = "AIZUCHI_TEST_MESSAGES";

/// In memory, its row alone would take 32 bytes, and its call 72. On disk they take none, but the measurements of two
/// processes differ slightly.
const BYTES_FOR_EACH_MESSAGE: usize = 10;

fn id(number: usize) -> String {
    format!("{number:08}")
}

/// Generates rows: every fourth message answers the one before it, and every tenth is in one of five threads.
fn rows(messages: usize) -> ChannelRows {
    let mut rows = RowsBuilder::default();
    for number in 0..messages {
        let answered = (number % 4 == 3).then(|| id(number - 1));
        let thread = (number % 10 == 9).then(|| format!("thread {}", number / 10 % 5));
        rows.add(&RowSource {
            place: number as u64,
            thread: thread.as_deref(),
            id: &id(number),
            ts: number as f64,
            author: ["ann", "ben", "cid"][number % 3],
            name: None,
            text: "so it goes",
            reply_to: &answered.into_iter().collect::<Vec<String>>(),
            bot: false,
            opener: false,
        });
    }
    rows.finish()
}

/// Without a number of messages it does nothing.
#[test]
fn a_process_with_a_long_channel() {
    let Ok(messages) = std::env::var(MESSAGES) else { return };
    let messages: usize = messages.parse().unwrap();
    let rows = rows(messages);
    // Some answered messages, from all pages.
    for number in (2..messages).step_by(52) {
        let row = rows.find(IdHash::new(&id(number))).unwrap();
        assert_eq!(rows.answers_to(&row).count(), 1, "message {number}");
    }
    let count = |thread: u32| rows.human_messages_in(thread).iter().count();
    assert_eq!(rows.threads().map(count).sum::<usize>(), messages);
    let mut calls: Column<JudgeCall> = Column::default();
    calls.extend(rows.all().map(|row| JudgeCall {
        at: row.at(),
        thread: rows.thread_id(row.thread),
        heard_rows: row.place() as usize,
        newest: Some(row.id),
        is_superseded: false,
        is_second_look: false,
        prompt_bytes: 1,
        prefix_bytes: 1,
    }));
    // The memory use peaks here, while everything else is still allocated.
    let sorted = by_thread(&calls, |call| call.thread);
    let calls_in = |thread: u32| in_thread(&sorted, rows.thread_id(thread), |call| call.thread);
    assert_eq!(rows.threads().map(|thread| calls_in(thread).len()).sum::<usize>(), messages);
    rows.check().unwrap();
    calls.check().unwrap();
    print_peak();
}

#[test]
fn a_further_message_of_a_long_channel_takes_nothing() {
    // More than are sorted at a time.
    let (few, many) = (270_000, 420_000);
    let peak = |messages: usize| {
        let messages = messages.to_string();
        // All freed memory is returned to the system, so that the memory in use is measured.
        let threshold = ("MALLOC_MMAP_THRESHOLD_", OsStr::new("131072"));
        let test = "replay_memory_long::a_process_with_a_long_channel";
        peak_of(test, &[(MESSAGES, OsStr::new(&messages)), threshold])
    };
    let (small, large) = (peak(few), peak(many));
    println!("{small} bytes for {few} messages, {large} for {many}");
    let each = large.saturating_sub(small) / (many - few);
    assert!(each < BYTES_FOR_EACH_MESSAGE, "{each} bytes for each further one");
}
