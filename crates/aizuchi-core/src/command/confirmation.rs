//! A “yes” in answer to the persona's question whether the user is sure. The question names the command that would be
//! sure, in code: a “yes” gives it.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{AuthorKind, ConversationId, Message, MessageId, UserId};
use crate::command::Command;
use crate::command::forget_that::MAX_SCANNED;
use crate::command::parse::{is_confirmed, is_yes};
use crate::store::archive::Archive;
use crate::store::query::{DecisionQuery, MessageQuery, MessageRange};
use crate::store::stored_message::StoredMessage;
use crate::store::{Store, StoreError};

/// How long after the question a “yes” answers it.
const ANSWER_WINDOW: SignedDuration = SignedDuration::from_mins(1);

/// A message that may say “yes”.
pub struct Said<'a> {
    pub conversation: &'a ConversationId,
    pub user: &'a UserId,
    pub at: Timestamp,
    pub text: &'a str,
    /// The message that it replies to, if its author marked one.
    pub reply_to: Option<&'a MessageId>,
}

/// What a “yes” confirms.
pub struct Confirmation {
    pub command: Command,
    /// The command in words.
    pub text: Arc<str>,
    /// Who wrote between the user's first command and the “yes”.
    pub between: Between,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    OnlyThePersona,
    /// The “yes” may be an answer to somebody else.
    Others,
}

/// A question of the persona.
struct Question {
    /// The command of a user who was not sure.
    unsure: Command,
    sure: Command,
    /// The sure command in words, below what the question quotes.
    text: String,
}

/// A user's message before the one that may say “yes”, and the answer to it, if the persona has said nothing since.
struct Exchange {
    message: Arc<Message>,
    answer: String,
    between: Between,
}

/// Returns the command that a message confirms, if it is a “yes” to a question whether its author is sure. It is the same
/// after the command was carried out.
pub async fn confirmed(
    store: &dyn Store,
    archive: &dyn Archive,
    said: Said<'_>,
    name: &str,
) -> Result<Option<Confirmation>, StoreError> {
    if !is_yes(said.text, name) {
        return Ok(None);
    }
    // Carried out, it has deleted the first command.
    let forgotten = store.orders(&said.conversation.workspace).await?.forgotten;
    let is_this = |at: &Timestamp| at.as_millisecond() == said.at.as_millisecond();
    if forgotten.iter().any(|(user, asked)| user == said.user && is_this(asked)) {
        let (command, text) = (Command::ForgetMeForSure, said.text.into());
        return Ok(Some(Confirmation { command, text, between: Between::OnlyThePersona }));
    }
    let Some(exchange) = last_exchange(archive, &said).await? else { return Ok(None) };
    let command = Command::parse_message(&exchange.message.text, name);
    let question = Question::parse(&exchange.answer, name);
    let question = question.filter(|question| command == Some(question.unsure));
    Ok(question.map(|Question { sure, text, .. }| Confirmation {
        command: sure,
        text: text.into(),
        between: exchange.between,
    }))
}

async fn last_exchange(
    archive: &dyn Archive,
    said: &Said<'_>,
) -> Result<Option<Exchange>, StoreError> {
    let ConversationId { workspace, channel, thread } = said.conversation.clone();
    let range = MessageRange::BeforeTime(said.at);
    let here = (workspace.clone(), channel.clone());
    let query = MessageQuery { workspace, channel, thread, range, limit: MAX_SCANNED };
    let mut earlier = archive.messages(query).await?;
    earlier.retain(|it| it.message.conversation == *said.conversation && !it.is_deleted);
    let is_own = |it: &StoredMessage| it.message.author.id == *said.user;
    let since = earlier.split_off(earlier.iter().rposition(is_own).map_or(0, |own| own + 1));
    let Some(own) = earlier.pop() else { return Ok(None) };
    let (workspace, channel) = here;
    let messages = vec![own.message.id.clone()];
    let query = DecisionQuery::Messages { workspace, channel, messages };
    let Some(decision) = archive.decisions(query).await?.pop() else { return Ok(None) };
    let is_persona = |it: &&StoredMessage| it.message.author.kind == AuthorKind::Persona;
    let is_answer = |it: &&StoredMessage| decision.posted_messages.contains(&it.message.id);
    let newest = since.iter().rfind(is_persona).filter(is_answer);
    let is_late = |it: &StoredMessage| said.at.duration_since(it.message.at) > ANSWER_WINDOW;
    let is_other = |replied| !decision.posted_messages.contains(replied);
    if newest.is_none_or(is_late) || said.reply_to.is_some_and(is_other) {
        return Ok(None);
    }
    let answer: Vec<&str> = since.iter().filter(is_answer).map(|it| &*it.message.text).collect();
    Ok(Some(Exchange {
        message: own.message,
        answer: answer.join("\n"),
        between: match since.iter().all(|it| is_persona(&it)) {
            true => Between::OnlyThePersona,
            false => Between::Others,
        },
    }))
}

/// Whether a text of the persona asks a user who is not sure.
pub fn is_question(text: &str, name: &str) -> bool {
    Question::parse(text, name).is_some()
}

impl Question {
    fn parse(text: &str, name: &str) -> Option<Self> {
        let mut code = text.split('`').skip(1).step_by(2);
        code.find_map(|words| {
            let sure = Command::parse_message(words, name)?;
            let unsure = match sure == Command::ForgetMeForSure {
                true => Command::ForgetMe,
                false => {
                    Some(sure).filter(|it| *it == Command::ForgetThat && is_confirmed(words))?
                }
            };
            let quoted = text.lines().filter(|line| line.starts_with('>'));
            let lines: Vec<&str> = quoted.chain([words]).collect();
            Some(Self { unsure, sure, text: lines.join("\n") })
        })
    }
}
