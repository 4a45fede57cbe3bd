//! How things stand around a conversation, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{
    Author, ChannelId, ConversationId, Deletion, Message, MessageId, UserId, WorkspaceId,
};
use crate::context::{Circumstances, Intervention, Spent, Window};
use crate::decision::gate::Gate;
use crate::decision::{Attempt, DecisionId, Ended};
use crate::memory::LineId;
use crate::store::volatile::{State, StoredLine, Talk, UnaskedPost};
use crate::store::{Mute, NOBODY, Order, Spending};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// By whole hours and days, as the database keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Bucket {
    Hour(i64),
    Day(i64),
}

impl State {
    pub(super) fn circumstances(
        &self,
        conversation: &ConversationId,
        talk: Option<&Talk>,
        window: &Window,
    ) -> Circumstances {
        let ConversationId { workspace, channel, .. } = conversation;
        let orders = self.orders.get(workspace);
        let muted = orders.and_then(|orders| {
            let is_here = |muted: &Option<ChannelId>| muted.as_ref().is_none_or(|it| it == channel);
            let here = orders.muted.iter().filter(|(muted, _)| is_here(muted));
            here.map(|(_, mute)| mute.until).max()
        });
        let mode = orders.and_then(|orders| {
            let mut modes = orders.modes.iter();
            modes.find(|(ordered, _)| ordered == channel).map(|(_, mode)| *mode)
        });
        let unasked = talk.map_or(&[][..], |talk| &talk.unasked);
        let lately = window.now - SignedDuration::from_mins(30);
        let hour_ago = window.now - SignedDuration::from_hours(1);
        let posts = self.unasked_posts(conversation, hour_ago);
        Circumstances {
            muted_until: muted,
            ordered_mode: mode,
            intervention: unasked.iter().max().map(|at| Intervention {
                at: *at,
                lines: compared(talk, *at, window.compared + 1),
            }),
            interventions_lately: unasked.iter().filter(|at| **at >= lately).count() as u64,
            posts_in_hour: posts.iter().filter(|post| post.channel == *channel).count() as u64,
            posts_in_hour_anywhere: posts.len() as u64,
            spoke_unasked: self.spoke_unasked.get(&(workspace.clone(), channel.clone())).copied(),
            answers_in_hour: self.answers_since(workspace, talk, hour_ago),
            has_said_so: talk.is_some_and(|talk| talk.said_so.is_some_and(|at| at >= hour_ago)),
            spent: self.spent(workspace, channel.as_str(), window.now),
            spent_anywhere: self.spent(workspace, "", window.now),
            delays: self
                .delays
                .get(&(workspace.clone(), channel.clone()))
                .cloned()
                .unwrap_or_default(),
        }
    }

    fn unasked_posts(
        &self,
        conversation: &ConversationId,
        since: Timestamp,
    ) -> Vec<&ConversationId> {
        let is_sending = |post: &&UnaskedPost| {
            let out = self.outbox.get(&post.piece);
            !post.is_said && out.is_some_and(|out| out.piece.is_sending())
        };
        // Of those that are on their way together, the first goes first.
        let own = self.unasked.iter().filter(|post| post.place == *conversation);
        let own = own.filter(is_sending).map(|post| post.piece).min();
        let recent = self.unasked.iter().rev().take_while(|post| post.at >= since);
        let is_here = |post: &&UnaskedPost| post.place.workspace == conversation.workspace;
        let is_before = |post: &UnaskedPost| own.is_none_or(|own| post.piece < own);
        let counts = |post: &&UnaskedPost| post.is_said || (is_sending(post) && is_before(post));
        recent.filter(is_here).filter(counts).map(|post| &post.place).collect()
    }

    fn answers_since(
        &self,
        workspace: &WorkspaceId,
        talk: Option<&Talk>,
        since: Timestamp,
    ) -> BTreeMap<UserId, u64> {
        let owed = talk.map_or(&[][..], |talk| &talk.standing.owed);
        let count = |asker: &UserId| {
            let settled = self.settled.get(&(workspace.clone(), asker.clone()));
            let recent = settled.into_iter().flatten().filter(|(_, (at, _))| *at >= since);
            let decisions: BTreeSet<DecisionId> = recent
                .filter_map(|((channel, id), (_, thread))| {
                    let place = ConversationId {
                        workspace: workspace.clone(),
                        channel: channel.clone(),
                        thread: thread.clone(),
                    };
                    let line = self
                        .talks
                        .get(&place)?
                        .lines
                        .iter()
                        .rfind(|line| line.message.id == *id)
                        .filter(|line| line.gate != Some(Gate::Command))?;
                    let decision = self.decisions.get(&line.decision?)?;
                    (decision.ended == Some(Ended::Spoke)).then_some(decision.id)
                })
                .collect();
            decisions.len() as u64
        };
        owed.iter().map(|owed| (owed.asker.clone(), count(&owed.asker))).collect()
    }

