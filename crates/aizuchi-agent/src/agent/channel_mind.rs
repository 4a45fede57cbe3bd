//! Selects the models for a channel: its own, those of its workspace, or the default ones. The persona's prompt is
//! always the agent's. These models judge, answer and fold what is said in the channel. Public messages may be recalled
//! in another channel, whose model then reads them, unless the channel is not remembered; pictures and recordings go to
//! the models that describe and transcribe them.

use std::sync::Arc;

use aizuchi_model::context::Context;
use aizuchi_model::memory::MemoryKey;
use aizuchi_model::rules::{ChannelRules, ModelRules};

use crate::agent::{Mind, Worker};

impl Worker<'_> {
    pub(super) fn judge_mind(&self, context: &Context) -> Mind {
        self.own_model(&self.minds.judgment, self.models_for(context).judgment)
    }

    pub(super) fn reply_mind(&self, context: &Context) -> Mind {
        self.own_model(&self.minds.response, self.models_for(context).response)
    }

    pub(super) fn state_mind(&self, context: &Context) -> Mind {
        self.own_model(&self.minds.state, self.models_for(context).state)
    }

    /// Selects the model for a memory: a channel's memories are folded by its own model, and those of a thread by the
    /// thread's. A memory of several channels is folded by their workspace's model.
    pub(super) fn memory_mind(&self, key: &MemoryKey, rules: &ChannelRules) -> Mind {
        let models = self.rulebook.models_in(&key.workspace, Some(&rules.models));
        self.own_model(&self.minds.memory, models.memory)
    }

    fn models_for(&self, context: &Context) -> ModelRules {
        let rulebook = &self.rulebook;
        let rules = self.gate_input(context).rules;
        rulebook.models_in(&context.conversation.workspace, Some(&rules.models))
    }

    fn own_model(&self, usual: &Mind, name: Option<Arc<str>>) -> Mind {
        let named = name.and_then(|name| self.minds.named.get(&*name));
        Mind { models: named.unwrap_or(&usual.models).clone(), persona: usual.persona.clone() }
    }
}
