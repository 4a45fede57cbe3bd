//! The values that the facts about a talk are printed with: whose floor it is, as far as names and marks
//! tell.

use jiff::Timestamp;
use serde::Serialize;

use crate::chat::{Message, UserId, one_line};
use crate::context::Context;
use crate::context::floor::{Asked, Fate, Floor};
use crate::prompt::speakers::Speakers;
use crate::prompt::tokens::estimate;
use crate::prompt::view::from_context::quotable;

/// So many questions that are open are told, and so many that are not: the newest.
const TOLD_OPEN: usize = 5;
const TOLD_OTHERS: usize = 4;
/// Tokens of the words around a question, and of all that is always there.
const AROUND_TOKENS: u64 = 40;
pub const REST_TOKENS: u64 = 120;

#[derive(Clone, Debug, Serialize)]
pub struct FloorView {
    /// Questions to everybody that nobody has taken up, oldest first.
    pub open: Vec<AskedView>,
    /// Other questions, oldest first.
    pub others: Vec<AskedView>,
    /// Two people who talk with each other.
    pub holders: Vec<String>,
    /// Within the last five minutes.
    pub lines: usize,
    pub people: usize,
    /// How many lines stand behind the persona's last one.
    pub lines_since_own: Option<usize>,
}

#[derive(Clone, Debug, Serialize)]
pub struct AskedView {
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
    pub fn of(context: &Context, speakers: &Speakers, now: Timestamp) -> Option<Self> {
        context.newest_human()?;
        let floor = Floor::of(context);
        let asked = |asked: &Asked<'_>| AskedView::of(asked, context, speakers, now);
        let mut open: Vec<AskedView> = floor.open().rev().take(TOLD_OPEN).map(asked).collect();
        let others = floor.asked.iter().rev().filter(|asked| asked.fate != Fate::Open);
        let mut others: Vec<AskedView> = others.take(TOLD_OTHERS).map(asked).collect();
        open.reverse();
        others.reverse();
        let holders = floor.holders().into_iter().flatten();
        let bustle = floor.bustle(now);
        Some(Self {
            open,
            others,
            holders: holders.map(|user| name(user, context, speakers)).collect(),
            lines: bustle.lines,
            people: bustle.people,
            lines_since_own: floor.lines_since_own(),
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
        let asked: u64 = asked.map(|asked| estimate(&asked.line) + AROUND_TOKENS).sum();
        asked + REST_TOKENS
    }
}

impl AskedView {
    fn of(asked: &Asked<'_>, context: &Context, speakers: &Speakers, now: Timestamp) -> Self {
        let line: &Message = asked.line;
        let (fate, whom) = match asked.fate {
            Fate::Open => ("open", None),
            Fate::PutTo(user) => ("put_to", Some(user)),
            Fate::TakenUp(user) => ("taken_up", Some(user)),
            Fate::Content => ("content", None),
            Fate::InTalk(user) => ("in_talk", Some(user)),
        };
        Self {
            line: quotable(&speakers.stamp(line)),
            name: quotable(&speakers.name(&line.author)),
            seconds: now.duration_since(line.at).as_secs().max(0),
            lines_since: asked.lines_since,
            fate,
            whom: whom.map(|user| name(user, context, speakers)),
        }
    }
}

/// How somebody is called in the prompt, who may have said nothing in it.
fn name(user: &UserId, context: &Context, speakers: &Speakers) -> String {
    let mut authors = context.lines().map(|line| &line.author);
    match authors.find(|author| author.id == *user) {
        Some(author) => quotable(&speakers.name(author)),
        None => quotable(&one_line(context.name(user))),
    }
}
