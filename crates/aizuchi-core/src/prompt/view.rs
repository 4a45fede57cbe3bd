//! What the templates are given: plain values with everything fenced already, so that a template
//! only has to print them. Values that the seeds' own templates use have their names.

pub mod floor;
pub mod from_context;
pub mod from_memory_input;

use std::sync::{Arc, OnceLock};

use minijinja::value::{Enumerator, Object, Value, serializing_for_value};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::chat::{ChannelId, MessageId};
use crate::persona::Persona;
use crate::prompt::fence::fence;
use crate::prompt::tokens::{CountedText, estimate};
use crate::prompt::view::floor::FloorView;

/// The values for one prompt.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum PromptView {
    /// For judging, replying and naming a state.
    Context(Box<ContextView>),
    /// For remembering.
    MemoryInput(Box<MemoryInputView>),
}

#[derive(Clone, Debug, Serialize)]
pub struct ContextView {
    pub verb: &'static str,
    pub persona: PersonaView,
    /// The persona's prompt holds it already; here for templates that ask.
    pub agent_system_prompt: Option<String>,
    pub current_time: String,
    pub current_channel_name: String,
    pub workspace_long_term_memory: Option<FencedText>,
    pub workspace_short_term_memory: Option<FencedText>,
    #[serde(serialize_with = "channels_by_id")]
    pub channel_memories: Vec<ChannelView>,
    pub has_channel_memories: bool,
    #[serde(serialize_with = "memories_by_thread")]
    pub thread_memories: Vec<(String, FencedText)>,
    pub high_priority_memos: Vec<MemoView>,
    pub recent_memos: Vec<MemoView>,
    pub recalled: Vec<RecalledView>,
    /// The target, where that is the top level; else without the target's parent, which stands at the
    /// head of the target.
    #[serde(serialize_with = "messages")]
    pub top_level_messages: Vec<Arc<MessageView>>,
    /// Without the target.
    #[serde(serialize_with = "messages_by_thread")]
    pub thread_messages: Vec<ThreadView>,
    pub target_thread_ts: Option<String>,
    /// The target, where that is a thread.
    #[serde(serialize_with = "messages")]
    pub target_thread_messages: Vec<Arc<MessageView>>,
    /// The lines that wait for an answer, by time and name.
    pub owed: Vec<String>,
    /// Why the judge wanted to join in, and which line it would answer.
    pub motive: Option<String>,
    pub about: Option<String>,
    /// How it takes part in the channel: a word of the setting `mode`.
    pub mode: &'static str,
    /// What another model, or for a reply the judge, has named: a word of
    /// [`crate::context::state::ConversationState`].
    pub conversation_state: Option<&'static str>,
    /// What it may react with.
    pub reactions: Vec<String>,
    /// Of a facilitator: the last time that it spoke here unasked.
    pub intervention: Option<InterventionView>,
    /// For a judge: whose floor it is.
    pub floor: Option<FloorView>,
}

#[derive(Clone, Debug, Serialize)]
pub struct InterventionView {
    /// So long ago.
    pub minutes: i64,
    /// So often within the last half hour.
    pub lately: u64,
    /// What was said before it, and what it said.
    #[serde(serialize_with = "messages")]
    pub messages: Vec<Arc<MessageView>>,
}

#[derive(Clone, Debug, Serialize)]
pub struct MemoryInputView {
    pub verb: &'static str,
    pub persona: PersonaView,
    pub agent_system_prompt: Option<String>,
    pub current_time: String,
    /// Empty for the workspace's memory.
    pub current_channel_name: String,
    pub target_thread_ts: Option<String>,
    pub scope: &'static str,
    pub memory_type: &'static str,
    pub max_tokens: u32,
    /// What the memory holds so far.
    pub existing_memory: Vec<EntryView>,
    /// What the parts hold that the memory is made from, where it was too long for one question.
    pub new_parts: Vec<EntryView>,
    /// What channels' memories hold.
    pub channel_entries: Vec<ChannelEntriesView>,
    pub conversations: Vec<ConversationView>,
}

#[derive(Clone, Debug, Serialize)]
pub struct PersonaView {
    pub name: String,
    pub system_prompt: String,
}

