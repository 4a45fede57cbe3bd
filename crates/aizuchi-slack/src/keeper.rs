//! Asks keepers in their direct message with the bot, with buttons below the question, and takes their clicks and
//! edits.

use aizuchi_actions::question::QuestionSubject;
use aizuchi_agent::metrics::labels::MalformedInput;
use aizuchi_model::chat::{ChannelId, MessageId, UserId, WorkspaceId};
use aizuchi_model::decision::proposal::ProposalId;
use aizuchi_model::platform::PlatformError;
use aizuchi_model::texts;
use aizuchi_platform::keeper::edit::{EditForm, FilledForm};
use aizuchi_platform::keeper::history_scan::{HistoryScan, MAX_SCANNED};
use aizuchi_platform::keeper::{Click, ClickAnswer, KeeperChat, KeeperQuestion, QuestionPlace};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tracing::info;

use crate::SlackPlatform;
use crate::api::SlackApiError;
use crate::from_slack::{QUESTION_BLOCK, non_empty_str, parse_id, parse_ts};
use crate::mrkdwn::blocks::to_blocks;
use crate::mrkdwn::write::to_mrkdwn;

/// The `block_id` of the buttons.
const ANSWER_BLOCK: &str = "aizuchi_answer";
/// The `callback_id` of the form for editing the text, and its field.
const EDIT_FORM: &str = "aizuchi_words";
const WORDS_BLOCK: &str = "words";
const WORDS_FIELD: &str = "text";
const HISTORY: &str = "conversations.history";
/// Slack's limit for the length of a text field.
pub(super) const MAX_FORM_LENGTH: usize = 3_000;

#[async_trait]
impl KeeperChat for SlackPlatform {
    fn workspaces(&self) -> Vec<WorkspaceId> {
        vec![self.identity.workspace.clone()]
    }

    async fn ask(
        &self,
        keeper: &UserId,
        question: &KeeperQuestion,
    ) -> Result<QuestionPlace, PlatformError> {
        let channel = self.open_direct(keeper).await?;
        let text = format!("{}\n{}", question.heading, question.draft);
        let arguments = message(&channel, &text, &question_blocks(question));
        let posted =
            self.call("chat.postMessage", &arguments).await.map_err(SlackApiError::of_post)?;
        let message = self.answered_id("chat.postMessage", &posted["ts"])?;
        let (channel, message) = (ChannelId::new(channel), MessageId::new(message));
        Ok(QuestionPlace { channel, message })
    }

    async fn find_question(
        &self,
        keeper: &UserId,
        _workspace: &WorkspaceId,
        subject: QuestionSubject,
        since: Timestamp,
    ) -> Result<Option<QuestionPlace>, PlatformError> {
        let (channel, page, scan) = self.read_direct(keeper).await?;
        let key = question_key(subject);
        let Some(found) = page.iter().find(|message| self.has_own_key(message, &key)) else {
            return scan.expect_absent(since).map(|()| None);
        };
        let message = self.answered_id(HISTORY, &found["ts"])?;
        let (channel, message) = (ChannelId::new(channel), MessageId::new(message));
        Ok(Some(QuestionPlace { channel, message }))
    }

    async fn settle(&self, place: &QuestionPlace, text: &str) -> Result<(), PlatformError> {
        let blocks = marked_blocks(to_sections(text));
        let mut arguments = message(place.channel.as_str(), text, &blocks);
        arguments.push(("ts", place.message.to_string()));
        self.call("chat.update", &arguments).await.map_err(SlackApiError::of_post)?;
        Ok(())
    }

    fn delivery_timeout(&self) -> SignedDuration {
        self.settings.in_flight_timeout
    }
}

impl SlackPlatform {
    /// Opens the bot's direct message with a user, and returns its channel.
    async fn open_direct(&self, user: &UserId) -> Result<String, PlatformError> {
        let opened = self.call("conversations.open", &[("users", user.to_string())]).await;
        let opened = opened.map_err(SlackApiError::of_post)?;
        self.answered_id("conversations.open", &opened["channel"]["id"])
    }

