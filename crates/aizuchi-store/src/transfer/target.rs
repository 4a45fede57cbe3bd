//! The destination of copied rows: a new file, or a server. Nothing is visible before [`TransferTarget::finish`].

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aizuchi_model::chat::{UserId, WorkspaceId};
use jiff::Timestamp;
use tracing::warn;

use crate::StoreError;
use crate::database::connection::{Connection, query};
use crate::database::forget::{self, ForgetOrderer, user_hash};
use crate::database::location::DatabaseLocation;
use crate::database::{Counters, orders, rows, schema, sql};
use crate::order::Order;
use crate::transfer::IfOccupied;
use crate::transfer::forgotten::{self, ForgottenUsers};
use crate::transfer::former_standing_orders::FormerStandingOrders;
use crate::transfer::tables::{Table, TransferReport};
use crate::{postgres, sqlite};

pub struct TransferTarget {
    connection: Connection,
    destination: TransferDestination,
    /// The forgotten users of the replaced database.
    forgotten: ForgottenUsers,
    orders: FormerOrders,
}

/// The orders in force in the replaced database.
#[derive(Default)]
struct FormerOrders {
    opted_out: Vec<(WorkspaceId, UserId)>,
    resets: Vec<Order>,
    /// `None` if the database is new: then the backup's are newer.
    silence: Option<Silence>,
    /// The ordered settings. `None` also if the database's version had none.
    settings: Option<Vec<FormerSetting>>,
    /// `None` also if the database's version had none, or no drafts of them.
    standing: Option<FormerStandingOrders>,
}

/// The text columns of an ordered setting, and when it was ordered, in milliseconds.
type FormerSetting = (Vec<String>, i64);

/// Where the persona posts nothing, or nothing unsolicited.
struct Silence {
    /// The workspace, the channel, the end in milliseconds, and the role that ordered it.
    mutes: Vec<(String, String, i64, String)>,
    /// The workspace, the channel and the mode.
    modes: Vec<(String, String, String)>,
}

/// What the destination is, and how it becomes visible.
enum TransferDestination {
    /// A file that is written under a temporary name, and then renamed. The lock keeps other processes away.
    File { path: PathBuf, part: PartialFile, set_aside: Option<PathBuf>, lock: Option<File> },
    /// A server, written in one transaction.
    Server,
}

/// An unfinished file, which is removed unless it is renamed to its final path.
pub struct PartialFile(PathBuf);

impl PartialFile {
    pub fn beside(path: &Path, suffix: &str) -> Self {
        Self(with_suffix(path, suffix))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        for suffix in ["", "-journal", "-wal", "-shm"] {
            let mut file = self.0.as_os_str().to_owned();
            file.push(suffix);
            // The file may not exist.
            let _ = std::fs::remove_file(file);
        }
    }
}

impl TransferTarget {
    /// Creates a file that does not exist yet.
    pub async fn new_file(path: &Path) -> Result<Self, StoreError> {
        Self::file(path, None, None).await
    }

    /// Opens the location of a database that no other process uses.
    ///
    /// A database that was moved away can be replaced only by its own data, with this installation id: its new location
    /// may be an empty database, because the move did not finish.
    pub async fn open(
        to: &DatabaseLocation,
        occupied: IfOccupied,
        mark: &str,
    ) -> Result<Self, StoreError> {
        match to {
            DatabaseLocation::Sqlite(path) => Self::open_file(path, occupied, mark).await,
            DatabaseLocation::Postgres(server) => {
                let shown = server.to_string();
                let mut connection = postgres::connect_exclusive(server).await?;
                match schema::moved_to(&mut connection).await? {
                    // The mark is removed with everything else, in the one transaction.
                    Some(moved_to) => {
                        expect_own(&shown, &moved_to, &mut connection, occupied, mark).await?;
                    }
                    None => schema::migrate(&shown, postgres::MIGRATIONS, &mut connection).await?,
                }
                expect_empty(&shown, &mut connection, occupied).await?;
                let forgotten = ForgottenUsers::read(&mut connection).await?;
                let orders = FormerOrders::read(&mut connection).await?;
                query(sql::BEGIN).execute(&mut connection).await?;
                Ok(Self { connection, destination: TransferDestination::Server, forgotten, orders })
            }
        }
    }

