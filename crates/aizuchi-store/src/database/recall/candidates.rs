//! Selects the indexed messages that are worth reading: those with the rarest of the search terms. For a very common
//! term only some matches are looked up, which bounds the time of a query.

use std::collections::{HashMap, HashSet};

use aizuchi_model::chat::ChannelId;
use aizuchi_model::recall::terms::SearchTerm;
use aizuchi_model::recall::{RecallQuery, RecallScorer};
use serde_json::{Value, json};

use crate::StoreError;
use crate::database::connection::{Connection, query};
use crate::database::recall::parse_column;
use crate::database::sql::recall as sql;

/// How many messages are read and ranked at once.
pub const CANDIDATE_BATCH: usize = 64;
/// A term that occurs in more messages than this is too common to read all its matches: within one channel, and within
/// the workspace.
const COMMON_IN_CHANNEL: usize = 1000;
const COMMON_IN_WORKSPACE: usize = 300;
/// In how many channels messages with all of several common terms are looked up on a server.
const MAX_COMMON_CHANNELS: usize = 32;

/// The messages of a channel that were heard with the same visibility.
pub struct IndexPartition {
    pub number: i64,
    pub channel: ChannelId,
    /// The number of indexed messages.
    pub message_count: usize,
}

impl IndexPartition {
    /// Message numbers of a partition share their upper 32 bits.
    fn first_number(&self) -> i64 {
        self.number << 32
    }

    fn last_number(&self) -> i64 {
        ((self.number + 1) << 32) - 1
    }
}

/// The matches of one search term.
struct Posting {
    /// The number of messages with the term. For a common term it is extrapolated from the channel that the query comes
    /// from.
    frequency: usize,
    /// The matches that are worth reading.
    numbers: Vec<i64>,
}

pub struct Postings {
    partitions: Vec<IndexPartition>,
    postings: Vec<Posting>,
    /// Whether all of the terms are common.
    is_common: bool,
}

impl Postings {
    pub async fn read(
        connection: &mut Connection,
        scorer: &RecallScorer,
        filter: &RecallQuery,
        partitions: Vec<IndexPartition>,
    ) -> Result<Self, StoreError> {
        let all: Vec<&IndexPartition> = partitions.iter().collect();
        let common_count =
            if filter.channel.is_some() { COMMON_IN_CHANNEL } else { COMMON_IN_WORKSPACE };
        // One more than the limit shows that a term is common.
        let matches = look_up(connection, &scorer.search_terms, &all, common_count + 1).await?;
        let has_rare_term =
            matches.iter().any(|numbers| (1..=common_count).contains(&numbers.len()));
        let common_terms = scorer
            .search_terms
            .iter()
            .zip(&matches)
            .filter(|(_, numbers)| numbers.len() > common_count);
        let common_terms: Vec<SearchTerm> = common_terms.map(|(term, _)| term.clone()).collect();
        let is_own_channel =
            |partition: &&IndexPartition| Some(&partition.channel) == filter.visible_from.as_ref();
        let own_channel: Vec<&IndexPartition> = partitions.iter().filter(is_own_channel).collect();
        let mut own_matches =
            look_up(connection, &common_terms, &own_channel, COMMON_IN_CHANNEL + 1)
                .await?
                .into_iter();
        let (message_count, own_count) =
            (count_messages(&all), count_messages(&own_channel).max(1));
        let postings = matches.into_iter().map(|numbers| {
            if numbers.len() <= common_count {
                return Posting { frequency: numbers.len(), numbers };
            }
            let own_numbers = own_matches.next().unwrap_or_default();
            let frequency = numbers.len().max(own_numbers.len() * message_count / own_count);
            let is_rare_in_channel = own_numbers.len() <= COMMON_IN_CHANNEL;
            Posting {
                frequency,
                numbers: if is_rare_in_channel { own_numbers } else { Vec::new() },
            }
        });
        Ok(Self { postings: postings.collect(), is_common: !has_rare_term, partitions })
    }

    pub fn message_count(&self) -> usize {
        self.partitions.iter().map(|partition| partition.message_count).sum()
    }

    pub fn frequency(&self, term: usize) -> usize {
        self.postings[term].frequency
    }

