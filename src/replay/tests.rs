use serde_json::json;
use tempfile::NamedTempFile;

use super::*;
use crate::replay::checkpoint::Checkpoint;
use crate::replay::history::{History, RecordedMessage};
use crate::replay::record::{JudgeCall, PostRecord};
use crate::replay::rows::IdHash;
use crate::replay::timing::UnsolicitedPost;

/// Two channels, each with a question that nobody answers.
fn history() -> History {
    let message = |channel: &str, id: &str, ts: f64, author: &str, text: &str| RecordedMessage {
        channel: channel.to_owned(),
        thread: None,
        id: id.to_owned(),
        ts,
        author: author.to_owned(),
        name: None,
        text: text.to_owned(),
        reply_to: Vec::new(),
        bot: false,
        opener: true,
    };
    let channel = |name: &str| {
        let messages = vec![
            message(name, "1", 0.0, "ann", "does anybody have the key to the shed?"),
            message(name, "2", 2000.0, "ben", "the bus is late"),
        ];
        RecordedChannel {
            is_annotated: true,
            ..RecordedChannel::from_messages(name.to_owned(), messages)
        }
    };
    History { channels: ["den", "attic"].map(channel).into(), ..History::default() }
}

/// Returns the same history, but the human messages of each thread in the second channel cannot be read any more.
fn half_lost() -> History {
    let mut history = history();
    history.channels[1].rows.lose_human_messages().unwrap();
    history
}

const SILENT: ReplaySettings =
    ReplaySettings { judge: ReplayJudge::Silent, latency_ms: 0, seed: 1 };

fn assert_names_the_file(error: Option<anyhow::Error>) {
    let error = error.unwrap().to_string();
    assert!(error.starts_with("cannot use a temporary file in "), "{error}");
}

#[test]
fn a_channel_that_cannot_be_read_is_not_recorded_as_done() {
    let policy = Policy::default_settings();
    for threads in [1, 2] {
        let file = NamedTempFile::new().unwrap();
        let mut checkpoint = Checkpoint::open(file.path(), &json!(threads)).unwrap();
        let replay = Replay::new(&policy, SILENT).unwrap().on_threads(threads);
        let failed = replay.run(&half_lost(), 0, None, &mut |index, channel, record| {
            let mut part = ReplayScore::new(&policy);
            part.add(channel, record);
            checkpoint.add((0, index), 0, &part, channel, record)
        });
        assert_names_the_file(failed.err());
        drop(checkpoint);
        let resumed = Checkpoint::open(file.path(), &json!(threads)).unwrap();
        let (score, done) = resumed.score(0, ReplayScore::new(&policy));
        assert_eq!((score.messages, done), (2, 1), "on {threads} threads");
    }
}

#[test]
fn figures_of_a_channel_that_cannot_be_read_are_an_error() {
    let policy = Policy::default_settings();
    let replayed = |history: &History| replay(history, &policy, &SILENT, None, &|_| {});
    replayed(&history()).unwrap();
    assert_names_the_file(replayed(&half_lost()).err());
    // It does not matter which caller reads the column first.
    let lost = half_lost();
    assert!(lost.channels[1].rows.human_messages_in(0).get(0).is_some());
    let replay = Replay::new(&policy, SILENT).unwrap();
    assert_names_the_file(replay.score_companions(&lost, 2, &|_| {}).err());
    let lost = &lost.channels[1];
    assert_names_the_file(lost.within(|_| true).err());
    assert_names_the_file(lost.each_message(&mut |_| Ok(())).err());
}

#[test]
fn a_record_fails_with_each_of_its_columns() {
    let policy = Policy::default_settings();
    let history = history();
    let channel = &history.channels[0];
    let at = jiff::Timestamp::from_second(2000).unwrap();
    let thread = IdHash::from_thread(None);
    let record = || {
        let call = JudgeCall {
            at,
            thread,
            heard_rows: 1,
            newest: None,
            is_superseded: false,
            is_second_look: false,
            prompt_bytes: 1,
            prefix_bytes: 0,
        };
        let post = PostRecord { at, thread, heard_rows: 1, is_second_look: false };
        let unasked = UnsolicitedPost { at, thread, about: None };
        Record {
            calls: [call].into_iter().collect(),
            all_posts: [post].into_iter().collect(),
            unsolicited_posts: [unasked].into_iter().collect(),
            ..empty_record(channel, &policy, None)
        }
    };
    let check = |record: &Record| {
        ReplayScore::new(&policy).add(channel, record);
        record.check(channel)
    };
    check(&record()).unwrap();
    let Record { calls, all_posts, unsolicited_posts, .. } = record();
    for lost in [
        Record { calls: calls.lost().unwrap(), ..record() },
        Record { all_posts: all_posts.lost().unwrap(), ..record() },
        Record { unsolicited_posts: unsolicited_posts.lost().unwrap(), ..record() },
    ] {
        lost.check(channel).unwrap();
        assert_names_the_file(check(&lost).err());
    }
}
