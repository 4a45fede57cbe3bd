//! The cost of a month, from the calls of a period and a table of prices.

use aizuchi_llm::price::Prices;
use aizuchi_model::decision::Usage;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::replay::moments::CallCount;
use crate::report::figures::ModelCost;

/// A month as it is billed on average.
pub const DAYS_OF_MONTH: f64 = 30.4;
/// For a long history, a model can be asked about this many days at its end instead of all of it.
pub const LAST_DAYS: i64 = 30;
/// The models that are shown besides the configured ones, if their prices are known.
const COMMON_MODELS: [&str; 3] =
    ["anthropic/claude-haiku-4-5", "openai/gpt-5-mini", "gemini/gemini-2.5-flash-lite"];
const MAX_MODELS: usize = 3;
/// The assumed lengths of answers, if none were counted: a judgment is a short JSON object, a reply a few sentences.
const JUDGMENT_TOKENS: u64 = 90;
const REPLY_TOKENS: u64 = 120;

/// What the costs are computed from.
#[derive(Clone, Debug)]
pub struct CostBasis {
    pub prices: Prices,
    pub currency: String,
    /// The models that are configured, the judge's first.
    pub configured: Vec<String>,
}

/// The model that judged a replay, and its prices.
#[derive(Clone, Debug)]
pub struct PricedModel {
    pub model: String,
    pub prices: Prices,
}

/// The first of the last days of a history. It begins at midnight UTC, as the date of `--from` does.
pub fn begin_of_last_days(end: Timestamp) -> Date {
    TimeZone::UTC.to_datetime(end - SignedDuration::from_hours(24 * LAST_DAYS)).date()
}

impl PricedModel {
    /// What its answers cost. `None` if there are none, or if its price is not known.
    pub fn cost(&self, answers: CallCount) -> Option<f64> {
        let price = self.prices.cost(&self.model, answers.usage)?;
        (answers.calls > 0).then_some(price.micros as f64 / 1e6)
    }
}

impl CostBasis {
    /// The costs with two or three models; `None` where they cannot be known.
    pub fn costs(&self, judge: CallCount, reply: CallCount, days: f64) -> Vec<ModelCost> {
        let common = COMMON_MODELS.iter().map(|model| (*model).to_owned());
        let mut models: Vec<String> = Vec::new();
        for model in self.configured.iter().cloned().chain(common) {
            if !models.contains(&model) && models.len() < MAX_MODELS {
                models.push(model);
            }
        }
        let total = |model: &str| {
            let calls = [(judge, JUDGMENT_TOKENS), (reply, REPLY_TOKENS)];
            let is_known =
                calls.iter().all(|(count, _)| count.calls == 0 || count.usage.input_tokens > 0);
            let micros = calls.into_iter().map(|(count, length)| {
                let usage = with_answers(count, length);
                self.prices.cost(model, usage).map(|price| price.micros as f64)
            });
            let micros: f64 = micros.sum::<Option<f64>>()?;
            is_known.then_some(micros / 1e6)
        };
        let cost = |model: String| {
            let total = total(&model);
            let per_month = total.filter(|_| days >= 1.0).map(|total| total / days * DAYS_OF_MONTH);
            ModelCost { model, total, per_month }
        };
        models.into_iter().map(cost).collect()
    }
}

/// The usage with the assumed length of answers where none was counted.
fn with_answers(count: CallCount, length: u64) -> Usage {
    match count.usage.output_tokens {
        0 => Usage { output_tokens: count.calls * length, ..count.usage },
        _ => count.usage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_days_begin_at_midnight() {
        let end: Timestamp = "2019-06-06T18:20:00Z".parse().unwrap();
        assert_eq!(begin_of_last_days(end).to_string(), "2019-05-07");
    }

    #[test]
    fn answers_cost_what_they_used() {
        let (model, prices) = ("openai/gpt-5-mini".to_owned(), Prices::list());
        let judge = PricedModel { model, prices: prices.clone() };
        let usage = Usage { input_tokens: 400_000, output_tokens: 50_000, ..Usage::default() };
        assert_eq!(judge.cost(CallCount { calls: 7, usage }), Some(0.2));
        assert_eq!(judge.cost(CallCount::default()), None);
        let unpriced = PricedModel { model: "ollama/qwen3".to_owned(), prices };
        assert_eq!(unpriced.cost(CallCount { calls: 7, usage }), None);
    }

    #[test]
    fn a_month_follows_from_the_days() {
        let basis = CostBasis {
            prices: Prices::list(),
            currency: "USD".to_owned(),
            configured: vec!["openai/gpt-5-mini".to_owned(), "ollama/qwen3".to_owned()],
        };
        let usage = Usage { input_tokens: 2_000_000, is_estimated: true, ..Usage::default() };
        let judge = CallCount { calls: 1000, usage };
        let costs = basis.costs(judge, CallCount::default(), 15.2);
        let shown: Vec<(&str, Option<f64>)> =
            costs.iter().map(|cost| (&*cost.model, cost.per_month)).collect();
        // Twice two million tokens in at 0.25, and twice 90 000 out at 2.
        assert_eq!(shown[0], ("openai/gpt-5-mini", Some(1.36)));
        assert_eq!(costs[0].total, Some(0.68));
        assert_eq!(shown[1], ("ollama/qwen3", None));
        assert_eq!(shown[2].0, "anthropic/claude-haiku-4-5");
        assert!(basis.costs(judge, judge, 0.5).iter().all(|cost| cost.per_month.is_none()));
        let unwritten = CallCount { calls: 3, ..CallCount::default() };
        let costs = basis.costs(unwritten, CallCount::default(), 9.0);
        assert!(costs.iter().all(|cost| cost.total.is_none() && cost.per_month.is_none()));
    }
}
