//! The models behind the minds: how they are built from the config, which other models could be used, and how a user
//! chooses one while the program runs.

pub mod prompts;
pub mod offers;
pub mod failure;
pub mod choice;
pub mod budgeted_model;
pub mod trial_cost;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use aizuchi_agent::agent::{Mind, Minds, StateCall};
use aizuchi_agent::metrics::Metrics;
use aizuchi_llm::builtin::BuiltinMind;
use aizuchi_llm::discover::FoundServer;
use aizuchi_llm::fallback::Models;
use aizuchi_llm::model_id::ModelId;
use aizuchi_llm::provider::ProviderMind;
use aizuchi_llm::provider::transcription::TranscriptionMind;
use aizuchi_llm::{ContextLength, Llm};
use aizuchi_model::chat::local;
use aizuchi_model::chat::{Channel, ChannelId, Visibility};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::model_problem::ModelProblem;
use aizuchi_model::outgoing::secrets::SecretScanner;
use aizuchi_model::persona::{Language, Persona};
use aizuchi_model::reloadable::Reloadable;
use aizuchi_model::rules::place::Place;
use aizuchi_model::rules::{ModelRules, Rulebook};
use aizuchi_model::texts;
use aizuchi_store::Store;
use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};
use parking_lot::RwLock;
use tokio::sync::{Mutex, watch};
use tracing::{error, info, warn};

use crate::Config;
use crate::models::agent_models::{ResolvedMind, ResolvedMinds, ResolvedModel};
use crate::models::in_use::failure::next_step;
use crate::models::sources::ModelOrigin;

/// How long to wait before a model that cannot be reached is probed again.
const LOOK_INTERVAL: SignedDuration = SignedDuration::from_secs(30);
/// How long after a call failed a model is called again, if no chat calls it.
const CHECK_INTERVAL: SignedDuration = SignedDuration::from_mins(5);

/// The models in use. A choice replaces them in the minds, which the agent shares.
pub struct ModelsInUse {
    minds: Minds,
    /// The config in force, with the models of the last choice. A reload replaces it, too.
    config: Reloadable<Config>,
    rulebook: Reloadable<Rulebook>,
    /// Where the cost of trying a model is recorded.
    store: Arc<dyn Store>,
    metrics: Arc<Metrics>,
    secrets: SecretScanner,
    clock: Clock,
    /// The model servers on this machine. `None` until they have been looked for.
    found: RwLock<Option<Vec<FoundServer>>>,
    /// Counts changes, for subscribers that display the models.
    changes: watch::Sender<u64>,
    /// The number of calls made at an operator's request.
    budgeted_calls: Arc<AtomicI64>,
    /// When a model that had failed last answered a check, by its name.
    answered: RwLock<HashMap<String, Timestamp>>,
    /// Serializes choices.
    turn: Mutex<()>,
}

impl ModelsInUse {
    /// `secrets` learns the keys that are chosen later.
    pub fn new(
        (config, rulebook): (Reloadable<Config>, Reloadable<Rulebook>),
        minds: Minds,
        (store, metrics): (Arc<dyn Store>, Arc<Metrics>),
        secrets: SecretScanner,
        clock: Clock,
    ) -> Self {
        Self {
            minds,
            config,
            rulebook,
            store,
            metrics,
            secrets,
            clock,
            found: RwLock::default(),
            changes: watch::Sender::new(0),
            budgeted_calls: Arc::default(),
            answered: RwLock::default(),
            turn: Mutex::default(),
        }
    }

    /// The model that answers, or `builtin`.
    pub fn response(&self) -> String {
        self.minds.response.models.name()
    }

    /// The names of all models in use.
    pub fn in_use(&self) -> HashSet<String> {
        self.all().iter().map(|llm| llm.model().to_owned()).collect()
    }

    /// The model that judges, or `builtin`.
    pub fn judgment(&self) -> String {
        self.minds.judgment.models.name()
    }

    /// The address of the model that answers, if it is not its provider's own.
    pub fn address(&self) -> Option<String> {
        let config = self.config.read();
        config.minds.response.model.address_elsewhere().map(str::to_owned)
    }

    pub fn is_builtin(&self) -> bool {
        let builtin = ModelId::Builtin.to_string();
        self.response() == builtin && self.judgment() == builtin
    }

