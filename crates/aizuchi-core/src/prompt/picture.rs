//! A picture that goes along with a prompt.

use std::fmt;
use std::sync::Arc;

/// What a picture takes of a model's context at most, about: providers scale larger ones down to this or less. An estimate
/// that is too low would go over a budget.
pub const PICTURE_TOKENS: u64 = 5_000;

#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    /// Such as `image/png`.
    pub media_type: &'static str,
    pub bytes: Arc<[u8]>,
}

/// Nobody wants to read the bytes.
impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Picture({}, {} bytes)", self.media_type, self.bytes.len())
    }
}
