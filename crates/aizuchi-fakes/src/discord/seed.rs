//! A small server to begin with, for people who try things out.

use crate::discord::FakeDiscord;
use crate::discord::api_error::ApiError;
use crate::discord::channel::{NewChannel, NewChannelKind};
use crate::discord::guild::NewUser;

impl FakeDiscord {
    /// Adds three people, another bot, a guild with a few rooms, and a direct message.
    pub fn seed(&self) -> Result<(), ApiError> {
        let mio = self.add_user("Mio");
        let ken = self.add_user("Ken");
        let emma = self.add_user("Emma");
        let weather = self.add_user_with(NewUser { name: "Weather".to_owned(), is_bot: true });
        let guild = self.add_guild("Dev Server", mio);
        for user in [ken, emma, weather] {
            self.add_member(guild, user)?;
        }
        let me = self.bot_user();
        let room = |name: &str, kind, members: &[_]| {
            self.add_channel(NewChannel {
                guild: Some(guild),
                name: name.to_owned(),
                kind,
                topic: None,
                members: members.to_vec(),
            })
        };
        room("general", NewChannelKind::Text, &[])?;
        room("plans", NewChannelKind::Text, &[mio, ken, me])?;
        room("board", NewChannelKind::Text, &[mio])?;
        room("questions", NewChannelKind::Forum, &[])?;
        self.open_direct_message(mio).map(|_| ())
    }
}
