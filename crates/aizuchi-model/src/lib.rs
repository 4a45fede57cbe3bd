//! The data of a companion in a chat, and the rules on it: what was heard, what is remembered, when it may speak, what a
//! step of a conversation leads to, and every text that people read.
//!
//! No store, no model and no platform lives here. Only `clock`, which lends time and chance, and `input_file`, which opens
//! what an operator names, touch the world. A module may name only modules above it; `tests/it/tidy.rs` of the program
//! enforces that.

#[macro_use]
pub mod number_id;
#[macro_use]
pub mod named_enum;
pub mod reloadable;
pub mod ip_network;
pub mod access_role;
pub mod chat;
pub mod access_scope;
pub mod persona;
pub mod refusal;
pub mod plan;
pub mod rules;
pub mod rhythm;
pub mod companions;
pub mod overlap;
pub mod memory;
pub mod permalink;
pub mod memo;
pub mod standing_order;
pub mod recall;
pub mod context;
pub mod catch_up;
pub mod decision;
pub mod flow;
pub mod texts;
pub mod outgoing;
pub mod split;
pub mod table;
pub mod emphasis;
pub mod platform;
pub mod clock;
pub mod input_file;
