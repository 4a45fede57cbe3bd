//! The channels that are private here only until an import has heard everything private in them. An interrupted import
//! leaves them private, and the next one must not take them for channels that are private on their platform.

use std::collections::{HashMap, HashSet};

use aizuchi_model::chat::{ChannelId, Cursor, Visibility, WorkspaceId};
use aizuchi_store::{Cursors, StoreError};

/// The prefix of a cursor's stream, before the channel's id. No stream of a platform begins with this.
const STREAM: &str = "import ";
/// The channel becomes public when the import continues.
const OPENING: &str = "opening";
const OPENED: &str = "opened";

pub struct OpeningChannels<'a> {
    workspace: WorkspaceId,
    cursors: &'a dyn Cursors,
    opening: HashSet<ChannelId>,
}

impl<'a> OpeningChannels<'a> {
    pub async fn read(
        workspace: &WorkspaceId,
        cursors: &'a dyn Cursors,
    ) -> Result<Self, StoreError> {
        let stored = cursors.cursors(workspace).await?;
        let opening = stored.iter().filter(|cursor| *cursor.value == *OPENING);
        let opening = opening.filter_map(|cursor| cursor.stream.strip_prefix(STREAM));
        let opening = opening.map(ChannelId::new).collect();
        Ok(Self { workspace: workspace.clone(), cursors, opening })
    }

    /// Removes the channels that an import was about to open.
    pub fn leave_out_of(&self, known: &mut HashMap<ChannelId, Visibility>) {
        known.retain(|channel, visibility| {
            *visibility == Visibility::Public || !self.opening.contains(channel)
        });
    }

    /// Must be called before the channel is heard as a private one.
    pub async fn begin(&mut self, channel: &ChannelId) -> Result<(), StoreError> {
        if self.opening.insert(channel.clone()) {
            self.put(channel, OPENING).await?;
        }
        Ok(())
    }

    /// Must be called when the channel is public.
    pub async fn end(&mut self, channel: &ChannelId) -> Result<(), StoreError> {
        if self.opening.remove(channel) {
            self.put(channel, OPENED).await?;
        }
        Ok(())
    }

    async fn put(&self, channel: &ChannelId, value: &str) -> Result<(), StoreError> {
        let (workspace, stream) = (self.workspace.clone(), format!("{STREAM}{channel}").into());
        self.cursors.put_cursor(Cursor { workspace, stream, value: value.into() }).await
    }
}
