//! The prompts of one language: what is known is printed, made to fit, and put into the words.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::chat::{ChannelId, ConversationId, MessageId};
use crate::context::Context;
use crate::context::channel_messages::ChannelMessages;
use crate::context::state::ConversationState;
use crate::memory::MemoryScope;
use crate::persona::{Language, Persona};
use crate::prompt::budget::{self, PromptBudget, SECTIONS, TrimmedSection};
use crate::prompt::memory_input::MemoryInput;
use crate::prompt::render_cache::RenderCache;
use crate::prompt::speakers::Speakers;
use crate::prompt::templates::Templates;
use crate::prompt::tokens::{estimate, estimate_with_known};
use crate::prompt::tool::{self, ToolSpec};
use crate::prompt::view::floor::{BASE_TOKENS, FloorView};
use crate::prompt::view::from_context::{MessageRenderer, context_speakers};
use crate::prompt::view::{ContextView, MemoryInputView, MessageView, PromptView, RecalledView};
use crate::prompt::{Prompt, PromptVerb, sample};
use crate::rules::Mode;

/// The longest name of a state, and what models put around it (seed 004).
const STATE_MAX_TOKENS: u32 = 20;

/// Headings that are there only where something stands below them.
const HEADINGS_TOKENS: u64 = 120;

/// Of what the instructions leave, facts about the talk take at most this part.
const FLOOR_DIVISOR: u64 = 4;

/// Whatever is asked, so many tokens of it are for what was said.
const MIN_MESSAGE_TOKENS: u64 = 600;

/// The words for one language, ready to be used.
#[derive(Debug)]
pub struct PromptBuilder {
    templates: Templates,
    language: Language,
    /// What each verb's own words come to.
    instruction_tokens: BTreeMap<PromptVerb, u64>,
    render_cache: RenderCache,
}

/// When and where a prompt is for, besides what is known.
#[derive(Clone, Debug)]
pub struct PromptOptions {
    pub now: Timestamp,
    pub zone: TimeZone,
    pub budget: PromptBudget,
    /// How many tokens the model counts for one that is estimated.
    pub token_factor: f64,
    pub judge_options: JudgeOptions,
}

/// How a judge is to judge.
#[derive(Clone, Debug, Default)]
pub struct JudgeOptions {
    pub mode: Mode,
    /// The state that the conversation is in, where another model has named it; else the judge does.
    pub known_state: Option<ConversationState>,
    /// What it may react with.
    pub reactions: Vec<String>,
}

impl PromptOptions {
    /// With the defaults of everything else.
    pub fn new(now: Timestamp) -> Self {
        let (budget, judging) = (PromptBudget::default(), JudgeOptions::default());
        Self { now, zone: TimeZone::UTC, budget, token_factor: 1.0, judge_options: judging }
    }
}

impl PromptBuilder {
    /// The prompts of a language, and whatever files in a folder override. Fails with a sentence.
    pub fn load(language: Language, prompts_dir: Option<&Path>) -> anyhow::Result<Self> {
        let templates = Templates::load(language, prompts_dir)?;
        let instructions = PromptVerb::ALL.map(|verb| {
            let text = templates.render(verb, &sample::empty_view(verb, language));
            (verb, estimate(&text))
        });
        Ok(Self {
            templates,
            language,
            instruction_tokens: instructions.into(),
            render_cache: RenderCache::default(),
        })
    }

    /// The least `max_tokens` of a budget that leave room for what was said, beside all that is always there.
    pub fn min_budget_tokens(
        &self,
        verb: PromptVerb,
        persona: &Persona,
        tools: &[ToolSpec],
    ) -> u64 {
        let words = self.fixed_tokens(verb, persona.system_prompt.trim()) + MIN_MESSAGE_TOKENS;
        let words = words + if verb == PromptVerb::Judge { BASE_TOKENS } else { 0 };
        match tools {
            [] => words,
            tools => {
                PromptBudget::min_tokens_with_tools(words, tool::spec_tokens(tools, self.language))
            }
        }
    }

    /// What is always there, whatever was said.
    fn fixed_tokens(&self, verb: PromptVerb, system_prompt: &str) -> u64 {
        self.instruction_tokens[&verb] + estimate(system_prompt) + HEADINGS_TOKENS
    }

    pub fn judge(
        &self,
        persona: &Arc<Persona>,
        context: &Arc<Context>,
        scene: &PromptOptions,
    ) -> Prompt {
        self.conversation_prompt(PromptVerb::Judge, persona, context, scene)
    }

    pub fn reply(
        &self,
        persona: &Arc<Persona>,
        context: &Arc<Context>,
        scene: &PromptOptions,
    ) -> Prompt {
        self.conversation_prompt(PromptVerb::Reply, persona, context, scene)
    }

