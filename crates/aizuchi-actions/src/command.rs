//! Commands that users give in plain words, in either language. The whole text after the persona's name must be a
//! command, or a plain request to be quiet with courtesies and reasons around it; anything else is conversation, which a
//! model answers.

use std::sync::Arc;

use aizuchi_model::chat::{
    ChannelId, ConversationId, Message, MessageId, Role, UserId, Visibility, WorkspaceId,
};
use aizuchi_model::persona::Language;
use aizuchi_model::persona::written::language_of;
use aizuchi_model::rules::setting_override::{SettingKind, SettingRole};
use aizuchi_model::rules::{Mode, Rulebook};
use aizuchi_store::order::Order;
use aizuchi_store::{Store, StoreError};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::day_time::DayTime;

/// `stop` is said in anger or in a meeting; both pass after a while.
pub const STOP_DURATION: SignedDuration = SignedDuration::from_hours(1);
/// An upper bound against typos. A mute without a duration has no end.
pub const MAX_MUTE: SignedDuration = SignedDuration::from_hours(24 * 365);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Why the persona last spoke here, or stayed silent.
    Why,
    /// How the persona takes part here.
    Status,
    /// What the persona remembers and may say here.
    Memory,
    /// Say nothing, for this long or until a user revokes it.
    Mute {
        length: Option<MuteLength>,
        scope: MuteScope,
    },
    Unmute(MuteScope),
    /// Say nothing more here for now.
    Stop,
    /// Take part here in this mode; `None` returns to the configured mode.
    Mode(Option<Mode>),
    StandingOrder(StandingOrderCommand),
    Plan(PlanCommand),
    /// What the user missed.
    CatchUp,
    /// List the standing orders that apply here.
    ListStandingOrders,
    /// Change a setting, or all of them, as the command says.
    ChangeSetting(SettingRequest),
    /// List the settings that apply here.
    ListSettings,
    /// Start over here: forget everything that was said so far.
    Reset,
    /// Remove from memory what the command quotes, or what the persona just said from it.
    ForgetThat,
    /// Ask whether the user is sure.
    ForgetMe,
    /// Delete the user's messages. It cannot be undone.
    ForgetMeForSure,
    OptOut,
    OptIn,
    /// List the commands.
    Help,
    /// Explain how to give a command that was nearly given.
    Usage(NearMiss),
}

/// A change of the standing orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandingOrderCommand {
    /// Follow the order in the command from now on.
    Give(StandingOrderTarget),
    /// Keep the order in the command as a draft, and report what it would have changed.
    Draft(StandingOrderTarget),
    /// Follow the draft of this number from now on.
    Keep(i64),
    /// Discard the draft of this number.
    DropDraft(i64),
    /// Stop following the order of this number.
    Drop(i64),
}

/// A command about reminders and other plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanCommand {
    /// Plan what the command asks for.
    Make,
    /// List what is planned here.
    List,
    /// Cancel the plan of this number.
    Cancel(i64),
    /// Move the plan of this number to the time in the command.
    Move(i64),
}

/// A command whose argument was not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NearMiss {
    Mode,
    Mute,
    Setting,
}

/// The permission-relevant parts of a command about a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingRequest {
    pub target: SettingTarget,
    /// `None` stands for all settings.
    pub kind: Option<SettingKind>,
    /// Whether it can only make the persona quieter or let it do less, or takes back what the user's own role ordered.
    pub is_narrowing: bool,
}

/// The place where a setting is to apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingTarget {
    Thread,
    Channel,
    /// A channel that the command names.
    Named,
    Workspace,
}

/// The scope of a standing order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandingOrderTarget {
    Thread,
    Channel,
    Workspace,
    /// Replaces the order of this number.
    Order(i64),
}

/// How long a mute lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MuteLength {
    Lasting(SignedDuration),
    Until(DayTime),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MuteScope {
    Channel,
    Workspace,
}

/// Returns the order of a `stop`. It never shortens a mute; it is then only recorded.
pub async fn stop_order(
    store: &dyn Store,
    (workspace, channel): (WorkspaceId, ChannelId),
    at: Timestamp,
    by: Role,
) -> Result<Order, StoreError> {
    let until = at + STOP_DURATION;
    let orders = store.orders(&workspace).await?;
    Ok(match orders.channel_mute(&channel, until) {
        Some(_) => Order::NoteStop { workspace, channel, until },
        None => Order::Mute { workspace, channel: Some(channel), until, by },
    })
}

impl Command {
    /// Whether it has something left out or forgotten, and therefore counts however late it is read.
    pub fn is_about_privacy(self) -> bool {
        matches!(
            self,
            Command::ForgetMeForSure | Command::ForgetThat | Command::OptOut | Command::Reset
        )
    }

    /// Whether it only silences the persona for a while, which is easily undone.
    pub fn is_quieting(self) -> bool {
        matches!(self, Command::Stop | Command::Mute { length: Some(_), scope: MuteScope::Channel })
    }

