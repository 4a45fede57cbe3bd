//! Orders that users give: mutes, forgetting, settings, and edits on the console.

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, ConversationId, Role, UserId, WorkspaceId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::decision::consent::{ConsentId, ConsentStep};
use aizuchi_model::decision::mark::Mark;
use aizuchi_model::decision::proposal::{ProposalChoice, ProposalId};
use aizuchi_model::decision::trust::{TrustChoice, TrustOffer, TrustOfferId};
use aizuchi_model::flow::DeadLetterId;
use aizuchi_model::flow::quiet_order::{OrderedQuiet, QuietOrder};
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::asker::sign;
use aizuchi_model::memory::change::{MemoEdit, MemoryChange};
use aizuchi_model::memory::{MemoryEntry, MemoryId, MemoryKey, MessageRef};
use aizuchi_model::plan::recurrence::Recurrence;
use aizuchi_model::plan::{Plan, PlanId};
use aizuchi_model::rules::Mode;
use aizuchi_model::rules::setting_override::{
    self, Confidence, OrderedChange, PlaceSetting, SettingChange, SettingKind, SettingOverride,
    SettingRole, SettingScope,
};
use aizuchi_model::standing_order::{
    DraftTarget, StandingOrder, StandingOrderScope, StandingOrderText,
};
use jiff::Timestamp;

use crate::order_journal::{ChannelsRecord, OrderRecord};
use crate::private_reads::PrivateRead;

