//! All tests from outside the library, in one binary.

mod admission;
mod api;
mod browser;
mod canary;
mod check;
mod command;
mod config;
mod crash;
mod fence;
mod flow;
mod memory;
mod minds;
mod models;
mod program;
mod promises;
mod prompts;
mod providers;
mod recall;
mod replay;
mod search;
mod stories;
mod tidy;
mod tool_calls;
mod tools;
mod twins;
mod world;
