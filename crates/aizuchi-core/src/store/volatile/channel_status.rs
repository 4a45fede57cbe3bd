//! How things stand around a conversation, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{
    Author, ChannelId, ConversationId, Deletion, Message, MessageId, UserId, WorkspaceId,
};
use crate::context::{BudgetUsage, ChannelStatus, ContextWindow, Intervention};
use crate::decision::gate::Gate;
use crate::decision::{Attempt, DecisionId, DecisionResult};
use crate::memory::MessageRef;
use crate::store::volatile::{
    ConversationRecord, MessageRecord, UnsolicitedPostRecord, VolatileState,
};
use crate::store::{FORGOTTEN_USER_ID, Mute, Order, Spending};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// By whole hours and days, as the database keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SpendingBucket {
    Hour(i64),
    Day(i64),
}

impl VolatileState {
    pub(super) fn channel_status(
        &self,
        conversation: &ConversationId,
        talk: Option<&ConversationRecord>,
        window: &ContextWindow,
    ) -> ChannelStatus {
        let ConversationId { workspace, channel, .. } = conversation;
        let orders = self.orders.get(workspace);
        let muted = orders.and_then(|orders| {
            let is_here = |muted: &Option<ChannelId>| muted.as_ref().is_none_or(|it| it == channel);
            let here = orders.mutes.iter().filter(|(muted, _)| is_here(muted));
            here.map(|(_, mute)| mute.until).max()
        });
        let mode = orders.and_then(|orders| {
            let mut modes = orders.modes.iter();
            modes.find(|(ordered, _)| ordered == channel).map(|(_, mode)| *mode)
        });
        let unasked = talk.map_or(&[][..], |talk| &talk.unsolicited_posts);
        let lately = window.now - SignedDuration::from_mins(30);
        let hour_ago = window.now - SignedDuration::from_hours(1);
        let posts = self.unsolicited_posts_since(conversation, hour_ago);
        ChannelStatus {
            muted_until: muted,
            ordered_mode: mode,
            last_intervention: unasked.iter().max().map(|at| Intervention {
                at: *at,
                messages_before: messages_until(talk, *at, window.intervention_messages + 1),
            }),
            recent_interventions: unasked.iter().filter(|at| **at >= lately).count() as u64,
            posts_in_hour: posts.iter().filter(|post| post.channel == *channel).count() as u64,
            workspace_posts_in_hour: posts.len() as u64,
            last_unsolicited_post: self
                .last_unsolicited_post
                .get(&(workspace.clone(), channel.clone()))
                .copied(),
            answers_in_hour: self.answer_counts_since(workspace, talk, hour_ago),
            has_announced_over_budget: talk
                .is_some_and(|talk| talk.budget_notice_at.is_some_and(|at| at >= hour_ago)),
            channel_usage: self.recent_spent(workspace, channel.as_str(), window.now),
            workspace_usage: self.recent_spent(workspace, "", window.now),
            reply_delays: self
                .delays
                .get(&(workspace.clone(), channel.clone()))
                .cloned()
                .unwrap_or_default(),
        }
    }

    fn unsolicited_posts_since(
        &self,
        conversation: &ConversationId,
        since: Timestamp,
    ) -> Vec<&ConversationId> {
        let is_sending = |post: &&UnsolicitedPostRecord| {
            let out = self.outbox.get(&post.item);
            !post.is_posted && out.is_some_and(|out| out.item.is_sending())
        };
        // Of those that are on their way together, the first goes first.
        let own = self.unsolicited_posts.iter().filter(|post| post.conversation == *conversation);
        let own = own.filter(is_sending).map(|post| post.item).min();
        let recent = self.unsolicited_posts.iter().rev().take_while(|post| post.at >= since);
        let is_here =
            |post: &&UnsolicitedPostRecord| post.conversation.workspace == conversation.workspace;
        let is_before = |post: &UnsolicitedPostRecord| own.is_none_or(|own| post.item < own);
        let counts =
            |post: &&UnsolicitedPostRecord| post.is_posted || (is_sending(post) && is_before(post));
        recent.filter(is_here).filter(counts).map(|post| &post.conversation).collect()
    }

