//! Counts the moments of a recording at which exactly one of several companions speaks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use tracing::subscriber::{NoSubscriber, with_default};

use crate::replay::companions::{CompanionAct, Companions};
use crate::replay::history::{ChannelSource, RecordedChannel};
use crate::replay::record::Recorder;
use crate::replay::rows::IdHash;
use crate::replay::{Replay, empty_record, into_record, simulation};
use aizuchi_core::chat::MessageId;

/// The number of moments at which one, several or none of the companions spoke unasked. Posts about the same message
/// are one moment, and so are posts without a message by a user in between.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CompanionScore {
    pub policy: String,
    pub companions: usize,
    pub exactly_one: usize,
    pub more_than_one: usize,
    /// Moments at which a companion wanted to speak, and none did.
    pub none: usize,
}

/// The posts of one moment.
struct SpokenMoment<'a> {
    abouts: BTreeSet<&'a MessageId>,
    by: BTreeSet<usize>,
    last: Timestamp,
}

impl CompanionScore {
    /// Returns the share of the moments with exactly one speaker, among those at which any companion spoke.
    pub fn share_exactly_one(&self) -> Option<f64> {
        let spoken = self.exactly_one + self.more_than_one;
        (spoken > 0).then(|| self.exactly_one as f64 / spoken as f64)
    }

    /// Adds the acts of the companions in a channel.
    fn add(&mut self, channel: &RecordedChannel, acts: &[CompanionAct]) {
        let mut threads: BTreeMap<Option<&str>, Vec<&CompanionAct>> = BTreeMap::new();
        for act in acts {
            threads.entry(act.thread.as_ref().map(MessageId::as_str)).or_default().push(act);
        }
        for (thread, acts) in threads {
            let written = channel.rows.human_messages_at(IdHash::from_thread(thread)).iter();
            self.add_thread(&written.map(|row| row.at()).collect::<Vec<_>>(), &acts);
        }
    }

    /// Adds the acts in a thread. `written` are the times of its messages by users, in order.
    fn add_thread(&mut self, written: &[Timestamp], acts: &[&CompanionAct]) {
        let mut moments: Vec<SpokenMoment<'_>> = Vec::new();
        for act in acts.iter().filter(|act| act.has_spoken) {
            let count = |until: Timestamp| written.partition_point(|at| *at <= until);
            let is_same = |moment: &SpokenMoment<'_>| moment.abouts.contains(&act.about);
            let is_answered = |moment: &SpokenMoment<'_>| count(moment.last) == count(act.at);
            let known = moments.iter().rposition(is_same);
            let last = moments.len().checked_sub(1).filter(|last| is_answered(&moments[*last]));
            let index = known.or(last).unwrap_or_else(|| {
                let (abouts, by) = (BTreeSet::new(), BTreeSet::new());
                moments.push(SpokenMoment { abouts, by, last: act.at });
                moments.len() - 1
            });
            let moment = &mut moments[index];
            moment.abouts.insert(&act.about);
            moment.by.insert(act.companion);
            moment.last = act.at;
        }
        let several = moments.iter().filter(|moment| moment.by.len() > 1).count();
        self.more_than_one += several;
        self.exactly_one += moments.len() - several;
        let spoken = |about: &MessageId| moments.iter().any(|it| it.abouts.contains(about));
        let wanted: BTreeSet<&MessageId> = acts.iter().map(|act| &act.about).collect();
        self.none += wanted.into_iter().filter(|about| !spoken(about)).count();
    }
}

impl Replay<'_> {
    /// Replays the channels with several companions in each. Nothing is learned from their judgments.
    pub fn score_companions(
        &self,
        channels: &dyn ChannelSource,
        count: usize,
        progress: &dyn Fn(u64),
    ) -> anyhow::Result<CompanionScore> {
        let policy = self.policy.name.clone();
        let mut score = CompanionScore { policy, companions: count, ..CompanionScore::default() };
        for index in 0..channels.channel_count() {
            let channel = channels.channel(index)?;
            score.add(&channel, &self.companion_acts(&channel, count)?);
            channel.rows.check()?;
            progress(channel.rows.len() as u64);
        }
        Ok(score)
    }

    fn companion_acts(
        &self,
        channel: &RecordedChannel,
        count: usize,
    ) -> anyhow::Result<Vec<CompanionAct>> {
        let companions = Arc::new(Companions::several(count));
        let new_recorder = |_| {
            let mut record = empty_record(channel, self.policy, None);
            record.stop = self.stop.clone();
            Arc::new(Recorder::new(record))
        };
        let recorders: Vec<Arc<Recorder>> = (0..count).map(new_recorder).collect();
        let simulate =
            || simulation::run_companions(channel, &self.setup(), &recorders, &companions);
        match self.is_logged {
            true => simulate()?,
            false => with_default(NoSubscriber::new(), simulate)?,
        }
        for recorder in recorders {
            let mut record = into_record(recorder)?;
            if let Some(error) = record.first_error.take() {
                return Err(error);
            }
            record.check(channel)?;
        }
        Ok(companions.take_acts())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::history::RecordedMessage;

    fn person(second: i64) -> RecordedMessage {
        RecordedMessage {
            channel: "den".to_owned(),
            thread: None,
            id: format!("m{second}"),
            ts: second as f64,
            author: "mia".to_owned(),
            name: None,
            text: "where is the key?".to_owned(),
            reply_to: Vec::new(),
            bot: false,
            opener: false,
        }
    }

    fn act(second: i64, companion: usize, about: &str, has_spoken: bool) -> CompanionAct {
        let at = Timestamp::from_second(second).unwrap();
        CompanionAct { at, thread: None, about: MessageId::new(about), companion, has_spoken }
    }

    /// Returns the number of moments with one, several and no speakers, if users write at seconds 0 and 100.
    fn score(acts: &[CompanionAct]) -> (usize, usize, usize) {
        let messages = vec![person(0), person(100)];
        let channel = RecordedChannel::from_messages("den".to_owned(), messages);
        let mut score = CompanionScore::default();
        score.add(&channel, acts);
        (score.exactly_one, score.more_than_one, score.none)
    }

    #[test]
    fn moments_are_counted_by_how_many_spoke() {
        for (acts, expected) in [
            (vec![], (0, 0, 0)),
            (vec![act(20, 0, "m0", false), act(30, 0, "m0", true)], (1, 0, 0)),
            (vec![act(20, 0, "m0", false), act(21, 1, "m0", false)], (0, 0, 1)),
            (vec![act(30, 0, "m0", true), act(40, 1, "m0", true)], (0, 1, 0)),
            // The messages differ, but no user has written in between.
            (vec![act(130, 0, "m0", true), act(140, 1, "m100", true)], (0, 1, 0)),
            (vec![act(30, 0, "m0", true), act(130, 1, "m100", true)], (2, 0, 0)),
            (vec![act(30, 0, "m0", true), act(130, 1, "m0", true)], (0, 1, 0)),
        ] {
            assert_eq!(score(&acts), expected);
        }
        assert_eq!(CompanionScore::default().share_exactly_one(), None);
        let score = CompanionScore { exactly_one: 99, more_than_one: 1, ..Default::default() };
        assert_eq!(score.share_exactly_one(), Some(0.99));
    }
}