    pub fn state(
        &self,
        persona: &Arc<Persona>,
        context: &Arc<Context>,
        scene: &PromptOptions,
    ) -> Prompt {
        let prompt = self.conversation_prompt(PromptVerb::State, persona, context, scene);
        Prompt { max_tokens: Some(STATE_MAX_TOKENS), ..prompt }
    }

    /// The scene's budget is not for this: whoever gathers material knows how much of it to gather.
    pub fn remember(
        &self,
        persona: &Arc<Persona>,
        material: &Arc<MemoryInput>,
        scene: &PromptOptions,
    ) -> Prompt {
        let speakers = Arc::new(memory_input_speakers(persona, material, scene));
        let printer = self.renderer(&speakers, scene);
        let view = MemoryInputView::new(persona, material, scene, &printer);
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
            context: Arc::new(empty_context(material)),
            judge_options: JudgeOptions::default(),
            memory_input: Some(material.clone()),
            persona: persona.clone(),
            speakers,
            // Dates and numbers of sources come on top.
            max_tokens: Some(material.max_tokens.saturating_mul(2).saturating_add(100)),
            tokens,
            sections: vec![("instructions", instructions), ("material", tokens - instructions)],
            trimmed,
            tools: Vec::new(),
            tool_rounds: Vec::new(),
        }
    }

    fn conversation_prompt(
        &self,
        verb: PromptVerb,
        persona: &Arc<Persona>,
        context: &Arc<Context>,
        scene: &PromptOptions,
    ) -> Prompt {
        let speakers = Arc::new(context_speakers(persona, context, scene));
        let printer = self.renderer(&speakers, scene);
        let mut view = ContextView::new(verb, persona, context, scene, &printer);
        let mut trimmed = Vec::new();
        self.fit_to_budget(&mut view, verb, context, scene, &printer, &mut trimmed);
        record_shortened(view.messages(), &mut trimmed);
        let mut sections: Vec<(&str, u64)> =
            SECTIONS.iter().map(|section| (section.name(), section.tokens(&view))).collect();
        sections.push(("target", budget::target::message_tokens(&view.target_thread_messages)));
        finalize_view(&mut view);
        let (text, tokens) = self.render(verb, view);
        let rest: u64 = sections.iter().map(|(_, tokens)| tokens).sum();
        sections.insert(0, ("instructions", tokens.saturating_sub(rest)));
        sections.retain(|(_, tokens)| *tokens > 0);
        Prompt {
            verb,
            text,
            context: context.clone(),
            judge_options: scene.judge_options.clone(),
            memory_input: None,
            persona: persona.clone(),
            speakers,
            max_tokens: None,
            tokens,
            sections,
            trimmed,
            tools: Vec::new(),
            tool_rounds: Vec::new(),
        }
    }

    /// The text, and what it comes to.
    fn render(&self, verb: PromptVerb, view: ContextView) -> (String, u64) {
        let is_thread = view.target_thread_ts.is_some();
        let lines = if is_thread { &view.target_thread_messages } else { &view.top_level_messages };
        // Most of a text is its target, which stands last.
        let lines = lines.clone();
        let text = self.templates.render(verb, &PromptView::Context(Box::new(view)));
        let tokens =
            estimate_with_known(&text, lines.iter().filter_map(|line| line.rendered.get()));
        (text, tokens)
    }

    /// The target has at least three fifths of what the instructions leave, and whatever the sections
    /// do not need.
    fn fit_to_budget(
        &self,
        view: &mut ContextView,
        verb: PromptVerb,
        context: &Context,
        scene: &PromptOptions,
        printer: &MessageRenderer<'_>,
        trimmed: &mut Vec<TrimmedSection>,
    ) {
        let budget = scene.budget.to_estimated(scene.token_factor);
        let asked = view.owed.iter().chain(&view.motive).chain(&view.about);
        let asked: u64 = asked.map(|line| estimate(line) + 2).sum();
        let earlier = view.intervention.iter().flat_map(|earlier| &earlier.messages);
        let asked = asked + earlier.map(|line| line.tokens).sum::<u64>();
        let fixed = self.fixed_tokens(verb, &view.persona.system_prompt) + asked;
        if let Some(floor) = &mut view.floor {
            floor.fit(budget.max_tokens.saturating_sub(fixed) / FLOOR_DIVISOR);
        }
        let fixed = fixed + view.floor.as_ref().map_or(0, FloorView::tokens);
        let room = budget.max_tokens.saturating_sub(fixed);
        budget::fit_sections(view, &budget, trimmed);
        let others = |view: &ContextView| SECTIONS.iter().map(|section| section.tokens(view)).sum();
        let needed: u64 = others(view);
        let target_room = (room * 3 / 5).max(room.saturating_sub(needed));
        let lines = std::mem::take(&mut view.target_thread_messages);
        let lines = budget::target::fit_target(lines, target_room, context, printer, trimmed);
        let over = (needed + budget::target::message_tokens(&lines)).saturating_sub(room);
        view.target_thread_messages = lines;
        budget::free_tokens(view, over, trimmed);
    }

    fn renderer<'a>(
        &'a self,
        speakers: &'a Speakers,
        scene: &PromptOptions,
    ) -> MessageRenderer<'a> {
        let max_tokens = scene.budget.to_estimated(scene.token_factor).max_tokens;
        let (language, printed) = (self.language, Some(&self.render_cache));
        MessageRenderer { speakers, language, max_tokens, cache: printed }
    }
}

