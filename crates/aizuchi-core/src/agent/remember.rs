//! Remember: fold talk into memory. What is new of a channel or thread becomes its short-term memory,
//! which is merged into the channel's long-term memory, and those of public channels into the
//! workspace's. What cannot be thought of keeps what is remembered already (seeds; DESIGN §5).

mod answer;
mod gather;

use std::sync::Arc;

use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

use crate::agent::remember::answer::Trusted;
use crate::agent::remember::gather::Gathered;
use crate::agent::{Agent, Attempts, Trouble, patience};
use crate::chat::{ChannelId, ConversationId};
use crate::clock::{chance, seconds};
use crate::decision::AttemptEnd;
use crate::event::chore::{Chore, ChoreEnd, ChoreOutcome, Turn};
use crate::memory::{Entry, MemoryKey, NewMemory, Term};
use crate::prompt::Prompt;
use crate::prompt::material::{Known, Material, Owner, Source};
use crate::prompt::tokens;

/// How much is remembered, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How long after something was said it is remembered.
    pub interval: SignedDuration,
    /// The longest short-term memory, in tokens.
    pub short_tokens: u32,
    /// The longest long-term memory, in tokens.
    pub long_tokens: u32,
    /// How many versions of a memory are kept.
    pub versions: usize,
    /// How many tokens of talk a model is asked to fold at once.
    pub most_at_once: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            interval: SignedDuration::from_hours(1),
            short_tokens: 300,
            long_tokens: 500,
            versions: 10,
            most_at_once: 8000,
        }
    }
}

/// How often a chore is tried before it waits for its next turn.
const TRIES: u32 = 4;
/// A chore that was taken up so often and never came to an end waits for its next turn.
const MOST_TRIES: u32 = 20;
/// How often parts of what is too long may be folded into parts.
const DEEPEST: usize = 4;

impl Agent {
    /// What a chore comes to, besides the calls that are noted in `attempts`.
    pub async fn remember(&self, chore: &Chore, attempts: &mut Attempts) -> ChoreOutcome {
        if chore.attempt > MOST_TRIES {
            // It may be what ends the process.
            return self.remember_later();
        }
        let made = match self.has_used_up(&chore.key).await {
            Ok(false) => self.recollect(&chore.key, attempts).await,
            // What is remembered stays as it is until there is something to be used up again.
            Ok(true) => Ok(ChoreEnd::Again(Turn::Next)),
            Err(trouble) => Err(trouble),
        };
        let now = self.now();
        let settings = &self.settings.remembering;
        let next_turn = now + settings.interval;
        let (end, next) = match made {
            Ok(end) => (end, next_turn),
            Err(Trouble::Passing { retry_after, .. }) if chore.attempt < TRIES => {
                let token = chore.token.to_string();
                let spread = 0.8 + 0.4 * chance(self.seed, &[&token, "remember again"]);
                let wait = seconds(15.0 * 4_f64.powi(chore.attempt.min(4) as i32) * spread);
                (ChoreEnd::Again(Turn::Same), now + wait.max(patience(retry_after)))
            }
            Err(Trouble::Overtaken | Trouble::Passing { .. } | Trouble::Lasting { .. }) => {
                (ChoreEnd::Again(Turn::Next), next_turn)
            }
        };
        ChoreOutcome { attempts: Vec::new(), end, next, keeps: settings.versions }
    }

    /// What is to become of a chore that did not come to its end.
    pub fn remember_later(&self) -> ChoreOutcome {
        let settings = &self.settings.remembering;
        let next = self.now() + settings.interval;
        ChoreOutcome {
            attempts: Vec::new(),
            end: ChoreEnd::Again(Turn::Next),
            next,
            keeps: settings.versions,
        }
    }

    /// What models may use up is used up, where the memory belongs.
    async fn has_used_up(&self, key: &MemoryKey) -> Result<bool, Trouble> {
        let workspace = key.workspace.clone();
        let channel = key.channel().cloned();
        let is_channel = channel.is_some();
        let channel = channel.unwrap_or_else(|| ChannelId::new(""));
        let conversation = ConversationId { workspace, channel, thread: None };
        let context = self.context(&conversation).await?;
        let facts = self.facts(&context);
        Ok(if is_channel { facts.is_spent() } else { facts.is_spent_anywhere() })
    }

