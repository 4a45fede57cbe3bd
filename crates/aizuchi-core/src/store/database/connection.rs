//! A connection to either database, and what is asked of it. Statements are written once; a server is
//! asked as [`spelled`] has it.

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{
    Column as _, Connection as _, Executor, PgPool, Postgres, Row as _, Sqlite, SqlitePool,
    Transaction, TypeInfo, ValueRef,
};

use crate::store::StoreError;
use crate::store::database::dialect::{self, storable};
use crate::store::{postgres, sqlite};

/// Where statements are carried out.
pub enum Connection {
    Sqlite(SqliteConnection),
    SqliteReader(PoolConnection<Sqlite>),
    SqliteMoment(Transaction<'static, Sqlite>),
    Postgres(PgConnection),
    PostgresReader(PoolConnection<Postgres>),
    PostgresMoment(Transaction<'static, Postgres>),
}

/// Which of the two it is.
enum Either<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

impl Connection {
    fn either(&mut self) -> Either<'_> {
        match self {
            Connection::Sqlite(connection) => Either::Sqlite(connection),
            Connection::SqliteReader(connection) => Either::Sqlite(connection),
            Connection::SqliteMoment(moment) => Either::Sqlite(moment),
            Connection::Postgres(connection) => Either::Postgres(connection),
            Connection::PostgresReader(connection) => Either::Postgres(connection),
            Connection::PostgresMoment(moment) => Either::Postgres(moment),
        }
    }

    pub fn is_server(&self) -> bool {
        match self {
            Connection::Sqlite(_) | Connection::SqliteReader(_) | Connection::SqliteMoment(_) => {
                false
            }
            Connection::Postgres(_)
            | Connection::PostgresReader(_)
            | Connection::PostgresMoment(_) => true,
        }
    }

    /// Says good-bye. A reader goes back to its pool, and a moment ends.
    pub async fn close(self) -> Result<(), StoreError> {
        match self {
            Connection::Sqlite(connection) => connection.close().await.map_err(sqlite::stored),
            Connection::Postgres(connection) => connection.close().await.map_err(postgres::stored),
            Connection::SqliteReader(_)
            | Connection::SqliteMoment(_)
            | Connection::PostgresReader(_)
            | Connection::PostgresMoment(_) => Ok(()),
        }
    }

    pub async fn migrate(&mut self, migrator: &Migrator) -> Result<(), MigrateError> {
        match self.either() {
            Either::Sqlite(connection) => migrator.run(connection).await,
            Either::Postgres(connection) => migrator.run(connection).await,
        }
    }

    /// What a failure means for the caller.
    pub fn stored(&self, error: sqlx::Error) -> StoreError {
        if self.is_server() { postgres::stored(error) } else { sqlite::stored(error) }
    }

    /// Whether a statement can be carried out as it is written.
    pub async fn prepare(&mut self, statement: &'static str) -> Result<(), StoreError> {
        match self.either() {
            Either::Sqlite(connection) => {
                connection
                    .prepare(sqlx::SqlStr::from_static(statement))
                    .await
                    .map_err(sqlite::stored)?;
            }
            Either::Postgres(connection) => {
                let statement = sqlx::SqlStr::from_static(dialect::spelled(statement));
                connection.prepare(statement).await.map_err(postgres::stored)?;
            }
        }
        Ok(())
    }
}

/// Connections that only read.
pub enum Readers {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

impl Readers {
    pub async fn acquire(&self) -> Result<Connection, StoreError> {
        match self {
            Readers::Sqlite(pool) => {
                pool.acquire().await.map(Connection::SqliteReader).map_err(sqlite::stored)
            }
            Readers::Postgres(pool) => {
                pool.acquire().await.map(Connection::PostgresReader).map_err(postgres::stored)
            }
        }
    }

    /// Ends them all.
    pub async fn close(&self) {
        match self {
            Readers::Sqlite(pool) => pool.close().await,
            Readers::Postgres(pool) => pool.close().await,
        }
    }

    /// A connection that sees one moment, whatever is written meanwhile.
    pub async fn moment(&self) -> Result<Connection, StoreError> {
        match self {
            Readers::Sqlite(pool) => {
                pool.begin().await.map(Connection::SqliteMoment).map_err(sqlite::stored)
            }
            Readers::Postgres(pool) => {
                let begun = pool.begin_with(postgres::BEGIN_MOMENT).await;
                begun.map(Connection::PostgresMoment).map_err(postgres::stored)
            }
        }
    }
}

/// Where a query is carried out: on a connection, or on any that is free.
pub enum On<'c> {
    Connection(&'c mut Connection),
    Readers(&'c Readers),
}

impl<'c> From<&'c mut Connection> for On<'c> {
    fn from(connection: &'c mut Connection) -> Self {
        On::Connection(connection)
    }
}

impl<'c> From<&'c Readers> for On<'c> {
    fn from(readers: &'c Readers) -> Self {
        On::Readers(readers)
    }
}

/// What stands for a `?1`. Nothing is a number or a text, too.
pub enum Value {
    Number(Option<i64>),
    Text(Option<String>),
}

/// A statement and what is bound to it.
pub struct Query {
    statement: &'static str,
    values: Vec<Value>,
}

pub fn query(statement: &'static str) -> Query {
    Query { statement, values: Vec::new() }
}

impl Query {
    pub fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// The number of rows that were changed.
    pub async fn execute(self, connection: &mut Connection) -> Result<u64, StoreError> {
        match connection.either() {
            Either::Sqlite(connection) => {
                let done = self.for_sqlite().execute(connection).await;
                done.map(|done| done.rows_affected()).map_err(sqlite::stored)
            }
            Either::Postgres(connection) => {
                let done = self.for_postgres().execute(connection).await;
                done.map(|done| done.rows_affected()).map_err(postgres::stored)
            }
        }
    }