    fn answer_counts_since(
        &self,
        workspace: &WorkspaceId,
        talk: Option<&ConversationRecord>,
        since: Timestamp,
    ) -> BTreeMap<UserId, u64> {
        let owed = talk.map_or(&[][..], |talk| &talk.pending.owed);
        let count = |asker: &UserId| {
            let settled = self.closed_owed.get(&(workspace.clone(), asker.clone()));
            let recent = settled.into_iter().flatten().filter(|(_, (at, _))| *at >= since);
            let decisions: BTreeSet<DecisionId> = recent
                .filter_map(|((channel, id), (_, thread))| {
                    let place = ConversationId {
                        workspace: workspace.clone(),
                        channel: channel.clone(),
                        thread: thread.clone(),
                    };
                    let line = self
                        .conversations
                        .get(&place)?
                        .messages
                        .iter()
                        .rfind(|line| line.message.id == *id)
                        .filter(|line| line.gate != Some(Gate::Command))?;
                    let decision = self.decisions.get(&line.decision?)?;
                    (decision.ended == Some(DecisionResult::Spoke)).then_some(decision.id)
                })
                .collect();
            decisions.len() as u64
        };
        owed.iter().map(|owed| (owed.asker.clone(), count(&owed.asker))).collect()
    }

    fn recent_spent(&self, workspace: &WorkspaceId, channel: &str, now: Timestamp) -> BudgetUsage {
        let buckets = self.spending.get(&(workspace.clone(), ChannelId::new(channel)));
        buckets.map_or(BudgetUsage::default(), |buckets| sum_recent_spending(buckets, now).0)
    }

    pub(super) fn spending(&self, workspace: &WorkspaceId, now: Timestamp) -> Vec<Spending> {
        let here = self.spending.iter().filter(|((other, _), _)| other == workspace);
        let spendings = here.map(|((_, channel), buckets)| {
            let channel = (!channel.as_str().is_empty()).then(|| channel.clone());
            let (spent, tokens_in_month) = sum_recent_spending(buckets, now);
            Spending { channel, spent, tokens_in_month }
        });
        let is_any = |spending: &Spending| {
            spending.spent != BudgetUsage::default() || spending.tokens_in_month > 0
        };
        let mut spendings: Vec<Spending> = spendings.filter(is_any).collect();
        spendings.sort_by(|one, other| one.channel.cmp(&other.channel));
        spendings
    }

    /// Counts what a call used up, whatever came of it.
    pub(super) fn record_spending(
        &mut self,
        workspace: &WorkspaceId,
        channel: Option<&ChannelId>,
        attempt: &Attempt,
    ) {
        let at = attempt.at.as_millisecond();
        let used = attempt.usage.input_tokens + attempt.usage.output_tokens;
        let price = attempt.price.map_or(0, |price| price.micros);
        let buckets = [
            SpendingBucket::Hour(at - at.rem_euclid(HOUR_MS)),
            SpendingBucket::Day(at - at.rem_euclid(DAY_MS)),
        ];
        let everywhere = ChannelId::new("");
        for channel in channel.into_iter().chain([&everywhere]) {
            let spending = self.spending.entry((workspace.clone(), channel.clone())).or_default();
            for bucket in buckets {
                let (tokens, micros) = spending.entry(bucket).or_default();
                *tokens += used;
                *micros += price;
            }
        }
    }

