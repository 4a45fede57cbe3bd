//! The gateway protocol: handles heartbeats, IDENTIFY, RESUME and the app's other payloads.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};
use twilight_model::gateway::Intents;

use crate::discord::FakeDiscordSettings;
use crate::discord::guild::FakeGuild;
use crate::discord::id::UserId;
use crate::discord::journal::ReceivedPayload;
use crate::discord::session::{FakeSession, HeartbeatBehavior, SessionRefusal};
use crate::discord::state::{FakeDiscordState, TokenStatus};
use crate::discord::world::{privileged_intents, shard_for_guild};

/// The largest payload that an app may send.
const MAX_PAYLOAD_BYTES: usize = 4096;
const MAX_PAYLOADS_PER_MINUTE: usize = 120;
/// How long a disconnected session can be resumed.
const SESSION_TTL: SignedDuration = SignedDuration::from_mins(3);

#[derive(Deserialize)]
struct Identify {
    token: String,
    intents: u64,
    #[serde(default)]
    shard: Option<[u64; 2]>,
    /// Required, but unused.
    #[serde(rename = "properties")]
    _properties: Value,
}

#[derive(Deserialize)]
struct Resume {
    token: String,
    session_id: String,
    seq: u64,
}

#[derive(Deserialize)]
struct GatewayPayload {
    op: u64,
    #[serde(default)]
    d: Value,
}

impl FakeDiscordState {
    /// Handles a payload from the app. `resume_url` is where the app can resume its session.
    pub fn receive(
        &mut self,
        connection: u64,
        text: &str,
        settings: &FakeDiscordSettings,
        resume_url: &str,
    ) {
        let now = settings.clock.now();
        if text.len() > MAX_PAYLOAD_BYTES {
            return self.gateway.close(connection, 4002, "Error while decoding payload.");
        }
        if self.exceeds_send_rate(connection, now) {
            return self.gateway.close(connection, 4008, "Rate limited.");
        }
        let Ok(GatewayPayload { op, d }) = serde_json::from_str::<GatewayPayload>(text) else {
            return self.gateway.close(connection, 4002, "Error while decoding payload.");
        };
        self.record_payload(connection, op, &d, now);
        let has_session = self.gateway.session_for(connection).is_some();
        match op {
            1 => self.heartbeat(connection),
            2 if has_session => self.gateway.close(connection, 4005, "Already authenticated."),
            2 => self.identify(connection, d, settings, resume_url),
            6 if has_session => self.gateway.close(connection, 4005, "Already authenticated."),
            6 => self.resume(connection, d, settings),
            3 | 4 | 8 | 31 if !has_session => {
                self.gateway.close(connection, 4003, "Not authenticated.");
            }
            // Presence, voice state and soundboard requests have no effect.
            3 | 4 | 31 => {}
            8 => self.send_member_chunk(connection, &d),
            _ => self.gateway.close(connection, 4001, "Unknown opcode."),
        }
    }

    fn exceeds_send_rate(&mut self, connection: u64, now: Timestamp) -> bool {
        let Some(connection) = self.gateway.connection(connection) else {
            return false;
        };
        let minute = SignedDuration::from_mins(1);
        connection.received_at.push_back(now);
        while connection.received_at.front().is_some_and(|at| now.duration_since(*at) > minute) {
            connection.received_at.pop_front();
        }
        connection.received_at.len() > MAX_PAYLOADS_PER_MINUTE
    }

    fn record_payload(&mut self, connection: u64, op: u64, data: &Value, at: Timestamp) {
        let mut data = data.clone();
        if let Some(fields) = data.as_object_mut() {
            fields.remove("token");
        }
        self.journal.payloads.push(ReceivedPayload { connection, op, data, at });
    }

    fn heartbeat(&mut self, connection: u64) {
        if self.gateway.heartbeat_behavior == HeartbeatBehavior::Acknowledged {
            self.gateway
                .send_payload(connection, json!({ "op": 11, "d": null, "s": null, "t": null }));
        }
    }

