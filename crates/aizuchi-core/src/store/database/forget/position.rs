//! How far a forgetting is. It is stored with every step, so that it goes on there after a crash.

use serde::{Deserialize, Serialize};

/// What is done, in this order. Messages keep their author until everything that is found by them is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForgetPhase {
    /// The user's messages are deleted, but for what is needed to find the rest: prompts, search and pages do not show
    /// them any more.
    Hide,
    /// Entries and memos made from the messages.
    Memories,
    /// Prompts and answers that held one of them.
    Prompts,
    /// Reasons of the decisions about them, and texts that were never posted.
    Decisions,
    /// What the persona said or meant to say in answer to them, or from them.
    Outbox,
    // What names or quotes the user, once for each part of the user's texts.
    OwnMessages,
    Entries,
    Memos,
    Reasons,
    Drafts,
    DeadLetters,
    /// Prompts that held one of the memories and memos that were changed.
    MemoryPrompts,
    Reactions,
    Mentions,
    /// The names of direct channels.
    Channels,
    /// The messages themselves become anonymous tombstones.
    Messages,
    /// The names that they had.
    User,
}

impl ForgetPhase {
    const ALL: [Self; 17] = [
        Self::Hide,
        Self::Memories,
        Self::Prompts,
        Self::Decisions,
        Self::Outbox,
        Self::OwnMessages,
        Self::Entries,
        Self::Memos,
        Self::Reasons,
        Self::Drafts,
        Self::DeadLetters,
        Self::MemoryPrompts,
        Self::Reactions,
        Self::Mentions,
        Self::Channels,
        Self::Messages,
        Self::User,
    ];

    /// Whether it looks for names and quotes of the user.
    pub fn looks_for_references(self) -> bool {
        match self {
            Self::OwnMessages
            | Self::Entries
            | Self::Memos
            | Self::Reasons
            | Self::Drafts
            | Self::DeadLetters => true,
            Self::Hide
            | Self::Memories
            | Self::Prompts
            | Self::Decisions
            | Self::Outbox
            | Self::MemoryPrompts
            | Self::Reactions
            | Self::Mentions
            | Self::Channels
            | Self::Messages
            | Self::User => false,
        }
    }

    /// The phase that follows, unless this is the last one.
    pub fn next(self) -> Option<Self> {
        Self::ALL.into_iter().skip_while(|phase| *phase != self).nth(1)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetPosition {
    pub phase: ForgetPhase,
    /// What comes next follows this number (in [`ForgetPhase::Hide`], precedes it), or these columns.
    pub after: i64,
    pub after_key: Vec<String>,
    /// The part of the user's texts that is looked for begins after this revision.
    pub texts_after: i64,
}

impl ForgetPosition {
    pub fn start_of(phase: ForgetPhase) -> Self {
        Self { phase, after: 0, after_key: Vec::new(), texts_after: 0 }
    }

    /// The start of the next phase, with the same part of the texts.
    pub fn next_phase(&self) -> Option<Self> {
        let phase = self.phase.next()?;
        Some(Self { texts_after: self.texts_after, ..Self::start_of(phase) })
    }

    pub fn at(&self, after: i64) -> Self {
        Self { after, ..self.clone() }
    }
}
