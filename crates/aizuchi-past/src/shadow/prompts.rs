//! Builds the prompts that a conversation would get at a past moment.

use std::sync::Arc;

use aizuchi_agent::agent::StateCall;
use aizuchi_config::Config;
use aizuchi_config::models::in_use::persona_of;
use aizuchi_config::models::in_use::prompts::load_prompts_in;
use aizuchi_llm::prompt::Prompt;
use aizuchi_llm::prompt::builder::{JudgeOptions, PromptBuilder, PromptOptions};
use aizuchi_model::chat::{Channel, ConversationId, Visibility};
use aizuchi_model::context::Context;
use aizuchi_model::context::state::ConversationState;
use aizuchi_model::decision::verdict::Verdict;
use aizuchi_model::decision::{Decision, Judgment};
use aizuchi_model::persona::{Language, Persona};
use aizuchi_model::rules::place::Place;
use aizuchi_model::rules::{ChannelRules, Mode, Rulebook};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Builds prompts with one persona in one language.
pub struct PastPrompts {
    builder: PromptBuilder,
    everywhere: Arc<Persona>,
    judging: Arc<Persona>,
    speaking: Arc<Persona>,
    config: Config,
    rulebook: Arc<Rulebook>,
}

impl PastPrompts {
    /// Creates prompts with the rules in force. Fails if the persona leaves too little space for messages.
    pub fn new(
        config: &Config,
        rulebook: Arc<Rulebook>,
        language: Language,
    ) -> anyhow::Result<Self> {
        let builder = load_prompts_in(config, language)?;
        let persona = Arc::new(Persona { language, ..(*config.persona()).clone() });
        Ok(Self {
            builder,
            judging: persona_of(&config.minds.judgment, &persona),
            speaking: persona_of(&config.minds.response, &persona),
            everywhere: persona,
            config: config.clone(),
            rulebook,
        })
    }

    /// Builds a prompt for a judgment. A facilitator sees only its buffer.
    pub fn judge(&self, context: Context, decision: &Decision, at: Timestamp) -> Prompt {
        let context = &Arc::new(match self.mode(&context, decision) {
            Mode::Facilitator => {
                let newest = self.rules(&context).facilitation.buffer_size;
                context.with_newest_messages(newest)
            }
            Mode::Companion | Mode::MentionOnly | Mode::Propose | Mode::Observe | Mode::Off => {
                context
            }
        });
        let options = PromptOptions {
            judge_options: JudgeOptions {
                known_state: self.known_state(decision),
                ..self.judge_options(context, decision)
            },
            ..self.options(context, at)
        };
        self.builder.judge(&self.persona_in(&self.judging, context), context, &options)
    }

    /// Builds a prompt for a reply. It has no tools, because they would look at the present.
    pub fn reply(&self, context: Context, decision: &Decision, at: Timestamp) -> Prompt {
        let context = &Arc::new(context);
        let judge_options = JudgeOptions {
            reactions: self.judge_options(context, decision).reactions,
            ..JudgeOptions::default()
        };
        let options = PromptOptions { judge_options, ..self.options(context, at) };
        self.builder.reply(&self.persona_in(&self.speaking, context), context, &options)
    }

    /// Returns the rules that apply in the channel now.
    pub fn rules(&self, context: &Context) -> ChannelRules {
        let name = &context.conversation_history.channel_name;
        let place = Place::of_conversation(&context.conversation, name, context.visibility);
        self.rulebook.rules_in(&place).clone()
    }

    /// Returns what a judgment leads to where the persona may speak. `rules` are those of the channel.
    pub fn verdict(
        &self,
        (context, decision): (&Context, &Decision),
        judgment: &Judgment,
        rules: &ChannelRules,
    ) -> Verdict {
        let mode = match self.mode(context, decision) {
            Mode::Facilitator => Mode::Facilitator,
            Mode::Companion | Mode::MentionOnly | Mode::Propose | Mode::Observe | Mode::Off => {
                Mode::Companion
            }
        };
        judgment.verdict(judgment.conversation_state.unwrap_or_default(), mode, rules)
    }

    /// Returns the mode in which the decision was made.
    fn mode(&self, context: &Context, decision: &Decision) -> Mode {
        let evaluation = decision.evaluation.as_ref();
        evaluation.map_or_else(|| self.rules(context).mode, |evaluation| evaluation.mode)
    }

    /// Returns the system prompt, whose URLs may be links in a post.
    pub fn system_prompt(&self, context: &Context) -> String {
        self.persona_in(&self.speaking, context).system_prompt.clone()
    }

    /// Returns the persona that an agent plays in the channel.
    fn persona_in(&self, agent: &Arc<Persona>, context: &Context) -> Arc<Persona> {
        match self.rules(context).persona {
            None => agent.clone(),
            Some(rule) => Arc::new(rule.apply_to(&self.everywhere, agent)),
        }
    }

    pub fn language(&self) -> Language {
        self.speaking.language
    }

    fn judge_options(&self, context: &Context, decision: &Decision) -> JudgeOptions {
        let rules = self.rules(context);
        JudgeOptions {
            mode: self.mode(context, decision),
            known_state: None,
            longest_rest: self.config.wait_settings().in_channel(&rules.timing).longest_rest(),
            reactions: rules.reactions,
        }
    }

    /// Returns the state of the conversation, if a separate call named it.
    fn known_state(&self, decision: &Decision) -> Option<ConversationState> {
        match self.config.decision.state {
            StateCall::Fused => None,
            StateCall::Separate => decision.evaluation.as_ref()?.conversation_state,
        }
    }

    fn options(&self, context: &Context, at: Timestamp) -> PromptOptions {
        PromptOptions {
            has_web: self.config.offered_web_tools().is_allowed(&self.rules(context)),
            zone: self.config.time_zone_or(TimeZone::system()),
            budget: self.config.context.budget(),
            ..PromptOptions::new(at)
        }
    }
}

/// Stands in for a channel that is not known any more, which counts as private.
pub fn unknown_channel(conversation: &ConversationId) -> Channel {
    Channel {
        workspace: conversation.workspace.clone(),
        id: conversation.channel.clone(),
        name: conversation.channel.as_str().into(),
        visibility: Visibility::Private,
        topic: None,
    }
}
