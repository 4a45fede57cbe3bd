//! Code that the tests of several crates share: a harness around any store, a PostgreSQL server of their own, and fake
//! model servers. It is not part of the program.

pub mod effort;
pub mod net;
pub mod random;
pub mod endless;
pub mod recording;
pub mod postgres;
pub mod providers;
pub mod fixtures;
pub mod test_store;
pub mod test_mind;
pub mod test_platform;
pub mod harness;
pub mod seeded;
