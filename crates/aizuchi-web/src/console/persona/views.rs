//! What two personas would have done, moment by moment.

use aizuchi_actions::access::Access;
use aizuchi_model::chat::Channel;
use aizuchi_model::decision::limit::Limit;
use aizuchi_model::decision::verdict::{SilenceReason, Verdict};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_past::answer::MindAnswer;
use aizuchi_past::shadow::moments::TriedMoment;
use aizuchi_past::shadow::persona_trial::{Performance, PersonaTrial, PersonaTrialResult};
use aizuchi_store::stored_message::StoredMessage;

use crate::console::layout::{TimeView, decision_address};
use crate::console::quote::ShownMessage;
use crate::shadow::{CostText, MOST_CALLS, is_builtin, why_incomplete};

/// The number of newest messages of the conversation that are shown.
const MAX_MESSAGES: usize = 5;

#[derive(Default)]
pub struct ResultView {
    pub note: Option<&'static str>,
    /// Why the result is incomplete, if models were asked.
    pub problem: Option<String>,
    pub spent: Option<String>,
    pub estimate: String,
    pub cap: String,
    pub cap_explained: String,
    pub moments: Vec<MomentView>,
    pub patch: Option<String>,
}

pub struct MomentView {
    pub key: String,
    pub at: TimeView,
    pub decision: String,
    pub messages: Vec<ShownMessage>,
    pub personas: Vec<PersonaView>,
    /// Whether one persona would have spoken and the other would not.
    pub differs: bool,
}

/// What one of the personas would have done.
pub struct PersonaView {
    pub label: &'static str,
    pub outcome: &'static str,
    pub word: String,
    pub confidence: Option<String>,
    pub reason: Option<String>,
    pub reply: Option<String>,
    /// Shown in place of a reply.
    pub note: Option<&'static str>,
}

pub struct ViewBuilder<'a> {
    pub access: &'a Access,
    pub language: Language,
    pub channel: &'a Channel,
    pub currency: &'a str,
    pub trial: &'a PersonaTrial,
}

/// Returns the messages that the page shows.
pub fn shown(moments: &[TriedMoment]) -> Vec<StoredMessage> {
    moments.iter().flat_map(newest_messages).cloned().collect()
}

/// Returns the end of the conversation at that moment.
fn newest_messages(tried: &TriedMoment) -> Vec<&StoredMessage> {
    tried.moment.end_of_conversation(MAX_MESSAGES)
}

