//! Aizuchi: a companion that lives in a chat as a member and decides by itself when to speak.
//!
//! This crate is the program around `aizuchi-agent` and the platform adapters: configuration, replay, evaluation,
//! web pages and the command line. The modules are in reading order, and a module may name only modules above it.

// The configuration file.
pub mod config;

// The models that the config names, and how to choose another one.
pub mod models;

// The operator's MCP servers, whose tools replies may use.
pub mod mcp_servers;

// Reading of attached PDFs in separate processes.
pub mod pdf_text;

// What was known when a decision was made.
pub mod past_moment;

// Measuring: the pipeline on a virtual clock, a search for better settings, and a model against labeled cases.
pub mod replay;
pub mod tune;
pub mod eval;

// What other settings would have changed lately, and how a model would have decided past moments, in shadow.
pub mod what_if;
pub mod shadow;

// The ledger as text, the current status, a report for a team, a scripted demo, the pages, the assembled application
// and its command line.
pub mod ledger;
pub mod status;
pub mod report;
pub mod demo;
pub mod web;
pub mod app;
pub mod cli;
