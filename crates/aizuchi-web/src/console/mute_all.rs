//! The mute of all workspaces in one click, and its undo.

use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{Role, WorkspaceId};
use aizuchi_store::order::{Mute, Order};
use axum::extract::{Query, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use jiff::Timestamp;

use crate::access::Visitor;
use crate::refusal::Refusal;
use crate::{ApiProblem, Web, workspaces};

/// The workspaces that a mute of everything muted, each with the mute that it had.
type Replaced = Vec<(WorkspaceId, Option<(Timestamp, Role)>)>;

/// What a page answers after a mute of everything was undone.
pub const UNDONE: &str = "undone";

/// What the console answers without a frame.
const OTHERS: [&str; 2] = ["/console/events", "/console/report.css"];

/// Middleware that reads for the console's pages whether the persona is muted.
pub async fn tell(
    State(web): State<Arc<Web>>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiProblem> {
    let uri = request.uri().clone();
    let is_page = !OTHERS.contains(&uri.path()) && uri.path().starts_with("/console");
    // What a form answers has no address to return to.
    let page = if request.method() == Method::GET { uri.path() } else { "/console" };
    let page = page.to_owned();
    if let Some(visitor) = request.extensions_mut().get_mut::<Visitor>().filter(|_| is_page) {
        let (all, now) = (workspaces::all(&web).await?, web.clock.now());
        let muted = web.archive.muted_workspaces(now).await?;
        let frame = &mut visitor.frame;
        frame.workspaces = all.len();
        frame.muted = all.iter().filter(|workspace| muted.contains(workspace)).count();
        frame.may_mute = visitor.access.may_order()
            && all.iter().any(|workspace| web.scope.includes(workspace, None));
        frame.unheard = all.iter().filter(|it| workspaces::outage(&web, it).is_some()).count();
        // Not its query: what somebody searches for is not repeated where nothing is found.
        frame.page = page;
        let fields = Query::<Vec<(String, String)>>::try_from_uri(&uri);
        let fields = fields.map_or(Vec::new(), |Query(fields)| fields);
        if let Some((_, undo)) = fields.into_iter().find(|(name, _)| name == "undo")
            && (undo == UNDONE || may_undo(&web, &undo).await?)
        {
            frame.undo = undo;
        }
    }
    Ok(next.run(request).await)
}

/// Mutes every workspace until it is unmuted. Returns what undoes that.
pub async fn mute(web: &Web, access: &Access) -> Result<String, ApiProblem> {
    access.require_orders()?;
    let mut replaced = Replaced::new();
    for workspace in reached(web).await? {
        let earlier = mute_of(web, &workspace).await?;
        if !earlier.is_some_and(is_endless) {
            replaced.push((workspace.clone(), earlier.map(|mute| (mute.until, mute.by))));
            let (channel, until, by) = (None, Timestamp::MAX, Role::Admin);
            let order = Order::Mute { workspace, channel, until, by };
            web.apply(order.signed(access.signature())).await?;
        }
    }
    serde_json::to_string(&replaced).map_err(|_| Refusal::PageFailed.into())
}

/// Whether a mute of everything is in force that replaced this.
async fn may_undo(web: &Web, replaced: &str) -> Result<bool, ApiProblem> {
    let replaced: Replaced = serde_json::from_str(replaced).unwrap_or_default();
    for (workspace, _) in replaced {
        if mute_of(web, &workspace).await?.is_some_and(is_endless) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Unmutes every workspace. With what a mute of everything replaced, only the workspaces that it muted, and they get
/// the mute back that they had; those whose mute has been changed since are left alone.
pub async fn unmute(web: &Web, access: &Access, replaced: Option<&str>) -> Result<(), ApiProblem> {
    access.require_orders()?;
    let replaced: Option<Replaced> =
        replaced.map(serde_json::from_str).transpose().map_err(|_| Refusal::MalformedOrder)?;
    for workspace in reached(web).await? {
        let Some(mute) = mute_of(web, &workspace).await? else { continue };
        let earlier = match &replaced {
            None => None,
            Some(replaced) => match replaced.iter().find(|(it, _)| *it == workspace) {
                Some((_, earlier)) if is_endless(mute) => *earlier,
                Some(_) | None => continue,
            },
        };
        let earlier = earlier.filter(|(until, _)| *until > web.clock.now());
        // A mute by an admin takes the place of this one, so that a crash in between leaves none unmuted.
        if !matches!(earlier, Some((_, Role::Admin))) {
            let (channel, by) = (None, Role::Admin);
            let order = Order::Unmute { workspace: workspace.clone(), channel, by };
            web.apply(order.signed(access.signature())).await?;
        }
        if let Some((until, by)) = earlier {
            let order = Order::Mute { workspace, channel: None, until, by };
            web.apply(order.signed(access.signature())).await?;
        }
    }
    Ok(())
}

/// The workspaces that the visitor reaches as a whole.
async fn reached(web: &Web) -> Result<Vec<WorkspaceId>, ApiProblem> {
    let mut all = workspaces::all(web).await?;
    all.retain(|workspace| web.scope.includes(workspace, None));
    if all.is_empty() { Err(Refusal::OutOfReach.into()) } else { Ok(all) }
}

async fn mute_of(web: &Web, workspace: &WorkspaceId) -> Result<Option<Mute>, ApiProblem> {
    Ok(web.store.orders(workspace).await?.workspace_mute(web.clock.now()))
}

/// Whether it is a mute as this one: by an admin, until it is lifted.
fn is_endless(mute: Mute) -> bool {
    mute.by == Role::Admin && mute.until.as_second() == Timestamp::MAX.as_second()
}
