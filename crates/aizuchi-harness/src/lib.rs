//! What tests of several crates share: a small world around any store, a PostgreSQL of their own, and model
//! servers that do what they are told. No part of the program.

pub mod net;
pub mod postgres;
pub mod providers;
pub mod harness;
