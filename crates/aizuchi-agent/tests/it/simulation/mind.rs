//! Models that take their time, fail, lie, repeat what they have read, and give arbitrary answers.

use std::sync::Arc;

use aizuchi_harness::random::Random;
use aizuchi_llm::prompt::tokens::estimate;
use aizuchi_llm::prompt::tool::ToolCall;
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use aizuchi_model::decision::Usage;
use async_trait::async_trait;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::simulation::plan::Plan;
use crate::simulation::store::Fuse;
use crate::simulation::texts::words_in;
use crate::simulation::world::World;

/// Invalid answers.
const GARBAGE: [&str; 12] = [
    "",
    " \n",
    "I cannot help with that.",
    "{",
    "}{",
    "[]",
    r#"{"should_respond": "yes", "reason": 3}"#,
    r#"{"should_respond": true, "reason": "", "confidence": 7}"#,
    r#"{"should_respond": true, "reason": "x", "confidence": 0.9, "delay_seconds": -3}"#,
    r#"{"should_respond": true, "reason": "x", "confidence": 1e999}"#,
    "\u{0}\u{feff}\u{202e}",
    "```json\n{\"entries\": [{\"text\": 1}]}\n```",
];
const STATES: [&str; 6] = ["active", "ending", "conflict", "misunderstanding", "ACTIVE.", "unsure"];
const TOOLS: [&str; 8] = [
    "add_memo", "edit_memo", "remove_memo", "list_memo", "get_memo", "list_memo_tags",
    "search_messages", "launch_rocket",
];

pub struct SimulatedMind {
    pub plan: Arc<Plan>,
    pub world: Arc<World>,
    pub fuse: Arc<Fuse>,
}

#[async_trait]
impl Llm for SimulatedMind {
    fn model(&self) -> &str {
        "simulated"
    }

    fn max_output_tokens(&self, _prompt: &Prompt) -> u64 {
        2000
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        self.fuse.pass().await;
        let number = {
            let mut state = self.world.lock();
            state.calls += 1;
            state.calls
        };
        self.check(prompt);
        let is_over = self.world.lock().is_over;
        let mut random = Random::new(self.plan.seed.wrapping_mul(31) ^ number as u64, "mind");
        let random = &mut random;
        let (trouble, slowness) = match is_over {
            true => (0.0, 0.0),
            false => (self.plan.model_trouble, self.plan.slowness),
        };
        self.world.log(format!("asks #{number} {} {}", prompt.verb.name(), prompt.hash()));
        self.world.pass(latency(random, slowness)).await;
        self.fuse.pass().await;
        let answer = match random.chance(trouble) {
            true => self.fail(random, prompt),
            false => Ok(self.answer(random, prompt)),
        };
        let shown = answer.as_ref().map(LlmResponse::full_text);
        self.world.log(format!("hears #{number} {shown:?}"));
        answer
    }
}

impl SimulatedMind {
    /// Checks that a prompt contains nothing of another private channel, and nothing forgotten.
    fn check(&self, prompt: &Prompt) {
        let home = &prompt.context.conversation.channel;
        let is_private = |channel: &str| ["attic", "direct"].contains(&channel);
        let mut leaked = Vec::new();
        {
            let state = self.world.lock();
            for word in words_in(&prompt.text) {
                let Some(known) = state.words.get(word) else { continue };
                if is_private(known.channel) && known.channel != home.as_str() {
                    leaked.push(format!("{word} of {} in a prompt for {home}", known.channel));
                }
            }
        }
        for how in leaked {
            self.world.breaks("what is private stays private", how);
        }
    }

    fn fail(&self, random: &mut Random, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let used = usage(random, prompt, "");
        match random.below(8) {
            0 => Err(LlmError::Busy {
                why: "too many".to_owned(),
                retry_after: None,
                usage: Usage::default(),
            }),
            1 => Err(LlmError::Busy {
                why: "overloaded".to_owned(),
                retry_after: Some(SignedDuration::from_secs(random.between(0, 7200))),
                usage: used,
            }),
            2 => Err(LlmError::TimedOut("simulated".to_owned())),
            3 => Err(LlmError::Refused("no".to_owned())),
            4 => Err(LlmError::Unusable { why: "cut off".to_owned(), usage: used }),
            _ => {
                let text = random.pick(&GARBAGE).to_string();
                Ok(LlmResponse::new(text.clone(), usage(random, prompt, &text)))
            }
        }
    }

