//! What is ordered about a person: that they are forgotten, or told what is known of them.

use aizuchi_model::chat::{AuthorKind, User, WorkspaceId};
use aizuchi_store::order::Order;

use crate::access::Access;
use crate::authorization::Authorization;
use crate::export_user::describe_user;
use crate::refusal::{ActionError, ActionRefusal};

impl Authorization<'_> {
    /// Returns the user with this id.
    pub async fn user(&self, workspace: &WorkspaceId, id: &str) -> Result<User, ActionError> {
        let found = self.archive.find_users(id).await?.into_iter();
        let mut found = found.filter(|user| user.workspace == *workspace && user.id.as_str() == id);
        let unknown =
            || ActionRefusal::UnknownUser { id: id.to_owned(), workspace: workspace.clone() };
        Ok(found.next().ok_or_else(unknown)?)
    }

    /// Returns the order to forget a user. It erases text of all channels, so it is reserved to those who may read them,
    /// and to this machine.
    pub async fn forget(
        &self,
        access: &Access,
        workspace: &WorkspaceId,
        id: &str,
    ) -> Result<Order, ActionError> {
        if !access.may_administer() {
            return Err(ActionRefusal::OnlyAdminForgets.into());
        }
        let user = self.user(workspace, id).await?;
        if user.kind == AuthorKind::Persona {
            return Err(ActionRefusal::PersonaStays.into());
        }
        let (workspace, user) = (workspace.clone(), user.id);
        Ok(Order::ForgetUser { workspace, user, by: access.signature() })
    }

    /// Returns what is known of a user, as a text for them.
    pub async fn export_user(
        &self,
        access: &Access,
        workspace: &WorkspaceId,
        id: &str,
    ) -> Result<String, ActionError> {
        if !access.may_read_models(workspace) {
            return Err(access.unreadable().into());
        }
        let user = self.user(workspace, id).await?;
        Ok(describe_user(self.store, self.archive, &user).await?)
    }
}
