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

use crate::api::ApiError;
use crate::from_slack::text;
use crate::socket::connection::{Connection, Socket};
use crate::{JoinError, Slack};
use aizuchi_core::clock::chance;
use aizuchi_core::platform::backoff::backoff;

/// What a connection says to whoever keeps it.
enum Sign {
    /// It can be heard.
    Hello(u64),
    /// It has been heard for a while.
    Steady(u64),
    /// It will be closed soon.
    Leaving(u64),
}

/// How a connection ended, where it was not asked to.
enum Lost {
    /// Another one may do better, after so long.
    For { why: String, wait: SignedDuration },
    /// No other one will.
    ForGood(JoinError),
}

impl Lost {
    fn because(why: impl Into<String>) -> Self {
        Self::For { why: why.into(), wait: SignedDuration::ZERO }
    }
}

/// Where there is always a connection: the newest, and older ones until it can be heard.
struct Slot<'a> {
    slack: &'a Slack,
    app_token: &'a SecretString,
    place: usize,
    shutdown: &'a CancellationToken,
    signs: mpsc::UnboundedSender<Sign>,
    connections: FuturesUnordered<BoxFuture<'a, (u64, Result<(), Lost>)>>,
    /// Cancelled where a connection is not needed any more.
    replaced: BTreeMap<u64, CancellationToken>,
    newest: u64,
    /// How often one was opened since one lasted.
    tried: u32,
}

impl Slack {
    /// Keeps one connection up until `shutdown`.
    pub(super) async fn stay_connected(
        &self,
        app_token: &SecretString,
        place: usize,
        shutdown: &CancellationToken,
    ) -> Result<(), JoinError> {
        let (signs, mut told) = mpsc::unbounded_channel();
        let mut slot = Slot {
            slack: self,
            app_token,
            place,
            shutdown,
            signs,
            connections: FuturesUnordered::new(),
            replaced: BTreeMap::new(),
            newest: 0,
            tried: 0,
        };
        slot.open(SignedDuration::ZERO);
        loop {
            tokio::select! {
                biased;
                Some(sign) = told.recv() => slot.heed(sign),
                Some((number, ended)) = slot.connections.next() => slot.ended(number, ended)?,
                else => return Ok(()),
            }
            if shutdown.is_cancelled() && slot.connections.is_empty() {
                return Ok(());
            }
        }
    }

    /// Asks for an address, and opens a socket there.
    async fn connect(&self, app_token: &SecretString) -> Result<Socket, Lost> {
        let opened = self.api.call(app_token, "apps.connections.open", &[]).await;
        let answer = opened.map_err(|error| match error {
            ApiError::Refused(code)
                if code == "socket_mode_not_enabled" || code == "link_disabled" =>
            {
                Lost::ForGood(JoinError::SwitchedOff)
            }
            error if error.is_about_the_token() => {
                Lost::ForGood(JoinError::AppToken(error.to_string()))
            }
            ApiError::Limited(wait) => Lost::For { why: "too many tries".to_owned(), wait },
            error => Lost::because(error.to_string()),
        })?;
        // The address is a secret for as long as it can be used: it is in no log and no error.
        let address = text(&answer["url"]).ok_or_else(|| Lost::because("no address was given"))?;
        match timeout(self.settings.patience.opening, connect_async(address)).await {
            Ok(Ok((socket, _))) => Ok(socket),
            Ok(Err(_)) => Err(Lost::because("the socket could not be opened")),
            Err(_) => Err(Lost::because("the socket was not opened in time")),
        }
    }
}

impl<'a> Slot<'a> {
    /// Opens another connection after a while.
    fn open(&mut self, wait: SignedDuration) {
        self.newest += 1;
        let number = self.newest;
        let replaced = self.shutdown.child_token();
        self.replaced.insert(number, replaced.clone());
        let (slack, app_token, signs) = (self.slack, self.app_token, self.signs.clone());
        let connection = async move {
            let opened = async {
                slack.clock.sleep_until(slack.clock.now() + wait).await;
                slack.connect(app_token).await
            };
            let socket = tokio::select! {
                opened = opened => opened?,
                () = replaced.cancelled() => return Ok(()),
            };
            Connection::new(slack, socket, number, signs, replaced).keep().await
        };
        self.connections.push(connection.map(move |ended| (number, ended)).boxed());
    }

    fn heed(&mut self, sign: Sign) {
        match sign {
            Sign::Hello(number) => {
                let older = self.replaced.range(..number);
                older.for_each(|(_, replaced)| replaced.cancel());
            }
            Sign::Steady(number) if number == self.newest => self.tried = 0,
            // The old one stays until the new one is heard.
            Sign::Leaving(number) if number == self.newest => {
                let wait = self.next_wait();
                self.open(wait);
            }
            Sign::Steady(_) | Sign::Leaving(_) => {}
        }
    }

    fn ended(&mut self, number: u64, ended: Result<(), Lost>) -> Result<(), JoinError> {
        self.replaced.remove(&number);
        let is_needed = number == self.newest && !self.shutdown.is_cancelled();
        match ended {
            Err(Lost::ForGood(error)) => return Err(error),
            Err(Lost::For { why, wait }) if is_needed => {
                let wait = wait.max(self.next_wait());
                warn!("a connection to Slack is lost ({why}); the next try is in {wait:#}");
                self.open(wait);
            }
            Ok(()) if is_needed => self.open(SignedDuration::ZERO),
            Ok(()) | Err(Lost::For { .. }) => {}
        }
        Ok(())
    }

    fn next_wait(&mut self) -> SignedDuration {
        self.tried += 1;
        let (place, number) = (self.place.to_string(), self.newest.to_string());
        backoff(self.tried, chance(self.slack.ears.seed, &["reconnect", &place, &number]))
    }
}