/// Text of some lines, as it is printed.
#[derive(Clone, Debug)]
pub struct FencedText {
    pub text: String,
    pub tokens: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct ChannelView {
    #[serde(skip)]
    pub id: String,
    pub channel_name: String,
    pub long_term_memory: Option<FencedText>,
    pub short_term_memory: Option<FencedText>,
    #[serde(skip)]
    pub is_current: bool,
    /// Of its name alone.
    #[serde(skip)]
    pub tokens: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct MemoView {
    pub name: String,
    pub priority: u8,
    pub tags: Vec<String>,
    pub updated: String,
    pub content: String,
    pub has_detail: bool,
    #[serde(skip)]
    pub tokens: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct RecalledView {
    /// Two channels may have the same name.
    #[serde(skip)]
    pub channel: ChannelId,
    pub channel_name: String,
    #[serde(serialize_with = "messages")]
    pub messages: Vec<Arc<MessageView>>,
}

#[derive(Clone, Debug)]
pub struct ThreadView {
    pub id: String,
    pub messages: Vec<Arc<MessageView>>,
}

/// One line of talk, or the place where lines were left out. There are many of them, so templates
/// read them where they are.
#[derive(Clone, Debug)]
pub struct MessageView {
    /// How many lines were left out here; 0 for a line.
    pub omitted: usize,
    pub timestamp: String,
    pub user: Arc<UserView>,
    pub text: Arc<str>,
    pub message: Option<MessageId>,
    pub tokens: u64,
    /// How many tokens of its text were left out, where it was too long.
    pub left_out_tokens: Option<u64>,
    /// As the built-in templates of its language print it, once they have.
    pub rendered: OnceLock<CountedText>,
}

#[derive(Clone, Debug, Serialize)]
pub struct UserView {
    pub name: Arc<str>,
}

#[derive(Clone, Debug, Serialize)]
pub struct EntryView {
    pub number: usize,
    pub date: String,
    pub text: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct ChannelEntriesView {
    #[serde(skip)]
    pub channel: ChannelId,
    pub channel_name: String,
    pub entries: Vec<EntryView>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ConversationView {
    pub thread_ts: Option<String>,
    pub blocks: Vec<BlockView>,
}

#[derive(Clone, Debug, Serialize)]
pub struct BlockView {
    pub number: usize,
    #[serde(serialize_with = "messages")]
    pub messages: Vec<Arc<MessageView>>,
}

impl ContextView {
    /// Every line of it. Some stand in more than one place.
    pub fn messages(&self) -> impl Iterator<Item = &MessageView> + Clone {
        let threads = self.thread_messages.iter().flat_map(|thread| &thread.messages);
        let recalled = self.recalled.iter().flat_map(|recalled| &recalled.messages);
        let earlier = self.intervention.iter().flat_map(|earlier| &earlier.messages);
        let own = self.target_thread_messages.iter().chain(&self.top_level_messages);
        own.chain(threads).chain(recalled).chain(earlier).map(|line| &**line)
    }
}

impl MemoryInputView {
    /// Every line of it.
    pub fn messages(&self) -> impl Iterator<Item = &MessageView> + Clone {
        let blocks = self.conversations.iter().flat_map(|conversation| &conversation.blocks);
        blocks.flat_map(|block| &block.messages).map(|line| &**line)
    }
}

impl PersonaView {
    pub fn new(persona: &Persona) -> Self {
        Self { name: persona.name.clone(), system_prompt: persona.system_prompt.trim().to_owned() }
    }
}

impl FencedText {
    /// Text of somebody or something else, with a fence around it.
    pub fn new(text: &str) -> Self {
        let text = fence(text.trim()).into_owned();
        Self { tokens: estimate(&text), text }
    }
}

impl MessageView {
    /// The place where so many lines were left out.
    pub fn omission(omitted: usize) -> Self {
        let user = Arc::new(UserView { name: "".into() });
        Self {
            omitted,
            timestamp: String::new(),
            user,
            text: "".into(),
            message: None,
            tokens: 8,
            left_out_tokens: None,
            rendered: OnceLock::new(),
        }
    }
}

impl Serialize for MessageView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = serializer.serialize_map(Some(MESSAGE_FIELDS.len()))?;
        line.serialize_entry("omitted", &self.omitted)?;
        line.serialize_entry("timestamp", &self.timestamp)?;
        line.serialize_entry("user", &*self.user)?;
        line.serialize_entry("text", &self.text)?;
        line.end()
    }
}

const MESSAGE_FIELDS: &[&str] = &["omitted", "timestamp", "user", "text"];

impl Object for MessageView {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        match key {
            "omitted" => Some(Value::from(self.omitted)),
            "timestamp" => Some(Value::from(self.timestamp.as_str())),
            "user" => Some(Value::from_dyn_object(self.user.clone())),
            "text" => Some(Value::from(self.text.clone())),
            _ => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Str(MESSAGE_FIELDS)
    }
}

impl Object for UserView {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        (key == "name").then(|| Value::from(self.name.clone()))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Str(&["name"])
    }
}

impl Serialize for FencedText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// Templates read them where they are; nobody else has to know.
struct MessageViews<'a>(&'a [Arc<MessageView>]);

impl Serialize for MessageViews<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializing_for_value() {
            let lines = self.0.iter().map(|line| Value::from_dyn_object(line.clone()));
            return Value::from_iter(lines).serialize(serializer);
        }
        serializer.collect_seq(self.0.iter().map(|line| &**line))
    }
}

fn messages<S: Serializer>(lines: &[Arc<MessageView>], serializer: S) -> Result<S::Ok, S::Error> {
    MessageViews(lines).serialize(serializer)
}

fn channels_by_id<S: Serializer>(
    channels: &[ChannelView],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(channels.iter().map(|channel| (&channel.id, channel)))
}

fn memories_by_thread<S: Serializer>(
    memories: &[(String, FencedText)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(memories.iter().map(|(thread, memory)| (thread, memory)))
}

fn messages_by_thread<S: Serializer>(
    threads: &[ThreadView],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(threads.len()))?;
    for thread in threads {
        map.serialize_entry(&thread.id, &MessageViews(&thread.messages))?;
    }
    map.end()
}
