//! What the adapters of chat platforms share. They deliver to the [`Inbox`]; posts come through the port
//! [`Platform`](aizuchi_model::platform::Platform).

pub mod connection_tracker;
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

use aizuchi_actions::reply::CommandReplies;
use aizuchi_agent::inbox::Inbox;
use aizuchi_model::persona::Persona;
use aizuchi_store::Cursors;
use aizuchi_store::archive::Archive;
use aizuchi_store::weekly_notes::WeeklyNotes;

/// The dependencies of a chat platform's adapter.
#[derive(Clone)]
pub struct PlatformDeps {
    pub persona: Arc<Persona>,
    pub inbox: Arc<Inbox>,
    pub archive: Arc<dyn Archive>,
    pub cursors: Arc<dyn Cursors>,
    pub weekly_notes: Arc<dyn WeeklyNotes>,
    pub answers: Arc<CommandReplies>,
    /// The currency of all prices.
    pub currency: Arc<str>,
}
