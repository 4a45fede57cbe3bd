//! A model called at an operator's request, or since it fails. Each call counts against the budget: its cost is reserved before the call
//! and recorded after it, though no conversation asked for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use aizuchi_llm::model_id::ModelId;
use aizuchi_llm::price::Prices;
use aizuchi_llm::prompt::Prompt;
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use aizuchi_model::chat::Channel;
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::limit::Limit;
use aizuchi_model::decision::{Price, Usage};
use aizuchi_model::flow::planned_call::{
    CallCost, CallLimits, CallOwner, PlannedCall, ReservationResult, UnclaimedCall,
};
use aizuchi_model::rules::place::Place;
use aizuchi_store::Store;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tracing::warn;

use crate::models::in_use::ModelsInUse;

/// The most input and output tokens of a check, unless the model refuses so short an answer.
const CHECK_TOKENS: (u64, u64) = (50, 1);
/// By how much a reservation outlasts the longest call.
const SLACK: SignedDuration = SignedDuration::from_secs(30);

/// Calls a model within the budget of a channel and its workspace.
pub struct BudgetedModel {
    llm: Arc<dyn Llm>,
    store: Arc<dyn Store>,
    clock: Clock,
    prices: Prices,
    channel: Channel,
    limits: CallLimits,
    /// How long a call may take.
    longest: SignedDuration,
    /// Counts the calls of all such models, so that no two concurrent calls have the same token.
    calls: Arc<AtomicI64>,
    /// The limit that refused the last call.
    reached: Mutex<Option<Limit>>,
}

impl ModelsInUse {
    /// Wraps `llm` so that its calls count against the budget of a channel.
    pub fn within_budget(&self, llm: Arc<dyn Llm>, channel: &Channel) -> Arc<BudgetedModel> {
        let (config, rulebook) = (self.config(), self.rulebook());
        let rules = rulebook.rules_in(&Place::of_channel(channel));
        Arc::new(BudgetedModel {
            llm,
            store: self.store.clone(),
            clock: self.clock.clone(),
            prices: config.prices(),
            channel: channel.clone(),
            limits: CallLimits {
                workspace: rulebook.workspace_limits,
                channel: rules.budget_limits,
                // No user was addressed, so no limit per decision or per user applies.
                share: 1.0,
                unsolicited_share: 1.0,
                calls_per_decision: None,
                judge_calls_per_user: None,
            },
            longest: config.minds.longest_call(),
            calls: self.budgeted_calls.clone(),
            reached: Mutex::default(),
        })
    }
}

impl BudgetedModel {
    /// The limit that refused a call, if one did.
    pub fn reached_limit(&self) -> Option<Limit> {
        *self.reached.lock()
    }

    fn planned(&self, token: i64, estimate: CallCost, until: Timestamp) -> PlannedCall {
        let owner = CallOwner {
            token,
            workspace: self.channel.workspace.clone(),
            channel: Some(self.channel.id.clone()),
            decision: None,
            // The operator waits for the answer, or for an alert to clear.
            is_unsolicited: false,
            sole_author: None,
            began: self.clock.now(),
            limits: self.limits,
        };
        PlannedCall { owner, calls_made: 0, spent: CallCost::default(), estimate, until }
    }

    /// Tokens are negative, because those of claims are positive.
    fn new_token(&self) -> i64 {
        let number = self.calls.fetch_add(1, Ordering::Relaxed) % 1000;
        -(self.clock.now().as_millisecond() * 1000 + number)
    }

    fn most_cost(&self, usage: Usage) -> CallCost {
        let price = self.prices.most_cost(self.llm.model(), usage);
        CallCost {
            tokens: usage.input_tokens + usage.output_tokens,
            micros: price.map_or(0, |price| price.micros),
        }
    }

    fn price(&self, usage: Usage) -> Option<Price> {
        self.prices.cost(self.llm.model(), usage)
    }

