//! Checks the setup on Discord: the token, the application's intents, each server and each channel, one sentence per
//! finding. It only reads from the REST API and does not connect to the gateway.

use aizuchi_model::chat::Visibility;
use aizuchi_model::clock::Clock;
use aizuchi_model::rules::place::Place;
use aizuchi_model::rules::{Mode, Rulebook};
use aizuchi_platform::remote::{PlatformCheck, ReachedChannels};
use serde_json::Value;
use twilight_model::guild::Permissions;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::api::{ApiRequest, DiscordApi, DiscordApiError};
use crate::from_discord::guild::{Guild, GuildChannel, parse_channel, parse_guild};
use crate::from_discord::user::parse_member;
use crate::identity::{DiscordConnectError, DiscordIdentity, fetch_identity, guild_workspace};
use crate::invite::{bot_page_url, invite_url};
use crate::permissions::{REQUIRED_PERMISSIONS, RequiredPermission, THREAD_PERMISSIONS};
use crate::settings::{DiscordSettings, ThreadPolicy};
use crate::visibility::{has_messages, own_permissions};

/// A finding; an `Err` is a problem.
pub type Diagnosis = Result<String, String>;

/// Runs all checks. `rules` decide in which channels the bot needs to listen and to post.
pub async fn diagnose(settings: &DiscordSettings, rules: &Rulebook) -> PlatformCheck {
    let failed = |why: String| PlatformCheck { findings: vec![Err(why)], channels: None };
    let identity = match fetch_identity(settings).await {
        Ok(identity) => identity,
        Err(error) => return failed(describe_connect_error(&error)),
    };
    let api = match DiscordApi::new(settings, Clock::system()) {
        Ok(api) => api,
        Err(error) => return failed(format!("{error:#}")),
    };
    let mut findings =
        vec![Ok(format!("logs in as {}", identity.name)), check_content_intent(&identity)];
    findings.push(check_session_starts(&api).await);
    if identity.guilds.is_empty() {
        findings.push(Err(format!(
            "it is not on any server yet: {}",
            invite_url(identity.application.get())
        )));
    }
    let mut channels = Vec::new();
    for listed in &identity.guilds {
        match fetch_guild(&api, &identity, listed.id).await {
            Ok((guild, checked)) => {
                findings.extend(check_guild(&guild, &checked, settings, rules, &identity));
                channels.extend(checked);
            }
            Err(error) => {
                findings
                    .push(Err(format!("the server {} could not be read: {error}", listed.name)));
            }
        }
    }
    PlatformCheck { findings, channels: Some(reached_channels(&channels)) }
}

fn describe_connect_error(error: &DiscordConnectError) -> String {
    error.to_string()
}

/// Without the Message Content Intent, messages arrive empty.
fn check_content_intent(identity: &DiscordIdentity) -> Diagnosis {
    match identity.can_read_content {
        true => Ok("it may read what people write (Message Content Intent)".to_owned()),
        false => Err(format!(
            "the Message Content Intent is off, so every message would seem empty: switch it on at {}",
            bot_page_url(identity.application.get())
        )),
    }
}

/// Discord resets the token of a bot that identifies too often.
async fn check_session_starts(api: &DiscordApi) -> Diagnosis {
    let info = api.call(&ApiRequest::get("/gateway/bot")).await;
    let info =
        info.map_err(|error| format!("the gateway’s address could not be fetched: {error}"))?;
    let limit = &info["session_start_limit"];
    let (Some(remaining), Some(total)) = (limit["remaining"].as_u64(), limit["total"].as_u64())
    else {
        return Ok("the gateway can be reached".to_owned());
    };
    let finding = format!("{remaining} of {total} logins for today are left");
    if remaining * 10 > total {
        Ok(finding)
    } else {
        Err(format!("{finding}; wait a day before you start it"))
    }
}

/// A channel and the bot's permissions in it.
struct CheckedChannel {
    channel: GuildChannel,
    permissions: Permissions,
}

