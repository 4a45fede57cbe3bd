//! The circumstances of a conversation, in memory: orders in force, recent posts, answers and spending.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, ConversationId, Message, MessageId, UserId};
use aizuchi_model::context::{Circumstances, ContextWindow, Intervention};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::flow::Work;
use aizuchi_model::flow::outbox::OutboxItem;
use aizuchi_model::flow::step::{OwedAnswer, Step};
use jiff::{SignedDuration, Timestamp};

use crate::volatile::VolatileState;
use crate::volatile::pending_states::OnceOwed;
use crate::volatile::records::ConversationRecord;

impl VolatileState {
    pub(super) fn circumstances(
        &self,
        conversation: &ConversationId,
        record: Option<&ConversationRecord>,
        window: &ContextWindow,
    ) -> Circumstances {
        let ConversationId { workspace, channel, .. } = conversation;
        let orders = self.orders.get(workspace);
        let muted_until = orders.and_then(|orders| {
            let is_here = |muted: &Option<ChannelId>| muted.as_ref().is_none_or(|it| it == channel);
            let applying = orders.mutes.iter().filter(|(muted, _)| is_here(muted));
            applying.map(|(_, mute)| mute.until).max()
        });
        let mode = orders.and_then(|orders| {
            let mut modes = orders.modes.iter();
            modes.find(|(ordered, _)| ordered == channel).map(|(_, mode)| *mode)
        });
        let posts_here = record.map_or(&[][..], |record| &record.unsolicited_posts);
        let half_hour_ago = window.now - SignedDuration::from_mins(30);
        let hour_ago = window.now - SignedDuration::from_hours(1);
        let posts = self.unsolicited_posts_since(conversation, hour_ago);
        Circumstances {
            muted_until,
            ordered_mode: mode,
            last_intervention: posts_here.iter().max().map(|at| Intervention {
                at: *at,
                state: record.and_then(|record| record.intervention_state),
                messages_before: messages_until(record, *at, window.intervention_messages + 1),
            }),
            recent_interventions: posts_here.iter().filter(|at| **at >= half_hour_ago).count()
                as u64,
            posts_in_hour: posts.iter().filter(|post| post.channel == *channel).count() as u64,
            workspace_posts_in_hour: posts.len() as u64,
            last_unsolicited_post: self
                .last_unsolicited_post
                .get(&(workspace.clone(), channel.clone()))
                .copied(),
            said_unasked: self
                .said_unasked_since(conversation, window.now - SignedDuration::from_hours(24)),
            answers_in_hour: self.answer_counts_since(conversation, record, hour_ago),
            has_announced_over_budget: record
                .is_some_and(|record| record.budget_notice_at.is_some_and(|at| at >= hour_ago)),
            channel_usage: self.recent_spent(workspace, channel.as_str(), window.now),
            workspace_usage: self.recent_spent(workspace, "", window.now),
        }
    }

    /// The unsolicited posts since then, and those in flight in other conversations that precede this one's.
    fn unsolicited_posts_since(
        &self,
        conversation: &ConversationId,
        since: Timestamp,
    ) -> Vec<&ConversationId> {
        let workspace = &conversation.workspace;
        let recent = self.unsolicited_posts.iter().rev().take_while(|post| post.at >= since);
        let made = recent
            .filter(|post| post.message.is_some() && post.conversation.workspace == *workspace)
            .map(|post| &post.conversation);
        let own = self.pending_step(conversation).filter(|step| !step.is_owed);
        let others = self
            .ready
            .iter()
            .map(|(_, other)| other)
            .filter(|other| other.workspace == *workspace && *other != conversation);
        let under_way = others.filter(|other| {
            self.pending_step(other).is_some_and(|step| self.is_post_before(step, own))
        });
        made.chain(under_way).collect()
    }

    /// The unsolicited posts in the channel since then that are still visible.
    fn said_unasked_since(&self, conversation: &ConversationId, since: Timestamp) -> Vec<Arc<str>> {
        let recent = self.unsolicited_posts.iter().rev().take_while(|post| post.at >= since);
        let here = recent.filter(|post| {
            post.conversation.workspace == conversation.workspace
                && post.conversation.channel == conversation.channel
        });
        let said = here.filter_map(|post| {
            let posted = post.message.as_ref()?;
            let ConversationId { workspace, channel, .. } = conversation;
            let key = (workspace.clone(), channel.clone(), posted.clone());
            let messages = &self.conversations.get(self.conversation_of.get(&key)?)?.messages;
            let record = messages.iter().rfind(|record| record.message.id == *posted)?;
            record.is_visible().then(|| record.message.text.clone())
        });
        let mut said: Vec<Arc<str>> = said.collect();
        said.sort_unstable();
        said
    }

