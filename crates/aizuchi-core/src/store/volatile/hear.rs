//! Hearing, in memory.

use std::sync::Arc;

use jiff::Timestamp;

use crate::chat::{
    Channel, ConversationId, Cursor, Deletion, Edit, Message, MessageId, Reaction, ReactionChange,
    User, Visibility,
};
use crate::decision::DecisionId;
use crate::decision::gate::Gate;
use crate::event::Disposition;
use crate::event::step::{EditedMessage, HearEffect};
use crate::memory::MessageRef;
use crate::rhythm::reply_delays::PreviousMessage;
use crate::store::volatile::{ReactionRecord, VolatileState, supersede};
use crate::store::{HearReceipt, REPLY_DELAY_LOOKBACK};

impl VolatileState {
    pub(super) fn hear_message(
        &mut self,
        message: Message,
        sent_as: Option<Arc<str>>,
        follows: Disposition,
        remember: Option<Timestamp>,
    ) -> HearReceipt {
        let conversation = message.conversation.clone();
        let place =
            (conversation.workspace.clone(), conversation.channel.clone(), message.id.clone());
        if self.conversation_of.contains_key(&place) {
            return self.receipt(None);
        }
        if let Some(sent_as) = sent_as {
            let sent = (conversation.workspace.clone(), conversation.channel.clone(), sent_as);
            if self.client_message_ids.contains_key(&sent) {
                return self.receipt(None);
            }
            self.client_message_ids.insert(sent, message.id.clone());
        }
        self.conversation_of.insert(place, conversation.clone());
        let fresh = DecisionId(self.last_number + 1);
        let arrived = self.change_pending_state(&conversation, message.at, |standing| {
            standing.hear(&message, follows, fresh)
        });
        let at = message.at;
        if !follows.is_redacted() {
            self.learn_delay(&message);
        }
        if let Some(due) = remember.filter(|_| !follows.is_redacted()) {
            self.schedule_for_message(&message, due);
        }
        self.insert_message(message, follows.gate(), arrived.map(|arrived| arrived.decision));
        if let Some(arrived) = arrived {
            self.apply_arrival(&conversation, arrived, at);
        }
        self.receipt(Some(arrived))
    }

    /// How long somebody took to answer, before the line stands among the others.
    fn learn_delay(&mut self, message: &Message) {
        let place = (message.conversation.workspace.clone(), message.conversation.channel.clone());
        if !message.is_human() || !self.channels.contains_key(&place) {
            return;
        }
        let lines =
            self.conversations.get(&message.conversation).map_or(&[][..], |talk| &talk.messages);
        let newest = lines.iter().rev().take(REPLY_DELAY_LOOKBACK).filter(|line| !line.is_redacted);
        if let Some(before) =
            newest.into_iter().find_map(|line| PreviousMessage::from_message(&line.message))
        {
            self.delays.entry(place).or_default().record(&before, message);
        }
    }

    pub(super) fn hear_cursor(&mut self, bookmark: Cursor) -> HearReceipt {
        let Cursor { workspace, stream: place, value } = bookmark;
        let before = self.cursors.insert((workspace, place), value.clone());
        HearReceipt { is_new: before != Some(value), ..self.receipt(None) }
    }

    pub(super) fn hear_edit(&mut self, edit: &Edit, follows: Disposition) -> HearReceipt {
        let Disposition::Judge(rest) = follows else {
            return self.receipt(None);
        };
        let known = self.message_mut(&edit.conversation, &edit.message);
        if known.as_ref().is_some_and(|line| line.gate == Some(Gate::Command)) {
            // A command stays as it was obeyed, and what it might become is not to be listened to.
            return self.receipt(None);
        }
        let away = known.filter(|line| line.is_redacted).map(|line| line.message.text.is_empty());
        let edit = &match away {
            // Where its text is not kept, none is kept now.
            Some(true) => return self.receipt(None),
            Some(false) => Edit { mentions: Vec::new(), ..edit.clone() },
            None => edit.clone(),
        };
        let Some((before, after)) = self.edit_message(edit) else {
            return self.receipt(None);
        };
        let line = MessageRef(edit.conversation.channel.clone(), edit.message.clone());
        self.forget_memories(&edit.conversation.workspace, &line, edit.at);
        // Bots edit their lines all the time; that costs no prompt.
        if before.is_human() {
            self.forget_exchanges(&edit.conversation, &edit.message);
        }
        let fresh = DecisionId(self.last_number + 1);
        let edited = EditedMessage { before: &before, after: &after };
        let conversation = &edit.conversation;
        let arrived = self.change_pending_state(conversation, edit.at, |standing| match away {
            Some(_) => None,
            None => standing.hear_edit(edited, edit.at, rest, fresh),
        });
        if let Some(arrived) = arrived {
            self.apply_arrival(conversation, arrived, edit.at);
            let is_owed = self.is_owed(conversation, &edit.message);
            if let Some(line) = self.message_mut(conversation, &edit.message).filter(|_| is_owed) {
                line.decision = Some(arrived.decision);
            }
        }
        self.receipt(Some(arrived))
    }

