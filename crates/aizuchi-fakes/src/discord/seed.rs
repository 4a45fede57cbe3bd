//! A small example server for `aizuchi dev discord`.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::fakes;

use crate::discord::FakeDiscord;
use crate::discord::api_error::ApiResult;
use crate::discord::channel::{NewChannel, NewChannelKind};
use crate::discord::guild::NewUser;

impl FakeDiscord {
    /// Adds three users, another bot, a guild with a few channels, and a direct message.
    pub fn seed(&self, language: Language) -> ApiResult {
        let mio = self.add_user(fakes::mio(language));
        let ken = self.add_user(fakes::ken(language));
        let emma = self.add_user(fakes::emma(language));
        let weather =
            self.add_user_with(NewUser { name: fakes::weather(language).to_owned(), is_bot: true });
        let guild = self.add_guild("Dev Server", mio);
        for user in [ken, emma, weather] {
            self.add_member(guild, user)?;
        }
        let bot = self.bot_user();
        let add_channel = |name: &str, kind, members: &[_]| {
            self.add_channel(NewChannel {
                guild: Some(guild),
                name: name.to_owned(),
                kind,
                topic: None,
                members: members.to_vec(),
            })
        };
        add_channel("general", NewChannelKind::Text, &[])?;
        add_channel("plans", NewChannelKind::Text, &[mio, ken, bot])?;
        add_channel("board", NewChannelKind::Text, &[mio])?;
        add_channel("questions", NewChannelKind::Forum, &[])?;
        self.open_direct_message(mio).map(|_| ())
    }
}