    async fn reserve(&self, call: &PlannedCall) -> Result<(), LlmError> {
        match self.store.reserve(call, self.clock.now()).await {
            Ok(ReservationResult::Admitted) => Ok(()),
            Ok(ReservationResult::Busy(limit) | ReservationResult::Refused(limit)) => {
                *self.reached.lock() = Some(limit);
                Err(LlmError::Refused(format!("the budget is used up: {}", limit.name())))
            }
            Err(error) => Err(LlmError::Refused(error.to_string())),
        }
    }

    /// Records the call's usage in place of what was reserved for it.
    async fn book(&self, reserved: &PlannedCall, usage: Usage) {
        let call = UnclaimedCall {
            workspace: self.channel.workspace.clone(),
            channel: Some(self.channel.id.clone()),
            model: self.llm.model().into(),
            calls: 1,
            usage,
            price: self.price(usage),
            at: self.clock.now(),
            reservation: Some(reserved.owner.token),
        };
        if let Err(error) = self.store.book(&call).await {
            warn!(error = %error, "what a call cost could not be booked");
        }
    }

    /// Makes a call that reads and writes at most so many tokens. If it is dropped before it ends, its reservation is
    /// recorded when it expires.
    async fn within<T>(
        &self,
        (input_tokens, output_tokens): (u64, u64),
        call: impl Future<Output = Result<T, LlmError>>,
        usage: impl FnOnce(&T) -> Usage,
    ) -> Result<T, LlmError> {
        let most = Usage { input_tokens, output_tokens, is_estimated: true, ..Usage::default() };
        let until = self.clock.now() + self.longest + SLACK;
        let planned = self.planned(self.new_token(), self.most_cost(most), until);
        self.reserve(&planned).await?;
        let answer = call.await;
        let usage = match &answer {
            Ok(response) => usage(response),
            // The provider may have charged for the call without reporting the usage.
            Err(LlmError::TimedOut(_)) => most,
            Err(
                error @ (LlmError::Busy { .. } | LlmError::Refused(_) | LlmError::Unusable { .. }),
            ) => error.usage(),
        };
        self.book(&planned, usage).await;
        answer
    }
}

#[async_trait]
impl Llm for BudgetedModel {
    fn model(&self) -> &str {
        self.llm.model()
    }

    fn max_output_tokens(&self, prompt: &Prompt) -> u64 {
        self.llm.max_output_tokens(prompt)
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        if self.llm.model() == ModelId::Builtin.to_string() {
            return self.llm.ask(prompt).await;
        }
        let most = (prompt.total_tokens(), self.llm.max_output_tokens(prompt));
        self.within(most, self.llm.ask(prompt), |response| response.usage).await
    }

