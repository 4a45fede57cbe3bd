//! How long a prompt may be, and what is left out when there is more: the least important first,
//! section by section and then in all. What is asked and whoever waits for an answer always stays.

pub mod target;

use std::fmt;
use std::sync::Arc;

use crate::prompt::tokens::estimate;
use crate::prompt::view::{ChannelView, ContextView, FencedText, MessageView};

/// The longest that a prompt may be, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptBudget {
    pub max_tokens: u64,
    pub sections: SectionLimits,
}

/// The longest that each section may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionLimits {
    pub workspace_memory: u64,
    /// With the list of channels.
    pub channel_memories: u64,
    pub thread_memories: u64,
    pub memos: u64,
    pub recalled: u64,
    /// Talk of the channel that is not the target.
    pub other_messages: u64,
}

/// What was left out of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimmedSection {
    pub section: &'static str,
    /// Lines, memories, entries or memos.
    pub count: usize,
    pub tokens: u64,
}

impl fmt::Display for TrimmedSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}, {} tokens", self.count, self.section, self.tokens)
    }
}

/// A section whose length varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptSection {
    WorkspaceMemory,
    ChannelMemories,
    ThreadMemories,
    Memos,
    Recalled,
    OtherMessages,
}

/// Things that are left out alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TrimKind {
    OldTopLevel,
    OtherShortTerm,
    OtherThread,
    Recalled,
    ThreadMemory,
    OtherLongTerm,
    RecentMemo,
    ImportantMemo,
    ChannelName,
    NewTopLevel,
    WorkspaceShortTerm,
    OwnShortTerm,
    TargetMemory,
    WorkspaceLongTerm,
    OwnLongTerm,
}

/// The least important first.
const TRIM_ORDER: [TrimKind; 15] = [
    TrimKind::OldTopLevel,
    TrimKind::OtherShortTerm,
    TrimKind::OtherThread,
    TrimKind::Recalled,
    TrimKind::ThreadMemory,
    TrimKind::OtherLongTerm,
    TrimKind::RecentMemo,
    TrimKind::ImportantMemo,
    TrimKind::ChannelName,
    TrimKind::NewTopLevel,
    TrimKind::WorkspaceShortTerm,
    TrimKind::OwnShortTerm,
    TrimKind::TargetMemory,
    TrimKind::WorkspaceLongTerm,
    TrimKind::OwnLongTerm,
];

pub const SECTIONS: [PromptSection; 6] = [
    PromptSection::WorkspaceMemory,
    PromptSection::ChannelMemories,
    PromptSection::ThreadMemories,
    PromptSection::Memos,
    PromptSection::Recalled,
    PromptSection::OtherMessages,
];

/// The newest lines beside a thread tell most about it.
const NEWEST_KEPT: usize = 5;
/// One of so many parts of a prompt is for tools and what they say, where there are any.
const TOOLS_DIVISOR: u64 = 4;
/// Headings and blank lines around a memory.
const MEMORY_HEADING_TOKENS: u64 = 8;

impl Default for PromptBudget {
    /// Room for the default memories of some twenty channels and for a good day's talk, at a price that
    /// nobody minds for one call.
    fn default() -> Self {
        Self { max_tokens: 16_000, sections: SectionLimits::default() }
    }
}

impl Default for SectionLimits {
    fn default() -> Self {
        Self {
            workspace_memory: 1200,
            channel_memories: 4000,
            thread_memories: 1500,
            memos: 1500,
            recalled: 1500,
            other_messages: 3000,
        }
    }
}

impl PromptBudget {
    /// What is left for the words beside tools whose descriptions come to so many tokens.
    pub fn reserve_for_tools(&self, tools: u64) -> Self {
        let taken = tools.max(self.max_tokens / TOOLS_DIVISOR);
        Self { max_tokens: self.max_tokens.saturating_sub(taken), ..*self }
    }

    /// The least `max_tokens` that leave so many for the words beside such tools.
    pub fn min_tokens_with_tools(words: u64, tools: u64) -> u64 {
        let beside_part = words.saturating_sub(1) * TOOLS_DIVISOR / (TOOLS_DIVISOR - 1) + 1;
        beside_part.max(words + tools)
    }

    /// The same in estimated tokens, where the model counts `factor` for each of them.
    pub fn to_estimated(&self, factor: f64) -> Self {
        let scaled = |tokens: u64| (tokens as f64 / factor.max(0.1)) as u64;
        let sections = &self.sections;
        Self {
            max_tokens: scaled(self.max_tokens),
            sections: SectionLimits {
                workspace_memory: scaled(sections.workspace_memory),
                channel_memories: scaled(sections.channel_memories),
                thread_memories: scaled(sections.thread_memories),
                memos: scaled(sections.memos),
                recalled: scaled(sections.recalled),
                other_messages: scaled(sections.other_messages),
            },
        }
    }
}

impl SectionLimits {
    fn limit(&self, section: PromptSection) -> u64 {
        match section {
            PromptSection::WorkspaceMemory => self.workspace_memory,
            PromptSection::ChannelMemories => self.channel_memories,
            PromptSection::ThreadMemories => self.thread_memories,
            PromptSection::Memos => self.memos,
            PromptSection::Recalled => self.recalled,
            PromptSection::OtherMessages => self.other_messages,
        }
    }
}

