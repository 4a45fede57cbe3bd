//! What two settings do differently, message by message.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;

use crate::replay::difference::Fate;
use crate::replay::moments::{Moment, MomentKind, Moments, Reason};
use crate::what_if::material::Material;
use aizuchi_core::chat::MessageId;

/// What becomes of a message, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub fate: Fate,
    pub at: Timestamp,
    pub reason: Reason,
}

/// A message of which other settings make something else.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub message: MessageId,
    pub before: Option<Seen>,
    pub after: Option<Seen>,
}

/// How many messages became what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub spoken_to: usize,
    pub reacted: usize,
    pub kept_silent: usize,
    pub unknown: usize,
}

/// Each list in the order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    pub before: Tally,
    /// `None` if nothing was changed.
    pub after: Option<Tally>,
    pub newly_spoken_to: Vec<Change>,
    pub newly_silent: Vec<Change>,
    /// What nobody knows: under the changed settings, or under those in force if nothing was changed.
    pub unknown: Vec<Change>,
}

impl Comparison {
    pub fn new(material: &Material, before: &Moments, after: Option<&Moments>) -> Self {
        let said = said(material);
        let seen_before = Replayed::new(&before.moments, &said);
        let Some(after) = after else {
            let unknown = seen_before.with(Fate::Unknown).map(|(message, seen)| Change {
                message: message.clone(),
                before: Some(seen.clone()),
                after: None,
            });
            let unknown = in_order(material, unknown.collect());
            return Self { before: seen_before.tally(), unknown, ..Self::default() };
        };
        let seen_after = Replayed::new(&after.moments, &said);
        let change = |message: &MessageId| Change {
            message: message.clone(),
            before: seen_before.fates.get(message).cloned(),
            after: seen_after.fates.get(message).cloned(),
        };
        let is_spoken_to = |replayed: &Replayed<'_>, message: &MessageId| {
            replayed.fates.get(message).is_some_and(|seen| seen.fate == Fate::SpokenTo)
        };
        let newly_spoken_to = seen_after.with(Fate::SpokenTo).map(|(message, _)| message);
        let newly_spoken_to =
            newly_spoken_to.filter(|message| !is_spoken_to(&seen_before, message)).map(change);
        let newly_silent = seen_before.with(Fate::SpokenTo).map(|(message, _)| change(message));
        let newly_silent = newly_silent.filter(|change| {
            let fate = change.after.as_ref().map(|seen| seen.fate);
            !matches!(fate, Some(Fate::SpokenTo | Fate::Unknown))
        });
        let newly_silent = newly_silent.map(|change| match change.after {
            Some(_) => change,
            // It was looked at later, with other messages.
            None => {
                let at = said.get(&change.message).copied();
                let after =
                    at.and_then(|at| seen_after.first_silence(&change.message, at, material));
                Change { after, ..change }
            }
        });
        let unknown = seen_after.with(Fate::Unknown).map(|(message, _)| change(message));
        Self {
            newly_spoken_to: in_order(material, newly_spoken_to.collect()),
            newly_silent: in_order(material, newly_silent.collect()),
            unknown: in_order(material, unknown.collect()),
            before: seen_before.tally(),
            after: Some(seen_after.tally()),
        }
    }
}

/// What a replay made of each message.
struct Replayed<'a> {
    fates: BTreeMap<MessageId, Seen>,
    silences: Vec<&'a Moment>,
}

impl<'a> Replayed<'a> {
    fn new(moments: &'a [Moment], said: &HashMap<&MessageId, Timestamp>) -> Self {
        let mut fates: BTreeMap<MessageId, Seen> = BTreeMap::new();
        for moment in moments {
            let fate = fate(moment.kind);
            // What is spoken to is what was asked; a silence is about the newest message.
            let message = match fate {
                Fate::SpokenTo | Fate::Reacted => moment.about.as_ref().or(moment.message.as_ref()),
                Fate::KeptSilent | Fate::Unknown => moment.message.as_ref(),
            };
            // The persona's own words are no message that something becomes of.
            let Some(message) = message.filter(|message| said.contains_key(message)) else {
                continue;
            };
            let seen = Seen { fate, at: moment.at, reason: moment.reason.clone() };
            let known = fates.get(message).map(|known| known.fate);
            if known.is_none_or(|known| known < fate) {
                fates.insert(message.clone(), seen);
            }
        }
        let is_silent = |moment: &&Moment| fate(moment.kind) == Fate::KeptSilent;
        Self { fates, silences: moments.iter().filter(is_silent).collect() }
    }

    fn with(&self, fate: Fate) -> impl Iterator<Item = (&MessageId, &Seen)> {
        self.fates.iter().filter(move |(_, seen)| seen.fate == fate)
    }

    fn tally(&self) -> Tally {
        let count = |fate| self.with(fate).count();
        Tally {
            spoken_to: count(Fate::SpokenTo),
            reacted: count(Fate::Reacted),
            kept_silent: count(Fate::KeptSilent),
            unknown: count(Fate::Unknown),
        }
    }

    /// The first silence in the message's conversation after it was said.
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
        Some(Seen { fate: Fate::KeptSilent, at: moment.at, reason: moment.reason.clone() })
    }
}

fn fate(kind: MomentKind) -> Fate {
    match kind {
        MomentKind::Spoke | MomentKind::WouldHaveSpoken => Fate::SpokenTo,
        MomentKind::Reacted => Fate::Reacted,
        MomentKind::Silent | MomentKind::Dropped => Fate::KeptSilent,
        // Nothing else fails in a replay.
        MomentKind::Failed => Fate::Unknown,
    }
}

fn said(material: &Material) -> HashMap<&MessageId, Timestamp> {
    let messages = material.messages.iter();
    messages.map(|stored| (&stored.message.id, stored.message.at)).collect()
}

fn in_order(material: &Material, mut changes: Vec<Change>) -> Vec<Change> {
    let said = said(material);
    changes.sort_by_key(|change| said.get(&change.message).copied());
    changes
}
