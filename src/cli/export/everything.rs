//! Writes all data of an installation as the lines of an export.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Write;
use std::sync::Arc;

use aizuchi_actions::export_user::MAX_THREADS;
use aizuchi_import::export_lines::{MessageLine, OtherLine};
use aizuchi_model::chat::{Channel, ChannelId, User, Visibility, WorkspaceId};
use aizuchi_model::memory::MessageRef;
use aizuchi_model::rules::setting_override::{SettingOverride, SettingRole};
use aizuchi_model::standing_order::StandingOrder;
use aizuchi_store::Store as _;
use aizuchi_store::archive::Archive as _;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::order::{Mute, OrdersInForce};
use aizuchi_store::pages::{DecisionPages, MessagePages};
use aizuchi_store::stored_message::StoredMessage;
use anyhow::Context as _;
use jiff::Timestamp;
use serde::Serialize;

/// An export that is being written.
pub struct Export<'a> {
    pub output: Box<dyn Write>,
    pub store: &'a DatabaseStore,
    /// The channels to export; `None` for all.
    pub only: Option<&'a BTreeSet<(WorkspaceId, ChannelId)>>,
    pub messages: usize,
}

impl Export<'_> {
    fn write(&mut self, line: &impl Serialize) -> anyhow::Result<()> {
        let line = serde_json::to_string(line).context("cannot write the export")?;
        writeln!(self.output, "{line}").context("cannot write the export")
    }

    fn is_wanted(&self, workspace: &WorkspaceId, channel: &ChannelId) -> bool {
        let place = || (workspace.clone(), channel.clone());
        self.only.is_none_or(|only| only.contains(&place()))
    }

    pub async fn write_workspace(&mut self, workspace: &WorkspaceId) -> anyhow::Result<()> {
        let channels = self.store.channels(workspace).await?;
        let channels: Vec<Channel> =
            channels.into_iter().filter(|channel| self.is_wanted(workspace, &channel.id)).collect();
        for Channel { workspace, id, name, visibility, topic } in channels.clone() {
            let (channel, channel_name) = (id, name);
            let topic = topic.filter(|topic| !topic.is_empty());
            self.write(&OtherLine::Channel {
                workspace,
                channel,
                channel_name,
                visibility,
                topic,
            })?;
        }
        if self.only.is_none() {
            for User { workspace, id, name, kind: is, role, .. } in
                self.store.users(workspace).await?
            {
                self.write(&OtherLine::User { workspace, id, name, is, role })?;
            }
        }
        self.write_messages(workspace, &channels).await?;
        self.write_memories(workspace, &channels).await?;
        self.write_orders(workspace, &channels).await?;
        self.write_decisions(workspace).await
    }

    async fn write_messages(
        &mut self,
        workspace: &WorkspaceId,
        channels: &[Channel],
    ) -> anyhow::Result<()> {
        let channels: HashMap<&ChannelId, &Channel> =
            channels.iter().map(|channel| (&channel.id, channel)).collect();
        let mut pages = MessagePages { archive: self.store, workspace, revision: 0 };
        let mut written = HashSet::new();
        while let Some(page) = pages.next().await? {
            for stored in &page {
                let channel = &stored.message.conversation.channel;
                if !self.is_wanted(workspace, channel) {
                    continue;
                }
                let is_first = !written.contains(&reference(stored));
                let channel = channels.get(channel);
                let channel = channel.map(|channel| (&channel.name, channel.visibility));
                if let Some(line) = message_line(stored, channel, &mut written) {
                    self.write(&line)?;
                    self.messages += usize::from(is_first);
                }
            }
        }
        Ok(())
    }

    async fn write_memories(
        &mut self,
        workspace: &WorkspaceId,
        channels: &[Channel],
    ) -> anyhow::Result<()> {
        let mut memories = self.store.memories(workspace).await?;
        for channel in channels {
            let threads = self.store.thread_memories(workspace, &channel.id, MAX_THREADS).await?;
            memories.extend(threads);
        }
        for memory in memories {
            let is_wanted = match memory.key.channel() {
                Some(channel) => self.is_wanted(workspace, channel),
                None => self.only.is_none(),
            };
            // An empty memory only says that all of it was removed.
            if is_wanted && !memory.entries.is_empty() {
                self.write(&OtherLine::from_memory(&memory))?;
            }
        }
        for (id, memo) in self.store.all_memos(workspace).await? {
            if self.is_wanted(workspace, &memo.channel) {
                let (workspace, messages) = (workspace.clone(), self.store.memo_sources(id).await?);
                self.write(&OtherLine::Memo { workspace, memo, messages })?;
            }
        }
        Ok(())
    }

    async fn write_orders(
        &mut self,
        workspace: &WorkspaceId,
        channels: &[Channel],
    ) -> anyhow::Result<()> {
        let orders = self.store.orders(workspace).await?;
        // A mode that demands more confidence is based on decisions about proposals, which are not exported. Without
        // them, the importing installation uses the channel's configured mode.
        let is_whole = |channel: &ChannelId| orders.trusted_confidence(channel).is_none();
        let modes: Vec<_> =
            orders.modes.iter().filter(|(channel, _)| is_whole(channel)).cloned().collect();
        let OrdersInForce { mutes, opted_out, settings, standing, .. } = orders;
        let now = Timestamp::now();
        for (channel, Mute { until, by }) in mutes.into_iter().filter(|(_, mute)| now < mute.until)
        {
            let is_wanted = match &channel {
                Some(channel) => self.is_wanted(workspace, channel),
                None => self.only.is_none(),
            };
            if is_wanted {
                let workspace = workspace.clone();
                self.write(&OtherLine::Mute { workspace, channel, until, by })?;
            }
        }
        for (channel, mode) in modes {
            if self.is_wanted(workspace, &channel) {
                self.write(&OtherLine::Mode { workspace: workspace.clone(), channel, mode })?;
            }
        }
        self.write_settings(workspace, settings)?;
        self.write_standing_orders(workspace, standing, channels)?;
        let opted_out = if self.only.is_none() { opted_out } else { Vec::new() };
        for user in opted_out {
            self.write(&OtherLine::OptOut { workspace: workspace.clone(), user })?;
        }
        Ok(())
    }

    /// Leaves out a keeper's settings: they are based on decisions about proposals, which are not exported.
    fn write_settings(
        &mut self,
        workspace: &WorkspaceId,
        mut settings: Vec<SettingOverride>,
    ) -> anyhow::Result<()> {
        settings.retain(|ordered| ordered.role != SettingRole::Keeper);
        // Ordering an admin's setting again replaces those of others, so it comes first.
        settings.sort_by_key(|ordered| Reverse(ordered.role));
        for ordered in settings {
            if self.is_in_export(workspace, ordered.scope.channel()) {
                self.write(&OtherLine::from_setting(workspace, &ordered))?;
            }
        }
        Ok(())
    }

    /// Leaves out an order that was given while its channel was private if the channel is public now.
    fn write_standing_orders(
        &mut self,
        workspace: &WorkspaceId,
        standing: Vec<StandingOrder>,
        channels: &[Channel],
    ) -> anyhow::Result<()> {
        for order in standing {
            let channel = channels.iter().find(|it| Some(&it.id) == order.scope.channel());
            let is_public = channel.is_some_and(|it| it.visibility == Visibility::Public);
            let is_hidden = is_public && order.visibility != Visibility::Public;
            if !is_hidden && self.is_in_export(workspace, order.scope.channel()) {
                self.write(&OtherLine::from_standing_order(workspace, &order))?;
            }
        }
        Ok(())
    }

    fn is_in_export(&self, workspace: &WorkspaceId, channel: Option<&ChannelId>) -> bool {
        match channel {
            Some(channel) => self.is_wanted(workspace, channel),
            None => self.only.is_none(),
        }
    }

    async fn write_decisions(&mut self, workspace: &WorkspaceId) -> anyhow::Result<()> {
        let mut written = HashSet::new();
        let mut pages = DecisionPages { archive: self.store, workspace, revision: 0 };
        while let Some(page) = pages.next().await? {
            for decision in page {
                if self.is_wanted(workspace, &decision.conversation.channel) {
                    written.insert(decision.id);
                    self.write(&OtherLine::from_decision(&decision))?;
                }
            }
        }
        for mark in self.store.marks_since(workspace, Timestamp::UNIX_EPOCH).await? {
            if written.contains(&mark.decision) {
                self.write(&OtherLine::from_mark(workspace, &mark))?;
            }
        }
        Ok(())
    }
}

