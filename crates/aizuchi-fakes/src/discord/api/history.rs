//! What was said, newest first.

use serde_json::{Value, json};
use twilight_model::channel::ChannelType;
use twilight_model::gateway::Intents;
use twilight_model::guild::Permissions;

use crate::discord::api::Asked;
use crate::discord::api::body::Answer;
use crate::discord::channel::Channel;
use crate::discord::id::{ChannelId, MessageId};
use crate::discord::message::Message;
use crate::discord::refusal::{Reason, Refusal};
use crate::discord::shape::{Way, hide_content};
use crate::discord::world::World;

pub fn messages(world: &World, asked: &Asked) -> Result<Answer, Refusal> {
    let limit = asked.limit(50, 100)?;
    let channel = world.require(world.me, asked.id("channel")?, Permissions::VIEW_CHANNEL)?;
    if !channel.is_text() {
        return Err(Reason::NotATextChannel.into());
    }
    // Who may not read the history is told that there is none.
    if !world.may(world.me, channel, Permissions::READ_MESSAGE_HISTORY) {
        return Ok(Answer::of(json!([])));
    }
    let before: Option<MessageId> = asked.query_id("before")?;
    let after: Option<MessageId> = asked.query_id("after")?;
    let around: Option<MessageId> = asked.query_id("around")?;
    let all = &channel.messages;
    let mut found: Vec<&Message> = match (around, before, after) {
        (Some(around), _, _) => {
            let older = all.range(..around).rev().take(limit / 2);
            let newer = all.range(around..).take(limit - limit / 2);
            older.chain(newer).map(|(_, message)| message).collect()
        }
        (None, Some(before), _) => {
            all.range(..before).rev().take(limit).map(|(_, message)| message).collect()
        }
        // Those that come next, not those that came last.
        (None, None, Some(after)) => {
            let newer = all.range(after..).filter(|(id, _)| **id > after);
            newer.take(limit).map(|(_, message)| message).collect()
        }
        (None, None, None) => all.values().rev().take(limit).collect(),
    };
    found.sort_by_key(|message| std::cmp::Reverse(message.id));
    Ok(Answer::of(found.iter().map(|message| told(world, channel, message)).collect()))
}

pub fn message(world: &World, asked: &Asked) -> Result<Answer, Refusal> {
    let id: ChannelId = asked.id("channel")?;
    let channel = world.require(world.me, id, Permissions::VIEW_CHANNEL)?;
    if !world.may(world.me, channel, Permissions::READ_MESSAGE_HISTORY) {
        return Err(Reason::MissingAccess.into());
    }
    let message = world.message(id, asked.id("message")?)?;
    Ok(Answer::of(told(world, channel, message)))
}

/// A message as the app may read it. Its nonce is not kept: only who sends hears it again.
pub fn told(world: &World, channel: &Channel, message: &Message) -> Value {
    let mut shape = world.message_shape(channel, message, Way::Rest);
    if !world.privileged.contains(Intents::MESSAGE_CONTENT) {
        hide_content(&mut shape, world.me, channel.kind == ChannelType::Private);
    }
    shape
}
