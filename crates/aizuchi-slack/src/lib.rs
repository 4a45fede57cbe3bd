//! The adapter for a Slack workspace. Events arrive over Socket Mode or Slack's webhooks, missed messages are
//! backfilled from the history, and posts go out through the Web API. An event is acknowledged only after it is stored.

pub mod settings;
pub mod api;
pub mod manifest;
pub mod identity;
pub mod diagnose;
pub mod remote;

pub mod signature;
mod socket;
pub mod from_slack;
mod cache;
mod ingest;
mod command;
mod webhook;
mod sync;
mod history;

pub mod mrkdwn;

mod post;
mod post_lookup;
pub mod files;
mod keeper;

mod credentials;

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use aizuchi_agent::inbox::Inbox;
use aizuchi_agent::metrics::labels::{MalformedInput, PlatformTask};
use aizuchi_model::chat::{ChannelId, Cursor};
use aizuchi_model::clock::Clock;
use aizuchi_model::persona::Persona;
use aizuchi_platform::access::{AccessLoss, PlatformAccess, RETRY_INTERVAL};
use aizuchi_platform::backfill_queue::BackfillQueue;
use aizuchi_platform::backfill_run::{run_backfill, run_deletion_checks, run_prioritized_backfill};
use aizuchi_platform::call_error::Retries;
use aizuchi_platform::channel_history::ChannelHistory as _;
use aizuchi_platform::connection_tracker::ConnectionTracker;
use aizuchi_platform::incidents::Incidents;
use aizuchi_platform::keeper::{KeeperLengths, Keepers};
use aizuchi_platform::slash_command::SlashCommands;
use aizuchi_platform::{PlatformDeps, register_persona};
use aizuchi_store::archive::Archive;
use aizuchi_store::{Cursors, StoreError};
use anyhow::Context as _;
use futures_util::future::{join3, join5, try_join_all};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::api::{SlackApi, SlackApiError, cursor_after, page_items};
use crate::cache::SlackCache;
use crate::command::CommandQueue;
use crate::history::limit::HistoryLimit;
use crate::history::{LIMIT_KEY, LIMIT_ON};
use crate::identity::{SlackConnectError, SlackIdentity};
use crate::keeper::MAX_FORM_LENGTH;
use crate::post::MAX_POST_LENGTH;
use crate::post_lookup::{PostLookups, PostsInEvents};
use crate::settings::{EventTransport, SlackSettings};
use crate::signature::InvalidSignature;

pub struct SlackPlatform {
    api: SlackApi,
    settings: SlackSettings,
    identity: SlackIdentity,
    persona: Arc<Persona>,
    inbox: Arc<Inbox>,
    slash_commands: SlashCommands,
    keepers: Keepers,
    archive: Arc<dyn Archive>,
    cursors: Arc<dyn Cursors>,
    clock: Clock,
    cache: SlackCache,
    backfill: BackfillQueue,
    /// The channels read since the last gap, which have no missing messages.
    unbroken_channels: Mutex<BTreeSet<ChannelId>>,
    post_lookups: PostLookups,
    posts_in_events: PostsInEvents,
    command_queue: CommandQueue,
    incidents: Incidents,
    /// Whether Slack accepts `bot_token`.
    bot_access: PlatformAccess,
    /// Whether Slack accepts `app_token`.
    app_access: PlatformAccess,
    history_limit: HistoryLimit,
    pub connection: ConnectionTracker,
    /// When the last lookup of each channel that is unknown or was left has failed or changed nothing, as a time of
    /// `steady_now`. Locked during a lookup.
    failed_channel_lookups: tokio::sync::Mutex<HashMap<ChannelId, Timestamp>>,
    /// Whether all lists have been fetched once, or fetching them has failed.
    has_synced: AtomicBool,
    /// When an invalid signature was last logged.
    invalid_signature_logged_ms: AtomicI64,
}

