//! Records of the store in memory: conversations, their messages, posts and exchanges.

use std::sync::Arc;

use aizuchi_model::chat::{AuthorKind, ConversationId, Message, MessageId, UserId, Visibility};
use aizuchi_model::context::StateHash;
use aizuchi_model::context::links::{LinkSource, MessageLinks};
use aizuchi_model::context::state::ConversationState;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{DecisionId, ModelExchange};
use aizuchi_model::flow::outbox::{OutboxItem, OutboxItemId};
use aizuchi_model::flow::step::PendingState;
use aizuchi_structure::links::WINDOW;
use jiff::Timestamp;

#[derive(Default)]
pub(super) struct ConversationRecord {
    /// By time, then id.
    pub(super) messages: Vec<MessageRecord>,
    pub(super) pending: PendingState,
    pub(super) silent_state: Option<StateHash>,
    /// When the newest decision with a verdict was closed.
    pub(super) last_judged: Option<Timestamp>,
    /// The times of unsolicited posts.
    pub(super) unsolicited_posts: Vec<Timestamp>,
    /// The state of the conversation at the verdict behind the last of them.
    pub(super) intervention_state: Option<ConversationState>,
    /// When the persona last announced that its budget is used up.
    pub(super) budget_notice_at: Option<Timestamp>,
}

/// A message's position in its channel.
pub(super) struct MessagePosition {
    pub(super) at: Timestamp,
    pub(super) id: MessageId,
    pub(super) thread: Option<MessageId>,
}

pub(super) struct MessageRecord {
    pub(super) message: Arc<Message>,
    /// The channel's visibility when the message was heard.
    pub(super) visibility: Visibility,
    pub(super) is_deleted: bool,
    /// Whether it must not be used.
    pub(super) is_redacted: bool,
    pub(super) gate: Option<Gate>,
    pub(super) decision: Option<DecisionId>,
    /// The revision at which it arrived.
    pub(super) heard_revision: u64,
    /// The revision at which it arrived or last changed.
    pub(super) revision: u64,
    pub(super) edited: Option<Timestamp>,
    /// What it replies to, if that is known and still valid.
    pub(super) links: Option<Arc<MessageLinks>>,
    pub(super) reactions: Vec<ReactionRecord>,
    /// The revision at which its reactions last changed.
    pub(super) reactions_revision: u64,
}

/// A removed reaction is kept, so that an older report of it does not bring it back.
pub(super) struct ReactionRecord {
    pub(super) emoji: Arc<str>,
    pub(super) user: UserId,
    pub(super) kind: AuthorKind,
    pub(super) at: Timestamp,
    pub(super) removed: Option<Timestamp>,
}

impl ConversationRecord {
    /// The message with this id, unless it is a command.
    pub(super) fn question(&self, id: &MessageId) -> Option<&MessageRecord> {
        let message = self.messages.iter().rfind(|message| message.message.id == *id);
        message.filter(|message| message.gate != Some(Gate::Command))
    }

    /// Drops the links of the messages that were compared with one before `first`.
    pub(super) fn drop_links_from(&mut self, first: usize) {
        let later = self.messages[first..].iter_mut().filter(|record| record.is_visible());
        for record in later.take(WINDOW) {
            record.links.take_if(|links| links.source != LinkSource::Platform);
        }
    }
}

impl MessageRecord {
    /// Whether it may be used in prompts.
    pub(super) fn is_visible(&self) -> bool {
        !self.is_deleted && !self.is_redacted
    }
}

/// The outbox item is dropped when its decision closes; this record remains.
pub(super) struct UnsolicitedPostRecord {
    /// When it was dispatched.
    pub(super) at: Timestamp,
    pub(super) item: OutboxItemId,
    pub(super) conversation: ConversationId,
    /// The resulting message, once it is posted.
    pub(super) message: Option<MessageId>,
}

pub(super) struct ExchangeRecord {
    pub(super) exchange: Arc<ModelExchange>,
}

impl ExchangeRecord {
    pub(super) fn clear_text(&mut self) {
        let exchange = (*self.exchange).clone();
        self.exchange = Arc::new(ModelExchange { prompt: "".into(), answer: None, ..exchange });
    }
}

/// An outbox item in flight.
pub(super) struct OutboxRecord {
    pub(super) item: OutboxItem,
    pub(super) is_posted: bool,
    /// Whether it is an unsolicited text. A reaction is not.
    pub(super) is_unsolicited: bool,
}
