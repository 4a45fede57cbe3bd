//! The values that a context is printed with.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use crate::chat::{Message, one_line};
use crate::context::{ChannelMemory, Context, Intervention, ThreadMemory};
use crate::memo::Memo;
use crate::persona::{Language, Persona};
use crate::prompt::fence::{fenced, is_seen};
use crate::prompt::printed::Printed;
use crate::prompt::prompts::{Judging, Scene};
use crate::prompt::speakers::Speakers;
use crate::prompt::tokens::estimate;
use crate::prompt::view::floor::FloorView;
use crate::prompt::view::{
    ChannelView, InterventionView, LineView, MemoView, Passage, PersonaView, RecalledView,
    TalkView, ThreadView, UserView,
};
use crate::prompt::{Verb, shorten};
use crate::recall::Recalled;
use crate::rules::Mode;

/// Of what a prompt may hold, a single line of the target takes at most this part, and of other talk
/// that one.
const TARGET_LINE_PART: u64 = 8;
const OTHER_LINE_PART: u64 = 32;
/// In letters.
const LONGEST_MOTIVE: usize = 200;

/// Turns lines into values, all in the same way.
pub struct Printer<'a> {
    pub speakers: &'a Speakers,
    pub language: Language,
    /// Estimated tokens of a whole prompt.
    pub max_tokens: u64,
    /// What was printed before, if somebody keeps it.
    pub printed: Option<&'a Printed>,
}

impl Printer<'_> {
    pub fn target_line(&self, message: &Message) -> Arc<LineView> {
        self.line(message, self.max_tokens / TARGET_LINE_PART)
    }

    pub fn other_line(&self, message: &Message) -> Arc<LineView> {
        self.line(message, self.max_tokens / OTHER_LINE_PART)
    }

    /// With at most so many tokens of text.
    pub fn line(&self, message: &Message, most: u64) -> Arc<LineView> {
        let name = self.speakers.name(&message.author);
        let make = || self.make_line(message, name.clone(), most);
        match self.printed {
            Some(printed) => printed.line(message, &name, &self.speakers.zone, most, make),
            None => make(),
        }
    }

    fn make_line(&self, message: &Message, name: Arc<str>, most: u64) -> Arc<LineView> {
        let tokens = estimate(&message.text);
        let mut left_out = None;
        let (text, tokens) = if tokens <= most {
            let text = match fenced(&message.text) {
                Cow::Borrowed(_) => message.text.clone(),
                Cow::Owned(text) => text.into(),
            };
            (text, tokens)
        } else {
            let text = shorten::shortened(&message.text, most, self.language);
            let kept = estimate(&text);
            left_out = Some(tokens.saturating_sub(kept));
            (text.into(), kept)
        };
        // The time is 14 tokens with its stars, and a blank line follows.
        let tokens = tokens + estimate(&name) + 16;
        let line = LineView {
            omitted: 0,
            timestamp: self.speakers.time(message.at),
            user: Arc::new(UserView { name }),
            text,
            line: Some(message.id.clone()),
            tokens,
            left_out,
            printed: OnceLock::new(),
        };
        Arc::new(line)
    }
}

impl TalkView {
    pub fn of(
        verb: Verb,
        persona: &Persona,
        context: &Context,
        scene: &Scene,
        printer: &Printer<'_>,
    ) -> Self {
        let target = &context.conversation.thread;
        let history = &context.conversation_history;
        let target_lines: Vec<_> =
            context.target().iter().map(|line| printer.target_line(line)).collect();
        let mut view = Self {
            verb: verb.name(),
            persona: PersonaView::of(persona),
            agent_system_prompt: None,
            current_time: printer.speakers.time_and_zone(scene.now),
            current_channel_name: named(&history.channel_name, history.channel_id.as_str()),
            workspace_long_term_memory: None,
            workspace_short_term_memory: None,
            channel_memories: Vec::new(),
            has_channel_memories: false,
            thread_memories: Vec::new(),
            high_priority_memos: Vec::new(),
            recent_memos: Vec::new(),
            recalled: Vec::new(),
            top_level_messages: Vec::new(),
            thread_messages: Vec::new(),
            target_thread_ts: target.as_ref().map(|thread| one_line(thread.as_str())),
            target_thread_messages: target_lines,
            owed: Vec::new(),
            motive: None,
            about: None,
            mode: scene.judging.mode.name(),
            conversation_state: None,
            reactions: Vec::new(),
            intervention: None,
            floor: None,
        };
        match verb {
            // Only the talk itself has a state.
            Verb::State => return view,
            Verb::Remember => {}
            Verb::Judge => view.ask_for_a_judgment(context, scene, printer),
            Verb::Reply => view.ask_for_a_reply(context, printer),
        }
        view.add_memories(context);
        view.add_background(context, printer);
        if let Some(target) = target {
            let others = history.top_level_messages.iter().filter(|line| line.id != *target);
            view.top_level_messages = others.map(|line| printer.other_line(line)).collect();
        }
        let others =
            history.thread_messages.iter().filter(|thread| Some(&thread.id) != target.as_ref());
        let others = others.map(|thread| ThreadView {
            id: one_line(thread.id.as_str()),
            messages: thread.messages.iter().map(|line| printer.other_line(line)).collect(),
        });
        view.thread_messages = others.collect();
        view
    }

