//! Which earlier message a message most probably replies to, as the store keeps it.

use std::collections::BTreeMap;

use aizuchi_structure::LINKS_VERSION;

use crate::chat::MessageId;

/// The links of one message. They are determined when it is heard, stored with it, and determined again when it or an
/// earlier message is edited or deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageLinks {
    /// The probability that it begins something new.
    pub begins: f32,
    /// The messages that it may reply to, with their probabilities.
    pub parents: BTreeMap<MessageId, f32>,
    pub source: LinkSource,
}

/// The source of a message's links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkSource {
    /// The platform. Such links are certain, and are kept.
    Platform,
    /// The shipped models of this version ([`LINKS_VERSION`]).
    Models(u32),
}

impl MessageLinks {
    /// Returns the links of a message that replies to `parent` according to the platform.
    pub fn reply_to(parent: MessageId) -> Self {
        Self::given(vec![parent])
    }

    /// Returns the links of a message that replies to these messages according to the platform.
    pub fn given(parents: Vec<MessageId>) -> Self {
        let begins = if parents.is_empty() { 1.0 } else { 0.0 };
        let share = 1.0 / parents.len().max(1) as f32;
        let parents = parents.into_iter().map(|parent| (parent, share)).collect();
        Self { begins, parents, source: LinkSource::Platform }
    }
}

impl LinkSource {
    pub const SHIPPED: Self = Self::Models(LINKS_VERSION);

    /// Returns the version number that the store keeps: 0 for the platform.
    pub fn version(self) -> u32 {
        match self {
            Self::Platform => 0,
            Self::Models(version) => version,
        }
    }

    pub fn from_version(version: u32) -> Self {
        match version {
            0 => Self::Platform,
            version => Self::Models(version),
        }
    }

    /// Whether links from this source are still valid.
    pub fn is_current(self) -> bool {
        self == Self::Platform || self == Self::SHIPPED
    }
}
