//! Remember: fold talk into memory. What is new of a channel or thread becomes its short-term memory,
//! which is merged into the channel's long-term memory, and those of public channels into the
//! workspace's. What cannot be thought of keeps what is remembered already (seeds; DESIGN §5).

mod parse;
mod gather;

use std::sync::Arc;

use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

use crate::agent::remember::gather::GatheredSources;
use crate::agent::remember::parse::EntryParser;
use crate::agent::{Agent, Attempts, StepError, capped_retry_after};
use crate::chat::{ChannelId, ConversationId};
use crate::clock::{duration_from_seconds, seeded_random};
use crate::decision::AttemptResult;
use crate::event::memory_job::{MemoryJob, MemoryJobOutcome, MemoryJobResult, RetryTiming};
use crate::memory::{MemoryEntry, MemoryKey, MemoryTerm, NewMemory};
use crate::prompt::Prompt;
use crate::prompt::memory_input::{EntryOwner, KnownEntry, MemoryInput, MemorySource};
use crate::prompt::tokens;

/// How much is remembered, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct MemorySettings {
    /// How long after something was said it is remembered.
    pub interval: SignedDuration,
    /// The longest short-term memory, in tokens.
    pub short_term_max_tokens: u32,
    /// The longest long-term memory, in tokens.
    pub long_term_max_tokens: u32,
    /// How many versions of a memory are kept.
    pub kept_versions: usize,
    /// How many tokens of talk a model is asked to fold at once.
    pub max_fold_tokens: u64,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self {
            interval: SignedDuration::from_hours(1),
            short_term_max_tokens: 300,
            long_term_max_tokens: 500,
            kept_versions: 10,
            max_fold_tokens: 8000,
        }
    }
}

/// How often a chore is tried before it waits for its next turn.
const MAX_ATTEMPTS_PER_TURN: u32 = 4;
/// A chore that was taken up so often and never came to an end waits for its next turn.
const MAX_ATTEMPTS: u32 = 20;
/// How often parts of what is too long may be folded into parts.
const MAX_FOLD_DEPTH: usize = 4;

impl Agent {
    /// What a chore comes to, besides the calls that are noted in `attempts`.
    pub async fn remember(&self, chore: &MemoryJob, attempts: &mut Attempts) -> MemoryJobOutcome {
        if chore.attempt > MAX_ATTEMPTS {
            // It may be what ends the process.
            return self.retry_memory_later();
        }
        let made = match self.is_over_budget(&chore.key).await {
            Ok(false) => self.build_memory(&chore.key, attempts).await,
            // What is remembered stays as it is until there is something to be used up again.
            Ok(true) => Ok(MemoryJobResult::Retry(RetryTiming::NextInterval)),
            Err(trouble) => Err(trouble),
        };
        let now = self.now();
        let settings = &self.settings.memory;
        let next_turn = now + settings.interval;
        let (end, next) = match made {
            Ok(end) => (end, next_turn),
            Err(StepError::Retryable { retry_after, .. })
                if chore.attempt < MAX_ATTEMPTS_PER_TURN =>
            {
                let token = chore.token.to_string();
                let spread = 0.8 + 0.4 * seeded_random(self.seed, &[&token, "remember again"]);
                let wait =
                    duration_from_seconds(15.0 * 4_f64.powi(chore.attempt.min(4) as i32) * spread);
                (
                    MemoryJobResult::Retry(RetryTiming::Soon),
                    now + wait.max(capped_retry_after(retry_after)),
                )
            }
            Err(
                StepError::Superseded | StepError::Retryable { .. } | StepError::Permanent { .. },
            ) => (MemoryJobResult::Retry(RetryTiming::NextInterval), next_turn),
        };
        MemoryJobOutcome {
            attempts: Vec::new(),
            result: end,
            next_due: next,
            versions_kept: settings.kept_versions,
        }
    }

