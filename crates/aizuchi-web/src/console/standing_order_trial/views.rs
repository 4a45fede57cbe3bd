//! What an order would have changed, as this visitor may read it.

use aizuchi_actions::access::Access;
use aizuchi_model::chat::Channel;
use aizuchi_model::decision::Judgment;
use aizuchi_model::decision::limit::Limit;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_past::shadow::standing_order_trial::{
    DAYS, MOST_CALLS, MomentEffect, StandingOrderMoment, StandingOrderTrialResult,
    StandingOrderTrialRun,
};
use aizuchi_store::stored_message::StoredMessage;

use crate::console::layout::{TimeView, decision_address};
use crate::console::quote::{ShownMessage, gist};
use crate::shadow::{CostText, why_incomplete};

/// The maximum number of messages shown per conversation, newest first.
const MAX_MESSAGES: usize = 5;

#[derive(Default)]
pub struct ResultView {
    /// Shown in place of everything else.
    pub note: Option<String>,
    /// Why the result is incomplete, if the model was asked.
    pub problem: Option<String>,
    pub spent: Option<String>,
    /// What the order would have changed, in a sentence.
    pub told: Option<String>,
    /// The estimated cost of asking the model.
    pub estimate: Option<String>,
    pub cap_explained: String,
    pub groups: Vec<GroupView>,
}

pub struct GroupView {
    pub name: &'static str,
    pub heading: String,
    pub moments: Vec<MomentView>,
}

pub struct MomentView {
    pub key: String,
    pub at: TimeView,
    pub decision: String,
    pub gist: String,
    pub messages: Vec<ShownMessage>,
    pub before: OutcomeView,
    pub after: OutcomeView,
    /// The judge's reason with the order.
    pub because: Option<String>,
}

pub struct OutcomeView {
    pub outcome: &'static str,
    pub word: &'static str,
}

pub struct ViewBuilder<'a> {
    pub access: &'a Access,
    pub language: Language,
    pub channel: &'a Channel,
    pub currency: &'a str,
    pub run: &'a StandingOrderTrialRun,
}

pub fn explained(language: Language, name: &str) -> String {
    texts::standing_order_trial::explained(language, name, DAYS, (MOST_CALLS / 4) as usize)
}

impl ResultView {
    pub fn note(note: String) -> Self {
        Self { note: Some(note), ..Self::default() }
    }
}

impl ViewBuilder<'_> {
    pub fn view(
        &self,
        found: &StandingOrderTrialResult,
        was_asked: bool,
        limit: Option<Limit>,
    ) -> ResultView {
        let language = self.language;
        let effect = self.run.effect(found);
        let is_known = !found.is_unknown();
        ResultView {
            problem: was_asked.then(|| why_incomplete(&[&found.counts], limit, language)).flatten(),
            spent: was_asked.then(|| self.spent(found)),
            told: is_known.then(|| texts::standing_order_trial::effect(language, &effect)),
            estimate: (!was_asked).then(|| self.estimate(found)),
            cap_explained: texts::shadow::cap_explained(language, MOST_CALLS),
            groups: [("silent", true), ("spoken", false)]
                .into_iter()
                .filter_map(|(name, spoke)| self.group(name, spoke, found))
                .collect(),
            note: None,
        }
    }

    /// Returns the messages that the view shows.
    pub fn shown(&self, found: &StandingOrderTrialResult) -> Vec<StoredMessage> {
        let changed = self.changed(found);
        changed.flat_map(|(moment, _)| newest_messages(moment)).cloned().collect()
    }

    /// Returns the moments that the order changes, newest first.
    fn changed<'a>(
        &'a self,
        found: &'a StandingOrderTrialResult,
    ) -> impl Iterator<Item = (&'a StandingOrderMoment, &'a Judgment)> {
        let pairs = self.run.moments.iter().zip(&found.effects);
        pairs.filter_map(|(moment, effect)| match effect {
            MomentEffect::Changed(judgment) => Some((moment, judgment)),
            MomentEffect::Unchanged | MomentEffect::Unclear | MomentEffect::Unknown => None,
        })
    }

    fn group(
        &self,
        name: &'static str,
        spoke: bool,
        found: &StandingOrderTrialResult,
    ) -> Option<GroupView> {
        let changed = self.changed(found).filter(|(moment, _)| moment.spoke == spoke);
        let moments: Vec<MomentView> =
            changed.map(|(moment, judgment)| self.moment(moment, judgment)).collect();
        let heading = match spoke {
            true => texts::standing_order_trial::newly_silent(self.language, moments.len()),
            false => texts::standing_order_trial::newly_speaking(self.language, moments.len()),
        };
        (!moments.is_empty()).then_some(GroupView { name, heading, moments })
    }

    fn moment(&self, tried: &StandingOrderMoment, judgment: &Judgment) -> MomentView {
        let decision = &tried.moment.decision;
        let quoted = |stored: &StoredMessage| {
            let is_new = decision.messages.contains(&stored.message.id);
            ShownMessage::new(stored, self.access, self.language, is_new)
        };
        let messages: Vec<ShownMessage> = newest_messages(tried).into_iter().map(quoted).collect();
        let told = messages.iter().rfind(|message| message.is_about).or(messages.last());
        let (before, after) = match tried.spoke {
            true => (self.spoke(), self.silent()),
            false => (self.silent(), self.spoke()),
        };
        // A judge's reason may repeat private messages.
        let may_read_reasons = self.access.may_read_models(&self.channel.workspace);
        MomentView {
            key: format!("moment-{}", decision.id),
            at: TimeView::new(tried.moment.at),
            decision: decision_address(&self.channel.workspace, decision.id),
            gist: gist(told),
            messages,
            before,
            after,
            because: match may_read_reasons {
                true => Some(judgment.reason.clone()).filter(|reason| !reason.is_empty()),
                false => Some(texts::what_if::reason_withheld(self.language).to_owned()),
            },
        }
    }

    fn spoke(&self) -> OutcomeView {
        OutcomeView { outcome: "spoke", word: texts::shadow::would_speak(self.language) }
    }

    fn silent(&self) -> OutcomeView {
        let word = texts::shadow::would_be_silent(self.language);
        OutcomeView { outcome: "chose_silence", word }
    }

    fn money(&self) -> CostText<'_> {
        CostText { language: self.language, currency: self.currency }
    }

    fn estimate(&self, found: &StandingOrderTrialResult) -> String {
        let counts = &found.counts;
        if counts.calls == 0 {
            return texts::shadow::nothing_to_ask(self.language).to_owned();
        }
        let cost = self.money().about(&[&self.run.judge], counts.cost_micros);
        let name = self.run.judge.llm.model();
        texts::shadow::estimate_many(self.language, name, counts.calls, &cost)
    }

    fn spent(&self, found: &StandingOrderTrialResult) -> String {
        let counts = &found.counts;
        let tokens = counts.input_tokens + counts.output_tokens;
        let cost = self.money().amount(counts.cost_micros);
        texts::shadow::spent(self.language, counts.calls, tokens, &cost)
    }
}

fn newest_messages(tried: &StandingOrderMoment) -> Vec<&StoredMessage> {
    tried.moment.end_of_conversation(MAX_MESSAGES)
}
