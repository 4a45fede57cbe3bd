//! What people order in plain words, in either language: that it says why, keeps quiet, or forgets them. The
//! whole line after its name has to be a command; anything else is talk, for a mind to answer.

pub mod answer;
pub mod read;
pub mod words;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{ConversationId, Message, Role, UserId, Visibility};
use crate::rules::Mode;
use crate::store::Order;

/// `stop` is said in anger or in a meeting; both are over after a while.
pub const STOPS_FOR: SignedDuration = SignedDuration::from_hours(1);
/// Nobody is muted by a slip of the finger for longer than this; whoever wants more says no end at all.
pub const LONGEST_MUTE: SignedDuration = SignedDuration::from_hours(24 * 365);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Why it spoke last here, or said nothing.
    Why,
    /// How it takes part here.
    Status,
    /// What it remembers of this place.
    Memory,
    /// Say nothing, for so long or until somebody says otherwise.
    Mute {
        length: Option<SignedDuration>,
        place: Place,
    },
    Unmute(Place),
    /// Say nothing more here for now.
    Stop,
    /// Take part here like this; `None`: as the settings say.
    Mode(Option<Mode>),
    /// Begin anew here: nothing that was said so far.
    Reset,
    ForgetMe,
    OptOut,
    OptIn,
    /// Which commands there are.
    Help,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Here,
    Everywhere,
}

/// A command, who gave it, where and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    pub command: Command,
    pub place: ConversationId,
    /// Who reads along.
    pub visibility: Visibility,
    pub by: UserId,
    pub role: Role,
    pub at: Timestamp,
}

impl Given {
    pub fn of(command: Command, message: &Message, visibility: Visibility, role: Role) -> Self {
        Self {
            command,
            place: message.conversation.clone(),
            visibility,
            by: message.author.id.clone(),
            role,
            at: message.at,
        }
    }

    /// Everybody may make it quieter where they are, and speak for themselves. How it takes part, what holds
    /// everywhere, and what others have said, is for those who look after the place.
    pub fn is_allowed(&self) -> bool {
        match self.command {
            Command::Mode(_)
            | Command::Mute { place: Place::Everywhere, .. }
            | Command::Unmute(Place::Everywhere) => self.role == Role::Admin,
            Command::Reset => self.visibility == Visibility::Direct || self.role == Role::Admin,
            Command::Why
            | Command::Status
            | Command::Memory
            | Command::Mute { place: Place::Here, .. }
            | Command::Unmute(Place::Here)
            | Command::Stop
            | Command::ForgetMe
            | Command::OptOut
            | Command::OptIn
            | Command::Help => true,
        }
    }

    /// What is to be kept because of it, if anything. Carrying it out twice is carrying it out once.
    pub fn order(&self) -> Option<Order> {
        let workspace = self.place.workspace.clone();
        let channel = |place: Place| (place == Place::Here).then(|| self.place.channel.clone());
        let (by, user) = (self.role, self.by.clone());
        let mute = |length: Option<SignedDuration>, place: Place| {
            let until = length.map_or(Timestamp::MAX, |length| self.at + length);
            Order::Mute { workspace: workspace.clone(), channel: channel(place), until, by }
        };
        if !self.is_allowed() {
            return None;
        }
        Some(match self.command {
            Command::Why | Command::Status | Command::Memory | Command::Help => return None,
            Command::Mute { length, place } => mute(length, place),
            Command::Stop => mute(Some(STOPS_FOR), Place::Here),
            Command::Unmute(place) => Order::Unmute { workspace, channel: channel(place), by },
            Command::Mode(mode) => {
                Order::Mode { workspace, channel: self.place.channel.clone(), mode }
            }
            Command::Reset => Order::Reset { conversation: self.place.clone(), until: self.at },
            Command::ForgetMe => Order::Forget { workspace, user },
            Command::OptOut => Order::OptOut { workspace, user },
            Command::OptIn => Order::OptIn { workspace, user },
        })
    }
}
