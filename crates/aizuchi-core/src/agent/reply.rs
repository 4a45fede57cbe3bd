//! Reply: draft a text. Posting is a separate event, so a platform error does not cost a second
//! model call.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::agent::follow_up::EndedCalls;
use crate::agent::model_call::unless_superseded;
use crate::agent::reserve::Calls;
use crate::agent::tools::Toolbox;
use crate::agent::{Agent, StepError, StepTrace};
use crate::chat::{ConversationId, Message, MessageId, is_blank, to_single_line};
use crate::context::Context;
use crate::context::conversation_analysis::{ConversationAnalysis, Standing};
use crate::decision::consent::NewConsent;
use crate::decision::gate::{Gate, GateResult};
use crate::decision::limit::Limit;
use crate::decision::model_problem::ModelProblem;
use crate::decision::{DecisionId, DecisionResult, Evaluation};
use crate::event::{
    Claim, DecisionClosing, Draft, DraftContent, DraftMetadata, ProposedDraft, StepResult,
};
use crate::memo::MemoChange;
use crate::memory::{Lineage, MessageRef};
use crate::outgoing::urls::{CodeBlocks, KnownUrls, screen_urls};
use crate::platform::Platform;
use crate::platform::split::{limit_posts, split};
use crate::prompt::{Prompt, tool};
use crate::recall::{RecallQuery, RecalledMessage};
use crate::rules::room::Room;
use crate::rules::{MemoryRule, Mode};
use crate::store::StoreError;
use crate::texts::{self, Name};
use aizuchi_structure::cues::Cues;

/// How often an owed answer is redrafted because a message behind it changed.
const MAX_REDRAFTS: u32 = 3;
/// How many rounds of tool calls a model gets before it has to answer in text.
const MAX_TOOL_ROUNDS: usize = 5;

/// What the mind generated.
enum Generated {
    Reply(GeneratedReply),
    /// It has nothing to say, for this reason, and nobody waits for an answer.
    Nothing(String),
}

/// The result of the model calls.
struct GeneratedReply {
    text: String,
    /// Names the pages that were read for it, if the text names none of them.
    sources: Option<String>,
    /// The URLs of the text that may be live.
    known_urls: KnownUrls,
    lineage: Lineage,
    memo_changes: Vec<MemoChange>,
    /// The calls that somebody has to allow.
    wanted_calls: Vec<NewConsent>,
}

