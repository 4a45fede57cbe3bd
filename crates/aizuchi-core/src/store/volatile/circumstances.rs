//! The status of a conversation's channel, and users' orders, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{ChannelId, ConversationId, Message, MessageId, UserId, WorkspaceId};
use crate::context::{BudgetUsage, Circumstances, ContextWindow, Intervention};
use crate::decision::gate::Gate;
use crate::decision::mark::{DecisionMark, Mark};
use crate::decision::{DecisionId, DecisionResult};
use crate::event::step::{OwedAnswer, Step};
use crate::event::{Event, OutboxItem};
use crate::rules::ordered::{self, OrderedChange};
use crate::store::order::{Mute, Order};
use crate::store::order_journal::{OrderKind, OrderRecord};
use crate::store::private_reads::{PrivateRead, PrivateReads};
use crate::store::refusal_reason::RefusalReason;
use crate::store::volatile::pending_states::OnceOwed;
use crate::store::volatile::records::{ConversationRecord, MessageRecord};
use crate::store::volatile::{VolatileState, refuse_memories, refuse_memos};
use crate::store::{
    FORGETTING_INTERVAL, FORGOTTEN_USER_ID, LOOK, PRIVATE_READ_RETENTION, Spending, StoreError,
};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// By whole hours and days, as in the databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SpendingBucket {
    Hour(i64),
    Day(i64),
}

impl SpendingBucket {
    /// When it begins, in milliseconds.
    pub(super) fn begin_ms(self) -> i64 {
        match self {
            SpendingBucket::Hour(begin) | SpendingBucket::Day(begin) => begin,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SpendingSum {
    tokens: u64,
    unsolicited_tokens: u64,
    /// Those whose price is not known.
    unpriced_tokens: u64,
    micros: u64,
}

impl SpendingSum {
    /// `micros` is `None` if the price of the call's model is not known.
    pub(super) fn of_call(tokens: u64, micros: Option<u64>, is_unsolicited: bool) -> Self {
        Self {
            tokens,
            unsolicited_tokens: if is_unsolicited { tokens } else { 0 },
            unpriced_tokens: if micros.is_none() { tokens } else { 0 },
            micros: micros.unwrap_or(0),
        }
    }

    fn add(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.unsolicited_tokens += other.unsolicited_tokens;
        self.unpriced_tokens += other.unpriced_tokens;
        self.micros += other.micros;
    }
}

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
            answers_in_hour: self.answer_counts_since(conversation, record, hour_ago),
            has_announced_over_budget: record
                .is_some_and(|record| record.budget_notice_at.is_some_and(|at| at >= hour_ago)),
            channel_usage: self.recent_spent(workspace, channel.as_str(), window.now),
            workspace_usage: self.recent_spent(workspace, "", window.now),
            reply_delays: self
                .delays
                .get(&(workspace.clone(), channel.clone()))
                .cloned()
                .unwrap_or_default(),
        }
    }

