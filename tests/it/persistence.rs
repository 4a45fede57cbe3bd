//! Queries a running program's database and log, and waits for changes in them. Changes the database of a stopped one.

use std::time::Duration;

use aizuchi_store::database::exchange_text::unpack;
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection};
use tokio::sync::watch;

use crate::program::{Home, Program, TIMEOUT};

/// The interval between polls, where there is nothing to subscribe to.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

impl Home {
    /// Waits until a statement returns `count` in the program's database.
    pub async fn until_kept(&self, statement: &str, count: i64) {
        let waiting = async {
            let mut connection = None;
            // One session for all polls, because a new session reads the whole schema first.
            while self.count_on(&mut connection, statement).await != count {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        if tokio::time::timeout(TIMEOUT, waiting).await.is_err() {
            let counted = self.count(statement).await;
            panic!("{statement}: {counted} and not {count}\n{}", self.log());
        }
    }

    /// Waits until a condition holds, checked after each change of `changed`.
    pub async fn until_changed(
        &self,
        mut changed: watch::Receiver<u64>,
        condition: impl Fn() -> bool,
    ) {
        let waiting = async {
            while !condition() {
                changed.changed().await.unwrap();
            }
        };
        tokio::time::timeout(TIMEOUT, waiting).await.unwrap_or_else(|_| panic!("{}", self.log()));
    }

    /// Waits until the log contains a text.
    pub async fn until_log(&self, text: &str) {
        let waiting = async {
            while !self.log().contains(text) {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        tokio::time::timeout(TIMEOUT, waiting).await.unwrap_or_else(|_| panic!("{}", self.log()));
    }

    /// Makes the program reload its config, and waits until its log contains this text this many times in total.
    pub async fn reload_until(&self, program: &Program, said: &str, times: usize) {
        program.signal("HUP");
        let is_said = async {
            while self.log().matches(said).count() < times {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        let in_time = tokio::time::timeout(TIMEOUT, is_said).await;
        assert!(in_time.is_ok(), "{said:?} is missing in\n{}", self.log());
    }

    /// Waits until the program answers `/ready` with this status, and returns the body.
    pub async fn until_ready_is(&self, program: &Program, status: u16) -> String {
        let waiting = async {
            loop {
                // A program that becomes active closes its connections.
                if let Some(answer) = program.try_request("/ready").await
                    && answer.status() == status
                {
                    return answer.text().await.unwrap();
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        tokio::time::timeout(TIMEOUT, waiting).await.unwrap_or_else(|_| panic!("{}", self.log()))
    }

    /// Waits until the program has exited with an error, and returns the last line of its log.
    pub async fn ends(&self, program: Program) -> String {
        let code = tokio::task::spawn_blocking(move || program.ended()).await.unwrap();
        assert_eq!(code, Some(1), "{}", self.log());
        self.log().lines().last().unwrap_or_default().to_owned()
    }

    /// The result of a count in the program's database, or -1 if it cannot be read.
    pub async fn count(&self, statement: &str) -> i64 {
        self.count_on(&mut None, statement).await
    }

    /// Like [`Self::count`], on a connection that is opened if there is none, and dropped if it cannot read.
    async fn count_on(&self, open: &mut Option<SqliteConnection>, statement: &str) -> i64 {
        let mut connection = match open.take() {
            Some(connection) => connection,
            None => {
                let options = sqlx::sqlite::SqliteConnectOptions::new();
                let options = options.filename(self.database()).read_only(true);
                let Ok(connection) = options.connect().await else { return -1 };
                connection
            }
        };
        let count = sqlx::query(sqlx::AssertSqlSafe(statement.to_owned()));
        let Ok(row) = count.fetch_one(&mut connection).await else { return -1 };
        *open = Some(connection);
        row.get(0)
    }

    /// Returns the rows of a statement whose columns are texts.
    pub async fn rows(&self, statement: &str) -> Vec<Vec<String>> {
        let options = sqlx::sqlite::SqliteConnectOptions::new();
        let options = options.filename(self.database()).read_only(true);
        let mut connection = options.connect().await.unwrap();
        let rows = sqlx::query(sqlx::AssertSqlSafe(statement.to_owned()));
        let rows = rows.fetch_all(&mut connection).await.unwrap();
        rows.iter().map(|row| (0..row.len()).map(|column| row.get(column)).collect()).collect()
    }

    /// Executes a statement in the database of the stopped program. Returns the number of rows that it changed.
    pub async fn change_rows(&self, statement: String) -> u64 {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(self.database());
        let mut connection = options.connect().await.unwrap();
        let change = sqlx::query(sqlx::AssertSqlSafe(statement));
        let changed = change.execute(&mut connection).await.unwrap().rows_affected();
        connection.close().await.unwrap();
        changed
    }

    /// Locks the database for writing until the returned connection is dropped.
    pub async fn lock_database(&self) -> sqlx::SqliteConnection {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(self.database());
        let mut connection = options.connect().await.unwrap();
        sqlx::query("BEGIN IMMEDIATE").execute(&mut connection).await.unwrap();
        connection
    }

    /// Returns the stored prompts and answers.
    pub async fn exchanges(&self) -> String {
        let options = sqlx::sqlite::SqliteConnectOptions::new();
        let options = options.filename(self.database()).read_only(true);
        let mut connection = options.connect().await.unwrap();
        let rows = sqlx::query("SELECT packed FROM exchanges WHERE packed IS NOT NULL");
        let rows = rows.fetch_all(&mut connection).await.unwrap();
        let texts = rows.iter().map(|row| unpack(&row.get::<Vec<u8>, _>(0)).unwrap());
        texts.map(|(prompt, answer)| format!("{prompt}\n{answer:?}\n")).collect()
    }

    /// Returns the stored texts of a channel, oldest first.
    pub async fn kept(&self, channel: &str) -> Vec<String> {
        let options = sqlx::sqlite::SqliteConnectOptions::new();
        let options = options.filename(self.database()).read_only(true);
        let mut connection = options.connect().await.unwrap();
        let rows = sqlx::query(
            "SELECT text FROM messages WHERE channel = ?1 AND deleted_ms IS NULL ORDER BY at_ms, id",
        );
        let rows = rows.bind(channel).fetch_all(&mut connection).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }
}
