//! What the settings would change, as far as this visitor may read it.

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{Channel, MessageId};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_past::replay::moments::Reason;
use aizuchi_past::report::format::date_and_time;
use aizuchi_past::what_if::comparison::{
    ChangedMessage, MessageOutcome, Seen, Tally, WhatIfComparison,
};
use aizuchi_past::what_if::material::{MAX_MESSAGES, Material};
use aizuchi_store::stored_message::StoredMessage;
use jiff::tz::TimeZone;

use crate::console::layout::{TimeView, channel_address, decision_address, encode};
use crate::console::quote::{ShownMessage, gist};

/// The maximum number of changes shown per kind.
const MOST_SHOWN: usize = 30;
/// The number of messages shown from the same conversation, before and after the message.
const MESSAGES_BEFORE: usize = 3;
const MESSAGES_AFTER: usize = 2;

pub struct ResultView {
    pub heard: String,
    pub cut: Option<String>,
    pub has_after: bool,
    pub rows: Vec<TallyRow>,
    /// What `response.tolerance` amounts to, if it is set there.
    pub tolerance: Option<String>,
    /// Shown in place of the changes.
    pub note: Option<&'static str>,
    pub groups: Vec<GroupView>,
    pub estimate: Option<String>,
    pub asked: Option<String>,
    pub cap_explained: String,
    pub patch: Option<String>,
    /// Why the patch would have no effect, if so.
    pub patch_note: Option<String>,
    /// The submitted fields of the form, to submit them again.
    pub fields: Vec<(String, String)>,
}

pub struct TallyRow {
    pub word: &'static str,
    pub outcome: &'static str,
    pub before: usize,
    pub after: usize,
}

pub struct GroupView {
    pub name: &'static str,
    pub heading: String,
    pub explained: Option<&'static str>,
    pub changes: Vec<ChangeView>,
    /// A note, if there are more changes.
    pub shown: Option<String>,
}

pub struct ChangeView {
    pub key: String,
    pub at: TimeView,
    pub gist: String,
    pub messages: Vec<ShownMessage>,
    pub seen: Vec<SeenView>,
    pub timeline: String,
    pub decision: Option<String>,
}

/// What happens to a message under one of the settings.
pub struct SeenView {
    pub label: &'static str,
    pub outcome: &'static str,
    pub word: &'static str,
    pub because: Option<String>,
}

pub struct ViewBuilder<'a> {
    pub access: &'a Access,
    pub language: Language,
    pub channel: &'a Channel,
    pub material: &'a Material,
    pub zone: &'a TimeZone,
}