    /// The config in force.
    pub fn config(&self) -> Arc<Config> {
        self.config.read()
    }

    /// The rules in force, including users' orders.
    pub fn rulebook(&self) -> Arc<Rulebook> {
        self.rulebook.read()
    }

    /// The model that judges in a channel, without its fallback, and the parameters of its requests, for shadow calls.
    pub fn shadow_judge(&self, channel: &Channel) -> anyhow::Result<(Arc<dyn Llm>, String)> {
        let config = self.config.read();
        let own = self.models_in(channel).judgment;
        self.shadow(named_or(&config, own, &config.minds.judgment))
    }

    /// The model that replies in a channel, without its fallback, and the parameters of its requests, for shadow calls.
    pub fn shadow_speaker(&self, channel: &Channel) -> anyhow::Result<(Arc<dyn Llm>, String)> {
        let config = self.config.read();
        let own = self.models_in(channel).response;
        self.shadow(named_or(&config, own, &config.minds.response))
    }

    /// The models that judge and reply in a channel, if it or its workspace has models of its own.
    pub fn own_models(&self, channel: &Channel) -> Option<[String; 2]> {
        let config = self.config.read();
        let own = self.models_in(channel);
        let minds = &config.minds;
        let name = |own, usual| named_or(&config, own, usual).model.id.to_string();
        own.is_any()
            .then(|| [name(own.judgment, &minds.judgment), name(own.response, &minds.response)])
    }

    /// The names of the models of a channel or its workspace.
    fn models_in(&self, channel: &Channel) -> ModelRules {
        let rulebook = self.rulebook.read();
        let rules = rulebook.rules_in(&Place::of_channel(channel));
        rulebook.models_in(&channel.workspace, Some(&rules.models))
    }

    fn shadow(&self, mind: &ResolvedMind) -> anyhow::Result<(Arc<dyn Llm>, String)> {
        let model = &mind.model;
        Ok((build_model(model, &self.clock)?, format!("{:?}", model.params)))
    }

    /// Finds secrets in model output.
    pub fn secrets(&self) -> &SecretScanner {
        &self.secrets
    }

    pub fn origin(&self) -> ModelOrigin {
        self.config.read().model_sources.origin
    }

    /// The problems that keep the program from using its models, each model once.
    pub fn problems(&self) -> Vec<(String, ModelProblem)> {
        let mut problems: Vec<(String, ModelProblem)> = Vec::new();
        for model in self.all() {
            if let Some(problem) = model.problem()
                && problems.iter().all(|(name, _)| name != model.model())
            {
                problems.push((model.model().to_owned(), problem));
            }
        }
        problems
    }

    /// When this model, which had failed, last answered a check.
    pub fn answered_at(&self, model: &str) -> Option<Timestamp> {
        self.answered.read().get(model).copied()
    }

    /// Notifies when a model was chosen, found or probed. Calls change [`Self::problems`] as well.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Probes the models at once, and probes and calls those that fail again from time to time. Never ends.
    pub async fn watch(&self) {
        // Slow calls do not hold up the probes.
        tokio::join!(self.watch_servers(), async {
            loop {
                self.clock.sleep_until(self.clock.now() + CHECK_INTERVAL).await;
                self.check_failing().await;
            }
        });
    }

    async fn watch_servers(&self) {
        self.probe().await;
        let mut known_contexts = HashSet::new();
        loop {
            self.warn_of_short_contexts(&mut known_contexts).await;
            self.clock.sleep_until(self.clock.now() + LOOK_INTERVAL).await;
            let is_away =
                |problem| matches!(problem, ModelProblem::Unreachable | ModelProblem::TimedOut);
            if self.problems().into_iter().any(|(_, problem)| is_away(problem)) {
                self.probe().await;
                self.notify();
            }
        }
    }

