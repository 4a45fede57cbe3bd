//! How fast users talk in a channel. Plain data that can be stored with the channel.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The gap assumed before any message was heard, in seconds.
const INITIAL_GAP: f64 = 30.0;
/// The weight of the newest gap. The last ten messages then make up two thirds of the tempo.
const NEWEST_GAP_WEIGHT: f64 = 0.1;
/// Messages within one second are one burst, and a pause over half an hour is no longer part of the
/// conversation.
const MIN_GAP: f64 = 1.0;
const MAX_GAP: f64 = 1800.0;

/// The typical gap between two messages: an exponentially weighted mean of its logarithm, because gaps span
/// five powers of ten and one night must not outweigh an hour of conversation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tempo {
    log_gap: f64,
    newest: Option<Timestamp>,
}

impl Default for Tempo {
    fn default() -> Self {
        Self { log_gap: INITIAL_GAP.ln(), newest: None }
    }
}

impl Tempo {
    /// Returns the tempo of messages at these times, oldest first.
    pub fn of_messages(times: impl Iterator<Item = Timestamp>) -> Self {
        let mut tempo = Self::default();
        times.for_each(|at| tempo.record_message(at));
        tempo
    }

    /// Records a message at that time. An older message is ignored, since it does not show the gap.
    pub fn record_message(&mut self, at: Timestamp) {
        let Some(newest) = self.newest else {
            self.newest = Some(at);
            return;
        };
        if at < newest {
            return;
        }
        let gap = at.duration_since(newest).as_secs_f64().clamp(MIN_GAP, MAX_GAP);
        self.log_gap += NEWEST_GAP_WEIGHT * (gap.ln() - self.log_gap);
        self.newest = Some(at);
    }

    /// Returns the typical gap, in seconds.
    pub fn typical_gap(&self) -> f64 {
        self.log_gap.exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(gaps: &[i64]) -> Tempo {
        let mut tempo = Tempo::default();
        let mut second = 1000;
        tempo.record_message(Timestamp::from_second(second).unwrap());
        for gap in gaps {
            second += gap;
            tempo.record_message(Timestamp::from_second(second).unwrap());
        }
        tempo
    }

    #[test]
    fn the_tempo_follows_the_messages() {
        let gap = |gaps: &[i64]| after(gaps).typical_gap().round();
        assert_eq!(gap(&[]), 30.0);
        assert_eq!(gap(&[5; 40]), 5.0);
        assert_eq!(gap(&[600; 60]), 597.0);
        // One night is one gap, capped at half an hour.
        let mut night = vec![5; 40];
        night.push(30_000);
        assert_eq!(gap(&night), 9.0);
    }

    #[test]
    fn an_older_message_changes_nothing() {
        let tempo = after(&[5, 5, 5]);
        let mut other = tempo;
        other.record_message(Timestamp::from_second(1001).unwrap());
        assert_eq!(other, tempo);
    }
}
