//! The three stores, each empty and used by one test alone, and helpers that run a test on all of them.

use std::fmt::Debug;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aizuchi_model::chat::attachment::Attachment;
use aizuchi_model::chat::{ChannelId, MessageId};
use aizuchi_store::archive::Archive;
use aizuchi_store::database::connection::{Connection, query};
use aizuchi_store::database::forget::job::{ForgetProgress, ForgettingJob};
use aizuchi_store::database::location::{DatabaseLocation, PostgresUrl};
use aizuchi_store::database::redaction::RedactionProgress;
use aizuchi_store::database::schema::migrate;
use aizuchi_store::database::writer::DatabaseWriter;
use aizuchi_store::database::{DatabaseStore, MAX_READERS};
use aizuchi_store::people::ForgetReport;
use aizuchi_store::uploads::{Upload, UploadLimits, Uploads};
use aizuchi_store::volatile::VolatileStore;
use aizuchi_store::{Cursors, Store, StoreError, sqlite};
use async_trait::async_trait;
use jiff::Timestamp;
use tempfile::TempDir;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::fixtures::at;
use crate::postgres::OwnedDatabase;

/// The number of connections that read concurrently. A story does one thing at a time, but the driver returns a
/// connection a moment after its use, so each story would open as many as allowed; and each connection plans all
/// statements again.
const READERS: u32 = 1;
/// How long a spawned process may take to `exec`, and a server to end a session.
const UNLOCK_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    Volatile,
    Sqlite,
    Postgres,
}

impl StoreKind {
    pub const ALL: [Self; 3] = [Self::Volatile, Self::Sqlite, Self::Postgres];
    /// The stores that keep everything, and survive a restart.
    pub const DATABASES: [Self; 2] = [Self::Sqlite, Self::Postgres];

    /// Opens a new, empty store.
    pub async fn open(self) -> TestStore {
        match self {
            Self::Volatile => TestStore::volatile(),
            Self::Sqlite => TestStore::sqlite().await,
            Self::Postgres => TestStore::postgres().await,
        }
    }
}

/// A store, and everything that must live as long as it does.
#[derive(Clone)]
pub struct TestStore {
    pub store: Arc<dyn Store>,
    pub archive: Arc<dyn Archive>,
    pub cursors: Arc<dyn Cursors>,
    pub uploads: Arc<dyn Uploads>,
    pub database: Option<Arc<TestDatabase>>,
    /// The same store as `store`, if it is a database.
    pub database_store: Option<Arc<DatabaseStore>>,
}

/// The files of the volatile store, which keeps none.
pub struct Unkept;

#[async_trait]
impl Uploads for Unkept {
    async fn put_upload(
        &self,
        _upload: Arc<Upload>,
        _limits: UploadLimits,
    ) -> Result<bool, StoreError> {
        Err(StoreError::unkept())
    }

    async fn drop_unsent_upload(&self, _id: &str) -> Result<bool, StoreError> {
        Err(StoreError::unkept())
    }

    async fn unsent_uploads(&self) -> Result<Vec<Attachment>, StoreError> {
        Err(StoreError::unkept())
    }

    async fn upload(
        &self,
        _channel: &ChannelId,
        _message: &MessageId,
        _id: &str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        Err(StoreError::unkept())
    }

    async fn upload_part(
        &self,
        _channel: &ChannelId,
        _message: &MessageId,
        _id: &str,
        _number: u32,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        Err(StoreError::unkept())
    }
}