impl PromptSection {
    pub fn name(self) -> &'static str {
        match self {
            PromptSection::WorkspaceMemory => "workspace_memory",
            PromptSection::ChannelMemories => "channel_memories",
            PromptSection::ThreadMemories => "thread_memories",
            PromptSection::Memos => "memos",
            PromptSection::Recalled => "recalled",
            PromptSection::OtherMessages => "other_talk",
        }
    }

    /// The estimated tokens of it in a prompt.
    pub fn tokens(self, view: &ContextView) -> u64 {
        let lines = |lines: &[Arc<MessageView>]| lines.iter().map(|line| line.tokens).sum::<u64>();
        match self {
            PromptSection::WorkspaceMemory => {
                text_tokens(&view.workspace_long_term_memory)
                    + text_tokens(&view.workspace_short_term_memory)
            }
            PromptSection::ChannelMemories => {
                let channel = |channel: &ChannelView| {
                    let memories = text_tokens(&channel.long_term_memory)
                        + text_tokens(&channel.short_term_memory);
                    channel.tokens + memories
                };
                view.channel_memories.iter().map(channel).sum()
            }
            PromptSection::ThreadMemories => {
                let threads = view.thread_memories.iter();
                threads.map(|(_, memory)| memory.tokens + MEMORY_HEADING_TOKENS).sum()
            }
            PromptSection::Memos => {
                let memos = view.high_priority_memos.iter().chain(&view.recent_memos);
                memos.map(|memo| memo.tokens).sum()
            }
            PromptSection::Recalled => {
                view.recalled.iter().map(|recalled| lines(&recalled.messages)).sum()
            }
            PromptSection::OtherMessages => {
                let threads = view.thread_messages.iter();
                let threads: u64 = threads.map(|thread| lines(&thread.messages)).sum();
                lines(&view.top_level_messages) + threads
            }
        }
    }
}

impl TrimKind {
    fn section(self) -> PromptSection {
        match self {
            TrimKind::OldTopLevel | TrimKind::OtherThread | TrimKind::NewTopLevel => {
                PromptSection::OtherMessages
            }
            TrimKind::OtherShortTerm
            | TrimKind::OtherLongTerm
            | TrimKind::ChannelName
            | TrimKind::OwnShortTerm
            | TrimKind::OwnLongTerm => PromptSection::ChannelMemories,
            TrimKind::Recalled => PromptSection::Recalled,
            TrimKind::ThreadMemory | TrimKind::TargetMemory => PromptSection::ThreadMemories,
            TrimKind::RecentMemo | TrimKind::ImportantMemo => PromptSection::Memos,
            TrimKind::WorkspaceShortTerm | TrimKind::WorkspaceLongTerm => {
                PromptSection::WorkspaceMemory
            }
        }
    }

    /// Leaves out as much of it as is needed. Tells how many things went, and their tokens.
    fn trim(self, view: &mut ContextView, need: u64) -> (usize, u64) {
        let target = view.target_thread_ts.clone();
        let mut tally = TrimTally { need, count: 0, freed: 0 };
        match self {
            TrimKind::OldTopLevel => tally.trim_messages(&mut view.top_level_messages, NEWEST_KEPT),
            TrimKind::NewTopLevel => tally.trim_messages(&mut view.top_level_messages, 0),
            TrimKind::OtherThread => view.thread_messages.retain(|thread| {
                let tokens = thread.messages.iter().map(|line| line.tokens).sum();
                tally.keeps(thread.messages.len(), tokens)
            }),
            TrimKind::ThreadMemory => view.thread_memories.retain(|(thread, memory)| {
                Some(thread) == target.as_ref()
                    || tally.keeps(1, memory.tokens + MEMORY_HEADING_TOKENS)
            }),
            TrimKind::TargetMemory => view
                .thread_memories
                .retain(|(_, memory)| tally.keeps(1, memory.tokens + MEMORY_HEADING_TOKENS)),
            // What fits best stands first.
            TrimKind::Recalled => tally.trim_last(&mut view.recalled, |recalled| {
                recalled.messages.iter().map(|line| line.tokens).sum()
            }),
            TrimKind::RecentMemo => tally.trim_last(&mut view.recent_memos, |memo| memo.tokens),
            TrimKind::ImportantMemo => {
                tally.trim_last(&mut view.high_priority_memos, |memo| memo.tokens)
            }
            TrimKind::OtherShortTerm => {
                let others = view.channel_memories.iter_mut().rev();
                let others = others.filter(|channel| !channel.is_current);
                others.for_each(|channel| tally.drop_whole(&mut channel.short_term_memory));
            }
            TrimKind::OtherLongTerm => {
                let others = view.channel_memories.iter_mut().rev();
                let others = others.filter(|channel| !channel.is_current);
                others.for_each(|channel| tally.drop_whole(&mut channel.long_term_memory));
            }
            TrimKind::ChannelName => {
                let mut channels = std::mem::take(&mut view.channel_memories);
                channels.reverse();
                channels.retain(|channel| channel.is_current || tally.keeps(1, channel.tokens));
                channels.reverse();
                view.channel_memories = channels;
            }
            TrimKind::OwnShortTerm => {
                let own = view.channel_memories.iter_mut().filter(|channel| channel.is_current);
                own.for_each(|channel| tally.trim_oldest_entries(&mut channel.short_term_memory));
            }
            TrimKind::OwnLongTerm => {
                let own = view.channel_memories.iter_mut().filter(|channel| channel.is_current);
                own.for_each(|channel| tally.trim_oldest_entries(&mut channel.long_term_memory));
            }
            TrimKind::WorkspaceShortTerm => {
                tally.trim_oldest_entries(&mut view.workspace_short_term_memory)
            }
            TrimKind::WorkspaceLongTerm => {
                tally.trim_oldest_entries(&mut view.workspace_long_term_memory)
            }
        }
        (tally.count, tally.freed)
    }
}

