//! The stand-ins from outside, in one binary.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod discord;
mod slack;
