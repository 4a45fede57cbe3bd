//! How long a prompt may be, and what is left out when there is more: the least important first,
//! section by section and then in all. What is asked and whoever waits for an answer always stays.

pub mod target;

use std::fmt;
use std::sync::Arc;

use crate::prompt::tokens::estimate;
use crate::prompt::view::{ChannelView, LineView, Passage, TalkView};

/// The longest that a prompt may be, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    pub max_tokens: u64,
    pub sections: Sections,
}

/// The longest that each section may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sections {
    pub workspace_memory: u64,
    /// With the list of channels.
    pub channel_memories: u64,
    pub thread_memories: u64,
    pub memos: u64,
    pub recalled: u64,
    /// Talk of the channel that is not the target.
    pub other_talk: u64,
}

/// What was left out of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trimmed {
    pub section: &'static str,
    /// Lines, memories, entries or memos.
    pub count: usize,
    pub tokens: u64,
}

impl fmt::Display for Trimmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}, {} tokens", self.count, self.section, self.tokens)
    }
}

/// A section whose length varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    WorkspaceMemory,
    ChannelMemories,
    ThreadMemories,
    Memos,
    Recalled,
    OtherTalk,
}

/// Things that are left out alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
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
const ORDER: [Kind; 15] = [
    Kind::OldTopLevel,
    Kind::OtherShortTerm,
    Kind::OtherThread,
    Kind::Recalled,
    Kind::ThreadMemory,
    Kind::OtherLongTerm,
    Kind::RecentMemo,
    Kind::ImportantMemo,
    Kind::ChannelName,
    Kind::NewTopLevel,
    Kind::WorkspaceShortTerm,
    Kind::OwnShortTerm,
    Kind::TargetMemory,
    Kind::WorkspaceLongTerm,
    Kind::OwnLongTerm,
];

pub const SECTIONS: [Section; 6] = [
    Section::WorkspaceMemory,
    Section::ChannelMemories,
    Section::ThreadMemories,
    Section::Memos,
    Section::Recalled,
    Section::OtherTalk,
];

/// The newest lines beside a thread tell most about it.
const NEW_TOP_LEVEL: usize = 5;
/// One of so many parts of a prompt is for tools and what they say, where there are any.
const TOOLS_PARTS: u64 = 4;
/// Headings and blank lines around a memory.
const HEADING_TOKENS: u64 = 8;

impl Default for Budget {
    /// Room for the default memories of some twenty channels and for a good day's talk, at a price that
    /// nobody minds for one call.
    fn default() -> Self {
        Self { max_tokens: 16_000, sections: Sections::default() }
    }
}

impl Default for Sections {
    fn default() -> Self {
        Self {
            workspace_memory: 1200,
            channel_memories: 4000,
            thread_memories: 1500,
            memos: 1500,
            recalled: 1500,
            other_talk: 3000,
        }
    }
}

impl Budget {
    /// What is left for the words beside tools whose descriptions come to so many tokens.
    pub fn beside_tools(&self, tools: u64) -> Self {
        let taken = tools.max(self.max_tokens / TOOLS_PARTS);
        Self { max_tokens: self.max_tokens.saturating_sub(taken), ..*self }
    }

    /// The least `max_tokens` that leave so many for the words beside such tools.
    pub fn least_with_tools(words: u64, tools: u64) -> u64 {
        let beside_part = words.saturating_sub(1) * TOOLS_PARTS / (TOOLS_PARTS - 1) + 1;
        beside_part.max(words + tools)
    }

    /// The same in estimated tokens, where the model counts `factor` for each of them.
    pub fn estimated(&self, factor: f64) -> Self {
        let scaled = |tokens: u64| (tokens as f64 / factor.max(0.1)) as u64;
        let sections = &self.sections;
        Self {
            max_tokens: scaled(self.max_tokens),
            sections: Sections {
                workspace_memory: scaled(sections.workspace_memory),
                channel_memories: scaled(sections.channel_memories),
                thread_memories: scaled(sections.thread_memories),
                memos: scaled(sections.memos),
                recalled: scaled(sections.recalled),
                other_talk: scaled(sections.other_talk),
            },
        }
    }
}

impl Sections {
    fn of(&self, section: Section) -> u64 {
        match section {
            Section::WorkspaceMemory => self.workspace_memory,
            Section::ChannelMemories => self.channel_memories,
            Section::ThreadMemories => self.thread_memories,
            Section::Memos => self.memos,
            Section::Recalled => self.recalled,
            Section::OtherTalk => self.other_talk,
        }
    }
}

