//! Forgets users in steps. A step reads at most one page outside of the writer and writes a bounded number of rows.

use std::collections::VecDeque;

use aizuchi_model::chat::{UserId, WorkspaceId};
use jiff::Timestamp;

use crate::StoreError;
use crate::database::connection::{Connection, query};
use crate::database::forget::page::ErasurePage;
use crate::database::forget::position::ForgetPhase;
use crate::database::forget::references::References;
use crate::database::forget::write::{Erasure, ForgetWrite};
use crate::database::forget::{Forgetting, lineage_pages, report, text_pages, trace_pages};
use crate::database::sql::forget as sql;
use crate::database::{DatabaseStore, rows};
use crate::people::ForgetReport;

/// How many characters of a user's texts are indexed at once: each takes eight bytes of memory.
const CHARACTERS_AT_ONCE: usize = 1_000_000;

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForgetProgress {
    /// There is no user to forget.
    Idle,
    Working,
    /// No query returns the user's messages any more.
    Hidden(WorkspaceId),
    /// A user has been forgotten completely.
    Done(ForgottenUser),
}

/// A user who was just forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgottenUser {
    pub workspace: WorkspaceId,
    pub user: UserId,
    /// Whether they are still a member, under their name.
    pub keeps_name: bool,
    pub report: ForgetReport,
}

/// Forgets users who are to be forgotten, one after the other. Its state in memory is rebuilt after a crash.
pub struct ForgettingJob {
    /// The user who is being forgotten, and the position. It may be ahead of the stored position, since pages without
    /// matches are not recorded.
    current: Option<Forgetting>,
    pending: VecDeque<ForgetWrite>,
    references: Option<References>,
    characters_at_once: usize,
}

impl Default for ForgettingJob {
    fn default() -> Self {
        Self::with_characters_at_once(CHARACTERS_AT_ONCE)
    }
}

impl ForgettingJob {
    pub fn with_characters_at_once(characters_at_once: usize) -> Self {
        Self { current: None, pending: VecDeque::new(), references: None, characters_at_once }
    }

    pub async fn step(
        &mut self,
        store: &DatabaseStore,
        now: Timestamp,
    ) -> Result<ForgetProgress, StoreError> {
        if self.pending.is_empty() {
            let mut reader = store.readers.acquire().await?;
            let Some(forgetting) = self.update_current(&mut reader).await? else {
                return Ok(ForgetProgress::Idle);
            };
            let page = self.read_page(&mut reader, &forgetting, now).await?;
            self.plan(forgetting, page);
        }
        let Some(write) = self.pending.pop_front() else { return Ok(ForgetProgress::Working) };
        // Read before the last write, which may delete the row.
        let forgotten = match write.next {
            None => Some(read_forgotten(store, &write).await?),
            Some(_) => None,
        };
        let was_hiding = self.is_hiding();
        if let Err(error) = store.write_forgetting(write.clone(), now).await {
            // Start over from the stored position.
            *self = Self::with_characters_at_once(self.characters_at_once);
            return Err(error);
        }
        if let Some(current) = &mut self.current
            && let Some(next) = write.next
        {
            current.position = next;
        }
        Ok(match forgotten {
            Some(forgotten) => ForgetProgress::Done(forgotten),
            None if was_hiding && !self.is_hiding() => ForgetProgress::Hidden(write.workspace),
            None => ForgetProgress::Working,
        })
    }

