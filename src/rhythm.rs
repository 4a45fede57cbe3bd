//! The rhythm of talk: what is learned from when people write, and when the persona would.

pub mod delays;
pub mod typing;
