//! Socket Mode. An idle connection is dropped, and one that Slack is about to close is replaced first, so there is
//! always an open connection (make before break).

mod connection;

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_http::backoff::backoff_delay;
use aizuchi_http::body::MAX_PLATFORM_BODY_BYTES;
use aizuchi_model::clock::seeded_random;
use aizuchi_model::reloadable::Reloadable;
use aizuchi_platform::access::RETRY_INTERVAL;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use jiff::SignedDuration;
use secrecy::SecretString;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::connect_async_with_config;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::SlackPlatform;
use crate::api::{SlackApiError, SlackWebApi};
use crate::from_slack::non_empty_str;
use crate::identity::SlackConnectError;
use crate::socket::connection::{SlackSocket, SocketConnection};
use aizuchi_platform::call_error::PlatformApi as _;

/// A signal from a connection to its slot, with the connection's number.
enum ConnectionSignal {
    /// Slack has said hello, so events arrive.
    Hello(u64),
    /// The connection has been open for a while, so the backoff is reset.
    Stable(u64),
    /// Slack will close the connection soon.
    Closing(u64),
}

/// Why a connection ended unexpectedly.
enum SlackDisconnect {
    /// Reconnect after `wait`.
    Retryable { reason: String, wait: SignedDuration },
    /// Reconnecting does not help.
    Permanent(SlackConnectError),
}

impl SlackDisconnect {
    fn retryable(reason: impl Into<String>) -> Self {
        Self::Retryable { reason: reason.into(), wait: SignedDuration::ZERO }
    }
}

/// Keeps one connection open: the newest one, and older ones until the newest receives events.
struct ConnectionSlot<'a> {
    slack: &'a SlackPlatform,
    app_token: &'a Reloadable<SecretString>,
    index: usize,
    shutdown: &'a CancellationToken,
    signals: mpsc::UnboundedSender<ConnectionSignal>,
    connections: FuturesUnordered<BoxFuture<'a, (u64, Result<(), SlackDisconnect>)>>,
    /// Cancelled when a connection has been replaced.
    replacement_tokens: BTreeMap<u64, CancellationToken>,
    newest: u64,
    /// The number of connections opened since the last stable one.
    attempts: u32,
}

impl SlackPlatform {
    /// Keeps one connection up until `shutdown`.
    pub(super) async fn keep_connected(
        &self,
        app_token: &Reloadable<SecretString>,
        index: usize,
        shutdown: &CancellationToken,
    ) -> Result<(), SlackConnectError> {
        let (signals, mut received) = mpsc::unbounded_channel();
        let mut slot = ConnectionSlot {
            slack: self,
            app_token,
            index,
            shutdown,
            signals,
            connections: FuturesUnordered::new(),
            replacement_tokens: BTreeMap::new(),
            newest: 0,
            attempts: 0,
        };
        slot.open(SignedDuration::ZERO);
        loop {
            tokio::select! {
                // Signals come first: a `Stable` must reset the backoff before the connection's end uses it.
                biased;
                Some(signal) = received.recv() => slot.apply_signal(signal),
                Some((number, ended)) = slot.connections.next() => slot.apply_end(number, ended)?,
                else => return Ok(()),
            }
            if shutdown.is_cancelled() && slot.connections.is_empty() {
                return Ok(());
            }
        }
    }

    /// Requests a socket URL from Slack and opens it. Waits while Slack refuses the token.
    async fn connect(
        &self,
        app_token: &Reloadable<SecretString>,
    ) -> Result<SlackSocket, SlackDisconnect> {
        // Slack may accept the same token again.
        let retry = self.clock.sleep_until(self.now() + RETRY_INTERVAL);
        tokio::select! {
            () = self.app_access.usable() => {}
            () = retry => {}
        }
        let token = app_token.read();
        let opened = self.api.call(&token, "apps.connections.open", &[]).await;
        let answer = opened.map_err(|error| match error {
            SlackApiError::Refused(code)
                if code == "socket_mode_not_enabled" || code == "link_disabled" =>
            {
                SlackDisconnect::Permanent(SlackConnectError::SocketModeDisabled)
            }
            SlackApiError::Refused(code) if SlackWebApi::is_token_invalid(&code) => {
                // The failure of a token that was replaced during the call says nothing about its successor.
                if Arc::ptr_eq(&token, &app_token.read()) {
                    self.app_access.refuse(&code);
                }
                SlackDisconnect::retryable(code)
            }
            SlackApiError::RateLimited(wait) => {
                SlackDisconnect::Retryable { reason: "too many attempts".to_owned(), wait }
            }
            error => SlackDisconnect::retryable(error.to_string()),
        })?;
        self.app_access.confirm();
        // The URL contains a secret, which must not appear in a log or an error.
        let url = non_empty_str(&answer["url"])
            .ok_or_else(|| SlackDisconnect::retryable("Slack returned no URL"))?;
        let connecting = connect_async_with_config(url, Some(socket_config()), false);
        match timeout(self.settings.timeouts.open, connecting).await {
            Ok(Ok((socket, _))) => Ok(socket),
            Ok(Err(_)) => Err(SlackDisconnect::retryable("the socket could not be opened")),
            Err(_) => Err(SlackDisconnect::retryable("the socket was not opened in time")),
        }
    }
}

