//! Messages that carry the words of another one, since a user shared or forwarded it. These words stay their author's.

use aizuchi_model::chat::{Deletion, Heard, Mention, Message};
use aizuchi_model::decision::gate::Gate;
use aizuchi_store::StoreError;

use crate::inbox::Inbox;

impl Inbox {
    /// Whether it carries words that must not be kept: their author has opted out or was forgotten since, or they were
    /// deleted. Adds the authors that only the store knows.
    pub(super) async fn carries_withheld(&self, heard: &mut Heard) -> Result<bool, StoreError> {
        let (conversation, mentions) = match heard {
            Heard::Message(message, _) => (&message.conversation, &mut message.mentions),
            Heard::Edit(edit) => (&edit.conversation, &mut edit.mentions),
            Heard::Deletion(_) | Heard::Reaction(_) | Heard::Channel(_) | Heard::User(_) => {
                return Ok(false);
            }
        };
        let workspace = &conversation.workspace;
        for mention in mentions {
            let Mention::Quote(quoted) = mention else { continue };
            let mut is_deleted = false;
            if let Some((channel, id)) = &quoted.message
                && let Some(original) = self.archive.message(workspace, channel, id).await?
            {
                // What carries withheld words is stored without them.
                let is_withheld =
                    original.gate == Some(Gate::OptedOut) && original.message.text.is_empty();
                is_deleted = is_withheld || original.is_deleted && !original.is_expired;
                // A forward of a forward carries the words of the first author.
                let of = original.message.quoted().find_map(|it| it.author.clone());
                let author = || of.unwrap_or_else(|| original.message.author.id.clone());
                quoted.author.get_or_insert_with(author);
            }
            let Some(author) = &quoted.author else { continue };
            let at = quoted.at.unwrap_or_default();
            if is_deleted
                || self.channel_cache.has_opted_out(workspace, author)
                || self.archive.was_forgotten_after(workspace, author, at).await?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Deletes the messages that carry the words of a deleted one, also by way of others.
    pub(super) async fn delete_carriers(&self, deletion: Deletion) -> Result<(), StoreError> {
        let (mut carriers, mut next) = (Vec::new(), 0);
        let at = deletion.at;
        let mut carried = deletion;
        loop {
            for stored in self.archive.carriers(&carried).await? {
                let Message { conversation, id: message, .. } = (*stored.message).clone();
                let carrier = Deletion { conversation, message, at };
                if !stored.is_deleted && !carriers.contains(&carrier) {
                    carriers.push(carrier);
                }
            }
            let Some(carrier) = carriers.get(next) else { break };
            (carried, next) = (carrier.clone(), next + 1);
        }
        for carrier in carriers.into_iter().rev() {
            self.hear_delivery(Heard::Deletion(carrier).into()).await?;
        }
        Ok(())
    }
}
