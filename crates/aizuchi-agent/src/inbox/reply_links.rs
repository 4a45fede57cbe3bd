//! Finds what a message replies to when it is heard. The conversation that is needed for this is cached in memory, and
//! read from the store if it is missing.

use aizuchi_model::chat::{Arrival, ConversationId, Deletion, Edit, Heard, Message, MessageId};
use aizuchi_model::context::links::MessageLinks;
use aizuchi_model::rules::Mode;
use aizuchi_store::StoreError;
use jiff::Timestamp;
use tracing::warn;

use crate::inbox::addressed::by_name::{is_call, is_named, is_typed_mention};
use crate::inbox::addressed::in_thread::only_closes;
use crate::inbox::conversation_cache::HeardLinks;
use crate::inbox::{Inbox, conversation_cache};

impl Inbox {
    /// Finds what a message replies to, unless the platform says so, and reads its conversation from the store if it is
    /// not cached yet. Returns `None` if the conversation does not have the message, or not yet. `own_names` are the
    /// persona's.
    pub(super) async fn find_links(
        &self,
        heard: &Heard,
        reply_to: Option<&MessageId>,
        own_names: &[String],
    ) -> Result<Option<HeardLinks>, StoreError> {
        let conversations = &self.channel_cache.conversations;
        let now = self.clock.now();
        match heard {
            Heard::Message(message, Arrival::Live) if self.is_listened_to(message) => {
                let names = self.channel_cache.names_in(message);
                if message.conversation.thread.is_some() && message.is_human() {
                    // Whether the persona has answered what opened the thread.
                    let top_level = ConversationId { thread: None, ..message.conversation.clone() };
                    self.read_conversation(&top_level, own_names, now).await?;
                }
                // Until it succeeds: another event may drop the conversation between the read and the push.
                loop {
                    if let Some(links) = conversations.push(message, &names, reply_to) {
                        return Ok(Some(links));
                    }
                    if !self.read_conversation(&message.conversation, own_names, now).await? {
                        return Ok(None);
                    }
                }
            }
            Heard::Edit(Edit { conversation, .. })
            | Heard::Deletion(Deletion { conversation, .. })
                // The debounce after a change is computed from the conversation's timer.
                if !conversations.has_timer(conversation) =>
            {
                self.read_conversation(conversation, own_names, now).await.map(|_| None)
            }
            Heard::Message(..)
            | Heard::Edit(_)
            | Heard::Deletion(_)
            | Heard::Reaction(_)
            | Heard::Channel(_)
            | Heard::User(_) => Ok(None),
        }
    }

    /// Reads a conversation from the store into the cache. Returns whether that was possible: a message must be heard
    /// even if it was not.
    async fn read_conversation(
        &self,
        conversation: &ConversationId,
        own_names: &[String],
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let conversations = &self.channel_cache.conversations;
        let failed_before = conversations.failed_reads(conversation);
        // Held until it is restored; the holder waits only for the store.
        let _turn = conversations.lock_for_reading(conversation).await;
        if conversations.failed_reads(conversation) != failed_before {
            // Otherwise a busy store would make all waiting messages retry, one after the other. They are heard without
            // links, or refused by the store when they are to be stored.
            return Ok(false);
        }
        // Another task may have read it while this one waited for the lock.
        let Some(missing) = conversations.missing(conversation, now) else { return Ok(true) };
        let window = conversation_cache::window(now);
        let context = match self.store.context(conversation, &window).await {
            Ok(context) => context,
            Err(StoreError::Busy(why)) => {
                conversations.record_failed_read(conversation);
                return Err(StoreError::Busy(why));
            }
            Err(error) => {
                conversations.record_failed_read(conversation);
                warn!(error = %error, "the conversation cannot be read; the message is heard without links");
                return Ok(false);
            }
        };
        let parent = context.conversation_history.top_level_messages.iter();
        let parent = parent.filter(|message| Some(&message.id) == conversation.thread.as_ref());
        let messages = context.target_messages().iter().chain(parent);
        let names: Vec<_> =
            messages.flat_map(|message| self.channel_cache.names_in(message)).collect();
        let bounds = self.wait_settings_in(conversation).bounds();
        let is_named = |text: &str| is_named(text, own_names);
        conversations.restore(missing, &context, &names, &is_named, &bounds);
        Ok(true)
    }

    /// Whether a message that was heard as a sure answer to a question of the persona's, or as a follow-up in a thread,
    /// is still one after an edit: it addresses no other user, and more than closes. `names` are the persona's.
    pub(super) async fn still_answers_persona(
        &self,
        edit: &Edit,
        names: &[String],
    ) -> Result<bool, StoreError> {
        let Edit { conversation, message, .. } = edit;
        let answers = self.channel_cache.conversations.answers_persona(conversation, message);
        if !answers && conversation.thread.is_none() {
            return Ok(false);
        }
        let ConversationId { workspace, channel, .. } = conversation;
        let stored = self.archive.message(workspace, channel, message).await?;
        let answer = stored.map(|stored| stored.message).filter(|before| before.is_addressed());
        Ok(answer.is_some_and(|before| {
            let after = before.edited(edit);
            let named = self.channel_cache.names_in(&after);
            // Whoever called it may take that back.
            let is_called = |text: &str| is_typed_mention(text, names) || is_call(text, names);
            let follows_up = || !is_called(&before.text) && !only_closes(&after.text, 0.0);
            named.iter().all(|(user, _)| *user == after.author.id) && (answers || follows_up())
        }))
    }

    fn is_listened_to(&self, message: &Message) -> bool {
        let ConversationId { workspace, channel, .. } = &message.conversation;
        let is_off = || self.channel_cache.mode(workspace, channel) == Mode::Off;
        let has_opted_out = || {
            message.is_human() && self.channel_cache.has_opted_out(workspace, &message.author.id)
        };
        !is_off() && !has_opted_out()
    }

    /// Returns what a message replies to according to the platform.
    pub(super) fn given_links(
        heard: &Heard,
        reply_to: Option<MessageId>,
        answers: Option<Vec<MessageId>>,
    ) -> Vec<(MessageId, MessageLinks)> {
        match (heard, answers.or(reply_to.map(|parent| vec![parent]))) {
            (Heard::Message(message, _), Some(parents)) => {
                vec![(message.id.clone(), MessageLinks::given(parents))]
            }
            _ => Vec::new(),
        }
    }
}