/// An order of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Post nothing until a time, in one channel or in all. `Timestamp::MAX` means until further notice.
    Mute {
        workspace: WorkspaceId,
        channel: Option<ChannelId>,
        until: Timestamp,
        by: Role,
    },
    /// Lift a mute. Only an admin can lift an admin's.
    Unmute {
        workspace: WorkspaceId,
        channel: Option<ChannelId>,
        by: Role,
    },
    /// Participate in a channel in this mode; `None`: as configured. This clears the minimum confidence that a keeper
    /// accepted before, and a change of the mode withdraws the open trust offer.
    Mode {
        workspace: WorkspaceId,
        channel: ChannelId,
        mode: Option<Mode>,
    },
    /// Change the settings that users ordered for a workspace, a channel or a thread. The last change wins. An admin's
    /// change replaces the settings of all roles; a member's setting can only narrow what applies.
    ChangeSetting {
        workspace: WorkspaceId,
        scope: SettingScope,
        change: SettingChange,
        role: SettingRole,
        /// As in [`GivenOrder::by`](crate::order_journal::GivenOrder::by).
        by: Arc<str>,
        /// When it was ordered.
        at: Timestamp,
    },
    /// Ignore a user, including what they have written so far.
    OptOut {
        workspace: WorkspaceId,
        user: UserId,
    },
    OptIn {
        workspace: WorkspaceId,
        user: UserId,
    },
    /// Remove what a user has written so far from all prompts and memories, and owe it no answer.
    Redact {
        workspace: WorkspaceId,
        user: UserId,
    },
    /// Remove what was written in a conversation so far from all prompts and memories, and owe it no answer. The parent
    /// message of a thread is included.
    Reset {
        conversation: ConversationId,
        until: Timestamp,
    },
    /// Delete a user's messages, with everything that is remembered of them. The name is kept. Ignored if they were
    /// forgotten within [`FORGETTING_INTERVAL`].
    Forget {
        workspace: WorkspaceId,
        user: UserId,
        /// When the user requested it.
        asked: Timestamp,
    },
    /// The same at an operator's request: the name is deleted, too, and a second request starts over.
    ForgetUser {
        workspace: WorkspaceId,
        user: UserId,
        /// As in [`GivenOrder::by`](crate::order_journal::GivenOrder::by).
        by: Arc<str>,
    },
    /// Follow this text from now on. Idempotent for a chat command. Refused if its scope has the maximum number of
    /// orders.
    GiveStandingOrder {
        workspace: WorkspaceId,
        scope: StandingOrderScope,
        text: StandingOrderText,
        /// As in [`GivenOrder::by`](crate::order_journal::GivenOrder::by).
        by: Arc<str>,
    },
    /// Change the text of a standing order. Refused unless it is in force.
    ChangeStandingOrder {
        workspace: WorkspaceId,
        number: i64,
        text: StandingOrderText,
        by: Arc<str>,
    },
    /// Stop following a standing order. Refused unless it is in force.
    DropStandingOrder {
        workspace: WorkspaceId,
        number: i64,
    },
    /// Store a text as a draft, which is not followed until it is kept. It replaces an earlier draft for the same
    /// order. Idempotent for a chat command. Refused if the order itself would be.
    DraftStandingOrder {
        workspace: WorkspaceId,
        target: DraftTarget,
        text: StandingOrderText,
        /// As in [`GivenOrder::by`](crate::order_journal::GivenOrder::by).
        by: Arc<str>,
    },
    /// Follow a draft from now on. Refused unless the draft exists.
    KeepStandingOrder {
        workspace: WorkspaceId,
        number: i64,
    },
    /// Discard a draft. The order that it would have changed stays as it is. Refused unless the draft exists.
    DropOrderDraft {
        workspace: WorkspaceId,
        number: i64,
    },
    /// Make a plan. Idempotent for a chat command. Refused if its asker or its channel has the maximum number of plans.
    MakePlan(Box<Plan>),
    /// Change or drop a plan. Refused if it is done by now.
    ChangePlan {
        workspace: WorkspaceId,
        id: PlanId,
        change: PlanChange,
    },
    /// Import a memory, unless there is one for this key already. Entries without source messages stay private to
    /// their scope.
    ImportMemory {
        key: MemoryKey,
        /// Their visibility is set by the store.
        entries: Vec<MemoryEntry>,
        newest: Timestamp,
    },
    /// Import a memo, unless one of its name is visible in the same scope.
    ImportMemo {
        workspace: WorkspaceId,
        memo: Box<Memo>,
        /// The messages that it was made from.
        messages: Vec<MessageRef>,
    },
    /// Forget how welcome posts were in the workspace: only later ones count.
    ForgetMoments {
        workspace: WorkspaceId,
    },
    /// Drop a dead letter, with the text that could not be posted.
    DropDeadLetter {
        workspace: WorkspaceId,
        id: DeadLetterId,
    },
    /// Reopen the decision of a dead letter, and drop the letter. Refused while anything else is pending in the
    /// conversation.
    RetryDeadLetter {
        workspace: WorkspaceId,
        id: DeadLetterId,
    },
    /// Record a `stop` in a channel that is muted for longer already. The mute stays as it is.
    NoteStop {
        workspace: WorkspaceId,
        channel: ChannelId,
        /// When the mute that it asks for would end.
        until: Timestamp,
    },
    /// Record that a user reads the text of a private channel on the console.
    NotePrivateRead(PrivateRead),
    /// Record what a user did that changes nothing in the store, such as choosing a model.
    Note {
        workspace: WorkspaceId,
        record: OrderRecord,
    },
    /// Several orders, each for one channel, in one transaction and with one entry in the journal. It is
    /// [resolved](Order::resolve) before it is stored.
    InChannels {
        workspace: WorkspaceId,
        orders: Vec<Order>,
        record: ChannelsRecord,
    },
    /// Another order, recorded in the journal of orders in the same transaction.
    Signed {
        order: Box<Order>,
        /// As in [`GivenOrder::by`](crate::order_journal::GivenOrder::by).
        by: Arc<str>,
    },
    /// Mark a decision in hindsight; `None` removes the mark. Refused while the decision is open.
    MarkDecision {
        workspace: WorkspaceId,
        id: DecisionId,
        mark: Option<Mark>,
        by: Arc<str>,
    },
    /// Decide a proposal, which also marks its decision. Refused if it is decided already, if it has lapsed, and, if it
    /// is approved, while anything else is pending in its conversation.
    DecideProposal {
        workspace: WorkspaceId,
        id: ProposalId,
        choice: ProposalChoice,
        by: Arc<str>,
    },
    /// Answer the persona's offer to post without approval in a channel. Accepting it also orders the mode and, as a
    /// setting of the channel, the minimum confidence. Refused unless this offer is open.
    AnswerTrust {
        workspace: WorkspaceId,
        channel: ChannelId,
        id: TrustOfferId,
        /// The minimum confidence of the offer.
        least: Confidence,
        choice: TrustChoice,
        by: Arc<str>,
    },
    /// Advance the state of a call that needs consent. Refused if the transition is no longer possible, so the first
    /// choice counts and each call is made at most once.
    TakeConsentStep {
        workspace: WorkspaceId,
        id: ConsentId,
        step: ConsentStep,
    },
    /// Change a memory. Refused unless this is still its current version.
    ChangeMemory {
        key: MemoryKey,
        version: MemoryId,
        change: MemoryChange,
        by: Arc<str>,
    },
    /// Change a memo; `None` removes it.
    ChangeMemo {
        workspace: WorkspaceId,
        id: MemoryId,
        edit: Option<MemoEdit>,
        by: Arc<str>,
    },
    /// Restore an earlier version of a memo, even if the memo was removed. Refused if the version is gone.
    RevertMemo {
        workspace: WorkspaceId,
        id: MemoryId,
        version: MemoryId,
        by: Arc<str>,
    },
}

