//! Choosing a model while the program runs: it is tried with a call of one token, saved in the `.env` file and used
//! from the next prompt on.

use std::net::Ipv4Addr;

use aizuchi_llm::Llm as _;
use aizuchi_llm::discover::{FoundServer, listed_models};
use aizuchi_llm::model_id::ModelId;
use aizuchi_llm::price::Prices;
use aizuchi_llm::provider::{ProviderMind, ProviderSettings};
use aizuchi_llm::provider_list::Provider;
use aizuchi_model::decision::model_problem::ModelProblem;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;

use crate::Config;
use crate::env_file::VariableChange;
use crate::models::agent_models::ResolvedModel;
use crate::models::in_use::ModelsInUse;
use crate::models::in_use::failure::meant_settings;
use crate::models::in_use::prompts::load_prompts;
use crate::models::saved_choice::{API_BASE_VARIABLE, API_KEY_VARIABLE, MODEL_VARIABLE};
use crate::models::sources::ModelOrigin;
use crate::secret::Secret;

/// The maximum size of a key, name or address. Real ones are far shorter.
const MAX_BYTES: usize = 512;

/// The model that a user chooses.
#[derive(Debug)]
pub enum ModelChoice {
    Builtin,
    /// A model of a server on this machine, by the server's name.
    Local {
        server: String,
        model: ModelId,
    },
    /// A provider's model, with a key unless the environment has one.
    Hosted {
        provider: Provider,
        model: String,
        key: Option<Secret>,
    },
    /// A model of any OpenAI-compatible server.
    Compatible {
        api_base: String,
        model: String,
        key: Option<Secret>,
    },
}

/// Why a choice did not take effect. Nothing was changed.
#[derive(Debug)]
pub enum ChoiceError {
    NamedBy(ModelOrigin),
    NamedByVariable(&'static str),
    /// The server has these models, as far as it says.
    ModelNeeded(Vec<String>),
    MalformedModel,
    MalformedAddress,
    MalformedKey,
    KeyNeeded(Provider),
    NotFoundHere,
    /// The trial found this problem. `None` means that the model's answer was useless.
    Failed {
        model: Box<ResolvedModel>,
        problem: Option<ModelProblem>,
        /// The address that was meant, where the model answers.
        meant: Option<String>,
    },
    NotSaved(anyhow::Error),
}

impl ChoiceError {
    /// The error in words. It never holds a key.
    pub fn describe(&self, language: Language) -> String {
        match self {
            ChoiceError::NamedBy(ModelOrigin::Flag) => {
                texts::models::named_by_flag(language).to_owned()
            }
            ChoiceError::NamedBy(ModelOrigin::Variable) => {
                texts::models::named_by_variable(language, MODEL_VARIABLE)
            }
            ChoiceError::NamedBy(
                ModelOrigin::Config | ModelOrigin::Default | ModelOrigin::Saved,
            ) => texts::models::named_by_config(language).to_owned(),
            ChoiceError::NamedByVariable(name) => texts::models::named_by_variable(language, name),
            ChoiceError::ModelNeeded(names) if names.is_empty() => {
                texts::models::model_needed(language).to_owned()
            }
            ChoiceError::ModelNeeded(names) => {
                texts::models::models_there(language, &names.join(", "))
            }
            ChoiceError::MalformedModel => texts::models::malformed_model(language).to_owned(),
            ChoiceError::MalformedAddress => texts::models::malformed_address(language).to_owned(),
            ChoiceError::MalformedKey => texts::models::malformed_key(language).to_owned(),
            ChoiceError::KeyNeeded(provider) => {
                texts::models::key_needed(language, provider.name())
            }
            ChoiceError::NotFoundHere => texts::models::not_found_here(language).to_owned(),
            ChoiceError::Failed { model, problem: Some(problem), meant } => {
                let problem = texts::models::problem(language, *problem);
                let meant = meant.as_ref().map(|base| texts::models::answers_at(language, base));
                texts::models::try_failed(language, &model.shown_name(language), problem)
                    + &meant.unwrap_or_default()
            }
            ChoiceError::Failed { model, problem: None, .. } => {
                texts::models::try_failed_unusably(language, &model.shown_name(language))
            }
            ChoiceError::NotSaved(error) => {
                texts::models::not_saved(language, &format!("{error:#}"))
            }
        }
    }
}

impl ModelsInUse {
    /// Tries the model, saves the choice and uses it.
    pub async fn choose(&self, choice: ModelChoice) -> Result<(), ChoiceError> {
        let _turn = self.turn.lock().await;
        if !self.is_open_to_choice() {
            return Err(ChoiceError::NamedBy(self.origin()));
        }
        if let ModelChoice::Compatible { api_base, model, key } = &choice
            && model.is_empty()
        {
            let key = key.as_ref().map(Secret::expose).filter(|key| !key.is_empty());
            let base = checked_address(api_base.clone())?;
            return Err(ChoiceError::ModelNeeded(listed_models(&base, key).await));
        }
        let config = self.config.read();
        let changes = changes(choice, &config, &self.found())?;
        if let Some(name) = config.model_sources.overriding_variable(&changes) {
            return Err(ChoiceError::NamedByVariable(name));
        }
        let chosen = config.with_variables(&changes).map_err(ChoiceError::NotSaved)?;
        load_prompts(&chosen).map_err(ChoiceError::NotSaved)?;
        self.try_out(&chosen).await?;
        // The config may have been reloaded during the trial.
        let chosen = self.config.read().with_variables(&changes).map_err(ChoiceError::NotSaved)?;
        chosen.save_variables(&changes).map_err(ChoiceError::NotSaved)?;
        self.adopt(chosen).map_err(ChoiceError::NotSaved)
    }