    /// What is to become of a chore that did not come to its end.
    pub fn retry_memory_later(&self) -> MemoryJobOutcome {
        let settings = &self.settings.memory;
        let next = self.now() + settings.interval;
        MemoryJobOutcome {
            attempts: Vec::new(),
            result: MemoryJobResult::Retry(RetryTiming::NextInterval),
            next_due: next,
            versions_kept: settings.kept_versions,
        }
    }

    /// What models may use up is used up, where the memory belongs.
    async fn is_over_budget(&self, key: &MemoryKey) -> Result<bool, StepError> {
        let workspace = key.workspace.clone();
        let channel = key.channel().cloned();
        let is_channel = channel.is_some();
        let channel = channel.unwrap_or_else(|| ChannelId::new(""));
        let conversation = ConversationId { workspace, channel, thread: None };
        let context = self.load_context(&conversation).await?;
        let facts = self.gate_input(&context);
        Ok(if is_channel { facts.is_over_budget() } else { facts.is_workspace_over_budget() })
    }

    async fn build_memory(
        &self,
        key: &MemoryKey,
        attempts: &mut Attempts,
    ) -> Result<MemoryJobResult, StepError> {
        let gathered = self.gather(key).await?;
        let (mut entries, mut is_new) = (Vec::new(), false);
        // What not everybody may know is thought of apart, so that none of it gets into what everybody may.
        for sources in [&gathered.unshared, &gathered.shared] {
            if sources.is_empty() {
                continue;
            }
            let made = self.fold(key, &gathered, sources.clone(), attempts).await?;
            is_new |= !made.is_empty();
            // Nothing to say is no reason to forget.
            entries.extend(if made.is_empty() { existing_entries(sources) } else { made });
        }
        if !is_new {
            return Ok(MemoryJobResult::NothingNew);
        }
        entries.sort_by_key(|entry| entry.date);
        let GatheredSources { newest_at: newest, considered, merged, .. } = gathered;
        Ok(MemoryJobResult::Remembered(NewMemory {
            entries,
            newest_message_at: newest,
            seen_revision: considered,
            source_memories: merged,
        }))
    }

    /// Folds sources into entries that are short enough, in parts where they are too many for one
    /// question.
    async fn fold(
        &self,
        key: &MemoryKey,
        gathered: &GatheredSources,
        mut sources: Vec<MemorySource>,
        attempts: &mut Attempts,
    ) -> Result<Vec<MemoryEntry>, StepError> {
        for _ in 0..MAX_FOLD_DEPTH {
            let parts = split_by_tokens(sources, self.settings.memory.max_fold_tokens);
            let is_last = parts.len() <= 1;
            let mut entries = Vec::new();
            for part in parts {
                entries.extend(self.request_entries(key, gathered, part, attempts).await?);
            }
            if is_last {
                return Ok(entries);
            }
            let known = |entry| MemorySource::Entry(KnownEntry { owner: EntryOwner::Part, entry });
            sources = entries.into_iter().map(known).collect();
        }
        Err(StepError::Permanent { error: "there is too much to remember at once".to_owned() })
    }

    /// What would be asked for a memory now.
    pub(super) async fn memory_prompts(&self, key: &MemoryKey) -> Result<Vec<Prompt>, StepError> {
        let gathered = self.gather(key).await?;
        let most = self.settings.memory.max_fold_tokens;
        let sources = [gathered.unshared.clone(), gathered.shared.clone()];
        let parts = sources.into_iter().flat_map(|sources| split_by_tokens(sources, most));
        Ok(parts.map(|part| self.memory_prompt(key, &gathered, part).0).collect())
    }

    fn memory_prompt(
        &self,
        key: &MemoryKey,
        gathered: &GatheredSources,
        sources: Vec<MemorySource>,
    ) -> (Prompt, Arc<MemoryInput>) {
        let settings = &self.settings.memory;
        let mind = &self.minds.memory;
        let max_tokens = match key.term {
            MemoryTerm::ShortTerm => settings.short_term_max_tokens,
            MemoryTerm::LongTerm => settings.long_term_max_tokens,
        };
        let has_halves = !gathered.shared.is_empty() && !gathered.unshared.is_empty();
        let max_tokens = if has_halves { max_tokens.div_ceil(2) } else { max_tokens };
        let material = Arc::new(MemoryInput {
            key: key.clone(),
            max_tokens,
            sources,
            channel_name: gathered.channel_name.clone(),
            names: gathered.names.clone(),
            merged: gathered.merged.clone(),
            considered: gathered.considered,
        });
        (
            self.prompt_builder.remember(&mind.persona, &material, &self.prompt_options(mind)),
            material,
        )
    }