/// A change of a pending plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanChange {
    Drop,
    /// Say it at another time.
    Move {
        due: Timestamp,
        what: Arc<str>,
        recurrence: Option<Recurrence>,
    },
}

impl Order {
    /// Returns the order of a request for quiet, for the channel of the conversation in which it was given.
    pub fn of_quiet(quiet: &QuietOrder, conversation: &ConversationId) -> Self {
        let (workspace, channel) = (conversation.workspace.clone(), conversation.channel.clone());
        let (by, at) = (sign(&quiet.user, quiet.at), quiet.at);
        let order = match quiet.quiet {
            OrderedQuiet::Until(until, by) => {
                Self::Mute { workspace, channel: Some(channel), until, by }
            }
            OrderedQuiet::From(confidence, role) => Self::ChangeSetting {
                workspace,
                scope: SettingScope::Channel(channel),
                change: SettingChange::Set(PlaceSetting::MinConfidence(confidence)),
                role,
                by: by.as_str().into(),
                at,
            },
        };
        order.signed(by)
    }

    /// An answer to an offer.
    pub fn answer_trust(offer: &TrustOffer, choice: TrustChoice, by: Arc<str>) -> Self {
        Order::AnswerTrust {
            workspace: offer.workspace.clone(),
            channel: offer.channel.clone(),
            id: offer.id,
            least: offer.trusted.least,
            choice,
            by,
        }
    }