    /// The unsolicited posts since then, and those under way in other conversations that come before this one's.
    fn unsolicited_posts_since(
        &self,
        conversation: &ConversationId,
        since: Timestamp,
    ) -> Vec<&ConversationId> {
        let workspace = &conversation.workspace;
        let recent = self.unsolicited_posts.iter().rev().take_while(|post| post.at >= since);
        let made = recent
            .filter(|post| post.is_posted && post.conversation.workspace == *workspace)
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

    /// Whether this step will lead to an unsolicited post that counts before that of the other one, if it is.
    fn is_post_before(&self, step: &Step, other: Option<&Step>) -> bool {
        let other_event = other.map(|other| &other.event);
        let is_unsolicited = |item: &OutboxItem| {
            self.outbox.get(&item.id).is_some_and(|record| record.is_unsolicited)
        };
        match (&step.event, other_event) {
            _ if step.is_owed => false,
            (Event::Judge(_), _) | (Event::Reply(_), Some(Event::Post(_))) => false,
            // What users have seen a part of counts already.
            (Event::Post(item), _) if item.id != item.first_in_draft || !is_unsolicited(item) => {
                false
            }
            (Event::Post(item), Some(Event::Post(other))) => item.id < other.id,
            (Event::Post(_), Some(Event::Judge(_) | Event::Reply(_)) | None) => true,
            (Event::Reply(_), Some(Event::Reply(_))) => {
                other.is_some_and(|other| step.decision < other.decision)
            }
            (Event::Reply(_), Some(Event::Judge(_)) | None) => true,
        }
    }

    fn pending_step(&self, conversation: &ConversationId) -> Option<&Step> {
        self.conversations.get(conversation)?.pending.step.as_ref()
    }

    /// For each user who is owed an answer here: how many they got since then, and how many of their questions in
    /// other conversations come first.
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
                    let is_answered = decision.ended == Some(DecisionResult::Spoke);
                    is_answered.then_some(decision.id)
                })
                .collect();
            decisions.len() + earlier
        };
        let mut counts = BTreeMap::new();
        // Oldest first, so each user's first question here counts.
        for first in owed {
            counts.entry(first.asker.clone()).or_insert_with(|| {
                (answered(&first.asker) + self.questions_before(conversation, first)) as u64
            });
        }
        counts
    }

    /// In how many other conversations a user has an open question that comes before this one.
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
                    && record.question(&owed.message).is_some()
            })
        };
        others.filter(is_before).count()
    }

    pub(super) fn recent_spent(
        &self,
        workspace: &WorkspaceId,
        channel: &str,
        now: Timestamp,
    ) -> BudgetUsage {
        let buckets = self.spending.get(&(workspace.clone(), ChannelId::new(channel)));
        buckets.map_or(BudgetUsage::default(), |buckets| recent_spending(None, buckets, now).spent)
    }

    pub(super) fn spending(&self, workspace: &WorkspaceId, now: Timestamp) -> Vec<Spending> {
        let in_workspace = self.spending.iter().filter(|((other, _), _)| other == workspace);
        let spendings = in_workspace.map(|((_, channel), buckets)| {
            let channel = (!channel.as_str().is_empty()).then(|| channel.clone());
            recent_spending(channel, buckets, now)
        });
        let is_any = |spending: &Spending| {
            spending.spent != BudgetUsage::default() || spending.tokens_in_month > 0
        };
        let mut spendings: Vec<Spending> = spendings.filter(is_any).collect();
        spendings.sort_by(|one, other| one.channel.cmp(&other.channel));
        spendings
    }

    /// Books what a model call used, whatever its result.
    pub(super) fn record_spending(
        &mut self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        at: Timestamp,
        used: SpendingSum,
    ) {
        let at = at.as_millisecond();
        let buckets = [
            SpendingBucket::Hour(at - at.rem_euclid(HOUR_MS)),
            SpendingBucket::Day(at - at.rem_euclid(DAY_MS)),
        ];
        for channel in BTreeSet::from([channel, &ChannelId::new("")]) {
            let spending = self.spending.entry((workspace.clone(), channel.clone())).or_default();
            for bucket in buckets {
                spending.entry(bucket).or_default().add(used);
            }
        }
    }

    pub(super) fn apply_order(&mut self, order: Order, now: Timestamp) -> Result<(), StoreError> {
        let setting = order.setting_change(now);
        match order {
            Order::Signed { order, by } => return self.apply_signed_order(*order, by, now),
            Order::ImportMemory { .. } | Order::ChangeMemory { .. } => {
                return Err(refuse_memories());
            }
            Order::ImportMemo { .. } | Order::ChangeMemo { .. } | Order::RevertMemo { .. } => {
                return Err(refuse_memos());
            }
            Order::ForgetMoments { workspace } => {
                self.forget_moments(&workspace);
                return Ok(());
            }
            Order::DropDeadLetter { workspace, id } => {
                return self.drop_dead_letter(&workspace, id);
            }
            Order::RetryDeadLetter { workspace, id } => {
                return self.retry_dead_letter(&workspace, id, now);
            }
            Order::GiveStandingOrder { workspace, scope, text, by } => {
                return self.give_standing_order((workspace, scope), text, by, now);
            }
            Order::ChangeStandingOrder { workspace, number, text, by } => {
                return self.change_standing_order((workspace, number), text, by, now);
            }
            Order::DropStandingOrder { workspace, number } => {
                return self.drop_standing_order(&workspace, number, now);
            }
            Order::DraftStandingOrder { workspace, target, text, by } => {
                return self.draft_standing_order((workspace, target), text, by, now);
            }
            Order::KeepStandingOrder { workspace, number } => {
                return self.keep_standing_order(&workspace, number, now);
            }
            Order::DropOrderDraft { workspace, number } => {
                return self.drop_order_draft(&workspace, number);
            }
            Order::NotePrivateRead(read) => {
                self.note_private_read(read, truncate_to_milliseconds(now));
                return Ok(());
            }
            Order::MarkDecision { id, mark, by, .. } => {
                return self.mark_decision(id, mark, by, truncate_to_milliseconds(now));
            }
            Order::DecideProposal { workspace, id, choice, by } => {
                let now = truncate_to_milliseconds(now);
                return self.decide_proposal(&workspace, id, &choice, by, now);
            }
            Order::AnswerTrust { workspace, channel, id, least, choice, by } => {
                let now = truncate_to_milliseconds(now);
                let place = (workspace.clone(), channel, id);
                self.answer_trust(place, least, choice, by, now)?;
                if let Some(change) = setting {
                    self.change_setting(workspace, change);
                }
                return Ok(());
            }
            Order::TakeConsentStep { workspace, id, step } => {
                let now = truncate_to_milliseconds(now);
                return self.take_consent_step(&workspace, id, &step, now);
            }
            Order::Mute { .. }
            | Order::Unmute { .. }
            | Order::Mode { .. }
            | Order::ChangeSetting { .. }
            | Order::OptOut { .. }
            | Order::OptIn { .. }
            | Order::Redact { .. }
            | Order::Reset { .. }
            | Order::Forget { .. }
            | Order::NoteModelChoice { .. } => self.revision += 1,
        }
        if let Order::Forget { workspace, user, asked } = &order {
            let begun = self.forgotten_at.get(&(workspace.clone(), user.clone()));
            if begun.is_some_and(|begun| now.duration_since(*begun) < FORGETTING_INTERVAL) {
                return Ok(());
            }
            self.forgotten_at.insert((workspace.clone(), user.clone()), now);
            let orders = self.orders.entry(workspace.clone()).or_default();
            orders.forgotten.retain(|(other, _)| other != user);
            orders.forgotten.push((user.clone(), truncate_to_milliseconds(*asked)));
            self.judge_calls.remove(&(workspace.clone(), user.clone()));
            self.erase_person_of_web_calls(workspace, user);
            self.forget_user(workspace, user, now);
            self.forget_orders_of(workspace, user);
            self.withdraw_standing_orders_of(workspace, user);
            let record = OrderRecord::new(OrderKind::Forget);
            self.record_order(workspace.clone(), record, FORGOTTEN_USER_ID.into(), now);
        }
        if let Order::OptOut { workspace, user } | Order::Redact { workspace, user } = &order {
            self.redact_user(workspace, user, now);
            self.withdraw_standing_orders_of(workspace, user);
        }
        if let Order::Reset { conversation, until } = &order {
            self.reset_conversation(conversation, *until, now);
        }
        if let Order::Mode { workspace, channel, mode } = &order {
            self.withdraw_trust((workspace, channel), *mode, truncate_to_milliseconds(now));
        }
        if let Some(change) = setting {
            self.change_setting(order.workspace().clone(), change);
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
            | Order::ImportMemo { .. }
            | Order::ForgetMoments { .. }
            | Order::GiveStandingOrder { .. }
            | Order::ChangeStandingOrder { .. }
            | Order::DropStandingOrder { .. }
            | Order::DraftStandingOrder { .. }
            | Order::KeepStandingOrder { .. }
            | Order::DropOrderDraft { .. }
            | Order::ChangeSetting { .. }
            | Order::DropDeadLetter { .. }
            | Order::RetryDeadLetter { .. }
            | Order::MarkDecision { .. }
            | Order::DecideProposal { .. }
            | Order::AnswerTrust { .. }
            | Order::TakeConsentStep { .. }
            | Order::ChangeMemory { .. }
            | Order::ChangeMemo { .. }
            | Order::RevertMemo { .. }
            | Order::NotePrivateRead(_)
            | Order::NoteModelChoice { .. }
            | Order::Signed { .. } => {}
        }
        orders.mutes.sort_by(|one, other| (&one.0, other.1.by).cmp(&(&other.0, one.1.by)));
        orders.modes.sort_by(|(one, _), (other, _)| one.cmp(other));
        orders.opted_out.sort();
        Ok(())
    }

    /// Marks a closed decision, or takes its mark back.
    fn mark_decision(
        &mut self,
        id: DecisionId,
        mark: Option<Mark>,
        by: Arc<str>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        if self.decisions.get(&id).is_none_or(|decision| decision.closed.is_none()) {
            return Err(StoreError::Refused(RefusalReason::NotDecided));
        }
        match mark {
            Some(mark) => {
                drop(self.marks.insert(id, DecisionMark { decision: id, mark, by, at }));
            }
            None => drop(self.marks.remove(&id)),
        }
        self.revision += 1;
        Ok(())
    }

    pub(super) fn drop_old_private_reads(&mut self, now: Timestamp) {
        let before = now.checked_sub(PRIVATE_READ_RETENTION).unwrap_or(Timestamp::MIN);
        self.private_reads.retain(|reads| reads.at >= before);
    }

    /// Counts a look in its hour. Reads that are old enough are dropped.
    fn note_private_read(&mut self, read: PrivateRead, now: Timestamp) {
        const HOUR_MS: i64 = 3_600_000;
        self.drop_old_private_reads(now);
        let hour = |at: Timestamp| at.as_millisecond().div_euclid(HOUR_MS);
        let mut known = self.private_reads.iter_mut();
        match known.find(|reads| reads.read == read && hour(reads.at) == hour(now)) {
            Some(reads) => {
                reads.count += u64::from(now.duration_since(reads.at) >= LOOK);
                reads.at = now;
            }
            None => self.private_reads.push(PrivateReads { read, at: now, count: 1 }),
        }
    }
}

