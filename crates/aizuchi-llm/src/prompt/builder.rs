//! Builds the prompts of one language: renders the context, fits it to the budget and fills in the
//! templates.

pub mod sample;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, ConversationId, Message, MessageId};
use aizuchi_model::context::Context;
use aizuchi_model::context::channel_messages::ChannelMessages;
use aizuchi_model::context::state::ConversationState;
use aizuchi_model::memory::MemoryScope;
use aizuchi_model::persona::{Language, Persona};
use aizuchi_model::rules::Mode;
use aizuchi_model::texts;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::prompt::budget::{self, PromptBudget, SECTIONS, TrimmedSection};
use crate::prompt::memory_input::MemoryInput;
use crate::prompt::picture::Picture;
use crate::prompt::recording::AudioRecording;
use crate::prompt::render_cache::{RenderCache, RenderCaches};
use crate::prompt::speakers::Speakers;
use crate::prompt::templates::Templates;
use crate::prompt::tokens::{estimate, estimate_with_known};
use crate::prompt::tool::{self, ToolSpec};
use crate::prompt::view::floor::{BASE_TOKENS, FloorView};
use crate::prompt::view::from_context::{MessageRenderer, context_speakers};
use crate::prompt::view::{ContextView, MemoryInputView, MessageView, PromptView};
use crate::prompt::{Prompt, PromptVerb};

/// The limit for a state's name: the longest one, and the decoration that models put around it.
const STATE_MAX_TOKENS: u32 = 20;

/// The limit for a description of a picture, including any text in it.
const DESCRIPTION_MAX_TOKENS: u32 = 500;

/// The tokens of headings that are printed only if something follows them.
const HEADINGS_TOKENS: u64 = 120;

/// The tokens of the sentence about unread files.
const UNREAD_FILES_TOKENS: u64 = 120;

/// The maximum share (one divided by this) of the conversation analysis in what the instructions leave.
const FLOOR_DIVISOR: u64 = 4;

/// The maximum share (one divided by this) of the standing orders in what the instructions leave.
const ORDERS_DIVISOR: u64 = 4;

/// Every budget leaves at least this many tokens for messages.
const MIN_MESSAGE_TOKENS: u64 = 600;

/// Builds prompts from the templates of one language.
#[derive(Debug)]
pub struct PromptBuilder {
    templates: Templates,
    language: Language,
    /// The tokens of each verb's template without any context.
    instruction_tokens: BTreeMap<PromptVerb, u64>,
    /// Only a replay caches rendered messages. A running program would retain text that has since been edited,
    /// deleted or forgotten.
    render_caches: Option<RenderCaches>,
}

/// What a prompt depends on besides its context.
#[derive(Clone, Debug)]
pub struct PromptOptions {
    pub now: Timestamp,
    pub zone: TimeZone,
    pub budget: PromptBudget,
    /// How many tokens the model counts for each estimated token.
    pub token_factor: f64,
    /// Whether a reply here may look something up on the web.
    pub has_web: bool,
    pub judge_options: JudgeOptions,
}

/// What a judge may choose from.
#[derive(Clone, Debug, Default)]
pub struct JudgeOptions {
    pub mode: Mode,
    /// The conversation's state, if another model has named it; otherwise the judge names it.
    pub known_state: Option<ConversationState>,
    /// The emoji that the judge may react with.
    pub reactions: Vec<String>,
    /// The longest rest of a conversation before it is judged. The built-in rules use it to tell which questions are
    /// old.
    pub longest_rest: SignedDuration,
}

impl PromptOptions {
    /// Returns options with defaults for everything but the time.
    pub fn new(now: Timestamp) -> Self {
        let (budget, judge_options) = (PromptBudget::default(), JudgeOptions::default());
        Self { now, zone: TimeZone::UTC, budget, token_factor: 1.0, has_web: false, judge_options }
    }
}

