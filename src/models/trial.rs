//! What a model costs that is tried out before it is chosen: it counts in the metrics and in the spending like any other
//! call, though no conversation asked for it.

use jiff::Timestamp;
use tracing::warn;

use crate::models::ModelsInUse;
use aizuchi_core::chat::WorkspaceId;
use aizuchi_core::decision::{Attempt, AttemptResult, Usage};
use aizuchi_core::event::planned_call::{CallCost, UnclaimedCall};
use aizuchi_core::llm::LlmError;
use aizuchi_core::llm::price::Prices;
use aizuchi_core::platform::local;

/// What the call is for, in the metrics.
const VERB: &str = "check";

impl ModelsInUse {
    /// Records the call that tried `model` out.
    pub(super) async fn record_trial(
        &self,
        model: &str,
        began: Timestamp,
        checked: &Result<Usage, LlmError>,
        prices: &Prices,
    ) {
        let attempt = attempt(model, began, self.clock.now(), checked);
        let attempt = Attempt { price: prices.cost(model, attempt.usage), ..attempt };
        self.metrics.record_model_call(&attempt);
        let tokens = attempt.usage.input_tokens + attempt.usage.output_tokens;
        let micros = attempt.price.map_or(0, |price| price.micros);
        let call = UnclaimedCall {
            workspace: local::workspace_id(),
            channel: None,
            cost: CallCost { tokens, micros },
            is_priced: attempt.price.is_some(),
            at: attempt.at,
            reservation: None,
        };
        self.book(&call).await;
    }

    /// Counts what was asked in shadow for a workspace, like any other spending there.
    pub async fn book_shadow(&self, workspace: &WorkspaceId, cost: CallCost) {
        let call = UnclaimedCall {
            workspace: workspace.clone(),
            channel: None,
            cost,
            // A model without a price is not asked in shadow.
            is_priced: true,
            at: self.clock.now(),
            reservation: None,
        };
        self.book(&call).await;
    }

    async fn book(&self, call: &UnclaimedCall) {
        if call.cost.tokens == 0 {
            return;
        }
        if let Err(error) = self.store.book(call).await {
            warn!(error = %error, "what a trial cost could not be booked: {error}");
        }
    }
}

fn attempt(
    model: &str,
    began: Timestamp,
    ended: Timestamp,
    checked: &Result<Usage, LlmError>,
) -> Attempt {
    let (usage, result) = match checked {
        Ok(usage) => (*usage, AttemptResult::Kept),
        Err(LlmError::Busy { usage, .. } | LlmError::Unusable { usage, .. }) => {
            (*usage, AttemptResult::Failed)
        }
        Err(LlmError::Refused(_) | LlmError::TimedOut(_)) => {
            (Usage::default(), AttemptResult::Failed)
        }
    };
    Attempt {
        verb: VERB.into(),
        at: began,
        model: model.into(),
        prompt_hash: "".into(),
        prompt_bytes: 0,
        usage,
        price: None,
        latency: ended.duration_since(began),
        result,
        judgment: None,
        error: None,
        omissions: Vec::new(),
        exchange: None,
    }
}
