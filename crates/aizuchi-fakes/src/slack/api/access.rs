//! Checks the token and the scopes of a call.

use crate::slack::FakeSlackSettings;
use crate::slack::api_error::{ApiResult, api_error};
use crate::slack::arguments::Arguments;
use crate::slack::state::{FakeSlackState, TokenStatus};

/// What a method requires of its caller.
enum Requirement {
    /// A valid bot token.
    BotToken,
    NoToken,
    /// The app-level token.
    AppToken,
    Scope(&'static str),
    /// A scope such as `channels:…` or `groups:…`, by the kind of the channel in the arguments.
    ChannelScope(&'static str),
}

pub fn check(
    state: &FakeSlackState,
    settings: &FakeSlackSettings,
    method: &str,
    token: Option<&str>,
    arguments: &Arguments,
) -> ApiResult {
    let requirement = requirement(method);
    if matches!(requirement, Requirement::NoToken) {
        return Ok(());
    }
    let token = token.ok_or_else(|| api_error("not_authed"))?;
    let (is_bot, is_app) = (token == state.bot_token, token == state.app_token);
    if !is_bot && !is_app {
        return Err(api_error("invalid_auth"));
    }
    match state.token_status {
        TokenStatus::Valid => {}
        TokenStatus::Revoked => return Err(api_error("token_revoked")),
        TokenStatus::Inactive => return Err(api_error("account_inactive")),
    }
    if is_app != matches!(requirement, Requirement::AppToken) {
        return Err(api_error("not_allowed_token_type"));
    }
    match requirement {
        Requirement::BotToken | Requirement::NoToken | Requirement::AppToken => Ok(()),
        Requirement::Scope(scope) => require_scope(settings, scope),
        Requirement::ChannelScope(action) => {
            let channel = arguments.text("channel").and_then(|id| state.workspace.channel(id).ok());
            // The method itself reports a channel that does not exist.
            channel.map_or(Ok(()), |channel| {
                require_scope(settings, &format!("{}:{action}", channel.kind.scope_prefix()))
            })
        }
    }
}

fn require_scope(settings: &FakeSlackSettings, scope: &str) -> ApiResult {
    if settings.scopes.iter().any(|granted| granted == scope) {
        return Ok(());
    }
    let provided = settings.scopes.join(",");
    Err(api_error("missing_scope").with("needed", scope).with("provided", provided))
}

fn requirement(method: &str) -> Requirement {
    match method {
        "api.test" => Requirement::NoToken,
        "apps.connections.open" => Requirement::AppToken,
        "team.info" => Requirement::Scope("team:read"),
        "usergroups.list" => Requirement::Scope("usergroups:read"),
        "users.list" | "users.info" => Requirement::Scope("users:read"),
        "users.conversations" | "conversations.list" => Requirement::Scope("channels:read"),
        "conversations.info" | "conversations.members" => Requirement::ChannelScope("read"),
        "conversations.history" | "conversations.replies" => Requirement::ChannelScope("history"),
        "conversations.join" => Requirement::Scope("channels:join"),
        "conversations.open" => Requirement::Scope("im:write"),
        "chat.postMessage" | "chat.update" | "chat.delete" | "chat.postEphemeral" => {
            Requirement::Scope("chat:write")
        }
        "reactions.add" | "reactions.remove" => Requirement::Scope("reactions:write"),
        "reactions.get" => Requirement::Scope("reactions:read"),
        // A method without a scope of its own, or an unknown method.
        _ => Requirement::BotToken,
    }
}