    async fn open_file(path: &Path, occupied: IfOccupied, mark: &str) -> Result<Self, StoreError> {
        let shown = path.display().to_string();
        if !path.exists() {
            return Self::file(path, None, Some(sqlite::lock_file::lock(path).await?)).await;
        }
        let (mut old, lock) = sqlite::connect(path).await?;
        let (mut were_forgotten, mut former) = (ForgottenUsers::default(), FormerOrders::default());
        if !Table::list(&mut old).await?.is_empty() {
            if let Some(moved_to) = schema::moved_to(&mut old).await? {
                expect_own(&shown, &moved_to, &mut old, occupied, mark).await?;
            }
            expect_empty(&shown, &mut old, occupied).await?;
            were_forgotten = ForgottenUsers::read(&mut old).await?;
            former = FormerOrders::read(&mut old).await?;
        }
        // The old file is set aside without its log, so everything has to be in the file.
        if !forget::truncate_log(&mut old).await? {
            return Err(StoreError::Broken(format!(
                "something else reads {shown}, so it cannot be replaced now; try again"
            )));
        }
        old.close().await?;
        let mut target = Self::file(path, Some(aside_path(path)), Some(lock)).await?;
        (target.forgotten, target.orders) = (were_forgotten, former);
        Ok(target)
    }

    async fn file(
        path: &Path,
        set_aside: Option<PathBuf>,
        lock: Option<File>,
    ) -> Result<Self, StoreError> {
        expect_no_log(path)?;
        // Two processes that write the same file use different names.
        let part = PartialFile::beside(path, &format!(".{}.part", std::process::id()));
        remove_unfinished(path);
        let connection = sqlite::create_anew(&part.0).await?;
        let mut target = Self {
            connection,
            destination: TransferDestination::File { path: path.to_owned(), part, set_aside, lock },
            forgotten: ForgottenUsers::default(),
            orders: FormerOrders::default(),
        };
        let shown = path.display().to_string();
        schema::migrate(&shown, sqlite::MIGRATIONS, &mut target.connection).await?;
        query(sql::BEGIN).execute(&mut target.connection).await?;
        Ok(target)
    }

    /// Copies all tables, and reads them back to compare.
    pub async fn fill(&mut self, source: &mut Connection) -> Result<TransferReport, StoreError> {
        let tables = Table::list(&mut self.connection).await?;
        let has_same_names = {
            let others = Table::list(source).await?;
            tables.iter().map(|table| &table.name).eq(others.iter().map(|table| &table.name))
        };
        if !has_same_names {
            return Err(StoreError::Broken("the two databases have other tables".to_owned()));
        }
        self.clear(&tables).await?;
        let mut report = TransferReport::default();
        for table in &tables {
            let read = table.copy(source, &mut self.connection).await?;
            let written = table.digest(&mut self.connection).await?;
            if read != written {
                return Err(StoreError::Broken(format!(
                    "{} was not copied as it is: {} of {} rows",
                    table.name, written.rows, read.rows
                )));
            }
            report.tables.push((table.name.clone(), read.rows));
        }
        // The copied rows have numbers of their own, which the sequences have not counted.
        if self.connection.is_postgres() {
            for sequence in query(postgres::sql::SEQUENCES).fetch_all(&mut self.connection).await? {
                let (table, column): (String, String) = (
                    rows::column(&sequence, "table_name")?,
                    rows::column(&sequence, "column_name")?,
                );
                let statement = sql::transfer::continue_sequence(&table, &column);
                self.connection.execute_with(statement, Vec::new()).await?;
            }
        }
        Ok(report)
    }

    async fn clear(&mut self, tables: &[Table]) -> Result<(), StoreError> {
        let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
        if self.connection.is_postgres() {
            self.connection.execute_with(sql::transfer::truncate(&names), Vec::new()).await?;
            for statement in postgres::sql::CLEAR_INDEX {
                query(statement).execute(&mut self.connection).await?;
            }
            return schema::drop_moved_mark(&mut self.connection).await;
        }
        // A new file is not empty: its migrations put rows into some tables.
        for table in names {
            self.connection.execute_with(sql::transfer::delete_all(table), Vec::new()).await?;
        }
        Ok(())
    }

