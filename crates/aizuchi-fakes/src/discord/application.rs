//! The app and its user, as the API shows them.

use serde_json::{Value, json};
use twilight_model::gateway::Intents;
use twilight_model::oauth::ApplicationFlags;

use crate::discord::guild::FakeUser;
use crate::discord::world::World;

impl World {
    pub fn bot_user_json(&self) -> Value {
        let mut object = self.users.get(&self.bot_user).map_or(Value::Null, FakeUser::to_json);
        object["mfa_enabled"] = json!(false);
        object["verified"] = json!(true);
        object["email"] = Value::Null;
        object["locale"] = json!("en-US");
        object
    }

    /// Returns the app's flags, which show the enabled privileged intents.
    pub fn application_flags(&self) -> u64 {
        let mut flags = ApplicationFlags::empty();
        // `LIMITED` means enabled without Discord's review, as for all apps in few guilds.
        for (intent, flag) in [
            (Intents::GUILD_PRESENCES, ApplicationFlags::GATEWAY_PRESENCE_LIMITED),
            (Intents::GUILD_MEMBERS, ApplicationFlags::GATEWAY_GUILD_MEMBERS_LIMITED),
            (Intents::MESSAGE_CONTENT, ApplicationFlags::GATEWAY_MESSAGE_CONTENT_LIMITED),
        ] {
            flags.set(flag, self.enabled_privileged_intents.contains(intent));
        }
        flags.bits()
    }

    pub fn application_json(&self) -> Value {
        let bot = self.users.get(&self.bot_user);
        json!({
            "id": self.application(),
            "name": bot.map(FakeUser::visible_name),
            "description": "",
            "icon": null,
            "bot": bot.map(FakeUser::to_json),
            "bot_public": false,
            "bot_require_code_grant": false,
            "flags": self.application_flags(),
            "team": null,
            "summary": "",
            "verify_key": "00",
            "rpc_origins": [],
            "redirect_uris": [],
            "approximate_guild_count": self.guilds.len(),
        })
    }
}
