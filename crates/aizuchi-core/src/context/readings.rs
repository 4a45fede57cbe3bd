//! What texts say, as the structure of a conversation sees it.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use aizuchi_structure::utterance::Reading;

const MAX_READINGS: usize = 2048;
/// Longer texts are rare and not kept.
const MAX_TEXT_BYTES: usize = 2048;

/// Reads texts. Clones share what they keep.
///
/// Only a replay keeps readings, since it looks at the same messages again and again. A running program would hold texts
/// that were edited, deleted or forgotten since.
#[derive(Clone, Debug, Default)]
pub struct Readings(Option<Arc<Kept>>);

type Kept = Mutex<HashMap<Arc<str>, Arc<Reading>>>;

impl Readings {
    /// Keeps the texts that were read lately. When there are too many, it begins anew.
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
