//! Where the persona lives: one port for all chat platforms. What they deliver goes to
//! [`crate::hear::Ears`]; what is said goes out here.

pub mod connection_status;
pub mod backoff;
pub mod backfill;
pub mod revocation;
pub mod local;
pub mod user_names;
pub mod parsed_text;
pub mod slash_command;
pub mod split;
pub mod emphasis;
pub mod table;
pub mod backfill_queue;
pub mod http_error;

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::SignedDuration;

use crate::chat::{ConversationId, WorkspaceId};
use crate::command::reply::CommandReplies;
use crate::event::{OutboxItem, PostedMessage};
use crate::inbox::Inbox;
use crate::persona::Persona;
use crate::platform::backfill::BackfillProgress;
use crate::store::Archive;

#[async_trait]
pub trait Platform: Send + Sync {
    /// Says a piece where its conversation is, or puts its emoji on a line. The piece's key travels with
    /// what is said; reacting twice is reacting once.
    async fn post(&self, piece: &OutboxItem) -> Result<PostedMessage, PlatformError>;

    /// Shows, for as long as this is polled, that somebody will get an answer.
    async fn show_thinking(&self, _conversation: &ConversationId) {}

    /// Shows that it types what it is about to say. Returns how long people shall see that before it is
    /// said; what is ordered or said meanwhile counts.
    async fn show_typing(&self, _piece: &OutboxItem) -> SignedDuration {
        SignedDuration::ZERO
    }

    /// Looks for a dispatched piece by its key in the conversation's history.
    async fn find_posted(&self, piece: &OutboxItem)
    -> Result<Option<PostedMessage>, PlatformError>;

    /// How long after a dispatch its request is surely dead, so that absent means not said.
    fn settle_time(&self) -> SignedDuration;

    /// Why nothing can be heard from it now, if so.
    fn outage(&self) -> Option<String> {
        None
    }

    /// How far what was missed has been read, where anything can be missed.
    fn backfill_progress(&self) -> Option<BackfillProgress> {
        None
    }

    /// What was said there lately may not have been heard yet.
    fn is_behind(&self, _conversation: &ConversationId) -> bool {
        false
    }

    /// How long a post may be, as [`split::length`] counts.
    fn max_post_length(&self) -> usize;
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
    OutcomeUnknown(String),
}

/// What a platform of real people lives on.
pub struct PlatformDeps {
    pub persona: Arc<Persona>,
    pub inbox: Arc<Inbox>,
    pub archive: Arc<dyn Archive>,
    pub answers: Arc<CommandReplies>,
}

/// The platform of each workspace, or of all that have its name before a colon.
#[derive(Clone, Default)]
pub struct Platforms(pub HashMap<WorkspaceId, Arc<dyn Platform>>);

impl Platforms {
    /// How far each of them is that can miss anything, in the order of their names.
    pub fn backfill_progress(&self) -> Vec<BackfillProgress> {
        let mut told: Vec<BackfillProgress> =
            self.0.values().filter_map(|it| it.backfill_progress()).collect();
        told.sort_by_key(|progress| progress.platform);
        told
    }

    pub fn for_workspace(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<&Arc<dyn Platform>, PlatformError> {
        let absent =
            || PlatformError::Refused(format!("the workspace {workspace} is not connected"));
        let kind = || workspace.as_str().split_once(':').map(|(kind, _)| WorkspaceId::new(kind));
        self.0.get(workspace).or_else(|| self.0.get(&kind()?)).ok_or_else(absent)
    }
}
