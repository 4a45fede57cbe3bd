//! Changes to the users of a workspace, and the app's uninstallation.

use serde_json::{Value, json};

use crate::slack::api_error::ApiResult;
use crate::slack::user::{Bot, FakeUser, NewUser};
use crate::slack::workspace::Workspace;

/// The new names of a user.
#[derive(Clone, Copy, Debug)]
pub struct NameChange<'a> {
    pub real_name: &'a str,
    pub display_name: &'a str,
}

impl Workspace {
    pub fn add_user_with(&mut self, new: NewUser) -> String {
        let id = self.new_id('U');
        let bot = new.is_bot.then(|| Bot { id: self.new_id('B'), app_id: self.new_id('A') });
        let user = FakeUser {
            id: id.clone(),
            name: new.name.to_lowercase().replace(' ', "."),
            real_name: if new.real_name.is_empty() { new.name } else { new.real_name },
            display_name: new.display_name,
            bot,
            is_admin: new.is_admin,
            is_deleted: false,
            updated: self.unix_seconds(),
        };
        let object = self.user_json(&user);
        self.users.insert(id.clone(), user);
        self.emit_event(
            json!({ "type": "team_join", "user": object, "cache_ts": self.unix_seconds() }),
        );
        id
    }

    pub fn rename_user(&mut self, user: &str, names: NameChange<'_>) -> ApiResult {
        self.update_user(user, |user| {
            user.real_name = names.real_name.to_owned();
            user.display_name = names.display_name.to_owned();
        })
    }

    /// Deactivates an account. The user's messages are kept.
    pub fn deactivate_user(&mut self, user: &str) -> ApiResult {
        self.update_user(user, |user| user.is_deleted = true)
    }

    fn update_user(&mut self, user: &str, change: impl FnOnce(&mut FakeUser)) -> ApiResult {
        let now = self.unix_seconds();
        let user = self.user_mut(user)?;
        change(user);
        user.updated = now;
        let user = user.clone();
        let object = self.user_json(&user);
        for kind in ["user_change", "user_profile_changed"] {
            self.emit_event(json!({ "type": kind, "user": object, "cache_ts": now }));
        }
        Ok(())
    }

    /// Returns the events that notify the app of its uninstallation.
    pub fn uninstalled_events(&self) -> [Value; 2] {
        let tokens = json!({ "oauth": [], "bot": [self.bot_user] });
        [
            json!({ "type": "tokens_revoked", "tokens": tokens }),
            json!({ "type": "app_uninstalled" }),
        ]
    }
}
