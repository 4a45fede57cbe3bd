//! What people order: silence, forgetting, settings, and edits on the console.

use std::sync::Arc;

use jiff::Timestamp;

use crate::chat::{ChannelId, ConversationId, Role, UserId, WorkspaceId};
use crate::decision::DecisionId;
use crate::decision::consent::{ConsentId, ConsentStep};
use crate::decision::mark::Mark;
use crate::decision::proposal::{ProposalChoice, ProposalId};
use crate::decision::trust::{TrustChoice, TrustOffer, TrustOfferId};
use crate::event::DeadLetterId;
use crate::memo::Memo;
use crate::memory::change::{MemoEdit, MemoryChange};
use crate::memory::{MemoryEntry, MemoryId, MemoryKey};
use crate::rules::Mode;
use crate::rules::setting_override::{
    Confidence, OrderedChange, PlaceSetting, SettingChange, SettingKind, SettingOverride,
    SettingRole, SettingScope,
};
use crate::standing_order::{DraftTarget, StandingOrder, StandingOrderScope, StandingOrderText};
use crate::store::private_reads::PrivateRead;

/// What a user orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Post nothing until then, in one channel or in all. `Timestamp::MAX` is until further notice.
    Mute {
        workspace: WorkspaceId,
        channel: Option<ChannelId>,
        until: Timestamp,
        by: Role,
    },
    /// Only an admin can lift what an admin has ordered.
    Unmute {
        workspace: WorkspaceId,
        channel: Option<ChannelId>,
        by: Role,
    },
    /// Take part in a channel in this mode; `None`: as configured. What a keeper agreed to with the mode before ends, and a
    /// mode other than before withdraws the offer to speak by itself.
    Mode {
        workspace: WorkspaceId,
        channel: ChannelId,
        mode: Option<Mode>,
    },
    /// Change the settings that people ordered for a workspace, a channel or a thread. The last change wins. What an admin
    /// orders is of all; what a member orders only narrows what holds.
    ChangeSetting {
        workspace: WorkspaceId,
        scope: SettingScope,
        change: SettingChange,
        role: SettingRole,
        /// As in [`GivenOrder::by`](crate::store::order_journal::GivenOrder::by).
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
    /// What a user has written so far is removed from all prompts and memories, and owed no answer.
    Redact {
        workspace: WorkspaceId,
        user: UserId,
    },
    /// What was written in a conversation so far is removed from all prompts and memories, and owed no answer. The
    /// parent message of a thread goes with it.
    Reset {
        conversation: ConversationId,
        until: Timestamp,
    },
    /// A user's messages are deleted, with all that is remembered of them. The user stays known by name. Nothing
    /// happens if they were forgotten within [`FORGETTING_INTERVAL`].
    Forget {
        workspace: WorkspaceId,
        user: UserId,
        /// When the user asked for it.
        asked: Timestamp,
    },
    /// Follow this text from now on. One that a command of the chat gives is given once. Refused if there are as many in
    /// its scope as there may be.
    GiveStandingOrder {
        workspace: WorkspaceId,
        scope: StandingOrderScope,
        text: StandingOrderText,
        /// As in [`GivenOrder::by`](crate::store::order_journal::GivenOrder::by).
        by: Arc<str>,
    },
    /// Make a standing order say something else. Refused unless it is in force.
    ChangeStandingOrder {
        workspace: WorkspaceId,
        number: i64,
        text: StandingOrderText,
        by: Arc<str>,
    },
    /// Follow a standing order no more. Refused unless it is in force.
    DropStandingOrder {
        workspace: WorkspaceId,
        number: i64,
    },
    /// Keep a text as a draft that nobody follows until somebody keeps it. It takes the place of an earlier draft of the
    /// same order. One that a command of the chat gives is given once. Refused as the order would be.
    DraftStandingOrder {
        workspace: WorkspaceId,
        target: DraftTarget,
        text: StandingOrderText,
        /// As in [`GivenOrder::by`](crate::store::order_journal::GivenOrder::by).
        by: Arc<str>,
    },
    /// Follow a draft from now on. Refused unless it is one.
    KeepStandingOrder {
        workspace: WorkspaceId,
        number: i64,
    },
    /// Discard a draft. What it would have changed stays as it is. Refused unless it is one.
    DropOrderDraft {
        workspace: WorkspaceId,
        number: i64,
    },
    /// Import a memory, unless there is one for this key already. Entries without source messages stay private to
    /// their scope.
    ImportMemory {
        key: MemoryKey,
        /// The visibility is set by the store.
        entries: Vec<MemoryEntry>,
        newest: Timestamp,
    },
    /// Import a memo, unless one of its name is visible in the same scope.
    ImportMemo {
        workspace: WorkspaceId,
        memo: Box<Memo>,
    },
    /// Learn the workspace's gate anew, from later verdicts alone.
    ForgetMoments {
        workspace: WorkspaceId,
    },
    /// Remove a dead letter, with the text that could not be posted.
    DropDeadLetter {
        workspace: WorkspaceId,
        id: DeadLetterId,
    },
    /// Open the decision of a dead letter again, and remove the letter. Refused while something else is pending in the
    /// conversation.
    RetryDeadLetter {
        workspace: WorkspaceId,
        id: DeadLetterId,
    },
    /// Note that somebody reads the text of a private channel on the pages.
    NotePrivateRead(PrivateRead),
    /// Note that somebody chose the model that thinks from now on, for all workspaces.
    NoteModelChoice {
        /// Where that was.
        workspace: WorkspaceId,
        model: Arc<str>,
    },
    /// One of the others, recorded in the journal of orders in the same transaction.
    Signed {
        order: Box<Order>,
        /// As in [`GivenOrder::by`](crate::store::order_journal::GivenOrder::by).
        by: Arc<str>,
    },
    /// Say what a decision was, seen afterwards; `None` takes that back. Refused while the decision is open.
    MarkDecision {
        workspace: WorkspaceId,
        id: DecisionId,
        mark: Option<Mark>,
        by: Arc<str>,
    },
    /// Say what becomes of a proposal, which is a mark of its decision, too. Refused if somebody has decided before, if
    /// its moment has passed, and, if it is to be said, while something else is under way in its conversation.
    DecideProposal {
        workspace: WorkspaceId,
        id: ProposalId,
        choice: ProposalChoice,
        by: Arc<str>,
    },
    /// Say whether the persona is to speak by itself in a channel, as it offered. If it is, its mode and, as a setting of the
    /// channel, the confidence that this takes are ordered with it. Refused unless this offer is open.
    AnswerTrust {
        workspace: WorkspaceId,
        channel: ChannelId,
        id: TrustOfferId,
        /// The offer's.
        least: Confidence,
        choice: TrustChoice,
        by: Arc<str>,
    },
    /// Take a call that somebody has to allow a step further. Refused if that is not possible any more, which makes the
    /// first choice count and each call happen at most once.
    TakeConsentStep {
        workspace: WorkspaceId,
        id: ConsentId,
        step: ConsentStep,
    },
    /// Change a memory. Refused unless this is its current version.
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
    /// Make a memo what it was in one of its versions, also one that was removed. Refused if the version is gone.
    RevertMemo {
        workspace: WorkspaceId,
        id: MemoryId,
        version: MemoryId,
        by: Arc<str>,
    },
}

