//! A Slack workspace: it is heard over Socket Mode (or Slack's web hooks), caught up on by its history, and
//! spoken to through the Web API. Nothing is acknowledged before it is kept.

pub mod api;
mod command;
pub mod emoji;
pub mod examine;
pub mod from_slack;
mod history;
mod lookup;
pub mod manifest;
pub mod mrkdwn;
mod post;
mod roster;
pub mod signature;
mod socket;
mod sync;
mod take;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use futures_util::future::{join4, try_join_all};
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::api::{Api, ApiError};
use crate::command::Commands;
use crate::history::cap::Cap;
use crate::history::{CAPPED, CAPPED_YES};
use crate::lookup::Lookups;
use crate::post::Pace;
use crate::roster::Roster;
use crate::signature::Forged;
use aizuchi_core::chat::{AuthorKind, Bookmark, ChannelId, Heard, Role, User, UserId, WorkspaceId};
use aizuchi_core::clock::Clock;
use aizuchi_core::hear::Ears;
use aizuchi_core::persona::Persona;
use aizuchi_core::platform::Surroundings;
use aizuchi_core::platform::air::Air;
use aizuchi_core::platform::slash::Slash;
use aizuchi_core::platform::wanted::Wanted;
use aizuchi_core::store::{Archive, Order, StoreError};

/// Where what is known of an installation before Slack was asked is kept.
const INSTALLATIONS: &str = "slack";

/// How often Slack is asked at the start who we are, and what is between.
const TRIES_TO_START: usize = 3;
const PAUSE_AT_START: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub struct Settings {
    pub bot_token: SecretString,
    /// How events come.
    pub events: Events,
    pub api_base: String,
    pub reply_in: ReplyIn,
    /// How long after a dispatch a post is surely not on its way any more.
    pub settle: SignedDuration,
    /// How far back a channel is read that was not heard before.
    pub history: SignedDuration,
    /// How often channels, members and names are read anew.
    pub sync_every: SignedDuration,
    pub patience: Patience,
}

/// How long a connection may take for what it does.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// A call of the Web API. Below what the agent gives a post.
    pub calling: Duration,
    /// Whoever gives a slash command waits so long for its answer. Slack gives it up after three seconds.
    pub obeying: Duration,
    /// Opening a socket, and then Slack's hello.
    pub opening: Duration,
    /// How often we ask whether the other side is there.
    pub ping: Duration,
    /// How long it may say nothing at all.
    pub silence: Duration,
    /// Between two pages of history, where Slack gives little of it.
    pub capped_page: SignedDuration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            calling: Duration::from_secs(12),
            obeying: Duration::from_millis(1_500),
            opening: Duration::from_secs(10),
            ping: Duration::from_secs(10),
            silence: Duration::from_secs(35),
            capped_page: SignedDuration::from_secs(60),
        }
    }
}

/// How Slack's events come.
#[derive(Clone, Debug)]
pub enum Events {
    /// Over so many WebSockets that we open.
    Socket { app_token: SecretString, connections: usize },
    /// Slack calls us, and signs with this.
    Hooks { signing_secret: SecretString },
}

/// Where an answer to a line at a channel's top level goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplyIn {
    /// To the top level.
    #[default]
    Same,
    /// Into a thread below the line.
    Thread,
}

/// Who we are in the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    pub workspace: WorkspaceId,
    /// The workspace's name.
    pub name: String,
    /// The bot's user.
    pub user: UserId,
    /// Whether the token lets it find its own posts again by their keys.
    pub finds_keys: bool,
}

pub struct Slack {
    api: Api,
    settings: Settings,
    who: Who,
    persona: Arc<Persona>,
    ears: Arc<Ears>,
    slash: Slash,
    archive: Arc<dyn Archive>,
    clock: Clock,
    roster: Roster,
    wanted: Wanted,
    pace: Pace,
    lookups: Lookups,
    commands: Commands,
    cap: Cap,
    pub air: Air,
    /// Held while a room is met for the first time. When it was last asked about in vain.
    meeting: tokio::sync::Mutex<HashMap<ChannelId, Timestamp>>,
    /// All lists have been read once, or could not be.
    is_in_sync: AtomicBool,
    /// When the log was told last that a request was not believed.
    doubted_ms: AtomicI64,
}