    /// What it changes, at `now`, of the orders in force that the inbox reads for each message.
    pub fn changes_in_force(&self, now: Timestamp) -> Vec<InForceChange> {
        let of_keeper = |channel: &ChannelId, change, by: &Arc<str>| {
            InForceChange::Setting(OrderedChange {
                scope: SettingScope::Channel(channel.clone()),
                change,
                role: SettingRole::Keeper,
                by: by.clone(),
                at: now,
            })
        };
        match self {
            Order::Signed { order, .. } => order.changes_in_force(now),
            Order::InChannels { orders, .. } => {
                orders.iter().flat_map(|order| order.changes_in_force(now)).collect()
            }
            Order::ChangeSetting { scope, change, role, by, at, .. } => {
                let (scope, change, by) = (scope.clone(), change.clone(), by.clone());
                let change = OrderedChange { scope, change, role: *role, by, at: *at };
                vec![InForceChange::Setting(change)]
            }
            Order::Mode { channel, mode, .. } => {
                let change = SettingChange::Clear(SettingKind::MinConfidence);
                let mode = InForceChange::Mode { channel: channel.clone(), mode: *mode };
                vec![of_keeper(channel, change, &"".into()), mode]
            }
            Order::AnswerTrust { channel, least, choice: TrustChoice::ByItself, by, .. } => {
                let change = SettingChange::Set(PlaceSetting::MinConfidence(*least));
                let mode = Some(Mode::Companion);
                let mode = InForceChange::Mode { channel: channel.clone(), mode };
                vec![of_keeper(channel, change, by), mode]
            }
            Order::OptOut { user, .. } => vec![InForceChange::OptOut(user.clone())],
            Order::OptIn { user, .. } => vec![InForceChange::OptIn(user.clone())],
            Order::Forget { user, .. } | Order::ForgetUser { user, .. } => {
                vec![InForceChange::Forget(user.clone())]
            }
            Order::AnswerTrust { choice: TrustChoice::NotYet, .. }
            | Order::Redact { .. }
            | Order::Reset { .. }
            | Order::RetryDeadLetter { .. }
            | Order::DecideProposal { .. }
            | Order::ChangeStandingOrder { .. }
            | Order::DropStandingOrder { .. }
            | Order::KeepStandingOrder { .. }
            | Order::DropOrderDraft { .. }
            | Order::DropDeadLetter { .. }
            | Order::ChangeMemory { .. }
            | Order::ChangeMemo { .. }
            | Order::RevertMemo { .. }
            | Order::Mute { .. }
            | Order::Unmute { .. }
            | Order::GiveStandingOrder { .. }
            | Order::DraftStandingOrder { .. }
            | Order::MakePlan(_)
            | Order::ChangePlan { .. }
            | Order::ImportMemory { .. }
            | Order::ImportMemo { .. }
            | Order::ForgetMoments { .. }
            | Order::MarkDecision { .. }
            | Order::TakeConsentStep { .. }
            | Order::NotePrivateRead(_)
            | Order::NoteStop { .. }
            | Order::Note { .. } => Vec::new(),
        }
    }

    /// The change of ordered settings that this order makes at `now`, if any.
    pub fn setting_change(&self, now: Timestamp) -> Option<OrderedChange> {
        self.changes_in_force(now).into_iter().find_map(|change| match change {
            InForceChange::Setting(change) => Some(change),
            InForceChange::Mode { .. }
            | InForceChange::OptOut(_)
            | InForceChange::OptIn(_)
            | InForceChange::Forget(_) => None,
        })
    }

    /// What it may do to what is stored already.
    pub fn effects(&self) -> OrderEffects {
        let nothing = OrderEffects::default();
        let erasing = OrderEffects { may_erase: true, ..nothing };
        match self {
            Order::OptOut { .. }
            | Order::Redact { .. }
            | Order::Reset { .. }
            | Order::Forget { .. }
            | Order::ForgetUser { .. }
            | Order::RetryDeadLetter { .. } => OrderEffects { changes_messages: true, ..erasing },
            // Reopening a decision makes its messages new.
            Order::DecideProposal { choice, .. } => {
                OrderEffects { changes_messages: choice.state().is_approved(), ..erasing }
            }
            Order::ChangeStandingOrder { .. }
            | Order::DropStandingOrder { .. }
            | Order::KeepStandingOrder { .. }
            | Order::DropOrderDraft { .. }
            | Order::DropDeadLetter { .. }
            | Order::ChangeMemory { .. }
            | Order::ChangeMemo { .. }
            | Order::RevertMemo { .. } => erasing,
            Order::Signed { order, .. } => order.effects(),
            Order::Mute { .. }
            | Order::AnswerTrust { .. }
            | Order::Unmute { .. }
            | Order::Mode { .. }
            | Order::ChangeSetting { .. }
            | Order::OptIn { .. }
            | Order::GiveStandingOrder { .. }
            | Order::DraftStandingOrder { .. }
            | Order::MakePlan(_)
            | Order::ChangePlan { .. }
            | Order::ImportMemory { .. }
            | Order::ImportMemo { .. }
            | Order::ForgetMoments { .. }
            | Order::MarkDecision { .. }
            | Order::TakeConsentStep { .. }
            | Order::NotePrivateRead(_)
            | Order::NoteStop { .. }
            | Order::InChannels { .. }
            | Order::Note { .. } => nothing,
        }
    }

