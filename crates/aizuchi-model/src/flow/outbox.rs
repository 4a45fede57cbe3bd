//! The outbox: drafts, the posts that are made of them, and what the platform has accepted.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::chat::owed::Owed;
use crate::chat::{
    Author, AuthorKind, ChannelId, ConversationId, Message, MessageId, Reaction, ReactionChange,
    UserId,
};
use crate::context::seen_revision::SeenRevision;
use crate::decision::DecisionResult;
use crate::decision::gate::Gate;
use crate::memory::{Lineage, MessageRef};

number_id!(
    /// The number of an outbox row.
    OutboxItemId
);

/// One row of the outbox: a draft, or one part of a draft that is too long for one post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxItem {
    pub id: OutboxItemId,
    /// The first item of the same draft.
    pub first_in_draft: OutboxItemId,
    pub conversation: ConversationId,
    /// Sent with the post, so that it can be found in the platform's history (invariant 6).
    pub key: Arc<str>,
    pub text: Arc<str>,
    /// The message that this is a reaction to. If set, the text is the emoji.
    pub reaction_to: Option<MessageId>,
    pub metadata: Arc<DraftMetadata>,
    /// Set when a call to the platform may have been made and its outcome is unknown.
    pub dispatched_at: Option<Timestamp>,
}

impl OutboxItem {
    /// Whether the item was dispatched. From then on only the platform knows its state.
    pub fn is_sending(&self) -> bool {
        self.dispatched_at.is_some()
    }

    /// Whether users may have seen it, or an earlier item of the same draft.
    pub fn is_published(&self) -> bool {
        self.is_sending() || self.id != self.first_in_draft
    }

    /// Returns the stored form of a posted reaction, if this item is one.
    pub fn to_reaction(&self, posted: &PostedMessage) -> Option<Reaction> {
        Some(Reaction {
            workspace: self.conversation.workspace.clone(),
            channel: self.conversation.channel.clone(),
            message: self.reaction_to.clone()?,
            user: posted.author.clone(),
            kind: AuthorKind::Persona,
            emoji: self.text.clone(),
            at: posted.at,
            change: ReactionChange::Added,
        })
    }

    /// Returns the gate that settles the resulting message. Replies to commands and the notice on joining are not part
    /// of the conversation.
    pub fn message_gate(&self) -> Gate {
        let is_notice = self.metadata.owed.contains(&Owed::Join);
        match self.metadata.only_for.is_some() || is_notice {
            true => Gate::Command,
            false => Gate::OwnMessage,
        }
    }

    /// Returns the stored form of a posted message of the persona.
    pub fn to_message(&self, posted: &PostedMessage) -> Message {
        Message {
            conversation: ConversationId {
                thread: posted.thread.clone(),
                ..self.conversation.clone()
            },
            id: posted.id.clone(),
            at: posted.at,
            author: Author { id: posted.author.clone(), kind: AuthorKind::Persona },
            text: self.text.clone(),
            mentions: Vec::new(),
            attachments: Vec::new(),
            edits: 0,
        }
    }
}

/// The content of a post, and its sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub content: DraftContent,
    pub metadata: DraftMetadata,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DraftContent {
    /// In posting order; never empty.
    Text(Vec<String>),
    /// An emoji on a message, without text.
    Reaction { emoji: String, on: MessageId },
}

/// What a finished post needs to know about its draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftMetadata {
    /// The owed messages that it settles without an answer, then those that it answers, and the persona's own join.
    pub owed: Vec<Owed>,
    /// The other messages that belong to what was owed an answer, so that it answers them as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_answers: Vec<MessageId>,
    /// The message that it is about, if it answers one.
    pub about: Option<MessageId>,
    /// The messages that were judged with that one and still call for a word: the next decision judges them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaves_open: Vec<MessageId>,
    /// The sources of its text.
    #[serde(rename = "made_from", default)]
    pub lineage: Lineage,
    /// The store's revision of the context that it was made from.
    #[serde(rename = "considered")]
    pub seen_revision: SeenRevision,
    /// How the decision ends once this is posted. An apology ends it as failed.
    pub ends: DecisionResult,
    /// Why the persona speaks, for users.
    pub why: String,
    /// Set if this answers a command of this user. Then no gate stops it, and only this user sees it if the platform
    /// supports that, unless it is public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_for: Option<UserId>,
    /// Whether it answers a command that everyone in the channel has to know about, such as a mute.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_public: bool,
    /// Whether a user has approved it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_approved: bool,
    /// Whether somebody asked for it to be said at this time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_planned: bool,
    /// How many of the first owed messages it only settles.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub only_settled: usize,
}

impl DraftMetadata {
    /// Returns the metadata of a draft that is made from nothing and answers nothing.
    pub fn new(ends: DecisionResult, why: impl Into<String>) -> Self {
        Self {
            owed: Vec::new(),
            also_answers: Vec::new(),
            about: None,
            leaves_open: Vec::new(),
            lineage: Lineage::default(),
            seen_revision: SeenRevision::Nothing,
            ends,
            why: why.into(),
            only_for: None,
            is_public: false,
            is_approved: false,
            is_planned: false,
            only_settled: 0,
        }
    }

    /// Returns the only user who should see it, if there is one.
    pub fn only_reader(&self) -> Option<&UserId> {
        self.only_for.as_ref().filter(|_| !self.is_public)
    }

    /// Returns the newest message that it answers, unless that is the persona's own join.
    pub fn newest_owed(&self) -> Option<&MessageId> {
        self.owed.last().and_then(Owed::message)
    }

    /// Returns the stored messages of its channel that it answers, with the one that stands for a join.
    pub fn answered_message_refs(&self, channel: &ChannelId) -> Vec<MessageRef> {
        let answered = self.owed.iter().skip(self.only_settled).map(Owed::stored_id);
        let answered = answered.chain(self.about.clone());
        answered.map(|id| MessageRef(channel.clone(), id)).collect()
    }
}

/// A draft that a user has to approve before it is posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedDraft {
    pub draft: Draft,
    /// When it can no longer be approved.
    pub expires: Timestamp,
}

impl ProposedDraft {
    /// Returns the same without its text. It cannot be approved.
    pub fn without_text(self) -> Self {
        let Draft { content, metadata } = self.draft;
        let content = match content {
            DraftContent::Text(posts) => DraftContent::Text(vec![String::new(); posts.len()]),
            reaction @ DraftContent::Reaction { .. } => reaction,
        };
        let metadata = DraftMetadata { why: String::new(), ..metadata };
        Self { draft: Draft { content, metadata }, ..self }
    }
}

/// A message as the platform has accepted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostedMessage {
    pub id: MessageId,
    /// Its thread. A platform may open one for an answer.
    pub thread: Option<MessageId>,
    pub at: Timestamp,
    /// The persona's user on that platform.
    pub author: UserId,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}
