//! The values that a context is printed with.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use crate::chat::{Message, to_single_line};
use crate::context::{ChannelMemory, Context, Intervention, ThreadMemory};
use crate::memo::Memo;
use crate::persona::{Language, Persona};
use crate::prompt::builder::{JudgeOptions, PromptOptions};
use crate::prompt::fence::{fence, has_visible_text};
use crate::prompt::render_cache::RenderCache;
use crate::prompt::speakers::Speakers;
use crate::prompt::tokens::estimate;
use crate::prompt::view::floor::FloorView;
use crate::prompt::view::{
    ChannelView, ContextView, FencedText, InterventionView, MemoView, MessageView, PersonaView,
    RecalledView, ThreadView, UserView,
};
use crate::prompt::{PromptVerb, shorten};
use crate::recall::RecalledMessage;
use crate::rules::Mode;

/// Of what a prompt may hold, a single line of the target takes at most this part, and of other talk
/// that one.
const TARGET_MESSAGE_DIVISOR: u64 = 8;
const OTHER_MESSAGE_DIVISOR: u64 = 32;
/// In letters.
const MAX_REASON_CHARS: usize = 200;

/// Turns lines into values, all in the same way.
pub struct MessageRenderer<'a> {
    pub speakers: &'a Speakers,
    pub language: Language,
    /// Estimated tokens of a whole prompt.
    pub max_tokens: u64,
    /// What was printed before, if somebody keeps it.
    pub cache: Option<&'a RenderCache>,
}

impl MessageRenderer<'_> {
    pub fn target_message(&self, message: &Message) -> Arc<MessageView> {
        self.message(message, self.max_tokens / TARGET_MESSAGE_DIVISOR)
    }

    pub fn other_message(&self, message: &Message) -> Arc<MessageView> {
        self.message(message, self.max_tokens / OTHER_MESSAGE_DIVISOR)
    }

    /// With at most so many tokens of text.
    pub fn message(&self, message: &Message, most: u64) -> Arc<MessageView> {
        let name = self.speakers.name(&message.author);
        let make = || self.render(message, name.clone(), most);
        match self.cache {
            Some(printed) => printed.get_or_render(message, &name, &self.speakers.zone, most, make),
            None => make(),
        }
    }

    fn render(&self, message: &Message, name: Arc<str>, most: u64) -> Arc<MessageView> {
        let tokens = estimate(&message.text);
        let mut left_out = None;
        let (text, tokens) = if tokens <= most {
            let text = match fence(&message.text) {
                Cow::Borrowed(_) => message.text.clone(),
                Cow::Owned(text) => text.into(),
            };
            (text, tokens)
        } else {
            let text = shorten::shorten(&message.text, most, self.language);
            let kept = estimate(&text);
            left_out = Some(tokens.saturating_sub(kept));
            (text.into(), kept)
        };
        // The time is 14 tokens with its stars, and a blank line follows.
        let tokens = tokens + estimate(&name) + 16;
        let line = MessageView {
            omitted: 0,
            timestamp: self.speakers.format_time(message.at),
            user: Arc::new(UserView { name }),
            text,
            message: Some(message.id.clone()),
            tokens,
            left_out_tokens: left_out,
            rendered: OnceLock::new(),
        };
        Arc::new(line)
    }
}

impl ContextView {
    pub fn new(
        verb: PromptVerb,
        persona: &Persona,
        context: &Context,
        scene: &PromptOptions,
        printer: &MessageRenderer<'_>,
    ) -> Self {
        let target = &context.conversation.thread;
        let history = &context.conversation_history;
        let target_lines: Vec<_> =
            context.target_messages().iter().map(|line| printer.target_message(line)).collect();
        let mut view = Self {
            verb: verb.name(),
            persona: PersonaView::new(persona),
            agent_system_prompt: None,
            current_time: printer.speakers.format_time_with_zone(scene.now),
            current_channel_name: name_or_id(&history.channel_name, history.channel_id.as_str()),
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
            target_thread_ts: target.as_ref().map(|thread| to_single_line(thread.as_str())),
            target_thread_messages: target_lines,
            owed: Vec::new(),
            motive: None,
            about: None,
            mode: scene.judge_options.mode.name(),
            conversation_state: None,
            reactions: Vec::new(),
            intervention: None,
            floor: None,
        };
        match verb {
            // Only the talk itself has a state.
            PromptVerb::State => return view,
            PromptVerb::Remember => {}
            PromptVerb::Judge => view.add_judge_values(context, scene, printer),
            PromptVerb::Reply => view.add_reply_values(context, printer),
        }
        view.add_memories(context);
        view.add_background(context, printer);
        if let Some(target) = target {
            let others = history.top_level_messages.iter().filter(|line| line.id != *target);
            view.top_level_messages = others.map(|line| printer.other_message(line)).collect();
        }
        let others =
            history.thread_messages.iter().filter(|thread| Some(&thread.id) != target.as_ref());
        let others = others.map(|thread| ThreadView {
            id: to_single_line(thread.id.as_str()),
            messages: thread.messages.iter().map(|line| printer.other_message(line)).collect(),
        });
        view.thread_messages = others.collect();
        view
    }

