//! Discord: what users see, and how the program handles Discord's faults. The tests run against the fake Discord, which
//! is itself tested with the official clients (`scripts/peers`).

pub mod harness;
mod malformed;
mod bodies;
mod credentials;
mod talk;
mod recordings;
mod answers;
mod post;
mod commands;
mod place_settings;
mod keepers;
mod keeper_answers;
mod trust;
mod allowed_call;
mod edits;
mod weekly_notes;
mod standing_orders;
mod order_trial;
mod welcome;
mod faults;
mod gaps;
mod late_commands;
mod restored;
mod timeouts;
mod first_read;
mod sync;
mod other_servers;
mod proxy_pages;
mod voice_chats;
mod unreadable;
mod deletions;
mod deleted_channels;
mod content;
mod check;
mod companions;
mod together;
