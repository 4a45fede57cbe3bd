//! The judges of a replay besides the scripted and the built-in mind: a model under a spending cap, whose answers are
//! cached, and answers that were recorded elsewhere. A judgment that neither of them has is unknown: its decision
//! fails, and never counts as silence.

pub mod answer_cache;
pub mod model;
pub mod recorded;

use aizuchi_llm::prompt::PromptVerb;
use aizuchi_llm::scripted::{ScriptedJudgment, ScriptedMind};

/// Returns the mind that answers all prompts that are not for the judge. What it says does not affect when the persona
/// speaks.
fn bystander() -> ScriptedMind {
    let mind = ScriptedMind::judging(ScriptedJudgment::Never);
    mind.set_default(PromptVerb::State, "ACTIVE");
    mind
}
