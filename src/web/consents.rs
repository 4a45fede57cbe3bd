//! Calls of tools that may write: listed, and allowed or refused by those who may read the channel.

use std::collections::{BTreeMap, HashMap};

use crate::web::access::Access;
use crate::web::deciders::{require_decider, visibilities};
use crate::web::workspaces::{self, Shown};
use crate::web::{ApiProblem, Web};
use aizuchi_core::chat::{ChannelId, ConversationId, Visibility, WorkspaceId};
use aizuchi_core::decision::consent::{
    Consent, ConsentChoice, ConsentId, ConsentState, ConsentStep,
};
use aizuchi_core::store::refusal_reason::RefusalReason;
use aizuchi_core::store::{ConsentQuery, Order, StoreError};

/// The newest calls of a list.
const PAGE: usize = 100;

/// What somebody chooses, as it is written in forms.
pub fn parse_choice(name: &str) -> Option<ConsentChoice> {
    Some(match name {
        "allow_once" => ConsentChoice::AllowOnce,
        "refuse" => ConsentChoice::Refuse,
        _ => return None,
    })
}

/// The newest calls, and older ones that can be decided, newest first, without the arguments that the visitor may not read. Looks at private ones are recorded.
/// What a tool answered is shown in the chat alone.
pub async fn read(
    web: &Web,
    access: &Access,
    workspace: Option<WorkspaceId>,
) -> Result<Vec<Consent>, ApiProblem> {
    let now = web.clock.now();
    let query = ConsentQuery { workspace, decision: None, before: None, limit: PAGE };
    let mut consents = web.archive.consents(&query, now).await?;
    if let Some(oldest) = consents.last().map(|consent| consent.id) {
        let older = web.archive.unsettled_consents().await?.into_iter().rev();
        let older = older.filter(|consent| {
            let workspace = &consent.conversation.workspace;
            consent.id < oldest && query.workspace.as_ref().is_none_or(|only| only == workspace)
        });
        let older = older.map(|consent| consent.at(now));
        consents.extend(older.filter(|consent| consent.state == ConsentState::Open));
    }
    let mut known: HashMap<WorkspaceId, HashMap<ChannelId, Visibility>> = HashMap::new();
    let mut shown: BTreeMap<WorkspaceId, Vec<Consent>> = BTreeMap::new();
    for consent in &mut consents {
        consent.answer = None;
        let ConversationId { workspace, channel, .. } = &consent.conversation;
        if !known.contains_key(workspace) {
            known.insert(workspace.clone(), visibilities(web, workspace).await?);
        }
        let visibility = known.get(workspace).and_then(|channels| channels.get(channel));
        let may_read =
            access.may_read(workspace, visibility.copied().unwrap_or(Visibility::Private));
        if consent.state == ConsentState::Open && may_read {
            shown.entry(workspace.clone()).or_default().push(consent.clone());
        } else {
            consent.arguments = None;
        }
    }
    for (workspace, consents) in shown {
        workspaces::record_look(web, access, &workspace, Shown::Calls(&consents)).await?;
    }
    Ok(consents)
}

/// Allows or refuses a call.
pub async fn decide(
    web: &Web,
    access: &Access,
    id: ConsentId,
    choice: ConsentChoice,
) -> Result<(), ApiProblem> {
    let found = web.archive.consent(None, id, web.clock.now()).await?;
    let found = found.ok_or(StoreError::Refused(RefusalReason::ConsentGone))?;
    require_decider(web, access, &found.conversation).await?;
    let (workspace, by) = (found.conversation.workspace, access.signature());
    let step = ConsentStep::Decide(choice, by.clone());
    let order = Order::TakeConsentStep { workspace, id, step };
    Ok(web.inbox.apply_order(order.signed(by)).await?)
}