async fn fetch_guild(
    api: &DiscordApi,
    identity: &DiscordIdentity,
    id: Id<GuildMarker>,
) -> Result<(Guild, Vec<CheckedChannel>), DiscordApiError> {
    let get = async |path: String| api.call(&ApiRequest::get(path)).await;
    let json = get(format!("/guilds/{id}")).await?;
    let mut guild =
        parse_guild(&json).ok_or(DiscordApiError::OutcomeUnknown("it has no name".to_owned()))?;
    let member = get(format!("/guilds/{id}/members/{}", identity.user)).await?;
    guild.members = parse_member(&member, id).into_iter().collect();
    let channels = get(format!("/guilds/{id}/channels")).await?;
    let channels = channels
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it: &Value| parse_channel(it, Some(id)));
    let checked = channels.filter(|channel| has_messages(channel.kind)).map(|channel| {
        let permissions = own_permissions(&guild, &channel, &identity.user);
        CheckedChannel { channel, permissions }
    });
    let checked = checked.collect();
    Ok((guild, checked))
}

/// Checks a server: how many channels the bot sees, and which permissions it lacks in each.
fn check_guild(
    guild: &Guild,
    checked: &[CheckedChannel],
    settings: &DiscordSettings,
    rules: &Rulebook,
    identity: &DiscordIdentity,
) -> Vec<Diagnosis> {
    let visible =
        checked.iter().filter(|checked| checked.permissions.contains(Permissions::VIEW_CHANNEL));
    let visible: Vec<&CheckedChannel> = visible.collect();
    let count = match visible.len() {
        0 => Err(format!(
            "on the server {} it sees no channel: allow View Channels for its role, or invite it again: {}",
            guild.name,
            invite_url(identity.application.get())
        )),
        1 => Ok(format!("on the server {} it hears #{}", guild.name, visible[0].channel.name)),
        count => Ok(format!("on the server {} it hears {count} channels", guild.name)),
    };
    let missing = visible.into_iter().flat_map(|checked| {
        let needs = required_permissions(&checked.channel, settings, rules);
        let missing: Vec<&RequiredPermission> =
            needs.filter(|need| !checked.permissions.contains(need.permission)).collect();
        missing.into_iter().map(|need| {
            Err(format!(
                "on {}, in #{}: the permission {} is missing, which it needs to {}",
                guild.name, checked.channel.name, need.name, need.reason
            ))
        })
    });
    std::iter::once(count).chain(missing).collect()
}

/// Returns the permissions that the bot needs in a channel. In observe mode it need not be able to post.
fn required_permissions(
    channel: &GuildChannel,
    settings: &DiscordSettings,
    rules: &Rulebook,
) -> impl Iterator<Item = &'static RequiredPermission> + use<> {
    let reading = Permissions::VIEW_CHANNEL | Permissions::READ_MESSAGE_HISTORY;
    // A guild has no direct messages.
    let workspace = guild_workspace(channel.guild);
    let place = Place::new(&workspace, &channel.id, &channel.name, Visibility::Private);
    let channel_rules = rules.rules_in(&place);
    let mut required = match channel_rules.mode {
        Mode::Off => Permissions::empty(),
        Mode::Observe => reading,
        Mode::Companion | Mode::Facilitator | Mode::MentionOnly | Mode::Propose => {
            Permissions::all()
        }
    };
    if settings.threads.for_channel(channel.id.as_str(), Some(&channel.name)) == ThreadPolicy::Never
    {
        required -= THREAD_PERMISSIONS;
    }
    if channel_rules.reactions.is_empty() {
        required -= Permissions::ADD_REACTIONS;
    }
    REQUIRED_PERMISSIONS.iter().filter(move |need| required.contains(need.permission))
}

fn reached_channels(channels: &[CheckedChannel]) -> ReachedChannels {
    let is_visible = |it: &&CheckedChannel| it.permissions.contains(Permissions::VIEW_CHANNEL);
    let visible = channels
        .iter()
        .filter(is_visible)
        .map(|checked| (checked.channel.id.to_string(), checked.channel.name.to_string()));
    ReachedChannels {
        ids_and_names: visible.collect(),
        may_name: |key| key.starts_with('#') || key.bytes().all(|byte| byte.is_ascii_digit()),
        otherwise: "which it cannot see on any server: allow View Channels for its role there"
            .to_owned(),
    }
}