    pub(super) fn hear_deletion(
        &mut self,
        deletion: &Deletion,
        follows: Disposition,
    ) -> HearReceipt {
        let Disposition::Judge(rest) = follows else {
            return self.receipt(None);
        };
        let conversation = &deletion.conversation;
        let Some((before, is_withheld)) = self.delete_message(deletion) else {
            return self.receipt(None);
        };
        let arrived =
            self.change_pending_state(conversation, deletion.at, |standing| match is_withheld {
                true => None,
                false => standing.hear_deletion(&before, deletion.at, rest),
            });
        if let Some(arrived) = arrived {
            self.apply_arrival(conversation, arrived, deletion.at);
        }
        self.receipt(Some(arrived))
    }

    /// Takes a line and all that was made from it away. Returns how it was, and whether it was listened to.
    pub(super) fn delete_message(&mut self, deletion: &Deletion) -> Option<(Arc<Message>, bool)> {
        let conversation = &deletion.conversation;
        // Its twin under another id may live.
        self.client_message_ids.retain(|_, id| *id != deletion.message);
        let revision = self.revision + 1;
        let line =
            self.message_mut(conversation, &deletion.message).filter(|line| !line.is_deleted)?;
        line.is_deleted = true;
        let is_withheld = line.is_redacted;
        line.reactions.clear();
        line.revision = revision;
        let before = line.message.clone();
        let bare = Message { text: "".into(), mentions: Vec::new(), ..(*line.message).clone() };
        line.message = Arc::new(bare);
        (self.revision, self.last_change) = (revision, revision);
        let forgotten = MessageRef(conversation.channel.clone(), deletion.message.clone());
        self.forget_memories(&conversation.workspace, &forgotten, deletion.at);
        self.forget_exchanges(conversation, &deletion.message);
        let letters = self.dead_letters.iter_mut();
        letters
            .filter(|letter| letter.conversation == *conversation)
            .for_each(|letter| letter.text = None);
        Some((before, is_withheld))
    }

    pub(super) fn hear_channel(&mut self, channel: Channel, now: Timestamp) -> HearReceipt {
        let key = (channel.workspace.clone(), channel.id.clone());
        let known = self.channels.get(&key);
        let is_new = known != Some(&channel);
        if is_new {
            let was_public = known.is_some_and(|known| known.visibility == Visibility::Public);
            self.revision += 1;
            if was_public && channel.visibility != Visibility::Public {
                self.make_channel_private(&channel.workspace, &channel.id, now);
            }
            self.channels.insert(key, channel);
        }
        HearReceipt { is_new, has_superseded: false, revision: self.revision }
    }

    pub(super) fn hear_user(&mut self, user: User) -> HearReceipt {
        let key = (user.workspace.clone(), user.id.clone());
        let is_new = self.users.get(&key) != Some(&user);
        if is_new {
            self.revision += 1;
            self.users.insert(key, user);
        }
        HearReceipt { is_new, has_superseded: false, revision: self.revision }
    }

