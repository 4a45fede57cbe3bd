//! Asks a decision's judge again, in shadow: for its page and for programs.

use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{Channel, WorkspaceId};
use aizuchi_model::decision::limit::Limit;
use aizuchi_model::decision::{Decision, DecisionId, Judgment};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_model::texts::refusals;
use aizuchi_past::answer::MindAnswer;
use aizuchi_past::past_moment::{Unjudgeable, recorded_call};
use aizuchi_past::replay::judge::answer_cache::AnswerCache;
use aizuchi_past::replay::judge::model::{CallCounts, ShadowModel};
use aizuchi_past::shadow::judge_again::Rejudgment;
use aizuchi_past::shadow::prompts::unknown_channel;
use aizuchi_store::query::DecisionQuery;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Extension, Path, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::access::Visitor;
use crate::api::json;
use crate::language::PageLanguage;
use crate::refusal::Refusal;
use crate::room::decision;
use crate::shadow::Cap;
use crate::workspaces::Shown;
use crate::{ApiProblem, JsonResult, Web, shadow, workspaces};

/// A decision whose judge can be asked again, or why it cannot.
pub struct RejudgeTarget {
    pub channel: Channel,
    pub rejudgment: Result<Arc<Rejudgment>, Unjudgeable>,
}

/// The result of asking again, or an estimate of its cost.
pub struct RejudgeResult {
    pub rejudged: MindAnswer<Judgment>,
    pub counts: CallCounts,
    pub model: ShadowModel,
    /// The budget limit that blocked the call, if one did.
    pub limit: Option<Limit>,
}

impl RejudgeTarget {
    /// Reads the decision for a visitor who may read model calls. The read is recorded.
    pub async fn read(
        web: &Web,
        access: &Access,
        (workspace, id): (&WorkspaceId, DecisionId),
    ) -> Result<Self, ApiProblem> {
        require_models(access, workspace)?;
        let query = DecisionQuery::One { workspace: workspace.clone(), id };
        let decision = web.archive.decisions(query).await?.pop().ok_or_else(decision::absent)?;
        let shown = Shown::Decisions(std::slice::from_ref(&decision));
        workspaces::record_look(web, access, workspace, shown).await?;
        let channels = web.archive.channels(workspace).await?.into_iter();
        let mut channels = channels.filter(|channel| channel.id == decision.conversation.channel);
        let channel = channels.next();
        let channel = channel.unwrap_or_else(|| unknown_channel(&decision.conversation));
        let rejudgment = rejudgment(web, &decision, &channel).await?.map(Arc::new);
        Ok(Self { channel, rejudgment })
    }
}

async fn rejudgment(
    web: &Web,
    decision: &Decision,
    channel: &Channel,
) -> Result<Result<Rejudgment, Unjudgeable>, ApiProblem> {
    let exchanges = web.archive.exchanges(decision.id).await?;
    let call = match recorded_call(decision, exchanges) {
        Ok(call) => call,
        Err(why) => return Ok(Err(why)),
    };
    let config = web.models.config();
    let tried = shadow::moments(web, &config).read(channel, decision.clone()).await?;
    let rejudgment = tried.map(|tried| Rejudgment::new(tried, call));
    Ok(rejudgment.ok_or(Unjudgeable::MessagesGone))
}

/// Refuses visitors who may not read what models wrote in the workspace.
fn require_models(access: &Access, workspace: &WorkspaceId) -> Result<(), ApiProblem> {
    if access.may_read_models(workspace) {
        return Ok(());
    }
    Err(match access {
        Access::ThisMachine => Refusal::ModelsWithheldHere.into(),
        Access::Public | Access::SignedIn(_) => Refusal::ModelsWithheld.into(),
    })
}

/// Asks the judge up to a cap. Without a cap, it only estimates the cost.
pub async fn ask(
    web: &Arc<Web>,
    target: &RejudgeTarget,
    rejudgment: &Arc<Rejudgment>,
    cap: Option<Cap>,
) -> Result<RejudgeResult, ApiProblem> {
    let prepared = web.models.shadow_judge(&target.channel);
    let mut judge = shadow::budgeted(web, &target.channel, prepared, cap)?;
    // Do not use cached answers: the point is to ask again.
    judge.model.cache = Arc::<AnswerCache>::default();
    let (model, rejudgment) = (judge.model.clone(), rejudgment.clone());
    let (secrets, runtime) = (web.models.secrets().clone(), Handle::current());
    let (rejudged, counts) = match cap {
        // An estimate takes no time.
        None => rejudgment.ask(&model, &secrets, &CancellationToken::new()).await,
        Some(_) => {
            let work = move |stop: &_| Ok(runtime.block_on(rejudgment.ask(&model, &secrets, stop)));
            web.computations.run(work).await?
        }
    };
    Ok(RejudgeResult { rejudged, counts, limit: judge.reached_limit(), model: judge.model })
}

