//! Supports providers' prefix caches. OpenAI finds shared prefixes by itself, and gets a key that routes the prompts
//! of one purpose in one channel to the same server. Anthropic caches the prefix up to a mark, for five minutes
//! after its last use.
//!
//! Writing to Anthropic's cache costs a quarter more than plain input, and reading from it a tenth. So a prefix is
//! marked only if it was sent before within these five minutes: where prompts are rare, the cache would only add
//! cost. The module remembers hashes of the prefixes only, no text.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use reqwest::Url;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::prompt::Prompt;
use crate::provider_list::Provider;

/// How long Anthropic keeps an unused prefix.
const LIFETIME: SignedDuration = SignedDuration::from_mins(5);
/// No Anthropic model caches fewer than 1024 tokens. Marks are at least this far apart.
const MIN_BYTES: usize = 4096;
/// Every prompt differs from here on: the time and the task follow.
const CHANGING_PART: &str = "\n---\n";
/// The maximum number of known prefixes; prompts have some hundred paragraphs. The map is cleared when it is full.
const MAX_KNOWN: usize = 50_000;

/// Hashes of recently sent prefixes, up to the end of each paragraph.
#[derive(Debug, Default)]
pub struct SentPrefixes(Mutex<HashMap<u64, SentPrefix>>);

#[derive(Clone, Copy, Debug)]
struct SentPrefix {
    sent: Timestamp,
    /// When the prefix was last marked.
    marked: Option<Timestamp>,
}

/// Where a paragraph of a prompt ends, and the hash of the text up to there.
#[derive(Clone, Copy, Debug)]
struct Ending {
    position: usize,
    hash: u64,
}

impl SentPrefixes {
    /// Returns where to mark this prompt, and remembers that it was sent. Prompts of different `kind`s are preceded
    /// by different content.
    pub fn marks(&self, kind: &str, text: &str, now: Timestamp) -> Vec<usize> {
        let endings = endings(kind, text);
        let is_fresh = |at: Timestamp| now.duration_since(at) < LIFETIME;
        let mut known = self.0.lock();
        let find = |is_it: &dyn Fn(&SentPrefix) -> bool| {
            let found = |ending: &&Ending| known.get(&ending.hash).is_some_and(is_it);
            endings.iter().rev().find(found).copied()
        };
        let kept = find(&|beginning| beginning.marked.is_some_and(is_fresh));
        let sent = find(&|beginning| is_fresh(beginning.sent));
        let next = sent.map(|sent| next_mark(sent, &endings, text));
        let mut marks: Vec<Ending> = Vec::new();
        for mark in kept.into_iter().chain(next) {
            let before = marks.last().map_or(0, |before| before.position);
            if mark.position >= before + MIN_BYTES {
                marks.push(mark);
            }
        }
        if known.len() > MAX_KNOWN {
            known.clear();
        }
        for ending in endings {
            let beginning =
                known.entry(ending.hash).or_insert(SentPrefix { sent: now, marked: None });
            beginning.sent = now;
        }
        for mark in &marks {
            known.insert(mark.hash, SentPrefix { sent: now, marked: Some(now) });
        }
        marks.into_iter().map(|mark| mark.position).collect()
    }
}

/// The prefix to reuse if a prompt with this prefix was sent before. If it is most of the prompt, the prompts follow
/// each other in one conversation, and the next one will probably share everything but the part that always changes.
fn next_mark(sent: Ending, endings: &[Ending], text: &str) -> Ending {
    let end = text.rfind(CHANGING_PART).map_or(0, |before| before + 1);
    let whole = endings.iter().copied().find(|ending| ending.position == end);
    whole
        .filter(|whole| (sent.position..=2 * sent.position).contains(&whole.position))
        .unwrap_or(sent)
}

fn endings(kind: &str, text: &str) -> Vec<Ending> {
    let mut hasher = DefaultHasher::new();
    kind.hash(&mut hasher);
    let mut position = 0;
    let paragraphs = text.split_inclusive("\n\n").map(|paragraph| {
        hasher.write(paragraph.as_bytes());
        position += paragraph.len();
        Ending { position, hash: hasher.finish() }
    });
    paragraphs.collect()
}

/// Splits the system message at the marks, as Anthropic's blocks. All but the one after the last mark are to be cached.
pub fn marked_parts(system: &str, marks: &[usize]) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut begin = 0;
    for mark in marks {
        let cached = json!({ "type": "ephemeral" });
        parts
            .push(json!({ "type": "text", "text": system[begin..*mark], "cache_control": cached }));
        begin = *mark;
    }
    if begin < system.len() {
        parts.push(json!({ "type": "text", "text": system[begin..] }));
    }
    parts
}

