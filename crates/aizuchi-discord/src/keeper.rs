//! Asks keepers in their direct message with the bot, with buttons below the question, and takes their clicks and
//! edits.

use std::collections::BTreeSet;

use aizuchi_actions::question::{Choice, QuestionSubject};
use aizuchi_model::chat::{ChannelId, MessageId, UserId, WorkspaceId};
use aizuchi_model::decision::proposal::ProposalId;
use aizuchi_model::outgoing::urls::without_urls;
use aizuchi_model::platform::PlatformError;
use aizuchi_model::split::utf16_length;
use aizuchi_platform::keeper::edit::{EditForm, FilledForm};
use aizuchi_platform::keeper::history_scan::{HistoryScan, MAX_SCANNED};
use aizuchi_platform::keeper::{Click, ClickAnswer, KeeperChat, KeeperQuestion, QuestionPlace};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use reqwest::Method;
use serde_json::{Value, json};
use tracing::info;
use twilight_model::channel::message::MessageFlags;
use twilight_model::http::interaction::InteractionResponseType;

use crate::DiscordPlatform;
use crate::api::{ApiRequest, DiscordApiError};
use crate::command::truncated;
use crate::from_discord::message::QUESTION_PREFIX;
use crate::identity::guild_workspace;
use crate::json::{id_str, non_empty_str};
use crate::post::nonce;
use crate::snowflake::id_timestamp;
use crate::text::write::{MAX_MESSAGE_LENGTH, MentionLookup, to_discord_markdown};

/// Discord's numbers for components, for a button's style, and for the style of a multi-line field.
const ACTION_ROW: u8 = 1;
const BUTTON: u8 = 2;
const TEXT_INPUT: u8 = 4;
const SECONDARY: u8 = 2;
const PARAGRAPH: u8 = 2;
/// Discord's limit for the length of a text field.
pub(super) const MAX_FORM_LENGTH: usize = 4_000;
/// Follows [`QUESTION_PREFIX`] in the `custom_id` of a form.
const FORM: &str = "words";
/// The `custom_id` of the form's field.
const FIELD: &str = "text";

#[async_trait]
impl KeeperChat for DiscordPlatform {
    fn workspaces(&self) -> Vec<WorkspaceId> {
        // The bot may have joined a server in the meantime.
        let known = self.cache.guilds().into_iter().map(guild_workspace);
        let all: BTreeSet<_> = self.identity.workspaces().into_iter().chain(known).collect();
        all.into_iter().collect()
    }

    async fn ask(
        &self,
        keeper: &UserId,
        question: &KeeperQuestion,
    ) -> Result<QuestionPlace, PlatformError> {
        let channel = self.open_direct(keeper).await?;
        let key = format!("{}-proposal-{}", question.workspace, question.subject.key());
        let mut body = message(&question_text(question), &question_buttons(question));
        body["nonce"] = json!(nonce(&key));
        body["enforce_nonce"] = json!(true);
        let call = ApiRequest::post(format!("/channels/{channel}/messages"), body);
        let posted = self.call(&call).await.map_err(DiscordApiError::of_post)?;
        let message = self.answered_id(&call, &posted["id"])?;
        let (channel, message) = (ChannelId::new(channel), MessageId::new(message));
        Ok(QuestionPlace { channel, message })
    }

    async fn find_question(
        &self,
        keeper: &UserId,
        workspace: &WorkspaceId,
        subject: QuestionSubject,
        since: Timestamp,
    ) -> Result<Option<QuestionPlace>, PlatformError> {
        let (channel, messages, scan) = self.read_direct(keeper).await?;
        let Some(found) = messages.iter().find(|message| is_asked(message, workspace, subject))
        else {
            return scan.expect_absent(since).map(|()| None);
        };
        let message = self.answered_id(&history_request(&channel), &found["id"])?;
        let (channel, message) = (ChannelId::new(channel), MessageId::new(message));
        Ok(Some(QuestionPlace { channel, message }))
    }