impl SlackPlatform {
    /// Loads the stored state of the workspace. Does not call Slack.
    pub async fn new(
        settings: SlackSettings,
        identity: SlackIdentity,
        deps: PlatformDeps,
    ) -> anyhow::Result<Self> {
        let keepers = deps.keepers(KeeperLengths { form: MAX_FORM_LENGTH, post: MAX_POST_LENGTH });
        let PlatformDeps { persona, inbox, archive, cursors, answers, .. } = deps;
        let slash_commands = SlashCommands { inbox: inbox.clone(), answers };
        let cache = SlackCache::default();
        let workspace = &identity.workspace;
        cache.load(archive.users(workspace).await?, archive.channels(workspace).await?);
        let history_limit = HistoryLimit::new(settings.timeouts.limited_page_interval);
        let stored = cursors.cursors(workspace).await?;
        let backfill = BackfillQueue::default();
        backfill.deletion_checks.load(&stored);
        let clock = inbox.clock.clone();
        let incidents = Incidents::new("slack", inbox.metrics.clone(), clock.clone());
        let [bot_access, app_access] = ["slack.bot_token", "slack.app_token"]
            .map(|key| PlatformAccess::new("slack", key, clock.clone()));
        let connection = match settings.events {
            EventTransport::SocketMode { .. } => ConnectionTracker::default(),
            // Slack connects to us, so there is no connection to lose.
            EventTransport::Webhooks { .. } => ConnectionTracker::always_connected(clock.now()),
        };
        let platform = Self {
            api: SlackApi::new(&settings.api_base, settings.timeouts.call)?,
            settings,
            identity,
            persona,
            slash_commands,
            keepers,
            archive,
            cursors,
            clock,
            cache,
            backfill,
            unbroken_channels: Mutex::default(),
            post_lookups: PostLookups::default(),
            posts_in_events: PostsInEvents::default(),
            command_queue: CommandQueue::default(),
            incidents,
            bot_access,
            app_access,
            history_limit,
            connection,
            inbox,
            failed_channel_lookups: tokio::sync::Mutex::default(),
            has_synced: AtomicBool::new(false),
            invalid_signature_logged_ms: AtomicI64::new(0),
        };
        let is_limited = |it: &Cursor| *it.stream == *LIMIT_KEY && *it.value == *LIMIT_ON;
        if stored.iter().any(is_limited) {
            platform.history_limit.set_limited(platform.steady_now());
        }
        Ok(platform)
    }

    pub fn identity(&self) -> &SlackIdentity {
        &self.identity
    }

    /// Runs until `shutdown`. Returns earlier only if the workspace has revoked the app or its tokens.
    pub async fn run(&self, shutdown: CancellationToken) -> anyhow::Result<()> {
        self.register().await.context("cannot open the Slack workspace")?;
        tokio::select! {
            // On `shutdown` this drains: events in flight are stored and acknowledged first.
            listened = self.listen(&shutdown) => Ok(listened?),
            // These never return. Dropping them at any point is safe: reading is idempotent.
            _ = self.run_background_tasks() => Ok(()),
        }
    }

    async fn run_background_tasks(&self) {
        let incidents = &self.incidents;
        let interval = self.settings.sync_interval;
        let tasks = join5(
            incidents.keep_running(PlatformTask::Sync, || self.run_sync()),
            incidents.keep_running(PlatformTask::Backfill, || run_backfill(self, interval)),
            incidents.keep_running(PlatformTask::Backfill, || run_prioritized_backfill(self)),
            incidents.keep_running(PlatformTask::Backfill, || run_deletion_checks(self)),
            incidents.keep_running(PlatformTask::Command, || self.run_commands()),
        );
        let keepers = incidents.keep_running(PlatformTask::Keeper, || self.keepers.run(self));
        join3(tasks, keepers, self.retry_refused_token()).await;
    }

    /// Retries a refused token: Slack may accept it again.
    async fn retry_refused_token(&self) -> Infallible {
        loop {
            self.bot_access.refused_for(RETRY_INTERVAL).await;
            // Every call records whether Slack accepts the token.
            let _ = self.call("auth.test", &[]).await;
        }
    }

    /// Records that Slack accepts the token. If it refused it before, it may have sent no events since, even over a
    /// socket that stayed open, so all channels are read.
    fn confirm_bot_access(&self) {
        let was_refused = self.bot_access.outage().is_some();
        self.bot_access.confirm();
        if was_refused {
            self.enqueue_channels();
        }
    }

    async fn listen(&self, shutdown: &CancellationToken) -> Result<(), SlackConnectError> {
        let listening = async {
            match &self.settings.events {
                EventTransport::SocketMode { app_token, connections } => {
                    let slots = 0..*connections;
                    let slots = slots.map(|index| self.keep_connected(app_token, index, shutdown));
                    try_join_all(slots).await.map(|_| ())
                }
                EventTransport::Webhooks { .. } => {
                    shutdown.cancelled().await;
                    Ok(())
                }
            }
        };
        tokio::select! {
            ended = listening => ended,
            loss = self.bot_access.lost() => Err(match loss {
                AccessLoss::Refused(why) => SlackConnectError::BotTokenRefused(why),
                AccessLoss::Revoked(why) => SlackConnectError::Revoked(why),
            }),
            loss = self.app_access.lost() => Err(match loss {
                AccessLoss::Refused(why) => SlackConnectError::AppTokenRefused(why),
                AccessLoss::Revoked(why) => SlackConnectError::Revoked(why),
            }),
        }
    }

