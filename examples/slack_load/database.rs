//! Reads what the program has stored, from its database while it runs.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aizuchi_fakes::slack::FakeSlack;
use aizuchi_fakes::slack::message::FakeMessage;
use aizuchi_fakes::slack::ts::Ts;
use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_store::StoreError;
use aizuchi_store::archive::Archive;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::database::location::DatabaseLocation;
use aizuchi_store::query::{MessageQuery, MessageRange};
use aizuchi_store::read_only::ReadOnlyDatabase;
use aizuchi_store::stored_message::StoredMessage;
use jiff::Timestamp;
use serde::Serialize;

use crate::team::{Action, MessageRef, Team};

/// How long to wait for the backfill.
const BACKFILL_TIMEOUT: Duration = Duration::from_secs(600);
const POLL_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Clone)]
pub struct ProgramDatabase {
    store: Arc<DatabaseStore>,
}

/// Actions of users that the program has not stored.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Missing {
    pub lines: usize,
    pub edits: usize,
    pub deletions: usize,
    pub reactions: usize,
    /// The missing actions.
    pub acts: Vec<String>,
}

impl Missing {
    pub fn total(&self) -> usize {
        self.lines + self.edits + self.deletions + self.reactions
    }
}

impl ProgramDatabase {
    pub async fn open(database: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            store: Arc::new(
                ReadOnlyDatabase::open(&DatabaseLocation::Sqlite(database.to_owned()))
                    .await?
                    .into_store(),
            ),
        })
    }

    /// Waits until all messages are stored or deleted. Returns how long that took, or `None` if it took too long.
    pub async fn wait_until_stored(
        self,
        fake: Arc<FakeSlack>,
        mut messages: Vec<MessageRef>,
    ) -> anyhow::Result<Option<Duration>> {
        let began = Instant::now();
        loop {
            let mut left = Vec::new();
            for (channel, refs) in by_channel(messages) {
                let oldest =
                    refs.iter().map(|message_ref| message_ref.ts).min().unwrap_or_default();
                let stored = self.messages(&channel, oldest).await?;
                left.extend(
                    refs.into_iter()
                        .filter(|message_ref| !stored.contains_key(&id(message_ref.ts))),
                );
            }
            left.retain(|message_ref| message_ref.exists(&fake));
            if left.is_empty() {
                return Ok(Some(began.elapsed()));
            }
            if began.elapsed() > BACKFILL_TIMEOUT {
                return Ok(None);
            }
            messages = left;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Compares the actions of users with what is stored, channel by channel.
    pub async fn missing(&self, team: &Team) -> anyhow::Result<Missing> {
        let mut actions: BTreeMap<&str, Vec<&Action>> = BTreeMap::new();
        for action in &team.actions {
            actions.entry(&action.message_ref().channel).or_default().push(action);
        }
        let mut missing = Missing::default();
        for (channel, actions) in actions {
            let stored = self.messages(channel, Ts::default()).await?;
            for action in actions {
                let message_ref = action.message_ref();
                let message = stored.get(&id(message_ref.ts));
                let now = team
                    .fake
                    .read(|state| state.workspace.message(channel, message_ref.ts).ok().cloned());
                let before = missing.total();
                missing.count(action, message, now.as_ref());
                if missing.total() > before {
                    missing.acts.push(format!("{action:?}"));
                }
            }
        }
        Ok(missing)
    }

    async fn messages(
        &self,
        channel: &str,
        since: Ts,
    ) -> Result<HashMap<String, StoredMessage>, StoreError> {
        let since = i64::try_from(since.0).ok().and_then(|at| Timestamp::from_microsecond(at).ok());
        let query = MessageQuery {
            workspace: WorkspaceId::new("T0DEV00001"),
            channel: ChannelId::new(channel),
            thread: None,
            range: MessageRange::AfterTime(
                since.unwrap_or_default() - jiff::SignedDuration::from_secs(1),
            ),
            limit: usize::try_from(u32::MAX).unwrap_or(usize::MAX),
        };
        let messages = self.store.messages(query).await?.into_iter();
        Ok(messages.map(|stored| (stored.message.id.to_string(), stored)).collect())
    }
}

impl Missing {
    /// Counts an action that is not stored. `now` is the message as it is in Slack now.
    fn count(
        &mut self,
        action: &Action,
        stored: Option<&StoredMessage>,
        now: Option<&FakeMessage>,
    ) {
        let exists = now.is_some_and(|now| now.subtype.is_none());
        let visible = stored.filter(|stored| !stored.is_deleted);
        match action {
            Action::Posted(_) => self.lines += usize::from(exists && visible.is_none()),
            Action::Edited(_) => {
                let is_stored =
                    visible.map(|stored| &*stored.message.text) == now.map(|now| &*now.text);
                self.edits += usize::from(exists && !is_stored);
            }
            Action::Deleted(_) => self.deletions += usize::from(visible.is_some()),
            Action::Reacted { user, .. } => {
                let users = visible.iter().flat_map(|stored| &stored.reactions);
                let is_stored =
                    users.flat_map(|reacted| &reacted.users).any(|one| one.id.as_str() == user);
                self.reactions += usize::from(exists && !is_stored);
            }
        }
    }
}

fn by_channel(messages: Vec<MessageRef>) -> BTreeMap<String, Vec<MessageRef>> {
    let mut channels: BTreeMap<String, Vec<MessageRef>> = BTreeMap::new();
    for message in messages {
        channels.entry(message.channel.clone()).or_default().push(message);
    }
    channels
}

fn id(ts: Ts) -> String {
    ts.to_string()
}
