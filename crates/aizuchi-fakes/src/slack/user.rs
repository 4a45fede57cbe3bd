//! Who is in the team.

use serde::Deserialize;
use serde_json::{Value, json};

/// A person, or an app's bot.
#[derive(Clone, Debug, PartialEq)]
pub struct FakeUser {
    pub id: String,
    /// The handle, in small letters.
    pub name: String,
    pub real_name: String,
    /// May be empty; then people see the real name.
    pub display_name: String,
    pub bot: Option<Bot>,
    pub is_admin: bool,
    pub is_deleted: bool,
    /// Unix seconds.
    pub updated: u64,
}

/// The app behind a bot.
#[derive(Clone, Debug, PartialEq)]
pub struct Bot {
    pub id: String,
    pub app_id: String,
}

/// Somebody to add.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewUser {
    pub name: String,
    /// The name, if empty.
    pub real_name: String,
    pub display_name: String,
    pub is_bot: bool,
    pub is_admin: bool,
}

impl FakeUser {
    /// What people see.
    pub fn visible_name(&self) -> &str {
        let names = [&self.display_name, &self.real_name, &self.name];
        names.into_iter().find(|name| !name.is_empty()).map_or("", |name| name)
    }

    pub fn to_json(&self, team: &str) -> Value {
        let mut shape = json!({
            "id": self.id,
            "team_id": team,
            "name": self.name,
            "deleted": self.is_deleted,
            "profile": self.profile_json(team),
            "is_bot": self.bot.is_some(),
            "is_app_user": false,
            "updated": self.updated,
        });
        if !self.is_deleted {
            let more = json!({
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
            merge_fields(&mut shape, more);
        }
        shape
    }

    fn profile_json(&self, team: &str) -> Value {
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
            "team": team,
        });
        for size in ["24", "32", "48", "72", "192", "512"] {
            profile[format!("image_{size}")] = json!(picture(size));
        }
        if let Some(bot) = &self.bot {
            let more = json!({ "api_app_id": bot.app_id, "bot_id": bot.id, "always_active": true });
            merge_fields(&mut profile, more);
        }
        profile
    }
}

/// Adds the fields of one object to another.
pub fn merge_fields(shape: &mut Value, more: Value) {
    if let (Some(shape), Value::Object(more)) = (shape.as_object_mut(), more) {
        shape.extend(more);
    }
}
