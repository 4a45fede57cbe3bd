//! Whether a Slack workspace would have us: each token, each scope, each room, in a sentence. Nothing is
//! changed, and no socket is opened.

use secrecy::SecretString;
use serde_json::Value;

use crate::api::{SlackApi, SlackApiError, next_cursor};
use crate::from_slack::non_empty_str;
use crate::identity::parse_identity;
use crate::manifest;
use crate::settings::{EventTransport, SlackSettings};
use aizuchi_core::chat::WorkspaceId;
use aizuchi_core::store::Archive;

/// What was found out, and whether it stands in the way.
pub type Diagnosis = Result<String, String>;

/// Examines the tokens and what they open. `named` are the channels that the settings name, by `#name` or
/// id; `kept` is what was heard so far, if anything was.
pub async fn diagnose(
    settings: &SlackSettings,
    named: &[String],
    kept: Option<&dyn Archive>,
) -> Vec<Diagnosis> {
    let api = match SlackApi::new(&settings.api_base, settings.timeouts.call) {
        Ok(api) => api,
        Err(error) => return vec![Err(format!("{error:#}"))],
    };
    let token = &settings.bot_token;
    let answer = match api.call_with_scopes(token, "auth.test", &[]).await {
        Ok(answer) => answer,
        Err(error) => return vec![Err(describe_token_error("slack.bot_token", &error))],
    };
    let Some(who) = parse_identity(&answer.body) else {
        return vec![Err("Slack does not say who we are".to_owned())];
    };
    let name = non_empty_str(&answer.body["user"]).unwrap_or("the bot").to_owned();
    let mut findings = vec![Ok(format!("in the workspace {} as @{name}", who.name))];
    let lacking = answer.scopes.as_deref().map(manifest::missing_scopes);
    findings.extend(lacking.into_iter().flatten().map(|scope| {
        Err(format!(
            "the scope {} is missing: Aizuchi needs it to {}; add it under OAuth & Permissions, and \
             install the app again",
            scope.name, scope.reason
        ))
    }));
    findings.extend(check_events(&api, &settings.events).await);
    match list_channels(&api, token).await {
        Err(error) => findings.push(Err(format!("its channels are not known: {error}"))),
        Ok(rooms) => {
            findings.extend(check_invitations(&rooms, named, &name));
            if let Some(kept) = kept {
                findings.push(check_backfill(&rooms, &who.workspace, kept).await);
            }
        }
    }
    findings
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
            let opened = api.call(app_token, "apps.connections.open", &[]).await;
            Some(match opened {
                Ok(_) => Ok("Socket Mode is on".to_owned()),
                Err(error) => Err(describe_token_error("slack.app_token", &error)),
            })
        }
    }
}

/// All channels that it is in, by id and name.
async fn list_channels(
    api: &SlackApi,
    token: &SecretString,
) -> Result<Vec<(String, String)>, SlackApiError> {
    let mut rooms = list_channels_of_kind(api, token, "public_channel").await?;
    match list_channels_of_kind(api, token, "private_channel").await {
        Ok(more) => rooms.extend(more),
        // The scope for it is missing, which is told already.
        Err(SlackApiError::Refused(_)) => {}
        Err(error) => return Err(error),
    }
    Ok(rooms)
}

async fn list_channels_of_kind(
    api: &SlackApi,
    token: &SecretString,
    kind: &str,
) -> Result<Vec<(String, String)>, SlackApiError> {
    let mut rooms = Vec::new();
    let mut cursor = None;
    loop {
        let mut arguments = vec![
            ("types", kind.to_owned()),
            ("exclude_archived", "true".to_owned()),
            ("limit", "200".to_owned()),
        ];
        arguments.extend(cursor.map(|cursor| ("cursor", cursor)));
        let page = api.call(token, "users.conversations", &arguments).await?;
        let found = page["channels"].as_array().into_iter().flatten();
        let room = |room: &Value| {
            Some((non_empty_str(&room["id"])?.to_owned(), non_empty_str(&room["name"])?.to_owned()))
        };
        rooms.extend(found.filter_map(room));
        cursor = next_cursor(&page);
        if cursor.is_none() {
            return Ok(rooms);
        }
    }
}

fn check_invitations(rooms: &[(String, String)], named: &[String], name: &str) -> Vec<Diagnosis> {
    let is_in = |named: &String| {
        let is_it =
            |(id, room): &(String, String)| named == id || named.strip_prefix('#') == Some(room);
        rooms.iter().any(is_it)
    };
    let absent = named.iter().filter(|named| !is_in(named));
    let absent = absent.map(|channel| {
        Err(format!("the settings name {channel}, where it was not invited: /invite @{name} there"))
    });
    let there = match rooms.len() {
        0 => Err(format!("it is in no channel yet: /invite @{name} where it should listen")),
        1 => Ok(format!("in 1 channel: #{}", rooms[0].1)),
        count => Ok(format!("in {count} channels")),
    };
    std::iter::once(there).chain(absent).collect()
}

async fn check_backfill(
    rooms: &[(String, String)],
    workspace: &WorkspaceId,
    kept: &dyn Archive,
) -> Diagnosis {
    let bookmarks = kept.cursors(workspace).await.map_err(|error| error.to_string())?;
    let is_read =
        |(id, _): &&(String, String)| bookmarks.iter().any(|bookmark| *bookmark.stream == **id);
    let read = rooms.iter().filter(is_read).count();
    Ok(format!("the history of {read} of {} channels has been read", rooms.len()))
}
