//! The backoff of a shard before it reconnects.

use aizuchi_http::backoff::backoff_delay;
use aizuchi_model::clock::duration_from_seconds;
use jiff::SignedDuration;

use crate::gateway::disconnect::{Cause, Disconnect};

/// A connection that lasts longer than this resets the backoff.
const STABLE_AFTER: SignedDuration = SignedDuration::from_secs(60);
/// A message that is too large may recur with each new session, long after the session began, so only a connection that
/// lasts longer than this resets that backoff. Each session counts against Discord's limit of a thousand a day.
const FREE_OF_LARGE_MESSAGES_AFTER: SignedDuration = SignedDuration::from_hours(1);
/// The longest wait after a message that is too large, in seconds.
const MAX_LARGE_MESSAGE_WAIT: f64 = 600.0;

/// The number of lost connections of a shard since it was last stable.
#[derive(Debug, Default)]
pub(super) struct Reconnects {
    pub attempt: u32,
    large_messages: u32,
}

impl Reconnects {
    /// Counts a lost connection that lasted this long. Returns the wait before the next one; `draw`, from 0 to 1, is
    /// its random part.
    pub fn wait_after(
        &mut self,
        disconnect: &Disconnect,
        lasted: SignedDuration,
        draw: f64,
    ) -> SignedDuration {
        self.attempt = if lasted > STABLE_AFTER { 1 } else { self.attempt + 1 };
        if lasted > FREE_OF_LARGE_MESSAGES_AFTER {
            self.large_messages = 0;
        }
        let wait = disconnect.wait.max(backoff_delay(self.attempt, draw));
        match disconnect.cause {
            Cause::Ordinary => wait,
            Cause::MessageTooLarge => {
                self.large_messages += 1;
                wait.max(large_message_delay(self.large_messages, draw))
            }
        }
    }
}

/// Returns 2, 8, 32 … seconds, at most ten minutes, each with a random factor between 0.8 and 1.2.
fn large_message_delay(count: u32, draw: f64) -> SignedDuration {
    let exponent = i32::try_from(count.saturating_sub(1)).unwrap_or(i32::MAX).min(8);
    duration_from_seconds(
        (2.0 * 4_f64.powi(exponent)).min(MAX_LARGE_MESSAGE_WAIT) * (0.8 + 0.4 * draw),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(wait: SignedDuration) -> i64 {
        wait.as_millis() as i64 / 1000
    }

    /// Returns the middle of each random wait, after connections that lasted this many seconds.
    fn waits(disconnect: &Disconnect, lasted: &[i64]) -> Vec<i64> {
        let mut reconnects = Reconnects::default();
        let wait = |lasted: &i64| {
            let lasted = SignedDuration::from_secs(*lasted);
            seconds(reconnects.wait_after(disconnect, lasted, 0.5))
        };
        lasted.iter().map(wait).collect()
    }

    #[test]
    fn a_message_that_is_too_large_again_and_again_is_met_ever_more_rarely() {
        let large = Disconnect::message_too_large();
        assert_eq!(waits(&large, &[1; 7]), [2, 8, 32, 128, 512, 600, 600]);
        // A large server may be described long after the connection was opened.
        assert_eq!(waits(&large, &[90; 7]), [2, 8, 32, 128, 512, 600, 600]);
        assert_eq!(waits(&large, &[1, 90, 3_600, 3_601, 1]), [2, 8, 32, 2, 8]);
        // Therefore a day has at most about 150 new sessions.
        let mut reconnects = Reconnects::default();
        let (mut now, mut sessions) = (SignedDuration::ZERO, 0);
        while now < SignedDuration::from_hours(24) {
            now += reconnects.wait_after(&large, SignedDuration::ZERO, 0.5);
            sessions += 1;
        }
        assert!((140..160).contains(&sessions), "{sessions}");
    }

    #[test]
    fn other_losses_neither_reset_nor_share_that_wait() {
        let (large, lost) = (Disconnect::message_too_large(), Disconnect::from_reason("lost"));
        let mut reconnects = Reconnects::default();
        let mut wait = |disconnect, lasted| {
            seconds(reconnects.wait_after(disconnect, SignedDuration::from_secs(lasted), 0.5))
        };
        assert_eq!(wait(&large, 1), 2);
        assert_eq!(wait(&lost, 90), 0);
        assert_eq!(wait(&large, 90), 8);
        assert_eq!(waits(&lost, &[1; 8]), [0, 0, 1, 2, 4, 8, 15, 15]);
        assert_eq!(waits(&lost, &[1, 1, 1, 1, 90]), [0, 0, 1, 2, 0]);
        assert_eq!(waits(&Disconnect::invalid_session(true), &[1]), [2]);
    }
}
