//! The archive queries of pages, exports and the API.

use aizuchi_model::chat::{ChannelId, MessageId, UserId, Visibility, WorkspaceId};
use aizuchi_model::decision::consent::ConsentId;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::proposal::ProposalId;
use aizuchi_model::decision::{AttemptResult, Decision, DecisionId, DecisionResult};
use aizuchi_model::flow::DeadLetterId;
use jiff::Timestamp;

use crate::stored_message::StoredMessage;

#[derive(Clone, Debug)]
pub struct MessageQuery {
    pub workspace: WorkspaceId,
    pub channel: ChannelId,
    /// `None` for the top level and all threads.
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

/// A filter for the messages of a channel. Missing fields match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageFilter {
    pub author: Option<UserId>,
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
    /// The visibility that the message was heard with.
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

/// Selects the newest messages of a channel before a given one that match a filter.
#[derive(Clone, Debug)]
pub struct FilteredMessages {
    pub workspace: WorkspaceId,
    pub channel: ChannelId,
    pub filter: MessageFilter,
    pub before: Option<MessageId>,
    pub limit: usize,
}

/// Selects the newest proposals before a given one, of one workspace or of all.
#[derive(Clone, Debug)]
pub struct ProposalQuery {
    pub workspace: Option<WorkspaceId>,
    /// Only proposals of this decision.
    pub decision: Option<DecisionId>,
    pub before: Option<ProposalId>,
    pub limit: usize,
}

/// Selects the newest calls before a given one that need a user's consent, of one workspace or of all, and of one
/// decision or of all.
#[derive(Clone, Debug)]
pub struct ConsentQuery {
    pub workspace: Option<WorkspaceId>,
    pub decision: Option<DecisionId>,
    pub before: Option<ConsentId>,
    pub limit: usize,
}

/// Selects the newest dead letters before a given one, of one workspace or of all.
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
    /// The newest decisions of a channel before a given one that ended with this result and by this gate, if these are
    /// given, and that cover a message that matches a filter, or whose post does.
    Filtered {
        workspace: WorkspaceId,
        channel: ChannelId,
        ended: Option<DecisionFilter>,
        gate: Option<Gate>,
        messages: MessageFilter,
        before: Option<DecisionId>,
        limit: usize,
    },
    /// The newest decisions of a workspace, or of one of its channels, that were opened since a time and before a given
    /// decision, that ended in one of these ways, and by this gate if one is given. They are ordered by time.
    Feed {
        workspace: WorkspaceId,
        channel: Option<ChannelId>,
        ended: Vec<DecisionFilter>,
        gate: Option<Gate>,
        since: Timestamp,
        before: Option<(Timestamp, DecisionId)>,
        limit: usize,
    },
    /// The decisions of a channel that were opened since a time.
    Since {
        workspace: WorkspaceId,
        channel: ChannelId,
        since: Timestamp,
    },
    /// The decisions that cover this message, or whose post it is.
    Message {
        workspace: WorkspaceId,
        message: MessageId,
    },
    /// The decisions that cover one of these messages of a channel, or whose post it is.
    Messages {
        workspace: WorkspaceId,
        channel: ChannelId,
        messages: Vec<MessageId>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionFilter {
    Open,
    Ended(DecisionResult),
    /// At least one call was superseded, whatever the result.
    Superseded,
}

impl DecisionFilter {
    /// All filters, in the order in which they are offered.
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

    /// Parses the form used in URLs.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|filter| filter.name() == name)
    }

    /// Whether a decision matches.
    pub fn has(self, decision: &Decision) -> bool {
        match self {
            DecisionFilter::Open => decision.ended.is_none(),
            DecisionFilter::Ended(ended) => decision.ended == Some(ended),
            DecisionFilter::Superseded => {
                decision.attempts.iter().any(|it| it.result == AttemptResult::Superseded)
            }
        }
    }

    /// The form used in URLs.
    pub fn name(self) -> &'static str {
        match self {
            DecisionFilter::Open => "open",
            DecisionFilter::Ended(ended) => ended.name(),
            DecisionFilter::Superseded => "superseded",
        }
    }
}
