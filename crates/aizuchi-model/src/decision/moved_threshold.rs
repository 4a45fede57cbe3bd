//! The current thresholds of `response.tolerance`: each moves toward the target that the labels give, by one small step
//! a day.
//!
//! Labels are added, but also removed: they age out, a message is deleted, a mark changes, a channel is forgotten. So
//! the movement cannot be bounded by a function of the labels alone; the threshold is stored, and moves from its last
//! value.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::chat::ChannelId;

/// The maximum change of a threshold in one step.
pub const MAX_STEP: f64 = 0.05;
/// The minimum time between two steps.
pub const STEP_INTERVAL: SignedDuration = SignedDuration::from_hours(24);
/// The cursor of a workspace's thresholds.
pub const STREAM: &str = "welcome_thresholds";

/// A threshold, and when it was last checked for a move.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MovedThreshold {
    pub threshold: f64,
    /// In milliseconds since 1970.
    pub at_ms: i64,
}

/// The thresholds of a workspace's channels. A channel without an entry uses the configured threshold.
pub type MovedThresholds = BTreeMap<ChannelId, MovedThreshold>;

/// The target of a channel's threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdAim {
    /// The configured lower bound.
    pub min_confidence: f64,
    /// The threshold that the labels lead to.
    pub settles_at: f64,
}

/// Returns the thresholds at `now`. Thresholds from before `begin` do not count, because a user has restarted the
/// learning. A channel without an aim no longer has a threshold.
pub fn moved(
    before: &MovedThresholds,
    aims: &BTreeMap<ChannelId, ThresholdAim>,
    (begin, now): (Timestamp, Timestamp),
) -> MovedThresholds {
    let next = |(channel, aim): (&ChannelId, &ThresholdAim)| {
        let before = before.get(channel);
        let before = before.filter(|it| it.at_ms >= begin.as_millisecond());
        let threshold = match before {
            None => aim.step(aim.min_confidence),
            Some(before) if !before.is_due(now) => {
                return Some((channel.clone(), *before));
            }
            Some(before) => aim.step(before.threshold),
        };
        let is_moved = before.is_some() || threshold > aim.min_confidence;
        let at_ms = now.as_millisecond();
        is_moved.then(|| (channel.clone(), MovedThreshold { threshold, at_ms }))
    };
    aims.iter().filter_map(next).collect()
}

impl MovedThreshold {
    /// Whether the next step is due. The clock may have been set back.
    fn is_due(&self, now: Timestamp) -> bool {
        let since = now.as_millisecond().saturating_sub(self.at_ms);
        SignedDuration::from_millis(since).abs() >= STEP_INTERVAL
    }
}

impl ThresholdAim {
    fn step(&self, from: f64) -> f64 {
        let from = from.min(1.0).max(self.min_confidence);
        self.settles_at.max(self.min_confidence).clamp(from - MAX_STEP, from + MAX_STEP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn garden() -> ChannelId {
        ChannelId::new("garden")
    }

    fn aim(settles_at: f64) -> BTreeMap<ChannelId, ThresholdAim> {
        [(garden(), ThresholdAim { min_confidence: 0.7, settles_at })].into()
    }

    fn day(days: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * days)
    }

    fn threshold(moved: &MovedThresholds) -> Option<f64> {
        moved.get(&garden()).map(|it| (it.threshold * 1000.0).round() / 1000.0)
    }

    #[test]
    fn a_threshold_moves_by_a_step_a_day() {
        let never = day(0);
        let quiet = moved(&MovedThresholds::new(), &aim(0.7), (never, day(1)));
        assert_eq!(quiet, MovedThresholds::new());
        let first = moved(&quiet, &aim(1.0), (never, day(1)));
        assert_eq!(threshold(&first), Some(0.75));
        assert_eq!(
            moved(&first, &aim(1.0), (never, day(1) + SignedDuration::from_hours(23))),
            first
        );
        let second = moved(&first, &aim(1.0), (never, day(2)));
        assert_eq!(threshold(&second), Some(0.8));
        // All labels are gone.
        let back = moved(&second, &aim(0.7), (never, day(3)));
        assert_eq!(threshold(&back), Some(0.75));
        let settled = moved(&back, &aim(0.76), (never, day(4)));
        assert_eq!(threshold(&settled), Some(0.76));
        // The clock was set back by a year: the threshold does not wait for that time to pass again.
        let early = moved(&second, &aim(1.0), (day(-400), day(-300)));
        assert_eq!(threshold(&early), Some(0.85));
        assert_eq!(moved(&second, &BTreeMap::new(), (never, day(3))), MovedThresholds::new());
    }

    #[test]
    fn what_is_learned_anew_begins_where_it_is_configured() {
        let high = MovedThreshold { threshold: 0.95, at_ms: day(5).as_millisecond() };
        let before = MovedThresholds::from([(garden(), high)]);
        let anew = day(5) + SignedDuration::from_secs(1);
        assert_eq!(moved(&before, &aim(0.7), (anew, anew)), MovedThresholds::new());
        assert_eq!(threshold(&moved(&before, &aim(1.0), (anew, anew))), Some(0.75));
        // The configured minimum was raised in the meantime.
        let aims = [(garden(), ThresholdAim { min_confidence: 0.98, settles_at: 0.98 })].into();
        assert_eq!(threshold(&moved(&before, &aims, (day(0), day(9)))), Some(0.98));
    }
}