impl RejudgeResult {
    /// Returns why there is no verdict, if the judge was asked and there is none.
    pub fn problem(&self, language: Language) -> Option<String> {
        match (&self.rejudged, self.limit) {
            (MindAnswer::Known(_), _) => None,
            (_, Some(limit)) => {
                let why = texts::judging::limit_reason(language, limit);
                Some(texts::shadow::over_budget(language, &why))
            }
            (MindAnswer::Unreadable(why), None) => Some(texts::shadow::unreadable(language, why)),
            (MindAnswer::Unknown(_), None) if self.counts.is_cap_reached => {
                Some(texts::shadow::cap_reached(language).to_owned())
            }
            (MindAnswer::Unknown(_), None) => Some(texts::shadow::unanswered(language).to_owned()),
        }
    }

    pub fn tokens(&self) -> u64 {
        self.counts.input_tokens + self.counts.output_tokens
    }

    /// Returns the refusal for a program that ordered the call, if the call itself is the problem.
    fn refusal(&self) -> Option<Refusal> {
        match (&self.rejudged, self.limit) {
            (MindAnswer::Known(_) | MindAnswer::Unreadable(_), _) => None,
            (MindAnswer::Unknown(_), Some(limit)) => Some(Refusal::OverBudget(limit)),
            (MindAnswer::Unknown(_), None) if self.counts.is_cap_reached => {
                Some(Refusal::CapReached)
            }
            (MindAnswer::Unknown(_), None) => Some(Refusal::ModelUnanswered),
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeBody {
    /// The id of the workspace to look in; all workspaces if omitted.
    workspace: Option<String>,
    /// The maximum cost, in the currency of the prices. If omitted, the judge is not asked and the cost is estimated.
    cap: Option<f64>,
}

/// The judge's recorded verdict and its new one.
#[derive(Serialize, JsonSchema)]
pub struct JudgedAgainAnswer {
    decision: DecisionId,
    /// The model that was asked now, or would be.
    model: String,
    /// The recorded verdict; null if the judge's answer could not be used.
    recorded: Option<Judgment>,
    recorded_model: String,
    /// The new verdict; null if the judge was not asked or its answer could not be used.
    judged: Option<Judgment>,
    /// Why there is no new verdict, although the judge was asked.
    problem: Option<String>,
    asked: bool,
    /// The tokens of the call; an estimate if the judge was not asked.
    tokens: u64,
    cost: f64,
    currency: String,
}

/// `POST /api/decisions/ID/judge`.
pub async fn judge(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    id: Result<Path<i64>, PathRejection>,
    body: Result<Json<JudgeBody>, JsonRejection>,
) -> JsonResult<JudgedAgainAnswer> {
    let Path(id) = id.map_err(|_| decision::absent())?;
    let body = json(body, refusals::format_of_judge)?;
    let cap = body.cap.map(Cap::new).transpose()?;
    let access = &visitor.access;
    shadow::require_orders(access)?;
    let id = DecisionId(id);
    let workspace = match workspaces::find_only(&web, body.workspace.as_deref()).await? {
        Some(workspace) => workspace,
        None => {
            let found = decision::find(&web, id).await?.ok_or_else(decision::absent)?;
            found.conversation.workspace
        }
    };
    let target = RejudgeTarget::read(&web, access, (&workspace, id)).await?;
    let rejudgment = target.rejudgment.as_ref().map_err(|why| Refusal::Unjudgeable(*why))?;
    let asked = ask(&web, &target, rejudgment, cap).await?;
    if let Some(refusal) = cap.and_then(|_| asked.refusal()) {
        return Err(refusal.into());
    }
    let problem = cap.and_then(|_| asked.problem(language));
    let verdicts = JudgedAgainAnswer::new(id, rejudgment, asked, &web.currency);
    Ok(Json(JudgedAgainAnswer { asked: cap.is_some(), problem, ..verdicts }))
}

impl JudgedAgainAnswer {
    /// The answer for an estimate, without a call.
    fn new(
        decision: DecisionId,
        rejudgment: &Rejudgment,
        asked: RejudgeResult,
        currency: &str,
    ) -> Self {
        Self {
            decision,
            model: asked.model.llm.model().to_owned(),
            recorded: rejudgment.recorded.clone(),
            recorded_model: rejudgment.recorded_model.to_string(),
            tokens: asked.tokens(),
            cost: asked.counts.cost_micros as f64 / 1e6,
            currency: currency.to_owned(),
            asked: false,
            problem: None,
            judged: match asked.rejudged {
                MindAnswer::Known(judgment) => Some(judgment),
                MindAnswer::Unreadable(_) | MindAnswer::Unknown(_) => None,
            },
        }
    }
}
