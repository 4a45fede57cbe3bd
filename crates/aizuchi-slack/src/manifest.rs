//! The manifest of the Slack app: the scopes of its bot token and the events that it subscribes to. The same lists are
//! used to check a token.

use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlackScope {
    pub name: &'static str,
    /// Completes the sentence “Aizuchi needs it to …”.
    pub reason: &'static str,
}

/// All scopes of the bot. A message contains only the names of custom emoji, so they need no scope.
pub const SCOPES: &[SlackScope] = &[
    scope("app_mentions:read", "notice that somebody mentions it"),
    scope("channels:history", "hear public channels that it was invited to"),
    scope("channels:read", "know the public channels that it is in"),
    scope("chat:write", "speak"),
    scope("commands", "take the command /aizuchi"),
    scope("files:read", "open the pictures and text files that an answer is about"),
    scope("groups:history", "hear private channels that it was invited to"),
    scope("groups:read", "know the private channels that it is in"),
    scope("im:history", "hear direct messages"),
    scope("im:read", "know its direct messages"),
    scope("im:write", "begin a direct message"),
    scope(METADATA_SCOPE, "find its own posts again, so that it never posts twice"),
    scope("mpim:history", "hear group direct messages"),
    scope("mpim:read", "know its group direct messages"),
    scope("reactions:read", "see reactions"),
    scope("reactions:write", "react"),
    scope("team:read", "know the workspace"),
    scope("usergroups:read", "know the names of user groups"),
    scope("users:read", "know people's names"),
];

/// Without this scope, a post whose outcome is unknown cannot be found.
pub const METADATA_SCOPE: &str = "metadata.message:read";

/// All events that the app subscribes to.
pub const EVENTS: &[&str] = &[
    "app_mention", "app_uninstalled", "channel_archive", "channel_deleted", "channel_id_changed",
    "channel_left", "channel_rename", "channel_shared", "channel_unarchive", "channel_unshared",
    "group_archive", "group_deleted", "group_left", "group_rename", "group_unarchive",
    "im_created", "member_joined_channel", "member_left_channel", "message.channels",
    "message.groups", "message.im", "message.mpim", "reaction_added", "reaction_removed",
    "team_join", "tokens_revoked", "user_change",
];

/// The path of the webhook for Slack's requests.
pub const EVENTS_PATH: &str = "/slack/events";

/// Slack's limit, in characters.
pub const MAX_APP_NAME_LENGTH: usize = 35;

const fn scope(name: &'static str, reason: &'static str) -> SlackScope {
    SlackScope { name, reason }
}

/// How the app's events arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ManifestTransport {
    SocketMode,
    /// Requests to this URL, with or without [`EVENTS_PATH`].
    Webhooks(String),
}

/// Returns the scopes that a token lacks. `granted` is the comma-separated list of Slack's response header
/// `x-oauth-scopes`.
pub fn missing_scopes(granted: &str) -> Vec<&'static SlackScope> {
    let has = |scope: &&SlackScope| granted.split(',').any(|granted| granted.trim() == scope.name);
    SCOPES.iter().filter(|scope| !has(scope)).collect()
}

/// Builds the manifest in the format that Slack's page “From a manifest” accepts.
pub fn build_manifest(name: &str, transport: &ManifestTransport) -> Value {
    let url = match transport {
        ManifestTransport::SocketMode => None,
        ManifestTransport::Webhooks(base) => {
            let base = base.trim_end_matches('/');
            Some(format!("{}{EVENTS_PATH}", base.strip_suffix(EVENTS_PATH).unwrap_or(base)))
        }
    };
    let mut command = json!({
        "command": "/aizuchi",
        "description": "How I take part in this channel",
        "should_escape": true,
    });
    let mut events = json!({ "bot_events": EVENTS });
    // For the buttons below a keeper's questions.
    let mut interactivity = json!({ "is_enabled": true });
    if let Some(url) = &url {
        command["url"] = json!(url);
        events["request_url"] = json!(url);
        interactivity["request_url"] = json!(url);
    }
    json!({
        "display_information": {
            "name": name.chars().take(MAX_APP_NAME_LENGTH).collect::<String>().trim_end(),
            "description": "A companion that listens, remembers, and decides by itself when to speak",
        },
        "features": {
            // Without this tab users cannot send direct messages.
            "app_home": {
                "home_tab_enabled": false,
                "messages_tab_enabled": true,
                "messages_tab_read_only_enabled": false,
            },
            "bot_user": { "display_name": display_name(name), "always_online": true },
            "slash_commands": [command],
        },
        "oauth_config": {
            "scopes": { "bot": SCOPES.iter().map(|scope| scope.name).collect::<Vec<_>>() },
        },
        "settings": {
            "event_subscriptions": events,
            "interactivity": interactivity,
            "org_deploy_enabled": false,
            "socket_mode_enabled": url.is_none(),
            // A rotating token expires within hours, and nothing here refreshes it.
            "token_rotation_enabled": false,
        },
    })
}

