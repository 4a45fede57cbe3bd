//! How long a line can be answered where people still see it.

use jiff::{SignedDuration, Timestamp};

/// A reader's eye, and the judge's, has so many lines before it.
const VISIBLE_MESSAGES: usize = 20;

/// How much longer a line is in sight, if people go on as they did within the newest lines: until twenty
/// stand below it. `lines` are the times of a conversation's lines, oldest first.
pub fn time_until_scrolled_out(
    lines: &[Timestamp],
    place: usize,
    now: Timestamp,
) -> SignedDuration {
    let newest = &lines[lines.len().saturating_sub(VISIBLE_MESSAGES)..];
    let (Some(first), Ok(many)) = (newest.first(), i32::try_from(newest.len())) else {
        return SignedDuration::ZERO;
    };
    let below = lines.len().saturating_sub(place + 1);
    let left = i32::try_from(VISIBLE_MESSAGES.saturating_sub(below)).unwrap_or(0);
    (now.duration_since(*first) / many * left).max(SignedDuration::ZERO)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Lines that stand so many seconds apart, and `now` as long behind the last of them.
    fn talk(lines: usize, gap: i64) -> (Vec<Timestamp>, Timestamp) {
        let at = |line: usize| Timestamp::from_second(gap * line as i64).unwrap();
        ((0..lines).map(at).collect(), at(lines))
    }

    #[test]
    fn a_line_is_in_sight_until_twenty_stand_below_it() {
        for (lines, place, gap, expected) in [
            (20, 0, 6, 6),
            (20, 4, 6, 30),
            (20, 19, 6, 120),
            (21, 0, 6, 0),
            (500, 0, 6, 0),
            (500, 490, 6, 66),
            (1, 0, 90, 1800),
            (0, 0, 90, 0),
        ] {
            let (times, now) = talk(lines, gap);
            let left = time_until_scrolled_out(&times, place, now).as_secs();
            assert_eq!(left, expected, "line {place} of {lines}, {gap} s apart");
        }
    }

    #[test]
    fn what_was_long_ago_says_nothing_of_how_people_go_on() {
        let (mut times, now) = talk(40, 6);
        let left = time_until_scrolled_out(&times, 35, now);
        times[..20].fill(Timestamp::UNIX_EPOCH);
        assert_eq!(time_until_scrolled_out(&times, 35, now), left);
    }

    proptest! {
        #[test]
        fn older_lines_and_busier_rooms_leave_less_time(
            lines in 1..60usize,
            place in 0..60usize,
            gap in 0..5000i64,
            more in 0..5000i64,
        ) {
            let ((busy, now), (slow, later)) = (talk(lines, gap), talk(lines, gap + more));
            let left = time_until_scrolled_out(&busy, place, now);
            prop_assert!(left >= SignedDuration::ZERO);
            prop_assert!(left <= time_until_scrolled_out(&busy, place + 1, now));
            prop_assert!(left <= time_until_scrolled_out(&slow, place, later));
        }
    }
}