impl Order {
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

    /// What it changes of the settings that people order, if it is given at `now`.
    pub fn setting_change(&self, now: Timestamp) -> Option<OrderedChange> {
        let of_keeper = |channel: &ChannelId, change, by: &Arc<str>| OrderedChange {
            scope: SettingScope::Channel(channel.clone()),
            change,
            role: SettingRole::Keeper,
            by: by.clone(),
            at: now,
        };
        match self {
            Order::ChangeSetting { scope, change, role, by, at, .. } => Some(OrderedChange {
                scope: scope.clone(),
                change: change.clone(),
                role: *role,
                by: by.clone(),
                at: *at,
            }),
            Order::Mode { channel, .. } => {
                let change = SettingChange::Clear(SettingKind::MinConfidence);
                Some(of_keeper(channel, change, &"".into()))
            }
            Order::AnswerTrust { channel, least, choice: TrustChoice::ByItself, by, .. } => {
                let change = SettingChange::Set(PlaceSetting::MinConfidence(*least));
                Some(of_keeper(channel, change, by))
            }
            Order::Signed { order, .. } => order.setting_change(now),
            Order::AnswerTrust { choice: TrustChoice::NotYet, .. }
            | Order::Mute { .. }
            | Order::Unmute { .. }
            | Order::OptOut { .. }
            | Order::OptIn { .. }
            | Order::Redact { .. }
            | Order::Reset { .. }
            | Order::Forget { .. }
            | Order::GiveStandingOrder { .. }
            | Order::ChangeStandingOrder { .. }
            | Order::DropStandingOrder { .. }
            | Order::DraftStandingOrder { .. }
            | Order::KeepStandingOrder { .. }
            | Order::DropOrderDraft { .. }
            | Order::ImportMemory { .. }
            | Order::ImportMemo { .. }
            | Order::ForgetMoments { .. }
            | Order::DropDeadLetter { .. }
            | Order::RetryDeadLetter { .. }
            | Order::MarkDecision { .. }
            | Order::DecideProposal { .. }
            | Order::TakeConsentStep { .. }
            | Order::ChangeMemory { .. }
            | Order::ChangeMemo { .. }
            | Order::RevertMemo { .. }
            | Order::NotePrivateRead(_)
            | Order::NoteModelChoice { .. } => None,
        }
    }

