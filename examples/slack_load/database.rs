//! What the program has kept, looked up in its database while it runs.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aizuchi_core::chat::{ChannelId, WorkspaceId};
use aizuchi_core::store::database::DatabaseStore;
use aizuchi_core::store::database::location::DatabaseLocation;
use aizuchi_core::store::database::read_only::ReadOnlyDatabase;
use aizuchi_core::store::{Archive, MessageQuery, MessageRange, StoreError, StoredMessage};
use aizuchi_fakes::slack::FakeSlack;
use aizuchi_fakes::slack::message::FakeMessage;
use aizuchi_fakes::slack::ts::Ts;
use jiff::Timestamp;
use serde::Serialize;

use crate::team::{Act, Place, Team};

/// The longest that catching up is waited for.
const PATIENCE: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(500);

#[derive(Clone)]
pub struct Keeping {
    store: Arc<DatabaseStore>,
}

/// What people did and the program does not know of.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Missing {
    pub lines: usize,
    pub edits: usize,
    pub deletions: usize,
    pub reactions: usize,
    /// Which.
    pub acts: Vec<String>,
}

impl Missing {
    pub fn all(&self) -> usize {
        self.lines + self.edits + self.deletions + self.reactions
    }
}

impl Keeping {
    pub async fn open(database: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            store: Arc::new(
                ReadOnlyDatabase::open(&DatabaseLocation::Sqlite(database.to_owned()))
                    .await?
                    .into_store(),
            ),
        })
    }

    /// Waits until lines are kept, or deleted before that, and says how long it took; `None` if it
    /// took too long.
    pub async fn until_kept(
        self,
        fake: Arc<FakeSlack>,
        mut lines: Vec<Place>,
    ) -> anyhow::Result<Option<Duration>> {
        let began = Instant::now();
        loop {
            let mut left = Vec::new();
            for (channel, places) in by_channel(lines) {
                let oldest = places.iter().map(|place| place.ts).min().unwrap_or_default();
                let kept = self.lines(&channel, oldest).await?;
                left.extend(places.into_iter().filter(|place| !kept.contains_key(&id(place.ts))));
            }
            left.retain(|place| place.is_there(&fake));
            if left.is_empty() {
                return Ok(Some(began.elapsed()));
            }
            if began.elapsed() > PATIENCE {
                return Ok(None);
            }
            lines = left;
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Compares what people did with what is kept, channel by channel.
    pub async fn missing(&self, team: &Team) -> anyhow::Result<Missing> {
        let mut acts: BTreeMap<&str, Vec<&Act>> = BTreeMap::new();
        for act in &team.acts {
            acts.entry(&act.place().channel).or_default().push(act);
        }
        let mut missing = Missing::default();
        for (channel, acts) in acts {
            let kept = self.lines(channel, Ts::default()).await?;
            for act in acts {
                let place = act.place();
                let line = kept.get(&id(place.ts));
                let now = team
                    .fake
                    .read(|state| state.workspace.message(channel, place.ts).ok().cloned());
                let before = missing.all();
                missing.note(act, line, now.as_ref());
                if missing.all() > before {
                    missing.acts.push(format!("{act:?}"));
                }
            }
        }
        Ok(missing)
    }

    async fn lines(
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
        let lines = self.store.messages(query).await?.into_iter();
        Ok(lines.map(|line| (line.message.id.to_string(), line)).collect())
    }
}

impl Missing {
    /// `now` is what became of the line in the meantime.
    fn note(&mut self, act: &Act, kept: Option<&StoredMessage>, now: Option<&FakeMessage>) {
        let is_there = now.is_some_and(|now| now.subtype.is_none());
        let there = kept.filter(|line| !line.is_deleted);
        match act {
            Act::Said(_) => self.lines += usize::from(is_there && there.is_none()),
            Act::Edited(_) => {
                let is_kept = there.map(|line| &*line.message.text) == now.map(|now| &*now.text);
                self.edits += usize::from(is_there && !is_kept);
            }
            Act::Deleted(_) => self.deletions += usize::from(there.is_some()),
            Act::Reacted { user, .. } => {
                let users = there.iter().flat_map(|line| &line.reactions);
                let is_kept =
                    users.flat_map(|reacted| &reacted.users).any(|one| one.id.as_str() == user);
                self.reactions += usize::from(is_there && !is_kept);
            }
        }
    }
}

fn by_channel(lines: Vec<Place>) -> BTreeMap<String, Vec<Place>> {
    let mut channels: BTreeMap<String, Vec<Place>> = BTreeMap::new();
    for line in lines {
        channels.entry(line.channel.clone()).or_default().push(line);
    }
    channels
}

fn id(ts: Ts) -> String {
    ts.to_string()
}
