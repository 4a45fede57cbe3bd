//! A picture that is sent with a prompt.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The estimated maximum number of tokens of a picture: providers scale larger ones down to this or less. An
/// estimate that is too low would exceed a budget.
pub const PICTURE_TOKENS: u64 = 5_000;

#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    /// The media type, such as `image/png`.
    pub media_type: &'static str,
    pub bytes: Arc<[u8]>,
}

impl Picture {
    pub fn to_base64(&self) -> String {
        STANDARD.encode(&self.bytes)
    }
}

/// Leaves out the bytes, which are unreadable.
impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Picture({}, {} bytes)", self.media_type, self.bytes.len())
    }
}
