//! `auth.test`, `team.info` and `users.*`.

use serde_json::{Value, json};

use crate::slack::api::pagination::{paginate, response_metadata};
use crate::slack::api_error::ApiResult;
use crate::slack::arguments::Arguments;
use crate::slack::workspace::Workspace;

pub fn auth_test(workspace: &Workspace) -> ApiResult<Value> {
    let bot = workspace.user(&workspace.bot_user)?;
    Ok(json!({
        "ok": true,
        "url": format!("https://{}.slack.com/", workspace.domain),
        "team": workspace.name,
        "user": bot.name,
        "team_id": workspace.id,
        "user_id": workspace.bot_user,
        "bot_id": workspace.bot.id,
        "is_enterprise_install": false,
    }))
}

pub fn team_info(workspace: &Workspace) -> ApiResult<Value> {
    let mut icon = json!({ "image_default": true });
    for size in ["34", "44", "68", "88", "102", "132", "230"] {
        icon[format!("image_{size}")] = json!(format!("https://a.slack-edge.com/dev/{size}.png"));
    }
    Ok(json!({
        "ok": true,
        "team": {
            "id": workspace.id,
            "name": workspace.name,
            "url": format!("https://{}.slack.com/", workspace.domain),
            "domain": workspace.domain,
            "email_domain": "",
            "icon": icon,
            "avatar_base_url": "https://ca.slack-edge.com/",
            "is_verified": false,
        },
    }))
}

pub fn users_list(workspace: &Workspace, arguments: &Arguments) -> ApiResult<Value> {
    let users = workspace.users.values().map(|user| (user.id.as_str(), workspace.user_json(user)));
    let page = paginate(arguments, users, 1000)?;
    Ok(json!({
        "ok": true,
        "members": page.items,
        "cache_ts": workspace.unix_seconds(),
        "response_metadata": response_metadata(&page.next_cursor),
    }))
}

pub fn users_info(workspace: &Workspace, arguments: &Arguments) -> ApiResult<Value> {
    let user = workspace.user(arguments.required("user", "user_not_found")?)?;
    Ok(json!({ "ok": true, "user": workspace.user_json(user) }))
}
