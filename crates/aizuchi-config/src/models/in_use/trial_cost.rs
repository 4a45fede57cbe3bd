//! The cost of trying a model before it is chosen. It counts in the metrics and in the spending like any other call,
//! though no conversation asked for it.

use aizuchi_llm::LlmError;
use aizuchi_llm::price::Prices;
use aizuchi_model::chat::local;
use aizuchi_model::decision::{Attempt, AttemptResult, Usage};
use aizuchi_model::flow::planned_call::{CallCost, UnclaimedCall};
use jiff::Timestamp;
use tracing::warn;

use crate::models::in_use::ModelsInUse;

/// The verb of the call in the metrics.
const VERB: &str = "check";

impl ModelsInUse {
    /// Records the call that tried `model`.
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
        let call = UnclaimedCall {
            workspace: local::workspace_id(),
            channel: None,
            model: attempt.model.clone(),
            calls: 1,
            usage: attempt.usage,
            price: attempt.price,
            at: attempt.at,
            reservation: None,
        };
        // A call without an answer has no tokens, but may have been charged.
        if call.cost() == CallCost::default() {
            return;
        }
        if let Err(error) = self.store.book(&call).await {
            warn!(error = %error, "what a trial cost could not be booked");
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
        Err(error) => (error.usage(), AttemptResult::Failed),
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
