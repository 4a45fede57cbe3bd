//! How long a prompt may be.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::values::Count;
use aizuchi_core::prompt::budget::{Budget, Sections};

/// How long a prompt may be. What does not fit is left out, what matters least first.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ContextConfig {
    /// The longest prompt, in tokens. It needs room for the instructions, the persona's prompt and the tools,
    /// and for what was said.
    pub max_tokens: Count<2000, 1_000_000>,
    pub sections: SectionsConfig,
}

/// The longest that each section of a prompt may be, in tokens; 0 leaves it out.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SectionsConfig {
    /// What is remembered of the whole workspace.
    pub workspace_memory: Count<0, 1_000_000>,
    /// What is remembered of channels, and the list of them.
    pub channel_memories: Count<0, 1_000_000>,
    /// What is remembered of the channel's threads.
    pub thread_memories: Count<0, 1_000_000>,
    /// Its memos.
    pub memos: Count<0, 1_000_000>,
    /// Old lines that fit the talk.
    pub recalled: Count<0, 1_000_000>,
    /// Talk of the channel beside the conversation that it is about.
    pub other_talk: Count<0, 1_000_000>,
}

impl ContextConfig {
    pub fn budget(&self) -> Budget {
        let sections = &self.sections;
        Budget {
            max_tokens: self.max_tokens.0,
            sections: Sections {
                workspace_memory: sections.workspace_memory.0,
                channel_memories: sections.channel_memories.0,
                thread_memories: sections.thread_memories.0,
                memos: sections.memos.0,
                recalled: sections.recalled.0,
                other_talk: sections.other_talk.0,
            },
        }
    }
}

impl Default for ContextConfig {
    fn default() -> Self {
        Self {
            max_tokens: Count(Budget::default().max_tokens),
            sections: SectionsConfig::default(),
        }
    }
}

impl Default for SectionsConfig {
    fn default() -> Self {
        let sections = Sections::default();
        Self {
            workspace_memory: Count(sections.workspace_memory),
            channel_memories: Count(sections.channel_memories),
            thread_memories: Count(sections.thread_memories),
            memos: Count(sections.memos),
            recalled: Count(sections.recalled),
            other_talk: Count(sections.other_talk),
        }
    }
}
