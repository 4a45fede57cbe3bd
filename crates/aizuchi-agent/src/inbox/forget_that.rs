//! Carries out `forget that`: looks up what it refers to, and removes it from all memories that contain it.

use aizuchi_actions::command::CommandRequest;
use aizuchi_actions::forget_that::{self, ForgetTargets};
use aizuchi_store::StoreError;

use crate::inbox::Inbox;

/// The maximum number of removals for one command: one for each memory that says the same from other messages, and a
/// few retries if the memory has changed.
const MAX_REMOVALS: usize = 20;

impl Inbox {
    /// Removes what the user refers to, if that is one thing and they may. The answer reports the result.
    pub(super) async fn forget_that(&self, request: &CommandRequest) -> Result<(), StoreError> {
        let (store, archive) = (&*self.store, &*self.archive);
        let (wanted, mut left) = match forget_that::meant(store, archive, request).await? {
            ForgetTargets::One(items) => (items.first().cloned(), items),
            // The process was stopped in between, or nothing is left to do.
            ForgetTargets::Forgotten(removed) => (removed.first().cloned(), Vec::new()),
            ForgetTargets::Nothing | ForgetTargets::Several(_) => return Ok(()),
        };
        let Some(wanted) = wanted else { return Ok(()) };
        if left.is_empty() {
            left = forget_that::doubles_of(store, archive, request, &wanted).await?;
        }
        let rulebook = self.channel_cache.rulebook();
        if forget_that::obstacle(archive, &rulebook, request, &left).await?.is_some() {
            return Ok(());
        }
        for _ in 0..MAX_REMOVALS {
            let Some(item) = left.into_iter().next() else { break };
            match self.apply_order(forget_that::order(request, item)).await {
                // Refused: it was changed or removed in the meantime, which the next look shows.
                Ok(()) | Err(StoreError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
            left = forget_that::doubles_of(store, archive, request, &wanted).await?;
        }
        Ok(())
    }
}
