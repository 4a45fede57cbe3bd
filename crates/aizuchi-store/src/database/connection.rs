//! A connection to either database. Each statement is written once, in SQLite's dialect; [`dialect`](super::dialect)
//! translates it for PostgreSQL.

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{
    AssertSqlSafe, Column as _, Connection as _, Executor, PgPool, Postgres, Row as _, Sqlite,
    SqlitePool, Transaction, TypeInfo, ValueRef,
};

use crate::StoreError;
use crate::database::damage::DamageMark;
use crate::database::dialect::{self, replace_nul};
use crate::database::driver_error;

/// Begins a snapshot on PostgreSQL.
pub const POSTGRES_BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Where statements are executed.
pub enum Connection {
    Sqlite(SqliteConnection),
    SqliteReader(PoolConnection<Sqlite>, DamageMark),
    SqliteSnapshot(Transaction<'static, Sqlite>, DamageMark),
    Postgres(PgConnection),
    PostgresReader(PoolConnection<Postgres>, DamageMark),
    PostgresSnapshot(Transaction<'static, Postgres>, DamageMark),
}

/// The underlying driver connection.
enum DriverConnection<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

impl Connection {
    fn driver(&mut self) -> DriverConnection<'_> {
        match self {
            Connection::Sqlite(connection) => DriverConnection::Sqlite(connection),
            Connection::SqliteReader(connection, _) => DriverConnection::Sqlite(connection),
            Connection::SqliteSnapshot(snapshot, _) => DriverConnection::Sqlite(snapshot),
            Connection::Postgres(connection) => DriverConnection::Postgres(connection),
            Connection::PostgresReader(connection, _) => DriverConnection::Postgres(connection),
            Connection::PostgresSnapshot(snapshot, _) => DriverConnection::Postgres(snapshot),
        }
    }

    pub fn is_postgres(&self) -> bool {
        match self {
            Connection::Sqlite(_)
            | Connection::SqliteReader(..)
            | Connection::SqliteSnapshot(..) => false,
            Connection::Postgres(_)
            | Connection::PostgresReader(..)
            | Connection::PostgresSnapshot(..) => true,
        }
    }

    /// Records what a read has found. The writer records the results of its transactions itself.
    fn record_damage(&self, error: &StoreError) {
        match self {
            Connection::Sqlite(_) | Connection::Postgres(_) => {}
            Connection::SqliteReader(_, damage)
            | Connection::SqliteSnapshot(_, damage)
            | Connection::PostgresReader(_, damage)
            | Connection::PostgresSnapshot(_, damage) => damage.record(error),
        }
    }

    /// Closes the connection. A pooled connection returns to its pool, and a snapshot ends.
    pub async fn close(self) -> Result<(), StoreError> {
        match self {
            Connection::Sqlite(connection) => {
                connection.close().await.map_err(driver_error::from_sqlite)
            }
            Connection::Postgres(connection) => {
                connection.close().await.map_err(driver_error::from_postgres)
            }
            Connection::SqliteReader(..)
            | Connection::SqliteSnapshot(..)
            | Connection::PostgresReader(..)
            | Connection::PostgresSnapshot(..) => Ok(()),
        }
    }

    pub async fn migrate(&mut self, migrator: &Migrator) -> Result<(), MigrateError> {
        match self.driver() {
            // `run` would do the same, but its future cannot run in a spawned task.
            DriverConnection::Sqlite(connection) => {
                migrator.run_direct(None, connection, false).await
            }
            DriverConnection::Postgres(connection) => {
                migrator.run_direct(None, connection, false).await
            }
        }
    }

    /// Classifies a driver error by what the caller does next.
    pub fn to_store_error(&self, error: sqlx::Error) -> StoreError {
        if self.is_postgres() {
            driver_error::from_postgres(error)
        } else {
            driver_error::from_sqlite(error)
        }
    }

    /// Streams the rows of a statement, for results that are too large to fetch at once. The statement must consist of
    /// names of tables and columns only.
    pub fn stream(&mut self, statement: String) -> BoxStream<'_, Result<Row, StoreError>> {
        let statement = AssertSqlSafe(statement);
        match self.driver() {
            DriverConnection::Sqlite(connection) => {
                // Executed once for each table, so it would only crowd the statement cache.
                let rows = sqlx::query(statement).persistent(false).fetch(connection);
                rows.map(|row| row.map(Row::Sqlite).map_err(driver_error::from_sqlite)).boxed()
            }
            DriverConnection::Postgres(connection) => {
                let rows = sqlx::query(statement).persistent(false).fetch(connection);
                rows.map(|row| row.map(Row::Postgres).map_err(driver_error::from_postgres)).boxed()
            }
        }
    }

