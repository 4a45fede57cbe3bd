//! Drafts of orders tried for the chat, as far as the operator lets it cost something.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::config::Config;
use crate::models::ModelsInUse;
use crate::models::budgeted::BudgetedModel;
use crate::replay::judge::answer_cache::AnswerCache;
use crate::replay::judge::model::CallLimits;
use crate::shadow::order_trial::{DAYS, MOST_CALLS, MomentSource, OrderTrialRun, TriedOrder};
use crate::shadow::prompts::unknown_channel;
use crate::shadow::{LONGEST_ASKING_IN_CHAT, LONGEST_CALL};
use crate::what_if::ShadowModel;
use aizuchi_core::chat::{Channel, ConversationId};
use aizuchi_core::clock::Clock;
use aizuchi_core::command::order_trial::{OrderTrial, OrderTrialOutcome};
use aizuchi_core::decision::Usage;
use aizuchi_core::llm::model::ModelId;
use aizuchi_core::standing_order::StandingOrder;
use aizuchi_core::store::{Archive, Store, StoreError};

/// What tries drafts for the chat.
pub struct ChatTrial {
    archive: Arc<dyn Archive>,
    store: Arc<dyn Store>,
    clock: Clock,
    /// Set once they are built, which is after what answers commands.
    models: OnceLock<Arc<ModelsInUse>>,
}

impl ChatTrial {
    pub fn new(archive: Arc<dyn Archive>, store: Arc<dyn Store>, clock: Clock) -> Self {
        Self { archive, store, clock, models: OnceLock::new() }
    }

    /// From now on drafts are tried with these models.
    pub fn connect(&self, models: Arc<ModelsInUse>) {
        // They are connected once.
        let _ = self.models.set(models);
    }

    async fn channel(&self, conversation: &ConversationId) -> Result<Channel, StoreError> {
        let channels = self.archive.channels(&conversation.workspace).await?.into_iter();
        let mut here = channels.filter(|channel| channel.id == conversation.channel);
        Ok(here.next().unwrap_or_else(|| unknown_channel(conversation)))
    }
}

#[async_trait]
impl OrderTrial for ChatTrial {
    async fn try_draft(
        &self,
        conversation: &ConversationId,
        draft: &StandingOrder,
        stop: &CancellationToken,
    ) -> Result<OrderTrialOutcome, StoreError> {
        let Some(models) = self.models.get() else { return Ok(OrderTrialOutcome::NotAllowed) };
        let config = models.config();
        let max_cost_micros = config.response.order_trial_micros();
        if max_cost_micros == 0 {
            return Ok(OrderTrialOutcome::NotAllowed);
        }
        let channel = self.channel(conversation).await?;
        let Ok((llm, parameters)) = models.shadow_judge(&channel) else {
            return Ok(OrderTrialOutcome::Unanswered);
        };
        if llm.model() == ModelId::Builtin.to_string() {
            return Ok(OrderTrialOutcome::NoModel);
        }
        if config.prices().cost(llm.model(), Usage::default()).is_none() {
            return Ok(OrderTrialOutcome::Unpriced);
        }
        let source = MomentSource { archive: &*self.archive, store: &*self.store, config: &config };
        let order = TriedOrder::from(draft);
        let moments = match source.read(&channel, &order, self.clock.now()).await? {
            Ok(moments) => moments,
            Err(error) => {
                warn!(error = format!("{error:#}"), "the draft of an order could not be tried");
                return Ok(OrderTrialOutcome::Unanswered);
            }
        };
        if moments.is_empty() {
            return Ok(OrderTrialOutcome::NothingToTry(DAYS));
        }
        let budgeted = models.within_budget(llm, &channel);
        let judge = shadow_model(&config, &budgeted, parameters, max_cost_micros);
        let run = OrderTrialRun { moments, judge, secrets: models.secrets().clone() };
        Ok(outcome(&run, &budgeted, stop).await)
    }
}

fn shadow_model(
    config: &Config,
    budgeted: &Arc<BudgetedModel>,
    parameters: String,
    max_cost_micros: u64,
) -> ShadowModel {
    ShadowModel {
        llm: budgeted.clone(),
        parameters,
        // What is tried again in the chat is another draft.
        cache: Arc::<AnswerCache>::default(),
        limits: CallLimits {
            prices: config.prices(),
            max_cost_micros,
            max_calls: Some(MOST_CALLS),
            timeout: config.minds.longest_call().min(LONGEST_CALL),
        },
        runtime: Some(Handle::current()),
    }
}

async fn outcome(
    run: &OrderTrialRun,
    budgeted: &BudgetedModel,
    stop: &CancellationToken,
) -> OrderTrialOutcome {
    let result = run.run(stop, LONGEST_ASKING_IN_CHAT).await;
    // A model that is too slow is none that is too dear.
    let is_over = budgeted.reached_limit().is_some() || result.counts.is_cap_reached;
    match result.is_unknown() {
        true if is_over => OrderTrialOutcome::OverBudget,
        true => OrderTrialOutcome::Unanswered,
        false => OrderTrialOutcome::Tried(run.effect(&result)),
    }
}
