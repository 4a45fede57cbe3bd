//! Prices of models, per million tokens: the operator's table, and list prices of common models as of [`LIST_DATE`]
//! for the models that it leaves out. Prices change and differ by contract, so the operator's take precedence, and a
//! model in neither table has no price at all.

use std::collections::BTreeMap;

use aizuchi_model::decision::{Price, Usage};

use crate::prompt::recording::TOKENS_PER_SECOND;

/// Prices by `provider/model`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices(pub BTreeMap<String, ModelPrice>);

/// Prices per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelPrice {
    pub input: f64,
    /// For input read from the provider's prefix cache.
    pub cached_input: f64,
    /// For input written to that cache.
    pub cache_write: f64,
    pub output: f64,
}

/// When the list prices were looked up.
pub const LIST_DATE: &str = "2025-11-30";

/// List prices in US dollars as of [`LIST_DATE`], for prompts of ordinary length and without discounts: input,
/// cached input and output. Only models whose price is certain are listed.
const LIST_PRICES: [(&str, f64, f64, f64); 20] = [
    ("openai/gpt-5", 1.25, 0.125, 10.0),
    ("openai/gpt-5-mini", 0.25, 0.025, 2.0),
    ("openai/gpt-5-nano", 0.05, 0.005, 0.4),
    ("openai/gpt-4.1", 2.0, 0.5, 8.0),
    ("openai/gpt-4.1-mini", 0.4, 0.1, 1.6),
    ("openai/gpt-4.1-nano", 0.1, 0.025, 0.4),
    ("openai/gpt-4o", 2.5, 1.25, 10.0),
    ("openai/gpt-4o-mini", 0.15, 0.075, 0.6),
    ("openai/o3", 2.0, 0.5, 8.0),
    ("openai/o4-mini", 1.1, 0.275, 4.4),
    // Transcription models: the input is audio.
    ("openai/gpt-4o-transcribe", 6.0, 6.0, 10.0),
    ("openai/gpt-4o-mini-transcribe", 3.0, 3.0, 5.0),
    ("anthropic/claude-haiku-4-5", 1.0, 0.1, 5.0),
    ("anthropic/claude-sonnet-4-5", 3.0, 0.3, 15.0),
    ("anthropic/claude-sonnet-4-0", 3.0, 0.3, 15.0),
    ("anthropic/claude-opus-4-1", 15.0, 1.5, 75.0),
    ("anthropic/claude-opus-4-5", 5.0, 0.5, 25.0),
    // The discount for cached input is uncertain for these models.
    ("gemini/gemini-2.5-pro", 1.25, 1.25, 10.0),
    ("gemini/gemini-2.5-flash", 0.3, 0.3, 2.5),
    ("gemini/gemini-2.5-flash-lite", 0.1, 0.1, 0.4),
];

/// List prices of models that charge per minute of audio.
const LIST_MINUTE_PRICES: [(&str, f64); 1] = [("openai/whisper-1", 0.006)];

impl ModelPrice {
    /// The price of a model that charges per minute of audio, and not for its output.
    pub fn for_minute(price: f64) -> Self {
        let tokens = 60.0 * TOKENS_PER_SECOND as f64;
        let input = price * 1_000_000.0 / tokens;
        Self { input, cached_input: input, cache_write: input, output: 0.0 }
    }
}

impl Prices {
    /// The list prices of common models, in US dollars.
    pub fn list() -> Self {
        let price = |(model, input, cached_input, output): (&str, f64, f64, f64)| {
            let cache_write = input * cache_write_factor(model);
            (model.to_owned(), ModelPrice { input, cached_input, cache_write, output })
        };
        let minute_price =
            |(model, price): (&str, f64)| (model.to_owned(), ModelPrice::for_minute(price));
        let by_minute = LIST_MINUTE_PRICES.into_iter().map(minute_price);
        Self(LIST_PRICES.into_iter().map(price).chain(by_minute).collect())
    }

