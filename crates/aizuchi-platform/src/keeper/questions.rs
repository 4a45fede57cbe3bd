//! The questions of a workspace: recorded before they are asked, looked for if it is unknown whether they were, and
//! replaced by their outcome.

use std::collections::hash_map::Entry;

use aizuchi_actions::question::StoredQuestion;
use aizuchi_model::chat::{Cursor, UserId, WorkspaceId};
use aizuchi_model::platform::PlatformError;
use aizuchi_model::texts;
use aizuchi_store::StoreError;
use serde_json::json;
use tracing::{info, warn};

use crate::keeper::record::{AskedQuestion, QuestionRecord, SendingQuestion};
use crate::keeper::request::KeeperRequestKind;
use crate::keeper::{KeeperChat, Keepers, QuestionRecords};

/// The known state of a question that may have been asked.
enum SentQuestion {
    /// It may still arrive, or the platform does not report it.
    Unknown,
    /// Its state is now known.
    Known(AskedQuestion),
    /// It was not asked.
    NotAsked,
}

/// The result of an attempt to ask.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QuestionAttempt {
    Done,
    /// The platform does not accept questions now.
    Failed,
}

impl Keepers {
    /// Asks about new requests of a kind, and settles the others.
    pub(super) async fn look_at(
        &self,
        chat: &dyn KeeperChat,
        (workspace, kind): (&WorkspaceId, KeeperRequestKind),
        records: &mut QuestionRecords,
    ) -> Result<(), StoreError> {
        let place = (workspace, kind);
        let record = match records.questions.entry((workspace.clone(), kind)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(self.stored_record(place).await?),
        };
        let is_paused = record.is_paused(self.inbox.clock.now());
        if is_paused || (record.asked.is_empty() && !self.has_keepers()) {
            return Ok(());
        }
        let requests = self.requests(place, &record.asked).await?;
        let attempt = self.find_sent(chat, place, record, &requests).await?;
        self.settle(chat, place, record, &requests).await?;
        if attempt == QuestionAttempt::Done
            && self.hand_over(chat, place, record, &requests).await? == QuestionAttempt::Done
        {
            self.ask(chat, place, record, &requests).await?;
        }
        Ok(())
    }

    /// Looks for the questions of which it is unknown whether they were asked. One that certainly was not is asked
    /// again, while it can be decided, and until the platform rejects one.
    async fn find_sent(
        &self,
        chat: &dyn KeeperChat,
        (workspace, kind): (&WorkspaceId, KeeperRequestKind),
        record: &mut QuestionRecord,
        requests: &[StoredQuestion],
    ) -> Result<QuestionAttempt, StoreError> {
        let mut attempt = QuestionAttempt::Done;
        let sent: Vec<AskedQuestion> =
            record.asked.iter().filter(|asked| asked.sending.is_some()).cloned().collect();
        for asked in sent {
            let id = asked.id;
            match self.find(chat, (workspace, kind), asked).await {
                SentQuestion::Unknown => continue,
                SentQuestion::Known(found) => record.put(found),
                SentQuestion::NotAsked => {
                    let request = find_in(requests, id);
                    let keeper = request.and_then(|request| self.keeper_of(workspace, request));
                    if let (Some(request), Some(keeper)) = (request, keeper) {
                        if attempt == QuestionAttempt::Done {
                            let asking = (request, &keeper);
                            attempt = self.send(chat, (workspace, kind), record, asking).await?;
                        }
                        continue;
                    }
                    record.remove(id);
                }
            }
            self.put_record((workspace, kind), record).await?;
        }
        Ok(attempt)
    }