impl ViewBuilder<'_> {
    pub fn view(
        &self,
        found: &PersonaTrialResult,
        was_asked: bool,
        limit: Option<Limit>,
    ) -> ResultView {
        let (language, trial) = (self.language, self.trial);
        let is_one = trial.moments.iter().all(|tried| tried.prompts.len() < 2);
        let calls = [&found.judging, &found.speaking];
        let moments = trial.moments.iter().zip(&found.performances);
        ResultView {
            note: match (trial.moments.is_empty(), is_one) {
                (true, _) => Some(texts::shadow::no_moments(language)),
                (false, true) => Some(texts::shadow::unchanged_persona(language)),
                (false, false) => None,
            },
            problem: was_asked.then(|| why_incomplete(&calls, limit, language)).flatten(),
            spent: was_asked.then(|| self.spent(found)),
            estimate: if was_asked { String::new() } else { self.estimate(found) },
            cap_explained: texts::shadow::cap_explained(language, MOST_CALLS),
            moments: moments
                .map(|(tried, performances)| self.moment(tried, performances))
                .collect(),
            ..ResultView::default()
        }
    }

    fn money(&self) -> CostText<'_> {
        CostText { language: self.language, currency: self.currency }
    }

    fn estimate(&self, found: &PersonaTrialResult) -> String {
        let (calls, micros) = sums(found);
        if calls == 0 {
            return texts::shadow::nothing_to_ask(self.language).to_owned();
        }
        let models = [&self.trial.judge, &self.trial.speaker];
        let cost = self.money().about(&models, micros);
        let mut names = models.map(|model| model.llm.model()).to_vec();
        names.dedup();
        texts::shadow::estimate_many(self.language, &names.join(", "), calls, &cost)
    }

    fn spent(&self, found: &PersonaTrialResult) -> String {
        let (calls, micros) = sums(found);
        let is_free = is_builtin(&self.trial.judge) && is_builtin(&self.trial.speaker);
        if is_free {
            return texts::shadow::free(self.language).to_owned();
        }
        let tokens = [&found.judging, &found.speaking].map(|it| it.input_tokens + it.output_tokens);
        let cost = self.money().amount(micros);
        texts::shadow::spent(self.language, calls, tokens.iter().sum(), &cost)
    }

    fn moment(&self, tried: &TriedMoment, performances: &[Performance]) -> MomentView {
        let labels = [
            texts::shadow::present_persona(self.language),
            texts::shadow::edited_persona(self.language),
        ];
        let personas: Vec<PersonaView> = labels
            .into_iter()
            .zip(performances)
            .map(|(label, performance)| self.persona(label, performance))
            .collect();
        let id = tried.moment.decision.id;
        MomentView {
            key: format!("moment-{id}"),
            at: TimeView::new(tried.moment.at),
            decision: decision_address(&self.channel.workspace, id),
            messages: newest_messages(tried)
                .into_iter()
                .map(|stored| self.quoted(tried, stored))
                .collect(),
            differs: match &personas[..] {
                [present, edited] => present.outcome != edited.outcome,
                _ => false,
            },
            personas,
        }
    }

    fn quoted(&self, tried: &TriedMoment, stored: &StoredMessage) -> ShownMessage {
        let is_new = tried.moment.decision.messages.contains(&stored.message.id);
        ShownMessage::new(stored, self.access, self.language, is_new)
    }

    fn persona(&self, label: &'static str, performance: &Performance) -> PersonaView {
        let language = self.language;
        let (outcome, word) = self.outcome(performance);
        let judgment = performance.judgment.as_ref().and_then(MindAnswer::known);
        let (reply, note) = match &performance.reply {
            Some(MindAnswer::Known(reply)) if reply.is_empty() => {
                (None, Some(texts::shadow::nothing_to_say(language)))
            }
            Some(MindAnswer::Known(reply)) => (Some(reply.clone()), None),
            Some(MindAnswer::Unreadable(_) | MindAnswer::Unknown(_)) => {
                (None, Some(texts::shadow::reply_unknown(language)))
            }
            None => (None, None),
        };
        PersonaView {
            label,
            outcome,
            word,
            confidence: judgment.map(|judgment| format!("{:.2}", judgment.confidence)),
            reason: judgment.map(|judgment| judgment.reason.clone()).filter(|it| !it.is_empty()),
            reply,
            note,
        }
    }

    /// Returns the class of the outcome's icon, and its text.
    fn outcome(&self, performance: &Performance) -> (&'static str, String) {
        let language = self.language;
        let has_words = performance.reply != Some(MindAnswer::Known(String::new()));
        let (outcome, word) = match (&performance.judgment, &performance.verdict) {
            (None, _) => ("spoke", texts::shadow::is_owed(language)),
            (_, Some(Verdict::Join)) if !has_words => {
                ("chose_silence", texts::shadow::would_be_silent(language))
            }
            (_, Some(Verdict::Join)) => ("spoke", texts::shadow::would_speak(language)),
            (_, Some(Verdict::React(emoji))) => {
                return ("reacted", texts::shadow::would_react(language, emoji));
            }
            (_, Some(Verdict::Silent(SilenceReason::LowConfidence))) => {
                ("chose_silence", texts::shadow::below_threshold(language))
            }
            (_, Some(Verdict::Silent(_))) => {
                ("chose_silence", texts::shadow::would_be_silent(language))
            }
            (Some(MindAnswer::Unreadable(_)), None) => {
                ("failed", texts::shadow::not_readable(language))
            }
            (Some(MindAnswer::Unknown(_) | MindAnswer::Known(_)), None) => {
                ("open", texts::shadow::not_known(language))
            }
        };
        (outcome, word.to_owned())
    }
}

/// Returns the number of calls of both models, and their cost.
fn sums(found: &PersonaTrialResult) -> (u64, u64) {
    let PersonaTrialResult { judging, speaking, .. } = found;
    (judging.calls + speaking.calls, judging.cost_micros + speaking.cost_micros)
}
