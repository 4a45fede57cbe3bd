//! What happened after the persona's posts, silences and proposals.

use std::sync::Arc;

use aizuchi_model::chat::ChannelId;
use aizuchi_model::decision::welcome::{
    self, Aftermath, PostAftermath, SilenceAftermath, UserResponse,
};
use aizuchi_model::decision::{DecisionId, Judgment};
use jiff::SignedDuration;

use crate::StoreError;
use crate::database::connection::{Readers, Row};
use crate::database::figures::of_period;
use crate::database::{rows, sql};
use crate::figures::{ChoiceAftermath, Day, WorkspacePeriod};

pub async fn read(
    readers: &Readers,
    period: &WorkspacePeriod,
) -> Result<Vec<ChoiceAftermath>, StoreError> {
    let words = of_period(sql::figures::WORD_AFTERMATHS, period).fetch_all(readers).await?;
    let silences = of_period(sql::figures::SILENCE_AFTERMATHS, period).fetch_all(readers).await?;
    let declined = of_period(sql::figures::DECLINED_PROPOSALS, period).fetch_all(readers).await?;
    let words = words.iter().map(|row| choice(row, Aftermath::Post(word(row)?)));
    let silences = silences.iter().map(|row| choice(row, Aftermath::Silence(silence(row)?)));
    let declined = declined.iter().map(|row| choice(row, Aftermath::Declined));
    let mut found =
        words.chain(silences).chain(declined).collect::<Result<Vec<_>, StoreError>>()?;
    found.sort_by_key(|choice| choice.decision);
    Ok(found)
}

fn choice(row: &Row, aftermath: Aftermath) -> Result<ChoiceAftermath, StoreError> {
    let judgment: Option<Judgment> = rows::parse_optional(row, "judgment")?;
    let wants = judgment.filter(|judgment| judgment.should_respond);
    Ok(ChoiceAftermath {
        decision: DecisionId(rows::column(row, "id")?),
        day: Day(rows::column(row, "day")?),
        channel: ChannelId::new(rows::column::<String>(row, "channel")?),
        at: rows::to_timestamp(rows::column(row, "at_ms")?)?,
        confidence: wants.map(|judgment| judgment.confidence),
        aftermath,
    })
}

fn word(row: &Row) -> Result<PostAftermath, StoreError> {
    let replies: Vec<(i64, Arc<str>)> = rows::parse_json(&rows::column::<String>(row, "replies")?)?;
    let reply = |(is_to_it, text): (i64, Arc<str>)| UserResponse { is_to_it: is_to_it != 0, text };
    Ok(PostAftermath {
        replies: replies.into_iter().map(reply).collect(),
        reactions: rows::parse_json(&rows::column::<String>(row, "reactions")?)?,
        is_deleted: rows::column::<i64>(row, "deleted")? > 0,
        is_muted: rows::column::<i64>(row, "mutes")? > 0,
    })
}

fn silence(row: &Row) -> Result<SilenceAftermath, StoreError> {
    let covered: Vec<(String, String)> =
        rows::parse_json(&rows::column::<String>(row, "covered")?)?;
    let answered: Option<i64> = rows::column(row, "answered_ms")?;
    Ok(SilenceAftermath {
        asks: welcome::ask(covered.iter().map(|(author, text)| (&**author, &**text))),
        answered: answered.map(SignedDuration::from_millis),
    })
}
