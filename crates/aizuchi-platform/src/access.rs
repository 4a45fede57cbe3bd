//! The bot's access to a platform. Revoked access is gone for good; refused credentials may be replaced for a limited
//! time, because a platform that issues new ones invalidates the old ones first.

use aizuchi_model::clock::Clock;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use tracing::{error, info};

/// How long refused credentials may be replaced before the connection ends.
pub const RENEWAL_TIME: SignedDuration = SignedDuration::from_mins(10);

/// How long to wait before a refused credential is tried again, unless it is replaced.
pub const RETRY_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// The bot's access to one platform with one of its credentials.
pub struct PlatformAccess {
    /// The platform's name in the log: `slack`.
    platform: &'static str,
    /// The key of the credential in the settings: `slack.bot_token`.
    key: &'static str,
    clock: Clock,
    state: watch::Sender<AccessState>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum AccessState {
    /// The platform has not accepted the bot since the start.
    Unproven,
    Granted,
    /// The credential is accepted again, but not yet for the purpose for which it was refused. If it is refused again
    /// before this time, the deadline to replace it is unchanged.
    Recovered {
        until: Timestamp,
    },
    /// The credential may be replaced until this deadline.
    Refused {
        why: String,
        until: Timestamp,
    },
    Revoked {
        why: &'static str,
    },
}

/// How the access was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessLoss {
    /// The credential was refused, for the platform's reason, and was not replaced.
    Refused(String),
    /// The platform has removed the bot.
    Revoked(&'static str),
}

impl PlatformAccess {
    pub fn new(platform: &'static str, key: &'static str, clock: Clock) -> Self {
        Self { platform, key, clock, state: watch::Sender::new(AccessState::Unproven) }
    }

    /// Records that the platform has accepted the bot.
    pub fn confirm(&self) {
        self.grant(AccessState::Granted, |state| {
            !matches!(state, AccessState::Granted | AccessState::Revoked { .. })
        });
    }

    /// Records that the platform has accepted the credential for a purpose that does not prove access.
    pub fn recover(&self) {
        let until = match &*self.state.borrow() {
            AccessState::Refused { until, .. } => *until,
            _ => return,
        };
        self.grant(AccessState::Recovered { until }, |state| {
            matches!(state, AccessState::Refused { .. })
        });
    }

    fn grant(&self, granted: AccessState, is_new: impl Fn(&AccessState) -> bool) {
        let mut was_refused = false;
        self.state.send_if_modified(|state| {
            was_refused = matches!(state, AccessState::Refused { .. });
            let is_new = is_new(state);
            if is_new {
                *state = granted.clone();
            }
            is_new
        });
        if was_refused {
            info!(platform = self.platform, key = self.key, "a credential is taken again");
        }
    }

    /// Records that the platform has removed the bot.
    pub fn revoke(&self, why: &'static str) {
        self.state.send_replace(AccessState::Revoked { why });
    }

    /// Records that the platform refuses the credential. It may still be replaced, unless the platform has never
    /// accepted the bot: then it is wrong rather than outdated.
    pub fn refuse(&self, why: impl Into<String>) {
        let (now, why, mut may_be_renewed) = (self.clock.now(), why.into(), false);
        let is_first = self.state.send_if_modified(|state| {
            let until = match state {
                AccessState::Unproven => Some(now),
                AccessState::Recovered { until } if now < *until => Some(*until),
                AccessState::Granted | AccessState::Recovered { .. } => Some(now + RENEWAL_TIME),
                AccessState::Refused { .. } | AccessState::Revoked { .. } => None,
            };
            may_be_renewed = until.is_some_and(|until| until > now);
            let is_first = until.is_some();
            if let Some(until) = until {
                *state = AccessState::Refused { why: why.clone(), until };
            }
            is_first
        });
        if is_first && may_be_renewed {
            error!(
                platform = self.platform,
                key = self.key,
                within = %format_args!("{RENEWAL_TIME:#}"),
                error = why,
                "a credential is refused; write the new one into the config or its file and reload in time"
            );
        }
    }

