//! Full-text search for old messages: the query, and how messages are scored against it. Every store ranks by the
//! same rules.

pub mod content_words;
pub mod terms;

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::chat::{ChannelId, ConversationId, Message, MessageId, WorkspaceId};
use crate::recall::terms::{SearchTerm, extract_terms, search_terms};

/// The maximum number of terms in a query.
const MAX_SEARCH_TERMS: usize = 12;
/// The maximum number of characters of a query that are read. Nobody types more, and a megabyte takes seconds.
const MAX_QUERY_LENGTH: usize = 10_000;
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
    /// A channel id for searches that see only public channels: no channel has this id.
    pub fn outside() -> ChannelId {
        ChannelId::new("")
    }
}

/// A message that was found, in its current version.
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

/// The values that a message's score depends on.
#[derive(Clone, Copy, Debug)]
pub struct RecallCandidate<'a> {
    pub id: &'a MessageId,
    pub at: Timestamp,
    /// A number that identifies the conversation.
    pub conversation: usize,
    /// [`RecallScorer::channel_factor`] of its channel.
    pub channel_factor: f64,
    /// Whether the query names its author.
    pub is_author_named: bool,
    /// The number of its terms, including repetitions.
    pub length: usize,
    pub found: FoundTerms,
}

/// The terms of a query that a message contains, as one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoundTerms(u16);

const _: () = assert!(MAX_SEARCH_TERMS <= 16);

impl FoundTerms {
    /// Creates the set of the terms for which `is_found` returns true.
    pub fn new(terms: usize, is_found: impl Fn(usize) -> bool) -> Self {
        let found = (0..terms).filter(|term| is_found(*term));
        Self(found.fold(0, |bits, term| bits | 1 << term))
    }

    pub fn add(&mut self, term: usize) {
        self.0 |= 1 << term;
    }

    pub fn has(self, term: usize) -> bool {
        self.0 & 1 << term != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The terms of a query, and their weights.
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
        let end = query.text.char_indices().nth(MAX_QUERY_LENGTH).map(|(end, _)| end);
        let text = &query.text[..end.unwrap_or(query.text.len())];
        let terms = search_terms(text, MAX_SEARCH_TERMS);
        let weights = vec![0.0; terms.len()];
        Self {
            search_terms: terms,
            weights,
            names: extract_terms(text),
            here: query.visible_from.clone(),
        }
    }

    /// Sets the weight of each term by the number of searchable messages that contain it: rare terms weigh more.
    pub fn set_weights(&mut self, messages: usize, having: &[usize]) {
        let weight = |having: &usize| {
            let (messages, having) = (messages.max(*having) as f64, *having as f64);
            // The added 1 keeps the weight of a term that most messages contain above zero.
            (1.0 + (messages - having + 0.5) / (having + 0.5)).ln()
        };
        self.weights = having.iter().map(weight).collect();
    }

    pub fn weight(&self, term: usize) -> f64 {
        self.weights.get(term).copied().unwrap_or(0.0)
    }

    /// The factor of a message's score for its channel.
    pub fn channel_factor(&self, channel: &ChannelId) -> f64 {
        if self.here.as_ref() == Some(channel) { 1.0 + SAME_CHANNEL_BOOST } else { 1.0 }
    }

    /// The best `limit` messages, best first. Messages without any of the terms are left out.
    pub fn rank(&self, messages: &[RecalledMessage], limit: usize) -> Vec<RecalledMessage> {
        // A few users write most messages.
        let mut named: HashMap<&str, bool> = HashMap::new();
        let mut conversations: HashMap<&ConversationId, usize> = HashMap::new();
        let candidates = messages.iter().map(|RecalledMessage { message, author_name, .. }| {
            let terms = extract_terms(&message.searched_text());
            let is_found = |term: usize| self.search_terms[term].is_match(&terms);
            let next = conversations.len();
            let is_named = named.entry(author_name);
            RecallCandidate {
                id: &message.id,
                at: message.at,
                conversation: *conversations.entry(&message.conversation).or_insert(next),
                channel_factor: self.channel_factor(&message.conversation.channel),
                is_author_named: *is_named.or_insert_with(|| self.is_named(author_name)),
                length: terms.len(),
                found: FoundTerms::new(self.search_terms.len(), is_found),
            }
        });
        let candidates: Vec<RecallCandidate<'_>> = candidates.collect();
        let best = self.rank_candidates(&candidates, limit).into_iter();
        best.map(|(index, score)| RecalledMessage { score, ..messages[index].clone() }).collect()
    }

