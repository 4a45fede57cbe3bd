//! Asks keepers in their direct message with the bot, with buttons below, and takes what they click.

use std::collections::BTreeSet;

use async_trait::async_trait;
use reqwest::Method;
use serde_json::{Value, json};
use tracing::info;
use twilight_model::channel::message::MessageFlags;
use twilight_model::http::interaction::InteractionResponseType;

use crate::DiscordPlatform;
use crate::api::ApiRequest;
use crate::command::truncated;
use crate::from_discord::message::QUESTION_PREFIX;
use crate::identity::guild_workspace;
use crate::json::{id_str, non_empty_str};
use crate::post::{nonce, post_error};
use crate::text::write::{MentionLookup, to_discord_markdown};
use aizuchi_core::chat::{ChannelId, MessageId, UserId, WorkspaceId};
use aizuchi_core::platform::PlatformError;
use aizuchi_core::platform::keeper::{
    Click, KeeperButton, KeeperChat, Question, QuestionPlace, QuestionSubject,
};

/// Discord's numbers of components, and of a button's style.
const ACTION_ROW: u8 = 1;
const BUTTON: u8 = 2;
const SECONDARY: u8 = 2;

#[async_trait]
impl KeeperChat for DiscordPlatform {
    fn workspaces(&self) -> Vec<WorkspaceId> {
        // The bot may have joined a server meanwhile.
        let known = self.cache.guilds().into_iter().map(guild_workspace);
        let all: BTreeSet<_> = self.identity.workspaces().into_iter().chain(known).collect();
        all.into_iter().collect()
    }

    async fn ask(
        &self,
        keeper: &UserId,
        question: &Question,
    ) -> Result<QuestionPlace, PlatformError> {
        let recipient = json!({ "recipient_id": keeper });
        let opening = ApiRequest::post("/users/@me/channels", recipient);
        let opened = self.call(&opening).await.map_err(post_error)?;
        let channel = self.answered_id(&opening, &opened["id"])?;
        let key = format!("{}-proposal-{}", question.workspace, question.subject.key());
        let mut body = message(&question_text(question), &question_buttons(question));
        body["nonce"] = json!(nonce(&key));
        body["enforce_nonce"] = json!(true);
        let call = ApiRequest::post(format!("/channels/{channel}/messages"), body);
        let posted = self.call(&call).await.map_err(post_error)?;
        let message = self.answered_id(&call, &posted["id"])?;
        let (channel, message) = (ChannelId::new(channel), MessageId::new(message));
        Ok(QuestionPlace { channel, message })
    }

    async fn settle(&self, place: &QuestionPlace, text: &str) -> Result<(), PlatformError> {
        // A button that does nothing: by it the message is still known as a question, of which nothing is kept.
        let settled = json!({ "type": BUTTON, "style": SECONDARY, "label": "✓", "disabled": true,
            "custom_id": format!("{QUESTION_PREFIX}settled") });
        let text = to_discord_markdown(text, &MentionLookup::empty());
        let body = message(&text, &[settled]);
        let path = format!("/channels/{}/messages/{}", place.channel, place.message);
        let call = ApiRequest::new(Method::PATCH, path, Some(body));
        self.call(&call).await.map_err(post_error)?;
        Ok(())
    }
}

impl DiscordPlatform {
    fn answered_id(&self, call: &ApiRequest, id: &Value) -> Result<String, PlatformError> {
        id_str(id).map(str::to_owned).ok_or_else(|| {
            self.record_malformed_response(call);
            PlatformError::OutcomeUnknown("Discord does not say where it stands".to_owned())
        })
    }

    /// Decides as somebody clicked. Discord hears at once that the click has arrived; whoever clicked is told if it led to
    /// nothing.
    pub(super) async fn answer_click(&self, interaction: &Value) {
        let received = InteractionResponseType::DeferredUpdateMessage;
        self.send_response(interaction, received, json!({})).await;
        let Some(click) = parse_click(interaction) else { return };
        let Some(told) = self.keepers.answer(click).await else { return };
        let Some(token) = non_empty_str(&interaction["token"]) else { return };
        let body = json!({
            "content": told,
            "flags": (MessageFlags::EPHEMERAL | MessageFlags::SUPPRESS_EMBEDS).bits(),
            "allowed_mentions": { "parse": [] },
        });
        let path = format!("/webhooks/{}/{token}", self.identity.application);
        if let Err(error) = self.call(&ApiRequest::post(path, body)).await {
            info!(platform = "discord", %error, "could not answer a click");
        }
    }
}

