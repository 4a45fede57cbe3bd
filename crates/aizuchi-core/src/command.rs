//! What people order in plain words, in either language: that it says why, keeps quiet, or forgets them. The
//! whole line after its name has to be a command; anything else is talk, for a mind to answer.

pub mod reply;
pub mod parse;
pub mod reply_texts;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{ConversationId, Message, Role, UserId, Visibility};
use crate::rules::Mode;
use crate::store::Order;

/// `stop` is said in anger or in a meeting; both are over after a while.
pub const STOP_DURATION: SignedDuration = SignedDuration::from_hours(1);
/// Nobody is muted by a slip of the finger for longer than this; whoever wants more says no end at all.
pub const MAX_MUTE: SignedDuration = SignedDuration::from_hours(24 * 365);

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
        duration: Option<SignedDuration>,
        scope: MuteScope,
    },
    Unmute(MuteScope),
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
pub enum MuteScope {
    Channel,
    Workspace,
}

/// A command, who gave it, where and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRequest {
    pub command: Command,
    pub conversation: ConversationId,
    /// Who reads along.
    pub visibility: Visibility,
    pub user: UserId,
    pub role: Role,
    pub at: Timestamp,
}

impl CommandRequest {
    pub fn from_message(
        command: Command,
        message: &Message,
        visibility: Visibility,
        role: Role,
    ) -> Self {
        Self {
            command,
            conversation: message.conversation.clone(),
            visibility,
            user: message.author.id.clone(),
            role,
            at: message.at,
        }
    }

    /// Everybody may make it quieter where they are, and speak for themselves. How it takes part, what holds
    /// everywhere, and what others have said, is for those who look after the place.
    pub fn is_allowed(&self) -> bool {
        match self.command {
            Command::Mode(_)
            | Command::Mute { scope: MuteScope::Workspace, .. }
            | Command::Unmute(MuteScope::Workspace) => self.role == Role::Admin,
            Command::Reset => self.visibility == Visibility::Direct || self.role == Role::Admin,
            Command::Why
            | Command::Status
            | Command::Memory
            | Command::Mute { scope: MuteScope::Channel, .. }
            | Command::Unmute(MuteScope::Channel)
            | Command::Stop
            | Command::ForgetMe
            | Command::OptOut
            | Command::OptIn
            | Command::Help => true,
        }
    }

    /// What is to be kept because of it, if anything. Carrying it out twice is carrying it out once.
    pub fn to_order(&self) -> Option<Order> {
        let workspace = self.conversation.workspace.clone();
        let channel = |place: MuteScope| {
            (place == MuteScope::Channel).then(|| self.conversation.channel.clone())
        };
        let (by, user) = (self.role, self.user.clone());
        let mute = |length: Option<SignedDuration>, place: MuteScope| {
            let until = length.map_or(Timestamp::MAX, |length| self.at + length);
            Order::Mute { workspace: workspace.clone(), channel: channel(place), until, by }
        };
        if !self.is_allowed() {
            return None;
        }
        Some(match self.command {
            Command::Why | Command::Status | Command::Memory | Command::Help => return None,
            Command::Mute { duration: length, scope: place } => mute(length, place),
            Command::Stop => mute(Some(STOP_DURATION), MuteScope::Channel),
            Command::Unmute(place) => Order::Unmute { workspace, channel: channel(place), by },
            Command::Mode(mode) => {
                Order::Mode { workspace, channel: self.conversation.channel.clone(), mode }
            }
            Command::Reset => {
                Order::Reset { conversation: self.conversation.clone(), until: self.at }
            }
            Command::ForgetMe => Order::Forget { workspace, user },
            Command::OptOut => Order::OptOut { workspace, user },
            Command::OptIn => Order::OptIn { workspace, user },
        })
    }
}
