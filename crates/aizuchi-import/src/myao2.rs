//! Converts the data of myao2. myao2 does not store who may read a channel, its workspace memories mix in private
//! messages, and its memos belong to no channel. Therefore everything is imported as private to its channel.

mod converter;
pub mod database;
mod sql;
mod survey;

use std::collections::HashMap;
use std::future;

use aizuchi_model::chat::{Message, UserId, WorkspaceId};
use aizuchi_store::StoreError;
use futures_util::{Stream, StreamExt, TryStreamExt};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::forgotten::is_forgotten;
use crate::myao2::converter::Myao2Converter;
use crate::myao2::database::Myao2Database;
use crate::myao2::survey::{IDS, MemoOrigins, MessageSurvey};
use crate::streamed::StreamedMessage;
use crate::{ImportData, ImportedMemo, SkippedItems};

/// Information that the database does not contain.
#[derive(Clone, Debug)]
pub struct Myao2Options {
    pub workspace: WorkspaceId,
    /// The persona's user, if the operator named it.
    pub persona: Option<UserId>,
    pub persona_name: String,
    pub memo_scope: Myao2MemoTarget,
    pub zone: TimeZone,
}

/// Where imported memos are visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Myao2MemoTarget {
    /// Only in the channel where they were made.
    OriginChannel,
    /// Everywhere, as in myao2.
    Everywhere,
}

/// The messages of a database, which are read while they are heard.
pub struct Myao2Messages {
    database: Myao2Database,
    converter: Myao2Converter,
    forgotten: HashMap<UserId, Timestamp>,
    /// The number of messages older than the given time.
    pub expired: usize,
}

/// Reads everything but the messages. Messages from before `expired_before` are counted as too old.
pub async fn read(
    mut database: Myao2Database,
    options: Myao2Options,
    expired_before: Option<Timestamp>,
) -> Result<(ImportData, Myao2Messages), StoreError> {
    let survey = survey(&mut database, expired_before).await?;
    let users = database.users().await?;
    let persona = options.persona.clone().or_else(|| survey.guess_persona());
    let mut names: HashMap<String, String> = HashMap::new();
    names.extend(survey.authors.iter().map(|(id, author)| (id.clone(), author.name.clone())));
    names.extend(users.iter().map(|user| (user.id.clone(), user.name.clone())));
    let converter = Myao2Converter { options, persona, names };
    let mut skipped =
        vec![SkippedItems::new_if_any("messages", survey.timeless, "their time is unknown")];
    let (memories, skipped_items) = converter.memories(database.memories().await?);
    skipped.extend(skipped_items);
    let memos = database.memos().await?;
    let created = memos.iter().filter_map(|memo| memo.created);
    let origins = find_origins(&mut database, &converter, MemoOrigins::new(created)).await?;
    let (memos, skipped_items) = converter.memos(memos, &origins);
    let memos = memos.into_iter().map(|memo| ImportedMemo { memo, messages: Vec::new() });
    skipped.extend(skipped_items);
    skipped.push(SkippedItems::new_if_any(
        "judgments",
        database.count_judgments().await?,
        "Aizuchi makes its own judgments",
    ));
    let data = ImportData {
        channels: converter.channels(database.channels().await?, &survey.channels),
        users: converter.users(&survey.authors, &users),
        ids: IDS,
        memories,
        memos: memos.collect(),
        skipped: skipped.into_iter().flatten().collect(),
        ..ImportData::new(converter.options.workspace.clone())
    };
    let (forgotten, expired) = (HashMap::new(), survey.expired);
    Ok((data, Myao2Messages { database, converter, forgotten, expired }))
}

async fn survey(
    database: &mut Myao2Database,
    expired_before: Option<Timestamp>,
) -> Result<MessageSurvey, StoreError> {
    let mut survey = MessageSurvey::default();
    let mut heads = database.message_heads();
    while let Some(head) = heads.try_next().await? {
        survey.take(head, expired_before);
    }
    Ok(survey)
}

async fn find_origins(
    database: &mut Myao2Database,
    converter: &Myao2Converter,
    mut origins: MemoOrigins,
) -> Result<MemoOrigins, StoreError> {
    let mut heads = database.message_heads();
    while let Some(head) = heads.try_next().await? {
        if converter.is_persona(&head.user)
            && let Some(at) = head.sent_at()
        {
            origins.take(&head.channel, at);
        }
    }
    Ok(origins)
}

impl Myao2Messages {
    /// Leaves out users' messages from before they were forgotten.
    pub async fn leave_out(
        &mut self,
        forgotten: HashMap<UserId, Timestamp>,
        data: &mut ImportData,
    ) -> Result<(), StoreError> {
        if forgotten.is_empty() {
            return Ok(());
        }
        let mut heads = self.database.message_heads();
        while let Some(head) = heads.try_next().await? {
            let Some(at) = head.sent_at() else { continue };
            let author = UserId::new(head.user);
            if is_forgotten(&forgotten, &author, at) {
                data.streamed.left_out += 1;
            } else if !data.streamed.authors.contains(&author) {
                data.streamed.authors.insert(author);
            }
        }
        drop(heads);
        self.forgotten = forgotten;
        Ok(())
    }

    /// The messages, oldest first.
    pub fn stream(&mut self) -> impl Stream<Item = anyhow::Result<StreamedMessage>> {
        let Self { database, converter, forgotten, expired: _ } = self;
        let (converter, forgotten) = (&*converter, &*forgotten);
        database.messages().filter_map(move |row| {
            let message: Option<anyhow::Result<Message>> = match row {
                Ok(row) => converter.message(&row).map(Ok),
                Err(error) => Some(Err(error.into())),
            };
            let is_kept = |message: &anyhow::Result<Message>| {
                let Ok(Message { author, at, .. }) = message else { return true };
                !is_forgotten(forgotten, &author.id, *at)
            };
            future::ready(message.filter(is_kept).map(|message| {
                message.map(|message| StreamedMessage {
                    message,
                    reactions: Vec::new(),
                    was_private: false,
                })
            }))
        })
    }
}