    /// Returns the direct message with a user, and its newest messages.
    async fn read_direct(
        &self,
        user: &UserId,
    ) -> Result<(String, Vec<Value>, HistoryScan), PlatformError> {
        let channel = self.open_direct(user).await?;
        let arguments = [("channel", channel.clone()), ("limit", MAX_SCANNED.to_string())];
        let page = self.call(HISTORY, &arguments).await.map_err(SlackApiError::of_read)?;
        let Some(messages) = page["messages"].as_array() else {
            self.incidents.record_malformed(MalformedInput::Response, HISTORY);
            return Err(PlatformError::OutcomeUnknown("the history has no messages".to_owned()));
        };
        // Newest first.
        let oldest = messages.last().and_then(|message| parse_ts(&message["ts"]));
        let scan = HistoryScan { has_more: page["has_more"] == true, oldest };
        Ok((channel, messages.clone(), scan))
    }

    /// Whether the bot has written a message with this key.
    fn has_own_key(&self, message: &Value, key: &str) -> bool {
        message["user"] == self.identity.user.as_str() && has_key(message, key)
    }

    fn answered_id(&self, method: &str, id: &Value) -> Result<String, PlatformError> {
        parse_id(id).map(str::to_owned).ok_or_else(|| {
            self.incidents.record_malformed(MalformedInput::Response, method);
            PlatformError::OutcomeUnknown("Slack does not say where it stands".to_owned())
        })
    }

    /// Applies a click, or opens the form for another text. Returns the text to show to the user, if neither the
    /// question nor the form gives feedback.
    pub(super) async fn answer_click(&self, payload: &Value) -> Option<&'static str> {
        let click = parse_click(&self.identity.workspace, payload)?;
        match self.keepers.answer(click).await {
            ClickAnswer::Settles => None,
            ClickAnswer::Tell(told) => Some(told),
            ClickAnswer::Open(form) => self.open_form(payload, &form).await,
        }
    }

    /// Opens a form. Slack accepts this for three seconds after the click, so a failed call is not retried.
    async fn open_form(&self, payload: &Value, form: &EditForm) -> Option<&'static str> {
        let trigger = non_empty_str(&payload["trigger_id"]).unwrap_or_default().to_owned();
        let arguments = [("trigger_id", trigger), ("view", form_view(form).to_string())];
        match self.call("views.open", &arguments).await {
            Ok(_) => None,
            Err(error) => {
                info!(platform = "slack", %error, "a form could not be opened");
                Some(texts::keeper::no_form(form.language))
            }
        }
    }

    /// Posts the text of a submitted form. Returns the error to show in the form, or `None` to close it.
    pub(super) async fn answer_form(&self, payload: &Value) -> Option<&'static str> {
        let form = parse_form(&self.identity.workspace, payload)?;
        self.keepers.submit(form).await
    }
}

/// Returns the response that shows an error below the form's field and keeps the form open.
pub(super) fn form_error(text: &str) -> Value {
    json!({ "response_action": "errors", "errors": { WORDS_BLOCK: text } })
}

fn form_view(form: &EditForm) -> Value {
    let plain = |text: &str| json!({ "type": "plain_text", "text": text });
    let field = json!({
        "type": "plain_text_input",
        "action_id": WORDS_FIELD,
        "multiline": true,
        "initial_value": &*form.draft,
        "max_length": form.max_length,
    });
    json!({
        "type": "modal",
        "callback_id": EDIT_FORM,
        "private_metadata": form.proposal.to_string(),
        "title": plain(form.title),
        "submit": plain(form.submit),
        "close": plain(form.cancel),
        "blocks": [{
            "type": "input",
            "block_id": WORDS_BLOCK,
            "label": plain(form.label),
            "element": field,
        }],
    })
}

/// Parses a submitted form for another text. Returns `None` for any other payload.
fn parse_form(workspace: &WorkspaceId, payload: &Value) -> Option<FilledForm> {
    let view = &payload["view"];
    if payload["type"] != "view_submission" || view["callback_id"] != EDIT_FORM {
        return None;
    }
    let field = &view["state"]["values"][WORDS_BLOCK][WORDS_FIELD];
    Some(FilledForm {
        workspace: workspace.clone(),
        proposal: ProposalId(non_empty_str(&view["private_metadata"])?.parse().ok()?),
        user: UserId::new(parse_id(&payload["user"]["id"])?),
        // Null if the field is empty.
        text: field["value"].as_str().unwrap_or_default().to_owned(),
    })
}

/// Parses a click on a button below a question. Returns `None` for any other payload.
fn parse_click(workspace: &WorkspaceId, payload: &Value) -> Option<Click> {
    let action = &payload["actions"][0];
    let is_answer = payload["type"] == "block_actions" && action["block_id"] == ANSWER_BLOCK;
    if !is_answer {
        return None;
    }
    Some(Click {
        workspace: workspace.clone(),
        subject: QuestionSubject::parse(non_empty_str(&action["value"])?)?,
        user: UserId::new(parse_id(&payload["user"]["id"])?),
        button: non_empty_str(&action["action_id"])?.parse().ok()?,
    })
}