impl Agent {
    pub(super) async fn reply(
        &self,
        claim: &Claim,
        conversation: &ConversationId,
        superseded: &CancellationToken,
        trace: &mut StepTrace<'_>,
    ) -> Result<StepResult, StepError> {
        let began = self.now();
        let mut context = self.load_context(conversation).await?;
        trace.seen_revision = Some(context.revision);
        if claim.is_owed && context.owed.is_empty() {
            return Ok(self.withdraw_retracted());
        }
        let answered = match self.command_answers.archive.lost_span() {
            Some(_) => self.take_answered_before_restore(&mut context).await?,
            None => Vec::new(),
        };
        if claim.is_owed && context.owed.is_empty() {
            return Ok(self.close_answered_before_restore(answered));
        }
        if let Some(result) = self.reply_to_commands(&context, superseded).await? {
            return Ok(result);
        }
        if claim.is_owed
            && context.owed.iter().all(|message| context.target_message(message).is_none())
        {
            // None of the questions is available any more.
            return Ok(self.close_deleted(&context));
        }
        let ended = match claim.is_owed {
            true => self.ended_calls(&context).await?,
            false => EndedCalls::default(),
        };
        let (mode, gate_result) = self.check_gates(claim, &context);
        // The state that the judge named is kept.
        let state = context.intent.as_ref().and_then(|intent| intent.conversation_state);
        let evaluation =
            Evaluation { conversation_state: state, ..Evaluation::new(mode, gate_result.passed) };
        trace.evaluation = claim.is_owed.then_some(evaluation);
        if let Some(gate) = gate_result.settled_by {
            let refused = self.refuse_by_gate(claim, gate, gate_result.limit, &context);
            return match gate_result.limit {
                Some(_) => self.tell_of_ended_calls(refused, &ended, &context),
                // Nothing may be said there.
                None => Ok(refused),
            };
        }
        let settled = [answered, self.drop_rate_limited(&mut context, &ended)].concat();
        if !claim.is_owed
            && let Some(withdrawn) = self.check_intent(claim, &context).await?
        {
            // What arrived after the verdict is still to be judged.
            trace.seen_revision = context.intent.as_ref().map(|intent| intent.seen_revision);
            return Ok(withdrawn);
        }
        if claim.redrafts > MAX_REDRAFTS {
            // A message behind the draft changes every time. The user who waits gets an apology
            // instead.
            let apology = self.draft_apology(&context);
            let told = self.tell_of_ended_calls(apology, &ended, &context)?;
            return Ok(with_settled_messages(told, settled));
        }
        let language = self.persona.language;
        if let Some(text) = ended.sentences(&context, language) {
            let posts = DraftContent::Text(vec![text]);
            let result = self.draft(&context, posts, Lineage::default(), DecisionResult::Spoke);
            return Ok(with_settled_messages(with_reason(result, ended.reason(language)), settled));
        }
        context.recalled_messages = self.recall(&context).await;
        let owner = self.call_owner(claim, &context);
        let mut calls = Calls::new(owner, superseded, trace.attempts);
        let reading = self.read_files(&mut context, &mut calls, &mut trace.read_attachments);
        match claim.is_owed {
            true => self.with_thinking_indicator(conversation, reading).await?,
            false => reading.await?,
        }
        let context = Arc::new(context);
        let thinking = self.generate(&context, &ended, &mut calls);
        let generated = if claim.is_owed {
            self.with_thinking_indicator(conversation, thinking).await
        } else {
            thinking.await
        };
        let is_last = claim.attempt >= super::MAX_OWED_ATTEMPTS;
        let result = match generated {
            Ok(Generated::Nothing(why)) => {
                StepResult::Silent(DecisionClosing::new(DecisionResult::ChoseSilence, why))
            }
            Ok(Generated::Reply(reply)) => {
                let due = self.due_after_typing(claim, &context, &reply.text, began);
                let platform = self.platforms.for_workspace(&conversation.workspace)?;
                let lineage = reply.lineage;
                trace.memo_changes = reply.memo_changes;
                trace.wanted_calls = reply.wanted_calls;
                let is_proposed = mode == Mode::Propose && !claim.is_owed;
                let reaction = self.as_reaction(&context, &reply.text).filter(|_| !is_proposed);
                let result = match reaction {
                    Some(reaction) => {
                        self.draft(&context, reaction, lineage, DecisionResult::Reacted)
                    }
                    None => {
                        let text = match &reply.sources {
                            Some(sources) => format!("{}\n\n{sources}", reply.text),
                            None => reply.text,
                        };
                        let posts = to_posts(&text, &reply.known_urls, &**platform);
                        let content = DraftContent::Text(posts);
                        self.draft(&context, content, lineage, DecisionResult::Spoke)
                    }
                };
                let result = match ended.is_empty() {
                    true => result,
                    false => with_reason(result, ended.reason(language)),
                };
                match is_proposed {
                    true => self.as_proposal(result),
                    false => with_due(result, due),
                }
            }
            // The budget is not used up; only this decision has taken too many calls.
            Err(StepError::OverBudget(Limit::CallsPerDecision)) if claim.is_owed => {
                let why =
                    texts::judging::limit_reason(self.persona.language, Limit::CallsPerDecision);
                let apology = with_reason(self.draft_apology(&context), why);
                self.tell_of_ended_calls(apology, &ended, &context)?
            }
            Err(StepError::OverBudget(limit)) if claim.is_owed => {
                let gate = Gate::from_limit(limit);
                let refused = self.refuse_by_gate(claim, gate, Some(limit), &context);
                self.tell_of_ended_calls(refused, &ended, &context)?
            }
            Err(StepError::Retryable { problem, .. }) if claim.is_owed && is_last => {
                self.tell_of_ended_calls(self.apologize_for(problem, &context), &ended, &context)?
            }
            Err(StepError::Permanent { problem, .. }) if claim.is_owed => {
                self.tell_of_ended_calls(self.apologize_for(problem, &context), &ended, &context)?
            }
            Err(error) => return Err(error),
        };
        Ok(with_settled_messages(result, settled))
    }

