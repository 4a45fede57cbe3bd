//! The values for templates. All text is already fenced, so a template only has to print it. The names are part of
//! the interface to operators' templates.

pub mod floor;
pub mod from_context;
pub mod from_memory_input;

use std::sync::{Arc, OnceLock};

use aizuchi_model::chat::{ChannelId, MessageId, Visibility};
use aizuchi_model::persona::Persona;
use minijinja::value::{Enumerator, Object, Value, serializing_for_value};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

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
    /// The persona's prompt, for templates that print it themselves.
    pub agent_system_prompt: Option<String>,
    pub current_time: String,
    pub weekday: &'static str,
    /// In a direct message, the name of the other user.
    pub current_channel_name: String,
    /// What its members say that the channel is for; empty if they say nothing.
    pub channel_topic: String,
    /// Who can read the channel: `public`, `private` or `direct`.
    pub visibility: Visibility,
    /// Whether a reply may look something up on the web.
    pub has_web: bool,
    /// The standing orders that apply here.
    pub orders: Vec<StandingOrderView>,
    pub workspace_long_term_memory: Option<FencedText>,
    pub workspace_short_term_memory: Option<FencedText>,
    #[serde(serialize_with = "channels_by_id")]
    pub channel_memories: Vec<ChannelView>,
    pub has_channel_memories: bool,
    #[serde(serialize_with = "memories_by_thread")]
    pub thread_memories: Vec<ThreadMemoryView>,
    pub high_priority_memos: Vec<MemoView>,
    pub recent_memos: Vec<MemoView>,
    /// The most relevant first. Behind the time of one from another channel stands that channel's name.
    #[serde(serialize_with = "messages")]
    pub recalled: Vec<Arc<MessageView>>,
    /// The target conversation, if it is the top level. Otherwise the top level without the target's parent, which
    /// heads the target.
    #[serde(serialize_with = "messages")]
    pub top_level_messages: Vec<Arc<MessageView>>,
    /// All threads except the target.
    #[serde(serialize_with = "messages_by_thread")]
    pub thread_messages: Vec<ThreadView>,
    pub target_thread_ts: Option<String>,
    /// The target conversation, if it is a thread.
    #[serde(serialize_with = "messages")]
    pub target_thread_messages: Vec<Arc<MessageView>>,
    /// The messages that are owed an answer, by time and author.
    pub owed: Vec<String>,
    /// Why the judge wanted to join in, and which message it wanted to answer.
    pub motive: Option<String>,
    pub about: Option<String>,
    /// Why a conversation without new messages is looked at, as [`aizuchi_model::context::Occasion`] spells it.
    pub occasion: Option<&'static str>,
    /// The channel's mode, as the setting `mode` spells it.
    pub mode: &'static str,
    /// The state that another model (for a reply: the judge) has named, as
    /// [`aizuchi_model::context::state::ConversationState`] spells it.
    pub conversation_state: Option<&'static str>,
    /// The emoji that the judge may react with.
    pub reactions: Vec<String>,
    /// The facilitator's last unsolicited post here.
    pub intervention: Option<InterventionView>,
    /// For a judge: who is talking to whom.
    pub floor: Option<FloorView>,
    /// For a reply: whether the target has files whose content is unknown.
    pub has_unread_files: bool,
}

