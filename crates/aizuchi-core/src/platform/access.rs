//! Whether a platform lets the bot in. Access that it has revoked is gone for good; credentials that it no longer takes
//! may be replaced for a while, because a platform that makes new ones ends the old ones first.

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use tracing::{error, info};

use crate::clock::Clock;

/// How long refused credentials may be replaced before the connection ends.
pub const RENEWAL_TIME: SignedDuration = SignedDuration::from_mins(10);

/// The bot's access to one platform.
pub struct PlatformAccess {
    /// The platform's name in the log: `slack`.
    platform: &'static str,
    clock: Clock,
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The platform has not let the bot in since the start.
    Unproven,
    Granted,
    Refused {
        why: &'static str,
        since: Timestamp,
    },
    Revoked {
        why: &'static str,
    },
}

impl PlatformAccess {
    pub fn new(platform: &'static str, clock: Clock) -> Self {
        Self { platform, clock, state: watch::Sender::new(State::Unproven) }
    }

    /// The platform takes the credentials.
    pub fn confirm(&self) {
        let mut was_refused = false;
        self.state.send_if_modified(|state| {
            was_refused = matches!(state, State::Refused { .. });
            let is_new = was_refused || *state == State::Unproven;
            if is_new {
                *state = State::Granted;
            }
            is_new
        });
        if was_refused {
            info!(platform = self.platform, "the bot is let in again");
        }
    }

    /// The platform has removed the bot.
    pub fn revoke(&self, why: &'static str) {
        self.state.send_replace(State::Revoked { why });
    }

    /// The platform does not take the bot's credentials. Returns whether new ones may still come: never before the
    /// platform has let the bot in, because then they are wrong rather than outdated.
    pub fn refuse(&self, why: &'static str) -> bool {
        let since = self.clock.now();
        let is_first = self.state.send_if_modified(|state| match state {
            State::Unproven => {
                *state = State::Revoked { why };
                true
            }
            State::Granted => {
                *state = State::Refused { why, since };
                true
            }
            State::Refused { .. } | State::Revoked { .. } => false,
        });
        let may_be_renewed = matches!(*self.state.borrow(), State::Refused { .. });
        if is_first && may_be_renewed {
            error!(
                platform = self.platform,
                "{why}; write the new one into the config or its file and send SIGHUP within {RENEWAL_TIME:#}, or Aizuchi \
                 stops"
            );
        }
        may_be_renewed
    }

    /// Waits until the credentials are not refused, or not any more.
    pub async fn usable(&self) {
        let mut states = self.state.subscribe();
        let is_usable = |state: &State| matches!(state, State::Unproven | State::Granted);
        if states.wait_for(is_usable).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until the access is gone for good, and returns the reason.
    pub async fn lost(&self) -> &'static str {
        let mut states = self.state.subscribe();
        loop {
            let state = *states.borrow_and_update();
            let change = states.changed();
            match state {
                State::Revoked { why } => return why,
                State::Refused { why, since } => tokio::select! {
                    _ = change => {}
                    () = self.clock.sleep_until(since + RENEWAL_TIME) => return why,
                },
                State::Unproven | State::Granted => {
                    if change.await.is_err() {
                        std::future::pending::<()>().await;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    const WHY: &str = "the platform refuses the token";

    fn access() -> (PlatformAccess, Clock) {
        let clock = Clock::manual(Timestamp::UNIX_EPOCH);
        (PlatformAccess::new("test", clock.clone()), clock)
    }

    #[tokio::test]
    async fn refused_credentials_can_be_replaced_for_a_while() {
        let (access, clock) = access();
        access.confirm();
        assert!(access.refuse(WHY));
        assert!(access.refuse(WHY));
        assert_eq!(access.usable().now_or_never(), None);
        assert_eq!(access.lost().now_or_never(), None);
        access.confirm();
        assert_eq!(access.usable().now_or_never(), Some(()));
        // The time begins anew with each refusal.
        clock.advance_to(clock.now() + RENEWAL_TIME);
        assert!(access.refuse(WHY));
        assert_eq!(access.lost().now_or_never(), None);
        clock.advance_to(clock.now() + RENEWAL_TIME);
        assert_eq!(access.lost().now_or_never(), Some(WHY));
    }

    #[tokio::test]
    async fn credentials_that_never_worked_are_not_waited_for() {
        let (access, _) = access();
        assert!(!access.refuse(WHY));
        assert_eq!(access.lost().now_or_never(), Some(WHY));
    }

    #[tokio::test]
    async fn a_removed_bot_does_not_come_back() {
        let (access, _) = access();
        access.confirm();
        access.refuse(WHY);
        access.revoke("removed");
        access.confirm();
        assert_eq!(access.lost().now_or_never(), Some("removed"));
        assert_eq!(access.usable().now_or_never(), None);
    }
}