    pub(super) fn apply_order(&mut self, order: Order, now: Timestamp) {
        match order {
            Order::ImportMemory { key, entries, newest } => {
                return self.import_memory(key, entries, newest, now);
            }
            Order::ImportMemo { workspace, memo } => return self.import_memo(workspace, *memo),
            Order::Mute { .. }
            | Order::Unmute { .. }
            | Order::Mode { .. }
            | Order::OptOut { .. }
            | Order::OptIn { .. }
            | Order::Redact { .. }
            | Order::Reset { .. }
            | Order::Forget { .. } => self.revision += 1,
        }
        if let Order::Forget { workspace, user } = &order {
            self.forget_user(workspace, user, now);
        }
        if let Order::OptOut { workspace, user } | Order::Redact { workspace, user } = &order {
            self.redact_user(workspace, user, now);
        }
        if let Order::Reset { conversation, until } = &order {
            self.reset_conversation(conversation, *until, now);
        }
        let orders = self.orders.entry(order.workspace().clone()).or_default();
        match order {
            Order::Mute { channel, until, by, .. } => {
                orders.mutes.retain(|(muted, mute)| *muted != channel || mute.by != by);
                orders.mutes.push((channel, Mute { until: truncate_to_milliseconds(until), by }));
            }
            Order::Unmute { channel, by, .. } => {
                orders.mutes.retain(|(muted, mute)| *muted != channel || mute.by > by);
            }
            Order::Mode { channel, mode, .. } => {
                orders.modes.retain(|(ordered, _)| *ordered != channel);
                orders.modes.extend(mode.map(|mode| (channel, mode)));
            }
            Order::OptOut { user, .. } => {
                orders.opted_out.retain(|other| *other != user);
                orders.opted_out.push(user);
            }
            Order::OptIn { user, .. } => orders.opted_out.retain(|other| *other != user),
            Order::Redact { .. }
            | Order::Reset { .. }
            | Order::Forget { .. }
            | Order::ImportMemory { .. }
            | Order::ImportMemo { .. } => {}
        }
        orders.mutes.sort_by(|one, other| (&one.0, other.1.by).cmp(&(&other.0, one.1.by)));
        orders.modes.sort_by(|(one, _), (other, _)| one.cmp(other));
        orders.opted_out.sort();
    }
}

impl VolatileState {
    /// What somebody has said is not to be listened to any more.
    fn redact_user(&mut self, workspace: &WorkspaceId, user: &UserId, now: Timestamp) {
        let here = |place: &&ConversationId| place.workspace == *workspace;
        let places: Vec<ConversationId> = self.conversations.keys().filter(here).cloned().collect();
        let mut lines = Vec::new();
        for place in &places {
            let of_user = |line: &&MessageRecord| line.message.author.id == *user;
            let told = self.conversations[place].messages.iter().filter(of_user);
            lines.extend(told.map(|line| line.message.clone()));
        }
        self.redact_messages(lines, now);
        for place in &places {
            self.change_pending_state(place, now, |standing| {
                standing.owed.retain(|owed| owed.asker != *user);
            });
        }
    }

    /// What was said in a conversation is not to be listened to any more.
    fn reset_conversation(
        &mut self,
        conversation: &ConversationId,
        until: Timestamp,
        now: Timestamp,
    ) {
        let mark = self.resets.entry(conversation.clone()).or_insert(until);
        *mark = until.max(*mark);
        let top = ConversationId { thread: None, ..conversation.clone() };
        let is_parent =
            |line: &&MessageRecord| Some(&line.message.id) == conversation.thread.as_ref();
        let of = |place| self.conversations.get(place).map_or(&[][..], |talk| &talk.messages);
        let parent = of(&top).iter().filter(is_parent);
        let said = of(conversation).iter().chain(parent);
        let lines = said.filter(|line| {
            truncate_to_milliseconds(line.message.at) <= truncate_to_milliseconds(until)
        });
        let lines = lines.map(|line| line.message.clone()).collect();
        let is_command = |line: &&MessageRecord| line.gate == Some(Gate::Command);
        let commands = of(conversation).iter().filter(is_command);
        let commands: Vec<MessageId> = commands.map(|line| line.message.id.clone()).collect();
        self.redact_messages(lines, now);
        self.change_pending_state(conversation, now, |standing| {
            standing.owed.retain(|owed| owed.at > until || commands.contains(&owed.message));
        });
    }

