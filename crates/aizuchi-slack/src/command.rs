//! The slash command `/aizuchi`, clicks on buttons, and submitted forms. They run from a queue, apart from the
//! connection that received them, because one may take longer than Slack waits for its response.

use aizuchi_actions::command::CommandRequest;
use aizuchi_agent::metrics::labels::{MalformedInput, PlatformTask};
use aizuchi_model::chat::{ChannelId, ConversationId, UserId};
use aizuchi_model::clock::TimedOut;
use aizuchi_model::texts;
use aizuchi_platform::slash_command::{SlashAnswer, SlashCommands};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;
use tracing::{Instrument as _, info, info_span};

use crate::SlackPlatform;
use crate::api::SlackApiError;
use crate::cache::Membership;
use crate::from_slack::{non_empty_str, parse_id};
use crate::ingest::IngestError;
use crate::keeper::form_error;
use crate::mrkdwn::blocks::to_blocks;
use crate::mrkdwn::message::read_message;
use crate::mrkdwn::write::to_mrkdwn;

/// The maximum number of commands that run concurrently, and the capacity of the queue.
const MAX_CONCURRENT: usize = 64;
/// How many times a late answer is sent at most.
const MAX_ATTEMPTS: usize = 4;
/// The delay between two attempts, unless Slack sends `Retry-After`.
const RETRY_DELAY: SignedDuration = SignedDuration::from_secs(2);
/// How long a command waits until Slack says whether the bot is a member of its channel. Slack may ask to wait for much
/// longer, and a command that is carried out late could undo a newer one.
const MEMBERSHIP_TIMEOUT: SignedDuration = SignedDuration::from_secs(10);

pub struct CommandQueue {
    sender: mpsc::Sender<QueuedWork>,
    receiver: Mutex<mpsc::Receiver<QueuedWork>>,
}

enum QueuedWork {
    Command(QueuedCommand),
    /// The payload of a click.
    Click(Value),
    Form(QueuedForm),
}

struct QueuedForm {
    payload: Value,
    /// Receives the error to show in the form, or `None` to close it.
    answer: oneshot::Sender<Option<&'static str>>,
}

struct QueuedCommand {
    payload: Value,
    answer: oneshot::Sender<SlashAnswer>,
}

impl Default for CommandQueue {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(MAX_CONCURRENT);
        Self { sender, receiver: Mutex::new(receiver) }
    }
}

impl SlackPlatform {
    /// Returns the answer that Slack shows to the user who gave the command, or to the channel. If the command takes
    /// too long, returns a note saying so, and the answer follows through the command's `response_url`.
    pub async fn answer_command(&self, payload: Value) -> Value {
        let (sender, receiver) = oneshot::channel();
        let command = QueuedWork::Command(QueuedCommand { payload, answer: sender });
        // Waiting for a free slot could take longer than Slack waits for the response.
        match self.command_queue.sender.try_send(command) {
            Ok(()) => response(&self.answer_in_time(receiver).await),
            Err(_) => response(&self.failure()),
        }
    }