impl PromptBuilder {
    /// Loads the templates of a language and the operator's overrides. The error names the file and
    /// the line.
    pub fn load(language: Language, prompts_dir: Option<&Path>) -> anyhow::Result<Self> {
        let samples = sample::sample_views(language);
        let templates = Templates::load(language, prompts_dir, &samples)?;
        let instructions = PromptVerb::ALL.map(|verb| {
            let text = templates.render(verb, &sample::empty_view(verb, language));
            (verb, estimate(&text))
        });
        Ok(Self {
            templates,
            language,
            instruction_tokens: instructions.into(),
            render_caches: None,
        })
    }

    /// Caches rendered messages for consecutive prompts that share them.
    pub fn keeping_rendered_messages(self) -> Self {
        Self { render_caches: Some(RenderCaches::default()), ..self }
    }

    /// The smallest `max_tokens` of a budget that leaves tokens for messages next to the fixed parts.
    pub fn min_budget_tokens(
        &self,
        verb: PromptVerb,
        persona: &Persona,
        tools: &[ToolSpec],
    ) -> u64 {
        let needed = self.fixed_tokens(verb, persona.system_prompt.trim()) + MIN_MESSAGE_TOKENS;
        let needed = needed + if verb == PromptVerb::Judge { BASE_TOKENS } else { 0 };
        match tools {
            [] => needed,
            tools => {
                PromptBudget::min_tokens_with_tools(needed, tool::spec_tokens(tools, self.language))
            }
        }
    }

    /// The tokens of the parts that every prompt contains.
    fn fixed_tokens(&self, verb: PromptVerb, system_prompt: &str) -> u64 {
        self.instruction_tokens[&verb] + estimate(system_prompt) + HEADINGS_TOKENS
    }

    pub fn judge(
        &self,
        persona: &Arc<Persona>,
        context: &Arc<Context>,
        options: &PromptOptions,
    ) -> Prompt {
        self.conversation_prompt(PromptVerb::Judge, persona, context, options)
    }

    pub fn reply(
        &self,
        persona: &Arc<Persona>,
        context: &Arc<Context>,
        options: &PromptOptions,
    ) -> Prompt {
        self.conversation_prompt(PromptVerb::Reply, persona, context, options)
    }

    pub fn state(
        &self,
        persona: &Arc<Persona>,
        context: &Arc<Context>,
        options: &PromptOptions,
    ) -> Prompt {
        let prompt = self.conversation_prompt(PromptVerb::State, persona, context, options);
        Prompt { max_tokens: Some(STATE_MAX_TOKENS), ..prompt }
    }

    /// Asks what a picture in a message shows. No chat text is sent along.
    pub fn describe(
        &self,
        persona: &Arc<Persona>,
        context: &Context,
        message: &Arc<Message>,
        picture: Picture,
        options: &PromptOptions,
    ) -> Prompt {
        let request = texts::prompts::describe_picture(self.language);
        let text = match persona.system_prompt.trim() {
            "" => request.to_owned(),
            addition => format!("{addition}\n\n{request}"),
        };
        let prompt = file_prompt(PromptVerb::Describe, text, persona, context, message, options);
        let max_tokens = Some(DESCRIPTION_MAX_TOKENS);
        Prompt { max_tokens, picture: Some(picture), ..prompt }
    }

    /// Asks what is said in a recording in a message. No chat text is sent along, only the operator's hint.
    pub fn transcribe(
        &self,
        persona: &Arc<Persona>,
        context: &Context,
        message: &Arc<Message>,
        recording: AudioRecording,
        options: &PromptOptions,
    ) -> Prompt {
        let text = persona.system_prompt.trim().to_owned();
        let prompt = file_prompt(PromptVerb::Transcribe, text, persona, context, message, options);
        let max_tokens = Some(recording.max_transcript_tokens());
        Prompt { max_tokens, recording: Some(recording), ..prompt }
    }

