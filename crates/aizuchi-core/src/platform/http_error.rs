//! What a call that failed on its way means.

use reqwest::Error;

/// It surely did not get there.
pub fn is_unsent(error: &Error) -> bool {
    error.is_connect() || error.is_builder()
}

/// What went wrong, without the address: nothing of it may be secret, but nobody needs it.
pub fn describe_error(error: &Error) -> String {
    let what = if error.is_timeout() {
        "no answer in time"
    } else if error.is_connect() {
        "no connection"
    } else if error.is_body() || error.is_decode() {
        "the answer broke off"
    } else {
        "the connection broke"
    };
    what.to_owned()
}
