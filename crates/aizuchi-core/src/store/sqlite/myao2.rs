//! Knows a database of myao2, the bot that many come from, so that nothing is written into it. What it holds is
//! read by `aizuchi-import`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

use crate::store::StoreError;
use crate::store::database::connection::{Connection, query};
use crate::store::database::rows;
use crate::store::sqlite::{sql, to_store_error};

/// How every SQLite database begins.
const BEGINNING: &[u8] = b"SQLite format 3\0";

/// A connection that only reads; `None` if the file is anything else.
pub async fn open(path: &Path) -> Result<Option<Connection>, StoreError> {
    if !is_database(path) {
        return Ok(None);
    }
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let shown = path.display().to_string();
    let opened =
        options.connect().await.map_err(|error| to_store_error(error).into_broken(&shown))?;
    let mut connection = Connection::Sqlite(opened);
    let marks = query(sql::MYAO2_MARKS).fetch_one(&mut connection).await;
    let marks = marks.map_err(|error| error.into_broken(&shown))?;
    Ok((rows::column::<i64>(&marks, "n")? == 3).then_some(connection))
}

/// A config of myao2 names its database. That is not to be written into.
pub async fn refuse(path: &Path) -> Result<(), StoreError> {
    match open(path).await {
        Ok(Some(_)) => Err(StoreError::Broken(format!(
            "{shown} is a database of myao2; have storage.url name a new file (and leave out \
             memory.database_path), then bring along what it holds: aizuchi import {shown}",
            shown = path.display()
        ))),
        // Whoever opens it says what is wrong with it.
        Ok(None) | Err(_) => Ok(()),
    }
}

/// Whether there is a database of myao2, as far as its beginning tells: its schema stands there.
pub fn is_at(path: &Path) -> bool {
    const READ: u64 = 1 << 20;
    let mut beginning = Vec::new();
    let read = File::open(path).and_then(|file| file.take(READ).read_to_end(&mut beginning));
    let has = |words: &[u8]| beginning.windows(words.len()).any(|part| part == words);
    read.is_ok() && beginning.starts_with(BEGINNING) && has(b"user_is_bot") && has(b"memories")
}

fn is_database(path: &Path) -> bool {
    let mut beginning = [0; BEGINNING.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut beginning));
    read.is_ok() && beginning == BEGINNING
}
