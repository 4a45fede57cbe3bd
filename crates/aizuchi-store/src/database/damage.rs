//! Whether the database is damaged. Once a read or a write has found that, nothing more is acknowledged: other parts of
//! it may be writable, but what was stored may be unreadable.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::StoreError;
use crate::database::driver_error::{DAMAGED, NOT_A_DATABASE};

/// Set when the database was found to be damaged, until the process ends. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct DamageMark(Arc<AtomicBool>);

impl DamageMark {
    /// Sets the mark if the error says that the database is damaged.
    pub fn record(&self, error: &StoreError) {
        let StoreError::Broken(reason) = error else { return };
        let is_damage = [DAMAGED, NOT_A_DATABASE].contains(&reason.as_str());
        if is_damage && !self.0.swap(true, Ordering::Relaxed) {
            tracing::error!(
                error = reason,
                "nothing more is stored, so nothing is acknowledged: copy the database with the files beside it, then stop \
                 Aizuchi and restore a backup, or what can be read of the copy"
            );
        }
    }

    /// Fails if the database is damaged.
    pub fn check(&self) -> Result<(), StoreError> {
        let is_damaged = self.0.load(Ordering::Relaxed);
        if is_damaged { Err(StoreError::Broken(DAMAGED.to_owned())) } else { Ok(()) }
    }
}
