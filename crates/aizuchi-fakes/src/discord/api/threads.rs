//! Threads and posts in forums.

use serde::Deserialize;
use serde_json::{Value, json};
use twilight_model::channel::ChannelType;
use twilight_model::guild::Permissions;

use crate::discord::api::Asked;
use crate::discord::api::body::Answer;
use crate::discord::api::history::told;
use crate::discord::api::messages::{Written, asked_place};
use crate::discord::channel::Channel;
use crate::discord::id::{ChannelId, UserId};
use crate::discord::journal::Post;
use crate::discord::refusal::{Reason, Refusal};
use crate::discord::state::State;
use crate::discord::thread::NewThread;
use crate::discord::world::World;

#[derive(Deserialize)]
struct Begun {
    name: String,
    #[serde(default)]
    auto_archive_duration: Option<u64>,
    #[serde(default, rename = "type")]
    kind: Option<u8>,
    #[serde(default)]
    applied_tags: Option<Vec<Value>>,
    /// What a post in a forum begins with.
    #[serde(default)]
    message: Option<Written>,
}

impl Begun {
    fn check(&self) -> Result<(), Refusal> {
        twilight_validate::channel::name(&self.name).map_err(|_| {
            let message = "Must be between 1 and 100 in length.";
            Refusal::of_field("name", "BASE_TYPE_BAD_LENGTH", message)
        })?;
        match self.auto_archive_duration {
            None | Some(60 | 1440 | 4320 | 10080) => Ok(()),
            Some(_) => {
                let message = "Value must be one of {60, 1440, 4320, 10080}.";
                Err(Refusal::of_field("auto_archive_duration", "BASE_TYPE_CHOICES", message))
            }
        }
    }

    fn thread(&self, parent: ChannelId, owner: UserId, kind: ChannelType) -> NewThread {
        let usual = NewThread::new(parent, owner, &self.name);
        NewThread {
            kind,
            minutes: self.auto_archive_duration.unwrap_or(usual.minutes),
            tags: self.applied_tags.clone().unwrap_or_default(),
            ..usual
        }
    }
}

pub fn start_from(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let place = asked_place(world, asked)?;
    let begun: Begun = asked.read()?;
    let needed = Permissions::CREATE_PUBLIC_THREADS;
    let channel = world.require(world.me, place.channel, needed)?;
    let kind = match channel.kind {
        ChannelType::GuildText => ChannelType::PublicThread,
        ChannelType::GuildAnnouncement => ChannelType::AnnouncementThread,
        _ => return Err(Reason::WrongChannelType.into()),
    };
    if world.message(place.channel, place.message)?.kind.is_system() {
        return Err(Reason::SystemMessage.into());
    }
    begun.check()?;
    let new = begun.thread(place.channel, world.me, kind);
    let id = world.start_thread_from(place.message, new)?;
    Ok(Answer::created(world.channel_shape(world.channel(id)?)))
}

/// A thread beside the talk, or a post in a forum.
pub fn start(state: &mut State, asked: &Asked) -> Result<Answer, Refusal> {
    let world = &mut state.world;
    let parent: ChannelId = asked.id("channel")?;
    let begun: Begun = asked.read()?;
    begun.check()?;
    let channel = world.require(world.me, parent, Permissions::VIEW_CHANNEL)?;
    if channel.is_forum() {
        return post(state, asked, parent, begun);
    }
    if channel.kind != ChannelType::GuildText && channel.kind != ChannelType::GuildAnnouncement {
        return Err(Reason::WrongChannelType.into());
    }
    // Without a kind it is private, as it always was.
    let kind = ChannelType::from(begun.kind.unwrap_or(12));
    let needed = match kind {
        ChannelType::PublicThread | ChannelType::AnnouncementThread => {
            Permissions::CREATE_PUBLIC_THREADS
        }
        _ => Permissions::CREATE_PRIVATE_THREADS,
    };
    world.require(world.me, parent, needed)?;
    let id = world.start_thread(begun.thread(parent, world.me, kind))?;
    Ok(Answer::created(world.channel_shape(world.channel(id)?)))
}

