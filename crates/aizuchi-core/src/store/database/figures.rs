//! The figures of a period, one statement each.

use jiff::SignedDuration;

use crate::chat::{ChannelId, WorkspaceId};
use crate::decision::{Price, Usage};
use crate::rhythm::reply_delays::ReplyDelays;
use crate::store::StoreError;
use crate::store::database::connection::{Readers, Row, query};
use crate::store::database::{rows, sql};
use crate::store::figures::{AnswerDelay, CallSum, Day, MessageCount, OutcomeCount, Period};

pub async fn messages(readers: &Readers, period: &Period) -> Result<Vec<MessageCount>, StoreError> {
    let count = |row: &Row| {
        Ok(MessageCount {
            day: day(row)?,
            channel: channel(row)?,
            is_own: rows::column(row, "is_own")?,
            count: count(row, "n")?,
        })
    };
    by_day(readers, sql::MESSAGES_BY_DAY, period).await?.iter().map(count).collect()
}

pub async fn outcomes(readers: &Readers, period: &Period) -> Result<Vec<OutcomeCount>, StoreError> {
    let count = |row: &Row| {
        Ok(OutcomeCount {
            day: day(row)?,
            channel: channel(row)?,
            ended: rows::parse_optional_name(rows::column(row, "ended")?)?,
            count: count(row, "n")?,
        })
    };
    by_day(readers, sql::OUTCOMES_BY_DAY, period).await?.iter().map(count).collect()
}

pub async fn calls(readers: &Readers, period: &Period) -> Result<Vec<CallSum>, StoreError> {
    let sum = |row: &Row| {
        Ok(CallSum {
            day: day(row)?,
            channel: channel(row)?,
            model: rows::column::<String>(row, "model")?.into(),
            calls: count(row, "n")?,
            usage: Usage {
                input_tokens: count(row, "input_tokens")?,
                cached_tokens: count(row, "cached_tokens")?,
                cache_write_tokens: count(row, "cache_write_tokens")?,
                output_tokens: count(row, "output_tokens")?,
                is_estimated: rows::column(row, "is_estimated")?,
            },
            price: Price { micros: count(row, "micros")? },
        })
    };
    by_day(readers, sql::CALLS_BY_DAY, period).await?.iter().map(sum).collect()
}

pub async fn answer_delays(
    readers: &Readers,
    period: &Period,
) -> Result<Vec<AnswerDelay>, StoreError> {
    let delays = query(sql::ANSWER_DELAYS).bind(period.workspace.as_str());
    let delays = delays.bind(period.since.as_millisecond()).fetch_all(readers).await?;
    let delay = |row: &Row| {
        Ok(AnswerDelay {
            channel: channel(row)?,
            is_addressed: rows::column(row, "is_addressed")?,
            delay: SignedDuration::from_millis(rows::column(row, "delay_ms")?),
        })
    };
    delays.iter().map(delay).collect()
}

pub async fn user_delays(
    readers: &Readers,
    workspace: &WorkspaceId,
) -> Result<Vec<(ChannelId, ReplyDelays)>, StoreError> {
    let delays = query(sql::PEOPLE_DELAYS).bind(workspace.as_str()).fetch_all(readers).await?;
    let learned =
        |row: &Row| Ok((channel(row)?, rows::parse_json(&rows::column::<String>(row, "delays")?)?));
    delays.iter().map(learned).collect()
}

async fn by_day(
    readers: &Readers,
    statement: &'static str,
    period: &Period,
) -> Result<Vec<Row>, StoreError> {
    let query = query(statement)
        .bind(period.workspace.as_str())
        .bind(period.since.as_millisecond())
        .bind(period.offset_ms());
    query.fetch_all(readers).await
}

fn day(row: &Row) -> Result<Day, StoreError> {
    Ok(Day(rows::column(row, "day")?))
}

fn channel(row: &Row) -> Result<ChannelId, StoreError> {
    Ok(ChannelId::new(rows::column::<String>(row, "channel")?))
}

fn count(row: &Row, name: &str) -> Result<u64, StoreError> {
    rows::to_unsigned(rows::column(row, name)?)
}
