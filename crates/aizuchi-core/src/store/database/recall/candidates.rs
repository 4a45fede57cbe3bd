//! Which indexed lines are worth reading: those with the most telling of the words looked for. Of
//! a word that is in very many lines only some are looked up, so that no query takes long.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::chat::ChannelId;
use crate::recall::terms::SearchTerm;
use crate::recall::{RecallQuery, RecallScorer};
use crate::store::StoreError;
use crate::store::database::connection::{Connection, query};
use crate::store::database::recall::{parse_column, sql};

/// How many lines are read at once and ranked.
pub const CANDIDATE_BATCH: usize = 64;
/// What is in more lines than this tells too little to look at them all: in one channel, and in all
/// of them.
const COMMON_IN_CHANNEL: usize = 1000;
const COMMON_IN_WORKSPACE: usize = 300;

/// Lines of a channel that were heard with the same visibility.
pub struct IndexPartition {
    pub number: i64,
    pub channel: ChannelId,
    /// How many are indexed.
    pub message_count: usize,
}

impl IndexPartition {
    /// The numbers that its lines may have.
    fn first_number(&self) -> i64 {
        self.number << 32
    }

    fn last_number(&self) -> i64 {
        ((self.number + 1) << 32) - 1
    }
}

/// Where one of the things looked for is.
struct Posting {
    /// In how many lines. What is too common to be counted is supposed to be as common as in the
    /// channel that the query comes from.
    frequency: usize,
    /// The lines that are worth looking at for it.
    numbers: Vec<i64>,
}

pub struct Postings {
    partitions: Vec<IndexPartition>,
    postings: Vec<Posting>,
    /// There is nothing that is not common.
    is_common: bool,
}

impl Postings {
    pub async fn read(
        connection: &mut Connection,
        search: &RecallScorer,
        which: &RecallQuery,
        rooms: Vec<IndexPartition>,
    ) -> Result<Self, StoreError> {
        let all: Vec<&IndexPartition> = rooms.iter().collect();
        let common = if which.channel.is_some() { COMMON_IN_CHANNEL } else { COMMON_IN_WORKSPACE };
        let found = look_up(
            connection,
            match_expressions(connection, &search.search_terms),
            &all,
            common + 1,
        )
        .await?;
        let has_telling = found.iter().any(|found| (1..=common).contains(&found.len()));
        let cut = search.search_terms.iter().zip(&found).filter(|(_, found)| found.len() > common);
        let cut: Vec<SearchTerm> = cut.map(|(wanted, _)| wanted.clone()).collect();
        let is_near = |room: &&IndexPartition| Some(&room.channel) == which.visible_from.as_ref();
        let near: Vec<&IndexPartition> = rooms.iter().filter(is_near).collect();
        let mut again =
            look_up(connection, match_expressions(connection, &cut), &near, COMMON_IN_CHANNEL + 1)
                .await?
                .into_iter();
        let (lines, near) = (count_messages(&all), count_messages(&near).max(1));
        let each = found.into_iter().map(|numbers| {
            if numbers.len() <= common {
                return Posting { frequency: numbers.len(), numbers };
            }
            let numbers_near = again.next().unwrap_or_default();
            let having = numbers.len().max(numbers_near.len() * lines / near);
            let is_telling = numbers_near.len() <= COMMON_IN_CHANNEL;
            Posting {
                frequency: having,
                numbers: if is_telling { numbers_near } else { Vec::new() },
            }
        });
        Ok(Self { postings: each.collect(), is_common: !has_telling, partitions: rooms })
    }

    pub fn message_count(&self) -> usize {
        self.partitions.iter().map(|room| room.message_count).sum()
    }

    pub fn frequency(&self, wanted: usize) -> usize {
        self.postings[wanted].frequency
    }

