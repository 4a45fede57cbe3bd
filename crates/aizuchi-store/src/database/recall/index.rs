//! Maintains the full-text index. New messages are indexed in batches, while no write is waiting; outdated text is
//! removed in the transaction that changes it.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use aizuchi_model::recall::terms::extract_terms;
use serde_json::{Value, json};

use crate::StoreError;
use crate::database::connection::{Connection, query};
use crate::database::rows;
use crate::database::sql::recall as sql;

/// How many changes are indexed in one batch. Until then they are scanned.
pub const INDEX_BATCH: u64 = 512;

/// How many pages one merge step writes; the statements use the same number.
const MERGE_PAGES: i64 = 64;

/// How many changes are indexed in one transaction while other writes may be waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSize(u64);

impl BatchSize {
    /// With fewer, round trips take most of the time.
    const SMALLEST: u64 = 32;
    /// For an index so far behind that searches miss unindexed messages.
    pub const LARGEST: Self = Self(128);
    /// How long a batch may delay other writes.
    const LONGEST: Duration = Duration::from_millis(25);

    /// A file indexes this many in some milliseconds.
    pub const FULL: Self = Self(INDEX_BATCH);
    /// The speed of a server is unknown before the first batch.
    pub const FIRST_OF_SERVER: Self = Self(Self::SMALLEST);

    /// The size of a server's next batch that fits in the time limit, given that this batch took `elapsed`.
    pub fn next_of_server(self, elapsed: Duration) -> Self {
        let fitting = self.0 as f64 * Self::LONGEST.as_secs_f64() / elapsed.as_secs_f64();
        let fitting = (fitting as u64).clamp(self.0 / 2, self.0 * 2);
        Self(fitting.clamp(Self::SMALLEST, Self::LARGEST.0))
    }
}

/// When the terms of removed text are erased from the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermErasure {
    AtOnce,
    /// When the index is merged. Until then a term is only marked as removed: erasing a term that is in many messages
    /// takes hundreds of times longer than marking it.
    WithMerge,
}

/// A message to be indexed.
struct MessageToIndex {
    partition: (String, String, String),
    id: String,
    terms: String,
    /// Its number, if it is already indexed.
    number: Option<i64>,
}

/// The revision up to which all messages are indexed.
pub async fn indexed_until(connection: &mut Connection) -> Result<u64, StoreError> {
    let row = query(sql::INDEXED_UNTIL).fetch_one(connection).await?;
    rows::to_unsigned(rows::column(&row, "revision")?)
}

/// Indexes the next new and changed messages up to `newest`, in the caller's transaction. Returns the revision up to
/// which all messages are then indexed.
pub async fn index_next_batch(
    connection: &mut Connection,
    newest: u64,
    size: BatchSize,
) -> Result<u64, StoreError> {
    let after = indexed_until(connection).await?;
    let until = newest.min(after + size.0);
    if until <= after {
        return Ok(after);
    }
    let messages = read_unindexed(connection, after, until).await?;
    let known: Vec<Value> = messages
        .iter()
        .filter_map(|message| Some(json!([message.number?, message.terms])))
        .collect();
    remove_messages(connection, known).await?;
    insert_messages(connection, messages).await?;
    let put = query(sql::PUT_INDEXED_UNTIL).bind(until as i64);
    put.execute(connection).await?;
    Ok(until)
}

/// Removes the old text of messages that were changed or deleted in this transaction from the index.
pub async fn drop_stale(
    connection: &mut Connection,
    erasure: TermErasure,
) -> Result<(), StoreError> {
    let row = query(sql::STALE).fetch_one(&mut *connection).await?;
    let stale: Vec<(i64, String)> = rows::parse_json(&rows::column::<String>(&row, "lines")?)?;
    if stale.is_empty() {
        return Ok(());
    }
    let stale =
        stale.into_iter().map(|(number, text)| json!([number, extract_terms(&text).join(" ")]));
    match erasure {
        TermErasure::AtOnce => remove_messages(connection, stale.collect()).await?,
        TermErasure::WithMerge => {
            // FTS5 stores the setting in the index, so it is set back in the same transaction.
            query(sql::MARK_REMOVED_TERMS).execute(&mut *connection).await?;
            remove_messages(connection, stale.collect()).await?;
            query(sql::ERASE_REMOVED_TERMS).execute(&mut *connection).await?;
        }
    }
    query(sql::CLEAR_STALE).execute(connection).await?;
    Ok(())
}

/// Whether a merge starts or continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeStep {
    First,
    Next,
}

