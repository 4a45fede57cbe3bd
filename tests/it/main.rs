//! All tests from outside the library, in one binary.

mod crash;
mod promises;
mod stories;
mod tidy;
mod twins;
mod world;