    async fn request_entries(
        &self,
        key: &MemoryKey,
        gathered: &GatheredSources,
        sources: Vec<MemorySource>,
        attempts: &mut Attempts,
    ) -> Result<Vec<MemoryEntry>, StepError> {
        let mind = &self.minds.memory;
        let (mut prompt, material) = self.memory_prompt(key, gathered, sources);
        let never = CancellationToken::new();
        let mut problem = String::new();
        for is_last in [false, true] {
            let answer = self.call_model(mind, &prompt, &never, attempts).await?;
            let entries = EntryParser { material: &material, zone: &self.settings.zone }
                .parse(&answer, is_last);
            if let Some(attempt) = attempts.last_mut() {
                attempt.error = entries.as_ref().err().cloned();
                attempt.result =
                    if entries.is_ok() { AttemptResult::Kept } else { AttemptResult::Failed };
            }
            match entries {
                Ok(entries) => return Ok(entries),
                Err(why) => problem = why,
            }
            prompt = prompt.with_repair_request(&problem);
        }
        Err(StepError::Permanent {
            error: format!("the memory's answer cannot be used: {problem}"),
        })
    }
}

/// What a memory holds already.
fn existing_entries(sources: &[MemorySource]) -> Vec<MemoryEntry> {
    let entries = sources.iter().filter_map(|source| match source {
        MemorySource::Entry(KnownEntry { owner: EntryOwner::SameMemory, entry }) => {
            Some(entry.clone())
        }
        MemorySource::Entry(_) | MemorySource::Messages(_) => None,
    });
    entries.collect()
}

/// Cuts sources into parts of at most so many tokens, in their order.
fn split_by_tokens(sources: Vec<MemorySource>, most: u64) -> Vec<Vec<MemorySource>> {
    let mut parts: Vec<Vec<MemorySource>> = Vec::new();
    let mut room = 0;
    for source in sources {
        let size = source_tokens(&source);
        if size > room || parts.is_empty() {
            parts.push(Vec::new());
            room = most;
        }
        room = room.saturating_sub(size);
        if let Some(part) = parts.last_mut() {
            part.push(source);
        }
    }
    parts
}

fn source_tokens(source: &MemorySource) -> u64 {
    const HEADING: u64 = 20;
    match source {
        MemorySource::Messages(talk) => {
            talk.messages.iter().map(|line| tokens::estimate(&line.text) + HEADING).sum()
        }
        MemorySource::Entry(known) => tokens::estimate(&known.entry.text) + HEADING,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::Visibility;

    #[test]
    fn what_is_too_long_for_one_question_is_cut_into_parts_in_its_order() {
        let known = |number: usize, words: usize| {
            MemorySource::Entry(KnownEntry {
                owner: EntryOwner::SameMemory,
                entry: MemoryEntry {
                    date: jiff::civil::date(2027, 1, 1),
                    text: format!("{number} {}", "word ".repeat(words)).into(),
                    visibility: Visibility::Public,
                    messages: Vec::new(),
                },
            })
        };
        let sources: Vec<MemorySource> = (0..9).map(|number| known(number, 40)).collect();
        let cut = split_by_tokens(sources.clone(), 200);
        assert!(
            cut.len() > 2
                && cut.iter().all(|part| part.iter().map(source_tokens).sum::<u64>() <= 200)
        );
        assert_eq!(cut.concat(), sources);
        // One that is too long by itself is asked for alone.
        assert_eq!(split_by_tokens(vec![known(0, 400), known(1, 1)], 200).len(), 2);
        assert_eq!(split_by_tokens(Vec::new(), 200).len(), 0);
    }
}
