//! Copies a whole database: into a backup file, back from it, or from one kind of database to the other.
//!
//! Both databases have the same tables and columns, so rows are copied unchanged. The written rows are read back and
//! compared with the originals. The search index is not copied; the next start rebuilds it.

pub mod tables;
pub mod target;
mod forgotten;
mod former_standing_orders;

use std::fs::File;
use std::path::{Path, PathBuf};

use aizuchi_model::clock::Clock;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tracing::warn;

use crate::StoreError;
use crate::database::connection::{Connection, query};
use crate::database::location::DatabaseLocation;
use crate::database::{Counters, rows, schema, sql};
use crate::sqlite::earlier_version;
use crate::transfer::forgotten::ForgottenUsers;
use crate::transfer::tables::TransferReport;
use crate::transfer::target::{PartialFile, TransferTarget};
use crate::{postgres, sqlite};

/// The result of a restore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreReport {
    pub copied: TransferReport,
    /// Users who were forgotten after the backup was made, and are forgotten again.
    pub forgotten: usize,
    /// Users who opted out after the backup was made, and are opted out again.
    pub opted_out: usize,
    /// The new path of the replaced database file.
    pub set_aside: Option<PathBuf>,
}

/// The result of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveReport {
    Moved(TransferReport),
    /// An earlier call was interrupted after its last step.
    WasMoved,
}

/// Copies a database into a new file, while another process may be using it, and verifies the copy.
///
/// The file is an ordinary database with its own installation id: two databases restored from one backup never take
/// each other's posts for their own. It records when it was made, so that a restored copy knows its lost span; and the
/// original database records it, too.
pub fn back_up<'a>(
    from: &'a DatabaseLocation,
    file: &'a Path,
) -> BoxFuture<'a, Result<TransferReport, StoreError>> {
    Box::pin(async move {
        if file.exists() {
            let shown = file.display();
            return Err(StoreError::Broken(format!("{shown} exists already; name a new file")));
        }
        let now = Clock::system().now();
        // Opened after the time is taken: data written in between may be both in the copy and in the lost span.
        let mut source = open_source(from).await?;
        let mut target = TransferTarget::new_file(file).await?;
        let report = target.fill(&mut source).await?;
        target.renew_installation().await?;
        target.note_copied(now).await?;
        target.finish().await?;
        source.close().await?;
        // The backup is valid either way.
        if let Err(error) = note_backup(from, now).await {
            warn!(%error, "a backup was made, and the database cannot be told of it");
        }
        Ok(report)
    })
}

/// Records the time of the newest backup in a database, while another process may be using it.
async fn note_backup(from: &DatabaseLocation, at: Timestamp) -> Result<(), StoreError> {
    let mut source = match from {
        DatabaseLocation::Sqlite(path) => sqlite::connect_secondary(path).await?,
        DatabaseLocation::Postgres(server) => postgres::connect_secondary(server).await?,
    };
    let noted = query(sql::NOTE_BACKED_UP).bind(at.as_millisecond()).execute(&mut source).await;
    source.close().await?;
    noted.map(|_| ())
}

/// What to do if the destination already contains messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfOccupied {
    Refuse,
    Replace,
}

/// Replaces the database at `to` with a backup; no process may use it in the meantime. Users who were forgotten there
/// after the backup was made are forgotten again. If the replaced database contains messages, its file is kept beside
/// the new one.
pub fn restore<'a>(
    file: &'a Path,
    to: &'a DatabaseLocation,
    occupied: IfOccupied,
) -> BoxFuture<'a, Result<RestoreReport, StoreError>> {
    Box::pin(async move {
        let (mut source, _migrated) = open_backup(file, to).await?;
        let now = Clock::system().now();
        let mark = Counters::installation(&mut source).await?;
        let mut target = TransferTarget::open(to, occupied, &mark).await?;
        let copied = target.fill(&mut source).await?;
        let in_backup = ForgottenUsers::read(&mut source).await?;
        let forgotten = target.forget_again(&in_backup, now).await?;
        let opted_out = target.order_again(now).await?;
        target.renew_installation().await?;
        target.note_restored(now).await?;
        let set_aside = target.finish().await?;
        source.close().await?;
        Ok(RestoreReport { copied, forgotten, opted_out, set_aside })
    })
}

