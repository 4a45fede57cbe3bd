//! What visitors see of proposals, tool calls and offers: those of the channels that they may read.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{ChannelId, Visibility, WorkspaceId};
use jiff::Timestamp;

use crate::{ApiProblem, Web};

/// Removes the name of who decided for visitors who may not decide: viewers learn no names of people.
pub fn hide_decider(access: &Access, decided: &mut Option<(Arc<str>, Timestamp)>) {
    if let Some((by, _)) = decided.as_mut().filter(|_| !access.may_order()) {
        *by = Arc::default();
    }
}

/// Tells which channels a visitor may read. The channels of a workspace are fetched once.
pub struct ChannelReader<'a> {
    web: &'a Web,
    access: &'a Access,
    known: HashMap<WorkspaceId, HashMap<ChannelId, Visibility>>,
}

impl<'a> ChannelReader<'a> {
    pub fn new(web: &'a Web, access: &'a Access) -> Self {
        Self { web, access, known: HashMap::new() }
    }

    pub async fn may_read(
        &mut self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
    ) -> Result<bool, ApiProblem> {
        if !self.known.contains_key(workspace) {
            let channels = self.web.archive.channels(workspace).await?.into_iter();
            let channels = channels.map(|channel| (channel.id, channel.visibility)).collect();
            self.known.insert(workspace.clone(), channels);
        }
        let visibility = self.known.get(workspace).and_then(|channels| channels.get(channel));
        // A channel that is not known counts as private.
        let visibility = visibility.copied().unwrap_or(Visibility::Private);
        Ok(self.access.may_read(workspace, visibility))
    }
}
