//! Full-text search for old messages: what a query is, and how a message is scored against it. Every store
//! ranks by the same rules.

pub mod content_words;
pub mod terms;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::chat::{ChannelId, ConversationId, Message, WorkspaceId};
use crate::recall::terms::{SearchTerm, extract_terms, search_terms};

/// The most terms of one query.
const MAX_SEARCH_TERMS: usize = 12;
/// BM25: how soon repetitions of a term stop counting, and how much long messages are penalized.
const BM25_K1: f64 = 1.2;
const BM25_B: f64 = 0.3;
/// The average number of terms in a message.
const AVERAGE_LENGTH: f64 = 10.0;
/// The share of a neighbor's score that a message gets too, and the maximum distance of a neighbor in seconds.
const NEIGHBOR_SHARE: f64 = 0.1;
const NEIGHBOR_SECONDS: f64 = 120.0;
/// The bonus of a message whose author is named in the query.
const AUTHOR_BOOST: f64 = 4.0;
/// The bonus of a message in the channel of the query, as a share of its score.
const SAME_CHANNEL_BOOST: f64 = 1.0;

/// A search for old messages.
#[derive(Clone, Debug)]
pub struct RecallQuery {
    pub workspace: WorkspaceId,
    /// Only messages that are visible from this channel: its own and those of public channels. `None` means the
    /// operator, who sees everything.
    pub visible_from: Option<ChannelId>,
    /// Only messages of this channel.
    pub channel: Option<ChannelId>,
    pub text: String,
    /// Only messages older than this; the caller already has the newer ones.
    pub before: Option<Timestamp>,
    pub limit: usize,
}

impl RecallQuery {
    /// Where only what is public is visible from: no channel has this id.
    pub fn outside() -> ChannelId {
        ChannelId::new("")
    }
}

/// A message that was found, as it stands now.
#[derive(Clone, Debug, PartialEq)]
pub struct RecalledMessage {
    pub message: Arc<Message>,
    /// The author's name, or the id if unknown.
    pub author_name: Arc<str>,
    /// The channel's name, or the id if unknown.
    pub channel_name: Arc<str>,
    /// Only comparable within one result list.
    pub score: f64,
}

/// A message that may have terms of a query.
#[derive(Clone, Debug)]
pub struct RecallMatch {
    /// Without a score.
    pub message: RecalledMessage,
    /// The number of its terms, with repetitions.
    pub length: usize,
    pub found: FoundTerms,
}

/// Which of a query's terms a message has: a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoundTerms(u16);

const _: () = assert!(MAX_SEARCH_TERMS <= 16);

impl FoundTerms {
    /// Those of the query's terms for which this holds.
    pub fn new(terms: usize, is_found: impl Fn(usize) -> bool) -> Self {
        let found = (0..terms).filter(|term| is_found(*term));
        Self(found.fold(0, |bits, term| bits | 1 << term))
    }

