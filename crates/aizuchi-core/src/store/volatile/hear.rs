//! Hearing, in memory.

use std::sync::Arc;

use jiff::Timestamp;

use crate::chat::{
    Bookmark, Channel, ConversationId, Deletion, Edit, Message, MessageId, Reaction,
    ReactionChange, User, Visibility,
};
use crate::decision::DecisionId;
use crate::decision::gate::Gate;
use crate::event::Follows;
use crate::event::step::{Arrived, Edited};
use crate::memory::LineId;
use crate::rhythm::delays::Said;
use crate::store::volatile::{KeptReaction, State, supersede};
use crate::store::{LOOKED_THROUGH, Receipt};

impl State {
    pub(super) fn hear_message(
        &mut self,
        message: Message,
        sent_as: Option<Arc<str>>,
        follows: Follows,
        remember: Option<Timestamp>,
    ) -> Receipt {
        let conversation = message.conversation.clone();
        let place =
            (conversation.workspace.clone(), conversation.channel.clone(), message.id.clone());
        if self.heard.contains_key(&place) {
            return self.receipt(None);
        }
        if let Some(sent_as) = sent_as {
            let sent = (conversation.workspace.clone(), conversation.channel.clone(), sent_as);
            if self.sent.contains_key(&sent) {
                return self.receipt(None);
            }
            self.sent.insert(sent, message.id.clone());
        }
        self.heard.insert(place, conversation.clone());
        let fresh = DecisionId(self.last_number + 1);
        let arrived = self.change_standing(&conversation, message.at, |standing| {
            standing.hear(&message, follows, fresh)
        });
        let at = message.at;
        if !follows.is_withheld() {
            self.learn_delay(&message);
        }
        if let Some(due) = remember.filter(|_| !follows.is_withheld()) {
            self.arm_for_line(&message, due);
        }
        self.insert_line(message, follows.gate(), arrived.map(|arrived| arrived.decision));
        if let Some(arrived) = arrived {
            self.apply(&conversation, arrived, at);
        }
        self.receipt(Some(arrived))
    }

    /// How long somebody took to answer, before the line stands among the others.
    fn learn_delay(&mut self, message: &Message) {
        let place = (message.conversation.workspace.clone(), message.conversation.channel.clone());
        if !message.is_human() || !self.channels.contains_key(&place) {
            return;
        }
        let lines = self.talks.get(&message.conversation).map_or(&[][..], |talk| &talk.lines);
        let newest = lines.iter().rev().take(LOOKED_THROUGH).filter(|line| !line.is_withheld);
        if let Some(before) = newest.into_iter().find_map(|line| Said::of(&line.message)) {
            self.delays.entry(place).or_default().learn(&before, message);
        }
    }

    pub(super) fn hear_bookmark(&mut self, bookmark: Bookmark) -> Receipt {
        let Bookmark { workspace, place, value } = bookmark;
        let before = self.bookmarks.insert((workspace, place), value.clone());
        Receipt { is_new: before != Some(value), ..self.receipt(None) }
    }

    pub(super) fn hear_edit(&mut self, edit: &Edit, follows: Follows) -> Receipt {
        let Follows::Judge(rest) = follows else {
            return self.receipt(None);
        };
        let known = self.line(&edit.conversation, &edit.message);
        if known.as_ref().is_some_and(|line| line.gate == Some(Gate::Command)) {
            // A command stays as it was obeyed, and what it might become is not to be listened to.
            return self.receipt(None);
        }
        let away = known.filter(|line| line.is_withheld).map(|line| line.message.text.is_empty());
        let edit = &match away {
            // Where its text is not kept, none is kept now.
            Some(true) => return self.receipt(None),
            Some(false) => Edit { mentions: Vec::new(), ..edit.clone() },
            None => edit.clone(),
        };
        let Some((before, after)) = self.edit_line(edit) else {
            return self.receipt(None);
        };
        let line = LineId(edit.conversation.channel.clone(), edit.message.clone());
        self.forget_memories(&edit.conversation.workspace, &line, edit.at);
        // Bots edit their lines all the time; that costs no prompt.
        if before.is_human() {
            self.forget(&edit.conversation, &edit.message);
        }
        let fresh = DecisionId(self.last_number + 1);
        let edited = Edited { before: &before, after: &after };
        let conversation = &edit.conversation;
        let arrived = self.change_standing(conversation, edit.at, |standing| match away {
            Some(_) => None,
            None => standing.hear_edit(edited, edit.at, rest, fresh),
        });
        if let Some(arrived) = arrived {
            self.apply(conversation, arrived, edit.at);
            let is_owed = self.is_owed(conversation, &edit.message);
            if let Some(line) = self.line(conversation, &edit.message).filter(|_| is_owed) {
                line.decision = Some(arrived.decision);
            }
        }
        self.receipt(Some(arrived))
    }

    pub(super) fn hear_deletion(&mut self, deletion: &Deletion, follows: Follows) -> Receipt {
        let Follows::Judge(rest) = follows else {
            return self.receipt(None);
        };
        let conversation = &deletion.conversation;
        let Some((before, is_withheld)) = self.delete_line(deletion) else {
            return self.receipt(None);
        };
        let arrived =
            self.change_standing(conversation, deletion.at, |standing| match is_withheld {
                true => None,
                false => standing.hear_deletion(&before, deletion.at, rest),
            });
        if let Some(arrived) = arrived {
            self.apply(conversation, arrived, deletion.at);
        }
        self.receipt(Some(arrived))
    }