    /// Whether it takes messages out of conversations.
    pub fn changes_messages(&self) -> bool {
        match self {
            Order::OptOut { .. }
            | Order::Redact { .. }
            | Order::Reset { .. }
            | Order::Forget { .. }
            | Order::RetryDeadLetter { .. } => true,
            // A decision that is open again makes its messages new.
            Order::DecideProposal { choice, .. } => choice.state().is_approved(),
            Order::Signed { order, .. } => order.changes_messages(),
            Order::Mute { .. }
            | Order::Unmute { .. }
            | Order::Mode { .. }
            | Order::OptIn { .. }
            | Order::GiveStandingOrder { .. }
            | Order::ChangeStandingOrder { .. }
            | Order::DropStandingOrder { .. }
            | Order::DraftStandingOrder { .. }
            | Order::KeepStandingOrder { .. }
            | Order::DropOrderDraft { .. }
            | Order::ChangeSetting { .. }
            | Order::ImportMemory { .. }
            | Order::ImportMemo { .. }
            | Order::ForgetMoments { .. }
            | Order::DropDeadLetter { .. }
            | Order::MarkDecision { .. }
            | Order::AnswerTrust { .. }
            | Order::TakeConsentStep { .. }
            | Order::ChangeMemory { .. }
            | Order::ChangeMemo { .. }
            | Order::RevertMemo { .. }
            | Order::NotePrivateRead(_)
            | Order::NoteModelChoice { .. } => false,
        }
    }

