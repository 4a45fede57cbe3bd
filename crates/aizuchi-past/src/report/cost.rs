//! The prices of a period: of the calls that a replay counted and of those that a memory would take, or of the calls in
//! the ledger.

use std::collections::BTreeSet;

use aizuchi_import::history::RecordedChannel;
use aizuchi_import::rows::IdHash;
use aizuchi_llm::price::Prices;
use aizuchi_llm::prompt::tokens;
use aizuchi_model::chat::ChannelId;
use aizuchi_model::decision::Usage;
use aizuchi_store::figures::{CallKind, CallSum};
use jiff::Timestamp;

use crate::replay::moments::CallCount;
use crate::report::figures::CostFigures;

/// The models whose prices are shown if none is configured.
pub const COMMON_MODELS: [&str; 2] = ["anthropic/claude-haiku-4-5", "openai/gpt-5-mini"];
/// The assumed lengths of answers, if none were counted: a judgment is a short JSON object, a reply a few sentences.
const JUDGMENT_TOKENS: u64 = 90;
const REPLY_TOKENS: u64 = 120;

/// The seconds from a new message to the update of a memory, and between two updates.
const MEMORY_INTERVAL: i64 = 3600;
/// A short-term memory is made from the messages of this many seconds.
const MEMORY_WINDOW: i64 = 24 * 3600;
/// The most messages that one update reads.
const MEMORY_MESSAGES: usize = 1000;
/// The lengths of the prompt that makes a memory, and of the short and long memories that it reads and writes.
const MEMORY_PROMPT_TOKENS: u64 = 1100;
const SHORT_MEMORY_TOKENS: u64 = 300;
const LONG_MEMORY_TOKENS: u64 = 500;
/// What a message takes in a prompt besides its text, and the number of messages of a channel that are measured.
const MESSAGE_TOKENS: u64 = 12;
const MEASURED_MESSAGES: usize = 100;

/// What the prices are computed from.
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

/// The calls of a replay.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplayCalls {
    pub checks: CallCount,
    /// What a judging model's answers used by its own count.
    pub answers: CallCount,
    pub replies: CallCount,
    pub memory: CallCount,
}

/// The calls of a channel's memory, and the hours in which it changed, in which the workspace's memory follows.
pub struct MemoryCalls {
    pub calls: CallCount,
    pub hours: BTreeSet<i64>,
}

impl CostBasis {
    /// The price of the calls of a replay: with the model that judged, else with the configured one, else with a common
    /// one.
    pub fn replay(&self, calls: ReplayCalls, judge: Option<&PricedModel>) -> CostFigures {
        let configured = self.configured.iter().map(String::as_str);
        // A model of one's own whose price is not known is not priced as another one.
        let mut known = judge.map(|judge| &*judge.model).into_iter().chain(configured);
        let is_priced = |model: &&str| self.prices.cost(model, Usage::default()).is_some();
        let Some(model) = known.next().or(COMMON_MODELS.into_iter().find(is_priced)) else {
            return CostFigures::default();
        };
        let price = |calls: CallCount, length: u64| {
            let is_counted = calls.calls == 0 || calls.usage.input_tokens > 0;
            let price = self.prices.cost(model, with_answers(calls, length))?;
            is_counted.then_some(price.micros as f64 / 1e6)
        };
        let to_ask = price(calls.checks, JUDGMENT_TOKENS);
        let asked = judge.filter(|_| calls.answers.calls > 0);
        let asked = asked.and_then(|judge| judge.prices.cost(&judge.model, calls.answers.usage));
        let checks = asked.map(|price| price.micros as f64 / 1e6).or(to_ask);
        let [replies, memory] =
            [price(calls.replies, REPLY_TOKENS), price(calls.memory, LONG_MEMORY_TOKENS)];
        CostFigures {
            model: Some(model.to_owned()),
            checks,
            replies,
            memory,
            total: [checks, replies, memory].into_iter().sum(),
            unpriced_tokens: 0,
            to_ask,
        }
    }
}