/// Returns the arguments of a message without live mentions and link previews. `text` is shown in notifications.
fn message(channel: &str, text: &str, blocks: &Value) -> Vec<(&'static str, String)> {
    vec![
        ("channel", channel.to_owned()),
        ("blocks", blocks.to_string()),
        ("text", to_mrkdwn(text, &|_| None)),
        ("unfurl_links", "false".to_owned()),
        ("unfurl_media", "false".to_owned()),
        ("link_names", "false".to_owned()),
        ("parse", "none".to_owned()),
    ]
}

fn question_blocks(question: &KeeperQuestion) -> Value {
    let key = question.subject.key();
    let buttons = question.buttons.iter().map(|(button, label)| {
        let text = json!({ "type": "plain_text", "text": label });
        json!({ "type": "button", "action_id": button.name(), "text": text, "value": key })
    });
    let mut blocks = to_sections(&question.heading);
    blocks.push(json!({ "type": "divider" }));
    blocks.extend(to_sections(&question.draft));
    blocks.push(json!({ "type": "divider", "block_id": question_key(question.subject) }));
    blocks.extend(to_sections(&question.note));
    let buttons: Vec<Value> = buttons.collect();
    blocks.push(json!({ "type": "actions", "block_id": ANSWER_BLOCK, "elements": buttons }));
    marked_blocks(blocks)
}

/// The `block_id` by which a question is found again while it is not settled.
fn question_key(subject: QuestionSubject) -> String {
    format!("aizuchi-ask-{}", subject.key())
}

/// Marks the first block, so that the message is recognized as a question and not stored.
fn marked_blocks(mut blocks: Vec<Value>) -> Value {
    if let Some(first) = blocks.first_mut() {
        first["block_id"] = json!(QUESTION_BLOCK);
    }
    Value::Array(blocks)
}

/// Whether a message's blocks carry a key.
fn has_key(message: &Value, key: &str) -> bool {
    let blocks = message["blocks"].as_array();
    blocks.is_some_and(|blocks| blocks.iter().any(|block| block["block_id"] == key))
}

