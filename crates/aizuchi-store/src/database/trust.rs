//! Trust offers, to post without approval above some confidence: made and withdrawn as users decide proposals, and
//! answered once.

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::decision::proposal::{
    ProposalId, ProposalLabel, ProposalState, TrustedConfidence,
};
use aizuchi_model::decision::trust::{MAX_CLICKS, TrustChoice, TrustOffer, TrustOfferId};
use aizuchi_model::rules::Mode;
use aizuchi_model::rules::setting_override::Confidence;
use jiff::Timestamp;

use crate::StoreError;
use crate::database::connection::{BindValue, Connection, Readers, Row, query};
use crate::database::{Counters, rows, sql};
use crate::refusal_reason::RefusalReason;

/// Updates a channel's offer after a decided proposal, which is stored already.
pub async fn after_click(
    connection: &mut Connection,
    (workspace, channel, id): (&WorkspaceId, &ChannelId, ProposalId),
    now: Timestamp,
) -> Result<(), StoreError> {
    let clicks = query(sql::trust::CHANNEL_LABELS)
        .bind(workspace.as_str())
        .bind(channel.as_str())
        .bind(MAX_CLICKS as i64)
        .fetch_all(&mut *connection)
        .await?;
    let labels = clicks.iter().map(|row| label_from_row(row).map(|(_, label)| label));
    let labels: Vec<ProposalLabel> = labels.collect::<Result<_, StoreError>>()?;
    let last = find(connection, workspace, channel).await?;
    let newest = (workspace.clone(), channel.clone(), id);
    match TrustOffer::after_click(last, &labels, newest, now) {
        Some(offer) => put(connection, &offer).await,
        None => Ok(()),
    }
}

/// Answers an open offer of this confidence. Accepting it also orders the mode.
pub async fn answer(
    connection: &mut Connection,
    counters: &mut Counters,
    (workspace, channel, id): (&WorkspaceId, &ChannelId, TrustOfferId),
    (least, choice): (Confidence, TrustChoice),
    by: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let found = find(connection, workspace, channel).await?;
    let open = found.filter(|offer| offer.is_open_as(id, least));
    let offer = open.ok_or(StoreError::Refused(RefusalReason::TrustOfferGone))?;
    counters.revision += 1;
    if choice == TrustChoice::ByItself {
        let mode = query(sql::orders::PUT_MODE)
            .bind(workspace.as_str())
            .bind(channel.as_str())
            .bind(Mode::Companion.name());
        mode.execute(&mut *connection).await?;
    }
    put(connection, &offer.answered(choice.state(), by.into(), now)).await
}

/// Withdraws a channel's open offer if a different mode is ordered there.
pub async fn after_mode(
    connection: &mut Connection,
    (workspace, channel): (&WorkspaceId, &ChannelId),
    ordered: Option<Mode>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mode = query(sql::orders::ORDERED_MODE).bind(workspace.as_str()).bind(channel.as_str());
    let before: Option<Mode> = match mode.fetch_optional(&mut *connection).await? {
        Some(row) => Some(rows::parse_name(&rows::column::<String>(&row, "mode")?)?),
        None => None,
    };
    let last = find(connection, workspace, channel).await?;
    match TrustOffer::after_mode(last, (before, ordered), now) {
        Some(offer) => put(connection, &offer).await,
        None => Ok(()),
    }
}

/// The newest offer of each channel.
pub async fn read(
    readers: &Readers,
    workspace: &WorkspaceId,
) -> Result<Vec<TrustOffer>, StoreError> {
    let query = query(sql::trust::TRUST_OFFERS).bind(workspace.as_str());
    query.fetch_all(readers).await?.iter().map(from_row).collect()
}

async fn find(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    channel: &ChannelId,
) -> Result<Option<TrustOffer>, StoreError> {
    let query = query(sql::trust::TRUST_OFFER).bind(workspace.as_str()).bind(channel.as_str());
    query.fetch_optional(connection).await?.as_ref().map(from_row).transpose()
}

async fn put(connection: &mut Connection, offer: &TrustOffer) -> Result<(), StoreError> {
    let (by, at) = match &offer.decided {
        Some((by, at)) => (Some(&**by), Some(at.as_millisecond())),
        None => (None, None),
    };
    let put = query(sql::trust::PUT_TRUST_OFFER)
        .bind(offer.workspace.as_str())
        .bind(offer.channel.as_str())
        .bind(offer.id.0)
        .bind(i64::from(offer.trusted.least.thousandths()))
        .bind(BindValue::Real(Some(offer.trusted.share)))
        .bind(offer.clicks as i64)
        .bind(offer.made.as_millisecond())
        .bind(offer.state.name())
        .bind(by)
        .bind(at);
    put.execute(connection).await?;
    Ok(())
}

fn from_row(row: &Row) -> Result<TrustOffer, StoreError> {
    let least = Confidence::from_thousandths(rows::column(row, "min_confidence")?);
    let broken = || StoreError::Broken("the confidence of an offer is none".to_owned());
    let by: Option<String> = rows::column(row, "decided_by")?;
    let share = rows::column::<Option<f64>>(row, "share")?.unwrap_or_default();
    let trusted = TrustedConfidence { least: least.ok_or_else(broken)?, share };
    Ok(TrustOffer {
        id: TrustOfferId(rows::column(row, "id")?),
        workspace: WorkspaceId::new(rows::column::<String>(row, "workspace")?),
        channel: ChannelId::new(rows::column::<String>(row, "channel")?),
        trusted,
        clicks: rows::to_unsigned(rows::column(row, "clicks")?)? as usize,
        made: rows::to_timestamp(rows::column(row, "made_ms")?)?,
        state: rows::parse_name(&rows::column::<String>(row, "state")?)?,
        decided: by.map(Arc::from).zip(rows::optional_time(row, "decided_ms")?),
    })
}

/// Converts a row to a decided proposal with its channel.
pub fn label_from_row(row: &Row) -> Result<(ChannelId, ProposalLabel), StoreError> {
    let state: ProposalState = rows::parse_name(&rows::column::<String>(row, "state")?)?;
    let label = ProposalLabel {
        confidence: rows::column::<Option<f64>>(row, "confidence")?.unwrap_or_default(),
        is_approved: state.is_approved(),
        decided: rows::to_timestamp(rows::column(row, "decided_ms")?)?,
    };
    Ok((ChannelId::new(rows::column::<String>(row, "channel")?), label))
}
