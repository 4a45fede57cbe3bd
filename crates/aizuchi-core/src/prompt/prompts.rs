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
use crate::memory::Scope;
use crate::persona::{Language, Persona};
use crate::prompt::budget::{self, Budget, SECTIONS, Trimmed};
use crate::prompt::material::Material;
use crate::prompt::printed::Printed;
use crate::prompt::speakers::Speakers;
use crate::prompt::templates::Templates;
use crate::prompt::tokens::{estimate, estimate_known};
use crate::prompt::tool::{self, ToolSpec};
use crate::prompt::view::floor::{FloorView, REST_TOKENS};
use crate::prompt::view::from_context::{Printer, speakers};
use crate::prompt::view::{LineView, MaterialView, RecalledView, TalkView, View};
use crate::prompt::{Prompt, Verb, sample};
use crate::rules::Mode;

/// The longest name of a state, and what models put around it (seed 004).
const STATE_TOKENS: u32 = 20;

/// Headings that are there only where something stands below them.
const HEADINGS_TOKENS: u64 = 120;

/// Of what the instructions leave, facts about the talk take at most this part.
const FLOOR_PART: u64 = 4;

/// Whatever is asked, so many tokens of it are for what was said.
const LEAST_ROOM: u64 = 600;

/// The words for one language, ready to be used.
#[derive(Debug)]
pub struct Prompts {
    templates: Templates,
    language: Language,
    /// What each verb's own words come to.
    instructions: BTreeMap<Verb, u64>,
    printed: Printed,
}

/// When and where a prompt is for, besides what is known.
#[derive(Clone, Debug)]
pub struct Scene {
    pub now: Timestamp,
    pub zone: TimeZone,
    pub budget: Budget,
    /// How many tokens the model counts for one that is estimated.
    pub factor: f64,
    pub judging: Judging,
}

/// How a judge is to judge.
#[derive(Clone, Debug, Default)]
pub struct Judging {
    pub mode: Mode,
    /// The state that the conversation is in, where another model has named it; else the judge does.
    pub named: Option<ConversationState>,
    /// What it may react with.
    pub reactions: Vec<String>,
}

impl Scene {
    /// With the defaults of everything else.
    pub fn at(now: Timestamp) -> Self {
        let (budget, judging) = (Budget::default(), Judging::default());
        Self { now, zone: TimeZone::UTC, budget, factor: 1.0, judging }
    }
}

impl Prompts {
    /// The prompts of a language, and whatever files in a folder override. Fails with a sentence.
    pub fn load(language: Language, prompts_dir: Option<&Path>) -> anyhow::Result<Self> {
        let templates = Templates::load(language, prompts_dir)?;
        let instructions = Verb::ALL.map(|verb| {
            let text = templates.render(verb, &sample::nothing(verb, language));
            (verb, estimate(&text))
        });
        Ok(Self {
            templates,
            language,
            instructions: instructions.into(),
            printed: Printed::default(),
        })
    }

    /// The least `max_tokens` of a budget that leave room for what was said, beside all that is always there.
    pub fn least_tokens(&self, verb: Verb, persona: &Persona, tools: &[ToolSpec]) -> u64 {
        let words = self.fixed_tokens(verb, persona.system_prompt.trim()) + LEAST_ROOM;
        let words = words + if verb == Verb::Judge { REST_TOKENS } else { 0 };
        match tools {
            [] => words,
            tools => Budget::least_with_tools(words, tool::tokens(tools, self.language)),
        }
    }

    /// What is always there, whatever was said.
    fn fixed_tokens(&self, verb: Verb, system_prompt: &str) -> u64 {
        self.instructions[&verb] + estimate(system_prompt) + HEADINGS_TOKENS
    }

    pub fn judge(&self, persona: &Arc<Persona>, context: &Arc<Context>, scene: &Scene) -> Prompt {
        self.about_talk(Verb::Judge, persona, context, scene)
    }

    pub fn reply(&self, persona: &Arc<Persona>, context: &Arc<Context>, scene: &Scene) -> Prompt {
        self.about_talk(Verb::Reply, persona, context, scene)
    }

    pub fn state(&self, persona: &Arc<Persona>, context: &Arc<Context>, scene: &Scene) -> Prompt {
        let prompt = self.about_talk(Verb::State, persona, context, scene);
        Prompt { max_tokens: Some(STATE_TOKENS), ..prompt }
    }

