//! Unasked plans: looks again at a question that nobody has answered, or at a channel in which the persona may speak
//! first. Nobody asked for either, so both are judged like any other unsolicited post, in two steps: the verdict, and the
//! draft.

use std::sync::Arc;

use aizuchi_model::chat::{AuthorKind, Message};
use aizuchi_model::context::conversation_analysis::{ConversationAnalysis, OpenState};
use aizuchi_model::context::state::ConversationState;
use aizuchi_model::context::{Context, Intent, Occasion};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::verdict::{SilenceReason, Verdict};
use aizuchi_model::decision::{Decision, DecisionResult, Evaluation, Judgment};
use aizuchi_model::flow::outbox::DraftContent;
use aizuchi_model::flow::{Claim, DecisionClosing, StepResult};
use aizuchi_model::plan::{Plan, PlanKind};
use aizuchi_model::rules::{FollowUpRule, Mode};
use aizuchi_model::split::to_posts;
use aizuchi_model::texts;
use aizuchi_store::query::DecisionQuery;
use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

use crate::agent::ended_calls::EndedCalls;
use crate::agent::generate_reply::Generated;
use crate::agent::plan::lineage_with;
use crate::agent::reserve_budget::Calls;
use crate::agent::{StepError, StepTrace, Worker};

/// The gates that would always close: nobody has written anything new.
const ALWAYS_CLOSED: [Gate; 3] = [Gate::Directed, Gate::Unchanged, Gate::NothingOpen];
/// The persona begins no conversation within this time after a message of its own.
const BETWEEN_FIRST_WORDS: SignedDuration = SignedDuration::from_hours(24);
/// How late it may begin one.
const LATEST: SignedDuration = SignedDuration::from_hours(12);
/// The probability from which a message at the top level answers the persona.
const ANSWERS: f32 = 0.5;