    async fn settle(&self, place: &QuestionPlace, text: &str) -> Result<(), PlatformError> {
        let settled = idle_button(&format!("{QUESTION_PREFIX}settled"));
        let text = to_discord_markdown(text, &MentionLookup::empty());
        let body = message(&text, &[settled]);
        let path = format!("/channels/{}/messages/{}", place.channel, place.message);
        let call = ApiRequest::new(Method::PATCH, path, Some(body));
        self.call(&call).await.map_err(DiscordApiError::of_post)?;
        Ok(())
    }

    fn delivery_timeout(&self) -> SignedDuration {
        self.settings.in_flight_timeout
    }
}

impl DiscordPlatform {
    /// Opens the bot's direct message with a user, and returns its channel.
    async fn open_direct(&self, user: &UserId) -> Result<String, PlatformError> {
        let opening = ApiRequest::post("/users/@me/channels", json!({ "recipient_id": user }));
        let opened = self.call(&opening).await.map_err(DiscordApiError::of_post)?;
        self.answered_id(&opening, &opened["id"])
    }

    /// Returns the direct message with a user, and the bot's own messages among its newest ones.
    async fn read_direct(
        &self,
        user: &UserId,
    ) -> Result<(String, Vec<Value>, HistoryScan), PlatformError> {
        let channel = self.open_direct(user).await?;
        let call = history_request(&channel);
        let found = self.call(&call).await.map_err(DiscordApiError::of_read)?;
        let Some(messages) = found.as_array() else {
            self.record_malformed_response(&call);
            return Err(PlatformError::OutcomeUnknown("the history has no messages".to_owned()));
        };
        let own = self.identity.user.to_string();
        let is_own = |message: &&Value| message["author"]["id"] == own.as_str();
        // Newest first.
        let oldest = messages.last().and_then(|message| id_timestamp(id_str(&message["id"])?));
        let scan = HistoryScan { has_more: messages.len() >= MAX_SCANNED, oldest };
        Ok((channel, messages.iter().filter(is_own).cloned().collect(), scan))
    }

    fn answered_id(&self, call: &ApiRequest, id: &Value) -> Result<String, PlatformError> {
        id_str(id).map(str::to_owned).ok_or_else(|| {
            self.record_malformed_response(call);
            PlatformError::OutcomeUnknown("Discord does not say where it stands".to_owned())
        })
    }

    /// Applies a click, or opens the form for another text. The click is confirmed to Discord immediately; the user is
    /// told if it had no effect.
    pub(super) async fn answer_click(&self, interaction: &Value) {
        match parse_click(interaction) {
            // A form can only be the first response.
            Some(click) if click.button == Choice::Edit => {
                self.open_form(interaction, click).await;
            }
            Some(click) => {
                self.confirm(interaction).await;
                if let ClickAnswer::Tell(told) = self.keepers.answer(click).await {
                    self.send_notice(interaction, told).await;
                }
            }
            None => self.confirm(interaction).await,
        }
    }

    async fn open_form(&self, interaction: &Value, click: Click) {
        let (kind, data) = match self.keepers.answer(click).await {
            ClickAnswer::Open(form) => (InteractionResponseType::Modal, form_data(&form)),
            ClickAnswer::Tell(told) => {
                (InteractionResponseType::ChannelMessageWithSource, notice(told))
            }
            ClickAnswer::Settles => (InteractionResponseType::DeferredUpdateMessage, json!({})),
        };
        self.send_response(interaction, kind, data).await;
    }

    /// Posts the text of a submitted form. Discord closes the form; the user is told if it had no effect.
    pub(super) async fn answer_form(&self, interaction: &Value) {
        self.confirm(interaction).await;
        let Some(form) = parse_form(interaction) else { return };
        if let Some(told) = self.keepers.submit(form).await {
            self.send_notice(interaction, told).await;
        }
    }

    /// Confirms to Discord that an interaction has arrived.
    async fn confirm(&self, interaction: &Value) {
        let received = InteractionResponseType::DeferredUpdateMessage;
        self.send_response(interaction, received, json!({})).await;
    }