    /// Stores the persona as a user, and the identity for the next start.
    async fn register(&self) -> Result<(), StoreError> {
        let workspace = &self.identity.workspace;
        register_persona(&self.inbox, &self.persona, workspace, &self.identity.user).await?;
        self.cursors.put_cursor(self.identity.to_cursor(&self.settings)).await?;
        info!(
            platform = "slack",
            workspace = %workspace,
            name = %self.identity.name,
            "joined the Slack workspace"
        );
        Ok(())
    }

    /// Logs a request with an invalid signature at most once an hour, so that an attacker cannot fill the log.
    fn log_invalid_signature(&self, error: InvalidSignature) {
        const HOUR_MS: i64 = 3_600_000;
        let now = self.now().as_millisecond();
        if now - self.invalid_signature_logged_ms.load(Ordering::Relaxed) > HOUR_MS {
            self.invalid_signature_logged_ms.store(now, Ordering::Relaxed);
            warn!(
                platform = "slack",
                workspace = %self.identity.workspace,
                error = %error,
                "a request to /slack/events was rejected; is slack.signing_secret right?"
            );
        }
    }

    /// Calls a method with the bot's token. If Slack refuses the token, nothing was done, and the call fails as one to
    /// retry.
    async fn call(
        &self,
        method: &str,
        arguments: &[(&str, String)],
    ) -> Result<Value, SlackApiError> {
        let answer = loop {
            let token = self.settings.bot_token.read();
            let answer = self.api.call(&token, method, arguments).await;
            let is_refused = answer.as_ref().is_err_and(SlackApiError::is_token_invalid);
            // The refusal of a token that was replaced during the call says nothing about its successor.
            let was_replaced = !Arc::ptr_eq(&token, &self.settings.bot_token.read());
            if !(is_refused && was_replaced) {
                break answer;
            }
        };
        match &answer {
            Err(error @ SlackApiError::Refused(code)) if error.is_token_invalid() => {
                self.bot_access.refuse(code);
                return Err(SlackApiError::Unreachable(error.to_string()));
            }
            // Slack refuses a call for any other reason only after it has accepted the token.
            Ok(_) | Err(SlackApiError::Refused(_)) => self.confirm_bot_access(),
            Err(SlackApiError::Malformed(_)) => {
                self.incidents.record_malformed(MalformedInput::Response, method);
            }
            Err(
                SlackApiError::RateLimited(_)
                | SlackApiError::Unreachable(_)
                | SlackApiError::OutcomeUnknown(_),
            ) => {}
        }
        answer
    }

    /// Calls a read-only method until Slack answers or refuses. Honors `Retry-After`; other failures are
    /// retried with exponential backoff, at most seven times.
    async fn read_with_retries(
        &self,
        method: &str,
        arguments: &[(&str, String)],
    ) -> Result<Value, SlackApiError> {
        const MAX_FAILURES: u32 = 8;
        let mut retries = Retries::new(&self.clock, method, MAX_FAILURES);
        loop {
            if let Some(answer) = retries.settle(self.call(method, arguments).await).await {
                return answer;
            }
        }
    }

    /// Reads all pages of a list.
    async fn read_all_pages(
        &self,
        method: &str,
        arguments: &[(&str, String)],
        list: &str,
    ) -> Result<Vec<Value>, SlackApiError> {
        let mut found = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut arguments = arguments.to_vec();
            arguments.extend(cursor.clone().map(|cursor| ("cursor", cursor)));
            let page = self.read_with_retries(method, &arguments).await?;
            found.extend(self.checked(method, page_items(&page, list))?.iter().cloned());
            cursor = self.checked(method, cursor_after(&page, cursor.as_ref()))?;
            if cursor.is_none() {
                return Ok(found);
            }
        }
    }

    /// Records an incident if the response to a method could not be read.
    fn checked<T>(&self, method: &str, read: Result<T, SlackApiError>) -> Result<T, SlackApiError> {
        read.inspect_err(|_| self.incidents.record_malformed(MalformedInput::Response, method))
    }

    /// Backfills all channels after a delay, because events may have been lost.
    fn backfill_all_later(&self) {
        self.cache.joined().iter().for_each(|channel| self.backfill_later(channel));
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the time by which rate limits are kept. It cannot be set back, after which calls would wait for as long.
    fn steady_now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + self.clock.elapsed()
    }

    /// Sleeps until [`Self::steady_now`] reaches this time.
    async fn sleep_until_steady(&self, at: Timestamp) {
        let wait = at.duration_since(self.steady_now());
        self.clock.sleep_until(self.now() + wait).await;
    }
}
