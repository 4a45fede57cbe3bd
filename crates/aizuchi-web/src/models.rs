//! The API of models: the models in use, their problems, and the choice of another one.

use std::sync::Arc;

use aizuchi_actions::refusal::ActionRefusal;
use aizuchi_config::models::in_use::ModelsInUse;
use aizuchi_config::models::in_use::choice::{ChoiceError, ModelChoice};
use aizuchi_config::models::in_use::offers::{command, example_model};
use aizuchi_config::secret::Secret;
use aizuchi_llm::discover::FoundServer;
use aizuchi_llm::model_id::ModelId;
use aizuchi_llm::provider_list::{PROVIDERS, Provider};
use aizuchi_model::access_role::AccessRole;
use aizuchi_model::access_scope::AccessScope;
use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::decision::model_problem::ModelProblem;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_model::texts::refusals;
use aizuchi_store::order_journal::{OrderKind, OrderRecord};
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::access::Visitor;
use crate::api::json;
use crate::language::PageLanguage;
use crate::peer::Client;
use crate::refusal::Refusal;
use crate::request_origin::is_direct;
use crate::workspaces::FilterParameter;
use crate::{ApiProblem, JsonResult, Web, workspaces};

/// The model to use.
// It has no `Debug`, which could show a key.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ChoiceBody {
    Builtin,
    Local {
        server: String,
        #[schemars(with = "String")]
        model: ModelId,
    },
    Hosted {
        provider: String,
        model: String,
        #[schemars(with = "Option<String>")]
        key: Option<Secret>,
    },
    Compatible {
        api_base: String,
        model: String,
        #[schemars(with = "Option<String>")]
        key: Option<Secret>,
    },
}

/// Which models are used, what is wrong with them, and which could be used.
#[derive(Serialize, JsonSchema)]
pub struct ModelsAnswer {
    response: String,
    judgment: String,
    /// The address of the model; null if it is the provider's own.
    address: Option<String>,
    builtin: bool,
    problems: Vec<ProblemView>,
    found: Vec<ServerView>,
    providers: Vec<ProviderView>,
    may_choose: bool,
    why_not: Option<String>,
}

/// What is wrong with a model.
#[derive(Serialize, JsonSchema)]
pub struct ProblemView {
    pub model: String,
    pub problem: ModelProblem,
    pub told: &'static str,
}

/// A model server on this machine.
#[derive(Serialize, JsonSchema)]
pub struct ServerView {
    server: &'static str,
    models: Vec<ServerModelView>,
}

#[derive(Serialize, JsonSchema)]
pub struct ServerModelView {
    id: String,
    name: String,
    command: String,
}

/// A provider that takes a key.
#[derive(Serialize, JsonSchema)]
pub struct ProviderView {
    provider: &'static str,
    /// The environment variable that holds the key.
    variable: &'static str,
    example: &'static str,
    has_key: bool,
}

impl ChoiceBody {
    fn choice(self) -> Option<ModelChoice> {
        Some(match self {
            ChoiceBody::Builtin => ModelChoice::Builtin,
            ChoiceBody::Local { server, model } => ModelChoice::Local { server, model },
            ChoiceBody::Hosted { provider, model, key } => {
                let provider = PROVIDERS.into_iter().find(|known| known.name() == provider)?;
                ModelChoice::Hosted { provider, model: model.trim().to_owned(), key }
            }
            ChoiceBody::Compatible { api_base, model, key } => {
                let (api_base, model) = (api_base.trim().to_owned(), model.trim().to_owned());
                ModelChoice::Compatible { api_base, model, key }
            }
        })
    }
}

/// Returns the models in use, their problems, and the models that could be used. They are the same in every workspace.
pub async fn models(
    State(web): State<Arc<Web>>,
    Extension(client): Extension<Client>,
    PageLanguage(language): PageLanguage,
    headers: HeaderMap,
    filter: FilterParameter,
) -> JsonResult<ModelsAnswer> {
    workspaces::only(&web, filter).await?;
    Ok(Json(view(&web, language, is_on_this_machine(&web, client, &headers))))
}

