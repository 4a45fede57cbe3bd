//! Compares two settings, message by message.

use std::collections::{BTreeMap, HashMap};

use aizuchi_model::chat::MessageId;
use jiff::Timestamp;

use crate::replay::moments::{Moment, MomentKind, Moments, Reason};
use crate::what_if::material::Material;

/// The outcome of a replay for a message. If a message was considered more than once, the greatest outcome counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageOutcome {
    KeptSilent,
    /// A judge would have been asked, and its answer is unknown.
    Unknown,
    Reacted,
    SpokenTo,
}

/// The outcome for a message, and the reason for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub outcome: MessageOutcome,
    pub at: Timestamp,
    pub reason: Reason,
}

/// A message with another outcome under other settings.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedMessage {
    pub message: MessageId,
    pub before: Option<Seen>,
    pub after: Option<Seen>,
}

/// The number of messages with each outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub spoken_to: usize,
    pub reacted: usize,
    pub kept_silent: usize,
    pub unknown: usize,
}

/// The comparison of two replays. Each list is in chronological order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WhatIfComparison {
    pub before: Tally,
    /// `None` if nothing was changed.
    pub after: Option<Tally>,
    pub newly_spoken_to: Vec<ChangedMessage>,
    pub newly_silent: Vec<ChangedMessage>,
    /// Messages whose outcome is unknown: under the changed settings, or under those in force if nothing was changed.
    pub unknown: Vec<ChangedMessage>,
}

impl WhatIfComparison {
    pub fn new(material: &Material, before: &Moments, after: Option<&Moments>) -> Self {
        let said = said(material);
        let seen_before = Replayed::new(&before.moments, &said);
        let Some(after) = after else {
            let unknown = seen_before.with(MessageOutcome::Unknown).map(|(message, seen)| {
                ChangedMessage { message: message.clone(), before: Some(seen.clone()), after: None }
            });
            let unknown = in_order(material, unknown.collect());
            return Self { before: seen_before.tally(), unknown, ..Self::default() };
        };
        let seen_after = Replayed::new(&after.moments, &said);
        let change = |message: &MessageId| ChangedMessage {
            message: message.clone(),
            before: seen_before.outcomes.get(message).cloned(),
            after: seen_after.outcomes.get(message).cloned(),
        };
        let is_spoken_to = |replayed: &Replayed<'_>, message: &MessageId| {
            replayed
                .outcomes
                .get(message)
                .is_some_and(|seen| seen.outcome == MessageOutcome::SpokenTo)
        };
        let newly_spoken_to = seen_after.with(MessageOutcome::SpokenTo).map(|(message, _)| message);
        let newly_spoken_to =
            newly_spoken_to.filter(|message| !is_spoken_to(&seen_before, message)).map(change);
        let newly_silent =
            seen_before.with(MessageOutcome::SpokenTo).map(|(message, _)| change(message));
        let newly_silent = newly_silent.filter(|change| {
            let outcome = change.after.as_ref().map(|seen| seen.outcome);
            !matches!(outcome, Some(MessageOutcome::SpokenTo | MessageOutcome::Unknown))
        });
        let newly_silent = newly_silent.map(|change| match change.after {
            Some(_) => change,
            // The message was considered later, together with others.
            None => {
                let at = said.get(&change.message).copied();
                let after =
                    at.and_then(|at| seen_after.first_silence(&change.message, at, material));
                ChangedMessage { after, ..change }
            }
        });
        let unknown = seen_after.with(MessageOutcome::Unknown).map(|(message, _)| change(message));
        Self {
            newly_spoken_to: in_order(material, newly_spoken_to.collect()),
            newly_silent: in_order(material, newly_silent.collect()),
            unknown: in_order(material, unknown.collect()),
            before: seen_before.tally(),
            after: Some(seen_after.tally()),
        }
    }
}

/// The outcome of each message in a replay.
struct Replayed<'a> {
    outcomes: BTreeMap<MessageId, Seen>,
    silences: Vec<&'a Moment>,
}

impl<'a> Replayed<'a> {
    fn new(moments: &'a [Moment], said: &HashMap<&MessageId, Timestamp>) -> Self {
        let mut outcomes: BTreeMap<MessageId, Seen> = BTreeMap::new();
        for moment in moments {
            let outcome = message_outcome(moment.kind);
            // A post counts for the message that it answers, and a silence for the newest message.
            let message = match outcome {
                MessageOutcome::SpokenTo | MessageOutcome::Reacted => {
                    moment.about.as_ref().or(moment.message.as_ref())
                }
                MessageOutcome::KeptSilent | MessageOutcome::Unknown => moment.message.as_ref(),
            };
            // The persona's own posts have no outcome.
            let Some(message) = message.filter(|message| said.contains_key(message)) else {
                continue;
            };
            let seen = Seen { outcome, at: moment.at, reason: moment.reason.clone() };
            let known = outcomes.get(message).map(|known| known.outcome);
            if known.is_none_or(|known| known < outcome) {
                outcomes.insert(message.clone(), seen);
            }
        }
        let is_silent =
            |moment: &&Moment| message_outcome(moment.kind) == MessageOutcome::KeptSilent;
        Self { outcomes, silences: moments.iter().filter(is_silent).collect() }
    }

    fn with(&self, outcome: MessageOutcome) -> impl Iterator<Item = (&MessageId, &Seen)> {
        self.outcomes.iter().filter(move |(_, seen)| seen.outcome == outcome)
    }

    fn tally(&self) -> Tally {
        let count = |outcome| self.with(outcome).count();
        Tally {
            spoken_to: count(MessageOutcome::SpokenTo),
            reacted: count(MessageOutcome::Reacted),
            kept_silent: count(MessageOutcome::KeptSilent),
            unknown: count(MessageOutcome::Unknown),
        }
    }

    /// Returns the first silence in the message's conversation after it was said.
    fn first_silence(
        &self,
        message: &MessageId,
        at: Timestamp,
        material: &Material,
    ) -> Option<Seen> {
        let mut stored = material.messages.iter();
        let thread = stored.find(|stored| stored.message.id == *message)?;
        let thread = &thread.message.conversation.thread;
        let mut later = self.silences.iter().filter(|it| it.at >= at && it.thread == *thread);
        let moment = later.next()?;
        Some(Seen {
            outcome: MessageOutcome::KeptSilent,
            at: moment.at,
            reason: moment.reason.clone(),
        })
    }
}

fn message_outcome(kind: MomentKind) -> MessageOutcome {
    match kind {
        MomentKind::Spoke | MomentKind::WouldHaveSpoken => MessageOutcome::SpokenTo,
        MomentKind::Reacted => MessageOutcome::Reacted,
        MomentKind::Silent | MomentKind::Dropped => MessageOutcome::KeptSilent,
        // In a replay, a decision fails only if the judgment is unknown.
        MomentKind::Failed => MessageOutcome::Unknown,
    }
}

fn said(material: &Material) -> HashMap<&MessageId, Timestamp> {
    let messages = material.messages.iter();
    messages.map(|stored| (&stored.message.id, stored.message.at)).collect()
}

fn in_order(material: &Material, mut changes: Vec<ChangedMessage>) -> Vec<ChangedMessage> {
    let said = said(material);
    changes.sort_by_key(|change| said.get(&change.message).copied());
    changes
}
