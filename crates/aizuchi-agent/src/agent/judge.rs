//! Judge: decides whether to join in. Gates come first, then one model call, and one more if the response cannot be
//! parsed. Anything but a clear yes is silence (invariants 7 and 8).

pub mod parse;

use std::sync::Arc;

use aizuchi_actions::settings::source_text;
use aizuchi_llm::prompt::builder::{JudgeOptions, PromptOptions};
use aizuchi_model::chat::{ConversationId, MessageId};
use aizuchi_model::clock::duration_from_seconds;
use aizuchi_model::context::Context;
use aizuchi_model::context::state::ConversationState;
use aizuchi_model::decision::gate::{Gate, GateInput};
use aizuchi_model::decision::limit::Limit;
use aizuchi_model::decision::verdict::{SilenceReason, Verdict};
use aizuchi_model::decision::{AttemptResult, DecisionResult, Evaluation, Judgment};
use aizuchi_model::flow::outbox::{Draft, DraftContent, DraftMetadata};
use aizuchi_model::flow::planned_call::CallOwner;
use aizuchi_model::flow::{Claim, DecisionClosing, StepResult};
use aizuchi_model::outgoing::urls::{CodeBlocks, KnownUrls};
use aizuchi_model::persona::Language;
use aizuchi_model::persona::spelling::spellings;
use aizuchi_model::rules::place::SettingSource;
use aizuchi_model::rules::setting_override::SettingKind;
use aizuchi_model::rules::{ChannelRules, Mode};
use aizuchi_model::texts;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::agent::judge::parse::{ReadJudgment, read_judgment};
use crate::agent::reserve_budget::{Calls, sole_author};
use crate::agent::{StateCall, StepError, StepTrace, Worker, place_of};
use crate::inbox::addressed::by_name::is_named;

/// The shortest delay before a second look: hardly anything changes in less time.
const MIN_SECOND_LOOK: SignedDuration = SignedDuration::from_secs(30);

