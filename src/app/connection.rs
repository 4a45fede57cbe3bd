//! Keeps one platform connected. A platform that refuses the bot is that platform's trouble alone: the others and the
//! local room go on, and it is connected again as soon as it takes the bot.

use std::sync::Arc;

use aizuchi_config::Config;
use aizuchi_model::chat::{ConversationId, WorkspaceId};
use aizuchi_model::clock::Clock;
use aizuchi_model::flow::outbox::{OutboxItem, PostedMessage};
use aizuchi_model::platform::{BackfillState, Platform, PlatformError, Platforms};
use aizuchi_model::reloadable::Reloadable;
use aizuchi_platform::PlatformDeps;
use aizuchi_platform::remote::{
    Account, Credentials, RemotePlatform, Remotes, Renewal, RenewalError,
};
use async_trait::async_trait;
use jiff::SignedDuration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

/// How long to wait before a platform is connected again, unless the config is reloaded. Discord resets the token of a
/// bot that identifies itself a thousand times a day.
const RECONNECT_INTERVAL: SignedDuration = SignedDuration::from_mins(5);

/// Keeps one of the configured platforms connected.
pub struct PlatformConnection {
    /// The platform's name in the config.
    pub name: &'static str,
    /// Whether no other platform is configured. Then a refusal ends the program, so that its supervisor notices.
    pub is_only: bool,
    pub config: Reloadable<Config>,
    pub deps: PlatformDeps,
    pub platforms: Platforms,
    pub remotes: Remotes,
    /// Wakes the next attempt to connect.
    pub retry: Arc<Notify>,
}

impl PlatformConnection {
    /// Keeps the platform connected until `shutdown`.
    pub async fn run(self, shutdown: CancellationToken) -> anyhow::Result<()> {
        let mut former = None;
        while let Some(remote) = self.current() {
            let ended = remote.run(shutdown.clone()).await;
            if self.is_only || shutdown.is_cancelled() {
                return ended;
            }
            // The wait of a disconnected platform ends without an error.
            let Err(error) = ended else {
                tokio::select! {
                    () = shutdown.cancelled() => return Ok(()),
                    // Its error is told where it counts as disconnected.
                    _ = self.connect(former.clone()) => {}
                }
                continue;
            };
            former = Some(remote);
            self.disconnect(former.clone(), &error);
        }
        Ok(())
    }

    /// Connects with the credentials of the current config. If that fails, the platform counts as disconnected.
    pub async fn connect(&self, former: Option<Arc<dyn RemotePlatform>>) -> anyhow::Result<()> {
        let connectors = self.config.read().connectors();
        for connector in connectors.iter().filter(|connector| connector.platform() == self.name) {
            let connected = connector.connect(self.deps.clone()).await;
            self.replace(connected.inspect_err(|error| self.disconnect(former.clone(), error))?);
            info!(platform = self.name, "the platform takes the bot");
        }
        Ok(())
    }

    /// Replaces the platform by one that only says why it is not connected.
    fn disconnect(&self, former: Option<Arc<dyn RemotePlatform>>, error: &anyhow::Error) {
        let why = format!("{error:#}");
        let known = self.current().and_then(|current| current.outage());
        if known.as_ref() != Some(&why) && !self.is_only {
            error!(
                platform = self.name,
                error = why,
                "a platform is disconnected, and everything else goes on; mend it and run `aizuchi reload`, or wait for the next \
                 try in a few minutes"
            );
        }
        let (name, clock) = (self.name, self.deps.inbox.clock.clone());
        let retry = self.retry.clone();
        self.replace(Arc::new(Disconnected { name, former, why, clock, retry }));
    }

    fn current(&self) -> Option<Arc<dyn RemotePlatform>> {
        self.remotes.read().get(self.name).cloned()
    }

    fn replace(&self, remote: Arc<dyn RemotePlatform>) {
        let former = self.current().map(|former| former.workspace());
        self.platforms.0.update(|platforms| {
            let mut platforms = platforms.clone();
            former.map(|former| platforms.remove(&former));
            platforms.insert(remote.workspace(), remote.clone());
            platforms
        });
        self.remotes.update(|remotes| {
            let mut remotes = remotes.clone();
            remotes.insert(self.name, remote);
            remotes
        });
    }
}

/// A platform that is not connected until it takes the bot. What is owed there waits.
struct Disconnected {
    name: &'static str,
    /// The platform as it was when it was connected.
    former: Option<Arc<dyn RemotePlatform>>,
    why: String,
    clock: Clock,
    retry: Arc<Notify>,
}

impl Disconnected {
    fn busy<T>(&self) -> Result<T, PlatformError> {
        Err(PlatformError::Busy { why: self.why.clone(), retry_after: Some(RECONNECT_INTERVAL) })
    }
}

#[async_trait]
impl Platform for Disconnected {
    async fn post(&self, _: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        self.busy()
    }

    async fn find_posted(&self, _: &OutboxItem) -> Result<Option<PostedMessage>, PlatformError> {
        self.busy()
    }

    fn in_flight_timeout(&self) -> SignedDuration {
        RECONNECT_INTERVAL
    }

    fn outage(&self) -> Option<String> {
        Some(self.why.clone())
    }

    fn backfill_state(&self, _: &ConversationId) -> BackfillState {
        BackfillState::Disconnected
    }

    /// As short as the shortest, if it is not known.
    fn max_post_length(&self) -> usize {
        self.former.as_ref().map_or(2_000, |former| former.max_post_length())
    }
}

#[async_trait]
impl RemotePlatform for Disconnected {
    fn workspace(&self) -> WorkspaceId {
        let unknown = || WorkspaceId::new(self.name);
        self.former.as_ref().map_or_else(unknown, |former| former.workspace())
    }

    fn workspace_name(&self, workspace: &WorkspaceId) -> Option<String> {
        self.former.as_ref()?.workspace_name(workspace)
    }

    fn account(&self) -> Account {
        let unknown = || Account { platform: self.name, name: self.why.clone(), servers: None };
        self.former.as_ref().map_or_else(unknown, |former| former.account())
    }

    /// Returns when the platform is to be connected again.
    async fn run(&self, shutdown: CancellationToken) -> anyhow::Result<()> {
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = self.retry.notified() => {}
            () = self.clock.sleep_until(self.clock.now() + RECONNECT_INTERVAL) => {}
        }
        Ok(())
    }

    /// The next attempt takes them from the config.
    async fn renew_credentials(&self, _: &Credentials) -> Result<Renewal, RenewalError> {
        self.retry.notify_one();
        Ok(Renewal::Unchanged)
    }
}