impl Worker<'_> {
    pub(super) async fn decide_unasked(
        &self,
        claim: &Claim,
        plan: &Plan,
        superseded: &CancellationToken,
        trace: &mut StepTrace<'_>,
    ) -> Result<StepResult, StepError> {
        let (context, mut options) = self.load_judge_context(&plan.conversation).await?;
        trace.seen_revision = Some(context.revision);
        if let Some(closing) = self.close_without_occasion(plan, &context) {
            return Ok(StepResult::Silent(closing));
        }
        let gate_input = self.gate_input(&context);
        let is_checked = |gate: &&Gate| !ALWAYS_CLOSED.contains(gate);
        let gates: Vec<Gate> = self.settings.gates.iter().filter(is_checked).copied().collect();
        let gate_result = gate_input.check_before_judging(&gates);
        let mode = gate_input.mode();
        let evaluation = Evaluation::new(mode, gate_result.passed);
        if let Some(gate) = gate_result.closed_by {
            trace.evaluation = Some(evaluation);
            return Ok(StepResult::Silent(self.close_by_gate(gate, gate_result.limit)));
        }
        if let Some(Decision { opened, judgment: Some(judgment), .. }) =
            self.decision_of(claim).await?
        {
            let is_new = |message: &Message| message.is_human() && message.at > opened;
            if context.target_messages().iter().any(|message| is_new(message)) {
                let why = texts::replies::users_went_on(self.persona.language).to_owned();
                return Ok(StepResult::Withdrawn { why });
            }
            return self.draft_unasked(claim, plan, judgment, &context, superseded, trace).await;
        }
        let evaluation = trace.evaluation.insert(evaluation);
        if plan.kind == PlanKind::FirstWord {
            // The conversation before it may well have ended.
            let state = Some(ConversationState::Active);
            (evaluation.conversation_state, options.judge_options.known_state) = (state, state);
        }
        let context =
            with_intent(&context, Intent { about: plan.message.clone(), ..occasion(plan) });
        let owner = self.call_owner(claim, &context);
        let mut calls = Calls::new(owner, superseded, trace.attempts);
        let asked = self.ask_judge(&context, &options, &gates, evaluation, &mut calls);
        let (judgment, verdict) = asked.await?;
        let silence = match verdict {
            Verdict::Join => {
                // Its moment is now.
                let judgment = Judgment { about: plan.message.clone(), post_at: None, ..judgment };
                let (state, due) = (context.state_hash(), self.now());
                return Ok(StepResult::Join { judgment, state, due });
            }
            Verdict::React(_) => SilenceReason::JudgeDeclined,
            Verdict::Silent(silence) => silence,
        };
        Ok(StepResult::Silent(self.close_as_silent(silence, judgment, &context)))
    }

    /// Drafts what the judge has agreed to.
    async fn draft_unasked(
        &self,
        claim: &Claim,
        plan: &Plan,
        judgment: Judgment,
        context: &Context,
        superseded: &CancellationToken,
        trace: &mut StepTrace<'_>,
    ) -> Result<StepResult, StepError> {
        let about = plan.message.clone();
        let (reason, conversation_state) = (judgment.reason, judgment.conversation_state);
        let intent = Intent { reason, about, conversation_state, ..occasion(plan) };
        let mut context = (*with_intent(context, intent)).clone();
        context.recalled_messages = self.recall(&context).await;
        let context = Arc::new(context);
        let mut calls = Calls::new(self.call_owner(claim, &context), superseded, trace.attempts);
        let reply = match self.generate(&context, &EndedCalls::default(), &mut calls).await? {
            Generated::Reply(reply) => reply,
            Generated::Nothing(why) => return Ok(chose_silence(why)),
            // Nobody has asked for quiet.
            Generated::Quiet { .. } => {
                return Ok(chose_silence(texts::builtin::nothing_to_say(self.persona.language)));
            }
        };
        (trace.memo_changes, trace.wanted_calls) = (reply.memo_changes, reply.wanted_calls);
        let platform = self.platforms.for_workspace(&plan.conversation.workspace)?;
        let text = match &reply.sources {
            Some(sources) => format!("{}\n\n{sources}", reply.text),
            None => reply.text,
        };
        let posts = to_posts(&text, &reply.known_urls, platform.max_post_length());
        let lineage = lineage_with(plan, reply.lineage);
        let drafted =
            self.draft(&context, DraftContent::Text(posts), lineage, DecisionResult::Spoke);
        let drafted = match drafted {
            StepResult::Drafted { mut draft, due } => {
                let metadata = &mut draft.metadata;
                (metadata.is_planned, metadata.leaves_open) = (true, Vec::new());
                // Whether people have answered the persona's own question was looked at above.
                metadata.about = metadata.about.take().filter(|about| {
                    context.target_message(about).is_some_and(|message| message.is_human())
                });
                StepResult::Drafted { draft, due }
            }
            result => result,
        };
        Ok(match self.gate_input(&context).mode() {
            Mode::Propose => self.as_proposal(drafted),
            _ => drafted,
        })
    }

    /// The decision of this claim, with its verdict if it has one.
    async fn decision_of(&self, claim: &Claim) -> Result<Option<Decision>, StepError> {
        let workspace = claim.work.conversation().workspace.clone();
        let query = DecisionQuery::One { workspace, id: claim.decision };
        Ok(self.command_answers.archive.decisions(query).await?.pop())
    }

    /// The closing of a plan whose occasion is gone, or has not come.
    fn close_without_occasion(&self, plan: &Plan, context: &Context) -> Option<DecisionClosing> {
        let (ended, why) = match plan.kind {
            PlanKind::FirstWord => self.why_no_first_word(plan, context)?,
            _ => (DecisionResult::Dropped, self.why_no_follow_up(plan, context)?),
        };
        Some(DecisionClosing::new(ended, why))
    }

    fn why_no_follow_up(&self, plan: &Plan, context: &Context) -> Option<&'static str> {
        let language = self.persona.language;
        let rule = self.gate_input(context).rules.follow_up;
        let question = plan.message.as_ref().and_then(|id| context.target_message(id));
        let Some(question) = question else {
            // It was deleted, or much was written since.
            return Some(texts::plans::question_gone(language));
        };
        let is_own = question.author.kind == AuthorKind::Persona;
        if rule == FollowUpRule::Off || rule == FollowUpRule::Own && !is_own {
            return Some(texts::plans::turned_off(language));
        }
        let analysis = ConversationAnalysis::new(context);
        let is_answered = match is_own {
            true => is_own_answered(question, plan, context, &analysis),
            false => {
                context.is_answered_in_thread(question)
                    || !matches!(
                        analysis.open_state(&question.id),
                        OpenState::Open | OpenState::ProbablyOpen
                    )
            }
        };
        is_answered.then(|| texts::plans::was_answered(language))
    }

    fn why_no_first_word(
        &self,
        plan: &Plan,
        context: &Context,
    ) -> Option<(DecisionResult, &'static str)> {
        let language = self.persona.language;
        let rule = self.gate_input(context).rules.first_word.as_ref();
        let newest = |is_own: bool| {
            let messages = context.conversation_history.iter();
            let messages = messages.filter(|it| (it.author.kind == AuthorKind::Persona) == is_own);
            messages.map(|message| message.at).max()
        };
        let silence_ends = || rule?.silence_ends(newest(false)?, &plan.zone);
        let is_wanted = rule.is_some_and(|rule| match &plan.recurrence {
            Some(recurrence) => rule.on.contains(recurrence),
            None => rule.after_days.is_some(),
        });
        let why = if !is_wanted {
            return Some((DecisionResult::Dropped, texts::plans::turned_off(language)));
        } else if plan.recurrence.is_none() && silence_ends() > Some(self.now()) {
            texts::plans::not_silent(language)
        } else if plan.is_outdated(self.now()) || self.now() > plan.due + LATEST {
            texts::plans::outdated(language)
        } else if newest(true).is_some_and(|at| self.now() < at + BETWEEN_FIRST_WORDS) {
            texts::plans::spoke_today(language)
        } else {
            return None;
        };
        Some((DecisionResult::ChoseSilence, why))
    }
}

/// Whether somebody has answered the persona's own question: the user whom it asked has written since, or another one
/// in its thread, or to the persona.
fn is_own_answered(
    question: &Message,
    plan: &Plan,
    context: &Context,
    analysis: &ConversationAnalysis<'_>,
) -> bool {
    let is_thread = context.conversation.thread.is_some();
    let answers = |message: &Message| {
        message.is_human()
            && (is_thread
                || message.author.id == plan.asker
                || message.is_addressed()
                || analysis.relation(message).is_some_and(|it| it.to_persona >= ANSWERS))
    };
    let in_thread = context.conversation_history.thread(&question.id).iter();
    let later = context.target_messages().iter().skip_while(|it| it.id != question.id);
    in_thread.clone().any(|message| message.is_human()) || later.clone().any(|it| answers(it))
}

fn occasion(plan: &Plan) -> Intent {
    let occasion = match plan.kind {
        PlanKind::FirstWord => Occasion::FirstWord,
        _ => Occasion::Unanswered,
    };
    Intent { occasion: Some(occasion), ..Intent::default() }
}

fn with_intent(context: &Context, intent: Intent) -> Arc<Context> {
    let seen_revision = context.revision.into();
    let intent = Some(Intent { seen_revision, ..intent });
    Arc::new(Context { intent, owed: Vec::new(), ..context.clone() })
}

fn chose_silence(why: impl Into<String>) -> StepResult {
    StepResult::Silent(DecisionClosing::new(DecisionResult::ChoseSilence, why))
}
