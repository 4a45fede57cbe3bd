//! Past decisions about proposals, inserted into the database of a stopped program.

use jiff::Timestamp;
use sqlx::ConnectOptions;

use crate::program::Home;

impl Home {
    /// Inserts this many approved proposals in a channel, with a judge confidence of 0.9.
    pub async fn seed_clicks(&self, workspace: &str, channel: &str, count: i64) {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(self.database());
        let mut connection = options.connect().await.unwrap();
        let hour_ago = Timestamp::now().as_millisecond() - 3_600_000;
        for number in 1..=count {
            let statement = format!(
                "INSERT INTO proposals (id, workspace, channel, thread, decision, confidence, made_ms, expires_ms, state, \
                 decided_by, decided_ms) VALUES (-{number}, '{workspace}', '{channel}', '', 0, 0.9, {hour_ago}, {hour_ago}, \
                 'approved', '', {hour_ago} + {number})"
            );
            let insert = sqlx::query(sqlx::AssertSqlSafe(statement));
            insert.execute(&mut connection).await.unwrap();
        }
    }

    /// Returns the workspace of a channel.
    pub async fn workspace_of(&self, channel: &str) -> String {
        let statement = format!("SELECT workspace FROM channels WHERE id = '{channel}'");
        self.rows(&statement).await.remove(0).remove(0)
    }
}
