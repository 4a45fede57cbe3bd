//! Turns decisions that users have marked into labeled items.

use std::collections::HashMap;

use aizuchi_model::chat::{AuthorKind, MessageId, WorkspaceId};
use aizuchi_model::context::links::LinkSource;
use aizuchi_model::decision::mark::{DecisionMark, Mark};
use aizuchi_model::decision::{Decision, DecisionResult};
use aizuchi_model::persona::Language;
use aizuchi_store::StoreError;
use aizuchi_store::archive::Archive as _;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::query::DecisionQuery;

use crate::eval::decide::item::{DecisionItem, DecisionLabel, ItemMessage};
use crate::past_moment::{PastMoment, recorded_call};

/// The number of messages before the decision that an item holds.
const WINDOW: usize = 50;

/// Reads the item of a marked decision. `None` if the messages of the decision are gone.
pub async fn read(
    store: &DatabaseStore,
    workspace: &WorkspaceId,
    mark: &DecisionMark,
    language: Language,
) -> Result<Option<DecisionItem>, StoreError> {
    let query = DecisionQuery::One { workspace: workspace.clone(), id: mark.decision };
    let Some(decision) = store.decisions(query).await?.pop() else { return Ok(None) };
    let Some(moment) = PastMoment::read(store, store, decision, WINDOW).await? else {
        return Ok(None);
    };
    let PastMoment { decision, at: decided, messages } = moment;
    let positions: HashMap<MessageId, usize> = messages
        .iter()
        .enumerate()
        .map(|(position, stored)| (stored.message.id.clone(), position))
        .collect();
    let position = |id: Option<&MessageId>| id.and_then(|id| positions.get(id)).copied();
    let thread = position(decision.conversation.thread.as_ref());
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
            bot: message.author.kind == AuthorKind::Bot,
            own: Some(message.author.kind == AuthorKind::Persona),
            thread: position(message.conversation.thread.as_ref()),
            reply_to,
        }
    });
    let label = label(mark.mark, &decision);
    let mut channels = store.channels(workspace).await?.into_iter();
    let channel = channels.find(|channel| channel.id == decision.conversation.channel);
    let exchanges = store.exchanges(decision.id).await?;
    let used = recorded_call(&decision, exchanges).ok();
    Ok(Some(DecisionItem {
        id: format!("decision-{}", decision.id),
        label,
        kind: format!("{}/{}", label.name(), mark.mark.name()),
        decide_at: decided.as_millisecond() as f64 / 1000.0,
        language,
        // Only today's is known.
        topic: None,
        channel: channel.map(|channel| channel.name.to_string()),
        prompt: used.map(|(_, exchange)| exchange.prompt.to_string()),
        context: context.collect(),
        thread,
        about: None,
        half: None,
    }))
}

/// Returns the correct answer to a marked decision.
fn label(mark: Mark, decision: &Decision) -> DecisionLabel {
    match (mark, decision.ended) {
        (Mark::ShouldHaveSpoken, _)
        | (Mark::Right, Some(DecisionResult::Spoke | DecisionResult::Proposed)) => {
            DecisionLabel::Speak
        }
        // It is unknown what it would have done.
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
