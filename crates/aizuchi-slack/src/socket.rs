//! Socket Mode. Each connection is watched: one that falls silent is given up, and one that is to be closed
//! is replaced before it is, so that there is no moment without a connection (make before break).

mod connection;

use std::collections::BTreeMap;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use jiff::SignedDuration;
use secrecy::SecretString;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::connect_async;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::SlackPlatform;
use crate::api::SlackApiError;
use crate::from_slack::non_empty_str;
use crate::identity::SlackConnectError;
use crate::socket::connection::{SlackSocket, SocketConnection};
use aizuchi_core::clock::seeded_random;
use aizuchi_core::platform::backoff::backoff_delay;

/// What a connection says to whoever keeps it.
enum ConnectionSignal {
    /// It can be heard.
    Hello(u64),
    /// It has been heard for a while.
    Stable(u64),
    /// It will be closed soon.
    Closing(u64),
}

/// How a connection ended, where it was not asked to.
enum SlackDisconnect {
    /// Another one may do better, after so long.
    Retryable { why: String, wait: SignedDuration },
    /// No other one will.
    Permanent(SlackConnectError),
}

impl SlackDisconnect {
    fn retryable(why: impl Into<String>) -> Self {
        Self::Retryable { why: why.into(), wait: SignedDuration::ZERO }
    }
}

/// Where there is always a connection: the newest, and older ones until it can be heard.
struct ConnectionSlot<'a> {
    slack: &'a SlackPlatform,
    app_token: &'a SecretString,
    index: usize,
    shutdown: &'a CancellationToken,
    signals: mpsc::UnboundedSender<ConnectionSignal>,
    connections: FuturesUnordered<BoxFuture<'a, (u64, Result<(), SlackDisconnect>)>>,
    /// Cancelled where a connection is not needed any more.
    replacement_tokens: BTreeMap<u64, CancellationToken>,
    newest: u64,
    /// How often one was opened since one lasted.
    attempts: u32,
}

impl SlackPlatform {
    /// Keeps one connection up until `shutdown`.
    pub(super) async fn keep_connected(
        &self,
        app_token: &SecretString,
        place: usize,
        shutdown: &CancellationToken,
    ) -> Result<(), SlackConnectError> {
        let (signs, mut told) = mpsc::unbounded_channel();
        let mut slot = ConnectionSlot {
            slack: self,
            app_token,
            index: place,
            shutdown,
            signals: signs,
            connections: FuturesUnordered::new(),
            replacement_tokens: BTreeMap::new(),
            newest: 0,
            attempts: 0,
        };
        slot.open(SignedDuration::ZERO);
        loop {
            tokio::select! {
                biased;
                Some(sign) = told.recv() => slot.apply_signal(sign),
                Some((number, ended)) = slot.connections.next() => slot.apply_end(number, ended)?,
                else => return Ok(()),
            }
            if shutdown.is_cancelled() && slot.connections.is_empty() {
                return Ok(());
            }
        }
    }

    /// Asks for an address, and opens a socket there.
    async fn connect(&self, app_token: &SecretString) -> Result<SlackSocket, SlackDisconnect> {
        let opened = self.api.call(app_token, "apps.connections.open", &[]).await;
        let answer = opened.map_err(|error| match error {
            SlackApiError::Refused(code)
                if code == "socket_mode_not_enabled" || code == "link_disabled" =>
            {
                SlackDisconnect::Permanent(SlackConnectError::SocketModeDisabled)
            }
            error if error.is_token_invalid() => {
                SlackDisconnect::Permanent(SlackConnectError::AppTokenRefused(error.to_string()))
            }
            SlackApiError::RateLimited(wait) => {
                SlackDisconnect::Retryable { why: "too many tries".to_owned(), wait }
            }
            error => SlackDisconnect::retryable(error.to_string()),
        })?;
        // The address is a secret for as long as it can be used: it is in no log and no error.
        let address = non_empty_str(&answer["url"])
            .ok_or_else(|| SlackDisconnect::retryable("no address was given"))?;
        match timeout(self.settings.timeouts.open, connect_async(address)).await {
            Ok(Ok((socket, _))) => Ok(socket),
            Ok(Err(_)) => Err(SlackDisconnect::retryable("the socket could not be opened")),
            Err(_) => Err(SlackDisconnect::retryable("the socket was not opened in time")),
        }
    }
}

impl<'a> ConnectionSlot<'a> {
    /// Opens another connection after a while.
    fn open(&mut self, wait: SignedDuration) {
        self.newest += 1;
        let number = self.newest;
        let replaced = self.shutdown.child_token();
        self.replacement_tokens.insert(number, replaced.clone());
        let (slack, app_token, signs) = (self.slack, self.app_token, self.signals.clone());
        let connection = async move {
            let opened = async {
                slack.clock.sleep_until(slack.clock.now() + wait).await;
                slack.connect(app_token).await
            };
            let socket = tokio::select! {
                opened = opened => opened?,
                () = replaced.cancelled() => return Ok(()),
            };
            SocketConnection::new(slack, socket, number, signs, replaced).run().await
        };
        self.connections.push(connection.map(move |ended| (number, ended)).boxed());
    }

    fn apply_signal(&mut self, sign: ConnectionSignal) {
        match sign {
            ConnectionSignal::Hello(number) => {
                let older = self.replacement_tokens.range(..number);
                older.for_each(|(_, replaced)| replaced.cancel());
            }
            ConnectionSignal::Stable(number) if number == self.newest => self.attempts = 0,
            // The old one stays until the new one is heard.
            ConnectionSignal::Closing(number) if number == self.newest => {
                let wait = self.next_backoff();
                self.open(wait);
            }
            ConnectionSignal::Stable(_) | ConnectionSignal::Closing(_) => {}
        }
    }

    fn apply_end(
        &mut self,
        number: u64,
        ended: Result<(), SlackDisconnect>,
    ) -> Result<(), SlackConnectError> {
        self.replacement_tokens.remove(&number);
        let is_needed = number == self.newest && !self.shutdown.is_cancelled();
        match ended {
            Err(SlackDisconnect::Permanent(error)) => return Err(error),
            Err(SlackDisconnect::Retryable { why, wait }) if is_needed => {
                let wait = wait.max(self.next_backoff());
                warn!("a connection to Slack is lost ({why}); the next try is in {wait:#}");
                self.open(wait);
            }
            Ok(()) if is_needed => self.open(SignedDuration::ZERO),
            Ok(()) | Err(SlackDisconnect::Retryable { .. }) => {}
        }
        Ok(())
    }

    fn next_backoff(&mut self) -> SignedDuration {
        self.attempts += 1;
        let (place, number) = (self.index.to_string(), self.newest.to_string());
        backoff_delay(
            self.attempts,
            seeded_random(self.slack.inbox.random_seed, &["reconnect", &place, &number]),
        )
    }
}