    pub fn workspace(&self) -> &WorkspaceId {
        match self {
            Order::Mute { workspace, .. }
            | Order::Unmute { workspace, .. }
            | Order::Mode { workspace, .. }
            | Order::OptOut { workspace, .. }
            | Order::OptIn { workspace, .. }
            | Order::GiveStandingOrder { workspace, .. }
            | Order::ChangeStandingOrder { workspace, .. }
            | Order::DropStandingOrder { workspace, .. }
            | Order::DraftStandingOrder { workspace, .. }
            | Order::KeepStandingOrder { workspace, .. }
            | Order::DropOrderDraft { workspace, .. }
            | Order::ChangeSetting { workspace, .. }
            | Order::Redact { workspace, .. }
            | Order::Forget { workspace, .. }
            | Order::ForgetUser { workspace, .. }
            | Order::ImportMemo { workspace, .. }
            | Order::DropDeadLetter { workspace, .. }
            | Order::RetryDeadLetter { workspace, .. }
            | Order::MarkDecision { workspace, .. }
            | Order::DecideProposal { workspace, .. }
            | Order::AnswerTrust { workspace, .. }
            | Order::TakeConsentStep { workspace, .. }
            | Order::ChangeMemo { workspace, .. }
            | Order::RevertMemo { workspace, .. }
            | Order::NoteStop { workspace, .. }
            | Order::ChangePlan { workspace, .. }
            | Order::InChannels { workspace, .. }
            | Order::Note { workspace, .. }
            | Order::ForgetMoments { workspace } => workspace,
            Order::Signed { order, .. } => order.workspace(),
            Order::NotePrivateRead(read) => &read.workspace,
            Order::Reset { conversation, .. } => &conversation.workspace,
            Order::MakePlan(plan) => &plan.conversation.workspace,
            Order::ImportMemory { key, .. } | Order::ChangeMemory { key, .. } => &key.workspace,
        }
    }
}

/// A change of the orders in force.
#[derive(Clone, Debug, PartialEq)]
pub enum InForceChange {
    Setting(OrderedChange),
    /// The mode of a channel; without one, the configured one applies again.
    Mode {
        channel: ChannelId,
        mode: Option<Mode>,
    },
    OptOut(UserId),
    OptIn(UserId),
    /// A user's settings stay in force, without their name.
    Forget(UserId),
}

/// What an order may do to what is stored already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderEffects {
    /// Whether it removes messages from conversations.
    pub changes_messages: bool,
    /// Whether it may take back or hide what messages and decisions showed. Decisions show text from memories and
    /// memos, too.
    pub may_erase: bool,
}

/// The orders in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrdersInForce {
    /// The mutes of a channel, or of all channels (`None`): one for each role that can order it.
    pub mutes: Vec<(Option<ChannelId>, Mute)>,
    pub modes: Vec<(ChannelId, Mode)>,
    pub opted_out: Vec<UserId>,
    /// The users who asked to be forgotten recently, and when.
    pub forgotten: Vec<(UserId, Timestamp)>,
    /// The standing orders in force, ordered by number.
    pub standing: Vec<StandingOrder>,
    /// Drafts of standing orders, which are not followed yet, ordered by number.
    pub drafts: Vec<StandingOrder>,
    /// The settings that users ordered, from the widest scope to the narrowest.
    pub settings: Vec<SettingOverride>,
}