    /// Executes a statement that consists of names of tables and columns, in this database's own dialect.
    pub async fn execute_with(
        &mut self,
        statement: String,
        values: Vec<BindValue>,
    ) -> Result<(), StoreError> {
        let statement = AssertSqlSafe(statement);
        match self.driver() {
            DriverConnection::Sqlite(connection) => {
                let executed = bind_sqlite(sqlx::query(statement), values).execute(connection);
                executed.await.map(|_| ()).map_err(driver_error::from_sqlite)
            }
            DriverConnection::Postgres(connection) => {
                let executed = bind_postgres(sqlx::query(statement), values).execute(connection);
                executed.await.map(|_| ()).map_err(driver_error::from_postgres)
            }
        }
    }

    /// Checks that a statement is valid without executing it.
    pub async fn prepare(&mut self, statement: &'static str) -> Result<(), StoreError> {
        match self.driver() {
            DriverConnection::Sqlite(connection) => {
                connection
                    .prepare(sqlx::SqlStr::from_static(statement))
                    .await
                    .map_err(driver_error::from_sqlite)?;
            }
            DriverConnection::Postgres(connection) => {
                let statement = sqlx::SqlStr::from_static(dialect::to_postgres(statement));
                connection.prepare(statement).await.map_err(driver_error::from_postgres)?;
            }
        }
        Ok(())
    }
}

/// Read-only connections, which set the mark when they find the database damaged.
pub enum Readers {
    Sqlite(SqlitePool, DamageMark),
    Postgres(PgPool, DamageMark),
}

impl Readers {
    pub fn damage(&self) -> &DamageMark {
        match self {
            Readers::Sqlite(_, damage) | Readers::Postgres(_, damage) => damage,
        }
    }

    pub async fn acquire(&self) -> Result<Connection, StoreError> {
        let acquired = match self {
            Readers::Sqlite(pool, damage) => pool
                .acquire()
                .await
                .map(|connection| Connection::SqliteReader(connection, damage.clone()))
                .map_err(driver_error::from_sqlite),
            Readers::Postgres(pool, damage) => pool
                .acquire()
                .await
                .map(|connection| Connection::PostgresReader(connection, damage.clone()))
                .map_err(driver_error::from_postgres),
        };
        acquired.inspect_err(|error| self.damage().record(error))
    }

    /// Closes all connections.
    pub async fn close(&self) {
        match self {
            Readers::Sqlite(pool, _) => pool.close().await,
            Readers::Postgres(pool, _) => pool.close().await,
        }
    }

    /// A connection that sees one snapshot, whatever is written in the meantime.
    pub async fn snapshot(&self) -> Result<Connection, StoreError> {
        match self {
            Readers::Sqlite(pool, damage) => pool
                .begin()
                .await
                .map(|snapshot| Connection::SqliteSnapshot(snapshot, damage.clone()))
                .map_err(driver_error::from_sqlite),
            Readers::Postgres(pool, damage) => pool
                .begin_with(POSTGRES_BEGIN_SNAPSHOT)
                .await
                .map(|snapshot| Connection::PostgresSnapshot(snapshot, damage.clone()))
                .map_err(driver_error::from_postgres),
        }
    }
}

/// Where a query runs: on one connection, or on any free reader.
pub enum QueryTarget<'c> {
    Connection(&'c mut Connection),
    // Any free one, so two statements may see different snapshots.
    Readers(&'c Readers),
}

impl<'c> From<&'c mut Connection> for QueryTarget<'c> {
    fn from(connection: &'c mut Connection) -> Self {
        QueryTarget::Connection(connection)
    }
}

impl<'c> From<&'c Readers> for QueryTarget<'c> {
    fn from(readers: &'c Readers) -> Self {
        QueryTarget::Readers(readers)
    }
}

/// The value of a placeholder. `None` is NULL, which needs a type in both drivers.
pub enum BindValue {
    Number(Option<i64>),
    Text(Option<String>),
    Bytes(Option<Vec<u8>>),
    Real(Option<f64>),
}

/// A statement and its bound values.
pub struct Query {
    statement: &'static str,
    values: Vec<BindValue>,
}

pub fn query(statement: &'static str) -> Query {
    Query { statement, values: Vec::new() }
}

