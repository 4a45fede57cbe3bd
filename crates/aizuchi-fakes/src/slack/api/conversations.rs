//! Methods about channels, but for what is said in them.

use serde_json::{Value, json};

use crate::slack::api::pages::{metadata, page};
use crate::slack::arguments::Arguments;
use crate::slack::channel::{Channel, Kind, NewChannel};
use crate::slack::refusal::{Refusal, refuse};
use crate::slack::rooms::Newness;
use crate::slack::user::extend;
use crate::slack::workspace::Workspace;

/// All channels that the app may know of.
pub fn list(team: &Workspace, arguments: &Arguments) -> Result<Value, Refusal> {
    let shape = |channel: &Channel| channel.counted_shape(&team.id, &team.bot_user);
    let is_visible = |channel: &Channel| team.visible_channel(&channel.id).is_ok();
    listed(team, arguments, is_visible, shape)
}

/// The channels that somebody is in; without a name, the bot's.
pub fn of_user(team: &Workspace, arguments: &Arguments) -> Result<Value, Refusal> {
    let user = arguments.text("user").unwrap_or(&team.bot_user);
    team.user(user)?;
    let shape = |channel: &Channel| {
        let mut shape = team.channel_shape(channel);
        if let Some(shape) = shape.as_object_mut() {
            shape.remove("is_member");
        }
        shape
    };
    let is_seen = |channel: &Channel| {
        channel.members.contains(user) && team.visible_channel(&channel.id).is_ok()
    };
    listed(team, arguments, is_seen, shape)
}

fn listed(
    team: &Workspace,
    arguments: &Arguments,
    is_seen: impl Fn(&Channel) -> bool,
    shape: impl Fn(&Channel) -> Value,
) -> Result<Value, Refusal> {
    let kinds: Vec<&str> =
        arguments.text("types").unwrap_or("public_channel").split(',').map(str::trim).collect();
    if !kinds.iter().all(|kind| is_kind(kind)) {
        return Err(refuse("invalid_types"));
    }
    let skips_archived = arguments.is_set("exclude_archived");
    let is_wanted = |channel: &&Channel| {
        kinds.contains(&channel.kind.listed_as())
            && is_seen(channel)
            && !(skips_archived && channel.is_archived)
    };
    let channels = team.channels.values().filter(is_wanted);
    let page = page(arguments, channels.map(|channel| (channel.id.as_str(), channel)), 100)?;
    let channels: Vec<Value> = page.items.into_iter().map(shape).collect();
    let metadata = metadata(&page.next);
    Ok(json!({ "ok": true, "channels": channels, "response_metadata": metadata }))
}

fn is_kind(name: &str) -> bool {
    let kinds = [Kind::Public, Kind::Private, Kind::Direct, Kind::Group];
    kinds.iter().any(|kind| kind.listed_as() == name)
}

pub fn info(team: &Workspace, arguments: &Arguments) -> Result<Value, Refusal> {
    let channel = team.visible_channel(arguments.required("channel", "channel_not_found")?)?;
    let mut shape = if arguments.is_set("include_num_members") {
        channel.counted_shape(&team.id, &team.bot_user)
    } else {
        team.channel_shape(channel)
    };
    if channel.members.contains(&team.bot_user) {
        extend(&mut shape, json!({ "last_read": "0000000000.000000" }));
    }
    Ok(json!({ "ok": true, "channel": shape }))
}

pub fn members(team: &Workspace, arguments: &Arguments) -> Result<Value, Refusal> {
    let channel = team.visible_channel(arguments.required("channel", "channel_not_found")?)?;
    let members = channel.members.iter().map(|member| (member.as_str(), member));
    let page = page(arguments, members, 100)?;
    let metadata = metadata(&page.next);
    Ok(json!({ "ok": true, "members": page.items, "response_metadata": metadata }))
}

pub fn join(team: &mut Workspace, arguments: &Arguments) -> Result<Value, Refusal> {
    let channel = arguments.required("channel", "channel_not_found")?;
    let bot = team.bot_user.clone();
    let place = team.visible_channel(channel)?;
    if place.kind != Kind::Public {
        return Err(refuse("method_not_supported_for_channel_type"));
    }
    let is_member = place.members.contains(&bot);
    if !is_member {
        team.join(channel, &bot)?;
    }
    let mut answer = json!({ "ok": true, "channel": team.channel_shape(team.channel(channel)?) });
    if is_member {
        let warning = "already_in_channel";
        let metadata = json!({ "warnings": [warning] });
        extend(&mut answer, json!({ "warning": warning, "response_metadata": metadata }));
    }
    Ok(answer)
}

pub fn leave(team: &mut Workspace, arguments: &Arguments) -> Result<Value, Refusal> {
    let channel = arguments.required("channel", "channel_not_found")?;
    let bot = team.bot_user.clone();
    if !team.visible_channel(channel)?.members.contains(&bot) {
        return Ok(json!({ "ok": true, "not_in_channel": true }));
    }
    team.leave(channel, &bot)?;
    Ok(json!({ "ok": true }))
}

/// A direct message with one person or with several.
pub fn open(team: &mut Workspace, arguments: &Arguments) -> Result<Value, Refusal> {
    if let Some(channel) = arguments.text("channel") {
        team.visible_channel(channel)?;
        let channel = channel.to_owned();
        return Ok(opened(team, arguments, &channel, Newness::Known));
    }
    let users = arguments.required("users", "users_list_not_supplied")?.to_owned();
    let users: Vec<&str> = users.split(',').map(str::trim).collect();
    let (channel, newness) = match users[..] {
        [user] => team.open_direct(user)?,
        _ => open_group(team, &users)?,
    };
    Ok(opened(team, arguments, &channel, newness))
}

fn open_group(team: &mut Workspace, users: &[&str]) -> Result<(String, Newness), Refusal> {
    let mut members: Vec<String> = users.iter().map(|user| (*user).to_owned()).collect();
    members.push(team.bot_user.clone());
    let set = members.iter().cloned().collect();
    let known = team
        .channels
        .values()
        .find(|channel| channel.kind == Kind::Group && channel.members == set);
    if let Some(channel) = known {
        return Ok((channel.id.clone(), Newness::Known));
    }
    let new = NewChannel { kind: Kind::Group, members, ..NewChannel::default() };
    Ok((team.add_channel(new)?, Newness::New))
}

fn opened(team: &Workspace, arguments: &Arguments, channel: &str, newness: Newness) -> Value {
    let shape = match team.channel(channel) {
        Ok(place) if arguments.is_set("return_im") => team.channel_shape(place),
        Ok(_) | Err(_) => json!({ "id": channel }),
    };
    let mut answer = json!({ "ok": true, "channel": shape });
    if newness == Newness::Known {
        extend(&mut answer, json!({ "no_op": true, "already_open": true }));
    }
    answer
}
