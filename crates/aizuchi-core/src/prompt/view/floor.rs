//! The values of the conversation analysis: who has the floor, judging by the structure of the conversation.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::chat::{Message, UserId};
use crate::context::Context;
use crate::context::conversation_analysis::{
    ConversationAnalysis, QuestionAnalysis, QuestionStatus,
};
use crate::prompt::fence::escape_quotes;
use crate::prompt::inert::to_inert_line;
use crate::prompt::speakers::Speakers;
use crate::prompt::tokens::estimate;

/// The maximum numbers of open and other questions that are listed. The newest are kept.
const MAX_OPEN_QUESTIONS: usize = 5;
const MAX_OTHER_QUESTIONS: usize = 4;
/// Older questions are history, answered or not.
const MAX_QUESTION_AGE: SignedDuration = SignedDuration::from_hours(72);
/// The tokens of the text around a question, and of the part that is always printed.
const QUESTION_OVERHEAD_TOKENS: u64 = 40;
pub const BASE_TOKENS: u64 = 120;

#[derive(Clone, Debug, Serialize)]
pub struct FloorView {
    /// Questions to everyone that are still open, oldest first.
    pub open: Vec<QuestionView>,
    /// The number of older questions that are open, too.
    pub more_open: usize,
    /// Other questions, oldest first.
    pub others: Vec<QuestionView>,
    /// Two users who are talking to each other.
    pub holders: Vec<String>,
    /// The number of messages within the last five minutes.
    pub lines: usize,
    pub people: usize,
    /// The number of messages since the persona's last one.
    pub lines_since_own: Option<usize>,
}

#[derive(Clone, Debug, Serialize)]
pub struct QuestionView {
    /// The message's time and author, as printed.
    pub line: String,
    pub seconds: i64,
    pub lines_since: usize,
    /// `open`, `put_to`, `taken_up`, `content`, `in_talk` or `in_thread`.
    pub fate: &'static str,
    /// The user that the fate refers to, if any.
    pub whom: Option<String>,
}

impl FloorView {
    /// The analysis at `now`; `None` for a conversation without human messages.
    pub fn from_context(context: &Context, speakers: &Speakers, now: Timestamp) -> Option<Self> {
        context.newest_human_message()?;
        let analysis = ConversationAnalysis::new(context);
        let question =
            |question: &QuestionAnalysis<'_>| QuestionView::new(question, context, speakers, now);
        let is_current = |question: &&QuestionAnalysis<'_>| {
            now.duration_since(question.message.at) <= MAX_QUESTION_AGE
        };
        let mut open: Vec<QuestionView> =
            analysis.open_questions().rev().filter(is_current).map(question).collect();
        let more_open = open.len().saturating_sub(MAX_OPEN_QUESTIONS);
        open.truncate(MAX_OPEN_QUESTIONS);
        let others = analysis.questions().iter().rev().filter(is_current);
        let others = others.filter(|question| question.status != QuestionStatus::Open);
        let mut others: Vec<QuestionView> =
            others.take(MAX_OTHER_QUESTIONS).map(question).collect();
        open.reverse();
        others.reverse();
        let holders = analysis.exchange_partners().into_iter().flatten();
        let activity = analysis.recent_activity(now);
        Some(Self {
            open,
            more_open,
            others,
            holders: holders.map(|user| display_name(user, context, speakers)).collect(),
            lines: activity.messages,
            people: activity.users,
            lines_since_own: analysis.messages_since_own(),
        })
    }

    /// Leaves out the least important questions until the estimate is at most `max_tokens` or
    /// nothing is left.
    pub fn fit(&mut self, max_tokens: u64) {
        while self.tokens() > max_tokens {
            match (self.others.is_empty(), self.open.is_empty()) {
                (false, _) => drop(self.others.remove(0)),
                // The newest is last.
                (true, false) => {
                    self.open.remove(0);
                    self.more_open += 1;
                }
                (true, true) => return,
            }
        }
    }

    /// The estimated tokens.
    pub fn tokens(&self) -> u64 {
        let question = self.open.iter().chain(&self.others);
        let question: u64 =
            question.map(|question| estimate(&question.line) + QUESTION_OVERHEAD_TOKENS).sum();
        question + BASE_TOKENS
    }
}

impl QuestionView {
    fn new(
        question: &QuestionAnalysis<'_>,
        context: &Context,
        speakers: &Speakers,
        now: Timestamp,
    ) -> Self {
        let message: &Message = question.message;
        let (fate, whom) = match &question.status {
            QuestionStatus::Open => ("open", None),
            QuestionStatus::Directed(user) => ("put_to", Some(user)),
            QuestionStatus::TakenUp(user, _) => ("taken_up", Some(user)),
            QuestionStatus::Resolved => ("content", None),
            QuestionStatus::AuthorInExchange(user) => ("in_talk", Some(user)),
            QuestionStatus::InThread => ("in_thread", None),
        };
        Self {
            line: escape_quotes(&speakers.message_label(message)),
            seconds: now.duration_since(message.at).as_secs().max(0),
            lines_since: question.messages_since,
            fate,
            whom: whom.map(|user| display_name(user, context, speakers)),
        }
    }
}

/// The name of a user in the prompt, even if they have not written in it.
fn display_name(user: &UserId, context: &Context, speakers: &Speakers) -> String {
    let mut authors = context.messages().map(|message| &message.author);
    match authors.find(|author| author.id == *user) {
        Some(author) => escape_quotes(&speakers.name(author)),
        None => escape_quotes(&to_inert_line(context.display_name(user))),
    }
}
