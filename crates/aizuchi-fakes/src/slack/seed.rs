//! A small example workspace for `aizuchi dev slack`.

use crate::slack::FakeSlack;
use crate::slack::api_error::ApiError;
use crate::slack::channel::{ChannelKind, NewChannel};
use crate::slack::user::NewUser;

impl FakeSlack {
    /// Adds three users, another bot, four channels, of which the bot is in two, and a direct message.
    pub fn seed(&self) -> Result<(), ApiError> {
        let add_user = |name: &str, real_name: &str, is_admin| {
            self.add_user_with(NewUser {
                name: name.to_lowercase(),
                real_name: real_name.to_owned(),
                display_name: name.to_owned(),
                is_bot: false,
                is_admin,
            })
        };
        let mio = add_user("Mio", "Mio Tanaka", true);
        let ken = add_user("Ken", "Ken Sato", false);
        let emma = add_user("Emma", "Emma Berg", false);
        let weather = self.add_user_with(NewUser {
            name: "Weather".to_owned(),
            is_bot: true,
            ..NewUser::default()
        });
        let bot = self.bot_user();
        let everyone = vec![mio.clone(), ken.clone(), emma, weather, bot.clone()];
        let add_channel = |name: &str, kind, members: &[String]| {
            self.add_channel(NewChannel {
                name: name.to_owned(),
                kind,
                members: members.to_vec(),
                ..NewChannel::default()
            })
        };
        add_channel("general", ChannelKind::Public, &everyone)?;
        add_channel("plans", ChannelKind::Private, &[mio.clone(), ken.clone(), bot])?;
        add_channel("random", ChannelKind::Public, &[mio.clone(), ken])?;
        add_channel("board", ChannelKind::Private, std::slice::from_ref(&mio))?;
        self.open_direct_message(&mio).map(|_| ())
    }
}