    pub fn has(self, term: usize) -> bool {
        self.0 & 1 << term != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The terms of a query, and how much each of them weighs.
#[derive(Clone, Debug)]
pub struct RecallScorer {
    pub search_terms: Vec<SearchTerm>,
    weights: Vec<f64>,
    /// Words of the query that may be a user's name.
    names: Vec<String>,
    here: Option<ChannelId>,
}

impl RecallScorer {
    pub fn new(query: &RecallQuery) -> Self {
        let terms = search_terms(&query.text, MAX_SEARCH_TERMS);
        let weights = vec![0.0; terms.len()];
        Self {
            search_terms: terms,
            weights,
            names: extract_terms(&query.text),
            here: query.visible_from.clone(),
        }
    }

    /// Weighs each term by the number of searchable messages that have it: rare terms weigh more.
    pub fn set_weights(&mut self, messages: usize, having: &[usize]) {
        let weight = |having: &usize| {
            let (messages, having) = (messages.max(*having) as f64, *having as f64);
            (1.0 + (messages - having + 0.5) / (having + 0.5)).ln()
        };
        self.weights = having.iter().map(weight).collect();
    }

    pub fn weight(&self, term: usize) -> f64 {
        self.weights.get(term).copied().unwrap_or(0.0)
    }

    /// The factor by which a message gains for its channel.
    pub fn channel_factor(&self, channel: &ChannelId) -> f64 {
        if self.here.as_ref() == Some(channel) { 1.0 + SAME_CHANNEL_BOOST } else { 1.0 }
    }

    /// The best `limit` of some messages, best first. Messages without any of the terms are left out.
    pub fn rank(&self, messages: Vec<RecalledMessage>, limit: usize) -> Vec<RecalledMessage> {
        let matches = messages.into_iter().map(|message| {
            let terms = extract_terms(&message.message.searched_text());
            let is_found = |term: usize| self.search_terms[term].is_match(&terms);
            let found = FoundTerms::new(self.search_terms.len(), is_found);
            RecallMatch { message, length: terms.len(), found }
        });
        self.rank_matches(matches, limit)
    }

    /// The same for messages whose terms are known.
    pub fn rank_matches(
        &self,
        matches: impl Iterator<Item = RecallMatch>,
        limit: usize,
    ) -> Vec<RecalledMessage> {
        // A few users write most messages.
        let mut named: HashMap<Arc<str>, bool> = HashMap::new();
        let scored = matches.filter(|found| !found.found.is_empty()).map(|found| {
            let author = &found.message.author_name;
            let is_named = match named.get(author) {
                Some(is_named) => *is_named,
                None => *named.entry(author.clone()).or_insert_with(|| self.is_named(author)),
            };
            let score = self.score(&found, is_named);
            RecalledMessage { score, ..found.message }
        });
        let mut messages: Vec<RecalledMessage> =
            scored.filter(|message| message.score > 0.0).collect();
        for (index, score) in neighbor_scores(&messages) {
            messages[index].score += NEIGHBOR_SHARE * score;
        }
        messages.sort_by(compare_best_first);
        messages.truncate(limit);
        messages
    }

    /// Whether the query names the author of a message.
    fn is_named(&self, author: &str) -> bool {
        extract_terms(author).iter().any(|name| self.names.contains(name))
    }

    fn score(&self, found: &RecallMatch, is_named: bool) -> f64 {
        let length = 1.0 - BM25_B + BM25_B * found.length as f64 / AVERAGE_LENGTH;
        let terms = self.weights.iter().enumerate().filter(|(term, _)| found.found.has(*term));
        let weight: f64 = terms.map(|(_, weight)| weight).sum();
        if weight == 0.0 {
            return 0.0;
        }
        let text = weight * (BM25_K1 + 1.0) / (1.0 + BM25_K1 * length);
        let author = if is_named { AUTHOR_BOOST } else { 0.0 };
        let channel = &found.message.message.conversation.channel;
        (text + author) * self.channel_factor(channel)
    }
}

/// For each message, the score of its better neighbor: a message that was found as well, next to it in the same
/// conversation.
fn neighbor_scores(messages: &[RecalledMessage]) -> Vec<(usize, f64)> {
    let mut conversations: HashMap<&ConversationId, Vec<usize>> = HashMap::new();
    for (index, found) in messages.iter().enumerate() {
        conversations.entry(&found.message.conversation).or_default().push(index);
    }
    let mut scores = Vec::new();
    for mut indices in conversations.into_values() {
        indices.sort_by_key(|index| (messages[*index].message.at, &messages[*index].message.id));
        for (at, index) in indices.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|before| indices.get(before));
            let neighbors = before.into_iter().chain(indices.get(at + 1));
            let score = neighbors.map(|other| neighbor_score(&messages[*index], &messages[*other]));
            scores.push((*index, score.fold(0.0, f64::max)));
        }
    }
    scores
}

fn neighbor_score(found: &RecalledMessage, other: &RecalledMessage) -> f64 {
    let apart = found.message.at.duration_since(other.message.at).abs().as_secs_f64();
    if apart <= NEIGHBOR_SECONDS { other.score } else { 0.0 }
}

fn compare_best_first(a: &RecalledMessage, b: &RecalledMessage) -> Ordering {
    let newer = b.message.at.cmp(&a.message.at);
    b.score.total_cmp(&a.score).then(newer).then_with(|| b.message.id.cmp(&a.message.id))
}
