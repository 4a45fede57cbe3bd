//! Reply: drafts a text. Posting is separate work, so a platform error does not cost a second model call.

use std::sync::Arc;

use aizuchi_model::chat::owed::Owed;
use aizuchi_model::chat::{ConversationId, MessageId};
use aizuchi_model::context::Context;
use aizuchi_model::decision::gate::{Gate, GateResult};
use aizuchi_model::decision::limit::Limit;
use aizuchi_model::decision::{DecisionResult, Evaluation};
use aizuchi_model::flow::outbox::{Draft, DraftContent};
use aizuchi_model::flow::{Claim, DecisionClosing, StepResult};
use aizuchi_model::memory::Lineage;
use aizuchi_model::outgoing::urls::KnownUrls;
use aizuchi_model::rules::Mode;
use aizuchi_model::split::to_posts;
use aizuchi_model::texts;
use aizuchi_store::StoreError;
use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

use crate::agent::draft::{with_due, with_reason, with_settled};
use crate::agent::ended_calls::EndedCalls;
use crate::agent::generate_reply::Generated;
use crate::agent::reserve_budget::Calls;
use crate::agent::user_rate_limit::PacedNotice;
use crate::agent::{StepError, StepTrace, Worker};

/// How often an owed answer is redrafted because one of its source messages changed.
const MAX_REDRAFTS: u32 = 3;
/// A message that was edited this often is left out of a redraft, so that its edits do not keep others waiting.
const MANY_EDITS: u32 = 3;