    /// Checks the gates again: what was allowed at the judgment may not be any more.
    fn check_gates(&self, claim: &Claim, context: &Context) -> (Mode, GateResult) {
        let rulebook = self.rulebook();
        let gate_input = self.gate_input(context, &rulebook);
        let gate_result = match claim.is_owed {
            true => gate_input.check_before_answering(),
            false => gate_input.check_before_posting(),
        };
        (gate_input.mode(), gate_result)
    }

    /// Settles a reply that a gate forbids. If the budget is used up, the user who asked is told,
    /// once an hour.
    fn refuse_by_gate(
        &self,
        claim: &Claim,
        gate: Gate,
        limit: Option<Limit>,
        context: &Context,
    ) -> StepResult {
        if !claim.is_owed {
            return StepResult::Silent(self.close_by_gate(gate, limit));
        }
        let Some(limit) = limit else {
            return self.silence_owed(gate, None, DecisionResult::Muted, context);
        };
        if context.circumstances.has_announced_over_budget {
            let ended = DecisionResult::OverBudget;
            return self.silence_owed(gate, Some(limit), ended, context);
        }
        let language = self.persona.language;
        let most = self.rulebook().answers_per_hour;
        let text = match (limit, most) {
            (Limit::AnswersPerPersonPerHour, Some(most)) => {
                texts::replies::over_answers(language, most)
            }
            (_, _) => texts::replies::over_budget(language).to_owned(),
        };
        let posts = DraftContent::Text(vec![text]);
        let result = self.draft(context, posts, Lineage::default(), DecisionResult::OverBudget);
        with_reason(result, texts::judging::limit_reason(self.persona.language, limit))
    }

    /// Settles the owed messages without an answer.
    pub(super) fn silence_owed(
        &self,
        gate: Gate,
        limit: Option<Limit>,
        ended: DecisionResult,
        context: &Context,
    ) -> StepResult {
        StepResult::Silent(DecisionClosing {
            ended,
            settled_messages: context.owed.clone(),
            ..self.close_by_gate(gate, limit)
        })
    }

    fn close_deleted(&self, context: &Context) -> StepResult {
        let why = texts::judging::message_deleted(self.persona.language);
        let settled_messages = context.owed.clone();
        StepResult::Silent(DecisionClosing {
            settled_messages,
            ..DecisionClosing::new(DecisionResult::Dropped, why)
        })
    }

    /// Takes the messages out of this reply, and their commands, that were probably answered after the backup was made
    /// from which the store was restored.
    async fn take_answered_before_restore(
        &self,
        context: &mut Context,
    ) -> Result<Vec<MessageId>, StoreError> {
        let archive = &self.command_answers.archive;
        let answered =
            archive.answered_before_restore(&context.conversation, &context.owed).await?;
        context.owed.retain(|message| !answered.contains(message));
        context.pending_commands.retain(|command| !answered.contains(&command.message));
        Ok(answered)
    }

    /// The result for a reply of which every message was answered before the restore.
    pub(super) fn close_answered_before_restore(&self, answered: Vec<MessageId>) -> StepResult {
        let why = texts::replies::answered_before_restore(self.persona.language);
        StepResult::Silent(DecisionClosing {
            settled_messages: answered,
            ..DecisionClosing::new(DecisionResult::Dropped, why)
        })
    }

    /// Takes messages of users over their hourly answer limit out of this reply. They are settled
    /// together with it and get no answer of their own. Whoever waits to hear of a call that was allowed hears of it.
    fn drop_rate_limited(&self, context: &mut Context, ended: &EndedCalls) -> Vec<MessageId> {
        let rulebook = self.rulebook();
        let is_over_limit = |message: &MessageId| {
            !ended.has_call_for(message)
                && self.gate_input(context, &rulebook).has_reached_answer_limit(message)
        };
        let (settled, owed): (Vec<MessageId>, Vec<MessageId>) =
            context.owed.iter().cloned().partition(is_over_limit);
        context.owed = owed;
        settled
    }

