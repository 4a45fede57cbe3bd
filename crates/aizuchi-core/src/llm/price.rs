//! What models cost: the operator's table, per million tokens. Prices change and differ by
//! contract, so none are built in.

use std::collections::BTreeMap;

use crate::decision::{Price, Usage};

/// By `provider/model`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices(pub BTreeMap<String, ModelPrice>);

/// Money per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelPrice {
    pub input: f64,
    /// For input that came from the provider's prefix cache.
    pub cached_input: f64,
    pub output: f64,
}

impl Prices {
    /// What a call cost; `None` if the model is not in the table.
    pub fn cost(&self, model: &str, usage: Usage) -> Option<Price> {
        let price = self.0.get(model)?;
        let uncached = usage.input_tokens.saturating_sub(usage.cached_tokens);
        // Prices are per million tokens and the result is in millionths, so the factors cancel out.
        let micros = uncached as f64 * price.input
            + usage.cached_tokens as f64 * price.cached_input
            + usage.output_tokens as f64 * price.output;
        Some(Price { micros: micros.round() as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_follows_the_price_table() {
        let price = ModelPrice { input: 2.0, cached_input: 0.5, output: 8.0 };
        let prices = Prices(BTreeMap::from([("openai/large".to_owned(), price)]));
        let usage =
            Usage { input_tokens: 1000, cached_tokens: 400, output_tokens: 50, ..Usage::default() };
        assert_eq!(prices.cost("openai/large", usage), Some(Price { micros: 1200 + 200 + 400 }));
        assert_eq!(prices.cost("openai/small", usage), None);
    }
}
