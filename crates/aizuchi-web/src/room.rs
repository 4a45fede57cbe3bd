//! The page of the local room, and what it asks for.

pub mod page;
pub mod decision;
pub mod feed;
pub mod demo;
pub mod files;
pub mod events;
