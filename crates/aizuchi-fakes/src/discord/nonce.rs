//! The nonces that Discord remembers for a while, each with its message.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::discord::id::{ChannelId, MessageId};

/// How long `enforce_nonce` recognizes a nonce.
const NONCE_TTL: SignedDuration = SignedDuration::from_mins(3);

#[derive(Default)]
pub struct NonceCache {
    entries: Vec<(String, (ChannelId, MessageId), Timestamp)>,
}

impl NonceCache {
    /// Returns the message that was posted with a nonce, while that is remembered.
    pub fn find(&self, nonce: &Value, now: Timestamp) -> Option<(ChannelId, MessageId)> {
        let text = nonce_text(nonce);
        let is_fresh = |at: &Timestamp| now.duration_since(*at) <= NONCE_TTL;
        let mut entries = self.entries.iter().rev();
        let entry = entries.find(|(known, _, at)| *known == text && is_fresh(at));
        entry.map(|(_, message, _)| *message)
    }

    pub fn insert(&mut self, nonce: &Value, message: (ChannelId, MessageId), now: Timestamp) {
        self.entries.push((nonce_text(nonce), message, now));
    }
}

/// Returns a nonce as text. A numeric nonce equals its digits as a string.
fn nonce_text(nonce: &Value) -> String {
    nonce.as_str().map_or_else(|| nonce.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use twilight_model::id::Id;

    use super::*;

    #[test]
    fn a_nonce_expires() {
        let now: Timestamp = "2026-11-21T00:00:00Z".parse().unwrap();
        let key = (Id::new(1), Id::new(2));
        let mut nonces = NonceCache::default();
        nonces.insert(&json!(17), key, now);
        assert_eq!(nonces.find(&json!("17"), now + NONCE_TTL), Some(key));
        let later = now + NONCE_TTL + SignedDuration::from_secs(1);
        assert_eq!(nonces.find(&json!("17"), later), None);
        assert_eq!(nonces.find(&json!("18"), now), None);
    }
}
