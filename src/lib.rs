//! Aizuchi: a companion that lives in a chat as a member and decides by itself when to speak.
//!
//! The modules stand in the order a message travels them, and a module may name only modules
//! above it. `tests/it/tidy.rs` enforces that; `ARCHITECTURE.md` tells the story.

// What there is: plain data and the rules on it, no I/O.
pub mod chat;
pub mod persona;
pub mod rules;
pub mod rhythm;
pub mod quote;
pub mod memory;
pub mod memo;
pub mod recall;
pub mod context;
pub mod decision;
pub mod event;

// Time and chance; figures; where everything is kept.
pub mod clock;
pub mod metrics;
pub mod store;

// A message comes in; some are commands.
pub mod command;
pub mod hear;
pub mod platform;

// The words for models, and models.
pub mod prompt;
pub mod llm;

// Judge, reply, post; and what keeps them moving.
pub mod agent;
pub mod runner;
pub mod retention;

// Settings.
pub mod config;

// The same pipeline on a virtual clock, measured; and what its mind says, measured.
pub mod replay;
pub mod eval;

// What other programs kept.
pub mod import;

// The ledger in words, pages, and the whole put together.
pub mod ledger;
pub mod web;
pub mod app;

// For people without a workspace, and for tests.
pub mod dev;

pub mod cli;
