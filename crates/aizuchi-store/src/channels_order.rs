//! One order for several channels: what it changes, for the journal, and the orders that undo it.

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, Role, WorkspaceId};
use aizuchi_model::rules::Mode;
use aizuchi_model::rules::setting_override::{
    SettingChange, SettingKind, SettingRole, SettingScope,
};
use jiff::Timestamp;

use crate::order::{Order, OrdersInForce};
use crate::order_journal::{ChangedChannel, ChannelsRecord, Ordered};

/// Where orders are given, by whom and when.
type Given<'a> = (&'a WorkspaceId, &'a Arc<str>, Timestamp);

impl ChannelsRecord {
    /// Adds what the orders change, given what is in force. If this undoes an order, returns the orders that restore
    /// what is still as that order left it.
    pub fn resolve(
        mut self,
        orders: Vec<Order>,
        mut in_force: OrdersInForce,
        given: Given<'_>,
    ) -> (Vec<Order>, Self) {
        if self.undoes.is_some() {
            let (kept, others): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.changed).into_iter().partition(|it| {
                    let now = ordered(&in_force, &it.channel);
                    it.kinds().all(|kind| now.get(kind) == it.after.get(kind))
                });
            self.changed = kept;
            self.unchanged = others.into_iter().map(|it| it.channel).collect();
            return (self.changed.iter().flat_map(|it| it.undo(given)).collect(), self);
        }
        for record in orders.iter().filter_map(Order::to_record) {
            self.what = Some((record.kind, record.value));
        }
        for order in &orders {
            let Some(channel) = order.to_record().and_then(|it| it.channel) else { continue };
            let before = ordered(&in_force, &channel);
            in_force.apply(order, given.2);
            let after = ordered(&in_force, &channel);
            let differs = |kind: &String| before.get(kind) != after.get(kind);
            let changed = |all: &Ordered| {
                let changed = all.iter().filter(|(kind, _)| differs(kind));
                changed.map(|(kind, values)| (kind.clone(), values.clone())).collect()
            };
            let changed =
                ChangedChannel { channel, before: changed(&before), after: changed(&after) };
            let differs = changed.kinds().next().is_some();
            match differs {
                true => self.changed.push(changed),
                false => self.already += 1,
            }
        }
        (orders, self)
    }
}

impl ChangedChannel {
    /// Modes come before confidences, since ordering a mode withdraws a keeper's.
    fn kinds(&self) -> impl Iterator<Item = &String> {
        let others = self.after.keys().filter(|kind| !self.before.contains_key(*kind));
        let mut kinds: Vec<_> = self.before.keys().chain(others).collect();
        kinds.sort_by_key(|kind| *kind != "mode");
        kinds.into_iter()
    }

    /// Returns the orders that restore what was before. An admin's comes first, since it replaces those of other roles.
    fn undo(&self, given: Given<'_>) -> Vec<Order> {
        let mut orders = Vec::new();
        for kind in self.kinds() {
            let values = self.before.get(kind).into_iter().flatten().rev();
            let cleared = (SettingRole::Admin, None);
            let values = values.map(|(role, value)| (*role, Some(&**value)));
            for (role, value) in [cleared].into_iter().chain(values) {
                orders.extend(order(&self.channel, (kind, role, value), given));
            }
        }
        orders
    }
}

impl Order {
    /// Adds to an order for several channels what it changes, given what is in force.
    pub fn resolve(self, in_force: OrdersInForce, now: Timestamp) -> Self {
        match self {
            Order::Signed { order, by } => match *order {
                Order::InChannels { workspace, orders, record } => {
                    let (orders, record) = record.resolve(orders, in_force, (&workspace, &by, now));
                    Order::InChannels { workspace, orders, record }.signed(by)
                }
                other => other.signed(by),
            },
            other => other,
        }
    }
}

fn ordered(in_force: &OrdersInForce, channel: &ChannelId) -> Ordered {
    let mut ordered = Ordered::new();
    let mut put = |kind: &str, role, value| {
        let values = ordered.entry(kind.to_owned()).or_default();
        values.push((role, value));
        values.sort();
    };
    for (_, mode) in in_force.modes.iter().filter(|(id, _)| id == channel) {
        put("mode", SettingRole::Admin, mode.name().to_owned());
    }
    for (_, mute) in in_force.mutes.iter().filter(|(id, _)| id.as_ref() == Some(channel)) {
        put("mute", mute.by.into(), mute.until.as_millisecond().to_string());
    }
    let scope = SettingScope::Channel(channel.clone());
    for order in in_force.settings.iter().filter(|order| order.scope == scope) {
        put(order.setting.kind().name(), order.role, order.setting.to_string());
    }
    ordered
}

/// Returns the order of a value, or without one, of clearing what was ordered. `None` if this version does not know it.
fn order(
    channel: &ChannelId,
    (kind, role, value): (&str, SettingRole, Option<&str>),
    (workspace, by, at): Given<'_>,
) -> Option<Order> {
    let (workspace, id, by) = (workspace.clone(), channel.clone(), by.clone());
    Some(match (kind, value) {
        ("mode", name) => {
            let mode = Mode::ALL.into_iter().find(|mode| Some(mode.name()) == name);
            Order::Mode { workspace, channel: id, mode }
        }
        ("mute", None) => Order::Unmute { workspace, channel: Some(id), by: Role::Admin },
        ("mute", Some(end)) => {
            let end: i64 = end.parse().ok()?;
            let is_endless = end >= Timestamp::MAX.as_millisecond();
            let until =
                if is_endless { Timestamp::MAX } else { Timestamp::from_millisecond(end).ok()? };
            let by = if role == SettingRole::Admin { Role::Admin } else { Role::Member };
            Order::Mute { workspace, channel: Some(id), until, by }
        }
        (kind, value) => {
            let kind = SettingKind::from_name(kind)?;
            let change = match value {
                Some(value) => SettingChange::Set(kind.parse(value)?),
                None => SettingChange::Clear(kind),
            };
            let scope = SettingScope::Channel(id);
            Order::ChangeSetting { workspace, scope, change, role, by, at }
        }
    })
}
