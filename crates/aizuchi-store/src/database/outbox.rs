//! Inserts rows into the outbox.

use aizuchi_model::decision::DecisionId;
use aizuchi_model::flow::outbox::OutboxItem;
use serde_json::json;

use crate::StoreError;
use crate::database::connection::{Connection, query};
use crate::database::{rows, sql};

/// The owner of a new row.
#[derive(Clone, Copy, Debug)]
pub struct ItemOwner {
    pub decision: DecisionId,
    /// Whether a user waits for the post.
    pub is_owed: bool,
}

pub async fn put_item(
    connection: &mut Connection,
    owner: ItemOwner,
    item: &OutboxItem,
) -> Result<(), StoreError> {
    let put = query(sql::steps::PUT_OUTBOX_ITEM)
        .bind(item.id.0)
        .bind(item.first_in_draft.0)
        .bind(item.conversation.workspace.as_str())
        .bind(item.conversation.channel.as_str())
        .bind(rows::thread_column(&item.conversation))
        .bind(owner.decision.0)
        .bind(&*item.key)
        .bind(&*item.text)
        .bind(json!(*item.metadata).to_string())
        .bind(item.reaction_to.as_ref().map(|message| message.as_str()))
        .bind(i64::from(!owner.is_owed && item.reaction_to.is_none()));
    put.execute(connection).await?;
    Ok(())
}
