//! The schema is written twice, once per database. Both versions must be equivalent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use aizuchi_harness::postgres;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row, SqliteConnection, query, raw_sql};

/// What only PostgreSQL needs: for its full-text index and its row numbers.
const OF_POSTGRES: &[&str] = &[
    "messages.rowid", "recall_postings.ahead", "recall_postings.oldest", "recall_postings.term",
    "recall_stale.rowid",
];

/// Columns with their tables and nullability, and indexes.
const IN_SQLITE: &str = "
    SELECT m.name || '.' || c.name || CASE WHEN c.\"notnull\" OR c.pk > 0 THEN '' ELSE '?' END AS name,
        NULL AS text
    FROM sqlite_schema AS m CROSS JOIN pragma_table_info(m.name) AS c
    WHERE m.type = 'table' AND m.name NOT LIKE 'recall_terms%'
    UNION ALL
    SELECT 'index ' || name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL
    UNION ALL
    SELECT 'trigger ' || name, NULL FROM sqlite_schema WHERE type = 'trigger'";
const IN_POSTGRES: &str = "
    SELECT table_name || '.' || column_name || CASE is_nullable WHEN 'NO' THEN '' ELSE '?' END AS name,
        NULL AS text
    FROM information_schema.columns WHERE table_schema = current_schema()
    UNION ALL
    SELECT 'index ' || indexname, indexdef FROM pg_indexes
    WHERE schemaname = current_schema() AND indexname NOT LIKE '%\\_pkey' AND indexname NOT LIKE '%\\_key'
    UNION ALL
    SELECT 'trigger ' || tgname, NULL FROM pg_trigger WHERE NOT tgisinternal";

#[tokio::test]
async fn both_databases_have_the_same_tables_indexes_and_triggers() {
    let mut sqlite = SqliteConnection::connect("sqlite::memory:").await.unwrap();
    raw_sql(AssertSqlSafe(migrations("sqlite"))).execute(&mut sqlite).await.unwrap();
    let rows = query(IN_SQLITE).fetch_all(&mut sqlite).await.unwrap();
    let in_sqlite: BTreeMap<String, Option<String>> =
        rows.iter().map(|row| (row.get("name"), row.get("text"))).collect();

    let mut postgres = PgConnection::connect(&postgres::database()).await.unwrap();
    raw_sql(AssertSqlSafe(migrations("postgres"))).execute(&mut postgres).await.unwrap();
    let rows = query(IN_POSTGRES).fetch_all(&mut postgres).await.unwrap();
    let in_postgres: BTreeMap<String, Option<String>> =
        rows.iter().map(|row| (row.get("name"), row.get("text"))).collect();

    let mut names: BTreeSet<&str> = in_postgres.keys().map(String::as_str).collect();
    for of_postgres in OF_POSTGRES {
        assert!(names.remove(of_postgres), "{of_postgres}");
    }
    assert_eq!(names, in_sqlite.keys().map(String::as_str).collect());
    for (name, text) in in_sqlite {
        let columns = |text: &Option<String>| text.as_deref().map(indexed);
        assert_eq!(columns(&in_postgres[&name]), columns(&text), "{name}");
    }
}

/// Texts are compared byte by byte, whatever the locale of the database.
#[tokio::test]
async fn text_columns_are_sorted_by_bytes() {
    let mut postgres = PgConnection::connect(&postgres::database()).await.unwrap();
    raw_sql(AssertSqlSafe(migrations("postgres"))).execute(&mut postgres).await.unwrap();
    let statement = "
        SELECT table_name || '.' || column_name AS name FROM information_schema.columns
        WHERE table_schema = current_schema() AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'";
    let rows = query(statement).fetch_all(&mut postgres).await.unwrap();
    let sorted: Vec<String> = rows.iter().map(|row| row.get("name")).collect();
    assert_eq!(sorted, [""; 0]);
}

/// Calls for memories as an earlier version recorded them, without their owners.
const EARLIER_CALLS: &str = "
    INSERT INTO channels (workspace, id, name, visibility)
    VALUES ('T1', 'C1', 'garden', 'public'), ('T2', 'C2', 'lobby', 'public');
    INSERT INTO attempts (decision, verb, at_ms, model, prompt_hash, prompt_bytes, input_tokens, cached_tokens,
        output_tokens, latency_ms, result, chore)
    SELECT 0, 'remember', 1, 'm', '', 0, 0, 0, 0, 0, 'ok', chore FROM
        (SELECT 'channel/short_term/C1' AS chore UNION ALL SELECT 'channel/long_term/C2'
         UNION ALL SELECT 'thread/short_term/C1/12.5' UNION ALL SELECT 'workspace/long_term'
         UNION ALL SELECT 'workspace/short_term') AS chores;
    INSERT INTO exchange_lines (attempt, workspace, channel, line)
    SELECT id, 'T2', 'C2', '1' FROM attempts WHERE chore = 'workspace/short_term';";
const OWNERS_OF_CALLS: &str =
    "SELECT chore || ' ' || workspace || ' ' || channel AS owner FROM attempts ORDER BY chore";

/// The memory that a call was for determines its channel, and the channel its workspace.
#[tokio::test]
async fn earlier_calls_for_memories_get_their_owners() {
    let expected = [
        "channel/long_term/C2 T2 C2",
        "channel/short_term/C1 T1 C1",
        "thread/short_term/C1/12.5 T1 C1",
        // There are two workspaces, and nothing distinguishes them.
        "workspace/long_term  ",
        "workspace/short_term T2 ",
    ];
    let mut sqlite = SqliteConnection::connect("sqlite::memory:").await.unwrap();
    let [before, after] = migrations_around("sqlite", "0037");
    for statements in [before, EARLIER_CALLS.to_owned(), after] {
        raw_sql(AssertSqlSafe(statements)).execute(&mut sqlite).await.unwrap();
    }
    let rows = query(OWNERS_OF_CALLS).fetch_all(&mut sqlite).await.unwrap();
    let owners: Vec<String> = rows.iter().map(|row| row.get("owner")).collect();
    assert_eq!(owners, expected);

    let mut postgres = PgConnection::connect(&postgres::database()).await.unwrap();
    let [before, after] = migrations_around("postgres", "0026");
    for statements in [before, EARLIER_CALLS.to_owned(), after] {
        raw_sql(AssertSqlSafe(statements)).execute(&mut postgres).await.unwrap();
    }
    let rows = query(OWNERS_OF_CALLS).fetch_all(&mut postgres).await.unwrap();
    let owners: Vec<String> = rows.iter().map(|row| row.get("owner")).collect();
    assert_eq!(owners, expected);
}

/// All migrations of a database, in order.
fn migrations(database: &str) -> String {
    migrations_around(database, "").concat()
}

/// The migrations of a database before the one with this number, and the others.
fn migrations_around(database: &str, number: &str) -> [String; 2] {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../aizuchi-store/migrations").join(database);
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeSet<_> = entries.collect();
    let is_before = |file: &&PathBuf| file.file_name().unwrap().to_str().unwrap() < number;
    let (before, after): (Vec<_>, Vec<_>) = files.iter().partition(is_before);
    [before, after]
        .map(|files| files.into_iter().map(|file| std::fs::read_to_string(file).unwrap()).collect())
}

/// The definition of an index in a form common to both: without parentheses and types in its condition.
fn indexed(text: &str) -> String {
    let (_, columns) = text.split_once('(').unwrap();
    let plain = columns.replace("::text", "").replace(['(', ')', '"'], " ");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}
