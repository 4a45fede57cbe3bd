//! Calls that a user has to allow: a reply notes them and makes none of them.

use std::collections::HashSet;
use std::sync::Arc;

use aizuchi_model::chat::{ConversationId, MessageId};
use aizuchi_model::context::Context;
use aizuchi_model::decision::consent::{Consent, ConsentState, NewConsent, shown_arguments};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Mode;
use aizuchi_model::texts;
use aizuchi_store::StoreError;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::agent::Worker;

/// The maximum number of calls that one reply may ask for.
const MAX_PER_REPLY: usize = 3;
/// The maximum number of a channel's calls that wait at a time, so that the users who allow them are not flooded.
const MAX_WAITING: usize = 10;
/// The maximum number of users for whom one call may be made, so that a user who is asked reads all their names.
const MAX_ASKERS: usize = 6;
/// The maximum length of the arguments as they are shown, in UTF-16 code units: on every platform they fit into a
/// message in full.
const MAX_SHOWN: usize = 1_200;

/// The calls that a reply wants to make once a user has allowed them.
pub struct CallRequests {
    messages: Vec<MessageId>,
    is_addressed: bool,
    lifetime: SignedDuration,
    /// The number of waiting calls in the channel.
    waiting: usize,
    /// The tools and arguments of the calls that wait in the conversation.
    known: Vec<(Arc<str>, Arc<str>)>,
    pub wanted: Vec<NewConsent>,
}

impl Worker<'_> {
    /// Prepares for calls that need consent. Returns `None` if the reply may request none: because nobody asked for
    /// anything, more users asked than can be named, or the reply itself has yet to be approved. Only a model could say
    /// which of several users asked for a call, so the call is made for all users whom the reply answers.
    pub(super) async fn call_requests(
        &self,
        context: &Context,
        mode: Mode,
        lifetime: SignedDuration,
    ) -> Result<Option<CallRequests>, StoreError> {
        let is_addressed = !context.owed.is_empty();
        let asked = context.messages_to_answer();
        let askers: HashSet<_> = asked.iter().map(|message| &message.author.id).collect();
        let may_propose = is_addressed || mode != Mode::Propose;
        if asked.is_empty() || askers.len() > MAX_ASKERS || !may_propose {
            return Ok(None);
        }
        let messages = asked.iter().map(|message| message.id.clone()).collect();
        let unsettled = self.command_answers.archive.unsettled_consents().await?;
        Ok(Some(CallRequests::new(context, messages, lifetime, &unsettled)))
    }
}

impl CallRequests {
    fn new(
        context: &Context,
        messages: Vec<MessageId>,
        lifetime: SignedDuration,
        unsettled: &[Consent],
    ) -> Self {
        let ConversationId { workspace, channel, .. } = &context.conversation;
        let is_here = |consent: &&Consent| {
            let conversation = &consent.conversation;
            conversation.workspace == *workspace
                && conversation.channel == *channel
                // A call that is only drafted may never be posted.
                && matches!(consent.state, ConsentState::Open | ConsentState::Allowed)
        };
        let waiting: Vec<&Consent> = unsettled.iter().filter(is_here).collect();
        let here = waiting.iter().filter(|it| it.conversation == context.conversation);
        let known = here.filter_map(|it| Some((it.tool.clone(), it.arguments.clone()?)));
        let is_addressed = messages.iter().any(|message| context.is_owed(message));
        Self {
            messages,
            is_addressed,
            lifetime,
            waiting: waiting.len(),
            known: known.collect(),
            wanted: Vec::new(),
        }
    }

    /// Notes a call. Returns what the model is told.
    pub fn note(
        &mut self,
        tool: &str,
        arguments: &Value,
        now: Timestamp,
        language: Language,
    ) -> String {
        let shown: Arc<str> = shown_arguments(arguments).into();
        if shown.encode_utf16().count() > MAX_SHOWN {
            return texts::consents::too_long(language, MAX_SHOWN);
        }
        let is_same = |(known, with): &(Arc<str>, Arc<str>)| **known == *tool && **with == *shown;
        if self.known.iter().any(is_same) {
            return texts::consents::waits_already(language).to_owned();
        }
        let count = self.wanted.len();
        if count >= MAX_PER_REPLY || self.waiting + count >= MAX_WAITING {
            return texts::consents::too_many(language).to_owned();
        }
        self.wanted.push(NewConsent {
            messages: self.messages.clone(),
            is_addressed: self.is_addressed,
            tool: tool.into(),
            arguments: shown,
            made: now,
            expires: now + self.lifetime,
        });
        texts::consents::waits(language).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn requests() -> CallRequests {
        CallRequests {
            messages: vec![MessageId::new("m1")],
            is_addressed: true,
            lifetime: SignedDuration::from_mins(5),
            waiting: 1,
            known: vec![("a__plant".into(), "{}".into())],
            wanted: Vec::new(),
        }
    }

    #[test]
    fn no_more_is_wanted_than_somebody_can_look_at() {
        let (mut requests, now) = (requests(), Timestamp::UNIX_EPOCH);
        let mut note =
            |tool: &str, arguments: Value| requests.note(tool, &arguments, now, Language::En);
        let long = json!({ "text": "x".repeat(MAX_SHOWN) });
        assert_eq!(note("a__plant", long), texts::consents::too_long(Language::En, MAX_SHOWN));
        let known = note("a__plant", json!({}));
        assert_eq!(known, texts::consents::waits_already(Language::En));
        for number in 0..MAX_PER_REPLY + 1 {
            let told = note("a__plant", json!({ "number": number }));
            let expected = match number < MAX_PER_REPLY {
                true => texts::consents::waits(Language::En),
                false => texts::consents::too_many(Language::En),
            };
            assert_eq!(told, expected);
        }
        assert_eq!(requests.wanted.len(), MAX_PER_REPLY);
        let first = &requests.wanted[0];
        assert_eq!(&*first.arguments, "{\n  \"number\": 0\n}");
        assert_eq!(first.expires, now + SignedDuration::from_mins(5));
    }
}