impl CostFigures {
    /// The price of the calls in the ledger, as the console's pages count them.
    pub fn from_ledger(sums: &[CallSum]) -> Self {
        let of = |is_meant: fn(CallKind) -> bool| {
            let meant = sums.iter().filter(|sum| is_meant(sum.kind));
            let price = meant.clone().map(|sum| sum.price.micros).sum::<u64>() as f64 / 1e6;
            let is_unpriced = price == 0.0 && meant.map(|sum| sum.unpriced_tokens).sum::<u64>() > 0;
            (!is_unpriced).then_some(price)
        };
        let is_check = |kind| matches!(kind, CallKind::Judge | CallKind::State);
        Self {
            model: None,
            checks: of(is_check),
            replies: of(|kind| kind == CallKind::Reply),
            memory: of(|kind| !matches!(kind, CallKind::Judge | CallKind::State | CallKind::Reply)),
            total: of(|_| true),
            unpriced_tokens: sums.iter().map(|sum| sum.unpriced_tokens).sum(),
            to_ask: None,
        }
    }
}

/// Keeps the calls of a channel. Those of the whole workspace belong to no channel.
pub fn of_channel(sums: &[CallSum], channel: &ChannelId) -> Vec<CallSum> {
    sums.iter().filter(|sum| sum.channel.as_ref() == Some(channel)).cloned().collect()
}

impl MemoryCalls {
    /// Estimates the calls that keep the memory of a channel and of its threads. Fails if a message cannot be read.
    pub fn estimate(channel: &RecordedChannel) -> anyhow::Result<Self> {
        let rows = &channel.rows;
        let reader = channel.reader();
        let (mut measured, mut length) = (0, 0);
        for row in rows.all().step_by((rows.len() / MEASURED_MESSAGES).max(1)) {
            measured += 1;
            length += tokens::estimate(&reader.read(&row)?.text) + MESSAGE_TOKENS;
        }
        let length = length / u64::max(measured, 1);
        let mut calls = CallCount::default();
        let mut call = |messages: usize, memories: u64| {
            let messages = messages.min(MEMORY_MESSAGES) as u64;
            let input_tokens = MEMORY_PROMPT_TOKENS + messages * length + memories;
            let usage = Usage { input_tokens, is_estimated: true, ..Usage::default() };
            calls.add(CallCount { calls: 1, usage });
        };
        let seconds = |at: Timestamp| at.as_second();
        let all: Vec<i64> = rows.all().map(|row| seconds(row.at())).collect();
        let mut hours = BTreeSet::new();
        for update in updates(&all) {
            let from = all.partition_point(|at| *at < update - MEMORY_WINDOW);
            call(all.partition_point(|at| *at <= update) - from, SHORT_MEMORY_TOKENS);
            call(0, SHORT_MEMORY_TOKENS + LONG_MEMORY_TOKENS);
            hours.insert(update.div_euclid(MEMORY_INTERVAL));
        }
        let top_level = IdHash::from_thread(None);
        for thread in rows.threads().filter(|thread| rows.thread_id(*thread) != top_level) {
            let messages = rows.human_messages_in(thread);
            let times: Vec<i64> = messages.iter().map(|row| seconds(row.at())).collect();
            for update in updates(&times) {
                call(times.partition_point(|at| *at <= update), SHORT_MEMORY_TOKENS);
            }
        }
        Ok(Self { calls, hours })
    }

    /// Estimates the calls that keep the memory of a workspace, by the hours in which a channel's memory changed.
    pub fn of_workspace(hours: &BTreeSet<i64>) -> CallCount {
        let calls = 2 * hours.len() as u64;
        let length = MEMORY_PROMPT_TOKENS + 2 * LONG_MEMORY_TOKENS;
        let usage = Usage { input_tokens: calls * length, is_estimated: true, ..Usage::default() };
        CallCount { calls, usage }
    }
}

/// Returns when a memory is updated: an interval after the first message that it does not contain.
fn updates(times: &[i64]) -> Vec<i64> {
    let mut updates: Vec<i64> = Vec::new();
    for at in times {
        if updates.last().is_none_or(|last| at > last) {
            updates.push(at + MEMORY_INTERVAL);
        }
    }
    updates
}