    /// These lines are in no prompt and no memory any more.
    fn redact_messages(&mut self, mut lines: Vec<Arc<Message>>, now: Timestamp) {
        lines.retain(|line| {
            let known = self.message_mut(&line.conversation, &line.id);
            known.is_some_and(|known| !known.is_redacted)
        });
        let order =
            |line: &Arc<Message>| (line.at, line.conversation.channel.clone(), line.id.clone());
        lines.sort_by_cached_key(order);
        for line in &lines {
            let known = MessageRef(line.conversation.channel.clone(), line.id.clone());
            self.forget_memories(&line.conversation.workspace, &known, now);
        }
        for line in lines {
            self.revision += 1;
            let revision = self.revision;
            if let Some(line) = self.message_mut(&line.conversation, &line.id) {
                line.is_redacted = true;
                line.revision = revision;
            }
        }
        self.last_change = self.revision;
    }
}

impl VolatileState {
    /// Every line of somebody is deleted, with all that was made from it.
    fn forget_user(&mut self, workspace: &WorkspaceId, user: &UserId, now: Timestamp) {
        let here = |place: &&ConversationId| place.workspace == *workspace;
        let places: Vec<ConversationId> = self.conversations.keys().filter(here).cloned().collect();
        for place in places {
            let of_user =
                |line: &&MessageRecord| line.message.author.id == *user && !line.is_deleted;
            let lines = self.conversations[&place].messages.iter().filter(of_user);
            let lines: Vec<MessageId> = lines.map(|line| line.message.id.clone()).collect();
            for message in lines {
                let conversation = place.clone();
                self.delete_message(&Deletion { conversation, message: message.clone(), at: now });
                if let Some(line) = self.message_mut(&place, &message) {
                    let author = Author {
                        id: UserId::new(FORGOTTEN_USER_ID),
                        ..line.message.author.clone()
                    };
                    line.message = Arc::new(Message { author, ..(*line.message).clone() });
                }
            }
            self.change_pending_state(&place, now, |standing| {
                standing.owed.retain(|owed| owed.asker != *user);
            });
        }
    }
}

/// As exact as the database.
fn truncate_to_milliseconds(time: Timestamp) -> Timestamp {
    if time == Timestamp::MAX {
        return time;
    }
    Timestamp::from_millisecond(time.as_millisecond()).unwrap_or(time)
}

/// What was used up within the last day and month, and the tokens of the month.
fn sum_recent_spending(
    buckets: &BTreeMap<SpendingBucket, (u64, u64)>,
    now: Timestamp,
) -> (BudgetUsage, u64) {
    let now = now.as_millisecond();
    let after = |bucket| (Bound::Excluded(bucket), Bound::Unbounded);
    let (mut spent, mut tokens_in_month) = (BudgetUsage::default(), 0);
    let hours = buckets.range(after(SpendingBucket::Hour(now - DAY_MS)));
    let hours = hours.take_while(|(bucket, _)| matches!(bucket, SpendingBucket::Hour(_)));
    for (_, (tokens, micros)) in hours {
        spent.tokens_in_day += tokens;
        spent.micros_in_day += micros;
    }
    for (_, (tokens, micros)) in buckets.range(after(SpendingBucket::Day(now - 30 * DAY_MS))) {
        tokens_in_month += tokens;
        spent.micros_in_month += micros;
    }
    (spent, tokens_in_month)
}

/// The lines that an intervention ended with.
fn messages_until(
    talk: Option<&ConversationRecord>,
    at: Timestamp,
    most: usize,
) -> Vec<Arc<Message>> {
    let lines = talk.map_or(&[][..], |talk| &talk.messages).iter().rev();
    let before = lines.filter(|line| line.is_visible() && line.message.at <= at);
    let mut lines: Vec<Arc<Message>> = before.take(most).map(|line| line.message.clone()).collect();
    lines.reverse();
    lines
}
