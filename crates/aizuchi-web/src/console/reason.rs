//! Why decisions ended as they did, and the gates to filter them by.

use aizuchi_actions::access::Access;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{AttemptResult, Decision, DecisionResult};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;

/// A value to choose.
pub struct FilterOption {
    pub value: &'static str,
    pub word: &'static str,
}

/// Returns why a decision ended as it did, as far as the visitor may know, unless the outcome says it all.
pub fn reason(decision: &Decision, access: &Access, language: Language) -> Option<String> {
    if decision.ended == Some(DecisionResult::Muted) {
        return None;
    }
    let may_read = access.may_read_models(&decision.conversation.workspace);
    let written = decision.why.clone().filter(|why| may_read && !why.is_empty());
    let of_gate = || decision.gate.map(|gate| texts::judging::gate_reason(language, gate).into());
    written.or_else(of_gate).or_else(|| last_error(decision))
}

/// The error of the call that made a decision fail. It has no text from the chat.
fn last_error(decision: &Decision) -> Option<String> {
    let last = decision.attempts.last().filter(|_| decision.ended == Some(DecisionResult::Failed));
    last.filter(|attempt| attempt.result == AttemptResult::Failed)?.error.clone()
}

/// Returns the gates that close a decision, to choose from.
pub fn gates(language: Language) -> Vec<FilterOption> {
    let gates = GATES.into_iter();
    gates
        .map(|gate| FilterOption { value: gate.name(), word: texts::ledger::gate(language, gate) })
        .collect()
}

const GATES: [Gate; 15] = [
    Gate::ChannelMode,
    Gate::Command,
    Gate::Muted,
    Gate::QuietHours,
    Gate::Loop,
    Gate::TooFew,
    Gate::Directed,
    Gate::OtherCompanion,
    Gate::Unchanged,
    Gate::NothingOpen,
    Gate::Cooldown,
    Gate::Share,
    Gate::Budget,
    Gate::JudgeCalls,
    Gate::DecisionCalls,
];

pub fn parse_gate(name: &str) -> Option<Gate> {
    GATES.into_iter().find(|gate| gate.name() == name)
}
