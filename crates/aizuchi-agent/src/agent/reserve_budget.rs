//! Reserve: before each model call, the most that it may cost is reserved against the limits. The reservation is made
//! in the store, so concurrent calls count against each other, in this process and in others.

use aizuchi_llm::Llm;
use aizuchi_llm::prompt::Prompt;
use aizuchi_model::chat::UserId;
use aizuchi_model::clock::{duration_from_seconds, seeded_random};
use aizuchi_model::context::Context;
use aizuchi_model::decision::Usage;
use aizuchi_model::decision::limit::Limit;
use aizuchi_model::flow::Claim;
use aizuchi_model::flow::planned_call::{
    CallCost, CallLimits, CallOwner, PlannedCall, ReservationResult,
};
use aizuchi_model::rules::{BudgetLimits, ChannelRules};
use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

use crate::agent::{Attempts, StepError, Worker};

/// The total time that a claim which has already made a call waits for calls in flight.
const BUDGET_TIMEOUT: SignedDuration = SignedDuration::from_secs(15);

/// The model calls that are made for one claim.
pub(super) struct Calls<'a> {
    pub owner: CallOwner,
    /// Cancelled when a new message makes the work obsolete.
    pub superseded: &'a CancellationToken,
    pub attempts: &'a mut Attempts,
    /// How long the claim may still wait for calls in flight. Its lease must outlast all waits.
    remaining_wait: SignedDuration,
}

impl<'a> Calls<'a> {
    pub fn new(
        owner: CallOwner,
        superseded: &'a CancellationToken,
        attempts: &'a mut Attempts,
    ) -> Self {
        Self { owner, superseded, attempts, remaining_wait: BUDGET_TIMEOUT }
    }
}

impl Worker<'_> {
    /// Returns the owner of a step's model calls.
    pub(super) fn call_owner(&self, claim: &Claim, context: &Context) -> CallOwner {
        let conversation = claim.work.conversation();
        let is_unsolicited = !claim.is_owed;
        let rulebook = &self.rulebook;
        CallOwner {
            token: claim.token,
            workspace: conversation.workspace.clone(),
            channel: Some(conversation.channel.clone()),
            decision: Some(claim.decision),
            is_unsolicited,
            sole_author: None,
            began: self.now(),
            limits: CallLimits {
                // Unsolicited calls stop earlier, which leaves the rest of the budget to mentions.
                share: if is_unsolicited { rulebook.soft_share } else { 1.0 },
                ..self.call_limits(Some(self.gate_input(context).rules))
            },
        }
    }

    /// Returns the limits of a call for a channel with these rules, or for the whole workspace.
    pub(super) fn call_limits(&self, rules: Option<&ChannelRules>) -> CallLimits {
        let rulebook = &self.rulebook;
        CallLimits {
            workspace: rulebook.workspace_limits,
            channel: rules.map_or(BudgetLimits::default(), |rules| rules.budget_limits),
            share: 1.0,
            unsolicited_share: rulebook.unsolicited_share(),
            calls_per_decision: rulebook.calls_per_decision,
            judge_calls_per_user: rulebook.judge_calls_per_hour,
        }
    }

    /// Reserves what a call of this model may cost. If calls in flight may use up the rest of the budget, it waits for
    /// them: here for a limited time if the claim has already made a call that would have to be repeated, otherwise by
    /// rescheduling the step.
    pub(super) async fn reserve(
        &self,
        llm: &dyn Llm,
        prompt: &Prompt,
        calls: &mut Calls<'_>,
    ) -> Result<(), StepError> {
        let now = self.now();
        let planned = PlannedCall {
            owner: calls.owner.clone(),
            calls_made: calls.attempts.iter().filter(|it| it.is_model_call()).count() as u64,
            spent: cost_so_far(calls.attempts),
            estimate: self.estimated_cost(llm, prompt),
            until: now + self.settings.max_step_duration(),
        };
        let wait = self.budget_wait(calls.owner.token);
        loop {
            match self.store.reserve(&planned, self.now()).await? {
                ReservationResult::Admitted => return Ok(()),
                ReservationResult::Refused(limit) => return Err(StepError::OverBudget(limit)),
                ReservationResult::Busy(_)
                    if calls.attempts.is_empty() || calls.remaining_wait < wait =>
                {
                    return Err(StepError::AwaitingBudget { wait });
                }
                ReservationResult::Busy(_) => calls.remaining_wait -= wait,
            }
            tokio::select! {
                () = calls.superseded.cancelled() => return Err(StepError::Superseded),
                () = self.clock.sleep_until(self.now() + wait) => {}
            }
        }
    }

    /// Estimates the maximum cost of a call: its prompt and the longest response, or what such calls have lately used
    /// if that is more. Before the first call, the prompt counts as a full prompt budget.
    fn estimated_cost(&self, llm: &dyn Llm, prompt: &Prompt) -> CallCost {
        let output_tokens = llm.max_output_tokens(prompt);
        let (model, verb) = (llm.model(), prompt.verb.name());
        let most_used = self.token_corrections.most_used(model, verb);
        let most_used = most_used.unwrap_or(self.settings.budget.max_tokens + output_tokens);
        let tokens = most_used.max(prompt.total_tokens() + output_tokens);
        let input_tokens = tokens.saturating_sub(output_tokens);
        let usage = Usage { input_tokens, output_tokens, ..Usage::default() };
        let price = self.settings.prices.most_cost(model, usage);
        CallCost { tokens, micros: price.map_or(0, |price| price.micros) }
    }

    /// Returns how long a step waits for calls in flight: long enough that many waiting steps cause little load.
    fn budget_wait(&self, token: i64) -> SignedDuration {
        let jitter = seeded_random(self.seed, &[&token.to_string(), "budget"]);
        duration_from_seconds(2.0 + 3.0 * jitter)
    }
}

fn cost_so_far(attempts: &Attempts) -> CallCost {
    let tokens = |usage: Usage| usage.input_tokens + usage.output_tokens;
    CallCost {
        tokens: attempts.iter().map(|attempt| tokens(attempt.usage)).sum(),
        micros: attempts.iter().filter_map(|attempt| attempt.price).map(|price| price.micros).sum(),
    }
}

/// Returns the author of all new messages, if they have only one.
pub(super) fn sole_author(context: &Context) -> Option<UserId> {
    let new = context
        .target_messages()
        .iter()
        .filter(|message| message.is_human() && context.new_messages.contains(&message.id));
    let mut authors = new.map(|message| &message.author.id);
    let first = authors.next()?;
    authors.all(|author| author == first).then(|| first.clone())
}

impl StepError {
    /// Returns the limit that stopped the work, if any.
    pub(super) fn limit(&self) -> Option<Limit> {
        match self {
            StepError::OverBudget(limit) => Some(*limit),
            StepError::AwaitingBudget { .. }
            | StepError::Superseded
            | StepError::Retryable { .. }
            | StepError::Permanent { .. } => None,
        }
    }
}
