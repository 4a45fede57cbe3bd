//! Discord: a bot that lives on servers (each a workspace of its own) and in direct messages. It is heard
//! over the gateway, caught up on by its channels' histories, and spoken to through the REST API.

pub mod api;
mod buckets;
mod command;
pub mod examine;
pub mod from_discord;
mod gateway;
mod history;
mod identify;
pub mod invite;
pub mod message;
pub mod permissions;
mod post;
mod reach;
mod react;
mod rooms;
mod roster;
mod session;
mod shards;
mod sync;
mod take;
pub mod text;
mod threads;

use std::collections::HashMap;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context as _;
use futures_util::future::join4;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use twilight_model::id::Id;
use twilight_model::id::marker::{ApplicationMarker, GuildMarker};
use twilight_model::oauth::ApplicationFlags;

use crate::api::{Api, ApiError, Call};
use crate::roster::Roster;
use crate::session::Mark;
use crate::shards::Shards;
use aizuchi_core::chat::{
    AuthorKind, Bookmark, ChannelId, ConversationId, Heard, Role, User, UserId, WorkspaceId,
    one_line,
};
use aizuchi_core::clock::Clock;
use aizuchi_core::hear::Ears;
use aizuchi_core::persona::Persona;
use aizuchi_core::platform::Surroundings;
use aizuchi_core::platform::air::Air;
use aizuchi_core::platform::dismissal::Dismissal;
use aizuchi_core::platform::slash::Slash;
use aizuchi_core::platform::wanted::Wanted;
use aizuchi_core::store::{Archive, Order, StoreError};

/// All of Discord: the platform of every workspace whose name begins with this and a colon. What is known
/// of an installation before Discord was asked is kept here, too.
const ALL: &str = "discord";

/// How often Discord is asked at the start who we are, and what is between.
const TRIES_TO_START: usize = 3;
const PAUSE_AT_START: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub struct Settings {
    pub token: SecretString,
    /// Without a slash at the end.
    pub api_base: String,
    /// Where the gateway is, if Discord shall not be asked.
    pub gateway_url: Option<String>,
    /// How many connections share the servers, if Discord shall not be asked.
    pub shards: Option<u32>,
    pub threads: ThreadRules,
    /// How long after a dispatch a post is surely not on its way any more.
    pub settle: SignedDuration,
    /// How far back a channel is read that was not heard before.
    pub history: SignedDuration,
    /// How often channels and names are read anew.
    pub sync_every: SignedDuration,
    /// Whose clock the persona reads.
    pub zone: TimeZone,
    pub patience: Patience,
}

/// Whether a mention at a channel's top level opens a thread, in which the talk goes on.
#[derive(Clone, Debug, Default)]
pub struct ThreadRules {
    pub usual: Threads,
    /// What is different in channels, by `#name` or id.
    pub channels: HashMap<String, Threads>,
    /// After so many minutes of silence such a thread is put away. If nothing is said, as the channel has it.
    pub archive_minutes: Option<u16>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// A mention opens one.
    Auto,
    /// A mention is answered where it stood.
    #[default]
    Never,
}

/// How long a connection may take for what it does.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// A call of the REST API. Below what the agent gives a post.
    pub calling: Duration,
    /// Opening the gateway; then its hello; then, once we have introduced ourselves, the session.
    pub opening: Duration,
    /// What a command orders; after that, whoever gave it sees that it is being done. Discord waits for three
    /// seconds in all.
    pub obeying: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            calling: Duration::from_secs(12),
            opening: Duration::from_secs(20),
            obeying: Duration::from_millis(1500),
        }
    }
}

/// Who we are on Discord.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    pub application: Id<ApplicationMarker>,
    /// The bot's user.
    pub user: UserId,
    /// The bot's name.
    pub name: String,
    /// Whether the application may read what people write.
    pub reads_content: bool,
    /// The servers that it is on.
    pub guilds: Vec<Guild>,
}

