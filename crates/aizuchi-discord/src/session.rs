//! What outlives a connection to the gateway, and a process: the session and how far it was heard, so that
//! Discord can go on where we stopped; and since when each room has been heard without a gap.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use twilight_gateway::{Session as Resumed, ShardId};

use crate::DiscordPlatform;
use crate::identity::platform_workspace;
use aizuchi_core::chat::{Cursor, UserId};
use aizuchi_core::store::StoreError;

/// A session of the gateway, as far as it was heard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewaySession {
    pub id: String,
    /// Where it can be gone on with.
    pub resume_url: Option<String>,
    pub sequence: u64,
    /// Whose it is.
    user: UserId,
    since_ms: i64,
    heard_ms: i64,
}

impl GatewaySession {
    pub fn new(id: &str, resume_url: Option<String>, sequence: u64, user: UserId) -> Self {
        Self { id: id.to_owned(), resume_url, sequence, user, since_ms: 0, heard_ms: 0 }
    }

    /// It begins now: what was said before is not told.
    pub fn started_at(self, now: Timestamp) -> Self {
        Self { since_ms: now.as_millisecond(), heard_ms: now.as_millisecond(), ..self }
    }

    /// So much of it was heard by now.
    pub fn advanced_to(&self, sequence: u64, now: Timestamp) -> Self {
        Self { sequence, heard_ms: now.as_millisecond(), ..self.clone() }
    }

    /// Since when nothing was missed.
    pub fn unbroken_since(&self) -> Timestamp {
        Timestamp::from_millisecond(self.since_ms).unwrap_or(Timestamp::MIN)
    }

    /// Until when everything was heard.
    pub fn heard_until(&self) -> Timestamp {
        Timestamp::from_millisecond(self.heard_ms).unwrap_or(Timestamp::MIN)
    }

    /// As the gateway's client wants it.
    pub fn to_resume(&self) -> Resumed {
        Resumed::new(self.sequence, self.id.clone())
    }

    pub fn to_cursor(&self, shard: ShardId) -> Cursor {
        let value = serde_json::to_string(self).unwrap_or_default().into();
        Cursor { workspace: platform_workspace(), stream: session_key(shard).into(), value }
    }
}

/// How far a room's history has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadCursor {
    /// Nothing is missing before this.
    pub until: Timestamp,
    /// Nor since then, for as long as there is no gap.
    pub since: Timestamp,
}

impl ReadCursor {
    pub fn to_text(self) -> String {
        format!("{} {}", self.until.as_millisecond(), self.since.as_millisecond())
    }

    pub fn parse(written: &str) -> Option<Self> {
        let (until, since) = written.split_once(' ')?;
        let moment = |ms: &str| Timestamp::from_millisecond(ms.parse().ok()?).ok();
        Some(Self { until: moment(until)?, since: moment(since)? })
    }
}

impl DiscordPlatform {
    /// The session that a shard had last, if it was ours.
    pub(super) async fn load_session(
        &self,
        shard: ShardId,
    ) -> Result<Option<GatewaySession>, StoreError> {
        let place = session_key(shard);
        let known = self.archive.cursors(&platform_workspace()).await?;
        let known = known.iter().find(|bookmark| *bookmark.stream == *place);
        let session =
            known.and_then(|known| serde_json::from_str::<GatewaySession>(&known.value).ok());
        Ok(session.filter(|session| session.user == self.identity.user && !session.id.is_empty()))
    }
}

fn session_key(shard: ShardId) -> String {
    format!("session {}/{}", shard.number(), shard.total())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_as_they_are_written() {
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        let mark = ReadCursor { until: at(1_700_000_000_123), since: at(5) };
        assert_eq!(ReadCursor::parse(&mark.to_text()), Some(mark));
        for odd in ["", "1", "a b", "1 "] {
            assert_eq!(ReadCursor::parse(odd), None, "{odd}");
        }
    }
}