/// The usage with the assumed length of answers where none was counted.
fn with_answers(count: CallCount, length: u64) -> Usage {
    match count.usage.output_tokens {
        0 => Usage { output_tokens: count.calls * length, ..count.usage },
        _ => count.usage,
    }
}

/// Returns a third more than a rough estimate, rounded up to a number that a person would choose as a limit.
pub fn limit(estimate: f64) -> f64 {
    let wanted = estimate * 4.0 / 3.0;
    let step = match wanted {
        ..10.0 => 1.0,
        ..100.0 => 5.0,
        ..1000.0 => 50.0,
        _ => 500.0,
    };
    ((wanted / step).ceil() * step).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aizuchi_import::history::RecordedMessage;

    fn calls(calls: u64, input_tokens: u64, output_tokens: u64) -> CallCount {
        let usage = Usage { input_tokens, output_tokens, ..Usage::default() };
        CallCount { calls, usage }
    }

    fn basis(configured: &[&str]) -> CostBasis {
        CostBasis {
            prices: Prices::list(),
            currency: "USD".to_owned(),
            configured: configured.iter().map(|model| (*model).to_owned()).collect(),
        }
    }

    #[test]
    fn memory_is_part_of_the_total() {
        let counted = ReplayCalls {
            checks: calls(1000, 2_000_000, 0),
            replies: calls(10, 40_000, 0),
            memory: calls(100, 1_000_000, 0),
            answers: CallCount::default(),
        };
        let cost = basis(&["openai/gpt-5-mini", "ollama/qwen3"]).replay(counted, None);
        assert_eq!(cost.model.as_deref(), Some("openai/gpt-5-mini"));
        // Two million tokens in at 0.25 and 90 000 out at 2; the same of the others.
        assert_eq!((cost.checks, cost.replies), (Some(0.68), Some(0.0124)));
        assert_eq!(cost.memory, Some(0.35));
        assert!((cost.total.unwrap() - 1.0424).abs() < 1e-9);
        // An own model without a known price has none, whatever others cost.
        let own = basis(&["ollama/qwen3"]).replay(counted, None);
        assert_eq!(
            (own.model.as_deref(), own.total, own.to_ask),
            (Some("ollama/qwen3"), None, None)
        );
        let unwritten = ReplayCalls { checks: calls(3, 0, 0), ..counted };
        assert_eq!(basis(&[]).replay(unwritten, None).total, None);
    }

    #[test]
    fn the_answers_of_a_judge_cost_what_they_used() {
        let judge = PricedModel { model: "openai/gpt-5-mini".to_owned(), prices: Prices::list() };
        let counted = ReplayCalls {
            checks: calls(7, 999_999, 0),
            answers: calls(7, 400_000, 50_000),
            ..ReplayCalls::default()
        };
        assert_eq!(basis(&[]).replay(counted, Some(&judge)).checks, Some(0.2));
    }

    #[test]
    fn a_memory_follows_its_messages_once_an_hour() {
        assert_eq!(updates(&[0, 100, 3600, 3601, 50_000]), [3600, 7201, 53_600]);
        let message = |id: usize, ts: f64| RecordedMessage {
            channel: "r".to_owned(),
            thread: None,
            id: id.to_string(),
            ts,
            author: "ann".to_owned(),
            name: None,
            text: "so it goes".to_owned(),
            reply_to: Vec::new(),
            bot: false,
            opener: false,
        };
        let messages = [0.0, 60.0, 9000.0].into_iter().enumerate();
        let messages = messages.map(|(id, ts)| message(id, ts)).collect();
        let channel = RecordedChannel::from_messages("r".to_owned(), messages);
        let memory = MemoryCalls::estimate(&channel).unwrap();
        // Twice the channel's short and long memory.
        assert_eq!((memory.calls.calls, memory.hours.len()), (4, 2));
        assert_eq!(MemoryCalls::of_workspace(&memory.hours).calls, 4);
    }

    #[test]
    fn a_rough_estimate_is_no_limit() {
        for (estimate, most) in
            [(0.0, 1.0), (0.2, 1.0), (0.9, 2.0), (5.76, 8.0), (29.92, 40.0), (4488.0, 6000.0)]
        {
            assert!((limit(estimate) - most).abs() < 1e-9, "{estimate}");
        }
    }
}