/// A server, as Discord lists those that we are on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guild {
    pub id: Id<GuildMarker>,
    pub name: String,
}

pub struct Discord {
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
    shards: Shards,
    pub air: Air,
    dismissed: Dismissal,
    /// How far rooms have been read.
    marks: Mutex<HashMap<ChannelId, Mark>>,
    /// Held while a place is met for the first time.
    meeting: tokio::sync::Mutex<()>,
    /// All lists are to be read.
    wants_lists: Notify,
    /// Commands that wait for an answer.
    interactions: mpsc::UnboundedSender<Value>,
    commands: tokio::sync::Mutex<mpsc::UnboundedReceiver<Value>>,
    /// When the log was told last that messages come without their text.
    doubted_ms: AtomicI64,
}

/// Why Discord cannot be joined.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    #[error(
        "Discord refuses discord.token; see the page Bot of the application, at \
         https://discord.com/developers/applications"
    )]
    Token,
    #[error(
        "Discord does not let the bot read messages; switch on \"Message Content Intent\" on the page Bot of \
         the application, at https://discord.com/developers/applications"
    )]
    Intents,
    #[error(
        "Discord wants the bot's servers to be shared out differently; leave discord.shards out, so that \
         Discord is asked"
    )]
    Shards,
    #[error(
        "Discord does not understand us any more (it says {0}); this program is too old for it"
    )]
    Outdated(u16),
    #[error("Discord has dismissed the bot: {0}")]
    Dismissed(&'static str),
    #[error("Discord could not be asked who we are: {0}")]
    Unasked(ApiError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0:#}")]
    Other(#[from] anyhow::Error),
}

impl JoinError {
    /// Why it could not be asked.
    fn of(error: ApiError) -> Self {
        if error.is_about_the_token() { Self::Token } else { Self::Unasked(error) }
    }
}

/// The platform of all workspaces of Discord.
pub fn everywhere() -> WorkspaceId {
    WorkspaceId::new(ALL)
}

/// A server is a workspace.
pub fn workspace(guild: Id<GuildMarker>) -> WorkspaceId {
    WorkspaceId::new(format!("{ALL}:{guild}"))
}

/// All direct messages are one workspace. Each is a private channel of it, so nothing goes from one to
/// another; and nothing goes to or from a server, since nobody says that both are of it.
pub fn direct() -> WorkspaceId {
    WorkspaceId::new(format!("{ALL}:direct"))
}

/// Asks Discord whose token this is, and where it is.
pub async fn ask_who(settings: &Settings) -> Result<Who, JoinError> {
    let api = Api::new(settings, Clock::system())?;
    let ask = async |path: &str| match api.call(&Call::get(path)).await {
        Ok(answer) => Ok(answer),
        Err(error) if error.is_about_the_token() => Err(JoinError::Token),
        Err(error) => Err(JoinError::Unasked(error)),
    };
    let mut me = ask("/users/@me").await?;
    me["application"] = ask("/applications/@me").await?;
    me["guilds"] = Value::Array(Vec::new());
    let mut after = String::new();
    loop {
        let page = ask(&format!("/users/@me/guilds?limit=200{after}")).await?;
        let guilds = page.as_array().cloned().unwrap_or_default();
        after = guilds
            .last()
            .map(|last| format!("&after={}", last["id"].as_str().unwrap_or("")))
            .unwrap_or_default();
        let is_last = guilds.len() < 200;
        if let Value::Array(all) = &mut me["guilds"] {
            all.extend(guilds);
        }
        if is_last {
            break;
        }
    }
    who_of(me).ok_or(JoinError::Unasked(ApiError::Unknown("it does not say who we are".to_owned())))
}

/// Whose token this is. While Discord cannot be reached, what it said the last time holds.
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
            let known = archive.bookmarks(&everywhere()).await?;
            let place = place(settings);
            let known = known.iter().find(|bookmark| *bookmark.place == *place);
            let known = known.and_then(|known| serde_json::from_str(&known.value).ok());
            let who = known.and_then(who_of).ok_or(JoinError::Unasked(error.clone()))?;
            warn!("{error}; it goes on as who it was the last time");
            Ok(who)
        }
        told => told,
    }
}