    /// Ignores the budget of `options`: the caller decides how many sources to gather.
    pub fn remember(
        &self,
        persona: &Arc<Persona>,
        input: &Arc<MemoryInput>,
        options: &PromptOptions,
    ) -> Prompt {
        let speakers = Arc::new(memory_input_speakers(persona, input, options));
        let renderer = self.renderer(&speakers, options, None);
        let view = MemoryInputView::new(persona, input, options.now, &renderer);
        let mut trimmed = Vec::new();
        record_shortened(view.messages(), &mut trimmed);
        let text =
            self.templates.render(PromptVerb::Remember, &PromptView::MemoryInput(Box::new(view)));
        let tokens = estimate(&text);
        let instructions =
            self.instruction_tokens[&PromptVerb::Remember] + estimate(&persona.system_prompt);
        let instructions = instructions.min(tokens);
        Prompt {
            verb: PromptVerb::Remember,
            text,
            context: Arc::new(empty_context(input)),
            judge_options: JudgeOptions::default(),
            memory_input: Some(input.clone()),
            now: options.now.to_zoned(options.zone.clone()),
            persona: persona.clone(),
            speakers,
            // The JSON around the entries takes additional tokens: dates, source numbers, quotation marks.
            max_tokens: Some(input.max_tokens.saturating_mul(2).saturating_add(100)),
            tokens,
            sections: vec![("instructions", instructions), ("material", tokens - instructions)],
            trimmed,
            tools: Vec::new(),
            tool_rounds: Vec::new(),
            picture: None,
            recording: None,
        }
    }

    fn conversation_prompt(
        &self,
        verb: PromptVerb,
        persona: &Arc<Persona>,
        context: &Arc<Context>,
        options: &PromptOptions,
    ) -> Prompt {
        let channel = &context.conversation.channel;
        let cache = self.render_caches.as_ref().map(|caches| caches.for_channel(channel));
        let names = cache.map(|cache| &cache.names);
        let speakers = Arc::new(context_speakers(names, persona, context, &options.zone));
        let renderer = self.renderer(&speakers, options, cache);
        let mut view = full_view(verb, persona, context, options, &renderer);
        let mut trimmed = Vec::new();
        self.fit_to_budget(&mut view, verb, context, options, &renderer, &mut trimmed);
        record_shortened(view.messages(), &mut trimmed);
        let mut sections: Vec<(&str, u64)> =
            SECTIONS.iter().map(|section| (section.name(), section.tokens(&view))).collect();
        sections.push(("target", budget::target::message_tokens(&view.target_thread_messages)));
        finalize_view(&mut view);
        let (text, tokens) = self.render(verb, view, cache);
        let rest: u64 = sections.iter().map(|(_, tokens)| tokens).sum();
        sections.insert(0, ("instructions", tokens.saturating_sub(rest)));
        sections.retain(|(_, tokens)| *tokens > 0);
        Prompt {
            verb,
            text,
            context: context.clone(),
            judge_options: options.judge_options.clone(),
            memory_input: None,
            now: options.now.to_zoned(options.zone.clone()),
            persona: persona.clone(),
            speakers,
            max_tokens: None,
            tokens,
            sections,
            trimmed,
            tools: Vec::new(),
            tool_rounds: Vec::new(),
            picture: None,
            recording: None,
        }
    }

    /// Renders the text and estimates its tokens.
    fn render(
        &self,
        verb: PromptVerb,
        view: ContextView,
        cache: Option<&RenderCache>,
    ) -> (String, u64) {
        let is_thread = view.target_thread_ts.is_some();
        let messages =
            if is_thread { &view.target_thread_messages } else { &view.top_level_messages };
        // Most of the text is the target, which comes last.
        let messages = messages.clone();
        let text = self.templates.render(verb, &PromptView::Context(Box::new(view)));
        let tokens = estimate_with_known(
            &text,
            messages.iter().filter_map(|message| message.rendered.get()),
            cache.map(|cache| &cache.beginning),
        );
        (text, tokens)
    }

