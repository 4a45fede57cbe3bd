//! What still has to be compared with a platform's history to find missed deletions. It is stored, so that the check is
//! resumed after a restart.

use aizuchi_model::chat::{ChannelId, Cursor, WorkspaceId};
use jiff::Timestamp;

/// The stored messages of a channel since `from` that are no newer than `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeletionCheck {
    pub from: Timestamp,
    pub until: Timestamp,
}

/// The prefix of the streams of checks, before the channel's id.
const STREAM_PREFIX: &str = "deletions ";

impl DeletionCheck {
    /// Merges two checks into one that covers both.
    pub fn merge(self, other: Option<Self>) -> Self {
        let Some(other) = other else { return self };
        Self { from: self.from.min(other.from), until: self.until.max(other.until) }
    }

    /// Returns the cursor for the rest of a check, or for a finished check if there is no rest.
    pub fn to_cursor(rest: Option<Self>, workspace: &WorkspaceId, channel: &ChannelId) -> Cursor {
        let value = rest.map_or_else(String::new, |rest| {
            format!("{}..{}", rest.from.as_millisecond(), rest.until.as_millisecond())
        });
        let stream = format!("{STREAM_PREFIX}{channel}").into();
        Cursor { workspace: workspace.clone(), stream, value: value.into() }
    }

    /// Returns the rest of a check, if this is the cursor of one.
    pub fn from_cursor(cursor: &Cursor) -> Option<(ChannelId, Self)> {
        let channel = cursor.stream.strip_prefix(STREAM_PREFIX)?;
        let (from, until) = cursor.value.split_once("..")?;
        let timestamp = |ms: &str| Timestamp::from_millisecond(ms.parse().ok()?).ok();
        Some((ChannelId::new(channel), Self { from: timestamp(from)?, until: timestamp(until)? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_round_trip() {
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        let (workspace, tea) = (WorkspaceId::new("w"), ChannelId::new("tea"));
        let check = DeletionCheck { from: at(5), until: at(1_700_000_000_123) };
        let cursor = DeletionCheck::to_cursor(Some(check), &workspace, &tea);
        assert_eq!(DeletionCheck::from_cursor(&cursor), Some((tea.clone(), check)));
        let finished = DeletionCheck::to_cursor(None, &workspace, &tea);
        assert_eq!((finished.stream.clone(), &*finished.value), (cursor.stream, ""));
        assert_eq!(DeletionCheck::from_cursor(&finished), None);
        let read = Cursor { workspace, stream: "tea".into(), value: "1..2".into() };
        assert_eq!(DeletionCheck::from_cursor(&read), None);
        let other = DeletionCheck { from: at(1), until: at(2) };
        assert_eq!(check.merge(Some(other)), DeletionCheck { from: at(1), ..check });
    }
}