/// What Discord says of us, as it is kept, too.
#[derive(Deserialize, serde::Serialize)]
struct Told {
    id: String,
    username: String,
    application: ToldApplication,
    guilds: Vec<ToldGuild>,
}

#[derive(Deserialize, serde::Serialize)]
struct ToldApplication {
    id: Id<ApplicationMarker>,
    #[serde(default)]
    flags: u64,
}

#[derive(Deserialize, serde::Serialize)]
struct ToldGuild {
    id: Id<GuildMarker>,
    name: String,
}

fn who_of(told: Value) -> Option<Who> {
    let told: Told = serde_json::from_value(told).ok()?;
    let flags = ApplicationFlags::from_bits_truncate(told.application.flags);
    let may_read = ApplicationFlags::GATEWAY_MESSAGE_CONTENT
        | ApplicationFlags::GATEWAY_MESSAGE_CONTENT_LIMITED;
    let guild = |guild: ToldGuild| Guild { id: guild.id, name: one_line(&guild.name) };
    Some(Who {
        application: told.application.id,
        user: UserId::new(told.id),
        name: one_line(&told.username),
        reads_content: flags.intersects(may_read),
        guilds: told.guilds.into_iter().map(guild).collect(),
    })
}

/// The same as Discord tells it.
fn told_of(who: &Who) -> Told {
    let flags = match who.reads_content {
        true => ApplicationFlags::GATEWAY_MESSAGE_CONTENT.bits(),
        false => 0,
    };
    let guilds = who.guilds.iter();
    Told {
        id: who.user.to_string(),
        username: who.name.clone(),
        application: ToldApplication { id: who.application, flags },
        guilds: guilds.map(|guild| ToldGuild { id: guild.id, name: guild.name.clone() }).collect(),
    }
}

