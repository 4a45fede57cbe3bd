//! The values of a memory's input.

use aizuchi_model::chat::MessageId;
use aizuchi_model::memory::{MemoryEntry, MemoryScope};
use aizuchi_model::persona::Persona;
use jiff::Timestamp;

use crate::prompt::PromptVerb;
use crate::prompt::memory_input::{
    EntryOwner, KnownEntry, MemoryInput, MemorySource, MessageBlock,
};
use crate::prompt::neutralize_text::to_inert_line;
use crate::prompt::view::from_context::{MessageRenderer, name_or_id};
use crate::prompt::view::{
    BlockView, ChannelEntriesView, ConversationView, EntryView, KeptEntryView, MemoryInputView,
    PersonaView,
};

impl MemoryInputView {
    pub fn new(
        persona: &Persona,
        input: &MemoryInput,
        now: Timestamp,
        renderer: &MessageRenderer<'_>,
    ) -> Self {
        let key = &input.key;
        let label = |thread: &MessageId| {
            let parent = input.messages().find(|message| message.id == *thread);
            renderer.speakers.thread_label(thread, parent)
        };
        let target_thread_ts = match &key.scope {
            MemoryScope::Workspace | MemoryScope::Channel(_) => None,
            MemoryScope::Thread(_, thread) => Some(label(thread)),
        };
        let channel_id = key.channel().map_or("", |channel| channel.as_str());
        let mut view = Self {
            verb: PromptVerb::Remember.name(),
            persona: PersonaView::new(persona),
            agent_system_prompt: None,
            current_time: renderer.speakers.format_time_with_zone(now),
            current_channel_name: name_or_id(&input.channel_name, channel_id),
            visibility: input.visibility,
            target_thread_ts,
            scope: key.scope.name(),
            memory_type: key.term.name(),
            max_tokens: input.max_tokens,
            existing_memory: Vec::new(),
            pinned: kept(&input.kept.pinned),
            removed: kept(&input.kept.removed),
            new_parts: Vec::new(),
            channel_entries: Vec::new(),
            conversations: Vec::new(),
        };
        for (number, source) in input.numbered() {
            match source {
                MemorySource::Messages(block) => {
                    let thread = block.conversation.thread.as_ref().map(label);
                    view.add_block(number, thread, block, renderer);
                }
                MemorySource::Entry(known) => view.add_entry(number, known),
            }
        }
        view
    }

    fn add_block(
        &mut self,
        number: usize,
        thread_ts: Option<String>,
        source: &MessageBlock,
        renderer: &MessageRenderer<'_>,
    ) {
        let messages =
            source.messages.iter().map(|message| renderer.target_message(message)).collect();
        let block = BlockView { number, messages };
        match self.conversations.last_mut().filter(|last| last.thread_ts == thread_ts) {
            Some(last) => last.blocks.push(block),
            None => self.conversations.push(ConversationView { thread_ts, blocks: vec![block] }),
        }
    }

    fn add_entry(&mut self, number: usize, known: &KnownEntry) {
        let date = known.entry.date.to_string();
        let entry = EntryView { number, date, text: to_inert_line(&known.entry.text) };
        let (channel, name) = match &known.owner {
            EntryOwner::SameMemory => return self.existing_memory.push(entry),
            EntryOwner::Part => return self.new_parts.push(entry),
            EntryOwner::Channel { id, name, .. } => (id.clone(), name),
        };
        match self.channel_entries.last_mut().filter(|last| last.channel == channel) {
            Some(last) => last.entries.push(entry),
            None => {
                let channel_name = name_or_id(name, channel.as_str());
                let entries = vec![entry];
                self.channel_entries.push(ChannelEntriesView { channel, channel_name, entries });
            }
        }
    }
}

fn kept(entries: &[MemoryEntry]) -> Vec<KeptEntryView> {
    let view = |entry: &MemoryEntry| KeptEntryView {
        date: entry.date.to_string(),
        text: to_inert_line(&entry.text),
    };
    entries.iter().map(view).collect()
}
