//! What to do about a model that does not answer: the address that was meant, and the next step.

use aizuchi_llm::discover::meant_bases;
use aizuchi_llm::provider::ProviderSettings;
use aizuchi_model::decision::model_problem::ModelProblem;
use jiff::SignedDuration;

use crate::models::agent_models::ResolvedModel;

/// The timeout of a call to an address that may be meant, while a person waits.
const TIMEOUT: SignedDuration = SignedDuration::from_secs(10);

/// Returns the settings of a model at the addresses that may be meant, if its own may lack a `/v1` or have the path of a
/// call.
pub fn meant_settings(
    model: &ResolvedModel,
    problem: Option<ModelProblem>,
) -> Vec<ProviderSettings> {
    let may_be_address = matches!(
        problem,
        Some(
            ModelProblem::UnknownModel
                | ModelProblem::RequestRejected
                | ModelProblem::ServerFailed
                | ModelProblem::Garbled
        )
    );
    let base = model.address_elsewhere().filter(|_| may_be_address);
    let Some((base, settings)) = base.zip(model.settings()) else { return Vec::new() };
    let timeout = settings.timeout.min(TIMEOUT);
    let at = |api_base| ProviderSettings {
        api_base,
        timeout,
        cold_timeout: timeout,
        ..settings.clone()
    };
    meant_bases(base).into_iter().map(at).collect()
}

/// What an operator can do about a problem.
pub fn next_step(problem: ModelProblem) -> &'static str {
    match problem {
        ModelProblem::Unreachable => "check that its server runs, and client_args.api_base",
        ModelProblem::TimedOut => "check its server, or raise client_args.timeout",
        ModelProblem::KeyRefused => "check client_args.api_key",
        ModelProblem::UnknownModel => "check model_id and client_args.api_base",
        ModelProblem::NoFunds => "add credit to the account",
        ModelProblem::Overloaded => "try again later, or set a fallback",
        ModelProblem::ServerFailed => "look into the log of its server",
        ModelProblem::RequestRejected => "check params",
        ModelProblem::Garbled => "check that client_args.api_base is the address of its API",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::environment::Environment;

    #[test]
    fn a_meant_address_is_tried_briefly_where_the_problem_may_be_the_address() {
        let text = "agents: {response: {model_id: openai/l, client_args: {api_base: 'http://x'}}}";
        let config = Config::read(text, "config.yaml", &Environment::default()).unwrap().config;
        let model = &config.minds.response.model;
        for (problem, expected) in [
            (Some(ModelProblem::UnknownModel), &["http://x/v1/"][..]),
            (Some(ModelProblem::Garbled), &["http://x/v1/"]),
            (Some(ModelProblem::Unreachable), &[]),
            (Some(ModelProblem::KeyRefused), &[]),
            (None, &[]),
        ] {
            let tried = meant_settings(model, problem);
            let bases: Vec<&str> = tried.iter().map(|it| &*it.api_base).collect();
            assert_eq!(bases, expected, "{problem:?}");
            assert!(tried.iter().all(|it| it.timeout == TIMEOUT && it.cold_timeout == TIMEOUT));
        }
    }
}
