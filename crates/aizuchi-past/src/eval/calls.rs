//! The tokens, cost and latency of an evaluation's calls, and why some of them failed.

use std::collections::BTreeMap;

use aizuchi_llm::fallback::Models;
use aizuchi_llm::prompt::Prompt;
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::{Price, Usage};
use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted;
use jiff::SignedDuration;
use serde_json::{Value, json};

/// One call, including its retries.
#[derive(Clone, Debug, PartialEq)]
pub struct EvalCall {
    pub latency: SignedDuration,
    pub usage: Usage,
    /// Why the call failed, without chat text.
    pub failure: Option<String>,
}

/// All calls of one evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct CallReport {
    pub calls: usize,
    /// The number of times that each failure occurred, the most frequent first.
    pub failures: Vec<(String, usize)>,
    pub usage: Usage,
    /// `None` if the model's price is unknown.
    pub price: Option<Price>,
    /// The median and the 95th percentile of the latencies of answered calls.
    pub latency_p50: Option<SignedDuration>,
    pub latency_p95: Option<SignedDuration>,
}

/// Asks for one answer and records the latency, usage and failure of the call.
pub async fn ask(
    models: &Models,
    prompt: &Prompt,
    timeout: SignedDuration,
    clock: &Clock,
) -> (Result<String, String>, EvalCall) {
    let began = clock.now();
    let asked = models.ask(prompt, timeout, clock).await;
    let latency = clock.now().duration_since(began);
    match asked {
        Ok(response) => {
            let call = EvalCall { latency, usage: response.usage, failure: None };
            (Ok(response.text), call)
        }
        Err(error) => {
            let (why, usage) = (error.to_string(), error.usage());
            (Err(why.clone()), EvalCall { latency, usage, failure: Some(why) })
        }
    }
}

impl CallReport {
    /// Sums up the calls. `price` returns the cost of tokens, if it is known.
    pub fn new(calls: &[EvalCall], price: impl Fn(Usage) -> Option<Price>) -> Self {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for failure in calls.iter().filter_map(|call| call.failure.as_deref()) {
            *counts.entry(failure).or_default() += 1;
        }
        let mut failures: Vec<(String, usize)> =
            counts.into_iter().map(|(why, count)| (why.to_owned(), count)).collect();
        failures.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let usage = calls.iter().fold(Usage::default(), |sum, call| sum.plus(call.usage));
        let answered = calls.iter().filter(|call| call.failure.is_none());
        let mut latencies: Vec<SignedDuration> = answered.map(|call| call.latency).collect();
        latencies.sort();
        Self {
            calls: calls.len(),
            failures,
            usage,
            price: price(usage),
            latency_p50: percentile(&latencies, 50),
            latency_p95: percentile(&latencies, 95),
        }
    }

    pub fn to_json(&self, currency: &str) -> Value {
        let failures =
            self.failures.iter().map(|(why, count)| json!({ "why": why, "calls": count }));
        let seconds =
            |latency: Option<SignedDuration>| latency.map(|latency| latency.as_secs_f64());
        json!({
            "calls": self.calls,
            "failures": failures.collect::<Vec<_>>(),
            "input_tokens": self.usage.input_tokens,
            "cached_tokens": self.usage.cached_tokens,
            "cache_write_tokens": self.usage.cache_write_tokens,
            "output_tokens": self.usage.output_tokens,
            "tokens_are_estimated": self.usage.is_estimated,
            "cost": self.price.map(to_money),
            "currency": currency,
            "latency_seconds": { "p50": seconds(self.latency_p50), "p95": seconds(self.latency_p95) },
        })
    }

    pub fn to_text(&self, currency: &str) -> String {
        let failed: usize = self.failures.iter().map(|(_, count)| count).sum();
        let calls = counted::calls(Language::En, self.calls, &self.calls.to_string());
        let mut lines = vec![format!("{calls}, of which {failed} failed")];
        lines.extend(self.failures.iter().map(|(why, count)| format!("{count} × {why}")));
        let Usage { input_tokens, cached_tokens, output_tokens, is_estimated, .. } = self.usage;
        let about = if is_estimated { "about " } else { "" };
        let cost = match self.price {
            Some(price) => format!("{:.4} {currency}", to_money(price)),
            None => "unknown, for want of a price in models.prices".to_owned(),
        };
        lines.push(format!(
            "tokens: {about}{input_tokens} in ({cached_tokens} of them cached), {output_tokens} out; cost: {cost}"
        ));
        if let (Some(p50), Some(p95)) = (self.latency_p50, self.latency_p95) {
            let (p50, p95) = (p50.as_secs_f64(), p95.as_secs_f64());
            lines.push(format!("latency: {p50:.1} s (p50), {p95:.1} s (p95)"));
        }
        lines.join("\n")
    }
}

fn to_money(price: Price) -> f64 {
    price.micros as f64 / 1_000_000.0
}

/// Returns the nearest-rank percentile of sorted latencies.
fn percentile(sorted: &[SignedDuration], percent: usize) -> Option<SignedDuration> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(seconds: i64, failure: Option<&str>) -> EvalCall {
        let usage =
            Usage { input_tokens: 100, cached_tokens: 60, output_tokens: 5, ..Usage::default() };
        let latency = SignedDuration::from_secs(seconds);
        EvalCall { latency, usage, failure: failure.map(str::to_owned) }
    }

    #[test]
    fn calls_are_summed_up() {
        let mut calls: Vec<EvalCall> = (1..=20).rev().map(|seconds| call(seconds, None)).collect();
        // Failed calls do not count in the latencies.
        let failures = [Some("it is closed"), Some("it asks for less"), Some("it is closed")];
        calls.extend(failures.map(|failure| call(90, failure)));
        let report = CallReport::new(&calls, |usage| Some(Price { micros: usage.output_tokens }));
        let text = "23 calls, of which 3 failed\n2 × it is closed\n1 × it asks for less\n\
                    tokens: 2300 in (1380 of them cached), 115 out; cost: 0.0001 USD\n\
                    latency: 10.0 s (p50), 19.0 s (p95)";
        assert_eq!(report.to_text("USD"), text);
        let expected = json!({
            "calls": 23,
            "failures": [
                { "why": "it is closed", "calls": 2 }, { "why": "it asks for less", "calls": 1 },
            ],
            "input_tokens": 2300, "cached_tokens": 1380, "cache_write_tokens": 0, "output_tokens": 115, "tokens_are_estimated": false,
            "cost": 0.000_115, "currency": "USD",
            "latency_seconds": { "p50": 10.0, "p95": 19.0 },
        });
        assert_eq!(report.to_json("USD"), expected);
    }

    #[test]
    fn nothing_is_made_up_where_no_call_was_answered() {
        let report = CallReport::new(&[call(1, Some("no"))], |_| None);
        let text = "1 call, of which 1 failed\n1 × no\ntokens: 100 in (60 of them cached), 5 out; \
                    cost: unknown, for want of a price in models.prices";
        assert_eq!(report.to_text("USD"), text);
        assert_eq!(report.to_json("USD")["latency_seconds"], json!({ "p50": null, "p95": null }));
    }
}