    async fn send_notice(&self, interaction: &Value, text: &str) {
        let Some(token) = non_empty_str(&interaction["token"]) else { return };
        let path = format!("/webhooks/{}/{token}", self.identity.application);
        if let Err(error) = self.call(&ApiRequest::post(path, notice(text))).await {
            info!(platform = "discord", %error, "could not answer a click");
        }
    }
}

/// Returns a disabled button, which marks a message as one that is not stored.
fn idle_button(custom_id: &str) -> Value {
    json!({ "type": BUTTON, "style": SECONDARY, "label": "✓", "disabled": true,
        "custom_id": custom_id })
}

fn history_request(channel: &str) -> ApiRequest {
    ApiRequest::get(format!("/channels/{channel}/messages?limit={MAX_SCANNED}"))
}

/// Returns the `custom_id` of each button below a message.
fn button_ids(message: &Value) -> impl Iterator<Item = &str> {
    let rows = message["components"].as_array().into_iter().flatten();
    let buttons = rows.flat_map(|row| row["components"].as_array().into_iter().flatten());
    buttons.filter_map(|button| button["custom_id"].as_str())
}

/// Whether a message is this question and not settled yet.
fn is_asked(message: &Value, workspace: &WorkspaceId, subject: QuestionSubject) -> bool {
    let asked = format!("{}/{workspace}", subject.key());
    button_ids(message).any(|id| {
        let button = id.strip_prefix(QUESTION_PREFIX).and_then(|id| id.split_once('/'));
        button.is_some_and(|(_, rest)| rest == asked)
    })
}

/// Returns a message that only its reader sees.
fn notice(text: &str) -> Value {
    json!({
        "content": text,
        "flags": (MessageFlags::EPHEMERAL | MessageFlags::SUPPRESS_EMBEDS).bits(),
        "allowed_mentions": { "parse": [] },
    })
}

fn form_data(form: &EditForm) -> Value {
    let (workspace, proposal) = (&form.workspace, form.proposal);
    let field = json!({
        "type": TEXT_INPUT,
        "custom_id": FIELD,
        "style": PARAGRAPH,
        "label": form.label,
        "value": &*form.draft,
        "max_length": form.max_length,
        "required": true,
    });
    json!({
        "custom_id": format!("{QUESTION_PREFIX}{FORM}/{proposal}/{workspace}"),
        "title": form.title,
        "components": [{ "type": ACTION_ROW, "components": [field] }],
    })
}

/// Parses a submitted form for another text. Returns `None` for any other interaction.
fn parse_form(interaction: &Value) -> Option<FilledForm> {
    let data = &interaction["data"];
    let id = non_empty_str(&data["custom_id"])?.strip_prefix(QUESTION_PREFIX)?;
    let (proposal, workspace) = id.strip_prefix(FORM)?.strip_prefix('/')?.split_once('/')?;
    let rows = data["components"].as_array()?.iter();
    // A field is in a row, or in a label of its own.
    let mut fields = rows.flat_map(|row| {
        let of_row = row["components"].as_array().into_iter().flatten();
        of_row.chain([&row["component"]])
    });
    let field = fields.find(|field| field["custom_id"] == FIELD)?;
    Some(FilledForm {
        workspace: WorkspaceId::new(workspace),
        proposal: ProposalId(proposal.parse().ok()?),
        user: UserId::new(user_id(interaction)?),
        text: field["value"].as_str().unwrap_or_default().to_owned(),
    })
}

/// Returns the user who clicked a button or submitted a form.
fn user_id(interaction: &Value) -> Option<&str> {
    id_str(&interaction["user"]["id"]).or(id_str(&interaction["member"]["user"]["id"]))
}

/// Parses a click on a button below a question. Returns `None` for any other interaction.
fn parse_click(interaction: &Value) -> Option<Click> {
    let user = user_id(interaction)?;
    let id = non_empty_str(&interaction["data"]["custom_id"])?.strip_prefix(QUESTION_PREFIX)?;
    let (button, rest) = id.split_once('/')?;
    let (key, workspace) = rest.split_once('/')?;
    Some(Click {
        workspace: WorkspaceId::new(workspace),
        subject: QuestionSubject::parse(key)?,
        user: UserId::new(user),
        button: button.parse().ok()?,
    })
}

