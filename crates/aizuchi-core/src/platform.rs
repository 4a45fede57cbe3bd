//! Where the persona lives: one port for all chat platforms. What they deliver goes to
//! [`crate::hear::Ears`]; what is said goes out here.

pub mod air;
pub mod backoff;
pub mod catching_up;
pub mod dismissal;
pub mod local;
pub mod people;
pub mod read;
pub mod slash;
pub mod split;
pub mod strong;
pub mod table;
pub mod wanted;
pub mod wire;

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::SignedDuration;

use crate::chat::{ConversationId, WorkspaceId};
use crate::command::answer::Answers;
use crate::event::{Piece, Posted};
use crate::hear::Ears;
use crate::persona::Persona;
use crate::platform::catching_up::Progress;
use crate::store::Archive;

#[async_trait]
pub trait Platform: Send + Sync {
    /// Says a piece where its conversation is, or puts its emoji on a line. The piece's key travels with
    /// what is said; reacting twice is reacting once.
    async fn post(&self, piece: &Piece) -> Result<Posted, PlatformError>;

    /// Shows, for as long as this is polled, that somebody will get an answer.
    async fn show_thinking(&self, _conversation: &ConversationId) {}

    /// Shows that it types what it is about to say. Returns how long people shall see that before it is
    /// said; what is ordered or said meanwhile counts.
    async fn show_typing(&self, _piece: &Piece) -> SignedDuration {
        SignedDuration::ZERO
    }

    /// Looks for a dispatched piece by its key in the conversation's history.
    async fn find(&self, piece: &Piece) -> Result<Option<Posted>, PlatformError>;

    /// How long after a dispatch its request is surely dead, so that absent means not said.
    fn settle(&self) -> SignedDuration;

    /// Why nothing can be heard from it now, if so.
    fn off_air(&self) -> Option<String> {
        None
    }

    /// How far what was missed has been read, where anything can be missed.
    fn catching_up(&self) -> Option<Progress> {
        None
    }

    /// What was said there lately may not have been heard yet.
    fn is_behind(&self, _conversation: &ConversationId) -> bool {
        false
    }

    /// How long a post may be, as [`split::length`] counts.
    fn longest_post(&self) -> usize;
}

/// What the caller does next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlatformError {
    /// Surely not said; try again after a while.
    #[error("the platform is busy: {why}")]
    Busy { why: String, retry_after: Option<SignedDuration> },
    /// Not tried: others are said there first, and so long that takes.
    #[error("others wait to be said there")]
    Queued { wait: SignedDuration },
    /// Surely not said, and never will be.
    #[error("the platform refuses: {0}")]
    Refused(String),
    /// It may have been said; look before you repeat it.
    #[error("the platform's answer is not known: {0}")]
    Unknown(String),
}

/// What a platform of real people lives on.
pub struct Surroundings {
    pub persona: Arc<Persona>,
    pub ears: Arc<Ears>,
    pub archive: Arc<dyn Archive>,
    pub answers: Arc<Answers>,
}

/// The platform of each workspace, or of all that have its name before a colon.
#[derive(Clone, Default)]
pub struct Platforms(pub HashMap<WorkspaceId, Arc<dyn Platform>>);

impl Platforms {
    /// How far each of them is that can miss anything, in the order of their names.
    pub fn catching_up(&self) -> Vec<Progress> {
        let mut told: Vec<Progress> = self.0.values().filter_map(|it| it.catching_up()).collect();
        told.sort_by_key(|progress| progress.platform);
        told
    }

    pub fn of(&self, workspace: &WorkspaceId) -> Result<&Arc<dyn Platform>, PlatformError> {
        let absent =
            || PlatformError::Refused(format!("the workspace {workspace} is not connected"));
        let kind = || workspace.as_str().split_once(':').map(|(kind, _)| WorkspaceId::new(kind));
        self.0.get(workspace).or_else(|| self.0.get(&kind()?)).ok_or_else(absent)
    }
}
