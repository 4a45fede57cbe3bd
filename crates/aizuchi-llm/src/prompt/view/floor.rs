//! What the form, order and times of the lines show about who waits for whom. A model believes such a line, so only those
//! are printed that readers found to be right nine times in ten (`docs/internals/eval.md`).

use aizuchi_model::chat::{AuthorKind, UserId};
use aizuchi_model::context::Context;
use aizuchi_model::context::conversation_analysis::{
    ConversationAnalysis, QuestionAnalysis, QuestionStatus,
};
use aizuchi_structure::cues::Cues;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::prompt::fence::escape_quotes;
use crate::prompt::neutralize_text::to_inert_line;
use crate::prompt::speakers::Speakers;
use crate::prompt::tokens::estimate;

/// The maximum number of questions that are listed. The newest are kept.
const MAX_QUESTIONS: usize = 6;
/// Older questions are history, answered or not.
const MAX_QUESTION_AGE: SignedDuration = SignedDuration::from_hours(72);
/// The probabilities from which a question is said to be open, and to have been taken up.
const OPEN: f32 = 0.85;
const TAKEN_UP: f32 = 0.7;
/// The tokens of the text around a question, and of the part that is always printed.
const QUESTION_OVERHEAD_TOKENS: u64 = 40;
pub const BASE_TOKENS: u64 = 90;

#[derive(Clone, Debug, Serialize)]
pub struct FloorView {
    /// The seconds since the newest message.
    pub quiet_seconds: i64,
    /// Oldest first.
    pub questions: Vec<QuestionView>,
}

#[derive(Clone, Debug, Serialize)]
pub struct QuestionView {
    /// The message's time and author, as printed.
    pub line: String,
    pub seconds: i64,
    pub lines_since: usize,
    /// `open`, `put_to` or `answered`.
    pub fate: &'static str,
    /// The user to whom the question is put, if any.
    pub whom: Option<String>,
}

impl FloorView {
    /// The analysis at `now`; `None` for a conversation without human messages.
    pub fn from_context(context: &Context, speakers: &Speakers, now: Timestamp) -> Option<Self> {
        context.newest_human_message()?;
        let newest = context.target_messages().last()?;
        let seconds_since = |at: Timestamp| now.duration_since(at).as_secs().max(0);
        let analysis = ConversationAnalysis::new(context);
        let current = analysis
            .questions()
            .iter()
            .rev()
            .filter(|question| now.duration_since(question.message.at) <= MAX_QUESTION_AGE);
        let shown = current.filter_map(|question| {
            let (fate, whom) = fate(question, &analysis, context)?;
            Some(QuestionView {
                line: escape_quotes(&speakers.message_label(question.message)),
                seconds: seconds_since(question.message.at),
                lines_since: question.messages_since,
                fate,
                whom: whom.map(|user| display_name(user, context, speakers)),
            })
        });
        let mut questions: Vec<QuestionView> = shown.take(MAX_QUESTIONS).collect();
        questions.reverse();
        Some(Self { quiet_seconds: seconds_since(newest.at), questions })
    }

    /// Leaves out the oldest questions until the estimate is at most `max_tokens` or nothing is left.
    pub fn fit(&mut self, max_tokens: u64) {
        while self.tokens() > max_tokens && !self.questions.is_empty() {
            self.questions.remove(0);
        }
    }

    /// The estimated tokens.
    pub fn tokens(&self) -> u64 {
        let questions = self.questions.iter();
        let questions =
            questions.map(|question| estimate(&question.line) + QUESTION_OVERHEAD_TOKENS);
        questions.sum::<u64>() + BASE_TOKENS
    }
}

/// What is said of a question, and the user whom that names; `None` if it is too uncertain to say anything.
fn fate<'a>(
    question: &'a QuestionAnalysis<'_>,
    analysis: &ConversationAnalysis<'_>,
    context: &Context,
) -> Option<(&'static str, Option<&'a UserId>)> {
    match &question.status {
        QuestionStatus::Directed(user) => Some(("put_to", Some(user))),
        // Its own answers are easy to see, and whether they help is not.
        _ if question.message.is_addressed() => None,
        QuestionStatus::TakenUp(user, _) if is_own(user, context) => None,
        QuestionStatus::TakenUp(_, probability) => {
            (*probability >= TAKEN_UP).then_some(("answered", None))
        }
        QuestionStatus::Resolved => Some(("answered", None)),
        QuestionStatus::Open => {
            let cues = analysis.cues(question.message);
            let is_plain = question.message.text.trim_end().ends_with(['?', '？'])
                && !cues.intersects(Cues::SECOND_PERSON | Cues::ADVICE);
            // A post of the persona's right below it may have answered it, or right above it be what it follows up on.
            let near = question.messages_since.saturating_sub(2)..=question.messages_since + 1;
            let is_apart_from_own =
                analysis.messages_since_own().is_none_or(|since_own| !near.contains(&since_own));
            let is_sure = question.open >= OPEN
                && is_apart_from_own
                && (cues.contains(Cues::TO_ALL) || is_plain);
            is_sure.then_some(("open", None))
        }
        // Who talks with whom is wrong too often, and in its thread may be only the author.
        QuestionStatus::AuthorInExchange | QuestionStatus::InThread => None,
    }
}

fn is_own(user: &UserId, context: &Context) -> bool {
    let mut authors = context.target_messages().iter().map(|message| &message.author);
    authors.any(|author| author.kind == AuthorKind::Persona && author.id == *user)
}

/// The name of a user in the prompt, even if they have not written in it.
fn display_name(user: &UserId, context: &Context, speakers: &Speakers) -> String {
    let mut authors = context.messages().map(|message| &message.author);
    match authors.find(|author| author.id == *user) {
        Some(author) => escape_quotes(&speakers.name(author)),
        None => escape_quotes(&to_inert_line(context.display_name(user))),
    }
}
