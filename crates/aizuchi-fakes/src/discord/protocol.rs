//! What the gateway answers to what an app says: heartbeats, IDENTIFY, RESUME and the rest.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};
use twilight_model::gateway::Intents;

use crate::discord::FakeDiscordSettings;
use crate::discord::journal::ReceivedPayload;
use crate::discord::session::{FakeSession, HeartbeatBehavior, SessionRefusal};
use crate::discord::state::{FakeDiscordState, TokenStatus};
use crate::discord::world::{privileged_intents, shard_for_guild};

/// The largest thing an app may say.
const MAX_PAYLOAD_BYTES: usize = 4096;
/// How often it may speak in a minute.
const MAX_PAYLOADS_PER_MINUTE: usize = 120;

#[derive(Deserialize)]
struct Identify {
    token: String,
    intents: u64,
    #[serde(default)]
    shard: Option<[u64; 2]>,
    /// Asked for, but not looked into.
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
    /// Hears what an app says on a connection. `base` is where it can resume.
    pub fn receive(
        &mut self,
        connection: u64,
        text: &str,
        settings: &FakeDiscordSettings,
        base: &str,
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
            2 => self.identify(connection, d, settings, base),
            6 if has_session => self.gateway.close(connection, 4005, "Already authenticated."),
            6 => self.resume(connection, d, settings),
            3 | 4 | 8 | 31 if !has_session => {
                self.gateway.close(connection, 4003, "Not authenticated.");
            }
            // Presence, voice and sounds are taken note of.
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
        base: &str,
    ) {
        let Ok(identify) = serde_json::from_value::<Identify>(data) else {
            return self.gateway.close(connection, 4002, "Error while decoding payload.");
        };
        let now = settings.clock.now();
        if self.check_token(&identify.token, settings) != TokenStatus::Valid {
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
        self.start_session(connection, intents, shard, base);
    }

    /// One session for each key in each interval.
    fn has_identified_recently(
        &mut self,
        key: u64,
        now: Timestamp,
        interval: SignedDuration,
    ) -> bool {
        let known = self.gateway.identified_at.iter_mut().find(|(known, _)| *known == key);
        let Some((_, at)) = known else {
            self.gateway.identified_at.push((key, now));
            return false;
        };
        let is_late = now.duration_since(*at) < interval;
        if !is_late {
            *at = now;
        }
        is_late
    }

    /// More sessions were begun than there may be: whoever has the token may be a thief.
    fn reset_token(&mut self) {
        self.token_status = TokenStatus::Reset;
        let all: Vec<u64> = self.gateway.connections.iter().map(|one| one.id).collect();
        for connection in all {
            self.gateway.close(connection, 4004, "Authentication failed.");
        }
    }

    fn start_session(&mut self, connection: u64, intents: Intents, shard: [u64; 2], base: &str) {
        let place = self.gateway.start_session(connection, intents, shard);
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
            "session_id": self.gateway.sessions[place].id,
            "session_type": "normal",
            "resume_gateway_url": base,
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
        self.gateway.dispatch(place, "READY", ready);
        if intents.contains(Intents::GUILDS) {
            for guild in guilds {
                let shape = self.world.guild_create_json(guild);
                self.gateway.dispatch(place, "GUILD_CREATE", shape);
            }
        }
    }

    fn resume(&mut self, connection: u64, data: Value, settings: &FakeDiscordSettings) {
        let Ok(resume) = serde_json::from_value::<Resume>(data) else {
            return self.gateway.close(connection, 4002, "Error while decoding payload.");
        };
        if self.check_token(&resume.token, settings) != TokenStatus::Valid {
            return self.gateway.close(connection, 4004, "Authentication failed.");
        }
        if self.apply_session_refusal(connection) {
            return;
        }
        let now = settings.clock.now();
        let is_known = |session: &FakeSession| session.id == resume.session_id;
        let is_alive = |session: &FakeSession| {
            let left = session.disconnected_at.map(|at| now.duration_since(at));
            !session.is_expired && left.is_none_or(|left| left <= settings.session_ttl)
        };
        let place = self.gateway.sessions.iter().position(is_known);
        match place.map(|place| &self.gateway.sessions[place]) {
            Some(session) if is_alive(session) => {
                if resume.seq > session.seq {
                    return self.gateway.close(connection, 4007, "Invalid seq.");
                }
                self.gateway.resume(connection, place.unwrap_or_default(), resume.seq);
            }
            _ => self.invalidate(connection, SessionRefusal::Invalid),
        }
    }

    /// Meets what was prepared for this session, if anything was.
    fn apply_session_refusal(&mut self, connection: u64) -> bool {
        let refused = self.gateway.refusals.pop_front();
        if let Some(refused) = refused {
            self.invalidate(connection, refused);
        }
        refused.is_some()
    }

    /// Tells a connection that its session is not to be had.
    pub fn invalidate(&mut self, connection: u64, refused: SessionRefusal) {
        let now = self.world.now();
        let told = |is_resumable| json!({ "op": 9, "d": is_resumable, "s": null, "t": null });
        match refused {
            SessionRefusal::Resumable => {
                self.gateway.detach_session(connection, now);
                self.gateway.send_payload(connection, told(true));
            }
            SessionRefusal::Invalid => {
                if let Some(session) = self.gateway.session_for(connection) {
                    session.is_expired = true;
                }
                self.gateway.detach_session(connection, now);
                self.gateway.send_payload(connection, told(false));
            }
            SessionRefusal::Close(code) => self.gateway.close(connection, code, "As prepared."),
            SessionRefusal::NoReply => {}
        }
    }

    /// Answers a request for members: by their ids, or all whose names begin so.
    fn send_member_chunk(&mut self, connection: u64, data: &Value) {
        let Some(guild) = serde_json::from_value(data["guild_id"].clone()).ok() else {
            return;
        };
        let wanted = match &data["user_ids"] {
            Value::Array(ids) => ids.clone(),
            Value::Null => Vec::new(),
            one => vec![one.clone()],
        };
        let query = data["query"].as_str().unwrap_or_default().to_lowercase();
        let Ok(known) = self.world.guild(guild) else {
            return;
        };
        let is_wanted = |id: &crate::discord::id::UserId| {
            let name = self.world.users.get(id).map(|user| user.name.as_str());
            if wanted.is_empty() {
                return name.is_some_and(|name| name.starts_with(&query));
            }
            wanted.contains(&json!(id))
        };
        let found: Vec<_> = known.members.keys().copied().filter(is_wanted).collect();
        let missing: Vec<&Value> =
            wanted.iter().filter(|id| !found.iter().any(|one| json!(one) == **id)).collect();
        let members = found.iter().filter_map(|id| self.world.member_json(guild, *id).ok());
        let chunk = json!({
            "guild_id": guild,
            "members": members.collect::<Vec<_>>(),
            "chunk_index": 0,
            "chunk_count": 1,
            "not_found": missing,
            "nonce": data["nonce"],
        });
        let place = self.gateway.connection(connection).and_then(|one| one.session);
        if let Some(place) = place {
            self.gateway.dispatch(place, "GUILD_MEMBERS_CHUNK", chunk);
        }
    }
}