    /// Whether it may take back or hide what messages and decisions showed. A decision is told from memories and memos,
    /// too.
    pub fn may_erase(&self) -> bool {
        match self {
            Order::OptOut { .. }
            | Order::Redact { .. }
            | Order::Reset { .. }
            | Order::Forget { .. }
            | Order::ChangeStandingOrder { .. }
            | Order::DropStandingOrder { .. }
            | Order::KeepStandingOrder { .. }
            | Order::DropOrderDraft { .. }
            | Order::DropDeadLetter { .. }
            | Order::RetryDeadLetter { .. }
            | Order::DecideProposal { .. }
            | Order::ChangeMemory { .. }
            | Order::ChangeMemo { .. }
            | Order::RevertMemo { .. } => true,
            Order::Signed { order, .. } => order.may_erase(),
            Order::Mute { .. }
            | Order::AnswerTrust { .. }
            | Order::Unmute { .. }
            | Order::Mode { .. }
            | Order::ChangeSetting { .. }
            | Order::OptIn { .. }
            | Order::GiveStandingOrder { .. }
            | Order::DraftStandingOrder { .. }
            | Order::ImportMemory { .. }
            | Order::ImportMemo { .. }
            | Order::ForgetMoments { .. }
            | Order::MarkDecision { .. }
            | Order::TakeConsentStep { .. }
            | Order::NotePrivateRead(_)
            | Order::NoteModelChoice { .. } => false,
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
            | Order::ImportMemo { workspace, .. }
            | Order::DropDeadLetter { workspace, .. }
            | Order::RetryDeadLetter { workspace, .. }
            | Order::MarkDecision { workspace, .. }
            | Order::DecideProposal { workspace, .. }
            | Order::AnswerTrust { workspace, .. }
            | Order::TakeConsentStep { workspace, .. }
            | Order::ChangeMemo { workspace, .. }
            | Order::RevertMemo { workspace, .. }
            | Order::NoteModelChoice { workspace, .. }
            | Order::ForgetMoments { workspace } => workspace,
            Order::Signed { order, .. } => order.workspace(),
            Order::NotePrivateRead(read) => &read.workspace,
            Order::Reset { conversation, .. } => &conversation.workspace,
            Order::ImportMemory { key, .. } | Order::ChangeMemory { key, .. } => &key.workspace,
        }
    }
}

/// The orders in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrdersInForce {
    /// The mutes of a channel, or of all channels (`None`): one for each role that may order it.
    pub mutes: Vec<(Option<ChannelId>, Mute)>,
    pub modes: Vec<(ChannelId, Mode)>,
    pub opted_out: Vec<UserId>,
    /// Who asked to be forgotten lately, and when.
    pub forgotten: Vec<(UserId, Timestamp)>,
    /// What is followed where, in the order of the numbers.
    pub standing: Vec<StandingOrder>,
    /// What somebody may keep, in the order of the numbers. Nobody follows it yet.
    pub drafts: Vec<StandingOrder>,
    /// The settings that people ordered, from the widest scope to the narrowest.
    pub settings: Vec<SettingOverride>,
}

/// A mute, and the role that ordered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mute {
    pub until: Timestamp,
    pub by: Role,
}

impl OrdersInForce {
    /// The longest mute of all channels at `now`, if any.
    pub fn workspace_mute(&self, now: Timestamp) -> Option<Mute> {
        self.active_mutes(now).filter(|(channel, _)| channel.is_none()).map(|(_, mute)| mute).max()
    }

    /// The longest mute of this channel alone.
    pub fn channel_mute(&self, channel: &ChannelId, now: Timestamp) -> Option<Mute> {
        let here = self.active_mutes(now).filter(|(muted, _)| muted.as_ref() == Some(channel));
        here.map(|(_, mute)| mute).max()
    }

    /// From which confidence on the persona speaks by itself in a channel, if somebody has accepted its offer.
    pub fn trusted_confidence(&self, channel: &ChannelId) -> Option<Confidence> {
        let of_keepers = self.settings.iter().filter(|order| order.role == SettingRole::Keeper);
        let mut here = of_keepers.filter(|order| order.scope.channel() == Some(channel));
        here.find_map(|order| match order.setting {
            PlaceSetting::MinConfidence(confidence) => Some(confidence),
            PlaceSetting::Language(_)
            | PlaceSetting::Timing(_)
            | PlaceSetting::Announce(_)
            | PlaceSetting::Tools(_)
            | PlaceSetting::Memory(_)
            | PlaceSetting::Model(_) => None,
        })
    }

    /// The standing orders that hold in a conversation.
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
