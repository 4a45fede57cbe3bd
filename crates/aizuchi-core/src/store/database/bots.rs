//! What the bots of a channel do unasked, in the channel's row.

use std::collections::BTreeMap;

use serde_json::json;

use crate::chat::{ChannelId, Message, WorkspaceId};
use crate::companions::{BotHabits, BotPost};
use crate::store::StoreError;
use crate::store::database::connection::{Connection, query};
use crate::store::database::{rows, sql};

/// Learns from new messages of bots. Of a channel that is not known, nothing is.
pub async fn record(
    connection: &mut Connection,
    posts: &[(&Message, BotPost)],
) -> Result<(), StoreError> {
    type Channel<'m> = (&'m WorkspaceId, &'m ChannelId);
    let mut channels: BTreeMap<Channel<'_>, Vec<&(&Message, BotPost)>> = BTreeMap::new();
    for post in posts {
        let conversation = &post.0.conversation;
        let channel = (&conversation.workspace, &conversation.channel);
        channels.entry(channel).or_default().push(post);
    }
    for ((workspace, channel), posts) in channels {
        let known = query(sql::CHANNEL_BOTS).bind(workspace.as_str()).bind(channel.as_str());
        let Some(row) = known.fetch_optional(&mut *connection).await? else { continue };
        let mut bots: BotHabits = rows::parse_json(&rows::column::<String>(&row, "bots")?)?;
        for (message, post) in posts {
            bots.record(&message.author.id, *post, message.at);
        }
        let put = query(sql::PUT_CHANNEL_BOTS).bind(workspace.as_str()).bind(channel.as_str());
        put.bind(json!(bots).to_string()).execute(&mut *connection).await?;
    }
    Ok(())
}
