//! Commands that users give in plain words, in either language: asking why, muting, forgetting and so on. The
//! whole text after the persona's name must be a command; anything else is conversation, for a model to answer.

pub mod named_message;
pub mod quoted;
pub mod remembered;
pub mod forget_that;
pub mod standing_order_trial;
pub mod standing_orders;
pub mod settings;
pub mod left_out;
pub mod reply;
pub mod memory_reply;
pub mod parse;
pub mod reply_renderer;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{ConversationId, Message, MessageId, Role, UserId, Visibility};
use crate::persona::Language;
use crate::persona::written::language_of;
use crate::rules::setting_override::{SettingKind, SettingRole};
use crate::rules::{Mode, Rulebook};
use crate::store::order::Order;

/// `stop` is said in anger or in a meeting; both pass after a while.
pub const STOP_DURATION: SignedDuration = SignedDuration::from_hours(1);
/// An upper bound that protects against typos. A mute without a duration has no end.
pub const MAX_MUTE: SignedDuration = SignedDuration::from_hours(24 * 365);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Why the persona last spoke here, or stayed silent.
    Why,
    /// How it takes part here.
    Status,
    /// What it remembers and may say here.
    Memory,
    /// Say nothing, for this long or until a user revokes it.
    Mute {
        duration: Option<SignedDuration>,
        scope: MuteScope,
    },
    Unmute(MuteScope),
    /// Say nothing more here for now.
    Stop,
    /// Take part here in this mode; `None` returns to the settings.
    Mode(Option<Mode>),
    /// Follow what the command says from now on.
    GiveStandingOrder(StandingOrderTarget),
    /// Keep what the command says as a draft, and tell what it would have changed.
    DraftStandingOrder(StandingOrderTarget),
    /// Follow the draft of this number from now on.
    KeepStandingOrder(i64),
    /// Discard the draft of this number.
    DropOrderDraft(i64),
    /// The standing orders that hold here.
    ListStandingOrders,
    /// Follow the order of this number no more.
    DropStandingOrder(i64),
    /// Change a setting, or all of them, as the command says.
    ChangeSetting(SettingRequest),
    /// The settings that hold here.
    ListSettings,
    /// Start over here: forget everything that was said so far.
    Reset,
    /// Remove from memory what the command quotes, or what was just said of it.
    ForgetThat,
    /// Ask whether the user is sure.
    ForgetMe,
    /// Delete what the user said. It cannot be undone.
    ForgetMeForSure,
    OptOut,
    OptIn,
    /// List the commands.
    Help,
    /// Say how to give a command that was nearly given.
    Usage(NearMiss),
}

/// A command whose argument was not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NearMiss {
    Mode,
    Mute,
    Setting,
}

/// What a command about a setting needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingRequest {
    pub target: SettingTarget,
    /// `None`: all of them.
    pub kind: Option<SettingKind>,
    /// Whether it can only make the persona quieter or let it do less, or takes back what the user's own role ordered.
    pub is_narrowing: bool,
}

/// Where a setting is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingTarget {
    Thread,
    Channel,
    /// A channel that the command names.
    Named,
    Workspace,
}