    async fn check(&self) -> Result<Usage, LlmError> {
        self.within(CHECK_TOKENS, self.llm.check(), |usage| *usage).await
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use aizuchi_harness::fixtures::{at, new_channel, top_level};
    use aizuchi_harness::test_store::{TestStore, on_every_store};
    use aizuchi_llm::price::ModelPrice;
    use aizuchi_llm::prompt::builder::{PromptBuilder, PromptOptions};
    use aizuchi_model::context::Context;
    use aizuchi_model::context::channel_messages::ChannelMessages;
    use aizuchi_model::persona::{Language, Persona};
    use aizuchi_model::rules::BudgetLimits;

    use super::*;

    /// Charges 100 tokens, or never answers.
    struct Charging {
        answers: bool,
    }

    #[async_trait]
    impl Llm for Charging {
        fn model(&self) -> &str {
            "openai/test"
        }

        fn max_output_tokens(&self, _: &Prompt) -> u64 {
            20
        }

        async fn ask(&self, _: &Prompt) -> Result<LlmResponse, LlmError> {
            if !self.answers {
                std::future::pending::<()>().await;
            }
            let usage = Usage { input_tokens: 90, output_tokens: 10, ..Usage::default() };
            Ok(LlmResponse::new("yes".to_owned(), usage))
        }
    }

    fn model(store: &TestStore, clock: &Clock, answers: bool) -> BudgetedModel {
        let tokens = BudgetLimits { tokens_per_day: Some(50), ..BudgetLimits::default() };
        BudgetedModel {
            llm: Arc::new(Charging { answers }),
            store: store.store.clone(),
            clock: clock.clone(),
            prices: Prices::default(),
            channel: new_channel("garden", aizuchi_model::chat::Visibility::Public),
            limits: CallLimits {
                workspace: tokens,
                channel: BudgetLimits::default(),
                share: 1.0,
                unsolicited_share: 1.0,
                calls_per_decision: None,
                judge_calls_per_user: None,
            },
            longest: SignedDuration::from_secs(60),
            calls: Arc::default(),
            reached: Mutex::default(),
        }
    }

    fn prompt() -> Prompt {
        let conversation = top_level("garden");
        let history = ChannelMessages::new(conversation.channel.clone(), "garden".into());
        let context = Arc::new(Context::new(conversation, history));
        let (name, system_prompt) = ("Mia".to_owned(), String::new());
        let persona = Arc::new(Persona { name, system_prompt, language: Language::En });
        let builder = PromptBuilder::load(Language::En, None).unwrap();
        builder.judge(&persona, &context, &PromptOptions::new(at(0)))
    }

    /// The provider may write the whole prompt to its cache, at a different price.
    #[tokio::test]
    async fn a_reservation_holds_the_price_of_the_cache() {
        let store = TestStore::volatile();
        let price = ModelPrice { input: 2.0, cached_input: 0.5, cache_write: 2.5, output: 8.0 };
        let prices = Prices(BTreeMap::from([("openai/test".to_owned(), price)]));
        let model = BudgetedModel { prices, ..model(&store, &Clock::manual(at(0)), true) };
        let most = Usage { input_tokens: 1000, output_tokens: 50, ..Usage::default() };
        assert_eq!(model.most_cost(most), CallCost { tokens: 1050, micros: 2500 + 400 });
    }

    /// The recorded tokens of the workspace and of the channel.
    async fn booked(store: &TestStore, clock: &Clock) -> Vec<u64> {
        let workspace = new_channel("garden", aizuchi_model::chat::Visibility::Public).workspace;
        let spendings = store.archive.spending(&workspace, clock.now()).await.unwrap();
        spendings.iter().map(|spending| spending.spent.tokens_in_day).collect()
    }

    #[tokio::test]
    async fn a_call_is_booked_and_a_spent_budget_refuses_the_next() {
        on_every_store(async |store| {
            let clock = Clock::manual(at(0));
            let model = model(&store, &clock, true);
            assert_eq!(model.ask(&prompt()).await.unwrap().text, "yes");
            assert_eq!(booked(&store, &clock).await, [100, 100]);
            assert_eq!(model.reached_limit(), None);
            model.ask(&prompt()).await.unwrap_err();
            assert_eq!(model.reached_limit(), Some(Limit::TokensPerDay));
            assert_eq!(booked(&store, &clock).await, [100, 100]);
        })
        .await;
    }

    #[tokio::test]
    async fn what_is_in_flight_counts_and_a_call_that_is_dropped_is_booked_in_the_end() {
        on_every_store(async |store| {
            let clock = Clock::manual(at(0));
            let silent = model(&store, &clock, false);
            let calls = silent.calls.clone();
            let other = BudgetedModel { calls, ..model(&store, &clock, true) };
            let prompt = prompt();
            {
                let mut call = silent.ask(&prompt);
                // Other calls pass until this one has made its reservation and waits for its answer.
                while other.reached_limit().is_none() {
                    assert!(futures_util::poll!(&mut call).is_pending());
                    tokio::task::yield_now().await;
                    let reserved = other.planned(other.new_token(), CallCost::default(), at(1));
                    let _ = other.reserve(&reserved).await;
                }
            }
            clock.advance_to(at(0) + silent.longest + SLACK);
            other.ask(&prompt).await.unwrap_err();
            assert_eq!(other.reached_limit(), Some(Limit::TokensPerDay));
            let most = prompt.total_tokens() + 20;
            assert_eq!(booked(&store, &clock).await, [most, most]);
        })
        .await;
    }
}