    pub async fn fetch_all<'c>(self, on: impl Into<On<'c>>) -> Result<Vec<Row>, StoreError> {
        match on.into() {
            On::Connection(connection) => self.all(connection).await,
            On::Readers(readers) => self.all(&mut readers.acquire().await?).await,
        }
    }

    pub async fn fetch_optional<'c>(
        self,
        on: impl Into<On<'c>>,
    ) -> Result<Option<Row>, StoreError> {
        match on.into() {
            On::Connection(connection) => self.optional(connection).await,
            On::Readers(readers) => self.optional(&mut readers.acquire().await?).await,
        }
    }

    pub async fn fetch_one<'c>(self, on: impl Into<On<'c>>) -> Result<Row, StoreError> {
        let absent = || StoreError::Broken("a statement that gives a row gave none".to_owned());
        self.fetch_optional(on).await?.ok_or_else(absent)
    }

    async fn all(self, connection: &mut Connection) -> Result<Vec<Row>, StoreError> {
        match connection.either() {
            Either::Sqlite(connection) => {
                let rows = self.for_sqlite().fetch_all(connection).await.map_err(sqlite::stored)?;
                Ok(rows.into_iter().map(Row::Sqlite).collect())
            }
            Either::Postgres(connection) => {
                let rows = self.for_postgres().fetch_all(connection).await;
                Ok(rows.map_err(postgres::stored)?.into_iter().map(Row::Postgres).collect())
            }
        }
    }

    async fn optional(self, connection: &mut Connection) -> Result<Option<Row>, StoreError> {
        match connection.either() {
            Either::Sqlite(connection) => {
                let row = self.for_sqlite().fetch_optional(connection).await;
                Ok(row.map_err(sqlite::stored)?.map(Row::Sqlite))
            }
            Either::Postgres(connection) => {
                let row = self.for_postgres().fetch_optional(connection).await;
                Ok(row.map_err(postgres::stored)?.map(Row::Postgres))
            }
        }
    }

    fn for_sqlite(self) -> sqlx::query::Query<'static, Sqlite, SqliteArguments> {
        self.values.into_iter().fold(sqlx::query(self.statement), |query, value| match value {
            Value::Number(number) => query.bind(number),
            Value::Text(text) => query.bind(text),
        })
    }

    fn for_postgres(self) -> sqlx::query::Query<'static, Postgres, PgArguments> {
        let query = sqlx::query(dialect::spelled(self.statement));
        self.values.into_iter().fold(query, |query, value| match value {
            Value::Number(number) => query.bind(number),
            Value::Text(text) => query.bind(text.map(storable)),
        })
    }
}

/// One row of an answer.
pub enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    /// A column with a number, or with true (1) or false.
    pub fn number(&self, name: &str) -> Result<Option<i64>, sqlx::Error> {
        let row = match self {
            Row::Sqlite(row) => return row.try_get(name),
            Row::Postgres(row) => row,
        };
        match row.try_get_raw(name)?.type_info().name() {
            "INT4" => Ok(row.try_get::<Option<i32>, _>(name)?.map(i64::from)),
            "BOOL" => Ok(row.try_get::<Option<bool>, _>(name)?.map(i64::from)),
            _ => row.try_get(name),
        }
    }

    /// A column with a text, or with JSON, which is one, too.
    pub fn text(&self, name: &str) -> Result<Option<String>, sqlx::Error> {
        let row = match self {
            Row::Sqlite(row) => return row.try_get(name),
            Row::Postgres(row) => row,
        };
        match row.column(name).type_info().name() {
            "JSON" => row.try_get_unchecked(name),
            _ => row.try_get(name),
        }
    }
}

/// What a column can be read as.
pub trait Cell: Sized {
    fn of(row: &Row, name: &str) -> Result<Self, sqlx::Error>;
}

impl Cell for Option<i64> {
    fn of(row: &Row, name: &str) -> Result<Self, sqlx::Error> {
        row.number(name)
    }
}

impl Cell for Option<String> {
    fn of(row: &Row, name: &str) -> Result<Self, sqlx::Error> {
        row.text(name)
    }
}

impl Cell for i64 {
    fn of(row: &Row, name: &str) -> Result<Self, sqlx::Error> {
        row.number(name)?.ok_or_else(|| absent(name))
    }
}

impl Cell for u32 {
    fn of(row: &Row, name: &str) -> Result<Self, sqlx::Error> {
        let number = i64::of(row, name)?;
        u32::try_from(number).map_err(|error| decoding(name, error.into()))
    }
}

impl Cell for bool {
    fn of(row: &Row, name: &str) -> Result<Self, sqlx::Error> {
        i64::of(row, name).map(|number| number != 0)
    }
}

impl Cell for String {
    fn of(row: &Row, name: &str) -> Result<Self, sqlx::Error> {
        row.text(name)?.ok_or_else(|| absent(name))
    }
}

fn absent(name: &str) -> sqlx::Error {
    decoding(name, Box::new(sqlx::error::UnexpectedNullError))
}

fn decoding(name: &str, source: sqlx::error::BoxDynError) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: name.to_owned(), source }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Number(Some(number))
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Self {
        Value::Number(number)
    }
}

impl From<u8> for Value {
    fn from(number: u8) -> Self {
        Value::from(i64::from(number))
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Value::from(i64::from(number))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(Some(text))
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Value::from(text.as_str())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::from(text.to_owned())
    }
}

impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Self {
        Value::Text(text)
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        Value::Text(text.map(str::to_owned))
    }
}
