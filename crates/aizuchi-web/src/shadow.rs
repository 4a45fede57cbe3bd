//! Asks models in shadow: the limits of what may be asked and for how much, and the cost.

use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_config::Config;
use aizuchi_config::models::in_use::budgeted_model::BudgetedModel;
use aizuchi_llm::Llm;
use aizuchi_llm::model_id::ModelId;
use aizuchi_model::chat::Channel;
use aizuchi_model::decision::limit::Limit;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_past::replay::judge::model::{CallBudget, CallCounts, ShadowModel};
use aizuchi_past::shadow::LONGEST_CALL;
use aizuchi_past::shadow::moments::{MomentError, MomentSource};
use axum::Form;
use axum::extract::rejection::FormRejection;
use tokio::runtime::Handle;

use crate::refusal::Refusal;
use crate::{ApiProblem, Web};

/// The maximum number of calls, however high the cap is.
pub const MOST_CALLS: u64 = 200;
/// The maximum cap, in the currency of the prices.
const MOST_CAP: f64 = 5.0;

/// The default cap in forms.
pub const USUAL_CAP: &str = "0.10";

/// The maximum cost of asking a model, in millionths of the currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap(pub u64);

impl Cap {
    pub(super) fn new(amount: f64) -> Result<Self, ApiProblem> {
        match (0.0..=MOST_CAP).contains(&amount) {
            true => Ok(Self((amount * 1e6).round() as u64)),
            false => Err(Refusal::WrongCap.into()),
        }
    }

    /// Parses a cap from a form.
    pub(super) fn read(sent: Option<&str>) -> Result<Self, ApiProblem> {
        let amount = sent.and_then(|text| text.trim().parse().ok());
        // NaN is in no range, so a missing or unreadable cap is refused.
        Self::new(amount.unwrap_or(f64::NAN))
    }
}

/// Returns the fields of a page's form.
pub(super) fn form<T>(sent: Result<Form<T>, FormRejection>) -> Result<T, ApiProblem> {
    match sent {
        Ok(Form(fields)) => Ok(fields),
        Err(_) => Err(Refusal::UnreadableForm.into()),
    }
}

/// Refuses visitors who may look, but not give orders.
pub(super) fn require_orders(access: &Access) -> Result<(), ApiProblem> {
    match access.may_order() {
        true => Ok(()),
        false => Err(Refusal::NoQuestions.into()),
    }
}

/// Returns a model with the parameters of its requests, to be asked up to a cap. Without a cap, it is not asked. Call
/// this before the chat is read that the model is asked about, so that no answer about erased chat is kept.
fn model(
    web: &Web,
    prepared: anyhow::Result<(Arc<dyn Llm>, String)>,
    cap: Option<Cap>,
) -> Result<ShadowModel, ApiProblem> {
    let unusable = |error: anyhow::Error| {
        tracing::error!(error = format!("{error:#}"), "a model could not be prepared");
        Refusal::ModelUnprepared
    };
    let (llm, parameters) = prepared.map_err(unusable)?;
    let config = web.models.config();
    let model = ShadowModel {
        llm,
        parameters,
        cache: web.shadow_answers.current(),
        limits: CallBudget {
            prices: config.prices(),
            max_cost_micros: cap.map_or(0, |cap| cap.0),
            max_calls: Some(MOST_CALLS),
            timeout: config.minds.longest_call(),
        },
        runtime: cap.map(|_| Handle::current()),
    };
    if cap.is_some() && !is_builtin(&model) && !is_priced(&model) {
        // A cap on money would limit nothing.
        return Err(Refusal::Unpriced.into());
    }
    Ok(model)
}

/// Returns what past moments are read from, with the config in force.
pub(super) fn moments<'a>(web: &'a Web, config: &'a Config) -> MomentSource<'a> {
    MomentSource::new((&*web.archive, &*web.store), config, web.models.rulebook())
}

impl From<MomentError> for ApiProblem {
    fn from(error: MomentError) -> Self {
        match error {
            MomentError::Store(error) => error.into(),
            MomentError::Prompts(error) => {
                tracing::error!(error = format!("{error:#}"), "a prompt could not be prepared");
                Refusal::PromptUnprepared.into()
            }
        }
    }
}

/// A model whose calls count against the budget of a channel.
pub struct BudgetedShadow {
    pub model: ShadowModel,
    budgeted: Arc<BudgetedModel>,
}

impl BudgetedShadow {
    /// Returns the limit that blocked a call, if one did.
    pub fn reached_limit(&self) -> Option<Limit> {
        self.budgeted.reached_limit()
    }
}

/// Returns a model to be asked about a channel, whose calls take no longer than a page waits.
pub(super) fn budgeted(
    web: &Web,
    channel: &Channel,
    prepared: anyhow::Result<(Arc<dyn Llm>, String)>,
    cap: Option<Cap>,
) -> Result<BudgetedShadow, ApiProblem> {
    let mut model = model(web, prepared, cap)?;
    let budgeted = web.models.within_budget(model.llm, channel);
    model.llm = budgeted.clone();
    model.limits.timeout = model.limits.timeout.min(LONGEST_CALL);
    Ok(BudgetedShadow { model, budgeted })
}

/// Returns why not everything was asked and answered, if so.
pub fn why_incomplete(
    calls: &[&CallCounts],
    limit: Option<Limit>,
    language: Language,
) -> Option<String> {
    if let Some(limit) = limit {
        let why = texts::judging::limit_reason(language, limit);
        return Some(texts::shadow::over_budget(language, &why));
    }
    let late = texts::shadow::late(language);
    if calls.iter().any(|calls| calls.is_cap_reached) {
        return Some(format!("{} {late}", texts::shadow::cap_reached(language)));
    }
    if calls.iter().any(|calls| calls.is_late) {
        return Some(late.to_owned());
    }
    let has_failed = calls.iter().any(|calls| calls.failure.is_some());
    has_failed.then(|| texts::shadow::model_failed(language).to_owned())
}

pub fn is_builtin(model: &ShadowModel) -> bool {
    model.llm.model() == ModelId::Builtin.to_string()
}

fn is_priced(model: &ShadowModel) -> bool {
    model.limits.prices.cost(model.llm.model(), Default::default()).is_some()
}

/// Formats the costs of models.
pub struct CostText<'a> {
    pub language: Language,
    pub currency: &'a str,
}

impl CostText<'_> {
    pub fn amount(&self, micros: u64) -> String {
        aizuchi_past::report::format::money(micros as f64 / 1e6, self.currency, self.language)
    }

    /// Formats the cost of asking these models, as far as their prices are known.
    pub fn about(&self, models: &[&ShadowModel], micros: u64) -> String {
        let mut charged = models.iter().filter(|model| !is_builtin(model)).peekable();
        if charged.peek().is_none() {
            return texts::shadow::free(self.language).to_owned();
        }
        match charged.all(|model| is_priced(model)) {
            true => texts::shadow::about_cost(self.language, &self.amount(micros)),
            false => texts::shadow::price_unknown(self.language).to_owned(),
        }
    }
}