    /// Describes the problem while the credential is refused.
    pub fn outage(&self) -> Option<String> {
        matches!(*self.state.borrow(), AccessState::Refused { .. })
            .then(|| format!("{} is refused", self.key))
    }

    /// Waits until the credential is not refused, or no longer is.
    pub async fn usable(&self) {
        let mut states = self.state.subscribe();
        let is_usable = |state: &AccessState| {
            !matches!(state, AccessState::Refused { .. } | AccessState::Revoked { .. })
        };
        if states.wait_for(is_usable).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until the credential has been refused for this long.
    pub async fn refused_for(&self, time: SignedDuration) {
        let mut states = self.state.subscribe();
        loop {
            let is_refused = |state: &AccessState| matches!(state, AccessState::Refused { .. });
            if states.wait_for(is_refused).await.is_err() {
                std::future::pending::<()>().await;
            }
            tokio::select! {
                () = self.usable() => {}
                () = self.clock.sleep_until(self.clock.now() + time) => return,
            }
        }
    }

    /// Waits until the access is lost for good.
    pub async fn lost(&self) -> AccessLoss {
        let mut states = self.state.subscribe();
        loop {
            let state = states.borrow_and_update().clone();
            let change = states.changed();
            match state {
                AccessState::Revoked { why } => return AccessLoss::Revoked(why),
                AccessState::Refused { why, until } => tokio::select! {
                    _ = change => {}
                    () = self.clock.sleep_until(until) => return AccessLoss::Refused(why),
                },
                AccessState::Unproven | AccessState::Granted | AccessState::Recovered { .. } => {
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

    fn access() -> (PlatformAccess, Clock) {
        let clock = Clock::manual(Timestamp::UNIX_EPOCH);
        (PlatformAccess::new("test", "test.token", clock.clone()), clock)
    }

    fn refused() -> AccessLoss {
        AccessLoss::Refused("invalid_auth".to_owned())
    }

    #[tokio::test]
    async fn a_refused_credential_can_be_replaced_for_a_while() {
        let (access, clock) = access();
        access.confirm();
        access.refuse("invalid_auth");
        access.refuse("invalid_auth");
        assert_eq!(access.usable().now_or_never(), None);
        assert_eq!(access.lost().now_or_never(), None);
        assert_eq!(access.outage().as_deref(), Some("test.token is refused"));
        assert_eq!(access.refused_for(RETRY_INTERVAL).now_or_never(), None);
        access.recover();
        assert_eq!(access.usable().now_or_never(), Some(()));
        assert_eq!(access.outage(), None);
        // Each refusal restarts the deadline, but not if the platform accepts the credential for one purpose and
        // refuses it for another.
        clock.advance_to(clock.now() + RENEWAL_TIME);
        access.refuse("invalid_auth");
        clock.advance_to(clock.now() + RENEWAL_TIME / 2);
        access.recover();
        access.refuse("invalid_auth");
        clock.advance_to(clock.now() + RENEWAL_TIME / 2);
        assert_eq!(access.lost().now_or_never(), Some(refused()));
        access.confirm();
        access.refuse("invalid_auth");
        assert_eq!(access.lost().now_or_never(), None);
        clock.advance_to(clock.now() + RENEWAL_TIME);
        assert_eq!(access.lost().now_or_never(), Some(refused()));
    }

    #[tokio::test]
    async fn a_credential_that_never_worked_is_not_waited_for() {
        let (access, _) = access();
        access.recover();
        access.refuse("invalid_auth");
        assert_eq!(access.lost().now_or_never(), Some(refused()));
    }

    #[tokio::test]
    async fn a_removed_bot_does_not_come_back() {
        let (access, _) = access();
        access.confirm();
        access.refuse("invalid_auth");
        access.revoke("removed");
        access.confirm();
        assert_eq!(access.lost().now_or_never(), Some(AccessLoss::Revoked("removed")));
        assert_eq!(access.usable().now_or_never(), None);
    }
}
