//! What Discord remembers of nonces: for a while, which message was made with each.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::discord::message_actions::MessageKey;

#[derive(Default)]
pub struct NonceCache {
    entries: Vec<(String, MessageKey, Timestamp)>,
}

impl NonceCache {
    /// The message that was made with a nonce, of late.
    pub fn find(&self, nonce: &Value, now: Timestamp, life: SignedDuration) -> Option<MessageKey> {
        let written = nonce_text(nonce);
        let is_known = |at: &Timestamp| now.duration_since(*at) <= life;
        let found =
            self.entries.iter().rev().find(|(kept, _, at)| *kept == written && is_known(at));
        found.map(|(_, place, _)| *place)
    }

    pub fn insert(&mut self, nonce: &Value, place: MessageKey, now: Timestamp) {
        self.entries.push((nonce_text(nonce), place, now));
    }
}

/// A number is the same as its digits.
fn nonce_text(nonce: &Value) -> String {
    nonce.as_str().map_or_else(|| nonce.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use twilight_model::id::Id;

    use super::*;

    #[test]
    fn a_nonce_is_forgotten_after_a_while() {
        let now: Timestamp = "2026-11-21T00:00:00Z".parse().unwrap();
        let life = SignedDuration::from_mins(3);
        let place = MessageKey { channel: Id::new(1), message: Id::new(2) };
        let mut nonces = NonceCache::default();
        nonces.insert(&json!(17), place, now);
        assert_eq!(nonces.find(&json!("17"), now + life, life), Some(place));
        let later = now + life + SignedDuration::from_secs(1);
        assert_eq!(nonces.find(&json!("17"), later, life), None);
        assert_eq!(nonces.find(&json!("18"), now, life), None);
    }
}