    async fn try_out(&self, chosen: &Config) -> Result<(), ChoiceError> {
        let model = &chosen.minds.response.model;
        let Some(settings) = model.settings() else { return Ok(()) };
        let prices = chosen.prices();
        let Err(problem) = self.call_once(&settings, &prices).await? else { return Ok(()) };
        let mut meant = None;
        for settings in meant_settings(model, problem) {
            if meant.is_none() && self.call_once(&settings, &prices).await?.is_ok() {
                meant = Some(settings.api_base);
            }
        }
        Err(ChoiceError::Failed { model: Box::new(model.clone()), problem, meant })
    }

    /// Calls a model, records the call and returns the problem if it fails.
    async fn call_once(
        &self,
        settings: &ProviderSettings,
        prices: &Prices,
    ) -> Result<Result<(), Option<ModelProblem>>, ChoiceError> {
        let mind =
            ProviderMind::new(settings, self.clock.clone()).map_err(ChoiceError::NotSaved)?;
        let began = self.clock.now();
        let checked = mind.check().await;
        self.record_trial(mind.model(), began, &checked, prices).await;
        Ok(checked.map(|_| ()).map_err(|_| mind.problem()))
    }
}

/// The changes to the `.env` file that a choice makes.
fn changes(
    choice: ModelChoice,
    config: &Config,
    found: &[FoundServer],
) -> Result<Vec<VariableChange>, ChoiceError> {
    let chosen = |model: ModelId, api_base: Option<String>| {
        vec![
            (MODEL_VARIABLE, Some(model.to_string())),
            (API_BASE_VARIABLE, api_base),
            (API_KEY_VARIABLE, None),
        ]
    };
    match choice {
        ModelChoice::Builtin => Ok(chosen(ModelId::Builtin, None)),
        ModelChoice::Local { server, model } => {
            let has_model = |found: &&FoundServer| {
                found.endpoint.server.name() == server && found.models.contains(&model)
            };
            let found = found.iter().find(has_model).ok_or(ChoiceError::NotFoundHere)?;
            let api_base = found.endpoint.api_base();
            Ok(chosen(model, api_base))
        }
        ModelChoice::Hosted { provider, model, key } => {
            let variable = provider.key_variable().ok_or(ChoiceError::NotFoundHere)?;
            let mut changes = chosen(hosted(provider, model)?, None);
            match typed(key)? {
                Some(key) => changes.push((variable, Some(key))),
                None => {
                    let environment = &config.model_sources.environment;
                    let stored = environment.get_non_empty(variable);
                    stored.ok_or(ChoiceError::KeyNeeded(provider))?;
                }
            }
            Ok(changes)
        }
        ModelChoice::Compatible { api_base, model, key } => {
            let api_base = checked_address(api_base)?;
            let mut changes = chosen(hosted(Provider::OpenAi, model)?, Some(api_base));
            if let Some(change) = changes.last_mut() {
                *change = (API_KEY_VARIABLE, typed(key)?);
            }
            Ok(changes)
        }
    }
}

fn checked_address(address: String) -> Result<String, ChoiceError> {
    let address = with_scheme(address);
    let is_address = ["http://", "https://"].iter().any(|it| address.starts_with(it));
    // A password in an address would be shown and logged.
    let is_plain = is_address && is_plain(&address) && !address.contains('@');
    is_plain.then_some(address).ok_or(ChoiceError::MalformedAddress)
}

/// Adds a scheme, because users type `localhost:8000`. Unencrypted HTTP is used only for a nearby server: this machine,
/// a private network, or a name without a dot.
fn with_scheme(address: String) -> String {
    if address.contains("://") || address.is_empty() {
        return address;
    }
    let host = address.split(['/', ':']).next().unwrap_or_default();
    let is_near = match host.parse::<Ipv4Addr>() {
        Ok(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        Err(_) => !host.contains('.'),
    };
    format!("{}://{address}", if is_near { "http" } else { "https" })
}

fn hosted(provider: Provider, name: String) -> Result<ModelId, ChoiceError> {
    match name.as_str() {
        "" => Err(ChoiceError::ModelNeeded(Vec::new())),
        name if !is_plain(name) => Err(ChoiceError::MalformedModel),
        _ => Ok(ModelId::Hosted { provider, name }),
    }
}

/// The key that the user typed, if any.
fn typed(key: Option<Secret>) -> Result<Option<String>, ChoiceError> {
    let Some(key) = key.filter(|key| !key.expose().is_empty()) else { return Ok(None) };
    if is_plain(key.expose()) {
        Ok(Some(key.expose().to_owned()))
    } else {
        Err(ChoiceError::MalformedKey)
    }
}

/// Whether a value can be written into a `.env` file without quotes.
fn is_plain(value: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/+=~|@%".contains(&byte);
    (1..=MAX_BYTES).contains(&value.len()) && value.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_goes_in_the_clear_only_to_what_is_near() {
        for (typed, expected) in [
            ("localhost:8000/v1", "http://localhost:8000/v1"),
            ("127.0.0.1:8000", "http://127.0.0.1:8000"),
            ("10.1.2.3/v1", "http://10.1.2.3/v1"),
            ("llm:8000", "http://llm:8000"),
            ("llm.example.com/v1", "https://llm.example.com/v1"),
            ("8.8.8.8:8000", "https://8.8.8.8:8000"),
            ("http://llm.example.com", "http://llm.example.com"),
            ("", ""),
        ] {
            assert_eq!(with_scheme(typed.to_owned()), expected);
        }
    }

    #[test]
    fn what_cannot_be_written_plainly_is_refused() {
        for (value, expected) in [
            ("sk-proj-a_b.c", true),
            ("http://127.0.0.1:8000/v1", true),
            ("", false),
            ("two words", false),
            ("line\nbreak", false),
            ("quo'te", false),
            ("$HOME", false),
            ("#", false),
        ] {
            assert_eq!(is_plain(value), expected, "{value:?}");
        }
        assert!(!is_plain(&"a".repeat(MAX_BYTES + 1)));
    }
}
