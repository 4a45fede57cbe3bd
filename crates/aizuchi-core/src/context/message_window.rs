//! How many of the newest messages a context holds. If its first message dropped out with each new one, a prompt would
//! share none of its messages with the prompt before, and a provider's cache could not reuse them. So the first message
//! stays for a while, and then many drop out at once.
//!
//! Where a window begins follows from the messages alone: it is a number of whole steps away from one of them, the anchor,
//! which their times choose. So it is the same after a restart and in every store. A deletion does not move it, except
//! where too few messages are left, and neither do messages that are backfilled before it.

use jiff::Timestamp;

/// The anchor is one of this many times as many messages as a window holds at least. Among more it stays longer, and all
/// of them are read.
const LOOKBACK_FACTOR: usize = 4;
/// These two turn times into numbers without any order. The statement that reads a context has them, too.
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
    /// Always this many messages.
    pub fn exact(messages: usize) -> Self {
        Self { least: messages, step: 1 }
    }

    /// At least this many messages, and at most half as many more.
    pub fn stepped(least: usize) -> Self {
        Self { least, step: least / 2 + 1 }
    }

    /// How many of the newest messages have to be known to tell where the window begins. It holds no more than these.
    pub fn reach(self) -> usize {
        match self.step {
            1 => self.least,
            _ => self.least.saturating_mul(LOOKBACK_FACTOR).max(self.least + self.step),
        }
    }

    /// How many messages the window holds, if there are that many. Takes the times of the messages, the newest first.
    pub fn size(self, newest_first: impl Iterator<Item = Timestamp>) -> usize {
        let newest = newest_first.take(self.reach()).zip(1_usize..);
        let anchor = newest.min_by_key(|(at, place)| (anchor_order(*at), *place));
        self.least + anchor.map_or(0, |(_, place)| place % self.step)
    }
}

/// The message with the smallest number is the anchor.
fn anchor_order(at: Timestamp) -> i64 {
    at.as_millisecond() % ANCHOR_MODULUS * ANCHOR_FACTOR % ANCHOR_MODULUS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes of the window while messages are heard, one every `pause` milliseconds or a little later.
    fn sizes(window: MessageWindow, messages: usize, pause: i64) -> Vec<usize> {
        let begin = 1_767_600_000_000;
        let jitter = |number: i64| number * number * 7717 % 2000;
        let at = |number: i64| {
            Timestamp::from_millisecond(begin + number * pause + jitter(number)).unwrap()
        };
        let times: Vec<Timestamp> = (0..messages as i64).map(at).collect();
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
            // Every 26 messages, and where the anchor changes.
            assert!((75..=110).contains(&moves), "{moves} moves, {pause} ms");
        }
    }

    #[test]
    fn neither_deletions_nor_older_messages_move_it() {
        let at = |minute: i64| Timestamp::from_second(1_767_600_000 + 60 * minute).unwrap();
        let window = MessageWindow::stepped(50);
        let times: Vec<Timestamp> = (0..300).map(at).collect();
        let first =
            |times: &[Timestamp]| times[times.len() - window.size(times.iter().rev().copied())];
        for deleted in [299, 280, 260] {
            let left: Vec<Timestamp> =
                times.iter().copied().filter(|at| *at != times[deleted]).collect();
            assert_eq!(first(&left), first(&times), "{deleted}");
        }
        let with_older: Vec<Timestamp> = (-50..300).map(at).collect();
        assert_eq!(first(&with_older), first(&times));
    }
}
