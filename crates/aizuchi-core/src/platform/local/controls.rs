//! What people in the room order: how it takes part, and whether it may speak. An order holds at once.

use jiff::{SignedDuration, Timestamp};

use crate::chat::{Channel, ChannelId, Role, UserId};
use crate::platform::local::error::LocalRoomError;
use crate::platform::local::{LocalRoom, workspace_id};
use crate::rules::{Mode, Rulebook};
use crate::store::{Order, StoreError};

/// A year. Whoever wants more says no end at all.
pub const MAX_MUTE_MINUTES: u64 = 525_600;

/// How it takes part in the room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomControls {
    pub channels: Vec<ChannelControls>,
    /// It says nothing anywhere until then.
    pub muted_until: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelControls {
    pub channel: Channel,
    pub mode: Mode,
    /// Somebody ordered it; else it is what the settings say.
    pub is_overridden: bool,
    pub muted_until: Option<Timestamp>,
}

/// Whether somebody wants to be listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsentChange {
    OptOut,
    OptIn,
}

impl LocalRoom {
    /// The channels by name, and what holds there now.
    pub async fn controls(&self) -> Result<RoomControls, StoreError> {
        let orders = self.inbox.store.orders(&workspace_id()).await?;
        let now = self.clock.now();
        let manner = |channel: Channel| {
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
            channels: self.channels().await?.into_iter().map(manner).collect(),
            muted_until: orders.workspace_mute(now).map(|mute| mute.until),
        })
    }

    /// What the settings say.
    pub fn rulebook(&self) -> &Rulebook {
        self.inbox.channel_cache.rulebook()
    }

    /// It says nothing for so long, in one channel or in all; without an end, until it is unmuted.
    pub async fn mute(
        &self,
        channel: Option<ChannelId>,
        minutes: Option<u64>,
    ) -> Result<(), LocalRoomError> {
        let until = match minutes {
            None => Timestamp::MAX,
            Some(minutes @ 1..=MAX_MUTE_MINUTES) => {
                self.clock.now() + SignedDuration::from_mins(minutes.cast_signed())
            }
            Some(_) => return Err(LocalRoomError::InvalidMinutes),
        };
        self.require_optional_channel(channel.as_ref()).await?;
        self.apply_order(Order::Mute { workspace: workspace_id(), channel, until, by: Role::Admin })
            .await
    }

    pub async fn unmute(&self, channel: Option<ChannelId>) -> Result<(), LocalRoomError> {
        self.require_optional_channel(channel.as_ref()).await?;
        self.apply_order(Order::Unmute { workspace: workspace_id(), channel, by: Role::Admin })
            .await
    }

    /// Without a mode it takes part there as the settings say.
    pub async fn set_mode(
        &self,
        channel: ChannelId,
        mode: Option<Mode>,
    ) -> Result<(), LocalRoomError> {
        self.require_channel(&channel).await?;
        self.apply_order(Order::Mode { workspace: workspace_id(), channel, mode }).await
    }

    /// Listens to somebody, or no longer. They need not have said anything yet.
    pub async fn change_consent(
        &self,
        user: &str,
        listening: ConsentChange,
    ) -> Result<(), LocalRoomError> {
        let (workspace, user) = (workspace_id(), UserId::new(self.parse_name(user)?));
        self.apply_order(match listening {
            ConsentChange::OptOut => Order::OptOut { workspace, user },
            ConsentChange::OptIn => Order::OptIn { workspace, user },
        })
        .await
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

    async fn apply_order(&self, order: Order) -> Result<(), LocalRoomError> {
        self.inbox.apply_order(order).await?;
        self.changes.send_modify(|changes| *changes += 1);
        Ok(())
    }
}