    /// The cost of a call. `None` if the model is not in the table.
    pub fn cost(&self, model: &str, usage: Usage) -> Option<Price> {
        let price = self.0.get(model)?;
        let from_or_to_cache = usage.cached_tokens + usage.cache_write_tokens;
        let uncached = usage.input_tokens.saturating_sub(from_or_to_cache);
        // Prices are per million tokens and the result is in millionths, so the factors cancel out.
        let micros = uncached as f64 * price.input
            + usage.cached_tokens as f64 * price.cached_input
            + usage.cache_write_tokens as f64 * price.cache_write
            + usage.output_tokens as f64 * price.output;
        Some(Price { micros: micros.round() as u64 })
    }

    /// Whether calls to a model are known to be free.
    pub fn is_free(&self, model: &str) -> bool {
        let ModelPrice { input, cached_input, cache_write, output } = match self.0.get(model) {
            Some(price) => *price,
            None => return false,
        };
        [input, cached_input, cache_write, output].iter().all(|price| *price <= 0.0)
    }

    /// The highest possible cost of a call of this size: the provider may write all of its input to its cache, at
    /// another price.
    pub fn most_cost(&self, model: &str, usage: Usage) -> Option<Price> {
        let written = Usage { cached_tokens: 0, cache_write_tokens: usage.input_tokens, ..usage };
        let prices = [usage, written].map(|usage| self.cost(model, usage));
        prices.into_iter().flatten().max_by_key(|price| price.micros)
    }
}

/// The price of writing input to the provider's cache, relative to uncached input. Anthropic charges this for five
/// minutes; the others cache for free.
pub fn cache_write_factor(model: &str) -> f64 {
    if model.starts_with("anthropic/") { 1.25 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model_id::ModelId;

    #[test]
    fn the_cost_follows_the_price_table() {
        let price = ModelPrice { input: 2.0, cached_input: 0.5, cache_write: 2.5, output: 8.0 };
        let prices = Prices(BTreeMap::from([("openai/large".to_owned(), price)]));
        let usage =
            Usage { input_tokens: 1000, cached_tokens: 400, output_tokens: 50, ..Usage::default() };
        assert_eq!(prices.cost("openai/large", usage), Some(Price { micros: 1200 + 200 + 400 }));
        let usage = Usage { cache_write_tokens: 200, ..usage };
        let price = Price { micros: 800 + 200 + 500 + 400 };
        assert_eq!(prices.cost("openai/large", usage), Some(price));
        assert_eq!(prices.cost("openai/small", usage), None);
        // All of the input may be written to the cache.
        let usage = Usage { input_tokens: 1000, output_tokens: 50, ..Usage::default() };
        assert_eq!(prices.cost("openai/large", usage), Some(Price { micros: 2000 + 400 }));
        assert_eq!(prices.most_cost("openai/large", usage), Some(Price { micros: 2500 + 400 }));
        assert_eq!(prices.most_cost("openai/small", usage), None);
    }

    #[test]
    fn a_minute_costs_its_price() {
        let prices = Prices(BTreeMap::from([("x".to_owned(), ModelPrice::for_minute(0.006))]));
        let input_tokens = 60 * TOKENS_PER_SECOND;
        let usage = Usage { input_tokens, output_tokens: 99, ..Usage::default() };
        assert_eq!(prices.cost("x", usage), Some(Price { micros: 6_000 }));
    }

    #[test]
    fn list_prices_are_plausible() {
        let Prices(mut list) = Prices::list();
        let count = LIST_PRICES.len() + LIST_MINUTE_PRICES.len();
        assert_eq!(list.len(), count, "each model has one price");
        for (model, price) in LIST_MINUTE_PRICES {
            model.parse::<ModelId>().unwrap();
            assert!(0.0 < price && price < 0.1, "{model}");
            list.remove(model);
        }
        for (model, price) in list {
            model.parse::<ModelId>().unwrap();
            let ModelPrice { input, cached_input, cache_write, output } = price;
            assert!(0.0 < cached_input && cached_input <= input && input < output, "{model}");
            assert!(input <= cache_write && cache_write < output, "{model}");
            assert!(output < 100.0, "{model}");
        }
    }
}
