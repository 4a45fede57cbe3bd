//! The figures of a period, in memory.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::chat::{AuthorKind, ChannelId, ConversationId};
use crate::decision::gate::Gate;
use crate::decision::{Attempt, Decision, DecisionResult};
use crate::store::figures::{
    ANSWER_WINDOW, AnswerDelay, CallKind, CallSum, Day, MessageCount, OutcomeCount, ReactionCount,
    UnansweredQuestion, WorkspacePeriod,
};
use crate::store::volatile::VolatileState;
use crate::store::volatile::records::{ConversationRecord, MessageRecord};

impl VolatileState {
    pub(super) fn messages_by_day(&self, period: &WorkspacePeriod) -> Vec<MessageCount> {
        let mut counts = BTreeMap::new();
        let here = self.conversations.iter().filter(|(id, _)| id.workspace == period.workspace);
        for (id, record) in here {
            let messages = record.messages.iter().map(|record| &record.message);
            for message in messages.filter(|message| period.has(message.at)) {
                let (day, channel) = (period.day_of(message.at), id.channel.clone());
                let is_own = message.author.kind == AuthorKind::Persona;
                let key = (day, channel.clone(), is_own);
                let new = MessageCount { day, channel, is_own, count: 0 };
                counts.entry(key).or_insert(new).count += 1;
            }
        }
        counts.into_values().collect()
    }

