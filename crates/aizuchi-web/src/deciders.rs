//! Who may decide on proposals, tool calls and offers: visitors who may give orders and read the channel.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, ConversationId, Visibility, WorkspaceId};
use jiff::Timestamp;

use crate::access::Access;
use crate::refusal::Refusal;
use crate::{ApiProblem, Web};

/// Refuses visitors who may not decide about a conversation.
pub async fn require_decider(
    web: &Web,
    access: &Access,
    conversation: &ConversationId,
) -> Result<(), ApiProblem> {
    if !access.may_order() {
        return Err(Refusal::NoOrders.into());
    }
    let channels = visibilities(web, &conversation.workspace).await?;
    let visibility = channels.get(&conversation.channel).copied();
    // A channel that is not known counts as private.
    let visibility = visibility.unwrap_or(Visibility::Private);
    if access.may_read(&conversation.workspace, visibility) {
        return Ok(());
    }
    Err(match access {
        Access::ThisMachine => Refusal::SignInToRead.into(),
        Access::Public | Access::SignedIn(_) => Refusal::ChannelWithheld.into(),
    })
}

/// Removes the name of who decided for visitors who may not decide: viewers learn no names of people.
pub fn hide_decider(access: &Access, decided: &mut Option<(Arc<str>, Timestamp)>) {
    if let Some((by, _)) = decided.as_mut().filter(|_| !access.may_order()) {
        *by = Arc::default();
    }
}

/// Returns the visibility of each known channel of a workspace.
pub async fn visibilities(
    web: &Web,
    workspace: &WorkspaceId,
) -> Result<HashMap<ChannelId, Visibility>, ApiProblem> {
    let channels = web.archive.channels(workspace).await?.into_iter();
    Ok(channels.map(|channel| (channel.id, channel.visibility)).collect())
}
