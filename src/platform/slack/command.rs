//! The slash command `/aizuchi`.

use serde_json::{Value, json};

use crate::chat::{ChannelId, ConversationId, UserId};
use crate::command::Given;
use crate::persona::Language;
use crate::platform::slack::Slack;
use crate::platform::slack::from_slack::text;
use crate::platform::slack::mrkdwn::write::write;
use crate::platform::slack::roster::Standing;
use crate::platform::slash::Slash;

impl Slack {
    /// The answer that Slack shows to the asker alone. Some of it is a model's words: they call nobody and lead
    /// nowhere.
    pub async fn command(&self, payload: &Value) -> Value {
        let told = match self.given(payload) {
            Some(given) => self.slash.obey(&given).await,
            None => self.absence_in_words(),
        };
        json!({ "response_type": "ephemeral", "text": write(&told, &|_| None) })
    }

    /// Only where it is a member anybody can order anything.
    fn given(&self, payload: &Value) -> Option<Given> {
        let channel = ChannelId::new(text(&payload["channel_id"])?);
        let by = UserId::new(text(&payload["user_id"])?);
        self.roster.room(&channel).filter(|room| room.standing == Standing::Member)?;
        let workspace = self.who.workspace.clone();
        Some(Given {
            command: Slash::read(text(&payload["text"]).unwrap_or_default()),
            role: self.ears.rooms.role(&workspace, &by),
            visibility: self.ears.rooms.visibility(&workspace, &channel),
            place: ConversationId { workspace, channel, thread: None },
            by,
            at: self.now(),
        })
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
