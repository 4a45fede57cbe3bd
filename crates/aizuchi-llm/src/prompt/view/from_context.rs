//! The values of a context.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use aizuchi_model::chat::attachment::AttachmentContent;
use aizuchi_model::chat::{Message, MessageId, is_blank};
use aizuchi_model::context::{ChannelMemory, Context, Intervention, Occasion, ThreadMemory};
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::MessageRef;
use aizuchi_model::persona::{Language, Persona};
use aizuchi_model::recall::RecalledMessage;
use aizuchi_model::rules::Mode;
use aizuchi_model::standing_order::{StandingOrder, StandingOrderScope};
use aizuchi_model::texts;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::prompt::attachment_text::with_files;
use crate::prompt::fence::{escape_quotes, fence};
use crate::prompt::neutralize_text::to_inert_line;
use crate::prompt::render_cache::RenderCache;
use crate::prompt::speakers::{NameCache, Speakers, strip_markup};
use crate::prompt::tokens::estimate;
use crate::prompt::view::floor::FloorView;
use crate::prompt::view::{
    ChannelView, ContextView, FencedText, InterventionView, MemoView, MessageView, PersonaView,
    StandingOrderView, ThreadMemoryView, ThreadView, UserView,
};
use crate::prompt::{PromptVerb, shorten};

/// The maximum share of the prompt (one divided by this) for a single message of the target, and of
/// other conversations.
pub const TARGET_MESSAGE_DIVISOR: u64 = 8;
const OTHER_MESSAGE_DIVISOR: u64 = 32;
/// The tokens of the number and the scope of an order, and the marks around it.
const STANDING_ORDER_TOKENS: u64 = 12;
/// The tokens around the label and the memory of a thread.
const THREAD_HEADING_TOKENS: u64 = 6;
/// More old messages than this distract from the conversation.
const MAX_RECALLED: usize = 3;
/// The maximum length of the judge's reason, in characters.
const MAX_REASON_CHARS: usize = 200;
/// The maximum length of what is shown of the message that opened a thread, in characters.
const MAX_PARENT_CHARS: usize = 60;

/// The maximum length of what is shown of a message outside the history that one replies to, in characters.
const MAX_REPLIED_TO_CHARS: usize = 300;

/// Renders messages as values.
pub struct MessageRenderer<'a> {
    pub speakers: &'a Speakers,
    pub language: Language,
    /// The maximum length of a whole prompt, in estimated tokens.
    pub max_tokens: u64,
    /// The cache of rendered messages.
    pub cache: Option<&'a RenderCache>,
}

impl MessageRenderer<'_> {
    pub fn target_message(&self, message: &Message) -> Arc<MessageView> {
        self.message(message, self.max_tokens / TARGET_MESSAGE_DIVISOR)
    }

    pub fn other_message(&self, message: &Message) -> Arc<MessageView> {
        self.message(message, self.max_tokens / OTHER_MESSAGE_DIVISOR)
    }

    /// Renders a message with at most `max_text_tokens` of text.
    pub fn message(&self, message: &Message, max_text_tokens: u64) -> Arc<MessageView> {
        let shown = with_files(message, self.language);
        let message: &Message = &shown;
        let name = self.speakers.name(&message.author);
        let render = || self.render(message, name.clone(), max_text_tokens);
        match self.cache {
            Some(cache) => {
                cache.get_or_render(message, &name, &self.speakers.zone, max_text_tokens, render)
            }
            None => render(),
        }
    }

    fn render(&self, message: &Message, name: Arc<str>, max_text_tokens: u64) -> Arc<MessageView> {
        let tokens = estimate(&message.text);
        let mut left_out_tokens = None;
        let (text, tokens) = if tokens <= max_text_tokens {
            let text = match fence(&message.text) {
                Cow::Borrowed(_) => message.text.clone(),
                Cow::Owned(text) => text.into(),
            };
            (text, tokens)
        } else {
            let text = shorten::shorten(&message.text, max_text_tokens, self.language);
            let kept = estimate(&text);
            left_out_tokens = Some(tokens.saturating_sub(kept));
            (text.into(), kept)
        };
        // The time takes 14 tokens with its asterisks, and a blank line follows.
        let tokens = tokens + estimate(&name) + 16;
        let message = MessageView {
            omitted: 0,
            timestamp: self.speakers.format_time(message.at),
            user: Arc::new(UserView { name }),
            text,
            message: Some(message.id.clone()),
            tokens,
            left_out_tokens,
            rendered: OnceLock::new(),
        };
        Arc::new(message)
    }
}