    fn identify(
        &mut self,
        connection: u64,
        data: Value,
        settings: &FakeDiscordSettings,
        resume_url: &str,
    ) {
        let Ok(identify) = serde_json::from_value::<Identify>(data) else {
            return self.gateway.close(connection, 4002, "Error while decoding payload.");
        };
        let now = settings.clock.now();
        if self.check_token(&identify.token) != TokenStatus::Valid {
            return self.gateway.close(connection, 4004, "Authentication failed.");
        }
        let Some(intents) = Intents::from_bits(identify.intents) else {
            return self.gateway.close(connection, 4013, "Invalid intent(s).");
        };
        if !(intents & privileged_intents())
            .difference(self.world.enabled_privileged_intents)
            .is_empty()
        {
            return self.gateway.close(connection, 4014, "Disallowed intent(s).");
        }
        let shard = identify.shard.unwrap_or([0, 1]);
        if shard[0] >= shard[1] {
            return self.gateway.close(connection, 4010, "Invalid shard.");
        }
        if shard[1] < settings.min_shards {
            return self.gateway.close(connection, 4011, "Sharding required.");
        }
        if self.apply_session_refusal(connection) {
            return;
        }
        self.gateway.session_start_quota.reset_if_due(now);
        if self.gateway.session_start_quota.remaining == 0 {
            return self.reset_token();
        }
        self.gateway.session_start_quota.remaining -= 1;
        let key = shard[0] % settings.max_concurrency.max(1);
        if self.has_identified_recently(key, now, settings.identify_interval) {
            return self.invalidate(connection, SessionRefusal::Invalid);
        }
        self.start_session(connection, intents, shard, resume_url);
    }

    /// Whether a rate limit key has identified within the interval. If not, records that it does now.
    fn has_identified_recently(
        &mut self,
        key: u64,
        now: Timestamp,
        interval: SignedDuration,
    ) -> bool {
        let last = self.gateway.identified_at.iter_mut().find(|(known, _)| *known == key);
        let Some((_, at)) = last else {
            self.gateway.identified_at.push((key, now));
            return false;
        };
        let is_too_soon = now.duration_since(*at) < interval;
        if !is_too_soon {
            *at = now;
        }
        is_too_soon
    }

    /// Discord resets the token of an app that starts more sessions than its quota, since the token may be stolen.
    fn reset_token(&mut self) {
        self.token_status = TokenStatus::Reset;
        let connections: Vec<u64> =
            self.gateway.connections.iter().map(|connection| connection.id).collect();
        for connection in connections {
            self.gateway.close(connection, 4004, "Authentication failed.");
        }
    }

    fn start_session(
        &mut self,
        connection: u64,
        intents: Intents,
        shard: [u64; 2],
        resume_url: &str,
    ) {
        let session = self.gateway.start_session(connection, intents, shard);
        let world = &self.world;
        let guilds: Vec<_> = (world.guilds.values())
            .filter(|guild| guild.members.contains_key(&world.bot_user))
            .filter(|guild| shard_for_guild(guild.id, shard[1]) == shard[0])
            .map(|guild| guild.id)
            .collect();
        let unavailable = guilds.iter().map(|id| json!({ "id": id, "unavailable": true }));
        let ready = json!({
            "v": 10,
            "user": world.bot_user_json(),
            "guilds": unavailable.collect::<Vec<_>>(),
            "session_id": self.gateway.sessions[session].id,
            "session_type": "normal",
            "resume_gateway_url": resume_url,
            "shard": shard,
            "application": { "id": world.application(), "flags": world.application_flags() },
            "private_channels": [],
            "relationships": [],
            "presences": [],
            "guild_join_requests": [],
            "geo_ordered_rtc_regions": [],
            "user_settings": {},
            "_trace": [],
        });
        self.gateway.dispatch(session, "READY", ready);
        if intents.contains(Intents::GUILDS) {
            for guild in guilds {
                let guild_create = self.world.guild_create_json(guild);
                self.gateway.dispatch(session, "GUILD_CREATE", guild_create);
            }
        }
    }

