//! Methods about channels, but for what is said in them.

use serde_json::{Value, json};

use crate::slack::api::pagination::{paginate, response_metadata};
use crate::slack::api_error::{ApiError, api_error};
use crate::slack::arguments::Arguments;
use crate::slack::channel::{ChannelKind, FakeChannel, NewChannel};
use crate::slack::channel_actions::OpenOutcome;
use crate::slack::user::merge_fields;
use crate::slack::workspace::Workspace;

/// All channels that the app may know of.
pub fn list(team: &Workspace, arguments: &Arguments) -> Result<Value, ApiError> {
    let shape = |channel: &FakeChannel| channel.to_json_with_member_count(&team.id, &team.bot_user);
    let is_visible = |channel: &FakeChannel| team.visible_channel(&channel.id).is_ok();
    list_page(team, arguments, is_visible, shape)
}

/// The channels that somebody is in; without a name, the bot's.
pub fn list_for_user(team: &Workspace, arguments: &Arguments) -> Result<Value, ApiError> {
    let user = arguments.text("user").unwrap_or(&team.bot_user);
    team.user(user)?;
    let shape = |channel: &FakeChannel| {
        let mut shape = team.channel_json(channel);
        if let Some(shape) = shape.as_object_mut() {
            shape.remove("is_member");
        }
        shape
    };
    let is_seen = |channel: &FakeChannel| {
        channel.members.contains(user) && team.visible_channel(&channel.id).is_ok()
    };
    list_page(team, arguments, is_seen, shape)
}

fn list_page(
    team: &Workspace,
    arguments: &Arguments,
    is_seen: impl Fn(&FakeChannel) -> bool,
    shape: impl Fn(&FakeChannel) -> Value,
) -> Result<Value, ApiError> {
    let kinds: Vec<&str> =
        arguments.text("types").unwrap_or("public_channel").split(',').map(str::trim).collect();
    if !kinds.iter().all(|kind| is_conversation_type(kind)) {
        return Err(api_error("invalid_types"));
    }
    let skips_archived = arguments.is_true("exclude_archived");
    let is_wanted = |channel: &&FakeChannel| {
        kinds.contains(&channel.kind.conversation_type())
            && is_seen(channel)
            && !(skips_archived && channel.is_archived)
    };
    let channels = team.channels.values().filter(is_wanted);
    let page = paginate(arguments, channels.map(|channel| (channel.id.as_str(), channel)), 100)?;
    let channels: Vec<Value> = page.items.into_iter().map(shape).collect();
    let metadata = response_metadata(&page.next_cursor);
    Ok(json!({ "ok": true, "channels": channels, "response_metadata": metadata }))
}

fn is_conversation_type(name: &str) -> bool {
    let kinds =
        [ChannelKind::Public, ChannelKind::Private, ChannelKind::Direct, ChannelKind::Group];
    kinds.iter().any(|kind| kind.conversation_type() == name)
}

pub fn info(team: &Workspace, arguments: &Arguments) -> Result<Value, ApiError> {
    let channel = team.visible_channel(arguments.required("channel", "channel_not_found")?)?;
    let mut shape = if arguments.is_true("include_num_members") {
        channel.to_json_with_member_count(&team.id, &team.bot_user)
    } else {
        team.channel_json(channel)
    };
    if channel.members.contains(&team.bot_user) {
        merge_fields(&mut shape, json!({ "last_read": "0000000000.000000" }));
    }
    Ok(json!({ "ok": true, "channel": shape }))
}

pub fn members(team: &Workspace, arguments: &Arguments) -> Result<Value, ApiError> {
    let channel = team.visible_channel(arguments.required("channel", "channel_not_found")?)?;
    let members = channel.members.iter().map(|member| (member.as_str(), member));
    let page = paginate(arguments, members, 100)?;
    let metadata = response_metadata(&page.next_cursor);
    Ok(json!({ "ok": true, "members": page.items, "response_metadata": metadata }))
}

pub fn join(team: &mut Workspace, arguments: &Arguments) -> Result<Value, ApiError> {
    let channel = arguments.required("channel", "channel_not_found")?;
    let bot = team.bot_user.clone();
    let place = team.visible_channel(channel)?;
    if place.kind != ChannelKind::Public {
        return Err(api_error("method_not_supported_for_channel_type"));
    }
    let is_member = place.members.contains(&bot);
    if !is_member {
        team.join(channel, &bot)?;
    }
    let mut answer = json!({ "ok": true, "channel": team.channel_json(team.channel(channel)?) });
    if is_member {
        let warning = "already_in_channel";
        let metadata = json!({ "warnings": [warning] });
        merge_fields(&mut answer, json!({ "warning": warning, "response_metadata": metadata }));
    }
    Ok(answer)
}

pub fn leave(team: &mut Workspace, arguments: &Arguments) -> Result<Value, ApiError> {
    let channel = arguments.required("channel", "channel_not_found")?;
    let bot = team.bot_user.clone();
    if !team.visible_channel(channel)?.members.contains(&bot) {
        return Ok(json!({ "ok": true, "not_in_channel": true }));
    }
    team.leave(channel, &bot)?;
    Ok(json!({ "ok": true }))
}

/// A direct message with one person or with several.
pub fn open(team: &mut Workspace, arguments: &Arguments) -> Result<Value, ApiError> {
    if let Some(channel) = arguments.text("channel") {
        team.visible_channel(channel)?;
        let channel = channel.to_owned();
        return Ok(open_response(team, arguments, &channel, OpenOutcome::Existing));
    }
    let users = arguments.required("users", "users_list_not_supplied")?.to_owned();
    let users: Vec<&str> = users.split(',').map(str::trim).collect();
    let (channel, newness) = match users[..] {
        [user] => team.open_direct_message(user)?,
        _ => open_group(team, &users)?,
    };
    Ok(open_response(team, arguments, &channel, newness))
}

fn open_group(team: &mut Workspace, users: &[&str]) -> Result<(String, OpenOutcome), ApiError> {
    let mut members: Vec<String> = users.iter().map(|user| (*user).to_owned()).collect();
    members.push(team.bot_user.clone());
    let set = members.iter().cloned().collect();
    let known = team
        .channels
        .values()
        .find(|channel| channel.kind == ChannelKind::Group && channel.members == set);
    if let Some(channel) = known {
        return Ok((channel.id.clone(), OpenOutcome::Existing));
    }
    let new = NewChannel { kind: ChannelKind::Group, members, ..NewChannel::default() };
    Ok((team.add_channel(new)?, OpenOutcome::Created))
}

fn open_response(
    team: &Workspace,
    arguments: &Arguments,
    channel: &str,
    newness: OpenOutcome,
) -> Value {
    let shape = match team.channel(channel) {
        Ok(place) if arguments.is_true("return_im") => team.channel_json(place),
        Ok(_) | Err(_) => json!({ "id": channel }),
    };
    let mut answer = json!({ "ok": true, "channel": shape });
    if newness == OpenOutcome::Existing {
        merge_fields(&mut answer, json!({ "no_op": true, "already_open": true }));
    }
    answer
}