impl ContextView {
    pub fn new(
        verb: PromptVerb,
        persona: &Persona,
        context: &Context,
        now: Timestamp,
        mode: Mode,
        renderer: &MessageRenderer<'_>,
    ) -> Self {
        let history = &context.conversation_history;
        let target = context.target_messages();
        let target_messages: Vec<_> = target
            .iter()
            .enumerate()
            .map(|(index, message)| {
                let before = index.checked_sub(1).map(|before| &target[before].id);
                let parent = context.parent_shown(message).filter(|it| Some(&it.1) != before);
                let view = renderer.target_message(message);
                match parent {
                    Some(parent) => with_parent(view, message, &parent, context, renderer),
                    None => view,
                }
            })
            .collect();
        let target = &context.conversation.thread;
        let label =
            |thread: &MessageId| renderer.speakers.thread_label(thread, parent_of(thread, context));
        let mut view = Self {
            verb: verb.name(),
            persona: PersonaView::new(persona),
            agent_system_prompt: None,
            current_time: renderer.speakers.format_time_with_zone(now),
            weekday: renderer.speakers.weekday(now, persona.language),
            current_channel_name: name_or_id(&history.channel_name, history.channel_id.as_str()),
            channel_topic: escape_quotes(&to_inert_line(&context.channel_topic)),
            visibility: context.visibility,
            has_web: false,
            orders: Vec::new(),
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
            target_thread_ts: target.as_ref().map(label),
            target_thread_messages: target_messages,
            owed: Vec::new(),
            motive: None,
            occasion: None,
            about: None,
            mode: mode.name(),
            conversation_state: None,
            reactions: Vec::new(),
            intervention: None,
            floor: None,
            has_unread_files: false,
        };
        match verb {
            // The state depends only on the messages.
            PromptVerb::State => return view,
            PromptVerb::Remember | PromptVerb::Describe | PromptVerb::Transcribe => {}
            PromptVerb::Judge => view.add_judge_values(context, now, mode, renderer),
            PromptVerb::Reply => view.add_reply_values(context, renderer),
        }
        view.orders = context.standing_orders.iter().map(standing_order_view).collect();
        view.add_memories(context, renderer);
        view.add_background(context, renderer);
        if let Some(target) = target {
            let others = history.top_level_messages.iter().filter(|message| message.id != *target);
            view.top_level_messages =
                others.map(|message| renderer.other_message(message)).collect();
        }
        let others =
            history.thread_messages.iter().filter(|thread| Some(&thread.id) != target.as_ref());
        for thread in others {
            let mut label = label(&thread.id);
            if view.thread_messages.iter().any(|other| other.label == label) {
                label = format!("{label} ({})", to_inert_line(thread.id.as_str()));
            }
            let messages = thread.messages.iter().map(|message| renderer.other_message(message));
            view.thread_messages.push(ThreadView { label, messages: messages.collect() });
        }
        view
    }

    fn add_judge_values(
        &mut self,
        context: &Context,
        now: Timestamp,
        mode: Mode,
        renderer: &MessageRenderer<'_>,
    ) {
        self.floor = FloorView::from_context(context, renderer.speakers, now);
        if context.intent.as_ref().is_some_and(|intent| intent.occasion.is_some()) {
            self.add_occasion(context, renderer);
        }
        let status = &context.circumstances;
        let intervention = status.last_intervention.as_ref();
        let intervention = intervention.filter(|_| mode == Mode::Facilitator);
        self.intervention =
            intervention.map(|Intervention { at, messages_before: messages, .. }| {
                InterventionView {
                    minutes: now.duration_since(*at).as_mins().max(0),
                    lately: status.recent_interventions,
                    messages: messages
                        .iter()
                        .map(|message| renderer.other_message(message))
                        .collect(),
                }
            });
    }