    /// Renews the installation id, which tells processes which posts are their own.
    pub async fn renew_installation(&mut self) -> Result<(), StoreError> {
        let statement = match self.connection.is_postgres() {
            true => postgres::sql::RENEW_INSTALLATION,
            false => sqlite::sql::RENEW_INSTALLATION,
        };
        query(statement).execute(&mut self.connection).await.map(|_| ())
    }

    /// Records when this copy was made.
    pub async fn note_copied(&mut self, at: Timestamp) -> Result<(), StoreError> {
        let note = query(sql::NOTE_COPIED).bind(at.as_millisecond());
        note.execute(&mut self.connection).await.map(|_| ())
    }

    /// Records the lost span of this copy, and makes its processes check the platforms for possible posts in it.
    pub async fn note_restored(&mut self, at: Timestamp) -> Result<(), StoreError> {
        query(sql::NOTE_RESTORED).bind(at.as_millisecond()).execute(&mut self.connection).await?;
        query(sql::SKIP_LOST_NUMBERS).execute(&mut self.connection).await?;
        query(sql::steps::LOOK_FOR_POSTS).execute(&mut self.connection).await?;
        // Proposals that were open may have been posted since, and are out of date.
        for statement in [sql::proposals::ERASE_LAPSED_ITEMS, sql::proposals::LAPSE_PROPOSALS] {
            query(statement).bind(i64::MAX).execute(&mut self.connection).await?;
        }
        // Calls that were open or allowed may have been made since.
        query(sql::consents::LAPSE_ALL_CONSENTS).execute(&mut self.connection).await?;
        let withdraw = query(sql::trust::WITHDRAW_ALL_OFFERS).bind(at.as_millisecond());
        withdraw.execute(&mut self.connection).await?;
        Ok(())
    }

    /// Begins to forget the users whom the replaced database has forgotten since the backup was made. The next start
    /// continues. Returns how many there are.
    pub async fn forget_again(
        &mut self,
        in_backup: &ForgottenUsers,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        if self.forgotten.is_empty() {
            return Ok(0);
        }
        self.forgotten.note(&mut self.connection).await?;
        let mut counters = Counters::read(&mut self.connection).await?;
        let mut count = 0;
        for (workspace, user) in forgotten::all_users(&mut self.connection).await? {
            let Some(forgotten) = self.forgotten.forgotten_at(&workspace, &user) else { continue };
            // If the backup has forgotten them as late, nothing of them came back.
            if Some(forgotten) <= in_backup.forgotten_at(&workspace, &user) {
                continue;
            }
            let (user, by) = (UserId::new(user), ForgetOrderer::Operator(""));
            let place = (&workspace, &user);
            forget::begin(&mut self.connection, &mut counters, place, by, now).await?;
            // What they have written after that is heard again.
            user_hash::put_time(&mut self.connection, &workspace, &user, forgotten).await?;
            count += 1;
        }
        counters.write(&mut self.connection).await?;
        Ok(count)
    }

    /// Applies the orders in force in the replaced database; users who have opted out in the backup stay opted out.
    /// Returns how many more users are opted out.
    pub async fn order_again(&mut self, now: Timestamp) -> Result<usize, StoreError> {
        let FormerOrders { opted_out, resets, silence, settings, standing } =
            std::mem::take(&mut self.orders);
        let here = opted_out_users(&mut self.connection).await?;
        let missing: Vec<_> = opted_out.into_iter().filter(|user| !here.contains(user)).collect();
        let mut counters = Counters::read(&mut self.connection).await?;
        for (workspace, user) in &missing {
            let order = Order::OptOut { workspace: workspace.clone(), user: user.clone() };
            orders::apply(&mut self.connection, &mut counters, &order, now).await?;
        }
        // What these conversations withhold is in the backup, unless they were reset before.
        for reset in &resets {
            orders::apply(&mut self.connection, &mut counters, reset, now).await?;
        }
        if let Some(standing) = standing {
            standing.put(&mut self.connection, &mut counters, &here, now).await?;
        }
        counters.write(&mut self.connection).await?;
        if let Some(settings) = settings {
            put_settings(&mut self.connection, settings).await?;
        }
        let Some(Silence { mutes, modes }) = silence else { return Ok(missing.len()) };
        for statement in [sql::orders::DROP_ALL_MUTES, sql::orders::DROP_ALL_MODES] {
            query(statement).execute(&mut self.connection).await?;
        }
        for (workspace, channel, until, role) in mutes {
            let mute =
                query(sql::orders::MUTE).bind(workspace).bind(channel).bind(until).bind(role);
            mute.execute(&mut self.connection).await?;
        }
        for (workspace, channel, mode) in modes {
            let put = query(sql::orders::PUT_MODE).bind(workspace).bind(channel).bind(mode);
            put.execute(&mut self.connection).await?;
        }
        Ok(missing.len())
    }

