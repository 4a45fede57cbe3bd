//! The `context` section: how long a prompt may be.

use aizuchi_llm::prompt::budget::{PromptBudget, SectionLimits};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::values::BoundedInteger;

/// How long a prompt may be, in tokens. What does not fit is left out, the least important first.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ContextConfig {
    /// The longest prompt, in tokens. It needs room for the instructions, the persona's prompt, the tools and the
    /// messages.
    pub max_tokens: BoundedInteger<2000, 1_000_000>,
    pub sections: SectionsConfig,
}

/// The longest that each section of a prompt may be, in tokens; 0 leaves it out.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SectionsConfig {
    /// The memories of the whole workspace.
    pub workspace_memory: BoundedInteger<0, 1_000_000>,
    /// The memories of channels, and the list of channels.
    pub channel_memories: BoundedInteger<0, 1_000_000>,
    /// The memories of the channel's threads.
    pub thread_memories: BoundedInteger<0, 1_000_000>,
    /// Memos.
    pub memos: BoundedInteger<0, 1_000_000>,
    /// Old messages that are relevant to the conversation.
    pub recalled: BoundedInteger<0, 1_000_000>,
    /// Other messages of the channel, outside the conversation.
    pub other_talk: BoundedInteger<0, 1_000_000>,
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

impl Default for ContextConfig {
    fn default() -> Self {
        Self {
            max_tokens: BoundedInteger(PromptBudget::default().max_tokens),
            sections: SectionsConfig::default(),
        }
    }
}

impl Default for SectionsConfig {
    fn default() -> Self {
        let sections = SectionLimits::default();
        Self {
            workspace_memory: BoundedInteger(sections.workspace_memory),
            channel_memories: BoundedInteger(sections.channel_memories),
            thread_memories: BoundedInteger(sections.thread_memories),
            memos: BoundedInteger(sections.memos),
            recalled: BoundedInteger(sections.recalled),
            other_talk: BoundedInteger(sections.other_messages),
        }
    }
}
