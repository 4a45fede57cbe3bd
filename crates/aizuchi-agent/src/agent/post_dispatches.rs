//! When requests to post were made. An item is committed as `sending` before its request is made, and typing may come
//! between, so the time of the commit alone does not tell how long the post can still arrive.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_model::clock::Clock;
use aizuchi_model::flow::outbox::OutboxItem;
use jiff::SignedDuration;
use parking_lot::Mutex;

/// Uses elapsed time, since the wall clock may be set between a request and its lookup. Clones share the state.
#[derive(Clone, Debug)]
pub struct Dispatches {
    clock: Clock,
    /// When this process started. Requests of earlier processes were made before that.
    started: SignedDuration,
    /// The newest request with an unknown result for each item, by the item's key.
    requests: Arc<Mutex<HashMap<Arc<str>, SignedDuration>>>,
}

impl Dispatches {
    pub fn new(clock: Clock) -> Self {
        Self { started: clock.elapsed(), clock, requests: Arc::default() }
    }

    /// Records that a request to post this item is about to be made.
    pub(super) fn begin(&self, item: &OutboxItem) {
        self.requests.lock().insert(item.key.clone(), self.clock.elapsed());
    }

    /// Removes the request of an item whose result is known.
    pub(super) fn end(&self, item: &OutboxItem) {
        self.requests.lock().remove(&item.key);
    }

    /// Returns how long a request for this item may still succeed, if requests take no longer than `settle`.
    pub(super) fn until_settled(
        &self,
        item: &OutboxItem,
        settle: SignedDuration,
    ) -> SignedDuration {
        let requested = self.requests.lock().get(&item.key).copied().unwrap_or(self.started);
        (requested + settle - self.clock.elapsed()).max(SignedDuration::ZERO)
    }
}
