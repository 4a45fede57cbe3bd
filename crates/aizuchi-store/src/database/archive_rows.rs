//! What the rows of pages and exports say.

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, MessageId, UserId, Visibility, WorkspaceId};
use aizuchi_model::context::BudgetUsage;
use aizuchi_model::context::links::{LinkSource, MessageLinks};
use aizuchi_model::decision::DecisionId;
use jiff::Timestamp;

use crate::database::connection::Row;
use crate::database::rows;
use crate::people::WrittenIn;
use crate::private_reads::{PrivateRead, PrivateReads};
use crate::{ChannelActivity, DecisionCount, FailedCalls, RecentCall, Spending, StoreError};

/// Gathers the links of each message, whose rows stand together.
pub fn links(found_rows: &[Row]) -> Result<Vec<(MessageId, MessageLinks)>, StoreError> {
    let mut found: Vec<(MessageId, MessageLinks)> = Vec::new();
    for row in found_rows {
        let message = MessageId::new(rows::column::<String>(row, "message")?);
        let source = LinkSource::from_version(rows::column(row, "version")?);
        if found.last().is_none_or(|(last, _)| *last != message) {
            let links = MessageLinks { begins: 0.0, parents: BTreeMap::new(), source };
            found.push((message, links));
        }
        // The platform's own reply reference comes first, and is certain.
        let Some((_, links)) = found.last_mut().filter(|(_, links)| links.source == source) else {
            continue;
        };
        let probability = rows::column::<Option<f64>>(row, "probability")?.unwrap_or(0.0) as f32;
        match rows::column::<String>(row, "parent")?.as_str() {
            "" => links.begins = probability,
            parent => drop(links.parents.insert(MessageId::new(parent), probability)),
        }
    }
    Ok(found)
}

pub fn last_written(row: &Row) -> Result<(UserId, Visibility, Timestamp), StoreError> {
    let visibility = rows::parse_name(&rows::column::<String>(row, "visibility")?)?;
    let last = rows::to_timestamp(rows::column(row, "last_ms")?)?;
    Ok((UserId::new(rows::column::<String>(row, "author")?), visibility, last))
}

pub fn written_in(row: &Row) -> Result<WrittenIn, StoreError> {
    Ok(WrittenIn {
        channel: ChannelId::new(rows::column::<String>(row, "channel")?),
        visibility: rows::parse_name(&rows::column::<String>(row, "visibility")?)?,
        messages: rows::to_unsigned(rows::column(row, "messages")?)?,
        last: rows::to_timestamp(rows::column(row, "last_ms")?)?,
        answers: rows::to_unsigned(rows::column(row, "answers")?)?,
    })
}

pub fn channel_activity(row: &Row) -> Result<ChannelActivity, StoreError> {
    let time = |name| rows::column::<Option<i64>>(row, name)?.map(rows::to_timestamp).transpose();
    Ok(ChannelActivity {
        channel: ChannelId::new(rows::column::<String>(row, "id")?),
        last_heard: time("heard_ms")?,
        last_spoke: time("spoke_ms")?,
    })
}

pub fn decision_count(row: &Row) -> Result<DecisionCount, StoreError> {
    Ok(DecisionCount {
        channel: ChannelId::new(rows::column::<String>(row, "channel")?),
        ended: rows::parse_optional_name(rows::column(row, "ended")?)?,
        count: rows::to_unsigned(rows::column(row, "n")?)?,
    })
}

pub fn recent_call(row: &Row) -> Result<RecentCall, StoreError> {
    Ok(RecentCall {
        at: rows::to_timestamp(rows::column(row, "at_ms")?)?,
        model: rows::column::<String>(row, "model")?.into(),
        verb: rows::column::<String>(row, "verb")?.into(),
        result: rows::parse_name(&rows::column::<String>(row, "result")?)?,
        error: rows::column::<Option<String>>(row, "error")?.map(Arc::from),
    })
}

pub fn failed_calls(row: &Row) -> Result<FailedCalls, StoreError> {
    let channel = ChannelId::new(rows::column::<String>(row, "channel")?);
    let decision = DecisionId(rows::column(row, "decision")?);
    Ok(FailedCalls {
        channel: Some(channel).filter(|channel| !channel.as_str().is_empty()),
        verb: rows::column::<String>(row, "verb")?.into(),
        model: rows::column::<String>(row, "model")?.into(),
        error: rows::column::<Option<String>>(row, "error")?.map(Arc::from),
        count: rows::to_unsigned(rows::column(row, "n")?)?,
        first: rows::to_timestamp(rows::column(row, "first_ms")?)?,
        last: rows::to_timestamp(rows::column(row, "last_ms")?)?,
        decision: Some(decision).filter(|decision| decision.0 > 0),
    })
}

pub fn private_reads(row: &Row) -> Result<PrivateReads, StoreError> {
    let read = PrivateRead {
        workspace: WorkspaceId::new(rows::column::<String>(row, "workspace")?),
        channel: ChannelId::new(rows::column::<String>(row, "channel")?),
        reader: rows::column::<String>(row, "reader")?.into(),
        what: rows::parse_name(&rows::column::<String>(row, "what")?)?,
    };
    Ok(PrivateReads {
        read,
        at: rows::to_timestamp(rows::column(row, "last_ms")?)?,
        count: rows::to_unsigned(rows::column(row, "reads")?)?,
    })
}

pub fn spending(row: &Row) -> Result<Spending, StoreError> {
    let count = |name| rows::to_unsigned(rows::column(row, name)?);
    let channel: String = rows::column(row, "channel")?;
    Ok(Spending {
        channel: (!channel.is_empty()).then(|| ChannelId::new(channel)),
        spent: BudgetUsage {
            tokens_in_day: count("tokens_in_day")?,
            unsolicited_tokens_in_day: count("unsolicited_tokens_in_day")?,
            micros_in_day: count("micros_in_day")?,
            micros_in_month: count("micros_in_month")?,
        },
        tokens_in_month: count("tokens_in_month")?,
        unpriced_tokens_in_day: count("unpriced_tokens_in_day")?,
        unpriced_tokens_in_month: count("unpriced_tokens_in_month")?,
    })
}
