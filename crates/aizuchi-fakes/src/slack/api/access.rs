//! Who calls, and whether it may: tokens and scopes.

use crate::slack::Settings;
use crate::slack::arguments::Arguments;
use crate::slack::refusal::{Refusal, refuse};
use crate::slack::state::{Standing, State};

/// What a method asks of its caller.
enum Needed {
    /// Any valid token of the bot's.
    Token,
    /// No token at all.
    Nothing,
    /// The token of the app itself.
    AppToken,
    Scope(&'static str),
    /// `channels:…`, `groups:…` and so on, by the kind of the channel that is named.
    OfChannel(&'static str),
}

pub fn check(
    state: &State,
    settings: &Settings,
    method: &str,
    token: Option<&str>,
    arguments: &Arguments,
) -> Result<(), Refusal> {
    let needed = needed(method);
    if matches!(needed, Needed::Nothing) {
        return Ok(());
    }
    let token = token.ok_or_else(|| refuse("not_authed"))?;
    let (is_bot, is_app) = (token == settings.bot_token, token == settings.app_token);
    if !is_bot && !is_app {
        return Err(refuse("invalid_auth"));
    }
    match state.standing {
        Standing::Good => {}
        Standing::Revoked => return Err(refuse("token_revoked")),
        Standing::Inactive => return Err(refuse("account_inactive")),
    }
    if is_app != matches!(needed, Needed::AppToken) {
        return Err(refuse("not_allowed_token_type"));
    }
    match needed {
        Needed::Token | Needed::Nothing | Needed::AppToken => Ok(()),
        Needed::Scope(scope) => allow(settings, scope),
        Needed::OfChannel(what) => {
            let channel = arguments.text("channel").and_then(|id| state.workspace.channel(id).ok());
            // Of a channel that is not there, the method itself says so.
            channel.map_or(Ok(()), |channel| {
                allow(settings, &format!("{}:{what}", channel.kind.scope()))
            })
        }
    }
}

/// Fails as Slack does for a token without a scope.
fn allow(settings: &Settings, scope: &str) -> Result<(), Refusal> {
    if settings.scopes.iter().any(|own| own == scope) {
        return Ok(());
    }
    let provided = settings.scopes.join(",");
    Err(refuse("missing_scope").with("needed", scope).with("provided", provided))
}

fn needed(method: &str) -> Needed {
    match method {
        "api.test" => Needed::Nothing,
        "apps.connections.open" => Needed::AppToken,
        "team.info" => Needed::Scope("team:read"),
        "emoji.list" => Needed::Scope("emoji:read"),
        "usergroups.list" => Needed::Scope("usergroups:read"),
        "users.list" | "users.info" => Needed::Scope("users:read"),
        "users.conversations" | "conversations.list" => Needed::Scope("channels:read"),
        "conversations.info" | "conversations.members" => Needed::OfChannel("read"),
        "conversations.history" | "conversations.replies" => Needed::OfChannel("history"),
        "conversations.join" => Needed::Scope("channels:join"),
        "conversations.open" => Needed::Scope("im:write"),
        "chat.postMessage" | "chat.update" | "chat.delete" | "chat.postEphemeral" => {
            Needed::Scope("chat:write")
        }
        "reactions.add" | "reactions.remove" => Needed::Scope("reactions:write"),
        "reactions.get" => Needed::Scope("reactions:read"),
        // Without a scope of its own, or unknown.
        _ => Needed::Token,
    }
}