/// Returns a message without live mentions and link previews.
fn message(text: &str, buttons: &[Value]) -> Value {
    json!({
        "content": text,
        "allowed_mentions": { "parse": [], "replied_user": false },
        "flags": MessageFlags::SUPPRESS_EMBEDS.bits(),
        "components": [{ "type": ACTION_ROW, "components": buttons }],
    })
}

fn question_text(question: &KeeperQuestion) -> String {
    let KeeperQuestion { heading, draft, note, .. } = question;
    let text = format!("{heading}\n\n{draft}\n\n{note}");
    // What was code may not be code in a part of the text.
    let is_cut = utf16_length(&text) > MAX_MESSAGE_LENGTH;
    let text = if is_cut { without_urls(&text) } else { text };
    truncated(to_discord_markdown(&text, &MentionLookup::empty()))
}

fn question_buttons(question: &KeeperQuestion) -> Vec<Value> {
    let (workspace, key) = (&question.workspace, question.subject.key());
    let buttons = question.buttons.iter().map(|(button, label)| {
        let id = format!("{QUESTION_PREFIX}{}/{key}/{workspace}", button.name());
        json!({ "type": BUTTON, "style": SECONDARY, "label": label, "custom_id": id })
    });
    buttons.collect()
}

#[cfg(test)]
mod tests {
    use aizuchi_model::decision::consent::{ConsentId, shown_arguments};
    use aizuchi_model::decision::proposal::ProposalId;
    use aizuchi_model::persona::Language;

    use super::*;
    use crate::from_discord::message::parse_message;

    fn question() -> KeeperQuestion {
        KeeperQuestion {
            workspace: WorkspaceId::new("discord:1"),
            subject: QuestionSubject::Proposal(ProposalId(7)),
            heading: "In #tea I’d say:".to_owned(),
            draft: "Ask again.".to_owned(),
            note: "Why: nobody answers".to_owned(),
            buttons: Choice::ALL.iter().map(|choice| (*choice, "Words")).collect(),
        }
    }

    #[test]
    fn each_button_says_what_was_clicked() {
        for (component, button) in
            question_buttons(&question()).iter().zip(Choice::ALL.iter().copied())
        {
            let custom_id = &component["custom_id"];
            assert!(custom_id.as_str().unwrap().len() <= 100, "{custom_id}");
            let interaction = json!({ "user": { "id": "5" }, "data": { "custom_id": custom_id } });
            let (workspace, user) = (WorkspaceId::new("discord:1"), UserId::new("5"));
            let subject = QuestionSubject::Proposal(ProposalId(7));
            let click = Click { workspace, subject, user, button };
            assert_eq!(parse_click(&interaction), Some(click));
        }
        for custom_id in ["", "other", "aizuchi/settled", "aizuchi/say/x/w", "aizuchi/words/7/w"] {
            let interaction = json!({ "user": { "id": "5" }, "data": { "custom_id": custom_id } });
            assert_eq!(parse_click(&interaction), None, "{custom_id}");
        }
        assert_eq!(parse_click(&json!([])), None);
    }

    /// Nothing in the arguments of a call can escape from its block, and they are shown in full.
    #[test]
    fn arguments_are_shown_as_code() {
        let shown =
            format!("{{\n  \"text\": \"*a* \\u0060\\u0060\\u0060 {}\"\n}}", "花".repeat(1_160));
        let call = KeeperQuestion {
            subject: QuestionSubject::Call(ConsentId(8)),
            draft: format!("```\n{shown}\n```"),
            ..question()
        };
        let text = question_text(&call);
        assert!(text.contains(&format!("```\n{shown}\n```")), "{text}");
        assert!(text.ends_with("nobody answers"), "{text}");
        let custom_id = &question_buttons(&call)[4]["custom_id"];
        assert_eq!(custom_id, "aizuchi/allow_once/call-8/discord:1");
    }

