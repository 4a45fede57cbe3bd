//! The slash command `/aizuchi`: how it takes part in a channel, for the one who asks.

use serde_json::{Value, json};

use crate::chat::ChannelId;
use crate::persona::Language;
use crate::platform::manner::in_words;
use crate::platform::slack::Slack;
use crate::platform::slack::from_slack::text;
use crate::platform::slack::roster::Standing;

impl Slack {
    /// The answer that Slack shows to the asker alone.
    pub fn command(&self, payload: &Value) -> Value {
        let channel = text(&payload["channel_id"]).map(ChannelId::new);
        let room = channel.and_then(|channel| self.roster.room(&channel));
        let told = match room.filter(|room| room.standing == Standing::Member) {
            Some(room) => {
                let mode = self.ears.rooms.mode(&self.who.workspace, &room.channel.id);
                in_words(&self.persona, mode)
            }
            None => self.absence_in_words(),
        };
        json!({ "response_type": "ephemeral", "text": told })
    }

    fn absence_in_words(&self) -> String {
        let name = &self.persona.name;
        match self.persona.language {
            Language::En => format!("{name} is not in this channel. Invite it with /invite."),
            Language::Ja => {
                format!("{name} はこのチャンネルにいません。/invite で招待してください。")
            }
        }
    }
}
