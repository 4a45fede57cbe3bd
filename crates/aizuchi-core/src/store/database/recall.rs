//! Finding lines by their words in a database: the index first, then what it does not hold yet. Both
//! only choose candidates; these are ranked by what they say now.

mod candidates;
pub mod index;
pub mod sql;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::chat::ChannelId;
use crate::recall::terms::extract_terms;
use crate::recall::{RecallQuery, RecallScorer, RecalledMessage};
use crate::store::StoreError;
use crate::store::database::connection::{Connection, Query, Row, query};
use crate::store::database::recall::candidates::{CANDIDATE_BATCH, IndexPartition, Postings};
use crate::store::database::rows;

/// The most lines that are looked through one by one. There are more only while an old database is
/// being indexed.
const MAX_UNINDEXED: i64 = 20_000;

/// The best answers to a query, best first. The connection stands in a transaction, so that all
/// statements see the same moment.
pub async fn recall(
    connection: &mut Connection,
    which: &RecallQuery,
) -> Result<Vec<RecalledMessage>, StoreError> {
    let mut search = RecallScorer::new(which);
    if search.search_terms.is_empty() || which.limit == 0 {
        return Ok(Vec::new());
    }
    let rooms = read_partitions(connection, which).await?;
    let tail = read_unindexed(connection, which).await?;
    let postings = Postings::read(connection, &search, which, rooms).await?;
    let having = (0..search.search_terms.len()).map(|wanted| {
        let fresh =
            tail.iter().filter(|line| search.search_terms[wanted].is_match(&line.terms)).count();
        fresh + postings.frequency(wanted)
    });
    let having: Vec<usize> = having.collect();
    search.set_weights(postings.message_count() + tail.len(), &having);
    let mut found = search_unindexed(connection, which, &search, tail).await?;
    let numbers = postings.ranked(connection, &search).await?;
    let enough = which.limit.max(CANDIDATE_BATCH / 2) + found.len();
    for numbers in numbers.chunks(CANDIDATE_BATCH) {
        found.extend(
            read_messages(connection, sql::RECALLED_BY_NUMBER, which, json!(numbers)).await?,
        );
        if found.len() >= enough {
            break;
        }
    }
    Ok(search.rank(found, which.limit))
}

/// A line that the index does not hold as it stands.
struct UnindexedMessage {
    rowid: i64,
    at_ms: i64,
    terms: Vec<String>,
}

/// The rooms where lines may be found.
async fn read_partitions(
    connection: &mut Connection,
    which: &RecallQuery,
) -> Result<Vec<IndexPartition>, StoreError> {
    let rows = bind_scope(query(sql::PARTITIONS), which).fetch_all(connection).await?;
    let room = |row: &Row| {
        Ok(IndexPartition {
            number: rows::column(row, "number")?,
            channel: ChannelId::new(rows::column::<String>(row, "channel")?),
            message_count: rows::to_unsigned(rows::column(row, "lines")?)? as usize,
        })
    };
    rows.iter().map(room).collect()
}

async fn read_unindexed(
    connection: &mut Connection,
    which: &RecallQuery,
) -> Result<Vec<UnindexedMessage>, StoreError> {
    let row = bind_scope(query(sql::NEWEST_UNINDEXED), which)
        .bind(MAX_UNINDEXED)
        .fetch_one(connection)
        .await;
    let lines: Vec<(i64, i64, String)> = parse_column(&row?, "lines")?;
    let fresh = |(place, at_ms, text): (i64, i64, String)| UnindexedMessage {
        rowid: place,
        at_ms,
        terms: extract_terms(&text),
    };
    Ok(lines.into_iter().map(fresh).filter(|line| !line.terms.is_empty()).collect())
}

async fn search_unindexed(
    connection: &mut Connection,
    which: &RecallQuery,
    search: &RecallScorer,
    tail: Vec<UnindexedMessage>,
) -> Result<Vec<RecalledMessage>, StoreError> {
    let before = which.before.map(|before| before.as_millisecond());
    let score = |line: &UnindexedMessage| -> f64 {
        let found = search
            .search_terms
            .iter()
            .enumerate()
            .filter(|(_, wanted)| wanted.is_match(&line.terms));
        found.map(|(at, _)| search.weight(at)).sum()
    };
    let old_enough = tail.iter().filter(|line| before.is_none_or(|before| line.at_ms < before));
    let mut scored: Vec<(f64, i64)> = old_enough.map(|line| (score(line), line.rowid)).collect();
    scored.retain(|(score, _)| *score > 0.0);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.truncate(CANDIDATE_BATCH.max(which.limit));
    if scored.is_empty() {
        return Ok(Vec::new());
    }
    let places: Vec<i64> = scored.into_iter().map(|(_, place)| place).collect();
    read_messages(connection, sql::RECALLED_BY_ROWID, which, json!(places)).await
}

async fn read_messages(
    connection: &mut Connection,
    statement: &'static str,
    which: &RecallQuery,
    list: Value,
) -> Result<Vec<RecalledMessage>, StoreError> {
    let row = bind_scope(query(statement), which)
        .bind(which.before.map(|before| before.as_millisecond()))
        .bind(list.to_string())
        .fetch_one(connection)
        .await?;
    rows::parse_recalled(&rows::column::<String>(&row, "lines")?)
}

/// Binds where lines are looked for.
fn bind_scope(statement: Query, which: &RecallQuery) -> Query {
    statement
        .bind(which.workspace.as_str())
        .bind(which.channel.as_ref().map(ChannelId::as_str))
        .bind(which.visible_from.as_ref().map(ChannelId::as_str))
}

fn parse_column<T: DeserializeOwned>(row: &Row, column: &str) -> Result<T, StoreError> {
    rows::parse_json(&rows::column::<String>(row, column)?)
}
