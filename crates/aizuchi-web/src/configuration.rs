//! The config that the program runs with, and reading it again without a restart.

use std::collections::BTreeSet;
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_config::models::agent_models::ResolvedMind;
use aizuchi_config::models::saved_choice::MODEL_VARIABLE;
use aizuchi_config::models::sources::ModelOrigin;
use aizuchi_config::shown_settings::{ConfigSetting, ValueSource};
use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::rules::setting_override::SettingScope;
use aizuchi_store::order_journal::{OrderKind, OrderRecord};
use axum::Json;
use axum::extract::{Extension, State};
use parking_lot::RwLock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::access::Visitor;
use crate::refusal::Refusal;
use crate::{ApiProblem, JsonResult, Web};

/// The config in force, and where a visitor asks for a newer one.
pub struct Configuration {
    pub in_force: RwLock<ConfigInForce>,
    reloads: mpsc::Sender<ReloadRequest>,
    requests: Mutex<mpsc::Receiver<ReloadRequest>>,
}

/// What the program runs with.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "ConfigurationAnswer")]
pub struct ConfigInForce {
    /// The path of the config file; null if there is none.
    pub file: Option<String>,
    /// Every setting, first the orders for a whole workspace and what the file sets.
    pub settings: Vec<ConfigSetting>,
    /// The keys that have changed since the start, and take effect at the next one.
    pub need_restart: Vec<String>,
}

/// A request to read the config again. It is answered with what changed, or why nothing did.
pub type ReloadRequest = oneshot::Sender<Result<ReloadAnswer, String>>;

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct ReloadAnswer {
    /// The keys whose new values are in effect.
    pub changed: Vec<String>,
    /// The keys that have changed since the start, and take effect at the next one.
    pub need_restart: Vec<String>,
    /// The platforms that refused their new secrets, and keep the old ones.
    pub refused: Vec<String>,
    pub warnings: Vec<String>,
}

impl Default for Configuration {
    fn default() -> Self {
        // A second request waits until the first one is served.
        let (reloads, requests) = mpsc::channel(1);
        Self { in_force: RwLock::default(), reloads, requests: Mutex::new(requests) }
    }
}

impl Configuration {
    /// Waits until somebody asks for a reload.
    pub async fn next_request(&self) -> Option<ReloadRequest> {
        self.requests.lock().await.recv().await
    }
}

/// `GET /api/configuration`.
pub(crate) async fn show(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
) -> JsonResult<ConfigInForce> {
    read(&web, &visitor.access).map(Json)
}

/// `POST /api/reload`.
pub(crate) async fn reload(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
) -> JsonResult<ReloadAnswer> {
    Ok(Json(reload_for(&web, &visitor.access).await?))
}

/// Returns the config in force. It names channels, people and paths of this machine.
pub(crate) fn read(web: &Web, access: &Access) -> Result<ConfigInForce, ApiProblem> {
    if !access.may_administer() {
        return Err(Refusal::OnlyAdminConfigures.into());
    }
    let mut in_force = web.configuration.in_force.read().clone();
    complete(web, &mut in_force.settings);
    let rulebook = web.room.rulebook();
    let orders = rulebook.ordered.iter().flat_map(|(workspace, orders)| {
        let for_all = orders.iter().filter(|order| order.scope == SettingScope::Workspace);
        for_all.map(|order| ConfigSetting {
            value: Some(order.setting.to_string()),
            source: ValueSource::Order(workspace.clone()),
            needs_restart: false,
            ..ConfigSetting::new(&["workspaces", workspace.as_str(), order.setting.kind().name()])
        })
    });
    let settings = orders.chain(in_force.settings).collect();
    Ok(ConfigInForce { settings, ..in_force })
}

/// Adds the models in use, and what applies where no value is set.
fn complete(web: &Web, settings: &mut [ConfigSetting]) {
    let (config, rulebook) = (web.models.config(), web.room.rulebook());
    let model = |mind: &ResolvedMind| Some(mind.model.id.to_string());
    let most_tokens = rulebook.workspace_limits.tokens_per_day;
    let applied = [
        ("agents.response", model(&config.minds.response)),
        ("agents.judgment", model(&config.minds.judgment)),
        ("agents.memory", model(&config.minds.memory)),
        ("agents.state", model(&config.minds.state)),
        ("response.mode", Some(rulebook.default_rules.mode.name().to_owned())),
        ("budget.tokens_per_day", most_tokens.map(|most| most.to_string())),
        ("timezone", web.zone.iana_name().map(str::to_owned)),
    ];
    let by = match config.model_sources.origin {
        ModelOrigin::Default | ModelOrigin::Config => None,
        ModelOrigin::Flag => Some("--model"),
        ModelOrigin::Variable | ModelOrigin::Saved => Some(MODEL_VARIABLE),
    };
    for setting in settings {
        let key = setting.key.trim_end_matches(".model_id");
        let Some((_, value)) = applied.iter().find(|(known, _)| *known == key) else { continue };
        let by = by.filter(|_| key.starts_with("agents."));
        if key.starts_with("agents.") || setting.source == ValueSource::Default {
            setting.value.clone_from(value);
        }
        setting.source = by.map_or(setting.source.clone(), ValueSource::Override);
    }
}

/// Has the config read again, and records who asked for it.
pub(crate) async fn reload_for(web: &Web, access: &Access) -> Result<ReloadAnswer, ApiProblem> {
    if !access.may_administer() {
        return Err(Refusal::OnlyAdminConfigures.into());
    }
    let asked = async {
        let (request, outcome) = oneshot::channel();
        web.configuration.reloads.send(request).await.ok()?;
        outcome.await.ok()
    };
    let reloaded = tokio::select! {
        reloaded = asked => reloaded.ok_or(Refusal::ShuttingDown)?,
        () = web.shutdown.cancelled() => return Err(Refusal::ShuttingDown.into()),
    };
    let reloaded = reloaded.map_err(Refusal::UnusableConfig)?;
    // The journal is read by visitors who may not know a private channel's name.
    let sections = reloaded.changed.iter().filter_map(|key| key.split('.').next());
    let sections: BTreeSet<&str> = sections.collect();
    let changed = sections.into_iter().collect::<Vec<_>>().join(", ");
    let changed = Some(changed).filter(|changed| !changed.is_empty());
    let record =
        OrderRecord { value: changed.map(Arc::from), ..OrderRecord::new(OrderKind::Reload) };
    web.note(workspace_id(), record, access.signature()).await;
    Ok(reloaded)
}
