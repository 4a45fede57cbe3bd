//! What hearing has to know of the rooms without looking it up: their names, who may read them, how it
//! takes part there, and who does not want to be listened to.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::{RwLock as Turns, RwLockReadGuard, RwLockWriteGuard};

use crate::chat::{Channel, ChannelId, UserId, Visibility, WorkspaceId};
use crate::rules::{Facilitation, Mode, Rulebook};
use crate::store::{Order, Orders};

/// Learned from what is heard and ordered.
#[derive(Debug, Default)]
pub struct Rooms {
    rulebook: Arc<Rulebook>,
    known: RwLock<Known>,
    turns: Turns<()>,
}

#[derive(Debug, Default)]
struct Known {
    channels: HashMap<(WorkspaceId, ChannelId), Channel>,
    modes: HashMap<(WorkspaceId, ChannelId), Mode>,
    opted_out: BTreeSet<(WorkspaceId, UserId)>,
}

impl Rooms {
    pub fn new(rulebook: Arc<Rulebook>) -> Self {
        Self { rulebook, known: RwLock::default(), turns: Turns::default() }
    }

    /// Held by what is heard until it is kept: no order comes between. Lines do not wait for each other.
    pub async fn hear(&self) -> RwLockReadGuard<'_, ()> {
        self.turns.read().await
    }

    /// Held by an order until it is kept: nothing is heard meanwhile, and orders are obeyed in the order
    /// that they are kept in.
    pub async fn order(&self) -> RwLockWriteGuard<'_, ()> {
        self.turns.write().await
    }

    pub fn rulebook(&self) -> &Arc<Rulebook> {
        &self.rulebook
    }

    pub fn learn(&self, channel: &Channel) {
        let key = (channel.workspace.clone(), channel.id.clone());
        self.write(|known| known.channels.insert(key, channel.clone()));
    }

    /// What people have ordered in a workspace, all of it.
    pub fn obey(&self, workspace: &WorkspaceId, orders: &Orders) {
        self.write(|known| {
            known.modes.retain(|(other, _), _| other != workspace);
            known.opted_out.retain(|(other, _)| other != workspace);
            let modes = orders.modes.iter();
            known.modes.extend(modes.map(|(id, mode)| ((workspace.clone(), id.clone()), *mode)));
            let users = orders.opted_out.iter();
            known.opted_out.extend(users.map(|user| (workspace.clone(), user.clone())));
        });
    }

    /// One order more.
    pub fn take(&self, order: &Order) {
        let workspace = order.workspace().clone();
        self.write(|known| match order {
            Order::Mode { channel, mode: Some(mode), .. } => {
                known.modes.insert((workspace, channel.clone()), *mode);
            }
            Order::Mode { channel, mode: None, .. } => {
                known.modes.remove(&(workspace, channel.clone()));
            }
            Order::OptOut { user, .. } => {
                known.opted_out.insert((workspace, user.clone()));
            }
            Order::OptIn { user, .. } => {
                known.opted_out.remove(&(workspace, user.clone()));
            }
            // These are looked up where they matter.
            Order::Mute { .. }
            | Order::Unmute { .. }
            | Order::Withhold { .. }
            | Order::Remember { .. }
            | Order::Note { .. } => {}
        });
    }

    pub fn facilitation(&self, workspace: &WorkspaceId, channel: &ChannelId) -> Facilitation {
        let key = (workspace.clone(), channel.clone());
        self.read(|known| {
            let name = known.channels.get(&key).map_or("", |channel| &*channel.name);
            self.rulebook.of(channel, name).facilitation
        })
    }

    /// The mode that people gave a channel, if they have.
    pub fn ordered_mode(&self, workspace: &WorkspaceId, channel: &ChannelId) -> Option<Mode> {
        let key = (workspace.clone(), channel.clone());
        self.read(|known| known.modes.get(&key).copied())
    }

    pub fn mode(&self, workspace: &WorkspaceId, channel: &ChannelId) -> Mode {
        let key = (workspace.clone(), channel.clone());
        self.read(|known| {
            let name = known.channels.get(&key).map_or("", |channel| &*channel.name);
            let ordered = known.modes.get(&key).copied();
            ordered.unwrap_or_else(|| self.rulebook.of(channel, name).mode)
        })
    }

    /// Whoever writes there writes to the persona.
    pub fn is_direct(&self, workspace: &WorkspaceId, channel: &ChannelId) -> bool {
        let key = (workspace.clone(), channel.clone());
        let direct = |channel: &Channel| channel.visibility == Visibility::Direct;
        self.read(|known| known.channels.get(&key).is_some_and(direct))
    }

    pub fn has_opted_out(&self, workspace: &WorkspaceId, user: &UserId) -> bool {
        let key = (workspace.clone(), user.clone());
        self.rulebook.opted_out.contains(user) || self.read(|known| known.opted_out.contains(&key))
    }

    fn read<T>(&self, look: impl FnOnce(&Known) -> T) -> T {
        look(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut Known) -> T) -> T {
        change(&mut self.known.write().unwrap_or_else(PoisonError::into_inner))
    }
}
