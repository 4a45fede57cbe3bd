//! Orders of users in the local room: its modes, and whether the persona may speak. An order applies at once.

use std::sync::Arc;

use aizuchi_model::chat::Channel;
use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::rules::{Mode, Rulebook};
use aizuchi_store::StoreError;
use aizuchi_store::order::Order;
use jiff::Timestamp;

use crate::local::LocalRoom;

/// How the persona takes part in the local room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomControls {
    pub channels: Vec<ChannelControls>,
    /// Until when it is muted in every channel.
    pub muted_until: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelControls {
    pub channel: Channel,
    pub mode: Mode,
    /// Whether a user ordered the mode; otherwise it comes from the settings.
    pub is_overridden: bool,
    pub muted_until: Option<Timestamp>,
}

impl LocalRoom {
    /// Returns the channels by name with their current state.
    pub async fn controls(&self) -> Result<RoomControls, StoreError> {
        let orders = self.inbox.store.orders(&workspace_id()).await?;
        let now = self.clock.now();
        let channel_controls = |channel: Channel| {
            let muted = orders.channel_mute(&channel.id, now);
            ChannelControls {
                mode: self.inbox.channel_cache.mode(&workspace_id(), &channel.id),
                is_overridden: self
                    .inbox
                    .channel_cache
                    .ordered_mode(&workspace_id(), &channel.id)
                    .is_some(),
                muted_until: muted.map(|mute| mute.until),
                channel,
            }
        };
        Ok(RoomControls {
            channels: self.channels().await?.into_iter().map(channel_controls).collect(),
            muted_until: orders.workspace_mute(now).map(|mute| mute.until),
        })
    }

    /// Returns the rules in force.
    pub fn rulebook(&self) -> Arc<Rulebook> {
        self.inbox.channel_cache.rulebook()
    }

    /// Applies an order of a user, and has open pages show it.
    pub async fn apply_order(&self, order: Order) -> Result<(), StoreError> {
        self.inbox.apply_order(order).await?;
        self.changes.send_modify(|changes| *changes += 1);
        Ok(())
    }
}
