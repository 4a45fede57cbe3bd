//! One order for several channels: a change of each, recorded together with what each had before, so that it can be
//! undone.

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, Role, WorkspaceId};
use aizuchi_model::named_enum;
use aizuchi_model::rules::Mode;
use aizuchi_model::rules::setting_override::{
    Confidence, PlaceSetting, SettingChange, SettingKind, SettingRole, SettingScope,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::order::{Order, OrdersInForce};
use crate::order_journal::{GivenOrder, OrderKind};

/// A request to change several channels of a workspace.
#[derive(Clone, Debug)]
pub struct ChannelsOrder {
    pub workspace: WorkspaceId,
    pub what: ChannelsOrderKind,
    /// As in [`GivenOrder::by`].
    pub by: Arc<str>,
}

#[derive(Clone, Debug)]
pub enum ChannelsOrderKind {
    Change {
        change: ChannelChange,
        channels: Vec<ChannelId>,
        /// Channels that were named, but do not exist.
        unknown: Vec<ChannelId>,
    },
    /// Restore what the channels had before this order, except for those that were changed since.
    Undo { number: i64, record: ChannelsRecord },
}

/// A change of what is ordered for a channel, given as an admin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChannelChange {
    /// `None`: as configured.
    Mode(Option<Mode>),
    /// The end in epoch milliseconds. `None` lifts the mutes.
    Mute(Option<i64>),
    /// In thousandths. `None`: as configured.
    MinConfidence(Option<u16>),
}

/// What the journal keeps of an order for several channels. It names no users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelsRecord {
    pub change: ChannelChange,
    /// The number of the order that this one undoes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<i64>,
    /// Each channel that was changed, with what was ordered for it before.
    pub changed: Vec<(ChannelId, OrderedBefore)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchanged: Vec<(ChannelId, UnchangedReason)>,
}

named_enum! {
    /// Why a channel was left as it is.
    pub enum UnchangedReason {
        /// There is no such channel.
        Unknown,
        /// Somebody changed it after the order that was to be undone.
        ChangedSince,
    }
}

/// What is ordered for a channel, as far as a change replaces it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OrderedBefore {
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Mode>,
    /// The ends of mutes in epoch milliseconds, by role.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mutes: Vec<(Role, i64)>,
    /// The minimum confidences in thousandths, by role.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    confidences: Vec<(SettingRole, u16)>,
}

impl ChannelsRecord {
    /// Whether there is anything to undo. What undoes an order is not undone.
    pub fn may_undo(&self) -> bool {
        self.undoes.is_none() && !self.changed.is_empty()
    }
}

impl ChannelsOrder {
    /// Returns the order to store, given what is in force.
    pub fn resolve(self, in_force: &OrdersInForce, now: Timestamp) -> Order {
        let mut orders = Vec::new();
        let place = (&self.workspace, &self.by, now);
        let record = match self.what {
            ChannelsOrderKind::Change { change, channels, unknown } => {
                let unknown = unknown.into_iter().map(|id| (id, UnchangedReason::Unknown));
                let mut record = ChannelsRecord {
                    change,
                    undoes: None,
                    changed: Vec::new(),
                    unchanged: unknown.collect(),
                };
                for channel in channels {
                    let before = change.ordered_in(in_force, &channel);
                    if before != change.outcome(&before) {
                        orders.push(change.order(&channel, place));
                        record.changed.push((channel, before));
                    }
                }
                record
            }
            ChannelsOrderKind::Undo { number, record } => {
                let mut undone = ChannelsRecord {
                    undoes: Some(number),
                    changed: Vec::new(),
                    unchanged: Vec::new(),
                    ..record
                };
                for (channel, before) in record.changed {
                    let ordered = record.change.ordered_in(in_force, &channel);
                    if ordered == record.change.outcome(&before) {
                        orders.extend(record.change.undo(&before, &channel, place));
                        undone.changed.push((channel, ordered));
                    } else {
                        undone.unchanged.push((channel, UnchangedReason::ChangedSince));
                    }
                }
                undone
            }
        };
        Order::InChannels { workspace: self.workspace, orders, record }.signed(self.by)
    }
}

/// The workspace, who orders it, and when.
type Given<'a> = (&'a WorkspaceId, &'a Arc<str>, Timestamp);

