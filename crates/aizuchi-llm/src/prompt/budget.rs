//! The token budget of a prompt. If the content exceeds it, the least important parts are left out: first within
//! each section, then overall. The task and the users who wait for an answer always stay.

pub mod target;

use std::fmt;
use std::sync::Arc;

use crate::prompt::tokens::estimate;
use crate::prompt::view::{ChannelView, ContextView, FencedText, MessageView, StandingOrderView};

/// The maximum length of a prompt, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptBudget {
    pub max_tokens: u64,
    pub sections: SectionLimits,
}

/// The maximum length of each section, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionLimits {
    pub workspace_memory: u64,
    /// Includes the list of channels.
    pub channel_memories: u64,
    pub thread_memories: u64,
    pub memos: u64,
    pub recalled: u64,
    /// Messages of the channel outside the target conversation.
    pub other_messages: u64,
}

/// What was left out of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimmedSection {
    pub section: &'static str,
    /// The number of messages, memories, entries or memos.
    pub count: usize,
    pub tokens: u64,
}

impl fmt::Display for TrimmedSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}, {} tokens", self.count, self.section, self.tokens)
    }
}

/// A section of variable length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum PromptSection {
    WorkspaceMemory,
    ChannelMemories,
    ThreadMemories,
    Memos,
    Recalled,
    #[strum(serialize = "other_talk")]
    OtherMessages,
}

/// A group of items that are left out together.
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

/// The kinds in the order in which they are left out, the least important first.
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

/// The newest top-level messages are the most useful context of a thread.
const NEWEST_KEPT: usize = 5;
/// With tools, the share of the prompt (one divided by this) that is reserved for them and their
/// results.
const TOOLS_DIVISOR: u64 = 4;
/// The tokens of the standing orders' heading and the sentences below it.
const STANDING_ORDERS_HEADING_TOKENS: u64 = 140;
/// The tokens of the heading and the blank lines around a memory.
const MEMORY_HEADING_TOKENS: u64 = 8;
/// The excess of a prompt is rounded up to this share of it (one divided by this).
const EXCESS_DIVISOR: u64 = 32;
/// The oldest messages are left out in steps of at most this share of the shown messages (one divided by this).
const STEP_DIVISOR: usize = 4;

impl Default for PromptBudget {
    /// Fits the default memories of some twenty channels and a busy day's messages, at a moderate price per call.
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

/// The estimated tokens of standing orders.
pub fn standing_order_tokens(orders: &[StandingOrderView]) -> u64 {
    let heading = if orders.is_empty() { 0 } else { STANDING_ORDERS_HEADING_TOKENS };
    heading + orders.iter().map(|order| order.tokens).sum::<u64>()
}

/// Leaves out the standing orders that do not fit: the widest scope first and, within a scope, the oldest.
pub fn fit_standing_orders(
    orders: &mut Vec<StandingOrderView>,
    room: u64,
    trimmed: &mut Vec<TrimmedSection>,
) {
    let (mut count, mut tokens) = (0, 0);
    while standing_order_tokens(orders) > room {
        let width = |order: &StandingOrderView| match order.scope {
            "workspace" => 2,
            "channel" => 1,
            _ => 0,
        };
        let widest = orders.iter().map(width).max().unwrap_or(0);
        let Some(position) = orders.iter().position(|order| width(order) == widest) else { break };
        tokens += orders.remove(position).tokens;
        count += 1;
    }
    if count > 0 {
        record_trimmed(trimmed, TrimmedSection { section: "orders", count, tokens });
    }
}

impl PromptBudget {
    /// The budget that remains next to tools whose descriptions have this many tokens.
    pub fn reserve_for_tools(&self, tools: u64) -> Self {
        let taken = tools.max(self.max_tokens / TOOLS_DIVISOR);
        Self { max_tokens: self.max_tokens.saturating_sub(taken), ..*self }
    }

    /// The smallest `max_tokens` that leaves `text` tokens next to tools whose descriptions have `tools` tokens.
    pub fn min_tokens_with_tools(text: u64, tools: u64) -> u64 {
        // Inverts `reserve_for_tools`, whose division rounds down.
        let beside_part = text.saturating_sub(1) * TOOLS_DIVISOR / (TOOLS_DIVISOR - 1) + 1;
        beside_part.max(text + tools)
    }

    /// Converts the budget to estimated tokens, for a model that counts `factor` tokens for each of them.
    pub fn to_estimated(&self, factor: f64) -> Self {
        // A factor near 0 would lift every limit.
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
        self.into()
    }

