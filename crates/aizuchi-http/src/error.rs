//! What a failed HTTP call means.

use reqwest::Error;

/// Whether the request certainly did not reach the server.
pub fn is_unsent(error: &Error) -> bool {
    error.is_connect() || error.is_builder()
}

/// Describes the error without the URL, which may contain secrets.
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
