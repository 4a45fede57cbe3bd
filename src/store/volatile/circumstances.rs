//! How things stand around a conversation, in memory.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{ChannelId, ConversationId, Message, WorkspaceId};
use crate::context::{Circumstances, Intervention, Spent, Window};
use crate::decision::Attempt;
use crate::store::Order;
use crate::store::volatile::{State, Talk, UnaskedPost};

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
            let here = orders.muted.iter().filter(|(muted, _)| muted == channel);
            here.map(|(_, until)| *until).chain(orders.muted_until).max()
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
            asked_in_hour: self.asked_since(workspace, talk, hour_ago),
            has_said_so: talk.is_some_and(|talk| talk.said_so.is_some_and(|at| at >= hour_ago)),
            spent: self.spent(workspace, channel.as_str(), window.now),
            spent_anywhere: self.spent(workspace, "", window.now),
        }
    }

    fn unasked_posts(
        &self,
        conversation: &ConversationId,
        since: Timestamp,
    ) -> Vec<&ConversationId> {
        let recent = self.unasked.iter().rev().take_while(|post| post.at >= since);
        let is_here = |post: &&UnaskedPost| post.place.workspace == conversation.workspace;
        let is_sending = |piece| self.outbox.get(&piece).is_some_and(|out| out.piece.is_sending());
        // What is on its way from here is what asks.
        let is_other = |post: &UnaskedPost| post.place != *conversation && is_sending(post.piece);
        let counts = |post: &&UnaskedPost| post.is_said || is_other(post);
        recent.filter(is_here).filter(counts).map(|post| &post.place).collect()
    }

    fn asked_since(&self, workspace: &WorkspaceId, talk: Option<&Talk>, since: Timestamp) -> u64 {
        let owed = talk.map_or(&[][..], |talk| &talk.standing.owed);
        let counts = owed.iter().filter_map(|owed| {
            let asked = self.asked.get(&(workspace.clone(), owed.asker.clone()))?;
            Some(asked.values().filter(|at| **at >= since).count() as u64)
        });
        counts.max().unwrap_or(0)
    }

    fn spent(&self, workspace: &WorkspaceId, channel: &str, now: Timestamp) -> Spent {
        let now = now.as_millisecond();
        let Some(buckets) = self.spending.get(&(workspace.clone(), ChannelId::new(channel))) else {
            return Spent::default();
        };
        let mut spent = Spent::default();
        for (bucket, (tokens, micros)) in buckets {
            match bucket {
                Bucket::Hour(begin) if *begin > now - DAY_MS => {
                    spent.tokens_in_day += tokens;
                    spent.micros_in_day += micros;
                }
                Bucket::Day(begin) if *begin > now - 30 * DAY_MS => spent.micros_in_month += micros,
                Bucket::Hour(_) | Bucket::Day(_) => {}
            }
        }
        spent
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

    pub(super) fn order(&mut self, order: Order) {
        self.revision += 1;
        let orders = self.orders.entry(order.workspace().clone()).or_default();
        match order {
            Order::Mute { channel: None, until, .. } => orders.muted_until = Some(until),
            Order::Mute { channel: Some(channel), until, .. } => {
                orders.muted.retain(|(muted, _)| *muted != channel);
                orders.muted.push((channel, until));
            }
            Order::Unmute { channel: None, .. } => orders.muted_until = None,
            Order::Unmute { channel: Some(channel), .. } => {
                orders.muted.retain(|(muted, _)| *muted != channel);
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
        }
        orders.muted.sort();
        orders.modes.sort_by(|(one, _), (other, _)| one.cmp(other));
        orders.opted_out.sort();
    }
}

/// The lines that an intervention ended with.
fn compared(talk: Option<&Talk>, at: Timestamp, most: usize) -> Vec<Arc<Message>> {
    let lines = talk.map_or(&[][..], |talk| &talk.lines).iter().rev();
    let before = lines.filter(|line| line.is_told() && line.message.at <= at);
    let mut lines: Vec<Arc<Message>> = before.take(most).map(|line| line.message.clone()).collect();
    lines.reverse();
    lines
}