/// Moves a database that no process uses. From the first step on, the old one refuses to be opened and names the new
/// one, so that the two are never in use at once. A call that was interrupted is repeated with the same arguments.
pub fn move_to<'a>(
    from: &'a DatabaseLocation,
    to: &'a DatabaseLocation,
    occupied: IfOccupied,
) -> BoxFuture<'a, Result<MoveReport, StoreError>> {
    Box::pin(async move {
        if from == to {
            return Err(StoreError::Broken(format!("{from} is where it is already")));
        }
        let (mut source, _lock) = lock_source(from).await?;
        let destination = to.to_string();
        let is_repeated = match schema::moved_to(&mut source).await? {
            Some(moved_to) if moved_to == destination => true,
            Some(moved_to) => return Err(schema::moved_error(&from.to_string(), &moved_to)),
            None => false,
        };
        let mark = Counters::installation(&mut source).await?;
        if is_repeated && target::installation_at(to).await?.is_some_and(|there| there == mark) {
            // The new database may have been in use since.
            return Ok(MoveReport::WasMoved);
        }
        // Before the old database is marked: if the destination is refused, it stays in use.
        let mut target = TransferTarget::open(to, occupied, &mark).await?;
        if !is_repeated {
            schema::set_moved_to(&mut source, &destination).await?;
        }
        let report = target.fill(&mut source).await?;
        target.finish().await?;
        source.close().await?;
        Ok(MoveReport::Moved(report))
    })
}

/// Opens a backup, migrated to this version. An older one is copied to the destination first, since the backup may be
/// on a read-only disk; the copy is removed at the end.
async fn open_backup(
    file: &Path,
    to: &DatabaseLocation,
) -> Result<(Connection, Option<PartialFile>), StoreError> {
    let shown = file.display().to_string();
    if !file.is_file() {
        return Err(StoreError::Broken(format!("{shown} is not a file")));
    }
    let readers = sqlite::inspect::readers(file).await?;
    let newest = schema::newest_migration(&readers).await;
    readers.close().await;
    let newest = newest.map_err(|error| error.into_broken(&shown))?;
    let mut copy = None;
    if earlier_version::is_earlier(newest) {
        let suffix = format!(".{}.migrated", std::process::id());
        let part = match to {
            DatabaseLocation::Sqlite(path) => {
                sqlite::create_folder(path)?;
                PartialFile::beside(path, &suffix)
            }
            DatabaseLocation::Postgres(_) => PartialFile::beside(file, &suffix),
        };
        sqlite::copy_and_migrate(file, part.path()).await?;
        copy = Some(part);
    }
    let path = copy.as_ref().map_or(file, PartialFile::path);
    let mut source = sqlite::open_snapshot(path).await?;
    schema::expect_newest(&shown, sqlite::MIGRATIONS, &mut source).await?;
    let check = query(sqlite::sql::QUICK_CHECK).fetch_one(&mut source).await?;
    match rows::column::<String>(&check, "quick_check")?.as_str() {
        "ok" => Ok((source, copy)),
        damage => Err(StoreError::Broken(format!("{shown} is damaged: {damage}"))),
    }
}

/// Opens one snapshot of a database that another process may be writing to.
async fn open_source(from: &DatabaseLocation) -> Result<Connection, StoreError> {
    let shown = from.to_string();
    let (mut source, migrations) = match from {
        DatabaseLocation::Sqlite(path) => (sqlite::open_snapshot(path).await?, sqlite::MIGRATIONS),
        DatabaseLocation::Postgres(server) => {
            (postgres::open_snapshot(server).await?, postgres::MIGRATIONS)
        }
    };
    schema::expect_newest(&shown, migrations, &mut source).await?;
    Ok(source)
}

/// Opens a database that no other process may use while the returned connection and lock live.
async fn lock_source(from: &DatabaseLocation) -> Result<(Connection, Option<File>), StoreError> {
    let shown = from.to_string();
    let (mut source, lock, migrations) = match from {
        DatabaseLocation::Sqlite(path) => {
            if !path.exists() {
                return Err(StoreError::Broken(format!("there is no database at {shown}")));
            }
            let (connection, lock) = sqlite::connect(path).await?;
            (connection, Some(lock), sqlite::MIGRATIONS)
        }
        DatabaseLocation::Postgres(server) => {
            (postgres::connect_exclusive(server).await?, None, postgres::MIGRATIONS)
        }
    };
    // The migration refuses a database that was moved, and a repeated call has to read it.
    if schema::moved_to(&mut source).await?.is_none() {
        schema::migrate(&shown, migrations, &mut source).await?;
    }
    Ok((source, lock))
}
