//! The figures of a period, with one statement each.

use aizuchi_model::chat::{ChannelId, MessageId, UserId};
use aizuchi_model::decision::{Judgment, Price, Usage};
use jiff::SignedDuration;

use crate::StoreError;
use crate::database::connection::{Query, Readers, Row, query};
use crate::database::{rows, sql};
use crate::figures::{
    ANSWER_WINDOW, AnswerDelay, CallSum, Day, MessageCount, OutcomeCount, ReactionCount,
    UnansweredQuestion, WorkspacePeriod,
};

pub async fn messages(
    readers: &Readers,
    period: &WorkspacePeriod,
) -> Result<Vec<MessageCount>, StoreError> {
    let count = |row: &Row| {
        Ok(MessageCount {
            day: day(row)?,
            channel: channel(row)?,
            is_own: rows::column(row, "is_own")?,
            count: count(row, "n")?,
        })
    };
    by_day(readers, sql::figures::MESSAGES_BY_DAY, period).await?.iter().map(count).collect()
}

pub async fn outcomes(
    readers: &Readers,
    period: &WorkspacePeriod,
) -> Result<Vec<OutcomeCount>, StoreError> {
    let count = |row: &Row| {
        Ok(OutcomeCount {
            day: day(row)?,
            channel: channel(row)?,
            ended: rows::parse_optional_name(rows::column(row, "ended")?)?,
            count: count(row, "n")?,
        })
    };
    by_day(readers, sql::figures::OUTCOMES_BY_DAY, period).await?.iter().map(count).collect()
}

pub async fn calls(
    readers: &Readers,
    period: &WorkspacePeriod,
) -> Result<Vec<CallSum>, StoreError> {
    let sum = |row: &Row| {
        Ok(CallSum {
            day: day(row)?,
            channel: Some(channel(row)?).filter(|channel| !channel.as_str().is_empty()),
            kind: rows::parse_name(&rows::column::<String>(row, "kind")?)?,
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
            unpriced_tokens: count(row, "unpriced_tokens")?,
        })
    };
    by_day(readers, sql::figures::CALLS_BY_DAY, period).await?.iter().map(sum).collect()
}

pub async fn answer_delays(
    readers: &Readers,
    period: &WorkspacePeriod,
) -> Result<Vec<AnswerDelay>, StoreError> {
    let delay = |row: &Row| {
        Ok(AnswerDelay {
            day: day(row)?,
            channel: channel(row)?,
            is_addressed: rows::column(row, "is_addressed")?,
            delay: SignedDuration::from_millis(rows::column(row, "delay_ms")?),
        })
    };
    by_day(readers, sql::figures::ANSWER_DELAYS, period).await?.iter().map(delay).collect()
}

pub async fn reactions(
    readers: &Readers,
    period: &WorkspacePeriod,
) -> Result<Vec<ReactionCount>, StoreError> {
    let count = |row: &Row| {
        Ok(ReactionCount { day: day(row)?, channel: channel(row)?, count: count(row, "n")? })
    };
    by_day(readers, sql::figures::REACTIONS_BY_DAY, period).await?.iter().map(count).collect()
}

pub async fn open_questions(
    readers: &Readers,
    period: &WorkspacePeriod,
) -> Result<Vec<UnansweredQuestion>, StoreError> {
    let question = |row: &Row| {
        Ok(UnansweredQuestion {
            day: day(row)?,
            channel: channel(row)?,
            message: MessageId::new(rows::column::<String>(row, "id")?),
            at: rows::to_timestamp(rows::column(row, "at_ms")?)?,
            author: UserId::new(rows::column::<String>(row, "author")?),
            text: rows::column::<String>(row, "text")?.into(),
            is_taken_up: is_taken_up(row)?,
        })
    };
    by_day(readers, sql::figures::OPEN_QUESTIONS, period).await?.iter().map(question).collect()
}

/// Whether the decision in a question's row was about the question, and was made soon after it.
fn is_taken_up(row: &Row) -> Result<bool, StoreError> {
    let (asked, closed) = (rows::column(row, "at_ms")?, rows::optional_time(row, "closed_ms")?);
    let Some(closed) = closed else { return Ok(false) };
    let judgment: Option<Judgment> = rows::parse_optional(row, "judgment")?;
    let about = match judgment.and_then(|judgment| judgment.about) {
        Some(about) => Some(about),
        None => rows::column::<Option<String>>(row, "newest")?.map(MessageId::new),
    };
    let is_about_it = about == Some(MessageId::new(rows::column::<String>(row, "id")?));
    Ok(is_about_it && closed.duration_since(rows::to_timestamp(asked)?) <= ANSWER_WINDOW)
}

pub async fn changed_days(
    readers: &Readers,
    period: &WorkspacePeriod,
    revision: u64,
) -> Result<Vec<Day>, StoreError> {
    let days = of_period(sql::figures::CHANGED_DAYS, period).bind(revision as i64);
    days.fetch_all(readers).await?.iter().map(day).collect()
}

async fn by_day(
    readers: &Readers,
    statement: &'static str,
    period: &WorkspacePeriod,
) -> Result<Vec<Row>, StoreError> {
    of_period(statement, period).fetch_all(readers).await
}

/// A statement with the bound parameters of a period.
pub fn of_period(statement: &'static str, period: &WorkspacePeriod) -> Query {
    query(statement)
        .bind(period.workspace.as_str())
        .bind(period.since.as_millisecond())
        .bind(period.offset_ms())
        .bind(period.until.as_millisecond())
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
