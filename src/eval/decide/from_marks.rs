//! Makes labeled items of the decisions that people have marked.

use std::collections::{HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};

use crate::eval::decide::item::{DecisionItem, DecisionLabel, ItemMessage};
use aizuchi_core::chat::{AuthorKind, MessageId, WorkspaceId};
use aizuchi_core::context::links::LinkSource;
use aizuchi_core::decision::mark::{DecisionMark, Mark};
use aizuchi_core::decision::{Decision, DecisionResult};
use aizuchi_core::memory::MessageRef;
use aizuchi_core::persona::Language;
use aizuchi_core::store::database::DatabaseStore;
use aizuchi_core::store::{
    Archive as _, DecisionQuery, MessageQuery, MessageRange, Store as _, StoreError, StoredMessage,
};

/// How many messages before the decision an item has.
const WINDOW: usize = 50;

/// The item of a marked decision. `None` if what it was about is not there any more.
pub async fn read(
    store: &DatabaseStore,
    workspace: &WorkspaceId,
    mark: &DecisionMark,
    language: Language,
) -> Result<Option<DecisionItem>, StoreError> {
    let query = DecisionQuery::One { workspace: workspace.clone(), id: mark.decision };
    let Some(decision) = store.decisions(query).await?.pop() else { return Ok(None) };
    let decided = decided_at(&decision);
    let messages = messages_before(store, &decision, decided).await?;
    let positions: HashMap<MessageId, usize> = messages
        .iter()
        .enumerate()
        .map(|(position, stored)| (stored.message.id.clone(), position))
        .collect();
    let position = |id: Option<&MessageId>| id.and_then(|id| positions.get(id)).copied();
    let thread = position(decision.conversation.thread.as_ref());
    if messages.is_empty() || decision.conversation.thread.is_some() && thread.is_none() {
        return Ok(None);
    }
    let ids: Vec<MessageId> = positions.keys().cloned().collect();
    let links = store.links(workspace, &decision.conversation.channel, &ids).await?;
    let replied: HashMap<MessageId, MessageId> = links
        .into_iter()
        .filter(|(_, links)| links.source == LinkSource::Platform)
        .filter_map(|(id, mut links)| Some((id, links.parents.pop_first()?.0)))
        .collect();
    let context = messages.iter().enumerate().map(|(number, stored)| {
        let message = &stored.message;
        let reply_to = position(replied.get(&message.id)).filter(|replied| *replied < number);
        ItemMessage {
            t: message.at.duration_since(decided).as_secs_f64(),
            author: stored.author_name.to_string(),
            text: message.text.to_string(),
            bot: message.author.kind != AuthorKind::Human,
            thread: position(message.conversation.thread.as_ref()),
            reply_to,
        }
    });
    let label = label(mark.mark, &decision);
    Ok(Some(DecisionItem {
        id: format!("decision-{}", decision.id),
        label,
        kind: format!("{}/{}", label.name(), mark.mark.name()),
        decide_at: decided.as_millisecond() as f64 / 1000.0,
        language,
        context: context.collect(),
        thread,
    }))
}

/// When the judge was asked last; without a judge, when a model was asked first, or when it was settled.
fn decided_at(decision: &Decision) -> Timestamp {
    let judged = decision.attempts.iter().rfind(|attempt| &*attempt.verb == "judge");
    let asked = judged.or(decision.attempts.first());
    asked.map_or(decision.closed.unwrap_or(decision.opened), |attempt| attempt.at)
}

/// What would have been right.
fn label(mark: Mark, decision: &Decision) -> DecisionLabel {
    match (mark, decision.ended) {
        (Mark::ShouldHaveSpoken, _) | (Mark::Right, Some(DecisionResult::Spoke)) => {
            DecisionLabel::Speak
        }
        // Nobody can tell what it would have done.
        (Mark::Right, Some(DecisionResult::Failed) | None) => DecisionLabel::Ambig,
        (Mark::ShouldHaveKeptSilent, _)
        | (
            Mark::Right,
            Some(
                DecisionResult::Reacted
                | DecisionResult::ChoseSilence
                | DecisionResult::Dropped
                | DecisionResult::Muted
                | DecisionResult::OverBudget,
            ),
        ) => DecisionLabel::Silent,
    }
}

/// The channel's newest messages until then that prompts may hold, oldest first, and the parent of the thread.
async fn messages_before(
    store: &DatabaseStore,
    decision: &Decision,
    decided: Timestamp,
) -> Result<Vec<StoredMessage>, StoreError> {
    let conversation = &decision.conversation;
    let (workspace, channel) = (&conversation.workspace, &conversation.channel);
    let end = decided.checked_add(SignedDuration::from_millis(1)).unwrap_or(Timestamp::MAX);
    let query = MessageQuery {
        workspace: workspace.clone(),
        channel: channel.clone(),
        thread: None,
        range: MessageRange::BeforeTime(end),
        limit: WINDOW,
    };
    let mut messages = store.messages(query).await?;
    if let Some(parent) = &conversation.thread
        && messages.iter().all(|stored| stored.message.id != *parent)
    {
        let parent = store.message(workspace, channel, parent).await?;
        messages.splice(0..0, parent.filter(|parent| parent.message.at < end));
    }
    let refs: Vec<MessageRef> = messages
        .iter()
        .map(|stored| MessageRef(channel.clone(), stored.message.id.clone()))
        .collect();
    let usable = store.source_messages(workspace, &refs).await?;
    let usable: HashSet<MessageId> =
        usable.into_iter().map(|(message, _)| message.id.clone()).collect();
    let is_known = |id: &MessageId| usable.contains(id) && !decision.posted_messages.contains(id);
    messages.retain(|stored| is_known(&stored.message.id));
    let top: HashSet<MessageId> = messages
        .iter()
        .filter(|stored| stored.message.conversation.thread.is_none())
        .map(|stored| stored.message.id.clone())
        .collect();
    messages.retain(|stored| {
        stored.message.conversation.thread.as_ref().is_none_or(|parent| top.contains(parent))
    });
    Ok(messages)
}
