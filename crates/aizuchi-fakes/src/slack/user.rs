//! The users of a workspace, including bots.

use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Clone, Debug, PartialEq)]
pub struct FakeUser {
    pub id: String,
    /// The handle, in lower case.
    pub name: String,
    pub real_name: String,
    /// The display name. If empty, other users see the real name.
    pub display_name: String,
    pub bot: Option<Bot>,
    pub is_admin: bool,
    pub is_deleted: bool,
    /// The time of the last change in Unix seconds.
    pub updated: u64,
}

/// The app behind a bot.
#[derive(Clone, Debug, PartialEq)]
pub struct Bot {
    pub id: String,
    pub app_id: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewUser {
    pub name: String,
    /// By default the same as `name`.
    pub real_name: String,
    pub display_name: String,
    pub is_bot: bool,
    pub is_admin: bool,
}

impl FakeUser {
    /// Returns the name that other users see.
    pub fn visible_name(&self) -> &str {
        let names = [&self.display_name, &self.real_name, &self.name];
        names.into_iter().find(|name| !name.is_empty()).map_or("", |name| name)
    }

    pub fn to_json(&self, team_id: &str) -> Value {
        let mut object = json!({
            "id": self.id,
            "team_id": team_id,
            "name": self.name,
            "deleted": self.is_deleted,
            "profile": self.profile_json(team_id),
            "is_bot": self.bot.is_some(),
            "is_app_user": false,
            "updated": self.updated,
        });
        if !self.is_deleted {
            let extra_fields = json!({
                "color": "9f69e7",
                "real_name": self.real_name,
                "tz": "Asia/Tokyo",
                "tz_label": "Japan Standard Time",
                "tz_offset": 32400,
                "is_admin": self.is_admin,
                "is_owner": false,
                "is_primary_owner": false,
                "is_restricted": false,
                "is_ultra_restricted": false,
                "is_email_confirmed": self.bot.is_none(),
                "who_can_share_contact_card": "EVERYONE",
            });
            merge_fields(&mut object, extra_fields);
        }
        object
    }

    fn profile_json(&self, team_id: &str) -> Value {
        let picture = |size: &str| format!("https://secure.gravatar.com/avatar/0?s={size}");
        let mut profile = json!({
            "title": "",
            "phone": "",
            "skype": "",
            "real_name": self.real_name,
            "real_name_normalized": self.real_name,
            "display_name": self.display_name,
            "display_name_normalized": self.display_name,
            "fields": null,
            "status_text": "",
            "status_emoji": "",
            "status_emoji_display_info": [],
            "status_expiration": 0,
            "status_text_canonical": "",
            "huddle_state": "default_unset",
            "huddle_state_expiration_ts": 0,
            "avatar_hash": "g000000000000",
            "first_name": self.real_name.split(' ').next().unwrap_or_default(),
            "last_name": self.real_name.split_once(' ').map_or("", |(_, last)| last),
            "team": team_id,
        });
        for size in ["24", "32", "48", "72", "192", "512"] {
            profile[format!("image_{size}")] = json!(picture(size));
        }
        if let Some(bot) = &self.bot {
            let extra_fields =
                json!({ "api_app_id": bot.app_id, "bot_id": bot.id, "always_active": true });
            merge_fields(&mut profile, extra_fields);
        }
        profile
    }
}

/// Adds the fields of one object to another.
pub fn merge_fields(object: &mut Value, extra_fields: Value) {
    if let (Some(object), Value::Object(extra_fields)) = (object.as_object_mut(), extra_fields) {
        object.extend(extra_fields);
    }
}
