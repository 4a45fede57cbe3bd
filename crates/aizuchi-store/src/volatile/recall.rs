//! Search in memory, by the terms of the messages.

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, ConversationId, Visibility, WorkspaceId};
use aizuchi_model::recall::{RecallCandidate, RecallQuery, RecallScorer, RecalledMessage};

use crate::volatile::VolatileState;
use crate::volatile::records::MessageRecord;
use crate::volatile::search_index::{SearchIndex, SearchScope, SearchedMessage};

impl VolatileState {
    pub(super) fn recall(&mut self, query: &RecallQuery) -> Vec<RecalledMessage> {
        let channels = self.channels_in_scope(query);
        for (channel, _) in &channels {
            self.index_for_search(&query.workspace, channel);
        }
        self.search(query, &channels)
    }

    /// Searches channels that have an index.
    fn search(
        &self,
        query: &RecallQuery,
        channels: &[(ChannelId, SearchScope)],
    ) -> Vec<RecalledMessage> {
        let mut scorer = RecallScorer::new(query);
        let hashes: Vec<u64> = scorer.search_terms.iter().map(|term| term.hash()).collect();
        let (mut messages, mut frequencies) = (0, vec![0; hashes.len()]);
        let mut candidates: Vec<RecallCandidate<'_>> = Vec::new();
        let mut places: Vec<(&ChannelId, &SearchIndex, &SearchedMessage)> = Vec::new();
        let mut conversations = 0;
        for (channel, scope) in channels {
            let key = (query.workspace.clone(), channel.clone());
            let Some(index) = self.search_indexes.get(&key) else { continue };
            messages += index.count(*scope);
            let channel_factor = scorer.channel_factor(channel);
            let mut named: Vec<Option<bool>> = vec![None; index.authors.values.len()];
            for (place, found) in index.find(&hashes, *scope, &mut frequencies) {
                let message = &index.messages[place];
                if query.before.is_some_and(|before| message.at >= before) {
                    continue;
                }
                let author = message.author as usize;
                let is_author_named = *named[author].get_or_insert_with(|| {
                    let author = &index.authors.values[author];
                    scorer.is_named(&self.user_name(&query.workspace, author))
                });
                candidates.push(RecallCandidate {
                    id: &message.id,
                    at: message.at,
                    conversation: conversations + message.thread as usize,
                    channel_factor,
                    is_author_named,
                    length: message.length as usize,
                    found,
                });
                places.push((channel, index, message));
            }
            conversations += index.threads.values.len();
        }
        scorer.set_weights(messages, &frequencies);
        let best = scorer.rank_candidates(&candidates, query.limit).into_iter();
        let recalled = best.filter_map(|(candidate, score)| {
            let (channel, index, message) = places[candidate];
            let conversation = ConversationId {
                workspace: query.workspace.clone(),
                channel: channel.clone(),
                thread: index.threads.values[message.thread as usize].clone(),
            };
            let record = self.searched_record(&conversation, message)?;
            Some(RecalledMessage { score, ..self.to_recalled(record) })
        });
        recalled.collect()
    }

    /// The channels that a query may search, with their scopes.
    fn channels_in_scope(&self, query: &RecallQuery) -> Vec<(ChannelId, SearchScope)> {
        let is_asked =
            |channel: &ChannelId| query.channel.as_ref().is_none_or(|only| only == channel);
        let asked = self
            .channel_order
            .keys()
            .filter(|(workspace, channel)| *workspace == query.workspace && is_asked(channel));
        let scoped = asked.filter_map(|(workspace, channel)| {
            let is_everything_visible =
                query.visible_from.as_ref().is_none_or(|from| from == channel);
            let scope = match is_everything_visible {
                true => SearchScope::Everything,
                false if self.is_public(workspace, channel) => SearchScope::Public,
                false => return None,
            };
            Some((channel.clone(), scope))
        });
        scoped.collect()
    }

    /// Builds the index of a channel, unless it exists.
    fn index_for_search(&mut self, workspace: &WorkspaceId, channel: &ChannelId) {
        let key = (workspace.clone(), channel.clone());
        if self.search_indexes.contains_key(&key) {
            return;
        }
        let mut index = SearchIndex::default();
        let here = self.conversations.iter().filter(|(conversation, _)| {
            conversation.workspace == *workspace && conversation.channel == *channel
        });
        for record in here.flat_map(|(_, record)| &record.messages) {
            index.add(record);
        }
        self.search_indexes.insert(key, index);
    }

    /// The current record of an indexed message.
    fn searched_record(
        &self,
        conversation: &ConversationId,
        searched: &SearchedMessage,
    ) -> Option<&MessageRecord> {
        let records = &self.conversations.get(conversation)?.messages;
        let key = (searched.at, &searched.id);
        let place = records
            .binary_search_by_key(&key, |record| (record.message.at, &record.message.id))
            .ok()?;
        records.get(place)
    }

    fn is_public(&self, workspace: &WorkspaceId, channel: &ChannelId) -> bool {
        let channel = self.channels.get(&(workspace.clone(), channel.clone()));
        channel.is_some_and(|channel| channel.visibility == Visibility::Public)
    }

    /// Converts a match, without a score.
    fn to_recalled(&self, record: &MessageRecord) -> RecalledMessage {
        let ConversationId { workspace, channel, .. } = &record.message.conversation;
        let known = self.channels.get(&(workspace.clone(), channel.clone()));
        RecalledMessage {
            message: Arc::clone(&record.message),
            author_name: self.user_name(workspace, &record.message.author.id),
            channel_name: known.map_or(channel.0.clone(), |known| known.name.clone()),
            score: 0.0,
        }
    }
}

#[cfg(test)]
mod tests;