    pub(super) fn outcomes_by_day(&self, period: &WorkspacePeriod) -> Vec<OutcomeCount> {
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

    pub(super) fn calls_by_day(&self, period: &WorkspacePeriod) -> Vec<CallSum> {
        let in_workspace = self.decisions.values();
        let in_workspace =
            in_workspace.filter(|decision| decision.conversation.workspace == period.workspace);
        let claimed = in_workspace.flat_map(|decision| {
            let channel = Some(decision.conversation.channel.clone());
            let attempts = decision.attempts.iter();
            attempts.filter_map(move |attempt| call_sum(period, channel.clone(), attempt))
        });
        let unclaimed = self.unclaimed_calls.iter();
        let unclaimed = unclaimed
            .filter(|(_, call)| call.workspace == period.workspace && period.has(call.at))
            .map(|(kind, call)| CallSum {
                day: period.day_of(call.at),
                channel: call.channel.clone(),
                kind: *kind,
                model: call.model.clone(),
                calls: call.calls,
                usage: call.usage,
                price: call.price.unwrap_or_default(),
                unpriced_tokens: if call.price.is_none() { call.cost().tokens } else { 0 },
            });
        let mut sums: BTreeMap<_, CallSum> = BTreeMap::new();
        for call in claimed.chain(unclaimed) {
            let key = (call.day, call.channel.clone(), call.kind.name(), call.model.clone());
            match sums.get_mut(&key) {
                Some(sum) => {
                    sum.calls += call.calls;
                    sum.usage = sum.usage.plus(call.usage);
                    sum.price.micros += call.price.micros;
                    sum.unpriced_tokens += call.unpriced_tokens;
                }
                None => drop(sums.insert(key, call)),
            }
        }
        sums.into_values().collect()
    }

    pub(super) fn answer_delays(&self, period: &WorkspacePeriod) -> Vec<AnswerDelay> {
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
                day: period.day_of(decision.opened),
                channel: decision.conversation.channel,
                is_addressed: decision.is_addressed,
                delay: said.duration_since(newest),
            })
        };
        spoke.filter_map(delay).filter(|answer| !answer.delay.is_negative()).collect()
    }

    pub(super) fn reactions_by_day(&self, period: &WorkspacePeriod) -> Vec<ReactionCount> {
        let mut counts = BTreeMap::new();
        let here = self.conversations.iter().filter(|(id, _)| id.workspace == period.workspace);
        for (id, record) in here {
            let is_post = |record: &&MessageRecord| {
                record.message.author.kind == AuthorKind::Persona && period.has(record.message.at)
            };
            for post in record.messages.iter().filter(is_post) {
                let of_users = post.reactions.iter().filter(|reaction| {
                    reaction.kind == AuthorKind::Human && reaction.removed.is_none()
                });
                let (day, channel) = (period.day_of(post.message.at), id.channel.clone());
                let new = ReactionCount { day, channel: channel.clone(), count: 0 };
                counts.entry((day, channel)).or_insert(new).count += of_users.count() as u64;
            }
        }
        counts.into_values().filter(|counted| counted.count > 0).collect()
    }

    pub(super) fn open_questions(&self, period: &WorkspacePeriod) -> Vec<UnansweredQuestion> {
        let mut found = BTreeMap::new();
        let here = self
            .conversations
            .iter()
            .filter(|(id, _)| id.workspace == period.workspace && id.thread.is_none());
        for (id, record) in here {
            for asked in &record.messages {
                if may_ask(asked) && period.has(asked.message.at) && self.is_open(id, record, asked)
                {
                    let message = &asked.message;
                    let key = (id.channel.clone(), message.at, message.id.clone());
                    let question = UnansweredQuestion {
                        day: period.day_of(message.at),
                        channel: id.channel.clone(),
                        message: message.id.clone(),
                        at: message.at,
                        author: message.author.id.clone(),
                        text: message.text.clone(),
                        is_taken_up: self.is_taken_up(id, asked),
                    };
                    found.insert(key, question);
                }
            }
        }
        found.into_values().collect()
    }

    /// Whether a question is open: no other user wrote soon after it or in its thread, and the persona did not owe it
    /// an answer.
    fn is_open(
        &self,
        conversation: &ConversationId,
        record: &ConversationRecord,
        asked: &MessageRecord,
    ) -> bool {
        let message = &asked.message;
        let is_others = |other: &MessageRecord| {
            other.message.author.kind == AuthorKind::Human
                && other.message.author.id != message.author.id
        };
        let is_followed = record.messages.iter().any(|other| {
            let at = other.message.at;
            is_others(other) && message.at <= at && at <= message.at + ANSWER_WINDOW
        });
        let thread = ConversationId { thread: Some(message.id.clone()), ..conversation.clone() };
        let in_thread = self.conversations.get(&thread);
        let is_answered = in_thread.is_some_and(|thread| thread.messages.iter().any(is_others));
        let key = (conversation.channel.clone(), message.id.clone());
        let of_asker =
            self.once_owed.get(&(conversation.workspace.clone(), message.author.id.clone()));
        let is_owed = record.pending.owed.iter().any(|owed| owed.to == message.id)
            || of_asker.is_some_and(|owed| owed.contains_key(&key));
        !is_followed && !is_answered && !is_owed
    }

    fn is_taken_up(&self, conversation: &ConversationId, asked: &MessageRecord) -> bool {
        let decision = asked.decision.and_then(|decision| self.decisions.get(&decision));
        let spoke = decision.filter(|decision| {
            decision.ended == Some(DecisionResult::Spoke) && !decision.is_addressed
        });
        let Some((spoke, closed)) = spoke.and_then(|spoke| Some((spoke, spoke.closed?))) else {
            return false;
        };
        let about = spoke.judgment.as_ref().and_then(|judgment| judgment.about.clone());
        let newest = || {
            let places = self.conversations.iter().filter(|(id, _)| {
                id.workspace == conversation.workspace && id.channel == conversation.channel
            });
            let covered = places.flat_map(|(_, record)| &record.messages);
            let covered = covered.filter(|record| record.decision == asked.decision);
            let newest =
                covered.max_by_key(|record| (record.message.at, record.message.id.clone()));
            newest.map(|record| record.message.id.clone())
        };
        about.or_else(newest).as_ref() == Some(&asked.message.id)
            && closed.duration_since(asked.message.at) <= ANSWER_WINDOW
    }

    pub(super) fn changed_days(&self, period: &WorkspacePeriod, revision: u64) -> Vec<Day> {
        let mut times: Vec<Timestamp> = Vec::new();
        let here = self.conversations.iter().filter(|(id, _)| id.workspace == period.workspace);
        for (id, record) in here {
            let top = ConversationId { thread: None, ..id.clone() };
            let root = id.thread.as_ref().and_then(|root| {
                let top = self.conversations.get(&top)?.messages.iter();
                top.map(|record| &record.message).find(|message| message.id == *root)
            });
            for changed in &record.messages {
                let at = changed.message.at;
                if changed.revision > revision {
                    times.extend([at, at - ANSWER_WINDOW]);
                    times.extend(root.map(|root| root.at));
                }
                if changed.reactions_revision > revision {
                    times.push(at);
                }
            }
        }
        let decisions = self.decisions.values().filter(|decision| {
            decision.conversation.workspace == period.workspace && decision.revision > revision
        });
        times.extend(decisions.map(|decision| decision.opened));
        let times = times.into_iter().filter(|at| period.has(*at));
        times.map(|at| period.day_of(at)).collect::<BTreeSet<_>>().into_iter().collect()
    }

    pub(super) fn decisions_in(&self, period: &WorkspacePeriod) -> Vec<Decision> {
        let mut ledger = self.ledger();
        ledger.retain(|decision| {
            decision.conversation.workspace == period.workspace && period.has(decision.opened)
        });
        ledger
    }
}

/// The figures of a call, if it was in the period.
fn call_sum(
    period: &WorkspacePeriod,
    channel: Option<ChannelId>,
    attempt: &Attempt,
) -> Option<CallSum> {
    let Attempt { at, usage, price, .. } = attempt;
    period.has(*at).then_some(())?;
    let tokens = usage.input_tokens + usage.output_tokens;
    Some(CallSum {
        day: period.day_of(*at),
        channel,
        kind: CallKind::of_verb(&attempt.verb)?,
        model: attempt.model.clone(),
        calls: 1,
        usage: *usage,
        price: price.unwrap_or_default(),
        unpriced_tokens: if price.is_none() { tokens } else { 0 },
    })
}

/// Whether a message may be a user's question.
fn may_ask(record: &MessageRecord) -> bool {
    let message = &record.message;
    message.text.contains(['?', '？'])
        && message.author.kind == AuthorKind::Human
        && record.is_visible()
        && !matches!(record.gate, Some(Gate::OptedOut | Gate::Command))
}
