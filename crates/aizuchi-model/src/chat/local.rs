//! The ids of the local room, which exists without any platform, and of its demo.

use crate::chat::{ChannelId, WorkspaceId};

/// The prefix of the ids of the demo's channel and of its users. No other user or channel can be added with it.
const DEMO_PREFIX: &str = "demo:";

/// Returns the workspace of the local room.
pub fn workspace_id() -> WorkspaceId {
    WorkspaceId::new("local")
}

/// Returns the channel of the local room in which the demo runs.
pub fn demo_channel_id() -> ChannelId {
    ChannelId::new(demo_id("room"))
}

/// Returns an id that only the demo has.
pub fn demo_id(name: &str) -> String {
    format!("{DEMO_PREFIX}{name}")
}

/// Whether the id of a user belongs to the demo's script.
pub fn is_demo_user(user: &str) -> bool {
    user.starts_with(DEMO_PREFIX)
}