    /// Ranks messages whose terms are known: returns the index and the score of each of the best.
    pub fn rank_candidates(
        &self,
        candidates: &[RecallCandidate<'_>],
        limit: usize,
    ) -> Vec<(usize, f64)> {
        let scores: Vec<f64> = candidates.iter().map(|candidate| self.score(candidate)).collect();
        let mut ranked = with_neighbor_scores(candidates, &scores);
        let best_first = |one: &(usize, f64), other: &(usize, f64)| {
            let (a, b) = (&candidates[one.0], &candidates[other.0]);
            // Every store must return the same order, so ties are broken, too.
            let better = other.1.total_cmp(&one.1).then_with(|| b.at.cmp(&a.at));
            better.then_with(|| b.id.cmp(a.id)).then_with(|| one.0.cmp(&other.0))
        };
        // A common word often finds thousands, so only the best are sorted.
        if let Some(last) = limit.checked_sub(1).filter(|last| *last < ranked.len()) {
            ranked.select_nth_unstable_by(last, best_first);
        }
        ranked.truncate(limit);
        ranked.sort_unstable_by(best_first);
        ranked
    }

    /// Whether the query names this author.
    pub fn is_named(&self, author: &str) -> bool {
        extract_terms(author).iter().any(|name| self.names.contains(name))
    }

    fn score(&self, candidate: &RecallCandidate<'_>) -> f64 {
        let length = 1.0 - BM25_B + BM25_B * candidate.length as f64 / AVERAGE_LENGTH;
        let terms = self.weights.iter().enumerate().filter(|(term, _)| candidate.found.has(*term));
        let weight: f64 = terms.map(|(_, weight)| weight).sum();
        if weight == 0.0 {
            return 0.0;
        }
        let text = weight * (BM25_K1 + 1.0) / (1.0 + BM25_K1 * length);
        let author = if candidate.is_author_named { AUTHOR_BOOST } else { 0.0 };
        (text + author) * candidate.channel_factor
    }
}

/// The indices of the candidates with a score, each with its score plus a share of its better neighbor's: an
/// adjacent found message in the same conversation.
fn with_neighbor_scores(candidates: &[RecallCandidate<'_>], scores: &[f64]) -> Vec<(usize, f64)> {
    let mut found: Vec<usize> = (0..candidates.len()).filter(|one| scores[*one] > 0.0).collect();
    found.sort_by_key(|index| {
        let candidate = &candidates[*index];
        (candidate.conversation, candidate.at, candidate.id)
    });
    let with_neighbor = |(place, index): (usize, &usize)| {
        let before = place.checked_sub(1).and_then(|before| found.get(before));
        let neighbors = before.into_iter().chain(found.get(place + 1));
        let better = neighbors
            .filter(|other| are_neighbors(&candidates[*index], &candidates[**other]))
            .map(|other| scores[*other])
            .fold(0.0, f64::max);
        (*index, scores[*index] + NEIGHBOR_SHARE * better)
    };
    found.iter().enumerate().map(with_neighbor).collect()
}

fn are_neighbors(one: &RecallCandidate<'_>, other: &RecallCandidate<'_>) -> bool {
    let apart = one.at.duration_since(other.at).abs().as_secs_f64();
    one.conversation == other.conversation && apart <= NEIGHBOR_SECONDS
}