    async fn find(
        &self,
        chat: &dyn KeeperChat,
        (workspace, kind): (&WorkspaceId, KeeperRequestKind),
        asked: AskedQuestion,
    ) -> SentQuestion {
        let Some(SendingQuestion { keeper, since }) = &asked.sending else {
            return SentQuestion::Known(asked);
        };
        let Some(since) = since else { return SentQuestion::NotAsked };
        // The request may be in progress.
        if self.inbox.clock.now() < *since + chat.delivery_timeout() {
            return SentQuestion::Unknown;
        }
        let subject = kind.subject(asked.id);
        let found = chat.find_question(keeper, workspace, subject, *since).await;
        let channel = &asked.about;
        match found {
            Ok(Some(place)) => {
                info!(%workspace, %channel, "found what a keeper was asked");
                SentQuestion::Known(AskedQuestion { place: Some(place), sending: None, ..asked })
            }
            Ok(None) => SentQuestion::NotAsked,
            // Not asking at all is better than asking twice.
            Err(PlatformError::Refused(why)) => {
                warn!(platform = workspace.platform(), %workspace, %channel, why, "what a keeper was asked cannot be looked for");
                SentQuestion::Known(AskedQuestion { place: None, sending: None, ..asked })
            }
            Err(error) => {
                warn!(platform = workspace.platform(), %workspace, %channel, %error, "what a keeper was asked could not be found");
                SentQuestion::Unknown
            }
        }
    }

    /// Replaces the questions whose outcome is known.
    async fn settle(
        &self,
        chat: &dyn KeeperChat,
        (workspace, kind): (&WorkspaceId, KeeperRequestKind),
        record: &mut QuestionRecord,
        requests: &[StoredQuestion],
    ) -> Result<(), StoreError> {
        let before = record.clone();
        record.asked.clear();
        for asked in &before.asked {
            if asked.sending.is_some() {
                record.asked.push(asked.clone());
                continue;
            }
            let language = self.language_in(workspace, &asked.about).await?;
            let request = find_in(requests, asked.id);
            let gone = kind.gone(language);
            let (state, what) = request.map_or(gone, |request| request.state(language));
            if let (Some(place), true) = (&asked.place, *state != *asked.told) {
                let about = self.place_name(workspace, &asked.about);
                let text = texts::keeper::decided(language, &about, what);
                match chat.settle(place, &text).await {
                    Ok(()) => {}
                    Err(PlatformError::Refused(why)) => {
                        warn!(platform = workspace.platform(), %workspace, why, "what a keeper was asked cannot be replaced");
                    }
                    Err(error) => {
                        warn!(platform = workspace.platform(), %workspace, %error, "what a keeper was asked could not be replaced");
                        record.asked.push(asked.clone());
                        continue;
                    }
                }
            }
            if request.is_some_and(|request| request.may_change(self.inbox.clock.now())) {
                record.asked.push(AskedQuestion { told: state.to_owned(), ..asked.clone() });
            }
        }
        if *record != before {
            self.put_record((workspace, kind), record).await?;
        }
        Ok(())
    }

    /// Asks the present keeper what an earlier keeper of the channel has not decided. The earlier one is told first, so
    /// that after a crash in between the question is handed over again.
    async fn hand_over(
        &self,
        chat: &dyn KeeperChat,
        (workspace, kind): (&WorkspaceId, KeeperRequestKind),
        record: &mut QuestionRecord,
        requests: &[StoredQuestion],
    ) -> Result<QuestionAttempt, StoreError> {
        for asked in record.asked.clone() {
            let request = find_in(requests, asked.id);
            let Some(request) = request.filter(|_| asked.sending.is_none()) else { continue };
            let (Some(before), Some(keeper)) = (&asked.keeper, self.keeper_of(workspace, request))
            else {
                continue;
            };
            if *before == keeper {
                continue;
            }
            if let Some(place) = &asked.place {
                let language = self.language_in(workspace, &asked.about).await?;
                let about = self.place_name(workspace, &asked.about);
                let text = texts::keeper::handed_over(language, &about);
                match chat.settle(place, &text).await {
                    Ok(()) | Err(PlatformError::Refused(_)) => {}
                    Err(error) => {
                        warn!(platform = workspace.platform(), %workspace, %error, "what a keeper was asked could not be replaced");
                        record.pause_after(&error, self.inbox.clock.now());
                        return Ok(QuestionAttempt::Failed);
                    }
                }
            }
            let asking = (request, &keeper);
            if self.send(chat, (workspace, kind), record, asking).await? == QuestionAttempt::Failed
            {
                return Ok(QuestionAttempt::Failed);
            }
        }
        Ok(QuestionAttempt::Done)
    }