fn post(
    state: &mut State,
    asked: &Asked,
    parent: ChannelId,
    begun: Begun,
) -> Result<Answer, Refusal> {
    let world = &mut state.world;
    world.require(world.me, parent, Permissions::SEND_MESSAGES)?;
    let new = begun.thread(parent, world.me, ChannelType::PublicThread);
    let written = begun.message.ok_or_else(|| {
        Refusal::of_field("message", "BASE_TYPE_REQUIRED", "This field is required")
    })?;
    written.check()?;
    if written.is_empty() {
        return Err(Reason::EmptyMessage.into());
    }
    let top = written.compose(world, parent, UserId::new(1).cast());
    let id = world.post_in_forum(new, |id| crate::discord::message::Message { id, ..top })?;
    let channel = world.channel(id)?;
    let message = world.message(id, id.cast())?;
    let mut shape = world.channel_shape(channel);
    shape["message"] = told(world, channel, message);
    let (text, at) = (message.content.clone(), world.now());
    let body = asked.body.clone();
    state.journal.posts.push(Post { channel: id, id: id.cast(), text, body, at });
    Ok(Answer::created(shape))
}

/// Threads that rest, those that were put to rest last come first.
pub fn archived(world: &World, asked: &Asked) -> Result<Answer, Refusal> {
    rested(world, asked, |channel| channel.kind != ChannelType::PrivateThread)
}

/// The same of private threads, for whoever can manage them.
pub fn archived_in_private(world: &World, asked: &Asked) -> Result<Answer, Refusal> {
    world.require(world.me, asked.id("channel")?, Permissions::MANAGE_THREADS)?;
    rested(world, asked, |channel| channel.kind == ChannelType::PrivateThread)
}

fn rested(
    world: &World,
    asked: &Asked,
    is_wanted: impl Fn(&Channel) -> bool,
) -> Result<Answer, Refusal> {
    let parent: ChannelId = asked.id("channel")?;
    let limit = asked.limit(50, 100)?;
    world.require(world.me, parent, Permissions::READ_MESSAGE_HISTORY)?;
    let before = asked.query("before").and_then(|at| at.parse::<jiff::Timestamp>().ok());
    let at = |channel: &Channel| channel.thread.as_ref().map(|thread| thread.archived_at);
    let mut found: Vec<&Channel> = (world.channels.values())
        .filter(|channel| channel.parent == Some(parent) && channel.is_archived())
        .filter(|channel| is_wanted(channel))
        .filter(|channel| before.is_none_or(|before| at(channel) < Some(before)))
        .collect();
    found.sort_by_key(|channel| std::cmp::Reverse(at(channel)));
    let has_more = found.len() > limit;
    found.truncate(limit);
    let threads: Vec<Value> = found.iter().map(|thread| world.channel_shape(thread)).collect();
    let members = world.my_memberships(&found);
    Ok(Answer::of(json!({ "threads": threads, "members": members, "has_more": has_more })))
}

pub fn member(world: &World, asked: &Asked) -> Result<Answer, Refusal> {
    let id: ChannelId = asked.id("channel")?;
    let user = match asked.part("user") {
        "@me" => world.me,
        _ => asked.id("user")?,
    };
    let channel = world.require(world.me, id, Permissions::VIEW_CHANNEL)?;
    let thread = channel.thread.as_ref().ok_or(Reason::WrongChannelType)?;
    Ok(Answer::of(thread.member_shape(id, user).ok_or(Reason::UnknownMember)?))
}

pub fn members(world: &World, asked: &Asked) -> Result<Answer, Refusal> {
    let id: ChannelId = asked.id("channel")?;
    let channel = world.require(world.me, id, Permissions::VIEW_CHANNEL)?;
    let thread = channel.thread.as_ref().ok_or(Reason::WrongChannelType)?;
    let members = thread.members.keys().filter_map(|user| thread.member_shape(id, *user));
    Ok(Answer::of(members.collect()))
}

pub fn join(world: &mut World, asked: &Asked, user: UserId) -> Result<Answer, Refusal> {
    let id: ChannelId = asked.id("channel")?;
    if world.require(world.me, id, Permissions::VIEW_CHANNEL)?.is_archived() {
        return Err(Reason::ThreadArchived.into());
    }
    world.join_thread(id, user)?;
    Ok(Answer::nothing())
}

pub fn leave(world: &mut World, asked: &Asked, user: UserId) -> Result<Answer, Refusal> {
    let id: ChannelId = asked.id("channel")?;
    if world.require(world.me, id, Permissions::VIEW_CHANNEL)?.is_archived() {
        return Err(Reason::ThreadArchived.into());
    }
    world.leave_thread(id, user)?;
    Ok(Answer::nothing())
}