impl ConversationRecord {
    /// The message with this id, unless it is a command.
    pub(super) fn question(&self, id: &MessageId) -> Option<&MessageRecord> {
        let message = self.messages.iter().rfind(|message| message.message.id == *id);
        message.filter(|message| message.gate != Some(Gate::Command))
    }
}

impl VolatileState {
    /// Changes the settings that people ordered in a workspace.
    fn change_setting(&mut self, workspace: WorkspaceId, change: OrderedChange) {
        let orders = self.orders.entry(workspace).or_default();
        let known = std::mem::take(&mut orders.settings);
        let at = truncate_to_milliseconds(change.at);
        orders.settings = ordered::changed(known, OrderedChange { at, ..change });
    }

    /// Withholds all that a user has written so far.
    fn redact_user(&mut self, workspace: &WorkspaceId, user: &UserId, now: Timestamp) {
        let is_in_workspace = |conversation: &&ConversationId| conversation.workspace == *workspace;
        let conversations: Vec<ConversationId> =
            self.conversations.keys().filter(is_in_workspace).cloned().collect();
        let mut messages = Vec::new();
        for conversation in &conversations {
            let of_user = |message: &&MessageRecord| message.message.author.id == *user;
            let theirs = self.conversations[conversation].messages.iter().filter(of_user);
            messages.extend(theirs.map(|message| message.message.clone()));
        }
        self.redact_messages(messages);
        for conversation in &conversations {
            self.change_pending_state(conversation, now, |pending_state| {
                pending_state.owed.retain(|owed| owed.asker != *user);
            });
        }
    }

