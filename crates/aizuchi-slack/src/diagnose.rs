//! Checks a Slack workspace before the bot runs in it: tokens, scopes and channels, one sentence per finding. Changes
//! nothing and opens no socket.

use aizuchi_model::chat::WorkspaceId;
use aizuchi_platform::remote::{PlatformCheck, ReachedChannels};
use aizuchi_store::Cursors;
use secrecy::SecretString;
use serde_json::Value;

use crate::api::{SlackApi, SlackApiError, cursor_after};
use crate::from_slack::non_empty_str;
use crate::identity::parse_identity;
use crate::manifest;
use crate::settings::{EventTransport, SlackSettings};

/// A finding; an `Err` is a problem.
pub type Diagnosis = Result<String, String>;

/// Checks the tokens and their access. `cursors` is the database, if it exists already.
pub async fn diagnose(settings: &SlackSettings, cursors: Option<&dyn Cursors>) -> PlatformCheck {
    let failed = |why: String| PlatformCheck { findings: vec![Err(why)], channels: None };
    let api = match SlackApi::new(&settings.api_base, settings.timeouts.call) {
        Ok(api) => api,
        Err(error) => return failed(format!("{error:#}")),
    };
    let token = &*settings.bot_token.read();
    let answer = match api.call_with_scopes(token, "auth.test", &[]).await {
        Ok(answer) => answer,
        Err(error) => return failed(describe_token_error("slack.bot_token", &error)),
    };
    let Some(identity) = parse_identity(&answer.body) else {
        return failed("Slack does not say who the bot is".to_owned());
    };
    let name = non_empty_str(&answer.body["user"]).unwrap_or("the bot").to_owned();
    let mut findings = vec![Ok(format!("in the workspace {} as @{name}", identity.name))];
    let missing = answer.scopes.as_deref().map(manifest::missing_scopes);
    findings.extend(missing.into_iter().flatten().map(|scope| {
        Err(format!(
            "the scope {} is missing: Aizuchi needs it to {}; add it under OAuth & Permissions, and \
             install the app again",
            scope.name, scope.reason
        ))
    }));
    findings.extend(check_events(&api, &settings.events).await);
    let channels = match list_channels(&api, token).await {
        Err(error) => {
            findings.push(Err(format!("its channels could not be read: {error}")));
            return PlatformCheck { findings, channels: None };
        }
        Ok(channels) => channels,
    };
    findings.push(check_invitations(&channels, &name));
    if let Some(cursors) = cursors {
        findings.push(check_backfill(&channels, &identity.workspace, cursors).await);
    }
    let channels = ReachedChannels {
        ids_and_names: channels,
        // Discord's ids are numbers.
        may_name: |key| !key.bytes().all(|byte| byte.is_ascii_digit()),
        otherwise: format!("but @{name} was not invited: write /invite @{name} there"),
    };
    PlatformCheck { findings, channels: Some(channels) }
}

fn describe_token_error(key: &str, error: &SlackApiError) -> String {
    match error {
        SlackApiError::Refused(code) => format!("Slack refuses {key}: {code}"),
        error => error.to_string(),
    }
}

async fn check_events(api: &SlackApi, events: &EventTransport) -> Option<Diagnosis> {
    match events {
        EventTransport::Webhooks { .. } => {
            Some(Ok(format!("events come over HTTP, at {}", manifest::EVENTS_PATH)))
        }
        EventTransport::SocketMode { app_token, .. } => {
            let opened = api.call(&app_token.read(), "apps.connections.open", &[]).await;
            Some(match opened {
                Ok(_) => Ok("Socket Mode is on".to_owned()),
                Err(error) => Err(describe_token_error("slack.app_token", &error)),
            })
        }
    }
}

/// Returns the id and name of each channel that the bot is a member of.
async fn list_channels(
    api: &SlackApi,
    token: &SecretString,
) -> Result<Vec<(String, String)>, SlackApiError> {
    let mut channels = list_channels_of_kind(api, token, "public_channel").await?;
    match list_channels_of_kind(api, token, "private_channel").await {
        Ok(more) => channels.extend(more),
        // The scope is missing, which is reported already.
        Err(SlackApiError::Refused(_)) => {}
        Err(error) => return Err(error),
    }
    Ok(channels)
}

async fn list_channels_of_kind(
    api: &SlackApi,
    token: &SecretString,
    kind: &str,
) -> Result<Vec<(String, String)>, SlackApiError> {
    let mut channels = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut arguments = vec![
            ("types", kind.to_owned()),
            ("exclude_archived", "true".to_owned()),
            ("limit", "200".to_owned()),
        ];
        arguments.extend(cursor.clone().map(|cursor| ("cursor", cursor)));
        let page = api.call(token, "users.conversations", &arguments).await?;
        let found = page["channels"].as_array().into_iter().flatten();
        let id_and_name = |channel: &Value| {
            Some((
                non_empty_str(&channel["id"])?.to_owned(),
                non_empty_str(&channel["name"])?.to_owned(),
            ))
        };
        channels.extend(found.filter_map(id_and_name));
        cursor = cursor_after(&page, cursor.as_ref())?;
        if cursor.is_none() {
            return Ok(channels);
        }
    }
}

fn check_invitations(channels: &[(String, String)], bot_name: &str) -> Diagnosis {
    match channels.len() {
        0 => Err(format!(
            "@{bot_name} is not in any channel yet: write /invite @{bot_name} where it should listen"
        )),
        1 => Ok(format!("in 1 channel: #{}", channels[0].1)),
        count => Ok(format!("in {count} channels")),
    }
}

async fn check_backfill(
    channels: &[(String, String)],
    workspace: &WorkspaceId,
    cursors: &dyn Cursors,
) -> Diagnosis {
    let cursors = cursors.cursors(workspace).await.map_err(|error| error.to_string())?;
    let is_read = |(id, _): &&(String, String)| cursors.iter().any(|cursor| *cursor.stream == **id);
    let read = channels.iter().filter(is_read).count();
    Ok(format!("the history of {read} of {} channels has been read", channels.len()))
}