    pub(super) fn hear_reaction(&mut self, reaction: &Reaction) -> HearReceipt {
        let (workspace, channel) = (reaction.workspace.clone(), reaction.channel.clone());
        let place = (workspace, channel, reaction.message.clone());
        let Some(conversation) = self.conversation_of.get(&place).cloned() else {
            // It waits for its line, and nobody sees it before.
            apply_reaction(self.early_reactions.entry(place).or_default(), reaction);
            return self.receipt(None);
        };
        let revision = self.revision + 1;
        let line =
            self.message_mut(&conversation, &reaction.message).filter(|line| !line.is_deleted);
        let is_new = line.is_some_and(|line| {
            let is_new = apply_reaction(&mut line.reactions, reaction);
            line.reactions_revision = if is_new { revision } else { line.reactions_revision };
            is_new
        });
        self.revision += u64::from(is_new);
        HearReceipt { is_new, has_superseded: false, revision: self.revision }
    }

    fn receipt(&self, arrived: Option<Option<HearEffect>>) -> HearReceipt {
        HearReceipt {
            is_new: arrived.is_some(),
            has_superseded: arrived.flatten().is_some_and(|arrived| arrived.has_superseded),
            revision: self.revision,
        }
    }

    /// Writes what a line did besides moving the step.
    fn apply_arrival(&mut self, conversation: &ConversationId, arrived: HearEffect, at: Timestamp) {
        let owed = self.conversations.get(conversation).map(|talk| &talk.pending.owed);
        let is_addressed = owed.is_some_and(|owed| !owed.is_empty());
        if arrived.has_opened_decision {
            self.open_decision(arrived.decision, conversation, is_addressed, at);
        }
        let revision = self.revision;
        if let Some(decision) = self.decisions.get_mut(&arrived.decision)
            && (arrived.has_superseded || (is_addressed && !decision.is_addressed))
        {
            decision.is_addressed |= is_addressed;
            decision.revision = revision;
        }
        if arrived.has_superseded {
            self.decisions.entry(arrived.decision).and_modify(supersede);
            self.drop_drafts(conversation);
        }
    }

    fn drop_drafts(&mut self, conversation: &ConversationId) {
        self.outbox
            .retain(|_, out| out.item.is_sending() || out.item.conversation != *conversation);
    }

    fn is_owed(&self, conversation: &ConversationId, message: &MessageId) -> bool {
        let owed = self.conversations.get(conversation).map(|talk| &talk.pending.owed);
        owed.is_some_and(|owed| owed.iter().any(|owed| owed.message == *message))
    }

    fn edit_message(&mut self, edit: &Edit) -> Option<(Arc<Message>, Arc<Message>)> {
        let revision = self.revision + 1;
        let line =
            self.message_mut(&edit.conversation, &edit.message).filter(|line| !line.is_deleted)?;
        let before = line.message.clone();
        if before.text == edit.text || line.edited.is_some_and(|edited| edited >= edit.at) {
            return None;
        }
        line.edited = Some(edit.at);
        line.message = Arc::new(Message {
            text: edit.text.clone(),
            mentions: edit.mentions.clone(),
            edits: before.edits + 1,
            ..(*before).clone()
        });
        line.revision = revision;
        let after = line.message.clone();
        (self.revision, self.last_change) = (revision, revision);
        Some((before, after))
    }
}

/// Whether the reaction changes anything among these.
fn apply_reaction(reactions: &mut Vec<ReactionRecord>, reaction: &Reaction) -> bool {
    let at = reaction.at;
    let is_it =
        |kept: &&mut ReactionRecord| kept.emoji == reaction.emoji && kept.user == reaction.user;
    match (reactions.iter_mut().find(is_it), reaction.change) {
        (None, ReactionChange::Removed) => return false,
        (None, ReactionChange::Added) => reactions.push(ReactionRecord {
            emoji: reaction.emoji.clone(),
            user: reaction.user.clone(),
            kind: reaction.kind,
            at,
            removed: None,
        }),
        (Some(kept), ReactionChange::Added) => {
            if kept.removed.is_none_or(|removed| removed > at) {
                return false;
            }
            (kept.at, kept.kind, kept.removed) = (at, reaction.kind, None);
        }
        (Some(kept), ReactionChange::Removed) => {
            if kept.removed.is_some() || kept.at > at {
                return false;
            }
            kept.removed = Some(at);
        }
    }
    true
}