    /// Commits, verifies a file and renames it to its final path. Returns the new path of the replaced file.
    pub async fn finish(mut self) -> Result<Option<PathBuf>, StoreError> {
        query(sql::COMMIT).execute(&mut self.connection).await?;
        self.connection.close().await?;
        match &self.destination {
            TransferDestination::Server => Ok(None),
            TransferDestination::File { path, part, set_aside, lock } => {
                // Before the rename: after a power loss, the name must not lead to an unfinished file.
                let synced = File::open(&part.0).and_then(|file| file.sync_all());
                synced.map_err(|error| broken(path, &error))?;
                expect_sound(&part.0).await?;
                // Again, since a log may have appeared while the file was being written.
                expect_no_log(path)?;
                // While the replaced file still has its name.
                let owner = owner_of(path);
                take_place(&part.0, path, set_aside.as_deref())
                    .map_err(|error| broken(path, &error))?;
                // A backup belongs to the user who made it.
                if lock.is_some() {
                    give_to(owner, path);
                }
                Ok(set_aside.clone())
            }
        }
    }
}

/// The installation id of the database at a location, unless there is none or it was moved away.
pub async fn installation_at(location: &DatabaseLocation) -> Result<Option<Arc<str>>, StoreError> {
    let mut connection = match location {
        DatabaseLocation::Sqlite(path) if !path.exists() => return Ok(None),
        DatabaseLocation::Sqlite(path) => sqlite::connect(path).await?.0,
        DatabaseLocation::Postgres(server) => postgres::connect_exclusive(server).await?,
    };
    let is_empty = Table::list(&mut connection).await?.is_empty();
    if is_empty || schema::moved_to(&mut connection).await?.is_some() {
        connection.close().await?;
        return Ok(None);
    }
    let installation = Counters::installation(&mut connection).await?;
    connection.close().await?;
    Ok(Some(installation))
}

/// Checks that a database that was moved away is replaced only by its own data.
async fn expect_own(
    shown: &str,
    moved_to: &str,
    connection: &mut Connection,
    occupied: IfOccupied,
    mark: &str,
) -> Result<(), StoreError> {
    let installation = Counters::installation(connection).await?;
    match occupied == IfOccupied::Replace && &*installation == mark {
        true => Ok(()),
        false => Err(schema::moved_error(shown, moved_to)),
    }
}

async fn expect_empty(
    shown: &str,
    connection: &mut Connection,
    occupied: IfOccupied,
) -> Result<(), StoreError> {
    let messages = query(sql::messages::COUNT_MESSAGES).fetch_one(connection).await?;
    match rows::column::<i64>(&messages, "n")? {
        0 => Ok(()),
        _ if occupied == IfOccupied::Replace => Ok(()),
        1 => Err(StoreError::Broken(format!("{shown} holds a message; --replace replaces it"))),
        many => {
            Err(StoreError::Broken(format!("{shown} holds {many} messages; --replace replaces it")))
        }
    }
}

