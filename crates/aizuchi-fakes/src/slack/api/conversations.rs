//! `conversations.*`: channels and their members.

use serde_json::{Value, json};

use crate::slack::api::pagination::{paginate, response_metadata};
use crate::slack::api_error::{ApiResult, api_error};
use crate::slack::arguments::Arguments;
use crate::slack::channel::{ChannelKind, FakeChannel};
use crate::slack::channel_actions::OpenOutcome;
use crate::slack::user::merge_fields;
use crate::slack::workspace::Workspace;

/// Returns all channels that the app may see.
pub fn list(workspace: &Workspace, arguments: &Arguments) -> ApiResult<Value> {
    let to_json = |channel: &FakeChannel| {
        channel.to_json_with_member_count(&workspace.id, &workspace.bot_user)
    };
    let is_visible = |channel: &FakeChannel| workspace.visible_channel(&channel.id).is_ok();
    list_page(workspace, arguments, is_visible, to_json)
}

/// Returns the channels that a user is in; by default, the bot.
pub fn list_for_user(workspace: &Workspace, arguments: &Arguments) -> ApiResult<Value> {
    let user = arguments.text("user").unwrap_or(&workspace.bot_user);
    workspace.user(user)?;
    let to_json = |channel: &FakeChannel| {
        let mut object = workspace.channel_json(channel);
        if let Some(object) = object.as_object_mut() {
            object.remove("is_member");
        }
        object
    };
    let is_visible = |channel: &FakeChannel| {
        channel.members.contains(user) && workspace.visible_channel(&channel.id).is_ok()
    };
    list_page(workspace, arguments, is_visible, to_json)
}

fn list_page(
    workspace: &Workspace,
    arguments: &Arguments,
    is_visible: impl Fn(&FakeChannel) -> bool,
    to_json: impl Fn(&FakeChannel) -> Value,
) -> ApiResult<Value> {
    let kinds: Vec<&str> =
        arguments.text("types").unwrap_or("public_channel").split(',').map(str::trim).collect();
    if !kinds.iter().all(|kind| is_conversation_type(kind)) {
        return Err(api_error("invalid_types"));
    }
    let excludes_archived = arguments.is_true("exclude_archived");
    let is_wanted = |channel: &&FakeChannel| {
        kinds.contains(&channel.kind.conversation_type())
            && is_visible(channel)
            && !(excludes_archived && channel.is_archived)
    };
    let channels = workspace.channels.values().filter(is_wanted);
    let page = paginate(arguments, channels.map(|channel| (channel.id.as_str(), channel)), 100)?;
    let channels: Vec<Value> = page.items.into_iter().map(to_json).collect();
    let metadata = response_metadata(&page.next_cursor);
    Ok(json!({ "ok": true, "channels": channels, "response_metadata": metadata }))
}

fn is_conversation_type(name: &str) -> bool {
    let kinds =
        [ChannelKind::Public, ChannelKind::Private, ChannelKind::Direct, ChannelKind::Group];
    kinds.iter().any(|kind| kind.conversation_type() == name)
}

pub fn info(workspace: &Workspace, arguments: &Arguments) -> ApiResult<Value> {
    let channel = workspace.visible_channel(arguments.required("channel", "channel_not_found")?)?;
    let mut object = if arguments.is_true("include_num_members") {
        channel.to_json_with_member_count(&workspace.id, &workspace.bot_user)
    } else {
        workspace.channel_json(channel)
    };
    if channel.members.contains(&workspace.bot_user) {
        merge_fields(&mut object, json!({ "last_read": "0000000000.000000" }));
    }
    Ok(json!({ "ok": true, "channel": object }))
}

pub fn members(workspace: &Workspace, arguments: &Arguments) -> ApiResult<Value> {
    let channel = workspace.visible_channel(arguments.required("channel", "channel_not_found")?)?;
    let members = channel.members.iter().map(|member| (member.as_str(), member));
    let page = paginate(arguments, members, 100)?;
    let metadata = response_metadata(&page.next_cursor);
    Ok(json!({ "ok": true, "members": page.items, "response_metadata": metadata }))
}

pub fn join(workspace: &mut Workspace, arguments: &Arguments) -> ApiResult<Value> {
    let channel = arguments.required("channel", "channel_not_found")?;
    let bot = workspace.bot_user.clone();
    let target = workspace.visible_channel(channel)?;
    if target.kind != ChannelKind::Public {
        return Err(api_error("method_not_supported_for_channel_type"));
    }
    let is_member = target.members.contains(&bot);
    if !is_member {
        workspace.join_channel(channel, &bot)?;
    }
    let mut response =
        json!({ "ok": true, "channel": workspace.channel_json(workspace.channel(channel)?) });
    if is_member {
        let warning = "already_in_channel";
        let metadata = json!({ "warnings": [warning] });
        merge_fields(&mut response, json!({ "warning": warning, "response_metadata": metadata }));
    }
    Ok(response)
}

/// Opens the direct message with a user.
pub fn open(workspace: &mut Workspace, arguments: &Arguments) -> ApiResult<Value> {
    let user = arguments.required("users", "users_list_not_supplied")?;
    let (channel, outcome) = workspace.open_direct_message(user)?;
    let mut response = json!({ "ok": true, "channel": { "id": channel } });
    if outcome == OpenOutcome::Existing {
        merge_fields(&mut response, json!({ "no_op": true, "already_open": true }));
    }
    Ok(response)
}