    /// Turns a new standing order into a draft, if the rules require that.
    pub fn under(self, rulebook: &Rulebook) -> Self {
        match self {
            Command::StandingOrder(StandingOrderCommand::Give(target))
                if rulebook.drafts_standing_orders =>
            {
                Command::StandingOrder(StandingOrderCommand::Draft(target))
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
    /// The command's text. Empty if it was chosen from a menu.
    pub text: Arc<str>,
    /// The language in which its author wrote it. The words of a slash command tell none.
    pub written_in: Option<Language>,
    /// The message that gives it. A slash command has none.
    pub message: Option<MessageId>,
    /// The message to which it replies, as reported by the platform.
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
            written_in: language_of(&message.text),
            message: Some(message.id.clone()),
            reply_to: None,
        }
    }

    /// Returns the role with which the user changes settings: in a direct message, its user may set everything.
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

    /// Whether the user may give the command. Every user may mute the persona in their channel, narrow its settings
    /// there, and decide about their own data. The mode, standing orders, other settings, anything that applies to the
    /// workspace, and the messages of other users are reserved for admins.
    pub fn is_allowed(&self) -> bool {
        match self.command {
            Command::Mode(_)
            | Command::Mute { scope: MuteScope::Workspace, .. }
            | Command::StandingOrder(
                StandingOrderCommand::Give(StandingOrderTarget::Workspace)
                | StandingOrderCommand::Draft(StandingOrderTarget::Workspace),
            )
            | Command::Unmute(MuteScope::Workspace) => self.role == Role::Admin,
            Command::StandingOrder(_) | Command::Reset => {
                self.visibility == Visibility::Direct || self.role == Role::Admin
            }
            // A model may cost more, so choosing one is reserved for admins even in direct messages.
            Command::ChangeSetting(SettingRequest { target, kind, is_narrowing }) => match target {
                SettingTarget::Workspace | SettingTarget::Named => self.role == Role::Admin,
                SettingTarget::Thread | SettingTarget::Channel => {
                    is_narrowing
                        || match self.setting_role() {
                            SettingRole::Admin => true,
                            // A limit of a direct message alone would limit nothing.
                            SettingRole::Direct => {
                                !matches!(kind, Some(SettingKind::Model | SettingKind::MoneyPerDay))
                            }
                            SettingRole::Keeper | SettingRole::Member => false,
                        }
                }
            },
            Command::Why
            | Command::Status
            | Command::Memory
            | Command::ListStandingOrders
            | Command::ListSettings
            | Command::Plan(_)
            | Command::CatchUp
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

    /// Whether everyone in the channel should see the answer, because the command changes how the persona takes part
    /// there.
    pub fn concerns_everybody(&self) -> bool {
        self.is_allowed()
            && match self.command {
                Command::Mute { .. }
                | Command::Unmute(_)
                | Command::Stop
                | Command::Mode(_)
                | Command::StandingOrder(_)
                | Command::ChangeSetting(_)
                | Command::Reset => true,
                Command::Why
                | Command::Status
                | Command::Memory
                | Command::ListStandingOrders
                | Command::ListSettings
                | Command::Plan(_)
                | Command::CatchUp
                | Command::ForgetThat
                | Command::ForgetMe
                | Command::ForgetMeForSure
                | Command::OptOut
                | Command::OptIn
                | Command::Help
                | Command::Usage(_) => false,
            }
    }

    /// Returns the order to store, if any. Applying it is idempotent. What `forget that` refers to has to be looked up
    /// first, as do standing orders and settings.
    pub fn to_order(&self, zone: &TimeZone) -> Option<Order> {
        let workspace = self.conversation.workspace.clone();
        let channel = |scope: MuteScope| {
            (scope == MuteScope::Channel).then(|| self.conversation.channel.clone())
        };
        let (by, user) = (self.role, self.user.clone());
        let mute = |length: Option<MuteLength>, scope: MuteScope| {
            let until = match length {
                None => Timestamp::MAX,
                Some(MuteLength::Lasting(duration)) => self.at + duration,
                Some(MuteLength::Until(end)) => {
                    end.after(self.at, zone).unwrap_or(self.at + STOP_DURATION)
                }
            };
            Order::Mute { workspace: workspace.clone(), channel: channel(scope), until, by }
        };
        if !self.is_allowed() {
            return None;
        }
        Some(match self.command {
            Command::Why
            | Command::Status
            | Command::Memory
            | Command::StandingOrder(_)
            | Command::ListStandingOrders
            | Command::ChangeSetting(_)
            | Command::ListSettings
            | Command::Plan(_)
            | Command::CatchUp
            | Command::ForgetThat
            | Command::ForgetMe
            | Command::Help
            | Command::Usage(_) => return None,
            Command::Mute { length, scope } => mute(length, scope),
            Command::Stop => mute(Some(MuteLength::Lasting(STOP_DURATION)), MuteScope::Channel),
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
