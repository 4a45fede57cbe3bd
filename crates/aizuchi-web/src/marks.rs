//! The marks with which users rate afterwards whether a decision was right.

use aizuchi_model::decision::DecisionId;
use aizuchi_model::decision::mark::Mark;
use aizuchi_store::order::Order;

use crate::actions::requests;
use crate::room::decision;
use crate::workspaces;

requests! {
    /// `POST /api/decisions/ID/mark`: marks a decision, or removes its mark.
    in_any MarkBody {
        /// Required; `null` removes the mark.
        #[serde(deserialize_with = "Option::deserialize")]
        mark: Option<Mark>,
    }
    format_of_mark |it, web, access, id| {
        access.require_orders()?;
        let id = DecisionId(id);
        let found = decision::find(web, id).await?.ok_or_else(decision::absent)?;
        let workspace = found.conversation.workspace;
        let named = workspaces::find_only(web, it.workspace.as_deref()).await?;
        if named.is_some_and(|named| named != workspace) {
            return Err(decision::absent());
        }
        Ok(Order::MarkDecision { workspace, id, mark: it.mark, by: access.signature() })
    }
}