/// Limits the size of a message. An event contains at most a message and its previous form, so it stays far below the
/// limit; a larger message ends the connection.
fn socket_config() -> WebSocketConfig {
    WebSocketConfig::default()
        .max_message_size(Some(MAX_PLATFORM_BODY_BYTES))
        .max_frame_size(Some(MAX_PLATFORM_BODY_BYTES))
}

impl<'a> ConnectionSlot<'a> {
    /// Opens another connection after `wait`.
    fn open(&mut self, wait: SignedDuration) {
        self.newest += 1;
        let number = self.newest;
        let replaced = self.shutdown.child_token();
        self.replacement_tokens.insert(number, replaced.clone());
        let (slack, app_token, signals) = (self.slack, self.app_token, self.signals.clone());
        let connection = async move {
            let opened = async {
                slack.clock.sleep_until(slack.clock.now() + wait).await;
                slack.connect(app_token).await
            };
            let socket = tokio::select! {
                opened = opened => opened?,
                () = replaced.cancelled() => return Ok(()),
            };
            SocketConnection::new(slack, socket, number, signals, replaced).run().await
        };
        self.connections.push(connection.map(move |ended| (number, ended)).boxed());
    }

    fn apply_signal(&mut self, signal: ConnectionSignal) {
        match signal {
            ConnectionSignal::Hello(number) => {
                let older = self.replacement_tokens.range(..number);
                older.for_each(|(_, replaced)| replaced.cancel());
            }
            ConnectionSignal::Stable(number) if number == self.newest => self.attempts = 0,
            // The old connection stays until the new one has received its hello.
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
            Err(SlackDisconnect::Retryable { reason, wait }) if is_needed => {
                let wait = wait.max(self.next_backoff());
                warn!(
                    platform = "slack",
                    workspace = %self.slack.identity.workspace,
                    connection = number,
                    attempt = self.attempts,
                    error = reason,
                    wait = %format_args!("{wait:#}"),
                    "lost a connection to Slack; reconnecting"
                );
                self.open(wait);
            }
            Ok(()) if is_needed => self.open(SignedDuration::ZERO),
            Ok(()) | Err(SlackDisconnect::Retryable { .. }) => {}
        }
        Ok(())
    }

    fn next_backoff(&mut self) -> SignedDuration {
        self.attempts += 1;
        let (index, number) = (self.index.to_string(), self.newest.to_string());
        backoff_delay(
            self.attempts,
            seeded_random(self.slack.inbox.random_seed, &["reconnect", &index, &number]),
        )
    }
}

#[cfg(test)]
mod tests {
    use futures_util::SinkExt;
    use tokio::net::TcpListener;
    use tokio_tungstenite::accept_async;
    use tokio_tungstenite::tungstenite::{Error, Message};

    use super::*;

    #[tokio::test]
    async fn a_message_beyond_the_limit_ends_the_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move {
            let mut socket = accept_async(listener.accept().await.unwrap().0).await.unwrap();
            for length in [MAX_PLATFORM_BODY_BYTES, MAX_PLATFORM_BODY_BYTES + 1] {
                // The second message fails once the client has disconnected.
                let _ = socket.send(Message::text("x".repeat(length))).await;
            }
        });
        let connecting = connect_async_with_config(url, Some(socket_config()), false);
        let (mut socket, _) = connecting.await.unwrap();
        assert!(matches!(socket.next().await, Some(Ok(Message::Text(_)))));
        assert!(matches!(socket.next().await, Some(Err(Error::Capacity(_)))));
        drop(socket);
        server.await.unwrap();
    }
}
