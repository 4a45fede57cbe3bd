//! The moments of a replay, for its report: the decisions, the messages that they are about, and the reasons. They are
//! recorded only if a report is made.

use std::collections::HashMap;

use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_model::chat::{ConversationId, MessageId};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{DecisionResult, Judgment, Usage};
use aizuchi_model::flow::outbox::OutboxItem;
use aizuchi_model::flow::{Claim, DecisionClosing, Outcome, StepResult, Work};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One closed decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    pub at: Timestamp,
    pub thread: Option<MessageId>,
    pub kind: MomentKind,
    /// The newest human message that was considered.
    pub message: Option<MessageId>,
    /// The message that the persona answers, or that the judge named.
    pub about: Option<MessageId>,
    /// Whether the persona was addressed, so that it owed an answer.
    pub is_owed: bool,
    pub reason: Reason,
    /// The text that the persona would have posted or did post, if known.
    pub text: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MomentKind {
    /// The persona posted; in a replay, it would have.
    Spoke,
    /// The persona wanted to speak, and may only observe.
    WouldHaveSpoken,
    Reacted,
    /// The persona considered the messages and stayed silent.
    Silent,
    /// The persona wanted to speak, and the conversation went on before it did.
    Dropped,
    Failed,
}

/// Why a decision ended as it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    Gate(Gate),
    /// A budget or another limit kept a model from being asked: a sentence in the persona's language.
    Limit(String),
    /// A sentence in the persona's language.
    Written(String),
}

/// The number of calls to a model, and the tokens that they used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCount {
    pub calls: u64,
    pub usage: Usage,
}

/// The moments of one channel in chronological order, and the model calls behind them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    pub moments: Vec<Moment>,
    pub judge_calls: CallCount,
    pub reply_calls: CallCount,
    /// The tokens that a judging model's answers used, by its own count: new answers, and cached ones.
    #[serde(default)]
    pub judge_answers: CallCount,
    /// The judgments that led to a reply. Empty once a channel is done.
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
    /// Counts a call with the estimated length of its prompt. What the answer uses is not known at this point.
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

    /// Counts the tokens that an answer of the judge used.
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

    /// Records the decision in the outcome of a step. `newest` is the newest message that was considered.
    pub fn add_outcome(
        &mut self,
        claim: &Claim,
        outcome: &Outcome,
        now: Timestamp,
        newest: Option<MessageId>,
    ) {
        let conversation = claim.work.conversation();
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
        match (&outcome.result, &claim.work) {
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
            (StepResult::Posted(_), Work::Post(item)) if item.id != item.first_in_draft => {
                self.add_part(item);
            }
            (StepResult::Posted(_), Work::Post(item)) => {
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

    /// Appends a part of a long text to its moment. All parts of a text are one moment.
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

/// Returns the reason why a closed decision said nothing. A budget limit is explained in a sentence, not only by its
/// gate.
fn closing_reason(closing: &DecisionClosing) -> Reason {
    let is_limit = closing.ended == DecisionResult::OverBudget;
    match closing.gate.filter(|_| !is_limit) {
        Some(gate) => Reason::Gate(gate),
        None if is_limit => Reason::Limit(closing.why.clone()),
        None => Reason::Written(closing.why.clone()),
    }
}