/// Takes one small step of merging everything that is indexed, so that no removed term is left in the index. Returns
/// whether there is more to merge.
pub async fn merge(connection: &mut Connection, step: MergeStep) -> Result<bool, StoreError> {
    let statement = match step {
        MergeStep::First => sql::BEGIN_MERGE,
        MergeStep::Next => sql::MERGE,
    };
    let before = count_changes(connection).await?;
    query(statement).execute(&mut *connection).await?;
    // A step writes fewer than its 64 pages only if nothing is left to merge. New messages add a few pages:
    // https://www.sqlite.org/fts5.html#the_merge_command
    Ok(count_changes(connection).await? - before >= MERGE_PAGES / 2)
}

async fn count_changes(connection: &mut Connection) -> Result<i64, StoreError> {
    rows::column(&query(sql::CHANGES).fetch_one(connection).await?, "n")
}

async fn read_unindexed(
    connection: &mut Connection,
    after: u64,
    until: u64,
) -> Result<Vec<MessageToIndex>, StoreError> {
    let row =
        query(sql::UNINDEXED).bind(after as i64).bind(until as i64).fetch_one(connection).await;
    type Row = (String, String, String, String, String, Option<i64>);
    let rows: Vec<Row> = rows::parse_json(&rows::column::<String>(&row?, "lines")?)?;
    let to_message = |(workspace, channel, visibility, id, text, number): Row| {
        let terms = extract_terms(&text).join(" ");
        MessageToIndex { partition: (workspace, channel, visibility), id, terms, number }
    };
    // A message without terms is never found, and does not count.
    Ok(rows.into_iter().map(to_message).filter(|message| !message.terms.is_empty()).collect())
}

async fn insert_messages(
    connection: &mut Connection,
    messages: Vec<MessageToIndex>,
) -> Result<(), StoreError> {
    if messages.is_empty() {
        return Ok(());
    }
    let mut next_numbers = allocate_numbers(connection, &messages).await?;
    let mut numbered: BTreeMap<i64, Value> = BTreeMap::new();
    for MessageToIndex { partition, id, terms, .. } in messages {
        let Some(number) = next_numbers.get_mut(&partition) else {
            return Err(StoreError::Broken("an index partition was given no number".to_owned()));
        };
        *number += 1;
        numbered.insert(*number, json!([*number, terms, id]));
    }
    // FTS5 inserts fastest in ascending order.
    let messages = Value::Array(numbered.into_values().collect()).to_string();
    for statement in [sql::INDEX_MESSAGES, sql::INDEX_TERMS] {
        query(statement).bind(&messages).execute(&mut *connection).await?;
    }
    Ok(())
}

/// The number before the first free one, for each partition.
async fn allocate_numbers(
    connection: &mut Connection,
    messages: &[MessageToIndex],
) -> Result<HashMap<(String, String, String), i64>, StoreError> {
    let mut counts: BTreeMap<&(String, String, String), i64> = BTreeMap::new();
    for message in messages {
        *counts.entry(&message.partition).or_default() += 1;
    }
    let requested: Value = counts
        .iter()
        .map(|((workspace, channel, visibility), count)| {
            json!([workspace, channel, visibility, count])
        })
        .collect();
    let rows = query(sql::ALLOCATE_NUMBERS).bind(requested.to_string()).fetch_all(connection).await;
    let mut free = HashMap::new();
    for row in rows? {
        let partition = (
            rows::column(&row, "workspace")?,
            rows::column(&row, "channel")?,
            rows::column(&row, "visibility")?,
        );
        let (number, last): (i64, i64) =
            (rows::column(&row, "number")?, rows::column(&row, "last")?);
        let count = counts.get(&partition).copied().unwrap_or(0);
        free.insert(partition, (number << 32) + last - count);
    }
    Ok(free)
}

/// Removes messages from the index, given as a list of their numbers and indexed terms.
async fn remove_messages(
    connection: &mut Connection,
    messages: Vec<Value>,
) -> Result<(), StoreError> {
    if messages.is_empty() {
        return Ok(());
    }
    let messages = Value::Array(messages).to_string();
    for statement in [sql::UNINDEX_TERMS, sql::UNCOUNT_MESSAGES, sql::UNINDEX_MESSAGES] {
        query(statement).bind(&messages).execute(&mut *connection).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_gets_as_many_as_it_gets_done_in_time() {
        let millis = Duration::from_millis;
        for (size, elapsed, expected) in [
            (64, millis(25), 64),
            (128, millis(50), 64),
            (128, millis(5_000), 64),
            (32, millis(1), 64),
            (128, millis(1), 128),
            (32, millis(5_000), 32),
            (32, Duration::ZERO, 64),
        ] {
            let next = BatchSize(size).next_of_server(elapsed);
            assert_eq!(next, BatchSize(expected), "{size} in {elapsed:?}");
        }
    }
}