/// A click on one of the buttons below a question; nothing else is a click.
fn parse_click(interaction: &Value) -> Option<Click> {
    let user =
        id_str(&interaction["user"]["id"]).or(id_str(&interaction["member"]["user"]["id"]))?;
    let id = non_empty_str(&interaction["data"]["custom_id"])?.strip_prefix(QUESTION_PREFIX)?;
    let (button, rest) = id.split_once('/')?;
    let (key, workspace) = rest.split_once('/')?;
    Some(Click {
        workspace: WorkspaceId::new(workspace),
        subject: QuestionSubject::parse(key)?,
        user: UserId::new(user),
        button: KeeperButton::parse(button)?,
    })
}

/// A message in which nobody is mentioned, and no address is previewed.
fn message(text: &str, buttons: &[Value]) -> Value {
    json!({
        "content": text,
        "allowed_mentions": { "parse": [], "replied_user": false },
        "flags": MessageFlags::SUPPRESS_EMBEDS.bits(),
        "components": [{ "type": ACTION_ROW, "components": buttons }],
    })
}

fn question_text(question: &Question) -> String {
    let [heading, draft, note] = [&question.heading, &question.draft, &question.note]
        .map(|text| to_discord_markdown(text, &MentionLookup::empty()));
    truncated(format!("{heading}\n\n{draft}\n\n{note}"))
}

fn question_buttons(question: &Question) -> Vec<Value> {
    let (workspace, key) = (&question.workspace, question.subject.key());
    let buttons = question.buttons.iter().map(|(button, words)| {
        let id = format!("{QUESTION_PREFIX}{}/{key}/{workspace}", button.name());
        json!({ "type": BUTTON, "style": SECONDARY, "label": words, "custom_id": id })
    });
    buttons.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from_discord::message::parse_message;
    use aizuchi_core::decision::consent::ConsentId;
    use aizuchi_core::decision::proposal::ProposalId;

    fn question() -> Question {
        Question {
            workspace: WorkspaceId::new("discord:1"),
            subject: QuestionSubject::Proposal(ProposalId(7)),
            heading: "In #tea I’d say:".to_owned(),
            draft: "Ask again.".to_owned(),
            note: "Why: nobody answers".to_owned(),
            buttons: KeeperButton::ALL.map(|button| (button, "Words")).into(),
        }
    }

    #[test]
    fn each_button_says_what_was_clicked() {
        for (component, button) in question_buttons(&question()).iter().zip(KeeperButton::ALL) {
            let custom_id = &component["custom_id"];
            assert!(custom_id.as_str().unwrap().len() <= 100, "{custom_id}");
            let interaction = json!({ "user": { "id": "5" }, "data": { "custom_id": custom_id } });
            let (workspace, user) = (WorkspaceId::new("discord:1"), UserId::new("5"));
            let subject = QuestionSubject::Proposal(ProposalId(7));
            let click = Click { workspace, subject, user, button };
            assert_eq!(parse_click(&interaction), Some(click));
        }
        for custom_id in ["", "other", "aizuchi/settled", "aizuchi/say/x/w", "aizuchi/edit/7/w"] {
            let interaction = json!({ "user": { "id": "5" }, "data": { "custom_id": custom_id } });
            assert_eq!(parse_click(&interaction), None, "{custom_id}");
        }
        assert_eq!(parse_click(&json!([])), None);
    }

    /// Nothing in the arguments of a call can leave their block, and they are shown in full.
    #[test]
    fn arguments_are_shown_as_code() {
        let shown =
            format!("{{\n  \"text\": \"*a* \\u0060\\u0060\\u0060 {}\"\n}}", "花".repeat(1_160));
        let call = Question {
            subject: QuestionSubject::Call(ConsentId(8)),
            draft: format!("```\n{shown}\n```"),
            ..question()
        };
        let text = question_text(&call);
        assert!(text.contains(&format!("```\n{shown}\n```")), "{text}");
        assert!(text.ends_with("nobody answers"), "{text}");
        let custom_id = &question_buttons(&call)[3]["custom_id"];
        assert_eq!(custom_id, "aizuchi/allow_once/call-8/discord:1");
    }

    #[test]
    fn a_question_is_no_message_of_a_conversation() {
        let heard = |buttons: &[Value]| {
            let mut json = message("In #tea", buttons);
            json["id"] = json!("175928847299117063");
            json["channel_id"] = json!("2");
            json["author"] = json!({ "id": "3", "username": "Aizuchi", "bot": true });
            parse_message(&json).is_some()
        };
        assert!(!heard(&question_buttons(&question())));
        assert!(heard(&[]));
    }
}
