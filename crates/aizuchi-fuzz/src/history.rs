//! What is replayed and measured.

use aizuchi::eval::case;
use aizuchi::replay::history::History;

/// A recording: one JSON object a line.
pub fn replay_lines(bytes: &[u8]) {
    let Ok(history) = History::read(bytes) else { return };
    for channel in &history.channels {
        let times = channel.messages.iter().map(|message| message.at());
        assert!(times.is_sorted(), "{channel:?}");
    }
}

/// Labeled cases. An error does not repeat their text.
pub fn eval_cases(bytes: &[u8]) {
    drop(case::read(&[("cases.jsonl".to_owned(), bytes.to_vec())]));
}
