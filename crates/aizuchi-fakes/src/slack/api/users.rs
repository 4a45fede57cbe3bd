//! Methods about the team and who is in it.

use serde_json::{Value, json};

use crate::slack::api::pagination::{paginate, response_metadata};
use crate::slack::api_error::ApiError;
use crate::slack::arguments::Arguments;
use crate::slack::workspace::Workspace;

pub fn auth_test(team: &Workspace) -> Result<Value, ApiError> {
    let bot = team.user(&team.bot_user)?;
    Ok(json!({
        "ok": true,
        "url": format!("https://{}.slack.com/", team.domain),
        "team": team.name,
        "user": bot.name,
        "team_id": team.id,
        "user_id": team.bot_user,
        "bot_id": team.bot.id,
        "is_enterprise_install": false,
    }))
}

pub fn team_info(team: &Workspace) -> Result<Value, ApiError> {
    let mut icon = json!({ "image_default": true });
    for size in ["34", "44", "68", "88", "102", "132", "230"] {
        icon[format!("image_{size}")] = json!(format!("https://a.slack-edge.com/dev/{size}.png"));
    }
    Ok(json!({
        "ok": true,
        "team": {
            "id": team.id,
            "name": team.name,
            "url": format!("https://{}.slack.com/", team.domain),
            "domain": team.domain,
            "email_domain": "",
            "icon": icon,
            "avatar_base_url": "https://ca.slack-edge.com/",
            "is_verified": false,
        },
    }))
}

pub fn users_list(team: &Workspace, arguments: &Arguments) -> Result<Value, ApiError> {
    let users = team.users.values().map(|user| (user.id.as_str(), team.user_json(user)));
    let page = paginate(arguments, users, 1000)?;
    Ok(json!({
        "ok": true,
        "members": page.items,
        "cache_ts": team.unix_seconds(),
        "response_metadata": response_metadata(&page.next_cursor),
    }))
}

pub fn users_info(team: &Workspace, arguments: &Arguments) -> Result<Value, ApiError> {
    let user = team.user(arguments.required("user", "user_not_found")?)?;
    Ok(json!({ "ok": true, "user": team.user_json(user) }))
}
