//! The `http` and `health_check` sections.

use std::cmp::Ordering;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use aizuchi_model::access_role::AccessRole;
use aizuchi_model::access_scope::{AccessPlace, AccessScope};
use aizuchi_model::ip_network::IpNetwork;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::secret::Secret;
use crate::secret_strength::is_guessable;
use crate::values::{BoundedInteger, Port};

section! {
    /// The pages and their API.
    pub struct HttpConfig {
        /// The address that serves the pages. An address that other machines can reach needs `http.token`.
        pub listen: ListenAddress = ListenAddress(SocketAddr::from(([127, 0, 0, 1], 8080))),
        /// The token that a visitor must enter: at least 16 characters, hard to guess. Its holder is an admin, who can read
        /// and write in the local room under any name, and read everything and give any order in every workspace.
        pub token: Option<HttpToken>,
        /// More tokens, each with a name and a role.
        pub tokens: Vec<NamedToken>,
        /// Sign-in at a proxy, which names the person in a header.
        pub proxy_sign_in: Option<ProxySignIn>,
        /// Proxies whose `X-Forwarded-For` header is trusted: addresses, or networks like 10.0.0.0/8. From any other peer,
        /// the header is ignored.
        pub trusted_proxies: Vec<IpNetwork>,
        /// Whether programs that speak the Model Context Protocol may look things up at `/mcp`. They can read what the API
        /// shows to their token, and change nothing.
        // It exposes no more than the API does, with the same authentication.
        pub mcp: bool = true,
        /// The largest file that somebody can send in the local room, in kilobytes. 0 accepts none.
        pub max_upload_kilobytes: BoundedInteger<0, 50_000> = BoundedInteger(10_000),
        /// How much space all files of the local room may take in the database, in megabytes. Beyond that, no file is
        /// accepted until messages with files are deleted.
        pub max_uploads_megabytes: BoundedInteger<1, 10_000_000> = BoundedInteger(5_000),
    }
}

impl HttpConfig {
    /// Whether sign-in links are accepted. If only a proxy signs users in, a link would let anyone who reads a backup
    /// bypass it.
    pub fn has_sign_in_links(&self) -> bool {
        self.has_tokens() || self.proxy_sign_in.is_none()
    }

    pub fn has_tokens(&self) -> bool {
        self.token.is_some() || !self.tokens.is_empty()
    }

    /// The maximum size of an upload. With 0, no files are accepted.
    pub fn max_upload_bytes(&self) -> usize {
        self.max_upload_kilobytes.size() * 1_000
    }

    pub fn max_uploads_bytes(&self) -> u64 {
        self.max_uploads_megabytes.0 * 1_000_000
    }

    /// Takes over the tokens of a newer section. Whether there are tokens at all does not change, because that decides
    /// who may reach the pages.
    pub fn with_tokens_of(&self, newer: &Self) -> Self {
        if self.has_tokens() != newer.has_tokens() {
            return self.clone();
        }
        Self { token: newer.token.clone(), tokens: newer.tokens.clone(), ..self.clone() }
    }
}

/// A token of its own for a person or a program.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedToken {
    /// Stands in the record of who read private channels.
    pub name: ReaderName,
    pub role: AccessRole,
    /// At least 16 characters that are hard to guess.
    pub token: HttpToken,
    /// The places that it reaches: ids of workspaces, or of channels like `T0123/C0456`. If omitted: everything.
    #[serde(default)]
    pub only: Option<Vec<PlaceText>>,
}

/// What a proxy of `http.trusted_proxies` says about who has signed in there. People whom no list names, and none of whose
/// groups is listed, have no access. Of several roles, the highest one counts.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProxySignIn {
    /// The header that holds a name or an email address. The proxy must remove it from the requests of its clients.
    pub header: HeaderText,
    /// The admins, as the header names them.
    #[serde(default)]
    pub admins: Vec<ReaderName>,
    /// The operators.
    #[serde(default)]
    pub operators: Vec<ReaderName>,
    /// The viewers.
    #[serde(default)]
    pub viewers: Vec<ReaderName>,
    /// The header that holds the person's groups, separated by commas. The proxy must remove it from the requests of its
    /// clients, too.
    #[serde(default = "groups_header")]
    pub groups_header: HeaderText,
    /// What the members of groups may do. Without groups, their header is ignored.
    #[serde(default)]
    pub groups: Vec<ProxyGroup>,
}

