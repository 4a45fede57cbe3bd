//! The slash command `/aizuchi`. It is obeyed apart from how it came, since obeying may take longer than Slack
//! waits.

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;
use tracing::info;

use crate::SlackPlatform;
use crate::api::SlackApiError;
use crate::cache::Membership;
use crate::from_slack::non_empty_str;
use crate::mrkdwn::write::to_mrkdwn;
use aizuchi_core::chat::{ChannelId, ConversationId, UserId};
use aizuchi_core::command::CommandRequest;
use aizuchi_core::persona::Language;
use aizuchi_core::platform::slash_command::SlashCommands;

/// So many are obeyed at once, and as many wait for that.
const MAX_CONCURRENT: usize = 64;
/// How often it is tried to tell what a command has come to, where it took long.
const MAX_ATTEMPTS: usize = 4;
/// What is waited between, unless Slack says how long.
const RETRY_DELAY: SignedDuration = SignedDuration::from_secs(2);

/// Commands on their way to be obeyed.
pub struct CommandQueue {
    sender: mpsc::Sender<QueuedCommand>,
    receiver: Mutex<mpsc::Receiver<QueuedCommand>>,
}

/// A command, and who waits for what it comes to.
struct QueuedCommand {
    payload: Value,
    answer: oneshot::Sender<String>,
}

impl Default for CommandQueue {
    fn default() -> Self {
        let (given, taken) = mpsc::channel(MAX_CONCURRENT);
        Self { sender: given, receiver: Mutex::new(taken) }
    }
}

impl SlackPlatform {
    /// The answer that Slack shows to the asker alone. Slack gives up a command that is not answered soon; so
    /// where it takes long, this says so, and the answer follows.
    pub async fn answer_command(&self, payload: Value) -> Value {
        let (answer, answered) = oneshot::channel();
        match self.command_queue.sender.try_send(QueuedCommand { payload, answer }) {
            Ok(()) => ephemeral_response(&self.answer_in_time(answered).await),
            Err(_) => ephemeral_response(self.slash_commands.failure_text()),
        }
    }

    async fn answer_in_time(&self, mut answered: oneshot::Receiver<String>) -> String {
        let soon = timeout(self.settings.timeouts.command_answer, &mut answered).await;
        if let Ok(told) = soon {
            return told.unwrap_or_else(|_| self.slash_commands.failure_text().to_owned());
        }
        // Whoever obeys sees from here on that nobody waits; what came just now is not lost.
        answered.close();
        answered.try_recv().unwrap_or_else(|_| self.still_working_text().to_owned())
    }

    /// Obeys commands as they come. Never ends.
    pub(super) async fn run_commands(&self) {
        let mut obeying = FuturesUnordered::new();
        loop {
            tokio::select! {
                order = self.next_command(), if obeying.len() < MAX_CONCURRENT => match order {
                    Some(order) => obeying.push(self.run_command(order)),
                    None => return,
                },
                Some(()) = obeying.next() => {}
            }
        }
    }

    async fn next_command(&self) -> Option<QueuedCommand> {
        self.command_queue.receiver.lock().await.recv().await
    }

    async fn run_command(&self, order: QueuedCommand) {
        let QueuedCommand { payload, answer } = order;
        let told = match self.command_request(&payload) {
            Some(given) => self.slash_commands.execute(&given).await,
            None => self.not_a_member_text(),
        };
        if let Err(told) = answer.send(told) {
            self.respond_later(&payload, &told).await;
        }
    }

    /// Tells where Slack has said to. What may have been told is not told again.
    async fn respond_later(&self, payload: &Value, told: &str) {
        let Some(address) = non_empty_str(&payload["response_url"]) else { return };
        for _ in 0..MAX_ATTEMPTS {
            let wait = match self.api.post_to_response_url(address, &ephemeral_response(told)).await
            {
                Ok(()) => return,
                Err(error @ (SlackApiError::Refused(_) | SlackApiError::OutcomeUnknown(_))) => {
                    return info!("a command could not be answered: {error}");
                }
                Err(SlackApiError::RateLimited(wait)) => wait,
                Err(SlackApiError::Unreachable(_)) => RETRY_DELAY,
            };
            self.clock.sleep_until(self.now() + wait).await;
        }
        info!("a command could not be answered in {MAX_ATTEMPTS} tries");
    }

    /// Only where it is a member anybody can order anything.
    fn command_request(&self, payload: &Value) -> Option<CommandRequest> {
        let channel = ChannelId::new(non_empty_str(&payload["channel_id"])?);
        let by = UserId::new(non_empty_str(&payload["user_id"])?);
        self.cache.channel(&channel).filter(|room| room.membership == Membership::Member)?;
        let workspace = self.identity.workspace.clone();
        Some(CommandRequest {
            command: SlashCommands::parse(non_empty_str(&payload["text"]).unwrap_or_default()),
            role: self.inbox.channel_cache.role(&workspace, &by),
            visibility: self.inbox.channel_cache.visibility(&workspace, &channel),
            conversation: ConversationId { workspace, channel, thread: None },
            user: by,
            at: self.now(),
        })
    }

    fn not_a_member_text(&self) -> String {
        let name = &self.persona.name;
        match self.persona.language {
            Language::En => format!("{name} is not in this channel. Invite it with /invite."),
            Language::Ja => {
                format!("{name} はこのチャンネルにいません。/invite で招待してください。")
            }
        }
    }

    fn still_working_text(&self) -> &'static str {
        self.persona.language.pick(
            "This takes a moment. I will tell you here when it is done.",
            "少し時間がかかっています。終わったらここでお知らせします。",
        )
    }
}

/// For the one who asks alone. Some of it is a model's words: they call nobody and lead nowhere.
fn ephemeral_response(told: &str) -> Value {
    json!({ "response_type": "ephemeral", "text": to_mrkdwn(told, &|_| None) })
}
