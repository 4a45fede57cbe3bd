//! Aizuchi: a companion that lives in a chat as a member and decides by itself when to speak.
//!
//! This crate is the program around `aizuchi-core` and the platforms' adapters: settings, replay, pages and the
//! command line. The modules stand in reading order, and a module may name only modules above it.

// Settings.
pub mod config;

// The same pipeline on a virtual clock, measured; and what its mind says, measured.
pub mod replay;
pub mod eval;

// The ledger in words, pages, and the whole put together.
pub mod ledger;
pub mod web;
pub mod app;
pub mod cli;
