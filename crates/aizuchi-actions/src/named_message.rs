//! Finds the message that a question about a silence names: "why did you not answer my question about the pump?".

use std::collections::BTreeSet;

use aizuchi_model::recall::content_words::content_words;
use aizuchi_store::StoreError;
use aizuchi_store::archive::Archive;
use aizuchi_store::query::{MessageQuery, MessageRange};
use aizuchi_store::stored_message::StoredMessage;
use aizuchi_structure::cues::Cues;

use crate::command::{Command, CommandRequest};

/// The maximum number of messages that are searched.
const MAX_MESSAGES: usize = 200;
/// Words of such a question that do not describe the message. Japanese words are distinguished by pairs of kanji.
const OWN_WORDS: &str = "answer answered answering reply replied respond responded react reacted ignore ignored silent \
    quiet asked ask asking question questions message earlier before 質問 返事 返信 反応 無視 発言 投稿";
/// Phrases that refer to the user's own question.
const OWN_QUESTION: [&str; 10] = [
    "my question", "my message", "when i asked", "what i asked", "私の質問", "僕の質問",
    "俺の質問", "わたしの質問", "さっきの質問", "この質問",
];

/// Returns the newest message before the request that has the most of the words by which it is named, or else the
/// user's newest question, if that is meant.
pub async fn named_message(
    archive: &dyn Archive,
    request: &CommandRequest,
    name: &str,
) -> Result<Option<StoredMessage>, StoreError> {
    let own_words = content_words(&format!("{OWN_WORDS} {name}"));
    let words: BTreeSet<String> =
        content_words(&request.text).difference(&own_words).cloned().collect();
    let lower = request.text.to_lowercase();
    let is_own = OWN_QUESTION.iter().any(|phrase| lower.contains(phrase));
    if words.is_empty() && !is_own {
        return Ok(None);
    }
    let query = MessageQuery {
        workspace: request.conversation.workspace.clone(),
        channel: request.conversation.channel.clone(),
        thread: request.conversation.thread.clone(),
        range: MessageRange::BeforeTime(request.at),
        limit: MAX_MESSAGES,
    };
    let mut earlier = archive.messages(query).await?;
    earlier.retain(|stored| {
        stored.message.is_human()
            && !stored.is_deleted
            && Command::parse_message(&stored.message.text, name).is_none()
    });
    let shared =
        |stored: &StoredMessage| content_words(&stored.message.text).intersection(&words).count();
    let is_meant = |stored: &&StoredMessage| match words.is_empty() {
        true => {
            stored.message.author.id == request.user
                && Cues::from_text(&stored.message.text).contains(Cues::ASKS)
        }
        false => shared(stored) > 0,
    };
    // If several match equally well, the newest.
    Ok(earlier.iter().filter(is_meant).max_by_key(|stored| shared(stored)).cloned())
}
