//! How other servers are asked: bodies with a limit, forms, JSON that one bad value does not spoil, errors without
//! secrets, and how long to wait before the next attempt. What is asked stands with who asks.

pub mod backoff;
pub mod body;
pub mod error;
pub mod form;
pub mod json;
pub mod log_sentence;
