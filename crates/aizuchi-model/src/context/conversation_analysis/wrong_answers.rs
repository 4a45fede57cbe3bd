//! Whether an answer may be wrong: the memories know of what was asked, or an earlier message tells another number. Such
//! an answer settles nothing before a judge has seen it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::chat::Message;
use crate::context::Context;
use crate::context::conversation_analysis::ConversationAnalysis;
use crate::recall::content_words::{content_words, count, count_shared};
use crate::recall::terms::normalize_unicode;

/// A line is about the subject of a message if they have so many words in common, or all that the message has. About that
/// of a question and its answer it also is if one of the words is the answer's.
const SHARED_WORDS: usize = 2;

impl ConversationAnalysis<'_> {
    /// Whether a message asks, or may answer, something of which the memories know, or of which an earlier message tells
    /// another number than the answer.
    pub(super) fn may_be_wrong(&self, index: usize) -> bool {
        match self.talk.structure().asking(index) > 0.0 {
            true => is_remembered(&self.target[index + self.first], self.context),
            false => self.answers_wrongly(index),
        }
    }

    /// Whether a message of the target may answer a question otherwise than the memories or an earlier message.
    pub fn may_answer_wrongly(&self, message: &Message) -> bool {
        let index = self.talk.index_of(&message.id);
        let index = index.filter(|index| self.talk.structure().asking(*index) == 0.0);
        index.is_some_and(|index| self.answers_wrongly(index))
    }

    fn answers_wrongly(&self, index: usize) -> bool {
        let message = |index: usize| &self.target[index + self.first];
        let numbers = numbers(&message(index).text);
        let said = content_words(&message(index).text);
        self.talk.question_before(index).map(message).is_some_and(|question| {
            let subject = content_words(&question.text);
            let least = count(&subject).clamp(1, SHARED_WORDS);
            let is_about = |text: &str| {
                let shared = count_shared(&subject, text);
                shared >= least || shared > 0 && shared + count_shared(&said, text) >= least
            };
            let tells_another = |earlier: &Arc<Message>| {
                earlier.is_human()
                    && ![&question.author.id, &message(index).author.id]
                        .contains(&&earlier.author.id)
                    && !self::numbers(&earlier.text).is_subset(&numbers)
                    && is_about(&earlier.text)
            };
            self.talk.answered_question(index).is_some() && is_remembered(question, self.context)
                || !numbers.is_empty()
                    && self.target.iter().take_while(|it| it.id != question.id).any(tells_another)
        })
    }
}

/// Whether memories or memos know of what a message is about. An answer that it got may contradict them.
fn is_remembered(message: &Message, context: &Context) -> bool {
    let channels = context.channel_memories.iter();
    let channels = channels.flat_map(|it| [&it.long_term_memory, &it.short_term_memory]);
    let workspace = [&context.workspace_long_term_memory, &context.workspace_short_term_memory];
    let memories = channels.chain(workspace).flatten().map(|memory| &**memory);
    let threads = context.thread_memories.iter().map(|thread| &*thread.memory);
    let memos = context.important_memos.iter().chain(&context.recent_memos);
    let memos = memos.map(|memo| &*memo.content);
    let mut lines = memories.chain(threads).chain(memos).flat_map(str::lines).peekable();
    if lines.peek().is_none() {
        return false;
    }
    let words = content_words(&message.text);
    let least = count(&words).min(SHARED_WORDS);
    least > 0 && lines.any(|line| count_shared(&words, line) >= least)
}

/// The numbers in a text, also those that are written in full-width digits.
fn numbers(text: &str) -> BTreeSet<String> {
    let plain = normalize_unicode(text);
    let numbers = plain.split(|character: char| !character.is_ascii_digit());
    numbers.filter(|number| !number.is_empty()).map(str::to_owned).collect()
}
