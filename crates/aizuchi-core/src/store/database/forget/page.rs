//! What one page of reading finds to erase.

use crate::store::database::forget::Forgetting;
use crate::store::database::forget::position::ForgetPosition;
use crate::store::database::forget::write::Erasure;

/// What a page of some table holds of a user, and where the next page begins.
pub struct ErasurePage {
    pub erasures: Vec<Erasure>,
    /// `None`: there is nothing left.
    pub next: Option<ForgetPosition>,
}

impl ErasurePage {
    pub fn moved(next: ForgetPosition) -> Self {
        Self { erasures: Vec::new(), next: Some(next) }
    }

    /// There is no further page in this phase.
    pub fn end_of(forgetting: &Forgetting) -> Self {
        Self { erasures: Vec::new(), next: forgetting.position.next_phase() }
    }

    /// The next page follows this key, if there is any.
    pub fn after_key(forgetting: &Forgetting, key: Option<Vec<String>>) -> Self {
        match key {
            Some(after_key) => {
                Self::moved(ForgetPosition { after_key, ..forgetting.position.clone() })
            }
            None => Self::end_of(forgetting),
        }
    }

    pub fn push_chunks<T>(
        &mut self,
        mut found: Vec<T>,
        size: usize,
        erasure: impl Fn(Vec<T>) -> Erasure,
    ) {
        while !found.is_empty() {
            let rest = found.split_off(size.min(found.len()));
            self.erasures.push(erasure(std::mem::replace(&mut found, rest)));
        }
    }
}
