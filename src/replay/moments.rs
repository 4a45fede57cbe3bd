//! The moments of a replay, for its report: what was decided, about which message, and why. They are recorded only
//! where a report is made.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use aizuchi_core::chat::{ConversationId, MessageId};
use aizuchi_core::decision::gate::Gate;
use aizuchi_core::decision::{DecisionResult, Judgment, Usage};
use aizuchi_core::event::{Claim, DecisionClosing, Event, OutboxItem, Outcome, StepResult};
use aizuchi_core::prompt::{Prompt, PromptVerb};

/// One decision that was closed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    pub at: Timestamp,
    pub thread: Option<MessageId>,
    pub kind: MomentKind,
    /// The newest human message that was considered.
    pub message: Option<MessageId>,
    /// The message that it answers, or that the judge named.
    pub about: Option<MessageId>,
    /// Whether it was asked by name, so that it owed an answer.
    pub is_owed: bool,
    pub reason: Reason,
    /// What it would have said or did say, if that is known.
    pub text: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MomentKind {
    /// It posted; in a replay, it would have.
    Spoke,
    /// It wanted to, and may only observe.
    WouldHaveSpoken,
    Reacted,
    /// It looked and stayed silent.
    Silent,
    /// It wanted to speak, and the talk went on before it did.
    Dropped,
    Failed,
}

/// Why a decision ended as it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    Gate(Gate),
    /// A sentence in the persona's language.
    Written(String),
}

/// How often a model was asked for something, and what that used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCount {
    pub calls: u64,
    pub usage: Usage,
}

/// The moments of one channel, in the order of their time, and the model calls behind them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    pub moments: Vec<Moment>,
    pub judge_calls: CallCount,
    /// How many of the judge's calls were second looks. The ledger does not tell.
    pub second_looks: u64,
    pub reply_calls: CallCount,
    /// What the answers of a model that judges used, by its own count: new ones, and those that were kept.
    #[serde(default)]
    pub judge_answers: CallCount,
    /// The judgments that led to a reply. None is left when a channel is done.
    #[serde(skip)]
    pub joined: HashMap<ConversationId, Judgment>,
}

impl CallCount {
    pub fn add(&mut self, other: CallCount) {
        self.calls += other.calls;
        self.usage = self.usage.plus(other.usage);
    }
}

impl Moments {
    /// Counts a call with the estimated length of its prompt. What the answer uses is not known here.
    pub fn add_call(&mut self, prompt: &Prompt) {
        let input_tokens = prompt.total_tokens();
        let usage = Usage { input_tokens, is_estimated: true, ..Usage::default() };
        match prompt.verb {
            PromptVerb::Judge | PromptVerb::State => {
                self.judge_calls.add(CallCount { calls: 1, usage });
            }
            PromptVerb::Reply => self.reply_calls.add(CallCount { calls: 1, usage }),
            PromptVerb::Remember | PromptVerb::Describe | PromptVerb::Transcribe => {}
        }
    }

    /// Counts what an answer of the judge used.
    pub fn add_answer(&mut self, verb: PromptVerb, usage: Usage) {
        match verb {
            PromptVerb::Judge | PromptVerb::State => {
                self.judge_answers.add(CallCount { calls: 1, usage });
            }
            PromptVerb::Reply
            | PromptVerb::Remember
            | PromptVerb::Describe
            | PromptVerb::Transcribe => {}
        }
    }

    /// Takes down what the outcome of a step decided. `newest` is the newest message that was considered.
    pub fn add_outcome(
        &mut self,
        claim: &Claim,
        outcome: &Outcome,
        now: Timestamp,
        newest: Option<MessageId>,
    ) {
        let conversation = claim.event.conversation();
        let moment = |kind, reason, about| Moment {
            at: now,
            thread: conversation.thread.clone(),
            kind,
            message: newest.clone(),
            about,
            is_owed: claim.is_owed,
            reason,
            text: None,
        };
        let written = |why: &str| Reason::Written(why.to_owned());
        match (&outcome.result, &claim.event) {
            (StepResult::Silent(closing), _) => {
                let joined = self.joined.remove(conversation);
                let judgment = closing.judgment.as_ref().or(joined.as_ref());
                let about = judgment.and_then(|judgment| judgment.about.clone());
                self.moments.push(moment(silent_kind(closing), closing_reason(closing), about));
            }
            (StepResult::Withdrawn { why }, _) => {
                self.moments.push(moment(MomentKind::Dropped, written(why), None));
            }
            (StepResult::Proposed(proposed), _) => {
                self.joined.remove(conversation);
                let metadata = &proposed.draft.metadata;
                let (kind, about) = (MomentKind::WouldHaveSpoken, metadata.about.clone());
                self.moments.push(moment(kind, written(&metadata.why), about));
            }
            (StepResult::Failed { why, .. }, _) => {
                self.moments.push(moment(MomentKind::Failed, written(why), None));
            }
            (StepResult::Posted(_), Event::Post(item)) if item.id != item.first_in_draft => {
                self.add_part(item);
            }
            (StepResult::Posted(_), Event::Post(item)) => {
                self.joined.remove(conversation);
                let metadata = &item.metadata;
                let about = metadata.about.clone().or_else(|| metadata.newest_owed().cloned());
                let is_reaction = item.reaction_to.is_some();
                let kind = if is_reaction { MomentKind::Reacted } else { MomentKind::Spoke };
                self.moments.push(Moment {
                    text: Some(item.text.to_string()),
                    is_owed: !metadata.owed.is_empty(),
                    ..moment(kind, written(&metadata.why), about)
                });
            }
            (StepResult::Join { judgment, .. }, _) => {
                self.joined.insert(conversation.clone(), judgment.clone());
            }
            (
                StepResult::Posted(_)
                | StepResult::React { .. }
                | StepResult::Drafted { .. }
                | StepResult::LookAgain { .. }
                | StepResult::Redraft { .. }
                | StepResult::Retry { .. }
                | StepResult::Deferred { .. }
                | StepResult::RetryUnsent { .. }
                | StepResult::Superseded,
                _,
            ) => {}
        }
    }

    /// A long text is posted in parts, which are one moment.
    fn add_part(&mut self, item: &OutboxItem) {
        let thread = &item.conversation.thread;
        let mut spoken = self.moments.iter_mut().rev().filter(|moment| moment.thread == *thread);
        let text = spoken.find_map(|moment| moment.text.as_mut());
        if let Some(text) = text {
            text.push_str("\n\n");
            text.push_str(&item.text);
        }
    }
}

fn silent_kind(closing: &DecisionClosing) -> MomentKind {
    let wanted = closing.judgment.as_ref().is_some_and(|judgment| judgment.should_respond);
    match closing.ended {
        DecisionResult::Muted if closing.gate.is_none() && wanted => MomentKind::WouldHaveSpoken,
        DecisionResult::Dropped => MomentKind::Dropped,
        DecisionResult::Failed => MomentKind::Failed,
        DecisionResult::Spoke
        | DecisionResult::Reacted
        | DecisionResult::Proposed
        | DecisionResult::ChoseSilence
        | DecisionResult::Muted
        | DecisionResult::OverBudget => MomentKind::Silent,
    }
}

/// Why a closed decision said nothing. A limit is named in the sentence, and not by the gate alone.
fn closing_reason(closing: &DecisionClosing) -> Reason {
    let is_limit = closing.ended == DecisionResult::OverBudget;
    match closing.gate.filter(|_| !is_limit) {
        Some(gate) => Reason::Gate(gate),
        None => Reason::Written(closing.why.clone()),
    }
}