impl Worker<'_> {
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
        let answered = self.take_answered_in_history(&mut context).await?;
        if claim.is_owed && context.owed.is_empty() {
            return Ok(self.close_answered_in_history(answered));
        }
        // Before the gates: commands are answered even while the persona is muted.
        if self.puts_off_commands(&context) {
            let commands = &context.pending_commands;
            context.owed.retain(|owed| !commands.iter().any(|command| command.owed == *owed));
        } else if let Some(result) = self.reply_to_commands(claim, &context, superseded).await? {
            return Ok(result);
        }
        if claim.is_owed && context.owed_messages().next().is_none() {
            // None of the questions is available anymore.
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
        // Behind an unsolicited reply is a judgment, whose evaluation stays.
        trace.evaluation = claim.is_owed.then_some(evaluation);
        if let Some(gate) = gate_result.closed_by {
            let refused = self.refuse_by_gate(claim, gate, gate_result.limit, &context).await?;
            return match gate_result.limit {
                Some(_) => self.report_ended_calls(refused, &ended, &context),
                // The message may not be answered there.
                None => Ok(refused),
            };
        }
        let settled = [answered, self.drop_rate_limited(&mut context, &ended)].concat();
        if !claim.is_owed
            && let Some(withdrawn) = self.check_intent(claim, &context).await?
        {
            // Messages that arrived after the verdict still have to be judged.
            trace.seen_revision =
                context.intent.as_ref().map(|intent| intent.seen_revision.number());
            return Ok(withdrawn);
        }
        if claim.redrafts > MAX_REDRAFTS {
            // A source message changes before every post. The user who waits gets an apology instead.
            let apology = self.draft_apology(&context);
            let reported = self.report_ended_calls(apology, &ended, &context)?;
            return Ok(with_settled(reported, settled));
        }
        let language = self.persona.language;
        if let Some(text) = ended.sentences(&context, language) {
            let posts = DraftContent::Text(vec![text]);
            let result = self.draft(&context, posts, Lineage::default(), DecisionResult::Spoke);
            return Ok(with_settled(with_reason(result, ended.reason(language)), settled));
        }
        context.recalled_messages = self.recall(&context).await;
        if claim.is_owed && claim.redrafts > 1 {
            context.leave_out_edited(MANY_EDITS);
        }
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
            Ok(Generated::Quiet { command, memo_changes, wanted_calls }) => {
                trace.memo_changes = memo_changes;
                trace.wanted_calls = wanted_calls;
                match self.order_quiet(&context, command).await? {
                    Some((result, order)) => {
                        trace.quiet_order = Some(order);
                        result
                    }
                    None => self.draft_apology(&context),
                }
            }
            Ok(Generated::Reply(reply)) => {
                let due = self.due_after_typing(claim, &context, &reply.text, began);
                let platform = self.platforms.for_workspace(&conversation.workspace)?;
                let lineage = reply.lineage;
                trace.memo_changes = reply.memo_changes;
                trace.plans = reply.plans;
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
                        let posts = to_posts(&text, &reply.known_urls, platform.max_post_length());
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
            // The budget is not used up; only this decision has made too many calls.
            Err(StepError::OverBudget(Limit::CallsPerDecision)) if claim.is_owed => {
                let why =
                    texts::judging::limit_reason(self.persona.language, Limit::CallsPerDecision);
                let apology = with_reason(self.draft_apology(&context), why);
                self.report_ended_calls(apology, &ended, &context)?
            }
            Err(StepError::OverBudget(limit)) if claim.is_owed => {
                let gate = Gate::from_limit(limit);
                let refused = self.refuse_by_gate(claim, gate, Some(limit), &context).await?;
                self.report_ended_calls(refused, &ended, &context)?
            }
            Err(StepError::Retryable { problem, retry_after, .. })
                if claim.is_owed && (is_last || self.is_too_long_for_asker(retry_after)) =>
            {
                self.report_ended_calls(self.apologize_for(problem, &context), &ended, &context)?
            }
            Err(StepError::Permanent { problem, .. }) if claim.is_owed => {
                self.report_ended_calls(self.apologize_for(problem, &context), &ended, &context)?
            }
            Err(error) => return Err(error),
        };
        Ok(with_settled(result, settled))
    }

    /// Whether a model asks for a longer wait than for an answer of it. The user gets an apology instead, and the next
    /// message finds out whether the model answers again.
    fn is_too_long_for_asker(&self, retry_after: Option<SignedDuration>) -> bool {
        retry_after.is_some_and(|wait| wait > self.settings.model_timeout)
    }

    /// Whether others wait for an answer beside a user who has just got one to a command.
    fn puts_off_commands(&self, context: &Context) -> bool {
        let Some(first) = context.pending_commands.first() else { return false };
        let mut owed = context.owed_messages();
        owed.any(|message| message.author.id != first.user)
            && self.user_rate_limit.has_answered(&context.conversation, &first.user)
    }

    /// Checks the gates again: what was allowed at the judgment may no longer be.
    fn check_gates(&self, claim: &Claim, context: &Context) -> (Mode, GateResult) {
        let gate_input = self.gate_input(context);
        let gate_result = match claim.is_owed {
            true => gate_input.check_before_answering(),
            false => gate_input.check_before_posting(),
        };
        (gate_input.mode(), gate_result)
    }

    /// Settles a reply that a gate forbids. If the budget is used up, the user who asked is told so, at most once an
    /// hour in a channel.
    async fn refuse_by_gate(
        &self,
        claim: &Claim,
        gate: Gate,
        limit: Option<Limit>,
        context: &Context,
    ) -> Result<StepResult, StepError> {
        if !claim.is_owed {
            return Ok(StepResult::Silent(self.close_by_gate(gate, limit)));
        }
        let Some(limit) = limit else { return self.silence_or_tell(claim, gate, context).await };
        let (here, decision) = (&context.conversation, claim.decision);
        let is_told = context.circumstances.has_announced_over_budget
            || !context.owed_messages().any(|message| {
                self.user_rate_limit
                    .count(PacedNotice::OfLimit, here, &message.author.id, decision)
                    .is_some()
            });
        if is_told {
            let ended = DecisionResult::OverBudget;
            return Ok(self.silence_owed(gate, Some(limit), ended, context));
        }
        let language = self.persona.language;
        let most = self.rulebook.answers_per_hour;
        let text = match (limit, most) {
            (Limit::AnswersPerPersonPerHour, Some(most)) => {
                texts::replies::over_answers(language, most)
            }
            (_, _) => texts::replies::over_budget(language).to_owned(),
        };
        let posts = DraftContent::Text(vec![text]);
        let result = self.draft(context, posts, Lineage::default(), DecisionResult::OverBudget);
        Ok(with_reason(result, texts::judging::limit_reason(self.persona.language, limit)))
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
            settled: context.owed.clone(),
            ..self.close_by_gate(gate, limit)
        })
    }

    fn close_deleted(&self, context: &Context) -> StepResult {
        let why = texts::judging::message_deleted(self.persona.language);
        let settled = context.owed.clone();
        StepResult::Silent(DecisionClosing {
            settled,
            ..DecisionClosing::new(DecisionResult::Dropped, why)
        })
    }

    /// Removes messages and commands from this reply that were answered according to the platform's history: the store
    /// has lost its last seconds, or was put back to an older copy.
    async fn take_answered_in_history(
        &self,
        context: &mut Context,
    ) -> Result<Vec<Owed>, StoreError> {
        if context.owed.is_empty() {
            return Ok(Vec::new());
        }
        let archive = &self.command_answers.archive;
        let owed: Vec<MessageId> = context.owed.iter().map(Owed::stored_id).collect();
        let answered = archive.answered_in_history(&context.conversation, &owed).await?;
        let is_answered = |owed: &Owed| answered.contains(&owed.stored_id());
        context.pending_commands.retain(|command| !is_answered(&command.owed));
        Ok(context.owed.extract_if(.., |owed| is_answered(owed)).collect())
    }

    /// Returns the result if all that it would answer was answered according to the platform's history.
    pub(super) fn close_answered_in_history(&self, answered: Vec<Owed>) -> StepResult {
        let why = texts::replies::answered_in_history(self.persona.language);
        StepResult::Silent(DecisionClosing {
            settled: answered,
            ..DecisionClosing::new(DecisionResult::Dropped, why)
        })
    }

    /// Removes messages of users over their hourly answer limit from this reply. They are settled together with it and
    /// get no answer of their own. Messages that wait for the result of an allowed call are kept.
    fn drop_rate_limited(&self, context: &mut Context, ended: &EndedCalls) -> Vec<Owed> {
        let is_over_limit = |owed: &Owed| {
            !ended.has_call_for(owed) && self.gate_input(context).has_reached_answer_limit(owed)
        };
        let (settled, owed): (Vec<Owed>, Vec<Owed>) =
            context.owed.iter().cloned().partition(is_over_limit);
        context.owed = owed;
        settled
    }

    /// Adds how calls ended to the result of a reply without a model: a call that is not reported would be requested
    /// again.
    fn report_ended_calls(
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
        let posts = to_posts(&lines.join("\n"), &KnownUrls::default(), platform.max_post_length());
        let draft = self.draft(context, DraftContent::Text(posts), Lineage::default(), ends);
        Ok(with_reason(draft, reasons.join("; ")))
    }
}
