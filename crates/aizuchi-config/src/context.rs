//! The `context` section: how long a prompt may be.

use aizuchi_llm::prompt::budget::{PromptBudget, SectionLimits};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::values::BoundedInteger;

section! {
    /// How long a prompt may be, in tokens. What does not fit is left out, the least important first.
    pub struct ContextConfig {
        /// The longest prompt, in tokens. It needs room for the instructions, the persona's prompt, the tools and the
        /// messages.
        pub max_tokens: BoundedInteger<2000, 1_000_000> = BoundedInteger(PromptBudget::default().max_tokens),
        pub sections: SectionsConfig,
    }
}

section! {
    /// The longest that each section of a prompt may be, in tokens; 0 leaves it out.
    pub struct SectionsConfig {
        /// The memories of the whole workspace.
        pub workspace_memory: BoundedInteger<0, 1_000_000> = BoundedInteger(SectionLimits::default().workspace_memory),
        /// The memories of channels, and the list of channels.
        pub channel_memories: BoundedInteger<0, 1_000_000> = BoundedInteger(SectionLimits::default().channel_memories),
        /// The memories of the channel's threads.
        pub thread_memories: BoundedInteger<0, 1_000_000> = BoundedInteger(SectionLimits::default().thread_memories),
        /// Memos.
        pub memos: BoundedInteger<0, 1_000_000> = BoundedInteger(SectionLimits::default().memos),
        /// Old messages that are relevant to the conversation.
        pub recalled: BoundedInteger<0, 1_000_000> = BoundedInteger(SectionLimits::default().recalled),
        /// Other messages of the channel, outside the conversation.
        pub other_talk: BoundedInteger<0, 1_000_000> = BoundedInteger(SectionLimits::default().other_messages),
    }
}

impl ContextConfig {
    pub fn budget(&self) -> PromptBudget {
        let sections = &self.sections;
        PromptBudget {
            max_tokens: self.max_tokens.0,
            sections: SectionLimits {
                workspace_memory: sections.workspace_memory.0,
                channel_memories: sections.channel_memories.0,
                thread_memories: sections.thread_memories.0,
                memos: sections.memos.0,
                recalled: sections.recalled.0,
                other_messages: sections.other_talk.0,
            },
        }
    }
}