    /// Fits a view to the budget. The target gets at least three fifths of what the instructions leave, plus what
    /// the other sections do not need.
    fn fit_to_budget(
        &self,
        view: &mut ContextView,
        verb: PromptVerb,
        context: &Context,
        options: &PromptOptions,
        renderer: &MessageRenderer<'_>,
        trimmed: &mut Vec<TrimmedSection>,
    ) {
        let budget = options.budget.to_estimated(options.token_factor);
        let task = view.owed.iter().chain(&view.motive).chain(&view.about);
        let task: u64 = task.map(|message| estimate(message) + 2).sum();
        let intervention = view.intervention.iter().flat_map(|intervention| &intervention.messages);
        let task = task + intervention.map(|message| message.tokens).sum::<u64>();
        let task = task + if view.has_unread_files { UNREAD_FILES_TOKENS } else { 0 };
        let fixed = self.fixed_tokens(verb, &view.persona.system_prompt) + task;
        let orders_room = budget.max_tokens.saturating_sub(fixed) / ORDERS_DIVISOR;
        budget::fit_standing_orders(&mut view.orders, orders_room, trimmed);
        let fixed = fixed + budget::standing_order_tokens(&view.orders);
        if let Some(floor) = &mut view.floor {
            floor.fit(budget.max_tokens.saturating_sub(fixed) / FLOOR_DIVISOR);
        }
        let fixed = fixed + view.floor.as_ref().map_or(0, FloorView::tokens);
        let available = budget.max_tokens.saturating_sub(fixed);
        budget::fit_sections(view, &budget, trimmed);
        let others = |view: &ContextView| SECTIONS.iter().map(|section| section.tokens(view)).sum();
        let needed: u64 = others(view);
        let target_room = (available * 3 / 5).max(available.saturating_sub(needed));
        let messages = std::mem::take(&mut view.target_thread_messages);
        let messages =
            budget::target::fit_target(messages, target_room, context, renderer, trimmed);
        let excess = (needed + budget::target::message_tokens(&messages)).saturating_sub(available);
        view.target_thread_messages = messages;
        budget::free_tokens(view, excess, &budget, trimmed);
    }

    fn renderer<'a>(
        &'a self,
        speakers: &'a Speakers,
        options: &PromptOptions,
        cache: Option<&'a RenderCache>,
    ) -> MessageRenderer<'a> {
        let max_tokens = options.budget.to_estimated(options.token_factor).max_tokens;
        MessageRenderer { speakers, language: self.language, max_tokens, cache }
    }
}

pub fn context_view(
    verb: PromptVerb,
    language: Language,
    persona: &Persona,
    context: &Context,
    options: &PromptOptions,
) -> PromptView {
    let speakers = context_speakers(None, persona, context, &options.zone);
    let max_tokens = options.budget.max_tokens;
    let renderer = MessageRenderer { speakers: &speakers, language, max_tokens, cache: None };
    let mut view = full_view(verb, persona, context, options, &renderer);
    finalize_view(&mut view);
    PromptView::Context(Box::new(view))
}

pub fn memory_input_view(
    language: Language,
    persona: &Persona,
    input: &MemoryInput,
    options: &PromptOptions,
) -> PromptView {
    let speakers = memory_input_speakers(persona, input, options);
    let max_tokens = options.budget.max_tokens;
    let renderer = MessageRenderer { speakers: &speakers, language, max_tokens, cache: None };
    PromptView::MemoryInput(Box::new(MemoryInputView::new(persona, input, options.now, &renderer)))
}

