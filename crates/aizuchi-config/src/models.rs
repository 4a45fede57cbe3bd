//! The `models` section: timeouts, attempts and prices of all models. Below it, which models the agents use.

pub mod place_models;
pub mod cold_start;
pub mod saved_choice;
pub mod agent_models;
pub mod foreign_names;
pub mod sources;
mod to_provider;
pub mod in_use;

use std::collections::{BTreeMap, BTreeSet};

use aizuchi_llm::model_id::ModelId;
use aizuchi_llm::price::{ModelPrice, Prices, cache_write_factor};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::agents::{ClientArgs, ModelParamsConfig};
use crate::models::place_models::OwnModels;
use crate::values::{BoundedInteger, Money};

/// The currency of list prices.
const LIST_CURRENCY: &str = "USD";

section! {
    /// Settings for all models.
    pub struct ModelsConfig {
        /// The timeout for connecting to a model.
        pub connect_timeout_seconds: BoundedInteger<1, 600> = BoundedInteger(10),
        /// The timeout of one call to a model.
        pub timeout_seconds: BoundedInteger<1, 600> = BoundedInteger(60),
        /// How many times a call is attempted, including the first.
        pub attempts: BoundedInteger<1, 11> = BoundedInteger(3),
        /// The currency of all prices, as three letters.
        pub currency: Currency = Currency(LIST_CURRENCY.to_owned()),
        /// Prices per million tokens, by model, from which the ledger's costs are calculated. If omitted: the list prices
        /// of common models, if `currency` is USD.
        #[schemars(with = "BTreeMap<String, PriceConfig>")]
        pub prices: BTreeMap<ModelId, PriceConfig>,
        /// Prices per minute of audio, by model, for `agents.transcription` models that are billed by time. If omitted: the
        /// list price of `openai/whisper-1`, if `currency` is USD.
        #[schemars(with = "BTreeMap<String, Money>")]
        pub minute_prices: BTreeMap<ModelId, Money>,
        /// Models that individual channels and workspaces can use, by a name of your choice.
        pub named: BTreeMap<String, NamedModelConfig>,
        /// The model for a workspace, by the id of the workspace as the console shows it, or for all workspaces of `slack`
        /// or `discord`: a name in `named`, or a section with a name for `response`, `judgment`, `memory` or `state`. A
        /// channel's own `model` takes precedence.
        pub workspaces: BTreeMap<String, OwnModels>,
    }
}

/// A model that individual channels and workspaces can use.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedModelConfig {
    /// `PROVIDER/MODEL`, or `builtin`, as in `agents`.
    #[schemars(with = "String")]
    pub model_id: ModelId,
    /// Parameters that are passed to the model.
    #[serde(default)]
    pub params: ModelParamsConfig,
    /// How to reach the model.
    #[serde(default)]
    pub client_args: ClientArgs,
}

/// The price of a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Price")]
pub struct PriceConfig {
    /// Input tokens.
    pub input: Money,
    /// Input tokens that the provider had in its cache. If omitted: the price of `input`.
    pub cached_input: Option<Money>,
    /// Input tokens that the provider wrote to its cache. If omitted: the price of `input`; for Anthropic's models, 25%
    /// more.
    pub cache_write: Option<Money>,
    /// Output tokens.
    pub output: Money,
}

text_settings! {
    /// A currency's code, such as USD.
    #[schemars(extend("pattern" = "^[A-Z]{3}$"))]
    Currency(String) = |text| {
        (text.len() == 3 && text.bytes().all(|letter| letter.is_ascii_uppercase())).then_some(text)
    }, "it must be three capital letters, like USD";
}

impl ModelsConfig {
    /// The price table of the agent: configured prices first, then list prices. The models `elsewhere` are not served
    /// by the provider that the list prices belong to.
    pub fn prices(&self, elsewhere: &BTreeSet<String>) -> Prices {
        let mut prices = match self.currency.0.as_str() {
            LIST_CURRENCY => Prices::list(),
            _ => Prices::default(),
        };
        prices.0.retain(|model, _| !elsewhere.contains(model));
        prices.0.extend(self.configured_prices().0);
        prices
    }

    fn configured_prices(&self) -> Prices {
        let price = |(id, price): (&ModelId, &PriceConfig)| {
            let id = id.to_string();
            let (input, output) = (price.input.0, price.output.0);
            let cached_input = price.cached_input.map_or(input, |price| price.0);
            let usual = input * cache_write_factor(&id);
            let cache_write = price.cache_write.map_or(usual, |price| price.0);
            (id, ModelPrice { input, cached_input, cache_write, output })
        };
        let minute_price =
            |(id, price): (&ModelId, &Money)| (id.to_string(), ModelPrice::for_minute(price.0));
        let by_minute = self.minute_prices.iter().map(minute_price);
        Prices(self.prices.iter().map(price).chain(by_minute).collect())
    }
}