    /// Withholds all that was written in a conversation until then.
    fn reset_conversation(
        &mut self,
        conversation: &ConversationId,
        until: Timestamp,
        now: Timestamp,
    ) {
        let reset = self.resets.entry(conversation.clone()).or_insert(until);
        *reset = until.max(*reset);
        let top = ConversationId { thread: None, ..conversation.clone() };
        let is_parent =
            |record: &&MessageRecord| Some(&record.message.id) == conversation.thread.as_ref();
        let messages_of = |conversation_id| {
            self.conversations.get(conversation_id).map_or(&[][..], |record| &record.messages)
        };
        let parent = messages_of(&top).iter().filter(is_parent);
        let candidates = messages_of(conversation).iter().chain(parent);
        let messages = candidates.filter(|record| {
            truncate_to_milliseconds(record.message.at) <= truncate_to_milliseconds(until)
        });
        let messages = messages.map(|record| record.message.clone()).collect();
        let is_command = |record: &&MessageRecord| record.gate == Some(Gate::Command);
        let commands = messages_of(conversation).iter().filter(is_command);
        let commands: Vec<MessageId> = commands.map(|record| record.message.id.clone()).collect();
        self.redact_messages(messages);
        self.change_pending_state(conversation, now, |pending_state| {
            pending_state.owed.retain(|owed| owed.at > until || commands.contains(&owed.message));
        });
    }