/// The view of a context before it is fitted to the budget.
fn full_view(
    verb: PromptVerb,
    persona: &Persona,
    context: &Context,
    options: &PromptOptions,
    renderer: &MessageRenderer<'_>,
) -> ContextView {
    let JudgeOptions { mode, known_state, reactions, .. } = &options.judge_options;
    let mut view = ContextView::new(verb, persona, context, options.now, *mode, renderer);
    view.has_web = options.has_web;
    if verb == PromptVerb::Judge {
        view.conversation_state = known_state.map(ConversationState::name);
        view.reactions.clone_from(reactions);
    }
    view
}

fn memory_input_speakers(
    persona: &Persona,
    input: &MemoryInput,
    options: &PromptOptions,
) -> Speakers {
    let messages = input.messages().map(|message| &**message);
    Speakers::new(persona, messages, &input.names, &options.zone)
}

/// Sets the values that depend on what was left out.
fn finalize_view(view: &mut ContextView) {
    view.has_channel_memories = view
        .channel_memories
        .iter()
        .any(|channel| channel.long_term_memory.is_some() || channel.short_term_memory.is_some());
    if view.target_thread_ts.is_none() {
        view.top_level_messages = std::mem::take(&mut view.target_thread_messages);
    }
}

/// Records the messages that are shown only in a shortened form.
fn record_shortened<'a>(
    messages: impl Iterator<Item = &'a MessageView> + Clone,
    trimmed: &mut Vec<TrimmedSection>,
) {
    let mut shortened: BTreeMap<&MessageId, u64> = BTreeMap::new();
    for message in messages.clone() {
        if let (Some(id), Some(left_out)) = (&message.message, message.left_out_tokens) {
            let min = shortened.entry(id).or_insert(left_out);
            *min = left_out.min(*min);
        }
    }
    if shortened.is_empty() {
        return;
    }
    let full = messages.filter(|message| message.left_out_tokens.is_none());
    for id in full.filter_map(|message| message.message.as_ref()) {
        shortened.remove(id);
    }
    let (count, tokens) = (shortened.len(), shortened.values().sum());
    budget::record_trimmed(trimmed, TrimmedSection { section: "long_lines", count, tokens });
}

/// Builds a prompt about a file of a message. Its context contains only that message.
fn file_prompt(
    verb: PromptVerb,
    text: String,
    persona: &Arc<Persona>,
    context: &Context,
    message: &Arc<Message>,
    options: &PromptOptions,
) -> Prompt {
    let history = &context.conversation_history;
    let (channel, name) = (history.channel_id.clone(), history.channel_name.clone());
    let alone = ChannelMessages::from_messages(channel, name, vec![message.clone()]);
    let alone = Context::new(context.conversation.clone(), alone);
    let names = BTreeMap::new();
    let speakers = Speakers::new(persona, std::iter::once(&**message), &names, &options.zone);
    Prompt {
        verb,
        tokens: estimate(&text),
        text,
        context: Arc::new(Context { revision: context.revision, ..alone }),
        judge_options: JudgeOptions::default(),
        memory_input: None,
        now: options.now.to_zoned(options.zone.clone()),
        persona: persona.clone(),
        speakers: Arc::new(speakers),
        max_tokens: None,
        sections: Vec::new(),
        trimmed: Vec::new(),
        tools: Vec::new(),
        tool_rounds: Vec::new(),
        picture: None,
        recording: None,
    }
}

/// An empty context for the conversation that a memory belongs to.
fn empty_context(input: &MemoryInput) -> Context {
    let thread = match &input.key.scope {
        MemoryScope::Workspace | MemoryScope::Channel(_) => None,
        MemoryScope::Thread(_, thread) => Some(thread.clone()),
    };
    let channel = input.key.channel().cloned().unwrap_or_else(|| ChannelId::new(""));
    let workspace = input.key.workspace.clone();
    let conversation = ConversationId { workspace, channel: channel.clone(), thread };
    let history = ChannelMessages::new(channel, input.channel_name.clone());
    Context { revision: input.seen_revision, ..Context::new(conversation, history) }
}
