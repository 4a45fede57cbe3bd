//! What happened after the persona's posts, silences and proposals, in memory.

use std::sync::Arc;

use crate::chat::{AuthorKind, ConversationId, MessageId};
use crate::decision::proposal::ProposalState;
use crate::decision::welcome::{
    self, Aftermath, MAX_REPLIES, PostAftermath, REPLIES_FROM, REPLY_WINDOW, STOP_WINDOW,
    SilenceAftermath, UserResponse,
};
use crate::decision::{Decision, DecisionResult};
use crate::store::figures::{ANSWER_WINDOW, ChoiceAftermath, WorkspacePeriod};
use crate::store::order_journal::OrderKind;
use crate::store::volatile::VolatileState;
use crate::store::volatile::records::MessageRecord;

/// How many of the newest messages that a silence covers are examined.
const MAX_COVERED: usize = 5;

impl VolatileState {
    pub(super) fn aftermaths(&self, period: &WorkspacePeriod) -> Vec<ChoiceAftermath> {
        let unasked = self.decisions_in(period).into_iter();
        let unasked = unasked.filter(|decision| !decision.is_addressed);
        let aftermath = |decision: Decision| match decision.ended {
            Some(DecisionResult::Spoke) => self.after_word(period, &decision),
            Some(DecisionResult::ChoseSilence) => self.after_silence(period, &decision),
            Some(DecisionResult::Proposed) => self.after_proposal(period, &decision),
            Some(
                DecisionResult::Reacted
                | DecisionResult::Dropped
                | DecisionResult::Muted
                | DecisionResult::OverBudget
                | DecisionResult::Failed,
            )
            | None => None,
        };
        unasked.filter_map(aftermath).collect()
    }

    fn after_word(&self, period: &WorkspacePeriod, decision: &Decision) -> Option<ChoiceAftermath> {
        let conversation = &decision.conversation;
        let posts = self.messages_in_channel(conversation, &decision.posted_messages);
        let newest = posts.iter().max_by_key(|post| (post.message.at, post.message.id.clone()))?;
        let said = &newest.message;
        if newest.is_expired {
            return None;
        }
        let below = self.below(&said.conversation, &said.id);
        let mut replies: Vec<&MessageRecord> = below
            .into_iter()
            .filter(|record| {
                let at = record.message.at;
                record.message.author.kind == AuthorKind::Human
                    && record.is_visible()
                    && said.at <= at
                    && at <= said.at + REPLY_WINDOW
            })
            .collect();
        replies.sort_by_key(|record| (record.message.at, &record.message.id));
        let reply = |record: &&MessageRecord| {
            let is_in_thread = record.message.conversation.thread.as_ref() == Some(&said.id);
            let probability = record.links.as_ref().and_then(|links| links.parents.get(&said.id));
            let is_linked = probability.is_some_and(|it| f64::from(*it) >= REPLIES_FROM);
            UserResponse { is_to_it: is_in_thread || is_linked, text: record.message.text.clone() }
        };
        let replies = replies.iter().take(MAX_REPLIES).map(reply).collect();
        let reactions = posts.iter().flat_map(|post| &post.reactions);
        let reactions = reactions
            .filter(|reaction| reaction.kind == AuthorKind::Human && reaction.removed.is_none());
        let mut reactions: Vec<(Arc<str>, &str)> =
            reactions.map(|reaction| (reaction.emoji.clone(), reaction.user.as_str())).collect();
        reactions.sort();
        let is_muted = self.given_orders.iter().any(|given| {
            given.record.kind == OrderKind::Mute
                && given.workspace == conversation.workspace
                && given.record.channel.as_ref().is_none_or(|it| *it == conversation.channel)
                && said.at <= given.at
                && given.at <= said.at + STOP_WINDOW
        });
        let word = PostAftermath {
            replies,
            reactions: reactions.into_iter().map(|(emoji, _)| emoji).collect(),
            is_deleted: posts.iter().any(|post| post.is_deleted),
            is_muted,
        };
        Some(ChoiceAftermath {
            at: said.at,
            aftermath: Aftermath::Post(word),
            ..choice(period, decision)
        })
    }