    fn ask_for_a_judgment(&mut self, context: &Context, scene: &Scene, printer: &Printer<'_>) {
        let Judging { mode, named, reactions } = &scene.judging;
        self.conversation_state = named.map(|state| state.name());
        self.reactions.clone_from(reactions);
        self.floor = FloorView::of(context, printer.speakers, scene.now);
        let circumstances = &context.circumstances;
        let intervention = circumstances.intervention.as_ref();
        let intervention = intervention.filter(|_| *mode == Mode::Facilitator);
        self.intervention = intervention.map(|Intervention { at, lines }| InterventionView {
            minutes: scene.now.duration_since(*at).as_mins().max(0),
            lately: circumstances.interventions_lately,
            messages: lines.iter().map(|line| printer.other_line(line)).collect(),
        });
    }

    fn ask_for_a_reply(&mut self, context: &Context, printer: &Printer<'_>) {
        let stamp = |line: &Arc<Message>| quotable(&printer.speakers.stamp(line));
        let owed = context.owed.iter().filter_map(|id| context.message(id));
        self.owed = owed.map(stamp).collect();
        if let Some(motive) = &context.motive {
            self.conversation_state = motive.conversation_state.map(|state| state.name());
            // A model wrote it after reading the talk, so it is no more than data either.
            let reason = one_line(&motive.reason);
            self.motive = Some(match reason.char_indices().nth(LONGEST_MOTIVE) {
                Some((end, _)) => quotable(&format!("{}…", &reason[..end])),
                None => quotable(&reason),
            });
            let about = motive.about.as_ref().and_then(|id| context.message(id));
            self.about = about.map(stamp);
        }
    }

    fn add_memories(&mut self, context: &Context) {
        let passage = |text: &Option<Arc<str>>| text.as_deref().and_then(remembered);
        self.workspace_long_term_memory = passage(&context.workspace_long_term_memory);
        self.workspace_short_term_memory = passage(&context.workspace_short_term_memory);
        let channels = context.channel_memories.iter();
        self.channel_memories = channels.map(|channel| channel_view(channel, context)).collect();
        let threads = context.thread_memories.iter();
        let threads = threads.filter_map(|ThreadMemory { thread, memory }| {
            Some((one_line(thread.as_str()), remembered(memory)?))
        });
        self.thread_memories = threads.collect();
    }

    /// What was noted down, and old lines that fit.
    fn add_background(&mut self, context: &Context, printer: &Printer<'_>) {
        let memo = |memo: &Memo| memo_view(memo, printer.speakers);
        self.high_priority_memos = context.important_memos.iter().map(memo).collect();
        self.recent_memos = context.recent_memos.iter().map(memo).collect();
        for Recalled { channel_name, message, .. } in &context.recalled {
            let channel = message.conversation.channel.clone();
            let channel_name = named(channel_name, channel.as_str());
            let messages = vec![printer.other_line(message)];
            self.recalled.push(RecalledView { channel, channel_name, messages });
        }
    }
}

fn channel_view(channel: &ChannelMemory, context: &Context) -> ChannelView {
    let channel_name = named(&channel.channel_name, channel.channel_id.as_str());
    let passage = |text: &Option<Arc<str>>| text.as_deref().and_then(remembered);
    ChannelView {
        id: channel.channel_id.as_str().to_owned(),
        long_term_memory: passage(&channel.long_term_memory),
        short_term_memory: passage(&channel.short_term_memory),
        is_current: channel.channel_id == context.conversation.channel,
        tokens: estimate(&channel_name) + 3,
        channel_name,
    }
}

fn memo_view(memo: &Memo, speakers: &Speakers) -> MemoView {
    let (name, content) = (one_line(&memo.name), one_line(&memo.content));
    let tags: Vec<String> = memo.tags.iter().map(|tag| one_line(tag)).collect();
    let tokens = estimate(&name) + estimate(&content) + estimate(&tags.join(", ")) + 30;
    MemoView {
        name,
        priority: memo.priority,
        tags,
        updated: speakers.day(memo.updated),
        content,
        has_detail: memo.detail.is_some(),
        tokens,
    }
}

/// A memory that says something.
fn remembered(text: &str) -> Option<Passage> {
    let passage = Passage::fenced(text);
    (!passage.text.is_empty()).then_some(passage)
}

/// On one line; whoever has no name that can be seen goes by the id.
pub fn named(name: &str, id: &str) -> String {
    let name = one_line(name);
    if is_seen(&name) { name } else { one_line(id) }
}

/// What can stand between quotation marks: none within it ends them.
pub fn quotable(text: &str) -> String {
    let inner = |letter: char| match letter {
        '“' | '”' | '„' | '‟' | '"' | '＂' => '\'',
        '「' | '｢' => '『',
        '」' | '｣' => '』',
        letter => letter,
    };
    text.chars().map(inner).collect()
}

/// The people that a prompt knows.
pub fn speakers(persona: &Persona, context: &Context, scene: &Scene) -> Speakers {
    let recalled = &context.recalled;
    let mut names = Cow::Borrowed(&context.names);
    for Recalled { message, name, .. } in recalled {
        let names = names.to_mut();
        names.entry(message.author.id.clone()).or_insert_with(|| name.clone());
    }
    let lines = context.lines().map(|line| &**line);
    Speakers::of(persona, lines, &names, &scene.zone)
}