    fn add_reply_values(&mut self, context: &Context, renderer: &MessageRenderer<'_>) {
        let label =
            |message: &Arc<Message>| escape_quotes(&renderer.speakers.message_label(message));
        self.owed = context.owed_messages().map(label).collect();
        self.has_unread_files = context.target_messages().iter().any(|message| {
            let mut contents = message.attachments.iter().map(|attachment| &attachment.content);
            contents.any(|content| !content.as_ref().is_some_and(AttachmentContent::is_known))
        });
        if let Some(intent) = &context.intent {
            self.conversation_state = intent.conversation_state.map(|state| state.name());
            // A model wrote this after reading chat text, so it is untrusted, too.
            let reason = to_inert_line(&intent.reason);
            self.motive = Some(escape_quotes(&first_chars(&reason, MAX_REASON_CHARS)));
            self.add_occasion(context, renderer);
        }
    }

    /// Adds why a conversation without new messages is looked at.
    fn add_occasion(&mut self, context: &Context, renderer: &MessageRenderer<'_>) {
        let Some(intent) = &context.intent else { return };
        self.occasion = intent.occasion.map(Occasion::name);
        let about = intent.about.as_ref().and_then(|id| context.target_message(id));
        self.about = about.map(|message| escape_quotes(&renderer.speakers.message_label(message)));
    }

    fn add_memories(&mut self, context: &Context, renderer: &MessageRenderer<'_>) {
        let fenced = |text: &Option<Arc<str>>| text.as_deref().and_then(memory_text);
        self.workspace_long_term_memory = fenced(&context.workspace_long_term_memory);
        self.workspace_short_term_memory = fenced(&context.workspace_short_term_memory);
        let channels = context.channel_memories.iter();
        self.channel_memories = channels.map(|channel| channel_view(channel, context)).collect();
        let threads = context.thread_memories.iter();
        let threads = threads.filter_map(|ThreadMemory { thread, memory }| {
            let parent = parent_of(thread, context);
            let mut label = renderer.speakers.thread_label(thread, parent);
            if let Some(parent) = parent {
                let text = escape_quotes(&to_inert_line(&parent.text));
                let text = first_chars(&text, MAX_PARENT_CHARS);
                label = format!("{label} {}", texts::prompts::quoted(renderer.language, &text));
            }
            let memory = memory_text(memory)?;
            let tokens = memory.tokens + estimate(&label) + THREAD_HEADING_TOKENS;
            let is_target = context.conversation.thread.as_ref() == Some(thread);
            Some(ThreadMemoryView { label, memory, is_target, tokens })
        });
        self.thread_memories = threads.collect();
    }

    /// Adds memos and relevant old messages.
    fn add_background(&mut self, context: &Context, renderer: &MessageRenderer<'_>) {
        let memo = |memo: &Memo| memo_view(memo, renderer.speakers);
        self.high_priority_memos = context.important_memos.iter().map(memo).collect();
        self.recent_memos = context.recent_memos.iter().map(memo).collect();
        let recalled = context.recalled_messages.iter().take(MAX_RECALLED);
        for RecalledMessage { channel_name, message, .. } in recalled {
            let mut line = renderer.other_message(message);
            let channel = &message.conversation.channel;
            if *channel != context.conversation.channel {
                let name = name_or_id(channel_name, channel.as_str());
                let line = Arc::make_mut(&mut line);
                line.timestamp = format!("{} #{}", line.timestamp, strip_markup(&name));
                // What is cached has no channel.
                line.rendered = OnceLock::new();
            }
            self.recalled.push(line);
        }
    }
}

