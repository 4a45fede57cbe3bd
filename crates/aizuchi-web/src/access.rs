//! Who sent a request, and which requests each role may send.

use aizuchi_actions::access::Access;
use aizuchi_model::access_role::AccessRole;
use aizuchi_model::access_scope::AccessScope;
use aizuchi_model::chat::local::workspace_id;
use axum::http::Method;
use tokio_util::sync::CancellationToken;

use crate::sessions::Session;

/// Who sent a request.
#[derive(Clone, Debug)]
pub struct Visitor {
    pub access: Access,
    /// Whether they may learn why the program is not ready.
    pub is_trusted: bool,
    pub session: Option<Session>,
    /// Cancelled when the token with which the request came is no longer accepted. `None` if it came without one.
    pub token_ended: Option<CancellationToken>,
    pub frame: FrameState,
}

/// What the frame of every page shows of the store.
#[derive(Clone, Debug, Default)]
pub struct FrameState {
    /// The store's revision when the request came: what it reads is at least as new.
    pub revision: u64,
    /// The numbers of workspaces that the visitor reaches, and of those that are muted. Known for pages only.
    pub workspaces: usize,
    pub muted: usize,
    /// The number of those that are not connected.
    pub unheard: usize,
    /// Whether the visitor may mute all of them.
    pub may_mute: bool,
    /// The address of the page, and what it answers: what undoes a mute of everything, or that it was undone.
    pub page: String,
    pub undo: String,
}

/// Whether a request to this path is allowed at all. Viewers have no access to a path that is not listed for them.
pub fn allows(access: &Access, method: &Method, path: &str) -> bool {
    let scope = access.scope();
    if *scope != AccessScope::Everything && is_for_all_places(path)
        || is_room(path) && !scope.touches(&workspace_id())
    {
        return false;
    }
    match access {
        Access::Public => false,
        Access::ThisMachine => true,
        Access::SignedIn(holder) => match holder.role {
            AccessRole::Admin => true,
            // The choice of the model that reads private channels is reserved to those who may read them.
            AccessRole::Operator => method == Method::GET || !path.starts_with("/api/models"),
            AccessRole::Viewer => is_for_viewers(method, path),
        },
    }
}

/// Whether a path is about the whole installation, and not for visitors who are limited to places.
fn is_for_all_places(path: &str) -> bool {
    const PATHS: [&str; 5] = [
        "/metrics", "/api/reload", "/api/configuration", "/console/configuration",
        "/console/persona",
    ];
    PATHS.contains(&path) || path.starts_with("/api/models")
}

/// Whether a path shows the local room without naming it.
fn is_room(path: &str) -> bool {
    ["/", "/events"].contains(&path)
}

/// Whether viewers may send this request: the response consists of figures, or its handler withholds text.
fn is_for_viewers(method: &Method, path: &str) -> bool {
    const READ: [&str; 17] = [
        "/console", "/metrics", "/api/workspaces", "/api/status", "/api/channels",
        "/api/decisions", "/api/spending", "/api/figures", "/api/models", "/api/dead-letters",
        "/api/proposals", "/api/calls", "/api/memories", "/api/memory-changes", "/api/health",
        "/api/failures", "/api/openapi.json",
    ];
    let is_page = path.starts_with("/console/") || path.starts_with("/decisions/");
    match *method {
        Method::GET | Method::HEAD => READ.contains(&path) || is_page,
        // Lookups there are read-only.
        Method::POST => ["/logout", "/mcp"].contains(&path),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_actions::access::SignedInUser;

    use super::*;

    fn signed_in(role: AccessRole) -> Access {
        Access::SignedIn(SignedInUser::new("mia", role))
    }

    #[test]
    fn only_an_admin_chooses_a_model() {
        for (access, expected) in [
            (Access::ThisMachine, true),
            (signed_in(AccessRole::Operator), false),
            (signed_in(AccessRole::Admin), true),
        ] {
            assert_eq!(allows(&access, &Method::POST, "/api/models"), expected, "{access:?}");
            assert_eq!(allows(&access, &Method::POST, "/api/models/look"), expected, "{access:?}");
            assert!(allows(&access, &Method::GET, "/api/models"), "{access:?}");
        }
    }

    #[test]
    fn a_viewer_gives_no_orders_and_opens_no_room() {
        let viewer = signed_in(AccessRole::Viewer);
        for (method, path, expected) in [
            (Method::GET, "/console", true),
            (Method::GET, "/console/queue", true),
            (Method::GET, "/api/spending", true),
            (Method::POST, "/logout", true),
            (Method::POST, "/mcp", true),
            (Method::GET, "/mcp", false),
            (Method::GET, "/", false),
            (Method::GET, "/events", false),
            (Method::GET, "/api/messages", false),
            (Method::GET, "/api/room", false),
            (Method::GET, "/api/people", false),
            (Method::POST, "/api/mute", false),
            (Method::POST, "/console/orders", false),
            (Method::GET, "/console/memory", true),
            (Method::POST, "/console/memory", false),
            (Method::POST, "/api/memories", false),
            (Method::DELETE, "/api/memos/1", false),
            (Method::DELETE, "/api/demo", false),
        ] {
            assert_eq!(allows(&viewer, &method, path), expected, "{method} {path}");
            assert!(allows(&signed_in(AccessRole::Operator), &method, path));
            assert!(!allows(&Access::Public, &method, path));
        }
        assert!(!viewer.may_order() && signed_in(AccessRole::Operator).may_order());
    }
}
