//! The page of the local room, and what it asks for.

pub(crate) mod page;
pub(crate) mod decision;
pub mod feed;
pub(crate) mod demo;
pub(crate) mod files;
pub(crate) mod events;
