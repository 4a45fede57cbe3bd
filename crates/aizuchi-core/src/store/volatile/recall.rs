//! Search in memory: looks at every message.

use std::sync::Arc;

use crate::chat::{ConversationId, Visibility};
use crate::recall::terms::TermHashes;
use crate::recall::{FoundTerms, RecallMatch, RecallQuery, RecallScorer, RecalledMessage};
use crate::store::volatile::VolatileState;
use crate::store::volatile::records::MessageRecord;

impl VolatileState {
    pub(super) fn recall(&self, query: &RecallQuery) -> Vec<RecalledMessage> {
        let mut scorer = RecallScorer::new(query);
        let hashes: Vec<u64> = scorer.search_terms.iter().map(|term| term.hash()).collect();
        let (mut messages, mut frequencies) = (0, vec![0; hashes.len()]);
        let mut matches: Vec<(&MessageRecord, FoundTerms)> = Vec::new();
        for record in self.visible_messages(query) {
            let terms = record.terms();
            messages += usize::from(terms.length > 0);
            let found = FoundTerms::new(hashes.len(), |term| terms.contains(hashes[term]));
            if found.is_empty() {
                continue;
            }
            for (term, frequency) in frequencies.iter_mut().enumerate() {
                *frequency += usize::from(found.has(term));
            }
            if query.before.is_none_or(|before| record.message.at < before) {
                matches.push((record, found));
            }
        }
        scorer.set_weights(messages, &frequencies);
        let matches = matches.into_iter().map(|(record, found)| RecallMatch {
            message: self.to_recalled(record),
            length: record.terms().length,
            found,
        });
        scorer.rank_matches(matches, query.limit)
    }

    /// The messages in a query's scope.
    fn visible_messages(&self, query: &RecallQuery) -> impl Iterator<Item = &MessageRecord> {
        let conversations = self.conversations.iter().filter(|(conversation, _)| {
            let channel = &conversation.channel;
            conversation.workspace == query.workspace
                && query.channel.as_ref().is_none_or(|only| only == channel)
        });
        conversations.flat_map(|(conversation, record)| {
            let is_everything_visible =
                query.visible_from.as_ref().is_none_or(|from| *from == conversation.channel);
            let is_public = !is_everything_visible && self.is_public(conversation);
            record.messages.iter().filter(move |message| {
                let is_public = is_public && message.visibility == Visibility::Public;
                message.is_visible() && (is_everything_visible || is_public)
            })
        })
    }

    fn is_public(&self, conversation: &ConversationId) -> bool {
        let key = (conversation.workspace.clone(), conversation.channel.clone());
        let channel = self.channels.get(&key);
        channel.is_some_and(|channel| channel.visibility == Visibility::Public)
    }

    /// A message that was found, without a score.
    fn to_recalled(&self, record: &MessageRecord) -> RecalledMessage {
        let conversation = &record.message.conversation;
        let author = &record.message.author.id;
        let channel = (conversation.workspace.clone(), conversation.channel.clone());
        let user = (conversation.workspace.clone(), author.clone());
        RecalledMessage {
            message: Arc::clone(&record.message),
            author_name: self.users.get(&user).map_or(author.0.clone(), |user| user.name.clone()),
            channel_name: self
                .channels
                .get(&channel)
                .map_or(channel.1.0.clone(), |channel| channel.name.clone()),
            score: 0.0,
        }
    }
}

impl MessageRecord {
    /// What search compares. It is made when it is first needed: hardly any replay searches.
    fn terms(&self) -> &TermHashes {
        self.terms.get_or_init(|| TermHashes::new(&self.message.searched_text()))
    }
}
