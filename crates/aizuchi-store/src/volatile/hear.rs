//! Hears messages and other events, in memory.

use std::sync::Arc;

use aizuchi_model::chat::{
    Channel, ChannelId, ConversationId, Cursor, Deletion, Edit, Message, MessageId, Reaction,
    ReactionChange, User, Visibility, WorkspaceId,
};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{AttemptResult, DecisionId};
use aizuchi_model::flow::Disposition;
use aizuchi_model::flow::step::{EditedMessage, HearEffect};
use jiff::Timestamp;

use crate::HearReceipt;
use crate::volatile::VolatileState;
use crate::volatile::decisions::{forget_reasons, retire};
use crate::volatile::records::ReactionRecord;

impl VolatileState {
    pub(super) fn hear_message(
        &mut self,
        message: Message,
        client_message_id: Option<Arc<str>>,
        disposition: Disposition,
    ) -> HearReceipt {
        let conversation = message.conversation.clone();
        let key =
            (conversation.workspace.clone(), conversation.channel.clone(), message.id.clone());
        if self.conversation_of.contains_key(&key) {
            return self.receipt(None);
        }
        if let Some(client_message_id) = client_message_id {
            let client_key =
                (conversation.workspace.clone(), conversation.channel.clone(), client_message_id);
            if self.client_message_ids.contains_key(&client_key) {
                return self.receipt(None);
            }
            self.client_message_ids.insert(client_key, message.id.clone());
        }
        self.conversation_of.insert(key, conversation.clone());
        let new_decision = DecisionId(self.last_number + 1);
        let effect = self.change_pending_state(&conversation, message.at, |pending_state| {
            pending_state.hear(&message, disposition, new_decision)
        });
        let at = message.at;
        self.insert_message(message, disposition.gate(), effect.map(|effect| effect.decision));
        if let Some(effect) = effect {
            self.apply_arrival(&conversation, effect, at);
        }
        self.prune(&conversation.workspace, &conversation.channel);
        self.receipt(Some(effect))
    }

    pub(super) fn put_cursor(&mut self, cursor: Cursor) {
        self.cursors.insert((cursor.workspace, cursor.stream), cursor.value);
    }

    pub(super) fn hear_edit(&mut self, edit: &Edit, disposition: Disposition) -> HearReceipt {
        let Disposition::Judge(debounce) = disposition else {
            return self.receipt(None);
        };
        let stored = self.message_mut(&edit.conversation, &edit.message);
        if stored.as_ref().is_some_and(|record| record.gate == Some(Gate::Command)) {
            // A command is carried out as it was first written; its edits are ignored.
            return self.receipt(None);
        }
        let withheld =
            stored.filter(|record| record.is_redacted).map(|record| record.message.is_erased());
        let edit = &match withheld {
            // If the text was withheld, so is the edited text.
            Some(true) => return self.receipt(None),
            Some(false) => Edit { mentions: Vec::new(), ..edit.clone() },
            None => edit.clone(),
        };
        let Some((before, after)) = self.edit_message(edit) else {
            return self.receipt(None);
        };
        self.drop_outdated_links(&edit.conversation, &edit.message);
        // Bots edit their messages all the time, which must not erase prompts.
        if before.is_human() {
            self.forget_exchanges(&edit.conversation, &edit.message);
        }
        let new_decision = DecisionId(self.last_number + 1);
        let edited = EditedMessage { before: &before, after: &after };
        let conversation = &edit.conversation;
        let effect =
            self.change_pending_state(conversation, edit.at, |pending_state| match withheld {
                Some(_) => None,
                None => pending_state.hear_edit(edited, edit.at, debounce, new_decision),
            });
        if let Some(effect) = effect {
            self.apply_arrival(conversation, effect, edit.at);
            let is_owed = self.is_owed(conversation, &edit.message);
            if let Some(record) = self.message_mut(conversation, &edit.message).filter(|_| is_owed)
            {
                record.decision = Some(effect.decision);
            }
        }
        self.receipt(Some(effect))
    }

    pub(super) fn hear_deletion(
        &mut self,
        deletion: &Deletion,
        disposition: Disposition,
    ) -> HearReceipt {
        let Disposition::Judge(debounce) = disposition else {
            return self.receipt(None);
        };
        let conversation = &deletion.conversation;
        // The same client message may still arrive under another id.
        self.client_message_ids.retain(|(workspace, channel, _), id| {
            (workspace, channel, &*id)
                != (&conversation.workspace, &conversation.channel, &deletion.message)
        });
        let Some((before, is_withheld)) = self.delete_message(deletion) else {
            return self.receipt(None);
        };
        let effect =
            self.change_pending_state(
                conversation,
                deletion.at,
                |pending_state| match is_withheld {
                    true => None,
                    false => pending_state.hear_deletion(&before, deletion.at, debounce),
                },
            );
        if let Some(effect) = effect {
            self.apply_arrival(conversation, effect, deletion.at);
        }
        self.receipt(Some(effect))
    }

