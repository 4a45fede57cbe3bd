//! Whether Discord would have us: the token, what the application may read, each server, each channel, in a
//! sentence. Nothing is changed, and nobody logs in.

use serde_json::Value;
use twilight_model::guild::Permissions;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::api::{ApiRequest, DiscordApi, DiscordApiError};
use crate::from_discord::guild::{Guild, GuildChannel, parse_channel, parse_guild};
use crate::from_discord::user::parse_member;
use crate::identity::{DiscordConnectError, DiscordIdentity, fetch_identity};
use crate::invite::{bot_page_url, invite_url};
use crate::permissions::{REQUIRED_PERMISSIONS, RequiredPermission, THREAD_PERMISSIONS};
use crate::settings::{DiscordSettings, ThreadPolicy};
use crate::visibility::{has_messages, own_permissions};
use aizuchi_core::clock::Clock;
use aizuchi_core::rules::{Mode, Rulebook};

/// What was found out, and whether it stands in the way.
pub type Diagnosis = Result<String, String>;

/// Examines the token and what it opens. `rules` say where it is to listen and to speak.
pub async fn diagnose(settings: &DiscordSettings, rules: &Rulebook) -> Vec<Diagnosis> {
    let who = match fetch_identity(settings).await {
        Ok(who) => who,
        Err(error) => return vec![Err(describe_connect_error(&error))],
    };
    let api = match DiscordApi::new(settings, Clock::system()) {
        Ok(api) => api,
        Err(error) => return vec![Err(format!("{error:#}"))],
    };
    let mut findings = vec![Ok(format!("logs in as {}", who.name)), check_content_intent(&who)];
    findings.push(check_session_starts(&api).await);
    if who.guilds.is_empty() {
        findings
            .push(Err(format!("it is on no server yet: {}", invite_url(who.application.get()))));
    }
    let mut rooms = Vec::new();
    for listed in &who.guilds {
        match fetch_guild(&api, &who, listed.id).await {
            Ok((guild, seen)) => {
                findings.extend(check_guild(&guild, &seen, settings, rules, &who));
                rooms.extend(seen);
            }
            Err(error) => {
                findings.push(Err(format!("the server {} is not known: {error}", listed.name)));
            }
        }
    }
    findings.extend(check_named_channels(&rooms, rules));
    findings
}

fn describe_connect_error(error: &DiscordConnectError) -> String {
    error.to_string()
}

/// What people write is empty without this.
fn check_content_intent(who: &DiscordIdentity) -> Diagnosis {
    match who.can_read_content {
        true => Ok("it may read what people write (Message Content Intent)".to_owned()),
        false => Err(format!(
            "the Message Content Intent is off, so all that people write would be empty: switch it on at {}",
            bot_page_url(who.application.get())
        )),
    }
}

/// Discord resets the token of a bot that logs in too often.
async fn check_session_starts(api: &DiscordApi) -> Diagnosis {
    let told = api.call(&ApiRequest::get("/gateway/bot")).await;
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
struct CheckedChannel {
    channel: GuildChannel,
    permissions: Permissions,
}

async fn fetch_guild(
    api: &DiscordApi,
    who: &DiscordIdentity,
    id: Id<GuildMarker>,
) -> Result<(Guild, Vec<CheckedChannel>), DiscordApiError> {
    let get = async |path: String| api.call(&ApiRequest::get(path)).await;
    let whole = get(format!("/guilds/{id}")).await?;
    let mut known =
        parse_guild(&whole).ok_or(DiscordApiError::OutcomeUnknown("it has no name".to_owned()))?;
    let us = get(format!("/guilds/{id}/members/{}", who.user)).await?;
    known.members = parse_member(&us, id).into_iter().collect();
    let rooms = get(format!("/guilds/{id}/channels")).await?;
    let rooms =
        rooms.as_array().into_iter().flatten().filter_map(|it: &Value| parse_channel(it, Some(id)));
    let seen = rooms.filter(|room| has_messages(room.kind)).map(|room| {
        let has = own_permissions(&known, &room, &who.user);
        CheckedChannel { channel: room, permissions: has }
    });
    let seen = seen.collect();
    Ok((known, seen))
}

/// What there is to say of a server: how much it hears, and what it lacks in each channel that it sees.
fn check_guild(
    guild: &Guild,
    seen: &[CheckedChannel],
    settings: &DiscordSettings,
    rules: &Rulebook,
    who: &DiscordIdentity,
) -> Vec<Diagnosis> {
    let heard = seen.iter().filter(|seen| seen.permissions.contains(Permissions::VIEW_CHANNEL));
    let heard: Vec<&CheckedChannel> = heard.collect();
    let count = match heard.len() {
        0 => Err(format!(
            "on the server {} it sees no channel: give its role View Channels, or invite it anew: {}",
            guild.name,
            invite_url(who.application.get())
        )),
        1 => Ok(format!("on the server {} it hears #{}", guild.name, heard[0].channel.name)),
        count => Ok(format!("on the server {} it hears {count} channels", guild.name)),
    };
    let lacking = heard.into_iter().flat_map(|seen| {
        let needs = required_permissions(&seen.channel, settings, rules);
        let lacking: Vec<&RequiredPermission> =
            needs.filter(|need| !seen.permissions.contains(need.permission)).collect();
        lacking.into_iter().map(|need| {
            Err(format!(
                "on {}, in #{}: the permission {} is missing, which it needs to {}",
                guild.name, seen.channel.name, need.name, need.reason
            ))
        })
    });
    std::iter::once(count).chain(lacking).collect()
}

/// Where it is to be silent, it need not be able to speak.
fn required_permissions(
    room: &GuildChannel,
    settings: &DiscordSettings,
    rules: &Rulebook,
) -> impl Iterator<Item = &'static RequiredPermission> + use<> {
    let reading = Permissions::VIEW_CHANNEL | Permissions::READ_MESSAGE_HISTORY;
    let own = rules.channel_rules(&room.id, &room.name);
    let mut wanted = match own.mode {
        Mode::Off => Permissions::empty(),
        Mode::Observe => reading,
        Mode::Companion | Mode::Facilitator | Mode::MentionOnly => Permissions::all(),
    };
    if settings.threads.for_channel(room.id.as_str(), Some(&room.name)) == ThreadPolicy::Never {
        wanted -= THREAD_PERMISSIONS;
    }
    if own.reactions.is_empty() {
        wanted -= Permissions::ADD_REACTIONS;
    }
    REQUIRED_PERMISSIONS.iter().filter(move |need| wanted.contains(need.permission))
}

/// Channels that the settings name, and that nobody has shown to us.
fn check_named_channels(rooms: &[CheckedChannel], rules: &Rulebook) -> Vec<Diagnosis> {
    let is_it = |key: &str, seen: &CheckedChannel| {
        let room = &seen.channel;
        let is_named = key == room.id.as_str() || key.strip_prefix('#') == Some(&*room.name);
        is_named && seen.permissions.contains(Permissions::VIEW_CHANNEL)
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