    /// Removes these messages from all prompts.
    fn redact_messages(&mut self, mut messages: Vec<Arc<Message>>) {
        messages.retain(|message| {
            let record = self.message_mut(&message.conversation, &message.id);
            record.is_some_and(|record| !record.is_redacted)
        });
        let sort_key = |message: &Arc<Message>| {
            (message.at, message.conversation.channel.clone(), message.id.clone())
        };
        messages.sort_by_cached_key(sort_key);
        for message in messages {
            self.revision += 1;
            let revision = self.revision;
            let mut was_visible = false;
            if let Some(record) = self.message_mut(&message.conversation, &message.id) {
                was_visible = record.is_visible();
                record.is_redacted = true;
                record.revision = revision;
            }
            // What was deleted has no links, and no later message was compared with it.
            if was_visible {
                let ConversationId { workspace, channel, .. } = &message.conversation;
                self.drop_search_index(workspace, channel);
                self.drop_outdated_links(&message.conversation, &message.id);
            }
        }
        self.last_change = self.revision;
    }
}

/// As precise as the databases.
pub(super) fn truncate_to_milliseconds(time: Timestamp) -> Timestamp {
    if time == Timestamp::MAX {
        return time;
    }
    Timestamp::from_millisecond(time.as_millisecond()).unwrap_or(time)
}

/// The spending of the last day and month.
fn recent_spending(
    channel: Option<ChannelId>,
    buckets: &BTreeMap<SpendingBucket, SpendingSum>,
    now: Timestamp,
) -> Spending {
    let now = now.as_millisecond();
    let after = |bucket| (Bound::Excluded(bucket), Bound::Unbounded);
    let hours = buckets.range(after(SpendingBucket::Hour(now - DAY_MS)));
    let hours = hours.take_while(|(bucket, _)| matches!(bucket, SpendingBucket::Hour(_)));
    let (mut day, mut month) = (SpendingSum::default(), SpendingSum::default());
    hours.for_each(|(_, sum)| day.add(*sum));
    let days = buckets.range(after(SpendingBucket::Day(now - 30 * DAY_MS)));
    days.for_each(|(_, sum)| month.add(*sum));
    Spending {
        channel,
        spent: BudgetUsage {
            tokens_in_day: day.tokens,
            unsolicited_tokens_in_day: day.unsolicited_tokens,
            micros_in_day: day.micros,
            micros_in_month: month.micros,
        },
        tokens_in_month: month.tokens,
        unpriced_tokens_in_day: day.unpriced_tokens,
        unpriced_tokens_in_month: month.unpriced_tokens,
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
