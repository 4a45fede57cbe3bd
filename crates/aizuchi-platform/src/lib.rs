//! What the adapters of chat platforms share. They deliver to the [`Inbox`]; posts come through the port
//! [`Platform`](aizuchi_model::platform::Platform).

pub mod connection_tracker;
pub mod call_error;
pub mod access;
pub mod local;
pub mod demo;
pub mod user_names;
pub mod parsed_text;
pub mod slash_command;
pub mod keeper;
pub mod emoji_names;
pub mod deletion_check;
pub mod deletion_checks;
pub mod backfill_queue;
pub mod incidents;
pub mod backfill;
pub mod channel_history;
pub mod missed_deletions;
pub mod backfill_run;
pub mod remote;

use std::sync::Arc;

use aizuchi_actions::command_replies::CommandReplies;
use aizuchi_agent::inbox::Inbox;
use aizuchi_model::chat::{AuthorKind, Heard, Role, User, UserId, WorkspaceId};
use aizuchi_model::persona::Persona;
use aizuchi_store::archive::Archive;
use aizuchi_store::order::Order;
use aizuchi_store::{Cursors, StoreError};

use crate::keeper::{KeeperLengths, Keepers};

/// The dependencies of a chat platform's adapter.
#[derive(Clone)]
pub struct PlatformDeps {
    pub persona: Arc<Persona>,
    pub inbox: Arc<Inbox>,
    pub archive: Arc<dyn Archive>,
    pub cursors: Arc<dyn Cursors>,
    pub answers: Arc<CommandReplies>,
}

impl PlatformDeps {
    /// What asks this platform's keepers.
    pub fn keepers(&self, lengths: KeeperLengths) -> Keepers {
        Keepers {
            inbox: self.inbox.clone(),
            archive: self.archive.clone(),
            cursors: self.cursors.clone(),
            language: self.persona.language,
            lengths,
        }
    }
}

/// Registers the persona as a user of a workspace, and applies every opt-out there.
pub async fn register_persona(
    inbox: &Inbox,
    persona: &Persona,
    workspace: &WorkspaceId,
    id: &UserId,
) -> Result<(), StoreError> {
    for user in inbox.channel_cache.rulebook().opted_out.clone() {
        // Messages of a user who opted out since the last start may still be stored.
        inbox.apply_order(Order::Redact { workspace: workspace.clone(), user }).await?;
    }
    let persona = User {
        workspace: workspace.clone(),
        id: id.clone(),
        name: persona.name.as_str().into(),
        kind: AuthorKind::Persona,
        role: Role::Member,
        zone: None,
    };
    inbox.hear(Heard::User(persona)).await?;
    Ok(())
}
