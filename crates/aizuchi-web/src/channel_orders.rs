//! One change of several channels: their mode, mute or minimum confidence, and its undoing. Visitors who may give orders
//! order it on the page of channels and through the API.

use std::collections::BTreeSet;
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::rules::Mode;
use aizuchi_model::rules::setting_override::{PlaceSetting, SettingKind};
use aizuchi_model::texts::refusals;
use aizuchi_store::channels_order::{
    ChannelChange, ChannelsOrder, ChannelsOrderKind, ChannelsRecord, UnchangedReason,
};
use aizuchi_store::order_journal::{GivenOrder, OrderJournalQuery};
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Extension, Path, State};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Visitor;
use crate::api::json;
use crate::orders::{self, mute_end};
use crate::refusal::Refusal;
use crate::{ApiProblem, JsonResult, Web};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelsBody {
    /// The id of a workspace; the local room if omitted.
    workspace: Option<String>,
    /// The ids of the channels.
    channels: BTreeSet<ChannelId>,
    /// `mode`, `mute` or `min_confidence`.
    setting: String,
    /// A mode, the minutes of a mute or `on` for one until it is lifted, or a share from 0 to 1. Null lifts a mute, and
    /// restores what is configured.
    value: Option<String>,
}

/// What an order for several channels did.
#[derive(Serialize, JsonSchema)]
pub struct ChangedAnswer {
    /// The number of the order in the journal, by which it is undone.
    number: i64,
    /// The channels that were changed. Those that had the value already are in neither list.
    changed: Vec<ChannelId>,
    unchanged: Vec<UnchangedChannel>,
}

/// A channel that was left as it is.
#[derive(Serialize, JsonSchema)]
pub struct UnchangedChannel {
    channel: ChannelId,
    why: UnchangedReason,
}

/// `POST /api/channels/settings`.
pub async fn change(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    body: Result<Json<ChannelsBody>, JsonRejection>,
) -> JsonResult<ChangedAnswer> {
    let body = json(body, refusals::format_of_channels)?;
    let workspace = orders::workspace(&web, &visitor.access, body.workspace.as_deref()).await?;
    let change = parse_change(&web, &body.setting, body.value.as_deref())?;
    let given = change_channels(&web, &visitor.access, workspace, body.channels, change).await?;
    answer(given)
}

/// `POST /api/orders/{id}/undo`.
pub async fn undo(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    number: Result<Path<i64>, PathRejection>,
) -> JsonResult<ChangedAnswer> {
    let Path(number) = number.map_err(|_| Refusal::NoOrderToUndo)?;
    answer(undo_order(&web, &visitor.access, number).await?)
}

fn answer((number, record): (i64, ChannelsRecord)) -> JsonResult<ChangedAnswer> {
    let unchanged = record.unchanged.into_iter();
    Ok(Json(ChangedAnswer {
        number,
        changed: record.changed.into_iter().map(|(channel, _)| channel).collect(),
        unchanged: unchanged.map(|(channel, why)| UnchangedChannel { channel, why }).collect(),
    }))
}

/// Parses the change of a setting.
pub fn parse_change(
    web: &Web,
    setting: &str,
    value: Option<&str>,
) -> Result<ChannelChange, ApiProblem> {
    let malformed = || ApiProblem::from(Refusal::WrongBody(refusals::format_of_channels));
    let value = value.map(str::trim);
    Ok(match (setting, value) {
        ("mode", None) => ChannelChange::Mode(None),
        ("mode", Some(name)) => {
            let mode = Mode::ALL.into_iter().find(|mode| mode.name() == name);
            ChannelChange::Mode(Some(mode.ok_or_else(malformed)?))
        }
        ("mute", None) => ChannelChange::Mute(None),
        ("mute", Some("on")) => ChannelChange::Mute(Some(Timestamp::MAX.as_millisecond())),
        ("mute", Some(minutes)) => {
            let minutes = minutes.parse().map_err(|_| malformed())?;
            ChannelChange::Mute(Some(mute_end(web, Some(minutes))?.as_millisecond()))
        }
        ("min_confidence", None) => ChannelChange::MinConfidence(None),
        ("min_confidence", Some(share)) => {
            let Some(PlaceSetting::MinConfidence(least)) = SettingKind::MinConfidence.parse(share)
            else {
                return Err(malformed());
            };
            ChannelChange::MinConfidence(Some(least.thousandths()))
        }
        _ => return Err(malformed()),
    })
}

/// Changes channels of a workspace, and returns the number of the order in the journal.
pub async fn change_channels(
    web: &Web,
    access: &Access,
    workspace: WorkspaceId,
    channels: BTreeSet<ChannelId>,
    change: ChannelChange,
) -> Result<(i64, ChannelsRecord), ApiProblem> {
    access.require_orders()?;
    let known = web.archive.channels(&workspace).await?.into_iter().map(|channel| channel.id);
    let known: BTreeSet<ChannelId> = known.collect();
    let (channels, unknown) = channels.into_iter().partition(|id| known.contains(id));
    let what = ChannelsOrderKind::Change { change, channels, unknown };
    give(web, ChannelsOrder { workspace, what, by: access.signature() }).await
}

/// Undoes an order for several channels, and returns the number of the order that does so.
pub async fn undo_order(
    web: &Web,
    access: &Access,
    number: i64,
) -> Result<(i64, ChannelsRecord), ApiProblem> {
    access.require_orders()?;
    let given = find(web, number).await?;
    let given = given.filter(|(_, record)| record.may_undo());
    let (given, record) = given.ok_or(Refusal::NoOrderToUndo)?;
    let what = ChannelsOrderKind::Undo { number, record };
    give(web, ChannelsOrder { workspace: given.workspace, what, by: access.signature() }).await
}

/// Finds an order for several channels in the journal.
pub async fn find(
    web: &Web,
    number: i64,
) -> Result<Option<(GivenOrder, ChannelsRecord)>, ApiProblem> {
    let before = Some(number.saturating_add(1));
    let query = OrderJournalQuery { workspace: None, before, limit: 1 };
    let given = web.archive.order_journal(&query).await?.pop();
    let Some(given) = given.filter(|given| given.number == number) else { return Ok(None) };
    Ok(given.channels()?.map(|record| (given, record)))
}

async fn give(web: &Web, order: ChannelsOrder) -> Result<(i64, ChannelsRecord), ApiProblem> {
    let (workspace, by) = (order.workspace.clone(), order.by.clone());
    match workspace == workspace_id() {
        true => web.room.change_channels(order).await?,
        false => web.inbox.change_channels(order).await?,
    }
    // Others may have given orders meanwhile.
    let query = OrderJournalQuery { workspace: Some(workspace), before: None, limit: 20 };
    for given in web.archive.order_journal(&query).await? {
        if let Some(record) = given.channels()?.filter(|_| given.by == by) {
            return Ok((given.number, record));
        }
    }
    Err(Refusal::NoOrderToUndo.into())
}