impl ChannelChange {
    /// Returns what is ordered for a channel, as far as this change replaces it.
    fn ordered_in(self, in_force: &OrdersInForce, channel: &ChannelId) -> OrderedBefore {
        let scope = SettingScope::Channel(channel.clone());
        let confidences = in_force.settings.iter().filter(|it| it.scope == scope);
        let confidences = confidences.filter_map(|it| match it.setting {
            PlaceSetting::MinConfidence(confidence) => Some((it.role, confidence.thousandths())),
            PlaceSetting::Language(_)
            | PlaceSetting::Timing(_)
            | PlaceSetting::Announce(_)
            | PlaceSetting::Tools(_)
            | PlaceSetting::Memory(_)
            | PlaceSetting::Model(_) => None,
        });
        match self {
            Self::Mode(_) => OrderedBefore {
                mode: in_force.modes.iter().find(|(id, _)| id == channel).map(|(_, mode)| *mode),
                confidences: confidences.filter(|(role, _)| *role == SettingRole::Keeper).collect(),
                ..OrderedBefore::default()
            },
            Self::Mute(_) => {
                let here =
                    in_force.mutes.iter().filter(|(muted, _)| muted.as_ref() == Some(channel));
                let mutes = here.map(|(_, mute)| (mute.by, mute.until.as_millisecond()));
                let mut ordered = OrderedBefore { mutes: mutes.collect(), ..Default::default() };
                ordered.mutes.sort();
                ordered
            }
            Self::MinConfidence(_) => {
                OrderedBefore { confidences: confidences.collect(), ..OrderedBefore::default() }
            }
        }
    }

    /// Returns what is ordered after this change.
    fn outcome(self, before: &OrderedBefore) -> OrderedBefore {
        let nothing = OrderedBefore::default();
        match self {
            Self::Mode(mode) => OrderedBefore { mode, ..nothing },
            Self::Mute(None) => nothing,
            Self::Mute(Some(end)) => {
                let others = before.mutes.iter().copied().filter(|(role, _)| *role != Role::Admin);
                OrderedBefore { mutes: others.chain([(Role::Admin, end)]).collect(), ..nothing }
            }
            Self::MinConfidence(least) => {
                let confidences = least.map(|least| (SettingRole::Admin, least)).into_iter();
                OrderedBefore { confidences: confidences.collect(), ..nothing }
            }
        }
    }

    /// Returns the order that makes this change in one channel.
    pub fn order(self, channel: &ChannelId, (workspace, by, at): Given<'_>) -> Order {
        let (workspace, id) = (workspace.clone(), channel.clone());
        match self {
            Self::Mode(mode) => Order::Mode { workspace, channel: id, mode },
            Self::Mute(None) => Order::Unmute { workspace, channel: Some(id), by: Role::Admin },
            Self::Mute(Some(end)) => {
                let (channel, until) = (Some(id), end_of_mute(end));
                Order::Mute { workspace, channel, until, by: Role::Admin }
            }
            Self::MinConfidence(least) => {
                let role = SettingRole::Admin;
                let set = least.and_then(|it| Confidence::from_thousandths(it.into()));
                let change = match set {
                    Some(least) => SettingChange::Set(PlaceSetting::MinConfidence(least)),
                    None => SettingChange::Clear(SettingKind::MinConfidence),
                };
                let scope = SettingScope::Channel(id);
                Order::ChangeSetting { workspace, scope, change, role, by: by.clone(), at }
            }
        }
    }

    /// Returns the orders that restore what was ordered for a channel. An admin's comes first, since it replaces those
    /// of other roles.
    fn undo(self, before: &OrderedBefore, channel: &ChannelId, given: Given<'_>) -> Vec<Order> {
        let cleared = match self {
            Self::Mode(_) => Self::Mode(before.mode),
            Self::Mute(_) => Self::Mute(None),
            Self::MinConfidence(_) => Self::MinConfidence(None),
        };
        let (workspace, by, at) = given;
        let mutes = before.mutes.iter().map(|(role, end)| Order::Mute {
            workspace: workspace.clone(),
            channel: Some(channel.clone()),
            until: end_of_mute(*end),
            by: *role,
        });
        let settings = before.confidences.iter().rev().filter_map(|(role, least)| {
            let least = Confidence::from_thousandths((*least).into())?;
            Some(Order::ChangeSetting {
                workspace: workspace.clone(),
                scope: SettingScope::Channel(channel.clone()),
                change: SettingChange::Set(PlaceSetting::MinConfidence(least)),
                role: *role,
                by: by.clone(),
                at,
            })
        });
        [cleared.order(channel, given)].into_iter().chain(mutes).chain(settings).collect()
    }
}

impl GivenOrder {
    /// Describes an order for several channels as one for a channel.
    pub fn as_one(&self, ChannelsRecord { change, .. }: &ChannelsRecord) -> Self {
        let order = change.order(&ChannelId::new(""), (&self.workspace, &self.by, self.at));
        let record = order.to_record().unwrap_or_else(|| self.record.clone());
        Self { record, ..self.clone() }
    }

    /// What an order for several channels did. `None` for other orders.
    pub fn channels(&self) -> Result<Option<ChannelsRecord>, StoreError> {
        if self.record.kind != OrderKind::ChangeChannels {
            return Ok(None);
        }
        let record = serde_json::from_str(self.record.value.as_deref().unwrap_or_default());
        record
            .map(Some)
            .map_err(|error| StoreError::Broken(format!("the order's channels: {error}")))
    }
}

fn end_of_mute(end: i64) -> Timestamp {
    Timestamp::from_millisecond(end)
        .ok()
        .filter(|_| end < Timestamp::MAX.as_millisecond())
        .unwrap_or(Timestamp::MAX)
}
