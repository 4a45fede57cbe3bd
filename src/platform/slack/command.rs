//! The slash command `/aizuchi`: how it takes part in a channel, for the one who asks.

use serde_json::{Value, json};

use crate::chat::ChannelId;
use crate::persona::Language;
use crate::platform::slack::Slack;
use crate::platform::slack::from_slack::text;
use crate::platform::slack::roster::Standing;
use crate::rules::Mode;

impl Slack {
    /// The answer that Slack shows to the asker alone.
    pub fn command(&self, payload: &Value) -> Value {
        let channel = text(&payload["channel_id"]).map(ChannelId::new);
        let room = channel.and_then(|channel| self.roster.room(&channel));
        let told = match room.filter(|room| room.standing == Standing::Member) {
            Some(room) => {
                let mode = self.ears.rooms.mode(&self.who.workspace, &room.channel.id);
                self.mode_in_words(mode)
            }
            None => self.absence_in_words(),
        };
        json!({ "response_type": "ephemeral", "text": told })
    }

    fn mode_in_words(&self, mode: Mode) -> String {
        let name = &self.persona.name;
        let manner = match (self.persona.language, mode) {
            (Language::En, Mode::Companion) => {
                "joins in when the talk rests and it has something to add"
            }
            (Language::En, Mode::Facilitator) => "listens, and helps when the talk needs it",
            (Language::En, Mode::MentionOnly) => "speaks only when it is mentioned",
            (Language::En, Mode::Observe) => "listens and remembers, and never speaks",
            (Language::En, Mode::Off) => "does not listen",
            (Language::Ja, Mode::Companion) => "会話が落ち着いて、伝えたいことがあれば加わります",
            (Language::Ja, Mode::Facilitator) => "話を聞き、必要なときに手助けします",
            (Language::Ja, Mode::MentionOnly) => "メンションされたときだけ話します",
            (Language::Ja, Mode::Observe) => "聞いて覚えますが、話しません",
            (Language::Ja, Mode::Off) => "聞いていません",
        };
        match self.persona.language {
            Language::En => {
                format!("In this channel, {name} {manner}. Mention it for an answer at once.")
            }
            Language::Ja => {
                format!("このチャンネルでは、{name} は{manner}。メンションするとすぐに答えます。")
            }
        }
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