impl Section {
    pub fn name(self) -> &'static str {
        match self {
            Section::WorkspaceMemory => "workspace_memory",
            Section::ChannelMemories => "channel_memories",
            Section::ThreadMemories => "thread_memories",
            Section::Memos => "memos",
            Section::Recalled => "recalled",
            Section::OtherTalk => "other_talk",
        }
    }

    /// The estimated tokens of it in a prompt.
    pub fn tokens(self, view: &TalkView) -> u64 {
        let lines = |lines: &[Arc<LineView>]| lines.iter().map(|line| line.tokens).sum::<u64>();
        match self {
            Section::WorkspaceMemory => {
                passage(&view.workspace_long_term_memory)
                    + passage(&view.workspace_short_term_memory)
            }
            Section::ChannelMemories => {
                let channel = |channel: &ChannelView| {
                    let memories =
                        passage(&channel.long_term_memory) + passage(&channel.short_term_memory);
                    channel.tokens + memories
                };
                view.channel_memories.iter().map(channel).sum()
            }
            Section::ThreadMemories => {
                let threads = view.thread_memories.iter();
                threads.map(|(_, memory)| memory.tokens + HEADING_TOKENS).sum()
            }
            Section::Memos => {
                let memos = view.high_priority_memos.iter().chain(&view.recent_memos);
                memos.map(|memo| memo.tokens).sum()
            }
            Section::Recalled => {
                view.recalled.iter().map(|recalled| lines(&recalled.messages)).sum()
            }
            Section::OtherTalk => {
                let threads = view.thread_messages.iter();
                let threads: u64 = threads.map(|thread| lines(&thread.messages)).sum();
                lines(&view.top_level_messages) + threads
            }
        }
    }
}

impl Kind {
    fn section(self) -> Section {
        match self {
            Kind::OldTopLevel | Kind::OtherThread | Kind::NewTopLevel => Section::OtherTalk,
            Kind::OtherShortTerm
            | Kind::OtherLongTerm
            | Kind::ChannelName
            | Kind::OwnShortTerm
            | Kind::OwnLongTerm => Section::ChannelMemories,
            Kind::Recalled => Section::Recalled,
            Kind::ThreadMemory | Kind::TargetMemory => Section::ThreadMemories,
            Kind::RecentMemo | Kind::ImportantMemo => Section::Memos,
            Kind::WorkspaceShortTerm | Kind::WorkspaceLongTerm => Section::WorkspaceMemory,
        }
    }

    /// Leaves out as much of it as is needed. Tells how many things went, and their tokens.
    fn leave_out(self, view: &mut TalkView, need: u64) -> (usize, u64) {
        let target = view.target_thread_ts.clone();
        let mut tally = Tally { need, count: 0, freed: 0 };
        match self {
            Kind::OldTopLevel => tally.lines(&mut view.top_level_messages, NEW_TOP_LEVEL),
            Kind::NewTopLevel => tally.lines(&mut view.top_level_messages, 0),
            Kind::OtherThread => view.thread_messages.retain(|thread| {
                let tokens = thread.messages.iter().map(|line| line.tokens).sum();
                tally.keeps(thread.messages.len(), tokens)
            }),
            Kind::ThreadMemory => view.thread_memories.retain(|(thread, memory)| {
                Some(thread) == target.as_ref() || tally.keeps(1, memory.tokens + HEADING_TOKENS)
            }),
            Kind::TargetMemory => view
                .thread_memories
                .retain(|(_, memory)| tally.keeps(1, memory.tokens + HEADING_TOKENS)),
            // What fits best stands first.
            Kind::Recalled => tally.last(&mut view.recalled, |recalled| {
                recalled.messages.iter().map(|line| line.tokens).sum()
            }),
            Kind::RecentMemo => tally.last(&mut view.recent_memos, |memo| memo.tokens),
            Kind::ImportantMemo => tally.last(&mut view.high_priority_memos, |memo| memo.tokens),
            Kind::OtherShortTerm => {
                let others = view.channel_memories.iter_mut().rev();
                let others = others.filter(|channel| !channel.is_current);
                others.for_each(|channel| tally.whole(&mut channel.short_term_memory));
            }
            Kind::OtherLongTerm => {
                let others = view.channel_memories.iter_mut().rev();
                let others = others.filter(|channel| !channel.is_current);
                others.for_each(|channel| tally.whole(&mut channel.long_term_memory));
            }
            Kind::ChannelName => {
                let mut channels = std::mem::take(&mut view.channel_memories);
                channels.reverse();
                channels.retain(|channel| channel.is_current || tally.keeps(1, channel.tokens));
                channels.reverse();
                view.channel_memories = channels;
            }
            Kind::OwnShortTerm => {
                let own = view.channel_memories.iter_mut().filter(|channel| channel.is_current);
                own.for_each(|channel| tally.oldest(&mut channel.short_term_memory));
            }
            Kind::OwnLongTerm => {
                let own = view.channel_memories.iter_mut().filter(|channel| channel.is_current);
                own.for_each(|channel| tally.oldest(&mut channel.long_term_memory));
            }
            Kind::WorkspaceShortTerm => tally.oldest(&mut view.workspace_short_term_memory),
            Kind::WorkspaceLongTerm => tally.oldest(&mut view.workspace_long_term_memory),
        }
        (tally.count, tally.freed)
    }
}

