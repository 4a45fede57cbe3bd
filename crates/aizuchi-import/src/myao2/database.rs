//! Reads the database of myao2 without changing it. Values are returned as they are stored. Times without an offset are
//! UTC.

use std::path::Path;

use aizuchi_model::clock::truncate_to_millisecond;
use aizuchi_store::StoreError;
use aizuchi_store::database::connection::{Connection, Row, query};
use aizuchi_store::database::rows;
use aizuchi_store::sqlite::myao2;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::message_ids::parse_slack_timestamp;
use crate::myao2::sql;

pub struct Myao2Database {
    connection: Connection,
}

/// A row of `channels`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Myao2Channel {
    pub id: String,
    /// The name. Empty if myao2 does not know it.
    pub name: String,
}

/// A row of `users`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Myao2User {
    pub id: String,
    pub name: String,
    pub is_bot: bool,
}

/// A row of `messages` without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Myao2MessageHead {
    /// Slack's id, or a generated one for myao2's own posts.
    pub id: String,
    pub channel: String,
    pub user: String,
    pub name: String,
    pub is_bot: bool,
    /// `None` if it cannot be parsed.
    at: Option<Timestamp>,
}

/// A row of `messages`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Myao2Message {
    pub head: Myao2MessageHead,
    /// The text in Slack's mrkdwn.
    pub text: String,
    pub thread: Option<String>,
    pub mentions: Vec<String>,
}

/// A row of `memories`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Myao2Memory {
    /// `workspace`, `channel` or `thread`.
    pub scope: String,
    /// `default`, a channel, or a channel and a thread separated by a colon.
    pub scope_id: String,
    /// `long_term` or `short_term`.
    pub term: String,
    pub content: String,
    pub updated: Option<Timestamp>,
    /// The id of the newest message that the memory was made from.
    pub latest: Option<String>,
}

/// A row of `memos`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Myao2Memo {
    pub name: String,
    pub content: String,
    pub priority: i64,
    pub tags: Vec<String>,
    pub detail: Option<String>,
    pub created: Option<Timestamp>,
    pub updated: Option<Timestamp>,
}

impl Myao2Database {
    /// Opens a database. `None` if the file is not a database of myao2. All reads are of the same snapshot, so a
    /// running myao2 adds no channel between two of them.
    pub async fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        let Some(mut connection) = myao2::open(path).await? else { return Ok(None) };
        query(sql::BEGIN).execute(&mut connection).await?;
        Ok(Some(Self { connection }))
    }

    pub async fn channels(&mut self) -> Result<Vec<Myao2Channel>, StoreError> {
        self.read_table("channels", sql::CHANNELS, |row| {
            Ok(Myao2Channel { id: rows::column(row, "channel")?, name: rows::column(row, "name")? })
        })
        .await
    }

    pub async fn users(&mut self) -> Result<Vec<Myao2User>, StoreError> {
        self.read_table("users", sql::USERS, |row| {
            Ok(Myao2User {
                id: rows::column(row, "user")?,
                name: rows::column(row, "name")?,
                is_bot: rows::column::<i64>(row, "is_bot")? != 0,
            })
        })
        .await
    }

    /// The messages without their texts, oldest first.
    pub fn message_heads(&mut self) -> BoxStream<'_, Result<Myao2MessageHead, StoreError>> {
        let rows = self.connection.stream(sql::MESSAGE_HEADS.to_owned());
        rows.map(|row| read_head(&row?)).boxed()
    }

    /// The messages, oldest first.
    pub fn messages(&mut self) -> BoxStream<'_, Result<Myao2Message, StoreError>> {
        let rows = self.connection.stream(sql::MESSAGES.to_owned());
        rows.map(|row| read_message(&row?)).boxed()
    }

    pub async fn memories(&mut self) -> Result<Vec<Myao2Memory>, StoreError> {
        self.read_table("memories", sql::MEMORIES, |row| {
            Ok(Myao2Memory {
                scope: rows::column(row, "scope")?,
                scope_id: rows::column(row, "place")?,
                term: rows::column(row, "term")?,
                content: rows::column(row, "content")?,
                updated: parse_time(row, "updated")?,
                latest: rows::column(row, "latest")?,
            })
        })
        .await
    }

    /// The number of cached judgments.
    pub async fn count_judgments(&mut self) -> Result<usize, StoreError> {
        let count =
            self.read_table("judgment_caches", sql::COUNT_JUDGMENTS, |row| rows::column(row, "n"));
        let count: Vec<i64> = count.await?;
        Ok(count.first().map_or(0, |count| usize::try_from(*count).unwrap_or(0)))
    }

    /// The memos, oldest first.
    pub async fn memos(&mut self) -> Result<Vec<Myao2Memo>, StoreError> {
        self.read_table("memos", sql::MEMOS, |row| {
            Ok(Myao2Memo {
                name: rows::column(row, "name")?,
                content: rows::column(row, "content")?,
                priority: rows::column(row, "priority")?,
                tags: parse_list(row, "tags")?,
                detail: rows::column(row, "detail")?,
                created: parse_time(row, "created")?,
                updated: parse_time(row, "updated")?,
            })
        })
        .await
    }

    /// All rows of a table. Empty if the table does not exist, as in older versions of myao2.
    async fn read_table<T>(
        &mut self,
        table: &'static str,
        statement: &'static str,
        read: impl Fn(&Row) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let has_table = query(sql::HAS_TABLE).bind(table).fetch_one(&mut self.connection);
        if rows::column::<i64>(&has_table.await?, "n")? == 0 {
            return Ok(Vec::new());
        }
        let rows = query(statement).fetch_all(&mut self.connection).await?;
        rows.iter().map(read).collect()
    }
}

impl Myao2MessageHead {
    /// The time that Slack assigned, or else the one that myao2 stored.
    pub fn sent_at(&self) -> Option<Timestamp> {
        parse_slack_timestamp(&self.id).or(self.at).map(truncate_to_millisecond)
    }
}

fn read_head(row: &Row) -> Result<Myao2MessageHead, StoreError> {
    Ok(Myao2MessageHead {
        id: rows::column(row, "id")?,
        channel: rows::column(row, "channel")?,
        user: rows::column(row, "user")?,
        name: rows::column(row, "name")?,
        is_bot: rows::column::<i64>(row, "is_bot")? != 0,
        at: parse_time(row, "at")?,
    })
}

fn read_message(row: &Row) -> Result<Myao2Message, StoreError> {
    Ok(Myao2Message {
        head: read_head(row)?,
        text: rows::column(row, "text")?,
        thread: rows::column(row, "thread")?,
        mentions: parse_list(row, "mentions")?,
    })
}

/// Parses a time as Python writes it: `2025-12-30 12:34:56.123456`, with or without the fraction.
fn parse_time(row: &Row, column: &str) -> Result<Option<Timestamp>, StoreError> {
    let text: Option<String> = rows::column(row, column)?;
    Ok(text.and_then(|text| {
        // A time with an offset needs no conversion.
        let naive = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok();
        text.parse().ok().or_else(|| naive().map(|at| at.timestamp()))
    }))
}

/// Parses a JSON list of strings. Anything else counts as empty.
fn parse_list(row: &Row, column: &str) -> Result<Vec<String>, StoreError> {
    let text: Option<String> = rows::column(row, column)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}
