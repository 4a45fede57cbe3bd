//! What a visitor of the pages, the API or the protocol server may do and read.

use std::sync::Arc;

use aizuchi_model::access_role::AccessRole;
use aizuchi_model::access_scope::AccessScope;
use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::chat::{Channel, Visibility, WorkspaceId};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_store::stored_message::StoredMessage;

use crate::refusal::ActionRefusal;

/// What a visitor may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Health checks and the sign-in.
    Public,
    /// Any client on this machine, while no token is set. It may use the local room, and give orders everywhere.
    ThisMachine,
    SignedIn(SignedInUser),
}

/// A visitor who signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedInUser {
    pub name: Arc<str>,
    pub role: AccessRole,
    /// Where they have this role. They have no access elsewhere.
    pub scope: AccessScope,
}

impl SignedInUser {
    /// Returns a visitor who has access to everything.
    pub fn new(name: impl Into<Arc<str>>, role: AccessRole) -> Self {
        Self { name: name.into(), role, scope: AccessScope::Everything }
    }
}

impl Access {
    pub fn may_order(&self) -> bool {
        match self {
            Access::Public => false,
            Access::ThisMachine => true,
            Access::SignedIn(holder) => holder.role >= AccessRole::Operator,
        }
    }

    /// Refuses visitors who may not give orders.
    pub fn require_orders(&self) -> Result<(), ActionRefusal> {
        if self.may_order() { Ok(()) } else { Err(ActionRefusal::NoOrders) }
    }

    pub fn is_admin(&self) -> bool {
        self.role() == Some(AccessRole::Admin)
    }

    /// Whether they may do what concerns the whole installation, such as having a person forgotten.
    pub fn may_administer(&self) -> bool {
        *self.scope() == AccessScope::Everything && self.is_admin() || *self == Access::ThisMachine
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

    /// Refuses visitors who may not read messages of this visibility.
    pub fn require_readable(
        &self,
        workspace: &WorkspaceId,
        visibility: Visibility,
    ) -> Result<(), ActionRefusal> {
        match self.may_read(workspace, visibility) {
            true => Ok(()),
            false => Err(self.unreadable()),
        }
    }

    /// The refusal of messages that they may not read.
    pub fn unreadable(&self) -> ActionRefusal {
        match self {
            Access::ThisMachine => ActionRefusal::SignInToRead,
            Access::Public | Access::SignedIn(_) => ActionRefusal::ChannelWithheld,
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

    pub fn scope(&self) -> &AccessScope {
        match self {
            Access::Public | Access::ThisMachine => &AccessScope::Everything,
            Access::SignedIn(holder) => &holder.scope,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn signed_in(role: AccessRole) -> Access {
        Access::SignedIn(SignedInUser::new("mia", role))
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
}
