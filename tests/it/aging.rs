//! Makes what is in a program's database older, while it is stopped, so that a test need not wait.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use crate::program::Home;

impl Home {
    /// Makes messages and decisions so many hours older.
    pub async fn age(&self, hours: i64) {
        let options = SqliteConnectOptions::new().filename(self.database());
        let mut connection = options.connect().await.unwrap();
        let older = hours * 3_600_000;
        for statement in [
            format!("UPDATE messages SET at_ms = at_ms - {older}"),
            format!(
                "UPDATE decisions SET opened_ms = opened_ms - {older}, closed_ms = closed_ms - {older}"
            ),
        ] {
            sqlx::query(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
        }
        connection.close().await.unwrap();
    }
}
