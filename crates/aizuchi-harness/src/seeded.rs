//! An invented history: channels, users, what they said in two languages, and what Aizuchi keeps about it, from
//! decisions of every kind to memories, proposals and failures. The same seed and end give the same rows.

mod words;
mod rows;
mod history;

use aizuchi_store::StoreError;
use aizuchi_store::database::connection::{Connection, query};
use aizuchi_store::database::location::DatabaseLocation;
use jiff::Timestamp;

use crate::seeded::history::History;

/// What to invent.
#[derive(Clone, Debug)]
pub struct Seeded {
    pub channels: usize,
    pub users: usize,
    pub days: i64,
    pub messages: usize,
    pub seed: u64,
    /// The end of the history.
    pub now: Timestamp,
}

/// How many messages stay to be indexed by the program, which would otherwise take long to start searching.
const UNINDEXED: usize = 50_000;

/// Fills a new database, whose tables exist already.
pub async fn fill(connection: &mut Connection, seeded: &Seeded) -> Result<(), StoreError> {
    let begin = match connection.is_postgres() {
        true => "BEGIN",
        false => "BEGIN IMMEDIATE",
    };
    query(begin).execute(connection).await?;
    let mut history = History::new(seeded);
    history.put_places(connection).await?;
    while history.talk() {
        history.rows.put_if_many(connection).await?;
    }
    history.conclude();
    history.rows.put(connection).await?;
    for statement in rows::SUMS {
        query(statement).execute(connection).await?;
    }
    let (revision, number) = (history.revision, history.number);
    let counters = query("UPDATE counters SET revision = $1, last_number = $2");
    counters.bind(revision).bind(number).execute(connection).await?;
    let indexed = revision.saturating_sub(UNINDEXED as i64).max(0);
    query("UPDATE recall_watermark SET revision = $1").bind(indexed).execute(connection).await?;
    query("COMMIT").execute(connection).await?;
    query("ANALYZE").execute(connection).await?;
    Ok(())
}

/// Creates the tables at a new location and fills them.
pub async fn create(address: &DatabaseLocation, seeded: &Seeded) -> Result<(), StoreError> {
    drop(address.open().await?);
    let mut connection = match address {
        DatabaseLocation::Sqlite(path) => aizuchi_store::sqlite::connect_secondary(path).await?,
        DatabaseLocation::Postgres(server) => {
            aizuchi_store::postgres::connect_secondary(server).await?
        }
    };
    fill(&mut connection, seeded).await?;
    connection.close().await
}