    fn is_hiding(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.position.phase == ForgetPhase::Hide)
    }

    /// Returns the forgetting in progress. A newer order for the user restarts it.
    async fn update_current(
        &mut self,
        reader: &mut Connection,
    ) -> Result<Option<Forgetting>, StoreError> {
        let stored = Forgetting::next(reader).await?;
        let is_same = match (&self.current, &stored) {
            (Some(current), Some(stored)) => {
                (&current.workspace, &current.user, current.until)
                    == (&stored.workspace, &stored.user, stored.until)
            }
            _ => false,
        };
        if !is_same {
            self.references = None;
            self.current = stored;
        }
        Ok(self.current.clone())
    }

    async fn read_page(
        &mut self,
        reader: &mut Connection,
        forgetting: &Forgetting,
        now: Timestamp,
    ) -> Result<ErasurePage, StoreError> {
        let phase = forgetting.position.phase;
        if !phase.looks_for_references() {
            self.references = None;
        } else if !self.has_references_for(forgetting) {
            // Dropped before loading: two parts would take twice the memory.
            self.references = None;
            let loaded = References::load(reader, forgetting, self.characters_at_once, now).await?;
            self.references = Some(loaded);
        }
        match (phase, &self.references) {
            (ForgetPhase::Hide, _) => lineage_pages::messages_to_hide(reader, forgetting).await,
            (ForgetPhase::Memories, _) => lineage_pages::memories(reader, forgetting).await,
            (ForgetPhase::Prompts, _) => lineage_pages::prompts(reader, forgetting).await,
            (ForgetPhase::Decisions, _) => lineage_pages::decisions(reader, forgetting).await,
            (ForgetPhase::Outbox, _) => lineage_pages::outbox(reader, forgetting).await,
            (ForgetPhase::OwnMessages, Some(references)) => {
                text_pages::own_messages(reader, forgetting, references).await
            }
            (ForgetPhase::Entries, Some(references)) => {
                text_pages::entries(reader, forgetting, references).await
            }
            (ForgetPhase::Memos, Some(references)) => {
                text_pages::memos(reader, forgetting, references).await
            }
            (ForgetPhase::Reasons, Some(references)) => {
                text_pages::reasons(reader, forgetting, references).await
            }
            (ForgetPhase::Drafts, Some(references)) => {
                text_pages::drafts(reader, forgetting, references).await
            }
            (ForgetPhase::DeadLetters, Some(references)) => {
                text_pages::dead_letters(reader, forgetting, references).await
            }
            (
                ForgetPhase::OwnMessages
                | ForgetPhase::Entries
                | ForgetPhase::Memos
                | ForgetPhase::Reasons
                | ForgetPhase::Drafts
                | ForgetPhase::DeadLetters,
                None,
            ) => Err(StoreError::Broken("what a user said is not loaded".to_owned())),
            (ForgetPhase::MemoryPrompts, _) => {
                lineage_pages::prompts_of_memories(reader, forgetting).await
            }
            (ForgetPhase::Reactions, _) => trace_pages::reactions(reader, forgetting).await,
            (ForgetPhase::Mentions, _) => trace_pages::mentions(reader, forgetting).await,
            (ForgetPhase::Channels, _) => trace_pages::channels(reader, forgetting).await,
            (ForgetPhase::Messages, _) => trace_pages::messages(reader, forgetting).await,
            (ForgetPhase::User, _) => {
                Ok(ErasurePage { erasures: vec![Erasure::EraseUser], next: None })
            }
        }
    }

    /// Whether the current part of the user's texts is loaded.
    fn has_references_for(&self, forgetting: &Forgetting) -> bool {
        let texts_after = forgetting.position.texts_after;
        self.references.as_ref().is_some_and(|loaded| loaded.texts_after == texts_after)
    }

    /// Plans a write for each erasure; the last one moves the position. A page without erasures is recorded only at the
    /// end of a phase, so a crash repeats at most one phase of reading.
    fn plan(&mut self, forgetting: Forgetting, page: ErasurePage) {
        let count = page.erasures.len();
        let next_phase = page.next.as_ref().map(|next| next.phase);
        let leaves_phase = next_phase != Some(forgetting.position.phase);
        for (index, erasure) in page.erasures.into_iter().enumerate() {
            let write = match index + 1 == count {
                true => ForgetWrite::move_to(&forgetting, Some(erasure), page.next.clone()),
                false => ForgetWrite::new(&forgetting, erasure),
            };
            self.pending.push_back(write);
        }
        if count == 0 && leaves_phase {
            self.pending.push_back(ForgetWrite::move_to(&forgetting, None, page.next));
        } else if let (0, Some(next)) = (count, page.next) {
            self.current = Some(Forgetting { position: next, ..forgetting });
        }
    }
}

async fn read_forgotten(
    store: &DatabaseStore,
    write: &ForgetWrite,
) -> Result<ForgottenUser, StoreError> {
    let counted = query(sql::FORGETTING_REPORT);
    let counted = counted.bind(write.workspace.as_str()).bind(write.user.as_str());
    let row = counted.fetch_one(&store.readers).await?;
    Ok(ForgottenUser {
        workspace: write.workspace.clone(),
        user: write.user.clone(),
        keeps_name: rows::column(&row, "keeps_name")?,
        report: report(&row)?,
    })
}