    /// The lines to be read, the most promising first.
    pub async fn ranked(
        &self,
        connection: &mut Connection,
        search: &RecallScorer,
    ) -> Result<Vec<i64>, StoreError> {
        let nearness =
            self.partitions.iter().map(|room| (room.number, search.channel_factor(&room.channel)));
        let nearness: HashMap<i64, f64> = nearness.collect();
        let mut scores: HashMap<i64, f64> = HashMap::new();
        for (wanted, posting) in self.postings.iter().enumerate() {
            for number in &posting.numbers {
                let nearness = nearness.get(&(number >> 32)).unwrap_or(&1.0);
                *scores.entry(*number).or_default() += search.weight(wanted) * nearness;
            }
        }
        let mut numbers: Vec<(f64, i64)> =
            scores.into_iter().map(|(number, score)| (score, number)).collect();
        if self.is_common {
            let common = self.read_common(connection, search).await?;
            numbers.extend(common.into_iter().map(|number| (0.0, number)));
        }
        // Of equals the newer ones, whatever their room.
        let age = |number: i64| (number & 0xffff_ffff, number);
        numbers.sort_by(|(a_score, a), (b_score, b)| {
            b_score.total_cmp(a_score).then_with(|| age(*b).cmp(&age(*a)))
        });
        Ok(numbers.into_iter().map(|(_, number)| number).collect())
    }

    /// The newest lines with all of the things looked for, and with any of them.
    async fn read_common(
        &self,
        connection: &mut Connection,
        search: &RecallScorer,
    ) -> Result<Vec<i64>, StoreError> {
        let present = (0..self.postings.len()).filter(|wanted| self.frequency(*wanted) > 0);
        let present: Vec<SearchTerm> =
            present.map(|wanted| search.search_terms[wanted].clone()).collect();
        if present.is_empty() {
            return Ok(Vec::new());
        }
        let both = if connection.is_postgres() { [" & ", " | "] } else { [" AND ", " OR "] };
        let present = match_expressions(connection, &present);
        let asked = both.map(|between| present.join(between));
        let rooms: Vec<&IndexPartition> = self.partitions.iter().collect();
        let found = look_up(connection, asked.to_vec(), &rooms, CANDIDATE_BATCH).await?;
        let taken = self.postings.iter().flat_map(|posting| &posting.numbers).copied();
        let mut taken: HashSet<i64> = taken.collect();
        Ok(found.into_iter().flatten().filter(|number| taken.insert(*number)).collect())
    }
}

/// The newest lines for each of some expressions, at `most` so many.
async fn look_up(
    connection: &mut Connection,
    expressions: Vec<String>,
    rooms: &[&IndexPartition],
    most: usize,
) -> Result<Vec<Vec<i64>>, StoreError> {
    let first = rooms.iter().map(|room| room.first_number()).min();
    let last = rooms.iter().map(|room| room.last_number()).max();
    let (Some(first), Some(last), false) = (first, last, expressions.is_empty()) else {
        return Ok(vec![Vec::new(); expressions.len()]);
    };
    let asked: Value =
        expressions.into_iter().map(|expression| json!([expression, first, last])).collect();
    let rooms: Vec<i64> = rooms.iter().map(|room| room.number).collect();
    let rows = query(sql::POSTINGS)
        .bind(asked.to_string())
        .bind(json!(rooms).to_string())
        .bind(most as i64)
        .fetch_all(connection)
        .await?;
    rows.iter().map(|row| parse_column(row, "numbers")).collect()
}

fn count_messages(rooms: &[&IndexPartition]) -> usize {
    rooms.iter().map(|room| room.message_count).sum()
}

/// What is looked for, in the language of the index: of FTS5, or of `tsquery`. Terms have no marks of either.
fn match_expressions(connection: &Connection, wanted: &[SearchTerm]) -> Vec<String> {
    let of_file = |wanted: &SearchTerm| match wanted {
        SearchTerm::Term(term) => format!("\"{term}\""),
        SearchTerm::Prefix(letter) => format!("\"{letter}\" *"),
    };
    let of_server = |wanted: &SearchTerm| match wanted {
        SearchTerm::Term(term) => format!("'{term}'"),
        SearchTerm::Prefix(letter) => format!("'{letter}':*"),
    };
    match connection.is_postgres() {
        true => wanted.iter().map(of_server).collect(),
        false => wanted.iter().map(of_file).collect(),
    }
}
