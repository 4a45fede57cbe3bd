//! Minds that judge in a replay besides the scripted and the built-in one: a model under a spending cap, whose answers
//! are kept, and answers that were recorded elsewhere. A judgment that neither has is unknown: its decision fails, and
//! is never taken for silence.

pub mod answer_cache;
pub mod model;
pub mod recorded;
pub mod ledger;

use aizuchi_core::llm::scripted::{ScriptedJudgment, ScriptedMind};
use aizuchi_core::prompt::PromptVerb;

/// What answers everything that is not asked of the judge: what it would say does not matter for when.
fn bystander() -> ScriptedMind {
    let mind = ScriptedMind::judging(ScriptedJudgment::Never);
    mind.set_default(PromptVerb::State, "ACTIVE");
    mind
}
