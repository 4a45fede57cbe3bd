//! The config that the program runs with, and reading it again without a restart.

use std::collections::BTreeSet;
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_config::written::FileSetting;
use aizuchi_model::chat::local::workspace_id;
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
#[derive(Clone, Debug, Default)]
pub struct ConfigInForce {
    /// The path of the config file, if there is one.
    pub file: Option<String>,
    /// What the file sets.
    pub written: Vec<FileSetting>,
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

#[derive(Serialize, JsonSchema)]
pub struct ConfigurationAnswer {
    /// The path of the config file; null if there is none.
    file: Option<String>,
    /// What the file sets. Everything else has its default.
    settings: Vec<FileSettingView>,
    /// The keys that have changed since the start, and take effect at the next one.
    need_restart: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct FileSettingView {
    key: String,
    /// Null for a secret, what could be one, and a long text.
    value: Option<String>,
    line: u64,
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
) -> JsonResult<ConfigurationAnswer> {
    let ConfigInForce { file, written, need_restart } = read(&web, &visitor.access)?;
    let view = |FileSetting { key, value, line, is_expanded: _ }: FileSetting| FileSettingView {
        key,
        value,
        line,
    };
    let settings = written.into_iter().map(view).collect();
    Ok(Json(ConfigurationAnswer { file, settings, need_restart }))
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
    Ok(web.configuration.in_force.read().clone())
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