impl Query {
    pub fn bind(mut self, value: impl Into<BindValue>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Executes the statement. Returns the number of rows changed.
    pub async fn execute(self, connection: &mut Connection) -> Result<u64, StoreError> {
        match connection.driver() {
            DriverConnection::Sqlite(connection) => {
                let result = self.into_sqlite().execute(connection).await;
                result.map(|result| result.rows_affected()).map_err(driver_error::from_sqlite)
            }
            DriverConnection::Postgres(connection) => {
                let result = self.into_postgres().execute(connection).await;
                result.map(|result| result.rows_affected()).map_err(driver_error::from_postgres)
            }
        }
    }

    pub async fn fetch_all<'c>(
        self,
        target: impl Into<QueryTarget<'c>>,
    ) -> Result<Vec<Row>, StoreError> {
        match target.into() {
            QueryTarget::Connection(connection) => self.fetch_all_on(connection).await,
            QueryTarget::Readers(readers) => self.fetch_all_on(&mut readers.acquire().await?).await,
        }
    }

    pub async fn fetch_optional<'c>(
        self,
        target: impl Into<QueryTarget<'c>>,
    ) -> Result<Option<Row>, StoreError> {
        match target.into() {
            QueryTarget::Connection(connection) => self.fetch_optional_on(connection).await,
            QueryTarget::Readers(readers) => {
                self.fetch_optional_on(&mut readers.acquire().await?).await
            }
        }
    }

    pub async fn fetch_one<'c>(
        self,
        target: impl Into<QueryTarget<'c>>,
    ) -> Result<Row, StoreError> {
        let no_row = || StoreError::Broken("a statement that gives a row gave none".to_owned());
        self.fetch_optional(target).await?.ok_or_else(no_row)
    }

    async fn fetch_all_on(self, connection: &mut Connection) -> Result<Vec<Row>, StoreError> {
        let fetched = match connection.driver() {
            DriverConnection::Sqlite(connection) => {
                let rows = self.into_sqlite().fetch_all(connection).await;
                rows.map(|rows| rows.into_iter().map(Row::Sqlite).collect())
                    .map_err(driver_error::from_sqlite)
            }
            DriverConnection::Postgres(connection) => {
                let rows = self.into_postgres().fetch_all(connection).await;
                rows.map(|rows| rows.into_iter().map(Row::Postgres).collect())
                    .map_err(driver_error::from_postgres)
            }
        };
        fetched.inspect_err(|error| connection.record_damage(error))
    }

    async fn fetch_optional_on(
        self,
        connection: &mut Connection,
    ) -> Result<Option<Row>, StoreError> {
        let fetched = match connection.driver() {
            DriverConnection::Sqlite(connection) => {
                let row = self.into_sqlite().fetch_optional(connection).await;
                row.map(|row| row.map(Row::Sqlite)).map_err(driver_error::from_sqlite)
            }
            DriverConnection::Postgres(connection) => {
                let row = self.into_postgres().fetch_optional(connection).await;
                row.map(|row| row.map(Row::Postgres)).map_err(driver_error::from_postgres)
            }
        };
        fetched.inspect_err(|error| connection.record_damage(error))
    }

    fn into_sqlite(self) -> SqliteQuery {
        bind_sqlite(sqlx::query(self.statement), self.values)
    }

    fn into_postgres(self) -> PostgresQuery {
        bind_postgres(sqlx::query(dialect::to_postgres(self.statement)), self.values)
    }
}

type SqliteQuery = sqlx::query::Query<'static, Sqlite, SqliteArguments>;
type PostgresQuery = sqlx::query::Query<'static, Postgres, PgArguments>;

fn bind_sqlite(query: SqliteQuery, values: Vec<BindValue>) -> SqliteQuery {
    values.into_iter().fold(query, |query, value| match value {
        BindValue::Number(number) => query.bind(number),
        BindValue::Text(text) => query.bind(text),
        BindValue::Bytes(bytes) => query.bind(bytes),
        BindValue::Real(number) => query.bind(number),
    })
}

fn bind_postgres(query: PostgresQuery, values: Vec<BindValue>) -> PostgresQuery {
    values.into_iter().fold(query, |query, value| match value {
        BindValue::Number(number) => query.bind(number),
        BindValue::Text(text) => query.bind(text.map(replace_nul)),
        BindValue::Bytes(bytes) => query.bind(bytes),
        BindValue::Real(number) => query.bind(number),
    })
}

