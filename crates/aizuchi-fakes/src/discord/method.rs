//! The routes of the REST API, each with a name, an HTTP method and a path.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

macro_rules! methods {
    ($($name:ident $http_method:literal $path:literal)*) => {
        /// A kind of request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Method {
            $($name),*
        }

        /// The HTTP method and the path of each route. A part in braces is a placeholder for an id, a token or an
        /// emoji.
        const PATHS: &[(Method, &str, &str)] = &[$((Method::$name, $http_method, $path)),*];
    };
}

methods! {
    GetGatewayBot "GET" "gateway/bot"
    GetMe "GET" "users/@me"
    GetMyGuilds "GET" "users/@me/guilds"
    CreateDirect "POST" "users/@me/channels"
    GetUser "GET" "users/{user}"
    GetMyApplication "GET" "applications/@me"
    GetGuild "GET" "guilds/{guild}"
    GetGuildChannels "GET" "guilds/{guild}/channels"
    GetActiveThreads "GET" "guilds/{guild}/threads/active"
    GetRoles "GET" "guilds/{guild}/roles"
    GetMembers "GET" "guilds/{guild}/members"
    SearchMembers "GET" "guilds/{guild}/members/search"
    GetMember "GET" "guilds/{guild}/members/{user}"
    GetChannel "GET" "channels/{channel}"
    PutOverwrite "PUT" "channels/{channel}/permissions/{overwrite}"
    DeleteOverwrite "DELETE" "channels/{channel}/permissions/{overwrite}"
    GetMessages "GET" "channels/{channel}/messages"
    GetMessage "GET" "channels/{channel}/messages/{message}"
    CreateMessage "POST" "channels/{channel}/messages"
    ChangeMessage "PATCH" "channels/{channel}/messages/{message}"
    DeleteMessage "DELETE" "channels/{channel}/messages/{message}"
    DeleteMessages "POST" "channels/{channel}/messages/bulk-delete"
    GetReactions "GET" "channels/{channel}/messages/{message}/reactions/{emoji}"
    CreateReaction "PUT" "channels/{channel}/messages/{message}/reactions/{emoji}/@me"
    DeleteMyReaction "DELETE" "channels/{channel}/messages/{message}/reactions/{emoji}/@me"
    StartTyping "POST" "channels/{channel}/typing"
    StartThreadFrom "POST" "channels/{channel}/messages/{message}/threads"
    StartThread "POST" "channels/{channel}/threads"
    GetArchivedThreads "GET" "channels/{channel}/threads/archived/public"
    GetThreadMembers "GET" "channels/{channel}/thread-members"
    GetCommands "GET" "applications/{application}/commands"
    SetCommands "PUT" "applications/{application}/commands"
    GetGuildCommands "GET" "applications/{application}/guilds/{guild}/commands"
    SetGuildCommands "PUT" "applications/{application}/guilds/{guild}/commands"
    AnswerInteraction "POST" "interactions/{interaction}/{token}/callback"
    FollowUp "POST" "webhooks/{application}/{token}"
    ChangeAnswer "PATCH" "webhooks/{application}/{token}/messages/{message}"
    DeleteAnswer "DELETE" "webhooks/{application}/{token}/messages/{message}"
}

/// The values of the placeholders, by name.
pub type PathParameters = BTreeMap<&'static str, String>;

/// Why no route matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteError {
    NotFound,
    MethodNotAllowed,
}

impl Method {
    /// Finds the route of a request.
    pub fn from_route(http_method: &str, path: &str) -> Result<(Self, PathParameters), RouteError> {
        let mut error = RouteError::NotFound;
        // The route with the fewest placeholders wins, so `users/@me` takes precedence over `users/{user}`.
        let mut best_match: Option<(Self, PathParameters)> = None;
        for (method, route_method, pattern) in PATHS {
            let Some(path_parameters) = match_path(pattern, path) else {
                continue;
            };
            if http_method != *route_method {
                error = RouteError::MethodNotAllowed;
            } else if best_match.as_ref().is_none_or(|(_, best)| path_parameters.len() < best.len())
            {
                best_match = Some((*method, path_parameters));
            }
        }
        best_match.ok_or(error)
    }

    /// Whether the request needs no bot token, because its path has a token of its own.
    pub fn has_token_in_path(self) -> bool {
        let with_token =
            [Self::AnswerInteraction, Self::FollowUp, Self::ChangeAnswer, Self::DeleteAnswer];
        with_token.contains(&self)
    }
}

fn match_path(pattern: &'static str, path: &str) -> Option<PathParameters> {
    let mut path_parameters = PathParameters::new();
    let mut parts = path.split('/');
    for expected in pattern.split('/') {
        let part = parts.next()?;
        match expected.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => {
                path_parameters.insert(name, part.to_owned());
            }
            None if expected == part => {}
            None => return None,
        }
    }
    parts.next().is_none().then_some(path_parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_match_by_method_and_path() {
        let route =
            |http_method, path| Method::from_route(http_method, path).map(|(method, _)| method);
        assert_eq!(route("GET", "users/@me"), Ok(Method::GetMe));
        assert_eq!(route("GET", "users/17"), Ok(Method::GetUser));
        assert_eq!(route("POST", "channels/1/messages/bulk-delete"), Ok(Method::DeleteMessages));
        assert_eq!(
            route("DELETE", "channels/1/messages/2/reactions/x/@me"),
            Ok(Method::DeleteMyReaction)
        );
        assert_eq!(route("PUT", "users/@me"), Err(RouteError::MethodNotAllowed));
        assert_eq!(route("GET", "users"), Err(RouteError::NotFound));
        let (_, path_parameters) = Method::from_route("GET", "channels/1/messages/2").unwrap();
        assert_eq!(
            path_parameters,
            PathParameters::from([("channel", "1".to_owned()), ("message", "2".to_owned())])
        );
    }
}
