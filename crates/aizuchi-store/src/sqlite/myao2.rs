//! Recognizes a database of myao2, a bot that many users migrate from, so that it is never written to. `aizuchi-import`
//! reads its data.

use std::io::Read;
use std::path::Path;

use aizuchi_model::input_file;
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

use crate::StoreError;
use crate::database::connection::{Connection, query};
use crate::database::{driver_error, rows};
use crate::sqlite::sql;

/// The magic bytes of a SQLite database.
const BEGINNING: &[u8] = b"SQLite format 3\0";

/// Opens a read-only connection; `None` if the file is not a database of myao2.
pub async fn open(path: &Path) -> Result<Option<Connection>, StoreError> {
    if !is_database(path) {
        return Ok(None);
    }
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let path_text = path.display().to_string();
    let driver_connection = options
        .connect()
        .await
        .map_err(|error| driver_error::from_sqlite(error).into_broken(&path_text))?;
    let mut connection = Connection::Sqlite(driver_connection);
    let row = query(sql::MYAO2_MARKS).fetch_one(&mut connection).await;
    let row = row.map_err(|error| error.into_broken(&path_text))?;
    Ok((rows::column::<i64>(&row, "n")? == 3).then_some(connection))
}

/// Refuses a database of myao2: a config migrated from it still names that database, which must not be written to.
pub async fn refuse(path: &Path) -> Result<(), StoreError> {
    match open(path).await {
        Ok(Some(_)) => Err(StoreError::Broken(format!(
            "{shown} is a database of myao2; have storage.url name a new file (and leave out \
             memory.database_path), then bring along what it holds: aizuchi import {shown}",
            shown = path.display()
        ))),
        // The caller's own open reports what is wrong with the file.
        Ok(None) | Err(_) => Ok(()),
    }
}

/// Whether a file looks like a database of myao2, judging by the schema at its beginning.
pub fn is_at(path: &Path) -> bool {
    const READ: u64 = 1 << 20;
    let mut beginning = Vec::new();
    let read = input_file::open(path).and_then(|file| file.take(READ).read_to_end(&mut beginning));
    let has = |text: &[u8]| beginning.windows(text.len()).any(|part| part == text);
    read.is_ok() && beginning.starts_with(BEGINNING) && has(b"user_is_bot") && has(b"memories")
}

fn is_database(path: &Path) -> bool {
    let mut beginning = [0; BEGINNING.len()];
    let read = input_file::open(path).and_then(|mut file| file.read_exact(&mut beginning));
    read.is_ok() && beginning == BEGINNING
}
