//! The record of the questions that keepers have been asked, stored like the platform's cursors. A question is recorded
//! before it is asked, so that after a crash it is looked for, and not asked twice.

use aizuchi_model::chat::{ChannelId, UserId};
use aizuchi_model::platform::PlatformError;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::keeper::QuestionPlace;

/// The longest pause that a platform may ask for.
const MAX_PAUSE: SignedDuration = SignedDuration::from_mins(30);

/// What has been asked in a workspace about matters of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct QuestionRecord {
    /// All matters up to this number have been asked about.
    pub(super) newest: i64,
    /// The questions that are not settled.
    pub(super) asked: Vec<AskedQuestion>,
    /// Until when the platform asked to be left alone. Not stored: a restart may try again.
    #[serde(skip)]
    pub(super) paused_until: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct AskedQuestion {
    /// The number of the matter.
    #[serde(rename = "proposal")]
    pub(super) id: i64,
    /// The channel that it is about.
    pub(super) about: ChannelId,
    /// The user who was asked. `None` in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) keeper: Option<UserId>,
    /// `None` if the platform refuses to ask, or the place is not yet known.
    pub(super) place: Option<QuestionPlace>,
    /// The state that the question's text shows.
    pub(super) told: String,
    /// Set while it is unknown whether the question was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sending: Option<SendingQuestion>,
}

/// A question that may have been asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SendingQuestion {
    pub(super) keeper: UserId,
    /// When it was last sent, or when the platform last failed to report the outcome. `None` if it was certainly not
    /// asked.
    pub(super) since: Option<Timestamp>,
}

impl QuestionRecord {
    /// Whether it is unknown of any question if it was asked.
    pub(super) fn is_sending(&self) -> bool {
        self.asked.iter().any(|asked| asked.sending.is_some())
    }

    pub(super) fn is_paused(&self, now: Timestamp) -> bool {
        self.paused_until.is_some_and(|until| now < until)
    }

    /// Pauses for as long as a busy platform asks for.
    pub(super) fn pause_after(&mut self, error: &PlatformError, now: Timestamp) {
        if let PlatformError::Busy { retry_after: Some(wait), .. } = error {
            self.paused_until = Some(now + (*wait).min(MAX_PAUSE));
        }
    }

    /// Records a question, or replaces its record.
    pub(super) fn put(&mut self, asked: AskedQuestion) {
        self.newest = self.newest.max(asked.id);
        match self.find_mut(asked.id) {
            Some(known) => *known = asked,
            None => self.asked.push(asked),
        }
    }

    pub(super) fn remove(&mut self, id: i64) {
        self.asked.retain(|asked| asked.id != id);
    }

    fn find_mut(&mut self, id: i64) -> Option<&mut AskedQuestion> {
        self.asked.iter_mut().find(|asked| asked.id == id)
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::MessageId;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_is_read_again() {
        let asked = AskedQuestion {
            id: 7,
            about: ChannelId::new("c1"),
            keeper: None,
            place: Some(QuestionPlace {
                channel: ChannelId::new("d1"),
                message: MessageId::new("m1"),
            }),
            told: "open".to_owned(),
            sending: None,
        };
        let record =
            QuestionRecord { newest: 7, asked: vec![asked.clone()], ..QuestionRecord::default() };
        let stored = json!(record).to_string();
        let place = json!({ "channel": "d1", "message": "m1" });
        let expected = json!({ "newest": 7, "asked": [
            { "proposal": 7, "about": "c1", "place": place, "told": "open" },
        ] });
        assert_eq!(json!(record), expected, "earlier versions have written it so");
        assert_eq!(serde_json::from_str::<QuestionRecord>(&stored).unwrap(), record);
        let since = Some(Timestamp::UNIX_EPOCH);
        let sending = Some(SendingQuestion { keeper: UserId::new("ren"), since });
        let record = QuestionRecord {
            newest: 7,
            asked: vec![AskedQuestion { place: None, sending, ..asked }],
            ..QuestionRecord::default()
        };
        assert!(record.is_sending());
        let stored = json!(record).to_string();
        assert_eq!(serde_json::from_str::<QuestionRecord>(&stored).unwrap(), record);
    }
}
