//! Finding lines by their words in a database: the index first, then what it does not hold yet. Both
//! only choose candidates; these are ranked by what they say now.

mod candidates;
pub mod index;
pub mod sql;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::chat::ChannelId;
use crate::recall::terms::terms;
use crate::recall::{RecallQuery, Recalled, Search};
use crate::store::StoreError;
use crate::store::database::connection::{Connection, Query, Row, query};
use crate::store::database::recall::candidates::{CANDIDATES, Postings, Room};
use crate::store::database::rows;

/// The most lines that are looked through one by one. There are more only while an old database is
/// being indexed.
const TAIL: i64 = 20_000;

/// The best answers to a query, best first. The connection stands in a transaction, so that all
/// statements see the same moment.
pub async fn recall(
    connection: &mut Connection,
    which: &RecallQuery,
) -> Result<Vec<Recalled>, StoreError> {
    let mut search = Search::new(which);
    if search.wanted.is_empty() || which.limit == 0 {
        return Ok(Vec::new());
    }
    let rooms = rooms(connection, which).await?;
    let tail = tail(connection, which).await?;
    let postings = Postings::read(connection, &search, which, rooms).await?;
    let having = (0..search.wanted.len()).map(|wanted| {
        let fresh = tail.iter().filter(|line| search.wanted[wanted].is_in(&line.terms)).count();
        fresh + postings.having(wanted)
    });
    let having: Vec<usize> = having.collect();
    search.weigh(postings.lines() + tail.len(), &having);
    let mut found = read_tail(connection, which, &search, tail).await?;
    let numbers = postings.best_first(connection, &search).await?;
    let enough = which.limit.max(CANDIDATES / 2) + found.len();
    for numbers in numbers.chunks(CANDIDATES) {
        found.extend(read(connection, sql::RECALLED_BY_NUMBER, which, json!(numbers)).await?);
        if found.len() >= enough {
            break;
        }
    }
    Ok(search.rank(found, which.limit))
}

/// A line that the index does not hold as it stands.
struct Fresh {
    place: i64,
    at_ms: i64,
    terms: Vec<String>,
}

/// The rooms where lines may be found.
async fn rooms(connection: &mut Connection, which: &RecallQuery) -> Result<Vec<Room>, StoreError> {
    let rows = seen(query(sql::ROOMS), which).fetch_all(connection).await?;
    let room = |row: &Row| {
        Ok(Room {
            number: rows::column(row, "number")?,
            channel: ChannelId::new(rows::column::<String>(row, "channel")?),
            lines: rows::unsigned(rows::column(row, "lines")?)? as usize,
        })
    };
    rows.iter().map(room).collect()
}

async fn tail(connection: &mut Connection, which: &RecallQuery) -> Result<Vec<Fresh>, StoreError> {
    let row = seen(query(sql::TAIL), which).bind(TAIL).fetch_one(connection).await;
    let lines: Vec<(i64, i64, String)> = listed(&row?, "lines")?;
    let fresh =
        |(place, at_ms, text): (i64, i64, String)| Fresh { place, at_ms, terms: terms(&text) };
    Ok(lines.into_iter().map(fresh).filter(|line| !line.terms.is_empty()).collect())
}

async fn read_tail(
    connection: &mut Connection,
    which: &RecallQuery,
    search: &Search,
    tail: Vec<Fresh>,
) -> Result<Vec<Recalled>, StoreError> {
    let before = which.before.map(|before| before.as_millisecond());
    let score = |line: &Fresh| -> f64 {
        let found =
            search.wanted.iter().enumerate().filter(|(_, wanted)| wanted.is_in(&line.terms));
        found.map(|(at, _)| search.weight(at)).sum()
    };
    let old_enough = tail.iter().filter(|line| before.is_none_or(|before| line.at_ms < before));
    let mut scored: Vec<(f64, i64)> = old_enough.map(|line| (score(line), line.place)).collect();
    scored.retain(|(score, _)| *score > 0.0);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.truncate(CANDIDATES.max(which.limit));
    if scored.is_empty() {
        return Ok(Vec::new());
    }
    let places: Vec<i64> = scored.into_iter().map(|(_, place)| place).collect();
    read(connection, sql::RECALLED_BY_PLACE, which, json!(places)).await
}

async fn read(
    connection: &mut Connection,
    statement: &'static str,
    which: &RecallQuery,
    list: Value,
) -> Result<Vec<Recalled>, StoreError> {
    let row = seen(query(statement), which)
        .bind(which.before.map(|before| before.as_millisecond()))
        .bind(list.to_string())
        .fetch_one(connection)
        .await?;
    rows::recalled(&rows::column::<String>(&row, "lines")?)
}

/// Binds where lines are looked for.
fn seen(statement: Query, which: &RecallQuery) -> Query {
    statement
        .bind(which.workspace.as_str())
        .bind(which.channel.as_ref().map(ChannelId::as_str))
        .bind(which.visible_from.as_ref().map(ChannelId::as_str))
}

fn listed<T: DeserializeOwned>(row: &Row, column: &str) -> Result<T, StoreError> {
    rows::parsed(&rows::column::<String>(row, column)?)
}
