//! Settings of single threads.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::channel_overrides::{ChannelPersona, ChannelTools, MemorySetting};
use crate::language::LanguageSetting;
use crate::overrides::PlaceOverrides;
use crate::own_models::OwnModels;
use crate::problem::ConfigProblem;
use crate::secret::displayable;
use crate::tree::ConfigNode;
use crate::values::{Ratio, TimingSetting};

/// The settings of a thread. An omitted setting is taken from its channel.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ThreadConfig {
    /// If the judge is less sure than this, Aizuchi stays silent.
    pub min_confidence: Option<Ratio>,
    /// The language there: `en`, `ja`, or `auto`, the language that people write.
    pub language: Option<LanguageSetting>,
    /// A text that is added to the persona's prompt there, or a section with a `system_prompt` that replaces it.
    pub persona: Option<ChannelPersona>,
    /// The model that is used there: a name in `models.named`, or a section with a name for `response`, `judgment`,
    /// `memory` or `state`. What is said there also becomes part of the channel's memory, which the channel's own model
    /// makes, unless `memory` is `off`.
    pub model: Option<OwnModels>,
    /// Whether replies may use tools there, or a list of the tools that they may use.
    pub tools: Option<ChannelTools>,
    /// Whether what is said there is remembered, in the thread's memory and in the channel's. With `off`, prompts there
    /// contain no memories either. The thread's first message counts as said in the channel.
    pub memory: Option<MemorySetting>,
    /// When Aizuchi posts unasked, if the judge names no moment.
    pub timing: Option<TimingSetting>,
}

/// Finds a setting that only a channel can have in the settings of one of its threads.
pub fn find_misplaced(tree: &ConfigNode) -> Option<ConfigProblem> {
    let channels = tree.find(&["channels"])?.node.entries().iter();
    let mut threads = channels.flat_map(|channel| {
        let threads = channel.node.find(&["thread_settings"]);
        let threads = threads.map_or(&[][..], |threads| threads.node.entries());
        threads.iter().map(move |thread| (&channel.key, thread))
    });
    let (channel, thread, misplaced) = threads.find_map(|(channel, thread)| {
        Some((channel, &thread.key, thread.node.find(&["announce"])?))
    })?;
    let [channel, thread] = [channel, thread].map(|key| displayable(key).unwrap_or("…".to_owned()));
    let sentence = format!(
        "channels.{channel}.thread_settings.{thread}.announce means nothing: Aizuchi says once that it joins a channel, and \
         nothing joins a thread; channels.{channel}.announce is the setting of the whole channel"
    );
    Some(ConfigProblem::for_file(Some(misplaced.key_location), sentence))
}

/// Names each field, so that a new one is not forgotten.
impl From<&ThreadConfig> for PlaceOverrides {
    fn from(thread: &ThreadConfig) -> Self {
        let ThreadConfig { min_confidence, language, persona, model, tools, memory, timing } =
            thread.clone();
        // Everything else is inherited from the channel.
        Self { min_confidence, language, persona, model, tools, memory, timing, ..Self::default() }
    }
}