impl Worker<'_> {
    pub(super) async fn judge(
        &self,
        claim: &Claim,
        conversation: &ConversationId,
        superseded: &CancellationToken,
        trace: &mut StepTrace<'_>,
    ) -> Result<StepResult, StepError> {
        // Taken before the context is read: an author who is forgotten after that is not counted.
        let began = self.now();
        let (context, mut options) = self.load_judge_context(conversation).await?;
        // Whatever the verdict, messages up to this revision count as considered.
        trace.seen_revision = Some(context.revision);
        if context.new_messages.is_empty() {
            let why = texts::judging::message_deleted(self.persona.language);
            return Ok(StepResult::Silent(DecisionClosing::new(DecisionResult::Dropped, why)));
        }
        let gate_input = self.gate_input(&context);
        let mode = gate_input.mode();
        // A second look asks the judge whether anyone still waits, and what names the persona may be put to it, so the
        // NothingOpen gate is skipped.
        let is_named = mode != Mode::Facilitator && self.is_named_in(&context);
        let asks_anyway = claim.second_looks > 0 || is_named;
        let is_checked = |gate: &&Gate| !asks_anyway || **gate != Gate::NothingOpen;
        let gates: Vec<Gate> = self.settings.gates.iter().filter(is_checked).copied().collect();
        let gate_result = gate_input.check_before_judging(&gates);
        let evaluation = trace.evaluation.insert(Evaluation::new(mode, gate_result.passed));
        if let Some(gate) = gate_result.closed_by {
            if gate == Gate::Cooldown
                && let Some(due) = gate_input.next_look()
            {
                // What is written until then is judged together.
                return Ok(StepResult::Deferred { due });
            }
            return Ok(StepResult::Silent(self.close_by_gate(gate, gate_result.limit)));
        }
        let owner = self.call_owner(claim, &context);
        let owner = CallOwner { sole_author: sole_author(&context), began, ..owner };
        let mut calls = Calls::new(owner, superseded, trace.attempts);
        if self.settings.state == StateCall::Separate {
            let state = self.ask_for_state(&context, &mut calls).await?;
            evaluation.conversation_state = Some(state);
            if state == ConversationState::Ending {
                let state_hash = Some(context.state_hash());
                let closing = DecisionClosing { state_hash, ..self.close_as_ending() };
                return Ok(StepResult::Silent(closing));
            }
            options.judge_options.known_state = Some(state);
        }
        let asked = self.ask_judge(&context, &options, &gates, evaluation, &mut calls);
        let (judgment, verdict) = asked.await?;
        let result = self.apply_verdict(claim, judgment, verdict, &context)?;
        if let StepResult::Silent(closing) = &result
            && closing.ended == DecisionResult::ChoseSilence
            && let Some(judgment) = &closing.judgment
        {
            trace.plans.extend(self.left_to_people(judgment, &context));
        }
        Ok(result)
    }

    /// Asks the judge, and applies the rules of the channel to its judgment. `gates` lists the optional gates that are
    /// on.
    pub(super) async fn ask_judge(
        &self,
        context: &Arc<Context>,
        options: &PromptOptions,
        gates: &[Gate],
        evaluation: &mut Evaluation,
        calls: &mut Calls<'_>,
    ) -> Result<(Judgment, Verdict), StepError> {
        let gate_input = self.gate_input(context);
        let (mode, rules) = (gate_input.mode(), gate_input.rules);
        let judgment = self.request_judgment(context, options, calls).await?;
        let state = evaluation.conversation_state.or(judgment.conversation_state);
        evaluation.conversation_state = state;
        let state = state.unwrap_or_default();
        let verdict = judgment.verdict(state, mode, rules);
        let least = self.welcome_threshold(context, rules);
        evaluation.needed_confidence = Some(least.unwrap_or(rules.min_confidence));
        let verdict = hold_back(verdict, &judgment, state, &gate_input, gates, least);
        Ok((judgment, verdict))
    }

    /// Whether a new message names the persona as it is configured.
    fn is_named_in(&self, context: &Context) -> bool {
        let names = spellings(&self.persona.name);
        let messages = context.target_messages().iter();
        let mut new = messages.filter(|it| context.new_messages.contains(&it.id));
        new.any(|message| message.is_human() && is_named(&message.text, &names))
    }

    /// Loads the context for a judge, and the options of its prompt.
    pub(super) async fn load_judge_context(
        &self,
        conversation: &ConversationId,
    ) -> Result<(Arc<Context>, PromptOptions), StepError> {
        let mut context = self.load_context(conversation).await?;
        let gate_input = self.gate_input(&context);
        let (mode, facilitation) = (gate_input.mode(), gate_input.rules.facilitation);
        let reactions = gate_input.rules.reactions.clone();
        let mut options = self.prompt_options(&self.judge_mind(&context));
        let waits = self.settings.wait_settings.in_channel(&gate_input.rules.timing);
        let longest_rest = waits.longest_rest();
        options.has_web = self.may_use_web(gate_input.rules);
        options.judge_options = JudgeOptions { mode, known_state: None, reactions, longest_rest };
        if let Some(intervention) = &mut context.circumstances.last_intervention {
            // One more, because the intervention itself is the last of them.
            let max_messages = facilitation.compare_window + 1;
            let surplus = intervention.messages_before.len().saturating_sub(max_messages);
            intervention.messages_before.drain(..surplus);
        }
        let context = match mode {
            Mode::Facilitator => context.with_newest_messages(facilitation.buffer_size),
            Mode::Companion | Mode::MentionOnly | Mode::Propose | Mode::Observe | Mode::Off => {
                context
            }
        };
        Ok((Arc::new(context), options))
    }

    /// Asks a model of its own for the conversation's state, and logs it in the required sentences, verbatim; elsewhere
    /// fields say what a message is about.
    async fn ask_for_state(
        &self,
        context: &Arc<Context>,
        calls: &mut Calls<'_>,
    ) -> Result<ConversationState, StepError> {
        let state = self.classify_state(context, calls).await?;
        let channel = &context.conversation.channel;
        match state {
            ConversationState::Ending => debug!(
                channel = %channel,
                "Intervention blocked for channel {channel}: conversation is ending"
            ),
            ConversationState::Misunderstanding | ConversationState::Conflict => {
                let state = state.name();
                debug!(state, "Conversation state detected: {state}, proceeding to LLM judgment");
            }
            ConversationState::Active => {}
        }
        Ok(state)
    }

    /// Returns the confidence from which posts are welcome often enough in the channel, if its rules ask for that and
    /// it is above the confidence that they require anyway.
    fn welcome_threshold(&self, context: &Context, rules: &ChannelRules) -> Option<f64> {
        let (tolerance, conversation) = (rules.tolerance?, &context.conversation);
        let known = self.welcome_labels.read(&conversation.workspace)?;
        let threshold = known.threshold(&conversation.channel, rules.min_confidence, tolerance);
        (threshold > rules.min_confidence).then_some(threshold)
    }

    /// Turns a verdict into the result of the step.
    fn apply_verdict(
        &self,
        claim: &Claim,
        judgment: Judgment,
        verdict: Verdict,
        context: &Context,
    ) -> Result<StepResult, StepError> {
        let state = context.state_hash();
        let silence = match verdict {
            Verdict::Join => return Ok(self.schedule_reply(claim, judgment, context)),
            Verdict::React(emoji) => {
                let on = judgment.about.clone();
                let on =
                    on.or_else(|| context.newest_human_message().map(|message| message.id.clone()));
                if let Some(on) = on {
                    let draft = reaction_draft(context, &judgment, emoji, on);
                    return Ok(StepResult::React { judgment, state, draft });
                }
                SilenceReason::JudgeDeclined
            }
            Verdict::Silent(silence) => silence,
        };
        if let Some(due) = self.second_look_due(claim, &judgment, silence, context) {
            return Ok(StepResult::LookAgain { due });
        }
        Ok(StepResult::Silent(self.close_as_silent(silence, judgment, context)))
    }

    /// Returns the closing of a decision that a verdict of silence settled.
    pub(super) fn close_as_silent(
        &self,
        silence: SilenceReason,
        judgment: Judgment,
        context: &Context,
    ) -> DecisionClosing {
        let rules = self.gate_input(context).rules;
        let least = self.welcome_threshold(context, rules);
        let why = silence_reason(silence, &judgment, rules, least, self.persona.language);
        let why = self.with_source(why, silence, context);
        let ended = if silence == SilenceReason::ObserveMode {
            DecisionResult::Muted
        } else {
            DecisionResult::ChoseSilence
        };
        let (judgment, state_hash) = (Some(judgment), Some(context.state_hash()));
        DecisionClosing { judgment, state_hash, ..DecisionClosing::new(ended, why) }
    }

    /// Adds the source of the confidence threshold to the reason, if a user's order set it.
    fn with_source(&self, why: String, silence: SilenceReason, context: &Context) -> String {
        if silence != SilenceReason::LowConfidence {
            return why;
        }
        let (rulebook, language) = (&self.rulebook, self.persona.language);
        let source = rulebook.source_in(&place_of(context), SettingKind::MinConfidence);
        match source {
            SettingSource::Ordered(_) => {
                let source = source_text(language, source);
                texts::judging::low_confidence_ordered(language, &why, &source)
            }
            SettingSource::Configured(_) => why,
        }
    }

    /// Returns when to look a second time after a verdict of silence: the judge may ask for it, and a yes with too
    /// little confidence may be confident enough by then. Without a delay, it is after one more wait. The same messages
    /// are looked at a second time at most once.
    fn second_look_due(
        &self,
        claim: &Claim,
        judgment: &Judgment,
        silence: SilenceReason,
        context: &Context,
    ) -> Option<Timestamp> {
        let is_facilitator = self.gate_input(context).mode() == Mode::Facilitator;
        if claim.second_looks > 0 || is_facilitator {
            return None;
        }
        let now = self.now();
        let seconds = match silence {
            SilenceReason::JudgeDeclined => Some(judgment.look_again_seconds?),
            SilenceReason::LowConfidence | SilenceReason::OftenUnwelcome => {
                judgment.delay_seconds.filter(|delay| *delay > 0)
            }
            SilenceReason::ConversationEnding
            | SilenceReason::SituationUnchanged
            | SilenceReason::ObserveMode => return None,
        };
        let wait = match seconds {
            Some(seconds) => duration_from_seconds(f64::from(seconds)),
            None => now.duration_since(context.newest_human_message()?.at),
        };
        let longest = duration_from_seconds(self.settings.max_delay_seconds);
        Some(now + wait.max(MIN_SECOND_LOOK).min(longest))
    }

    fn close_as_ending(&self) -> DecisionClosing {
        let why = texts::judging::conversation_ending(self.persona.language);
        DecisionClosing::new(DecisionResult::ChoseSilence, why)
    }

    /// Returns the closing of a decision that a gate settled, perhaps because of a limit.
    pub(super) fn close_by_gate(&self, gate: Gate, limit: Option<Limit>) -> DecisionClosing {
        let ended = match gate {
            Gate::Muted => DecisionResult::Muted,
            Gate::Budget | Gate::JudgeCalls | Gate::DecisionCalls => DecisionResult::OverBudget,
            Gate::OwnMessage
            | Gate::OptedOut
            | Gate::OtherBot
            | Gate::Backfilled
            | Gate::Command
            | Gate::ChannelMode
            | Gate::QuietHours
            | Gate::Loop
            | Gate::TooFew
            | Gate::Directed
            | Gate::OtherCompanion
            | Gate::Unchanged
            | Gate::NothingOpen
            | Gate::Cooldown
            | Gate::Share => DecisionResult::ChoseSilence,
        };
        let why = match limit {
            Some(limit) => texts::judging::limit_reason(self.persona.language, limit),
            None => texts::judging::gate_reason(self.persona.language, gate).to_owned(),
        };
        DecisionClosing { gate: Some(gate), ..DecisionClosing::new(ended, why) }
    }

    async fn request_judgment(
        &self,
        context: &Arc<Context>,
        options: &PromptOptions,
        calls: &mut Calls<'_>,
    ) -> Result<Judgment, StepError> {
        let mind = &self.judge_mind(context);
        let persona = self.persona_in(mind, self.gate_input(context).rules);
        let mut prompt = self.prompt_builder.read().judge(&persona, context, options);
        let mut problem = String::new();
        for _ in 0..2 {
            let response = self.call_model(mind, &prompt, calls).await?;
            let parsed = read_judgment(&response, &prompt).map(|read| ReadJudgment {
                // Users read the reason, so it is screened like a post, and keeps no URL.
                judgment: Judgment {
                    reason: self.screen(
                        &read.judgment.reason,
                        &KnownUrls::default(),
                        CodeBlocks::LoseUrls,
                    ),
                    ..read.judgment
                },
                ..read
            });
            let attempt = calls.attempts.last_mut();
            match parsed {
                Ok(ReadJudgment { judgment, note }) => {
                    if let Some(attempt) = attempt {
                        attempt.judgment = Some(judgment.clone());
                        attempt.error = note;
                        attempt.result = AttemptResult::Kept;
                    }
                    return Ok(judgment);
                }
                Err(why) => {
                    if let Some(attempt) = attempt {
                        attempt.error = Some(why.clone());
                        attempt.result = AttemptResult::Failed;
                    }
                    problem = why;
                }
            }
            prompt = prompt.with_repair_request(&problem);
        }
        Err(StepError::permanent(format!("the judge's answer cannot be used: {problem}")))
    }
}