    /// Calls each model that fails, for each of its agents and within the budget of the local room, since where nobody
    /// writes no other call tells that it answers again. So short a call does not show whether it still refuses longer
    /// ones, so none is made if one just did.
    async fn check_failing(&self) {
        let may_answer = |problem| problem != ModelProblem::RequestRejected;
        let (workspace, id) = (local::workspace_id(), ChannelId::new("general"));
        let (name, visibility) = (id.0.clone(), Visibility::Public);
        let room = Channel { workspace, id, name, visibility, topic: None };
        let latest = self.clock.now() - CHECK_INTERVAL;
        let mut failing = self.all();
        failing.retain(|it| it.problem().is_some_and(may_answer));
        for model in failing.into_iter().filter(|it| it.failed_at().is_none_or(|at| at <= latest)) {
            if self.within_budget(model.clone(), &room).check().await.is_ok() {
                info!(model = model.model(), "a model answers again");
                self.answered.write().insert(model.model().to_owned(), self.clock.now());
                self.notify();
            }
        }
    }

    /// Probes each model without using a token, and logs problems.
    async fn probe(&self) {
        let mut seen: Vec<String> = Vec::new();
        for model in self.all() {
            if seen.iter().any(|name| name == model.model()) {
                continue;
            }
            seen.push(model.model().to_owned());
            let known = model.problem();
            if let Some(problem) = model.probe().await.filter(|problem| known != Some(*problem)) {
                let why = texts::models::problem(Language::En, problem);
                let config = self.config.read();
                let mut resolved = config.minds.resolved_models(config.decision.state);
                let resolved = resolved.find(|it| it.id.to_string() == model.model());
                let endpoint = resolved.and_then(|model| model.endpoint.as_ref());
                error!(
                    model = model.model(),
                    problem = problem.name(),
                    why,
                    address = endpoint.map(|endpoint| &*endpoint.base),
                    next = next_step(problem),
                    "something is wrong with a model"
                );
                self.notify();
            }
        }
    }

    /// Warns once about each model whose server truncates the longest prompts. Some servers only report their context
    /// length after the first call.
    async fn warn_of_short_contexts(&self, known: &mut HashSet<String>) {
        let longest = self.config.read().context.budget().max_tokens;
        for model in self.all() {
            let name = model.model();
            if known.contains(name) {
                continue;
            }
            let Some(length) = model.context_length().await else { continue };
            known.insert(name.to_owned());
            if let Some(why) = short_context(length, longest) {
                warn!(model = name, why, "a model cuts the longest prompts");
            }
        }
    }

    fn all(&self) -> Vec<Arc<dyn Llm>> {
        let Minds { response, judgment, memory, state, vision, named, transcription } = &self.minds;
        let state = match self.config.read().decision.state {
            StateCall::Fused => None,
            StateCall::Separate => Some(state),
        };
        let minds = [response, judgment, memory].into_iter().chain(state);
        let minds = minds.chain(vision).chain(transcription);
        let models = minds.map(|mind| &mind.models).chain(named.values());
        models.flat_map(|models| models.all()).collect()
    }

