//! The PostgreSQL server of the tests.

use aizuchi_harness::postgres::database;
use sqlx::{Connection, PgConnection, Row, query, raw_sql};

#[tokio::test]
async fn each_test_database_is_new_and_its_owner_can_create_tables() {
    for name in ["first", "second"] {
        let mut connection = PgConnection::connect(&database()).await.unwrap();
        raw_sql("CREATE TABLE cats (name TEXT); INSERT INTO cats VALUES ('Tama')")
            .execute(&mut connection)
            .await
            .unwrap();
        let row = query("SELECT name, current_user::text AS me, usesuper FROM cats JOIN pg_user ON usename = current_user")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(row.get::<String, _>("name"), "Tama", "{name}");
        assert_eq!(row.get::<String, _>("me"), "aizuchi");
        assert!(!row.get::<bool, _>("usesuper"));
    }
}