impl FormerOrders {
    /// Reads the orders of a database of any version.
    async fn read(connection: &mut Connection) -> Result<Self, StoreError> {
        let tables = Table::list(connection).await?;
        let find = |name: &str| tables.iter().find(|table| table.name == name);
        if find("opted_out").is_none() {
            return Ok(Self::default());
        }
        let opted_out = opted_out_users(connection).await?;
        let messages = query(sql::messages::COUNT_MESSAGES).fetch_one(&mut *connection).await?;
        let is_new = rows::column::<i64>(&messages, "n")? == 0;
        let knows_roles = find("mutes").is_some_and(|table| table.has_column("role"));
        let silence = match knows_roles && !is_new {
            true => Some(Silence::read(connection).await?),
            false => None,
        };
        let settings = match find("room_settings").is_some() && !is_new {
            true => Some(ordered_settings(connection).await?),
            false => None,
        };
        let has_drafts = find("standing_orders").is_some_and(|table| table.has_column("is_draft"));
        let standing = match has_drafts && !is_new {
            true => Some(FormerStandingOrders::read(connection).await?),
            false => None,
        };
        let resets = match find("resets").is_some() {
            true => ordered_resets(connection).await?,
            false => Vec::new(),
        };
        Ok(Self { opted_out, resets, silence, settings, standing })
    }
}

async fn ordered_resets(connection: &mut Connection) -> Result<Vec<Order>, StoreError> {
    let found = query(sql::orders::ALL_RESETS).fetch_all(connection).await?;
    let reset = |row| {
        let until = rows::to_timestamp(rows::column(row, "until_ms")?)?;
        Ok(Order::Reset { conversation: rows::conversation_from_row(row)?, until })
    };
    found.iter().map(reset).collect()
}

async fn ordered_settings(connection: &mut Connection) -> Result<Vec<FormerSetting>, StoreError> {
    const TEXTS: [&str; 7] =
        ["workspace", "channel", "thread", "setting", "role", "value", "ordered_by"];
    let found = query(sql::orders::ALL_SETTINGS).fetch_all(connection).await?;
    let setting = |row| {
        let texts = TEXTS.iter().map(|column| rows::column::<String>(row, column));
        Ok((texts.collect::<Result<Vec<_>, _>>()?, rows::column(row, "ordered_ms")?))
    };
    found.iter().map(setting).collect()
}

/// Replaces the backup's settings with these.
async fn put_settings(
    connection: &mut Connection,
    settings: Vec<FormerSetting>,
) -> Result<(), StoreError> {
    query(sql::orders::DROP_ALL_SETTINGS).execute(&mut *connection).await?;
    for (texts, at) in settings {
        let put = query(sql::orders::PUT_SETTING);
        let put = texts.into_iter().fold(put, |put, text| put.bind(text));
        put.bind(at).execute(&mut *connection).await?;
    }
    Ok(())
}

async fn opted_out_users(
    connection: &mut Connection,
) -> Result<Vec<(WorkspaceId, UserId)>, StoreError> {
    let found = query(sql::orders::OPTED_OUT).fetch_all(connection).await?;
    let user = |row| {
        let workspace = WorkspaceId::new(rows::column::<String>(row, "workspace")?);
        Ok((workspace, UserId::new(rows::column::<String>(row, "user")?)))
    };
    found.iter().map(user).collect()
}

impl Silence {
    async fn read(connection: &mut Connection) -> Result<Self, StoreError> {
        let mutes = query(sql::orders::ALL_MUTES).fetch_all(&mut *connection).await?;
        let mute = |row| {
            let (workspace, channel) =
                (rows::column(row, "workspace")?, rows::column(row, "channel")?);
            Ok((workspace, channel, rows::column(row, "until_ms")?, rows::column(row, "role")?))
        };
        let modes = query(sql::orders::ALL_MODES).fetch_all(connection).await?;
        let mode = |row| {
            let channel = rows::column(row, "channel")?;
            Ok((rows::column(row, "workspace")?, channel, rows::column(row, "mode")?))
        };
        Ok(Self {
            mutes: mutes.iter().map(mute).collect::<Result<_, StoreError>>()?,
            modes: modes.iter().map(mode).collect::<Result<_, StoreError>>()?,
        })
    }
}