/// A standing order. Its text is on one line, without quotation marks that could end the quotation.
#[derive(Clone, Debug, Serialize)]
pub struct StandingOrderView {
    pub number: i64,
    /// `thread`, `channel` or `workspace`.
    pub scope: &'static str,
    pub text: String,
    #[serde(skip)]
    pub tokens: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct InterventionView {
    /// How long ago the intervention was.
    pub minutes: i64,
    /// The number of interventions in the last half hour.
    pub lately: u64,
    /// The messages before the intervention, and the intervention itself.
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
    pub visibility: Visibility,
    pub target_thread_ts: Option<String>,
    pub scope: &'static str,
    pub memory_type: &'static str,
    pub max_tokens: u32,
    /// The current entries of the memory.
    pub existing_memory: Vec<EntryView>,
    /// The entries that users pinned, and those that they removed.
    pub pinned: Vec<KeptEntryView>,
    pub removed: Vec<KeptEntryView>,
    /// The entries of the memory's parts, if it is made in parts.
    pub new_parts: Vec<EntryView>,
    /// The entries of channels' memories.
    pub channel_entries: Vec<ChannelEntriesView>,
    pub conversations: Vec<ConversationView>,
}

/// An entry that users pinned or removed. Nothing is made from it, so it has no number.
#[derive(Clone, Debug, Serialize)]
pub struct KeptEntryView {
    pub date: String,
    pub text: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct PersonaView {
    pub name: String,
    pub system_prompt: String,
}

/// Fenced text of one or more lines.
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
    pub is_current: bool,
    /// The tokens of the channel's name alone.
    #[serde(skip)]
    pub tokens: u64,
}

#[derive(Clone, Debug)]
pub struct ThreadMemoryView {
    pub label: String,
    pub memory: FencedText,
    pub is_target: bool,
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

#[derive(Clone, Debug)]
pub struct ThreadView {
    pub label: String,
    pub messages: Vec<Arc<MessageView>>,
}

/// One message, or a note that messages were left out. There are many of them, so templates access them by reference
/// instead of a serialized copy.
#[derive(Clone, Debug)]
pub struct MessageView {
    /// The number of messages that were left out here; 0 for a message.
    pub omitted: usize,
    pub timestamp: String,
    pub user: Arc<UserView>,
    pub text: Arc<str>,
    pub message: Option<MessageId>,
    pub tokens: u64,
    /// The number of tokens that were cut from the text, if it was too long.
    pub left_out_tokens: Option<u64>,
    /// The message as rendered by the built-in templates, once it has been rendered.
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
    /// Every message in the view. Some appear more than once.
    pub fn messages(&self) -> impl Iterator<Item = &MessageView> + Clone {
        let threads = self.thread_messages.iter().flat_map(|thread| &thread.messages);
        let intervention = self.intervention.iter().flat_map(|intervention| &intervention.messages);
        let own = self.target_thread_messages.iter().chain(&self.top_level_messages);
        own.chain(threads).chain(&self.recalled).chain(intervention).map(|message| &**message)
    }
}

impl MemoryInputView {
    /// Every message in the view.
    pub fn messages(&self) -> impl Iterator<Item = &MessageView> + Clone {
        let blocks = self.conversations.iter().flat_map(|conversation| &conversation.blocks);
        blocks.flat_map(|block| &block.messages).map(|message| &**message)
    }
}

impl PersonaView {
    pub fn new(persona: &Persona) -> Self {
        Self { name: persona.name.clone(), system_prompt: persona.system_prompt.trim().to_owned() }
    }
}

impl FencedText {
    /// Fences a text by a user or a model.
    pub fn new(text: &str) -> Self {
        let text = fence(text.trim()).into_owned();
        Self { tokens: estimate(&text), text }
    }
}

impl MessageView {
    /// A note that `omitted` messages were left out.
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
        let mut message = serializer.serialize_map(Some(MESSAGE_FIELDS.len()))?;
        message.serialize_entry("omitted", &self.omitted)?;
        message.serialize_entry("timestamp", &self.timestamp)?;
        message.serialize_entry("user", &*self.user)?;
        message.serialize_entry("text", &self.text)?;
        message.end()
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

/// Templates get objects by reference; any other serializer gets plain values.
struct MessageViews<'a>(&'a [Arc<MessageView>]);

impl Serialize for MessageViews<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializing_for_value() {
            let messages = self.0.iter().map(|message| Value::from_dyn_object(message.clone()));
            return Value::from_iter(messages).serialize(serializer);
        }
        serializer.collect_seq(self.0.iter().map(|message| &**message))
    }
}

fn messages<S: Serializer>(
    messages: &[Arc<MessageView>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    MessageViews(messages).serialize(serializer)
}

fn channels_by_id<S: Serializer>(
    channels: &[ChannelView],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(channels.iter().map(|channel| (&channel.id, channel)))
}

fn memories_by_thread<S: Serializer>(
    memories: &[ThreadMemoryView],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(memories.iter().map(|thread| (&thread.label, &thread.memory)))
}

fn messages_by_thread<S: Serializer>(
    threads: &[ThreadView],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(threads.len()))?;
    for thread in threads {
        map.serialize_entry(&thread.label, &MessageViews(&thread.messages))?;
    }
    map.end()
}