/// Returns the bot's name with only the characters that a manifest allows. The app's page allows any name.
fn display_name(name: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    let words = name.split(|character| !is_plain(character)).filter(|word| !word.is_empty());
    let plain = words.collect::<Vec<_>>().join("-");
    if plain.is_empty() { "aizuchi".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the scopes that Slack requires to subscribe to an event.
    fn required_scopes(event: &str) -> &'static [&'static str] {
        match event {
            "app_mention" => &["app_mentions:read"],
            "app_uninstalled" | "tokens_revoked" | "channel_id_changed" => &[],
            "message.channels" => &["channels:history"],
            "message.groups" => &["groups:history"],
            "message.im" => &["im:history"],
            "message.mpim" => &["mpim:history"],
            "im_created" => &["im:read"],
            "reaction_added" | "reaction_removed" => &["reactions:read"],
            "team_join" | "user_change" => &["users:read"],
            event if event.starts_with("group_") => &["groups:read"],
            event if event.starts_with("channel_") => &["channels:read"],
            event if event.starts_with("member_") => &["channels:read", "groups:read"],
            event => panic!("{event} has no scopes here"),
        }
    }

    #[test]
    fn every_event_has_its_scopes() {
        for event in EVENTS {
            for required in required_scopes(event) {
                let has_scope = SCOPES.iter().any(|scope| scope.name == *required);
                assert!(has_scope, "{event}: {required}");
            }
        }
        assert!(EVENTS.is_sorted() && SCOPES.is_sorted_by_key(|scope| scope.name));
    }

    #[test]
    fn socket_mode_needs_no_url() {
        let manifest = build_manifest("Mio", &ManifestTransport::SocketMode);
        assert_eq!(manifest["settings"]["socket_mode_enabled"], true);
        assert_eq!(manifest["settings"]["event_subscriptions"]["request_url"], Value::Null);
        assert_eq!(manifest["features"]["slash_commands"][0]["url"], Value::Null);
        assert_eq!(manifest["features"]["bot_user"]["display_name"], "Mio");
    }

    #[test]
    fn web_hooks_share_one_url() {
        for base in ["https://a.example", "https://a.example/", "https://a.example/slack/events"] {
            let manifest = build_manifest("Mio", &ManifestTransport::Webhooks(base.to_owned()));
            let url = "https://a.example/slack/events";
            assert_eq!(manifest["settings"]["socket_mode_enabled"], false);
            assert_eq!(manifest["settings"]["event_subscriptions"]["request_url"], url);
            assert_eq!(manifest["settings"]["interactivity"]["request_url"], url);
            assert_eq!(manifest["features"]["slash_commands"][0]["url"], url);
        }
    }

    #[test]
    fn names_fit_slacks_limits() {
        for (name, app, bot) in [
            ("Aizuchi", "Aizuchi", "Aizuchi"),
            ("Mio the Cat", "Mio the Cat", "Mio-the-Cat"),
            ("ミオ", "ミオ", "aizuchi"),
            (&"x".repeat(40), &*"x".repeat(35), &*"x".repeat(40)),
        ] {
            let manifest = build_manifest(name, &ManifestTransport::SocketMode);
            assert_eq!(manifest["display_information"]["name"], app);
            assert_eq!(manifest["features"]["bot_user"]["display_name"], bot);
        }
    }

    #[test]
    fn missing_scopes_are_named() {
        let all = SCOPES.iter().map(|scope| scope.name).collect::<Vec<_>>();
        assert_eq!(missing_scopes(&all.join(",")), Vec::<&SlackScope>::new());
        assert_eq!(missing_scopes(&all.join(", ")), Vec::<&SlackScope>::new());
        let few = all[2..].join(",");
        let names = missing_scopes(&few).iter().map(|scope| scope.name).collect::<Vec<_>>();
        assert_eq!(names, ["app_mentions:read", "channels:history"]);
        assert_eq!(missing_scopes("").len(), SCOPES.len());
    }
}