    /// Whether this step will lead to an unsolicited post that counts before that of the other step, if there is one.
    fn is_post_before(&self, step: &Step, other: Option<&Step>) -> bool {
        let other_event = other.map(|other| &other.work);
        let is_unsolicited = |item: &OutboxItem| {
            self.outbox.get(&item.id).is_some_and(|record| record.is_unsolicited)
        };
        match (&step.work, other_event) {
            _ if step.is_owed => false,
            (Work::Judge(_), _) | (Work::Reply(_), Some(Work::Post(_))) => false,
            // A draft that was posted in part is counted already.
            (Work::Post(item), _) if item.id != item.first_in_draft || !is_unsolicited(item) => {
                false
            }
            (Work::Post(item), Some(Work::Post(other))) => item.id < other.id,
            (Work::Post(_), Some(Work::Judge(_) | Work::Reply(_)) | None) => true,
            (Work::Reply(_), Some(Work::Reply(_))) => {
                other.is_some_and(|other| step.decision < other.decision)
            }
            (Work::Reply(_), Some(Work::Judge(_)) | None) => true,
        }
    }

    fn pending_step(&self, conversation: &ConversationId) -> Option<&Step> {
        self.conversations.get(conversation)?.pending.step.as_ref()
    }

    /// For each user who is owed an answer here: how many answers they got since then, plus how many of their questions
    /// in other conversations precede this one.
    fn answer_counts_since(
        &self,
        conversation: &ConversationId,
        record: Option<&ConversationRecord>,
        since: Timestamp,
    ) -> BTreeMap<UserId, u64> {
        let workspace = &conversation.workspace;
        let owed = record.map_or(&[][..], |record| &record.pending.owed);
        let answered = |asker: &UserId| {
            let of_asker = self.once_owed.get(&(workspace.clone(), asker.clone()));
            let recent = of_asker.into_iter().flatten();
            let recent = recent.filter(|(_, it)| it.closed.is_none_or(|at| at >= since));
            let earlier: usize = recent.clone().map(|(_, it)| it.earlier_answers).sum();
            let decisions: BTreeSet<DecisionId> = recent
                .filter_map(|((channel, id), OnceOwed { thread, closed, .. })| {
                    closed.as_ref()?;
                    let conversation = ConversationId {
                        workspace: workspace.clone(),
                        channel: channel.clone(),
                        thread: thread.clone(),
                    };
                    let message = self.conversations.get(&conversation)?.question(id)?;
                    let decision = self.decisions.get(&message.decision?)?;
                    decision.took_an_answer().then_some(decision.id)
                })
                .collect();
            decisions.len() + earlier
        };
        let mut counts = BTreeMap::new();
        // Ordered oldest first, so each user's first question here counts.
        for first in owed {
            counts.entry(first.asker.clone()).or_insert_with(|| {
                (answered(&first.asker) + self.questions_before(conversation, first)) as u64
            });
        }
        counts
    }

    /// The number of other conversations in which a user has an earlier open question.
    fn questions_before(&self, conversation: &ConversationId, first: &OwedAnswer) -> usize {
        let place = |at: Timestamp, conversation: &ConversationId| {
            let thread = conversation.thread.clone().unwrap_or(MessageId::new(""));
            (at.as_millisecond(), conversation.channel.clone(), thread)
        };
        let own_place = place(first.at, conversation);
        let others =
            self.ready.iter().map(|(_, other)| other).filter(|other| {
                other.workspace == conversation.workspace && *other != conversation
            });
        let is_before = |other: &&ConversationId| {
            let Some(record) = self.conversations.get(other) else { return false };
            record.pending.owed.iter().any(|owed| {
                owed.asker == first.asker
                    && place(owed.at, other) < own_place
                    && record.question(&owed.to.stored_id()).is_some()
            })
        };
        others.filter(is_before).count()
    }
}

/// The last messages up to an intervention.
fn messages_until(
    record: Option<&ConversationRecord>,
    at: Timestamp,
    most: usize,
) -> Vec<Arc<Message>> {
    let messages = record.map_or(&[][..], |record| &record.messages).iter().rev();
    let before = messages.filter(|message| message.is_visible() && message.message.at <= at);
    let mut messages: Vec<Arc<Message>> =
        before.take(most).map(|message| message.message.clone()).collect();
    messages.reverse();
    messages
}