    fn answer(&self, random: &mut Random, prompt: &Prompt) -> LlmResponse {
        if !prompt.tools.is_empty() && prompt.tool_rounds.len() < 4 && random.chance(0.3) {
            let calls = (0..random.between(1, 10)).map(|number| tool_call(random, prompt, number));
            let tool_calls = calls.collect();
            let usage = usage(random, prompt, "");
            return LlmResponse { tool_calls, ..LlmResponse::new(String::new(), usage) };
        }
        let text = match prompt.verb {
            PromptVerb::Judge => judgment(random, self.plan.eagerness).to_string(),
            PromptVerb::Reply => reply(random, prompt),
            PromptVerb::Remember => memory(random, prompt).to_string(),
            PromptVerb::State => random.pick(&STATES).to_string(),
            PromptVerb::Describe | PromptVerb::Transcribe => String::new(),
        };
        let usage = usage(random, prompt, &text);
        LlmResponse::new(text, usage)
    }
}

/// The duration of a call in milliseconds. Calls time out after a minute.
fn latency(random: &mut Random, slowness: f64) -> i64 {
    match random.chance(slowness) {
        true => random.between(4_000, 90_000),
        false => random.between(200, 5_000),
    }
}

/// The usage of a call, which is never more than was reserved for it.
fn usage(random: &mut Random, prompt: &Prompt, answer: &str) -> Usage {
    let share = random.between(80, 100) as u64;
    Usage {
        input_tokens: prompt.total_tokens() * share / 100,
        output_tokens: estimate(answer).min(2000),
        ..Usage::default()
    }
}

/// A verdict, which may contradict itself.
fn judgment(random: &mut Random, eagerness: f64) -> Value {
    let delay = [json!(null), json!(0), json!(0), json!(20), json!(600), json!(4_000_000_000_u32)];
    let look_again = [json!(null), json!(null), json!(0), json!(90), json!(1e12), json!("soon")];
    let reaction = [json!(null), json!(null), json!("👍"), json!("👀"), json!("no such emoji")];
    json!({
        "should_respond": random.chance(eagerness),
        "reason": random.pick(&["nobody answers", "they get along", ""]),
        "confidence": random.pick(&[0.3, 0.6, 0.7, 0.9, 1.0]),
        "delay_seconds": random.pick(&delay),
        "look_again_seconds": random.pick(&look_again),
        "about": random.pick(&[json!(null), json!("2027-01-15 08:00:07 alice")]),
        "conversation_state": random.pick(&STATES),
        "reaction": random.pick(&reaction),
        "same_conversation": random.chance(0.5),
        "situation_changed": random.chance(0.5),
    })
}

/// Some users' words, as a model repeats them.
fn quoted(random: &mut Random, prompt: &Prompt) -> String {
    let words: Vec<&str> = words_in(&prompt.text).collect();
    if words.is_empty() { String::new() } else { random.pick(&words).to_string() }
}

fn reply(random: &mut Random, prompt: &Prompt) -> String {
    match random.below(10) {
        0 => "The first thing is good soil, deep and loose, as you say yourself.\n\nThe second is water in the morning.".to_owned(),
        1 => (0..60).map(|part| format!("a very long story, part {part} ")).collect(),
        2 => "<!channel> @everyone see https://evil.example/x".to_owned(),
        3 | 4 => format!("You said {}.", quoted(random, prompt)),
        5 => "```\nlet x = 1;\n```".to_owned(),
        _ => "Here I am.".to_owned(),
    }
}

/// A memory. Repeated words name all sources, since forgetting relies on the sources that the model names.
fn memory(random: &mut Random, prompt: &Prompt) -> Value {
    let count = prompt.memory_input.as_ref().map_or(0, |input| input.sources.len());
    let all: Vec<usize> = (1..=count).collect();
    let entries: Vec<Value> = (0..random.between(0, 4))
        .map(|_| match random.chance(0.7) {
            true => {
                let text = format!("Somebody said {}.", quoted(random, prompt));
                json!({"date": "2027-01-15", "text": text, "sources": all})
            }
            false => {
                let sources: Vec<i64> =
                    (0..random.between(0, 3)).map(|_| random.between(1, 9)).collect();
                json!({"date": "someday", "text": "The roses are red.", "sources": sources})
            }
        })
        .collect();
    json!({ "entries": entries })
}

fn tool_call(random: &mut Random, prompt: &Prompt, number: i64) -> ToolCall {
    let name = format!("memo {}", random.below(4));
    let arguments = match random.below(6) {
        0 => json!(null),
        1 => json!({"limit": -5, "offset": i64::MAX, "tag": 3}),
        2 => json!({"memo_name": name, "content": quoted(random, prompt), "priority": 99}),
        3 => json!({"memo_name": name, "query": quoted(random, prompt), "limit": 5}),
        _ => json!({
            "name": name, "memo_name": name, "query": "roses",
            "content": format!("Somebody likes {}.", quoted(random, prompt)),
            "priority": random.between(0, 6), "tags": ["roses", ""],
        }),
    };
    ToolCall { id: number.to_string(), name: random.pick(&TOOLS).to_string(), arguments }
}
