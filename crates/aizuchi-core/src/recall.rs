//! Finding old lines by their words: what a query is, what makes a line a good answer to it, and how
//! it is told apart from the rest. Every store ranks by the same rules.

pub mod terms;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::chat::{ChannelId, ConversationId, Message, WorkspaceId};
use crate::recall::terms::{Wanted, terms, wanted};

/// The most things that one query looks for.
const MOST_WANTED: usize = 12;
/// How soon saying a word again stops counting, and how much long lines are held back: BM25.
const REPEATING: f64 = 1.2;
const HOLDING_BACK: f64 = 0.3;
/// How many terms a line has, on the whole.
const USUAL_LENGTH: f64 = 10.0;
/// The share of a neighbor's score that a line gets too, and how near a neighbor is, in seconds.
const HELP: f64 = 0.1;
const NEAR_SECONDS: f64 = 120.0;
/// What a line gains if the query names who said it.
const NAMED: f64 = 4.0;
/// What a line gains where the query comes from, as a share of its score.
const HERE: f64 = 1.0;

/// A search for old lines.
#[derive(Clone, Debug)]
pub struct RecallQuery {
    pub workspace: WorkspaceId,
    /// Only lines that may be seen from this channel: its own, and those of public ones. `None`: the
    /// operator sees everything.
    pub visible_from: Option<ChannelId>,
    /// Only lines of this channel.
    pub channel: Option<ChannelId>,
    pub text: String,
    /// Only lines older than this: what is newer, the caller has.
    pub before: Option<Timestamp>,
    pub limit: usize,
}

/// A line that was found, as it stands now.
#[derive(Clone, Debug, PartialEq)]
pub struct Recalled {
    pub message: Arc<Message>,
    /// The author's name, or id where none is known.
    pub name: Arc<str>,
    /// The channel's name, or id where none is known.
    pub channel_name: Arc<str>,
    /// Only to be compared within one answer.
    pub score: f64,
}

/// What a query looks for, and how much each of it tells.
#[derive(Clone, Debug)]
pub struct Search {
    pub wanted: Vec<Wanted>,
    weights: Vec<f64>,
    /// The words of the query that may be somebody's name.
    names: Vec<String>,
    here: Option<ChannelId>,
}

impl Search {
    pub fn new(query: &RecallQuery) -> Self {
        let wanted = wanted(&query.text, MOST_WANTED);
        let weights = vec![0.0; wanted.len()];
        Self { wanted, weights, names: terms(&query.text), here: query.visible_from.clone() }
    }

    /// Weighs by how many of the lines that can be found have each thing: the fewer, the more it tells.
    pub fn weigh(&mut self, lines: usize, having: &[usize]) {
        let weight = |having: &usize| {
            let (lines, having) = (lines.max(*having) as f64, *having as f64);
            (1.0 + (lines - having + 0.5) / (having + 0.5)).ln()
        };
        self.weights = having.iter().map(weight).collect();
    }

    pub fn weight(&self, wanted: usize) -> f64 {
        self.weights.get(wanted).copied().unwrap_or(0.0)
    }

    /// What a line gains for where it was said, as a factor.
    pub fn nearness(&self, channel: &ChannelId) -> f64 {
        if self.here.as_ref() == Some(channel) { 1.0 + HERE } else { 1.0 }
    }

    /// The best `limit` of some lines, best first. Those that have nothing of what is looked for are
    /// left out.
    pub fn rank(&self, mut lines: Vec<Recalled>, limit: usize) -> Vec<Recalled> {
        for line in &mut lines {
            line.score = self.score(line);
        }
        lines.retain(|line| line.score > 0.0);
        for (line, help) in neighbors(&lines) {
            lines[line].score += HELP * help;
        }
        lines.sort_by(best_first);
        lines.truncate(limit);
        lines
    }

    fn score(&self, line: &Recalled) -> f64 {
        let terms = terms(&line.message.text);
        let length = 1.0 - HOLDING_BACK + HOLDING_BACK * terms.len() as f64 / USUAL_LENGTH;
        let found =
            self.wanted.iter().zip(&self.weights).filter(|(wanted, _)| wanted.is_in(&terms));
        let words: f64 = found.map(|(_, weight)| weight).sum();
        if words == 0.0 {
            return 0.0;
        }
        let is_named = self::terms::terms(&line.name).iter().any(|name| self.names.contains(name));
        let words = words * (REPEATING + 1.0) / (1.0 + REPEATING * length);
        let named = if is_named { NAMED } else { 0.0 };
        (words + named) * self.nearness(&line.message.conversation.channel)
    }
}

/// Lines that stand near others of their conversation which were found as well, and how much the
/// better one of those two is worth to them.
fn neighbors(lines: &[Recalled]) -> Vec<(usize, f64)> {
    let mut talks: HashMap<&ConversationId, Vec<usize>> = HashMap::new();
    for (place, line) in lines.iter().enumerate() {
        talks.entry(&line.message.conversation).or_default().push(place);
    }
    let mut helped = Vec::new();
    for mut talk in talks.into_values() {
        talk.sort_by_key(|place| (lines[*place].message.at, &lines[*place].message.id));
        for (at, place) in talk.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|before| talk.get(before));
            let sides = before.into_iter().chain(talk.get(at + 1));
            let help = sides.map(|other| help(&lines[*place], &lines[*other]));
            helped.push((*place, help.fold(0.0, f64::max)));
        }
    }
    helped
}

fn help(line: &Recalled, other: &Recalled) -> f64 {
    let apart = line.message.at.duration_since(other.message.at).abs().as_secs_f64();
    if apart <= NEAR_SECONDS { other.score } else { 0.0 }
}

fn best_first(a: &Recalled, b: &Recalled) -> Ordering {
    let newer = b.message.at.cmp(&a.message.at);
    b.score.total_cmp(&a.score).then(newer).then_with(|| b.message.id.cmp(&a.message.id))
}