    /// Takes a click or a submitted form. Returns Slack's instructions for the form, or `None` to close it.
    pub async fn take_interaction(&self, payload: Value) -> Option<Value> {
        if payload["type"] != "view_submission" {
            self.take_click(payload);
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        let form = QueuedWork::Form(QueuedForm { payload, answer: sender });
        let failed = || form_error(self.slash_commands.failure_text());
        if self.command_queue.sender.try_send(form).is_err() {
            return Some(failed());
        }
        match timeout(self.settings.timeouts.command_answer, receiver).await {
            Ok(Ok(told)) => told.map(form_error),
            Ok(Err(_)) => Some(failed()),
            // The form closes, and the question is updated with the outcome.
            Err(_) => None,
        }
    }

    /// Queues a click. If the queue is full, the click is lost: its question stays as it was, so the user can click
    /// again. Slack shows no answer to a click, and telling the user would need a place in the same queue.
    fn take_click(&self, payload: Value) {
        if self.command_queue.sender.try_send(QueuedWork::Click(payload)).is_err() {
            info!(platform = "slack", "a click was lost behind too many commands");
        }
    }

    async fn answer_in_time(&self, mut answer: oneshot::Receiver<SlashAnswer>) -> SlashAnswer {
        let received = timeout(self.settings.timeouts.command_answer, &mut answer).await;
        if let Ok(answer) = received {
            return answer.unwrap_or_else(|_| self.failure());
        }
        // From here on `run_command` fails to send and answers later. An answer that was sent just before is still
        // received.
        answer.close();
        answer.try_recv().unwrap_or_else(|_| SlashAnswer::private(self.still_working_text()))
    }

    /// Runs the queued work. Never returns.
    pub(super) async fn run_commands(&self) {
        let mut running = FuturesUnordered::new();
        loop {
            tokio::select! {
                work = self.next_work(), if running.len() < MAX_CONCURRENT => match work {
                    Some(work) => {
                        let channel = work.channel();
                        let span = info_span!(
                            "slack command",
                            platform = "slack",
                            workspace = %self.identity.workspace,
                            channel
                        );
                        running.push(self.run_work(work).instrument(span));
                    },
                    None => return,
                },
                Some(()) = running.next() => {}
            }
        }
    }

    async fn next_work(&self) -> Option<QueuedWork> {
        self.command_queue.receiver.lock().await.recv().await
    }

    async fn run_work(&self, work: QueuedWork) {
        match work {
            QueuedWork::Command(command) => self.run_command(command).await,
            QueuedWork::Click(payload) => self.run_click(&payload).await,
            QueuedWork::Form(form) => self.run_form(form).await,
        }
    }

    async fn run_form(&self, form: QueuedForm) {
        let QueuedForm { payload, answer: sender } = form;
        let answering = self.incidents.contain(PlatformTask::Command, self.answer_form(&payload));
        let told = answering.await.unwrap_or_else(|_| Some(self.slash_commands.failure_text()));
        if let Err(Some(_)) = sender.send(told) {
            info!(platform = "slack", "what is wrong with a form could not be shown in time");
        }
    }

    async fn run_click(&self, payload: &Value) {
        let answering = self.incidents.contain(PlatformTask::Command, self.answer_click(payload));
        let told = answering.await.unwrap_or_else(|_| Some(self.slash_commands.failure_text()));
        if let Some(text) = told {
            // The question stays unchanged.
            let notice =
                json!({ "response_type": "ephemeral", "replace_original": false, "text": text });
            self.respond_later(payload, &notice).await;
        }
    }

    async fn run_command(&self, command: QueuedCommand) {
        let QueuedCommand { payload, answer: sender } = command;
        let answer = self.incidents.contain(PlatformTask::Command, self.execute(&payload)).await;
        let answer = answer.unwrap_or_else(|_| self.failure());
        if let Err(answer) = sender.send(answer) {
            self.respond_later(&payload, &response(&answer)).await;
        }
    }

    /// Executes a command and returns its answer. Commands work only in channels that the bot is a member of.
    async fn execute(&self, payload: &Value) -> SlashAnswer {
        let ids = (parse_id(&payload["channel_id"]), parse_id(&payload["user_id"]));
        let (Some(channel), Some(user)) = ids else {
            self.incidents.record_malformed(MalformedInput::Command, "a slash command");
            return self.failure();
        };
        let (channel, user) = (ChannelId::new(channel), UserId::new(user));
        // Slack offers the command in every channel, including those that the bot was never invited to.
        match self.membership(&channel).await {
            Membership::Member => {}
            Membership::NotMember => return SlashAnswer::private(self.not_a_member_text()),
            Membership::Unknown => return self.failure(),
        }
        self.ensure_user(&user).await;
        let workspace = self.identity.workspace.clone();
        // Slack escapes the text as it does that of a message.
        let text = self.with_names(&channel, |names| read_message(payload, names)).text;
        let request = CommandRequest {
            command: SlashCommands::parse(&text),
            text: text.into(),
            written_in: None,
            message: None,
            reply_to: None,
            role: self.inbox.channel_cache.role(&workspace, &user),
            visibility: self.inbox.channel_cache.visibility(&workspace, &channel),
            conversation: ConversationId { workspace, channel, thread: None },
            user,
            at: self.now(),
        };
        self.slash_commands.execute(&request).await
    }

    /// Returns whether the bot is a member of a channel. Right after a start, the lists may not say so yet, and the event
    /// that it has joined may be lost.
    async fn membership(&self, channel: &ChannelId) -> Membership {
        let cached = || self.cache.channel(channel).map(|cached| cached.membership);
        if cached() == Some(Membership::Member) {
            return Membership::Member;
        }
        let fetched = self.clock.timeout(MEMBERSHIP_TIMEOUT, self.fetch_channel(channel)).await;
        let otherwise = match fetched {
            // Slack does not describe a private channel that the bot is not in.
            Ok(Ok(())) => Membership::NotMember,
            Ok(Err(error)) => {
                info!(platform = "slack", %channel, %error, "a command's channel could not be fetched");
                let is_refused = matches!(error, IngestError::Slack(SlackApiError::Refused(_)));
                if is_refused { Membership::NotMember } else { Membership::Unknown }
            }
            Err(TimedOut) => {
                info!(platform = "slack", %channel, "a command's channel could not be fetched in time");
                Membership::Unknown
            }
        };
        cached().unwrap_or(otherwise)
    }

    /// Answers through the `response_url`. An answer that may have arrived is not retried.
    async fn respond_later(&self, payload: &Value, response: &Value) {
        let Some(url) = non_empty_str(&payload["response_url"]) else { return };
        for _ in 0..MAX_ATTEMPTS {
            let wait = match self.api.post_to_response_url(url, response).await {
                Ok(()) => return,
                Err(
                    error @ (SlackApiError::Refused(_)
                    | SlackApiError::OutcomeUnknown(_)
                    | SlackApiError::Malformed(_)),
                ) => {
                    return info!(platform = "slack", %error, "the answer to a command was lost");
                }
                Err(SlackApiError::RateLimited(wait)) => wait,
                Err(SlackApiError::Unreachable(_)) => RETRY_DELAY,
            };
            self.clock.sleep_until(self.now() + wait).await;
        }
        info!(platform = "slack", attempt = MAX_ATTEMPTS, "gave up answering a command");
    }

    fn failure(&self) -> SlashAnswer {
        SlashAnswer::private(self.slash_commands.failure_text())
    }

    fn not_a_member_text(&self) -> String {
        texts::slack::not_a_member(self.persona.language, &self.persona.name)
    }

    fn still_working_text(&self) -> &'static str {
        texts::slack::still_working(self.persona.language)
    }
}

impl QueuedWork {
    /// The channel, as recorded in the tracing span.
    fn channel(&self) -> Option<&str> {
        match self {
            QueuedWork::Command(command) => non_empty_str(&command.payload["channel_id"]),
            QueuedWork::Click(payload) => non_empty_str(&payload["channel"]["id"]),
            QueuedWork::Form(_) => None,
        }
    }
}

/// Part of the text may come from a model, so its mentions are inert, and only URLs that it writes as links become
/// links.
fn response(answer: &SlashAnswer) -> Value {
    let kind = if answer.is_public { "in_channel" } else { "ephemeral" };
    let text = to_mrkdwn(&answer.text, &|_| None);
    json!({ "response_type": kind, "blocks": to_blocks(&text), "text": text })
}