/// Tries a model and uses it from now on. A key in the request is stored and never shown again.
pub async fn choose(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    Extension(client): Extension<Client>,
    PageLanguage(language): PageLanguage,
    headers: HeaderMap,
    body: Result<Json<ChoiceBody>, JsonRejection>,
) -> JsonResult<ModelsAnswer> {
    require_own_page(&web, client, &headers)?;
    if visitor.access.role().is_some_and(|role| role < AccessRole::Admin) {
        return Err(ActionRefusal::OnlyAdminChoosesModels.into());
    }
    let body = json(body, refusals::format_of_choice)?;
    let choice = body.choice().ok_or(Refusal::WrongBody(refusals::format_of_choice))?;
    web.models.choose(choice).await.map_err(Refusal::Choice)?;
    let (workspace, model) = (workspace_id(), web.models.response().into());
    let record = OrderRecord { value: Some(model), ..OrderRecord::new(OrderKind::ChooseModel) };
    web.note(workspace, record, visitor.access.signature()).await;
    Ok(Json(view(&web, language, true)))
}

/// Searches for model servers again, and checks the models in use.
pub async fn look(
    State(web): State<Arc<Web>>,
    Extension(client): Extension<Client>,
    PageLanguage(language): PageLanguage,
    headers: HeaderMap,
) -> JsonResult<ModelsAnswer> {
    require_own_page(&web, client, &headers)?;
    web.models.look_around(&[web.address]).await;
    Ok(Json(view(&web, language, true)))
}

/// Returns what every open page gets without a request.
pub fn summary(models: &ModelsInUse) -> Value {
    let problem = |(model, problem): (String, _)| json!({ "model": model, "problem": problem });
    json!({
        "response": models.response(),
        "judgment": models.judgment(),
        "problems": models.problems().into_iter().map(problem).collect::<Vec<_>>(),
        "found": models.found().len(),
    })
}

/// Returns the problems of each model, for operators. Visitors who are limited to places do not learn which models the
/// installation uses.
pub fn problems(web: &Web, language: Language) -> Vec<ProblemView> {
    if web.scope != AccessScope::Everything {
        return Vec::new();
    }
    let problems = web.models.problems().into_iter();
    let problem = |(model, problem)| {
        let told = texts::models::problem(language, problem);
        ProblemView { model, problem, told }
    };
    problems.map(problem).collect()
}

fn view(web: &Web, language: Language, is_here: bool) -> ModelsAnswer {
    let models = &web.models;
    let is_open = models.is_open_to_choice();
    let why_not = match (is_open, is_here) {
        (true, true) => None,
        (true, false) => Some(texts::models::choice_needs_this_machine(language).to_owned()),
        (false, _) => Some(ChoiceError::NamedBy(models.origin()).describe(language)),
    };
    let with_key = models.providers_with_key();
    let providers = PROVIDERS.into_iter();
    ModelsAnswer {
        response: models.response(),
        judgment: models.judgment(),
        address: models.address(),
        builtin: models.is_builtin(),
        problems: problems(web, language),
        found: models.found().iter().map(server_view).collect(),
        providers: providers.filter_map(|it| provider_view(it, &with_key)).collect(),
        may_choose: why_not.is_none(),
        why_not,
    }
}

fn server_view(found: &FoundServer) -> ServerView {
    let model = |model: &ModelId| match model {
        ModelId::Hosted { name, .. } => Some(ServerModelView {
            id: model.to_string(),
            name: name.to_string(),
            command: command(found, model),
        }),
        ModelId::Builtin => None,
    };
    ServerView {
        server: found.endpoint.server.name(),
        models: found.models.iter().filter_map(model).collect(),
    }
}

/// `has_key` says whether the environment has the key. A provider with a separate address for each account needs more
/// than a key, so it is not offered.
fn provider_view(provider: Provider, with_key: &[Provider]) -> Option<ProviderView> {
    provider.default_api_base()?;
    Some(ProviderView {
        provider: provider.name(),
        variable: provider.key_variable()?,
        example: example_model(provider),
        has_key: with_key.contains(&provider),
    })
}

/// Keys are accepted on this machine only: the pages are served on loopback, to a program here, and not through a
/// proxy.
fn is_on_this_machine(web: &Web, client: Client, headers: &HeaderMap) -> bool {
    web.address.ip().is_loopback() && is_direct(client, headers)
}

/// Refuses a request that does not come from a page of this very address. Browsers name the origin of every request
/// with a body; a request that names none comes from another program.
fn require_own_page(web: &Web, client: Client, headers: &HeaderMap) -> Result<(), ApiProblem> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let own = text(header::HOST).map(|host| format!("http://{host}"));
    let is_own = own.is_some() && text(header::ORIGIN) == own.as_deref();
    if is_own && is_on_this_machine(web, client, headers) {
        return Ok(());
    }
    Err(Refusal::OnlyThisMachineChoosesModels.into())
}
