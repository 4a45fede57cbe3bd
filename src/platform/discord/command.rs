//! The slash command `/aizuchi`: how it takes part in a channel, for the one who asks. Nobody else sees it,
//! and it is no line of the talk.

use reqwest::Method;
use serde_json::{Value, json};
use tracing::{info, warn};
use twilight_model::channel::message::MessageFlags;

use crate::chat::{ChannelId, UserId};
use crate::command::{Command, Given};
use crate::persona::Language;
use crate::platform::discord::Discord;
use crate::platform::discord::api::{ApiError, Call};
use crate::platform::discord::from_discord::{Place, id_of, text};

/// Somebody gives a command; the answer to it is a message.
const COMMAND: u64 = 2;
const MESSAGE: u64 = 4;

impl Discord {
    /// Makes the command known, and answers whoever gives it.
    pub(super) async fn obey(&self) {
        self.register().await;
        while let Some(given) = self.next_command().await {
            if given["type"] == COMMAND {
                self.answer(&given).await;
            }
        }
    }

    /// The application is ours alone, so commands of whoever had it before go.
    async fn register(&self) {
        let commands = json!([{
            "name": "aizuchi",
            "type": 1,
            "description": "How it takes part in this channel",
            "description_localizations": { "ja": "このチャンネルでの参加のしかた" },
        }]);
        let path = format!("/applications/{}/commands", self.who.application);
        let call = Call::of(Method::PUT, path, Some(commands));
        match self.call(&call).await {
            Ok(_) => {}
            Err(error @ ApiError::Refused(_)) => warn!("there is no /aizuchi: {error}"),
            Err(error) => info!("there may be no /aizuchi until the next start: {error}"),
        }
    }

    async fn answer(&self, given: &Value) {
        let (Some(id), Some(token)) = (text(&given["id"]), text(&given["token"])) else { return };
        let body = json!({
            "type": MESSAGE,
            "data": {
                "content": self.told(given).await,
                "flags": MessageFlags::EPHEMERAL.bits(),
                "allowed_mentions": { "parse": [] },
            },
        });
        let call = Call::post(format!("/interactions/{id}/{token}/callback"), body);
        if let Err(error) = self.call(&call).await {
            info!("a command could not be answered: {error}");
        }
    }

    async fn told(&self, given: &Value) -> String {
        let channel = text(&given["channel_id"]).map(ChannelId::new);
        let place = channel.map(|channel| Place { guild: id_of(&given["guild_id"]), channel });
        let ground = match place {
            Some(place) => self.ground(&place, None).await.ok(),
            None => None,
        };
        match ground {
            Some(ground) => {
                let Some(by) = text(&given["member"]["user"]["id"]).or(text(&given["user"]["id"]))
                else {
                    return self.absence_in_words();
                };
                let (place, by) = (ground.conversation, UserId::new(by));
                let role = self.ears.rooms.role(&place.workspace, &by);
                let command = Command::Status;
                self.slash.obey(&Given { command, place, by, role, at: self.now() }).await
            }
            None => self.absence_in_words(),
        }
    }

    fn absence_in_words(&self) -> String {
        let name = &self.persona.name;
        match self.persona.language {
            Language::En => format!("{name} cannot see this channel. Give its role View Channels."),
            Language::Ja => format!(
                "{name} はこのチャンネルを見られません。ロールに「チャンネルを見る」を許可してください。"
            ),
        }
    }
}
