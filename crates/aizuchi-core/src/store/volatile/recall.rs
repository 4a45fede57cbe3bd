//! Finding lines by their words, in memory: looks at every line.

use std::sync::Arc;

use crate::chat::Visibility;
use crate::recall::terms::extract_terms;
use crate::recall::{RecallQuery, RecallScorer, RecalledMessage};
use crate::store::volatile::VolatileState;

impl VolatileState {
    pub(super) fn recall(&self, query: &RecallQuery) -> Vec<RecalledMessage> {
        let mut search = RecallScorer::new(query);
        let lines: Vec<(RecalledMessage, Vec<String>)> = self
            .visible_messages(query)
            .map(|line| {
                let terms = extract_terms(&line.message.text);
                (line, terms)
            })
            .filter(|(_, terms)| !terms.is_empty())
            .collect();
        let having: Vec<usize> = search
            .search_terms
            .iter()
            .map(|wanted| lines.iter().filter(|(_, terms)| wanted.is_match(terms)).count())
            .collect();
        search.set_weights(lines.len(), &having);
        let is_old_enough =
            |line: &RecalledMessage| query.before.is_none_or(|before| line.message.at < before);
        let lines = lines.into_iter().map(|(line, _)| line).filter(is_old_enough).collect();
        search.rank(lines, query.limit)
    }

    /// The lines that a query may find, with no score.
    fn visible_messages(&self, query: &RecallQuery) -> impl Iterator<Item = RecalledMessage> {
        let talks = self.conversations.iter().filter(|(conversation, _)| {
            let channel = &conversation.channel;
            conversation.workspace == query.workspace
                && query.channel.as_ref().is_none_or(|only| only == channel)
        });
        let lines = talks.flat_map(|(_, talk)| &talk.messages).filter(|line| line.is_visible());
        let lines = lines.filter(|line| {
            let conversation = &line.message.conversation;
            let key = (conversation.workspace.clone(), conversation.channel.clone());
            let is_public = self
                .channels
                .get(&key)
                .is_some_and(|channel| channel.visibility == Visibility::Public);
            query.visible_from.as_ref().is_none_or(|from| {
                *from == conversation.channel
                    || (is_public && line.visibility == Visibility::Public)
            })
        });
        lines.map(|line| {
            let conversation = &line.message.conversation;
            let author = &line.message.author.id;
            let channel = (conversation.workspace.clone(), conversation.channel.clone());
            let user = (conversation.workspace.clone(), author.clone());
            RecalledMessage {
                message: Arc::clone(&line.message),
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
