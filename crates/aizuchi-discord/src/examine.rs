//! Whether Discord would have us: the token, what the application may read, each server, each channel, in a
//! sentence. Nothing is changed, and nobody logs in.

use serde_json::Value;
use twilight_model::guild::Permissions;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::api::{Api, ApiError, Call};
use crate::from_discord::guild::{Guild, Room, guild, room};
use crate::from_discord::member;
use crate::invite::{bot_page, invite};
use crate::permissions::{NEEDS, Need, THREADS};
use crate::reach::{has_lines, ours};
use crate::{JoinError, Settings, Threads, Who, ask_who};
use aizuchi_core::clock::Clock;
use aizuchi_core::rules::{Mode, Rulebook};

/// What was found out, and whether it stands in the way.
pub type Finding = Result<String, String>;

/// Examines the token and what it opens. `rules` say where it is to listen and to speak.
pub async fn examine(settings: &Settings, rules: &Rulebook) -> Vec<Finding> {
    let who = match ask_who(settings).await {
        Ok(who) => who,
        Err(error) => return vec![Err(trouble(&error))],
    };
    let api = match Api::new(settings, Clock::system()) {
        Ok(api) => api,
        Err(error) => return vec![Err(format!("{error:#}"))],
    };
    let mut findings = vec![Ok(format!("logs in as {}", who.name)), content(&who)];
    findings.push(logins(&api).await);
    if who.guilds.is_empty() {
        findings.push(Err(format!("it is on no server yet: {}", invite(who.application.get()))));
    }
    let mut rooms = Vec::new();
    for listed in &who.guilds {
        match look(&api, &who, listed.id).await {
            Ok((guild, seen)) => {
                findings.extend(on_server(&guild, &seen, settings, rules, &who));
                rooms.extend(seen);
            }
            Err(error) => {
                findings.push(Err(format!("the server {} is not known: {error}", listed.name)));
            }
        }
    }
    findings.extend(unseen(&rooms, rules));
    findings
}

fn trouble(error: &JoinError) -> String {
    error.to_string()
}

/// What people write is empty without this.
fn content(who: &Who) -> Finding {
    match who.reads_content {
        true => Ok("it may read what people write (Message Content Intent)".to_owned()),
        false => Err(format!(
            "the Message Content Intent is off, so all that people write would be empty: switch it on at {}",
            bot_page(who.application.get())
        )),
    }
}

/// Discord resets the token of a bot that logs in too often.
async fn logins(api: &Api) -> Finding {
    let told = api.call(&Call::get("/gateway/bot")).await;
    let told = told.map_err(|error| format!("the gateway is not known: {error}"))?;
    let limit = &told["session_start_limit"];
    let (Some(left), Some(total)) = (limit["remaining"].as_u64(), limit["total"].as_u64()) else {
        return Ok("the gateway can be reached".to_owned());
    };
    let told = format!("{left} of {total} logins a day are left");
    if left * 10 > total {
        Ok(told)
    } else {
        Err(format!("{told}; wait for a day before the start"))
    }
}

/// A channel, and what we may do there.
struct Seen {
    room: Room,
    has: Permissions,
}

async fn look(api: &Api, who: &Who, id: Id<GuildMarker>) -> Result<(Guild, Vec<Seen>), ApiError> {
    let get = async |path: String| api.call(&Call::get(path)).await;
    let whole = get(format!("/guilds/{id}")).await?;
    let mut known = guild(&whole).ok_or(ApiError::Unknown("it has no name".to_owned()))?;
    let us = get(format!("/guilds/{id}/members/{}", who.user)).await?;
    known.members = member(&us, id).into_iter().collect();
    let rooms = get(format!("/guilds/{id}/channels")).await?;
    let rooms = rooms.as_array().into_iter().flatten().filter_map(|it: &Value| room(it, Some(id)));
    let seen = rooms.filter(|room| has_lines(room.kind)).map(|room| {
        let has = ours(&known, &room, &who.user);
        Seen { room, has }
    });
    let seen = seen.collect();
    Ok((known, seen))
}

/// What there is to say of a server: how much it hears, and what it lacks in each channel that it sees.
fn on_server(
    guild: &Guild,
    seen: &[Seen],
    settings: &Settings,
    rules: &Rulebook,
    who: &Who,
) -> Vec<Finding> {
    let heard = seen.iter().filter(|seen| seen.has.contains(Permissions::VIEW_CHANNEL));
    let heard: Vec<&Seen> = heard.collect();
    let count = match heard.len() {
        0 => Err(format!(
            "on the server {} it sees no channel: give its role View Channels, or invite it anew: {}",
            guild.name,
            invite(who.application.get())
        )),
        1 => Ok(format!("on the server {} it hears #{}", guild.name, heard[0].room.name)),
        count => Ok(format!("on the server {} it hears {count} channels", guild.name)),
    };
    let lacking = heard.into_iter().flat_map(|seen| {
        let needs = needed(&seen.room, settings, rules);
        let lacking: Vec<&Need> =
            needs.filter(|need| !seen.has.contains(need.permission)).collect();
        lacking.into_iter().map(|need| {
            Err(format!(
                "on {}, in #{}: the permission {} is missing, which it needs to {}",
                guild.name, seen.room.name, need.name, need.reason
            ))
        })
    });
    std::iter::once(count).chain(lacking).collect()
}

/// Where it is to be silent, it need not be able to speak.
fn needed(
    room: &Room,
    settings: &Settings,
    rules: &Rulebook,
) -> impl Iterator<Item = &'static Need> + use<> {
    let reading = Permissions::VIEW_CHANNEL | Permissions::READ_MESSAGE_HISTORY;
    let own = rules.of(&room.id, &room.name);
    let mut wanted = match own.mode {
        Mode::Off => Permissions::empty(),
        Mode::Observe => reading,
        Mode::Companion | Mode::Facilitator | Mode::MentionOnly => Permissions::all(),
    };
    if settings.threads.of(room.id.as_str(), Some(&room.name)) == Threads::Never {
        wanted -= THREADS;
    }
    if own.reactions.is_empty() {
        wanted -= Permissions::ADD_REACTIONS;
    }
    NEEDS.iter().filter(move |need| wanted.contains(need.permission))
}

/// Channels that the settings name, and that nobody has shown to us.
fn unseen(rooms: &[Seen], rules: &Rulebook) -> Vec<Finding> {
    let is_it = |key: &str, seen: &Seen| {
        let room = &seen.room;
        let is_named = key == room.id.as_str() || key.strip_prefix('#') == Some(&*room.name);
        is_named && seen.has.contains(Permissions::VIEW_CHANNEL)
    };
    // Other platforms' channels have other ids.
    let is_ours = |key: &str| key.starts_with('#') || key.bytes().all(|byte| byte.is_ascii_digit());
    let keys = rules.channels.keys().filter(|key| is_ours(key));
    let unseen = keys.filter(|key| !rooms.iter().any(|seen| is_it(key, seen)));
    let told = |key: &String| {
        Err(format!(
            "the settings name {key}, which it does not see on any server: give its role View Channels there"
        ))
    };
    unseen.map(told).collect()
}
