//! Keeps the index of words: new lines come in by the hundred, behind those who wait for the
//! writer; what a line no longer says goes with the change itself.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use crate::recall::terms::extract_terms;
use crate::store::StoreError;
use crate::store::database::connection::{Connection, query};
use crate::store::database::recall::sql;
use crate::store::database::rows;

/// How many changes are indexed at once, and searched one by one before that.
pub const INDEX_BATCH: u64 = 512;

/// A line that is to be indexed.
struct MessageToIndex {
    partition: (String, String, String),
    id: String,
    terms: String,
    /// The number that it has, if it was indexed before.
    number: Option<i64>,
}

/// The revision up to which everything is indexed.
pub async fn indexed_until(connection: &mut Connection) -> Result<u64, StoreError> {
    let row = query(sql::INDEXED_UNTIL).fetch_one(connection).await?;
    rows::to_unsigned(rows::column(&row, "revision")?)
}

/// Indexes the next step of what came or changed, not behind `newest`, inside the caller's
/// transaction. Gives the revision up to which everything is indexed then.
pub async fn index_next_batch(connection: &mut Connection, newest: u64) -> Result<u64, StoreError> {
    let after = indexed_until(connection).await?;
    let until = newest.min(after + INDEX_BATCH);
    if until <= after {
        return Ok(after);
    }
    let lines = read_unindexed(connection, after, until).await?;
    let known: Vec<Value> =
        lines.iter().filter_map(|line| Some(json!([line.number?, line.terms]))).collect();
    remove_messages(connection, known).await?;
    insert_messages(connection, lines).await?;
    let put = query(sql::PUT_INDEXED_UNTIL).bind(until as i64);
    put.execute(connection).await?;
    Ok(until)
}

/// Indexes everything up to `newest`, inside the caller's transaction.
pub async fn index_all(connection: &mut Connection, newest: u64) -> Result<(), StoreError> {
    drop_stale(connection).await?;
    while index_next_batch(connection, newest).await? < newest {}
    Ok(())
}

/// Takes out of the index what lines have said that were changed or removed in this transaction.
pub async fn drop_stale(connection: &mut Connection) -> Result<(), StoreError> {
    let row = query(sql::STALE).fetch_one(&mut *connection).await?;
    let stale: Vec<(i64, String)> = rows::parse_json(&rows::column::<String>(&row, "lines")?)?;
    if stale.is_empty() {
        return Ok(());
    }
    let stale =
        stale.into_iter().map(|(number, text)| json!([number, extract_terms(&text).join(" ")]));
    remove_messages(connection, stale.collect()).await?;
    query(sql::CLEAR_STALE).execute(connection).await?;
    Ok(())
}

/// Rewrites the whole index, so that nothing is left of what was taken out of it, and looking things
/// up costs the least. Takes seconds for a million lines.
pub async fn compact(connection: &mut Connection) -> Result<(), StoreError> {
    query(sql::COMPACT).execute(connection).await?;
    Ok(())
}

async fn read_unindexed(
    connection: &mut Connection,
    after: u64,
    until: u64,
) -> Result<Vec<MessageToIndex>, StoreError> {
    let row =
        query(sql::UNINDEXED).bind(after as i64).bind(until as i64).fetch_one(connection).await;
    type Row = (String, String, String, String, String, Option<i64>);
    let lines: Vec<Row> = rows::parse_json(&rows::column::<String>(&row?, "lines")?)?;
    let line = |(workspace, channel, visibility, id, text, number): Row| {
        let terms = extract_terms(&text).join(" ");
        MessageToIndex { partition: (workspace, channel, visibility), id, terms, number }
    };
    Ok(lines.into_iter().map(line).filter(|line| !line.terms.is_empty()).collect())
}

async fn insert_messages(
    connection: &mut Connection,
    lines: Vec<MessageToIndex>,
) -> Result<(), StoreError> {
    if lines.is_empty() {
        return Ok(());
    }
    let mut next = allocate_numbers(connection, &lines).await?;
    let mut numbered: BTreeMap<i64, Value> = BTreeMap::new();
    for MessageToIndex { partition: room, id, terms, .. } in lines {
        let Some(next) = next.get_mut(&room) else {
            return Err(StoreError::Broken("a room was given no number".to_owned()));
        };
        *next += 1;
        numbered.insert(*next, json!([*next, terms, id]));
    }
    // The index takes them best in their order.
    let lines = Value::Array(numbered.into_values().collect()).to_string();
    for statement in [sql::INDEX_MESSAGES, sql::INDEX_TERMS] {
        query(statement).bind(&lines).execute(&mut *connection).await?;
    }
    Ok(())
}

/// The number before the first one that is free, for each room of some lines.
async fn allocate_numbers(
    connection: &mut Connection,
    lines: &[MessageToIndex],
) -> Result<HashMap<(String, String, String), i64>, StoreError> {
    let mut counts: BTreeMap<&(String, String, String), i64> = BTreeMap::new();
    for line in lines {
        *counts.entry(&line.partition).or_default() += 1;
    }
    let asked: Value = counts
        .iter()
        .map(|((workspace, channel, visibility), count)| {
            json!([workspace, channel, visibility, count])
        })
        .collect();
    let rows = query(sql::ALLOCATE_NUMBERS).bind(asked.to_string()).fetch_all(connection).await;
    let mut free = HashMap::new();
    for row in rows? {
        let room = (
            rows::column(&row, "workspace")?,
            rows::column(&row, "channel")?,
            rows::column(&row, "visibility")?,
        );
        let (number, last): (i64, i64) =
            (rows::column(&row, "number")?, rows::column(&row, "last")?);
        let count = counts.get(&room).copied().unwrap_or(0);
        free.insert(room, (number << 32) + last - count);
    }
    Ok(free)
}

/// Takes lines out of the index: a list of their numbers and of the terms that they have in it.
async fn remove_messages(connection: &mut Connection, lines: Vec<Value>) -> Result<(), StoreError> {
    if lines.is_empty() {
        return Ok(());
    }
    let lines = Value::Array(lines).to_string();
    for statement in [sql::UNINDEX_TERMS, sql::UNCOUNT_MESSAGES, sql::UNINDEX_MESSAGES] {
        query(statement).bind(&lines).execute(&mut *connection).await?;
    }
    Ok(())
}
