//! Messages that carry the words of another one, since a user shared or forwarded it. These words stay their author's.

use crate::chat::{ConversationId, Deletion, Edit, Heard, Mention, QuotedMessage, WorkspaceId};
use crate::inbox::Inbox;
use crate::store::StoreError;
use crate::store::stored_message::StoredMessage;

impl Inbox {
    /// Adds the authors that only the store knows. Erases what carries words that must not be kept: their author has
    /// opted out or was forgotten since, or they were deleted. Returns whether it was erased.
    pub(super) async fn withhold_quotes(
        &self,
        mut heard: Heard,
    ) -> Result<(Heard, bool), StoreError> {
        let (conversation, mentions) = match &mut heard {
            Heard::Message(message, _) => (&message.conversation, &mut message.mentions),
            Heard::Edit(edit) => (&edit.conversation, &mut edit.mentions),
            Heard::Deletion(_) | Heard::Reaction(_) | Heard::Channel(_) | Heard::User(_) => {
                return Ok((heard, false));
            }
        };
        let mut is_withheld = false;
        for mention in mentions {
            if let Mention::Quote(quoted) = mention {
                is_withheld |= self.is_withheld(&conversation.workspace, quoted).await?;
            }
        }
        let heard = match heard {
            Heard::Message(message, arrival) if is_withheld => {
                Heard::Message(message.erased(), arrival)
            }
            Heard::Edit(edit) if is_withheld => Heard::Edit(Edit {
                text: "".into(),
                mentions: Vec::new(),
                attachments: Some(Vec::new()),
                ..edit
            }),
            heard => heard,
        };
        Ok((heard, is_withheld))
    }

    async fn is_withheld(
        &self,
        workspace: &WorkspaceId,
        quoted: &mut QuotedMessage,
    ) -> Result<bool, StoreError> {
        if let Some((channel, id)) = &quoted.message
            && let Some(original) = self.archive.message(workspace, channel, id).await?
        {
            if original.is_deleted && !original.is_expired {
                return Ok(true);
            }
            quoted.author.get_or_insert_with(|| original.message.author.id.clone());
        }
        let Some(author) = &quoted.author else { return Ok(false) };
        let at = quoted.at.unwrap_or_default();
        Ok(self.channel_cache.has_opted_out(workspace, author)
            || self.archive.was_forgotten_after(workspace, author, at).await?)
    }

    /// The deletions of the messages that carry the words of a deleted one.
    pub(super) async fn carriers_of(&self, heard: &Heard) -> Result<Vec<Deletion>, StoreError> {
        let Heard::Deletion(deletion) = heard else { return Ok(Vec::new()) };
        let ConversationId { workspace, channel, .. } = &deletion.conversation;
        let carriers = self.archive.carriers(workspace, channel, &deletion.message).await?;
        let deletion_of = |carrier: StoredMessage| Deletion {
            conversation: carrier.message.conversation.clone(),
            message: carrier.message.id.clone(),
            at: deletion.at,
        };
        Ok(carriers.into_iter().map(deletion_of).collect())
    }
}
