//! The result of reading one page of data to erase.

use crate::database::forget::Forgetting;
use crate::database::forget::position::ForgetPosition;
use crate::database::forget::write::Erasure;

/// The erasures that a page of a table needs, and where the next page begins.
pub struct ErasurePage {
    pub erasures: Vec<Erasure>,
    /// `None` if there is nothing left.
    pub next: Option<ForgetPosition>,
}

impl ErasurePage {
    pub fn moved(next: ForgetPosition) -> Self {
        Self { erasures: Vec::new(), next: Some(next) }
    }

    /// An empty page that ends the phase.
    pub fn end_of(forgetting: &Forgetting) -> Self {
        Self { erasures: Vec::new(), next: forgetting.position.next_phase() }
    }

    /// An empty page; the next one begins after this key, if there is one.
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
