//! Copies tables row by row, from and to either kind of database.

use futures_util::TryStreamExt as _;
use sha2::{Digest as _, Sha256};

use crate::StoreError;
use crate::database::connection::{BindValue, Connection, Row, query};
use crate::database::dialect::replace_nul;
use crate::database::rows;
use crate::database::sql::transfer as sql;
use crate::{postgres, sqlite};

/// The maximum number of rows in one insert.
const ROWS_AT_ONCE: usize = 200;
/// The approximate maximum size of one insert in bytes.
const BYTES_AT_ONCE: usize = 1 << 20;

/// The tables and rows that were copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransferReport {
    /// Row counts by table name.
    pub tables: Vec<(String, u64)>,
}

impl TransferReport {
    /// The number of rows of a table.
    pub fn rows_of(&self, table: &str) -> u64 {
        self.tables.iter().find(|(name, _)| name == table).map_or(0, |(_, rows)| *rows)
    }

    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|(_, rows)| rows).sum()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    columns: Vec<TableColumn>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct TableColumn {
    name: String,
    kind: ColumnKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnKind {
    Integer,
    Real,
    Text,
    Bytes,
}

/// The number of a table's rows, and an order-independent sum of their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableDigest {
    pub rows: u64,
    sum: u128,
}

impl Table {
    /// All tables except those of the search index and of the migrations.
    pub async fn list(connection: &mut Connection) -> Result<Vec<Self>, StoreError> {
        let statement = match connection.is_postgres() {
            true => postgres::sql::COLUMNS,
            false => sqlite::sql::COLUMNS,
        };
        let mut tables: Vec<Self> = Vec::new();
        for row in query(statement).fetch_all(&mut *connection).await? {
            let table: String = rows::column(&row, "table_name")?;
            let column = TableColumn {
                name: rows::column(&row, "column_name")?,
                kind: ColumnKind::parse(&rows::column::<String>(&row, "kind")?)?,
            };
            match tables.last_mut().filter(|last| last.name == table) {
                Some(last) => last.columns.push(column),
                None => tables.push(Self { name: table, columns: vec![column] }),
            }
        }
        Ok(tables)
    }

    pub fn has_column(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.name == name)
    }

    fn column_names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }

    fn select(&self) -> String {
        sql::rows_of(&self.name, &self.column_names())
    }

    /// Copies all rows into the same table of `target`, which must be empty.
    pub async fn copy(
        &self,
        source: &mut Connection,
        target: &mut Connection,
    ) -> Result<TableDigest, StoreError> {
        let mut digest = TableDigest::default();
        let mut values = Vec::new();
        let mut bytes = 0;
        let mut stream = source.stream(self.select());
        while let Some(row) = stream.try_next().await? {
            let row = self.values(&row)?;
            digest.add(&row);
            bytes += row.iter().map(size).sum::<usize>();
            values.extend(row);
            if values.len() >= ROWS_AT_ONCE * self.columns.len() || bytes >= BYTES_AT_ONCE {
                self.put(target, std::mem::take(&mut values)).await?;
                bytes = 0;
            }
        }
        if !values.is_empty() {
            self.put(target, values).await?;
        }
        Ok(digest)
    }

    async fn put(&self, target: &mut Connection, values: Vec<BindValue>) -> Result<(), StoreError> {
        let rows = values.len() / self.columns.len();
        let mark = if target.is_postgres() { '$' } else { '?' };
        let statement = sql::insert(&self.name, &self.column_names(), rows, mark);
        target.execute_with(statement, values).await
    }

    /// Reads all rows and sums their hashes.
    pub async fn digest(&self, connection: &mut Connection) -> Result<TableDigest, StoreError> {
        let mut digest = TableDigest::default();
        let mut stream = connection.stream(self.select());
        while let Some(row) = stream.try_next().await? {
            digest.add(&self.values(&row)?);
        }
        Ok(digest)
    }

    fn values(&self, row: &Row) -> Result<Vec<BindValue>, StoreError> {
        let values = self.columns.iter().map(|column| {
            let name = &column.name;
            Ok(match column.kind {
                ColumnKind::Integer => BindValue::Number(rows::column(row, name)?),
                ColumnKind::Real => BindValue::Real(rows::column(row, name)?),
                ColumnKind::Text => {
                    BindValue::Text(rows::column::<Option<String>>(row, name)?.map(replace_nul))
                }
                ColumnKind::Bytes => BindValue::Bytes(rows::column(row, name)?),
            })
        });
        values.collect()
    }
}

impl ColumnKind {
    fn parse(name: &str) -> Result<Self, StoreError> {
        match name.to_ascii_lowercase().as_str() {
            "integer" | "bigint" => Ok(ColumnKind::Integer),
            "real" | "double precision" => Ok(ColumnKind::Real),
            "text" => Ok(ColumnKind::Text),
            "blob" | "bytea" => Ok(ColumnKind::Bytes),
            other => Err(StoreError::Broken(format!("a column has the unknown type {other}"))),
        }
    }
}

impl TableDigest {
    fn add(&mut self, row: &[BindValue]) {
        let mut hash = Sha256::new();
        for value in row {
            match value {
                BindValue::Number(Some(number)) => hash.update(number.to_le_bytes()),
                BindValue::Real(Some(number)) => hash.update(number.to_bits().to_le_bytes()),
                BindValue::Text(Some(text)) => hash.update(text),
                BindValue::Bytes(Some(bytes)) => hash.update(bytes),
                BindValue::Number(None)
                | BindValue::Real(None)
                | BindValue::Text(None)
                | BindValue::Bytes(None) => hash.update([0xff]),
            }
            // The lengths tell "ab", "c" from "a", "bc".
            hash.update((size(value) as u64).to_le_bytes());
        }
        let hash = hash.finalize();
        let half = hash.iter().take(size_of::<u128>());
        let number = half.fold(0_u128, |number, byte| (number << 8) | u128::from(*byte));
        self.sum = self.sum.wrapping_add(number);
        self.rows += 1;
    }
}

fn size(value: &BindValue) -> usize {
    match value {
        BindValue::Number(_) | BindValue::Real(_) => 8,
        BindValue::Text(text) => text.as_ref().map_or(0, String::len),
        BindValue::Bytes(bytes) => bytes.as_ref().map_or(0, Vec::len),
    }
}