    /// Deletes a message and everything made from it. Returns the message as it was, and whether it was withheld.
    pub(super) fn delete_message(&mut self, deletion: &Deletion) -> Option<(Arc<Message>, bool)> {
        let conversation = &deletion.conversation;
        let revision = self.revision + 1;
        let record = self
            .message_mut(conversation, &deletion.message)
            .filter(|record| !record.is_deleted)?;
        record.is_deleted = true;
        let is_withheld = record.is_redacted;
        record.reactions.clear();
        record.revision = revision;
        let before = record.message.clone();
        record.message = Arc::new(record.message.erased());
        (self.revision, self.last_change) = (revision, revision);
        self.drop_search_index(&conversation.workspace, &conversation.channel);
        self.drop_outdated_links(conversation, &deletion.message);
        self.forget_exchanges(conversation, &deletion.message);
        Some((before, is_withheld))
    }

    pub(super) fn hear_channel(&mut self, mut channel: Channel) -> HearReceipt {
        let key = (channel.workspace.clone(), channel.id.clone());
        let known = self.channels.get(&key);
        let topic = channel.topic.or_else(|| known?.topic.clone());
        channel.topic = Some(topic.unwrap_or_default());
        let is_new = known != Some(&channel);
        if is_new {
            let was_public = known.is_some_and(|known| known.visibility == Visibility::Public);
            self.revision += 1;
            self.erasures += u64::from(known.is_some());
            if was_public && channel.visibility != Visibility::Public {
                self.make_channel_private(&channel.workspace, &channel.id);
            }
            self.channels.insert(key, channel);
        }
        HearReceipt { is_new, has_superseded: false, decision: None, revision: self.revision }
    }

    /// Makes the messages of a channel that turned private private.
    fn make_channel_private(&mut self, workspace: &WorkspaceId, channel: &ChannelId) {
        for (conversation, record) in &mut self.conversations {
            if (&conversation.workspace, &conversation.channel) == (workspace, channel) {
                let public = |visibility: &&mut Visibility| **visibility == Visibility::Public;
                let visibilities =
                    record.messages.iter_mut().map(|message| &mut message.visibility);
                visibilities
                    .filter(public)
                    .for_each(|visibility| *visibility = Visibility::Private);
            }
        }
        self.drop_search_index(workspace, channel);
        self.last_change = self.revision;
        self.made_private_at.insert((workspace.clone(), channel.clone()), self.revision);
        self.forget_prompts_of_channel(workspace, channel);
    }

    /// Drops the prompts of other channels that held messages of a channel that turned private, and what models wrote
    /// about them.
    fn forget_prompts_of_channel(&mut self, workspace: &WorkspaceId, channel: &ChannelId) {
        let revision = self.revision;
        let mut forgotten = Vec::new();
        let elsewhere = self.decisions.iter_mut().filter(|(_, decision)| {
            let conversation = &decision.conversation;
            conversation.workspace == *workspace && conversation.channel != *channel
        });
        for (id, decision) in elsewhere {
            let exchanges = self.exchanges.get_mut(id).map_or(&mut [][..], Vec::as_mut_slice);
            let affected = exchanges.iter_mut().flatten().filter(|record| {
                record.exchange.lineage.messages.iter().any(|message| message.0 == *channel)
            });
            let mut is_affected = false;
            for record in affected {
                record.clear_text();
                is_affected = true;
            }
            if is_affected {
                forget_reasons(decision, revision);
                forgotten.push(*id);
            }
        }
        self.erase_dead_letters(|letter| {
            letter.decision.is_some_and(|decision| forgotten.contains(&decision))
        });
    }

    pub(super) fn hear_user(&mut self, user: User) -> HearReceipt {
        let key = (user.workspace.clone(), user.id.clone());
        let known = self.users.get(&key);
        let is_new = known != Some(&user);
        if is_new {
            self.revision += 1;
            self.erasures += u64::from(known.is_some());
            self.users.insert(key, user);
        }
        HearReceipt { is_new, has_superseded: false, decision: None, revision: self.revision }
    }