/// Makes everything but the target fit into its sections, and then into what the rest of the prompt
/// and the target leave.
pub fn fit_sections(
    view: &mut ContextView,
    budget: &PromptBudget,
    trimmed: &mut Vec<TrimmedSection>,
) {
    for section in SECTIONS {
        let over = section.tokens(view).saturating_sub(budget.sections.limit(section));
        let kinds = TRIM_ORDER.into_iter().filter(|kind| kind.section() == section);
        trim_kinds(view, over, kinds, trimmed);
    }
}

/// Leaves out what matters least until so many tokens are free, or nothing is left.
pub fn free_tokens(view: &mut ContextView, tokens: u64, trimmed: &mut Vec<TrimmedSection>) {
    trim_kinds(view, tokens, TRIM_ORDER.into_iter(), trimmed);
}

fn trim_kinds(
    view: &mut ContextView,
    mut need: u64,
    kinds: impl Iterator<Item = TrimKind>,
    trimmed: &mut Vec<TrimmedSection>,
) {
    for kind in kinds {
        if need == 0 {
            return;
        }
        let (count, tokens) = kind.trim(view, need);
        need = need.saturating_sub(tokens);
        record_trimmed(trimmed, TrimmedSection { section: kind.section().name(), count, tokens });
    }
}

/// One note for each section.
pub fn record_trimmed(trimmed: &mut Vec<TrimmedSection>, more: TrimmedSection) {
    match trimmed.iter_mut().find(|known| known.section == more.section) {
        _ if more.count == 0 => {}
        Some(known) => {
            known.count += more.count;
            known.tokens += more.tokens;
        }
        None => trimmed.push(more),
    }
}

fn text_tokens(passage: &Option<FencedText>) -> u64 {
    passage.as_ref().map_or(0, |passage| passage.tokens + MEMORY_HEADING_TOKENS)
}

/// What is still needed, and what went for it.
struct TrimTally {
    need: u64,
    count: usize,
    freed: u64,
}

impl TrimTally {
    /// True once enough is free; else it goes.
    fn keeps(&mut self, count: usize, tokens: u64) -> bool {
        let is_kept = self.freed >= self.need;
        if !is_kept {
            self.count += count;
            self.freed += tokens;
        }
        is_kept
    }

    /// The oldest lines, but for the newest few.
    fn trim_messages(&mut self, lines: &mut Vec<Arc<MessageView>>, kept: usize) {
        let mut place = 0;
        let last = lines.len().saturating_sub(kept);
        lines.retain(|line| {
            place += 1;
            place > last || self.keeps(1, line.tokens)
        });
    }

    fn trim_last<T>(&mut self, things: &mut Vec<T>, tokens: impl Fn(&T) -> u64) {
        while let Some(last) = things.last()
            && !self.keeps(1, tokens(last))
        {
            things.pop();
        }
    }

    fn drop_whole(&mut self, memory: &mut Option<FencedText>) {
        if let Some(passage) = memory
            && !self.keeps(1, passage.tokens + MEMORY_HEADING_TOKENS)
        {
            *memory = None;
        }
    }

    /// The oldest entries of a memory, which stand first, or all of it.
    fn trim_oldest_entries(&mut self, memory: &mut Option<FencedText>) {
        let Some(passage) = memory else { return };
        while self.freed < self.need {
            let Some((first, rest)) = passage.text.split_once('\n') else {
                self.drop_whole(memory);
                return;
            };
            let tokens = estimate(first);
            self.keeps(1, tokens);
            let text = rest.to_owned();
            *passage = FencedText { text, tokens: passage.tokens.saturating_sub(tokens) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_with_tools_is_just_enough() {
        for (words, tools) in (1..2000).flat_map(|words| [1, 70, 800].map(|tools| (words, tools))) {
            let left = |max_tokens| {
                PromptBudget { max_tokens, ..PromptBudget::default() }
                    .reserve_for_tools(tools)
                    .max_tokens
            };
            let least = PromptBudget::min_tokens_with_tools(words, tools);
            assert!(left(least) >= words && left(least - 1) < words, "{words}, {tools}: {least}");
        }
    }
}
