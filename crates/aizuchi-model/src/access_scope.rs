//! The places to which a visitor of the pages and the API may be limited.

use std::collections::BTreeSet;

use crate::chat::local::workspace_id;
use crate::chat::{ChannelId, WorkspaceId};

/// What a visitor has access to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AccessScope {
    /// The whole installation.
    #[default]
    Everything,
    Only(BTreeSet<AccessPlace>),
}

/// A workspace, or one of its channels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccessPlace {
    pub workspace: WorkspaceId,
    pub channel: Option<ChannelId>,
}

impl AccessPlace {
    /// Parses `T0123`, `T0123/C0456`, `discord:123`, `discord:123/456`, `discord` (direct messages) or `local`. The
    /// channels of the local room belong together.
    pub fn parse(text: &str) -> Option<Self> {
        let (workspace, channel) = match text.split_once('/') {
            Some((workspace, channel)) => (workspace, Some(channel)),
            None => (text, None),
        };
        let id = WorkspaceId::new(workspace);
        let is_known = match (id.platform(), workspace.contains(':')) {
            ("slack", false) => workspace != "slack",
            ("discord", _) => true,
            _ => id == workspace_id() && channel.is_none(),
        };
        let is_id =
            |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_alphanumeric());
        let own = workspace.rsplit(':').next().unwrap_or_default();
        (is_known && [own].into_iter().chain(channel).all(is_id))
            .then(|| Self { workspace: id, channel: channel.map(ChannelId::new) })
    }
}

impl AccessScope {
    /// Whether a channel is in it, or without a channel, the whole workspace.
    pub fn includes(&self, workspace: &WorkspaceId, channel: Option<&ChannelId>) -> bool {
        let has = |own: &AccessPlace| {
            own.workspace == *workspace
                && (own.channel.is_none() || own.channel.as_ref() == channel)
        };
        match self {
            AccessScope::Everything => true,
            AccessScope::Only(places) => places.iter().any(has),
        }
    }

    /// Whether any part of a workspace is in it.
    pub fn touches(&self, workspace: &WorkspaceId) -> bool {
        match self {
            AccessScope::Everything => true,
            AccessScope::Only(places) => places.iter().any(|own| own.workspace == *workspace),
        }
    }

    /// The places, if it is limited.
    pub fn places(&self) -> impl Iterator<Item = &AccessPlace> {
        let places = match self {
            AccessScope::Everything => None,
            AccessScope::Only(places) => Some(places),
        };
        places.into_iter().flatten()
    }

    /// What either of two scopes includes.
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (AccessScope::Only(mut one), AccessScope::Only(other)) => {
                one.extend(other);
                AccessScope::Only(one)
            }
            (AccessScope::Everything, _) | (_, AccessScope::Everything) => AccessScope::Everything,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(places: &[&str]) -> AccessScope {
        AccessScope::Only(places.iter().map(|it| AccessPlace::parse(it).unwrap()).collect())
    }

    #[test]
    fn a_place_is_a_workspace_or_a_channel_of_one() {
        for (text, expected) in [
            ("T0123", Some(("T0123", None))),
            ("T0123/C0456", Some(("T0123", Some("C0456")))),
            ("discord:12/34", Some(("discord:12", Some("34")))),
            ("discord/34", Some(("discord", Some("34")))),
            ("local", Some(("local", None))),
            ("local/general", None),
            ("slack:T0123", None),
            ("slack", None),
            ("discord:", None),
            ("T0123/", None),
            ("T0123/#tea", None),
            ("T0123/C1/2", None),
            ("#tea", None),
            ("", None),
        ] {
            let found = AccessPlace::parse(text);
            let found = found
                .as_ref()
                .map(|it| (it.workspace.as_str(), it.channel.as_ref().map(ChannelId::as_str)));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_scope_includes_what_it_names_and_nothing_else() {
        let scope = only(&["T1", "discord:2/3"]);
        let (slack, discord) = (WorkspaceId::new("T1"), WorkspaceId::new("discord:2"));
        let (three, four) = (ChannelId::new("3"), ChannelId::new("4"));
        for (workspace, channel, expected) in [
            (&slack, None, true),
            (&slack, Some(&three), true),
            (&discord, None, false),
            (&discord, Some(&three), true),
            (&discord, Some(&four), false),
            (&workspace_id(), None, false),
        ] {
            assert_eq!(scope.includes(workspace, channel), expected, "{workspace} {channel:?}");
            assert!(AccessScope::Everything.includes(workspace, channel));
        }
        assert!(scope.touches(&slack) && scope.touches(&discord));
        assert!(!scope.touches(&workspace_id()) && !only(&[]).touches(&slack));
        assert_eq!(only(&["T1"]).or(only(&["discord:2/3"])), scope);
        assert_eq!(scope.or(AccessScope::Everything), AccessScope::Everything);
    }
}
