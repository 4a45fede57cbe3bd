//! The slash command `/aizuchi`. It is obeyed apart from how it came, since obeying may take longer than Slack
//! waits.

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;
use tracing::info;

use crate::Slack;
use crate::api::ApiError;
use crate::from_slack::text;
use crate::mrkdwn::write::write;
use crate::roster::Standing;
use aizuchi_core::chat::{ChannelId, ConversationId, UserId};
use aizuchi_core::command::Given;
use aizuchi_core::persona::Language;
use aizuchi_core::platform::slash::Slash;

/// So many are obeyed at once, and as many wait for that.
const AT_ONCE: usize = 64;
/// How often it is tried to tell what a command has come to, where it took long.
const TRIES: usize = 4;
/// What is waited between, unless Slack says how long.
const PAUSE: SignedDuration = SignedDuration::from_secs(2);

/// Commands on their way to be obeyed.
pub struct Commands {
    given: mpsc::Sender<Order>,
    taken: Mutex<mpsc::Receiver<Order>>,
}

/// A command, and who waits for what it comes to.
struct Order {
    payload: Value,
    answer: oneshot::Sender<String>,
}

impl Default for Commands {
    fn default() -> Self {
        let (given, taken) = mpsc::channel(AT_ONCE);
        Self { given, taken: Mutex::new(taken) }
    }
}

impl Slack {
    /// The answer that Slack shows to the asker alone. Slack gives up a command that is not answered soon; so
    /// where it takes long, this says so, and the answer follows.
    pub async fn command(&self, payload: Value) -> Value {
        let (answer, answered) = oneshot::channel();
        match self.commands.given.try_send(Order { payload, answer }) {
            Ok(()) => aside(&self.in_time(answered).await),
            Err(_) => aside(self.slash.sorry()),
        }
    }

    async fn in_time(&self, mut answered: oneshot::Receiver<String>) -> String {
        let soon = timeout(self.settings.patience.obeying, &mut answered).await;
        if let Ok(told) = soon {
            return told.unwrap_or_else(|_| self.slash.sorry().to_owned());
        }
        // Whoever obeys sees from here on that nobody waits; what came just now is not lost.
        answered.close();
        answered.try_recv().unwrap_or_else(|_| self.patience_in_words().to_owned())
    }

    /// Obeys commands as they come. Never ends.
    pub(super) async fn obey_all(&self) {
        let mut obeying = FuturesUnordered::new();
        loop {
            tokio::select! {
                order = self.next_order(), if obeying.len() < AT_ONCE => match order {
                    Some(order) => obeying.push(self.obey(order)),
                    None => return,
                },
                Some(()) = obeying.next() => {}
            }
        }
    }

    async fn next_order(&self) -> Option<Order> {
        self.commands.taken.lock().await.recv().await
    }

    async fn obey(&self, order: Order) {
        let Order { payload, answer } = order;
        let told = match self.given(&payload) {
            Some(given) => self.slash.obey(&given).await,
            None => self.absence_in_words(),
        };
        if let Err(told) = answer.send(told) {
            self.tell_later(&payload, &told).await;
        }
    }

    /// Tells where Slack has said to. What may have been told is not told again.
    async fn tell_later(&self, payload: &Value, told: &str) {
        let Some(address) = text(&payload["response_url"]) else { return };
        for _ in 0..TRIES {
            let wait = match self.api.answer_at(address, &aside(told)).await {
                Ok(()) => return,
                Err(error @ (ApiError::Refused(_) | ApiError::Unknown(_))) => {
                    return info!("a command could not be answered: {error}");
                }
                Err(ApiError::Limited(wait)) => wait,
                Err(ApiError::Unreachable(_)) => PAUSE,
            };
            self.clock.sleep_until(self.now() + wait).await;
        }
        info!("a command could not be answered in {TRIES} tries");
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

    fn patience_in_words(&self) -> &'static str {
        self.persona.language.pick(
            "This takes a moment. I will tell you here when it is done.",
            "少し時間がかかっています。終わったらここでお知らせします。",
        )
    }
}

/// For the one who asks alone. Some of it is a model's words: they call nobody and lead nowhere.
fn aside(told: &str) -> Value {
    json!({ "response_type": "ephemeral", "text": write(told, &|_| None) })
}
