//! The values that the facts about a talk are printed with: whose floor it is, as far as names and marks
//! tell.

use jiff::Timestamp;
use serde::Serialize;

use crate::chat::{Message, UserId, to_single_line};
use crate::context::Context;
use crate::context::conversation_analysis::{
    ConversationAnalysis, QuestionAnalysis, QuestionStatus,
};
use crate::prompt::speakers::Speakers;
use crate::prompt::tokens::estimate;
use crate::prompt::view::from_context::escape_quotes;

/// So many questions that are open are told, and so many that are not: the newest.
const MAX_OPEN_QUESTIONS: usize = 5;
const MAX_OTHER_QUESTIONS: usize = 4;
/// Tokens of the words around a question, and of all that is always there.
const QUESTION_OVERHEAD_TOKENS: u64 = 40;
pub const BASE_TOKENS: u64 = 120;

#[derive(Clone, Debug, Serialize)]
pub struct FloorView {
    /// Questions to everybody that nobody has taken up, oldest first.
    pub open: Vec<QuestionView>,
    /// Other questions, oldest first.
    pub others: Vec<QuestionView>,
    /// Two people who talk with each other.
    pub holders: Vec<String>,
    /// Within the last five minutes.
    pub lines: usize,
    pub people: usize,
    /// How many lines stand behind the persona's last one.
    pub lines_since_own: Option<usize>,
}

#[derive(Clone, Debug, Serialize)]
pub struct QuestionView {
    /// Time and name, as printed.
    pub line: String,
    pub name: String,
    pub seconds: i64,
    pub lines_since: usize,
    /// `open`, `put_to`, `taken_up`, `content` or `in_talk`.
    pub fate: &'static str,
    /// Whom the fate is about, if it is about anybody.
    pub whom: Option<String>,
}

impl FloorView {
    /// What there is to say at `now`; nothing of a talk without lines.
    pub fn from_context(context: &Context, speakers: &Speakers, now: Timestamp) -> Option<Self> {
        context.newest_human_message()?;
        let floor = ConversationAnalysis::new(context);
        let asked = |asked: &QuestionAnalysis<'_>| QuestionView::new(asked, context, speakers, now);
        let mut open: Vec<QuestionView> =
            floor.open_questions().rev().take(MAX_OPEN_QUESTIONS).map(asked).collect();
        let others =
            floor.questions.iter().rev().filter(|asked| asked.status != QuestionStatus::Open);
        let mut others: Vec<QuestionView> = others.take(MAX_OTHER_QUESTIONS).map(asked).collect();
        open.reverse();
        others.reverse();
        let holders = floor.exchange_partners().into_iter().flatten();
        let bustle = floor.recent_activity(now);
        Some(Self {
            open,
            others,
            holders: holders.map(|user| display_name(user, context, speakers)).collect(),
            lines: bustle.messages,
            people: bustle.users,
            lines_since_own: floor.messages_since_own(),
        })
    }

    /// Leaves out what matters least until it has so many tokens or is as short as it can be.
    pub fn fit(&mut self, most: u64) {
        while self.tokens() > most {
            match (self.others.is_empty(), self.open.is_empty()) {
                (false, _) => drop(self.others.remove(0)),
                // What is told last is the newest.
                (true, false) => drop(self.open.remove(0)),
                (true, true) => return,
            }
        }
    }

    /// About what it comes to.
    pub fn tokens(&self) -> u64 {
        let asked = self.open.iter().chain(&self.others);
        let asked: u64 = asked.map(|asked| estimate(&asked.line) + QUESTION_OVERHEAD_TOKENS).sum();
        asked + BASE_TOKENS
    }
}

impl QuestionView {
    fn new(
        asked: &QuestionAnalysis<'_>,
        context: &Context,
        speakers: &Speakers,
        now: Timestamp,
    ) -> Self {
        let line: &Message = asked.message;
        let (fate, whom) = match asked.status {
            QuestionStatus::Open => ("open", None),
            QuestionStatus::Directed(user) => ("put_to", Some(user)),
            QuestionStatus::TakenUp(user) => ("taken_up", Some(user)),
            QuestionStatus::Resolved => ("content", None),
            QuestionStatus::AuthorInExchange(user) => ("in_talk", Some(user)),
        };
        Self {
            line: escape_quotes(&speakers.message_label(line)),
            name: escape_quotes(&speakers.name(&line.author)),
            seconds: now.duration_since(line.at).as_secs().max(0),
            lines_since: asked.messages_since,
            fate,
            whom: whom.map(|user| display_name(user, context, speakers)),
        }
    }
}

/// How somebody is called in the prompt, who may have said nothing in it.
fn display_name(user: &UserId, context: &Context, speakers: &Speakers) -> String {
    let mut authors = context.messages().map(|line| &line.author);
    match authors.find(|author| author.id == *user) {
        Some(author) => escape_quotes(&speakers.name(author)),
        None => escape_quotes(&to_single_line(context.display_name(user))),
    }
}
