//! What to do about a model that does not answer: the address that was meant, and the next step.

use crate::config::minds::ResolvedModel;
use aizuchi_core::clock::Clock;
use aizuchi_core::decision::model_problem::ModelProblem;
use aizuchi_core::llm::discover::meant_bases;
use aizuchi_core::llm::provider::{ProviderMind, ProviderSettings};

/// Looks for the address at which a model answers, if its own may lack a `/v1` or have the path of a call.
pub async fn meant_base(
    model: &ResolvedModel,
    problem: Option<ModelProblem>,
    clock: &Clock,
) -> Option<String> {
    let may_be_address = matches!(
        problem?,
        ModelProblem::UnknownModel
            | ModelProblem::RequestRejected
            | ModelProblem::ServerFailed
            | ModelProblem::Garbled
    );
    let base = model.address_elsewhere().filter(|_| may_be_address)?;
    for api_base in meant_bases(base) {
        let settings = model.settings()?;
        let settings = ProviderSettings { api_base: api_base.clone(), max_attempts: 1, ..settings };
        if ProviderMind::new(&settings, clock.clone()).ok()?.check().await.is_ok() {
            return Some(api_base);
        }
    }
    None
}

/// What an operator can do about a problem.
pub fn next_step(problem: ModelProblem) -> &'static str {
    match problem {
        ModelProblem::Unreachable => "check that its server runs, and client_args.api_base",
        ModelProblem::TimedOut => "check its server, or raise client_args.timeout",
        ModelProblem::KeyRefused | ModelProblem::KeyMissing => "check client_args.api_key",
        ModelProblem::UnknownModel => "check model_id and client_args.api_base",
        ModelProblem::NoFunds => "add credit to the account",
        ModelProblem::Overloaded => "try again later, or set a fallback",
        ModelProblem::ServerFailed => "look into the log of its server",
        ModelProblem::RequestRejected => "check params",
        ModelProblem::Garbled => "check that client_args.api_base is the address of its API",
    }
}