    /// The scene's budget is not for this: whoever gathers material knows how much of it to gather.
    pub fn remember(
        &self,
        persona: &Arc<Persona>,
        material: &Arc<Material>,
        scene: &Scene,
    ) -> Prompt {
        let speakers = Arc::new(speakers_of_material(persona, material, scene));
        let printer = self.printer(&speakers, scene);
        let view = MaterialView::of(persona, material, scene, &printer);
        let mut trimmed = Vec::new();
        note_shortened(view.lines(), &mut trimmed);
        let text = self.templates.render(Verb::Remember, &View::Material(Box::new(view)));
        let tokens = estimate(&text);
        let instructions = self.instructions[&Verb::Remember] + estimate(&persona.system_prompt);
        let instructions = instructions.min(tokens);
        Prompt {
            verb: Verb::Remember,
            text,
            context: Arc::new(without_talk(material)),
            judging: Judging::default(),
            material: Some(material.clone()),
            persona: persona.clone(),
            speakers,
            // Dates and numbers of sources come on top.
            max_tokens: Some(material.max_tokens.saturating_mul(2).saturating_add(100)),
            tokens,
            sections: vec![("instructions", instructions), ("material", tokens - instructions)],
            trimmed,
            tools: Vec::new(),
            rounds: Vec::new(),
        }
    }

    fn about_talk(
        &self,
        verb: Verb,
        persona: &Arc<Persona>,
        context: &Arc<Context>,
        scene: &Scene,
    ) -> Prompt {
        let speakers = Arc::new(speakers(persona, context, scene));
        let printer = self.printer(&speakers, scene);
        let mut view = TalkView::of(verb, persona, context, scene, &printer);
        let mut trimmed = Vec::new();
        self.fit(&mut view, verb, context, scene, &printer, &mut trimmed);
        note_shortened(view.lines(), &mut trimmed);
        let mut sections: Vec<(&str, u64)> =
            SECTIONS.iter().map(|section| (section.name(), section.tokens(&view))).collect();
        sections.push(("target", budget::target::tokens(&view.target_thread_messages)));
        finish(&mut view);
        let (text, tokens) = self.render(verb, view);
        let rest: u64 = sections.iter().map(|(_, tokens)| tokens).sum();
        sections.insert(0, ("instructions", tokens.saturating_sub(rest)));
        sections.retain(|(_, tokens)| *tokens > 0);
        Prompt {
            verb,
            text,
            context: context.clone(),
            judging: scene.judging.clone(),
            material: None,
            persona: persona.clone(),
            speakers,
            max_tokens: None,
            tokens,
            sections,
            trimmed,
            tools: Vec::new(),
            rounds: Vec::new(),
        }
    }

    /// The text, and what it comes to.
    fn render(&self, verb: Verb, view: TalkView) -> (String, u64) {
        let is_thread = view.target_thread_ts.is_some();
        let lines = if is_thread { &view.target_thread_messages } else { &view.top_level_messages };
        // Most of a text is its target, which stands last.
        let lines = lines.clone();
        let text = self.templates.render(verb, &View::Talk(Box::new(view)));
        let tokens = estimate_known(&text, lines.iter().filter_map(|line| line.printed.get()));
        (text, tokens)
    }

    /// The target has at least three fifths of what the instructions leave, and whatever the sections
    /// do not need.
    fn fit(
        &self,
        view: &mut TalkView,
        verb: Verb,
        context: &Context,
        scene: &Scene,
        printer: &Printer<'_>,
        trimmed: &mut Vec<Trimmed>,
    ) {
        let budget = scene.budget.estimated(scene.factor);
        let asked = view.owed.iter().chain(&view.motive).chain(&view.about);
        let asked: u64 = asked.map(|line| estimate(line) + 2).sum();
        let earlier = view.intervention.iter().flat_map(|earlier| &earlier.messages);
        let asked = asked + earlier.map(|line| line.tokens).sum::<u64>();
        let fixed = self.fixed_tokens(verb, &view.persona.system_prompt) + asked;
        if let Some(floor) = &mut view.floor {
            floor.fit(budget.max_tokens.saturating_sub(fixed) / FLOOR_PART);
        }
        let fixed = fixed + view.floor.as_ref().map_or(0, FloorView::tokens);
        let room = budget.max_tokens.saturating_sub(fixed);
        budget::fit_sections(view, &budget, trimmed);
        let others = |view: &TalkView| SECTIONS.iter().map(|section| section.tokens(view)).sum();
        let needed: u64 = others(view);
        let target_room = (room * 3 / 5).max(room.saturating_sub(needed));
        let lines = std::mem::take(&mut view.target_thread_messages);
        let lines = budget::target::fit(lines, target_room, context, printer, trimmed);
        let over = (needed + budget::target::tokens(&lines)).saturating_sub(room);
        view.target_thread_messages = lines;
        budget::free(view, over, trimmed);
    }

