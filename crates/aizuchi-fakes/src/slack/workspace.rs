//! One workspace: its users, channels and messages, and the events about their changes.

use std::collections::BTreeMap;

use aizuchi_model::clock::Clock;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::slack::FakeSlackSettings;
use crate::slack::api_error::{ApiResult, api_error};
use crate::slack::channel::{ChannelKind, FakeChannel};
use crate::slack::message::FakeMessage;
use crate::slack::ts::Ts;
use crate::slack::user::{Bot, FakeUser, merge_fields};

pub struct Workspace {
    pub id: String,
    pub name: String,
    /// The subdomain of the workspace's URL.
    pub domain: String,
    /// The id of the app's own user.
    pub bot_user: String,
    pub bot: Bot,
    pub users: BTreeMap<String, FakeUser>,
    pub channels: BTreeMap<String, FakeChannel>,
    /// Messages that only one user sees.
    pub ephemeral: Vec<EphemeralMessage>,
    pub usergroups: Vec<Value>,
    /// The events that have not been sent to the app yet, oldest first.
    pub pending_events: Vec<Value>,
    /// Whether the app may read the metadata of messages.
    shows_metadata: bool,
    clock: Clock,
    /// The offset of the workspace's time from the clock.
    clock_offset: SignedDuration,
    last_ts: Ts,
    last_id: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EphemeralMessage {
    pub channel: String,
    pub user: String,
    pub thread: Option<Ts>,
    pub ts: Ts,
    pub text: String,
}

impl Workspace {
    /// Creates a workspace whose only user is the bot.
    pub fn new(settings: &FakeSlackSettings) -> Self {
        let FakeSlackSettings { team, bot: bot_name, clock, scopes, .. } = settings;
        let bot = Bot { id: "B0DEV00001".to_owned(), app_id: "A0DEV00001".to_owned() };
        let mut workspace = Self {
            id: "T0DEV00001".to_owned(),
            name: team.clone(),
            domain: "dev-team".to_owned(),
            bot_user: String::new(),
            bot: bot.clone(),
            users: BTreeMap::new(),
            channels: BTreeMap::new(),
            ephemeral: Vec::new(),
            usergroups: Vec::new(),
            pending_events: Vec::new(),
            shows_metadata: scopes.iter().any(|scope| scope == "metadata.message:read"),
            clock: clock.clone(),
            clock_offset: SignedDuration::ZERO,
            last_ts: Ts::default(),
            last_id: 0,
        };
        workspace.bot_user = workspace.new_id('U');
        let user = FakeUser {
            id: workspace.bot_user.clone(),
            name: bot_name.to_lowercase(),
            real_name: bot_name.clone(),
            display_name: String::new(),
            bot: Some(bot),
            is_admin: false,
            is_deleted: false,
            updated: workspace.unix_seconds(),
        };
        workspace.users.insert(user.id.clone(), user);
        workspace
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now().checked_add(self.clock_offset).unwrap_or_else(|_| self.clock.now())
    }

    /// Sets the workspace's time, which continues from this moment.
    pub fn set_time(&mut self, now: Timestamp) {
        self.clock_offset = now.duration_since(self.clock.now());
        self.last_ts = Ts::default();
    }

    pub fn unix_seconds(&self) -> u64 {
        Ts::from_timestamp(self.now()).unix_seconds()
    }

    /// Shows a message to one user only.
    pub fn post_ephemeral(&mut self, channel: &str, user: &str, text: &str) {
        let ts = self.new_ts();
        let (channel, user, text) = (channel.to_owned(), user.to_owned(), text.to_owned());
        self.ephemeral.push(EphemeralMessage { channel, user, thread: None, ts, text });
    }

    /// Returns the current time, made unique.
    pub fn new_ts(&mut self) -> Ts {
        self.last_ts = Ts::from_timestamp(self.now()).max(self.last_ts.next());
        self.last_ts
    }

    /// Returns a sequential id. Ids of users, channels and bots are therefore the same at each start.
    pub fn new_id(&mut self, prefix: char) -> String {
        self.last_id += 1;
        format!("{prefix}0DEV{:05}", self.last_id)
    }

    pub fn user(&self, id: &str) -> ApiResult<&FakeUser> {
        self.users.get(id).ok_or_else(|| api_error("user_not_found"))
    }