/// The line of a message. A message that has changed since it was written gets another line, which supersedes the first
/// one, or withholds the message if it was deleted in the meantime.
fn message_line(
    stored: &StoredMessage,
    channel: Option<(&Arc<str>, Visibility)>,
    written: &mut HashSet<MessageRef>,
) -> Option<MessageLine> {
    if stored.is_deleted && !written.contains(&reference(stored)) {
        return None;
    }
    written.insert(reference(stored));
    let withheld = stored.is_withheld || stored.is_deleted;
    Some(MessageLine { withheld, ..MessageLine::new(stored, channel) })
}

fn reference(stored: &StoredMessage) -> MessageRef {
    MessageRef(stored.message.conversation.channel.clone(), stored.message.id.clone())
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::{Author, AuthorKind, ConversationId, Message, MessageId, UserId};

    use super::*;

    #[test]
    fn a_message_that_was_deleted_after_it_was_written_is_withheld() {
        let message = Message {
            conversation: ConversationId {
                workspace: WorkspaceId::new("T1"),
                channel: ChannelId::new("C1"),
                thread: None,
            },
            id: MessageId::new("1"),
            at: Timestamp::UNIX_EPOCH,
            author: Author { id: UserId::new("U1"), kind: AuthorKind::Human },
            text: "the key".into(),
            mentions: Vec::new(),
            attachments: Vec::new(),
            edits: 0,
        };
        let kept = StoredMessage {
            message: Arc::new(message),
            author_name: "mika".into(),
            visibility: Visibility::Public,
            is_deleted: false,
            is_expired: false,
            is_withheld: false,
            gate: None,
            reactions: Vec::new(),
            revision: 1,
        };
        let deleted = StoredMessage { is_deleted: true, ..kept.clone() };
        let mut written = HashSet::new();
        let mut withheld =
            |stored| message_line(stored, None, &mut written).map(|line| line.withheld);
        assert_eq!(withheld(&deleted), None);
        assert_eq!(withheld(&kept), Some(false));
        assert_eq!(withheld(&deleted), Some(true));
    }
}
