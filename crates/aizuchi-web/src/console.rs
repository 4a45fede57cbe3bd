//! The console: workspaces and channels, a channel's timeline, a decision, and what is pending or stuck. Its pages are
//! rendered here, and kept up to date by `console.js`.

pub mod layout;
pub mod quote;
pub mod running_status;
pub mod health;
pub mod reason;
pub mod api;
pub mod mute_all;
pub mod feed;
pub mod home_tiles;
pub mod home;
pub mod order_journal;
pub mod orders;
pub mod channels;
pub mod marking;
pub mod decision;
pub mod judge_again;
pub mod timeline;
pub mod what_if;
pub mod standing_order_trial;
pub mod persona;
pub mod memory;
pub mod figures;
pub mod report;
pub mod queue;
pub mod plans;
pub mod failures;
pub mod people;
pub mod configuration;
pub mod events;
