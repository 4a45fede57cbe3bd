//! A “yes” in answer to the persona's question whether the user is sure. The question names the command that would be
//! sure, in code: a “yes” gives it.

use std::sync::Arc;

use aizuchi_model::chat::{AuthorKind, ConversationId, Message, MessageId, UserId};
use aizuchi_store::archive::Archive;
use aizuchi_store::query::{DecisionQuery, MessageQuery, MessageRange};
use aizuchi_store::stored_message::StoredMessage;
use aizuchi_store::{Store, StoreError};
use jiff::{SignedDuration, Timestamp};

use crate::command::Command;
use crate::forget_that::MAX_SCANNED;
use crate::parse::{is_confirmed, is_yes};

/// How long after the question a “yes” answers it.
const ANSWER_WINDOW: SignedDuration = SignedDuration::from_mins(1);

/// A message that may say “yes”.
pub struct PossibleYes<'a> {
    pub conversation: &'a ConversationId,
    pub user: &'a UserId,
    pub at: Timestamp,
    pub text: &'a str,
    /// If it is not, it may be an answer to somebody else who wrote since the user's command.
    pub is_addressed: bool,
    /// The message that it replies to, if its author marked one.
    pub reply_to: Option<&'a MessageId>,
}

/// Returns the command that a message confirms, and its words, if it is a “yes” to a question whether its author is
/// sure. It is the same after the command was carried out.
pub async fn confirmed(
    store: &dyn Store,
    archive: &dyn Archive,
    said: PossibleYes<'_>,
    name: &str,
) -> Result<Option<(Command, Arc<str>)>, StoreError> {
    if !is_yes(said.text, name) {
        return Ok(None);
    }
    // Carried out, it has deleted the first command.
    let forgotten = store.orders(&said.conversation.workspace).await?.forgotten;
    let is_this = |at: &Timestamp| at.as_millisecond() == said.at.as_millisecond();
    if forgotten.iter().any(|(user, asked)| user == said.user && is_this(asked)) {
        return Ok(Some((Command::ForgetMeForSure, said.text.into())));
    }
    let Some((first, answer)) = last_exchange(archive, &said).await? else { return Ok(None) };
    let first = Command::parse_message(&first.text, name);
    let question = sure_command(&answer, name);
    Ok(question.filter(|(unsure, ..)| first == Some(*unsure)).map(|(_, sure, text)| (sure, text)))
}

/// Returns the user's message before the one that may say “yes”, and the persona's answer to it, if it was the last
/// thing that the persona said.
async fn last_exchange(
    archive: &dyn Archive,
    said: &PossibleYes<'_>,
) -> Result<Option<(Arc<Message>, String)>, StoreError> {
    let ConversationId { workspace, channel, thread } = said.conversation.clone();
    let range = MessageRange::BeforeTime(said.at);
    let query = MessageQuery { workspace, channel, thread, range, limit: MAX_SCANNED };
    let mut earlier = archive.messages(query).await?;
    earlier.retain(|it| it.message.conversation == *said.conversation && !it.is_deleted);
    let is_own = |it: &StoredMessage| it.message.author.id == *said.user;
    let since = earlier.split_off(earlier.iter().rposition(is_own).map_or(0, |own| own + 1));
    let Some(own) = earlier.pop() else { return Ok(None) };
    let ConversationId { workspace, channel, .. } = said.conversation.clone();
    let messages = vec![own.message.id.clone()];
    let query = DecisionQuery::Messages { workspace, channel, messages };
    let Some(decision) = archive.decisions(query).await?.pop() else { return Ok(None) };
    let is_persona = |it: &&StoredMessage| it.message.author.kind == AuthorKind::Persona;
    let is_answer = |it: &&StoredMessage| decision.posted_messages.contains(&it.message.id);
    let is_recent = |it: &StoredMessage| said.at.duration_since(it.message.at) <= ANSWER_WINDOW;
    let is_last = since.iter().rfind(is_persona).filter(is_answer).is_some_and(is_recent);
    let is_other = |replied| !decision.posted_messages.contains(replied);
    let is_between = !said.is_addressed && !since.iter().all(|it| is_persona(&it));
    if !is_last || is_between || said.reply_to.is_some_and(is_other) {
        return Ok(None);
    }
    let answer: Vec<&str> = since.iter().filter(is_answer).map(|it| &*it.message.text).collect();
    Ok(Some((own.message, answer.join("\n"))))
}

/// Returns the command of a user whom a text of the persona asks whether they are sure, and the one that would be sure,
/// with its words below what the text quotes.
pub fn sure_command(text: &str, name: &str) -> Option<(Command, Command, Arc<str>)> {
    let mut code = text.split('`').skip(1).step_by(2);
    code.find_map(|words| {
        let sure = Command::parse_message(words, name)?;
        let is_about_that = || sure == Command::ForgetThat && is_confirmed(words);
        let unsure = match sure == Command::ForgetMeForSure {
            true => Command::ForgetMe,
            false => is_about_that().then_some(sure)?,
        };
        let quoted = text.lines().filter(|line| line.starts_with('>'));
        Some((unsure, sure, quoted.chain([words]).collect::<Vec<_>>().join("\n").into()))
    })
}
