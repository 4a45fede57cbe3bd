//! The language of a conversation: the one that is configured for its channel, or the one in which users write there.

use crate::chat::{AuthorKind, Channel, ConversationId, MessageId, Visibility};
use crate::persona::Language;
use crate::persona::written::language_of_all;
use crate::rules::place::Place;
use crate::rules::{LanguageRule, Rulebook};
use crate::store::StoreError;
use crate::store::archive::Archive;
use crate::store::query::{MessageQuery, MessageRange};

/// The number of newest messages that are read. Some may be by bots.
const READ_MESSAGES: usize = 30;
/// The number of newest human messages that determine the language.
const DECIDING_MESSAGES: usize = 10;

/// Returns the language rule of a conversation's channel, if any channel has one.
pub async fn language_rule(
    archive: &dyn Archive,
    rulebook: &Rulebook,
    conversation: &ConversationId,
) -> Result<Option<LanguageRule>, StoreError> {
    if !rulebook.has_language_rule() {
        return Ok(None);
    }
    let channel = &conversation.channel;
    let channels = archive.channels(&conversation.workspace).await?;
    let known = channels.iter().find(|known: &&Channel| known.id == *channel);
    let name = known.map_or(channel.as_str(), |known| &*known.name);
    let visibility = known.map_or(Visibility::Private, |known| known.visibility);
    Ok(rulebook.rules_in(&Place::of_conversation(conversation, name, visibility)).language)
}

/// Returns the language in which users write in a conversation, or else in its channel. `None` if no message has any
/// letters.
pub async fn written_language(
    archive: &dyn Archive,
    conversation: &ConversationId,
) -> Result<Option<Language>, StoreError> {
    if conversation.thread.is_some() {
        let in_thread = written_in(archive, conversation, conversation.thread.clone()).await?;
        if in_thread.is_some() {
            return Ok(in_thread);
        }
    }
    written_in(archive, conversation, None).await
}

async fn written_in(
    archive: &dyn Archive,
    conversation: &ConversationId,
    thread: Option<MessageId>,
) -> Result<Option<Language>, StoreError> {
    let query = MessageQuery {
        workspace: conversation.workspace.clone(),
        channel: conversation.channel.clone(),
        thread,
        range: MessageRange::Newest,
        limit: READ_MESSAGES,
    };
    let messages = archive.messages(query).await?;
    let by_humans = messages.iter().rev().map(|stored| &stored.message);
    let by_humans = by_humans.filter(|message| message.author.kind == AuthorKind::Human);
    Ok(language_of_all(by_humans.take(DECIDING_MESSAGES).map(|message| &*message.text)))
}