/// A result row.
pub enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    /// Reads a numeric column; a boolean counts as 1 or 0.
    pub fn number(&self, name: &str) -> Result<Option<i64>, sqlx::Error> {
        let row = match self {
            Row::Sqlite(row) => return row.try_get(name),
            Row::Postgres(row) => row,
        };
        // The driver reads a column only as its own type, and PostgreSQL's expressions yield several.
        match row.try_get_raw(name)?.type_info().name() {
            "INT4" => Ok(row.try_get::<Option<i32>, _>(name)?.map(i64::from)),
            "BOOL" => Ok(row.try_get::<Option<bool>, _>(name)?.map(i64::from)),
            _ => row.try_get(name),
        }
    }

    /// Reads a text or JSON column.
    pub fn text(&self, name: &str) -> Result<Option<String>, sqlx::Error> {
        let row = match self {
            Row::Sqlite(row) => return row.try_get(name),
            Row::Postgres(row) => row,
        };
        // The driver refuses to read JSON as text, although it is sent as text.
        match row.column(name).type_info().name() {
            "JSON" => row.try_get_unchecked(name),
            _ => row.try_get(name),
        }
    }

    /// Reads a column of bytes.
    pub fn bytes(&self, name: &str) -> Result<Option<Vec<u8>>, sqlx::Error> {
        match self {
            Row::Sqlite(row) => row.try_get(name),
            Row::Postgres(row) => row.try_get(name),
        }
    }
}

/// A type that a column can be read as.
pub trait FromColumn: Sized {
    fn from_column(row: &Row, name: &str) -> Result<Self, sqlx::Error>;
}

impl FromColumn for Option<i64> {
    fn from_column(row: &Row, name: &str) -> Result<Self, sqlx::Error> {
        row.number(name)
    }
}

impl FromColumn for Option<String> {
    fn from_column(row: &Row, name: &str) -> Result<Self, sqlx::Error> {
        row.text(name)
    }
}

impl FromColumn for Option<Vec<u8>> {
    fn from_column(row: &Row, name: &str) -> Result<Self, sqlx::Error> {
        row.bytes(name)
    }
}

impl FromColumn for Option<f64> {
    fn from_column(row: &Row, name: &str) -> Result<Self, sqlx::Error> {
        match row {
            Row::Sqlite(row) => row.try_get(name),
            Row::Postgres(row) => row.try_get(name),
        }
    }
}

impl FromColumn for i64 {
    fn from_column(row: &Row, name: &str) -> Result<Self, sqlx::Error> {
        row.number(name)?.ok_or_else(|| unexpected_null(name))
    }
}

impl FromColumn for u32 {
    fn from_column(row: &Row, name: &str) -> Result<Self, sqlx::Error> {
        let number = i64::from_column(row, name)?;
        u32::try_from(number).map_err(|error| decode_error(name, error.into()))
    }
}

impl FromColumn for bool {
    fn from_column(row: &Row, name: &str) -> Result<Self, sqlx::Error> {
        i64::from_column(row, name).map(|number| number != 0)
    }
}

impl FromColumn for String {
    fn from_column(row: &Row, name: &str) -> Result<Self, sqlx::Error> {
        row.text(name)?.ok_or_else(|| unexpected_null(name))
    }
}

fn unexpected_null(name: &str) -> sqlx::Error {
    decode_error(name, Box::new(sqlx::error::UnexpectedNullError))
}

fn decode_error(name: &str, source: sqlx::error::BoxDynError) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: name.to_owned(), source }
}

impl From<i64> for BindValue {
    fn from(number: i64) -> Self {
        BindValue::Number(Some(number))
    }
}

impl From<Option<i64>> for BindValue {
    fn from(number: Option<i64>) -> Self {
        BindValue::Number(number)
    }
}

impl From<u8> for BindValue {
    fn from(number: u8) -> Self {
        BindValue::from(i64::from(number))
    }
}

impl From<u32> for BindValue {
    fn from(number: u32) -> Self {
        BindValue::from(i64::from(number))
    }
}

impl From<String> for BindValue {
    fn from(text: String) -> Self {
        BindValue::Text(Some(text))
    }
}

impl From<&String> for BindValue {
    fn from(text: &String) -> Self {
        BindValue::from(text.as_str())
    }
}

impl From<&str> for BindValue {
    fn from(text: &str) -> Self {
        BindValue::from(text.to_owned())
    }
}

impl From<Option<String>> for BindValue {
    fn from(text: Option<String>) -> Self {
        BindValue::Text(text)
    }
}

impl From<Option<Vec<u8>>> for BindValue {
    fn from(bytes: Option<Vec<u8>>) -> Self {
        BindValue::Bytes(bytes)
    }
}

impl From<Option<&str>> for BindValue {
    fn from(text: Option<&str>) -> Self {
        BindValue::Text(text.map(str::to_owned))
    }
}
