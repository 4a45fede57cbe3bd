//! The position of a forgetting. It is stored with every step, so that the job resumes there after a crash.

use serde::{Deserialize, Serialize};

/// The phases, in this order. Messages keep their author until everything that is found through them is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForgetPhase {
    /// The user's messages are marked as deleted, which keeps what is needed to find the rest: prompts, search and
    /// pages no longer show them.
    Hide,
    /// Memory entries and memos made from the messages.
    Memories,
    /// Prompts and answers that held one of the messages.
    Prompts,
    /// Reasons of the decisions about the messages, and texts that were never posted.
    Decisions,
    /// The persona's posts and drafts in answer to the messages, or made from them.
    Outbox,
    // The next phases find texts that name or quote the user. They are repeated for each part of the user's texts.
    OwnMessages,
    Entries,
    Memos,
    Reasons,
    Drafts,
    DeadLetters,
    /// Prompts that held one of the changed memories and memos.
    MemoryPrompts,
    Reactions,
    Mentions,
    /// The names of direct channels.
    Channels,
    /// The messages themselves become anonymous tombstones.
    Messages,
    /// The names that the user had.
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

    /// Whether the phase searches for names and quotes of the user.
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

    /// How many phases are done before this one, and how many there are.
    pub fn progress(self) -> (usize, usize) {
        let done = Self::ALL.into_iter().take_while(|phase| *phase != self).count();
        (done, Self::ALL.len())
    }

    /// The next phase, unless this is the last one.
    pub fn next(self) -> Option<Self> {
        Self::ALL.into_iter().skip_while(|phase| *phase != self).nth(1)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetPosition {
    pub phase: ForgetPhase,
    /// The next page begins after this number (in [`ForgetPhase::Hide`], before it), or after these columns.
    pub after: i64,
    pub after_key: Vec<String>,
    /// The loaded part of the user's texts begins after this revision.
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
