//! All tests from outside the library, in one binary.

mod api;
mod browser;
mod command;
mod crash;
mod fence;
mod flow;
mod program;
mod promises;
mod replay;
mod stories;
mod tidy;
mod twins;
mod world;
