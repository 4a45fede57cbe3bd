//! Orders of users in the local room: its modes, and whether the persona may speak. An order applies at once.

use std::sync::Arc;

use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::chat::{Channel, ChannelId, Role, UserId};
use aizuchi_model::decision::trust::{TrustChoice, TrustOffer};
use aizuchi_model::rules::{Mode, Rulebook};
use aizuchi_store::StoreError;
use aizuchi_store::order::Order;
use jiff::{SignedDuration, Timestamp};

use crate::local::LocalRoom;
use crate::local::error::LocalRoomError;
use crate::local::limits::MAX_MUTE_MINUTES;

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

/// A user's choice of whether the persona hears them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsentChange {
    OptOut,
    OptIn,
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

    /// Mutes one channel or all. Without `minutes`, the mute lasts until it is revoked. The journal records `by`, as
    /// with the other orders.
    pub async fn mute(
        &self,
        channel: Option<ChannelId>,
        minutes: Option<u64>,
        by: &str,
    ) -> Result<(), LocalRoomError> {
        let until = match minutes {
            None => Timestamp::MAX,
            Some(minutes @ 1..=MAX_MUTE_MINUTES) => {
                self.clock.now() + SignedDuration::from_mins(minutes.cast_signed())
            }
            Some(_) => return Err(LocalRoomError::InvalidMinutes),
        };
        self.require_optional_channel(channel.as_ref()).await?;
        let (workspace, role) = (workspace_id(), Role::Admin);
        self.apply_order(Order::Mute { workspace, channel, until, by: role }, by).await
    }

    pub async fn unmute(&self, channel: Option<ChannelId>, by: &str) -> Result<(), LocalRoomError> {
        self.require_optional_channel(channel.as_ref()).await?;
        let (workspace, role) = (workspace_id(), Role::Admin);
        self.apply_order(Order::Unmute { workspace, channel, by: role }, by).await
    }

    /// Sets the mode of a channel. `None` returns it to the configured mode.
    pub async fn set_mode(
        &self,
        channel: ChannelId,
        mode: Option<Mode>,
        by: &str,
    ) -> Result<(), LocalRoomError> {
        self.require_channel(&channel).await?;
        self.apply_order(Order::Mode { workspace: workspace_id(), channel, mode }, by).await
    }

    /// Answers whether the persona may post without approval in a channel.
    pub async fn answer_trust(
        &self,
        offer: &TrustOffer,
        choice: TrustChoice,
        by: Arc<str>,
    ) -> Result<(), StoreError> {
        let order = Order::answer_trust(offer, choice, by.clone());
        self.inbox.apply_order(order.signed(by)).await?;
        self.changes.send_modify(|changes| *changes += 1);
        Ok(())
    }

    /// Opts a user out or in. The user need not have written anything yet.
    pub async fn change_consent(
        &self,
        user: &str,
        listening: ConsentChange,
        by: &str,
    ) -> Result<(), LocalRoomError> {
        let (workspace, user) = (workspace_id(), UserId::new(self.parse_name(user)?));
        let order = match listening {
            ConsentChange::OptOut => Order::OptOut { workspace, user },
            ConsentChange::OptIn => Order::OptIn { workspace, user },
        };
        self.apply_order(order, by).await
    }

    async fn require_optional_channel(
        &self,
        channel: Option<&ChannelId>,
    ) -> Result<(), LocalRoomError> {
        match channel {
            Some(channel) => self.require_channel(channel).await,
            None => Ok(()),
        }
    }

    async fn apply_order(&self, order: Order, by: &str) -> Result<(), LocalRoomError> {
        self.inbox.apply_order(order.signed(by)).await?;
        self.changes.send_modify(|changes| *changes += 1);
        Ok(())
    }
}