    /// The text shown is exactly the JSON that would be sent, even if the renderer changes other texts.
    #[test]
    fn arguments_are_read_back_from_what_is_shown() {
        for text in [
            "discord.gg/x www.Discord.com/invite/x https://evil.discordapp.com/gifts/x",
            "\u{e000}\u{e001}**「大事」**です\u{f8ff}",
            "``` \n```\n<!here> <@1> <#2> @everyone @HERE &lt;",
            "a\u{202e}b\u{200b}\u{ad}c\u{a0}\t\r\n\u{2028}\u{85}\u{7f}",
            "| a | b |\n|---|---|\n| 1 | 2 |\n![x](https://x.example) :smile: - [ ] x ~~y~~ ||z||",
            "\\u0041 \\ \"quoted\" \u{e0041}🌹",
        ] {
            let arguments = json!({ "text": text, text: [text] });
            let shown = shown_arguments(&arguments);
            let call = KeeperQuestion {
                subject: QuestionSubject::Call(ConsentId(8)),
                draft: format!("```\n{shown}\n```"),
                ..question()
            };
            let posted = question_text(&call);
            let (_, block) = posted.split_once("```\n").unwrap();
            let (block, _) = block.split_once("\n```").unwrap();
            assert_eq!(serde_json::from_str::<Value>(block).unwrap(), arguments, "{block}");
        }
    }

    #[test]
    fn a_question_is_found_again_until_it_is_settled() {
        let asked = message("In #tea", &question_buttons(&question()));
        let is_it = |message: &Value, workspace: &str, subject| {
            is_asked(message, &WorkspaceId::new(workspace), subject)
        };
        let proposal = |id| QuestionSubject::Proposal(ProposalId(id));
        assert!(is_it(&asked, "discord:1", proposal(7)));
        assert!(!is_it(&asked, "discord:1", proposal(77)));
        assert!(!is_it(&asked, "discord:2", proposal(7)));
        assert!(!is_it(&asked, "discord:1", QuestionSubject::Call(ConsentId(7))));
        let settled = message("In #tea: approved.", &[idle_button("aizuchi/settled")]);
        assert!(!is_it(&settled, "discord:1", proposal(7)) && !is_it(&json!([]), "a", proposal(7)));
    }

    #[test]
    fn a_form_comes_back_with_its_proposal() {
        let form = EditForm {
            workspace: WorkspaceId::new("discord:1"),
            language: Language::En,
            proposal: ProposalId(7),
            title: "Say it in other words",
            label: "What is posted",
            submit: "Say this instead",
            cancel: "Cancel",
            draft: "Ask again.".into(),
            max_length: MAX_FORM_LENGTH,
        };
        let data = form_data(&form);
        let field = &data["components"][0]["components"][0];
        assert_eq!(field["value"], "Ask again.");
        let filled = json!({ "type": TEXT_INPUT, "custom_id": field["custom_id"], "value": "Hi." });
        let (workspace, user) = (WorkspaceId::new("discord:1"), UserId::new("5"));
        let text = "Hi.".to_owned();
        let expected = FilledForm { workspace, proposal: ProposalId(7), user, text };
        for components in [
            json!([{ "type": ACTION_ROW, "components": [filled] }]),
            json!([{ "type": 18, "component": filled }]),
        ] {
            let found = json!({ "custom_id": data["custom_id"], "components": components });
            let interaction = json!({ "user": { "id": "5" }, "data": found });
            assert_eq!(parse_form(&interaction).as_ref(), Some(&expected));
        }
        for (custom_id, components) in [
            ("aizuchi/words/7/discord:1", json!([])),
            ("aizuchi/words/7/discord:1", json!(null)),
            ("aizuchi/words/x/discord:1", json!([{ "components": [filled] }])),
            ("aizuchi/say/7/discord:1", json!([{ "components": [filled] }])),
            ("other", json!([{ "components": [filled] }])),
        ] {
            let found = json!({ "custom_id": custom_id, "components": components });
            let interaction = json!({ "user": { "id": "5" }, "data": found });
            assert_eq!(parse_form(&interaction), None, "{custom_id}");
        }
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
