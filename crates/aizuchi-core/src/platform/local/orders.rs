//! What people in the room order: how it takes part, and whether it may speak. An order holds at once.

use jiff::{SignedDuration, Timestamp};

use crate::chat::{Channel, ChannelId, Role, UserId};
use crate::platform::local::refusal::SayError;
use crate::platform::local::{LocalRoom, workspace};
use crate::rules::{Mode, Rulebook};
use crate::store::{Order, StoreError};

/// A year. Whoever wants more says no end at all.
pub const LONGEST_MUTE_MINUTES: u64 = 525_600;

/// How it takes part in the room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manner {
    pub channels: Vec<ChannelManner>,
    /// It says nothing anywhere until then.
    pub muted_until: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelManner {
    pub channel: Channel,
    pub mode: Mode,
    /// Somebody ordered it; else it is what the settings say.
    pub is_ordered: bool,
    pub muted_until: Option<Timestamp>,
}

/// Whether somebody wants to be listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listening {
    OptOut,
    OptIn,
}

impl LocalRoom {
    /// The channels by name, and what holds there now.
    pub async fn manner(&self) -> Result<Manner, StoreError> {
        let orders = self.ears.store.orders(&workspace()).await?;
        let now = self.clock.now();
        let manner = |channel: Channel| {
            let muted = orders.muted_here(&channel.id, now);
            ChannelManner {
                mode: self.ears.rooms.mode(&workspace(), &channel.id),
                is_ordered: self.ears.rooms.ordered_mode(&workspace(), &channel.id).is_some(),
                muted_until: muted.map(|mute| mute.until),
                channel,
            }
        };
        Ok(Manner {
            channels: self.channels().await?.into_iter().map(manner).collect(),
            muted_until: orders.muted_everywhere(now).map(|mute| mute.until),
        })
    }

    /// What the settings say.
    pub fn rulebook(&self) -> &Rulebook {
        self.ears.rooms.rulebook()
    }

    /// It says nothing for so long, in one channel or in all; without an end, until it is unmuted.
    pub async fn mute(
        &self,
        channel: Option<ChannelId>,
        minutes: Option<u64>,
    ) -> Result<(), SayError> {
        let until = match minutes {
            None => Timestamp::MAX,
            Some(minutes @ 1..=LONGEST_MUTE_MINUTES) => {
                self.clock.now() + SignedDuration::from_mins(minutes.cast_signed())
            }
            Some(_) => return Err(SayError::BadMinutes),
        };
        self.known(channel.as_ref()).await?;
        self.order(Order::Mute { workspace: workspace(), channel, until, by: Role::Admin }).await
    }

    pub async fn unmute(&self, channel: Option<ChannelId>) -> Result<(), SayError> {
        self.known(channel.as_ref()).await?;
        self.order(Order::Unmute { workspace: workspace(), channel, by: Role::Admin }).await
    }

    /// Without a mode it takes part there as the settings say.
    pub async fn take_part(&self, channel: ChannelId, mode: Option<Mode>) -> Result<(), SayError> {
        self.known_channel(&channel).await?;
        self.order(Order::Mode { workspace: workspace(), channel, mode }).await
    }

    /// Listens to somebody, or no longer. They need not have said anything yet.
    pub async fn listen(&self, user: &str, listening: Listening) -> Result<(), SayError> {
        let (workspace, user) = (workspace(), UserId::new(self.name(user)?));
        self.order(match listening {
            Listening::OptOut => Order::OptOut { workspace, user },
            Listening::OptIn => Order::OptIn { workspace, user },
        })
        .await
    }

    async fn known(&self, channel: Option<&ChannelId>) -> Result<(), SayError> {
        match channel {
            Some(channel) => self.known_channel(channel).await,
            None => Ok(()),
        }
    }

    async fn order(&self, order: Order) -> Result<(), SayError> {
        self.ears.order(order).await?;
        self.changes.send_modify(|changes| *changes += 1);
        Ok(())
    }
}
