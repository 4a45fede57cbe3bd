//! A small team to begin with, for people who try things out.

use crate::slack::FakeSlack;
use crate::slack::api_error::ApiError;
use crate::slack::channel::{ChannelKind, NewChannel};
use crate::slack::user::NewUser;

impl FakeSlack {
    /// Adds three people, another bot and a few rooms; the bot is in two of them.
    pub fn seed(&self) -> Result<(), ApiError> {
        let person = |name: &str, real_name: &str, is_admin| {
            self.add_user_with(NewUser {
                name: name.to_lowercase(),
                real_name: real_name.to_owned(),
                display_name: name.to_owned(),
                is_bot: false,
                is_admin,
            })
        };
        let mio = person("Mio", "Mio Tanaka", true);
        let ken = person("Ken", "Ken Sato", false);
        let emma = person("Emma", "Emma Berg", false);
        let weather = self.add_user_with(NewUser {
            name: "Weather".to_owned(),
            is_bot: true,
            ..NewUser::default()
        });
        let bot = self.bot_user();
        let everybody = vec![mio.clone(), ken.clone(), emma, weather, bot.clone()];
        let room = |name: &str, kind, members: &[String]| {
            self.add_channel(NewChannel {
                name: name.to_owned(),
                kind,
                members: members.to_vec(),
                ..NewChannel::default()
            })
        };
        room("general", ChannelKind::Public, &everybody)?;
        room("plans", ChannelKind::Private, &[mio.clone(), ken.clone(), bot])?;
        room("random", ChannelKind::Public, &[mio.clone(), ken])?;
        room("board", ChannelKind::Private, std::slice::from_ref(&mio))?;
        self.open_direct_message(&mio).map(|_| ())
    }
}
