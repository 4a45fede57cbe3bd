//! The `tools.mcp` section: the operator's servers of the Model Context Protocol.

use std::collections::BTreeMap;

use aizuchi_agent::external_tools::ReplyPlace;
use aizuchi_model::chat::Visibility;
use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::channels::ChannelKey;
use crate::secret::Secret;
use crate::values::{BoundedInteger, WebUrl};

/// The authentication schemes that may precede the key in a header.
const SCHEMES: [&str; 2] = ["Bearer ", "Basic "];
/// The headers that the protocol sets itself.
const OWN_HEADERS: [&str; 6] =
    ["accept", "content-length", "content-type", "host", "last-event-id", "mcp-session-id"];

section! {
    /// Model Context Protocol (MCP) servers whose tools Aizuchi may use for its answers.
    pub struct McpConfig {
        /// How long a call that needs consent waits for it. After that, the call is not made.
        pub consent_minutes: BoundedInteger<1, 10_080> = BoundedInteger(60),
        /// The servers, by name. The names of a server's tools begin with its name.
        #[schemars(with = "BTreeMap<String, McpServerConfig>")]
        pub servers: BTreeMap<ServerName, McpServerConfig>,
    }
}

section! {
    /// A server: a program that Aizuchi starts, or an address.
    pub struct McpServerConfig {
        /// Whether the server is used.
        pub enabled: bool = true,
        /// A program that speaks the protocol on its standard input and output. It is started in the config's folder.
        pub command: Option<String>,
        /// The program's arguments.
        pub args: Vec<String>,
        /// The program's environment variables. Besides these, it gets only basic ones such as `PATH`, `HOME` and `LANG`.
        /// Values of eight or more characters count as secrets.
        pub env: BTreeMap<String, Secret>,
        /// The address of a server that speaks the protocol over HTTP.
        pub url: Option<WebUrl>,
        /// Headers that are sent to the address with every request.
        pub headers: BTreeMap<String, Secret>,
        /// The channels in which answers may use the server's tools, by `"#name"` or by id. If omitted: all public
        /// channels. What is said in a private channel may reach the server only if that channel is listed here, and what
        /// is said in direct messages only if their channel is listed by its id.
        #[schemars(with = "Option<Vec<String>>")]
        pub channels: Option<Vec<ChannelKey>>,
        /// The tools that may be used, by the server's names for them. If omitted: those that the server marks as read-only.
        pub tools: Option<Vec<String>>,
        /// Whether calls of tools that the server does not mark as read-only need consent, from the channel's keeper
        /// (`keeper`) or on the console.
        pub consent: ConsentRule,
        /// The tools that may change something without consent for each call, by the server's names for them.
        pub without_consent: Vec<String>,
        /// The timeout of a call.
        pub timeout_seconds: BoundedInteger<1, 600> = BoundedInteger(20),
        /// The longest answer of a tool, in characters; the rest is cut off.
        pub max_output_chars: BoundedInteger<1, 1_000_000> = BoundedInteger(20_000),
    }
}

/// Which calls need consent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ConsentRule {
    /// Every such call needs consent.
    #[default]
    Ask,
    /// No call needs consent. Tools that write run whenever a model calls them.
    None,
}

text_settings! {
    /// The name of a server. It has no underscores, because two of them separate it from the tool's name.
    #[derive(PartialOrd, Ord)]
    ServerName(String) = |text| {
        let is_part = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        ((1..=20).contains(&text.len()) && text.bytes().all(is_part)).then_some(text)
    }, "it must be a name of 1 to 20 small letters, digits and hyphens";
}

impl McpConfig {
    /// The enabled servers by name.
    pub fn used(&self) -> impl Iterator<Item = (&str, &McpServerConfig)> {
        let used = self.servers.iter().filter(|(_, server)| server.enabled);
        used.map(|(name, server)| (name.0.as_str(), server))
    }

    /// How long a call waits to be allowed.
    pub fn consent_lifetime(&self) -> SignedDuration {
        self.consent_minutes.minutes()
    }

    /// Every value that may be a key: headers, with and without their scheme, environment variables, and the values in
    /// a URL's query.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.servers.values().flat_map(|server| {
            let headers = server.headers.values().map(Secret::expose);
            let without_scheme = headers.clone().filter_map(|value| {
                let is_before = |scheme: &&&str| {
                    value
                        .get(..scheme.len())
                        .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
                };
                let scheme = SCHEMES.iter().find(is_before)?;
                Some(value[scheme.len()..].trim())
            });
            // A plain word like `production` is not a key and may legitimately be posted.
            let is_word = |value: &&str| value.bytes().all(|byte| byte.is_ascii_lowercase());
            let variables =
                server.env.values().map(Secret::expose).filter(move |value| !is_word(value));
            let query = server.url.as_ref().and_then(|url| Some(url.0.split_once('?')?.1));
            let query = query.map_or("", |query| query.split('#').next().unwrap_or_default());
            let values = query.split('&').filter_map(|pair| Some(pair.split_once('=')?.1));
            headers.chain(without_scheme).chain(variables).chain(values)
        })
    }
}

impl McpServerConfig {
    /// Whether each call of a tool has to be allowed.
    pub fn needs_consent(&self, tool: &str, is_read_only: bool) -> bool {
        match self.consent {
            ConsentRule::Ask => {
                !is_read_only && !self.without_consent.iter().any(|free| free == tool)
            }
            ConsentRule::None => false,
        }
    }

