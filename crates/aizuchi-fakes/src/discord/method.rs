//! The requests that this fake answers: their names, verbs and paths.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

macro_rules! methods {
    ($($name:ident $verb:literal $path:literal)*) => {
        /// One kind of request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Method {
            $($name),*
        }

        /// The verb and the path of each; a part in braces stands for an id, a token or an emoji.
        const PATHS: &[(Method, &str, &str)] = &[$((Method::$name, $verb, $path)),*];
    };
}

methods! {
    GetGateway "GET" "gateway"
    GetGatewayBot "GET" "gateway/bot"
    GetMe "GET" "users/@me"
    GetMyGuilds "GET" "users/@me/guilds"
    LeaveGuild "DELETE" "users/@me/guilds/{guild}"
    CreateDirect "POST" "users/@me/channels"
    GetUser "GET" "users/{user}"
    GetMyApplication "GET" "applications/@me"
    GetMyOauthApplication "GET" "oauth2/applications/@me"
    GetGuild "GET" "guilds/{guild}"
    GetGuildChannels "GET" "guilds/{guild}/channels"
    GetActiveThreads "GET" "guilds/{guild}/threads/active"
    GetRoles "GET" "guilds/{guild}/roles"
    GetEmojis "GET" "guilds/{guild}/emojis"
    GetMembers "GET" "guilds/{guild}/members"
    SearchMembers "GET" "guilds/{guild}/members/search"
    GetMember "GET" "guilds/{guild}/members/{user}"
    ChangeMyMember "PATCH" "guilds/{guild}/members/@me"
    GetChannel "GET" "channels/{channel}"
    ChangeChannel "PATCH" "channels/{channel}"
    DeleteChannel "DELETE" "channels/{channel}"
    RuleChannel "PUT" "channels/{channel}/permissions/{overwrite}"
    ForgetRule "DELETE" "channels/{channel}/permissions/{overwrite}"
    GetMessages "GET" "channels/{channel}/messages"
    GetMessage "GET" "channels/{channel}/messages/{message}"
    CreateMessage "POST" "channels/{channel}/messages"
    ChangeMessage "PATCH" "channels/{channel}/messages/{message}"
    DeleteMessage "DELETE" "channels/{channel}/messages/{message}"
    DeleteMessages "POST" "channels/{channel}/messages/bulk-delete"
    GetReactions "GET" "channels/{channel}/messages/{message}/reactions/{emoji}"
    CreateReaction "PUT" "channels/{channel}/messages/{message}/reactions/{emoji}/@me"
    DeleteMyReaction "DELETE" "channels/{channel}/messages/{message}/reactions/{emoji}/@me"
    DeleteReaction "DELETE" "channels/{channel}/messages/{message}/reactions/{emoji}/{user}"
    DeleteReactions "DELETE" "channels/{channel}/messages/{message}/reactions"
    StartTyping "POST" "channels/{channel}/typing"
    StartThreadFrom "POST" "channels/{channel}/messages/{message}/threads"
    StartThread "POST" "channels/{channel}/threads"
    GetArchivedThreads "GET" "channels/{channel}/threads/archived/public"
    GetPrivateArchivedThreads "GET" "channels/{channel}/threads/archived/private"
    GetThreadMember "GET" "channels/{channel}/thread-members/{user}"
    GetThreadMembers "GET" "channels/{channel}/thread-members"
    JoinThread "PUT" "channels/{channel}/thread-members/@me"
    AddThreadMember "PUT" "channels/{channel}/thread-members/{user}"
    LeaveThread "DELETE" "channels/{channel}/thread-members/@me"
    RemoveThreadMember "DELETE" "channels/{channel}/thread-members/{user}"
    GetCommands "GET" "applications/{application}/commands"
    CreateCommand "POST" "applications/{application}/commands"
    SetCommands "PUT" "applications/{application}/commands"
    DeleteCommand "DELETE" "applications/{application}/commands/{command}"
    GetGuildCommands "GET" "applications/{application}/guilds/{guild}/commands"
    CreateGuildCommand "POST" "applications/{application}/guilds/{guild}/commands"
    SetGuildCommands "PUT" "applications/{application}/guilds/{guild}/commands"
    DeleteGuildCommand "DELETE" "applications/{application}/guilds/{guild}/commands/{command}"
    AnswerInteraction "POST" "interactions/{interaction}/{token}/callback"
    FollowUp "POST" "webhooks/{application}/{token}"
    GetAnswer "GET" "webhooks/{application}/{token}/messages/{message}"
    ChangeAnswer "PATCH" "webhooks/{application}/{token}/messages/{message}"
    DeleteAnswer "DELETE" "webhooks/{application}/{token}/messages/{message}"
}

/// The parts of a path that stand in braces, by their names.
pub type PathParameters = BTreeMap<&'static str, String>;

/// Why a path leads nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteError {
    NotFound,
    MethodNotAllowed,
}

impl Method {
    /// Finds the kind of a request.
    pub fn from_route(verb: &str, path: &str) -> Result<(Self, PathParameters), RouteError> {
        let mut astray = RouteError::NotFound;
        // What is written out comes before what stands in braces.
        let mut found: Option<(Self, PathParameters)> = None;
        for (method, known_verb, pattern) in PATHS {
            let Some(parts) = match_path(pattern, path) else {
                continue;
            };
            if verb != *known_verb {
                astray = RouteError::MethodNotAllowed;
            } else if found.as_ref().is_none_or(|(_, best)| parts.len() < best.len()) {
                found = Some((*method, parts));
            }
        }
        found.ok_or(astray)
    }

    /// Whether the token in the path is proof enough.
    pub fn has_token_in_path(self) -> bool {
        matches!(
            self,
            Self::GetGateway
                | Self::AnswerInteraction
                | Self::FollowUp
                | Self::GetAnswer
                | Self::ChangeAnswer
                | Self::DeleteAnswer
        )
    }
}

fn match_path(pattern: &'static str, path: &str) -> Option<PathParameters> {
    let mut parts = PathParameters::new();
    let mut given = path.split('/');
    for known in pattern.split('/') {
        let part = given.next()?;
        match known.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => {
                parts.insert(name, part.to_owned());
            }
            None if known == part => {}
            None => return None,
        }
    }
    given.next().is_none().then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart() {
        let found = |verb, path| Method::from_route(verb, path).map(|(method, _)| method);
        assert_eq!(found("GET", "users/@me"), Ok(Method::GetMe));
        assert_eq!(found("GET", "users/17"), Ok(Method::GetUser));
        assert_eq!(found("POST", "channels/1/messages/bulk-delete"), Ok(Method::DeleteMessages));
        assert_eq!(
            found("DELETE", "channels/1/messages/2/reactions/x/@me"),
            Ok(Method::DeleteMyReaction)
        );
        assert_eq!(found("PUT", "users/@me"), Err(RouteError::MethodNotAllowed));
        assert_eq!(found("GET", "users"), Err(RouteError::NotFound));
        let (_, parts) = Method::from_route("GET", "channels/1/messages/2").unwrap();
        assert_eq!(
            parts,
            PathParameters::from([("channel", "1".to_owned()), ("message", "2".to_owned())])
        );
    }
}