    fn after_silence(
        &self,
        period: &WorkspacePeriod,
        decision: &Decision,
    ) -> Option<ChoiceAftermath> {
        decision.judgment.as_ref()?;
        let conversation = &decision.conversation;
        let mut covered = self.messages_in_channel(conversation, &decision.messages);
        covered.sort_by_key(|record| std::cmp::Reverse((record.message.at, &record.message.id)));
        let newest = covered.first().filter(|record| record.is_visible())?;
        let (at, id, author) = (newest.message.at, &newest.message.id, &newest.message.author.id);
        let replies = self.below(conversation, id).into_iter().filter(|record| {
            let message = &record.message;
            let is_in_thread = message.conversation.thread.as_ref() == Some(id);
            message.author.kind == AuthorKind::Human
                && message.author.id != *author
                && !record.is_deleted
                && record.decision != Some(decision.id)
                && at <= message.at
                && (is_in_thread || message.at <= at + ANSWER_WINDOW)
        });
        let answered = replies.map(|record| record.message.at).min();
        let visible = covered.iter().filter(|record| record.is_visible()).take(MAX_COVERED);
        let silence = SilenceAftermath {
            asks: welcome::ask(
                visible.map(|record| (record.message.author.id.as_str(), &*record.message.text)),
            ),
            answered: answered.map(|answered| answered.duration_since(at)),
        };
        Some(ChoiceAftermath {
            at: decision.closed?,
            aftermath: Aftermath::Silence(silence),
            ..choice(period, decision)
        })
    }

    /// What happened after a proposal. `None` unless a user declined it.
    fn after_proposal(
        &self,
        period: &WorkspacePeriod,
        decision: &Decision,
    ) -> Option<ChoiceAftermath> {
        let mut proposals = self.proposals.values().map(|record| &record.proposal);
        let declined = proposals.find(|proposal| {
            proposal.decision == decision.id
                && matches!(proposal.state, ProposalState::Declined | ProposalState::Never)
        })?;
        let (_, at) = declined.decided.as_ref()?;
        Some(ChoiceAftermath {
            at: *at,
            aftermath: Aftermath::Declined,
            ..choice(period, decision)
        })
    }

    /// The listed messages that exist in a conversation's channel.
    fn messages_in_channel(
        &self,
        conversation: &ConversationId,
        messages: &[MessageId],
    ) -> Vec<&MessageRecord> {
        let here = self.conversations.iter().filter(|(id, _)| {
            id.workspace == conversation.workspace && id.channel == conversation.channel
        });
        let records = here.flat_map(|(_, record)| &record.messages);
        records.filter(|record| messages.contains(&record.message.id)).collect()
    }

    /// The messages of a conversation, and of the thread under one of its messages.
    fn below(&self, conversation: &ConversationId, message: &MessageId) -> Vec<&MessageRecord> {
        let thread = Some(message.clone());
        let thread = ConversationId { thread, ..conversation.clone() };
        let places = [self.conversations.get(conversation), self.conversations.get(&thread)];
        places.into_iter().flatten().flat_map(|record| &record.messages).collect()
    }
}

/// A choice whose aftermath is not filled in yet.
fn choice(period: &WorkspacePeriod, decision: &Decision) -> ChoiceAftermath {
    let wants = decision.judgment.as_ref().filter(|judgment| judgment.should_respond);
    ChoiceAftermath {
        decision: decision.id,
        day: period.day_of(decision.opened),
        channel: decision.conversation.channel.clone(),
        at: decision.opened,
        confidence: wants.map(|judgment| judgment.confidence),
        aftermath: Aftermath::Silence(SilenceAftermath::default()),
    }
}
