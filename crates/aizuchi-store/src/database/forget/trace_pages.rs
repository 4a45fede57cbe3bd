//! Finds traces of a user other than texts: reactions, mentions, the names of direct channels, and the authors of
//! messages.

use aizuchi_model::chat::{ChannelId, MessageId, Visibility};
use aizuchi_model::memory::MessageRef;

use crate::database::connection::{Connection, query};
use crate::database::forget::page::ErasurePage;
use crate::database::forget::write::{Erasure, mention_json};
use crate::database::forget::{Forgetting, message_ref};
use crate::database::sql::forget as sql;
use crate::database::{rows, sql as flow_sql};
use crate::{FORGOTTEN_USER_ID, StoreError, expiry};

/// How many rows are read at once.
const PAGE: i64 = 2000;
/// The maximum number of rows changed in one write.
const ROWS: usize = 50;
/// The maximum number of messages and characters erased in one write: every word of them is removed from the search
/// index. Files count as characters.
const MESSAGES: i64 = 25;
const CHARACTERS: usize = 2_000;

pub async fn reactions(
    connection: &mut Connection,
    forgetting: &Forgetting,
) -> Result<ErasurePage, StoreError> {
    let key = |index: usize| forgetting.position.after_key.get(index).map_or("", String::as_str);
    let page = query(sql::REACTIONS_AFTER)
        .bind(forgetting.workspace.as_str())
        .bind(key(0))
        .bind(key(1))
        .bind(key(2))
        .bind(key(3))
        .bind(PAGE);
    let page = page.fetch_all(connection).await?;
    let (mut theirs, mut last) = (Vec::new(), None);
    for row in &page {
        let [message, channel, emoji, user] = ["message", "channel", "emoji", "user_id"]
            .map(|column| rows::column::<String>(row, column));
        let (message, channel, emoji, user) = (message?, channel?, emoji?, user?);
        if user == forgetting.user.as_str() {
            let message =
                MessageRef(ChannelId::new(channel.as_str()), MessageId::new(message.as_str()));
            theirs.push((message, emoji.clone()));
        }
        last = Some(vec![message, channel, emoji, user]);
    }
    let mut page = ErasurePage::after_key(forgetting, last);
    page.push_chunks(theirs, ROWS, Erasure::DropReactions);
    Ok(page)
}

pub async fn mentions(
    connection: &mut Connection,
    forgetting: &Forgetting,
) -> Result<ErasurePage, StoreError> {
    let key = |index: usize| forgetting.position.after_key.get(index).map_or("", String::as_str);
    let page = query(sql::MENTIONS_AFTER)
        .bind(forgetting.workspace.as_str())
        .bind(key(0))
        .bind(key(1))
        .bind(mention_json(forgetting.user.as_str()))
        .bind(mention_json(FORGOTTEN_USER_ID))
        .bind(PAGE);
    let page = page.fetch_all(connection).await?;
    let (mut mentioning, mut last) = (Vec::new(), None);
    for row in &page {
        let message = message_ref(row)?;
        last = Some(vec![message.1.to_string(), message.0.to_string()]);
        if rows::column(row, "mentions_user")? {
            mentioning.push(message);
        }
    }
    let mut page = ErasurePage::after_key(forgetting, last);
    page.push_chunks(mentioning, ROWS, Erasure::EraseMentions);
    Ok(page)
}

/// Finds the direct channels that the user has written in: platforms name them after their users.
pub async fn channels(
    connection: &mut Connection,
    forgetting: &Forgetting,
) -> Result<ErasurePage, StoreError> {
    let workspace = forgetting.workspace.as_str();
    let known =
        query(flow_sql::messages::CHANNELS).bind(workspace).fetch_all(&mut *connection).await?;
    let known = known.iter().map(rows::channel_from_row).collect::<Result<Vec<_>, _>>()?;
    let written = query(sql::CHANNELS_OF_USER).bind(workspace).bind(forgetting.user.as_str());
    let written = written.fetch_all(connection).await?;
    let written = written.iter().map(|row| rows::column(row, "channel"));
    let written = written.collect::<Result<Vec<String>, _>>()?;
    let is_theirs =
        |name: &str, id: &String| name == forgetting.user.as_str() || written.contains(id);
    let direct = known.iter().filter(|channel| channel.visibility == Visibility::Direct);
    let theirs = direct.map(|channel| (&channel.name, channel.id.to_string()));
    let theirs = theirs.filter(|(name, id)| !name.is_empty() && is_theirs(name, id));
    let mut page = ErasurePage::end_of(forgetting);
    page.push_chunks(theirs.map(|(_, id)| id).collect(), ROWS, Erasure::BlankChannelNames);
    Ok(page)
}

/// Finds the messages that still have the user as their author, oldest first.
pub async fn messages(
    connection: &mut Connection,
    forgetting: &Forgetting,
) -> Result<ErasurePage, StoreError> {
    let page = query(sql::TEXTS_AFTER)
        .bind(forgetting.workspace.as_str())
        .bind(forgetting.user.as_str())
        .bind(0_i64)
        .bind(forgetting.until)
        .bind(MESSAGES);
    let (mut messages, mut characters) = (Vec::new(), 0);
    for row in page.fetch_all(connection).await? {
        let text: String = rows::column(&row, "text")?;
        let upload_bytes = rows::to_unsigned(rows::column(&row, "upload_bytes")?)?;
        characters = expiry::length(&text, upload_bytes).saturating_add(characters);
        if characters > CHARACTERS && !messages.is_empty() {
            break;
        }
        messages.push(message_ref(&row)?);
    }
    if messages.is_empty() {
        return Ok(ErasurePage::end_of(forgetting));
    }
    // Erased messages no longer have this author, so the same position finds the next ones.
    let next = Some(forgetting.position.clone());
    Ok(ErasurePage { erasures: vec![Erasure::EraseMessages(messages)], next })
}
