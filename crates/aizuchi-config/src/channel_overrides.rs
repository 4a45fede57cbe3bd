//! Overrides for workspaces, channels and threads: the persona's prompt and the tools, which can be written in more
//! than one way, and the memory.

use std::fmt;

use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_model::rules::{FirstWordRule, FollowUpRule, MemoryRule, PersonaRule, ToolRule};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserializer, SeqAccess};

use crate::values::{BoundedInteger, ClockTime, RecurringTime};

/// A text that is added to the persona's prompt in a channel, or a section that replaces it.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(inline, untagged)]
pub enum ChannelPersona {
    Addition(String),
    Replacement(ReplacedPersona),
}

text_or_section! {
    ChannelPersona: Addition or Replacement(ReplacedPersona),
    "a text that is added to the persona's prompt, or a section with the key system_prompt"
}

/// Another persona, with the same name.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplacedPersona {
    /// Replaces `persona.system_prompt` there.
    pub system_prompt: String,
}

/// Whether replies may use tools in a channel, or which.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(inline, untagged)]
pub enum ChannelTools {
    Switch(bool),
    Only(Vec<ToolName>),
}

/// The name of a tool: one of this program, or `SERVER__TOOL` for one of an MCP server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("minLength" = 1))]
pub struct ToolName(pub String);

choices! {
    /// The questions that are come back to.
    FollowUpSetting for FollowUpRule {
        /// None.
        Off = Off,
        /// Aizuchi's own.
        Own = Own,
        /// Aizuchi's own, and those that it left to people.
        All = All,
    }
}

/// When Aizuchi may begin a conversation.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SpeaksFirst {
    /// After this many days in which nobody has written. If omitted: silence is no occasion.
    pub after_days: Option<BoundedInteger<1, 365>>,
    /// The time of day at which Aizuchi looks whether the channel has been silent for so long.
    pub at: ClockTime,
    /// The times at which Aizuchi looks anyway, such as `every Monday at 9:00` or `every 24 December at 18:00`.
    pub on: Vec<RecurringTime>,
}

impl SpeaksFirst {
    pub fn rule(&self) -> FirstWordRule {
        FirstWordRule {
            after_days: self.after_days.as_ref().map(|days| days.0 as i64),
            at: self.at.0,
            on: self.on.iter().map(|time| time.0.clone()).collect(),
        }
    }
}

choices! {
    /// Whether a workspace, a channel or a thread is remembered.
    MemorySetting for MemoryRule {
        /// Memories are kept, and shown in prompts.
        On = On,
        /// Memories are neither kept nor shown in prompts.
        Off = Off,
    }
}

impl ChannelPersona {
    pub fn rule(&self) -> PersonaRule {
        match self {
            ChannelPersona::Addition(text) => PersonaRule::Addition(text.as_str().into()),
            ChannelPersona::Replacement(persona) => {
                PersonaRule::Replacement(persona.system_prompt.as_str().into())
            }
        }
    }
}

impl ChannelTools {
    /// The tools that the list names. A switch names none.
    pub fn names(&self) -> &[ToolName] {
        match self {
            ChannelTools::Switch(_) => &[],
            ChannelTools::Only(names) => names,
        }
    }

    pub fn rule(&self) -> ToolRule {
        match self {
            ChannelTools::Switch(true) => ToolRule::All,
            ChannelTools::Switch(false) => ToolRule::Only(Vec::new()),
            ChannelTools::Only(names) => {
                ToolRule::Only(names.iter().map(|name| name.0.clone()).collect())
            }
        }
    }
}

impl TryFrom<String> for ToolName {
    type Error = String;

    fn try_from(value: String) -> Result<Self, String> {
        let names: Vec<&str> = ToolSettings::names().collect();
        let name = Self(value);
        match names.contains(&name.0.as_str()) || name.server().is_some() {
            true => Ok(name),
            false => Err(format!(
                "it must be the name of a tool: {}, or SERVER__TOOL for one of an MCP server",
                names.join(", ")
            )),
        }
    }
}

impl ToolName {
    /// The MCP server that provides the tool.
    pub fn server(&self) -> Option<&str> {
        let (server, tool) = self.0.split_once("__")?;
        (!server.is_empty() && !tool.is_empty()).then_some(server)
    }
}

// Implemented by hand, because serde's `untagged` has no useful error message.
impl<'de> Deserialize<'de> for ChannelTools {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = ChannelTools;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, or a list of the tools that may be used")
            }

            fn visit_bool<E: de::Error>(self, is_on: bool) -> Result<ChannelTools, E> {
                Ok(ChannelTools::Switch(is_on))
            }

            /// Accepts the other words for true and false, as all boolean settings do.
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ChannelTools, E> {
                match text.to_lowercase().as_str() {
                    "true" | "yes" | "on" => self.visit_bool(true),
                    "false" | "no" | "off" => self.visit_bool(false),
                    _ => Err(E::invalid_type(de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, names: A) -> Result<ChannelTools, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(names)).map(ChannelTools::Only)
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}
