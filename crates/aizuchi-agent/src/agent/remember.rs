//! Remember: folds messages into memory. New messages of a channel or thread become its short-term memory. A channel's
//! short-term memory is merged into its long-term memory, and the memories of public channels into the workspace's. If
//! this fails, the old memory stays and the job is retried.

mod parse;
mod parts;
mod gather;

use std::sync::Arc;

use aizuchi_llm::prompt::Prompt;
use aizuchi_llm::prompt::memory_input::{EntryOwner, KnownEntry, MemoryInput, MemorySource};
use aizuchi_llm::prompt::tokens;
use aizuchi_llm::prompt::view::from_context::TARGET_MESSAGE_DIVISOR;
use aizuchi_model::chat::Visibility;
use aizuchi_model::clock::{duration_from_seconds, seeded_random};
use aizuchi_model::decision::AttemptResult;
use aizuchi_model::flow::memory_job::{MemoryJob, MemoryJobOutcome, MemoryJobResult, RetryTiming};
use aizuchi_model::flow::planned_call::{CallLimits, CallOwner};
use aizuchi_model::memory::change::KeptEntries;
use aizuchi_model::memory::{MemoryEntry, MemoryKey, MemoryScope, MemoryTerm, NewMemory};
use aizuchi_model::rules::place::Place;
use aizuchi_model::rules::{ChannelRules, Rulebook};
use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::agent::remember::gather::GatheredSources;
use crate::agent::remember::parse::EntryParser;
use crate::agent::remember::parts::PartSize;
use crate::agent::reserve_budget::Calls;
use crate::agent::{Agent, Attempts, StepError, Worker, capped_retry_after};

/// How much is remembered, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct MemorySettings {
    /// How long after a message a memory is updated.
    pub interval: SignedDuration,
    /// The maximum length of a short-term memory, in tokens.
    pub short_term_max_tokens: u32,
    /// The maximum length of a long-term memory, in tokens.
    pub long_term_max_tokens: u32,
    /// How many versions of a memory are kept.
    pub kept_versions: usize,
    /// The maximum number of tokens of messages that one call folds.
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

/// The maximum number of attempts before a memory job waits for the next interval.
const MAX_ATTEMPTS_PER_TURN: u32 = 4;
/// The number of claims without a completion after which a job waits for the next interval.
const MAX_ATTEMPTS: u32 = 20;
/// The maximum depth to which long input is folded in parts.
const MAX_FOLD_DEPTH: usize = 4;

impl Agent {
    /// Runs a memory job and returns its outcome. The model calls are recorded in `attempts`.
    pub async fn remember(&self, job: &MemoryJob, attempts: &mut Attempts) -> MemoryJobOutcome {
        let worker = self.worker();
        match worker.memory_speaker(&job.key).await {
            Ok(speaker) => speaker.remember_as_speaker(job, attempts).await,
            Err(error) => {
                warn!(error = %error, "the language of a memory cannot be found; retrying later");
                self.retry_memory_later()
            }
        }
    }

    /// Returns the outcome of a job that did not complete.
    pub fn retry_memory_later(&self) -> MemoryJobOutcome {
        let settings = &self.settings.memory;
        let next_due = self.clock.now() + settings.interval;
        MemoryJobOutcome {
            attempts: Vec::new(),
            result: MemoryJobResult::Retry(RetryTiming::NextInterval),
            next_due,
            versions_kept: settings.kept_versions,
        }
    }
}