    fn resume(&mut self, connection: u64, data: Value, settings: &FakeDiscordSettings) {
        let Ok(resume) = serde_json::from_value::<Resume>(data) else {
            return self.gateway.close(connection, 4002, "Error while decoding payload.");
        };
        if self.check_token(&resume.token) != TokenStatus::Valid {
            return self.gateway.close(connection, 4004, "Authentication failed.");
        }
        if self.apply_session_refusal(connection) {
            return;
        }
        let now = settings.clock.now();
        let is_known = |session: &FakeSession| session.id == resume.session_id;
        let is_resumable = |session: &FakeSession| {
            let disconnected_for = session.disconnected_at.map(|at| now.duration_since(at));
            !session.is_expired && disconnected_for.is_none_or(|duration| duration <= SESSION_TTL)
        };
        let index = self.gateway.sessions.iter().position(is_known);
        match index.map(|index| &self.gateway.sessions[index]) {
            Some(session) if is_resumable(session) => {
                if resume.seq > session.seq {
                    return self.gateway.close(connection, 4007, "Invalid seq.");
                }
                self.gateway.resume(connection, index.unwrap_or_default(), resume.seq);
            }
            _ => self.invalidate(connection, SessionRefusal::Invalid),
        }
    }

    /// Refuses a session if a test requested it.
    fn apply_session_refusal(&mut self, connection: u64) -> bool {
        let refusal = self.gateway.refusals.pop_front();
        if let Some(refusal) = refusal {
            self.invalidate(connection, refusal);
        }
        refusal.is_some()
    }

    /// Refuses the session of a connection.
    pub fn invalidate(&mut self, connection: u64, refusal: SessionRefusal) {
        let now = self.world.now();
        let op_9 = |is_resumable| json!({ "op": 9, "d": is_resumable, "s": null, "t": null });
        match refusal {
            SessionRefusal::Resumable => {
                self.gateway.detach_session(connection, now);
                self.gateway.send_payload(connection, op_9(true));
            }
            SessionRefusal::Invalid => {
                if let Some(session) = self.gateway.session_for(connection) {
                    session.is_expired = true;
                }
                self.gateway.detach_session(connection, now);
                self.gateway.send_payload(connection, op_9(false));
            }
            SessionRefusal::Close(code) => self.gateway.close(connection, code, "As prepared."),
            SessionRefusal::NoReply => {}
        }
    }

    /// Responds to a request for members: by their ids, or by a prefix of their names.
    fn send_member_chunk(&mut self, connection: u64, data: &Value) {
        let Some(guild) = serde_json::from_value(data["guild_id"].clone()).ok() else {
            return;
        };
        let requested = match &data["user_ids"] {
            Value::Array(ids) => ids.clone(),
            Value::Null => Vec::new(),
            id => vec![id.clone()],
        };
        let query = data["query"].as_str().unwrap_or_default().to_lowercase();
        let Ok(FakeGuild { members, .. }) = self.world.guild(guild) else {
            return;
        };
        let matches = |id: &UserId| {
            let name = self.world.users.get(id).map(|user| user.name.as_str());
            if requested.is_empty() {
                return name.is_some_and(|name| name.starts_with(&query));
            }
            requested.contains(&json!(id))
        };
        let found: Vec<_> = members.keys().copied().filter(matches).collect();
        let missing: Vec<&Value> =
            requested.iter().filter(|id| !found.iter().any(|user| json!(user) == **id)).collect();
        let members = found.iter().filter_map(|id| self.world.member_json(guild, *id).ok());
        let chunk = json!({
            "guild_id": guild,
            "members": members.collect::<Vec<_>>(),
            "chunk_index": 0,
            "chunk_count": 1,
            "not_found": missing,
            "nonce": data["nonce"],
        });
        let session = self.gateway.connection(connection).and_then(|connection| connection.session);
        if let Some(session) = session {
            self.gateway.dispatch(session, "GUILD_MEMBERS_CHUNK", chunk);
        }
    }
}