    async fn recollect(
        &self,
        key: &MemoryKey,
        attempts: &mut Attempts,
    ) -> Result<ChoreEnd, Trouble> {
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
            entries.extend(if made.is_empty() { remembered(sources) } else { made });
        }
        if !is_new {
            return Ok(ChoreEnd::Nothing);
        }
        entries.sort_by_key(|entry| entry.date);
        let Gathered { newest, considered, merged, .. } = gathered;
        Ok(ChoreEnd::Made(NewMemory { entries, newest, considered, merged }))
    }

    /// Folds sources into entries that are short enough, in parts where they are too many for one
    /// question.
    async fn fold(
        &self,
        key: &MemoryKey,
        gathered: &Gathered,
        mut sources: Vec<Source>,
        attempts: &mut Attempts,
    ) -> Result<Vec<Entry>, Trouble> {
        for _ in 0..DEEPEST {
            let parts = parts(sources, self.settings.remembering.most_at_once);
            let is_last = parts.len() <= 1;
            let mut entries = Vec::new();
            for part in parts {
                entries.extend(self.ask_for_entries(key, gathered, part, attempts).await?);
            }
            if is_last {
                return Ok(entries);
            }
            let known = |entry| Source::Known(Known { owner: Owner::Part, entry });
            sources = entries.into_iter().map(known).collect();
        }
        Err(Trouble::Lasting { error: "there is too much to remember at once".to_owned() })
    }

    /// What would be asked for a memory now.
    pub(super) async fn memory_prompts(&self, key: &MemoryKey) -> Result<Vec<Prompt>, Trouble> {
        let gathered = self.gather(key).await?;
        let most = self.settings.remembering.most_at_once;
        let sources = [gathered.unshared.clone(), gathered.shared.clone()];
        let parts = sources.into_iter().flat_map(|sources| parts(sources, most));
        Ok(parts.map(|part| self.memory_prompt(key, &gathered, part).0).collect())
    }

    fn memory_prompt(
        &self,
        key: &MemoryKey,
        gathered: &Gathered,
        sources: Vec<Source>,
    ) -> (Prompt, Arc<Material>) {
        let settings = &self.settings.remembering;
        let mind = &self.minds.memory;
        let max_tokens = match key.term {
            Term::ShortTerm => settings.short_tokens,
            Term::LongTerm => settings.long_tokens,
        };
        let has_halves = !gathered.shared.is_empty() && !gathered.unshared.is_empty();
        let max_tokens = if has_halves { max_tokens.div_ceil(2) } else { max_tokens };
        let material = Arc::new(Material {
            key: key.clone(),
            max_tokens,
            sources,
            channel_name: gathered.channel_name.clone(),
            names: gathered.names.clone(),
            merged: gathered.merged.clone(),
            considered: gathered.considered,
        });
        (self.prompts.remember(&mind.persona, &material, &self.scene(mind)), material)
    }

    async fn ask_for_entries(
        &self,
        key: &MemoryKey,
        gathered: &Gathered,
        sources: Vec<Source>,
        attempts: &mut Attempts,
    ) -> Result<Vec<Entry>, Trouble> {
        let mind = &self.minds.memory;
        let (mut prompt, material) = self.memory_prompt(key, gathered, sources);
        let never = CancellationToken::new();
        let mut problem = String::new();
        for is_last in [false, true] {
            let answer = self.ask(mind, &prompt, &never, attempts).await?;
            let entries =
                Trusted { material: &material, zone: &self.settings.zone }.read(&answer, is_last);
            if let Some(attempt) = attempts.last_mut() {
                attempt.error = entries.as_ref().err().cloned();
                attempt.end = if entries.is_ok() { AttemptEnd::Kept } else { AttemptEnd::Failed };
            }
            match entries {
                Ok(entries) => return Ok(entries),
                Err(why) => problem = why,
            }
            prompt = prompt.repair(&problem);
        }
        Err(Trouble::Lasting { error: format!("the memory's answer cannot be used: {problem}") })
    }
}

/// What a memory holds already.
fn remembered(sources: &[Source]) -> Vec<Entry> {
    let entries = sources.iter().filter_map(|source| match source {
        Source::Known(Known { owner: Owner::Itself, entry }) => Some(entry.clone()),
        Source::Known(_) | Source::Talk(_) => None,
    });
    entries.collect()
}

/// Cuts sources into parts of at most so many tokens, in their order.
fn parts(sources: Vec<Source>, most: u64) -> Vec<Vec<Source>> {
    let mut parts: Vec<Vec<Source>> = Vec::new();
    let mut room = 0;
    for source in sources {
        let size = size(&source);
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

fn size(source: &Source) -> u64 {
    const HEADING: u64 = 20;
    match source {
        Source::Talk(talk) => {
            talk.lines.iter().map(|line| tokens::estimate(&line.text) + HEADING).sum()
        }
        Source::Known(known) => tokens::estimate(&known.entry.text) + HEADING,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::Visibility;

    #[test]
    fn what_is_too_long_for_one_question_is_cut_into_parts_in_its_order() {
        let known = |number: usize, words: usize| {
            Source::Known(Known {
                owner: Owner::Itself,
                entry: Entry {
                    date: jiff::civil::date(2027, 1, 1),
                    text: format!("{number} {}", "word ".repeat(words)).into(),
                    visibility: Visibility::Public,
                    lines: Vec::new(),
                },
            })
        };
        let sources: Vec<Source> = (0..9).map(|number| known(number, 40)).collect();
        let cut = parts(sources.clone(), 200);
        assert!(cut.len() > 2 && cut.iter().all(|part| part.iter().map(size).sum::<u64>() <= 200));
        assert_eq!(cut.concat(), sources);
        // One that is too long by itself is asked for alone.
        assert_eq!(parts(vec![known(0, 400), known(1, 1)], 200).len(), 2);
        assert_eq!(parts(Vec::new(), 200).len(), 0);
    }
}