    /// Withdraws the reply if the message that the judge wanted to answer was changed or has been taken up. Where
    /// that is unclear, the judge looks again.
    async fn check_intent(
        &self,
        claim: &Claim,
        context: &Context,
    ) -> Result<Option<StepResult>, StepError> {
        let Some(intent) = &context.intent else { return Ok(None) };
        let Some(about) = &intent.about else { return Ok(None) };
        if !self.is_message_present(context, about) {
            return Ok(Some(self.withdraw_answered()));
        }
        if let Some(withdrawn) = self.check_other_bots(context, about) {
            return Ok(Some(withdrawn));
        }
        if let Some(withdrawn) = self.check_standing(claim, context, about, intent.seen_revision) {
            return Ok(Some(withdrawn));
        }
        let message = MessageRef(context.conversation.channel.clone(), about.clone());
        let lineage = Lineage { messages: vec![message], ..Lineage::default() };
        let conversation = &context.conversation;
        let has_changed =
            self.store.has_changed_since(conversation, intent.seen_revision, &lineage).await?;
        Ok(has_changed.then(|| self.withdraw_answered()))
    }

    /// Withdraws an unsolicited reply to `about` if that was taken up. `seen_revision` is what the model has seen:
    /// while nobody has written since, its word stands. Where it is unclear the judge looks again; if it has already,
    /// the more probable counts.
    pub(super) fn check_standing(
        &self,
        claim: &Claim,
        context: &Context,
        about: &MessageId,
        seen_revision: u64,
    ) -> Option<StepResult> {
        let message = context.target_message(about)?;
        let has_moved_on = context.newest_message_revision > seen_revision;
        let is_in_thread =
            context.is_answered_in_thread(message) || context.is_left_to_thread(message);
        if !has_moved_on && !is_in_thread {
            return None;
        }
        let language = self.persona.language;
        let rulebook = self.rulebook();
        let gate_input = self.gate_input(context, &rulebook);
        let is_facilitator = gate_input.mode() == Mode::Facilitator;
        let min_messages = gate_input.rules.facilitation.min_messages;
        let thread_length = context.conversation_history.thread(about).len();
        let may_look_again = claim.second_looks == 0 && !is_facilitator;
        let why = match ConversationAnalysis::new(context).standing(about) {
            Standing::Open => return None,
            // It has no word there before there are enough messages.
            Standing::InThread if is_facilitator && thread_length < min_messages => return None,
            Standing::ProbablyOpen | Standing::ProbablyTakenUp if may_look_again => {
                return Some(StepResult::LookAgain { due: self.now() });
            }
            Standing::ProbablyOpen => return None,
            Standing::ProbablyTakenUp => texts::replies::probably_taken_up(language).to_owned(),
            Standing::InThread => texts::replies::goes_on_in_thread(language).to_owned(),
            Standing::TakenUp(None) => texts::replies::asker_is_content(language).to_owned(),
            Standing::TakenUp(Some((user, probability))) => {
                let name = to_single_line(context.display_name(&user));
                texts::replies::taken_up_by(language, Name(&name), probability)
            }
        };
        Some(StepResult::Withdrawn { why })
    }

    fn withdraw_answered(&self) -> StepResult {
        let why = texts::replies::answered_or_changed(self.persona.language);
        StepResult::Withdrawn { why: why.to_owned() }
    }

    pub(super) fn withdraw_retracted(&self) -> StepResult {
        let why = texts::replies::question_withdrawn(self.persona.language);
        StepResult::Withdrawn { why: why.to_owned() }
    }