/// Whether a server accepts [`cache_key`]. Other OpenAI-compatible servers may reject unknown parameters.
pub fn takes_cache_key(provider: Provider, api_base: &str) -> bool {
    let host = Url::parse(api_base).ok();
    let host = host.as_ref().and_then(Url::host_str);
    let is_openai = |host: &str| host == "api.openai.com" || host.ends_with(".api.openai.com");
    provider == Provider::OpenAi && host.is_some_and(is_openai)
}

/// A key shared by all prompts of one purpose in one channel. It reveals neither.
pub fn cache_key(prompt: &Prompt) -> String {
    let conversation = &prompt.context.conversation;
    let mut digest = Sha256::new();
    for part in [conversation.workspace.as_str(), conversation.channel.as_str(), prompt.verb.name()]
    {
        // With its length, so that parts that are divided differently give another key.
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().iter().take(8).fold("aizuchi-".to_owned(), |mut key, byte| {
        let _ = write!(key, "{byte:02x}");
        key
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAIL: &str = "---\nCurrent time: now\n\nShould it say something?";

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_767_600_000 + second).unwrap()
    }

    fn rules() -> String {
        format!("{}\n\n", "You decide whether to join in. ".repeat(200))
    }

    /// A prompt with these messages, of 1,000 bytes each.
    fn prompt(messages: std::ops::Range<usize>) -> String {
        let lines = messages.map(|number| format!("**{number:04}** bob:\n{}\n\n", "x".repeat(984)));
        format!("{}{}{TAIL}", rules(), lines.collect::<String>())
    }

    #[test]
    fn what_is_sent_once_in_a_while_is_not_marked() {
        let beginnings = SentPrefixes::default();
        for minute in [0, 5, 10, 60] {
            let marks = beginnings.marks("judge", &prompt(0..50), at(60 * minute));
            assert_eq!(marks, [0_usize; 0], "minute {minute}");
        }
    }

    #[test]
    fn a_conversation_that_goes_on_is_marked_at_its_end() {
        let beginnings = SentPrefixes::default();
        let end = |messages: usize| prompt(0..messages).find(TAIL).unwrap();
        assert_eq!(beginnings.marks("judge", &prompt(0..50), at(0)), [0_usize; 0]);
        assert_eq!(beginnings.marks("judge", &prompt(0..55), at(60)), [end(55)]);
        // The cached prefix is used, and the new messages are cached, too, if they are long enough.
        assert_eq!(beginnings.marks("judge", &prompt(0..60), at(120)), [end(55), end(60)]);
        assert_eq!(beginnings.marks("judge", &prompt(0..62), at(180)), [end(60)]);
        assert_eq!(beginnings.marks("judge", &prompt(0..65), at(240)), [end(60), end(65)]);
        // The window moves on. Only the rules are still shared.
        assert_eq!(beginnings.marks("judge", &prompt(26..66), at(300)), [rules().len()]);
        // Five minutes later the cache is empty.
        assert_eq!(beginnings.marks("judge", &prompt(26..66), at(600)), [0_usize; 0]);
    }

    #[test]
    fn rules_are_shared_by_channels_but_not_by_kinds_of_prompts() {
        let beginnings = SentPrefixes::default();
        assert_eq!(beginnings.marks("judge", &prompt(0..50), at(0)), [0_usize; 0]);
        assert_eq!(beginnings.marks("reply", &prompt(0..50), at(1)), [0_usize; 0]);
        for second in [2, 3] {
            let elsewhere = prompt(100 * second..100 * second + 50);
            let marks = beginnings.marks("judge", &elsewhere, at(second as i64));
            assert_eq!(marks, [rules().len()]);
        }
        // A model calls a tool, and gets the same prompt again.
        let marks = beginnings.marks("reply", &prompt(0..50), at(4));
        assert_eq!(marks, [prompt(0..50).len()]);
    }

    #[test]
    fn marked_parts_add_up_to_the_whole() {
        let text = prompt(0..50);
        for marks in [vec![], vec![rules().len()], vec![rules().len(), 20_000], vec![text.len()]] {
            let parts = marked_parts(&text, &marks);
            let is_kept = |part: &&Value| part["cache_control"].is_object();
            assert_eq!(parts.iter().filter(is_kept).count(), marks.len());
            let whole = parts.iter().map(|part| part["text"].as_str().unwrap());
            assert_eq!(whole.collect::<String>(), text);
        }
    }

    #[test]
    fn only_openai_itself_gets_a_key() {
        for (provider, base, expected) in [
            (Provider::OpenAi, "https://api.openai.com/v1/", true),
            (Provider::OpenAi, "https://eu.api.openai.com/v1/", true),
            (Provider::OpenAi, "http://localhost:8080/v1/", false),
            (Provider::OpenAi, "https://api.openai.com.example/v1/", false),
            (Provider::OpenAi, "no address", false),
            (Provider::OpenRouter, "https://openrouter.ai/api/v1/", false),
            (Provider::Anthropic, "https://api.anthropic.com/v1/", false),
        ] {
            assert_eq!(takes_cache_key(provider, base), expected, "{base}");
        }
    }
}