    /// Asks about new requests.
    async fn ask(
        &self,
        chat: &dyn KeeperChat,
        (workspace, kind): (&WorkspaceId, KeeperRequestKind),
        record: &mut QuestionRecord,
        requests: &[StoredQuestion],
    ) -> Result<(), StoreError> {
        let is_new = |request: &&StoredQuestion| kind.is_new(request.subject().number(), record);
        let new: Vec<&StoredQuestion> = requests.iter().filter(is_new).collect();
        for request in new {
            if let Some(keeper) = self.keeper_of(workspace, request) {
                let asking = (request, &keeper);
                if self.send(chat, (workspace, kind), record, asking).await?
                    == QuestionAttempt::Failed
                {
                    return Ok(());
                }
            }
            // Its channel has no keeper, or it can no longer be decided.
            record.newest = record.newest.max(request.subject().number());
        }
        Ok(())
    }

    /// Returns the keeper to ask about a request that can be decided.
    fn keeper_of(&self, workspace: &WorkspaceId, request: &StoredQuestion) -> Option<UserId> {
        let keeper = self.inbox.channel_cache.keeper(workspace, request.place().1);
        keeper.filter(|_| request.is_open())
    }

    /// Asks a keeper. Before that, the question is recorded as possibly sent, and afterwards with the outcome.
    async fn send(
        &self,
        chat: &dyn KeeperChat,
        (workspace, kind): (&WorkspaceId, KeeperRequestKind),
        record: &mut QuestionRecord,
        (request, keeper): (&StoredQuestion, &UserId),
    ) -> Result<QuestionAttempt, StoreError> {
        let (clock, about) = (&self.inbox.clock, request.place().1);
        let question = self.question(request).await?;
        let sending = |since| Some(SendingQuestion { keeper: keeper.clone(), since });
        let mut asked = AskedQuestion {
            id: request.subject().number(),
            about: about.clone(),
            keeper: Some(keeper.clone()),
            place: None,
            told: request.state(self.language).0.to_owned(),
            sending: sending(Some(clock.now())),
        };
        record.put(asked.clone());
        self.put_record((workspace, kind), record).await?;
        let attempt = match chat.ask(keeper, &question).await {
            Ok(place) => {
                (asked.place, asked.sending) = (Some(place), None);
                QuestionAttempt::Done
            }
            Err(PlatformError::Refused(why)) => {
                warn!(platform = workspace.platform(), %workspace, channel = %about, why, "a keeper cannot be asked");
                asked.sending = None;
                QuestionAttempt::Done
            }
            Err(error) => {
                warn!(platform = workspace.platform(), %workspace, channel = %about, %error, "a keeper could not be asked");
                record.pause_after(&error, clock.now());
                asked.sending = match error {
                    // A response that is lost after a long time says no more than one that is lost at once.
                    PlatformError::OutcomeUnknown(_) => sending(Some(clock.now())),
                    PlatformError::Busy { .. }
                    | PlatformError::Queued { .. }
                    | PlatformError::Refused(_) => sending(None),
                };
                QuestionAttempt::Failed
            }
        };
        record.put(asked);
        self.put_record((workspace, kind), record).await?;
        Ok(attempt)
    }

    async fn stored_record(
        &self,
        (workspace, kind): (&WorkspaceId, KeeperRequestKind),
    ) -> Result<QuestionRecord, StoreError> {
        let stored = self.cursors.cursors(workspace).await?;
        let record = stored.iter().find(|cursor| *cursor.stream == *kind.stream());
        // An unreadable record was written by another version: its questions are asked again.
        let record = record.and_then(|cursor| serde_json::from_str(&cursor.value).ok());
        Ok(record.unwrap_or_default())
    }

    async fn put_record(
        &self,
        (workspace, kind): (&WorkspaceId, KeeperRequestKind),
        record: &QuestionRecord,
    ) -> Result<(), StoreError> {
        let value = json!(record).to_string().into();
        let (workspace, stream) = (workspace.clone(), kind.stream().into());
        let cursor = Cursor { workspace, stream, value };
        self.cursors.put_cursor(cursor).await
    }
}

fn find_in(requests: &[StoredQuestion], id: i64) -> Option<&StoredQuestion> {
    requests.iter().find(|request| request.subject().number() == id)
}