    /// Finds relevant old messages from every channel that is visible from here.
    pub(super) async fn recall(&self, context: &Context) -> Vec<RecalledMessage> {
        let limit = self.settings.recall_limit;
        let messages = context.messages_to_answer();
        let memory = self.gate_input(context, &self.rulebook()).rules.memory;
        if limit == 0 || messages.is_empty() || memory == MemoryRule::Off {
            return Vec::new();
        }
        let text = messages.iter().map(|message| &*message.text).collect::<Vec<_>>().join("\n");
        let query = RecallQuery {
            workspace: context.conversation.workspace.clone(),
            visible_from: Some(context.conversation.channel.clone()),
            channel: None,
            text,
            before: Some(messages.iter().map(|message| message.at).min().unwrap_or_default()),
            // Some results may be in the context already, so ask for that many more.
            limit: limit + context.messages().count(),
        };
        let mut found = match self.store.recall(&query).await {
            Ok(found) => found,
            Err(error) => {
                // Old messages are of use, but not worth an answer.
                warn!(error = %error, "searching old messages failed; replying without them");
                Vec::new()
            }
        };
        let rulebook = self.rulebook();
        found.retain(|RecalledMessage { message, channel_name, .. }| {
            let visibility = context.visibility_of(&message.conversation.channel);
            let room = Room::of_conversation(&message.conversation, channel_name, visibility);
            let is_remembered = rulebook.remembers(&room);
            is_remembered && !context.has_message(message)
        });
        found.truncate(limit);
        found
    }

    /// The URLs that a reply may show as links before it has used any tool.
    pub(super) fn known_urls(&self, context: &Context) -> KnownUrls {
        let mut known = KnownUrls::in_context(context);
        let rulebook = self.rulebook();
        let rules = self.gate_input(context, &rulebook).rules;
        known.add(&self.persona_in(&self.minds.response, rules).system_prompt);
        known.allow_hosts(&self.settings.link_hosts);
        known
    }

    /// The first prompt of a reply, and the tools that it may use. A preview has no decision.
    pub(super) async fn reply_prompt(
        &self,
        context: &Arc<Context>,
        decision: Option<DecisionId>,
    ) -> Result<(Prompt, Option<Toolbox>), StoreError> {
        let mind = &self.reply_mind(context);
        let language = mind.persona.language;
        let toolbox = self.toolbox(context, language, self.now(), decision).await?;
        let mut options = self.prompt_options(mind);
        let rulebook = self.rulebook();
        let rules = self.gate_input(context, &rulebook).rules;
        options.judge_options.reactions = rules.reactions.clone();
        let specs = toolbox.as_ref().map(Toolbox::specs).unwrap_or_default();
        if !specs.is_empty() {
            let tools = tool::spec_tokens(&specs, language);
            options.budget = options.budget.reserve_for_tools(tools);
        }
        let persona = self.persona_in(mind, rules);
        let prompt = self.prompt_builder.read().reply(&persona, context, &options);
        Ok((prompt.with_tools(specs), toolbox))
    }

    /// Calls the model, runs the tools that it asks for, and repeats until it answers in text. All
    /// of this takes no longer than two calls may take.
    async fn generate(
        &self,
        context: &Arc<Context>,
        ended: &EndedCalls,
        calls: &mut Calls<'_>,
    ) -> Result<Generated, StepError> {
        let mind = &self.reply_mind(context);
        let (began, limit) = (self.now(), self.settings.model_timeout);
        let (mut prompt, mut toolbox) = self.reply_prompt(context, calls.owner.decision).await?;
        let mut urls_of_ended = None;
        if !ended.is_empty() {
            let mut known = self.known_urls(context);
            ended.add_to(&mut prompt, &mut known, self.settings.budget.max_tokens);
            (toolbox, urls_of_ended) = (None, Some(known));
        }
        loop {
            let left = (began + limit * 2).duration_since(self.now());
            let call = self.call_model_within(limit.min(left), mind, &prompt, calls);
            let answer = call.await?;
            let is_final = answer.tool_calls.is_empty() || prompt.tools.is_empty();
            let Some(toolbox) = toolbox.as_mut().filter(|_| !is_final) else {
                let known_urls = match (&toolbox, &urls_of_ended) {
                    (Some(toolbox), _) => toolbox.known_urls().clone(),
                    (None, Some(known)) => known.clone(),
                    (None, None) => self.known_urls(context),
                };
                if let Some(why) = answer.silence.filter(|_| context.owed.is_empty()) {
                    return Ok(Generated::Nothing(why));
                }
                let text = final_text(answer.text, &prompt);
                let text = self.screen(&text, &known_urls, CodeBlocks::KeepUrls);
                if is_blank(&text) {
                    return Err(empty_answer());
                }
                let sources = toolbox.as_ref().and_then(|toolbox| toolbox.sources(&text));
                let sources =
                    sources.map(|text| self.screen(&text, &known_urls, CodeBlocks::KeepUrls));
                let memo_changes = toolbox.as_ref().map(Toolbox::memo_changes).unwrap_or_default();
                let wanted_calls = toolbox.as_ref().map(Toolbox::wanted_calls).unwrap_or_default();
                let lineage = prompt.lineage();
                return Ok(Generated::Reply(GeneratedReply {
                    text,
                    sources,
                    known_urls,
                    lineage,
                    memo_changes,
                    wanted_calls,
                }));
            };
            let max_tokens = self.settings.budget.max_tokens;
            let tokens_left = max_tokens.saturating_sub(prompt.total_tokens());
            // Something on the web, or a tool of the operator's, may take long.
            let round = toolbox.run_calls(answer, self.now(), tokens_left);
            prompt.tool_rounds.push(unless_superseded(calls.superseded, round).await?);
            let is_late = self.now() >= began + limit;
            let is_full = prompt.total_tokens() >= max_tokens;
            if is_late || is_full || prompt.tool_rounds.len() >= MAX_TOOL_ROUNDS {
                prompt.tools.clear();
            }
        }
    }

