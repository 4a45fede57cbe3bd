//! Cached readings of texts, for the structure of a conversation.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_structure::utterance::Reading;
use parking_lot::Mutex;

const MAX_READINGS: usize = 2048;
/// The maximum length of a text that is cached. Longer ones are rare.
const MAX_TEXT_BYTES: usize = 2048;

/// Reads texts. Clones share the cache.
///
/// Only a replay caches readings, since it looks at the same messages repeatedly. A running program would keep texts
/// that have since been edited, deleted or forgotten.
#[derive(Clone, Debug, Default)]
pub struct Readings(Option<Arc<ReadingCache>>);

type ReadingCache = Mutex<HashMap<Arc<str>, Arc<Reading>>>;

impl Readings {
    /// Returns an instance with a cache of recently read texts. A full cache is cleared.
    pub fn kept() -> Self {
        Self(Some(Arc::default()))
    }

    pub fn read(&self, text: &Arc<str>) -> Arc<Reading> {
        let kept = self.0.as_ref().filter(|_| text.len() <= MAX_TEXT_BYTES);
        let Some(kept) = kept else { return Arc::new(Reading::new(text)) };
        let mut kept = kept.lock();
        if let Some(reading) = kept.get(text) {
            return reading.clone();
        }
        let reading = Arc::new(Reading::new(text));
        if kept.len() >= MAX_READINGS {
            kept.clear();
        }
        kept.insert(text.clone(), reading.clone());
        reading
    }
}