/// A group of people at the proxy.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProxyGroup {
    /// As the header names it.
    pub group: GroupName,
    pub role: AccessRole,
    /// The places that its members reach, as for a token. If omitted: everything.
    #[serde(default)]
    pub only: Option<Vec<PlaceText>>,
}

fn groups_header() -> HeaderText {
    HeaderText("X-Forwarded-Groups".to_owned())
}

impl ProxySignIn {
    /// The access of a person with these groups: the highest role that they have, wherever they have it.
    pub fn access_of(&self, name: &str, groups: &str) -> Option<(AccessRole, AccessScope)> {
        let lists = [
            (AccessRole::Admin, &self.admins),
            (AccessRole::Operator, &self.operators),
            (AccessRole::Viewer, &self.viewers),
        ];
        let lists = lists.into_iter().filter(|(_, list)| list.iter().any(|it| it.0 == name));
        let lists = lists.map(|(role, _)| (role, AccessScope::Everything));
        let is_member = |it: &&ProxyGroup| groups.split(',').any(|own| own.trim() == it.group.0);
        let groups =
            self.groups.iter().filter(is_member).map(|it| (it.role, scope(it.only.as_deref())));
        // The name stands in the journals.
        ReaderName::try_from(name.to_owned()).ok()?;
        lists.chain(groups).reduce(|one, other| match one.0.cmp(&other.0) {
            Ordering::Less => other,
            Ordering::Equal => (one.0, one.1.or(other.1)),
            Ordering::Greater => one,
        })
    }
}

/// The scope of a setting `only`.
pub fn scope(only: Option<&[PlaceText]>) -> AccessScope {
    match only {
        Some(places) => AccessScope::Only(places.iter().map(|place| place.0.clone()).collect()),
        None => AccessScope::Everything,
    }
}

text_settings! {
    /// The name of somebody who signs in.
    #[schemars(extend("minLength" = 1, "maxLength" = 100))]
    ReaderName(String) = |text| {
        let is_known = |letter: char| letter.is_alphanumeric() || "._-+@".contains(letter);
        ((1..=100).contains(&text.chars().count()) && text.chars().all(is_known)).then_some(text)
    }, "it must be a name or an address of at most 100 letters, digits and . _ - + @";
    /// The name of a group.
    #[schemars(extend("minLength" = 1))]
    GroupName(String) = |text| {
        (!text.is_empty() && text.trim() == text && !text.contains(',')).then_some(text)
    }, "it must be the name of a group, without commas";
    /// A workspace, or one of its channels.
    PlaceText(AccessPlace) = |text| AccessPlace::parse(&text),
        "it must be the id of a workspace, like T0123, discord:456 or local, or of a channel of Slack or Discord with it, \
         like T0123/C0789 or discord:456/789";
    /// The name of an HTTP header.
    #[schemars(extend("minLength" = 1))]
    HeaderText(String) = |text| {
        let is_known = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        (!text.is_empty() && text.chars().all(is_known)).then_some(text)
    }, "it must be the name of a header, like X-Forwarded-Email";
    /// An address and a port.
    #[derive(Copy)]
    ListenAddress(SocketAddr) = |text| text.parse().ok(), "it must be an address like 127.0.0.1:8080";
}

/// A second listener, on all interfaces, that reports only whether Aizuchi is alive, ready and connected.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HealthCheckConfig {
    /// The listener's port. If omitted: there is no listener.
    pub port: Option<Port>,
    /// Whether the listener also serves `/metrics`, without a token. The metrics contain no text and no names, but ids
    /// of workspaces.
    pub metrics: bool,
}

/// A secret that is hard to guess.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("format" = "password", "minLength" = 16))]
pub struct HttpToken(pub Secret);

/// The address of the pages at a listener, for a browser on this machine.
pub fn page_address(mut listen: SocketAddr) -> String {
    match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => listen.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => listen.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    format!("http://{listen}")
}

impl HttpConfig {
    /// Whether only visitors who sign in have access.
    pub fn is_closed(&self) -> bool {
        self.has_tokens() || self.proxy_sign_in.is_some()
    }
}

impl TryFrom<String> for HttpToken {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        if value.trim().chars().count() < 16 {
            return Err("it must have at least 16 characters");
        }
        if is_guessable(&value) {
            return Err(
                "it is easy to guess (well-known words, sequences and repeated characters count for little); \
                        make a random one, for example with `openssl rand -hex 16`",
            );
        }
        Ok(Self(Secret::new(&value)))
    }
}
