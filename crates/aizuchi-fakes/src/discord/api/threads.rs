//! Requests about threads and forum posts.

use serde::Deserialize;
use serde_json::{Value, json};
use twilight_model::channel::ChannelType;
use twilight_model::guild::Permissions;

use crate::discord::api::history::readable_message_json;
use crate::discord::api::messages::{MessageBody, request_message};
use crate::discord::api::response::ApiResponse;
use crate::discord::api_error::{ApiError, ApiResult, ErrorCode};
use crate::discord::channel::FakeChannel;
use crate::discord::id::{ChannelId, UserId};
use crate::discord::journal::RecordedPost;
use crate::discord::message::FakeMessage;
use crate::discord::request::ParsedRequest;
use crate::discord::state::FakeDiscordState;
use crate::discord::thread::NewThread;
use crate::discord::world::World;

#[derive(Deserialize)]
struct NewThreadBody {
    name: String,
    #[serde(default)]
    auto_archive_duration: Option<u64>,
    #[serde(default, rename = "type")]
    kind: Option<u8>,
    #[serde(default)]
    applied_tags: Option<Vec<Value>>,
    /// The first message of a forum post.
    #[serde(default)]
    message: Option<MessageBody>,
}

impl NewThreadBody {
    fn validate(&self) -> ApiResult {
        twilight_validate::channel::name(&self.name).map_err(|_| {
            let message = "Must be between 1 and 100 in length.";
            ApiError::invalid_field("name", "BASE_TYPE_BAD_LENGTH", message)
        })?;
        match self.auto_archive_duration {
            None | Some(60 | 1440 | 4320 | 10080) => Ok(()),
            Some(_) => {
                let message = "Value must be one of {60, 1440, 4320, 10080}.";
                Err(ApiError::invalid_field("auto_archive_duration", "BASE_TYPE_CHOICES", message))
            }
        }
    }

    fn to_new_thread(&self, parent: ChannelId, owner: UserId, kind: ChannelType) -> NewThread {
        let default = NewThread::new(parent, owner, &self.name);
        NewThread {
            kind,
            auto_archive_minutes: self
                .auto_archive_duration
                .unwrap_or(default.auto_archive_minutes),
            tags: self.applied_tags.clone().unwrap_or_default(),
            ..default
        }
    }
}

pub fn start_from_message(world: &mut World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let (parent, message) = request_message(world, request)?;
    let body: NewThreadBody = request.parse_body()?;
    let required = Permissions::CREATE_PUBLIC_THREADS;
    let channel = world.require_own(parent, required)?;
    let kind = match channel.kind {
        ChannelType::GuildText => ChannelType::PublicThread,
        ChannelType::GuildAnnouncement => ChannelType::AnnouncementThread,
        _ => return Err(ErrorCode::WrongChannelType.into()),
    };
    if world.message(parent, message)?.kind.is_system() {
        return Err(ErrorCode::SystemMessage.into());
    }
    body.validate()?;
    let new = body.to_new_thread(parent, world.bot_user, kind);
    let id = world.start_thread_from_message(message, new)?;
    Ok(ApiResponse::created(world.channel_json(world.channel(id)?)))
}

/// Starts a thread without a message, or creates a forum post.
pub fn start(state: &mut FakeDiscordState, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let world = &mut state.world;
    let parent: ChannelId = request.path_id("channel")?;
    let body: NewThreadBody = request.parse_body()?;
    body.validate()?;
    let channel = world.require_own(parent, Permissions::VIEW_CHANNEL)?;
    if channel.is_forum() {
        return create_forum_post(state, request, parent, body);
    }
    if channel.kind != ChannelType::GuildText && channel.kind != ChannelType::GuildAnnouncement {
        return Err(ErrorCode::WrongChannelType.into());
    }
    // The API's default is a private thread.
    let kind = ChannelType::from(body.kind.unwrap_or(12));
    let required = match kind {
        ChannelType::PublicThread | ChannelType::AnnouncementThread => {
            Permissions::CREATE_PUBLIC_THREADS
        }
        _ => Permissions::CREATE_PRIVATE_THREADS,
    };
    world.require_own(parent, required)?;
    let id = world.start_thread(body.to_new_thread(parent, world.bot_user, kind))?;
    Ok(ApiResponse::created(world.channel_json(world.channel(id)?)))
}

fn create_forum_post(
    state: &mut FakeDiscordState,
    request: &ParsedRequest,
    parent: ChannelId,
    body: NewThreadBody,
) -> ApiResult<ApiResponse> {
    let world = &mut state.world;
    world.require_own(parent, Permissions::SEND_MESSAGES)?;
    let new = body.to_new_thread(parent, world.bot_user, ChannelType::PublicThread);
    let message_body = body.message.ok_or_else(|| {
        ApiError::invalid_field("message", "BASE_TYPE_REQUIRED", "This field is required")
    })?;
    message_body.validate()?;
    if message_body.is_empty() {
        return Err(ErrorCode::EmptyMessage.into());
    }
    let first_message = message_body.to_message(world, parent, UserId::new(1).cast());
    let id = world.create_forum_post(new, |id| FakeMessage { id, ..first_message })?;
    let mut object = world.channel_json(world.channel(id)?);
    object["message"] = readable_message_json(world, id, id.cast())?;
    let (text, at) = (world.message(id, id.cast())?.content.clone(), world.now());
    let body = request.body.clone();
    state.journal.posts.push(RecordedPost { channel: id, id: id.cast(), text, body, at });
    Ok(ApiResponse::created(object))
}

/// Returns the archived public threads, most recently archived first.
pub fn archived(world: &World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let parent: ChannelId = request.path_id("channel")?;
    let limit = request.limit(50, 100)?;
    world.require_own(parent, Permissions::READ_MESSAGE_HISTORY)?;
    let before =
        request.query_parameter("before").and_then(|at| at.parse::<jiff::Timestamp>().ok());
    let archived_at =
        |channel: &FakeChannel| channel.thread.as_ref().map(|thread| thread.archived_at);
    let mut found: Vec<&FakeChannel> = (world.channels.values())
        .filter(|channel| channel.parent == Some(parent) && channel.is_archived())
        .filter(|channel| channel.kind != ChannelType::PrivateThread)
        .filter(|channel| before.is_none_or(|before| archived_at(channel) < Some(before)))
        .collect();
    found.sort_by_key(|channel| std::cmp::Reverse(archived_at(channel)));
    let has_more = found.len() > limit;
    found.truncate(limit);
    let threads: Vec<Value> = found.iter().map(|thread| world.channel_json(thread)).collect();
    let members = world.bot_memberships(&found);
    Ok(ApiResponse::ok(json!({ "threads": threads, "members": members, "has_more": has_more })))
}

pub fn members(world: &World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let id: ChannelId = request.path_id("channel")?;
    let channel = world.require_own(id, Permissions::VIEW_CHANNEL)?;
    let thread = channel.thread.as_ref().ok_or(ErrorCode::WrongChannelType)?;
    let members = thread.members.keys().filter_map(|user| thread.member_json(id, *user));
    Ok(ApiResponse::ok(members.collect()))
}