/// Turns a wish to act into silence while a cooldown lasts, unless a quarrel has grown or is a new one, and below the
/// confidence `least`.
fn hold_back(
    verdict: Verdict,
    judgment: &Judgment,
    state: ConversationState,
    input: &GateInput<'_>,
    gates: &[Gate],
    least: Option<f64>,
) -> Verdict {
    let is_cooling_down = gates.contains(&Gate::Cooldown) && input.is_cooling_down();
    let is_new = judgment.same_conversation == Some(false);
    let has_grown = state.is_tense() && (is_new || judgment.situation_changed == Some(true));
    let is_often_unwelcome = least.is_some_and(|least| judgment.confidence < least);
    match verdict {
        Verdict::Join | Verdict::React(_) if is_cooling_down && !has_grown => {
            Verdict::Silent(SilenceReason::SituationUnchanged)
        }
        Verdict::Join if is_often_unwelcome => Verdict::Silent(SilenceReason::OftenUnwelcome),
        verdict => verdict,
    }
}

/// Drafts a reaction to a message.
fn reaction_draft(context: &Context, judgment: &Judgment, emoji: String, on: MessageId) -> Draft {
    let metadata = DraftMetadata {
        about: Some(on.clone()),
        lineage: context.lineage(),
        seen_revision: context.revision.into(),
        ..DraftMetadata::new(DecisionResult::Reacted, judgment.reason.as_str())
    };
    Draft { content: DraftContent::Reaction { emoji, on }, metadata }
}

/// Explains to users why the persona stayed silent. `least` is the confidence from which posts are welcome often
/// enough.
fn silence_reason(
    silence: SilenceReason,
    judgment: &Judgment,
    rules: &ChannelRules,
    least: Option<f64>,
    language: Language,
) -> String {
    match silence {
        SilenceReason::JudgeDeclined => judgment.reason.clone(),
        SilenceReason::ConversationEnding => {
            texts::judging::conversation_ending(language).to_owned()
        }
        SilenceReason::LowConfidence => {
            texts::judging::low_confidence(language, judgment.confidence, rules.min_confidence)
        }
        SilenceReason::OftenUnwelcome => {
            let (least, tolerance) = (least.unwrap_or(1.0), rules.tolerance.unwrap_or_default());
            let percent = tolerance * 100.0;
            texts::judging::often_unwelcome(language, judgment.confidence, least, percent)
        }
        SilenceReason::SituationUnchanged => {
            texts::judging::situation_unchanged(language).to_owned()
        }
        SilenceReason::ObserveMode => texts::judging::observe_mode(language).to_owned(),
    }
}
