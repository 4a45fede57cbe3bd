//! A small example workspace for `aizuchi dev slack`.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::fakes;

use crate::slack::FakeSlack;
use crate::slack::api_error::ApiResult;
use crate::slack::channel::{ChannelKind, NewChannel};
use crate::slack::user::NewUser;

impl FakeSlack {
    /// Adds three users, another bot, four channels, of which the bot is in two, and a direct message.
    pub fn seed(&self, language: Language) -> ApiResult {
        let add_user = |username: &str, name: &str, real_name: &str, is_admin| {
            self.add_user_with(NewUser {
                name: username.to_owned(),
                real_name: real_name.to_owned(),
                display_name: name.to_owned(),
                is_bot: false,
                is_admin,
            })
        };
        let mio = add_user("mio", fakes::mio(language), fakes::mio_tanaka(language), true);
        let ken = add_user("ken", fakes::ken(language), fakes::ken_sato(language), false);
        let emma = add_user("emma", fakes::emma(language), fakes::emma_berg(language), false);
        let weather = self.add_user_with(NewUser {
            name: fakes::weather(language).to_owned(),
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