/// The location of a database that belongs to one test.
enum OwnedPlace {
    Folder(#[expect(dead_code, reason = "it is deleted with this value")] TempDir),
    Server(#[expect(dead_code, reason = "it is dropped with this value")] OwnedDatabase),
}

pub struct TestDatabase {
    pub address: DatabaseLocation,
    /// What is deleted with the last clone. `None` for a database that already existed.
    owned: Option<Arc<OwnedPlace>>,
    /// The number of connections that read concurrently.
    readers: u32,
    stop: CancellationToken,
    writer: Mutex<Option<tokio::task::JoinHandle<anyhow::Result<()>>>>,
}

impl TestDatabase {
    /// The file of an SQLite database. Panics for PostgreSQL.
    pub fn path(&self) -> &Path {
        match &self.address {
            DatabaseLocation::Sqlite(path) => path,
            DatabaseLocation::Postgres(server) => panic!("{server} has no file"),
        }
    }

    /// Opens another connection to the database, which may write.
    pub async fn connect(&self) -> Connection {
        use sqlx::{ConnectOptions, Connection as _};
        match &self.address {
            DatabaseLocation::Sqlite(path) => {
                let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
                let options = options.pragma("secure_delete", "1");
                Connection::Sqlite(options.connect().await.unwrap())
            }
            DatabaseLocation::Postgres(server) => {
                Connection::Postgres(sqlx::PgConnection::connect(server.url()).await.unwrap())
            }
        }
    }

    /// The stored prompts and answers, compressed.
    pub async fn packed_exchanges(&self) -> Vec<Vec<u8>> {
        let mut connection = self.connect().await;
        let packed =
            query("SELECT packed FROM exchanges WHERE packed IS NOT NULL ORDER BY attempt");
        let rows = packed.fetch_all(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        rows.iter().map(|row| row.bytes("packed").unwrap().unwrap()).collect()
    }

    /// Deletes what the store knows of a user. The store must have been stopped.
    pub async fn forget(&self, name: &str) -> ForgetReport {
        let (store, writer) = TestStore::opened(&self.address, MAX_READERS).await;
        let stop = CancellationToken::new();
        let forgetting = async {
            let found = store.find_users(name).await.unwrap();
            assert_eq!(found.len(), 1, "{name} names one user");
            let forgotten = store.forget_user(&found[0], "", at(0)).await.unwrap();
            stop.cancel();
            forgotten
        };
        let (written, forgotten) = tokio::join!(writer.run(stop.clone()), forgetting);
        written.unwrap();
        forgotten
    }

    /// Makes the database reject model calls, so that no step can be completed.
    pub async fn refuse_attempts(&self) {
        let mut connection = self.connect().await;
        let statements: &[&str] = match connection.is_postgres() {
            true => &[
                "CREATE FUNCTION refuse_attempts() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE EXCEPTION 'an outage'; END $$",
                "CREATE TRIGGER refuse_attempts BEFORE INSERT ON attempts
                    FOR EACH ROW EXECUTE FUNCTION refuse_attempts()",
            ],
            false => &["CREATE TRIGGER refuse_attempts BEFORE INSERT ON attempts
                BEGIN SELECT json_extract('not JSON', '$'); END"],
        };
        for statement in statements {
            query(statement).execute(&mut connection).await.unwrap();
        }
    }

    pub async fn accept_attempts(&self) {
        let mut connection = self.connect().await;
        let statement = match connection.is_postgres() {
            true => "DROP TRIGGER refuse_attempts ON attempts",
            false => "DROP TRIGGER refuse_attempts",
        };
        query(statement).execute(&mut connection).await.unwrap();
    }

    /// The column `n` of the only row that a statement returns.
    pub async fn count(&self, statement: &'static str) -> i64 {
        let row = query(statement).fetch_one(&mut self.connect().await).await.unwrap();
        row.number("n").unwrap().unwrap()
    }
}

impl TestStore {
    pub fn volatile() -> Self {
        Self::from_volatile(Arc::new(VolatileStore::new()))
    }

    fn from_volatile(store: Arc<VolatileStore>) -> Self {
        Self {
            store: store.clone(),
            archive: store.clone(),
            cursors: store.clone(),
            uploads: Arc::new(Unkept),
            database: None,
            database_store: None,
        }
    }

    /// A volatile store with the installation id of a database, so that both generate the same keys.
    pub async fn volatile_of_same_installation(other: &Self) -> Self {
        let mut connection = other.database.as_ref().unwrap().connect().await;
        let row =
            query("SELECT installation FROM counters").fetch_one(&mut connection).await.unwrap();
        let installation = row.text("installation").unwrap().unwrap();
        Self::from_volatile(Arc::new(VolatileStore::with_installation(&installation)))
    }

    pub async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("aizuchi.db");
        write_migrated_file(&path).await;
        let owned = Arc::new(OwnedPlace::Folder(folder));
        Self::open(DatabaseLocation::Sqlite(path), Some(owned), READERS).await
    }

    pub async fn postgres() -> Self {
        let owned = OwnedDatabase::with_tables();
        let server = PostgresUrl::parse(&owned.url).unwrap();
        let owned = Arc::new(OwnedPlace::Server(owned));
        Self::open(DatabaseLocation::Postgres(server), Some(owned), READERS).await
    }

    /// Opens a database that already exists. It is not removed.
    pub async fn reopen(address: &DatabaseLocation) -> Self {
        Self::open(address.clone(), None, READERS).await
    }

    async fn open(address: DatabaseLocation, owned: Option<Arc<OwnedPlace>>, readers: u32) -> Self {
        let (store, writer) = Self::opened(&address, readers).await;
        let stop = CancellationToken::new();
        let writer = tokio::spawn(writer.run(stop.clone()));
        let store = Arc::new(store);
        let writer = Mutex::new(Some(writer));
        let database = TestDatabase { address, owned, readers, stop, writer };
        Self {
            store: store.clone(),
            archive: store.clone(),
            cursors: store.clone(),
            uploads: store.clone(),
            database: Some(Arc::new(database)),
            database_store: Some(store),
        }
    }

    /// Opens a database, and retries while it is locked: a process that another test spawns inherits our open files,
    /// and our lock with them, until it calls `exec`; and a server ends a session only a moment after it was closed.
    async fn opened(address: &DatabaseLocation, readers: u32) -> (DatabaseStore, DatabaseWriter) {
        let started = Instant::now();
        loop {
            match address.open_with_readers(readers).await {
                Ok(opened) => return opened,
                Err(error) => {
                    let is_locked = error.to_string().contains("another Aizuchi is");
                    assert!(is_locked && started.elapsed() < UNLOCK_TIMEOUT, "{error}");
                }
            }
            tokio::task::yield_now().await;
        }
    }

    /// Completes all redactions and deletions that users have ordered, in as many steps as that takes. A volatile store
    /// redacts at once and deletes nothing.
    pub async fn finish_forgetting(&self, now: Timestamp) {
        let Some(store) = &self.database_store else { return };
        while store.redact_next(now).await.unwrap() != RedactionProgress::Idle {}
        let mut job = ForgettingJob::default();
        while job.step(store, now).await.unwrap() != ForgetProgress::Idle {}
    }

    /// Stops the writer, as a process does in an orderly shutdown.
    pub async fn stop(self) {
        let Some(database) = self.database.clone() else { return };
        database.stop.cancel();
        let writer = database.writer.lock().unwrap().take();
        writer.unwrap().await.unwrap().unwrap();
    }

    /// Stops the store and opens it again, as a restarted process does. A volatile store stays as it is.
    pub async fn restart(self) -> Self {
        let readers = self.database.as_ref().map_or(READERS, |database| database.readers);
        self.reopened(readers).await
    }

    /// Stops the store and opens it again with as many connections as the program has.
    pub async fn with_all_readers(self) -> Self {
        self.reopened(MAX_READERS).await
    }

    async fn reopened(self, readers: u32) -> Self {
        let Some(database) = self.database.clone() else {
            return self;
        };
        database.stop.cancel();
        drop(self);
        let writer = database.writer.lock().unwrap().take();
        if let Some(writer) = writer {
            writer.await.unwrap().unwrap();
        }
        Self::open(database.address.clone(), database.owned.clone(), readers).await
    }
}

/// Creates a new SQLite database with all tables at the path, unless there is a file already. The first start of a
/// program then needs no migrations, which take longer than the rest of the start. Blocks, as the start of a program
/// does.
pub fn put_database(path: &Path) {
    if path.exists() {
        return;
    }
    let put = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(write_own_database(path));
    };
    // A test may have a runtime of its own, and no other can be entered on its thread.
    std::thread::scope(|scope| scope.spawn(put).join().unwrap());
}

async fn write_own_database(path: &Path) {
    use sqlx::{ConnectOptions as _, Connection as _};
    write_migrated_file(path).await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut connection = options.connect().await.unwrap();
    // Give each database its own installation id, as if it had been migrated from scratch.
    let renew = sqlx::query("UPDATE counters SET installation = lower(hex(randomblob(8)))");
    renew.execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

async fn write_migrated_file(path: &Path) {
    let mut file = File::options().create_new(true).write(true).mode(0o600).open(path).unwrap();
    file.write_all(migrated_file().await).unwrap();
}

/// A new SQLite database with all tables: a copy of one that was migrated once.
async fn migrated_file() -> &'static [u8] {
    static FILE: OnceCell<Vec<u8>> = OnceCell::const_new();
    let make = || async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("aizuchi.db");
        let (mut connection, lock) = sqlite::connect(&path).await.unwrap();
        migrate("the template", sqlite::MIGRATIONS, &mut connection).await.unwrap();
        // Closing the last connection moves everything out of the write-ahead log.
        connection.close().await.unwrap();
        drop(lock);
        std::fs::read(&path).unwrap()
    };
    FILE.get_or_init(make).await
}

/// Runs a test on every store: volatile, SQLite and PostgreSQL, each of them new. Returns the test's result (for a
/// story, its transcript), which must be the same on every store.
pub async fn on_every_store<T: PartialEq + Debug>(test: impl AsyncFn(TestStore) -> T) -> T {
    on_stores(&StoreKind::ALL, test).await
}

/// Runs a test on SQLite and PostgreSQL only, for what the volatile store does not keep.
pub async fn on_every_database<T: PartialEq + Debug>(test: impl AsyncFn(TestStore) -> T) -> T {
    on_stores(&StoreKind::DATABASES, test).await
}

async fn on_stores<T: PartialEq + Debug>(
    kinds: &[StoreKind],
    test: impl AsyncFn(TestStore) -> T,
) -> T {
    let mut first = None;
    for kind in kinds {
        // Shown if the test fails, to tell on which store.
        eprintln!("on the {kind:?} store:");
        let result = test(kind.open().await).await;
        match &first {
            None => first = Some(result),
            Some(first) => assert_eq!(&result, first, "the {kind:?} store differs"),
        }
    }
    first.expect("there are stores")
}