    pub fn user_mut(&mut self, id: &str) -> ApiResult<&mut FakeUser> {
        self.users.get_mut(id).ok_or_else(|| api_error("user_not_found"))
    }

    pub fn channel(&self, id: &str) -> ApiResult<&FakeChannel> {
        self.channels.get(id).ok_or_else(|| api_error("channel_not_found"))
    }

    pub fn channel_mut(&mut self, id: &str) -> ApiResult<&mut FakeChannel> {
        self.channels.get_mut(id).ok_or_else(|| api_error("channel_not_found"))
    }

    pub fn message(&self, channel: &str, ts: Ts) -> ApiResult<&FakeMessage> {
        self.channel(channel)?.messages.get(&ts).ok_or_else(|| api_error("message_not_found"))
    }

    pub fn message_mut(&mut self, channel: &str, ts: Ts) -> ApiResult<&mut FakeMessage> {
        let messages = &mut self.channel_mut(channel)?.messages;
        messages.get_mut(&ts).ok_or_else(|| api_error("message_not_found"))
    }

    /// Returns a channel that the app may see.
    pub fn visible_channel(&self, id: &str) -> ApiResult<&FakeChannel> {
        let channel = self.channel(id)?;
        let is_visible =
            channel.kind == ChannelKind::Public || channel.members.contains(&self.bot_user);
        is_visible.then_some(channel).ok_or_else(|| api_error("channel_not_found"))
    }

    pub fn joined_channel(&self, id: &str) -> ApiResult<&FakeChannel> {
        let channel = self.visible_channel(id)?;
        let is_member = channel.members.contains(&self.bot_user);
        is_member.then_some(channel).ok_or_else(|| api_error("not_in_channel"))
    }

    pub fn channel_json(&self, channel: &FakeChannel) -> Value {
        channel.to_json(&self.id, &self.bot_user)
    }

    pub fn user_json(&self, user: &FakeUser) -> Value {
        user.to_json(&self.id)
    }

    /// Returns a message as history and events show it.
    pub fn message_json(&self, channel: &FakeChannel, message: &FakeMessage) -> Value {
        let mut object = message.to_json();
        if let Some(fields) = object.as_object_mut().filter(|_| !self.shows_metadata) {
            fields.remove("metadata");
        }
        if message.user.is_some() {
            object["team"] = json!(self.id);
        }
        if let Some(profile) = self.bot_profile(message) {
            object["bot_profile"] = profile;
        }
        if let Some(thread) = channel.thread_json(message.ts) {
            merge_fields(&mut object, thread);
        }
        if let Some(parent) = message.thread.filter(|thread| *thread != message.ts) {
            let parent = channel.messages.get(&parent).and_then(|parent| parent.user.as_ref());
            object["parent_user_id"] = json!(parent);
        }
        object
    }

    fn bot_profile(&self, message: &FakeMessage) -> Option<Value> {
        let user = self.users.get(message.user.as_ref()?)?;
        let bot = user.bot.as_ref()?;
        let icon = |size: &str| format!("https://a.slack-edge.com/dev/bot_{size}.png");
        Some(json!({
            "id": bot.id,
            "app_id": bot.app_id,
            "user_id": user.id,
            "name": user.real_name,
            "icons": { "image_36": icon("36"), "image_48": icon("48"), "image_72": icon("72") },
            "deleted": user.is_deleted,
            "updated": user.updated,
            "team_id": self.id,
        }))
    }

    /// Emits an event about a channel, if the app is a member.
    pub fn emit_in_channel(&mut self, channel: &str, event: Value) {
        let channel = self.channels.get(channel);
        if channel.is_some_and(|channel| channel.members.contains(&self.bot_user)) {
            self.emit_event(event);
        }
    }

    pub fn emit_event(&mut self, mut event: Value) {
        if event.get("event_ts").is_none() {
            event["event_ts"] = json!(self.new_ts());
        }
        self.pending_events.push(event);
    }
}

/// Returns an id that is unique across workspaces, starts and tests.
pub fn unique_id(prefix: &str) -> String {
    let random = Uuid::now_v7().simple().to_string().to_uppercase();
    format!("{prefix}{}", &random[12..])
}