/// Converts a text to blocks. A model wrote it, so its mentions are inert.
fn to_sections(text: &str) -> Vec<Value> {
    match to_blocks(&to_mrkdwn(text, &|_| None)) {
        Value::Array(blocks) => blocks,
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_actions::question::Choice;
    use aizuchi_model::decision::consent::{ConsentId, shown_arguments};
    use aizuchi_model::decision::proposal::ProposalId;
    use aizuchi_model::persona::Language;

    use super::*;
    use crate::from_slack::{SlackEvent, parse_event};

    fn question() -> KeeperQuestion {
        KeeperQuestion {
            workspace: WorkspaceId::new("T1"),
            subject: QuestionSubject::Proposal(ProposalId(7)),
            heading: "In #tea I’d say:".to_owned(),
            draft: "Ask **again**.".to_owned(),
            note: "Why: nobody answers".to_owned(),
            buttons: Choice::ALL.iter().map(|choice| (*choice, "Words")).collect(),
        }
    }

    #[test]
    fn each_button_says_what_was_clicked() {
        let blocks = question_blocks(&question());
        let blocks = blocks.as_array().unwrap();
        assert_eq!(blocks[2]["text"]["text"], "Ask *again*.");
        let answer = blocks.last().unwrap();
        let elements = answer["elements"].as_array().unwrap();
        for (element, button) in elements.iter().zip(Choice::ALL.iter().copied()) {
            let mut action = element.clone();
            action["block_id"] = answer["block_id"].clone();
            let payload =
                json!({ "type": "block_actions", "user": { "id": "U1" }, "actions": [action] });
            let (workspace, user) = (WorkspaceId::new("T1"), UserId::new("U1"));
            let subject = QuestionSubject::Proposal(ProposalId(7));
            let click = Click { workspace, subject, user, button };
            assert_eq!(parse_click(&click.workspace, &payload), Some(click.clone()));
        }
        for payload in [
            json!({ "type": "shortcut", "user": { "id": "U1" } }),
            json!({ "type": "block_actions", "user": { "id": "U1" }, "actions": [{
                "block_id": "another", "action_id": "say", "value": "7" }] }),
            json!({ "type": "block_actions", "user": { "id": "U1" }, "actions": [{
                "block_id": ANSWER_BLOCK, "action_id": "say", "value": "seven" }] }),
            json!([]),
        ] {
            assert_eq!(parse_click(&WorkspaceId::new("T1"), &payload), None, "{payload}");
        }
    }

    /// Nothing in the arguments of a call can escape from its block or become a mention.
    #[test]
    fn arguments_are_shown_as_code() {
        let shown = "{\n  \"text\": \"*roses* \\u003c!here\\u003e \\u0060\\u0060\\u0060\"\n}";
        let call = KeeperQuestion {
            subject: QuestionSubject::Call(ConsentId(8)),
            draft: format!("```\n{shown}\n```"),
            ..question()
        };
        let blocks = question_blocks(&call);
        assert_eq!(blocks[2]["text"]["text"], format!("```\n{shown}\n```"));
        let answer = blocks.as_array().unwrap().last().unwrap();
        assert_eq!(answer["elements"][4]["value"], "call-8");
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
            let blocks = question_blocks(&call);
            let posted = blocks[2]["text"]["text"].as_str().unwrap();
            let block = posted.strip_prefix("```\n").and_then(|rest| rest.strip_suffix("\n```"));
            let block = block.unwrap();
            assert_eq!(serde_json::from_str::<Value>(block).unwrap(), arguments, "{block}");
        }
    }

    #[test]
    fn a_question_is_found_again_until_it_is_settled() {
        let asked = json!({ "blocks": question_blocks(&question()) });
        let key = |id| question_key(QuestionSubject::Proposal(ProposalId(id)));
        assert!(has_key(&asked, &key(7)) && !has_key(&asked, &key(77)));
        assert!(!has_key(&asked, &question_key(QuestionSubject::Call(ConsentId(7)))));
        let settled = json!({ "blocks": marked_blocks(to_sections("In #tea: approved.")) });
        assert!(!has_key(&settled, &key(7)));
    }

    #[test]
    fn a_form_comes_back_with_its_proposal() {
        let form = EditForm {
            workspace: WorkspaceId::new("T1"),
            language: Language::En,
            proposal: ProposalId(7),
            title: "Say it in other words",
            label: "What is posted",
            submit: "Say this instead",
            cancel: "Cancel",
            draft: "Ask again.".into(),
            max_length: MAX_FORM_LENGTH,
        };
        let view = form_view(&form);
        let input = &view["blocks"][0];
        assert_eq!(input["element"]["initial_value"], "Ask again.");
        let filled = |value: Value| {
            let (block, field) = (&input["block_id"], &input["element"]["action_id"]);
            let (block, field) = (block.as_str().unwrap(), field.as_str().unwrap());
            let mut filled = view.clone();
            filled["state"]["values"][block][field] = json!({ "value": value });
            json!({ "type": "view_submission", "user": { "id": "U1" }, "view": filled })
        };
        let workspace = WorkspaceId::new("T1");
        let found = |payload: &Value| parse_form(&workspace, payload);
        for (value, text) in [(json!("By the gate."), "By the gate."), (Value::Null, "")] {
            let (workspace, user) = (workspace.clone(), UserId::new("U1"));
            let text = text.to_owned();
            let expected = FilledForm { workspace, proposal: ProposalId(7), user, text };
            assert_eq!(found(&filled(value)), Some(expected));
        }
        let another = |name: &str, value: Value| {
            let mut payload = filled(json!("By the gate."));
            payload["view"][name] = value;
            payload
        };
        assert_eq!(found(&another("callback_id", json!("other"))), None);
        assert_eq!(found(&another("private_metadata", json!("seven"))), None);
        assert_eq!(found(&json!({ "type": "block_actions" })), None);
        assert_eq!(found(&json!([])), None);
    }

    #[test]
    fn a_question_is_no_message_of_a_conversation() {
        let blocks = question_blocks(&question());
        let event = |blocks: &Value| {
            let event = json!({ "type": "message", "channel": "D1", "channel_type": "im",
                "ts": "1700000000.000100", "bot_id": "B1", "user": "U0", "text": "In #tea",
                "blocks": blocks });
            parse_event(&json!({ "type": "event_callback", "event": event }))
        };
        assert_eq!(event(&blocks), SlackEvent::Ignored);
        assert!(matches!(event(&to_blocks("In #tea")), SlackEvent::Message(_)));
    }
}
