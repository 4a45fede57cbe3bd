//! Tries drafts of standing orders in the chat, within the operator's budget.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use aizuchi_actions::standing_order_trial::{StandingOrderTrial, StandingOrderTrialOutcome};
use aizuchi_config::Config;
use aizuchi_config::models::in_use::ModelsInUse;
use aizuchi_config::models::in_use::budgeted_model::BudgetedModel;
use aizuchi_llm::model_id::ModelId;
use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::chat::{Channel, ChannelId, ConversationId, WorkspaceId};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::Usage;
use aizuchi_model::standing_order::{DRAFT_LIFETIME, StandingOrder};
use aizuchi_store::archive::Archive;
use aizuchi_store::{Store, StoreError};
use async_trait::async_trait;
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::replay::judge::answer_cache::AnswerCache;
use crate::replay::judge::model::{CallBudget, ShadowModel};
use crate::shadow::moments::{MomentError, MomentSource};
use crate::shadow::prompts::unknown_channel;
use crate::shadow::recent_answers::RecentAnswers;
use crate::shadow::standing_order_trial::{
    DAYS, MOST_CALLS, StandingOrderTrialResult, StandingOrderTrialRun, TriedStandingOrder,
    read_moments,
};
use crate::shadow::{LONGEST_ASKING_IN_CHAT, LONGEST_CALL};

/// Returns the path of a channel's page.
pub type PageOf = fn(&WorkspaceId, &ChannelId) -> String;

/// Tries drafts of standing orders for the chat.
pub struct ChatTrial {
    archive: Arc<dyn Archive>,
    store: Arc<dyn Store>,
    clock: Clock,
    /// Set once the models are built, which is after the command handler.
    models: OnceLock<Arc<ModelsInUse>>,
    /// The address at which a browser on this machine finds the pages, and the path of a channel's page.
    pages: String,
    page_of: PageOf,
    tried: TriedDrafts,
    answers: Arc<RecentAnswers>,
}

/// The amounts spent on drafts, in millionths, including what a running trial may still spend. The step that answers
/// for a draft is repeated if a new message supersedes it or its result cannot be stored. A repetition costs nothing,
/// and no draft costs more than its cap. The amounts are kept until the program ends.
#[derive(Default)]
struct TriedDrafts(Mutex<HashMap<DraftKey, u64>>);

/// Identifies a draft. Drafts with the same number differ in when they were given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct DraftKey {
    workspace: WorkspaceId,
    number: i64,
    version: i64,
    given: Timestamp,
}

impl ChatTrial {
    pub fn new(
        archive: Arc<dyn Archive>,
        store: Arc<dyn Store>,
        (clock, answers): (Clock, Arc<RecentAnswers>),
        (pages, page_of): (String, PageOf),
    ) -> Self {
        let (models, tried) = (OnceLock::new(), TriedDrafts::default());
        Self { archive, store, clock, models, pages, page_of, tried, answers }
    }

    /// Tries drafts with these models from now on.
    pub fn connect(&self, models: Arc<ModelsInUse>) {
        // The models are set only once.
        let _ = self.models.set(models);
    }

    async fn channel(&self, conversation: &ConversationId) -> Result<Channel, StoreError> {
        let channels = self.archive.channels(&conversation.workspace).await?.into_iter();
        let mut here = channels.filter(|channel| channel.id == conversation.channel);
        Ok(here.next().unwrap_or_else(|| unknown_channel(conversation)))
    }
}

#[async_trait]
impl StandingOrderTrial for ChatTrial {
    async fn try_draft(
        &self,
        conversation: &ConversationId,
        draft: &StandingOrder,
        stop: &CancellationToken,
    ) -> Result<StandingOrderTrialOutcome, StoreError> {
        let Some(models) = self.models.get() else {
            return Ok(StandingOrderTrialOutcome::NotAllowed);
        };
        let config = models.config();
        let max_cost_micros = config.response.order_trial_micros();
        let channel = self.channel(conversation).await?;
        let Ok((llm, parameters)) = models.shadow_judge(&channel) else {
            return Ok(StandingOrderTrialOutcome::Unanswered);
        };
        if llm.model() == ModelId::Builtin.to_string() {
            return Ok(StandingOrderTrialOutcome::NoModel);
        }
        let prices = config.prices();
        if max_cost_micros == 0 && !prices.is_free(llm.model()) {
            return Ok(StandingOrderTrialOutcome::NotAllowed);
        }
        if prices.cost(llm.model(), Usage::default()).is_none() {
            return Ok(StandingOrderTrialOutcome::Unpriced);
        }
        let stores = (&*self.archive, &*self.store);
        let mut source = MomentSource::new(stores, &config, models.rulebook());
        let order = TriedStandingOrder::from(draft);
        let cache = self.answers.current();
        let moments = match read_moments(&mut source, &channel, &order, self.clock.now()).await {
            Ok(moments) => moments,
            Err(MomentError::Store(error)) => return Err(error),
            Err(MomentError::Prompts(error)) => {
                warn!(error = format!("{error:#}"), "the draft of an order could not be tried");
                return Ok(StandingOrderTrialOutcome::Unanswered);
            }
        };
        if moments.is_empty() {
            return Ok(StandingOrderTrialOutcome::NothingToTry(DAYS));
        }
        let budgeted = models.within_budget(llm, &channel);
        let key = DraftKey::new(conversation, draft);
        let left_micros = self.tried.begin(&key, max_cost_micros, self.clock.now());
        let judge = shadow_model(&config, &budgeted, parameters, (cache, left_micros));
        let run = StandingOrderTrialRun { moments, judge, secrets: models.secrets().clone() };
        let result = run.run(stop, LONGEST_ASKING_IN_CHAT).await;
        self.tried.end(&key, left_micros, result.counts.cost_micros);
        Ok(outcome(&run, &result, &budgeted))
    }

