//! The first start without a database. In other tests the program finds one that is already migrated.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use aizuchi_harness::test_store::put_database;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Row as _};

use crate::program::Home;

/// Returns the schema of a database, and its migrations.
async fn schema(file: &Path) -> Vec<String> {
    let options = SqliteConnectOptions::new().filename(file).read_only(true);
    let mut connection = options.connect().await.unwrap();
    let statement = "
        SELECT coalesce(sql, name) FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'
        UNION ALL SELECT version || ' ' || hex(checksum) FROM _sqlx_migrations
        ORDER BY 1";
    let rows = sqlx::query(statement).fetch_all(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn the_first_start_creates_the_database_that_later_ones_find() {
    let home = Home::new(1000.0);
    home.replace("/room.db\n", "/first.db\n");
    let (first, put) = (home.path().join("first.db"), home.path().join("put.db"));
    assert!(!first.exists());
    let program = home.start();
    program.says("alice", "the kettle is on").await;
    assert_eq!(program.stop(), Some(0));
    assert!(!home.database().exists(), "nothing was put there");
    assert_eq!(first.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let program = home.start();
    assert_eq!(program.messages().await[0]["text"], "the kettle is on");
    assert_eq!(program.stop(), Some(0));
    // The database that other tests start with is the same.
    put_database(&put);
    assert_eq!(schema(&first).await, schema(&put).await);
}
