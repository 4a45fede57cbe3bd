//! Whether a Slack workspace would have us: each token, each scope, each room, in a sentence. Nothing is
//! changed, and no socket is opened.

use secrecy::SecretString;
use serde_json::Value;

use crate::api::{Api, ApiError};
use crate::from_slack::text;
use crate::manifest;
use crate::{Events, Settings, next_cursor, who_of};
use aizuchi_core::chat::WorkspaceId;
use aizuchi_core::store::Archive;

/// What was found out, and whether it stands in the way.
pub type Finding = Result<String, String>;

/// Examines the tokens and what they open. `named` are the channels that the settings name, by `#name` or
/// id; `kept` is what was heard so far, if anything was.
pub async fn examine(
    settings: &Settings,
    named: &[String],
    kept: Option<&dyn Archive>,
) -> Vec<Finding> {
    let api = match Api::new(&settings.api_base, settings.patience.calling) {
        Ok(api) => api,
        Err(error) => return vec![Err(format!("{error:#}"))],
    };
    let token = &settings.bot_token;
    let answer = match api.ask(token, "auth.test", &[]).await {
        Ok(answer) => answer,
        Err(error) => return vec![Err(token_trouble("slack.bot_token", &error))],
    };
    let Some(who) = who_of(&answer.body) else {
        return vec![Err("Slack does not say who we are".to_owned())];
    };
    let name = text(&answer.body["user"]).unwrap_or("the bot").to_owned();
    let mut findings = vec![Ok(format!("in the workspace {} as @{name}", who.name))];
    let lacking = answer.scopes.as_deref().map(manifest::missing);
    findings.extend(lacking.into_iter().flatten().map(|scope| {
        Err(format!(
            "the scope {} is missing: Aizuchi needs it to {}; add it under OAuth & Permissions, and \
             install the app again",
            scope.name, scope.reason
        ))
    }));
    findings.extend(events(&api, &settings.events).await);
    match rooms(&api, token).await {
        Err(error) => findings.push(Err(format!("its channels are not known: {error}"))),
        Ok(rooms) => {
            findings.extend(invitations(&rooms, named, &name));
            if let Some(kept) = kept {
                findings.push(progress(&rooms, &who.workspace, kept).await);
            }
        }
    }
    findings
}

fn token_trouble(key: &str, error: &ApiError) -> String {
    match error {
        ApiError::Refused(code) => format!("Slack refuses {key}: {code}"),
        error => error.to_string(),
    }
}

async fn events(api: &Api, events: &Events) -> Option<Finding> {
    match events {
        Events::Hooks { .. } => Some(Ok(format!("events come over HTTP, at {}", manifest::PATH))),
        Events::Socket { app_token, .. } => {
            let opened = api.call(app_token, "apps.connections.open", &[]).await;
            Some(match opened {
                Ok(_) => Ok("Socket Mode is on".to_owned()),
                Err(error) => Err(token_trouble("slack.app_token", &error)),
            })
        }
    }
}

/// All channels that it is in, by id and name.
async fn rooms(api: &Api, token: &SecretString) -> Result<Vec<(String, String)>, ApiError> {
    let mut rooms = rooms_of(api, token, "public_channel").await?;
    match rooms_of(api, token, "private_channel").await {
        Ok(more) => rooms.extend(more),
        // The scope for it is missing, which is told already.
        Err(ApiError::Refused(_)) => {}
        Err(error) => return Err(error),
    }
    Ok(rooms)
}

async fn rooms_of(
    api: &Api,
    token: &SecretString,
    kind: &str,
) -> Result<Vec<(String, String)>, ApiError> {
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
        let room =
            |room: &Value| Some((text(&room["id"])?.to_owned(), text(&room["name"])?.to_owned()));
        rooms.extend(found.filter_map(room));
        cursor = next_cursor(&page);
        if cursor.is_none() {
            return Ok(rooms);
        }
    }
}

fn invitations(rooms: &[(String, String)], named: &[String], name: &str) -> Vec<Finding> {
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

async fn progress(
    rooms: &[(String, String)],
    workspace: &WorkspaceId,
    kept: &dyn Archive,
) -> Finding {
    let bookmarks = kept.bookmarks(workspace).await.map_err(|error| error.to_string())?;
    let is_read =
        |(id, _): &&(String, String)| bookmarks.iter().any(|bookmark| *bookmark.place == **id);
    let read = rooms.iter().filter(is_read).count();
    Ok(format!("the history of {read} of {} channels has been read", rooms.len()))
}
