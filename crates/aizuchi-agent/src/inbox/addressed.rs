//! Whom a heard event addresses: whoever addresses the persona is answered. A direct message and a mention do, as the
//! platform marks them or as they are typed; so does a call by name, and what answers the persona. Each counts as a
//! mention from here on.

pub mod by_name;
pub mod in_thread;

use aizuchi_model::chat::{ConversationId, Edit, Heard, Mention, Message};
use aizuchi_model::persona::spelling::spellings;
use aizuchi_store::StoreError;

use crate::inbox::addressed::by_name::{is_call, is_named, is_typed_mention};
use crate::inbox::conversation_cache::HeardLinks;
use crate::inbox::{Inbox, conversation_of};

impl Inbox {
    /// Returns the spellings of the persona's names that no user has where an event was heard.
    pub(super) fn own_names(&self, heard: &Heard) -> Vec<String> {
        let (Some(name), Some(here)) = (&self.persona_name, conversation_of(heard)) else {
            return Vec::new();
        };
        let mut names = self.channel_cache.persona_names(&here.workspace);
        names.push(name.clone());
        names.extend(self.also_called.iter().cloned());
        let is_free = |name: &String| {
            !name.is_empty() && !self.channel_cache.has_human_named(&here.workspace, name)
        };
        names.iter().flat_map(|name| spellings(name)).filter(is_free).collect()
    }

    /// Adds a mention of the persona to every direct message, and to a message that has a mention typed by hand.
    pub(super) fn address_written(&self, heard: Heard, names: &[String]) -> Heard {
        self.address_if(heard, |ConversationId { workspace, channel, .. }, text| {
            self.channel_cache.is_direct(workspace, channel)
                || is_typed_mention(text, names)
                    && !self.channel_cache.mentions_namesake(workspace, text, names)
        })
    }

    /// Adds a mention to a message that calls the persona by name.
    pub(super) fn address_called(&self, heard: Heard, names: &[String]) -> Heard {
        self.address_if(heard, |_, text| is_call(text, names))
    }

    /// Adds a mention to a message that answers the persona.
    pub(super) async fn address_answer(
        &self,
        heard: Heard,
        links: Option<&HeardLinks>,
        names: &[String],
    ) -> Result<Heard, StoreError> {
        let answers_persona = match &heard {
            Heard::Edit(edit) => self.still_answers_persona(edit, names).await?,
            Heard::Message(message, _) => links.is_some_and(|links| {
                // Who names it without a call speaks of it. In a replay its posts were not there for those who wrote.
                links.answers_persona && !is_named(&message.text, names)
                    || links.follows_up && self.persona_name.is_some()
            }),
            Heard::Deletion(_) | Heard::Reaction(_) | Heard::Channel(_) | Heard::User(_) => false,
        };
        Ok(self.address_if(heard, |_, _| answers_persona))
    }

    /// Adds a mention of the persona to a human's message or an edit for which `holds` returns true.
    fn address_if(&self, heard: Heard, holds: impl Fn(&ConversationId, &str) -> bool) -> Heard {
        let mentions = |conversation: &ConversationId, text: &str, mut mentions: Vec<Mention>| {
            if !mentions.contains(&Mention::Persona) && holds(conversation, text) {
                mentions.push(Mention::Persona);
            }
            mentions
        };
        match heard {
            Heard::Message(message, arrival) if message.is_human() => {
                let mentions = mentions(&message.conversation, &message.text, message.mentions);
                Heard::Message(Message { mentions, ..message }, arrival)
            }
            Heard::Edit(edit) => {
                let mentions = mentions(&edit.conversation, &edit.text, edit.mentions);
                Heard::Edit(Edit { mentions, ..edit })
            }
            heard @ (Heard::Message(..)
            | Heard::Deletion(_)
            | Heard::Reaction(_)
            | Heard::Channel(_)
            | Heard::User(_)) => heard,
        }
    }
}
