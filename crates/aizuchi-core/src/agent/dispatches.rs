//! When requests to post were made. An item is committed as being sent before its request is made, and typing may come
//! between, so that moment alone does not tell how long its post can still arrive.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::SignedDuration;
use parking_lot::Mutex;

use crate::clock::Clock;
use crate::event::OutboxItem;

/// By the time that has passed, since the wall clock may be set between a request and its lookup.
/// Clones share what they know.
#[derive(Clone, Debug)]
pub struct Dispatches {
    clock: Clock,
    /// No request of an earlier process was made later.
    started: SignedDuration,
    /// The newest request for each item whose result is unknown, by its key.
    requests: Arc<Mutex<HashMap<Arc<str>, SignedDuration>>>,
}

impl Dispatches {
    pub fn new(clock: Clock) -> Self {
        Self { started: clock.elapsed(), clock, requests: Arc::default() }
    }

    /// A request to post this item is about to be made.
    pub(super) fn begin(&self, item: &OutboxItem) {
        self.requests.lock().insert(item.key.clone(), self.clock.elapsed());
    }

    /// The result is known.
    pub(super) fn end(&self, item: &OutboxItem) {
        self.requests.lock().remove(&item.key);
    }

    /// How long a request for this item may still succeed, if requests take no longer than `settle`.
    pub(super) fn until_settled(
        &self,
        item: &OutboxItem,
        settle: SignedDuration,
    ) -> SignedDuration {
        let requested = self.requests.lock().get(&item.key).copied().unwrap_or(self.started);
        (requested + settle - self.clock.elapsed()).max(SignedDuration::ZERO)
    }
}
