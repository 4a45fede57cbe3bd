//! The app itself, as Discord shows it.

use serde_json::{Value, json};
use twilight_model::gateway::Intents;
use twilight_model::oauth::ApplicationFlags;

use crate::discord::guild::FakeUser;
use crate::discord::world::World;

impl World {
    /// The app's own user.
    pub fn bot_user_json(&self) -> Value {
        let mut shape = self.users.get(&self.bot_user).map_or(Value::Null, FakeUser::to_json);
        shape["mfa_enabled"] = json!(false);
        shape["verified"] = json!(true);
        shape["email"] = Value::Null;
        shape["locale"] = json!("en-US");
        shape
    }

    /// Which privileged intents are switched on for the app, as its flags say it.
    pub fn application_flags(&self) -> u64 {
        let mut flags = ApplicationFlags::empty();
        // Apps in few guilds have them without a review, which is what `LIMITED` says.
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