/// A mute, and the role that ordered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mute {
    pub until: Timestamp,
    pub by: Role,
}

impl OrdersInForce {
    /// Applies an order for a mute, a mode or a setting, given at `now`. Stored times have milliseconds.
    pub fn apply(&mut self, order: &Order, now: Timestamp) {
        if let Order::Mute { channel, until, by, .. } = order {
            let mute = Mute { until: truncate_to_milliseconds(*until), by: *by };
            self.mutes.retain(|(muted, mute)| muted != channel || mute.by != *by);
            self.mutes.push((channel.clone(), mute));
            self.mutes.sort_by(|one, other| (&one.0, other.1.by).cmp(&(&other.0, one.1.by)));
        }
        if let Order::Unmute { channel, by, .. } = order {
            self.mutes.retain(|(muted, mute)| muted != channel || mute.by > *by);
        }
        if let Order::Mode { channel, mode, .. } = order {
            self.modes.retain(|(ordered, _)| ordered != channel);
            self.modes.extend(mode.map(|mode| (channel.clone(), mode)));
            self.modes.sort_by(|(one, _), (other, _)| one.cmp(other));
        }
        if let Some(change) = order.setting_change(now) {
            let known = std::mem::take(&mut self.settings);
            let at = truncate_to_milliseconds(change.at);
            self.settings = setting_override::changed(known, OrderedChange { at, ..change });
        }
    }

    /// The longest mute of all channels at `now`, if any.
    pub fn workspace_mute(&self, now: Timestamp) -> Option<Mute> {
        self.active_mutes(now).filter(|(channel, _)| channel.is_none()).map(|(_, mute)| mute).max()
    }

    /// The longest mute of this channel only.
    pub fn channel_mute(&self, channel: &ChannelId, now: Timestamp) -> Option<Mute> {
        let here = self.active_mutes(now).filter(|(muted, _)| muted.as_ref() == Some(channel));
        here.map(|(_, mute)| mute).max()
    }

    /// The minimum confidence for posting without approval in a channel, if its trust offer was accepted.
    pub fn trusted_confidence(&self, channel: &ChannelId) -> Option<Confidence> {
        let of_keepers = self.settings.iter().filter(|order| order.role == SettingRole::Keeper);
        let mut here = of_keepers.filter(|order| order.scope.channel() == Some(channel));
        here.find_map(|order| {
            let PlaceSetting::MinConfidence(confidence) = order.setting else { return None };
            Some(confidence)
        })
    }

    /// The standing orders that apply in a conversation.
    pub fn standing_in(
        &self,
        conversation: &ConversationId,
    ) -> impl Iterator<Item = &StandingOrder> {
        self.standing.iter().filter(move |order| order.scope.includes(conversation))
    }

    /// The drafts of standing orders for a conversation.
    pub fn drafts_in(&self, conversation: &ConversationId) -> impl Iterator<Item = &StandingOrder> {
        self.drafts.iter().filter(move |draft| draft.scope.includes(conversation))
    }

    /// The longest mute in force in a channel that only a higher role can lift.
    pub fn mute_above_role(&self, role: Role, channel: &ChannelId, now: Timestamp) -> Option<Mute> {
        let is_here = |muted: &Option<ChannelId>| muted.as_ref().is_none_or(|it| it == channel);
        let above = self.active_mutes(now).filter(|(muted, mute)| is_here(muted) && mute.by > role);
        above.map(|(_, mute)| mute).max()
    }

    fn active_mutes(&self, now: Timestamp) -> impl Iterator<Item = (Option<ChannelId>, Mute)> {
        self.mutes.iter().filter(move |(_, mute)| now < mute.until).cloned()
    }
}

/// Truncates a time to the precision of the databases.
pub(crate) fn truncate_to_milliseconds(time: Timestamp) -> Timestamp {
    if time == Timestamp::MAX {
        return time;
    }
    Timestamp::from_millisecond(time.as_millisecond()).unwrap_or(time)
}
