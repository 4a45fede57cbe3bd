//! State that survives a connection and the process: the gateway session with its last sequence number, so that it can
//! be resumed; and how far each channel's history has been read.

use aizuchi_model::chat::{Cursor, UserId};
use aizuchi_store::StoreError;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use twilight_model::gateway::ShardId;

use crate::DiscordPlatform;
use crate::identity::platform_workspace;

/// A gateway session, with the last event that was stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewaySession {
    pub id: String,
    /// The URL at which the session can be resumed.
    pub resume_url: Option<String>,
    pub sequence: u64,
    /// The bot's user that the session belongs to.
    user: UserId,
    since_ms: i64,
    heard_ms: i64,
}

impl GatewaySession {
    pub fn new(id: &str, resume_url: Option<String>, sequence: u64, user: UserId) -> Self {
        Self { id: id.to_owned(), resume_url, sequence, user, since_ms: 0, heard_ms: 0 }
    }

    /// Returns the session with a gap until now: an event was missed, so earlier messages have to be read again.
    pub fn with_gap_until(self, now: Timestamp) -> Self {
        Self { since_ms: now.as_millisecond(), ..self }
    }

    /// Returns the session with its start at this time. Discord does not replay earlier events.
    pub fn started_at(self, now: Timestamp) -> Self {
        Self { since_ms: now.as_millisecond(), heard_ms: now.as_millisecond(), ..self }
    }

    /// Returns the session after an event was received.
    pub fn advanced_to(&self, sequence: u64, now: Timestamp) -> Self {
        Self { sequence, heard_ms: now.as_millisecond(), ..self.clone() }
    }

    /// Returns the time since which no event was missed.
    pub fn unbroken_since(&self) -> Timestamp {
        Timestamp::from_millisecond(self.since_ms).unwrap_or(Timestamp::MIN)
    }

    /// Returns when the last event was received.
    pub fn heard_until(&self) -> Timestamp {
        Timestamp::from_millisecond(self.heard_ms).unwrap_or(Timestamp::MIN)
    }

    pub fn to_cursor(&self, shard: ShardId) -> Cursor {
        let value = serde_json::to_string(self).unwrap_or_default().into();
        Cursor { workspace: platform_workspace(), stream: session_key(shard).into(), value }
    }
}

/// How far a channel's history has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadCursor {
    /// Every message before this time is stored.
    pub until: Timestamp,
    /// Every message since this time is stored, as long as the connection has no gap.
    pub since: Timestamp,
}

impl ReadCursor {
    pub fn to_text(self) -> String {
        format!("{} {}", self.until.as_millisecond(), self.since.as_millisecond())
    }

    pub fn parse(text: &str) -> Option<Self> {
        let (until, since) = text.split_once(' ')?;
        let timestamp = |ms: &str| Timestamp::from_millisecond(ms.parse().ok()?).ok();
        Some(Self { until: timestamp(until)?, since: timestamp(since)? })
    }
}

impl DiscordPlatform {
    /// Loads a shard's last session, if it belongs to this bot. A session from a restored backup is not resumed: the
    /// process whose database was lost continued that session, and its own posts have to be read from the history.
    pub(super) async fn load_session(
        &self,
        shard: ShardId,
    ) -> Result<Option<GatewaySession>, StoreError> {
        let key = session_key(shard);
        let cursors = self.cursors.cursors(&platform_workspace()).await?;
        let stored = cursors.iter().find(|cursor| *cursor.stream == *key);
        let session =
            stored.and_then(|cursor| serde_json::from_str::<GatewaySession>(&cursor.value).ok());
        let lost_span = self.archive.lost_span();
        let is_of_backup = |session: &GatewaySession| {
            lost_span.is_some_and(|span| session.heard_until() <= span.until)
        };
        Ok(session.filter(|session| {
            session.user == self.identity.user && !session.id.is_empty() && !is_of_backup(session)
        }))
    }
}

fn session_key(shard: ShardId) -> String {
    format!("session {}/{}", shard.number(), shard.total())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_cursors_round_trip() {
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        let cursor = ReadCursor { until: at(1_700_000_000_123), since: at(5) };
        assert_eq!(ReadCursor::parse(&cursor.to_text()), Some(cursor));
        for odd in ["", "1", "a b", "1 "] {
            assert_eq!(ReadCursor::parse(odd), None, "{odd}");
        }
    }
}