/// Checks the integrity of a database file after writing it.
pub async fn expect_sound(path: &Path) -> Result<(), StoreError> {
    let mut written = sqlite::open_snapshot(path).await?;
    let check = query(sqlite::sql::QUICK_CHECK).fetch_one(&mut written).await?;
    written.close().await?;
    match rows::column::<String>(&check, "quick_check")?.as_str() {
        "ok" => Ok(()),
        damage => Err(StoreError::Broken(format!(
            "{} was not written as it should be: {damage}",
            path.display()
        ))),
    }
}

/// Removes the partial files of processes that died while they wrote this file.
fn remove_unfinished(path: &Path) {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let files = std::fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten();
    for file in files.flatten() {
        let other = file.file_name();
        let writer = other.to_str().and_then(|other| other.strip_prefix(name));
        let writer = writer.and_then(|rest| rest.strip_prefix('.')?.strip_suffix(".part"));
        // Without /proc this cannot be determined, so the file is kept.
        let is_dead = |process: u32| {
            Path::new("/proc/self").exists() && !Path::new(&format!("/proc/{process}")).exists()
        };
        if writer.and_then(|writer| writer.parse().ok()).is_some_and(is_dead) {
            drop(PartialFile(file.path()));
        }
    }
}

/// Fails if there is a log beside a path: SQLite would replay the log of the old file into the new one.
fn expect_no_log(path: &Path) -> Result<(), StoreError> {
    for suffix in ["-wal", "-journal"] {
        let log = with_suffix(path, suffix);
        if std::fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
            return Err(StoreError::Broken(format!(
                "{} is left of another database, or something reads it; move it away, or try again",
                log.display()
            )));
        }
    }
    Ok(())
}

/// Renames a finished file. The old file first gets an additional name, so that one of the two always exists.
fn take_place(part: &Path, path: &Path, set_aside: Option<&Path>) -> std::io::Result<()> {
    match set_aside {
        Some(set_aside) => match std::fs::hard_link(path, set_aside) {
            Ok(()) => std::fs::rename(part, path)?,
            Err(error) if is_without_links(&error) => {
                std::fs::rename(path, set_aside)?;
                if let Err(error) = std::fs::rename(part, path) {
                    std::fs::rename(set_aside, path)?;
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        },
        // A file that was created in the meantime is not replaced.
        None => match std::fs::hard_link(part, path) {
            Ok(()) => std::fs::remove_file(part)?,
            Err(error) if is_without_links(&error) => {
                // Takes the name first, since a rename would replace a file without asking.
                File::create_new(path)?;
                std::fs::rename(part, path)?;
            }
            Err(error) => return Err(error),
        },
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // Without this, a power loss could undo the rename.
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Whether the file system has no hard links, such as FAT, exFAT and some network drives.
fn is_without_links(error: &std::io::Error) -> bool {
    // EPERM on Linux. A read-only folder returns EACCES.
    error.kind() == std::io::ErrorKind::Unsupported
        || matches!(error.raw_os_error(), Some(1 | 45 | 95))
}

/// The owner of the replaced file, or of the folder of a new one.
fn owner_of(path: &Path) -> Option<(u32, u32)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let found = std::fs::metadata(path);
    let found = found.or_else(|_| std::fs::metadata(folder.unwrap_or(Path::new("."))));
    found.ok().map(|found| (found.uid(), found.gid()))
}

/// Changes the owner of a file, so that the service can use a database that root has restored. Other users cannot
/// change owners, and need not.
fn give_to(owner: Option<(u32, u32)>, path: &Path) {
    let Some((user, group)) = owner else { return };
    for file in [path.to_owned(), with_suffix(path, ".lock")] {
        let is_of_root = std::fs::symlink_metadata(&file).is_ok_and(|found| found.uid() == 0);
        if is_of_root
            && user != 0
            && let Err(error) = std::os::unix::fs::lchown(&file, Some(user), Some(group))
        {
            warn!(file = %file.display(), %error, "a file cannot be given to the user of the database");
        }
    }
}

fn aside_path(path: &Path) -> PathBuf {
    let names = (1..).map(|number| with_suffix(path, &format!(".replaced-{number}")));
    names.into_iter().find(|name| !name.exists()).unwrap_or_else(|| with_suffix(path, ".replaced"))
}

/// The path of a file beside another one, with this suffix added to its name.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn broken(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Broken(format!("{} cannot be written: {error}", path.display()))
}