/// Adds what a message replies or links to, if that is known.
fn with_parent(
    mut view: Arc<MessageView>,
    message: &Message,
    MessageRef(channel, id): &MessageRef,
    context: &Context,
    renderer: &MessageRenderer<'_>,
) -> Arc<MessageView> {
    let label = |message: &Arc<Message>| escape_quotes(&renderer.speakers.message_label(message));
    let is_parent = |it: &&Arc<Message>| it.id == *id && it.conversation.channel == *channel;
    let is_reply = context.parent_given(message).is_some();
    let is_in_target = context.target_messages().iter().any(|it| is_parent(&it));
    let Some(parent) = context.messages().find(is_parent) else { return view };
    let (language, label) = (renderer.language, label(parent));
    let text = escape_quotes(&to_inert_line(&parent.text));
    let text = first_chars(&text, MAX_REPLIED_TO_CHARS);
    let line = match is_reply {
        true if is_in_target => texts::prompts::in_reply_to(language, &label),
        true => texts::prompts::in_reply_to_text(language, &label, &text),
        false if *channel == context.conversation.channel => {
            texts::prompts::links_to(language, &label, &text)
        }
        false => texts::prompts::links_elsewhere(language, &label, &text),
    };
    let shown = Arc::make_mut(&mut view);
    shown.tokens += estimate(&line);
    shown.text = format!("{line}\n{}", shown.text).into();
    // What is cached has no such line.
    shown.rendered = OnceLock::new();
    view
}

fn standing_order_view(order: &StandingOrder) -> StandingOrderView {
    let text = escape_quotes(&to_inert_line(order.text.as_str()));
    let scope = match order.scope {
        StandingOrderScope::Workspace => "workspace",
        StandingOrderScope::Channel(_) => "channel",
        StandingOrderScope::Thread(..) => "thread",
    };
    StandingOrderView {
        number: order.number,
        scope,
        tokens: estimate(&text) + STANDING_ORDER_TOKENS,
        text,
    }
}

fn channel_view(channel: &ChannelMemory, context: &Context) -> ChannelView {
    let channel_name = name_or_id(&channel.channel_name, channel.channel_id.as_str());
    let fenced = |text: &Option<Arc<str>>| text.as_deref().and_then(memory_text);
    ChannelView {
        id: channel.channel_id.as_str().to_owned(),
        long_term_memory: fenced(&channel.long_term_memory),
        short_term_memory: fenced(&channel.short_term_memory),
        is_current: channel.channel_id == context.conversation.channel,
        tokens: estimate(&channel_name) + 3,
        channel_name,
    }
}

fn memo_view(memo: &Memo, speakers: &Speakers) -> MemoView {
    let (name, content) = (to_inert_line(&memo.name), to_inert_line(&memo.content));
    let tags: Vec<String> = memo.tags.iter().map(|tag| to_inert_line(tag)).collect();
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

fn parent_of<'a>(thread: &MessageId, context: &'a Context) -> Option<&'a Arc<Message>> {
    context.conversation_history.iter().find(|message| message.id == *thread)
}

/// The beginning of a text.
fn first_chars(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// The fenced text of a memory. `None` if it is empty.
fn memory_text(text: &str) -> Option<FencedText> {
    let fenced = FencedText::new(text);
    (!fenced.text.is_empty()).then_some(fenced)
}

/// The name on one line, or the id if the name has no visible text.
pub fn name_or_id(name: &str, id: &str) -> String {
    let name = to_inert_line(name);
    if is_blank(&name) { to_inert_line(id) } else { name }
}

/// The speakers of a prompt.
pub fn context_speakers(
    cache: Option<&NameCache>,
    persona: &Persona,
    context: &Context,
    zone: &TimeZone,
) -> Speakers {
    let recalled = &context.recalled_messages;
    let mut names = Cow::Borrowed(&context.names);
    for RecalledMessage { message, author_name: name, .. } in recalled {
        let names = names.to_mut();
        names.entry(message.author.id.clone()).or_insert_with(|| name.clone());
    }
    let messages = context.messages().map(|message| &**message);
    Speakers::cached_in(cache, persona, messages, &names, zone)
}