    /// Shows a thinking indicator to users who wait for an answer. An unsolicited reply shows none.
    async fn with_thinking_indicator<T>(
        &self,
        conversation: &ConversationId,
        thinking: impl Future<Output = T>,
    ) -> T {
        let Ok(platform) = self.platforms.for_workspace(&conversation.workspace) else {
            return thinking.await;
        };
        match select(pin!(thinking), platform.show_thinking(conversation)).await {
            Either::Left((thought, _)) => thought,
            Either::Right(((), thinking)) => thinking.await,
        }
    }

    /// An apology whose row in the ledger says what is wrong with the model, if that is known.
    fn apologize_for(&self, problem: Option<ModelProblem>, context: &Context) -> StepResult {
        let apology = self.draft_apology(context);
        match problem {
            Some(problem) => {
                let why = texts::models::problem(self.persona.language, problem);
                with_reason(apology, why.to_owned())
            }
            None => apology,
        }
    }

    /// What a reply without a model comes to, with how calls ended: a call that is not told of would be asked for again.
    fn tell_of_ended_calls(
        &self,
        result: StepResult,
        ended: &EndedCalls,
        context: &Context,
    ) -> Result<StepResult, StepError> {
        if ended.is_empty() {
            return Ok(result);
        }
        let language = self.persona.language;
        let mut lines = vec![ended.fixed_sentences(language)];
        let mut reasons = vec![ended.reason(language)];
        let mut ends = DecisionResult::Spoke;
        if let StepResult::Drafted { draft, .. } = result
            && let Draft { content: DraftContent::Text(others), metadata } = draft
            && !ended.is_all_owed(context)
        {
            lines.extend(others);
            reasons.push(metadata.why);
            ends = metadata.ends;
        }
        let platform = self.platforms.for_workspace(&context.conversation.workspace)?;
        let posts = to_posts(&lines.join("\n"), &KnownUrls::default(), &**platform);
        let draft = self.draft(context, DraftContent::Text(posts), Lineage::default(), ends);
        Ok(with_reason(draft, reasons.join("; ")))
    }

    fn draft_apology(&self, context: &Context) -> StepResult {
        let text = texts::replies::apology(self.persona.language).to_owned();
        let posts = DraftContent::Text(vec![text]);
        self.draft(context, posts, Lineage::default(), DecisionResult::Failed)
    }

    fn draft(
        &self,
        context: &Context,
        content: DraftContent,
        lineage: Lineage,
        ends: DecisionResult,
    ) -> StepResult {
        let metadata = DraftMetadata {
            // The prompt held all owed messages that still exist; the others are owed nothing any
            // more.
            owed: context.owed.clone(),
            about: context.intent.as_ref().and_then(|intent| intent.about.clone()),
            lineage,
            seen_revision: context.revision,
            ends,
            why: self.draft_reason(context, ends),
            only_for: None,
            is_public: false,
            is_approved: false,
        };
        StepResult::Drafted { draft: Draft { content, metadata }, due: self.now() }
    }

