//! What Discord remembers of nonces: for a while, which message was made with each.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::discord::talk::Place;

#[derive(Default)]
pub struct Nonces {
    kept: Vec<(String, Place, Timestamp)>,
}

impl Nonces {
    /// The message that was made with a nonce, of late.
    pub fn of(&self, nonce: &Value, now: Timestamp, life: SignedDuration) -> Option<Place> {
        let written = written(nonce);
        let is_known = |at: &Timestamp| now.duration_since(*at) <= life;
        let found = self.kept.iter().rev().find(|(kept, _, at)| *kept == written && is_known(at));
        found.map(|(_, place, _)| *place)
    }

    pub fn keep(&mut self, nonce: &Value, place: Place, now: Timestamp) {
        self.kept.push((written(nonce), place, now));
    }
}

/// A number is the same as its digits.
fn written(nonce: &Value) -> String {
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
        let place = Place { channel: Id::new(1), message: Id::new(2) };
        let mut nonces = Nonces::default();
        nonces.keep(&json!(17), place, now);
        assert_eq!(nonces.of(&json!("17"), now + life, life), Some(place));
        let later = now + life + SignedDuration::from_secs(1);
        assert_eq!(nonces.of(&json!("17"), later, life), None);
        assert_eq!(nonces.of(&json!("18"), now, life), None);
    }
}