    /// Checks the settings together. Returns the offending key and a sentence that continues the server's path.
    pub fn problem(&self) -> Option<(&'static str, &'static str)> {
        match (&self.command, &self.url) {
            (None, None) => return Some(("", " needs a command or a url")),
            (Some(_), Some(_)) => {
                return Some(("url", " has a command and a url; keep one of them"));
            }
            (Some(command), None) if command.trim().is_empty() => {
                return Some(("command", ".command must name a program"));
            }
            (Some(_), None) if !self.headers.is_empty() => {
                return Some((
                    "headers",
                    ".headers are sent to a url, but this server is a command",
                ));
            }
            (None, Some(_)) if !self.args.is_empty() => {
                return Some(("args", ".args are for a command, but this server is a url"));
            }
            (None, Some(_)) if !self.env.is_empty() => {
                return Some(("env", ".env is for a command, but this server is a url"));
            }
            (Some(_), None) | (None, Some(_)) => {}
        }
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        let are_sendable = self.headers.iter().all(|(name, value)| {
            let is_own = OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own));
            let is_visible = |byte: u8| (b' '..=b'~').contains(&byte);
            let is_named = !name.is_empty() && name.chars().all(is_name);
            is_named && !is_own && value.expose().bytes().all(is_visible)
        });
        (!are_sendable).then_some((
            "headers",
            ".headers has one that cannot be sent: names are letters, digits and hyphens, values ASCII, and the \
             protocol's own are not set",
        ))
    }

    /// The timeout of a call.
    pub fn time_limit(&self) -> SignedDuration {
        self.timeout_seconds.seconds()
    }

    /// Whether a reply in this place may use the server's tools.
    pub fn is_for(&self, place: ReplyPlace<'_>) -> bool {
        match &self.channels {
            Some(channels) => channels.iter().any(|key| {
                // The name of a direct message is the other user's name, which they choose.
                let is_named = place.visibility != Visibility::Direct
                    && key.0.strip_prefix('#') == Some(place.channel_name);
                key.0 == place.channel.as_str() || is_named
            }),
            None => place.visibility == Visibility::Public,
        }
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::ChannelId;

    use super::*;

    #[test]
    fn a_private_channel_has_to_be_named() {
        let named = |channels: &[&str]| {
            let channels = channels.iter().map(|key| ChannelKey((*key).to_owned()));
            McpServerConfig { channels: Some(channels.collect()), ..Default::default() }
        };
        let is_for = |server: &McpServerConfig, visibility| {
            let channel = ChannelId::new("C1");
            server.is_for(ReplyPlace { channel: &channel, channel_name: "garden", visibility })
        };
        for (server, expected) in [
            (McpServerConfig::default(), [true, false, false]),
            (named(&["#garden"]), [true, true, false]),
            (named(&["C1"]), [true; 3]),
            (named(&["garden", "#C1", "C2"]), [false; 3]),
            (named(&[]), [false; 3]),
        ] {
            let places = [Visibility::Public, Visibility::Private, Visibility::Direct];
            assert_eq!(places.map(|place| is_for(&server, place)), expected, "{server:?}");
        }
    }

    #[test]
    fn keys_are_known_wherever_they_stand() {
        let headers = [("Authorization", "Bearer a-key-in-a-header"), ("X-Key", "another-key")];
        let server = McpServerConfig {
            headers: headers.map(|(name, value)| (name.to_owned(), Secret::new(value))).into(),
            env: [("DATABASE_URL".to_owned(), Secret::new("a-variable"))].into(),
            url: Some(WebUrl("https://tracker.example/mcp?key=in-the-query&b#c".to_owned())),
            ..Default::default()
        };
        let servers = [(ServerName("tracker".to_owned()), server)].into();
        let config = McpConfig { servers, ..McpConfig::default() };
        let expected = [
            "Bearer a-key-in-a-header",
            "another-key",
            "a-key-in-a-header",
            "a-variable",
            "in-the-query",
        ];
        assert_eq!(config.secrets().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn whoever_writes_is_asked_for_unless_the_operator_says_otherwise() {
        let free = vec!["note".to_owned()];
        let asking = McpServerConfig { without_consent: free, ..Default::default() };
        let trusting = McpServerConfig { consent: ConsentRule::None, ..Default::default() };
        for (tool, is_read_only, expected) in [
            ("plant", false, [true, true, false]),
            ("note", false, [true, false, false]),
            ("find", true, [false, false, false]),
        ] {
            let servers = [&McpServerConfig::default(), &asking, &trusting];
            let found = servers.map(|server| server.needs_consent(tool, is_read_only));
            assert_eq!(found, expected, "{tool}");
        }
    }

    #[test]
    fn names_of_servers_cannot_be_confused_with_those_of_tools() {
        for (name, expected) in [
            ("tracker", true),
            ("my-tracker-2", true),
            ("", false),
            ("my_tracker", false),
            ("Tracker", false),
            ("a name", false),
            ("123456789012345678901", false),
        ] {
            assert_eq!(ServerName::try_from(name.to_owned()).is_ok(), expected, "{name}");
        }
    }
}
