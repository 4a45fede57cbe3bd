//! What is replayed and measured.

use aizuchi::eval::case;
use aizuchi::replay::history::{ChannelSource, History};
use aizuchi::replay::input::{InputOptions, PrivateChannels, Recording};
use aizuchi_core::persona::Language;

/// A recording: one JSON object a line.
pub fn replay_lines(bytes: &[u8]) {
    let Ok(history) = History::read(bytes) else { return };
    for channel in &history.channels {
        let times = channel.messages.iter().map(|message| message.at());
        assert!(times.is_sorted(), "{channel:?}");
    }
}

/// An export of Discord, Matrix or Mattermost. A bad record is named without its text.
pub fn replay_exports(bytes: &[u8]) {
    let options = InputOptions {
        from: None,
        to: None,
        private: PrivateChannels::Taken,
        language: Language::Ja,
    };
    let Ok(recording) = Recording::read(&mut &*bytes, "export", &options) else { return };
    let mut messages = 0;
    for index in 0..recording.channel_count() {
        let Ok(channel) = recording.channel(index) else { panic!("channel {index} is lost") };
        assert!(channel.messages.is_sorted_by_key(|message| message.at()), "{channel:?}");
        messages += channel.messages.len() as u64;
    }
    assert_eq!(messages, recording.messages());
    for bad in recording.named_bad_records() {
        assert!(bad.len() < 200, "{bad}");
    }
}

/// Labeled cases. An error does not repeat their text.
pub fn eval_cases(bytes: &[u8]) {
    drop(case::read(&[("cases.jsonl".to_owned(), bytes.to_vec())]));
}
