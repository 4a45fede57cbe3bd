//! Full-text search in a database: first in the index, then in the messages that are not indexed yet. Both only select
//! candidates, which are then ranked by their current text.

mod candidates;
pub mod index;

use aizuchi_model::chat::ChannelId;
use aizuchi_model::recall::terms::extract_terms;
use aizuchi_model::recall::{RecallQuery, RecallScorer, RecalledMessage};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::StoreError;
use crate::database::connection::{Connection, Query, Row, query};
use crate::database::recall::candidates::{CANDIDATE_BATCH, IndexPartition, Postings};
use crate::database::rows;
use crate::database::sql::recall as sql;

/// The maximum number of unindexed messages that are scanned. There are more only while an old database is being
/// indexed.
pub const MAX_UNINDEXED: i64 = 20_000;

/// The best matches of a query, best first. The connection must be in a transaction, so that all statements see the
/// same snapshot.
pub async fn recall(
    connection: &mut Connection,
    filter: &RecallQuery,
) -> Result<Vec<RecalledMessage>, StoreError> {
    let mut scorer = RecallScorer::new(filter);
    if scorer.search_terms.is_empty() || filter.limit == 0 {
        return Ok(Vec::new());
    }
    if connection.is_postgres() {
        query(sql::PREPARE_SEARCH).execute(connection).await?;
    }
    let partitions = read_partitions(connection, filter).await?;
    let unindexed = read_unindexed(connection, filter).await?;
    let postings = Postings::read(connection, &scorer, filter, partitions).await?;
    let frequencies = (0..scorer.search_terms.len()).map(|term| {
        let unindexed_count = unindexed
            .iter()
            .filter(|message| scorer.search_terms[term].is_match(&message.terms))
            .count();
        unindexed_count + postings.frequency(term)
    });
    let frequencies: Vec<usize> = frequencies.collect();
    scorer.set_weights(postings.message_count() + unindexed.len(), &frequencies);
    let mut matches = search_unindexed(connection, filter, &scorer, unindexed).await?;
    let numbers = postings.ranked(connection, &scorer).await?;
    let enough = filter.limit.max(CANDIDATE_BATCH / 2) + matches.len();
    for numbers in numbers.chunks(CANDIDATE_BATCH) {
        matches.extend(
            read_messages(connection, sql::RECALLED_BY_NUMBER, filter, json!(numbers)).await?,
        );
        if matches.len() >= enough {
            break;
        }
    }
    Ok(scorer.rank(&matches, filter.limit))
}

/// A message that is not indexed, or not with its current text.
struct UnindexedMessage {
    rowid: i64,
    at_ms: i64,
    terms: Vec<String>,
}

/// The index partitions that the query may search.
async fn read_partitions(
    connection: &mut Connection,
    filter: &RecallQuery,
) -> Result<Vec<IndexPartition>, StoreError> {
    let rows = bind_scope(query(sql::PARTITIONS), filter).fetch_all(connection).await?;
    let partition = |row: &Row| {
        Ok(IndexPartition {
            number: rows::column(row, "number")?,
            channel: ChannelId::new(rows::column::<String>(row, "channel")?),
            message_count: rows::to_unsigned(rows::column(row, "lines")?)? as usize,
        })
    };
    rows.iter().map(partition).collect()
}

async fn read_unindexed(
    connection: &mut Connection,
    filter: &RecallQuery,
) -> Result<Vec<UnindexedMessage>, StoreError> {
    let row = bind_scope(query(sql::NEWEST_UNINDEXED), filter)
        .bind(MAX_UNINDEXED)
        .fetch_one(connection)
        .await;
    let messages: Vec<(i64, i64, String)> = parse_column(&row?, "lines")?;
    let to_unindexed = |(rowid, at_ms, text): (i64, i64, String)| UnindexedMessage {
        rowid,
        at_ms,
        terms: extract_terms(&text),
    };
    Ok(messages.into_iter().map(to_unindexed).filter(|message| !message.terms.is_empty()).collect())
}

async fn search_unindexed(
    connection: &mut Connection,
    filter: &RecallQuery,
    scorer: &RecallScorer,
    unindexed: Vec<UnindexedMessage>,
) -> Result<Vec<RecalledMessage>, StoreError> {
    let before = filter.before.map(|before| before.as_millisecond());
    let score = |message: &UnindexedMessage| -> f64 {
        let found = scorer
            .search_terms
            .iter()
            .enumerate()
            .filter(|(_, term)| term.is_match(&message.terms));
        found.map(|(index, _)| scorer.weight(index)).sum()
    };
    let eligible =
        unindexed.iter().filter(|message| before.is_none_or(|before| message.at_ms < before));
    let mut scored: Vec<(f64, i64)> =
        eligible.map(|message| (score(message), message.rowid)).collect();
    scored.retain(|(score, _)| *score > 0.0);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.truncate(CANDIDATE_BATCH.max(filter.limit));
    if scored.is_empty() {
        return Ok(Vec::new());
    }
    let rowids: Vec<i64> = scored.into_iter().map(|(_, rowid)| rowid).collect();
    read_messages(connection, sql::RECALLED_BY_ROWID, filter, json!(rowids)).await
}

async fn read_messages(
    connection: &mut Connection,
    statement: &'static str,
    filter: &RecallQuery,
    list: Value,
) -> Result<Vec<RecalledMessage>, StoreError> {
    let row = bind_scope(query(statement), filter)
        .bind(filter.before.map(|before| before.as_millisecond()))
        .bind(list.to_string())
        .fetch_one(connection)
        .await?;
    rows::parse_recalled(&rows::column::<String>(&row, "lines")?)
}

/// Binds the scope of a query.
fn bind_scope(statement: Query, filter: &RecallQuery) -> Query {
    statement
        .bind(filter.workspace.as_str())
        .bind(filter.channel.as_ref().map(ChannelId::as_str))
        .bind(filter.visible_from.as_ref().map(ChannelId::as_str))
}

fn parse_column<T: DeserializeOwned>(row: &Row, column: &str) -> Result<T, StoreError> {
    rows::parse_json(&rows::column::<String>(row, column)?)
}
