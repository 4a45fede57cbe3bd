//! Who sent a request, and what they may do and read.

use std::sync::Arc;

use aizuchi_config::http::AccessRole;
use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::chat::{Channel, Visibility, WorkspaceId};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_store::stored_message::StoredMessage;
use axum::http::Method;
use tokio_util::sync::CancellationToken;

use crate::sessions::Session;
use crate::signed_in_user::SignedInUser;

/// Who sent a request.
#[derive(Clone, Debug)]
pub struct Visitor {
    pub access: Access,
    /// Whether they may learn why the program is not ready.
    pub is_trusted: bool,
    pub session: Option<Session>,
    /// Cancelled when the token with which the request came is no longer accepted. `None` if it came without one.
    pub token_ended: Option<CancellationToken>,
    /// The store's revision when the request came: what it reads is at least as new.
    pub revision: u64,
}

/// What a visitor may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Health checks and the sign-in.
    Public,
    /// Any client on this machine, while no token is set. It may use the local room, and give orders everywhere.
    ThisMachine,
    SignedIn(SignedInUser),
}

impl Access {
    /// Whether a request to this path is allowed at all. Viewers have no access to a path that is not listed for them.
    pub fn allows(&self, method: &Method, path: &str) -> bool {
        match self {
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

    pub fn may_order(&self) -> bool {
        match self {
            Access::Public => false,
            Access::ThisMachine => true,
            Access::SignedIn(holder) => holder.role >= AccessRole::Operator,
        }
    }

    pub fn is_admin(&self) -> bool {
        self.role() == Some(AccessRole::Admin)
    }

    /// Whether they may read messages of this visibility.
    pub fn may_read(&self, workspace: &WorkspaceId, visibility: Visibility) -> bool {
        let is_public = visibility == Visibility::Public;
        match self {
            Access::Public => false,
            Access::ThisMachine => *workspace == workspace_id(),
            Access::SignedIn(holder) => match holder.role {
                AccessRole::Admin => true,
                AccessRole::Operator => is_public || *workspace == workspace_id(),
                AccessRole::Viewer => false,
            },
        }
    }

    pub fn may_read_message(&self, stored: &StoredMessage) -> bool {
        self.may_read(&stored.message.conversation.workspace, stored.visibility)
    }

    /// Whether they may read prompts, answers and reasons, in which a model may repeat what was said while a channel
    /// was private.
    pub fn may_read_models(&self, workspace: &WorkspaceId) -> bool {
        self.may_read(workspace, Visibility::Private)
    }

    /// Whether they may learn the name of a channel.
    pub fn may_name(&self, visibility: Visibility) -> bool {
        visibility == Visibility::Public || self.is_admin()
    }

    /// Returns the name of a channel as they may know it, or its id.
    pub fn name_of(&self, channel: &Channel) -> String {
        match self.may_name(channel.visibility) {
            true => channel.name.to_string(),
            false => channel.id.to_string(),
        }
    }

    /// Says why text is hidden from them.
    pub fn withheld(&self, language: Language) -> &'static str {
        match self {
            Access::ThisMachine => texts::console::withheld_here(language),
            Access::Public | Access::SignedIn(_) => texts::console::withheld(language),
        }
    }

    pub fn role(&self) -> Option<AccessRole> {
        match self {
            Access::Public | Access::ThisMachine => None,
            Access::SignedIn(holder) => Some(holder.role),
        }
    }

    /// The name under which the journals record them. Empty for this machine.
    pub fn signature(&self) -> Arc<str> {
        self.reader().cloned().unwrap_or_default()
    }

    /// The name under which reads of private channels are recorded.
    pub fn reader(&self) -> Option<&Arc<str>> {
        match self {
            Access::Public | Access::ThisMachine => None,
            Access::SignedIn(holder) => Some(&holder.name),
        }
    }
}

/// Whether viewers may send this request: the response consists of figures, or its handler withholds text.
fn is_for_viewers(method: &Method, path: &str) -> bool {
    const READ: [&str; 16] = [
        "/console", "/metrics", "/api/workspaces", "/api/status", "/api/channels",
        "/api/decisions", "/api/spending", "/api/figures", "/api/models", "/api/dead-letters",
        "/api/proposals", "/api/calls", "/api/memories", "/api/memory-changes", "/api/health",
        "/api/openapi.json",
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
    use super::*;

    fn signed_in(role: AccessRole) -> Access {
        Access::SignedIn(SignedInUser { name: "mia".into(), role })
    }

    #[test]
    fn each_role_reads_what_it_may() {
        let (room, team) = (workspace_id(), WorkspaceId::new("slack:T1"));
        use Visibility::{Direct, Private, Public};
        for (access, expected) in [
            (Access::Public, [false; 4]),
            (Access::ThisMachine, [true, false, false, false]),
            (signed_in(AccessRole::Viewer), [false; 4]),
            (signed_in(AccessRole::Operator), [true, true, false, false]),
            (signed_in(AccessRole::Admin), [true; 4]),
        ] {
            let places = [(&room, Public), (&team, Public), (&team, Private), (&team, Direct)];
            let found =
                places.map(|(workspace, visibility)| access.may_read(workspace, visibility));
            assert_eq!(found, expected, "{access:?}");
        }
    }

    #[test]
    fn only_an_admin_chooses_a_model() {
        for (access, expected) in [
            (Access::ThisMachine, true),
            (signed_in(AccessRole::Operator), false),
            (signed_in(AccessRole::Admin), true),
        ] {
            assert_eq!(access.allows(&Method::POST, "/api/models"), expected, "{access:?}");
            assert_eq!(access.allows(&Method::POST, "/api/models/look"), expected, "{access:?}");
            assert!(access.allows(&Method::GET, "/api/models"), "{access:?}");
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
            assert_eq!(viewer.allows(&method, path), expected, "{method} {path}");
            assert!(signed_in(AccessRole::Operator).allows(&method, path));
            assert!(!Access::Public.allows(&method, path));
        }
        assert!(!viewer.may_order() && signed_in(AccessRole::Operator).may_order());
    }
}
