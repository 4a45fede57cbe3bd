//! The figures of a period, in memory.

use std::collections::BTreeMap;

use crate::chat::{AuthorKind, ChannelId, WorkspaceId};
use crate::decision::{Attempt, Decision, DecisionResult};
use crate::rhythm::reply_delays::ReplyDelays;
use crate::store::figures::{AnswerDelay, CallSum, MessageCount, OutcomeCount, Period};
use crate::store::volatile::VolatileState;

impl VolatileState {
    pub(super) fn messages_by_day(&self, period: &Period) -> Vec<MessageCount> {
        let mut counts = BTreeMap::new();
        let here = self.conversations.iter().filter(|(id, _)| id.workspace == period.workspace);
        for (id, record) in here {
            let messages = record.messages.iter().map(|record| &record.message);
            for message in messages.filter(|message| message.at >= period.since) {
                let (day, channel) = (period.day_of(message.at), id.channel.clone());
                let is_own = message.author.kind == AuthorKind::Persona;
                let key = (day, channel.clone(), is_own);
                let new = MessageCount { day, channel, is_own, count: 0 };
                counts.entry(key).or_insert(new).count += 1;
            }
        }
        counts.into_values().collect()
    }

    pub(super) fn outcomes_by_day(&self, period: &Period) -> Vec<OutcomeCount> {
        let mut counts = BTreeMap::new();
        for decision in self.decisions_in(period) {
            let (day, ended) = (period.day_of(decision.opened), decision.ended);
            let channel = decision.conversation.channel;
            let key = (day, channel.clone(), ended.map_or("", DecisionResult::name));
            let new = OutcomeCount { day, channel, ended, count: 0 };
            counts.entry(key).or_insert(new).count += 1;
        }
        counts.into_values().collect()
    }

    pub(super) fn calls_by_day(&self, period: &Period) -> Vec<CallSum> {
        let mut sums = BTreeMap::new();
        for decision in self.decisions_in(period) {
            let (day, channel) = (period.day_of(decision.opened), decision.conversation.channel);
            for Attempt { model, usage, price, .. } in decision.attempts {
                let key = (day, channel.clone(), model.clone());
                let sum = sums.entry(key).or_insert_with(|| CallSum {
                    day,
                    channel: channel.clone(),
                    model,
                    calls: 0,
                    usage: Default::default(),
                    price: Default::default(),
                });
                sum.calls += 1;
                sum.usage = sum.usage.plus(usage);
                sum.price.micros += price.unwrap_or_default().micros;
            }
        }
        sums.into_values().collect()
    }

    pub(super) fn answer_delays(&self, period: &Period) -> Vec<AnswerDelay> {
        let spoke = self.decisions_in(period).into_iter();
        let spoke = spoke.filter(|decision| decision.ended == Some(DecisionResult::Spoke));
        let delay = |decision: Decision| {
            let record = self.conversations.get(&decision.conversation)?;
            let times = |ids: &[_]| {
                let found = record.messages.iter();
                let found = found.filter(|record| ids.contains(&record.message.id));
                found.map(|record| record.message.at).collect::<Vec<_>>()
            };
            let newest = times(&decision.messages).into_iter().max()?;
            let said = times(&decision.posted_messages).into_iter().min()?;
            Some(AnswerDelay {
                channel: decision.conversation.channel,
                is_addressed: decision.is_addressed,
                delay: said.duration_since(newest),
            })
        };
        spoke.filter_map(delay).filter(|answer| !answer.delay.is_negative()).collect()
    }

    pub(super) fn user_delays(&self, workspace: &WorkspaceId) -> Vec<(ChannelId, ReplyDelays)> {
        let channels = self.channels.keys().filter(|(here, _)| here == workspace);
        let learned =
            channels.map(|key| (key.1.clone(), self.delays.get(key).cloned().unwrap_or_default()));
        learned.collect()
    }

    fn decisions_in(&self, period: &Period) -> Vec<Decision> {
        let mut ledger = self.ledger();
        ledger.retain(|decision| {
            decision.conversation.workspace == period.workspace && decision.opened >= period.since
        });
        ledger
    }
}