/// Why Slack cannot be joined.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    #[error(
        "Slack refuses slack.bot_token ({0}); see \"OAuth & Permissions\" in the app's settings"
    )]
    Token(String),
    #[error("Slack refuses slack.app_token ({0}); see \"Basic Information\" in the app's settings")]
    AppToken(String),
    #[error(
        "Socket Mode is switched off for the Slack app; switch it on in the app's settings, or use \
         slack.signing_secret"
    )]
    SwitchedOff,
    #[error("the Slack workspace has dismissed the app: {0}")]
    Dismissed(&'static str),
    #[error("Slack could not be asked who we are: {0}")]
    Unasked(ApiError),
    #[error("Slack does not say who we are")]
    Nobody,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0:#}")]
    Other(#[from] anyhow::Error),
}

/// Asks Slack whose token this is.
pub async fn ask_who(settings: &Settings) -> Result<Who, JoinError> {
    let api = Api::new(&settings.api_base, settings.patience.calling)?;
    match api.ask(&settings.bot_token, "auth.test", &[]).await {
        Ok(answer) => {
            let scopes = answer.scopes.as_deref();
            let missing = scopes.map(manifest::missing).unwrap_or_default();
            for scope in &missing {
                warn!(
                    "the Slack app lacks the scope {}, which it needs to {}",
                    scope.name, scope.reason
                );
            }
            let finds_keys = !missing.iter().any(|scope| scope.name == manifest::KEYS);
            let who = who_of(&answer.body).ok_or(JoinError::Nobody)?;
            Ok(Who { finds_keys, ..who })
        }
        Err(ApiError::Refused(code)) => Err(JoinError::Token(code)),
        Err(error) => Err(JoinError::Unasked(error)),
    }
}

/// Whose token this is. While Slack cannot be reached, what it said the last time holds.
pub async fn who(settings: &Settings, archive: &dyn Archive) -> Result<Who, JoinError> {
    let mut told = ask_who(settings).await;
    for _ in 1..TRIES_TO_START {
        let Err(JoinError::Unasked(error)) = &told else { break };
        warn!("{error}; it is asked again");
        tokio::time::sleep(PAUSE_AT_START).await;
        told = ask_who(settings).await;
    }
    match told {
        Err(JoinError::Unasked(error)) => {
            let known = archive.bookmarks(&WorkspaceId::new(INSTALLATIONS)).await?;
            let place = place(settings);
            let known = known.iter().find(|bookmark| *bookmark.place == *place);
            let known = known.and_then(|known| serde_json::from_str(&known.value).ok());
            let who = known.as_ref().and_then(who_of).ok_or(JoinError::Unasked(error.clone()))?;
            warn!("{error}; it goes on as who it was the last time");
            Ok(who)
        }
        told => told,
    }
}

fn who_of(answer: &Value) -> Option<Who> {
    let text = |key: &str| from_slack::text(&answer[key]);
    Some(Who {
        workspace: WorkspaceId::new(text("team_id")?),
        name: aizuchi_core::chat::one_line(text("team").unwrap_or("Slack")),
        user: UserId::new(text("user_id")?),
        finds_keys: answer["finds_keys"] != false,
    })
}

/// Where it is noted who we are with a token. The token itself is noted nowhere.
fn place(settings: &Settings) -> String {
    use secrecy::ExposeSecret as _;
    let digest = Sha256::digest(settings.bot_token.expose_secret());
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

impl Slack {
    /// Remembers what was known of the workspace before Slack is asked.
    pub async fn new(
        settings: Settings,
        who: Who,
        surroundings: Surroundings,
    ) -> anyhow::Result<Self> {
        let Surroundings { persona, ears, archive, answers } = surroundings;
        let slash = Slash { ears: ears.clone(), answers };
        let roster = Roster::default();
        roster
            .recall(archive.users(&who.workspace).await?, archive.channels(&who.workspace).await?);
        let cap = Cap::new(settings.patience.capped_page);
        let bookmarks = archive.bookmarks(&who.workspace).await?;
        let is_capped = |it: &Bookmark| *it.place == *CAPPED && *it.value == *CAPPED_YES;
        if bookmarks.iter().any(is_capped) {
            cap.put(ears.clock.now());
        }
        let clock = ears.clock.clone();
        let air = match settings.events {
            Events::Socket { .. } => Air::default(),
            Events::Hooks { .. } => Air::always(clock.now()),
        };
        Ok(Self {
            api: Api::new(&settings.api_base, settings.patience.calling)?,
            settings,
            who,
            persona,
            slash,
            archive,
            clock,
            roster,
            wanted: Wanted::default(),
            pace: Pace::default(),
            lookups: Lookups::default(),
            commands: Commands::default(),
            cap,
            air,
            ears,
            meeting: tokio::sync::Mutex::default(),
            is_in_sync: AtomicBool::new(false),
            doubted_ms: AtomicI64::new(0),
        })
    }

    pub fn who(&self) -> &Who {
        &self.who
    }

    /// What signs Slack's web hooks, if they are used.
    pub fn signing_secret(&self) -> Option<&SecretString> {
        match &self.settings.events {
            Events::Hooks { signing_secret } => Some(signing_secret),
            Events::Socket { .. } => None,
        }
    }

    /// Lives in the workspace until `shutdown`. Ends before only if it may not live there.
    pub async fn run(&self, shutdown: CancellationToken) -> anyhow::Result<()> {
        self.open().await.context("opening the Slack workspace")?;
        tokio::select! {
            // Ends after `shutdown`, when what was taken is acknowledged; or before, where it may not be.
            listened = self.listen(&shutdown) => Ok(listened?),
            // Reading goes on for ever, and can be left at any point.
            _ = join4(
                self.stay_in_sync(),
                self.stay_caught_up(),
                self.stay_ready(),
                self.obey_all(),
            ) => Ok(()),
        }
    }

    async fn listen(&self, shutdown: &CancellationToken) -> Result<(), JoinError> {
        let listening = async {
            match &self.settings.events {
                Events::Socket { app_token, connections } => {
                    let slots = 0..*connections;
                    let slots = slots.map(|place| self.stay_connected(app_token, place, shutdown));
                    try_join_all(slots).await.map(|_| ())
                }
                Events::Hooks { .. } => {
                    shutdown.cancelled().await;
                    Ok(())
                }
            }
        };
        tokio::select! {
            ended = listening => ended,
            why = self.roster.dismissed.reason() => Err(JoinError::Dismissed(why)),
        }
    }

    /// Makes sure that the persona is known, and that the next start knows who we are.
    async fn open(&self) -> Result<(), StoreError> {
        let workspace = &self.who.workspace;
        for user in self.ears.rooms.rulebook().opted_out.clone() {
            // Who was put on the list since the last start may have said something before.
            let workspace = workspace.clone();
            self.ears.order(Order::Withhold { workspace, user }).await?;
        }
        let persona = User {
            workspace: workspace.clone(),
            id: self.who.user.clone(),
            name: self.persona.name.as_str().into(),
            kind: AuthorKind::Persona,
            role: Role::Member,
        };
        self.ears.hear(Heard::User(persona)).await?;
        let who = json!({
            "team_id": workspace, "team": self.who.name, "user_id": self.who.user,
            "finds_keys": self.who.finds_keys,
        });
        let bookmark = Bookmark {
            workspace: WorkspaceId::new(INSTALLATIONS),
            place: place(&self.settings).into(),
            value: who.to_string().into(),
        };
        self.ears.hear(Heard::Bookmark(bookmark)).await?;
        info!("in the Slack workspace {}", self.who.name);
        Ok(())
    }

    /// Somebody calls as Slack and is not. The log hears of it once an hour, since nobody should fill it.
    pub fn is_not_believed(&self, forged: Forged) {
        const HOUR_MS: i64 = 3_600_000;
        let now = self.now().as_millisecond();
        if now - self.doubted_ms.load(Ordering::Relaxed) > HOUR_MS {
            self.doubted_ms.store(now, Ordering::Relaxed);
            warn!(
                "a request to /slack/events is not believed ({forged}); is slack.signing_secret right?"
            );
        }
    }

    /// Calls a method with the bot's token. One that is worth nothing ends it all.
    async fn call(&self, method: &str, arguments: &[(&str, String)]) -> Result<Value, ApiError> {
        let answered = self.api.call(&self.settings.bot_token, method, arguments).await;
        if let Err(error) = &answered
            && error.is_about_the_token()
        {
            self.roster.dismissed.now("the bot's token is worth nothing any more");
        }
        answered
    }

    /// Calls a method that only reads, until it answers or says no. Slack's waits are kept.
    async fn read(&self, method: &str, arguments: &[(&str, String)]) -> Result<Value, ApiError> {
        const TRIES: u32 = 8;
        let mut tried = 0;
        loop {
            tried += 1;
            let answered = self.call(method, arguments).await;
            let wait = match &answered {
                Ok(_) | Err(ApiError::Refused(_)) => return answered,
                Err(ApiError::Limited(wait)) => *wait,
                Err(ApiError::Unreachable(_) | ApiError::Unknown(_)) if tried == TRIES => {
                    return answered;
                }
                Err(ApiError::Unreachable(_) | ApiError::Unknown(_)) => {
                    SignedDuration::from_secs(1 << tried.min(5))
                }
            };
            if wait > SignedDuration::from_secs(10) {
                info!("Slack wants {method} to wait for {wait:#}");
            }
            self.clock.sleep_until(self.clock.now() + wait).await;
        }
    }

    /// All of a list that comes in pages.
    async fn pages(
        &self,
        method: &str,
        arguments: &[(&str, String)],
        list: &str,
    ) -> Result<Vec<Value>, ApiError> {
        let mut found = Vec::new();
        let mut cursor = None;
        loop {
            let mut arguments = arguments.to_vec();
            arguments.extend(cursor.take().map(|cursor: String| ("cursor", cursor)));
            let mut page = self.read(method, &arguments).await?;
            if let Value::Array(items) = page[list].take() {
                found.extend(items);
            }
            cursor = next_cursor(&page);
            if cursor.is_none() {
                return Ok(found);
            }
        }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

fn next_cursor(page: &Value) -> Option<String> {
    from_slack::text(&page["response_metadata"]["next_cursor"]).map(str::to_owned)
}