    /// Takes a line and all that was made from it away. Returns how it was, and whether it was listened to.
    pub(super) fn delete_line(&mut self, deletion: &Deletion) -> Option<(Arc<Message>, bool)> {
        let conversation = &deletion.conversation;
        // Its twin under another id may live.
        self.sent.retain(|_, id| *id != deletion.message);
        let revision = self.revision + 1;
        let line = self.line(conversation, &deletion.message).filter(|line| !line.is_deleted)?;
        line.is_deleted = true;
        let is_withheld = line.is_withheld;
        line.reactions.clear();
        line.revision = revision;
        let before = line.message.clone();
        let bare = Message { text: "".into(), mentions: Vec::new(), ..(*line.message).clone() };
        line.message = Arc::new(bare);
        (self.revision, self.changed) = (revision, revision);
        let forgotten = LineId(conversation.channel.clone(), deletion.message.clone());
        self.forget_memories(&conversation.workspace, &forgotten, deletion.at);
        self.forget(conversation, &deletion.message);
        let letters = self.dead_letters.iter_mut();
        letters
            .filter(|letter| letter.conversation == *conversation)
            .for_each(|letter| letter.text = None);
        Some((before, is_withheld))
    }

    pub(super) fn hear_channel(&mut self, channel: Channel, now: Timestamp) -> Receipt {
        let key = (channel.workspace.clone(), channel.id.clone());
        let known = self.channels.get(&key);
        let is_new = known != Some(&channel);
        if is_new {
            let was_public = known.is_some_and(|known| known.visibility == Visibility::Public);
            self.revision += 1;
            if was_public && channel.visibility != Visibility::Public {
                self.withdraw(&channel.workspace, &channel.id, now);
            }
            self.channels.insert(key, channel);
        }
        Receipt { is_new, has_overtaken: false, revision: self.revision }
    }

    pub(super) fn hear_user(&mut self, user: User) -> Receipt {
        let key = (user.workspace.clone(), user.id.clone());
        let is_new = self.users.get(&key) != Some(&user);
        if is_new {
            self.revision += 1;
            self.users.insert(key, user);
        }
        Receipt { is_new, has_overtaken: false, revision: self.revision }
    }

    pub(super) fn hear_reaction(&mut self, reaction: &Reaction) -> Receipt {
        let (workspace, channel) = (reaction.workspace.clone(), reaction.channel.clone());
        let place = (workspace, channel, reaction.message.clone());
        let Some(conversation) = self.heard.get(&place).cloned() else {
            // It waits for its line, and nobody sees it before.
            react(self.early.entry(place).or_default(), reaction);
            return self.receipt(None);
        };
        let revision = self.revision + 1;
        let line = self.line(&conversation, &reaction.message).filter(|line| !line.is_deleted);
        let is_new = line.is_some_and(|line| {
            let is_new = react(&mut line.reactions, reaction);
            line.reacted = if is_new { revision } else { line.reacted };
            is_new
        });
        self.revision += u64::from(is_new);
        Receipt { is_new, has_overtaken: false, revision: self.revision }
    }

    fn receipt(&self, arrived: Option<Option<Arrived>>) -> Receipt {
        Receipt {
            is_new: arrived.is_some(),
            has_overtaken: arrived.flatten().is_some_and(|arrived| arrived.has_overtaken),
            revision: self.revision,
        }
    }

    /// Writes what a line did besides moving the step.
    fn apply(&mut self, conversation: &ConversationId, arrived: Arrived, at: Timestamp) {
        let owed = self.talks.get(conversation).map(|talk| &talk.standing.owed);
        let is_addressed = owed.is_some_and(|owed| !owed.is_empty());
        if arrived.has_opened {
            self.open_decision(arrived.decision, conversation, is_addressed, at);
        }
        let revision = self.revision;
        if let Some(decision) = self.decisions.get_mut(&arrived.decision)
            && (arrived.has_overtaken || (is_addressed && !decision.addressed))
        {
            decision.addressed |= is_addressed;
            decision.revision = revision;
        }
        if arrived.has_overtaken {
            self.decisions.entry(arrived.decision).and_modify(supersede);
            self.drop_drafts(conversation);
        }
    }

    fn drop_drafts(&mut self, conversation: &ConversationId) {
        self.outbox
            .retain(|_, out| out.piece.is_sending() || out.piece.conversation != *conversation);
    }

    fn is_owed(&self, conversation: &ConversationId, message: &MessageId) -> bool {
        let owed = self.talks.get(conversation).map(|talk| &talk.standing.owed);
        owed.is_some_and(|owed| owed.iter().any(|owed| owed.message == *message))
    }

    fn edit_line(&mut self, edit: &Edit) -> Option<(Arc<Message>, Arc<Message>)> {
        let revision = self.revision + 1;
        let line = self.line(&edit.conversation, &edit.message).filter(|line| !line.is_deleted)?;
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
        (self.revision, self.changed) = (revision, revision);
        Some((before, after))
    }
}

/// Whether the reaction changes anything among these.
fn react(reactions: &mut Vec<KeptReaction>, reaction: &Reaction) -> bool {
    let at = reaction.at;
    let is_it =
        |kept: &&mut KeptReaction| kept.emoji == reaction.emoji && kept.user == reaction.user;
    match (reactions.iter_mut().find(is_it), reaction.change) {
        (None, ReactionChange::Removed) => return false,
        (None, ReactionChange::Added) => reactions.push(KeptReaction {
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
