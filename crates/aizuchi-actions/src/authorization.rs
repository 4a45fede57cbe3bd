//! Decides whether an action is allowed, with what is stored, the rules in force, and the time. The result is an order to
//! the store, or a refusal. The caller, such as a page or the chat, applies the order or shows the refusal.

use std::sync::Arc;

use aizuchi_model::chat::{Channel, ChannelId, UserId, Visibility, WorkspaceId};
use aizuchi_model::memory::asker;
use aizuchi_model::rules::place::Place;
use aizuchi_model::rules::{Mode, Rulebook};
use aizuchi_store::archive::Archive;
use aizuchi_store::{Store, StoreError};
use jiff::Timestamp;

use crate::access::Access;
use crate::refusal::{ActionError, ActionRefusal};

pub struct Authorization<'a> {
    pub store: &'a dyn Store,
    pub archive: &'a dyn Archive,
    pub rulebook: Arc<Rulebook>,
    pub now: Timestamp,
}

/// Who acts.
#[derive(Clone, Copy, Debug)]
pub enum Actor<'a> {
    /// A visitor of the pages or the API.
    Visitor(&'a Access),
    /// A user of a chat, who answers the persona's question.
    User(&'a UserId),
}

impl Actor<'_> {
    /// Returns the name under which the journals record them.
    pub fn signature(self, now: Timestamp) -> Arc<str> {
        match self {
            Actor::Visitor(access) => access.signature(),
            Actor::User(user) => asker::sign(user, now).into(),
        }
    }
}

impl Authorization<'_> {
    /// Refuses those who may not decide about a channel: visitors who may not give orders or not read it, and users
    /// who are not its keeper.
    pub async fn require_decider(
        &self,
        actor: Actor<'_>,
        (workspace, id): (&WorkspaceId, &ChannelId),
    ) -> Result<(), ActionError> {
        if let Actor::Visitor(access) = actor {
            access.require_orders()?;
        }
        let channel = self.channel(workspace, id).await?;
        // A channel that is not known counts as private.
        let visibility = channel.as_ref().map_or(Visibility::Private, |it| it.visibility);
        match actor {
            Actor::Visitor(access) => Ok(access.require_readable(workspace, visibility)?),
            Actor::User(user) => {
                let name = channel.as_ref().map_or("", |channel| &*channel.name);
                let place = Place::new(workspace, id, name, visibility);
                match self.rulebook.keeper(&place) == Some(user) {
                    true => Ok(()),
                    false => Err(ActionRefusal::NotKeeper.into()),
                }
            }
        }
    }

    pub async fn channel(
        &self,
        workspace: &WorkspaceId,
        id: &ChannelId,
    ) -> Result<Option<Channel>, StoreError> {
        let channels = self.archive.channels(workspace).await?;
        Ok(channels.into_iter().find(|channel| channel.id == *id))
    }

    /// Returns the mode in force in a channel. A user's order takes precedence over the settings.
    pub async fn mode(&self, workspace: &WorkspaceId, id: &ChannelId) -> Result<Mode, StoreError> {
        let orders = self.store.orders(workspace).await?;
        if let Some((_, mode)) = orders.modes.iter().find(|(ordered, _)| ordered == id) {
            return Ok(*mode);
        }
        let channel = self.channel(workspace, id).await?;
        let visibility = channel.as_ref().map_or(Visibility::Private, |it| it.visibility);
        let name = channel.as_ref().map_or("", |channel| &*channel.name);
        Ok(self.rulebook.rules_in(&Place::new(workspace, id, name, visibility)).mode)
    }
}
