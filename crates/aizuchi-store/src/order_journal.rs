//! The journal of orders: who ordered what, where, and when. It contains no chat text. Marks and changes of memories
//! have their own journals.

use aizuchi_model::named_enum;
use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, UserId, WorkspaceId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::decision::consent::Consent;
use aizuchi_model::flow::DeadLetter;
use aizuchi_model::rules::setting_override::SettingRole;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// How long orders are kept in the journal.
pub(crate) const ORDER_RETENTION: SignedDuration = SignedDuration::from_hours(400 * 24);

/// An entry of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenOrder {
    /// Increases with each order.
    pub number: i64,
    pub workspace: WorkspaceId,
    pub at: Timestamp,
    /// The login name, or the user of a command as formatted by [`aizuchi_model::memory::asker::sign`]. Empty: this machine.
    pub by: Arc<str>,
    pub record: OrderRecord,
}

/// What was ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderRecord {
    pub kind: OrderKind,
    /// `None` for the whole workspace.
    pub channel: Option<ChannelId>,
    /// The user that the order is about. A forgotten user is not named.
    pub user: Option<UserId>,
    /// The end of a mute; `Timestamp::MAX` means until further notice.
    pub until: Option<Timestamp>,
    /// The chosen mode or model, the number of a standing order, a setting with its value, or the name of a tool.
    /// `None` for a mode: as configured.
    pub value: Option<Arc<str>>,
    /// The decision of a dead letter or of a call.
    pub decision: Option<DecisionId>,
}

named_enum! {
    #[derive(strum::VariantArray)]
    pub enum OrderKind {
        Mute,
        Unmute,
        Mode,
        OptOut,
        OptIn,
        /// A conversation was reset.
        Reset,
        /// A user was forgotten.
        Forget,
        RetryDeadLetter,
        DropDeadLetter,
        /// How welcome posts were is learned from scratch.
        ForgetMoments,
        ChooseModel,
        /// A visitor signed in. The journal records the role.
        SignIn,
        /// What is known of a user was exported.
        Export,
        /// The config was reloaded. The journal records the sections that changed.
        Reload,
        /// The journal records the number of a changed or dropped order, and no text.
        GiveStandingOrder,
        ChangeStandingOrder,
        DropStandingOrder,
        /// A decision about a call of a tool that may write. The journal records the tool's name, but not its arguments.
        AllowCall,
        RefuseCall,
        /// The number is that of the draft; for a draft of a new order, the journal records the channel.
        DraftStandingOrder,
        KeepStandingOrder,
        DropOrderDraft,
        /// A change for a workspace, a channel or a thread. The journal records the setting and its value; no value means
        /// that it was cleared, and no setting that all were.
        ChangeSetting,
        /// A change of several channels. The journal records what each had before; see
        /// [`ChannelsRecord`].
        ChangeChannels,
    }
}

impl OrderKind {
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;
}

/// Selects the newest orders before a given one, of one workspace or of all.
#[derive(Clone, Debug)]
pub struct OrderJournalQuery {
    pub workspace: Option<WorkspaceId>,
    pub kind: Option<OrderKind>,
    pub before: Option<i64>,
    pub limit: usize,
}

impl OrderRecord {
    pub fn new(kind: OrderKind) -> Self {
        Self { kind, channel: None, user: None, until: None, value: None, decision: None }
    }

    /// Adds the channel and the decision of a dead letter.
    pub fn of_letter(self, letter: &DeadLetter) -> Self {
        let channel = Some(letter.conversation.channel.clone());
        Self { channel, decision: letter.decision, ..self }
    }

    /// Adds the channel, the tool and the decision of a call.
    pub fn of_consent(self, consent: &Consent) -> Self {
        let channel = Some(consent.conversation.channel.clone());
        let (value, decision) = (Some(consent.tool.clone()), Some(consent.decision));
        Self { channel, value, decision, ..self }
    }
}

/// What the journal keeps of an order for several channels, so that it can be undone. It names no users.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelsRecord {
    /// The kind of each order and its value.
    pub what: Option<(OrderKind, Option<Arc<str>>)>,
    /// The number of the order that this one undoes.
    pub undoes: Option<i64>,
    pub changed: Vec<ChangedChannel>,
    /// The number of channels that had the value already.
    #[serde(default)]
    pub already: usize,
    /// The channels that could not be changed or, if an order is undone, that were changed since.
    pub unchanged: Vec<ChannelId>,
}

/// What was ordered for a channel, as far as it was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedChannel {
    pub channel: ChannelId,
    pub before: Ordered,
    pub after: Ordered,
}

/// The mode, mutes and settings by kind, each with the roles that ordered them and the values.
pub type Ordered = BTreeMap<String, Vec<(SettingRole, String)>>;
impl ChannelsRecord {
    /// Whether there is anything to undo. What undoes an order is not undone.
    pub fn may_undo(&self) -> bool {
        self.undoes.is_none() && !self.changed.is_empty()
    }
}

impl GivenOrder {
    /// What an order for several channels changed. `None` for other orders.
    pub fn channels(&self) -> Result<Option<ChannelsRecord>, StoreError> {
        if self.record.kind != OrderKind::ChangeChannels {
            return Ok(None);
        }
        let record = serde_json::from_str(self.record.value.as_deref().unwrap_or_default());
        record.map(Some).map_err(|error| StoreError::Broken(format!("an order: {error}")))
    }

    /// Describes an order for several channels as one for a channel.
    pub fn as_one(&self, channels: &ChannelsRecord) -> Self {
        let what = channels.what.clone();
        let record = what.map(|(kind, value)| OrderRecord { value, ..OrderRecord::new(kind) });
        Self { record: record.unwrap_or_else(|| self.record.clone()), ..self.clone() }
    }
}
