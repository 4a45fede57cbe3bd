//! Tests of the fakes over HTTP and WebSockets, in one binary.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod discord;
mod slack;
