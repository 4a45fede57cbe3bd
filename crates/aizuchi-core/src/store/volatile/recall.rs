//! Search in memory: looks at every message.

use std::sync::Arc;

use crate::chat::Visibility;
use crate::recall::terms::extract_terms;
use crate::recall::{RecallQuery, RecallScorer, RecalledMessage};
use crate::store::volatile::VolatileState;

impl VolatileState {
    pub(super) fn recall(&self, query: &RecallQuery) -> Vec<RecalledMessage> {
        let mut scorer = RecallScorer::new(query);
        let messages: Vec<(RecalledMessage, Vec<String>)> = self
            .visible_messages(query)
            .map(|message| {
                let terms = extract_terms(&message.message.text);
                (message, terms)
            })
            .filter(|(_, terms)| !terms.is_empty())
            .collect();
        let frequencies: Vec<usize> = scorer
            .search_terms
            .iter()
            .map(|term| messages.iter().filter(|(_, terms)| term.is_match(terms)).count())
            .collect();
        scorer.set_weights(messages.len(), &frequencies);
        let is_old_enough = |message: &RecalledMessage| {
            query.before.is_none_or(|before| message.message.at < before)
        };
        let messages =
            messages.into_iter().map(|(message, _)| message).filter(is_old_enough).collect();
        scorer.rank(messages, query.limit)
    }

    /// The messages in a query's scope, without a score.
    fn visible_messages(&self, query: &RecallQuery) -> impl Iterator<Item = RecalledMessage> {
        let conversations = self.conversations.iter().filter(|(conversation, _)| {
            let channel = &conversation.channel;
            conversation.workspace == query.workspace
                && query.channel.as_ref().is_none_or(|only| only == channel)
        });
        let messages = conversations
            .flat_map(|(_, record)| &record.messages)
            .filter(|message| message.is_visible());
        let messages = messages.filter(|message| {
            let conversation = &message.message.conversation;
            let key = (conversation.workspace.clone(), conversation.channel.clone());
            let is_public = self
                .channels
                .get(&key)
                .is_some_and(|channel| channel.visibility == Visibility::Public);
            query.visible_from.as_ref().is_none_or(|from| {
                *from == conversation.channel
                    || (is_public && message.visibility == Visibility::Public)
            })
        });
        messages.map(|message| {
            let conversation = &message.message.conversation;
            let author = &message.message.author.id;
            let channel = (conversation.workspace.clone(), conversation.channel.clone());
            let user = (conversation.workspace.clone(), author.clone());
            RecalledMessage {
                message: Arc::clone(&message.message),
                author_name: self
                    .users
                    .get(&user)
                    .map_or(author.0.clone(), |user| user.name.clone()),
                channel_name: self
                    .channels
                    .get(&channel)
                    .map_or(channel.1.0.clone(), |channel| channel.name.clone()),
                score: 0.0,
            }
        })
    }
}
