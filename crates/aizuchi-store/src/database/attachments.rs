//! Stores what was read from files, with their messages.

use aizuchi_model::chat::ConversationId;
use aizuchi_model::chat::attachment::{Attachment, ReadAttachment};
use serde_json::json;

use crate::StoreError;
use crate::database::connection::{Connection, query};
use crate::database::{rows, sql};

/// Skips a message that was deleted or withheld in the meantime, or no longer has the file. Other messages do not count
/// as changed: the content of their files invalidates no draft or prompt that was made from them.
pub async fn keep_read(
    connection: &mut Connection,
    conversation: &ConversationId,
    read: &[ReadAttachment],
) -> Result<(), StoreError> {
    let (workspace, channel) = (conversation.workspace.as_str(), conversation.channel.as_str());
    for file in read {
        let message = file.message.as_str();
        // Read again in this transaction, since an edit may have removed files in the meantime.
        let stored = query(sql::messages::ATTACHMENTS).bind(workspace).bind(channel).bind(message);
        let Some(row) = stored.fetch_optional(&mut *connection).await? else { continue };
        let mut attachments: Vec<Attachment> =
            rows::parse_json(&rows::column::<String>(&row, "attachments")?)?;
        if file.add_to(&mut attachments) {
            let put =
                query(sql::messages::PUT_ATTACHMENTS).bind(workspace).bind(channel).bind(message);
            put.bind(json!(attachments).to_string()).execute(&mut *connection).await?;
        }
    }
    Ok(())
}