    fn spent(&self, workspace: &WorkspaceId, channel: &str, now: Timestamp) -> Spent {
        let buckets = self.spending.get(&(workspace.clone(), ChannelId::new(channel)));
        buckets.map_or(Spent::default(), |buckets| lately(buckets, now).0)
    }

    pub(super) fn spending(&self, workspace: &WorkspaceId, now: Timestamp) -> Vec<Spending> {
        let here = self.spending.iter().filter(|((other, _), _)| other == workspace);
        let spendings = here.map(|((_, channel), buckets)| {
            let channel = (!channel.as_str().is_empty()).then(|| channel.clone());
            let (spent, tokens_in_month) = lately(buckets, now);
            Spending { channel, spent, tokens_in_month }
        });
        let is_any = |spending: &Spending| {
            spending.spent != Spent::default() || spending.tokens_in_month > 0
        };
        let mut spendings: Vec<Spending> = spendings.filter(is_any).collect();
        spendings.sort_by(|one, other| one.channel.cmp(&other.channel));
        spendings
    }

    /// Counts what a call used up, whatever came of it.
    pub(super) fn spend(
        &mut self,
        workspace: &WorkspaceId,
        channel: Option<&ChannelId>,
        attempt: &Attempt,
    ) {
        let at = attempt.at.as_millisecond();
        let used = attempt.usage.input_tokens + attempt.usage.output_tokens;
        let price = attempt.price.map_or(0, |price| price.micros);
        let buckets =
            [Bucket::Hour(at - at.rem_euclid(HOUR_MS)), Bucket::Day(at - at.rem_euclid(DAY_MS))];
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

    pub(super) fn order(&mut self, order: Order, now: Timestamp) {
        match order {
            Order::Remember { key, entries, newest } => {
                return self.bring_memory(key, entries, newest, now);
            }
            Order::Note { workspace, memo } => return self.bring_memo(workspace, *memo),
            Order::Mute { .. }
            | Order::Unmute { .. }
            | Order::Mode { .. }
            | Order::OptOut { .. }
            | Order::OptIn { .. }
            | Order::Withhold { .. }
            | Order::Reset { .. }
            | Order::Forget { .. } => self.revision += 1,
        }
        if let Order::Forget { workspace, user } = &order {
            self.forget_person(workspace, user, now);
        }
        if let Order::OptOut { workspace, user } | Order::Withhold { workspace, user } = &order {
            self.withhold(workspace, user, now);
        }
        if let Order::Reset { conversation, until } = &order {
            self.reset(conversation, *until, now);
        }
        let orders = self.orders.entry(order.workspace().clone()).or_default();
        match order {
            Order::Mute { channel, until, by, .. } => {
                orders.muted.retain(|(muted, mute)| *muted != channel || mute.by != by);
                orders.muted.push((channel, Mute { until: in_milliseconds(until), by }));
            }
            Order::Unmute { channel, by, .. } => {
                orders.muted.retain(|(muted, mute)| *muted != channel || mute.by > by);
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
            Order::Withhold { .. }
            | Order::Reset { .. }
            | Order::Forget { .. }
            | Order::Remember { .. }
            | Order::Note { .. } => {}
        }
        orders.muted.sort_by(|one, other| (&one.0, other.1.by).cmp(&(&other.0, one.1.by)));
        orders.modes.sort_by(|(one, _), (other, _)| one.cmp(other));
        orders.opted_out.sort();
    }
}

impl State {
    /// What somebody has said is not to be listened to any more.
    fn withhold(&mut self, workspace: &WorkspaceId, user: &UserId, now: Timestamp) {
        let here = |place: &&ConversationId| place.workspace == *workspace;
        let places: Vec<ConversationId> = self.talks.keys().filter(here).cloned().collect();
        let mut lines = Vec::new();
        for place in &places {
            let of_user = |line: &&StoredLine| line.message.author.id == *user;
            let told = self.talks[place].lines.iter().filter(of_user);
            lines.extend(told.map(|line| line.message.clone()));
        }
        self.hide(lines, now);
        for place in &places {
            self.change_standing(place, now, |standing| {
                standing.owed.retain(|owed| owed.asker != *user);
            });
        }
    }

    /// What was said in a conversation is not to be listened to any more.
    fn reset(&mut self, conversation: &ConversationId, until: Timestamp, now: Timestamp) {
        let mark = self.resets.entry(conversation.clone()).or_insert(until);
        *mark = until.max(*mark);
        let top = ConversationId { thread: None, ..conversation.clone() };
        let is_parent = |line: &&StoredLine| Some(&line.message.id) == conversation.thread.as_ref();
        let of = |place| self.talks.get(place).map_or(&[][..], |talk| &talk.lines);
        let parent = of(&top).iter().filter(is_parent);
        let said = of(conversation).iter().chain(parent);
        let lines = said.filter(|line| in_milliseconds(line.message.at) <= in_milliseconds(until));
        let lines = lines.map(|line| line.message.clone()).collect();
        let is_command = |line: &&StoredLine| line.gate == Some(Gate::Command);
        let commands = of(conversation).iter().filter(is_command);
        let commands: Vec<MessageId> = commands.map(|line| line.message.id.clone()).collect();
        self.hide(lines, now);
        self.change_standing(conversation, now, |standing| {
            standing.owed.retain(|owed| owed.at > until || commands.contains(&owed.message));
        });
    }

    /// These lines are in no prompt and no memory any more.
    fn hide(&mut self, mut lines: Vec<Arc<Message>>, now: Timestamp) {
        lines.retain(|line| {
            let known = self.line(&line.conversation, &line.id);
            known.is_some_and(|known| !known.is_withheld)
        });
        let order =
            |line: &Arc<Message>| (line.at, line.conversation.channel.clone(), line.id.clone());
        lines.sort_by_cached_key(order);
        for line in &lines {
            let known = LineId(line.conversation.channel.clone(), line.id.clone());
            self.forget_memories(&line.conversation.workspace, &known, now);
        }
        for line in lines {
            self.revision += 1;
            let revision = self.revision;
            if let Some(line) = self.line(&line.conversation, &line.id) {
                line.is_withheld = true;
                line.revision = revision;
            }
        }
        self.changed = self.revision;
    }
}

impl State {
    /// Every line of somebody is deleted, with all that was made from it.
    fn forget_person(&mut self, workspace: &WorkspaceId, user: &UserId, now: Timestamp) {
        let here = |place: &&ConversationId| place.workspace == *workspace;
        let places: Vec<ConversationId> = self.talks.keys().filter(here).cloned().collect();
        for place in places {
            let of_user = |line: &&StoredLine| line.message.author.id == *user && !line.is_deleted;
            let lines = self.talks[&place].lines.iter().filter(of_user);
            let lines: Vec<MessageId> = lines.map(|line| line.message.id.clone()).collect();
            for message in lines {
                let conversation = place.clone();
                self.delete_line(&Deletion { conversation, message: message.clone(), at: now });
                if let Some(line) = self.line(&place, &message) {
                    let author = Author { id: UserId::new(NOBODY), ..line.message.author.clone() };
                    line.message = Arc::new(Message { author, ..(*line.message).clone() });
                }
            }
            self.change_standing(&place, now, |standing| {
                standing.owed.retain(|owed| owed.asker != *user);
            });
        }
    }
}

/// As exact as the database.
fn in_milliseconds(time: Timestamp) -> Timestamp {
    if time == Timestamp::MAX {
        return time;
    }
    Timestamp::from_millisecond(time.as_millisecond()).unwrap_or(time)
}

/// What was used up within the last day and month, and the tokens of the month.
fn lately(buckets: &BTreeMap<Bucket, (u64, u64)>, now: Timestamp) -> (Spent, u64) {
    let now = now.as_millisecond();
    let after = |bucket| (Bound::Excluded(bucket), Bound::Unbounded);
    let (mut spent, mut tokens_in_month) = (Spent::default(), 0);
    let hours = buckets.range(after(Bucket::Hour(now - DAY_MS)));
    let hours = hours.take_while(|(bucket, _)| matches!(bucket, Bucket::Hour(_)));
    for (_, (tokens, micros)) in hours {
        spent.tokens_in_day += tokens;
        spent.micros_in_day += micros;
    }
    for (_, (tokens, micros)) in buckets.range(after(Bucket::Day(now - 30 * DAY_MS))) {
        tokens_in_month += tokens;
        spent.micros_in_month += micros;
    }
    (spent, tokens_in_month)
}

/// The lines that an intervention ended with.
fn compared(talk: Option<&Talk>, at: Timestamp, most: usize) -> Vec<Arc<Message>> {
    let lines = talk.map_or(&[][..], |talk| &talk.lines).iter().rev();
    let before = lines.filter(|line| line.is_told() && line.message.at <= at);
    let mut lines: Vec<Arc<Message>> = before.take(most).map(|line| line.message.clone()).collect();
    lines.reverse();
    lines
}
