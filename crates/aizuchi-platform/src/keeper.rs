//! Asks the keeper of a channel, in a private chat with buttons, whether to post what the persona would say unasked,
//! whether it may post there without approval, and whether a tool that may write is to be called. Once a question is
//! decided or expires, it is replaced by its outcome.

mod answer;
pub mod edit;
pub mod history_scan;
mod record;
mod request;
mod questions;

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_actions::authorization::Authorization;
use aizuchi_actions::question::{Choice, QuestionSubject};
use aizuchi_agent::inbox::Inbox;
use aizuchi_model::chat::{ChannelId, ConversationId, MessageId, UserId, WorkspaceId};
use aizuchi_model::persona::Language;
use aizuchi_model::platform::PlatformError;
use aizuchi_store::archive::Archive;
use aizuchi_store::spoken_language::SpokenLanguage;
use aizuchi_store::{Cursors, StoreError};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::keeper::edit::EditForm;
use crate::keeper::record::QuestionRecord;
use crate::keeper::request::KeeperRequestKind;

/// A platform that can ask a user something in a private chat.
#[async_trait]
pub trait KeeperChat: Send + Sync {
    /// Returns the workspaces that it currently serves.
    fn workspaces(&self) -> Vec<WorkspaceId>;

    async fn ask(
        &self,
        keeper: &UserId,
        question: &KeeperQuestion,
    ) -> Result<QuestionPlace, PlatformError>;

    /// Returns the place of an unsettled question that the keeper was asked since then, if it exists. Returns `Refused`
    /// if that cannot be determined.
    async fn find_question(
        &self,
        keeper: &UserId,
        workspace: &WorkspaceId,
        subject: QuestionSubject,
        since: Timestamp,
    ) -> Result<Option<QuestionPlace>, PlatformError>;

    /// Replaces a question, and its buttons, by a text. Idempotent.
    async fn settle(&self, place: &QuestionPlace, text: &str) -> Result<(), PlatformError>;

    /// Returns the time after which a question that was sent can no longer appear.
    fn delivery_timeout(&self) -> SignedDuration;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeeperQuestion {
    pub workspace: WorkspaceId,
    pub subject: QuestionSubject,
    pub heading: String,
    /// The text that would be posted or sent, in Markdown as models write it.
    pub draft: String,
    /// The reason, and where to read the rest if this is not all.
    pub note: String,
    /// The buttons with their labels.
    pub buttons: Vec<(Choice, &'static str)>,
}

/// The place of a question: a message of a private chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionPlace {
    pub channel: ChannelId,
    pub message: MessageId,
}

/// A click on a button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Click {
    pub workspace: WorkspaceId,
    pub subject: QuestionSubject,
    pub user: UserId,
    pub button: Choice,
}

/// The platform's response to a click.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClickAnswer {
    /// The question is replaced, which is the answer.
    Settles,
    /// The user who clicked is told this.
    Tell(&'static str),
    /// The user gets a form to fill in.
    Open(EditForm),
}

/// Asks the keepers of a platform, and handles their answers.
pub struct Keepers {
    pub inbox: Arc<Inbox>,
    pub archive: Arc<dyn Archive>,
    /// Where it is recorded which questions were asked.
    pub cursors: Arc<dyn Cursors>,
    pub language: Language,
    pub lengths: KeeperLengths,
}

/// The maximum lengths of texts on the platform, in UTF-16 code units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeeperLengths {
    /// A form's field.
    pub form: usize,
    /// A post.
    pub post: usize,
}

/// How long changes are collected before they are looked at.
const PAUSE: SignedDuration = SignedDuration::from_secs(1);
/// The interval between looks without a change, since a question may expire or the platform may be reachable again.
const CHECK_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// The questions that were asked in each workspace, as far as they have been loaded.
#[derive(Debug, Default)]
pub struct QuestionRecords {
    questions: HashMap<(WorkspaceId, KeeperRequestKind), QuestionRecord>,
}

impl Keepers {
    /// Asks about new proposals and settles the others. Ends with the store.
    pub async fn run(&self, chat: &dyn KeeperChat) {
        let clock = &self.inbox.clock;
        let mut revisions = self.inbox.store.revisions();
        let mut records = QuestionRecords::default();
        loop {
            // Before the look: a change during it must cause another one.
            revisions.mark_unchanged();
            let is_done = self.look(chat, &mut records).await;
            let has_questions = records.questions.values().any(|record| !record.asked.is_empty());
            // Nothing can expire, so only a change in the store can give work.
            if is_done && !has_questions && !self.has_keepers() {
                if revisions.changed().await.is_err() {
                    return;
                }
                continue;
            }
            let is_sending = records.questions.values().any(QuestionRecord::is_sending);
            let wait = match is_sending {
                // Until then, it stays unknown whether the question was asked.
                true => chat.delivery_timeout().clamp(PAUSE, CHECK_INTERVAL),
                false => CHECK_INTERVAL,
            };
            let check_at = clock.now() + wait;
            tokio::select! {
                changed = revisions.changed() => match changed {
                    Ok(()) => clock.sleep_until(clock.now() + PAUSE).await,
                    Err(_) => return,
                },
                () = clock.sleep_until(check_at) => {}
            }
        }
    }

    /// Asks about new matters, and settles decided ones. Returns whether the store could be read and written.
    pub async fn look(&self, chat: &dyn KeeperChat, records: &mut QuestionRecords) -> bool {
        let mut is_done = true;
        for workspace in chat.workspaces() {
            for kind in KeeperRequestKind::ALL {
                if let Err(error) = self.look_at(chat, (&workspace, kind), records).await {
                    warn!(platform = workspace.platform(), %workspace, %error, "the keepers could not be asked; trying again");
                    // The stored state may differ from the one that was to be stored.
                    records.questions.remove(&(workspace.clone(), kind));
                    is_done = false;
                }
            }
        }
        is_done
    }

    fn has_keepers(&self) -> bool {
        self.inbox.channel_cache.rulebook().has_keeper()
    }

    fn authorization(&self) -> Authorization<'_> {
        Authorization {
            store: &*self.inbox.store,
            archive: &*self.archive,
            rulebook: self.inbox.channel_cache.rulebook(),
            now: self.inbox.clock.now(),
        }
    }

    fn place_name(&self, workspace: &WorkspaceId, channel: &ChannelId) -> String {
        let name = self.inbox.channel_cache.channel_name(workspace, channel);
        name.map_or_else(|| channel.to_string(), |name| format!("#{name}"))
    }

    /// Returns the language in which a keeper is asked about a channel.
    async fn language_in(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
    ) -> Result<Language, StoreError> {
        let (workspace, channel) = (workspace.clone(), channel.clone());
        let spoken = SpokenLanguage {
            archive: &*self.archive,
            rulebook: &self.inbox.channel_cache.rulebook(),
            own: self.language,
        };
        spoken.of(&ConversationId { workspace, channel, thread: None }).await
    }
}