    /// A reply that is nothing but an emoji which the channel allows is a reaction to the only message that it answers.
    fn as_reaction(&self, context: &Context, text: &str) -> Option<DraftContent> {
        let [message] = context.messages_to_answer()[..] else { return None };
        let rulebook = self.rulebook();
        let reactions = &self.gate_input(context, &rulebook).rules.reactions;
        let emoji = reactions.iter().find(|emoji| **emoji == text.trim())?.clone();
        Some(DraftContent::Reaction { emoji, on: message.id.clone() })
    }

    /// The same draft, which somebody has to approve.
    fn as_proposal(&self, result: StepResult) -> StepResult {
        match result {
            StepResult::Drafted { draft, .. } => StepResult::Proposed(ProposedDraft {
                draft,
                expires: self.now() + self.settings.proposal_lifetime,
            }),
            result => result,
        }
    }

    fn draft_reason(&self, context: &Context, ends: DecisionResult) -> String {
        let language = self.persona.language;
        if ends == DecisionResult::Failed {
            return texts::replies::no_answer_found(language).to_owned();
        }
        let owed = context.owed.iter().filter_map(|id| context.target_message(id));
        let owed: Vec<&Arc<Message>> = owed.collect();
        let asked = owed.iter().find(|message| asks(message));
        match (asked.or(owed.first()), &context.intent) {
            (Some(message), _) => self.owed_reason(message, context),
            (None, Some(intent)) => intent.reason.clone(),
            (None, None) => String::new(),
        }
    }

    /// What made this message owe an answer.
    fn owed_reason(&self, message: &Message, context: &Context) -> String {
        let language = self.persona.language;
        let name = to_single_line(context.display_name(&message.author.id));
        if asks(message) {
            texts::replies::asked_by(language, Name(&name))
        } else if names_with_mark(&message.text, &self.persona.name) {
            texts::replies::mentioned_by(language, Name(&name))
        } else {
            texts::replies::spoken_to_by(language, Name(&name))
        }
    }
}

fn asks(message: &Message) -> bool {
    Cues::from_text(&message.text).contains(Cues::ASKS)
}

/// Whether a text mentions this name as users see it: `@Aizuchi`.
fn names_with_mark(text: &str, name: &str) -> bool {
    let (text, name) = (text.to_lowercase(), name.to_lowercase());
    ['@', '＠'].iter().any(|mark| text.contains(&format!("{mark}{name}")))
}

/// The same draft, for this reason.
fn with_reason(result: StepResult, why: String) -> StepResult {
    match result {
        StepResult::Drafted { mut draft, due } => {
            draft.metadata.why = why;
            StepResult::Drafted { draft, due }
        }
        result => result,
    }
}

/// The same draft, due at that time.
fn with_due(result: StepResult, due: Timestamp) -> StepResult {
    match result {
        StepResult::Drafted { draft, .. } => StepResult::Drafted { draft, due },
        result => result,
    }
}

/// The same draft, which also settles these messages.
fn with_settled_messages(result: StepResult, settled: Vec<MessageId>) -> StepResult {
    match result {
        StepResult::Drafted { mut draft, due } => {
            draft.metadata.owed.extend(settled);
            StepResult::Drafted { draft, due }
        }
        result => result,
    }
}

/// The text of the last response or, if that is empty, of the latest tool round that had any.
fn final_text(last: String, prompt: &Prompt) -> String {
    let before = prompt.tool_rounds.iter().rev().map(|round| &round.text);
    let mut all = std::iter::once(&last).chain(before);
    all.find(|text| !is_blank(text)).cloned().unwrap_or_default()
}

fn empty_answer() -> StepError {
    StepError::retryable("the model's answer is empty".to_owned(), None)
}

/// The posts that a text is split into, as many as an answer may take.
fn to_posts(text: &str, known: &KnownUrls, platform: &dyn Platform) -> Vec<String> {
    let longest = platform.max_post_length();
    let posts = split(text, longest).into_iter();
    // What was code in the whole text may not be code in a part of it.
    let screen = |post: String| screen_urls(&post, known, CodeBlocks::KeepUrls);
    limit_posts(posts.flat_map(|post| split(&screen(post), longest)).collect(), longest)
}