    fn add_judge_values(
        &mut self,
        context: &Context,
        scene: &PromptOptions,
        printer: &MessageRenderer<'_>,
    ) {
        let JudgeOptions { mode, known_state: named, reactions } = &scene.judge_options;
        self.conversation_state = named.map(|state| state.name());
        self.reactions.clone_from(reactions);
        self.floor = FloorView::from_context(context, printer.speakers, scene.now);
        let circumstances = &context.channel_status;
        let intervention = circumstances.last_intervention.as_ref();
        let intervention = intervention.filter(|_| *mode == Mode::Facilitator);
        self.intervention =
            intervention.map(|Intervention { at, messages_before: lines }| InterventionView {
                minutes: scene.now.duration_since(*at).as_mins().max(0),
                lately: circumstances.recent_interventions,
                messages: lines.iter().map(|line| printer.other_message(line)).collect(),
            });
    }

    fn add_reply_values(&mut self, context: &Context, printer: &MessageRenderer<'_>) {
        let stamp = |line: &Arc<Message>| escape_quotes(&printer.speakers.message_label(line));
        let owed = context.owed.iter().filter_map(|id| context.target_message(id));
        self.owed = owed.map(stamp).collect();
        if let Some(motive) = &context.intent {
            self.conversation_state = motive.conversation_state.map(|state| state.name());
            // A model wrote it after reading the talk, so it is no more than data either.
            let reason = to_single_line(&motive.reason);
            self.motive = Some(match reason.char_indices().nth(MAX_REASON_CHARS) {
                Some((end, _)) => escape_quotes(&format!("{}…", &reason[..end])),
                None => escape_quotes(&reason),
            });
            let about = motive.about.as_ref().and_then(|id| context.target_message(id));
            self.about = about.map(stamp);
        }
    }

    fn add_memories(&mut self, context: &Context) {
        let passage = |text: &Option<Arc<str>>| text.as_deref().and_then(memory_text);
        self.workspace_long_term_memory = passage(&context.workspace_long_term_memory);
        self.workspace_short_term_memory = passage(&context.workspace_short_term_memory);
        let channels = context.channel_memories.iter();
        self.channel_memories = channels.map(|channel| channel_view(channel, context)).collect();
        let threads = context.thread_memories.iter();
        let threads = threads.filter_map(|ThreadMemory { thread, memory }| {
            Some((to_single_line(thread.as_str()), memory_text(memory)?))
        });
        self.thread_memories = threads.collect();
    }

    /// What was noted down, and old lines that fit.
    fn add_background(&mut self, context: &Context, printer: &MessageRenderer<'_>) {
        let memo = |memo: &Memo| memo_view(memo, printer.speakers);
        self.high_priority_memos = context.important_memos.iter().map(memo).collect();
        self.recent_memos = context.recent_memos.iter().map(memo).collect();
        for RecalledMessage { channel_name, message, .. } in &context.recalled_messages {
            let channel = message.conversation.channel.clone();
            let channel_name = name_or_id(channel_name, channel.as_str());
            let messages = vec![printer.other_message(message)];
            self.recalled.push(RecalledView { channel, channel_name, messages });
        }
    }
}

fn channel_view(channel: &ChannelMemory, context: &Context) -> ChannelView {
    let channel_name = name_or_id(&channel.channel_name, channel.channel_id.as_str());
    let passage = |text: &Option<Arc<str>>| text.as_deref().and_then(memory_text);
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
    let (name, content) = (to_single_line(&memo.name), to_single_line(&memo.content));
    let tags: Vec<String> = memo.tags.iter().map(|tag| to_single_line(tag)).collect();
    let tokens = estimate(&name) + estimate(&content) + estimate(&tags.join(", ")) + 30;
    MemoView {
        name,
        priority: memo.priority,
        tags,
        updated: speakers.format_day(memo.updated),
        content,
        has_detail: memo.detail.is_some(),
        tokens,
    }
}

/// A memory that says something.
fn memory_text(text: &str) -> Option<FencedText> {
    let passage = FencedText::new(text);
    (!passage.text.is_empty()).then_some(passage)
}

/// On one line; whoever has no name that can be seen goes by the id.
pub fn name_or_id(name: &str, id: &str) -> String {
    let name = to_single_line(name);
    if has_visible_text(&name) { name } else { to_single_line(id) }
}

/// What can stand between quotation marks: none within it ends them.
pub fn escape_quotes(text: &str) -> String {
    let inner = |letter: char| match letter {
        '“' | '”' | '„' | '‟' | '"' | '＂' => '\'',
        '「' | '｢' => '『',
        '」' | '｣' => '』',
        letter => letter,
    };
    text.chars().map(inner).collect()
}

/// The people that a prompt knows.
pub fn context_speakers(persona: &Persona, context: &Context, scene: &PromptOptions) -> Speakers {
    let recalled = &context.recalled_messages;
    let mut names = Cow::Borrowed(&context.names);
    for RecalledMessage { message, author_name: name, .. } in recalled {
        let names = names.to_mut();
        names.entry(message.author.id.clone()).or_insert_with(|| name.clone());
    }
    let lines = context.messages().map(|line| &**line);
    Speakers::new(persona, lines, &names, &scene.zone)
}
