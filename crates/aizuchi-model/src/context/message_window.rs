//! The number of newest messages in a context. If the first message dropped out with each new one, a prompt would share
//! no messages with the previous prompt, and a provider's prefix cache could not reuse them. So the first message stays
//! for a while, and then many drop out at once.
//!
//! The start of a window follows from the messages alone: it is a whole number of steps away from one of them, the
//! anchor, which is chosen by the messages' times. So it is the same after a restart and in every store. Backfilled
//! messages before it do not move it. A deletion moves it if the message was the anchor or was between the anchor and
//! the start of the window, or if the window has just moved: about one in six deletions among the least number of
//! messages.

use jiff::Timestamp;

/// The anchor is chosen among this many times the minimum number of messages in a window, or the number that drop out
/// at once. Among more messages it stays longer, but all of them have to be read.
const LOOKBACK_FACTOR: usize = 4;
/// These two constants scramble times into numbers without any order. The statement that reads a context repeats them.
const ANCHOR_FACTOR: i64 = 7919;
const ANCHOR_MODULUS: i64 = 1_000_003;

/// The number of newest messages in a window: `least`, or up to `step - 1` more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageWindow {
    pub least: usize,
    /// How many messages drop out at once.
    pub step: usize,
}

impl MessageWindow {
    /// Returns a window of always this many messages.
    pub fn exact(messages: usize) -> Self {
        Self { least: messages, step: 1 }
    }

    /// Returns a window of at least this many messages, and at most half as many more.
    pub fn stepped(least: usize) -> Self {
        Self { least, step: least / 2 + 1 }
    }

    /// Returns a window of at least this many messages, where `step` messages drop out at once.
    pub fn with_step(least: usize, step: usize) -> Self {
        Self { least, step: step.max(1) }
    }

    /// Returns the number of newest messages that have to be known to determine the start of the window, which is its
    /// maximum size.
    pub fn reach(self) -> usize {
        match self.step {
            1 => self.least,
            step => {
                let messages = self.least.max(step).saturating_mul(LOOKBACK_FACTOR);
                messages.max(self.least.saturating_add(step))
            }
        }
    }

    /// Returns the size of the window, if there are that many messages. Takes the times of the messages, newest first.
    pub fn size(self, newest_first: impl Iterator<Item = Timestamp>) -> usize {
        let newest = newest_first.take(self.reach()).zip(1_usize..);
        let anchor = newest.min_by_key(|(at, place)| (anchor_order(*at), *place));
        self.least + anchor.map_or(0, |(_, place)| place % self.step)
    }
}

/// Returns the number that orders candidates: the message with the smallest one is the anchor.
fn anchor_order(at: Timestamp) -> i64 {
    at.as_millisecond() % ANCHOR_MODULUS * ANCHOR_FACTOR % ANCHOR_MODULUS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the times of messages, one every `pause` milliseconds or a little later.
    fn times(messages: usize, pause: i64) -> Vec<Timestamp> {
        let begin = 1_767_600_000_000;
        let jitter = |number: i64| number * number * 7717 % 2000;
        let at = |number: i64| {
            Timestamp::from_millisecond(begin + number * pause + jitter(number)).unwrap()
        };
        (0..messages as i64).map(at).collect()
    }

    /// Returns the sizes of the window as these messages are heard.
    fn sizes(window: MessageWindow, messages: usize, pause: i64) -> Vec<usize> {
        let times = times(messages, pause);
        let size = |heard: usize| window.size(times[..heard].iter().rev().copied()).min(heard);
        (1..=messages).map(size).collect()
    }

    #[test]
    fn a_window_holds_the_least_number_and_at_most_half_as_many_more() {
        for least in [1, 2, 3, 20, 50, 51, 500] {
            let window = MessageWindow::stepped(least);
            for pause in [1000, 60_000, 3_600_000] {
                for (heard, size) in (1..).zip(sizes(window, 4 * least + 200, pause)) {
                    let expected = least.min(heard)..=(least + least / 2).min(heard);
                    assert!(expected.contains(&size), "{size} of {heard}, at least {least}");
                }
            }
        }
    }

    #[test]
    fn an_exact_window_always_holds_the_same_number() {
        assert_eq!(MessageWindow::stepped(1), MessageWindow::exact(1));
        let sizes = sizes(MessageWindow::exact(50), 300, 1000);
        assert!(sizes[50..].iter().all(|size| *size == 50));
    }

    #[test]
    fn the_first_message_stays_until_many_drop_out() {
        for pause in [1000, 7000, 60_000, 977_000] {
            let sizes = sizes(MessageWindow::stepped(50), 2000, pause);
            let firsts: Vec<usize> = (1..).zip(sizes).map(|(heard, size)| heard - size).collect();
            let moves = firsts.windows(2).filter(|pair| pair[0] != pair[1]).count();
            // Every 26 messages, and when the anchor changes.
            assert!((75..=110).contains(&moves), "{moves} moves, {pause} ms");
        }
    }

    /// With a longer step it moves less often, and holds more.
    #[test]
    fn a_step_of_its_own_moves_it_as_seldom_as_it_is_long() {
        for step in [1, 10, 100, 1000] {
            let window = MessageWindow::with_step(50, step);
            let sizes = sizes(window, 8000, 60_000);
            for (heard, size) in (1..).zip(&sizes) {
                let expected = 50_usize.min(heard)..=(50 + step - 1).min(heard);
                assert!(expected.contains(size), "{size} of {heard}, step {step}");
            }
            let firsts: Vec<usize> = (1..).zip(sizes).map(|(heard, size)| heard - size).collect();
            let moves = firsts.windows(2).filter(|pair| pair[0] != pair[1]).count();
            // A few more when the anchor changes.
            assert!(moves <= 2 * 8000 / step, "{moves} moves, step {step}");
        }
    }

    /// Each of the newest messages, in channels of many lengths.
    #[test]
    fn few_deletions_move_it() {
        let window = MessageWindow::stepped(50);
        let first =
            |times: &[Timestamp]| times[times.len() - window.size(times.iter().rev().copied())];
        let all = times(1300, 60_000);
        let (mut moves, mut deletions) = (0, 0);
        for heard in (300..1300).step_by(7) {
            for deleted in heard - window.least..heard {
                let left = [&all[..deleted], &all[deleted + 1..heard]].concat();
                moves += usize::from(first(&left) != first(&all[..heard]));
                deletions += 1;
            }
        }
        let percent = 100 * moves / deletions;
        assert!((10..=20).contains(&percent), "{moves} of {deletions}");
    }

    #[test]
    fn older_messages_do_not_move_it() {
        let at = |minute: i64| Timestamp::from_second(1_767_600_000 + 60 * minute).unwrap();
        let window = MessageWindow::stepped(50);
        let times: Vec<Timestamp> = (0..300).map(at).collect();
        let first =
            |times: &[Timestamp]| times[times.len() - window.size(times.iter().rev().copied())];
        let with_older: Vec<Timestamp> = (-50..300).map(at).collect();
        assert_eq!(first(&with_older), first(&times));
    }
}