    /// The estimated tokens of this section in a prompt.
    pub fn tokens(self, view: &ContextView) -> u64 {
        let messages = |messages: &[Arc<MessageView>]| {
            messages.iter().map(|message| message.tokens).sum::<u64>()
        };
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
                threads.map(|thread| thread.tokens).sum()
            }
            PromptSection::Memos => {
                let memos = view.high_priority_memos.iter().chain(&view.recent_memos);
                memos.map(|memo| memo.tokens).sum()
            }
            PromptSection::Recalled => messages(&view.recalled),
            PromptSection::OtherMessages => {
                let threads = view.thread_messages.iter();
                let threads: u64 = threads.map(|thread| messages(&thread.messages)).sum();
                messages(&view.top_level_messages) + threads
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

    /// Leaves out as much as needed. Returns how many items were left out, and their tokens.
    fn trim(self, view: &mut ContextView, need: u64) -> (usize, u64) {
        let mut tally = TrimTally { need, count: 0, freed: 0 };
        match self {
            TrimKind::OldTopLevel => tally.trim_messages(&mut view.top_level_messages, NEWEST_KEPT),
            TrimKind::NewTopLevel => tally.trim_messages(&mut view.top_level_messages, 0),
            TrimKind::OtherThread => view.thread_messages.retain(|thread| {
                let tokens = thread.messages.iter().map(|message| message.tokens).sum();
                tally.keeps(thread.messages.len(), tokens)
            }),
            TrimKind::ThreadMemory => view
                .thread_memories
                .retain(|thread| thread.is_target || tally.keeps(1, thread.tokens)),
            TrimKind::TargetMemory => {
                view.thread_memories.retain(|thread| tally.keeps(1, thread.tokens));
            }
            // The most relevant results come first.
            TrimKind::Recalled => tally.trim_last(&mut view.recalled, |message| message.tokens),
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

/// Fits every section except the target to its own limit.
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

/// Leaves out the least important items until `tokens` are free or nothing is left. If the prompt is too long, a
/// little more is freed, so that the next prompt, which is a few messages longer, has the same items and shares its
/// prefix.
pub fn free_tokens(
    view: &mut ContextView,
    tokens: u64,
    budget: &PromptBudget,
    trimmed: &mut Vec<TrimmedSection>,
) {
    let step = (budget.max_tokens / EXCESS_DIVISOR).max(1);
    trim_kinds(view, tokens.next_multiple_of(step), TRIM_ORDER.into_iter(), trimmed);
}

/// Returns how many of the oldest messages to leave out if `least` of `all` must be. The steps are a power of two
/// that stays the same while the number of shown messages changes a little, so that consecutive prompts begin with
/// the same message.
fn step_up(least: usize, all: usize) -> usize {
    let shown = all.saturating_sub(least);
    let step = 1 << (shown / STEP_DIVISOR).max(1).ilog2();
    least.next_multiple_of(step).min(all)
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

/// Merges the counts of one section into one entry.
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

fn text_tokens(fenced: &Option<FencedText>) -> u64 {
    fenced.as_ref().map_or(0, |fenced| fenced.tokens + MEMORY_HEADING_TOKENS)
}

/// The tokens that are still needed, and what was left out to free them.
struct TrimTally {
    need: u64,
    count: usize,
    freed: u64,
}

impl TrimTally {
    /// Whether to keep an item: true once enough is free. Otherwise the item is counted as left
    /// out.
    fn keeps(&mut self, count: usize, tokens: u64) -> bool {
        let is_kept = self.freed >= self.need;
        if !is_kept {
            self.count += count;
            self.freed += tokens;
        }
        is_kept
    }

    /// Leaves out the oldest messages, in steps, but keeps the newest `keep`.
    fn trim_messages(&mut self, messages: &mut Vec<Arc<MessageView>>, keep: usize) {
        let most = messages.len().saturating_sub(keep);
        let mut count = 0;
        while count < most && self.freed < self.need {
            self.freed += messages[count].tokens;
            count += 1;
        }
        let stepped = step_up(count, messages.len()).min(most);
        self.freed += messages[count..stepped].iter().map(|message| message.tokens).sum::<u64>();
        self.count += stepped;
        messages.drain(..stepped);
    }

    fn trim_last<T>(&mut self, items: &mut Vec<T>, tokens: impl Fn(&T) -> u64) {
        while let Some(last) = items.last()
            && !self.keeps(1, tokens(last))
        {
            items.pop();
        }
    }

    fn drop_whole(&mut self, memory: &mut Option<FencedText>) {
        if let Some(fenced) = memory
            && !self.keeps(1, fenced.tokens + MEMORY_HEADING_TOKENS)
        {
            *memory = None;
        }
    }

    /// Leaves out the oldest entries of a memory, which come first, or the whole memory.
    fn trim_oldest_entries(&mut self, memory: &mut Option<FencedText>) {
        let Some(fenced) = memory else { return };
        while self.freed < self.need {
            let Some((first, rest)) = fenced.text.split_once('\n') else {
                self.drop_whole(memory);
                return;
            };
            let tokens = estimate(first);
            self.keeps(1, tokens);
            let text = rest.to_owned();
            *fenced = FencedText { text, tokens: fenced.tokens.saturating_sub(tokens) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_messages_are_left_out_in_steps() {
        let left_out: Vec<usize> = (0..20).map(|least| step_up(least, 60)).collect();
        let expected = [0, 8, 8, 8, 8, 8, 8, 8, 8, 16, 16, 16, 16, 16, 16, 16, 16, 24, 24, 24];
        assert_eq!(left_out, expected);
        for all in 0..200 {
            for least in 0..=all {
                let (left_out, shown) = (step_up(least, all), all - least);
                assert!((least..=all).contains(&left_out));
                assert!(shown - (left_out - least) >= shown - shown / STEP_DIVISOR);
            }
        }
    }

    #[test]
    fn min_tokens_with_tools_is_exact() {
        for (text, tools) in (1..2000).flat_map(|text| [1, 70, 800].map(|tools| (text, tools))) {
            let available = |max_tokens| {
                PromptBudget { max_tokens, ..PromptBudget::default() }
                    .reserve_for_tools(tools)
                    .max_tokens
            };
            let min = PromptBudget::min_tokens_with_tools(text, tools);
            assert!(available(min) >= text && available(min - 1) < text, "{text}, {tools}: {min}");
        }
    }
}