impl ViewBuilder<'_> {
    pub fn view(&self, comparison: &WhatIfComparison) -> ResultView {
        let language = self.language;
        let since = date_and_time(self.material.since, self.zone, language);
        let heard = self.material.heard();
        let lists = [
            ("spoken", &comparison.newly_spoken_to),
            ("silent", &comparison.newly_silent),
            ("unknown", &comparison.unknown),
        ];
        let changed = comparison.newly_spoken_to.len() + comparison.newly_silent.len();
        let is_same = changed == 0 && comparison.unknown.is_empty();
        ResultView {
            heard: match heard {
                0 => texts::what_if::nothing_heard(language).to_owned(),
                heard => texts::what_if::heard(language, heard, &since),
            },
            cut: self.material.is_cut.then(|| texts::what_if::cut(language, MAX_MESSAGES)),
            tolerance: None,
            has_after: comparison.after.is_some(),
            rows: self.rows(comparison.before, comparison.after.unwrap_or_default()),
            note: match (comparison.after.is_some(), is_same) {
                (false, _) => Some(texts::what_if::no_change(language)),
                (true, true) => Some(texts::what_if::same(language)),
                (true, false) => None,
            },
            groups: lists
                .into_iter()
                .filter(|(_, changes)| !changes.is_empty())
                .map(|(name, changes)| self.group(name, changes, comparison.after.is_some()))
                .collect(),
            estimate: None,
            asked: None,
            cap_explained: String::new(),
            patch: None,
            patch_note: None,
            fields: Vec::new(),
        }
    }

    /// Returns the messages that the view shows.
    pub fn shown(&self, comparison: &WhatIfComparison) -> Vec<StoredMessage> {
        let lists = [&comparison.newly_spoken_to, &comparison.newly_silent, &comparison.unknown];
        let changes = lists.into_iter().flat_map(|changes| changes.iter().take(MOST_SHOWN));
        changes.flat_map(|change| self.around(&change.message)).cloned().collect()
    }

    fn rows(&self, before: Tally, after: Tally) -> Vec<TallyRow> {
        let row = |outcome, count: fn(&Tally) -> usize| TallyRow {
            word: word(outcome, self.language),
            outcome: outcome_class(outcome),
            before: count(&before),
            after: count(&after),
        };
        vec![
            row(MessageOutcome::SpokenTo, |tally| tally.spoken_to),
            row(MessageOutcome::Reacted, |tally| tally.reacted),
            row(MessageOutcome::KeptSilent, |tally| tally.kept_silent),
            row(MessageOutcome::Unknown, |tally| tally.unknown),
        ]
    }

    fn group(&self, name: &'static str, changes: &[ChangedMessage], has_after: bool) -> GroupView {
        let (language, count) = (self.language, changes.len());
        let shown = changes.iter().take(MOST_SHOWN);
        GroupView {
            name,
            heading: match name {
                "spoken" => texts::what_if::newly_spoken_to(language, count),
                "silent" => texts::what_if::newly_silent(language, count),
                _ => texts::what_if::newly_unknown(language, count),
            },
            explained: (name == "unknown").then(|| texts::what_if::unknown_explained(language)),
            changes: shown.map(|change| self.change(name, change, has_after)).collect(),
            shown: (count > MOST_SHOWN)
                .then(|| texts::what_if::shown_of(language, MOST_SHOWN, count)),
        }
    }

    fn change(&self, group: &str, change: &ChangedMessage, has_after: bool) -> ChangeView {
        let around = self.around(&change.message);
        let messages: Vec<ShownMessage> =
            around.iter().map(|it| self.quoted(it, &change.message)).collect();
        let gist = gist(messages.iter().find(|quoted| quoted.is_about));
        let at = around.iter().find(|stored| stored.message.id == change.message);
        let at = at.map_or(self.material.since, |stored| stored.message.at);
        let mut seen = vec![self.seen(texts::what_if::how_it_was(self.language), &change.before)];
        if has_after {
            seen.push(self.seen(texts::what_if::how_it_would_be(self.language), &change.after));
        }
        let decision = self.material.decisions.get(&change.message);
        ChangeView {
            key: format!("{group}-{}", change.message),
            at: TimeView::new(at),
            gist,
            messages,
            seen,
            timeline: self.timeline(&change.message),
            decision: decision.map(|id| decision_address(&self.channel.workspace, *id)),
        }
    }

    /// The address of the page of the timeline that ends a little after the message.
    fn timeline(&self, message: &MessageId) -> String {
        const LATER: usize = 10;
        let address = channel_address(&self.channel.workspace, &self.channel.id);
        let messages = &self.material.messages;
        let place = messages.iter().position(|stored| stored.message.id == *message);
        match place.and_then(|place| messages.get(place + LATER)) {
            Some(later) => format!("{address}?before={}", encode(later.message.id.as_str())),
            None => address,
        }
    }

    /// Returns the message, with those before and after it in the same conversation.
    fn around(&self, message: &MessageId) -> Vec<&StoredMessage> {
        let messages = &self.material.messages;
        let Some(place) = messages.iter().position(|stored| stored.message.id == *message) else {
            return Vec::new();
        };
        let thread = &messages[place].message.conversation.thread;
        let is_here = |stored: &&StoredMessage| stored.message.conversation.thread == *thread;
        let before = messages[..place].iter().rev().filter(is_here).take(MESSAGES_BEFORE);
        let mut around: Vec<&StoredMessage> = before.collect();
        around.reverse();
        around.extend(messages[place..].iter().filter(is_here).take(1 + MESSAGES_AFTER));
        around
    }

    fn quoted(&self, stored: &StoredMessage, about: &MessageId) -> ShownMessage {
        ShownMessage::new(stored, self.access, self.language, stored.message.id == *about)
    }

    fn seen(&self, label: &'static str, seen: &Option<Seen>) -> SeenView {
        let Some(seen) = seen else {
            let word = texts::what_if::not_looked_at(self.language);
            return SeenView { label, outcome: "open", word, because: None };
        };
        let because = match (&seen.reason, seen.outcome) {
            (_, MessageOutcome::Unknown) => None,
            (Reason::Gate(gate), _) => {
                Some(texts::judging::gate_reason(self.language, *gate).to_owned())
            }
            (Reason::Limit(why), _) => Some(why.clone()),
            (Reason::Written(why), _) if why.is_empty() => None,
            (Reason::Written(why), _) => Some(match self.may_read_reasons() {
                true => why.clone(),
                false => texts::what_if::reason_withheld(self.language).to_owned(),
            }),
        };
        let (outcome, word) = (outcome_class(seen.outcome), word(seen.outcome, self.language));
        SeenView { label, outcome, word, because }
    }

    /// Whether the visitor may read a judge's reasons, which may repeat private messages.
    fn may_read_reasons(&self) -> bool {
        self.access.may_read_models(&self.channel.workspace)
    }
}

fn word(outcome: MessageOutcome, language: Language) -> &'static str {
    match outcome {
        MessageOutcome::SpokenTo => texts::what_if::spoken_to(language),
        MessageOutcome::Reacted => texts::what_if::reacted(language),
        MessageOutcome::KeptSilent => texts::what_if::kept_silent(language),
        MessageOutcome::Unknown => texts::what_if::unknown(language),
    }
}

/// The class of the outcome's icon.
fn outcome_class(outcome: MessageOutcome) -> &'static str {
    match outcome {
        MessageOutcome::SpokenTo => "spoke",
        MessageOutcome::Reacted => "reacted",
        MessageOutcome::KeptSilent => "chose_silence",
        MessageOutcome::Unknown => "open",
    }
}
