//! The progress of a replay, so that a stopped replay can be resumed and ends with the same result.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use anyhow::Context as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::replay::history::RecordedChannel;
use crate::replay::moments::Moments;
use crate::replay::record::Record;
use crate::replay::score::ReplayScore;
use aizuchi_core::input_file;

/// A file with one line that identifies the replay, and one for each finished channel.
pub struct Checkpoint {
    file: File,
    /// The channels that were finished before, and where their lines are.
    done: Vec<(ChannelDone, LinePlace)>,
}

#[derive(Serialize, Deserialize)]
struct ChannelDone {
    policy: usize,
    channel: usize,
    /// The length of the event file at the end of this channel.
    events_bytes: u64,
    score: ReplayScore,
}

/// The line of a channel.
#[derive(Serialize)]
struct DoneLine<'a> {
    #[serde(flatten)]
    done: &'a ChannelDone,
    #[serde(flatten)]
    moments: ChannelMoments,
}

/// The moments that a report is made from. They stay in the file until they are needed.
#[derive(Serialize, Deserialize)]
struct ChannelMoments {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    moments: Option<Moments>,
}

/// The place of a line in the file.
#[derive(Clone, Copy)]
struct LinePlace {
    begin: u64,
    length: usize,
}

impl Checkpoint {
    /// Opens a file, or creates it. `replayed` identifies the replay, and an existing file must be of the same replay.
    pub fn open(path: &Path, replayed: &Value) -> anyhow::Result<Self> {
        let shown = path.display();
        let mut options = OpenOptions::new();
        // The file reveals what was said, and by whom.
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        input_file::ensure_regular(path).with_context(|| format!("cannot read {shown}"))?;
        let mut file = options.open(path).with_context(|| format!("cannot write {shown}"))?;
        let mut input = BufReader::new(file.try_clone()?);
        let mut first = String::new();
        let read = input.read_line(&mut first).with_context(|| format!("cannot read {shown}"))?;
        let header = format!("{replayed}\n");
        // Nothing, or the beginning of the first line, which was cut off when the program ended.
        if read < header.len() && header.starts_with(&first) {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(header.as_bytes()).with_context(|| format!("cannot write {shown}"))?;
            return Ok(Self { file, done: Vec::new() });
        }
        anyhow::ensure!(
            first == header,
            "{shown} is of another replay: the input, a policy or an option differs; name another file, or remove this one"
        );
        let (mut done, mut length) = (Vec::new(), first.len() as u64);
        let mut line = String::new();
        while input.read_line(&mut line).is_ok_and(|read| read > 0) && line.ends_with('\n') {
            let Ok(channel) = serde_json::from_str::<ChannelDone>(&line) else { break };
            done.push((channel, LinePlace { begin: length, length: line.len() }));
            length += line.len() as u64;
            line.clear();
        }
        // A line that was cut off when the program ended is written again.
        file.set_len(length)?;
        file.seek(SeekFrom::Start(length))?;
        Ok(Self { file, done })
    }

    /// Returns the score of a policy so far, and the number of its finished channels.
    pub fn score(&self, policy: usize, mut score: ReplayScore) -> (ReplayScore, usize) {
        let mut channels = 0;
        for (done, _) in self.done.iter().filter(|(done, _)| done.policy == policy) {
            score.merge(done.score.clone());
            channels = done.channel + 1;
        }
        (score, channels)
    }

    /// Parses a part of a line.
    fn read<T: DeserializeOwned>(&self, place: LinePlace) -> anyhow::Result<T> {
        let cannot_read = "cannot read how far the replay has come";
        let mut line = vec![0; place.length];
        self.file.read_exact_at(&mut line, place.begin).context(cannot_read)?;
        serde_json::from_slice(&line).context(cannot_read)
    }

    /// Passes on the moments of each finished channel of a policy, for its report.
    pub fn each_moments(
        &self,
        policy: usize,
        mut each: impl FnMut(usize, Moments) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        for (done, place) in self.done.iter().filter(|(done, _)| done.policy == policy) {
            let ChannelMoments { moments } = self.read(*place)?;
            if let Some(moments) = moments {
                each(done.channel, moments)?;
            }
        }
        Ok(())
    }

    /// Returns the length of the event file at the end of the last finished channel.
    pub fn events_bytes(&self) -> u64 {
        self.done.last().map_or(0, |(done, _)| done.events_bytes)
    }

    /// Records that a channel is finished. Its events must already be in their file. Takes the moments out of its
    /// record.
    ///
    /// Fails without writing anything if a column that the score or a report was made from could not be read: the
    /// resumed replay would go on with wrong figures.
    pub fn add(
        &mut self,
        (policy, number): (usize, usize),
        events_bytes: u64,
        score: &ReplayScore,
        channel: &RecordedChannel,
        record: &mut Record,
    ) -> anyhow::Result<()> {
        record.check(channel)?;
        let done = ChannelDone { policy, channel: number, events_bytes, score: score.clone() };
        let moments = ChannelMoments { moments: record.moments.take() };
        let mut line = serde_json::to_vec(&DoneLine { done: &done, moments })?;
        line.push(b'\n');
        self.file.write_all(&line).context("cannot write how far the replay has come")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::moments::CallCount;
    use crate::replay::{Policy, empty_record};
    use aizuchi_core::decision::Usage;
    use serde_json::json;

    fn moments(calls: u64) -> Moments {
        let judge_calls = CallCount { calls, usage: Usage::default() };
        Moments { judge_calls, ..Moments::default() }
    }

    #[test]
    fn a_file_of_something_else_is_kept_though_it_has_no_end_of_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("notes.json");
        std::fs::write(&file, "{\"my\":\"notes\"}").unwrap();
        let error = Checkpoint::open(&file, &json!({ "seed": 1 })).err().unwrap();
        assert!(error.to_string().contains("is of another replay"), "{error}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"my\":\"notes\"}");
        for begun in ["", "{\"se", "{\"seed\":1}"] {
            std::fs::write(&file, begun).unwrap();
            Checkpoint::open(&file, &json!({ "seed": 1 })).unwrap();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"seed\":1}\n");
        }
    }

    #[test]
    fn each_policy_gets_its_own_moments_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("checkpoint");
        let replayed = json!({ "seed": 1 });
        let policy = Policy::default_settings();
        let score = ReplayScore::new(&policy);
        let channel = RecordedChannel::from_messages("den".to_owned(), Vec::new());
        let mut begun = Checkpoint::open(&file, &replayed).unwrap();
        for (place, events_bytes, moments) in
            [((0, 0), 10, Some(moments(1))), ((0, 1), 20, None), ((1, 0), 30, Some(moments(3)))]
        {
            let mut record = Record { moments, ..empty_record(&channel, &policy, None) };
            begun.add(place, events_bytes, &score, &channel, &mut record).unwrap();
        }
        drop(begun);
        let resumed = Checkpoint::open(&file, &replayed).unwrap();
        let of = |policy: usize| {
            let mut found = Vec::new();
            let take = |channel: usize, moments: Moments| {
                found.push((channel, moments.judge_calls.calls));
                Ok(())
            };
            resumed.each_moments(policy, take).unwrap();
            found
        };
        assert_eq!((of(0), of(1), of(2)), (vec![(0, 1)], vec![(0, 3)], vec![]));
        assert_eq!(resumed.score(0, score.clone()).1, 2);
        assert_eq!(resumed.events_bytes(), 30);
    }
}
