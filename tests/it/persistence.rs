//! What a program has kept, and waiting for it: its database and its log, looked at from outside.

use std::time::Duration;

use sqlx::{ConnectOptions, Row};
use tokio::sync::watch;

use crate::program::{Home, Program};

/// No test waits longer than this for something that should happen at once.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked, where nothing else tells.
const LOOK: Duration = Duration::from_millis(20);

impl Home {
    /// Waits until a statement counts so many in the program's database.
    pub async fn until_kept(&self, statement: &str, count: i64) {
        let waiting = async {
            while self.count(statement).await != count {
                tokio::time::sleep(LOOK).await;
            }
        };
        if tokio::time::timeout(PATIENCE, waiting).await.is_err() {
            let counted = self.count(statement).await;
            panic!("{statement}: {counted} and not {count}\n{}", self.log());
        }
    }

    /// Waits until something is so that changes like this.
    pub async fn until_changed(&self, mut changed: watch::Receiver<u64>, is_so: impl Fn() -> bool) {
        let waiting = async {
            while !is_so() {
                changed.changed().await.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{}", self.log()));
    }

    /// Waits until the log has these words.
    pub async fn until_log(&self, words: &str) {
        let waiting = async {
            while !self.log().contains(words) {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{}", self.log()));
    }

    /// Waits until the program answers `/ready` with this status, and returns what it says.
    pub async fn until_ready_is(&self, program: &Program, status: u16) -> String {
        let waiting = async {
            loop {
                // Whoever stops standing by closes its connections.
                if let Some(answer) = program.try_request("/ready").await
                    && answer.status() == status
                {
                    return answer.text().await.unwrap();
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{}", self.log()))
    }

    /// Waits until the program has ended by itself with an error, and returns its last words.
    pub async fn ends(&self, program: Program) -> String {
        let code = tokio::task::spawn_blocking(move || program.ended()).await.unwrap();
        assert_eq!(code, Some(1), "{}", self.log());
        self.log().lines().last().unwrap_or_default().to_owned()
    }

    /// What a statement counts in the program's database.
    pub async fn count(&self, statement: &str) -> i64 {
        let options = sqlx::sqlite::SqliteConnectOptions::new();
        let options = options.filename(self.database()).read_only(true);
        let Ok(mut connection) = options.connect().await else { return -1 };
        let counted = sqlx::query(sqlx::AssertSqlSafe(statement.to_owned()));
        counted.fetch_one(&mut connection).await.map_or(-1, |row| row.get(0))
    }

    /// Another program writes to the database until the returned connection is dropped.
    pub async fn lock_database(&self) -> sqlx::SqliteConnection {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(self.database());
        let mut connection = options.connect().await.unwrap();
        sqlx::query("BEGIN IMMEDIATE").execute(&mut connection).await.unwrap();
        connection
    }

    /// What the program has kept of a channel, oldest first.
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