    fn notify(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Uses the models of this config from now on.
    fn adopt(&self, config: Config) -> anyhow::Result<()> {
        self.replace_models(&config.minds)?;
        let has_unpriced_models = !config.unpriced_models().is_empty();
        self.rulebook.update(|book| Rulebook { has_unpriced_models, ..book.clone() });
        self.config.replace(config);
        info!(model = self.response(), "a model is chosen");
        self.notify();
        Ok(())
    }

    /// Keeps the same models but calls them with the keys and headers of this config from now on. Calls in flight
    /// finish with the old ones. Does nothing if nothing has changed.
    pub fn renew_keys(&self, config: &Config) -> anyhow::Result<()> {
        if self.config.read().minds == config.minds {
            return Ok(());
        }
        self.replace_models(&config.minds)?;
        info!(model = self.response(), "the models are called with the keys of the config");
        self.notify();
        Ok(())
    }

    fn replace_models(&self, resolved: &ResolvedMinds) -> anyhow::Result<()> {
        let Minds { response, judgment, memory, state, vision, named, transcription } = &self.minds;
        let pairs = [
            (response, &resolved.response),
            (judgment, &resolved.judgment),
            (memory, &resolved.memory),
            (state, &resolved.state),
        ];
        let pairs = pairs.into_iter().chain(vision.as_ref().zip(resolved.vision.as_ref()));
        let pairs = pairs.map(|(mind, resolved)| (&mind.models, resolved));
        let own =
            named.iter().filter_map(|(name, models)| Some((models, resolved.named.get(name)?)));
        let mut built: Vec<(&Arc<Models>, BuiltModels)> = pairs
            .chain(own)
            .map(|(models, resolved)| Ok((models, build_models(resolved, &self.clock)?)))
            .collect::<anyhow::Result<_>>()?;
        if let Some((mind, resolved)) = transcription.as_ref().zip(resolved.transcription.as_ref())
        {
            let build = |model: &ResolvedModel| build_transcription(model, &self.clock);
            built.push((&mind.models, build_with(resolved, build)?));
        }
        for key in resolved.keys() {
            self.secrets.learn(key.expose());
        }
        for (models, (primary, fallback)) in built {
            models.replace(primary, fallback);
        }
        Ok(())
    }
}

/// Explains why a context of this many tokens is too short for prompts of up to `longest`, and how to fix it.
pub fn short_context(length: ContextLength, longest: u64) -> Option<String> {
    let ContextLength { tokens, output_tokens } = length;
    let needed = longest + output_tokens;
    (tokens < needed).then(|| {
        format!(
            "Ollama gives the model a context of {tokens} tokens and cuts longer prompts without an error; prompts have \
             up to {longest} tokens (context.max_tokens), and answers up to {output_tokens} with what the model thinks, so start Ollama with OLLAMA_CONTEXT_LENGTH={needed}, or lower \
             context.max_tokens"
        )
    })
}

/// The minds that the config names.
pub fn build_minds(config: &Config, clock: &Clock) -> anyhow::Result<Minds> {
    let persona = config.persona();
    Ok(Minds {
        judgment: build_mind(&config.minds.judgment, &persona, clock)?,
        response: build_mind(&config.minds.response, &persona, clock)?,
        memory: build_mind(&config.minds.memory, &persona, clock)?,
        state: build_mind(&config.minds.state, &persona, clock)?,
        vision: plain_mind(config, config.minds.vision.as_ref(), |it| build_model(it, clock))?,
        named: {
            let named = config.minds.named.iter().map(|(name, resolved)| {
                let (primary, fallback) = build_models(resolved, clock)?;
                Ok((name.clone(), Arc::new(Models::new(primary, fallback))))
            });
            named.collect::<anyhow::Result<_>>()?
        },
        transcription: {
            let resolved = config.minds.transcription.as_ref();
            plain_mind(config, resolved, |model| build_transcription(model, clock))?
        },
    })
}

/// The mind of this name in `models.named`, or else the usual one.
fn named_or<'a>(
    config: &'a Config,
    name: Option<Arc<str>>,
    usual: &'a ResolvedMind,
) -> &'a ResolvedMind {
    name.and_then(|name| config.minds.named.get(&*name)).unwrap_or(usual)
}

/// A mind that plays no persona, because only models read what it writes: it describes pictures or transcribes
/// recordings. The operator's addition to the latter's prompt is a hint, such as names that come up.
fn plain_mind(
    config: &Config,
    resolved: Option<&ResolvedMind>,
    build: impl Fn(&ResolvedModel) -> anyhow::Result<Arc<dyn Llm>>,
) -> anyhow::Result<Option<Mind>> {
    let Some(resolved) = resolved else { return Ok(None) };
    let system_prompt = resolved.system_prompt.clone().unwrap_or_default();
    let persona = Arc::new(Persona { system_prompt, ..(*config.persona()).clone() });
    let (primary, fallback) = build_with(resolved, build)?;
    Ok(Some(Mind { models: Arc::new(Models::new(primary, fallback)), persona }))
}

/// One verb's model with its fallback, and the persona that it plays.
pub fn build_mind(
    config: &ResolvedMind,
    persona: &Arc<Persona>,
    clock: &Clock,
) -> anyhow::Result<Mind> {
    let (primary, fallback) = build_models(config, clock)?;
    let models = Arc::new(Models::new(primary, fallback));
    Ok(Mind { models, persona: persona_of(config, persona) })
}

/// The persona, with the additional system prompt of this mind if it has one.
pub fn persona_of(config: &ResolvedMind, persona: &Arc<Persona>) -> Arc<Persona> {
    match &config.system_prompt {
        None => persona.clone(),
        Some(addition) => {
            let system_prompt = format!("{}\n\n{}", persona.system_prompt, addition);
            Arc::new(Persona { system_prompt, ..(**persona).clone() })
        }
    }
}