impl Worker<'_> {
    async fn remember_as_speaker(
        &self,
        job: &MemoryJob,
        attempts: &mut Attempts,
    ) -> MemoryJobOutcome {
        if job.attempt > MAX_ATTEMPTS {
            // This job may be what crashes the process.
            return self.retry_memory_later();
        }
        let result = self.build_memory(job, attempts).await;
        let now = self.now();
        let settings = &self.settings.memory;
        let next_interval = now + settings.interval;
        let (result, next_due) = match result {
            Ok(result) => (result, next_interval),
            Err(StepError::Retryable { retry_after, .. })
                if job.attempt < MAX_ATTEMPTS_PER_TURN =>
            {
                let token = job.token.to_string();
                let jitter = 0.8 + 0.4 * seeded_random(self.seed, &[&token, "remember again"]);
                let wait =
                    duration_from_seconds(15.0 * 4_f64.powi(job.attempt.min(4) as i32) * jitter);
                (
                    MemoryJobResult::Retry(RetryTiming::Soon),
                    now + wait.max(capped_retry_after(retry_after)),
                )
            }
            Err(StepError::AwaitingBudget { wait }) => {
                // No model was called, so this does not count as an attempt.
                (MemoryJobResult::Retry(RetryTiming::NextInterval), now + wait)
            }
            // If the budget is used up, the memory stays as it is until there is budget again.
            Err(
                StepError::Superseded
                | StepError::OverBudget(_)
                | StepError::Retryable { .. }
                | StepError::Permanent { .. },
            ) => (MemoryJobResult::Retry(RetryTiming::NextInterval), next_interval),
        };
        MemoryJobOutcome {
            attempts: Vec::new(),
            result,
            next_due,
            versions_kept: settings.kept_versions,
        }
    }

    /// Returns the owner of a memory job's calls. A memory of the whole workspace is not charged to a channel.
    fn memory_call_owner(&self, job: &MemoryJob, gathered: &GatheredSources) -> CallOwner {
        let channel = job.key.channel();
        let rulebook = &self.rulebook;
        let rules = channel.map(|_| memory_rules(rulebook, &job.key, gathered));
        CallOwner {
            token: job.token,
            workspace: job.key.workspace.clone(),
            channel: channel.cloned(),
            decision: None,
            is_unsolicited: true,
            sole_author: None,
            began: self.now(),
            // A memory is not a decision. If it takes many parts, it would never be made.
            limits: CallLimits { calls_per_decision: None, ..self.call_limits(rules) },
        }
    }

    /// Returns the size of the parts in which sources are folded.
    fn part_size(&self) -> PartSize {
        PartSize {
            max_tokens: self.settings.memory.max_fold_tokens,
            max_message_tokens: self.settings.budget.max_tokens / TARGET_MESSAGE_DIVISOR,
            language: self.persona.language,
        }
    }

    async fn build_memory(
        &self,
        job: &MemoryJob,
        attempts: &mut Attempts,
    ) -> Result<MemoryJobResult, StepError> {
        let key = &job.key;
        let gathered = self.gather(key).await?;
        // No conversation waits for a memory, so no message supersedes the job.
        let never = CancellationToken::new();
        let owner = self.memory_call_owner(job, &gathered);
        let mut calls = Calls::new(owner, &never, attempts);
        let (mut entries, mut is_new) = (Vec::new(), false);
        for (sources, kept) in gathered.groups() {
            if sources.is_empty() {
                continue;
            }
            let existing = existing_entries(&sources);
            let folded = self.fold(key, (&gathered, &kept), sources, &mut calls).await?;
            is_new |= !folded.is_empty();
            // An empty result is no reason to drop the existing entries.
            entries.extend(if folded.is_empty() { existing } else { folded });
        }
        if !is_new {
            return Ok(MemoryJobResult::NothingNew);
        }
        entries.sort_by_key(|entry| entry.date);
        let GatheredSources {
            newest_at: newest_message_at,
            seen_revision,
            merged: source_memories,
            ..
        } = gathered;
        Ok(MemoryJobResult::Remembered(NewMemory {
            entries,
            newest_message_at,
            seen_revision,
            source_memories,
        }))
    }

    /// Folds sources into entries that are short enough, in parts if they do not fit into one call.
    async fn fold(
        &self,
        key: &MemoryKey,
        known: (&GatheredSources, &KeptEntries),
        mut sources: Vec<MemorySource>,
        calls: &mut Calls<'_>,
    ) -> Result<Vec<MemoryEntry>, StepError> {
        // The entries of one round are the sources of the next, until they fit into one call.
        for _ in 0..MAX_FOLD_DEPTH {
            let parts = self.part_size().split(sources);
            let is_last = parts.len() <= 1;
            let mut entries = Vec::new();
            for part in parts {
                entries.extend(self.request_entries(key, known, part, calls).await?);
            }
            if is_last {
                return Ok(entries);
            }
            let known = |entry| MemorySource::Entry(KnownEntry { owner: EntryOwner::Part, entry });
            sources = entries.into_iter().map(known).collect();
        }
        Err(StepError::permanent("there is too much to remember at once".to_owned()))
    }

    /// Returns the prompts that would be sent for a memory now.
    pub(super) async fn memory_prompts(&self, key: &MemoryKey) -> Result<Vec<Prompt>, StepError> {
        let gathered = self.gather(key).await?;
        let mut prompts = Vec::new();
        for (sources, kept) in gathered.groups() {
            let parts = self.part_size().split(sources).into_iter();
            prompts.extend(parts.map(|part| self.memory_prompt(key, (&gathered, &kept), part).0));
        }
        Ok(prompts)
    }

    fn memory_prompt(
        &self,
        key: &MemoryKey,
        (gathered, kept): (&GatheredSources, &KeptEntries),
        sources: Vec<MemorySource>,
    ) -> (Prompt, Arc<MemoryInput>) {
        let settings = &self.settings.memory;
        let max_tokens = match key.term {
            MemoryTerm::ShortTerm => settings.short_term_max_tokens,
            MemoryTerm::LongTerm => settings.long_term_max_tokens,
        };
        // Both groups are folded separately and share the length of the memory.
        let is_split = !gathered.shared.is_empty() && !gathered.unshared.is_empty();
        let max_tokens = if is_split { max_tokens.div_ceil(2) } else { max_tokens };
        // Pinned entries count toward the limit, but at least a third of it remains for the others.
        let pinned: u64 = kept.pinned.iter().map(|entry| tokens::estimate(&entry.text)).sum();
        let pinned = u32::try_from(pinned).unwrap_or(u32::MAX);
        let max_tokens = max_tokens.saturating_sub(pinned).max(max_tokens.div_ceil(3));
        let input = Arc::new(MemoryInput {
            key: key.clone(),
            max_tokens,
            sources,
            channel_name: gathered.channel_name.clone(),
            visibility: gathered.visibility,
            names: gathered.names.clone(),
            merged: gathered.merged.clone(),
            kept: kept.clone(),
            seen_revision: gathered.seen_revision,
        });
        let rulebook = &self.rulebook;
        let rules = memory_rules(rulebook, key, gathered);
        let mind = self.memory_mind(key, rules);
        let persona = self.persona_in(&mind, rules);
        (self.prompt_builder.read().remember(&persona, &input, &self.prompt_options(&mind)), input)
    }

    async fn request_entries(
        &self,
        key: &MemoryKey,
        known: (&GatheredSources, &KeptEntries),
        sources: Vec<MemorySource>,
        calls: &mut Calls<'_>,
    ) -> Result<Vec<MemoryEntry>, StepError> {
        let mind = &self.memory_mind(key, memory_rules(&self.rulebook, key, known.0));
        let (mut prompt, input) = self.memory_prompt(key, known, sources);
        let mut problem = String::new();
        for is_last in [false, true] {
            let response = self.call_model(mind, &prompt, calls).await?;
            let (zone, persona) = (&self.settings.zone, &*mind.persona);
            let parser = EntryParser { input: &input, persona, zone };
            let entries = parser.parse(&response, is_last);
            if let Some(attempt) = calls.attempts.last_mut() {
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
        Err(StepError::permanent(format!("the memory's answer cannot be used: {problem}")))
    }
}

/// Returns the rules of the channel or thread that a memory belongs to, or of its workspace.
fn memory_rules<'a>(
    rulebook: &'a Rulebook,
    key: &MemoryKey,
    gathered: &GatheredSources,
) -> &'a ChannelRules {
    match place_of_memory(key, &gathered.channel_name, gathered.visibility) {
        Some(place) => rulebook.rules_in(&place),
        None => rulebook.workspace_rules(&key.workspace),
    }
}

/// Returns the channel or thread that a memory belongs to, or `None` for a memory of the whole workspace.
fn place_of_memory<'a>(
    key: &'a MemoryKey,
    name: &'a str,
    visibility: Visibility,
) -> Option<Place<'a>> {
    let (channel, thread) = match &key.scope {
        MemoryScope::Workspace => return None,
        MemoryScope::Channel(channel) => (channel, None),
        MemoryScope::Thread(channel, thread) => (channel, Some(thread)),
    };
    Some(Place { thread, ..Place::new(&key.workspace, channel, name, visibility) })
}

/// Returns the entries that the memory already has.
fn existing_entries(sources: &[MemorySource]) -> Vec<MemoryEntry> {
    let entries = sources.iter().filter_map(|source| match source {
        MemorySource::Entry(KnownEntry { owner: EntryOwner::SameMemory, entry }) => {
            Some(entry.clone())
        }
        MemorySource::Entry(_) | MemorySource::Messages(_) => None,
    });
    entries.collect()
}
