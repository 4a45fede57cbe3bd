//! Aizuchi: a companion that lives in a chat as a member and decides by itself when to speak.
//!
//! This crate is the program around `aizuchi-core` and the platform adapters: configuration, replay, evaluation,
//! web pages and the command line. The modules are in reading order, and a module may name only modules above it.

// The configuration file.
pub mod config;

// The models that the config names, and how another is chosen.
pub mod models;

// The operator's MCP servers, whose tools replies may use.
pub mod mcp_servers;

// PDFs that people send, read in processes of their own.
pub mod pdf_text;

// What could be known when a decision was made.
pub mod past_moment;

// Measuring: the pipeline on a virtual clock, settings that suit it better, and a model against labeled cases.
pub mod replay;
pub mod tune;
pub mod eval;

// What other settings would have changed lately, and what a model says of moments that are past, in shadow.
pub mod what_if;
pub mod shadow;

// The ledger as text, how everything stands, a report for a team, a scripted minute, the pages, the assembled
// application and its command line.
pub mod ledger;
pub mod status;
pub mod report;
pub mod demo;
pub mod web;
pub mod app;
pub mod cli;