    /// The messages to read, the most promising first.
    pub async fn ranked(
        &self,
        connection: &mut Connection,
        scorer: &RecallScorer,
    ) -> Result<Vec<i64>, StoreError> {
        let channel_factors = self
            .partitions
            .iter()
            .map(|partition| (partition.number, scorer.channel_factor(&partition.channel)));
        let channel_factors: HashMap<i64, f64> = channel_factors.collect();
        let mut scores: HashMap<i64, f64> = HashMap::new();
        for (term, posting) in self.postings.iter().enumerate() {
            for number in &posting.numbers {
                let factor = channel_factors.get(&(number >> 32)).unwrap_or(&1.0);
                *scores.entry(*number).or_default() += scorer.weight(term) * factor;
            }
        }
        let mut numbers: Vec<(f64, i64)> =
            scores.into_iter().map(|(number, score)| (score, number)).collect();
        if self.is_common {
            let common = self.read_common(connection, scorer).await?;
            numbers.extend(common.into_iter().map(|number| (0.0, number)));
        }
        // Among equal scores, newer messages come first, in whatever partition.
        let age = |number: i64| (number & 0xffff_ffff, number);
        numbers.sort_by(|(a_score, a), (b_score, b)| {
            b_score.total_cmp(a_score).then_with(|| age(*b).cmp(&age(*a)))
        });
        Ok(numbers.into_iter().map(|(_, number)| number).collect())
    }

    /// The newest messages with all of the terms, and with any of them.
    async fn read_common(
        &self,
        connection: &mut Connection,
        scorer: &RecallScorer,
    ) -> Result<Vec<i64>, StoreError> {
        let present = (0..self.postings.len()).filter(|term| self.frequency(*term) > 0);
        let present: Vec<SearchTerm> =
            present.map(|term| scorer.search_terms[term].clone()).collect();
        if present.is_empty() {
            return Ok(Vec::new());
        }
        let partitions: Vec<&IndexPartition> = self.partitions.iter().collect();
        let mut largest = partitions.clone();
        if connection.is_postgres() {
            // A server's lookup takes time for each channel and term.
            largest.sort_by_key(|partition| std::cmp::Reverse(partition.message_count));
            largest.truncate(MAX_COMMON_CHANNELS);
        }
        let mut found = look_up_all(connection, &present, &largest, CANDIDATE_BATCH).await?;
        let any = look_up(connection, &present, &partitions, CANDIDATE_BATCH).await?;
        let mut any: Vec<i64> = any.into_iter().flatten().collect();
        any.sort_by(|one, other| other.cmp(one));
        any.dedup();
        found.extend(any.into_iter().take(CANDIDATE_BATCH));
        let seen = self.postings.iter().flat_map(|posting| &posting.numbers).copied();
        let mut seen: HashSet<i64> = seen.collect();
        Ok(found.into_iter().filter(|number| seen.insert(*number)).collect())
    }
}

/// The newest messages with each of the terms, at most `most` per term.
async fn look_up(
    connection: &mut Connection,
    terms: &[SearchTerm],
    partitions: &[&IndexPartition],
    most: usize,
) -> Result<Vec<Vec<i64>>, StoreError> {
    let first = partitions.iter().map(|partition| partition.first_number()).min();
    let last = partitions.iter().map(|partition| partition.last_number()).max();
    let (Some(first), Some(last), false) = (first, last, terms.is_empty()) else {
        return Ok(vec![Vec::new(); terms.len()]);
    };
    let is_postgres = connection.is_postgres();
    let lookups: Value =
        terms.iter().map(|term| json!([indexed_form(term, is_postgres), first, last])).collect();
    let rows = query(sql::POSTINGS)
        .bind(lookups.to_string())
        .bind(list_numbers(partitions))
        .bind(most as i64)
        .fetch_all(connection)
        .await?;
    rows.iter().map(|row| parse_column(row, "numbers")).collect()
}

/// The newest messages with all of the terms, at most `most`.
async fn look_up_all(
    connection: &mut Connection,
    terms: &[SearchTerm],
    partitions: &[&IndexPartition],
    most: usize,
) -> Result<Vec<i64>, StoreError> {
    let is_postgres = connection.is_postgres();
    let terms: Value = terms.iter().map(|term| indexed_form(term, is_postgres)).collect();
    let found = query(sql::POSTINGS_OF_ALL)
        .bind(terms.to_string())
        .bind(list_numbers(partitions))
        .bind(most as i64);
    parse_column(&found.fetch_one(connection).await?, "numbers")
}

fn list_numbers(partitions: &[&IndexPartition]) -> String {
    partitions.iter().map(|partition| partition.number).collect::<Value>().to_string()
}

fn count_messages(partitions: &[&IndexPartition]) -> usize {
    partitions.iter().map(|partition| partition.message_count).sum()
}

/// A search term in the form of the index: an FTS5 query, or the key of a row in `recall_postings`. Terms contain no
/// operators of either.
fn indexed_form(term: &SearchTerm, is_postgres: bool) -> String {
    match (term, is_postgres) {
        (SearchTerm::Term(term), true) => term.clone(),
        (SearchTerm::Prefix(character), true) => format!("{character}*"),
        (SearchTerm::Term(term), false) => format!("\"{term}\""),
        (SearchTerm::Prefix(character), false) => format!("\"{character}\" *"),
    }
}