/// Makes everything but the target fit into its sections, and then into what the rest of the prompt
/// and the target leave.
pub fn fit_sections(view: &mut TalkView, budget: &Budget, trimmed: &mut Vec<Trimmed>) {
    for section in SECTIONS {
        let over = section.tokens(view).saturating_sub(budget.sections.of(section));
        let kinds = ORDER.into_iter().filter(|kind| kind.section() == section);
        leave_out(view, over, kinds, trimmed);
    }
}

/// Leaves out what matters least until so many tokens are free, or nothing is left.
pub fn free(view: &mut TalkView, tokens: u64, trimmed: &mut Vec<Trimmed>) {
    leave_out(view, tokens, ORDER.into_iter(), trimmed);
}

fn leave_out(
    view: &mut TalkView,
    mut need: u64,
    kinds: impl Iterator<Item = Kind>,
    trimmed: &mut Vec<Trimmed>,
) {
    for kind in kinds {
        if need == 0 {
            return;
        }
        let (count, tokens) = kind.leave_out(view, need);
        need = need.saturating_sub(tokens);
        note(trimmed, Trimmed { section: kind.section().name(), count, tokens });
    }
}

/// One note for each section.
pub fn note(trimmed: &mut Vec<Trimmed>, more: Trimmed) {
    match trimmed.iter_mut().find(|known| known.section == more.section) {
        _ if more.count == 0 => {}
        Some(known) => {
            known.count += more.count;
            known.tokens += more.tokens;
        }
        None => trimmed.push(more),
    }
}

fn passage(passage: &Option<Passage>) -> u64 {
    passage.as_ref().map_or(0, |passage| passage.tokens + HEADING_TOKENS)
}

/// What is still needed, and what went for it.
struct Tally {
    need: u64,
    count: usize,
    freed: u64,
}

impl Tally {
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
    fn lines(&mut self, lines: &mut Vec<Arc<LineView>>, kept: usize) {
        let mut place = 0;
        let last = lines.len().saturating_sub(kept);
        lines.retain(|line| {
            place += 1;
            place > last || self.keeps(1, line.tokens)
        });
    }

    fn last<T>(&mut self, things: &mut Vec<T>, tokens: impl Fn(&T) -> u64) {
        while let Some(last) = things.last()
            && !self.keeps(1, tokens(last))
        {
            things.pop();
        }
    }

    fn whole(&mut self, memory: &mut Option<Passage>) {
        if let Some(passage) = memory
            && !self.keeps(1, passage.tokens + HEADING_TOKENS)
        {
            *memory = None;
        }
    }

    /// The oldest entries of a memory, which stand first, or all of it.
    fn oldest(&mut self, memory: &mut Option<Passage>) {
        let Some(passage) = memory else { return };
        while self.freed < self.need {
            let Some((first, rest)) = passage.text.split_once('\n') else {
                self.whole(memory);
                return;
            };
            let tokens = estimate(first);
            self.keeps(1, tokens);
            let text = rest.to_owned();
            *passage = Passage { text, tokens: passage.tokens.saturating_sub(tokens) };
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
                Budget { max_tokens, ..Budget::default() }.beside_tools(tools).max_tokens
            };
            let least = Budget::least_with_tools(words, tools);
            assert!(left(least) >= words && left(least - 1) < words, "{words}, {tools}: {least}");
        }
    }
}