    pub(super) fn hear_reaction(&mut self, reaction: &Reaction) -> HearReceipt {
        let (workspace, channel) = (reaction.workspace.clone(), reaction.channel.clone());
        let key = (workspace, channel, reaction.message.clone());
        let Some(conversation) = self.conversation_of.get(&key).cloned() else {
            // The reaction stays hidden until the message arrives.
            apply_reaction(self.early_reactions.entry(key).or_default(), reaction);
            return self.receipt(None);
        };
        let revision = self.revision + 1;
        let record =
            self.message_mut(&conversation, &reaction.message).filter(|record| !record.is_deleted);
        let is_new = record.is_some_and(|record| {
            let is_new = apply_reaction(&mut record.reactions, reaction);
            record.reactions_revision = if is_new { revision } else { record.reactions_revision };
            is_new
        });
        self.revision += u64::from(is_new);
        HearReceipt { is_new, has_superseded: false, decision: None, revision: self.revision }
    }

    fn receipt(&self, effect: Option<Option<HearEffect>>) -> HearReceipt {
        HearReceipt {
            is_new: effect.is_some(),
            has_superseded: effect.flatten().is_some_and(|effect| effect.has_superseded),
            decision: effect.flatten().map(|effect| effect.decision),
            revision: self.revision,
        }
    }

    /// Applies the effects of a message other than the moved step.
    pub(super) fn apply_arrival(
        &mut self,
        conversation: &ConversationId,
        effect: HearEffect,
        at: Timestamp,
    ) {
        let owed = self.conversations.get(conversation).map(|record| &record.pending.owed);
        let is_addressed = owed.is_some_and(|owed| !owed.is_empty());
        if effect.has_opened_decision {
            self.open_decision(effect.decision, conversation, is_addressed, at);
        }
        let revision = self.revision;
        if let Some(decision) = self.decisions.get_mut(&effect.decision)
            && (effect.has_superseded || (is_addressed && !decision.is_addressed))
        {
            decision.is_addressed |= is_addressed;
            decision.revision = revision;
        }
        if effect.has_superseded {
            let decision = self.decisions.entry(effect.decision);
            decision.and_modify(|decision| retire(decision, AttemptResult::Superseded));
            self.drop_drafts(conversation);
        }
    }

    fn drop_drafts(&mut self, conversation: &ConversationId) {
        self.outbox
            .retain(|_, out| out.item.is_sending() || out.item.conversation != *conversation);
    }

    pub(super) fn is_owed(&self, conversation: &ConversationId, message: &MessageId) -> bool {
        let owed = self.conversations.get(conversation).map(|record| &record.pending.owed);
        owed.is_some_and(|owed| owed.iter().any(|owed| owed.to == *message))
    }

    fn edit_message(&mut self, edit: &Edit) -> Option<(Arc<Message>, Arc<Message>)> {
        let revision = self.revision + 1;
        let record = self
            .message_mut(&edit.conversation, &edit.message)
            .filter(|record| !record.is_deleted)?;
        let before = record.message.clone();
        if !before.is_changed_by(edit) || record.edited.is_some_and(|edited| edited >= edit.at) {
            return None;
        }
        record.edited = record.edited.max(Some(edit.made_at));
        record.message = Arc::new(before.edited(edit));
        record.revision = revision;
        let after = record.message.clone();
        (self.revision, self.last_change) = (revision, revision);
        self.drop_search_index(&edit.conversation.workspace, &edit.conversation.channel);
        Some((before, after))
    }
}

/// Applies a reaction. Returns whether it changed anything.
fn apply_reaction(reactions: &mut Vec<ReactionRecord>, reaction: &Reaction) -> bool {
    let at = reaction.at;
    let is_it =
        |known: &&mut ReactionRecord| known.emoji == reaction.emoji && known.user == reaction.user;
    // The same bounds as in SQL: of two events with the same time, the later delivery counts.
    match (reactions.iter_mut().find(is_it), reaction.change) {
        (None, ReactionChange::Removed) => return false,
        (None, ReactionChange::Added) => reactions.push(ReactionRecord {
            emoji: reaction.emoji.clone(),
            user: reaction.user.clone(),
            kind: reaction.kind,
            at,
            removed: None,
        }),
        (Some(known), ReactionChange::Added) => {
            if known.removed.is_none_or(|removed| removed > at) {
                return false;
            }
            (known.at, known.kind, known.removed) = (at, reaction.kind, None);
        }
        (Some(known), ReactionChange::Removed) => {
            if known.removed.is_some() || known.at > at {
                return false;
            }
            known.removed = Some(at);
        }
    }
    true
}