/// Where it is noted who we are with a token. The token itself is noted nowhere.
fn place(settings: &Settings) -> String {
    let digest = Sha256::digest(settings.token.expose_secret());
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

impl Who {
    /// Every workspace that it lives in.
    pub fn workspaces(&self) -> Vec<WorkspaceId> {
        let guilds = self.guilds.iter().map(|guild| workspace(guild.id));
        guilds.chain([direct()]).collect()
    }
}

impl Discord {
    /// Remembers what was known before Discord is asked.
    pub async fn new(
        settings: Settings,
        who: Who,
        surroundings: Surroundings,
    ) -> anyhow::Result<Self> {
        let Surroundings { persona, ears, archive, answers } = surroundings;
        let slash = Slash { ears: ears.clone(), answers };
        let clock = ears.clock.clone();
        let (roster, mut marks) = (Roster::default(), HashMap::new());
        for workspace in who.workspaces() {
            roster.recall(archive.users(&workspace).await?, archive.channels(&workspace).await?);
            let known = archive.bookmarks(&workspace).await?;
            let known = known.iter().filter_map(|bookmark| {
                Some((ChannelId::new(&*bookmark.place), Mark::read(&bookmark.value)?))
            });
            marks.extend(known);
        }
        let (interactions, commands) = mpsc::unbounded_channel();
        Ok(Self {
            api: Api::new(&settings, clock.clone())?,
            settings,
            who,
            persona,
            slash,
            archive,
            clock,
            ears,
            roster,
            wanted: Wanted::default(),
            shards: Shards::default(),
            air: Air::default(),
            dismissed: Dismissal::default(),
            marks: Mutex::new(marks),
            meeting: tokio::sync::Mutex::default(),
            wants_lists: Notify::new(),
            interactions,
            commands: tokio::sync::Mutex::new(commands),
            doubted_ms: AtomicI64::new(0),
        })
    }

    /// The next command, button or the like that somebody uses.
    pub async fn next_command(&self) -> Option<Value> {
        self.commands.lock().await.recv().await
    }

    pub fn who(&self) -> &Who {
        &self.who
    }

    /// Lives on Discord until `shutdown`. Ends before only if it may not live there.
    pub async fn run(&self, shutdown: CancellationToken) -> anyhow::Result<()> {
        self.open().await.context("opening Discord")?;
        tokio::select! {
            // Ends after `shutdown`, when what was taken is kept; or before, where it may not be.
            listened = self.listen(&shutdown) => Ok(listened?),
            // Reading goes on for ever, and can be left at any point.
            _ = self.stay_in_touch() => Ok(()),
        }
    }

    async fn stay_in_touch(&self) {
        let reading = (self.stay_in_sync(), self.stay_caught_up(), self.stay_ready());
        join4(reading.0, reading.1, reading.2, self.obey()).await;
    }

    /// Makes sure that the persona is known everywhere, and that the next start knows who we are.
    async fn open(&self) -> Result<(), StoreError> {
        for workspace in self.who.workspaces() {
            self.enter(workspace).await?;
        }
        let who = serde_json::to_string(&told_of(&self.who)).unwrap_or_default();
        let bookmark = Bookmark {
            workspace: everywhere(),
            place: place(&self.settings).into(),
            value: who.into(),
        };
        self.ears.hear(Heard::Bookmark(bookmark)).await?;
        info!("on Discord as {}, on {} servers", self.who.name, self.who.guilds.len());
        Ok(())
    }

    /// The persona is somebody in a workspace, and whoever opted out is so there, too.
    async fn enter(&self, workspace: WorkspaceId) -> Result<(), StoreError> {
        for user in self.ears.rooms.rulebook().opted_out.clone() {
            // Who was put on the list since the last start may have said something before.
            let workspace = workspace.clone();
            self.ears.order(Order::Withhold { workspace, user }).await?;
        }
        let persona = User {
            workspace,
            id: self.who.user.clone(),
            name: self.persona.name.as_str().into(),
            kind: AuthorKind::Persona,
            role: Role::Member,
        };
        self.ears.hear(Heard::User(persona)).await.map(|_| ())
    }

    /// Calls the REST API. A token that is worth nothing ends it all.
    async fn call(&self, call: &Call) -> Result<Value, ApiError> {
        let answered = self.api.call(call).await;
        if let Err(error) = &answered
            && error.is_about_the_token()
        {
            self.dismissed.now("the bot's token is worth nothing any more");
        }
        answered
    }

    /// Reads what is at a path, until Discord answers or says no. Its waits are kept.
    async fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiError> {
        const TRIES: u32 = 8;
        let mut tried = 0;
        loop {
            tried += 1;
            let answered = self.call(&Call::get(path)).await;
            let wait = match answered {
                Ok(answer) => {
                    return serde_json::from_value(answer).map_err(|_| {
                        ApiError::Unknown("its answer is not what it should be".to_owned())
                    });
                }
                Err(error @ ApiError::Refused(_)) => return Err(error),
                Err(ApiError::Limited(wait)) => wait,
                Err(error @ (ApiError::Unreachable(_) | ApiError::Unknown(_)))
                    if tried == TRIES =>
                {
                    return Err(error);
                }
                Err(ApiError::Unreachable(_) | ApiError::Unknown(_)) => {
                    SignedDuration::from_secs(1 << tried.min(5))
                }
            };
            if wait > SignedDuration::from_secs(10) {
                info!("Discord wants us to wait for {wait:#}");
            }
            self.clock.sleep_until(self.clock.now() + wait).await;
        }
    }

    async fn channel_name(&self, place: &ConversationId) -> Option<Arc<str>> {
        let channels = self.archive.channels(&place.workspace).await.unwrap_or_default();
        let channel = channels.into_iter().find(|channel| channel.id == place.channel);
        channel.map(|channel| channel.name)
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
