//! The console and the API of every workspace: the access of each role, and that a private channel's messages stay
//! private.

pub mod harness;
mod privacy;
mod canary;
mod limits;
mod orders;
mod named_places;
mod people;
mod dead_letters;
mod long_lists;
mod timeline;
mod feed;
mod thread_settings;
mod channels;
pub mod channel_list;
mod decisions;
mod figures;
mod hostile;
mod proxy;
pub mod language;
pub mod memory;
mod report;
mod shadow;
pub mod walk;
pub mod what_if;
mod what_if_orders;
mod abandoned_what_if;
mod deciders;
mod long_forms;
