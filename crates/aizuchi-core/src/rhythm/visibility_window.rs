//! How long a message stays visible, so that an answer to it still makes sense.

use jiff::{SignedDuration, Timestamp};

/// Readers and the judge see about this many messages.
const VISIBLE_MESSAGES: usize = 20;

/// Returns how much longer the message at `index` stays visible at the pace of the newest messages: until twenty
/// messages are below it. `times` are the times of a conversation's messages, oldest first.
pub fn time_until_scrolled_out(
    times: &[Timestamp],
    index: usize,
    now: Timestamp,
) -> SignedDuration {
    let newest = &times[times.len().saturating_sub(VISIBLE_MESSAGES)..];
    let (Some(first), Ok(count)) = (newest.first(), i32::try_from(newest.len())) else {
        return SignedDuration::ZERO;
    };
    let below = times.len().saturating_sub(index + 1);
    let left = i32::try_from(VISIBLE_MESSAGES.saturating_sub(below)).unwrap_or(0);
    (now.duration_since(*first) / count * left).max(SignedDuration::ZERO)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the times of `count` messages that are `gap` seconds apart, and `now`, which is as long after the last
    /// of them.
    fn conversation(count: usize, gap: i64) -> (Vec<Timestamp>, Timestamp) {
        let at = |index: usize| Timestamp::from_second(gap * index as i64).unwrap();
        ((0..count).map(at).collect(), at(count))
    }

    #[test]
    fn a_message_is_visible_until_twenty_stand_below_it() {
        for (count, index, gap, expected) in [
            (20, 0, 6, 6),
            (20, 4, 6, 30),
            (20, 19, 6, 120),
            (21, 0, 6, 0),
            (500, 0, 6, 0),
            (500, 490, 6, 66),
            (1, 0, 90, 1800),
            (0, 0, 90, 0),
        ] {
            let (times, now) = conversation(count, gap);
            let left = time_until_scrolled_out(&times, index, now).as_secs();
            assert_eq!(left, expected, "message {index} of {count}, {gap} s apart");
        }
    }

    #[test]
    fn only_the_newest_messages_predict_the_pace() {
        let (mut times, now) = conversation(40, 6);
        let left = time_until_scrolled_out(&times, 35, now);
        times[..20].fill(Timestamp::UNIX_EPOCH);
        assert_eq!(time_until_scrolled_out(&times, 35, now), left);
    }

    proptest! {
        #[test]
        fn older_messages_and_busier_channels_leave_less_time(
            count in 1..60usize,
            index in 0..60usize,
            gap in 0..5000i64,
            more in 0..5000i64,
        ) {
            let (busy, now) = conversation(count, gap);
            let (slow, later) = conversation(count, gap + more);
            let left = time_until_scrolled_out(&busy, index, now);
            prop_assert!(left >= SignedDuration::ZERO);
            prop_assert!(left <= time_until_scrolled_out(&busy, index + 1, now));
            prop_assert!(left <= time_until_scrolled_out(&slow, index, later));
        }
    }
}
