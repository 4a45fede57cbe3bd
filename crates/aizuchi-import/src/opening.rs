//! Which channels are private here only until an import has heard all that was private in them. One that was interrupted
//! leaves them so, and the next one must not take them for channels that their platform calls private.

use std::collections::{HashMap, HashSet};

use aizuchi_core::chat::{ChannelId, Cursor, Visibility, WorkspaceId};
use aizuchi_core::store::{Cursors, StoreError};

/// Before the id of a channel. No stream of a platform begins with this.
const STREAM: &str = "import ";
/// It becomes public when the import goes on.
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

    /// Leaves out the channels that an import was about to open.
    pub fn leave_out_of(&self, known: &mut HashMap<ChannelId, Visibility>) {
        known.retain(|channel, visibility| {
            *visibility == Visibility::Public || !self.opening.contains(channel)
        });
    }

    /// Before the channel is heard as a private one.
    pub async fn begin(&mut self, channel: &ChannelId) -> Result<(), StoreError> {
        if self.opening.insert(channel.clone()) {
            self.put(channel, OPENING).await?;
        }
        Ok(())
    }

    /// Once the channel is public.
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