/// What a standing order is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandingOrderTarget {
    Thread,
    Channel,
    Workspace,
    /// In the place of the order of this number.
    Order(i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MuteScope {
    Channel,
    Workspace,
}

impl Command {
    /// The same under rules by which an order that is given is a draft at first.
    pub fn under(self, rulebook: &Rulebook) -> Self {
        match self {
            Command::GiveStandingOrder(target) if rulebook.drafts_standing_orders => {
                Command::DraftStandingOrder(target)
            }
            command => command,
        }
    }
}

/// A command with its author, channel and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRequest {
    pub command: Command,
    pub conversation: ConversationId,
    /// Who can read the answer.
    pub visibility: Visibility,
    pub user: UserId,
    pub role: Role,
    pub at: Timestamp,
    /// The command's own words. There are none where it was chosen from a menu.
    pub text: Arc<str>,
    /// The message to which it replies, if the platform says so.
    pub reply_to: Option<MessageId>,
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
            text: message.text.clone(),
            reply_to: None,
        }
    }

    /// The language of the command's own words, if they tell it.
    pub fn written_in(&self) -> Option<Language> {
        language_of(&self.text)
    }

    /// The role as which the user changes settings: what two talk about among themselves is for both to set.
    pub fn setting_role(&self) -> SettingRole {
        match (self.role, self.visibility, self.command) {
            (
                Role::Member,
                Visibility::Direct,
                Command::ChangeSetting(SettingRequest {
                    target: SettingTarget::Thread | SettingTarget::Channel,
                    ..
                }),
            ) => SettingRole::Direct,
            (role, ..) => role.into(),
        }
    }

    /// Every user may mute the persona in their channel, narrow its settings there, and decide about their own data. The
    /// mode, standing orders, other settings, anything that applies to the workspace, and the messages of other users are for
    /// admins.
    pub fn is_allowed(&self) -> bool {
        match self.command {
            Command::Mode(_)
            | Command::Mute { scope: MuteScope::Workspace, .. }
            | Command::GiveStandingOrder(StandingOrderTarget::Workspace)
            | Command::DraftStandingOrder(StandingOrderTarget::Workspace)
            | Command::Unmute(MuteScope::Workspace) => self.role == Role::Admin,
            Command::GiveStandingOrder(
                StandingOrderTarget::Thread
                | StandingOrderTarget::Channel
                | StandingOrderTarget::Order(_),
            )
            | Command::DraftStandingOrder(
                StandingOrderTarget::Thread
                | StandingOrderTarget::Channel
                | StandingOrderTarget::Order(_),
            )
            | Command::DropStandingOrder(_)
            | Command::KeepStandingOrder(_)
            | Command::DropOrderDraft(_)
            | Command::Reset => self.visibility == Visibility::Direct || self.role == Role::Admin,
            // A model may cost more, whoever talks with it.
            Command::ChangeSetting(SettingRequest { target, kind, is_narrowing }) => match target {
                SettingTarget::Workspace | SettingTarget::Named => self.role == Role::Admin,
                SettingTarget::Thread | SettingTarget::Channel => {
                    is_narrowing
                        || match self.setting_role() {
                            SettingRole::Admin => true,
                            SettingRole::Direct => kind != Some(SettingKind::Model),
                            SettingRole::Keeper | SettingRole::Member => false,
                        }
                }
            },
            Command::Why
            | Command::Status
            | Command::Memory
            | Command::ListStandingOrders
            | Command::ListSettings
            | Command::Mute { scope: MuteScope::Channel, .. }
            | Command::Unmute(MuteScope::Channel)
            | Command::Stop
            | Command::ForgetThat
            | Command::ForgetMe
            | Command::ForgetMeForSure
            | Command::OptOut
            | Command::OptIn
            | Command::Help
            | Command::Usage(_) => true,
        }
    }

    /// Whether everybody in the channel should see what came of it: it changes how the persona takes part there.
    pub fn concerns_everybody(&self) -> bool {
        self.is_allowed()
            && match self.command {
                Command::Mute { .. }
                | Command::Unmute(_)
                | Command::Stop
                | Command::Mode(_)
                | Command::GiveStandingOrder(_)
                | Command::DropStandingOrder(_)
                | Command::DraftStandingOrder(_)
                | Command::KeepStandingOrder(_)
                | Command::DropOrderDraft(_)
                | Command::ChangeSetting(_)
                | Command::Reset => true,
                Command::Why
                | Command::Status
                | Command::Memory
                | Command::ListStandingOrders
                | Command::ListSettings
                | Command::ForgetThat
                | Command::ForgetMe
                | Command::ForgetMeForSure
                | Command::OptOut
                | Command::OptIn
                | Command::Help
                | Command::Usage(_) => false,
            }
    }

    /// The order to store, if any. Applying it is idempotent. What `forget that` means has to be looked up first, and so
    /// have standing orders and settings.
    pub fn to_order(&self) -> Option<Order> {
        let workspace = self.conversation.workspace.clone();
        let channel = |scope: MuteScope| {
            (scope == MuteScope::Channel).then(|| self.conversation.channel.clone())
        };
        let (by, user) = (self.role, self.user.clone());
        let mute = |duration: Option<SignedDuration>, scope: MuteScope| {
            let until = duration.map_or(Timestamp::MAX, |duration| self.at + duration);
            Order::Mute { workspace: workspace.clone(), channel: channel(scope), until, by }
        };
        if !self.is_allowed() {
            return None;
        }
        Some(match self.command {
            Command::Why
            | Command::Status
            | Command::Memory
            | Command::GiveStandingOrder(_)
            | Command::ListStandingOrders
            | Command::ChangeSetting(_)
            | Command::ListSettings
            | Command::DropStandingOrder(_)
            | Command::DraftStandingOrder(_)
            | Command::KeepStandingOrder(_)
            | Command::DropOrderDraft(_)
            | Command::ForgetThat
            | Command::ForgetMe
            | Command::Help
            | Command::Usage(_) => return None,
            Command::Mute { duration, scope } => mute(duration, scope),
            Command::Stop => mute(Some(STOP_DURATION), MuteScope::Channel),
            Command::Unmute(scope) => Order::Unmute { workspace, channel: channel(scope), by },
            Command::Mode(mode) => {
                Order::Mode { workspace, channel: self.conversation.channel.clone(), mode }
            }
            Command::Reset => {
                Order::Reset { conversation: self.conversation.clone(), until: self.at }
            }
            Command::ForgetMeForSure => Order::Forget { workspace, user, asked: self.at },
            Command::OptOut => Order::OptOut { workspace, user },
            Command::OptIn => Order::OptIn { workspace, user },
        })
    }
}
