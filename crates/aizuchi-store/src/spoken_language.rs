//! The language to speak in a conversation: the one that is configured for its channel, else that of the message that is
//! answered, else the one in which users write there.

use std::cmp::Reverse;

use aizuchi_model::chat::{AuthorKind, Channel, ConversationId, Visibility, WorkspaceId};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::persona::Language;
use aizuchi_model::persona::written::{language_of, language_of_all};
use aizuchi_model::rules::place::Place;
use aizuchi_model::rules::{LanguageRule, Rulebook};

use crate::StoreError;
use crate::archive::Archive;
use crate::query::{MessageQuery, MessageRange};
use crate::stored_message::StoredMessage;

/// The number of newest messages that are read. Some may be by bots.
const READ_MESSAGES: usize = 30;
/// The number of newest human messages that determine the language.
const DECIDING_MESSAGES: usize = 10;
/// The number of channels that are read for the language of a workspace.
const READ_CHANNELS: usize = 3;

/// Finds the language to speak in each conversation.
pub struct SpokenLanguage<'a> {
    pub archive: &'a dyn Archive,
    pub rulebook: &'a Rulebook,
    /// The language where nobody has written anything.
    pub own: Language,
}

impl SpokenLanguage<'_> {
    /// Returns the language for words that answer nobody.
    pub async fn of(&self, conversation: &ConversationId) -> Result<Language, StoreError> {
        self.of_answer(conversation, None).await
    }

    /// Returns the language for an answer to a message in `asked`, if that can be told.
    pub async fn of_answer(
        &self,
        conversation: &ConversationId,
        asked: Option<Language>,
    ) -> Result<Language, StoreError> {
        match (self.rule(conversation).await?, asked) {
            (LanguageRule::Fixed(language), _) | (LanguageRule::AsWritten, Some(language)) => {
                Ok(language)
            }
            (LanguageRule::AsWritten, None) => self.as_written(conversation).await,
        }
    }

    /// Returns the language for an answer that is owed: that of the newest message in which a user addresses the persona,
    /// commands apart.
    pub async fn of_owed_answer(
        &self,
        conversation: &ConversationId,
    ) -> Result<Language, StoreError> {
        if let LanguageRule::Fixed(language) = self.rule(conversation).await? {
            return Ok(language);
        }
        let messages = self.archive.messages(newest(conversation)).await?;
        let is_asking = |stored: &&StoredMessage| {
            let message = &stored.message;
            message.is_human() && message.is_addressed() && stored.gate != Some(Gate::Command)
        };
        let asking = messages.iter().rev().find(is_asking);
        match asking.and_then(|stored| language_of(&stored.message.text)) {
            Some(language) => Ok(language),
            None => self.as_written(conversation).await,
        }
    }

    /// Returns the language for what is remembered of a whole workspace.
    pub async fn of_workspace(&self, workspace: &WorkspaceId) -> Result<Language, StoreError> {
        match self.rulebook.workspace_rules(workspace).language {
            LanguageRule::Fixed(language) => Ok(language),
            LanguageRule::AsWritten => self.written_in_workspace(workspace).await,
        }
    }

    async fn rule(&self, conversation: &ConversationId) -> Result<LanguageRule, StoreError> {
        if let Some(common) = self.rulebook.common_language_rule() {
            return Ok(common);
        }
        let channel = &conversation.channel;
        let channels = self.archive.channels(&conversation.workspace).await?;
        let known = channels.iter().find(|known: &&Channel| known.id == *channel);
        let name = known.map_or(channel.as_str(), |known| &*known.name);
        let visibility = known.map_or(Visibility::Private, |known| known.visibility);
        Ok(self.rulebook.rules_in(&Place::of_conversation(conversation, name, visibility)).language)
    }

    /// Returns the language in which users write in a conversation, else in its channel, else in the channels of its
    /// workspace where they wrote last.
    async fn as_written(&self, conversation: &ConversationId) -> Result<Language, StoreError> {
        let channel = ConversationId { thread: None, ..conversation.clone() };
        for place in [conversation, &channel] {
            if let Some(language) = self.written_in(place).await? {
                return Ok(language);
            }
        }
        self.written_in_workspace(&conversation.workspace).await
    }

    async fn written_in_workspace(&self, workspace: &WorkspaceId) -> Result<Language, StoreError> {
        let mut channels = self.archive.channel_activity(workspace).await?;
        channels.sort_by_key(|channel| Reverse(channel.last_heard));
        for channel in channels.into_iter().take(READ_CHANNELS) {
            let (workspace, channel) = (workspace.clone(), channel.channel);
            let channel = ConversationId { workspace, channel, thread: None };
            if let Some(language) = self.written_in(&channel).await? {
                return Ok(language);
            }
        }
        Ok(self.own)
    }

    async fn written_in(&self, place: &ConversationId) -> Result<Option<Language>, StoreError> {
        let messages = self.archive.messages(newest(place)).await?;
        let by_humans = messages.iter().rev().map(|stored| &stored.message);
        let by_humans = by_humans.filter(|message| message.author.kind == AuthorKind::Human);
        Ok(language_of_all(by_humans.take(DECIDING_MESSAGES).map(|message| &*message.text)))
    }
}

fn newest(place: &ConversationId) -> MessageQuery {
    MessageQuery {
        workspace: place.workspace.clone(),
        channel: place.channel.clone(),
        thread: place.thread.clone(),
        range: MessageRange::Newest,
        limit: READ_MESSAGES,
    }
}
