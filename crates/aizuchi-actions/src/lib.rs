//! What people order or decide: `question` has what awaits a decision, `access` what a visitor of the pages may do,
//! `refusal` why something is not done, and `command` what users order in the chat in plain words, in either language.

pub mod refusal;
pub mod access;
pub mod authorization;
pub mod question;
pub mod day_time;
pub mod command;
pub mod dead_letter;
pub mod named_message;
pub mod quoted_text;
pub mod visible_memories;
pub mod forget_that;
pub mod confirmation;
pub mod standing_order_trial;
pub mod standing_orders;
pub mod settings;
pub mod plans;
pub mod late_commands;
pub mod export_user;
pub mod user_data;
pub mod command_replies;
pub mod parse;
