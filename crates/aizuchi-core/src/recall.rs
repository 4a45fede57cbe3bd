//! Finding old lines by their words: what a query is, what makes a line a good answer to it, and how
//! it is told apart from the rest. Every store ranks by the same rules.

pub mod terms;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::chat::{ChannelId, ConversationId, Message, WorkspaceId};
use crate::recall::terms::{SearchTerm, extract_terms, search_terms};

/// The most things that one query looks for.
const MAX_SEARCH_TERMS: usize = 12;
/// How soon saying a word again stops counting, and how much long lines are held back: BM25.
const BM25_K1: f64 = 1.2;
const BM25_B: f64 = 0.3;
/// How many terms a line has, on the whole.
const AVERAGE_LENGTH: f64 = 10.0;
/// The share of a neighbor's score that a line gets too, and how near a neighbor is, in seconds.
const NEIGHBOR_SHARE: f64 = 0.1;
const NEIGHBOR_SECONDS: f64 = 120.0;
/// What a line gains if the query names who said it.
const AUTHOR_BOOST: f64 = 4.0;
/// What a line gains where the query comes from, as a share of its score.
const SAME_CHANNEL_BOOST: f64 = 1.0;

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
pub struct RecalledMessage {
    pub message: Arc<Message>,
    /// The author's name, or id where none is known.
    pub author_name: Arc<str>,
    /// The channel's name, or id where none is known.
    pub channel_name: Arc<str>,
    /// Only to be compared within one answer.
    pub score: f64,
}

/// What a query looks for, and how much each of it tells.
#[derive(Clone, Debug)]
pub struct RecallScorer {
    pub search_terms: Vec<SearchTerm>,
    weights: Vec<f64>,
    /// The words of the query that may be somebody's name.
    names: Vec<String>,
    here: Option<ChannelId>,
}

impl RecallScorer {
    pub fn new(query: &RecallQuery) -> Self {
        let wanted = search_terms(&query.text, MAX_SEARCH_TERMS);
        let weights = vec![0.0; wanted.len()];
        Self {
            search_terms: wanted,
            weights,
            names: extract_terms(&query.text),
            here: query.visible_from.clone(),
        }
    }

    /// Weighs by how many of the lines that can be found have each thing: the fewer, the more it tells.
    pub fn set_weights(&mut self, lines: usize, having: &[usize]) {
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
    pub fn channel_factor(&self, channel: &ChannelId) -> f64 {
        if self.here.as_ref() == Some(channel) { 1.0 + SAME_CHANNEL_BOOST } else { 1.0 }
    }

    /// The best `limit` of some lines, best first. Those that have nothing of what is looked for are
    /// left out.
    pub fn rank(&self, mut lines: Vec<RecalledMessage>, limit: usize) -> Vec<RecalledMessage> {
        for line in &mut lines {
            line.score = self.score(line);
        }
        lines.retain(|line| line.score > 0.0);
        for (line, help) in neighbor_scores(&lines) {
            lines[line].score += NEIGHBOR_SHARE * help;
        }
        lines.sort_by(compare_best_first);
        lines.truncate(limit);
        lines
    }

    fn score(&self, line: &RecalledMessage) -> f64 {
        let terms = extract_terms(&line.message.text);
        let length = 1.0 - BM25_B + BM25_B * terms.len() as f64 / AVERAGE_LENGTH;
        let found = self
            .search_terms
            .iter()
            .zip(&self.weights)
            .filter(|(wanted, _)| wanted.is_match(&terms));
        let words: f64 = found.map(|(_, weight)| weight).sum();
        if words == 0.0 {
            return 0.0;
        }
        let is_named = self::terms::extract_terms(&line.author_name)
            .iter()
            .any(|name| self.names.contains(name));
        let words = words * (BM25_K1 + 1.0) / (1.0 + BM25_K1 * length);
        let named = if is_named { AUTHOR_BOOST } else { 0.0 };
        (words + named) * self.channel_factor(&line.message.conversation.channel)
    }
}

/// Lines that stand near others of their conversation which were found as well, and how much the
/// better one of those two is worth to them.
fn neighbor_scores(lines: &[RecalledMessage]) -> Vec<(usize, f64)> {
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
            let help = sides.map(|other| neighbor_score(&lines[*place], &lines[*other]));
            helped.push((*place, help.fold(0.0, f64::max)));
        }
    }
    helped
}

fn neighbor_score(line: &RecalledMessage, other: &RecalledMessage) -> f64 {
    let apart = line.message.at.duration_since(other.message.at).abs().as_secs_f64();
    if apart <= NEIGHBOR_SECONDS { other.score } else { 0.0 }
}

fn compare_best_first(a: &RecalledMessage, b: &RecalledMessage) -> Ordering {
    let newer = b.message.at.cmp(&a.message.at);
    b.score.total_cmp(&a.score).then(newer).then_with(|| b.message.id.cmp(&a.message.id))
}
