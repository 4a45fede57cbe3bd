//! The values that the material of a memory is printed with.

use crate::chat::one_line;
use crate::memory::Scope;
use crate::persona::Persona;
use crate::prompt::Verb;
use crate::prompt::material::{Known, Material, Owner, Source, Talk};
use crate::prompt::prompts::Scene;
use crate::prompt::view::from_context::{Printer, named};
use crate::prompt::view::{
    BlockView, ChannelEntriesView, ConversationView, EntryView, MaterialView, PersonaView,
};

impl MaterialView {
    pub fn of(
        persona: &Persona,
        material: &Material,
        scene: &Scene,
        printer: &Printer<'_>,
    ) -> Self {
        let key = &material.key;
        let target_thread_ts = match &key.scope {
            Scope::Workspace | Scope::Channel(_) => None,
            Scope::Thread(_, thread) => Some(one_line(thread.as_str())),
        };
        let channel_id = key.channel().map_or("", |channel| channel.as_str());
        let mut view = Self {
            verb: Verb::Remember.name(),
            persona: PersonaView::of(persona),
            agent_system_prompt: None,
            current_time: printer.speakers.time_and_zone(scene.now),
            current_channel_name: named(&material.channel_name, channel_id),
            target_thread_ts,
            scope: key.scope.name(),
            memory_type: key.term.name(),
            max_tokens: material.max_tokens,
            existing_memory: Vec::new(),
            new_parts: Vec::new(),
            channel_entries: Vec::new(),
            conversations: Vec::new(),
        };
        for (number, source) in material.numbered() {
            match source {
                Source::Talk(talk) => view.add_talk(number, talk, printer),
                Source::Known(known) => view.add_known(number, known),
            }
        }
        view
    }

    fn add_talk(&mut self, number: usize, talk: &Talk, printer: &Printer<'_>) {
        let thread_ts = talk.conversation.thread.as_ref().map(|thread| one_line(thread.as_str()));
        let messages = talk.lines.iter().map(|line| printer.target_line(line)).collect();
        let block = BlockView { number, messages };
        match self.conversations.last_mut().filter(|last| last.thread_ts == thread_ts) {
            Some(last) => last.blocks.push(block),
            None => self.conversations.push(ConversationView { thread_ts, blocks: vec![block] }),
        }
    }

    fn add_known(&mut self, number: usize, known: &Known) {
        let date = known.entry.date.to_string();
        let entry = EntryView { number, date, text: one_line(&known.entry.text) };
        let (channel, name) = match &known.owner {
            Owner::Itself => return self.existing_memory.push(entry),
            Owner::Part => return self.new_parts.push(entry),
            Owner::Channel { id, name, .. } => (id.clone(), name),
        };
        match self.channel_entries.last_mut().filter(|last| last.channel == channel) {
            Some(last) => last.entries.push(entry),
            None => {
                let channel_name = named(name, channel.as_str());
                let entries = vec![entry];
                self.channel_entries.push(ChannelEntriesView { channel, channel_name, entries });
            }
        }
    }
}