    fn printer<'a>(&'a self, speakers: &'a Speakers, scene: &Scene) -> Printer<'a> {
        let max_tokens = scene.budget.estimated(scene.factor).max_tokens;
        let (language, printed) = (self.language, Some(&self.printed));
        Printer { speakers, language, max_tokens, printed }
    }
}

/// What the templates are given for a prompt about talk, whatever its length.
pub fn view_of(
    verb: Verb,
    language: Language,
    persona: &Persona,
    context: &Context,
    scene: &Scene,
) -> View {
    let speakers = speakers(persona, context, scene);
    let max_tokens = scene.budget.max_tokens;
    let printer = Printer { speakers: &speakers, language, max_tokens, printed: None };
    let mut view = TalkView::of(verb, persona, context, scene, &printer);
    finish(&mut view);
    View::Talk(Box::new(view))
}

/// What the templates are given for remembering.
pub fn view_of_material(
    language: Language,
    persona: &Persona,
    material: &Material,
    scene: &Scene,
) -> View {
    let speakers = speakers_of_material(persona, material, scene);
    let max_tokens = scene.budget.max_tokens;
    let printer = Printer { speakers: &speakers, language, max_tokens, printed: None };
    View::Material(Box::new(MaterialView::of(persona, material, scene, &printer)))
}

fn speakers_of_material(persona: &Persona, material: &Material, scene: &Scene) -> Speakers {
    let lines = material.lines().map(|line| &**line);
    Speakers::of(persona, lines, &material.names, &scene.zone)
}

/// What follows from what is left.
fn finish(view: &mut TalkView) {
    view.has_channel_memories = view
        .channel_memories
        .iter()
        .any(|channel| channel.long_term_memory.is_some() || channel.short_term_memory.is_some());
    let recalled = std::mem::take(&mut view.recalled);
    view.recalled = by_channel(recalled);
    if view.target_thread_ts.is_none() {
        view.top_level_messages = std::mem::take(&mut view.target_thread_messages);
    }
}

/// What fits best came first; it is read in the order of time.
fn by_channel(recalled: Vec<RecalledView>) -> Vec<RecalledView> {
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
fn note_shortened<'a>(
    lines: impl Iterator<Item = &'a LineView> + Clone,
    trimmed: &mut Vec<Trimmed>,
) {
    let mut shortened: BTreeMap<&MessageId, u64> = BTreeMap::new();
    for line in lines.clone() {
        if let (Some(id), Some(left_out)) = (&line.line, line.left_out) {
            let least = shortened.entry(id).or_insert(left_out);
            *least = left_out.min(*least);
        }
    }
    if shortened.is_empty() {
        return;
    }
    let whole = lines.filter(|line| line.left_out.is_none());
    for id in whole.filter_map(|line| line.line.as_ref()) {
        shortened.remove(id);
    }
    let (count, tokens) = (shortened.len(), shortened.values().sum());
    budget::note(trimmed, Trimmed { section: "long_lines", count, tokens });
}

/// Where a memory belongs, for whoever wants to know.
fn without_talk(material: &Material) -> Context {
    let thread = match &material.key.scope {
        Scope::Workspace | Scope::Channel(_) => None,
        Scope::Thread(_, thread) => Some(thread.clone()),
    };
    let channel = material.key.channel().cloned().unwrap_or_else(|| ChannelId::new(""));
    let workspace = material.key.workspace.clone();
    let conversation = ConversationId { workspace, channel: channel.clone(), thread };
    let history = ChannelMessages::new(channel, material.channel_name.clone());
    Context { revision: material.considered, ..Context::of(conversation, history) }
}
