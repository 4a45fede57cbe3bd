//! Aizuchi: a companion that lives in a chat as a member and decides by itself when to speak.
//!
//! This crate puts the program together and has the command line; everything else stands in the crates below it. The
//! modules are in reading order, and a module may name only modules above it.

// The operator's MCP servers, whose tools replies may use.
pub mod mcp_servers;

// Reading of attached PDFs in separate processes.
pub mod pdf_text;

// The assembled application and its command line.
pub mod app;
pub mod cli;