type BuiltModels = (Arc<dyn Llm>, Option<Arc<dyn Llm>>);

fn build_models(config: &ResolvedMind, clock: &Clock) -> anyhow::Result<BuiltModels> {
    build_with(config, |model| build_model(model, clock))
}

fn build_with(
    config: &ResolvedMind,
    build: impl Fn(&ResolvedModel) -> anyhow::Result<Arc<dyn Llm>>,
) -> anyhow::Result<BuiltModels> {
    Ok((build(&config.model)?, config.fallback.as_ref().map(build).transpose()?))
}

fn build_transcription(model: &ResolvedModel, clock: &Clock) -> anyhow::Result<Arc<dyn Llm>> {
    let Some(settings) = model.settings() else { return Ok(Arc::new(BuiltinMind)) };
    let mind = TranscriptionMind::new(&settings, clock.clone());
    Ok(Arc::new(mind.with_context(|| format!("cannot prepare {}", model.id))?))
}

fn build_model(model: &ResolvedModel, clock: &Clock) -> anyhow::Result<Arc<dyn Llm>> {
    let Some(settings) = model.settings() else { return Ok(Arc::new(BuiltinMind)) };
    let mind = ProviderMind::new(&settings, clock.clone());
    Ok(Arc::new(mind.with_context(|| format!("cannot prepare {}", model.id))?))
}

#[cfg(test)]
mod tests {
    use aizuchi_harness::fixtures::at;
    use aizuchi_harness::providers::{ProviderResponse, Server, ServerLimits};
    use aizuchi_harness::test_store::{TestStore, on_every_store};

    use super::*;
    use crate::environment::Environment;

    fn models(store: &TestStore, server: &Server, tokens_per_day: u64) -> ModelsInUse {
        let config = format!(
            "agents: {{response: {{model_id: openai/large-1, client_args: {{api_key: k, api_base: '{}/v1'}}}}}}\n\
             budget: {{tokens_per_day: {tokens_per_day}}}\n",
            server.base
        );
        let config = Config::read(&config, "config.yaml", &Environment::default()).unwrap().config;
        let clock = Clock::manual(at(0));
        let minds = build_minds(&config, &clock).unwrap();
        let rulebook = config.rulebook();
        let parts = (store.store.clone(), Arc::default());
        let secrets = SecretScanner::default();
        ModelsInUse::new((config.into(), rulebook.into()), minds, parts, secrets, clock)
    }

    #[tokio::test]
    async fn a_model_that_failed_is_called_until_it_answers_and_within_the_budget() {
        on_every_store(async |store| {
            for (tokens_per_day, calls) in [(100, 3), (1, 1)] {
                let server = Server::start(ServerLimits::default()).await;
                let models = models(&store, &server, tokens_per_day);
                let failure = || ProviderResponse::Status(503, vec![], String::new());
                server.then([failure(), failure()]);
                let response = models.minds.response.models.all().remove(0);
                response.check().await.unwrap_err();
                assert_eq!(models.problems().len(), 1);
                let pass = |seconds| {
                    models
                        .clock
                        .advance_to(models.clock.now() + SignedDuration::from_secs(seconds));
                };
                // A chat calls it, and longer prompts than that of a check may go on to fail.
                pass(299);
                models.check_failing().await;
                assert_eq!((models.problems().len(), server.requests().len()), (1, 1));
                pass(1);
                models.check_failing().await;
                assert_eq!(models.problems().len(), 1);
                pass(300);
                models.check_failing().await;
                assert_eq!(models.problems().is_empty(), calls == 3, "{:?}", models.problems());
                // It answers, so it is left alone.
                pass(300);
                models.check_failing().await;
                assert_eq!(server.requests().len(), calls);
            }
        })
        .await;
    }

    #[test]
    fn a_context_has_room_for_the_longest_answer() {
        let why =
            |tokens, output_tokens| short_context(ContextLength { tokens, output_tokens }, 16_000);
        assert_eq!(why(18_048, 2_048), None);
        // A model with thinking tokens.
        let short = why(18_048, 18_048).unwrap();
        assert!(short.contains("OLLAMA_CONTEXT_LENGTH=34048"), "{short}");
        assert_eq!(why(34_048, 18_048), None);
    }
}
