//! The app's request URL, and the requests to send to it.

/// The app's URL for events, instead of a socket.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestUrl {
    pub url: String,
    pub verification: UrlVerification,
}

/// Whether the app has proved that it owns the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlVerification {
    Pending,
    Verified,
    Failed,
}

/// A request to send.
#[derive(Clone, Debug, PartialEq)]
pub enum PushRequest {
    /// Asks the app to echo a challenge.
    Verify,
    /// Sends a delivery, by its index.
    Deliver(usize),
}

impl RequestUrl {
    pub fn is_verified(&self) -> bool {
        self.verification == UrlVerification::Verified
    }
}