/// What the templates are given for a prompt about talk, whatever its length.
pub fn context_view(
    verb: PromptVerb,
    language: Language,
    persona: &Persona,
    context: &Context,
    scene: &PromptOptions,
) -> PromptView {
    let speakers = context_speakers(persona, context, scene);
    let max_tokens = scene.budget.max_tokens;
    let printer = MessageRenderer { speakers: &speakers, language, max_tokens, cache: None };
    let mut view = ContextView::new(verb, persona, context, scene, &printer);
    finalize_view(&mut view);
    PromptView::Context(Box::new(view))
}

/// What the templates are given for remembering.
pub fn memory_input_view(
    language: Language,
    persona: &Persona,
    material: &MemoryInput,
    scene: &PromptOptions,
) -> PromptView {
    let speakers = memory_input_speakers(persona, material, scene);
    let max_tokens = scene.budget.max_tokens;
    let printer = MessageRenderer { speakers: &speakers, language, max_tokens, cache: None };
    PromptView::MemoryInput(Box::new(MemoryInputView::new(persona, material, scene, &printer)))
}

fn memory_input_speakers(
    persona: &Persona,
    material: &MemoryInput,
    scene: &PromptOptions,
) -> Speakers {
    let lines = material.messages().map(|line| &**line);
    Speakers::new(persona, lines, &material.names, &scene.zone)
}

/// What follows from what is left.
fn finalize_view(view: &mut ContextView) {
    view.has_channel_memories = view
        .channel_memories
        .iter()
        .any(|channel| channel.long_term_memory.is_some() || channel.short_term_memory.is_some());
    let recalled = std::mem::take(&mut view.recalled);
    view.recalled = group_by_channel(recalled);
    if view.target_thread_ts.is_none() {
        view.top_level_messages = std::mem::take(&mut view.target_thread_messages);
    }
}

/// What fits best came first; it is read in the order of time.
fn group_by_channel(recalled: Vec<RecalledView>) -> Vec<RecalledView> {
    let mut channels: Vec<RecalledView> = Vec::new();
    for more in recalled {
        match channels.iter_mut().find(|known| known.channel == more.channel) {
            Some(known) => known.messages.extend(more.messages),
            None => channels.push(more),
        }
    }
    for channel in &mut channels {
        channel.messages.sort_by(|one, other| one.timestamp.cmp(&other.timestamp));
    }
    channels
}

/// Lines that are nowhere as long as they were.
fn record_shortened<'a>(
    lines: impl Iterator<Item = &'a MessageView> + Clone,
    trimmed: &mut Vec<TrimmedSection>,
) {
    let mut shortened: BTreeMap<&MessageId, u64> = BTreeMap::new();
    for line in lines.clone() {
        if let (Some(id), Some(left_out)) = (&line.message, line.left_out_tokens) {
            let least = shortened.entry(id).or_insert(left_out);
            *least = left_out.min(*least);
        }
    }
    if shortened.is_empty() {
        return;
    }
    let whole = lines.filter(|line| line.left_out_tokens.is_none());
    for id in whole.filter_map(|line| line.message.as_ref()) {
        shortened.remove(id);
    }
    let (count, tokens) = (shortened.len(), shortened.values().sum());
    budget::record_trimmed(trimmed, TrimmedSection { section: "long_lines", count, tokens });
}

/// Where a memory belongs, for whoever wants to know.
fn empty_context(material: &MemoryInput) -> Context {
    let thread = match &material.key.scope {
        MemoryScope::Workspace | MemoryScope::Channel(_) => None,
        MemoryScope::Thread(_, thread) => Some(thread.clone()),
    };
    let channel = material.key.channel().cloned().unwrap_or_else(|| ChannelId::new(""));
    let workspace = material.key.workspace.clone();
    let conversation = ConversationId { workspace, channel: channel.clone(), thread };
    let history = ChannelMessages::new(channel, material.channel_name.clone());
    Context { revision: material.considered, ..Context::new(conversation, history) }
}
