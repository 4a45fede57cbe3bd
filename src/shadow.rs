//! What a model says in shadow of moments that are past: a judge asked once more, another persona beside the present one, and
//! an order that nobody follows yet. Nothing is posted, and nothing is written to the ledger.

pub mod prompts;
pub mod judge_again;
pub mod persona_trial;
pub mod standing_order_trial;
pub mod chat_trial;

use jiff::SignedDuration;

/// No call begins later than this after the first one, so that the page gets an answer.
pub const LONGEST_ASKING: SignedDuration = SignedDuration::from_secs(8);
/// The same in the chat, where nobody holds a page open: at five seconds a call, this does for all moments of an order. With
/// the longest call, it is less than [`aizuchi_core::command::standing_order_trial::LONGEST_TRIAL`].
pub const LONGEST_ASKING_IN_CHAT: SignedDuration = SignedDuration::from_secs(40);
/// How long a call may take: as long as a page can wait for one that begins last.
pub const LONGEST_CALL: SignedDuration = SignedDuration::from_secs(15);
