//! What pages, export and the API ask the archive for.

use jiff::Timestamp;

use crate::chat::{ChannelId, MessageId, UserId, Visibility, WorkspaceId};
use crate::decision::consent::ConsentId;
use crate::decision::gate::Gate;
use crate::decision::proposal::ProposalId;
use crate::decision::{AttemptResult, Decision, DecisionId, DecisionResult};
use crate::event::DeadLetterId;
use crate::store::stored_message::StoredMessage;

#[derive(Clone, Debug)]
pub struct MessageQuery {
    pub workspace: WorkspaceId,
    pub channel: ChannelId,
    /// `None`: the top level and all threads.
    pub thread: Option<MessageId>,
    pub range: MessageRange,
    pub limit: usize,
}

/// A range of a channel's messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageRange {
    Newest,
    /// The newest messages before this one.
    Before(MessageId),
    BeforeTime(Timestamp),
    /// The oldest messages after this one.
    After(MessageId),
    AfterTime(Timestamp),
}

/// Which messages of a channel are wanted. What is not given is not asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageFilter {
    pub author: Option<UserId>,
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
    /// Only what was said with this visibility.
    pub visibility: Option<Visibility>,
}

impl MessageFilter {
    pub fn has(&self, stored: &StoredMessage) -> bool {
        let (at, author) = (stored.message.at, &stored.message.author.id);
        self.author.as_ref().is_none_or(|wanted| wanted == author)
            && self.from.is_none_or(|from| at >= from)
            && self.until.is_none_or(|until| at < until)
            && self.visibility.is_none_or(|wanted| wanted == stored.visibility)
    }
}

/// The newest messages of a channel before one of them that pass a filter.
#[derive(Clone, Debug)]
pub struct FilteredMessages {
    pub workspace: WorkspaceId,
    pub channel: ChannelId,
    pub filter: MessageFilter,
    pub before: Option<MessageId>,
    pub limit: usize,
}

/// The newest proposals before one of them, of one workspace or of all.
#[derive(Clone, Debug)]
pub struct ProposalQuery {
    pub workspace: Option<WorkspaceId>,
    /// Only those of this decision.
    pub decision: Option<DecisionId>,
    pub before: Option<ProposalId>,
    pub limit: usize,
}

/// The newest calls before one of them that somebody has to allow, of one workspace or of all, and of one decision or of all.
#[derive(Clone, Debug)]
pub struct ConsentQuery {
    pub workspace: Option<WorkspaceId>,
    pub decision: Option<DecisionId>,
    pub before: Option<ConsentId>,
    pub limit: usize,
}

/// The newest dead letters before one of them, of one workspace or of all.
#[derive(Clone, Debug)]
pub struct DeadLetterQuery {
    pub workspace: Option<WorkspaceId>,
    pub before: Option<DeadLetterId>,
    pub limit: usize,
}

impl Default for DeadLetterQuery {
    fn default() -> Self {
        Self { workspace: None, before: None, limit: 100 }
    }
}

#[derive(Clone, Debug)]
pub enum DecisionQuery {
    One {
        workspace: WorkspaceId,
        id: DecisionId,
    },
    /// The newest `limit` decisions of a channel.
    Channel {
        workspace: WorkspaceId,
        channel: ChannelId,
        limit: usize,
    },
    /// The newest decisions of a channel before one of them that ended like this and by this gate, where these are
    /// given, and that cover a message which passes a filter, or whose post does.
    Filtered {
        workspace: WorkspaceId,
        channel: ChannelId,
        ended: Option<DecisionFilter>,
        gate: Option<Gate>,
        messages: MessageFilter,
        before: Option<DecisionId>,
        limit: usize,
    },
    /// The decisions of a channel that were opened then or later.
    Since {
        workspace: WorkspaceId,
        channel: ChannelId,
        since: Timestamp,
    },
    /// Those that cover this message, or whose post it is.
    Message {
        workspace: WorkspaceId,
        message: MessageId,
    },
    /// Those that cover one of these messages of a channel, or whose post it is.
    Messages {
        workspace: WorkspaceId,
        channel: ChannelId,
        messages: Vec<MessageId>,
    },
}

/// Which decisions are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionFilter {
    Open,
    Ended(DecisionResult),
    /// One of its calls was superseded, however it ended.
    Superseded,
}

impl DecisionFilter {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Self; 10] = [
        Self::Ended(DecisionResult::Spoke),
        Self::Ended(DecisionResult::Reacted),
        Self::Ended(DecisionResult::Proposed),
        Self::Ended(DecisionResult::ChoseSilence),
        Self::Ended(DecisionResult::Dropped),
        Self::Ended(DecisionResult::Muted),
        Self::Ended(DecisionResult::OverBudget),
        Self::Ended(DecisionResult::Failed),
        Self::Open,
        Self::Superseded,
    ];

    /// The one that is written like this in addresses.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|filter| filter.name() == name)
    }

    /// Whether a decision is wanted.
    pub fn has(self, decision: &Decision) -> bool {
        match self {
            DecisionFilter::Open => decision.ended.is_none(),
            DecisionFilter::Ended(ended) => decision.ended == Some(ended),
            DecisionFilter::Superseded => {
                decision.attempts.iter().any(|it| it.result == AttemptResult::Superseded)
            }
        }
    }

    /// As it is written in addresses.
    pub fn name(self) -> &'static str {
        match self {
            DecisionFilter::Open => "open",
            DecisionFilter::Ended(ended) => ended.name(),
            DecisionFilter::Superseded => "superseded",
        }
    }
}