    /// Returns the URL of the channel's page, only in the local room: on a platform, users read it on other machines,
    /// where the address is not that of the pages.
    fn page(&self, conversation: &ConversationId) -> Option<String> {
        let ConversationId { workspace, channel, .. } = conversation;
        let path = (self.page_of)(workspace, channel);
        (*workspace == workspace_id()).then(|| format!("{}{path}", self.pages))
    }
}

impl DraftKey {
    fn new(conversation: &ConversationId, draft: &StandingOrder) -> Self {
        let workspace = conversation.workspace.clone();
        Self { workspace, number: draft.number, version: draft.version, given: draft.given }
    }
}

impl TriedDrafts {
    /// Returns the rest of the cap of a draft. It counts as spent until the trial ends, so that a trial that is dropped
    /// in the middle is not paid for again.
    fn begin(&self, key: &DraftKey, max_cost_micros: u64, now: Timestamp) -> u64 {
        let mut drafts = self.0.lock();
        // A draft that has expired is not tried again.
        drafts.retain(|key, _| now.duration_since(key.given) <= DRAFT_LIFETIME);
        let total_micros = drafts.entry(key.clone()).or_default();
        let left = max_cost_micros.saturating_sub(*total_micros);
        *total_micros += left;
        left
    }

    /// Records how much of the rest of the cap a trial has spent.
    fn end(&self, key: &DraftKey, left_micros: u64, spent_micros: u64) {
        if let Some(total_micros) = self.0.lock().get_mut(key) {
            *total_micros = total_micros.saturating_sub(left_micros) + spent_micros;
        }
    }
}

fn shadow_model(
    config: &Config,
    budgeted: &Arc<BudgetedModel>,
    parameters: String,
    (cache, max_cost_micros): (Arc<AnswerCache>, u64),
) -> ShadowModel {
    ShadowModel {
        llm: budgeted.clone(),
        parameters,
        cache,
        limits: CallBudget {
            prices: config.prices(),
            max_cost_micros,
            max_calls: Some(MOST_CALLS),
            timeout: config.minds.longest_call().min(LONGEST_CALL),
        },
        runtime: Some(Handle::current()),
    }
}

fn outcome(
    run: &StandingOrderTrialRun,
    result: &StandingOrderTrialResult,
    budgeted: &BudgetedModel,
) -> StandingOrderTrialOutcome {
    // A model that is too slow is not reported as too expensive.
    let is_over = budgeted.reached_limit().is_some() || result.counts.is_cap_reached;
    match result.is_unknown() {
        true if is_over => StandingOrderTrialOutcome::OverBudget,
        true => StandingOrderTrialOutcome::Unanswered,
        false => StandingOrderTrialOutcome::Tried(run.effect(result)),
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_harness::fixtures::{at, top_level};
    use aizuchi_llm::price::{ModelPrice, Prices};
    use aizuchi_llm::prompt::Prompt;
    use aizuchi_llm::prompt::builder::{PromptBuilder, PromptOptions};
    use aizuchi_llm::scripted::{ScriptedJudgment, ScriptedMind};
    use aizuchi_model::context::Context;
    use aizuchi_model::context::channel_messages::ChannelMessages;
    use aizuchi_model::persona::{Language, Persona};
    use jiff::SignedDuration;

    use super::*;

    fn draft(number: i64, given: Timestamp) -> DraftKey {
        DraftKey { workspace: WorkspaceId::new("slack:T1"), number, version: 1, given }
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

    #[test]
    fn a_draft_costs_no_more_than_its_cap_however_often_it_is_tried() {
        let (tried, one, two) = (TriedDrafts::default(), draft(1, at(0)), draft(2, at(0)));
        let left = |key: &DraftKey, now: Timestamp| tried.begin(key, 100, now);
        assert_eq!(left(&one, at(0)), 100);
        // While it runs, and after it was dropped in the middle, nothing is left.
        assert_eq!(left(&one, at(1)), 0);
        tried.end(&one, 0, 0);
        assert_eq!(left(&one, at(2)), 0);
        tried.end(&one, 100, 30);
        assert_eq!(left(&one, at(3)), 70);
        tried.end(&one, 70, 20);
        assert_eq!(left(&one, at(4)), 50);
        assert_eq!(left(&two, at(4)), 100, "another draft has a cap of its own");
        assert_eq!(left(&draft(1, at(4)), at(4)), 100, "as another text for it has");
        assert_eq!(left(&one, at(0) + DRAFT_LIFETIME), 0);
    }

    /// A model that is too slow is not reported as too expensive.
    #[tokio::test]
    async fn what_is_too_late_is_not_over_the_cap() {
        let limits = |max_cost_micros: u64| CallBudget {
            prices: Prices([("scripted".to_owned(), ModelPrice::for_minute(1.0))].into()),
            max_cost_micros,
            max_calls: None,
            timeout: SignedDuration::from_secs(5),
        };
        let counts = async |max_cost_micros: u64, longest: i64| {
            let model = ShadowModel {
                llm: Arc::new(ScriptedMind::judging(ScriptedJudgment::Never)),
                parameters: String::new(),
                cache: Arc::default(),
                limits: limits(max_cost_micros),
                runtime: Some(Handle::current()),
            };
            let longest = SignedDuration::from_secs(longest);
            let judge = model.judge().until(CancellationToken::new(), longest);
            assert!(judge.answer(&prompt()).await.is_err());
            let counts = judge.counts();
            (counts.is_late, counts.is_cap_reached)
        };
        assert_eq!(counts(1_000_000, -1).await, (true, false));
        assert_eq!(counts(0, -1).await, (true, false));
        assert_eq!(counts(0, 60).await, (false, true));
    }
}
